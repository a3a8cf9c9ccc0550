"""Uniform allocation (the paper's Section 3.2): the same for every arm, then the lowest score."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.validation import check_count
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformAllocation(BaseStrategy):
    """Spend the whole budget in one round; with unit costs exactly floor(B / K) pulls per arm.

    Parameters
    ----------
    top
        Number of arms to select.

    Examples
    --------
    >>> from exml_sim import ParametricPool
    >>> ParametricPool.bernoulli([0.9, 0.1]).explore(UniformAllocation(), budget=40, rng=0).selected
    0
    """

    number_option: ClassVar[str | None] = "top"
    checks: ClassVar[Checks] = {"top": check_count}

    top: int = 1

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the whole budget."""
        self.check_selects(prices)
        return budget

    def explore(self, batch: TrialBatch) -> IntArray:
        """Buy, score, select."""
        batch.buy(batch.budget)
        return batch.keep_best(self.top)
