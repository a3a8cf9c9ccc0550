"""What each version of a claim guarantees on the named pools: P(statistic > limit) <= probability.

The versions are the statement as printed (`theory.paper`), corrected (`theory.corrected`), and our theorem where there
is one (`theory.tighter`). A probability that is nan (assumptions unmet) or at least 1 guarantees nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from exml_sim.engine._specs import Budgets, StrategySpec
from exml_sim.engine.study import Study
from simulations._finite_support import atom_pool, ball_score
from theory import BoundProblem, corrected, paper, tighter
from theory.claims._instances import POOLS
from theory.constants import loss_range
from theory.exact import AffinePool
from theory.paper import Strategy

#: The version of a bound that is tested, a name of `theory.versions`.
Reading = Literal["paper", "corrected", "tighter"]
READINGS: tuple[Reading, ...] = get_args(Reading)
StrategyName = Literal["uniform", "median-fresh", "median-accumulated"]
STRATEGIES: Mapping[str, StrategySpec] = {
    "uniform": StrategySpec("uniform_allocation", (("ties", "lowest"),)),
    "median-fresh": StrategySpec("median_elimination", (("accumulate", False), ("ties", "lowest"))),
    "median-accumulated": StrategySpec("median_elimination", (("accumulate", True), ("ties", "lowest"))),
}


@dataclass(frozen=True)
class ClaimPool:
    """A named pool with the parameters of bounds.

    Attributes
    ----------
    name : str
        Name in `theory.claims._instances.POOLS`; with "#1,3" after it only arms 1 and 3 are kept.
    pool : AffinePool
        Atoms, features, radius and theta as fractions.
    """

    name: str
    pool: AffinePool

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.pool.arms

    @cached_property
    def gap(self) -> float:
        """Delta, the smallest positive gap (Eq. 7)."""
        return float(self.pool.gap())

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """Gaps of the arms other than the first one, which is a best arm."""
        return tuple(float(gap) for gap in self.pool.gaps()[1:])

    @property
    def theta(self) -> float:
        """Rejection cost."""
        return float(self.pool.theta)

    @property
    def r(self) -> float:
        """kappa times Lambda."""
        return float(self.pool.kappa_lambda)

    @cached_property
    def best_count(self) -> int:
        """Number of best arms |S*|."""
        return len(self.pool.best())

    @property
    def atoms(self) -> int:
        """Number of different rows."""
        return len(self.pool.weights)

    def study(
        self,
        name: str,
        strategies: Iterable[str],
        budgets: Iterable[int],
        trials: int,
        seed: int,
        mode: str = "monte_carlo",
    ) -> Study:
        """Build the study of strategies (names of `STRATEGIES`) at budgets on this pool."""
        return Study(
            name=name,
            pools=(atom_pool(self.pool, self.name),),
            scores=(ball_score(self.pool),),
            strategies=tuple(STRATEGIES[strategy] for strategy in strategies),
            budgets=Budgets(absolute=tuple(str(budget) for budget in budgets)),
            trials=trials,
            seed=seed,
            mode=mode,
        )


@lru_cache(maxsize=64)
def get_pool(name: str) -> ClaimPool:
    """Build the pool of a name; the first arm must be a best arm.

    Examples
    --------
    >>> get_pool("star-3").gaps
    (0.32, 0.32)
    >>> get_pool("star-3#0,2").K
    2
    """
    base, _, kept = name.partition("#")
    if base not in POOLS:
        raise ValueError(f"there is no pool {base!r}; there are {', '.join(sorted(POOLS))}")
    pool = POOLS[base]()
    if kept:
        features = tuple(pool.features[int(arm)] for arm in kept.split(","))
        pool = AffinePool(pool.weights, pool.labels, features, pool.radius, pool.theta)
    if 0 not in pool.best():
        raise ValueError(f"the first arm of {name!r} is not a best arm, as the paper's lemmas assume")
    return ClaimPool(name, pool)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """P(statistic > limit) <= probability; without a limit the statistic itself is an event."""

    probability: float
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A version of a claim about a strategy on a pool, with a budget and a level delta."""

    reading: Reading
    pool: ClaimPool
    strategy: StrategyName
    budget: int
    delta: float

    @property
    def n(self) -> int:
        """Rows per arm of uniform allocation."""
        return self.budget // self.pool.K

    @property
    def module(self) -> Any:
        """The module of `theory` with the bounds of the version."""
        return {"paper": paper, "corrected": corrected, "tighter": tighter}[self.reading]

    @property
    def failure_probability(self) -> float:
        """delta_fail of Lemma 1 (i) or 2 (i), corrected, or of Theorem 3 or 4; nan where it does not apply."""
        return failure_probability(self.reading, self.pool, self.strategy, self.budget)

    @property
    def loss_range(self) -> float:
        """M, the range of the loss."""
        return float(loss_range(self.pool.theta, self.pool.r))

    def bound(self, name: str, delta: float | None = None) -> float:
        """Return a bound of the version's module on n rows at a level."""
        function = getattr(self.module, name)
        return float(function(self.n, self.pool.theta, self.pool.r, self.delta if delta is None else delta))


#: What a version guarantees in a case; None where the version is not about this claim.
GuaranteeFunction = Callable[[Case], Guarantee | None]


def to_bound_problem(pool: ClaimPool, strategy: StrategyName) -> tuple[Strategy, BoundProblem]:
    """Return the strategy and the pool as the bounds of `theory` take them."""
    rows: Any = "fresh" if strategy == "median-fresh" else "accumulated"
    kind: Strategy = "uniform" if strategy == "uniform" else "median"
    return kind, BoundProblem(pool.K, None, pool.theta, pool.r, gaps=pool.gaps, rows=rows)


def failure_probability(reading: Reading, pool: ClaimPool, strategy: StrategyName, budget: int) -> float:
    """Return the bound on the failure probability; nan where it does not apply."""
    kind, problem = to_bound_problem(pool, strategy)
    return float(problem.bound(reading, kind, budget))


def launch_budget(pool: ClaimPool, strategy: StrategyName) -> int:
    """Return the smallest budget that meets the printed identification condition."""
    kind, problem = to_bound_problem(pool, strategy)
    budget = problem.launch_budget("paper", kind)
    assert budget is not None, f"no budget meets the paper's condition on {pool.name}"
    return budget


def identification(case: Case) -> Guarantee:
    """Lemmas 1 (i) and 2 (i): the best arm is missed with probability at most delta_fail."""
    return Guarantee(case.failure_probability)


def as_printed(case: Case) -> Guarantee:
    """The printed failure probability in every version, for claims about the condition it is printed with."""
    return Guarantee(failure_probability("paper", case.pool, case.strategy, case.budget))


def pairwise(case: Case) -> Guarantee:
    """Lemma 4: a worse arm scores better than the best with at most this probability (two arms, n = B/2 rows)."""
    pool = case.pool
    return Guarantee(float(case.module.lemma_4(case.n, pool.gap, pool.theta, pool.r, strict=False)))


def uniform_regret(case: Case) -> Guarantee:
    """Lemma 1 (ii): regret above the limit with probability at most delta + delta_fail; ours has no delta_fail."""
    if case.reading == "tighter":
        pool = case.pool
        limit = tighter.exploratory_regret_uniform(case.budget, pool.K, pool.theta, pool.r, case.delta)
        return Guarantee(case.delta, float(limit))
    return _regret(case, "exploratory_regret_uniform")


def median_regret(case: Case) -> Guarantee | None:
    """Lemma 2 (ii), with accumulated rows as in Algorithm 1."""
    if case.reading == "tighter" or case.strategy != "median-accumulated":
        return None
    return _regret(case, "exploratory_regret_median")


def _regret(case: Case, name: str) -> Guarantee:
    pool, function = case.pool, getattr(case.module, name)
    options = {} if case.reading == "paper" else {"best_count": pool.best_count}
    limit = function(case.budget, pool.K, pool.gap, pool.theta, pool.r, case.delta, strict=False, **options)
    return Guarantee(case.delta + case.failure_probability, float(limit))


def selection(case: Case) -> Guarantee | None:
    """Theorem 6 (iv) and (v): the selected arm is worse than the best by more than the limit."""
    if case.reading != "tighter" or case.strategy == "median-accumulated":
        return None
    kind = "uniform" if case.strategy == "uniform" else "median"
    bound: Any = getattr(tighter, f"selection_regret_{kind}")
    pool = case.pool
    return Guarantee(case.delta, float(bound(case.budget, pool.K, pool.theta, pool.r, case.delta)))


def generalisation(case: Case) -> Guarantee | None:
    """Lemma 3 and term (a) of A.2: 2 c r / sqrt n + sqrt(log(1/delta) / 2n)."""
    return Guarantee(case.delta, case.bound("lemma_3")) if case.reading == "paper" else None


def learned_deviation(case: Case) -> Guarantee | None:
    """Term (a) of A.4 at level delta/2: 2 c r / sqrt n + sqrt(log(2/delta) / 2n), corrected with M before the root."""
    if case.reading == "tighter":
        return None
    half = case.delta / 2
    printed = float(paper.lemma_3(case.n, case.pool.theta, case.pool.r, half))
    extra = 0.0 if case.reading == "paper" else (case.loss_range - 1.0) * _hoeffding(case.n, half)
    return Guarantee(half, printed + extra)


def fixed_deviation(case: Case) -> Guarantee | None:
    """Term (c) of A.4 and term (d) of A.2 at level delta/2; corrected: M sqrt(log(2/delta) / 2n)."""
    if case.reading == "tighter":
        return None
    half = case.delta / 2
    if case.reading == "paper":
        return Guarantee(half, case.bound("lemma_3", half))
    return Guarantee(half, case.loss_range * _hoeffding(case.n, half))


def half_gap_optimism(case: Case) -> Guarantee | None:
    """Term (a) of A.6: V_2 < R_2 - Delta/2 with probability at most 2 exp(-(2/9) n x^2), or exp(-2 n x^2 / M^2)."""
    if case.reading == "tighter":
        return None
    return Guarantee(pairwise(case).probability / 2, case.pool.gap / 2)


def half_gap_pessimism(case: Case) -> Guarantee | None:
    """Term (b) of A.6: V_1 > R_1 + Delta/2; corrected exp(-n Delta^2 / (2 M^2)), for the best model is fixed."""
    if case.reading != "corrected":
        return half_gap_optimism(case)
    gap = case.pool.gap
    return Guarantee(math.exp(-case.n * (gap / case.loss_range) ** 2 / 2), gap / 2)


def supervised(case: Case) -> Guarantee | None:
    """Eq. 6 with its O() replaced by the paper's own steps, and corrected, on the n rows of the best arm."""
    if case.reading == "tighter":
        return None
    return Guarantee(case.delta, case.bound("excess_risk_supervised"))


def out_of_reach(case: Case) -> Guarantee | None:
    """Remark 5: below the launch budget the best arm is found with probability at most 0.95."""
    return Guarantee(0.95) if case.reading == "paper" else None


def _hoeffding(n: int, delta: float) -> float:
    return math.sqrt(math.log(1 / delta) / (2 * n))
