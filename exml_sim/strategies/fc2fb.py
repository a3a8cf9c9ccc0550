"""FC2FB: a fixed-confidence strategy at a fixed budget (Balagopalan et al., arXiv 2602.03972)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks, check_name, check_probability
from exml_sim.strategies.fixed_confidence import FixedConfidence, KlLucb, SuccessiveElimination, TopTwoStopping, UGapEc

SAMPLING: Mapping[str, type[FixedConfidence]] = {
    "top_two_stopping": TopTwoStopping,
    "kl_lucb": KlLucb,
    "ugap_ec": UGapEc,
    "successive_elimination": SuccessiveElimination,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fc2fb(BaseStrategy):
    """Run a fixed-confidence strategy in R stages of equal money, whose error rates grow doubly exponentially.

    Stage r of R = floor(log2(B / Q)) has the error rate d^(2^(R - r)), so that the last one has d. Q is the cost of the
    first round. A trial stops in the first stage that is confident; without one the best score is selected.

    Number of stages, equal stages and error rates agree with a public account of the paper's algorithm 3. Not checked
    against the paper's text: the choice of Q, and what is selected without a confident stage. One thing differs: the
    paper starts every stage afresh, and here a stage continues with all pulls so far, for which the e-values hold, too.

    Parameters
    ----------
    sampling
        The fixed-confidence strategy, with its default options.
    error_rate
        Error rate d of the last stage.

    Examples
    --------
    >>> from exml_sim import ParametricPool
    >>> ParametricPool.bernoulli([0.9, 0.1, 0.1]).explore(Fc2fb(), budget=400, rng=0).selected
    0
    """

    spends_all: ClassVar[bool] = False
    checks: ClassVar[Checks] = {
        "sampling": check_name(*SAMPLING),
        "error_rate": check_probability,
        "objective": check_name("risk"),
    }

    sampling: str = "top_two_stopping"
    error_rate: float = math.exp(-1.0)

    def _inner(self) -> FixedConfidence:
        return SAMPLING[self.sampling](alignment=self.alignment, ties=self.ties)

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the cost of the first pulls of every arm, at most the budget."""
        return self._inner().first_round_cost(budget, prices)

    def explore(self, batch: TrialBatch) -> IntArray:
        """Stop in the first confident stage."""
        inner, budget = self._inner(), batch.prices.units(batch.budget)
        first = inner.first_round_cost(batch.budget, batch.prices)
        stages = max(1, (batch.budget // first).bit_length() - 1)

        def find_error_rates(spent: IntArray) -> FloatArray:
            """Compute the error rate of the stage in which a trial with this spending is."""
            stage = np.minimum(spent * stages // budget, stages - 1)
            return np.asarray(self.error_rate ** (2.0 ** (stages - 1 - stage)), dtype=np.float64)

        return inner.run_until(batch, find_error_rates)[0]
