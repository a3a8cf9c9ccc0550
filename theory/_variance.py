"""Theorem 7: tails that use variances (Bernstein, Bousquet). Re-exported by :mod:`theory.tighter`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants
from theory._inputs import Bound, Floats
from theory._instance import instance, loss_parameters

__all__ = ["comparator_tail_variance", "erm_tail_variance", "lemma_4_variance", "loss_variance"]

_SPLITS = np.linspace(1 / 64, 63 / 64, 63)
"""Shares of the gap given to the best arm's deviation; every one gives a valid bound."""


def loss_variance(theta: ArrayLike, top_h: ArrayLike, top_g: ArrayLike, radius: ArrayLike) -> Bound:
    """sup over the ball of Var l(f) <= Lambda^2 (sqrt(top_h) / 2 + max(1/2, b) sqrt(top_g))^2.

    ``top_h`` and ``top_g`` are the largest eigenvalues of the centred covariances of y Phi and Phi
    (of the centred (y y^T * K) / m and K / m), ``radius`` is Lambda.
    """
    theta_, Lambda, _ = loss_parameters(theta, radius, strict=True)
    h, g = _inputs.positive(top_h, "top_h"), _inputs.positive(top_g, "top_g")
    sd = np.sqrt(h) / 2 + np.maximum(0.5, _loss_constants.slope(theta_)) * np.sqrt(g)
    return _inputs.result(np.asarray((Lambda * sd) ** 2))


def comparator_tail_variance(
    n: ArrayLike,
    shift: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    variance: ArrayLike,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """P[V_1 >= R_1 + shift] <= exp(-n shift^2 / (2 (variance + M shift / 3))), Bernstein.

    ``variance`` bounds the variance of the loss of the best arm's full-data minimiser.
    """
    rows = _inputs.whole(n, "n", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, n=rows)
    t = _inputs.positive(shift, "shift")
    value = _log_bernstein(
        rows.astype(np.float64), t, _loss_constants.spread(theta_, r, r), _inputs.positive(variance, "variance")
    )
    return _inputs.from_log(check.mask(value), log=log)


def erm_tail_variance(
    n: ArrayLike,
    shift: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    variance: ArrayLike,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """P[V_i <= R_i - shift] <= exp(-x), where x solves Bousquet's inequality

    shift = beta + sqrt(2 x (variance + 2 M beta) / n) + M x / (3 n),

    beta = r / sqrt n in the affine regime r <= 1 - 2 theta and 2 c* r / sqrt n beyond; ``variance``
    bounds the variance of the loss over the whole ball (see :func:`loss_variance`).
    """
    rows = _inputs.whole(n, "n", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, n=rows)
    t = _inputs.positive(shift, "shift")
    value = _log_bousquet(rows.astype(np.float64), t, theta_, r, _inputs.positive(variance, "variance"))
    return _inputs.from_log(check.mask(value), log=log)


def lemma_4_variance(
    n: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    variance_rival: ArrayLike,
    variance_best: ArrayLike | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 7: P[V_i <= V_1] by Bernstein for the best arm and Bousquet for the rival, best split.

    Without ``variance_best`` the variance is bounded by (sup l - R)(R - inf l) for the worst
    R <= 1 - gap. Holds for any dependence between the two arms' rows.
    """
    rows = _inputs.whole(n, "n", least=1)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=rows)
    rival = _inputs.positive(variance_rival, "variance_rival")
    if variance_best is None:
        best = _worst_variance(point.gap, point.theta, point.r)
    else:
        best = _inputs.positive(variance_best, "variance_best")
    spread = _loss_constants.spread(point.theta, point.r, point.r)
    total = np.asarray(0.0)
    for share in _SPLITS:
        high = _log_bernstein(rows.astype(np.float64), share * point.gap, spread, best)
        low = _log_bousquet(rows.astype(np.float64), (1 - share) * point.gap, point.theta, point.r, rival)
        with np.errstate(under="ignore"):
            total = np.minimum(total, np.logaddexp(high, low))
    return _inputs.from_log(point.check.mask(total), log=log)


def _worst_variance(gap: Floats, theta: Floats, r: Floats) -> Floats:
    # With R = 1 - v, v >= gap: (sup l - R)(R - inf l) = (rise + v)(fall - v), largest at the middle.
    rise, fall = _loss_constants.rise(theta, r, r), _loss_constants.fall(theta, r, r)
    v = np.clip(np.maximum(gap, (fall - rise) / 2), None, fall)
    return np.asarray((rise + v) * (fall - v))


def _log_bernstein(n: Floats, shift: Floats, spread: Floats, variance: Floats) -> Floats:
    denominator = 2 * (variance + spread * shift / 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(shift > 0, -n * shift**2 / denominator, 0.0))


def _log_bousquet(n: Floats, shift: Floats, theta: Floats, r: Floats, variance: Floats) -> Floats:
    spread = _loss_constants.spread(theta, r, r)
    beta = _loss_constants.uniform_deviation(theta, r) * r / np.sqrt(n)
    excess = np.maximum(shift - beta, 0.0)
    drift = 2 * (variance + 2 * spread * beta) / n
    # The positive root of (M / 3n) x + sqrt(drift x) = excess, in the form without cancellation.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = 2 * excess / (np.sqrt(drift) + np.sqrt(drift + 4 * spread * excess / (3 * n)))
    return np.asarray(np.where(excess > 0, -np.square(root), 0.0))
