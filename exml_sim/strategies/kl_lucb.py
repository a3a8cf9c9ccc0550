"""KL-LUCB (Kalyanakrishnan et al., 2012; Kaufmann and Kalyanakrishnan, 2013): the leader and who may beat it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exml_sim.arrays import BoolArray, IntArray
from exml_sim.bandit.evidence import Evidence
from exml_sim.bandit.ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.fixed_confidence import FixedConfidence, pair, unsettled


@dataclass(frozen=True, slots=True, kw_only=True)
class KlLucb(FixedConfidence):
    """Pull the leader and, of the arms that it is not sure to beat, the one with the lowest lower confidence limit.

    The limits come from the divergence of the arms' family: for values in [0, 1] those x with n kl(mean, x) below the
    threshold. The stopping rule is that of all rules here, the product of two e-values, which asks for about half of
    what two limits ask for that must not overlap.
    """

    by_limits: ClassVar[bool] = True

    def choose(self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Leader and challenger."""
        challenger = unsettled(evidence.lower, evidence, bar).argmin(axis=1)
        return pair(batch.n_arms, leader, np.asarray(challenger, dtype=np.int64))
