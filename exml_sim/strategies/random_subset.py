"""Any halving or uniform strategy on a random subset of the arms, for budgets below one pull per arm."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.validation import check_count
from exml_sim.bandit._ranking import mark_arms
from exml_sim.bandit.trial_batch import TrialBatch, pays_first_round
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks, check_name
from exml_sim.strategies.median_elimination import MedianElimination, SequentialHalving
from exml_sim.strategies.uniform import UniformAllocation

SAMPLING: Mapping[str, type[MedianElimination] | type[UniformAllocation]] = {
    "sequential_halving": SequentialHalving,
    "median_elimination": MedianElimination,
    "uniform_allocation": UniformAllocation,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSubset(BaseStrategy):
    """Draw a subset of the arms in every trial, and run a strategy on it; the other arms get no pull.

    This is the baseline of Hwang and Park (2026) for fewer pulls than arms: sequential halving on a random subset that
    fits the budget. How their experiments choose its size was not compared. With `ties = "lowest"` the subset is the
    first arms.

    Parameters
    ----------
    sampling
        The strategy that is run on the subset.
    arms
        Size of the subset, at most K. By default the largest one whose first round the budget pays for, whichever arms
        are drawn.
    """

    skips_arms: ClassVar[bool] = True
    checks: ClassVar[Checks] = {"sampling": check_name(*SAMPLING), "arms": check_count}

    sampling: str = "sequential_halving"
    arms: int | None = None

    def _inner(self) -> MedianElimination | UniformAllocation:
        return SAMPLING[self.sampling](alignment=self.alignment, objective=self.objective, ties=self.ties)

    def _pays(self, budget: Fraction, prices: Prices, size: int) -> bool:
        """Check that the budget pays for the first round of the most expensive arms."""
        return pays_first_round(budget, self._inner(), Prices.of(sorted(prices.exact_costs)[-size:]))

    def _size(self, budget: Fraction, prices: Prices) -> int:
        """Compute the size of the subset; 0 if the budget pays for none."""
        if self.arms is None:
            sizes = range(1, prices.size + 1)
            return bisect_left(sizes, True, key=lambda size: not self._pays(budget, prices, size))
        if self.arms > prices.size:
            raise ValueError(f"random_subset cannot draw a subset of {self.arms} arms: the pool has {prices.size}")
        return self.arms if self._pays(budget, prices, self.arms) else 0

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money that the first round spends on the subset; 0 if it does not pay for one."""
        size = self._size(budget, prices)
        chosen = sorted(prices.exact_costs)[-size:]
        return self._inner().first_round_cost(budget, Prices.of(chosen)) if size else Fraction(0)

    def explore(self, batch: TrialBatch) -> IntArray:
        """Draw the subset and explore it."""
        size = self._size(batch.budget, batch.prices)
        if size < batch.n_arms:
            chosen = batch.ties.pick_several(np.zeros(batch.active.shape), size)
            batch.active = mark_arms(chosen, batch.n_arms)
        return self._inner().explore(batch)
