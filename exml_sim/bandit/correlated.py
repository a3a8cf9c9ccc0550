"""Arms whose pulls go together: pull j of one arm shares its noise, or its row, with pull j of the others.

Lane 0 of a trial's random numbers belongs to no arm of a known pool; what arms share is read from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.arrays import FloatArray, IntArray, WordArray
from exml_sim.bandit.arms import ExactMean, WrittenMean
from exml_sim.compiled import kernel
from exml_sim.money import Money, exact, exact_cost
from exml_sim.seeds import normal_pull, philox


@dataclass(frozen=True, slots=True)
class CorrelatedArm(WrittenMean):
    """A Gaussian arm: pull j is mean + sd (sqrt(rho) z_j + sqrt(1 - rho) w_j), z_j common to all such arms."""

    mean: float
    sd: float
    correlation: float
    cost: Money = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0.0 <= self.sd < math.inf and 0.0 <= self.correlation <= 1.0):
            raise ValueError(
                "a correlated arm needs a finite mean, sd >= 0 and a correlation in [0, 1], "
                f"got {self.mean!r}, {self.sd!r} and {self.correlation!r}"
            )
        exact_cost(self.cost)

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        common, own = self.sd * math.sqrt(self.correlation), self.sd * math.sqrt(1.0 - self.correlation)
        _add_correlated(key, trials, np.uint64(substream), start, pulls, out, self.mean, common, own)


@dataclass(frozen=True, slots=True)
class JointArm(ExactMean):
    """One column of a table of rewards: pull j reads the row that pull j of every arm of the table reads."""

    rewards: tuple[float, ...]
    cost: Money = 1

    def __post_init__(self) -> None:
        if not self.rewards or not all(math.isfinite(value) for value in self.rewards):
            raise ValueError(f"a joint arm needs finite rewards, got {len(self.rewards)} values")
        exact_cost(self.cost)

    @property
    def values(self) -> tuple[float, float]:
        """The range of the rewards."""
        return min(self.rewards), max(self.rewards)

    @property
    def exact_mean(self) -> Fraction:
        """The mean of the column, its values being the decimals they are written as."""
        return sum((exact(value) for value in self.rewards), Fraction(0)) / len(self.rewards)

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        _add_rows(key, trials, start, pulls, out, np.array(self.rewards))


@kernel
def _add_correlated(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    mean: float,
    common: float,
    own: float,
) -> None:
    for t in range(trials.size):
        for j in range(start[t], start[t] + pulls[t]):
            shared = normal_pull(key, trials[t], np.uint64(0), j)
            out[t] += mean + common * shared + own * normal_pull(key, trials[t], substream, j)


@kernel
def _add_rows(
    key: WordArray, trials: WordArray, start: IntArray, pulls: IntArray, out: FloatArray, rewards: FloatArray
) -> None:
    for t in range(trials.size):
        for j in range(start[t], start[t] + pulls[t]):
            words = philox(key[0], key[1], np.uint64(j // 4), np.uint64(0), trials[t], np.uint64(0))
            row = int(np.float64(words[j % 4] >> np.uint64(11)) * 2.0**-53 * rewards.size)
            out[t] += rewards[row]
