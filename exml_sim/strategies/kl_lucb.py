"""KL-LUCB (Kalyanakrishnan et al., ICML 2012; Kaufmann and Kalyanakrishnan, COLT 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.fixed_confidence import FixedConfidence, pair, undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class KlLucb(FixedConfidence):
    """Pull the leader and, of the undecided arms, the one with the lowest lower confidence limit.

    The limits come from the divergence of the arms' family: for values in [0, 1] those x with n kl(mean, x) below the
    threshold. The stopping rule is that of `FixedConfidence`, the product of two e-values, which needs about half of
    the pulls that two disjoint confidence intervals need.
    """

    by_limits: ClassVar[bool] = True

    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose leader and challenger."""
        challenger = batch.pick_lowest(undecided(evidence.lower, evidence, bar))
        return pair(batch.n_arms, leader, challenger)
