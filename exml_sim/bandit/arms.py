"""Arms with known laws: Bernoulli, Gaussian, bounded. Pull j of an arm in a trial is a fixed random number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.arrays import FloatArray, IntArray, WordArray
from exml_sim.compiled import kernel
from exml_sim.money import Money, exact, exact_cost
from exml_sim.seeds import Block, normal_pair, philox

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LARGEST = float(np.finfo(np.float64).max)


def _within(number: object, low: float, high: float) -> bool:
    return isinstance(number, int | float | np.number | Fraction) and low <= float(number) <= high


class Added:
    """An arm whose pulls are added as they are; an arm on a grid adds whole steps of it."""

    __slots__ = ()

    @property
    def grid(self) -> int:
        """Steps per unit."""
        return 1


class WrittenMean(Added):
    """An arm whose mean is a number that was given."""

    __slots__ = ()
    mean: float

    @property
    def exact_mean(self) -> Fraction:
        """The mean as the decimal it is written as."""
        return exact(self.mean, "mean")


class ExactMean(Added):
    """An arm whose mean follows from its law."""

    __slots__ = ()

    @property
    def exact_mean(self) -> Fraction:
        """The mean of one pull."""
        raise NotImplementedError

    @property
    def mean(self) -> float:
        """The mean of one pull."""
        return float(self.exact_mean)


@dataclass(frozen=True, slots=True)
class BernoulliArm(WrittenMean):
    """An arm whose pull is 1 with probability `mean`, else 0."""

    mean: float
    cost: Money = 1

    def __post_init__(self) -> None:
        if not _within(self.mean, 0.0, 1.0):
            raise ValueError(f"the mean of a Bernoulli arm must be in [0, 1], got {self.mean!r}")
        exact_cost(self.cost)

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        # The probability in units of 2**-64; 1 itself does not fit and is 2**64 - 1 "or equal".
        level = np.uint64(min(int(Fraction(self.mean) * 2**64), 2**64 - 1))
        _add_bernoulli(key, trials, np.uint64(substream), start, pulls, out, level, self.mean == 1.0)


@dataclass(frozen=True, slots=True)
class GaussianArm(WrittenMean):
    """An arm whose pull is normal with the given mean and standard deviation."""

    mean: float
    sd: float = 1.0
    cost: Money = 1

    def __post_init__(self) -> None:
        if not (_within(self.mean, -_LARGEST, _LARGEST) and _within(self.sd, 0.0, _LARGEST)):
            raise ValueError(
                f"a Gaussian arm needs a finite mean and a finite sd >= 0, got {self.mean!r} and {self.sd!r}"
            )
        exact_cost(self.cost)

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        _add_gaussian(key, trials, np.uint64(substream), start, pulls, out, self.mean, self.sd)


@dataclass(frozen=True, slots=True)
class BoundedArm(ExactMean):
    """An arm whose pull is one of finitely many values, with given probabilities.

    Values on a decimal grid (0.25, -1.5, … with `|value| * grid <= 2**31`) are added up as whole numbers, so
    that equal means are equal scores, also across arms. Other values are added up as floats.
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...]
    cost: Money = 1

    def __post_init__(self) -> None:
        for name in ("values", "probabilities"):
            object.__setattr__(self, name, _numbers(getattr(self, name), f"the {name} of a bounded arm"))
        if not self.values or len(self.values) != len(self.probabilities):
            raise ValueError(
                "a bounded arm needs as many probabilities as values, "
                f"got {len(self.probabilities)} and {len(self.values)}"
            )
        if min(self.probabilities) < 0 or abs(sum(self.probabilities) - 1.0) > 1e-12:
            raise ValueError(f"probabilities must not be negative and sum to 1, got {self.probabilities}")
        exact_cost(self.cost)

    @property
    def exact_mean(self) -> Fraction:
        """The mean of one pull, values and probabilities being the decimals they are written as."""
        weights = [exact(p) for p in self.probabilities]
        total = sum((w * exact(v) for w, v in zip(weights, self.values, strict=True)), Fraction(0))
        # Thirds written as floats do not sum to 1.
        return total / sum(weights, Fraction(0))

    @property
    def grid(self) -> int:
        """Steps per unit of the coarsest grid that all values lie on; 1 if it is too fine for whole numbers."""
        values = [exact(v) for v in self.values]
        steps = math.lcm(*(v.denominator for v in values))
        # Sums of 2**22 pulls are then whole numbers below 2**53, which floats hold without rounding.
        return steps if max(map(abs, values)) * steps <= 2**31 else 1

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add `grid` times pulls start … start + pulls of every trial to `out`."""
        reached = np.cumsum([Fraction(p) for p in self.probabilities[:-1]])
        steps = np.array([min(int(edge * 2**64), 2**64 - 1) for edge in reached], dtype=np.uint64)
        values = np.array([float(exact(v) * self.grid) for v in self.values])
        _add_bounded(key, trials, np.uint64(substream), start, pulls, out, steps, values)


def _numbers(given: object, what: str) -> tuple[float, ...]:
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite numbers, got {given!r}")
    return tuple(array.tolist())


@kernel
def _ones(word: np.uint64) -> np.uint64:
    """Number of one bits in a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _compared(words: Block, level: np.uint64, below: np.uint64, undecided: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Compare 64 numbers with the level on four bit positions, the highest four of `level`; no branches."""
    one = np.uint64(1)
    # All bits of a mask are that bit of the level.
    first, second = np.uint64(0) - (level >> np.uint64(63)), np.uint64(0) - ((level >> np.uint64(62)) & one)
    third, fourth = np.uint64(0) - ((level >> np.uint64(61)) & one), np.uint64(0) - ((level >> np.uint64(60)) & one)
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
    """Up to 64 Bernoulli pulls at once: a wanted bit is 1 iff a uniform 64-bit number is below `level`.

    The numbers are compared with the level from the highest bit down, all 64 together; four more bit positions are
    drawn only while some of them still agree with the level on all higher bits, about seven words on average.
    """
    below, undecided = np.uint64(0), wanted
    for group in range(16):
        words = philox(key[0], key[1], np.uint64(block * 16 + group), substream, trial, np.uint64(0))
        below, undecided = _compared(words, level << np.uint64(4 * group), below, undecided)
        # Below its last one bit the level has only zeros, and no number that got this far is below it.
        if undecided == 0 or (group < 15 and level << np.uint64(4 * group + 4) == 0):
            break
    return below


@kernel
def _bernoulli_sum(
    key: WordArray, trial: np.uint64, substream: np.uint64, first: int, stop: int, level: np.uint64
) -> np.uint64:
    """Sum of pulls first … stop - 1."""
    total = np.uint64(0)
    for block in range(first // 64, (stop + 63) // 64):
        low, high = max(first - 64 * block, 0), min(stop - 64 * block, 64)
        mask = (_ALL >> np.uint64(64 - high)) & (_ALL << np.uint64(low))
        total += _ones(_bernoulli_block(key, trial, substream, block, level, mask))
    return total


@kernel
def _pulled(pulls: IntArray) -> IntArray:
    """The trials that pull the arm at all, found without branches."""
    found = np.empty(pulls.size, dtype=np.int64)
    number = 0
    for t in range(pulls.size):
        found[number] = t
        number += pulls[t] > 0
    return found[:number]


@kernel
def _add_bernoulli(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    level: np.uint64,
    certain: bool,
) -> None:
    if certain:
        out += pulls
        return
    for t in _pulled(pulls):
        out[t] += _bernoulli_sum(key, trials[t], substream, start[t], start[t] + pulls[t], level)


@kernel
def add_bernoulli(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    levels: WordArray,
) -> None:
    """The same with a level for every trial."""
    for t in _pulled(pulls):
        out[t] += _bernoulli_sum(key, trials[t], substream, start[t], start[t] + pulls[t], levels[t])


@kernel
def gaussian_sum(
    total: float, key: WordArray, trial: np.uint64, substream: np.uint64, first: int, stop: int, mean: float, sd: float
) -> float:
    """Pulls first … stop - 1 added to a total, one after the other."""
    j = first
    if j < stop and j % 2 == 1:
        total += mean + sd * normal_pair(key, trial, substream, j // 2)[1]
        j += 1
    while j < stop:
        even, odd = normal_pair(key, trial, substream, j // 2)
        total += mean + sd * even
        if j + 1 < stop:
            total += mean + sd * odd
        j += 2
    return total


@kernel
def _add_gaussian(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    mean: float,
    sd: float,
) -> None:
    for t in _pulled(pulls):
        out[t] = gaussian_sum(out[t], key, trials[t], substream, start[t], start[t] + pulls[t], mean, sd)


@kernel
def _add_bounded(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    steps: WordArray,
    values: FloatArray,
) -> None:
    """Inverse distribution function: a word's value is found by the cumulated probabilities it reaches."""
    for t in range(trials.size):
        for j in range(start[t], start[t] + pulls[t]):
            words = philox(key[0], key[1], np.uint64(j // 4), substream, trials[t], np.uint64(0))
            position = 0
            while position < steps.size and words[j % 4] >= steps[position]:
                position += 1
            out[t] += values[position]
