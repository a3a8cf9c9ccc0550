"""Optimal computing budget allocation (Chen, Lin, Yucesan and Chick, DEDS 2000)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched


@dataclass(frozen=True, slots=True, kw_only=True)
class Ocba(Batched):
    """Split the budget by how hard each arm is to distinguish from the best, with equal variances.

    With gaps D_i to the leader b the wanted shares are w_i ~ 1 / D_i^2 for i != b and w_b = (sum_{i != b} w_i^2)^{1/2}.
    Every round goes to the arm that is furthest behind its share. Options are those of `Batched`.
    """

    def choose(self, batch: TrialBatch) -> IntArray:
        """Choose the arm that is furthest behind its share."""
        scores, _ = batch.score()
        ahead = np.empty_like(scores.value)
        _compare_shares(scores.value, batch.pulls, batch.lowest(scores), ahead)
        batch.close_round(scores, batch.active)
        return batch.pick_lowest(ahead)[:, None]


@kernel
def _compare_shares(values: FloatArray, pulls: IntArray, leader: IntArray, out: FloatArray) -> None:
    """Write minus the wanted share over the pulls, up to a factor: the lowest arm is the furthest behind."""
    for t in range(values.shape[0]):
        best = values[t, leader[t]]
        # Ties with the leader share what there is; a tiny gap stands for them.
        largest = 1e-12
        for arm in range(values.shape[1]):
            largest = max(largest, values[t, arm] - best)
        smallest, squares = largest * 1e-4, 0.0
        for arm in range(values.shape[1]):
            gap = max(values[t, arm] - best, smallest)
            weight = 1.0 / (gap * gap)
            squares += 0.0 if arm == leader[t] else weight * weight
            out[t, arm] = -weight / pulls[t, arm]
        out[t, leader[t]] = -np.sqrt(squares) / pulls[t, leader[t]]
