"""Bayes elimination with a Gaussian prior (Atsidakou, Katariya, Sanghavi and Kveton, arXiv 2211.08572)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.validation import check_positive
from exml_sim.bandit._ranking import Scores, mark_arms
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import Checks, check_name, check_numbers
from exml_sim.strategies.median_elimination import Halving


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesElimination(Halving):
    """Halve the arms by posterior means under independent Gaussian priors, on all pulls so far.

    With n pulls of mean x the posterior mean is (x n / sd^2 + m / prior_sd^2) / (n / sd^2 + 1 / prior_sd^2). Rounds are
    those of sequential halving. Written after the paper's description; whether it scores a round on all pulls or on its
    own was not compared.

    Parameters
    ----------
    prior_risks
        Prior mean of every arm's risk, lower is better: the negative prior mean of an arm that is maximised.
    prior_sd
        Standard deviation of the priors.
    sd
        Standard deviation of one pull.
    """

    checks: ClassVar[Checks] = {
        "prior_risks": check_numbers,
        "prior_sd": check_positive,
        "sd": check_positive,
        # Scores of another objective are not on the scale of the prior risks.
        "objective": check_name("risk"),
    }

    prior_risks: tuple[float, ...]
    prior_sd: float = 1.0
    sd: float = 0.5

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return B / T."""
        if len(self.prior_risks) != prices.size:
            raise ValueError(f"{prices.size} arms need as many prior risks, got {len(self.prior_risks)}")
        return Halving.first_round_cost(self, budget, prices)

    def halve(self, batch: TrialBatch, money: Fraction, width: int) -> None:
        """Buy, and keep the best posterior means."""
        batch.buy(money)
        scores, _ = batch.score()
        weight, prior = batch.pulls / self.sd**2, 1.0 / self.prior_sd**2
        total = np.where(batch.active, scores.value, 0.0) * weight + np.array(self.prior_risks) * prior
        posterior = np.where(batch.active, total / (weight + prior), np.inf)
        order = batch.rank(Scores(posterior, posterior, posterior))
        batch.close_round(scores, mark_arms(order[:, :width], batch.n_arms))
