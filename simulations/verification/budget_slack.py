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
from exml_sim.engine.specs import AtomPool, Budgets, Score
from exml_sim.engine.study import Study
from simulations.panels import practice
from simulations.verification.promises import StrategyName, point_of
from simulations.verification.workbench import Workbench
from simulations.verification.worlds import STRATEGIES, World
from theory.claims.instances import one_rival_pool
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
class Need:
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


def shifted_world(K: int, theta: Fraction, wrong: int) -> World:
    """K arms that are wrong on some of sixty rows: three for the first, ``wrong`` for the others, shifted."""
    features = []
    for arm in range(K):
        start, size = arm * ROWS // K, BEST if arm == 0 else wrong
        bad = {(start + step) % ROWS for step in range(size)}
        features.append([-1 if row in bad else 1 for row in range(ROWS)])
    pool = make_pool([Fraction(1, ROWS)] * ROWS, features, radius=Fraction(9, 10) * (1 - 2 * theta), theta=theta)
    return World(f"shifted K={K} theta={float(theta):g} wrong={wrong}", pool)


#: (axis, K, theta, wrong rows): one parameter is varied at a time.
GRID: tuple[tuple[str, int, Fraction, int], ...] = (
    *(("K", K, Fraction(1, 10), 12) for K in (2, 4, 8, 16)),
    *(("theta", 8, Fraction(theta, 10), 12) for theta in (1, 2, 3, 4)),
    *(("gap", 8, Fraction(1, 10), wrong) for wrong in (6, 9, 12, 18)),
)
WANTED: tuple[StrategyName, ...] = ("uniform", "median-accumulated")


def budgets(K: int) -> tuple[int, ...]:
    """The grid of budgets: rows per arm from the number of rounds to about a thousand, in steps of about 1.41."""
    rounds = math.ceil(math.log2(K))
    rows = sorted({round(2 ** (step / 2)) for step in range(21)} | {rounds})
    return tuple(n * K for n in rows if n >= rounds)


def measure(trials: int, setting: Workbench, grid: tuple[tuple[str, int, Fraction, int], ...] = GRID) -> list[Need]:
    """Run every pool of the grid once and read off what each strategy needs."""
    found = []
    for axis, K, theta, wrong in grid:
        place = shifted_world(K, theta, wrong)
        setting.tick(f"budget slack: {place.name}")
        with setting.run(make_study(place, trials, setting.seed)) as result:
            for strategy in WANTED:
                needed = in_practice(result, STRATEGIES[strategy].label)
                found.append(Need(axis, K, float(theta), place.gap, strategy, needed, by_bounds(place, strategy)))
    return found


def make_study(place: World, trials: int, seed: int) -> Study:
    """Both strategies at all budgets of the grid."""
    spec: AtomPool = place.spec()
    score: Score = place.score()
    return Study(
        name="budget-slack",
        pools=(spec,),
        scores=(score,),
        strategies=tuple(STRATEGIES[name] for name in WANTED),
        budgets=Budgets(absolute=tuple(str(budget) for budget in budgets(place.K))),
        trials=trials,
        seed=seed,
    )


def by_bounds(place: World, strategy: StrategyName) -> dict[str, int | None]:
    """Smallest budget for which each bound that speaks is at most the target."""
    kind, point = point_of(place, strategy)
    return {name: point.required(name, kind, TARGET) for name in VERSIONS if not point.declined(name, kind)}


def in_practice(result: StudyResult, strategy: str) -> int | None:
    """First budget from which on the upper limit of the failure rate is at most the target; None if there is none."""
    cells = [one for one in result.summary(level=2 * LEVEL - 1) if one.strategy == strategy]
    found = practice(sorted(cells, key=lambda one: int(one.budget)), TARGET)
    return None if found is None else int(found)


@dataclass(frozen=True, slots=True)
class Fall:
    """The way from the paper's bound down to the failure probability itself, for one strategy.

    Attributes
    ----------
    strategy : Strategy
    world : World
    budget : int
    slack : Slack
        Bound, truth and the factors between them, as natural logarithms.
    truth_lower, truth_upper : float
        Student's interval of the truth (99 %), from tilted sampling.
    """

    strategy: Strategy
    world: World
    budget: int
    slack: Slack
    truth_lower: float
    truth_upper: float


def rival_world() -> World:
    """Four arms: two that err in opposite directions, and two that carry nothing."""
    return World("one clear rival of 4", one_rival_pool(4, Fraction(1, 2), Fraction(1, 10)))


def tilted_study(strategy: Strategy, budget: int, seed: int, trials: int) -> Study:
    """One strategy on `rival_world` by tilted sampling, for failures that are far too rare to count."""
    place = rival_world()
    return Study(
        name=f"waterfall-{strategy}",
        pools=(place.spec(),),
        scores=(place.score(),),
        strategies=(STRATEGIES[_NAMES[strategy]],),
        budgets=Budgets(absolute=(str(budget),)),
        trials=trials,
        seed=seed,
        mode="importance_sampling",
    )


_NAMES: dict[Strategy, StrategyName] = {"uniform": "uniform", "median": "median-accumulated"}


def fall(strategy: Strategy, setting: Workbench, *, trials: int = 4000) -> Fall:
    """Split the slack of Eq. 9 or Eq. 11 at the budget where the printed bound is five per cent."""
    place = rival_world()
    budget = by_bounds(place, _NAMES[strategy])["paper"]
    assert budget is not None
    with setting.run(tilted_study(strategy, budget, setting.seed, trials)) as result:
        (found,) = result.summary(level=0.99)
    parts = decompose_slack(
        budget, place.K, None, place.theta, place.r, found.failure_rate, strategy=strategy, gaps=place.gaps
    )
    return Fall(strategy, place, budget, parts, found.lower, found.upper)
