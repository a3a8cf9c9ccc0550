"""What all rules with a confidence share: buy, look at the evidence, stop the trials that are sure."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.evidence import Evidence
from exml_sim.bandit.ranking import Scores, any_arm, cut_unclear, lowest, marked
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy
from exml_sim.validation import check_count


def check_confidence(value: object) -> float:
    """A confidence strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, both excluded, got {value!r}")
    return float(value)


def check_epsilon(value: object) -> float:
    """A difference of risks that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) < math.inf:
        raise ValueError(f"epsilon must be a finite number that is not negative, got {value!r}")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedConfidence(BaseStrategy, ABC):
    """Buy until the leader is known to be the best arm up to the epsilon, or until the money ends.

    A trial is sure as soon as the e-value against every other arm is at least (K - 1) / (1 - confidence). Whatever the
    rule buys, P[sure and wrong] <= 1 - confidence on known arms; on feature arms this is approximate. Sure trials keep
    the rest of their money.

    Parameters
    ----------
    confidence
        Probability 1 - delta that a trial is not sure of a wrong arm.
    epsilon
        Risks this close need not be told apart.
    first_pulls
        Pulls of every arm in the opening round.
    growth
        A batch is this part of the pulls that its arms have had, rounded up: looks get rarer as pulls get many.
    """

    #: Whether the rule chooses by the arms' confidence limits.
    by_limits: ClassVar[bool] = False

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
                f"a rule with a confidence compares risks: objective must be 'risk', got {self.objective!r}"
            )

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """The first pulls of every arm, as far as the money goes."""
        return min(budget, self.first_pulls * sum(prices.exact_costs, Fraction(0)))

    @abstractmethod
    def choose(self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """The arms that get the next batch, shape (trials, K)."""

    def survivors(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """The arms that stay in the race; all of them, unless a rule drops some."""
        return batch.active

    def explore(self, batch: TrialBatch) -> IntArray:
        """Open, then look and buy until every trial is sure or out of money."""
        open_trials = np.ones(batch.ledger.trials, dtype=np.bool_)
        sure = np.zeros_like(open_trials)
        bar = math.log(max(batch.n_arms - 1, 1) / (1.0 - self.confidence))
        # Arms that have no evidence are refused before anything is bought.
        batch.evidence(np.zeros(sure.size, dtype=np.int64), sure, bar, self.epsilon, False)
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        while True:
            scores, leader, tied = _leader(batch)
            evidence = batch.evidence(leader, open_trials, bar, self.epsilon, self.by_limits)
            sure |= open_trials & _settled(batch.active, leader, evidence.against, bar)
            open_trials &= ~sure
            stay = np.where(open_trials[:, None], self.survivors(batch, leader, evidence, bar), batch.active)
            batch.close_round(scores, stay, ~tied)
            if not open_trials.any():
                break
            among = self.choose(batch, scores, leader, evidence, bar) & open_trials[:, None]
            open_trials &= self._bought(batch, among)
        batch.sure = sure
        return leader[:, None]

    def _bought(self, batch: TrialBatch, among: BoolArray) -> BoolArray:
        """Buy a batch for the chosen arms; the trials that could."""
        before = batch.pulls.sum(axis=1)
        fewest = np.where(among, batch.pulls, np.iinfo(np.int64).max).min(axis=1)
        price = np.maximum(among @ batch.prices.costs, 1)
        wanted = np.maximum(np.ceil(fewest * self.growth), 1.0)
        pulls = np.minimum(wanted, batch.ledger.left_units // price).astype(np.int64)
        if not pulls.any():
            return np.zeros(before.shape, dtype=np.bool_)
        batch.buy(np.where(among.any(axis=1), pulls * price, 0), among=among)
        return np.asarray(batch.pulls.sum(axis=1) > before, dtype=np.bool_)


def _leader(batch: TrialBatch) -> tuple[Scores, IntArray, BoolArray]:
    """Scores, the arm with the lowest one, and the trials in which certificates leave that open."""
    active, exact = batch.active, batch.session.has_exact_scores

    def unclear(scores: Scores) -> BoolArray:
        if exact:
            return np.zeros((1, batch.n_arms), dtype=np.bool_)
        return cut_unclear(scores, active, marked(lowest(scores, 1), batch.n_arms))

    scores, doubtful = batch.score(unclear)
    tied = np.broadcast_to(any_arm(doubtful), active.shape[:1])
    return scores, lowest(scores, 1, tied)[:, 0], tied


def _settled(active: BoolArray, leader: IntArray, against: FloatArray, bar: float) -> BoolArray:
    """Trials whose leader is sure against every other active arm."""
    left = np.where(active, against, np.inf)
    left[np.arange(leader.size), leader] = np.inf
    return np.asarray(left.min(axis=1) >= bar, dtype=np.bool_)


def pair(n_arms: int, first: IntArray, second: IntArray) -> BoolArray:
    """Mark two arms per trial."""
    return marked(np.column_stack([first, second]), n_arms)


def unsettled(values: FloatArray, evidence: Evidence, bar: float) -> FloatArray:
    """The values with +inf at the leader and at the arms that it is sure to beat."""
    return np.where(evidence.against < bar, values, np.inf)
