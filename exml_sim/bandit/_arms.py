"""Define arms with known distributions. Pull j of an arm in a trial is a fixed random number.

Arm i of a pool reads substream i + 1 of a trial's random numbers. What several arms share is read from substream 0.
Bernoulli pulls of arms whose mean is drawn in every trial are drawn one by one, 64 at a time; those of other Bernoulli
arms are drawn by purchase (`exml_sim.bandit.parametric`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

from exml_sim._internal.arrays import FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.money import Money, exact, exact_cost
from exml_sim.seeds import Block, normal_pair, normal_pull, philox

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Pulls(NamedTuple):
    """Pulls start … start + number - 1 of one arm in every trial, by the address of their random numbers."""

    key: WordArray
    trials: WordArray
    substream: np.uint64
    start: IntArray
    number: IntArray


class Interval(NamedTuple):
    """Numbers that an arm may have: finite, and inside of both ends, or also at them."""

    low: float = -math.inf
    high: float = math.inf
    is_open: bool = False

    def holds(self, number: object) -> bool:
        """Check a number."""
        if not isinstance(number, int | float | np.number | Fraction) or not math.isfinite(number):
            return False
        return bool(self.low < number < self.high if self.is_open else self.low <= number <= self.high)

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g})" if self.is_open else f"[{self.low:g}, {self.high:g}]"


REAL, FRACTION, NOT_NEGATIVE = Interval(), Interval(0.0, 1.0), Interval(0.0)
POSITIVE = Interval(0.0, is_open=True)


class BaseArm:
    """An arm with a cost and a mean, whose pulls are added up in whole steps of a grid."""

    __slots__ = ()
    #: Steps per unit.
    grid: ClassVar[int] = 1
    #: What the numbers of the arm may be.
    intervals: ClassVar[Mapping[str, Interval]] = {}
    mean: float
    cost: Money

    def __post_init__(self) -> None:
        for name, interval in self.intervals.items():
            if not interval.holds(number := getattr(self, name)):
                raise ValueError(f"{name} of {type(self).__name__} must be a number in {interval}, got {number!r}")
        exact_cost(self.cost)

    @property
    def exact_mean(self) -> Fraction:
        """The mean of one pull, as the decimal it is written as."""
        return exact(self.mean, "mean")

    @property
    def support(self) -> tuple[float, float]:
        """The range of the pulls; infinite where there is none."""
        return -math.inf, math.inf

    @property
    def scale(self) -> float | None:
        """The scale with which pulls are sub-Gaussian: half of their range (Hoeffding), or None if there is none."""
        low, high = self.support
        return (high - low) / 2.0 if math.isfinite(high - low) else getattr(self, "sd", None)

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add `grid` times the values of the pulls to `out`, shape (trials,)."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class BernoulliArm(BaseArm):
    """An arm whose pull is 1 with probability `mean`, else 0."""

    intervals: ClassVar[Mapping[str, Interval]] = {"mean": FRACTION}

    mean: float
    cost: Money = 1

    @property
    def support(self) -> tuple[float, float]:
        """Pulls are 0 or 1."""
        return 0.0, 1.0

    @property
    def level(self) -> int:
        """The mean in units of 2**-64; `exml_sim.bandit.parametric` draws the pulls."""
        return int(Fraction(self.mean) * 2**64)


@dataclass(frozen=True, slots=True)
class GaussianArm(BaseArm):
    """An arm whose pull is normal with the given mean and standard deviation."""

    intervals: ClassVar[Mapping[str, Interval]] = {"mean": REAL, "sd": NOT_NEGATIVE}

    mean: float
    sd: float = 1.0
    cost: Money = 1

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add the values of the pulls to `out`."""
        _add_gaussian(pulls, np.full(out.size, self.mean, dtype=np.float64), float(self.sd), out)


@dataclass(frozen=True, slots=True)
class BoundedArm(BaseArm):
    """An arm whose pull is one of finitely many values, with given probabilities.

    Values on a decimal grid (0.25, -1.5, … with `|value| * grid <= 2**31`) are added up as whole numbers, so
    that equal means are equal scores, also across arms. Other values are added up as floats.
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...]
    cost: Money = 1

    def __post_init__(self) -> None:
        for name in ("values", "probabilities"):
            object.__setattr__(self, name, _check_numbers(getattr(self, name), f"the {name} of a bounded arm"))
        if not self.values or len(self.values) != len(self.probabilities):
            raise ValueError(
                "a bounded arm needs as many probabilities as values, "
                f"got {len(self.probabilities)} and {len(self.values)}"
            )
        if min(self.probabilities) < 0 or abs(sum(self.probabilities) - 1.0) > 1e-12:
            raise ValueError(f"probabilities must not be negative and sum to 1, got {self.probabilities}")
        exact_cost(self.cost)

    @property
    def support(self) -> tuple[float, float]:
        """The range of the values."""
        return min(self.values), max(self.values)

    @property
    def exact_mean(self) -> Fraction:
        """The mean of one pull, values and probabilities being the decimals they are written as."""
        weights = [exact(p) for p in self.probabilities]
        total = sum((w * exact(v) for w, v in zip(weights, self.values, strict=True)), Fraction(0))
        # Thirds written as floats do not sum to 1.
        return total / sum(weights, Fraction(0))

    @property
    def mean(self) -> float:  # type: ignore[override]
        """The mean of one pull."""
        return float(self.exact_mean)

    @property
    def grid(self) -> int:  # type: ignore[override]
        """Steps per unit of the coarsest grid that all values lie on; 1 if it is too fine for whole numbers."""
        values = [exact(v) for v in self.values]
        steps = math.lcm(*(v.denominator for v in values))
        # Sums of 2**22 pulls are then whole numbers below 2**53, which floats hold without rounding.
        return steps if max(map(abs, values)) * steps <= 2**31 else 1

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add `grid` times the values of the pulls to `out`."""
        cumulated = np.cumsum([Fraction(p) for p in self.probabilities[:-1]])
        steps = np.array([min(int(edge * 2**64), 2**64 - 1) for edge in cumulated], dtype=np.uint64)
        values = np.array([float(exact(v) * self.grid) for v in self.values])
        _add_bounded(pulls, steps, values, out)


@dataclass(frozen=True, slots=True)
class CorrelatedArm(BaseArm):
    """A Gaussian arm: pull j is mean + sd (sqrt(rho) z_j + sqrt(1 - rho) w_j), z_j common to all such arms."""

    intervals: ClassVar[Mapping[str, Interval]] = {"mean": REAL, "sd": NOT_NEGATIVE, "correlation": FRACTION}

    mean: float
    sd: float
    correlation: float
    cost: Money = 1

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add the values of the pulls to `out`."""
        common, own = self.sd * math.sqrt(self.correlation), self.sd * math.sqrt(1.0 - self.correlation)
        _add_correlated(pulls, self.mean, common, own, out)


@dataclass(frozen=True, slots=True)
class JointArm(BaseArm):
    """One column of a table of rewards: pull j reads the row that pull j of every arm of the table reads."""

    rewards: tuple[float, ...]
    cost: Money = 1

    def __post_init__(self) -> None:
        if not self.rewards or not all(math.isfinite(value) for value in self.rewards):
            raise ValueError(f"a joint arm needs finite rewards, got {len(self.rewards)} values")
        exact_cost(self.cost)

    @property
    def support(self) -> tuple[float, float]:
        """The range of the rewards."""
        return min(self.rewards), max(self.rewards)

    @property
    def exact_mean(self) -> Fraction:
        """The mean of the column, its values being the decimals they are written as."""
        return sum((exact(value) for value in self.rewards), Fraction(0)) / len(self.rewards)

    @property
    def mean(self) -> float:  # type: ignore[override]
        """The mean of the column."""
        return float(self.exact_mean)

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add the values of the pulls to `out`."""
        _add_rows(pulls, np.array(self.rewards), out)


class QuantileArm(BaseArm):
    """An arm whose pulls are quantiles of uniform random numbers."""

    __slots__ = ()

    def quantiles(self, uniform: FloatArray) -> FloatArray:
        """Compute the quantiles of numbers in (0, 1)."""
        raise NotImplementedError

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add the values of the pulls to `out`, one after the other."""
        for step in range(int(pulls.number.max(initial=0))):
            trials = np.flatnonzero(pulls.number > step)
            uniform = np.empty(trials.size)
            _draw_pulls(pulls.key, pulls.trials[trials], pulls.substream, pulls.start[trials] + step, uniform)
            out[trials] += self.quantiles(uniform)


@dataclass(frozen=True, slots=True)
class BetaArm(QuantileArm):
    """An arm whose pull has the Beta distribution with the given mean and a + b = `concentration`."""

    intervals: ClassVar[Mapping[str, Interval]] = {
        "mean": Interval(0.0, 1.0, is_open=True),
        "concentration": POSITIVE,
    }

    mean: float
    concentration: float = 2.0
    cost: Money = 1

    @property
    def support(self) -> tuple[float, float]:
        """Pulls are in [0, 1]."""
        return 0.0, 1.0

    def quantiles(self, uniform: FloatArray) -> FloatArray:
        """Invert the incomplete Beta function."""
        a = self.mean * self.concentration
        return np.asarray(betaincinv(a, self.concentration - a, uniform), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ExponentialArm(QuantileArm):
    """An arm whose pull has the exponential distribution with the given mean."""

    intervals: ClassVar[Mapping[str, Interval]] = {"mean": POSITIVE}

    mean: float
    cost: Money = 1

    @property
    def support(self) -> tuple[float, float]:
        """Pulls are not negative."""
        return 0.0, math.inf

    def quantiles(self, uniform: FloatArray) -> FloatArray:
        """Invert 1 - exp(-x / mean)."""
        return np.asarray(-self.mean * np.log1p(-uniform), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class StudentArm(QuantileArm):
    """An arm whose pull is the mean plus `spread` times a Student variable with `df` > 2 degrees of freedom."""

    intervals: ClassVar[Mapping[str, Interval]] = {
        "mean": REAL,
        "spread": POSITIVE,
        "df": Interval(2.0, is_open=True),
    }

    mean: float
    spread: float = 1.0
    df: float = 5.0
    cost: Money = 1

    def quantiles(self, uniform: FloatArray) -> FloatArray:
        """Invert Student's distribution."""
        return np.asarray(self.mean + self.spread * stdtrit(self.df, uniform), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class RandomMeanArm(BaseArm):
    """An arm whose mean is uniform on [low, high], drawn once per trial, Bernoulli (no `sd`) or Gaussian.

    The mean of a trial is read at counter 1, which no pull reads: it is the same for every strategy and block.
    """

    low: float
    high: float
    sd: float | None = None
    cost: Money = 1

    def __post_init__(self) -> None:
        is_inside = self.sd is not None or (self.low >= 0.0 and self.high <= 1.0)
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high and is_inside):
            raise ValueError(
                f"an arm with a random mean needs low < high (in [0, 1] without sd), got {self.low!r}, {self.high!r}"
            )
        if self.sd is not None and not 0.0 <= self.sd < np.inf:
            raise ValueError(f"sd of an arm with a random mean must be finite and at least 0, got {self.sd!r}")
        exact_cost(self.cost)

    @property
    def support(self) -> tuple[float, float]:
        """Pulls of Bernoulli arms are 0 or 1."""
        return (0.0, 1.0) if self.sd is None else (-math.inf, math.inf)

    def means(self, key: WordArray, trials: WordArray, substream: int) -> FloatArray:
        """Draw the mean of every trial, shape (trials,)."""
        out = np.empty(trials.size)
        _draw_uniform(key, trials, np.uint64(substream), out)
        return np.asarray(self.low + (self.high - self.low) * out, dtype=np.float64)

    def add(self, pulls: Pulls, out: FloatArray) -> None:
        """Add the values of the pulls to `out`."""
        means = self.means(pulls.key, pulls.trials, int(pulls.substream))
        if self.sd is None:
            levels = np.minimum(means * 2.0**64, np.nextafter(2.0**64, 0.0)).astype(np.uint64)
            add_bernoulli(pulls, levels, out)
        else:
            _add_gaussian(pulls, means, float(self.sd), out)


def _check_numbers(values: object, what: str) -> tuple[float, ...]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite numbers, got {values!r}")
    return tuple(array.tolist())


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
    for position in range(4):
        # All bits of the mask are that bit of the level.
        mask = np.uint64(0) - ((level >> np.uint64(63 - position)) & np.uint64(1))
        below |= undecided & ~words[position] & mask
        undecided &= ~(words[position] ^ mask)
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


@kernel
def _add_gaussian(pulls: Pulls, means: FloatArray, sd: float, out: FloatArray) -> None:
    """Add normal pulls one after the other, two of each pair of random numbers."""
    for t in find_pulled(pulls.number):
        total, mean, trial = out[t], means[t], pulls.trials[t]
        j, stop = pulls.start[t], pulls.start[t] + pulls.number[t]
        if j % 2 == 1:
            total += mean + sd * normal_pair(pulls.key, trial, pulls.substream, j // 2)[1]
            j += 1
        while j < stop:
            even, odd = normal_pair(pulls.key, trial, pulls.substream, j // 2)
            total += mean + sd * even
            if j + 1 < stop:
                total += mean + sd * odd
            j += 2
        out[t] = total


@kernel
def _add_bounded(pulls: Pulls, steps: WordArray, values: FloatArray, out: FloatArray) -> None:
    """Invert the distribution function: a word's value is found by the cumulated probabilities it reaches."""
    for t in range(out.size):
        for j in range(pulls.start[t], pulls.start[t] + pulls.number[t]):
            words = philox(
                pulls.key[0], pulls.key[1], np.uint64(j // 4), pulls.substream, pulls.trials[t], np.uint64(0)
            )
            position = 0
            while position < steps.size and words[j % 4] >= steps[position]:
                position += 1
            out[t] += values[position]


@kernel
def _add_correlated(pulls: Pulls, mean: float, common: float, own: float, out: FloatArray) -> None:
    for t in range(out.size):
        for j in range(pulls.start[t], pulls.start[t] + pulls.number[t]):
            shared = normal_pull(pulls.key, pulls.trials[t], np.uint64(0), j)
            out[t] += mean + common * shared + own * normal_pull(pulls.key, pulls.trials[t], pulls.substream, j)


@kernel
def _add_rows(pulls: Pulls, rewards: FloatArray, out: FloatArray) -> None:
    key = pulls.key
    for t in range(out.size):
        for j in range(pulls.start[t], pulls.start[t] + pulls.number[t]):
            words = philox(key[0], key[1], np.uint64(j // 4), np.uint64(0), pulls.trials[t], np.uint64(0))
            row = int(np.float64(words[j % 4] >> np.uint64(11)) * 2.0**-53 * rewards.size)
            out[t] += rewards[row]


@kernel
def _draw_pulls(key: WordArray, trials: WordArray, substream: np.uint64, position: IntArray, out: FloatArray) -> None:
    """Draw the uniform number in (0, 1) of one pull per trial."""
    for t in range(trials.size):
        words = philox(key[0], key[1], np.uint64(position[t] // 4), substream, trials[t], np.uint64(0))
        out[t] = (np.float64(words[position[t] % 4] >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def _draw_uniform(key: WordArray, trials: WordArray, substream: np.uint64, out: FloatArray) -> None:
    for t in range(trials.size):
        word = philox(key[0], key[1], np.uint64(0), substream, trials[t], np.uint64(1))[0]
        out[t] = np.float64(word >> np.uint64(11)) * 2.0**-53
