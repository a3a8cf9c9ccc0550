"""Fixed-confidence strategies: all buy, analyse the evidence and stop the confident trials; they differ in the arms.

KL-LUCB: Kalyanakrishnan et al., ICML 2012; Kaufmann and Kalyanakrishnan, COLT 2013. UGapEc: Gabillon, Ghavamzadeh and
Lazaric, NIPS 2012. Top two with a stopping rule: after EB-TCI, Jourdan et al., NeurIPS 2022. Successive elimination:
Even-Dar, Mannor and Mansour, JMLR 2006. The square-root rule: Kanarios, Zhang and Ying, RLJ 2024, arXiv 2402.16710.
"""

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
from exml_sim.bandit._ranking import Scores, any_arm, cut_unclear, lowest, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks, check_name, check_probability, check_slack


def _check_growth(value: object, name: str) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
    return value


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
    checks: ClassVar[Checks] = {
        "confidence": check_probability,
        "epsilon": check_slack,
        "first_pulls": check_count,
        "growth": _check_growth,
        "objective": check_name("risk"),
    }

    confidence: float = 0.95
    epsilon: float = 0.0
    first_pulls: int = 8
    growth: float = 0.1

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the cost of the first pulls of every arm, at most the budget."""
        return min(budget, self.first_pulls * sum(prices.exact_costs, Fraction(0)))

    @abstractmethod
    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
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
            among = self.choose(batch, leader, evidence, bar) & open_trials[:, None]
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


def _undecided(values: FloatArray, evidence: Evidence, bar: FloatArray) -> FloatArray:
    """Replace values by +inf at the leader and at the arms that it has enough evidence against."""
    return np.where(evidence.against < bar, values, np.inf)


def choose_fewer_pulls(pulls: IntArray, first: IntArray, second: IntArray) -> IntArray:
    """Choose, of two arms, the one with fewer pulls, shape (trials, 1)."""
    lines = np.arange(first.size)
    return np.where(pulls[lines, second] < pulls[lines, first], second, first)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KlLucb(FixedConfidence):
    """Pull the leader and, of the undecided arms, the one with the lowest lower confidence limit.

    The limits come from the divergence of the arms' family: for values in [0, 1] those x with n kl(mean, x) below the
    threshold. The stopping rule is that of `FixedConfidence`, the product of two e-values, which needs about half of
    the pulls that two disjoint confidence intervals need.
    """

    by_limits: ClassVar[bool] = True

    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose leader and challenger."""
        challenger = batch.pick_lowest(_undecided(evidence.lower, evidence, bar))
        return mark_arms(np.column_stack([leader, challenger]), batch.n_arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class UGapEc(FixedConfidence):
    """Pull the more uncertain of the leader and its strongest rival.

    The rival is the undecided arm with the lowest lower limit of its risk. Of the two the one with the wider interval
    is pulled: intervals shrink with the root of the pulls, so it is the one with fewer of them. The leader is the best
    mean; in the paper it is the arm with the smallest index B_k(t).
    """

    by_limits: ClassVar[bool] = True

    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose one arm."""
        rival = batch.pick_lowest(_undecided(evidence.lower, evidence, bar))
        return mark_arms(choose_fewer_pulls(batch.pulls, leader, rival), batch.n_arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTwoStopping(FixedConfidence):
    """Pull the leader and the arm against which the evidence is weakest.

    The challenger minimises log E_v + log n_v: the generalised likelihood ratio that v is better than the leader (as in
    Track-and-Stop, Garivier and Kaufmann, COLT 2016), plus a charge for its pulls, so that an arm with few pulls is not
    neglected. Both get half of a round.
    """

    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose leader and challenger."""
        weakest = batch.pick_lowest(_undecided(evidence.against + np.log(batch.pulls), evidence, bar))
        return mark_arms(np.column_stack([leader, weakest]), batch.n_arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveElimination(FixedConfidence):
    """Pull all active arms; drop an arm when there is enough evidence that the leader is better.

    With epsilon > 0 arms are dropped at epsilon 0 only, and the trial ends at the given epsilon. So no chain of arms,
    each a little worse than the next, adds up to more than epsilon.
    """

    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose all active arms."""
        return batch.active

    def survivors(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Keep the leader and the arms that it has not enough evidence against."""
        if self.epsilon > 0.0:
            open_trials = np.ones(leader.shape, dtype=np.bool_)
            evidence = batch.evidence(leader, open_trials, 0.0, 0.0, False)
        return batch.active & (evidence.against < bar) | mark_arms(leader[:, None], batch.n_arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRootCost(SuccessiveElimination):
    """Pull the active arm with the smallest sqrt(cost) times pulls; drop arms when there is enough evidence.

    This is the sampling rule of the paper's Chernoff overlap, for costs that are known. So active arms get pulls in
    proportion to 1 / sqrt(cost), which is optimal for two Gaussian arms of equal variance. Sampling rule and
    elimination agree with a public summary of the paper; its text was not compared. The evidence is that of
    `FixedConfidence`, products of e-values, in place of the paper's likelihood ratio against log(B t^alpha / delta).
    With `growth = 0` every round is one pull, as in the paper.
    """

    def choose(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Choose one active arm."""
        weighted = np.sqrt(batch.prices.costs) * batch.pulls
        return mark_arms(batch.pick_lowest(np.where(batch.active, weighted, np.inf))[:, None], batch.n_arms)
