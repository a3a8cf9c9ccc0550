"""Anytime versions of fixed-budget strategies by doubling (baselines of Jourdan, Degenne and Kaufmann, NeurIPS 2023).

The strategy runs with budgets T, 2 T, 4 T, … and the arm of the last finished run is selected. T is the smallest budget
with which the strategy runs. The budget is used only to stop. Doubling was taken from the paper's description of its
baselines DSH and DSR; their code was not compared. The paper discards the pulls of earlier runs. So does halving here,
but rejects are scored on all pulls so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.trial_batch import Strategy, TrialBatch, smallest_budget
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy
from exml_sim.strategies.median_elimination import halving_rounds
from exml_sim.strategies.sequential_halving import SequentialHalving
from exml_sim.strategies.successive_rejects import SuccessiveRejects, phase_money


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doubling(BaseStrategy, ABC):
    """Run a strategy with doubled budgets while money lasts."""

    spends_all: ClassVar[bool] = False

    @abstractmethod
    def _inner(self) -> Strategy:
        """Build the strategy that is run."""

    @abstractmethod
    def _run(self, batch: TrialBatch, money: Fraction) -> None:
        """Run it with an amount of money until one arm is active."""

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
            self._run(batch, money)
        return np.asarray(batch.active.argmax(axis=1)[:, None], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoublingHalving(_Doubling):
    """Sequential halving with doubled budgets: anytime, every round on its own pulls."""

    def _inner(self) -> Strategy:
        return SequentialHalving(alignment=self.alignment)

    def _run(self, batch: TrialBatch, money: Fraction) -> None:
        rounds, width = halving_rounds(batch.n_arms), batch.n_arms
        for _ in range(rounds):
            batch.buy(money / rounds, fresh=True)
            width = (width + 1) // 2
            batch.keep_best(width, fresh=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoublingRejects(_Doubling):
    """Successive rejects with doubled budgets: anytime, on all pulls so far."""

    def _inner(self) -> Strategy:
        return SuccessiveRejects(alignment=self.alignment)

    def _run(self, batch: TrialBatch, money: Fraction) -> None:
        for amount in phase_money(money, batch.prices):
            batch.buy(amount)
            batch.drop_worst()
