"""EB-TC-epsilon (Jourdan, Degenne and Kaufmann, NeurIPS 2023, arXiv 2305.16041)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Checks, PullByPull, check_slack
from exml_sim.strategies.top_two import measure_distances


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

    checks: ClassVar[Checks] = {"epsilon": check_slack}

    epsilon: float = 0.1

    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Choose leader or challenger."""
        if step == 0:
            batch.memory = np.zeros((2, *values.shape), dtype=np.int64)
        leader = batch.pick_lowest(values)
        cost, spread = np.empty_like(values), np.empty_like(values)
        measure_distances(values, batch.pulls, leader, self.epsilon, cost, spread)
        chosen = batch.pick_lowest(cost)
        _track(leader, batch.memory[0], batch.memory[1], chosen)
        return chosen


@kernel
def _track(leader: IntArray, led: IntArray, own: IntArray, chosen: IntArray) -> None:
    """Replace the challenger by the leader where at most half of the steps in which it led went to it."""
    for t in range(leader.size):
        arm = leader[t]
        # Also the step that is being decided counts.
        led[t, arm] += 1
        if 2 * own[t, arm] <= led[t, arm]:
            own[t, arm] += 1
            chosen[t] = arm
