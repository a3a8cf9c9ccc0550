"""Draw the successes of many Bernoulli pulls at once, by the inverse of the binomial distribution.

A purchase of n pulls of an arm reads one random word. Its address is the trial, the arm and the number of pulls that
the arm has had. The successes are the quantile of Binomial(n, p) at word / 2**64. Words of different addresses are
independent, so purchases of any sizes have the distribution of independent pulls. Strategies that buy alike see the
same successes, and otherwise more successes go with more (common random numbers).

Thresholds are computed in whole numbers: every probability is exact up to 2**-64.

Arms whose mean is drawn in every trial have no tables. Their pulls are drawn one by one, 64 at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.seeds import Block, philox

#: Bits of the weights from which thresholds are summed, and of a probability.
_WEIGHT_BITS, _BITS = 192, 64
#: The counter of the random numbers that purchases read; single pulls read 0, random means 1.
_ROUND = np.uint64(2)
#: Purchases of one size whose tables are kept.
_KEPT_SIZES = 256
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Pulls(NamedTuple):
    """Pulls start … start + number - 1 of one arm in every trial, by the address of their random numbers."""

    key: WordArray
    trials: WordArray
    substream: np.uint64
    start: IntArray
    number: IntArray


class InverseTables(NamedTuple):
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
def build_tables(n: int, levels: tuple[int | None, ...]) -> InverseTables:
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
    return InverseTables(
        row, lowest, np.concatenate(arrays), ends.astype(np.int64), guide.astype(np.int64), np.uint64(shift)
    )


@kernel
def _invert(tables: InverseTables, row: int, word: np.uint64) -> int:
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
    key: WordArray,
    trials: WordArray,
    had: IntArray,
    pulls: IntArray,
    size: int,
    tables: InverseTables,
    sums: FloatArray,
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
    tables: InverseTables,
    sums: FloatArray,
) -> None:
    """Add the successes of the purchases of one size, of few arms per trial, to `sums` of shape (trials, K)."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if number[t, j] == size:
                arm = arms[t, j]
                words = philox(key[0], key[1], np.uint64(had[t, arm]), np.uint64(arm // 4), trials[t], _ROUND)
                sums[t, arm] += _invert(tables, tables.row[arm], words[arm % 4])


@kernel
def find_pulled(number: IntArray) -> IntArray:
    """List the trials that pull the arm at all, without branches."""
    trials = np.empty(number.size, dtype=np.int64)
    size = 0
    for t in range(number.size):
        trials[size] = t
        size += number[t] > 0
    return trials[:size]


@kernel
def _count_ones(word: np.uint64) -> np.uint64:
    """Count the one bits of a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _compare_bits(
    words: Block, level: np.uint64, below: np.uint64, undecided: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Compare 64 numbers with the level on four bit positions, the highest four of `level`; no branches."""
    bit = np.uint64(1)
    # All bits of a mask are that bit of the level.
    first, second = np.uint64(0) - (level >> np.uint64(63)), np.uint64(0) - ((level >> np.uint64(62)) & bit)
    third, fourth = np.uint64(0) - ((level >> np.uint64(61)) & bit), np.uint64(0) - ((level >> np.uint64(60)) & bit)
    below |= undecided & ~words[0] & first
    undecided &= ~(words[0] ^ first)
    below |= undecided & ~words[1] & second
    undecided &= ~(words[1] ^ second)
    below |= undecided & ~words[2] & third
    undecided &= ~(words[2] ^ third)
    below |= undecided & ~words[3] & fourth
    undecided &= ~(words[3] ^ fourth)
    return below, undecided


@kernel
def _bernoulli_block(
    key: WordArray, trial: np.uint64, substream: np.uint64, block: int, level: np.uint64, wanted: np.uint64
) -> np.uint64:
    """Draw up to 64 Bernoulli pulls at once: a wanted bit is 1 iff a uniform 64-bit number is below `level`.

    The numbers are compared with the level from the highest bit down, all 64 together; four more bit positions are
    drawn only while some of them still agree with the level on all higher bits, about seven words on average.
    """
    below, undecided = np.uint64(0), wanted
    for group in range(16):
        words = philox(key[0], key[1], np.uint64(block * 16 + group), substream, trial, np.uint64(0))
        below, undecided = _compare_bits(words, level << np.uint64(4 * group), below, undecided)
        # Below its last one bit the level has only zeros, and no number that got this far is below it.
        if undecided == 0 or (group < 15 and level << np.uint64(4 * group + 4) == 0):
            break
    return below


@kernel
def add_bernoulli(pulls: Pulls, levels: WordArray, out: FloatArray) -> None:
    """Add Bernoulli pulls, 1 with probability levels[t] / 2**64."""
    for t in find_pulled(pulls.number):
        first, stop = pulls.start[t], pulls.start[t] + pulls.number[t]
        total = np.uint64(0)
        for block in range(first // 64, (stop + 63) // 64):
            low, high = max(first - 64 * block, 0), min(stop - 64 * block, 64)
            mask = (_ALL >> np.uint64(64 - high)) & (_ALL << np.uint64(low))
            total += _count_ones(_bernoulli_block(pulls.key, pulls.trials[t], pulls.substream, block, levels[t], mask))
        out[t] += total
