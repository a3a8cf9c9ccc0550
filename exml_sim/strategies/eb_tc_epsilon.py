"""EB-TC-epsilon (Jourdan, Degenne and Kaufmann, NeurIPS 2023, arXiv 2305.16041)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import PullByPull
from exml_sim.strategies.fixed_confidence import check_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class EbTcEpsilon(PullByPull):
    """Pull the leader or its challenger, one pull at a time; anytime, for any number of pulls.

    The leader b has the best mean. The challenger minimises (gap to b + epsilon) / sqrt(1 / n_b + 1 / n_i). The leader
    is pulled if, of the steps in which it led, at most half went to it (the paper's tracking with beta = 1/2), else the
    challenger. The arm with the best mean at the end is selected. Written after the paper's formulas; its code and its
    adaptive beta were not compared.

    Parameters
    ----------
    epsilon
        Slack of the transportation cost, in units of the means.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        PullByPull.__post_init__(self)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Choose leader or challenger."""
        lines = np.arange(len(values))
        if step == 0:
            batch.memory = np.zeros((2, *values.shape), dtype=np.int64)
        led, own = batch.memory
        leader = batch.pick_lowest(values)
        spread = np.sqrt(1.0 / batch.pulls[lines, leader][:, None] + 1.0 / batch.pulls)
        cost = (values - values[lines, leader][:, None] + self.epsilon) / spread
        cost[lines, leader] = np.inf
        challenger = batch.pick_lowest(cost)
        # Also the step that is being decided counts.
        led[lines, leader] += 1
        to_leader = 2 * own[lines, leader] <= led[lines, leader]
        own[lines, leader] += to_leader
        return np.where(to_leader, leader, challenger)
