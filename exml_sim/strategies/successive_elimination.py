"""SuccessiveElimination, or successive elimination (Even-Dar, Mannor and Mansour, 2006): everybody runs until excluded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, IntArray
from exml_sim.bandit.evidence import Evidence
from exml_sim.bandit.ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveElimination(FixedConfidence):
    """Pull all arms in the race; an arm leaves when the leader is sure to be better.

    With an epsilon arms leave only when they are worse, and the race ends when the leader is sure up to the
    epsilon: so nobody drops out behind an arm that drops out behind another, each a little worse.
    """

    def choose(self, batch: TrialBatch, scores: Scores, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Whoever is still in the race."""
        return batch.active

    def survivors(self, batch: TrialBatch, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Arms that the leader is not sure to beat."""
        if self.epsilon > 0.0:
            open_trials = np.ones(leader.shape, dtype=np.bool_)
            evidence = batch.evidence(leader, open_trials, bar, 0.0, False)
        return np.asarray(batch.active & (evidence.against < bar) | _at(leader, batch.n_arms), dtype=np.bool_)


def _at(leader: IntArray, n_arms: int) -> BoolArray:
    return np.asarray(np.arange(n_arms) == leader[:, None], dtype=np.bool_)
