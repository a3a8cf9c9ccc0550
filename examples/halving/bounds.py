"""Two classical bounds for rewards in [0, 1], as plug-ins of studies: ``exml study --plugins bounds.py``."""

from fractions import Fraction
from math import exp, log2

from exml_sim.engine import bound


def compute_logbar(arms):
    """Return logbar(K) = 1/2 + sum of 1/i for i = 2 to K."""
    return Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, arms + 1))


def compute_h2(context):
    """Return H_2 = max of i / gap_(i)^2 for i >= 2; gaps increase, in units of the range of the rewards."""
    width = context.high - context.low
    return max(i * width**2 / gap**2 for i, gap in enumerate(context.ordered, 2))


@bound("successive_rejects", distributions=("bernoulli", "bounded"))
def rejects(budget, context):
    """Audibert, Bubeck and Munos (2010), Theorem 2: K (K - 1) / 2 exp(-(n - K) / (logbar(K) H_2))."""
    K = context.K
    return K * (K - 1) / 2 * exp(-(budget - K) / (float(compute_logbar(K)) * compute_h2(context)))


@bound("median_elimination", distributions=("bernoulli", "bounded"))
def halving(budget, context):
    """Karnin, Koren and Somekh (2013), Theorem 4.1: 3 log2(K) exp(-T / (8 H_2 log2 K)), each round on its own pulls."""
    if context.options.get("accumulate", True):
        return float("nan")
    return 3 * log2(context.K) * exp(-budget / (8 * compute_h2(context) * log2(context.K)))
