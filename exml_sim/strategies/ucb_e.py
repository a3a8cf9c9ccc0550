"""UCB-E (Audibert, Bubeck and Munos, COLT 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.validation import check_positive
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.base import Checks, PullByPull


@dataclass(frozen=True, slots=True, kw_only=True)
class UcbE(PullByPull):
    """Pull the arm with the best mean + sqrt(a / n_i), where a = 25/36 (T - K) / H1, and select the best mean.

    T is B over the mean cost. Index, a and recommendation were not compared with the text of the paper.

    Parameters
    ----------
    hardness
        H1 of the pool, `pool.hardness[0]`, which the paper's a needs.
    """

    checks: ClassVar[Checks] = {"hardness": check_positive}

    hardness: float

    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Choose the arm with the best index."""
        a = 25.0 / 36.0 * max(batch.total_pulls - batch.n_arms, 0.0) / self.hardness
        return batch.pick_lowest(values - np.sqrt(a / batch.pulls))
