"""Top two (after EB-TC, Jourdan et al., NeurIPS 2022): pull the leader and its closest challenger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit._ranking import Scores, TieBreaker, any_arm, lowest, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Batched


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTwo(Batched):
    """Spend every round after the first on the leader and its challenger by transportation cost.

    The leader b has the lowest score. The challenger is the arm j whose evidence of being worse is weakest,
    the minimiser of

        (s_j - s_b)^2 / (1 / n_b + 1 / n_j).

    Both share the round's money. No exploration constant has to be tuned. Where one rival is close and the
    other arms are clearly worse, this saves what halving spends on the latter.

    Options are those of `Batched`.
    """

    rounds: int = 24

    def choose(self, batch: TrialBatch) -> IntArray:
        """Choose leader and challenger."""
        scores, doubtful = batch.score(lambda s: _unclear(s, batch.pulls))
        tied = any_arm(doubtful)
        batch.close_round(scores, batch.active, ~tied)
        return _find_pair(scores, batch.pulls, tied, batch.ties)[0]


def _find_pair(
    scores: Scores, pulls: IntArray, tied: BoolArray | None = None, ties: TieBreaker | None = None
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Find leader and challenger; compute roots of transportation costs (+inf for the leader) and their spreads.

    In the `tied` trials scores and costs within the resolution count as equal; `ties` orders equal arms.
    """
    leader = lowest(scores, 1, tied, ties)
    distance, spread = np.empty(pulls.shape), np.empty(pulls.shape)
    measure_distances(scores.value, pulls, leader[:, 0], 0.0, distance, spread)
    costs = Scores(distance, distance, distance, scores.resolution, scores.unit / spread)
    challenger = lowest(costs, 1, tied, ties)
    return np.concatenate([leader, challenger], axis=1), distance, spread


@kernel
def measure_distances(
    values: FloatArray, pulls: IntArray, leader: IntArray, slack: float, distance: FloatArray, spread: FloatArray
) -> None:
    """Write (gap to the leader + slack) / spread, +inf for the leader, and spread = sqrt(1 / n_leader + 1 / n)."""
    for t in range(values.shape[0]):
        best, own = values[t, leader[t]], 1.0 / pulls[t, leader[t]]
        for arm in range(values.shape[1]):
            spread[t, arm] = np.sqrt(own + 1.0 / pulls[t, arm])
            distance[t, arm] = (values[t, arm] - best + slack) / spread[t, arm]
        distance[t, leader[t]] = np.inf


def _unclear(scores: Scores, pulls: IntArray) -> BoolArray:
    """Mark all arms of the trials in which the certificates could change the pair."""
    arms, distance, spread = _find_pair(scores, pulls)
    pair = mark_arms(arms, pulls.shape[1])
    # A distance is a difference of two scores over the spread.
    blur = 2.0 * scores.width()[:, None] / spread
    challenger = (distance + blur).min(axis=1, keepdims=True)
    rival = np.where(pair, np.inf, distance - blur).min(axis=1, keepdims=True)
    second = np.where(np.isinf(distance), np.inf, distance - blur).min(axis=1, keepdims=True)
    open_lines = (rival <= challenger) | (second <= 0.0)
    return np.asarray(np.broadcast_to(open_lines, pulls.shape), dtype=np.bool_).copy()
