"""Bought rows of large populations: which stretches of its order an arm has read, instead of counts over all rows.

With replacement, row j of an order is a function of the trial's address and j. So what an arm holds is told by the
stretches of positions it has read, two numbers per round, and the rows themselves are computed where they are scored.
Memory does not depend on the population.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, IntArray
from exml_sim.bandit.sampling import OrderReader, RowOptions, list_rows
from exml_sim.seeds import Seeds


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The rows that one arm holds in one trial: their indices in ascending order, and how often each was bought."""

    rows: NDArray[np.intp]
    times: CountArray

    def dense(self, n_rows: int) -> CountArray:
        """Counts over all rows, shape (m,)."""
        counts = np.zeros(n_rows, dtype=np.int32)
        counts[self.rows] = self.times
        return counts


class SparseSampler(OrderReader):
    """The bought rows of N trials as stretches of their orders; for draws with replacement.

    Parameters
    ----------
    seeds, n_arms, n_rows, options
        As for `exml_sim.bandit.sampling.RowSampler`, which buys the same rows.
    """

    def __init__(self, seeds: Seeds, n_arms: int, n_rows: int, options: RowOptions) -> None:
        if options.replacement != "always":
            raise ValueError(f"stretches are for replacement 'always', got {options.replacement!r}")
        super().__init__(seeds, n_arms, n_rows, options)
        self._stretches: list[tuple[IntArray, IntArray]] = []
        self._fresh: tuple[IntArray, IntArray] | None = None
        self._everything = False

    def take_everything(self) -> None:
        """Every arm holds every row once: the population."""
        self._everything = True

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Note the stretches of granted pulls."""
        stretch = (self._start(fresh).copy(), pulls.copy())
        if fresh:
            self._fresh = stretch
        self._stretches.append(stretch)
        self._advance(*stretch, fresh)

    def held(self, trial: int, arm: int, fresh: bool) -> Held:
        """What an arm holds in a trial: everything bought so far, or the latest fresh round alone."""
        if self._everything:
            return Held(np.arange(self.n_rows), np.ones(self.n_rows, dtype=np.int32))
        if fresh and self._fresh is None:
            raise ValueError("no fresh round has been bought yet")
        read = [self._fresh] if fresh and self._fresh is not None else self._stretches
        parts = [np.empty(0, dtype=np.int64)]
        for start, pulls in read:
            part = np.empty(pulls[trial, arm], dtype=np.int64)
            address = self.seeds.trials[trial]
            list_rows(part, self.seeds.key, address, self._lanes[arm], start[trial, arm], self.n_rows)
            parts.append(part)
        rows, times = np.unique(np.concatenate(parts), return_counts=True)
        return Held(rows.astype(np.intp), times.astype(np.int32))

    def of_trial(self, trial: int) -> CountArray:
        """The counts of one trial, shape (K, m)."""
        return np.stack([self.held(trial, arm, False).dense(self.n_rows) for arm in range(self._next.shape[1])])

    @property
    def counts(self) -> CountArray:
        """The counts of all trials, shape (trials, K, m): for the few that are read one by one."""
        return np.stack([self.of_trial(trial) for trial in range(len(self.seeds))])

    def order(self, trial: int) -> IntArray | None:
        """The rows that the arms of a trial bought, in order; None where they do not read one order from its start."""
        pulls = sum((pulls[trial] for _, pulls in self._stretches), np.zeros(self._next.shape[1], dtype=np.int64))
        if self.options.rows != "same" or not pulls.any() or not np.array_equal(pulls, self._next[trial]):
            return None
        found = np.empty(pulls.max(), dtype=np.int64)
        list_rows(found, self.seeds.key, self.seeds.trials[trial], self._lanes[0], 0, self.n_rows)
        return found
