"""Successive elimination (Even-Dar, Mannor and Mansour, JMLR 2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveElimination(FixedConfidence):
    """Pull all active arms; drop an arm when there is enough evidence that the leader is better.

    With epsilon > 0 arms are dropped at epsilon 0 only, and the trial ends at the given epsilon. So no chain of arms,
    each a little worse than the next, adds up to more than epsilon.
    """

    def choose(
        self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: FloatArray
    ) -> BoolArray:
        """Choose all active arms."""
        return batch.active

    def survivors(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: FloatArray) -> BoolArray:
        """Keep the leader and the arms that it has not enough evidence against."""
        if self.epsilon > 0.0:
            open_trials = np.ones(leader.shape, dtype=np.bool_)
            evidence = batch.evidence(leader, open_trials, 0.0, 0.0, False)
        return np.asarray(batch.active & (evidence.against < bar) | _at(leader, batch.n_arms), dtype=np.bool_)


def _at(leader: IntArray, n_arms: int) -> BoolArray:
    return np.asarray(np.arange(n_arms) == leader[:, None], dtype=np.bool_)
