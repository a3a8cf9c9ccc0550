"""Arms whose means are drawn anew in every trial: the Bayesian view, a new pool each time.

The means of a trial are read from its own random numbers (counter word 1, which no pull reads), so they are the same
for every strategy and in every block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim.bandit.arms import Added, add_bernoulli, gaussian_sum
from exml_sim.bandit.parametric import KnownSession
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import BASELINE_RISK
from exml_sim.compiled import kernel
from exml_sim.money import Money, exact, exact_cost
from exml_sim.seeds import Seeds, philox


@dataclass(frozen=True, slots=True)
class RedrawnArm(Added):
    """An arm whose mean is uniform on [low, high], Bernoulli (no `sd`) or Gaussian."""

    low: float
    high: float
    sd: float | None = None
    cost: Money = 1

    def __post_init__(self) -> None:
        inside = self.sd is not None or (self.low >= 0.0 and self.high <= 1.0)
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high and inside):
            raise ValueError(f"a redrawn arm needs low < high (in [0, 1] without sd), got {self.low!r}, {self.high!r}")
        if self.sd is not None and not 0.0 <= self.sd < np.inf:
            raise ValueError(f"sd of a redrawn arm must be a finite number of at least 0, got {self.sd!r}")
        exact_cost(self.cost)

    def means(self, key: WordArray, trials: WordArray, substream: int) -> FloatArray:
        """The means of the trials."""
        out = np.empty(trials.size)
        _uniform(key, trials, np.uint64(substream), out)
        return np.asarray(self.low + (self.high - self.low) * out, dtype=np.float64)

    def add(
        self, key: WordArray, trials: WordArray, substream: int, start: IntArray, pulls: IntArray, out: FloatArray
    ) -> None:
        """Add pulls start … start + pulls of every trial to `out`."""
        means = self.means(key, trials, substream)
        if self.sd is None:
            levels = np.minimum(means * 2.0**64, np.nextafter(2.0**64, 0.0)).astype(np.uint64)
            add_bernoulli(key, trials, np.uint64(substream), start, pulls, out, levels)
        else:
            _add_gaussian(key, trials, np.uint64(substream), start, pulls, out, means, self.sd)


class RedrawnPool(Pool):
    """Arms with new means in every trial. There is no best arm of the pool; `outcomes` judges trial by trial."""

    def __init__(self, arms: Sequence[RedrawnArm], names: Sequence[str] | None = None) -> None:
        self.arms = tuple(arms)
        if not self.arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        self._names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(len(arms)))

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
        """Prior means, shape (K,)."""
        return np.array([(arm.low + arm.high) / 2.0 for arm in self.arms])

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """Beforehand every arm may be the best."""
        return tuple(range(self.n_arms))

    def largest_regret(self, objective: str) -> float:
        """The largest difference of what two arms can be worth."""
        ends = np.array([(arm.low, arm.high) for arm in self.arms])
        if objective == "risk_per_cost":
            ends = (ends - BASELINE_RISK) / np.array([[float(cost)] for cost in self.costs])
        return float(ends.max() - ends.min())

    def open(self, seeds: Seeds) -> KnownSession:
        """Start N trials."""
        return KnownSession(self.arms, seeds)

    def outcomes(self, seeds: Seeds, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
        """Success and regret of every trial, on the means that it drew."""
        means = np.column_stack([arm.means(seeds.key, seeds.trials, i + 1) for i, arm in enumerate(self.arms)])
        aim = means
        if objective == "risk_per_cost":
            aim = (means - BASELINE_RISK) / np.array([float(cost) for cost in self.costs])
        number = selected.shape[1]
        ranked = np.sort(aim, axis=1)
        chosen = np.take_along_axis(aim, selected, axis=1)
        success = np.asarray(chosen.max(axis=1) <= ranked[:, number - 1], dtype=np.bool_)
        return success, np.where(success, 0.0, chosen.mean(axis=1) - ranked[:, :number].mean(axis=1))


@kernel
def _uniform(key: WordArray, trials: WordArray, substream: np.uint64, out: FloatArray) -> None:
    for t in range(trials.size):
        word = philox(key[0], key[1], np.uint64(0), substream, trials[t], np.uint64(1))[0]
        out[t] = np.float64(word >> np.uint64(11)) * 2.0**-53


@kernel
def _add_gaussian(
    key: WordArray,
    trials: WordArray,
    substream: np.uint64,
    start: IntArray,
    pulls: IntArray,
    out: FloatArray,
    means: FloatArray,
    sd: float,
) -> None:
    for t in range(trials.size):
        out[t] = gaussian_sum(out[t], key, trials[t], substream, start[t], start[t] + pulls[t], means[t], sd)
