"""Top two with a stopping rule (after EB-TCI, Jourdan et al., NeurIPS 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.fixed_confidence import FixedConfidence, pair, undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTwoStopping(FixedConfidence):
    """Pull the leader and the arm against which the evidence is weakest.

    The challenger minimises log E_v + log n_v: the generalised likelihood ratio that v is better than the leader (as in
    Track-and-Stop, Garivier and Kaufmann, COLT 2016), plus a charge for its pulls, so that an arm with few pulls is not
    neglected. Both get half of a round.
    """

    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose leader and challenger."""
        weakest = batch.pick_lowest(undecided(evidence.against + np.log(batch.pulls), evidence, bar))
        return pair(batch.n_arms, leader, weakest)
