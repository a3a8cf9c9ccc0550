"""Theorem 6: regret and risk without a gap, a launch budget or an assumption on the arms.

Re-exported by :mod:`theory.tighter`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants, _terms
from theory._inputs import Bound, Floats, Ints
from theory._instance import loss_parameters
from theory._pulls import uniform_pulls
from theory._tails import Kernel
from theory.constants import halving_schedule
from theory.errors import Assumptions

__all__ = [
    "excess_risk_calibrated",
    "excess_risk_uniform",
    "exploratory_regret_uniform",
    "selection_regret_median",
    "selection_regret_uniform",
]


def exploratory_regret_uniform(
    B: ArrayLike,
    K: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    kernel: Kernel = "any",
    strict: bool = True,
) -> Bound:
    """Theorem 6 (i): with probability at least 1 - delta, for uniform allocation with n = floor(B / K),

    R_tr,is(f_is) - R_1 <= d r / sqrt n + D (sqrt(ln(2K/delta)/2n) + sqrt(ln(2/delta)/2n)),

    d = 1 for r <= 1 - 2 theta and 2 c* beyond. There is no delta_fail and no identification condition.
    """
    n, theta_, r, check, delta_ = _door(B, K, theta, kappa_lambda, delta, strict=strict)
    return _inputs.result(check.mask(_surrogate(n, K, theta_, r, delta_, kernel)))


def excess_risk_uniform(
    B: ArrayLike,
    K: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    approximation_error: ArrayLike = 0.0,
    kernel: Kernel = "any",
    strict: bool = True,
) -> Bound:
    """Theorem 6 (ii): rows i.i.d. from the distribution; with probability at least 1 - delta the excess
    0/1 risk of uniform allocation is at most R_ap plus the smaller of (i) and

    2 c* r / sqrt n + min(1 - inf l, D) sqrt(ln(2K/delta)/2n) + D sqrt(ln(2/delta)/2n).
    """
    n, theta_, r, check, delta_ = _door(B, K, theta, kappa_lambda, delta, strict=strict)
    moved = _loss_constants.replacement(theta_, r, nonnegative=_is_nonnegative(kernel))
    clipped = np.minimum(_loss_constants.fall(theta_, r, r), moved)
    arms = _inputs.whole(K, "K", least=2)
    first = 2 * _loss_constants.tight_rademacher(theta_) * r / _terms.root(n)
    by_clipping = (
        first + clipped * _terms.hoeffding(n, 2 * arms / delta_) + moved * _terms.hoeffding(n, np.asarray(2 / delta_))
    )
    best = np.minimum(by_clipping, _surrogate(n, K, theta_, r, delta_, kernel))
    return _inputs.result(check.mask(best + _inputs.real(approximation_error, "approximation_error")))


def excess_risk_calibrated(
    B: ArrayLike,
    K: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    approximation_error: ArrayLike = 0.0,
    kernel: Kernel = "any",
    strict: bool = True,
) -> Bound:
    """Theorem 6 (iii): (A_1 + the bound of (i)) / (1 - theta), with probability at least 1 - delta.

    The rows must be i.i.d. from the distribution, as for (ii).
    ``approximation_error`` is A_1 = inf over the ball of R_1^surr minus (3 - 2 theta) R_1^*, which tends
    to 0 for universal kernels and growing Lambda, whereas the paper's R_ap stays above (2 - 2 theta) R_1^*.
    """
    n, theta_, r, check, delta_ = _door(B, K, theta, kappa_lambda, delta, strict=strict)
    surplus = _inputs.positive(approximation_error, "approximation_error")
    total = (surplus + _surrogate(n, K, theta_, r, delta_, kernel)) / (1 - theta_)
    return _inputs.result(check.mask(np.asarray(total)))


def selection_regret_uniform(
    B: ArrayLike,
    K: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    kernel: Kernel = "any",
    strict: bool = True,
) -> Bound:
    """Theorem 6 (iv): R_is - R_1 <= c_d r / sqrt n + D sqrt(2 ln((K - 1)/delta) / n), prob. >= 1 - delta.

    R_i is arm i's minimised risk on all rows: how much worse the selected arm can be. The pairs of rows
    must be independent across draws, as in Theorem 2.
    """
    n, theta_, r, check, delta_ = _door(B, K, theta, kappa_lambda, delta, strict=strict)
    rivals = _inputs.whole(K, "K", least=2) - 1
    return _inputs.result(check.mask(_step(n, theta_, r, rivals / delta_, kernel)))


def selection_regret_median(
    B: ArrayLike,
    K: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    kernel: Kernel = "any",
    strict: bool = True,
) -> Bound:
    """Theorem 6 (v): for median elimination with fresh rows, with probability at least 1 - delta,

    R_is - R_1 <= sum_t c_d r / sqrt n_t + D sqrt(2 ln(T (a_t - 1) / (k_t delta)) / n_t).

    The pairs of rows must be independent across draws, and the rounds of each other.
    """
    schedule = halving_schedule(B, K)
    delta_ = _inputs.fraction(delta, "delta")
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    check.require("at least one row per arm in the first round", schedule.pulls[0])
    rounds = np.sum(schedule.active > 1, axis=0)
    total = np.asarray(0.0)
    for n, active, kept in zip(schedule.pulls, schedule.active, schedule.kept, strict=True):
        # (a - 1) / k is at least 1 for a >= 2, so the logarithm is positive.
        argument = np.maximum(active - 1, 1) / kept * rounds / delta_
        total = total + np.where(active > 1, _step(n, theta_, r, argument, kernel), 0.0)
    return _inputs.result(check.mask(total))


def _door(
    B: ArrayLike, K: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool
) -> tuple[Ints, Floats, Floats, Assumptions, Floats]:
    n = uniform_pulls(B, K)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, n=n)
    check.require("at least one row per arm", n)
    return n, theta_, r, check, _inputs.fraction(delta, "delta")


def _surrogate(n: Ints, K: ArrayLike, theta: Floats, r: Floats, delta: Floats, kernel: Kernel) -> Floats:
    """d r / sqrt n + D (sqrt(ln(2K/delta)/2n) + sqrt(ln(2/delta)/2n))."""
    moved = _loss_constants.replacement(theta, r, nonnegative=_is_nonnegative(kernel))
    arms = _inputs.whole(K, "K", least=2)
    deviations = _terms.hoeffding(n, 2 * arms / delta) + _terms.hoeffding(n, np.asarray(2 / delta))
    return np.asarray(_loss_constants.uniform_deviation(theta, r) * r / _terms.root(n) + moved * deviations)


def _step(n: Ints, theta: Floats, r: Floats, argument: Floats, kernel: Kernel) -> Floats:
    """c_d r / sqrt n + D sqrt(2 ln(argument) / n)."""
    moved = _loss_constants.replacement(theta, r, nonnegative=_is_nonnegative(kernel))
    return np.asarray(_loss_constants.dual(theta) * r / _terms.root(n) + 2 * moved * _terms.hoeffding(n, argument))


def _is_nonnegative(kernel: Kernel) -> bool:
    if kernel not in ("any", "nonnegative"):
        raise ValueError(f'kernel must be "any" or "nonnegative", got {kernel!r}')
    return kernel == "nonnegative"
