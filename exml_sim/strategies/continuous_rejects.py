"""Continuous rejects (Wang, Tzeng and Proutiere, NeurIPS 2023, arXiv 2312.12137)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import PullByPull
from exml_sim.strategies.successive_rejects import log_bar

CRITERIA = ("average", "closest")


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

    criterion: str = "average"

    def __post_init__(self) -> None:
        PullByPull.__post_init__(self)
        check_choice(self.criterion, "criterion", CRITERIA)

    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Reject where the criterion holds, then choose the active arm with the fewest pulls."""
        self._reject(batch, values)
        return batch.pick_lowest(np.where(batch.active, batch.pulls, np.inf))

    def _reject(self, batch: TrialBatch, values: FloatArray) -> None:
        lines, active = np.arange(len(values)), batch.active
        number = active.sum(axis=1)
        worst = batch.ties.pick_highest(np.where(active, values, -np.inf))
        others = active.copy()
        others[lines, worst] = False
        clear = self._distance(values, others, values[lines, worst])
        total = float(batch.budget * batch.n_arms / sum(batch.prices.exact_costs))
        mine = np.where(active, batch.pulls, 0).sum(axis=1)
        gone = np.where(active, 0, batch.pulls)
        scale = np.array([1.0, *(float(log_bar(j)) for j in range(1, batch.n_arms + 1))])[number]
        b = scale * mine / np.maximum(total - gone.sum(axis=1), 1e-12)
        ahead = batch.pulls[lines, worst] > gone.max(axis=1)
        drop = (number > 1) & ahead & (clear >= 1.0 / np.sqrt(b) - 1.0)
        batch.active = np.where(drop[:, None], others, active)

    def _distance(self, values: FloatArray, others: BoolArray, worst: FloatArray) -> FloatArray:
        """Compute how much lower the scores of the others are than the worst one."""
        if self.criterion == "closest":
            near = np.where(others, values, -np.inf).max(axis=1)
        else:
            near = np.where(others, values, 0.0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
        return np.asarray(worst - near, dtype=np.float64)
