"""Provide pools of arms with known distributions, to compare strategies with exact and textbook probabilities.

Two strategies from the same seed see the same pulls: pull j of an arm is a fixed random number, and of Bernoulli arms
the purchase of n pulls after j earlier ones is. Every pool states its direction: by default higher means are better.

A purchase of n pulls of a Bernoulli arm reads one random word. Its address is the trial, the arm and the number of
pulls that the arm has had. The successes are the quantile of Binomial(n, p) at word / 2**64. Words of different
addresses are independent, so purchases of any sizes have the distribution of independent pulls. Strategies that buy
alike see the same successes, and otherwise more successes go with more (common random numbers). Thresholds are computed
in whole numbers: every probability is exact up to 2**-64.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim._internal.validation import check_choice, shown
from exml_sim.bandit._arms import (
    BaseArm,
    BernoulliArm,
    BetaArm,
    BoundedArm,
    CorrelatedArm,
    ExponentialArm,
    GaussianArm,
    JointArm,
    Pulls,
    RandomMeanArm,
    StudentArm,
)
from exml_sim.bandit._evidence import Evidence, ParametricEvidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import BASELINE_RISK, OBJECTIVES, ArmState, Payment
from exml_sim.money import Money, exact
from exml_sim.seeds import Seeds, philox

__all__ = [
    "DIRECTIONS",
    "BernoulliArm",
    "BetaArm",
    "BoundedArm",
    "CorrelatedArm",
    "ExponentialArm",
    "GaussianArm",
    "JointArm",
    "ParametricPool",
    "ParametricState",
    "RandomInstancePool",
    "RandomMeanArm",
    "StudentArm",
]


DIRECTIONS: Sequence[str] = ("maximise", "minimise")
#: Bits of the weights from which thresholds are summed, and of a probability.
_WEIGHT_BITS, _BITS = 192, 64
#: The counter of the random numbers that purchases read; single pulls read 0, random means 1.
_ROUND = np.uint64(2)
#: Purchases of one size whose tables are kept.
_KEPT_SIZES = 256


class _ArmPool(Pool):
    """Named arms that know how to add their pulls, and the direction in which their means are better."""

    def __init__(
        self, arms: Sequence[BaseArm], names: Sequence[str] | None = None, *, direction: str = "maximise"
    ) -> None:
        self.arms = tuple(arms)
        if not self.arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        self._names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(len(arms)))
        if len(self._names) != len(arms) or len(set(self._names)) != len(arms):
            raise ValueError(f"{len(arms)} arms need as many different names, got {self._names}")
        check_choice(direction, "direction", DIRECTIONS)
        self._direction = direction
        self._sign = -1 if direction == "maximise" else 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs."""
        return tuple(exact(arm.cost, "cost") for arm in self.arms)

    @property
    def direction(self) -> str:
        """Whether higher means are better ("maximise") or lower ones ("minimise")."""
        return self._direction

    @property
    def baseline(self) -> float:
        """Risk of an arm that is worth nothing: a reward of 0, or a loss of 1."""
        return 0.0 if self._direction == "maximise" else BASELINE_RISK

    def open(self, seeds: Seeds) -> ParametricState:
        """Start N trials."""
        return ParametricState(self.arms, seeds, self._sign, self.baseline)

    @property
    def block(self) -> int:
        """Trials that run together by default: some 130,000 arms of trials, because their states are small."""
        return max(64, 2**17 // self.n_arms)

    @property
    @abstractmethod
    def means(self) -> FloatArray:
        """Means of the arms, shape (K,)."""

    @property
    def risks(self) -> FloatArray:
        """Means of the arms, with the opposite sign if higher ones are better, shape (K,)."""
        return np.asarray(self._sign * self.means, dtype=np.float64)


class ParametricPool(_ArmPool):
    """Arms with known distributions; an arm is estimated by the mean of its pulls.

    Parameters
    ----------
    arms
        The arms.
    names
        Names; `arm 0`, `arm 1`, … if not given.
    direction
        "maximise": higher means are better, as in the literature. "minimise": lower means are better, as for losses.

    Examples
    --------
    >>> pool = ParametricPool.bernoulli([0.7, 0.5, 0.5])
    >>> pool.gaps.tolist(), pool.best_arms()
    ([0.0, 0.2, 0.2], (0,))
    >>> pool.describe()
    'maximise (higher mean is better); best: arm 0; gaps 0, 0.2, 0.2; H1 = 75, H2 = 75'
    """

    def __init__(
        self, arms: Sequence[BaseArm], names: Sequence[str] | None = None, *, direction: str = "maximise"
    ) -> None:
        for arm in arms:
            if not isinstance(arm, BaseArm) or isinstance(arm, RandomMeanArm):
                raise ValueError(f"an arm must be a BernoulliArm, GaussianArm or BoundedArm, got {arm!r}")
        super().__init__(arms, names, direction=direction)

    @classmethod
    def bernoulli(
        cls, means: Sequence[float], costs: Sequence[Money] | None = None, *, direction: str = "maximise"
    ) -> ParametricPool:
        """Build a pool of Bernoulli arms with the given means, at unit cost unless costs are given."""
        if any(np.ndim(np.asarray(values, dtype=object)) != 1 for values in (means, [] if costs is None else costs)):
            raise ValueError(f"means and costs must be lists of numbers, got {shown(means)} and {shown(costs)}")
        prices = costs if costs is not None else [1] * len(means)
        if len(prices) != len(means):
            raise ValueError(f"{len(means)} means need as many costs, got {len(prices)}")
        return cls([BernoulliArm(mean, cost) for mean, cost in zip(means, prices, strict=True)], direction=direction)

    def __repr__(self) -> str:
        shown = ", ".join(f"{mean:g}" for mean in self.means[:8])
        more = ", …" if self.n_arms > 8 else ""
        return f"<ParametricPool: {self.n_arms} arms, means {shown}{more}, {self.direction}>"

    @property
    def means(self) -> FloatArray:
        """True means, shape (K,)."""
        return np.array([arm.mean for arm in self.arms], dtype=np.float64)

    @property
    def gaps(self) -> FloatArray:
        """True gaps to the best mean, exactly 0 for the best arms, shape (K,)."""
        risks = [self._sign * arm.exact_mean for arm in self.arms]
        lowest = min(risks)
        return np.array([float(risk - lowest) for risk in risks])

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """Arms that no other arm beats, by exact fractions."""
        check_choice(objective, "objective", OBJECTIVES)
        aim = [self._sign * arm.exact_mean for arm in self.arms]
        if objective == "risk_per_cost":
            aim = [(risk - int(self.baseline)) / cost for risk, cost in zip(aim, self.costs, strict=True)]
        lowest = min(aim)
        return tuple(i for i, value in enumerate(aim) if value == lowest)


class RandomInstancePool(_ArmPool):
    """Arms with new means in every trial (the Bayesian setting); `outcomes` judges trial by trial."""

    arms: tuple[RandomMeanArm, ...]

    @property
    def means(self) -> FloatArray:
        """Prior means, shape (K,)."""
        return np.array([(arm.low + arm.high) / 2.0 for arm in self.arms])

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """All arms: each may be the best one of a trial."""
        return tuple(range(self.n_arms))

    def largest_regret(self, objective: str) -> float:
        """Largest simple regret that two arms can differ by."""
        ends = self._aims(np.array([(arm.low, arm.high) for arm in self.arms]).T, objective)
        return float(ends.max() - ends.min())

    def _aims(self, means: FloatArray, objective: str) -> FloatArray:
        """Compute what arms with these means are worth, lower is better, shape (…, K)."""
        risks = self._sign * means
        if objective == "risk_per_cost":
            risks = (risks - self.baseline) / np.array([float(cost) for cost in self.costs])
        return np.asarray(risks, dtype=np.float64)

    def outcomes(self, seeds: Seeds, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
        """Judge success and simple regret of every trial on the means that it drew."""
        means = np.column_stack([arm.means(seeds.key, seeds.trials, i + 1) for i, arm in enumerate(self.arms)])
        aim = self._aims(means, objective)
        number = selected.shape[1]
        ranked = np.sort(aim, axis=1)
        chosen = np.take_along_axis(aim, selected, axis=1)
        success = np.asarray(chosen.max(axis=1) <= ranked[:, number - 1], dtype=np.bool_)
        return success, np.where(success, 0.0, chosen.mean(axis=1) - ranked[:, :number].mean(axis=1))


class ParametricState(ArmState):
    """Running sums of the pulls of N trials, in steps of each arm's grid."""

    levels = 1
    has_exact_scores = True

    def __init__(self, arms: Sequence[BaseArm], seeds: Seeds, sign: int = 1, baseline: float = BASELINE_RISK) -> None:
        self._arms = arms
        self._seeds = seeds
        self.sign = sign
        self.baseline = baseline
        self._steps = sign * np.array([arm.grid for arm in arms], dtype=np.int64)
        self._levels = tuple(arm.level if isinstance(arm, BernoulliArm) else None for arm in arms)
        self._has_table = np.array([level is not None for level in self._levels])
        shape = (len(seeds), len(arms))
        self._sums = np.zeros(shape)
        self._pulls = np.zeros(shape, dtype=np.int64)
        #: Means of all pulls, kept up to date by `pull_some` alone.
        self._values: FloatArray | None = None
        self._latest = self._sums, self._pulls
        self._evidence: ParametricEvidence | None = None

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Add the next pulls of every arm; arms are independent, so they are fresh to every round."""
        pay(pulls, pulls)
        added = np.zeros_like(self._sums) if fresh else self._sums
        key, trials, size = self._seeds.key, self._seeds.trials, 0
        while size := find_next_size(pulls, self._has_table, size):
            add_purchases(key, trials, self._pulls, pulls, size, build_tables(size, self._levels), added)
        for i in np.flatnonzero(~self._has_table).tolist():
            if pulls[:, i].any():
                span = Pulls(key, trials, np.uint64(i + 1), self._pulls[:, i].copy(), pulls[:, i].copy())
                column = added[:, i].copy()
                self._arms[i].add(span, column)
                added[:, i] = column
        if fresh:
            self._sums += added
            self._latest = added, pulls.copy()
        self._pulls += pulls
        self._values = None
        return pulls

    def pull_some(self, arms: IntArray, number: IntArray, pay: Callable[[], bool]) -> bool:
        """Pull few arms of every trial if all are Bernoulli arms that have pulls, and all trials can pay."""
        if not (self._has_table.all() and self._pulls.min() > 0 and pay()):
            return False
        if self._values is None:
            self._values = self._sums / (self._pulls * self._steps)
        size = 0
        while size := find_next_size(number, self._has_table, size):
            add_some(
                self._seeds.key,
                self._seeds.trials,
                self._pulls,
                arms,
                number,
                size,
                build_tables(size, self._levels),
                self._sums,
            )
        _count(arms, number, self._sums, self._steps, self._pulls, self._values)
        return True

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Return the means of the pulls, lower is better; exact, so that the certificate has no width."""
        if not fresh and self._values is not None:
            value = self._values if wanted.all() else np.where(wanted, self._values, np.inf)
            return Scores(value, value, value)
        sums, pulls = self._latest if fresh else (self._sums, self._pulls)
        value = np.empty_like(sums)
        if not _average(sums, pulls, self._steps, wanted, value):
            raise ValueError("an active arm has no pulls to score")
        return Scores(value, value, value)

    def means(self) -> tuple[float, ...]:
        """Return the true means."""
        return tuple(float(arm.mean) for arm in self._arms)

    def reveal(self) -> tuple[list[float], list[float] | None]:
        """Return the true risks of Bernoulli arms, or risks and deviations of Gaussian arms."""
        kinds = {type(arm) for arm in self._arms}
        if kinds == {BernoulliArm}:
            return [1.0 - arm.mean if self.sign < 0 else arm.mean for arm in self._arms], None
        if kinds == {GaussianArm}:
            return [self.sign * arm.mean for arm in self._arms], [float(arm.scale or 0.0) for arm in self._arms]
        raise ValueError("the optimal allocation is known for Bernoulli arms and for Gaussian arms only")

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Compute e-values that hold for every sample size and every strategy."""
        if self._evidence is None:
            self._evidence = ParametricEvidence.of(self._arms, len(self._seeds), self.sign)
        return self._evidence.update(self._sums / self._steps, self._pulls, leader, asked, threshold, epsilon, limits)


@kernel
def _average(sums: FloatArray, pulls: IntArray, steps: IntArray, wanted: BoolArray, out: FloatArray) -> bool:
    """Write the means of the wanted arms, +inf elsewhere; return False if a wanted arm has no pulls."""
    missing = 0
    for t in range(out.shape[0]):
        for arm in range(out.shape[1]):
            mean = sums[t, arm] / (pulls[t, arm] * steps[arm])
            out[t, arm] = mean if wanted[t, arm] else np.inf
            missing += wanted[t, arm] & (pulls[t, arm] == 0)
    return missing == 0


@kernel
def _count(
    arms: IntArray, number: IntArray, sums: FloatArray, steps: IntArray, pulls: IntArray, values: FloatArray
) -> None:
    """Count pulls of the listed arms, and update their means."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if number[t, j]:
                arm = arms[t, j]
                pulls[t, arm] += number[t, j]
                values[t, arm] = sums[t, arm] / (pulls[t, arm] * steps[arm])


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
    thresholds = [find_thresholds(n, level) for level in distinct]
    bits = max(1, (2 * max(len(steps) for _, steps in thresholds)).bit_length())
    shift = _BITS - bits
    edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(shift)
    arrays = [np.array(steps, dtype=np.uint64) for _, steps in thresholds]
    ends = np.cumsum([steps.size for steps in arrays])
    starts = ends - [steps.size for steps in arrays]
    guide = np.stack(
        [start + np.searchsorted(steps, edges, side="right") for start, steps in zip(starts, arrays, strict=True)]
    )
    row = np.array([-1 if level is None else distinct.index(level) for level in levels], dtype=np.int64)
    lowest = np.array([low for low, _ in thresholds], dtype=np.int64) - starts
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
