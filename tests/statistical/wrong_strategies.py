"""Planted bugs in strategies, sampling, seeds and money, each as small as real ones are, and what they do to counts.

The distributions that the right things agree with come from `theory.exact`, which shares no code with the engine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from exml_sim._internal.arrays import BoolArray
from exml_sim.bandit._ranking import count_fewest, mark_arms
from exml_sim.bandit._sampling import RowSampler
from exml_sim.bandit.rows import FeaturePool, RowState
from exml_sim.seeds import Seeds
from exml_sim.strategies import MedianElimination, UniformAllocation
from tests.statistical.instances import BEST, EMPTY, RIVAL, as_affine, opposed_world
from theory import exact


class WorseHalf(MedianElimination):
    """Keeps the arms with the highest scores."""

    __slots__ = ()

    def halve(self, batch: Any, money: Fraction, width: int) -> None:
        batch.buy(money, fresh=not self.accumulate)
        scores, _ = batch.score(fresh=not self.accumulate)
        leaving = count_fewest(batch.active) - width
        best = np.argsort(scores.value, axis=1, kind="stable")[:, :leaving]
        batch.close_round(scores, batch.active & ~mark_arms(best, batch.n_arms))


class AccumulatesWrongly(MedianElimination):
    """Scores on all rows although it was told to use fresh ones, and the other way round."""

    __slots__ = ()

    def explore(self, batch: Any) -> Any:
        return MedianElimination(accumulate=not self.accumulate).explore(batch)


class FloorHalving(MedianElimination):
    """Keeps floor(a / 2) arms in place of ceil(a / 2)."""

    __slots__ = ()

    def halve(self, batch: Any, money: Fraction, width: int) -> None:
        MedianElimination.halve(self, batch, money, max(1, count_fewest(batch.active) // 2))


class HalfTheMoney(UniformAllocation):
    """Leaves half of the budget unspent."""

    __slots__ = ()

    def explore(self, batch: Any) -> Any:
        batch.buy(batch.budget / 2)
        return batch.keep_best(self.top)


class BiasedSampler(RowSampler):
    """Draws the first row whenever it should draw the last but one."""

    def draw(self, pulls: Any, fresh_rows: bool) -> None:
        super().draw(pulls, fresh_rows)
        for counts in (self.counts, self._fresh):
            if counts is not None:
                counts[:, :, 0] += counts[:, :, -2]
                counts[:, :, -2] = 0


class BiasedPool(FeaturePool):
    """Rows that are not equally likely."""

    def open(self, seeds: Seeds) -> RowState:
        return RowState(self.arms, BiasedSampler(seeds, self.n_arms, self.n_rows, self.options))


class RepeatedSeedsPool(FeaturePool):
    """Trials 2 i and 2 i + 1 read the same random numbers."""

    def open(self, seeds: Seeds) -> RowState:
        return super().open(Seeds(seeds.key, seeds.trials // np.uint64(2)))


def turned_into(pool: FeaturePool, kind: type[FeaturePool]) -> FeaturePool:
    """The same pool with a bug."""
    changed = copy.copy(pool)
    changed.__class__ = kind
    return changed


@dataclass(frozen=True)
class Seen:
    """What the right and the wrong thing did in as many trials, and the probability that was meant."""

    probability: float
    trials: int
    right: int
    wrong: int


TRIALS, ROWS = 10_000, 20
TENTH = Fraction(1, 10)
WORLD = {arms: opposed_world(TENTH, TENTH, (RIVAL, BEST, *(EMPTY,) * (arms - 2))) for arms in (2, 3, 4)}
#: The right strategy, the wrong one, and the number of arms.
MEDIAN: dict[str, tuple[MedianElimination, MedianElimination, int]] = {
    "keeps the worse half": (MedianElimination(ties="lowest"), WorseHalf(), 4),
    "reuses rows when told not to": (
        MedianElimination(accumulate=False, ties="lowest"),
        AccumulatesWrongly(accumulate=False),
        4,
    ),
    "draws fresh rows when told to accumulate": (MedianElimination(ties="lowest"), AccumulatesWrongly(), 4),
    "floor-halving": (MedianElimination(ties="lowest"), FloorHalving(), 3),
}
UNIFORM = UniformAllocation(ties="lowest")


def compute_uniform_failure(arms: int, rows: int = ROWS) -> float:
    """Exact failure probability of uniform allocation."""
    pool = as_affine(WORLD[arms])
    return float(exact.failure(pool, exact.uniform_selection(pool, arms * rows, exact=False)))


def seen_in_median(error: str) -> Seen:
    """Median elimination and a buggy one."""
    right, wrong, arms = MEDIAN[error]
    budget, pool = 2 * arms * ROWS, as_affine(WORLD[arms])
    distribution = exact.median_selection(pool, budget, accumulate=right.accumulate, exact=False)
    counts = [WORLD[arms].count(rule, budget, TRIALS, seed=3) for rule in (right, wrong)]
    return Seen(float(exact.failure(pool, distribution)), TRIALS, *counts)


def seen_in_money() -> Seen:
    """Half of the budget is left."""
    counts = [WORLD[4].count(rule, 4 * ROWS, TRIALS, seed=3) for rule in (UNIFORM, HalfTheMoney(ties="lowest"))]
    return Seen(compute_uniform_failure(4), TRIALS, *counts)


def seen_in_costs() -> Seen:
    """Costs 1 and 3: sample alignment buys floor(B / 4) rows of each arm; ignoring the costs, floor(B / 2)."""
    worlds = (WORLD[2].with_(costs=("1", "3")), WORLD[2])
    return Seen(
        compute_uniform_failure(2), TRIALS, *(world.count(UNIFORM, 4 * ROWS, TRIALS, seed=6) for world in worlds)
    )


def failures_in(kind: type[FeaturePool], seed: int) -> BoolArray:
    """Failures of uniform allocation on a pool with a bug, trial by trial."""
    pool = turned_into(WORLD[2].pool, kind)
    return pool.explore_many(UNIFORM, 2 * ROWS, TRIALS, seed=seed).failures(pool.best_arms())


def seen_in_sampling() -> Seen:
    """Rows that are not equally likely."""
    return Seen(
        compute_uniform_failure(2), TRIALS, *(int(failures_in(kind, 4).sum()) for kind in (FeaturePool, BiasedPool))
    )


def seen_in_seeds() -> Seen:
    """A rate does not show repeated seeds. Pairs of trials that fail together do: p in place of p^2."""
    failures = [failures_in(kind, 5) for kind in (FeaturePool, RepeatedSeedsPool)]
    return Seen(
        compute_uniform_failure(2) ** 2, TRIALS // 2, *(int(np.sum(failed[::2] & failed[1::2])) for failed in failures)
    )


BUGS: dict[str, Callable[[], Seen]] = {
    **{error: partial(seen_in_median, error) for error in MEDIAN},
    "leaves half of the money": seen_in_money,
    "ignores a cost": seen_in_costs,
    "biased sampling": seen_in_sampling,
    "seeds repeated between trials": seen_in_seeds,
}


@cache
def seen(error: str) -> Seen:
    """The counts of a planted bug, once."""
    return BUGS[error]()
