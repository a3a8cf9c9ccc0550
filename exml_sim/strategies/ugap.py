"""UGapEb: UGapE with a fixed budget (Gabillon, Ghavamzadeh and Lazaric, NIPS 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched, Checks, check_slack
from exml_sim.strategies.fixed_confidence import choose_fewer_pulls


def _check_positive_slack(value: object, name: str) -> float:
    slack = check_slack(value, name)
    if slack == 0.0:
        raise ValueError(f"{name} must be greater than 0 with a fixed budget, got 0")
    return slack


@dataclass(frozen=True, slots=True, kw_only=True)
class UGapEb(Batched):
    """Pull the more uncertain of leader and rival; the budget and the estimated gaps set the exploration.

    Limits are score -+ sqrt(a / n_i). With n = B / mean cost pulls in all, a = (n - K) / (4 H), H = sum_i 1 / max((D_i
    + e) / 2, e)^2 with the estimated gaps D_i and the epsilon e. The arm with the lowest index B_k = U_k -
    min_{i != k} L_i at the end is selected. (The paper takes the lowest index of all times, for an `a` that is known;
    with an estimated one early indices mislead.)

    Parameters
    ----------
    epsilon
        Risks this close need not be distinguished; more than 0, so that H is finite. The others are those of `Batched`.
    """

    checks: ClassVar[Checks] = {"epsilon": _check_positive_slack}

    epsilon: float = 0.01

    def choose(self, batch: TrialBatch) -> IntArray:
        """Choose, of the leader and its strongest rival, the one with fewer pulls."""
        leader, lower = self._find_leader(batch)
        lower[np.arange(leader.size), leader] = np.inf
        return choose_fewer_pulls(batch.pulls, leader, batch.pick_lowest(lower))

    def select(self, batch: TrialBatch) -> IntArray:
        """Select the arm with the lowest index."""
        return self._find_leader(batch)[0][:, None]

    def _find_leader(self, batch: TrialBatch) -> tuple[IntArray, FloatArray]:
        """Score, and close the round; return the arm with the lowest index and all lower limits."""
        scores, _ = batch.score()
        lower, index = np.empty_like(scores.value), np.empty_like(scores.value)
        _find_limits(scores.value, batch.pulls, batch.total_pulls, self.epsilon, lower, index)
        batch.close_round(scores, batch.active)
        return batch.pick_lowest(index), lower


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
