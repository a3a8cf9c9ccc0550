"""Choose the rows that pulls buy, for many trials at once.

Every trial owns an endless *order* of rows. A pull of an arm takes the arm's next row in that order, so
arms with equally many pulls have been bought on the same rows, a cheaper arm holds a longer prefix, and two
strategies that run from the same seed read the same order (a paired comparison).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import CountArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim._internal.validation import check_choice
from exml_sim.seeds import Seeds, mulhi, philox

ROWS: Sequence[str] = ("same", "independent")
REPLACEMENT: Sequence[str] = ("always", "across", "never")
SHORTFALL: Sequence[str] = ("error", "cap")


class Shortfall(ValueError):
    """A round asks for more rows than exist."""


@dataclass(frozen=True, slots=True)
class RowOptions:
    """How rows are chosen.

    Attributes
    ----------
    rows
        "same": all arms read one order (Algorithm 1). "independent": every arm has an order of its own.
    replacement
        "always": rows are drawn independently, with replacement (the lemmas). "across": without replacement
        within a round, anew in every round, so that a later round may buy a row again. "never": one
        shuffle of the population per trial, no row is bought twice.
    shortfall
        What happens when a round asks for more rows than are left. "error": `Shortfall` is raised before
        any money is spent. "cap": the arm gets the rows that are left, the ledger shows the missing pulls
        as `short` and keeps the money.
    """

    rows: str = "same"
    replacement: str = "always"
    shortfall: str = "error"

    def __post_init__(self) -> None:
        check_choice(self.rows, "rows option", ROWS)
        check_choice(self.replacement, "replacement option", REPLACEMENT)
        check_choice(self.shortfall, "shortfall option", SHORTFALL)


class OrderReader:
    """Positions of the arms of N trials in their orders of rows.

    Parameters
    ----------
    seeds
        Addresses of the trials.
    n_arms, n_rows
        K and m.
    options
        The row options.
    """

    def __init__(self, seeds: Seeds, n_arms: int, n_rows: int, options: RowOptions) -> None:
        self.seeds = seeds
        self.n_rows = n_rows
        self.options = options
        self._next = np.zeros((len(seeds), n_arms), dtype=np.int64)
        self._round = 0
        substreams = range(1, n_arms + 1) if options.rows == "independent" else [0] * n_arms
        self._substreams = np.array(substreams, dtype=np.uint64)

    def _start(self, fresh: bool) -> IntArray:
        """Position in its order from which each arm reads next.

        A fresh round starts for all arms behind the furthest row that any arm has read, so that it is
        independent of everything that decided which arms are still active.
        """
        if self.options.replacement == "across":
            return np.zeros_like(self._next)
        if fresh:
            return np.broadcast_to(self._next.max(axis=1, keepdims=True), self._next.shape)
        return self._next

    def rows_left(self, fresh: bool = False) -> IntArray | None:
        """Rows that every arm can still buy, shape (trials, K); None with replacement."""
        if self.options.replacement == "always":
            return None
        return np.asarray(np.maximum(self.n_rows - self._start(fresh), 0), dtype=np.int64)

    def cap_pulls(self, pulls: IntArray, fresh: bool) -> IntArray:
        """Cap the wanted pulls at the rows that are left, shape (trials, K); may raise `Shortfall`."""
        left = self.rows_left(fresh)
        if left is None:
            return pulls
        capped = np.minimum(pulls, left)
        if self.options.shortfall == "error" and np.any(capped < pulls):
            trial, arm = np.argwhere(capped < pulls)[0]
            raise Shortfall(
                f"round {self._round + 1} asks for {pulls[trial, arm]} rows of arm {arm}, but only "
                f"{left[trial, arm]} of the {self.n_rows} rows are left without replacement "
                f"(replacement={self.options.replacement!r}): lower the budget, "
                "use shortfall='cap' or replacement='always'"
            )
        return np.asarray(capped, dtype=np.int64)

    def _advance(self, start: IntArray, pulls: IntArray, fresh: bool) -> None:
        """Move the arms on in their orders."""
        self._next = start + pulls if not fresh else np.where(pulls > 0, start + pulls, self._next)
        self._round += 1

    def _list_drawn(self, trial: int, arm: int, start: int, size: int) -> IntArray:
        """List `size` rows from position `start` on of an arm's order of independent draws."""
        rows = np.empty(size, dtype=np.int64)
        list_rows(rows, self.seeds.key, self.seeds.trials[trial], self._substreams[arm], start, self.n_rows)
        return rows


class RowSampler(OrderReader):
    """The bought rows of N trials as counts over the population, drawn from addressed random numbers.

    Attributes
    ----------
    counts
        How often each row was bought for each arm, shape (trials, K, m).
    """

    def __init__(self, seeds: Seeds, n_arms: int, n_rows: int, options: RowOptions) -> None:
        super().__init__(seeds, n_arms, n_rows, options)
        self.counts: CountArray = np.zeros((len(seeds), n_arms, n_rows), dtype=np.int32)
        self._fresh: CountArray | None = None
        self._orders: CountArray | None = None

    def take_all(self) -> None:
        """Give every arm every row once: the population."""
        self.counts[:] = 1

    def trial_counts(self, trial: int) -> CountArray:
        """Copy the counts of one trial, shape (K, m)."""
        counts: CountArray = self.counts[trial].copy()
        return counts

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Add capped pulls to the counts."""
        start = np.ascontiguousarray(self._start(fresh))
        target = self.counts
        if fresh:
            target = self._fresh = np.zeros_like(self.counts)
        if self.options.replacement == "always":
            _add_drawn(target, self.seeds.key, self.seeds.trials, self._substreams, start, pulls)
        else:
            _add_ordered(target, self._shuffled_orders(), start, pulls)
        if fresh:
            self.counts += target
        self._advance(start, pulls, fresh)

    def _shuffled_orders(self) -> CountArray:
        """Shuffle the population, shape (trials, K or 1, m): once per trial, or once per trial and round."""
        per_round = self.options.replacement == "across"
        if self._orders is None or per_round:
            substreams = self._substreams if self.options.rows == "independent" else self._substreams[:1]
            orders = np.empty((len(self.seeds), substreams.size, self.n_rows), dtype=np.int32)
            turn = np.uint64(self._round + 1 if per_round else 0)
            _shuffle(orders, self.seeds.key, self.seeds.trials, substreams, turn)
            self._orders = orders
        return self._orders

    def order(self, trial: int) -> IntArray | None:
        """List the independent rows that the arms of a trial bought; None where they do not read one order of them.

        An arm with n pulls holds the first n of them.
        """
        pulls = self.counts[trial].sum(axis=1)
        if self.options.rows != "same" or self.options.replacement != "always" or not pulls.any():
            return None
        rows = self._list_drawn(trial, 0, 0, pulls.max())
        prefixes = [np.bincount(rows[:n], minlength=self.n_rows) for n in pulls]
        return rows if np.array_equal(prefixes, self.counts[trial]) else None

    def bought(self, fresh: bool) -> CountArray:
        """Return the counts to score on: everything bought so far, or the latest fresh round alone."""
        if not fresh:
            return self.counts
        if self._fresh is None:
            raise ValueError("no fresh round has been bought yet")
        return self._fresh


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """The rows that one arm holds in one trial: their indices in ascending order, and how often each was bought."""

    rows: NDArray[np.intp]
    times: CountArray

    def dense(self, n_rows: int) -> CountArray:
        """Spread the counts over all rows, shape (m,)."""
        counts = np.zeros(n_rows, dtype=np.int32)
        counts[self.rows] = self.times
        return counts


class RangeSampler(OrderReader):
    """The bought rows of N trials as ranges of their orders, for draws with replacement from large populations.

    With replacement, row j of an order is a function of the trial's address and j. So two numbers per round say what
    an arm holds, the rows are computed where they are scored, and memory does not depend on the population.
    It buys the same rows as `RowSampler`.
    """

    def __init__(self, seeds: Seeds, n_arms: int, n_rows: int, options: RowOptions) -> None:
        if options.replacement != "always":
            raise ValueError(f"ranges are for replacement 'always', got {options.replacement!r}")
        super().__init__(seeds, n_arms, n_rows, options)
        self._ranges: list[tuple[IntArray, IntArray]] = []
        self._fresh: tuple[IntArray, IntArray] | None = None
        self._has_all = False

    def take_all(self) -> None:
        """Give every arm every row once: the population."""
        self._has_all = True

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Record the ranges of capped pulls."""
        bounds = (self._start(fresh).copy(), pulls.copy())
        if fresh:
            self._fresh = bounds
        self._ranges.append(bounds)
        self._advance(*bounds, fresh)

    def held_rows(self, trial: int, arm: int, fresh: bool) -> HeldRows:
        """Compute what an arm holds in a trial: everything bought so far, or the latest fresh round alone."""
        if self._has_all:
            return HeldRows(np.arange(self.n_rows), np.ones(self.n_rows, dtype=np.int32))
        if fresh and self._fresh is None:
            raise ValueError("no fresh round has been bought yet")
        ranges = [self._fresh] if fresh and self._fresh is not None else self._ranges
        parts = [self._list_drawn(trial, arm, start[trial, arm], pulls[trial, arm]) for start, pulls in ranges]
        rows, times = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]), return_counts=True)
        return HeldRows(rows.astype(np.intp), times.astype(np.int32))

    def trial_counts(self, trial: int) -> CountArray:
        """Compute the counts of one trial, shape (K, m)."""
        return np.stack([self.held_rows(trial, arm, False).dense(self.n_rows) for arm in range(self._next.shape[1])])

    @property
    def counts(self) -> CountArray:
        """The counts of all trials, shape (trials, K, m): for the few that are read one by one."""
        return np.stack([self.trial_counts(trial) for trial in range(len(self.seeds))])

    def order(self, trial: int) -> IntArray | None:
        """List the rows that the arms of a trial bought; None where they do not read one order from its start."""
        pulls = sum((pulls[trial] for _, pulls in self._ranges), np.zeros(self._next.shape[1], dtype=np.int64))
        if self.options.rows != "same" or not pulls.any() or not np.array_equal(pulls, self._next[trial]):
            return None
        return self._list_drawn(trial, 0, 0, pulls.max())


@kernel
def _add_drawn(
    counts: CountArray, key: WordArray, trials: WordArray, substreams: WordArray, start: IntArray, pulls: IntArray
) -> None:
    """Buy positions start … start + pulls of the endless orders of independent draws.

    Row j of an order is floor(word_j * m / 2**64): no row is off from probability 1/m by more than 2**-64.
    """
    n_arms = counts.shape[1]
    drawn = np.zeros(counts.shape[2], dtype=np.int32)
    done = np.zeros(n_arms, dtype=np.bool_)
    for t in range(counts.shape[0]):
        done[:] = False
        for k in range(n_arms):
            if done[k]:
                continue
            # Few draws are cheaper than adding up a whole line of counts for every arm.
            if 8 * pulls[t, k] < drawn.size:
                _draw_rows(counts[t, k], key, trials[t], substreams[k], start[t, k], pulls[t, k])
                continue
            drawn[:] = 0
            _draw_rows(drawn, key, trials[t], substreams[k], start[t, k], pulls[t, k])
            # Arms that read the same range of one order bought the same rows: they are drawn once.
            for other in range(k, n_arms):
                same = substreams[other] == substreams[k] and start[t, other] == start[t, k]
                if same and pulls[t, other] == pulls[t, k]:
                    for row in range(drawn.size):
                        counts[t, other, row] += drawn[row]
                    done[other] = True


@kernel
def _draw_rows(
    counts: CountArray, key: WordArray, trial: np.uint64, substream: np.uint64, start: int, pulls: int
) -> None:
    """Count the rows at positions start … start + pulls of one order."""
    size = np.uint64(counts.size)
    stop = start + pulls
    j = start
    while j < stop:
        words = philox(key[0], key[1], np.uint64(j // 4), substream, trial, np.uint64(0))
        for offset in range(j % 4, min(4, stop - 4 * (j // 4))):
            counts[int(mulhi(words[offset], size))] += 1
        j = 4 * (j // 4) + 4


@kernel
def list_rows(out: IntArray, key: WordArray, trial: np.uint64, substream: np.uint64, start: int, n_rows: int) -> None:
    """List the rows from position `start` on of one order of independent draws."""
    for k in range(out.size):
        j = start + k
        words = philox(key[0], key[1], np.uint64(j // 4), substream, trial, np.uint64(0))
        out[k] = int(mulhi(words[j % 4], np.uint64(n_rows)))


@kernel
def _add_ordered(counts: CountArray, orders: CountArray, start: IntArray, pulls: IntArray) -> None:
    """Buy positions start … start + pulls of stored orders."""
    for t in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            substream = k if orders.shape[1] > 1 else 0
            for j in range(start[t, k], start[t, k] + pulls[t, k]):
                counts[t, k, orders[t, substream, j]] += 1


@kernel
def _shuffle(orders: CountArray, key: WordArray, trials: WordArray, substreams: WordArray, turn: np.uint64) -> None:
    """Shuffle by Fisher-Yates with word i deciding position i."""
    size = orders.shape[2]
    for t in range(orders.shape[0]):
        for k in range(orders.shape[1]):
            for i in range(size):
                orders[t, k, i] = i
            for i in range(size - 1):
                # The high bit keeps shuffles apart from the words of drawn orders.
                words = philox(key[0], key[1], np.uint64(i // 4), substreams[k], trials[t], turn | np.uint64(1 << 63))
                j = i + int(mulhi(words[i % 4], np.uint64(size - i)))
                orders[t, k, i], orders[t, k, j] = orders[t, k, j], orders[t, k, i]
