"""Bayes elimination with a Gaussian prior (Atsidakou, Katariya, Sanghavi and Kveton, arXiv 2211.08572)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.validation import check_positive
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy
from exml_sim.strategies.median_elimination import halving_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesElimination(BaseStrategy):
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

    prior_risks: tuple[float, ...]
    prior_sd: float = 1.0
    sd: float = 0.5

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        object.__setattr__(self, "prior_risks", tuple(float(value) for value in self.prior_risks))
        if not np.isfinite(self.prior_risks).all():
            raise ValueError(f"prior_risks must be finite, got {self.prior_risks}")
        for name in ("prior_sd", "sd"):
            object.__setattr__(self, name, check_positive(getattr(self, name), name))

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return B / T."""
        if len(self.prior_risks) != prices.size:
            raise ValueError(f"{prices.size} arms need as many prior risks, got {len(self.prior_risks)}")
        return budget / max(1, halving_rounds(prices.size))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Halve until one arm is left."""
        rounds, width = halving_rounds(batch.n_arms), batch.n_arms
        lines = np.arange(batch.active.shape[0])[:, None]
        for _ in range(rounds):
            batch.buy(batch.budget / rounds)
            width = (width + 1) // 2
            scores, _ = batch.score(lambda s: np.zeros((1, batch.n_arms), dtype=np.bool_))
            weight, prior = batch.pulls / self.sd**2, 1.0 / self.prior_sd**2
            posterior = (np.where(batch.active, scores.value, 0.0) * weight + np.array(self.prior_risks) * prior) / (
                weight + prior
            )
            posterior = np.where(batch.active, posterior, np.inf)
            order = batch.rank(Scores(posterior, posterior, posterior))
            survivors = np.zeros_like(batch.active)
            survivors[lines, order[:, :width]] = True
            batch.close_round(scores, survivors, np.ones(len(lines), dtype=np.bool_))
        return np.asarray(batch.active.argmax(axis=1)[:, None], dtype=np.int64)
