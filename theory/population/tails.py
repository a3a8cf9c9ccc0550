"""From conditional moments to a tail: polynomials that are at least 1 where the event happens.

If q(u) >= q(x) > 0 for all u >= x then P[U >= x; L = l] <= E[q(U)^2; L = l] / q(x)^2 whatever q is. The coefficients
of q are chosen from the computed moments; the expectation is linear in the moments, so their rounding errors enter
with the absolute values of its coefficients.
"""

from __future__ import annotations

import numpy as np

from theory.population.graphs import Floats
from theory.population.moments import LEVELS, Conditional, conditional_moments

__all__ = ["event_probability", "tail_sum"]

#: Covers the roundings of the last steps, all of which are sums and products of a few numbers.
_ROUNDING = 1.0 + 1e-12


def event_probability(S: Floats, p: Floats, n: int, *, order: int = 2, levels: int = LEVELS) -> float:
    """Upper bound on P[p^' S p^ >= 0], p^ the empirical law of n independent rows from p; order 2 or 4."""
    if n == 1:
        # One row: the statistic is the diagonal.
        return min(1.0, float(p[np.diagonal(S) >= 0.0].sum()) * _ROUNDING)
    if float(p @ S @ p) * (1.0 - 1.0 / n) + float(p @ np.diagonal(S)) / n >= 0.0:
        return 1.0
    return tail_sum(conditional_moments(S, p, n, order=order, levels=levels))


def tail_sum(law: Conditional) -> float:
    """Upper bound on P[L + U >= 0]."""
    x = (-law.value - law.slack) / law.unit
    bound = law.mass.copy()
    first, second = law.moments[0], law.moments[1]
    with np.errstate(all="ignore"):
        mean = first / law.mass
        variance = np.maximum(second / law.mass - mean**2, 0.0)
        distance = x - mean
        # Cantelli: q(u) = u - mean + variance / distance.
        bound = _better(bound, law, x, np.zeros_like(x), np.ones_like(x), variance / distance - mean, distance > 0)
        if len(law.moments) == 4:
            bound = _fourth(bound, law, x, mean, variance)
    return min(1.0, float(bound.sum()) * _ROUNDING + law.missing)


def _fourth(bound: Floats, law: Conditional, x: Floats, mean: Floats, variance: Floats) -> Floats:
    """Chebyshev, Markov, Stieltjes: q(u) = 1 + z u + (z^2 - s z - 1)(u^2 - s u - 1)/(k - 1 - s^2), standardised."""
    raw = law.moments / law.mass
    deviation = np.sqrt(variance)
    skew = (raw[2] - 3 * mean * raw[1] + 2 * mean**3) / deviation**3
    kurtosis = (raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4) / deviation**4
    z = (x - mean) / deviation
    weight = (z**2 - skew * z - 1.0) / np.maximum(kurtosis - 1.0 - skew**2, 1e-9)
    # q in the standardised variable, then in U / unit.
    two, one, zero = weight, z - weight * skew, 1.0 - weight
    a = two / deviation**2
    b = one / deviation - 2.0 * two * mean / deviation**2
    c = zero - one * mean / deviation + two * mean**2 / deviation**2
    fits = (z > 0) & (weight > 0) & (deviation > 0)
    return _better(bound, law, x, a, b, c, fits)


def _better(bound: Floats, law: Conditional, x: Floats, a: Floats, b: Floats, c: Floats, fits: object) -> Floats:
    """The smaller of the bound and E[q^2]/q(x)^2 where q = a u^2 + b u + c grows from x on and is positive there."""
    at = (a * x + b) * x + c
    # Cancellation in q(x) is covered by taking it smaller.
    safe = at - 1e-13 * (np.abs(a) * x**2 + np.abs(b * x) + np.abs(c))
    slope = 2.0 * a * x + b
    grows = slope - 1e-13 * (np.abs(2.0 * a * x) + np.abs(b)) >= 0.0
    coefficients = [2.0 * b * c, b * b + 2.0 * a * c, 2.0 * a * b, a * a][: len(law.moments)]
    total = c * c * law.mass
    size = total.copy()
    for weight, moment, error in zip(coefficients, law.moments, law.errors, strict=True):
        total = total + weight * moment + np.abs(weight) * error
        size = size + np.abs(weight * moment)
    # Rounding of the coefficients and of this sum.
    value = (total + 1e-14 * size) / safe**2
    good = np.asarray(fits, dtype=bool) & (a >= 0.0) & grows & (safe > 0.0) & np.isfinite(value) & (value >= 0.0)
    # A value below 0 can only be rounding; the error terms make it impossible up to then.
    return np.where(good, np.minimum(bound, value), bound)
