"""Planted bugs in strategies, sampling, seeds and money, each as small as the real ones are."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from exml_sim.engine.seeds import Seeds
from exml_sim.pool import FeaturePool, RowSession
from exml_sim.sampling import RowSampler
from exml_sim.strategies import MedianElimination, UniformAllocation
from exml_sim.strategies.median_elimination import halving_rounds


class WorseHalf(MedianElimination):
    """Keeps the arms with the highest scores."""

    __slots__ = ()

    def explore(self, trials: Any) -> Any:
        rounds, width = halving_rounds(trials.n_arms), trials.n_arms
        for _ in range(rounds):
            trials.buy(trials.budget / rounds, fresh=not self.reuse)
            scores, _ = trials.score(lambda found: np.zeros(found.value.shape, dtype=bool), fresh=not self.reuse)
            leaving, width = width // 2, (width + 1) // 2
            order = np.argsort(scores.value, axis=1, kind="stable")[:, :leaving]
            survivors = trials.active.copy()
            np.put_along_axis(survivors, order, False, axis=1)
            trials.close_round(scores, survivors, np.ones(len(survivors), dtype=bool))
        return trials.active.argmax(axis=1)[:, None]


class ReusesAlways(MedianElimination):
    """Scores on all rows although it was told to use fresh ones."""

    __slots__ = ()

    def explore(self, trials: Any) -> Any:
        return MedianElimination(reuse=True).explore(trials)


class ReusesNever(MedianElimination):
    """Scores on fresh rows although it was told to reuse."""

    __slots__ = ()

    def explore(self, trials: Any) -> Any:
        return MedianElimination(reuse=False).explore(trials)


class FloorHalving(MedianElimination):
    """Keeps floor(a / 2) arms in place of ceil(a / 2)."""

    __slots__ = ()

    def explore(self, trials: Any) -> Any:
        rounds, width = halving_rounds(trials.n_arms), trials.n_arms
        for _ in range(rounds):
            trials.buy(trials.budget / rounds, fresh=not self.reuse)
            width = max(1, width // 2)
            trials.keep(width, fresh=not self.reuse)
        return trials.active.argmax(axis=1)[:, None]


class HalfTheMoney(UniformAllocation):
    """Leaves half of the budget unspent."""

    __slots__ = ()

    def explore(self, trials: Any) -> Any:
        trials.buy(trials.budget / 2)
        return trials.keep(self.top)


class BiasedSampler(RowSampler):
    """Draws the first row whenever it should draw the last one."""

    def draw(self, pulls: Any, fresh: bool) -> None:
        super().draw(pulls, fresh)
        for counts in (self.counts, self._fresh):
            if counts is not None:
                counts[:, :, 0] += counts[:, :, -1]
                counts[:, :, -1] = 0


class BiasedPool(FeaturePool):
    """Rows that are not equally likely."""

    def open(self, seeds: Seeds) -> RowSession:
        return RowSession(self.arms, BiasedSampler(seeds, self.n_arms, self.n_rows, self.options))


class RepeatedSeedsPool(FeaturePool):
    """Trials 2 i and 2 i + 1 read the same random numbers."""

    def open(self, seeds: Seeds) -> RowSession:
        return super().open(Seeds(seeds.key, seeds.trials // np.uint64(2)))


def turned_into(pool: FeaturePool, kind: type[FeaturePool]) -> FeaturePool:
    """The same pool with a bug."""
    changed = copy.copy(pool)
    changed.__class__ = kind
    return changed


@dataclass(frozen=True)
class Bug:
    """What is wrong, and which right thing it stands in for."""

    error: str
    right: Any
    wrong: Any
    arms: int
    accumulate: bool | None


BUGS: tuple[Bug, ...] = (
    Bug("keeps the worse half", MedianElimination(), WorseHalf(), 4, True),
    Bug("reuses rows when told not to", MedianElimination(reuse=False), ReusesAlways(reuse=False), 4, False),
    Bug("draws fresh rows when told to reuse", MedianElimination(), ReusesNever(), 4, True),
    Bug("floor-halving", MedianElimination(), FloorHalving(), 3, True),
    Bug("leaves half of the money", UniformAllocation(), HalfTheMoney(), 4, None),
)
