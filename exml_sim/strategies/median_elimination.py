"""Median elimination (the paper's Algorithm 1); sequential halving of Karnin, Koren and Somekh (ICML 2013)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit._ranking import count_fewest
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks, check_flag


def halving_rounds(n_arms: int) -> int:
    """Compute T = ceil(log2 K) on integers: after T times keeping ceil(|A| / 2), one arm is left."""
    return (n_arms - 1).bit_length()


@dataclass(frozen=True, slots=True, kw_only=True)
class Halving(BaseStrategy, ABC):
    """In each of T = ceil(log2 K) rounds spend B / T on the active arms and keep the better ceil(|A| / 2)."""

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return B / T."""
        return budget / max(1, halving_rounds(prices.size))

    @abstractmethod
    def halve(self, batch: TrialBatch, money: Fraction, width: int) -> None:
        """Spend the money of a round, and keep the best arms, `width` of them."""

    def explore(self, batch: TrialBatch) -> IntArray:
        """Halve until one arm is left."""
        self.eliminate(batch, batch.budget)
        return batch.last_arm()

    def eliminate(self, batch: TrialBatch, money: Fraction) -> None:
        """Halve the active arms with an amount of money until one is left."""
        width = count_fewest(batch.active)
        rounds = halving_rounds(width)
        for _ in range(rounds):
            width = (width + 1) // 2
            self.halve(batch, money / rounds, width)


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianElimination(Halving):
    """In each of T = ceil(log2 K) rounds spend B / T on the active arms and keep the better ceil(|A| / 2).

    With unit costs round t buys n_t = floor(B / (T |A_t|)) rows per arm. With K = 1 there is no round
    and nothing is bought: T = 0.

    Parameters
    ----------
    accumulate
        True: score on all rows bought so far (the algorithm). False: score only on the round's fresh rows
        (the proof of Lemma 2, and sequential halving).

    Examples
    --------
    >>> from exml_sim import ParametricPool
    >>> ParametricPool.bernoulli([0.9, 0.1, 0.1, 0.1]).explore(MedianElimination(), budget=80, rng=0).selected
    0
    """

    checks: ClassVar[Checks] = {"accumulate": check_flag}

    accumulate: bool = True

    def reach(self, budget: Fraction, prices: Prices) -> int:
        """Count the rows that the rounds before the last one read at most, whichever arms are kept.

        With fresh rows an arm that has no more of them cannot be scored in the last round.
        """
        rounds, width = halving_rounds(prices.size), prices.size
        costs, rows = sorted(prices.exact_costs), 0
        for _ in range(rounds - 1):
            shared = sum(costs[:width]) if self.alignment == "sample" else width * costs[0]
            rows += int(budget / rounds // shared)
            width = (width + 1) // 2
        return rows

    def halve(self, batch: TrialBatch, money: Fraction, width: int) -> None:
        """Buy, and keep the best scores of all pulls or of the round's."""
        batch.buy(money, fresh=not self.accumulate)
        batch.keep_best(width, fresh=not self.accumulate)


def _check_fresh(value: bool, name: str) -> bool:
    if value:
        raise ValueError(f"{name} must be False in sequential_halving, got True: choose 'median_elimination'")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialHalving(MedianElimination):
    """Median elimination with every round scored on its own pulls, floor(B / (T |A|)) of every arm at unit costs.

    This was not compared with the text of the paper.
    """

    checks: ClassVar[Checks] = {"accumulate": _check_fresh}

    accumulate: bool = False
