"""Draw the successes of many Bernoulli pulls at once, by the inverse of the binomial distribution.

A purchase of n pulls of an arm reads one random word. Its address is the trial, the arm and the number of pulls that
the arm has had. The successes are the quantile of Binomial(n, p) at word / 2**64. Words of different addresses are
independent, so purchases of any sizes have the distribution of independent pulls. Strategies that buy alike see the
same successes, and otherwise more successes go with more (common random numbers).

Thresholds are computed in whole numbers: every probability is exact up to 2**-64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.seeds import philox

#: Bits of the weights from which thresholds are summed, and of a probability.
_WEIGHT_BITS, _BITS = 192, 64
#: The counter of the random numbers that purchases read; single pulls read 0, random means 1.
_ROUND = np.uint64(2)
#: Purchases of one size whose tables are kept.
_KEPT_SIZES = 256


class Tables(NamedTuple):
    """Inverses of Binomial(n, p) for one n and several p.

    Attributes
    ----------
    row
        Table of every arm; -1 for arms that have none.
    lowest
        Smallest number of successes of every table.
    steps, ends
        Thresholds of all tables one after the other, and where each table ends.
    guide, shift
        Place of the first threshold above the smallest word with the given highest bits; 64 less the number of bits.
    """

    row: IntArray
    lowest: IntArray
    steps: WordArray
    ends: IntArray
    guide: IntArray
    shift: np.uint64


def find_thresholds(n: int, level: int) -> tuple[int, list[int]]:
    """Compute the smallest number of successes, and the words from which there is one more.

    Parameters
    ----------
    n
        Number of pulls.
    level
        Probability of success in units of 2**-64.
    """
    if level in (0, 1 << _BITS) or n == 0:
        return (n if level else 0), []
    rest = (1 << _BITS) - level
    mode = min((n + 1) * level >> _BITS, n)
    weights = [1 << _WEIGHT_BITS]
    # Rounding down loses at most n^2 units of 2**-192 in all.
    for k in range(mode, n):
        weights.append(weights[-1] * ((n - k) * level) // ((k + 1) * rest))
        if not weights[-1]:
            break
    below = [weights[0]]
    for k in range(mode, 0, -1):
        below.append(below[-1] * (k * rest) // ((n - k + 1) * level))
        if not below[-1]:
            break
    weights = below[:0:-1] + weights
    total, seen, steps = sum(weights), 0, []
    first = mode - len(below) + 1
    for weight in weights[:-1]:
        seen += weight
        steps.append((seen << _BITS) // total)
    low = sum(step == 0 for step in steps)
    return first + low, [step for step in steps[low:] if step < 1 << _BITS]


@lru_cache(maxsize=_KEPT_SIZES)
def build_tables(n: int, levels: tuple[int | None, ...]) -> Tables:
    """Build the tables of purchases of n pulls, one for every different probability.

    Parameters
    ----------
    levels
        Probability of every arm in units of 2**-64; None for arms of another kind.
    """
    distinct = sorted({level for level in levels if level is not None})
    found = [find_thresholds(n, level) for level in distinct]
    bits = max(1, (2 * max(len(steps) for _, steps in found)).bit_length())
    shift = _BITS - bits
    edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(shift)
    arrays = [np.array(steps, dtype=np.uint64) for _, steps in found]
    ends = np.cumsum([steps.size for steps in arrays])
    starts = ends - [steps.size for steps in arrays]
    guide = np.stack(
        [start + np.searchsorted(steps, edges, side="right") for start, steps in zip(starts, arrays, strict=True)]
    )
    row = np.array([-1 if level is None else distinct.index(level) for level in levels], dtype=np.int64)
    lowest = np.array([low for low, _ in found], dtype=np.int64) - starts
    return Tables(row, lowest, np.concatenate(arrays), ends.astype(np.int64), guide.astype(np.int64), np.uint64(shift))


@kernel
def _invert(tables: Tables, row: int, word: np.uint64) -> int:
    """Return the successes of a purchase: the number of thresholds that the word reaches."""
    place = tables.guide[row, word >> tables.shift]
    while place < tables.ends[row] and word >= tables.steps[place]:
        place += 1
    return int(tables.lowest[row] + place)


@kernel
def find_next_size(pulls: IntArray, tabled: BoolArray, last: int) -> int:
    """Return the smallest number of pulls above `last` that some trial buys of a tabled arm; 0 if there is none."""
    smallest = np.iinfo(np.int64).max
    for t in range(pulls.shape[0]):
        for arm in range(pulls.shape[1]):
            if last < pulls[t, arm] < smallest and tabled[arm]:
                smallest = pulls[t, arm]
    return 0 if smallest == np.iinfo(np.int64).max else smallest


@kernel
def add_purchases(
    key: WordArray, trials: WordArray, had: IntArray, pulls: IntArray, size: int, tables: Tables, sums: FloatArray
) -> None:
    """Add the successes of all purchases of one size to `sums`; all arrays have the shape (trials, K).

    Four arms that have had as many pulls read the four words of one counter.
    """
    for t in range(pulls.shape[0]):
        for first in range(0, pulls.shape[1], 4):
            start = -1
            words = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
            for arm in range(first, min(first + 4, pulls.shape[1])):
                row = tables.row[arm]
                if pulls[t, arm] != size or row < 0:
                    continue
                if had[t, arm] != start:
                    start = had[t, arm]
                    words = philox(key[0], key[1], np.uint64(start), np.uint64(first // 4), trials[t], _ROUND)
                sums[t, arm] += _invert(tables, row, words[arm - first])


@kernel
def add_some(
    key: WordArray,
    trials: WordArray,
    had: IntArray,
    arms: IntArray,
    number: IntArray,
    size: int,
    tables: Tables,
    sums: FloatArray,
) -> None:
    """Add the successes of the purchases of one size, of few arms per trial, to `sums` of shape (trials, K)."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if number[t, j] == size:
                arm = arms[t, j]
                words = philox(key[0], key[1], np.uint64(had[t, arm]), np.uint64(arm // 4), trials[t], _ROUND)
                sums[t, arm] += _invert(tables, tables.row[arm], words[arm % 4])
