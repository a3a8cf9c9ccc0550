"""Anytime versions of fixed-budget strategies by doubling (baselines of Jourdan, Degenne and Kaufmann, NeurIPS 2023).

The strategy runs with budgets T, 2 T, 4 T, … and the arm of the last finished run is selected. T is the smallest budget
with which the strategy runs. The budget is used only to stop. Doubling was taken from the paper's description of its
baselines DSH and DSR; their code was not compared. The paper discards the pulls of earlier runs. So does halving here,
but rejects are scored on all pulls so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.trial_batch import TrialBatch, smallest_budget
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy
from exml_sim.strategies.median_elimination import SequentialHalving
from exml_sim.strategies.successive_rejects import SuccessiveRejects


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doubling(BaseStrategy):
    """Run a strategy with doubled budgets while money lasts."""

    spends_all: ClassVar[bool] = False
    #: The strategy that is run.
    kind: ClassVar[type[SequentialHalving] | type[SuccessiveRejects]]

    def _inner(self) -> SequentialHalving | SuccessiveRejects:
        return self.kind(alignment=self.alignment)

    def _budgets(self, budget: Fraction, prices: Prices) -> Iterator[Fraction]:
        """Yield the budgets of the runs that the whole budget pays for."""
        money = smallest_budget(self._inner(), prices)
        while money <= budget:
            yield money
            budget, money = budget - money, 2 * money

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money of the first round of the first run; 0 if it cannot be paid."""
        first = next(self._budgets(budget, prices), None)
        return Fraction(0) if first is None else self._inner().first_round_cost(first, prices)

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run with doubled budgets; the last finished run selects."""
        everyone = batch.active
        for money in self._budgets(batch.budget, batch.prices):
            batch.active = everyone
            self._inner().eliminate(batch, money)
        return batch.last_arm()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoublingHalving(_Doubling):
    """Sequential halving with doubled budgets: anytime, every round on its own pulls."""

    kind = SequentialHalving


@dataclass(frozen=True, slots=True, kw_only=True)
class DoublingRejects(_Doubling):
    """Successive rejects with doubled budgets: anytime, on all pulls so far."""

    kind = SuccessiveRejects
