"""SHVar (Lalitha, Kalantari, Ma, Deoras and Kveton, UAI 2023, arXiv 2306.07549)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy
from exml_sim.strategies.median_elimination import halving_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SHVar(BaseStrategy):
    """Sequential halving with known variances: each pull goes to the active arm with the largest variance / pulls.

    A round has floor(T / ceil(log2 K)) pulls, every arm gets its first one, and the arms with the better means of the
    round stay. Written after the paper's description; its code was not compared. Only for equal costs.

    Parameters
    ----------
    variances
        Variance of one pull of every arm.
    """

    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        object.__setattr__(self, "variances", tuple(float(value) for value in self.variances))
        if not all(0.0 < value < np.inf for value in self.variances):
            raise ValueError(f"variances must be positive and finite, got {self.variances}")

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the part of the budget that the first round has."""
        if len(self.variances) != prices.size or len(set(prices.exact_costs)) != 1:
            raise ValueError(
                f"SHVar needs one variance for each of {prices.size} arms and equal costs, "
                f"got {len(self.variances)} variances and {len(set(prices.exact_costs))} different costs"
            )
        return budget / max(1, halving_rounds(prices.size))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Halve until one arm is left."""
        rounds, width = halving_rounds(batch.n_arms), batch.n_arms
        cost = int(batch.prices.costs[0])
        for _ in range(rounds):
            pulls = batch.prices.units(batch.budget / rounds) // cost
            batch.buy_pulls(self._split(batch, pulls), fresh=True)
            width = (width + 1) // 2
            batch.keep_best(width, fresh=True)
        return np.asarray(batch.active.argmax(axis=1)[:, None], dtype=np.int64)

    def _split(self, batch: TrialBatch, pulls: int) -> IntArray:
        """Split the pulls of a round among the active arms of every trial; equal ratios go to the lowest index."""
        split = np.zeros(batch.active.shape, dtype=np.int64)
        patterns, place = np.unique(batch.active, axis=0, return_inverse=True)
        for i, active in enumerate(patterns):
            arms = np.flatnonzero(active)
            weight = np.array(self.variances)[arms]
            number = np.ones(arms.size, dtype=np.int64)
            for _ in range(pulls - arms.size):
                number[np.argmax(weight / number)] += 1
            split[np.ix_(place.ravel() == i, arms)] = number
        return split
