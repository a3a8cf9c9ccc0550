"""Budgets for a failure probability of five per cent: in practice, and by the three bounds; and where the slack arises.

The pools have K arms over sixty rows with the feature +1, except for some rows per arm on which it is -1: three for
the best arm, more for the others, shifted from arm to arm. Then kappa Lambda = Lambda = 0.9 (1 - 2 theta), inside the
affine regime, and every other arm has the same gap 2 Lambda (more - 3)/60. Practice is the smallest budget of a grid
(steps of a factor 1.41) from which on the upper limit of the observed failure rate is at most the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from exml_sim.engine.result import StudyResult
from simulations.panels import needed_in_simulation
from simulations.verification._claim_trials import RunContext
from simulations.verification._guarantees import STRATEGIES, ClaimPool, StrategyName, to_bound_problem
from theory.claims._instances import one_rival_pool
from theory.exact import make_pool
from theory.paper import Strategy
from theory.slack import Slack, decompose_slack
from theory.versions import VERSIONS

TARGET = 0.05
#: The limit of a rate is one-sided at this level.
LEVEL = 0.99
ROWS = 60
BEST = 3


@dataclass(frozen=True, slots=True)
class RequiredBudget:
    """Budgets that bring one strategy on one pool to the target.

    Attributes
    ----------
    axis : str
        What is varied: "K", "theta" or "gap".
    K, theta, gap
    strategy : StrategyName
    practice : int, optional
        None if no budget of the grid was enough.
    bounds : dict
        By each version of the bound.
    """

    axis: str
    K: int
    theta: float
    gap: float
    strategy: StrategyName
    practice: int | None
    bounds: dict[str, int | None]

    @property
    def value(self) -> float:
        """The parameter on the axis."""
        return float({"K": self.K, "theta": self.theta, "gap": self.gap}[self.axis])

    def ratio(self, version: str) -> float:
        """Budget by a bound over budget in practice; nan where either did not reach the target."""
        asked = self.bounds[version]
        return math.nan if self.practice is None or asked is None else asked / self.practice


def shifted_pool(K: int, theta: Fraction, wrong: int) -> ClaimPool:
    """Build K arms that are wrong on some of sixty rows: three for the first, ``wrong`` for the others, shifted."""
    features = []
    for arm in range(K):
        start, size = arm * ROWS // K, BEST if arm == 0 else wrong
        bad = {(start + step) % ROWS for step in range(size)}
        features.append([-1 if row in bad else 1 for row in range(ROWS)])
    pool = make_pool([Fraction(1, ROWS)] * ROWS, features, radius=Fraction(9, 10) * (1 - 2 * theta), theta=theta)
    return ClaimPool(f"shifted K={K} theta={float(theta):g} wrong={wrong}", pool)


#: (axis, K, theta, wrong rows): one parameter is varied at a time.
GRID: tuple[tuple[str, int, Fraction, int], ...] = (
    *(("K", K, Fraction(1, 10), 12) for K in (2, 4, 8, 16)),
    *(("theta", 8, Fraction(theta, 10), 12) for theta in (1, 2, 3, 4)),
    *(("gap", 8, Fraction(1, 10), wrong) for wrong in (6, 9, 12, 18)),
)
WANTED: tuple[StrategyName, ...] = ("uniform", "median-accumulated")


def list_budgets(K: int) -> tuple[int, ...]:
    """Return the grid of budgets: rows per arm from the number of rounds to about 1,000, in steps of about 1.41."""
    rounds = math.ceil(math.log2(K))
    rows = sorted({round(2 ** (step / 2)) for step in range(21)} | {rounds})
    return tuple(n * K for n in rows if n >= rounds)


def measure(
    trials: int, context: RunContext, grid: tuple[tuple[str, int, Fraction, int], ...] = GRID
) -> list[RequiredBudget]:
    """Run every pool of the grid once and return the budgets that each strategy needs."""
    budgets = []
    for axis, K, theta, wrong in grid:
        pool = shifted_pool(K, theta, wrong)
        context.notify(f"budget slack: {pool.name}")
        with context.run(pool.study("budget-slack", WANTED, list_budgets(pool.K), trials, context.seed)) as result:
            for strategy in WANTED:
                needed = measure_practice(result, STRATEGIES[strategy].label)
                budgets.append(
                    RequiredBudget(
                        axis, K, float(theta), pool.gap, strategy, needed, required_by_bounds(pool, strategy)
                    )
                )
    return budgets


def required_by_bounds(pool: ClaimPool, strategy: StrategyName) -> dict[str, int | None]:
    """Return the smallest budget for which each bound that applies is at most the target."""
    kind, problem = to_bound_problem(pool, strategy)
    return {name: problem.required(name, kind, TARGET) for name in VERSIONS if not problem.declined(name, kind)}


def measure_practice(result: StudyResult, strategy: str) -> int | None:
    """Return the first budget from which the upper limit of the failure rate is at most the target, or None."""
    rows = [row for row in result.summary(level=2 * LEVEL - 1) if row.strategy == strategy]
    budget = needed_in_simulation(sorted(rows, key=lambda row: int(row.budget)), TARGET)
    return None if budget is None else int(budget)


@dataclass(frozen=True, slots=True)
class SlackDecomposition:
    """Factors between the paper's bound and the failure probability, for one strategy.

    Attributes
    ----------
    strategy : Strategy
    pool : ClaimPool
    budget : int
    slack : Slack
        Bound, truth and the factors between them, as natural logarithms.
    truth_lower, truth_upper : float
        Student's interval of the truth (99 %), from importance sampling.
    """

    strategy: Strategy
    pool: ClaimPool
    budget: int
    slack: Slack
    truth_lower: float
    truth_upper: float


def rival_pool() -> ClaimPool:
    """Build four arms: two that err in opposite directions, and two that carry nothing."""
    return ClaimPool("one clear rival of 4", one_rival_pool(4, Fraction(1, 2), Fraction(1, 10)))


_NAMES: dict[Strategy, StrategyName] = {"uniform": "uniform", "median": "median-accumulated"}


def measure_slack(strategy: Strategy, context: RunContext, *, trials: int = 4000) -> SlackDecomposition:
    """Split the slack of Eq. 9 or Eq. 11 at the budget where the printed bound is five per cent."""
    pool = rival_pool()
    budget = required_by_bounds(pool, _NAMES[strategy])["paper"]
    assert budget is not None
    name = _NAMES[strategy]
    # Failures are far too rare to count.
    study = pool.study(f"slack-decomposition-{strategy}", [name], [budget], trials, context.seed, "importance_sampling")
    with context.run(study) as result:
        (row,) = result.summary(level=0.99)
    parts = decompose_slack(
        budget, pool.K, None, pool.theta, pool.r, row.failure_rate, strategy=strategy, gaps=pool.gaps
    )
    return SlackDecomposition(strategy, pool, budget, parts, row.lower, row.upper)
