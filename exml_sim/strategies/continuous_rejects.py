"""Continuous rejects (Wang, Tzeng and Proutiere, NeurIPS 2023, arXiv 2312.12137)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Checks, PullByPull, check_name
from exml_sim.strategies.successive_rejects import log_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousRejects(PullByPull):
    """Pull the active arms in turn; reject the worst one as soon as it is clearly worse.

    Let j arms be active, with N pulls in all, and let n be the pulls of rejected arms. The worst active arm is rejected
    if it has more pulls than every rejected arm and its distance to the others is at least 1 / sqrt(b) - 1, where
    b = log-bar(j) N / (T - n) and T is the number of all pulls. Values must be in [0, 1] for the paper's guarantee.
    Written after the paper's criteria; its code was not compared. With unequal costs T is B over the mean cost.

    Parameters
    ----------
    criterion
        "closest" (CR-C): the distance to the next worst arm. "average" (CR-A): to the mean of the other active arms.
    """

    checks: ClassVar[Checks] = {"criterion": check_name("average", "closest")}

    criterion: str = "average"

    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Reject where the criterion holds, then choose the active arm with the fewest pulls."""
        worst = batch.ties.pick_highest(np.where(batch.active, values, -np.inf))
        batch.active, fewest = batch.active.copy(), np.empty(values.shape)
        average = self.criterion == "average"
        _reject(values, batch.pulls, worst, batch.total_pulls, _log_bars(batch.n_arms), average, batch.active, fewest)
        return batch.pick_lowest(fewest)


@cache
def _log_bars(n_arms: int) -> FloatArray:
    """Compute log-bar of every number of active arms."""
    return np.array([1.0, *(float(log_bar(j)) for j in range(1, n_arms + 1))])


@kernel
def _reject(
    values: FloatArray,
    pulls: IntArray,
    worst: IntArray,
    total: float,
    log_bars: FloatArray,
    average: bool,
    active: BoolArray,
    fewest: FloatArray,
) -> None:
    """Reject the worst active arm of every trial where the criterion holds; write the pulls of the active arms."""
    for t in range(values.shape[0]):
        number, mine, gone, longest, nearest, others = 0, 0, 0, 0, -np.inf, 0.0
        for arm in range(values.shape[1]):
            fewest[t, arm] = pulls[t, arm] if active[t, arm] else np.inf
            if not active[t, arm]:
                gone += pulls[t, arm]
                longest = max(longest, pulls[t, arm])
                continue
            number += 1
            mine += pulls[t, arm]
            if arm != worst[t]:
                nearest = max(nearest, values[t, arm])
                others += values[t, arm]
        if number < 2 or pulls[t, worst[t]] <= longest:
            continue
        near = others / (number - 1) if average else nearest
        b = log_bars[number] * mine / max(total - gone, 1e-12)
        if values[t, worst[t]] - near >= 1.0 / np.sqrt(b) - 1.0:
            active[t, worst[t]] = False
            fewest[t, worst[t]] = np.inf
