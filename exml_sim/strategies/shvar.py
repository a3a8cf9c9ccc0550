"""SHVar and SHAdaVar: halving with known or unknown variances (Lalitha et al., UAI 2023, arXiv 2306.07549)."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._ranking import Scores, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import Checks, check_numbers, check_probability
from exml_sim.strategies.median_elimination import Halving


@dataclass(frozen=True, slots=True, kw_only=True)
class _EqualCosts(Halving, ABC):
    """Halving that counts the pulls of a round, which needs equal costs."""

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the part of the budget that the first round has."""
        if len(set(prices.exact_costs)) != 1:
            raise ValueError(f"{type(self).__name__} needs equal costs")
        return Halving.first_round_cost(self, budget, prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SHVar(_EqualCosts):
    """Sequential halving with known variances: each pull goes to the active arm with the largest variance / pulls.

    A round has floor(T / ceil(log2 K)) pulls, every arm gets its first one, and the arms with the better means of the
    round stay. Written after the paper's description; its code was not compared. Only for equal costs.

    Parameters
    ----------
    variances
        Variance of one pull of every arm.
    """

    checks: ClassVar[Checks] = {"variances": partial(check_numbers, above=0.0)}

    variances: tuple[float, ...]

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the part of the budget that the first round has."""
        if len(self.variances) != prices.size:
            raise ValueError(f"SHVar needs one variance for each of {prices.size} arms, got {len(self.variances)}")
        return _EqualCosts.first_round_cost(self, budget, prices)

    def halve(self, batch: TrialBatch, money: Fraction, width: int) -> None:
        """Buy by the variances, and keep the best means of the round."""
        batch.buy_pulls(self._split(batch, batch.prices.units(money) // int(batch.prices.costs[0])), fresh=True)
        batch.keep_best(width, fresh=True)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SHAdaVar(_EqualCosts):
    """Sequential halving with unknown variances: each pull goes to the active arm with the largest U / pulls.

    A round has floor(T / ceil(log2 K)) pulls and is scored on these alone. Its first pulls go to the active arms in
    turn, until every one has n > 4 log(1 / delta) + 1 of them. After that U = s^2 / (1 - 2 sqrt(log(1 / delta) /
    (n - 1))), with the sample variance s^2 of the round, is at least the variance of a Gaussian arm with probability
    1 - delta. Written from memory of the paper's algorithm 2, and its text was not compared; the bound on the variance
    was tested. Only for equal costs, and arms whose pulls are numbers.

    Parameters
    ----------
    error_rate
        Probability delta with which U may be below the variance.
    """

    registered_name: ClassVar[str] = "shadavar"
    checks: ClassVar[Checks] = {"error_rate": check_probability}

    error_rate: float = 0.05

    def halve(self, batch: TrialBatch, money: Fraction, width: int) -> None:
        """Buy one pull after the other, and keep the best means of the round."""
        if not batch.arms.has_exact_scores:
            raise ValueError("SHAdaVar needs arms whose pulls are numbers: choose 'sequential_halving'")
        means = self._pull_round(batch, batch.prices.units(money) // int(batch.prices.costs[0]))
        scores = Scores(means, means, means)
        batch.close_round(scores, mark_arms(batch.rank(scores)[:, :width], batch.n_arms))

    def _pull_round(self, batch: TrialBatch, pulls: int) -> FloatArray:
        """Buy the pulls of a round one by one; return the means of the active arms, +inf elsewhere."""
        active, lines = batch.active, np.arange(batch.ledger.trials)
        number, means, squares = (np.zeros(active.shape) for _ in range(3))
        for _ in range(pulls):
            arm = batch.pick_lowest(np.where(active, self._order(active, number, squares), np.inf))
            batch.active = mark_arms(arm[:, None], batch.n_arms)
            batch.buy_pulls(batch.active.astype(np.int64), fresh=True)
            value = batch.score(fresh=True)[0].value[lines, arm]
            number[lines, arm] += 1.0
            before = value - means[lines, arm]
            means[lines, arm] += before / number[lines, arm]
            squares[lines, arm] += before * (value - means[lines, arm])
        batch.active = active
        return np.where(active, means, np.inf)

    def _order(self, active: BoolArray, number: FloatArray, squares: FloatArray) -> FloatArray:
        """Compute what is lowest for the next arm: pulls while some arm has too few for U, then -U / pulls."""
        bar = math.log(1.0 / self.error_rate)
        few = number - 1.0 <= 4.0 * bar
        freedom = np.where(few, np.inf, number - 1.0)
        upper = squares / freedom / (1.0 - 2.0 * np.sqrt(bar / freedom))
        return np.where((few & active).any(axis=1, keepdims=True), number, -upper / np.maximum(number, 1.0))
