"""The square-root rule for unequal costs (Kanarios, Zhang and Ying, RLJ 2024, arXiv 2402.16710)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.successive_elimination import SuccessiveElimination


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRootCost(SuccessiveElimination):
    """Pull the active arm with the smallest sqrt(cost) times pulls; drop arms when there is enough evidence.

    This is the sampling rule of the paper's Chernoff overlap, for costs that are known. So active arms get pulls in
    proportion to 1 / sqrt(cost), which is optimal for two Gaussian arms of equal variance. Sampling rule and
    elimination agree with a public summary of the paper; its text was not compared. The evidence is that of
    `FixedConfidence`, products of e-values, in place of the paper's likelihood ratio against log(B t^alpha / delta).
    With `growth = 0` every round is one pull, as in the paper.
    """

    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose one active arm."""
        weighted = np.sqrt(batch.prices.costs) * batch.pulls
        return mark_arms(batch.pick_lowest(np.where(batch.active, weighted, np.inf))[:, None], batch.n_arms)
