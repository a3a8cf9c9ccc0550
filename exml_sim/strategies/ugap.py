"""UGapE (Gabillon, Ghavamzadeh and Lazaric, NIPS 2012), with fixed confidence and with a fixed budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched
from exml_sim.strategies.fixed_confidence import FixedConfidence, check_epsilon, undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class UGapEc(FixedConfidence):
    """UGapEc: pull the more uncertain of the leader and its strongest rival.

    The rival is the undecided arm with the lowest lower limit of its risk. Of the two the one
    with the wider interval is pulled: intervals shrink with the root of the pulls, so it is the one with fewer of them.
    """

    by_limits: ClassVar[bool] = True

    def choose(self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Choose one arm."""
        rival = batch.pick_lowest(undecided(evidence.lower, evidence, bar))
        return _fewer(batch.pulls, leader, rival)


@dataclass(frozen=True, slots=True, kw_only=True)
class UGapEb(Batched):
    """UGapEb: the same with a fixed budget, the exploration set by the budget and the estimated gaps.

    Limits are score -+ sqrt(a / n_i). With n = B / mean cost pulls in all, a = (n - K) / (4 H), H = sum_i 1 / max((D_i
    + e) / 2, e)^2 with the estimated gaps D_i and the epsilon e. The arm with the lowest index B_k = U_k -
    min_{i != k} L_i at the end is selected. (The paper takes the lowest index of all times, for an `a` that is known;
    with an estimated one early indices mislead.)

    Parameters
    ----------
    epsilon
        Risks this close need not be distinguished; more than 0, so that H is finite. The others are those of `Batched`.
    """

    epsilon: float = 0.01

    def __post_init__(self) -> None:
        Batched.__post_init__(self)
        if check_epsilon(self.epsilon) == 0.0:
            raise ValueError("epsilon must be greater than 0 with a fixed budget, got 0")

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull all arms, then one arm per round, and select by the lowest index."""
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        for left in range(self.rounds, -1, -1):
            scores, _ = batch.score(lambda s: np.zeros((1, batch.n_arms), dtype=np.bool_))
            lower, upper = self._limits(batch, scores.value)
            leader = batch.pick_lowest(upper - _least_other(lower))
            batch.close_round(scores, batch.active, np.ones(leader.shape, dtype=np.bool_))
            if left == 0 or batch.n_arms == 1:
                break
            rival = batch.pick_lowest(np.where(np.arange(batch.n_arms) == leader[:, None], np.inf, lower))
            batch.buy(batch.ledger.left_units // left, among=_fewer(batch.pulls, leader, rival))
        return leader[:, None]

    def _limits(self, batch: TrialBatch, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean_cost = sum(batch.prices.exact_costs, Fraction(0)) / batch.n_arms
        pulls = float(batch.budget / mean_cost)
        gap = values - values.min(axis=1, keepdims=True)
        second = np.sort(values, axis=1)[:, 1:2] if batch.n_arms > 1 else values
        gap = np.where(gap == 0.0, second - values, gap)
        e = self.epsilon
        hardness = (1.0 / np.maximum((gap + e) / 2.0, e) ** 2).sum(axis=1, keepdims=True)
        width = np.sqrt(max(pulls - batch.n_arms, 1.0) / (4.0 * hardness * batch.pulls))
        return values - width, values + width


def _least_other(lower: FloatArray) -> FloatArray:
    """Compute min_{i != k} L_i for every arm k."""
    if lower.shape[1] == 1:
        return np.full(lower.shape, np.inf)
    ordered = np.sort(lower, axis=1)
    first = np.arange(lower.shape[1]) == lower.argmin(axis=1)[:, None]
    return np.where(first, ordered[:, 1:2], ordered[:, :1])


def _fewer(pulls: IntArray, first: IntArray, second: IntArray) -> BoolArray:
    """Mark, of two arms, the one with fewer pulls."""
    lines = np.arange(first.size)
    taken = np.where(pulls[lines, second] < pulls[lines, first], second, first)
    return np.asarray(np.arange(pulls.shape[1]) == taken[:, None], dtype=np.bool_)
