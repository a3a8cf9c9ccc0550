"""How many rows an arm gets, as printed in the paper."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs
from theory._inputs import Ints

__all__ = ["first_round_pulls", "total_pulls_median", "uniform_pulls"]


def uniform_pulls(B: ArrayLike, K: ArrayLike) -> Ints:
    """floor(B / K), the rows per arm of uniform allocation (Section 3, Lemma 1)."""
    return np.asarray(_inputs.whole(B, "B", least=0) // _inputs.whole(K, "K", least=2))


def first_round_pulls(B: ArrayLike, K: ArrayLike) -> Ints:
    """floor(B / (K log2 K)) as in Lemma 2, with the real logarithm also where K is no power of two."""
    arms = _inputs.whole(K, "K", least=2)
    return _floor_over_log(_inputs.whole(B, "B", least=0), arms, arms)


def total_pulls_median(B: ArrayLike, K: ArrayLike) -> Ints:
    """floor(B / log2 K), the rows that Lemma 2 (ii) and Theorem 2 give to the selected arm."""
    arms = _inputs.whole(K, "K", least=2)
    return _floor_over_log(_inputs.whole(B, "B", least=0), arms, np.ones_like(arms))


def _floor_over_log(budget: Ints, arms: Ints, multiple: Ints) -> Ints:
    mantissa, exponent = np.frexp(arms.astype(np.float64))
    power = mantissa == 0.5
    integer_log = np.maximum(exponent.astype(np.int64) - 1, 1)
    real_log = np.where(power, 1.0, np.log2(arms))
    quotient = budget / (multiple * real_log)
    # The logarithm of any other K is irrational and the quotient no integer, but near a convergent of the
    # logarithm it comes closer to one than floating point can tell: those are divided again in decimals.
    doubtful = ~power & (np.abs(quotient - np.round(quotient)) <= 16 * np.finfo(float).eps * (1 + quotient))
    rounded_down: Ints = np.where(power, budget // (multiple * integer_log), np.floor(quotient).astype(np.int64))
    if not np.any(doubtful):
        return rounded_down
    budgets, counts, factors = np.broadcast_arrays(budget, arms, multiple)
    exact = np.array(rounded_down)
    for index in map(tuple, np.argwhere(doubtful)):
        exact[index] = _exact_floor(int(budgets[index]), int(counts[index]), int(factors[index]))
    return exact


_DIGITS = 60
"""Numbers below 2^63 have 19 digits, so 60 leave a relative error of 1e-40 for the distance to an integer."""


def _exact_floor(budget: int, arms: int, multiple: int) -> int:
    with localcontext() as context:
        context.prec = _DIGITS
        return int(Decimal(budget) / (multiple * _log2(arms)))


@lru_cache(maxsize=1024)
def _log2(arms: int) -> Decimal:
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(arms).ln() / Decimal(2).ln()
