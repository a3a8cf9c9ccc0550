"""Targets about deviations of a risk from its mean: term (d) of A.2 and Lemma 3."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from simulations.falsify.axes import Numbers, axis, box
from simulations.falsify.judging import sides, two_paths
from simulations.falsify.target import LARGEST_DELTA, LOG_ZERO, Measured, Target, unmet
from theory import corrected, paper
from theory.claims.appendix_a1 import deviation_level, rademacher_term, uniform_deviation
from theory.claims.instances import walk_violation

F = Fraction
_SMALLEST = -690.0
_FRACTIONS = "binomial sums in fractions"
#: phi = +1 with probability p, else -1, y = +1, kappa Lambda = 1 - 2 theta: losses are 1 -+ (1 - 2 theta).
WALK = box(n=axis(1, 300), p=axis("1/2", "99/100", grid=100), theta=axis("1/1000", "2/5", grid=None, digits=1))
#: One point x with P(y = +1) = eta; k of m labels are +1.
LABELS = box(
    m=axis(1, 40),
    k=axis(0, 40),
    eta=axis("1/50", "49/50", grid=50),
    theta=axis("1/20", "9/20", grid=20),
    radius=axis("1/10", 4, grid=10),
)


def _walk(one: Numbers, bound: Any) -> tuple[Measured, float]:
    """The deviation at which P(deviation >= v) comes closest to the delta that puts the bound at v; and that delta.

    The bounds are a + s sqrt(log(1 / delta)), so that delta = exp(-((v - a) / s)^2).
    """
    n, p, theta = one.integer("n"), float(one["p"]), float(one["theta"])
    r = 1 - 2 * theta
    high, low = (float(bound(n, theta, r, math.exp(-x))) for x in (4.0, 1.0))
    slope = high - low
    start = low - slope
    k = np.arange(n + 1)
    deviation = 2 * r * (p - k / n)
    log_deltas = -(((deviation - start) / slope) ** 2) * (1 - 1e-9)
    above = (deviation > start) & (log_deltas <= math.log(LARGEST_DELTA)) & (log_deltas > _SMALLEST)
    if not above.any():
        return Measured(LOG_ZERO, 0.0, hint=float(deviation.max() / max(start, 1e-12))), 1.0
    log_delta = log_deltas[above]
    excess = binom.logcdf(k[above], n, p) - log_delta
    best = int(np.argmax(excess))
    return Measured(float(binom.logcdf(k[above], n, p)[best]), float(log_delta[best])), math.exp(log_delta[best])


def _exact_walk(one: Numbers, bound: Any) -> Measured:
    """The same at that delta, by binomial sums in fractions."""
    _, delta = _walk(one, bound)
    if not 0 < delta < 1:
        return Measured(LOG_ZERO, 0.0)
    level = F(delta)
    violation = walk_violation(lambda n, theta, delta: float(bound(n, theta, 1 - 2 * theta, delta)))
    return sides(violation(one.integer("n"), one.fraction("p"), one.fraction("theta"), level), level)


def _walk_target(id: str, bound: Any, holds: bool) -> Target:
    says = "P(the empirical risk of the best model is above its risk by the bound at delta) <= delta"
    return two_paths(
        id, says, WALK, lambda one: _walk(one, bound)[0], lambda one: _exact_walk(one, bound), _FRACTIONS, holds
    )


def _lemma_3(one: Numbers) -> Measured:
    m, k = one.integer("m"), one.integer("k")
    if k > m:
        return unmet(float(k - m))
    case = one.fraction("eta"), m, k, one.fraction("theta"), one.fraction("radius")
    return sides(uniform_deviation(*case), deviation_level(rademacher_term)(*case))


def targets() -> list[Target]:
    """All targets about deviations."""
    return [
        _walk_target("term-d", paper.term_d, False),
        _walk_target("corrected.term_d", corrected.term_d, True),
        two_paths(
            "lemma-3",
            "P(some model exceeds its empirical surrogate risk by the bound at delta) <= delta",
            LABELS,
            _lemma_3,
            _lemma_3,
            _FRACTIONS,
            True,
        ),
    ]
