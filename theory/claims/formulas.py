"""Formulas of the paper, written once for floats, fractions and balls.

A formula that needs more than arithmetic takes a backend ``xp`` with ``q`` (a quotient of integers), ``sqrt``, ``log``,
``exp`` and ``max``: `FLOATS`, `RATIONALS`, or :data:`theory.evidence.balls.BALLS`. Nothing is checked here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


class Floats:
    """Floats and numpy arrays."""

    def q(self, numerator: int, denominator: int = 1) -> float:
        """Return the nearest float."""
        return numerator / denominator

    sqrt = staticmethod(np.sqrt)
    log = staticmethod(np.log)
    exp = staticmethod(np.exp)
    max = staticmethod(max)


class Rationals:
    """Exact fractions, for formulas without roots and logarithms."""

    q = staticmethod(Fraction)
    max = staticmethod(max)


FLOATS, RATIONALS = Floats(), Rationals()


def rejection_slope(theta: Any) -> Any:
    """Return b = theta / (1 - 2 theta), the slope of the second piece of Eq. 2."""
    return theta / (1 - 2 * theta)


def rademacher_constant(theta: Any) -> Any:
    """Return c = (1 - theta) / (1 - 2 theta), the paper's constant (A.2)."""
    return (1 - theta) / (1 - 2 * theta)


def surrogate_loss(t: Any, s: Any, theta: Any, xp: Any = FLOATS) -> Any:
    """Return the surrogate loss of Eq. 2 at t = y h(x), s = g(x)."""
    return xp.max(1 + (s - t) / 2, theta - rejection_slope(theta) * s, 0)


def launch_rows(factor: int, gap: Any, theta: Any, r: Any) -> Any:
    """Return factor ((1 - theta) r)^2 / ((1 - 2 theta) Delta)^2, the threshold of the identification condition."""
    return factor * (rademacher_constant(theta) * r / gap) ** 2


def identification_margin(n: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Any = FLOATS) -> Any:
    """Return Delta/2 - factor c r / sqrt n; the factor is 2, and 4 in one display of A.2."""
    return gap / 2 - factor * rademacher_constant(theta) * r / xp.sqrt(n)


def log_tail_paper(n: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Any = FLOATS) -> Any:
    """Return log q = -(2/9) n (Delta/2 - 2 c r / sqrt n)^2, the printed exponent."""
    return xp.q(-2, 9) * n * identification_margin(n, gap, theta, r, factor, xp) ** 2


def log_failure_pair(n: Any, gap: Any, theta: Any, r: Any, xp: Any = FLOATS) -> Any:
    """Return the logarithm of Lemma 4 (A.1): 4 q."""
    return xp.log(xp.q(4)) + log_tail_paper(n, gap, theta, r, xp=xp)


def log_failure_uniform(n: Any, K: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Any = FLOATS) -> Any:
    """Return the logarithm of Eq. 9 (Lemma 1 (i)): 4 (K - 1) q."""
    return xp.log(4 * (K - 1)) + log_tail_paper(n, gap, theta, r, factor, xp)


def log_failure_median(n: Any, gap: Any, theta: Any, r: Any, xp: Any = FLOATS) -> Any:
    """Return the logarithm of Eq. 11 (Lemma 2 (i)): 8 q / (1 - q)."""
    log_q = log_tail_paper(n, gap, theta, r, xp=xp)
    return xp.log(xp.q(8)) + log_q - log_one_minus_exp(log_q, xp)


def log_failure_uniform_simplified(n: Any, K: Any, gap: Any, xp: Any = FLOATS) -> Any:
    """Return the logarithm of the last line of A.2 before the O(): 4 (K - 1) exp(-Delta^2 n / 72)."""
    return xp.log(4 * (K - 1)) - gap**2 * n / 72


def log_failure_median_simplified(n: Any, gap: Any, theta: Any, r: Any, xp: Any = FLOATS) -> Any:
    """Return the logarithm of A.3: 8 exp(-Delta^2 n / 72) / (1 - exp(-Delta^2 C / 72)), C = 64 c^2 r^2 / Delta^2."""
    denominator = log_one_minus_exp(-(gap**2) * launch_rows(64, gap, theta, r) / 72, xp)
    return xp.log(xp.q(8)) - gap**2 * n / 72 - denominator


def log_one_minus_exp(x: Any, xp: Any = FLOATS) -> Any:
    """Return log(1 - exp(x)) for x < 0."""
    return np.log(-np.expm1(x)) if xp is FLOATS else xp.log(1 - xp.exp(x))


def complexity(n: Any, constant: Any, r: Any, factor: Any, xp: Any = FLOATS) -> Any:
    """Return factor * constant * r / sqrt n, a Rademacher term."""
    return factor * constant * r / xp.sqrt(n)


def hoeffding_deviation(n: Any, argument: Any, xp: Any = FLOATS) -> Any:
    """Return sqrt(log(argument) / (2 n)), the deviation of a mean of n losses with range 1."""
    return xp.sqrt(xp.log(argument) / 2) / xp.sqrt(n)


def uniform_risk_deviation(n: Any, theta: Any, r: Any, delta: Any, xp: Any = FLOATS) -> Any:
    """Return Lemma 3 (A.1): 2 c r / sqrt n + sqrt(log(1/delta) / 2n)."""
    return complexity(n, rademacher_constant(theta), r, 2, xp) + hoeffding_deviation(n, 1 / delta, xp)


def regret_paper(n: Any, theta: Any, r: Any, delta: Any, xp: Any = FLOATS) -> Any:
    """Return Lemmas 1 (ii) and 2 (ii): 4 c r / sqrt n + 2 sqrt(log(2/delta) / 2n)."""
    return complexity(n, rademacher_constant(theta), r, 4, xp) + 2 * hoeffding_deviation(n, 2 / delta, xp)


def excess_risk_terms_paper(m: Any, n: Any, theta: Any, r: Any, delta: Any, xp: Any = FLOATS) -> tuple[Any, ...]:
    """Return the terms of Theorems 1 and 2: complexities on m rows and n pulls, then deviations on both."""
    c = rademacher_constant(theta)
    return (
        complexity(m, c, r, 4, xp),
        complexity(n, c, r, 4, xp),
        2 * hoeffding_deviation(m, 3 / delta, xp),
        2 * hoeffding_deviation(n, 6 / delta, xp),
    )


def regret_terms_corrected(
    n: Any, theta: Any, r: Any, delta: Any, models: Any, comparators: Any, width: Any, xp: Any = FLOATS
) -> tuple[Any, Any]:
    """Return complexity 2 c r / sqrt n and deviation M (sqrt(log(2 models / delta) / 2n) + ... comparators ...)."""
    model = hoeffding_deviation(n, 2 * models / delta, xp)
    comparator = hoeffding_deviation(n, 2 * comparators / delta, xp)
    return complexity(n, rademacher_constant(theta), r, 2, xp), width * (model + comparator)
