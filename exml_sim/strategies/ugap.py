"""UGapE (Gabillon, Ghavamzadeh and Lazaric, NIPS 2012), with fixed confidence and with a fixed budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._purchases import mark_arms
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched, mark_nothing
from exml_sim.strategies.fixed_confidence import FixedConfidence, check_epsilon, undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class UGapEc(FixedConfidence):
    """UGapEc: pull the more uncertain of the leader and its strongest rival.

    The rival is the undecided arm with the lowest lower limit of its risk. Of the two the one
    with the wider interval is pulled: intervals shrink with the root of the pulls, so it is the one with fewer of them.
    """

    by_limits: ClassVar[bool] = True

    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose one arm."""
        rival = batch.pick_lowest(undecided(evidence.lower, evidence, bar))
        return mark_arms(_fewer(batch.pulls, leader, rival)[:, None], batch.n_arms)


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
            scores, _ = batch.score(mark_nothing)
            lower, index = np.empty_like(scores.value), np.empty_like(scores.value)
            _find_limits(scores.value, batch.pulls, batch.total_pulls, self.epsilon, lower, index)
            leader = batch.pick_lowest(index)
            batch.close_round(scores, batch.active, np.ones(leader.shape, dtype=np.bool_))
            if left == 0 or batch.n_arms == 1:
                break
            lower[np.arange(leader.size), leader] = np.inf
            rival = batch.pick_lowest(lower)
            batch.buy_among(batch.ledger.left_units // left, _fewer(batch.pulls, leader, rival)[:, None])
        return leader[:, None]


@kernel
def _find_limits(
    values: FloatArray, pulls: IntArray, total: float, e: float, lower: FloatArray, index: FloatArray
) -> None:
    """Write the lower limits L and the indices U_k - min_{i != k} L_i."""
    n_arms = values.shape[1]
    for t in range(values.shape[0]):
        first = second = np.inf
        for arm in range(n_arms):
            second = min(second, max(first, values[t, arm]))
            first = min(first, values[t, arm])
        second = second if n_arms > 1 else first
        hardness = 0.0
        for arm in range(n_arms):
            gap = values[t, arm] - first
            reach = max(((second - first if gap == 0.0 else gap) + e) / 2.0, e)
            hardness += 1.0 / (reach * reach)
        least = next_least = np.inf
        for arm in range(n_arms):
            width = np.sqrt(max(total - n_arms, 1.0) / (4.0 * hardness * pulls[t, arm]))
            lower[t, arm], index[t, arm] = values[t, arm] - width, values[t, arm] + width
            next_least = min(next_least, max(least, lower[t, arm]))
            least = min(least, lower[t, arm])
        for arm in range(n_arms):
            index[t, arm] -= next_least if lower[t, arm] == least else least


def _fewer(pulls: IntArray, first: IntArray, second: IntArray) -> IntArray:
    """Choose, of two arms, the one with fewer pulls."""
    lines = np.arange(first.size)
    return np.where(pulls[lines, second] < pulls[lines, first], second, first)
