"""How many rows an arm gets, as printed in the paper."""

from __future__ import annotations

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
    # For other K the logarithm is irrational, the quotient no integer, and floating point is safe.
    real_log = np.where(power, 1.0, np.log2(arms))
    rounded_down: Ints = np.where(
        power, budget // (multiple * integer_log), np.floor(budget / (multiple * real_log)).astype(np.int64)
    )
    return rounded_down
