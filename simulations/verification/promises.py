"""What the three readings of a claim promise about one cell: P(statistic > limit) <= probability.

The readings are the statement as printed (`theory.paper`), with its repairs (`theory.corrected`), and our theorem where
there is one (`theory.tighter`). A probability that is nan (assumptions unmet) or at least 1 promises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from simulations.verification.worlds import World
from theory import BoundProblem, corrected, paper, tighter
from theory.constants import loss_range
from theory.paper import Strategy

#: The version of a bound that is held against evidence, a name of `theory.versions`.
Reading = Literal["paper", "corrected", "tighter"]
READINGS: tuple[Reading, ...] = get_args(Reading)
StrategyName = Literal["uniform", "median-fresh", "median-accumulated"]


@dataclass(frozen=True, slots=True)
class Promise:
    """P(statistic > limit) <= probability; without a limit the statistic itself is an event."""

    probability: float
    limit: float | None = None


#: (reading, world, strategy, budget, delta) -> what is promised; None where the reading says nothing about this claim.
Says = Callable[[Reading, World, StrategyName, int, float], Promise | None]


def failure_probability(reading: Reading, world: World, strategy: StrategyName, budget: int) -> float:
    """delta_fail of Lemma 1 (i) or 2 (i), of its repair, or of Theorem 3 or 4; nan where it does not apply."""
    kind, point = point_of(world, strategy)
    return float(point.bound(reading, kind, budget))


def point_of(world: World, strategy: StrategyName) -> tuple[Strategy, BoundProblem]:
    """The strategy as the bounds call it, and the world as they see it."""
    rows: Any = "fresh" if strategy == "median-fresh" else "accumulated"
    kind: Strategy = "uniform" if strategy == "uniform" else "median"
    return kind, BoundProblem(world.K, None, world.theta, world.r, gaps=world.gaps, rows=rows)


def identification(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise:
    """Lemmas 1 (i) and 2 (i): the best arm is missed with probability at most delta_fail."""
    return Promise(failure_probability(reading, world, strategy, budget))


def as_printed(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise:
    """The printed failure probability under every reading, for claims about the condition it is printed with."""
    return Promise(failure_probability("paper", world, strategy, budget))


def launch_of(world: World, strategy: StrategyName) -> int:
    """The smallest budget that meets the printed identification condition."""
    kind, point = point_of(world, strategy)
    found = point.launch("paper", kind)
    assert found is not None, f"the paper's bound never launches on {world.name}"
    return found


def pairwise(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise:
    """Lemma 4: a worse arm scores better than the best with at most this probability (two arms, n = B/2 rows)."""
    module: Any = {"paper": paper, "corrected": corrected, "tighter": tighter}[reading]
    return Promise(float(module.lemma_4(budget // world.K, world.gap, world.theta, world.r, strict=False)))


def uniform_regret(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise:
    """Lemma 1 (ii): regret above the limit with probability at most delta + delta_fail; ours has no delta_fail."""
    point = (budget, world.K, world.gap, world.theta, world.r, delta)
    if reading == "tighter":
        limit = tighter.exploratory_regret_uniform(budget, world.K, world.theta, world.r, delta)
        return Promise(delta, float(limit))
    if reading == "paper":
        limit = paper.exploratory_regret_uniform(*point, strict=False)
    else:
        limit = corrected.exploratory_regret_uniform(*point, best_count=world.best_count, strict=False)
    return Promise(delta + failure_probability(reading, world, strategy, budget), float(limit))


def median_regret(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise | None:
    """Lemma 2 (ii), with accumulated rows as in Algorithm 1."""
    if reading == "tighter" or strategy != "median-accumulated":
        return None
    point = (budget, world.K, world.gap, world.theta, world.r, delta)
    if reading == "paper":
        limit = paper.exploratory_regret_median(*point, strict=False)
    else:
        limit = corrected.exploratory_regret_median(*point, best_count=world.best_count, strict=False)
    return Promise(delta + failure_probability(reading, world, strategy, budget), float(limit))


def selection(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise | None:
    """Theorem 6 (iv) and (v): the selected arm is worse than the best by more than the limit."""
    if reading != "tighter" or strategy == "median-accumulated":
        return None
    bound: Any = tighter.selection_regret_uniform if strategy == "uniform" else tighter.selection_regret_median
    return Promise(delta, float(bound(budget, world.K, world.theta, world.r, delta)))


def generalisation(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise | None:
    """Lemma 3 and term (a) of A.2: 2 c r / sqrt n + sqrt(log(1/delta) / 2n)."""
    if reading != "paper":
        return None
    return Promise(delta, float(paper.lemma_3(budget // world.K, world.theta, world.r, delta)))


def learned_deviation(
    reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float
) -> Promise | None:
    """Term (a) of A.4 at level delta/2: 2 c r / sqrt n + sqrt(log(2/delta) / 2n), corrected with M before the root."""
    if reading == "tighter":
        return None
    n, half = budget // world.K, delta / 2
    printed = float(paper.lemma_3(n, world.theta, world.r, half))
    extra = 0.0 if reading == "paper" else (_spread(world) - 1.0) * _hoeffding(n, half)
    return Promise(half, printed + extra)


def fixed_deviation(
    reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float
) -> Promise | None:
    """Term (c) of A.4 and term (d) of A.2 at level delta/2; corrected: M sqrt(log(2/delta) / 2n)."""
    if reading == "tighter":
        return None
    n, half = budget // world.K, delta / 2
    if reading == "paper":
        return Promise(half, float(paper.lemma_3(n, world.theta, world.r, half)))
    return Promise(half, _spread(world) * _hoeffding(n, half))


def half_gap_optimism(
    reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float
) -> Promise | None:
    """Term (a) of A.6: V_2 < R_2 - Delta/2 with probability at most 2 exp(-(2/9) n x^2), or exp(-2 n x^2 / M^2)."""
    if reading == "tighter":
        return None
    module: Any = paper if reading == "paper" else corrected
    whole = float(module.lemma_4(budget // world.K, world.gap, world.theta, world.r, strict=False))
    return Promise(whole / 2, world.gap / 2)


def half_gap_pessimism(
    reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float
) -> Promise | None:
    """Term (b) of A.6: V_1 > R_1 + Delta/2; corrected exp(-n Delta^2 / (2 M^2)), for the best model is fixed."""
    if reading == "tighter":
        return None
    if reading == "paper":
        return half_gap_optimism(reading, world, strategy, budget, delta)
    n = budget // world.K
    return Promise(math.exp(-n * (world.gap / _spread(world)) ** 2 / 2), world.gap / 2)


def supervised(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise | None:
    """Eq. 6 with its O() opened by the paper's own steps, and repaired, on the n rows of the best arm."""
    if reading == "tighter":
        return None
    module: Any = paper if reading == "paper" else corrected
    return Promise(delta, float(module.excess_risk_supervised(budget // world.K, world.theta, world.r, delta)))


def out_of_reach(reading: Reading, world: World, strategy: StrategyName, budget: int, delta: float) -> Promise | None:
    """Remark 5: below the launch budget the best arm is found with probability at most 0.95."""
    return Promise(0.95) if reading == "paper" else None


def _spread(world: World) -> float:
    return float(loss_range(world.theta, world.r))


def _hoeffding(n: int, delta: float) -> float:
    return math.sqrt(math.log(1 / delta) / (2 * n))
