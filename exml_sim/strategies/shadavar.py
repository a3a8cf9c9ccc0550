"""SHAdaVar (Lalitha, Kalantari, Ma, Deoras and Kveton, UAI 2023, arXiv 2306.07549)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._ranking import Scores, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, mark_nothing
from exml_sim.strategies.fixed_confidence import check_confidence
from exml_sim.strategies.median_elimination import halving_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SHAdavar(BaseStrategy):
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

    error_rate: float = 0.05

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        object.__setattr__(self, "error_rate", check_confidence(self.error_rate, "error_rate"))

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the part of the budget that the first round has."""
        if len(set(prices.exact_costs)) != 1:
            raise ValueError("SHAdaVar needs equal costs")
        return budget / max(1, halving_rounds(prices.size))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Halve until one arm is left."""
        if not batch.arms.has_exact_scores:
            raise ValueError("SHAdaVar needs arms whose pulls are numbers: choose 'sequential_halving'")
        rounds, width = halving_rounds(batch.n_arms), batch.n_arms
        for _ in range(rounds):
            pulls = batch.prices.units(batch.budget / rounds) // int(batch.prices.costs[0])
            means = self._pull_round(batch, pulls)
            width = (width + 1) // 2
            scores = Scores(means, means, means)
            survivors = mark_arms(batch.rank(scores)[:, :width], batch.n_arms)
            batch.close_round(scores, survivors, np.ones(len(means), dtype=np.bool_))
        return np.asarray(batch.active.argmax(axis=1)[:, None], dtype=np.int64)

    def _pull_round(self, batch: TrialBatch, pulls: int) -> FloatArray:
        """Buy the pulls of a round one by one; return the means of the active arms, +inf elsewhere."""
        active, lines = batch.active, np.arange(batch.ledger.trials)
        number, means, squares = (np.zeros(active.shape) for _ in range(3))
        for _ in range(pulls):
            arm = batch.pick_lowest(np.where(active, self._order(active, number, squares), np.inf))
            batch.active = mark_arms(arm[:, None], batch.n_arms)
            batch.buy_pulls(batch.active.astype(np.int64), fresh=True)
            value = batch.score(mark_nothing, fresh=True)[0].value[lines, arm]
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
