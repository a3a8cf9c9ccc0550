"""Provide what all fixed-confidence strategies share: buy, analyse the evidence, stop the confident trials."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_count
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._purchases import mark_arms
from exml_sim.bandit._ranking import Scores, any_arm, cut_unclear, lowest
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy


def check_confidence(value: object, name: str = "confidence") -> float:
    """Check for a probability strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be between 0 and 1, both excluded, got {value!r}")
    return float(value)


def check_epsilon(value: object) -> float:
    """Check for a finite difference of risks that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) < math.inf:
        raise ValueError(f"epsilon must be a finite number that is not negative, got {value!r}")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedConfidence(BaseStrategy, ABC):
    """Buy until the leader is the best arm up to epsilon with the given confidence, or until the money ends.

    A trial is confident as soon as the e-value against every other arm is at least (K - 1) / (1 - confidence). Whatever
    the strategy buys, P[confident and wrong] <= 1 - confidence on parametric arms; on feature arms this is approximate.
    Confident trials keep the rest of their money.

    Parameters
    ----------
    confidence
        Probability 1 - delta that a trial is not confident of a wrong arm.
    epsilon
        Risks this close need not be distinguished.
    first_pulls
        Pulls of every arm in the first round.
    growth
        A round adds this fraction of the pulls that its arms have had, rounded up: interim analyses get rarer.
    """

    #: Whether the strategy chooses by the arms' confidence limits.
    by_limits: ClassVar[bool] = False
    spends_all: ClassVar[bool] = False

    confidence: float = 0.95
    epsilon: float = 0.0
    first_pulls: int = 8
    growth: float = 0.1

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        object.__setattr__(self, "confidence", check_confidence(self.confidence))
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "first_pulls", check_count(self.first_pulls, "first_pulls"))
        if not isinstance(self.growth, int | float) or not 0.0 <= self.growth <= 1.0:
            raise ValueError(f"growth must be in [0, 1], got {self.growth!r}")
        if self.objective != "risk":
            raise ValueError(
                f"a fixed-confidence strategy compares risks: objective must be 'risk', got {self.objective!r}"
            )

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the cost of the first pulls of every arm, at most the budget."""
        return min(budget, self.first_pulls * sum(prices.exact_costs, Fraction(0)))

    @abstractmethod
    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose the arms that are pulled next, shape (trials, K)."""

    def survivors(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose the arms that stay active; all of them, unless a strategy drops arms."""
        return batch.active

    def explore(self, batch: TrialBatch) -> IntArray:
        """Analyse and buy until every trial is confident or out of money."""
        selected, batch.confident = self.run_until(batch, lambda spent: np.full(spent.shape, 1.0 - self.confidence))
        return selected

    def run_until(self, batch: TrialBatch, error_rates: Callable[[IntArray], FloatArray]) -> tuple[IntArray, BoolArray]:
        """Run with an error rate 1 - confidence that may grow with the units that a trial has spent.

        Returns
        -------
        The selected arms, shape (trials, 1), and the trials that are confident.
        """
        open_trials = np.ones(batch.ledger.trials, dtype=np.bool_)
        confident = np.zeros_like(open_trials)
        others = max(batch.n_arms - 1, 1)
        strictest = math.log(others / float(error_rates(np.zeros(1, dtype=np.int64))[0]))
        # Arms that have no evidence are refused before anything is bought.
        batch.evidence(np.zeros(confident.size, dtype=np.int64), confident, strictest, self.epsilon, False)
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        selected = np.zeros(confident.size, dtype=np.int64)
        while True:
            scores, leader, tied = _find_leader(batch)
            # A trial that has ended keeps its arm: random ties of later rounds are not its own.
            leader = selected = np.where(open_trials, leader, selected)
            bar = np.log(others / error_rates(batch.ledger.spent_units))[:, None]
            evidence = batch.evidence(leader, open_trials, strictest, self.epsilon, self.by_limits)
            confident |= open_trials & _is_decided(batch.active, leader, evidence.against, bar[:, 0])
            open_trials &= ~confident
            stay = np.where(open_trials[:, None], self.survivors(batch, leader, evidence, bar), batch.active)
            batch.close_round(scores, stay, ~tied)
            if not open_trials.any():
                break
            among = self.choose(batch, scores, leader, evidence, bar) & open_trials[:, None]
            open_trials &= self._buy_round(batch, among)
        return selected[:, None], confident

    def _buy_round(self, batch: TrialBatch, among: BoolArray) -> BoolArray:
        """Buy pulls of the chosen arms; mark the trials that could."""
        before = batch.pulls.sum(axis=1)
        fewest = np.where(among, batch.pulls, np.iinfo(np.int64).max).min(axis=1)
        price = np.maximum(among @ batch.prices.costs, 1)
        wanted = np.maximum(np.ceil(fewest * self.growth), 1.0)
        pulls = np.minimum(wanted, batch.ledger.left_units // price).astype(np.int64)
        if not pulls.any():
            return np.zeros(before.shape, dtype=np.bool_)
        batch.buy(np.where(among.any(axis=1), pulls * price, 0), among=among)
        return np.asarray(batch.pulls.sum(axis=1) > before, dtype=np.bool_)


def _find_leader(batch: TrialBatch) -> tuple[Scores, IntArray, BoolArray]:
    """Score the arms; return the scores, the best arm, and the trials in which certificates leave that open."""
    active, mark = batch.active, batch.n_arms
    scores, doubtful = batch.score(lambda s: cut_unclear(s, active, mark_arms(lowest(s, 1), mark)))
    tied = np.broadcast_to(any_arm(doubtful), active.shape[:1])
    return scores, batch.lowest(scores, tied), tied


def _is_decided(active: BoolArray, leader: IntArray, against: FloatArray, bar: FloatArray) -> BoolArray:
    """Mark the trials whose leader has enough evidence against every other active arm."""
    left = np.where(active, against, np.inf)
    left[np.arange(leader.size), leader] = np.inf
    return np.asarray(left.min(axis=1) >= bar, dtype=np.bool_)


def pair(n_arms: int, first: IntArray, second: IntArray) -> BoolArray:
    """Mark two arms per trial."""
    return mark_arms(np.column_stack([first, second]), n_arms)


def undecided(values: FloatArray, evidence: Evidence, bar: FloatArray) -> FloatArray:
    """Replace values by +inf at the leader and at the arms that it has enough evidence against."""
    return np.where(evidence.against < bar, values, np.inf)
