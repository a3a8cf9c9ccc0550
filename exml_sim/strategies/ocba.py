"""Optimal computing budget allocation (Chen, Lin, Yucesan and Chick, DEDS 2000)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched


@dataclass(frozen=True, slots=True, kw_only=True)
class Ocba(Batched):
    """Split the budget by how hard each arm is to distinguish from the best, with equal variances.

    With gaps D_i to the leader b the wanted shares are w_i ~ 1 / D_i^2 for i != b and w_b = (sum_{i != b} w_i^2)^{1/2}.
    Every round goes to the arm that is furthest behind its share. Options are those of `Batched`.
    """

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull all arms, then follow the shares, and select."""
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        for left in range(self.rounds if batch.n_arms > 1 else 0, 0, -1):
            scores, _ = batch.score(_mark_none)
            wanted = shares(scores.value, batch.lowest(scores))
            behind = wanted / batch.pulls
            batch.close_round(scores, batch.active, np.ones(behind.shape[0], dtype=np.bool_))
            among = np.arange(batch.n_arms) == batch.pick_lowest(-behind)[:, None]
            batch.buy(batch.ledger.left_units // left, among=among)
        return batch.keep_best(1)


def _mark_none(scores: object) -> BoolArray:
    """Mark nothing: shares need no certified order."""
    return np.zeros((1, 1), dtype=np.bool_)


def shares(values: FloatArray, leader: IntArray) -> FloatArray:
    """Compute the wanted shares of the arms, up to a factor, shape (trials, K)."""
    lines = np.arange(leader.size)
    gap = values - values[lines, leader][:, None]
    # Ties with the leader share what there is; a tiny gap stands for them.
    smallest = np.maximum(gap.max(axis=1, keepdims=True), 1e-12) * 1e-4
    weight = 1.0 / np.maximum(gap, smallest) ** 2
    weight[lines, leader] = 0.0
    weight[lines, leader] = np.sqrt((weight**2).sum(axis=1))
    return np.asarray(weight, dtype=np.float64)
