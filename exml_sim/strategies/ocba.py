"""OCBA (Chen, Lin, Yucesan and Chick, 2000): a fixed budget, split by how hard each arm is to tell from the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.exploration.lockstep import Lockstep
from exml_sim.exploration.ranking import lowest
from exml_sim.strategies.base import Batched


@dataclass(frozen=True, slots=True, kw_only=True)
class Ocba(Batched):
    """Optimal computing budget allocation with equal variances, in batches.

    With gaps D_i to the leader b the wanted shares are w_i ~ 1 / D_i^2 for i != b and w_b = (sum_{i != b} w_i^2)^{1/2}.
    Every batch goes to the arm that is furthest behind its share. Options are those of `Batched`.
    """

    def explore(self, trials: Lockstep) -> IntArray:
        """Open, follow the shares, select."""
        trials.buy(self.opening(trials.budget, trials.prices))
        for left in range(self.rounds if trials.n_arms > 1 else 0, 0, -1):
            scores, _ = trials.score(_never)
            wanted = shares(scores.value, lowest(scores, 1)[:, 0])
            behind = wanted / trials.pulls
            trials.close_round(scores, trials.active, np.ones(behind.shape[0], dtype=np.bool_))
            among = np.arange(trials.n_arms) == behind.argmax(axis=1)[:, None]
            trials.buy(trials.ledger.left_units // left, among=among)
        return trials.keep(1)


def _never(scores: object) -> BoolArray:
    """Shares need no certified order."""
    return np.zeros((1, 1), dtype=np.bool_)


def shares(values: FloatArray, leader: IntArray) -> FloatArray:
    """The wanted shares of the arms, up to a factor, shape (trials, K)."""
    lines = np.arange(leader.size)
    gap = values - values[lines, leader][:, None]
    # Ties with the leader share what there is; a tiny gap stands for them.
    smallest = np.maximum(gap.max(axis=1, keepdims=True), 1e-12) * 1e-4
    weight = 1.0 / np.maximum(gap, smallest) ** 2
    weight[lines, leader] = 0.0
    weight[lines, leader] = np.sqrt((weight**2).sum(axis=1))
    return np.asarray(weight, dtype=np.float64)
