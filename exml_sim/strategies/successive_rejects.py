"""Successive rejects (Audibert, Bubeck and Munos, COLT 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy


@cache
def log_bar(n_arms: int) -> Fraction:
    """Compute the paper's log-bar(K) = 1/2 + sum_{i=2}^{K} 1/i, exactly."""
    return Fraction(1, 2) + sum((Fraction(1, i) for i in range(2, n_arms + 1)), Fraction(0))


@lru_cache(maxsize=256)
def phase_totals(total_pulls: int, n_arms: int) -> tuple[int, ...]:
    """Compute the pulls n_1 <= … <= n_{K-1} that an arm active in phase k has had at its end.

    n_k = ceil((n - K) / (log-bar(K) (K + 1 - k))).
    """
    scale = log_bar(n_arms)
    return tuple(-((n_arms - total_pulls) // (scale * (n_arms + 1 - k))) for k in range(1, n_arms))


def phase_money(budget: Fraction, prices: Prices) -> list[Fraction]:
    """Compute the money of the K - 1 phases.

    With unit costs n = floor(B) and phase k costs (n_k - n_{k-1}) (K + 1 - k). With unequal costs the
    schedule is that of the mean cost: n is B over the mean cost, and a phase's money is its pulls times the
    mean cost.
    """
    size = prices.size
    mean = sum(prices.exact_costs, Fraction(0)) / size
    totals = [0, *phase_totals(budget // mean, size)]
    return [mean * (totals[k] - totals[k - 1]) * (size + 1 - k) for k in range(1, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveRejects(BaseStrategy):
    """Reject the worst arm after each of K - 1 phases, whose lengths grow as arms leave.

    With K = 1 there is no phase and nothing is bought.
    """

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money of the first phase."""
        return budget if prices.size == 1 else max(phase_money(budget, prices)[0], Fraction(0))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Reject until one arm is left."""
        self.eliminate(batch, batch.budget)
        return batch.last_arm()

    def eliminate(self, batch: TrialBatch, money: Fraction) -> None:
        """Reject with an amount of money until one arm is active."""
        for amount in phase_money(money, batch.prices):
            batch.buy(amount)
            batch.drop_worst()
