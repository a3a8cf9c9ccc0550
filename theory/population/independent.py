"""Two independent samples: P[s' S s + t' T t >= 0].

Given the sum of two linear parts on one lattice, moments of the sum of the rests are binomial sums of convolutions.
"""

from __future__ import annotations

from math import comb

import numpy as np

from theory.population.graphs import Floats
from theory.population.law import UNIT
from theory.population.moments import LEVELS, Conditional, conditional_moments, projection
from theory.population.tails import tail_sum

__all__ = ["both", "two_samples"]


def two_samples(S: Floats, n: int, T: Floats, k: int, p: Floats, *, order: int = 2, levels: int = LEVELS) -> float:
    """Upper bound on P[s' S s + t' T t >= 0] for the empirical laws s of n and t of k independent rows from p."""
    if min(n, k) < 2:
        return 1.0
    mean = sum(float(p @ M @ p) * (1.0 - 1.0 / size) + float(p @ np.diagonal(M)) / size for M, size in ((S, n), (T, k)))
    if mean >= 0.0:
        return 1.0
    widths = [float(np.ptp(projection(M, p, size))) / size for M, size in ((S, n), (T, k))]
    step = max(*widths, 1e-12 * float(np.abs(S).max() + np.abs(T).max()) / min(n, k)) / levels
    first = conditional_moments(S, p, n, order=order, step=step)
    second = conditional_moments(T, p, k, order=order, step=step)
    return tail_sum(both(first, second, step))


def both(first: Conditional, second: Conditional, step: float) -> Conditional:
    """The law of the sum of two independent statistics on lattices with the same step."""
    unit = float(np.hypot(first.unit, second.unit))
    mass = np.convolve(first.mass, second.mass)
    left, right = (_padded(law, unit) for law in (first, second))
    short = min(first.mass.size, second.mass.size)
    rounding = (short + 16) * UNIT * 1.01
    moments, errors = [], []
    for r in range(1, len(first.moments) + 1):
        exact, size, most = np.zeros_like(mass), np.zeros_like(mass), np.zeros_like(mass)
        for j in range(r + 1):
            (a, e), (b, f) = left[j], right[r - j]
            exact += comb(r, j) * np.convolve(a, b)
            size += comb(r, j) * np.convolve(np.abs(a), np.abs(b))
            most += comb(r, j) * np.convolve(np.abs(a) + e, np.abs(b) + f)
        moments.append(exact)
        # The errors of the factors, the rounding of the sums, and the cancellation in most - size.
        errors.append(most - size + 4.0 * rounding * most)
    value = first.value[0] + second.value[0] + step * np.arange(mass.size)
    scale = float(np.abs(value).max())
    slack = first.slack + second.slack + 16.0 * UNIT * scale
    missing = first.missing + second.missing
    return Conditional(value, mass * (1.0 + rounding), np.array(moments), np.array(errors), unit, slack, missing)


def _padded(law: Conditional, unit: float) -> list[tuple[Floats, Floats]]:
    """Moments from order 0 on, with their errors, in a common unit; masses are upper bounds and stay so."""
    ratio = law.unit / unit
    scaled = [(law.moments[r] * ratio ** (r + 1), law.errors[r] * ratio ** (r + 1)) for r in range(len(law.moments))]
    # A mass is too large by its own error at most, which is of the size of the last digits.
    return [(law.mass, law.mass * law.mass_error + 2.0 * law.missing), *scaled]
