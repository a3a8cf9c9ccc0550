"""Plain arms with known distributions: the bench on which strategies meet exact and textbook probabilities.

Pull j of arm i in a trial is a fixed random number, whatever the strategy does: two strategies from the
same seed see the same pulls. Lower means are better, as for scores of features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim.compiled import kernel
from exml_sim.exploration.correlated import CorrelatedArm, JointArm
from exml_sim.exploration.evidence import Evidence, KnownEvidence, known_evidence
from exml_sim.exploration.lockstep import OBJECTIVES, WORTHLESS, Session
from exml_sim.exploration.pool import Pool
from exml_sim.exploration.ranking import Scores
from exml_sim.money import Money, exact, exact_cost
from exml_sim.seeds import Seeds, normal_pull, philox
from exml_sim.validation import check_choice

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LARGEST = float(np.finfo(np.float64).max)


def _within(number: object, low: float, high: float) -> bool:
    return isinstance(number, int | float | np.number | Fraction) and low <= float(number) <= high


@dataclass(frozen=True, slots=True)
class BernoulliArm:
    """An arm whose pull is 1 with probability `mean`, else 0."""

    mean: float
    cost: Money = 1

    def __post_init__(self) -> None:
        if not _within(self.mean, 0.0, 1.0):
            raise ValueError(f"the mean of a Bernoulli arm must be in [0, 1], got {self.mean!r}")
        exact_cost(self.cost)

    @property
    def exact_mean(self) -> Fraction:
        """The mean as the decimal it is written as."""
        return exact(self.mean, "mean")

    @property
    def grid(self) -> int:
        """Pulls are whole numbers."""
        return 1

    def add(
        self, key: WordArray, trials: WordArray, lane: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        # The probability in units of 2**-64; 1 itself does not fit and is 2**64 - 1 "or equal".
        level = np.uint64(min(int(Fraction(self.mean) * 2**64), 2**64 - 1))
        _add_bernoulli(key, trials, np.uint64(lane), start, pulls, out, level, self.mean == 1.0)


@dataclass(frozen=True, slots=True)
class GaussianArm:
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

    @property
    def exact_mean(self) -> Fraction:
        """The mean as the decimal it is written as."""
        return exact(self.mean, "mean")

    @property
    def grid(self) -> int:
        """Pulls lie on no grid and are added as they are."""
        return 1

    def add(
        self, key: WordArray, trials: WordArray, lane: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        _add_gaussian(key, trials, np.uint64(lane), start, pulls, out, self.mean, self.sd)


@dataclass(frozen=True, slots=True)
class BoundedArm:
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
    def mean(self) -> float:
        """The mean of one pull."""
        return float(self.exact_mean)

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
        self, key: WordArray, trials: WordArray, lane: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add `grid` times pulls start … start + pulls of every trial to `out`."""
        reached = np.cumsum([Fraction(p) for p in self.probabilities[:-1]])
        steps = np.array([min(int(edge * 2**64), 2**64 - 1) for edge in reached], dtype=np.uint64)
        values = np.array([float(exact(v) * self.grid) for v in self.values])
        _add_bounded(key, trials, np.uint64(lane), start, pulls, out, steps, values)


def _numbers(given: object, what: str) -> tuple[float, ...]:
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite numbers, got {given!r}")
    return tuple(array.tolist())


KnownArm = BernoulliArm | GaussianArm | BoundedArm | CorrelatedArm | JointArm


class KnownPool(Pool):
    """Arms with known distributions; an arm's score is the mean of its pulls, its risk the true mean.

    Parameters
    ----------
    arms
        The arms.
    names
        Names; `arm 0`, `arm 1`, … if not given.

    Examples
    --------
    >>> pool = KnownPool.bernoulli([0.3, 0.5, 0.5])
    >>> pool.gaps.tolist(), pool.best_set()
    ([0.0, 0.2, 0.2], (0,))
    """

    def __init__(self, arms: Sequence[KnownArm], names: Sequence[str] | None = None) -> None:
        self.arms = tuple(arms)
        if not self.arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        for arm in self.arms:
            if not isinstance(arm, KnownArm):
                raise ValueError(f"an arm must be a BernoulliArm, GaussianArm or BoundedArm, got {arm!r}")
        self._names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(len(arms)))
        if len(self._names) != len(arms) or len(set(self._names)) != len(arms):
            raise ValueError(f"{len(arms)} arms need as many different names, got {self._names}")

    @classmethod
    def bernoulli(cls, means: Sequence[float], costs: Sequence[Money] | None = None) -> KnownPool:
        """Bernoulli arms with the given means, at unit cost unless costs are given."""
        prices = costs if costs is not None else [1] * len(means)
        if len(prices) != len(means):
            raise ValueError(f"{len(means)} means need as many costs, got {len(prices)}")
        return cls([BernoulliArm(mean, cost) for mean, cost in zip(means, prices, strict=True)])

    def __repr__(self) -> str:
        shown = ", ".join(f"{mean:g}" for mean in self.risks[:8])
        return f"<KnownPool: {self.n_arms} arms, means {shown}{', …' if self.n_arms > 8 else ''}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs."""
        return tuple(exact(arm.cost, "cost") for arm in self.arms)

    @property
    def risks(self) -> FloatArray:
        """True means, shape (K,)."""
        return np.array([arm.mean for arm in self.arms], dtype=np.float64)

    @property
    def gaps(self) -> FloatArray:
        """True gaps to the lowest mean, exactly 0 on the best set, shape (K,)."""
        means = [arm.exact_mean for arm in self.arms]
        lowest = min(means)
        return np.array([float(mean - lowest) for mean in means])

    def best_set(self, objective: str = "risk") -> tuple[int, ...]:
        """Arms that no other arm beats, by exact fractions."""
        check_choice(objective, "objective", OBJECTIVES)
        aim = [arm.exact_mean for arm in self.arms]
        if objective == "risk_per_cost":
            aim = [(mean - int(WORTHLESS)) / cost for mean, cost in zip(aim, self.costs, strict=True)]
        lowest = min(aim)
        return tuple(i for i, value in enumerate(aim) if value == lowest)

    def open(self, seeds: Seeds) -> KnownSession:
        """Start N trials."""
        return KnownSession(self.arms, seeds)


class KnownSession(Session):
    """Running sums of the pulls of N trials, in steps of each arm's grid."""

    levels = 1
    has_exact_scores = True

    def __init__(self, arms: Sequence[Any], seeds: Seeds) -> None:
        self._arms = arms
        self._seeds = seeds
        self._grids = np.array([arm.grid for arm in arms], dtype=np.int64)[:, None]
        shape = (len(arms), len(seeds))
        # One line per arm: a kernel call then writes to memory that lies together.
        self._sums = np.zeros(shape)
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._latest_sums = self._sums
        self._latest_pulls = self._pulls
        self._evidence: KnownEvidence | None = None

    def grant(self, pulls: IntArray, fresh: bool) -> IntArray:
        """Pulls of a distribution never run out."""
        return pulls

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Add the next pulls of every arm; arms are independent, so they are fresh to everyone."""
        wanted = np.ascontiguousarray(pulls.T)
        added = np.zeros_like(self._sums) if fresh else self._sums
        for lane, arm in enumerate(self._arms):
            if wanted[lane].any():
                arm.add(
                    self._seeds.key,
                    self._seeds.trials,
                    lane + 1,
                    self._pulls[lane],
                    wanted[lane],
                    added[lane],
                )
        self._pulls = self._pulls + wanted
        if fresh:
            self._sums = self._sums + added
        self._latest_sums, self._latest_pulls = added, wanted

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Means of the pulls; exact, so that the certificate has no width."""
        sums, pulls = (self._latest_sums, self._latest_pulls) if fresh else (self._sums, self._pulls)
        asked = wanted.T
        if np.any(asked & (pulls == 0)):
            raise ValueError("an active arm has no pulls to score")
        means = np.full(sums.shape, np.inf)
        np.divide(sums, pulls * self._grids, out=means, where=asked)
        value = np.ascontiguousarray(means.T)
        return Scores(value, value, value)

    def counts(self) -> None:
        """Plain arms have no rows."""
        return

    def evidence(
        self, leader: IntArray, asked: BoolArray, threshold: float, indifference: float, limits: bool
    ) -> Evidence:
        """E-values that hold for every sample size and every rule."""
        if self._evidence is None:
            self._evidence = known_evidence(self._arms, len(self._seeds))
        sums = np.ascontiguousarray((self._sums / self._grids).T)
        pulls = np.ascontiguousarray(self._pulls.T)
        return self._evidence.of(sums, pulls, leader, asked, threshold, indifference, limits)


@kernel
def _ones(word: np.uint64) -> np.uint64:
    """Number of one bits in a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def _bernoulli_block(
    key: WordArray, trial: np.uint64, lane: np.uint64, block: int, level: np.uint64, wanted: np.uint64
) -> np.uint64:
    """Up to 64 Bernoulli pulls at once: a wanted bit is 1 iff a uniform 64-bit number is below `level`.

    The numbers are compared with the level from the highest bit down, all 64 together; a bit position is
    drawn only while some of them still agree with the level on all higher bits, about seven words on
    average.
    """
    undecided = wanted
    below = np.uint64(0)
    for group in range(16):
        words = philox(key[0], key[1], np.uint64(block * 16 + group), lane, trial, np.uint64(0))
        for w in range(4):
            bit = (level >> np.uint64(63 - 4 * group - w)) & np.uint64(1)
            if bit:
                below |= undecided & ~words[w]
                undecided &= words[w]
            else:
                undecided &= ~words[w]
        # Below its last one bit the level has only zeros, and no number that got this far is below it.
        if undecided == 0 or (group < 15 and level << np.uint64(4 * group + 4) == 0):
            break
    return below


@kernel
def _add_bernoulli(
    key: WordArray,
    trials: WordArray,
    lane: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    level: np.uint64,
    certain: bool,
) -> None:
    for t in range(trials.size):
        if certain:
            out[t] += pulls[t]
            continue
        first, stop = start[t], start[t] + pulls[t]
        total = np.uint64(0)
        for block in range(first // 64, (stop + 63) // 64):
            low, high = max(first - 64 * block, 0), min(stop - 64 * block, 64)
            mask = (_ALL >> np.uint64(64 - high)) & (_ALL << np.uint64(low)) if high > low else np.uint64(0)
            total += _ones(_bernoulli_block(key, trials[t], lane, block, level, mask))
        out[t] += total


@kernel
def add_bernoulli(
    key: WordArray,
    trials: WordArray,
    lane: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    levels: WordArray,
) -> None:
    """The same with a level for every trial."""
    for t in range(trials.size):
        first, stop = start[t], start[t] + pulls[t]
        total = np.uint64(0)
        for block in range(first // 64, (stop + 63) // 64):
            low, high = max(first - 64 * block, 0), min(stop - 64 * block, 64)
            mask = (_ALL >> np.uint64(64 - high)) & (_ALL << np.uint64(low)) if high > low else np.uint64(0)
            total += _ones(_bernoulli_block(key, trials[t], lane, block, levels[t], mask))
        out[t] += total


@kernel
def _add_gaussian(
    key: WordArray,
    trials: WordArray,
    lane: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    mean: float,
    sd: float,
) -> None:
    for t in range(trials.size):
        for j in range(start[t], start[t] + pulls[t]):
            out[t] += mean + sd * normal_pull(key, trials[t], lane, j)


@kernel
def _add_bounded(
    key: WordArray,
    trials: WordArray,
    lane: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    steps: WordArray,
    values: FloatArray,
) -> None:
    """Inverse distribution function: a word's value is found by the cumulated probabilities it reaches."""
    for t in range(trials.size):
        for j in range(start[t], start[t] + pulls[t]):
            words = philox(key[0], key[1], np.uint64(j // 4), lane, trials[t], np.uint64(0))
            position = 0
            while position < steps.size and words[j % 4] >= steps[position]:
                position += 1
            out[t] += values[position]
