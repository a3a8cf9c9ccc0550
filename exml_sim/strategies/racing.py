"""Racing, or successive elimination (Even-Dar, Mannor and Mansour, 2006): everybody runs until excluded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, IntArray
from exml_sim.exploration.evidence import Evidence
from exml_sim.exploration.lockstep import Lockstep
from exml_sim.exploration.ranking import Scores
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Racing(FixedConfidence):
    """Pull all arms in the race; an arm leaves when the leader is sure to be better.

    With an indifference arms leave only when they are worse, and the race ends when the leader is sure up to the
    indifference: so nobody drops out behind an arm that drops out behind another, each a little worse.
    """

    def choose(self, trials: Lockstep, scores: Scores, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Whoever is still in the race."""
        return trials.active

    def survivors(self, trials: Lockstep, leader: IntArray, evidence: Evidence, bar: float) -> BoolArray:
        """Arms that the leader is not sure to beat."""
        if self.indifference > 0.0:
            open_trials = np.ones(leader.shape, dtype=np.bool_)
            evidence = trials.evidence(leader, open_trials, bar, 0.0, False)
        return np.asarray(trials.active & (evidence.against < bar) | _at(leader, trials.n_arms), dtype=np.bool_)


def _at(leader: IntArray, n_arms: int) -> BoolArray:
    return np.asarray(np.arange(n_arms) == leader[:, None], dtype=np.bool_)
