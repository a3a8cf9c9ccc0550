"""Solve the penalised problem for more rows than a Gram matrix can hold, certified for the full kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_choice, check_count, check_labels, check_positive, check_theta
from exml_sim.rejection._certificates import EPS
from exml_sim.rejection._factor import LowRankFactor
from exml_sim.rejection._lowrank import DualIterate, Maximiser
from exml_sim.rejection._residual import STREAM_ROWS, Setting, Upper, lower_bound, typical_error, upper_bound
from exml_sim.rejection._triangle import A1, A2, B2, geometry
from exml_sim.rejection.problem import NEGLIGIBLE, Solution, check_form, check_weights, warn_if_short

CERTIFICATES = ("auto", "streamed", "trace")

#: Rounding of kernel values, at most, with which a model is believed whose certified objective is above that of none.
KNOWN_ENTRIES = 0.1


def solve_low_rank(
    factor: LowRankFactor,
    y: ArrayLike,
    theta: float,
    *,
    penalty: tuple[float, float],
    weights: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 5000,
    slack: float = 0.05,
    certificate: str = "auto",
    start: Solution | None = None,
) -> Solution:
    """Fit the penalised rejection model over the span of a factor's landmarks, with bounds for the full kernel.

    Parameters
    ----------
    factor : LowRankFactor
        Rows and landmarks, from :func:`exml_sim.rejection.factorise`; ``factor.take(rows)`` for a fold.
    y : array_like, shape (m,)
        Labels, -1 or +1, one per row of the factor.
    theta : float
        Price of a rejection, in (0, 1/2).
    penalty : (C_h, C_g)
    weights : array_like, shape (m,), optional
        Non-negative weights; all one by default.
    tol : float
        Stop when ``gap - rank_gap`` is at most tol * max(1, objective).
    slack : float
        Or when it is at most this share of what the rank costs, guessed from what the factor leaves of the diagonal:
        digits beyond that say nothing about the full problem. 0 for `tol` alone.
    max_iter : int
        Newton steps at most.
    certificate : {"auto", "streamed", "trace"}
        How the lower bound looks at what the factor leaves out (:mod:`exml_sim.rejection._residual`): through all rows
        of the kernel, or through the diagonal, which is quick and wide. "auto" streams up to 150,000 rows.
    start : Solution, optional
        A solution on the same rows for another theta or penalty, as a warm start.

    Returns
    -------
    Solution
        With ``method="low-rank"`` and its `rank`; `u` and `w` are the coefficients at ``factor.landmarks``.
    """
    labels, theta, p = _check(factor, y, theta, weights)
    pair, _ = check_form(penalty, None)
    assert pair is not None
    tol, max_iter = check_positive(tol, "tol"), check_count(max_iter, "max_iter")
    slack = 0.0 if slack == 0 else check_positive(slack, "slack")
    check_choice(certificate, "certificate", CERTIFICATES)
    geo = geometry(theta, *pair)
    rows = np.flatnonzero(p > NEGLIGIBLE * np.max(p))
    used_factor = factor if len(rows) == len(p) else factor.take(rows)
    with one_thread("blas"):
        work = Maximiser(used_factor.values, labels[rows], p[rows], geo, slack * used_factor.rest)
        u, v = _warm(start, labels, p, geo, rows)
        scale = float(np.mean(p[rows])) / np.sqrt(pair[0] * pair[1])
        # More than asked for: the certificate's allowance for rounding comes on top.
        point = work.run(u, v, scale, 0.25 * tol, max_iter)
        streamed = certificate == "streamed" or (certificate == "auto" and len(p) <= STREAM_ROWS)
        setting = Setting(factor, labels, p, theta, *pair)
        solution = _certify(setting, point, rows, geo, work.gap(point)[1], work.steps, streamed)
    allowed = max(tol, 1.1 * work.rank_cost(point) / max(1.0, solution.objective))
    warn_if_short(np.array([solution.gap - solution.rank_gap]), np.array([solution.objective]), allowed)
    return solution


def _check(
    factor: LowRankFactor, y: ArrayLike, theta: float, weights: ArrayLike | None
) -> tuple[FloatArray, float, FloatArray]:
    price = check_theta(theta)
    if price.ndim:
        raise ValueError(f"theta must be one number; got an array of shape {price.shape}")
    labels = np.ascontiguousarray(check_labels(y))
    if labels.shape != (len(factor),):
        raise ValueError(f"y must have one label for each of the {len(factor)} rows; got shape {labels.shape}")
    p = np.ones(len(labels)) if weights is None else check_weights(weights, len(labels))
    return labels, float(price), p


def _warm(
    start: Solution | None, y: FloatArray, p: FloatArray, geo: FloatArray, rows: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Convert the dual point of another solution to this problem's coordinates, or return the origin."""
    if start is None:
        return np.zeros(len(rows)), np.zeros(len(rows))
    if start.alpha.shape != p.shape:
        raise ValueError(f"start must be a solution on the same {len(p)} rows; it has {len(start.alpha)}")
    alpha = np.clip(start.alpha, 0.0, p)[rows]
    beta = np.clip(start.beta[rows], 0.0, p[rows] - alpha)
    return y[rows] * geo[A1] * alpha, geo[B2] * beta - geo[A2] * alpha


def _trusted(setting: Setting, upper: Upper) -> bool:
    """Check that a model beats the zero model as measured, and that most kernel values are known to a tenth.

    The allowance for rounding goes by the row that lies furthest outside: one cell of a million can make it larger than
    the objective itself, and the model is as good as before.
    """
    return bool(upper.measured <= float(np.sum(setting.p)) and typical_error(setting.factor) <= KNOWN_ENTRIES)


def _certify(
    setting: Setting,
    point: DualIterate,
    rows: NDArray[np.intp],
    geo: FloatArray,
    value: float,
    steps: int,
    streamed: bool,
) -> Solution:
    m = len(setting.y)
    alpha, beta = np.zeros(m), np.zeros(m)
    alpha[rows] = np.clip(setting.y[rows] * point.u / geo[A1], 0.0, setting.p[rows])
    beta[rows] = np.clip((point.v + geo[A2] * alpha[rows]) / geo[B2], 0.0, setting.p[rows] - alpha[rows])
    t_h, t_g = point.image[:, 0] / np.sqrt(2.0 * setting.c_h), point.image[:, 1] / np.sqrt(2.0 * setting.c_g)
    above = upper_bound(setting, t_h, t_g)
    if not above.objective <= float(np.sum(setting.p)) and not _trusted(setting, above):
        # Rounding has left nothing of the model: the zero model costs 1 per unit of weight.
        above = upper_bound(setting, np.zeros_like(t_h), np.zeros_like(t_g))
    below, scale = lower_bound(setting, alpha, beta, streamed)
    # The optimum is never above the zero model, whatever rounding leaves open about this one.
    most = min(above.objective, float(np.sum(setting.p)) * (1.0 + (m + 8) * EPS))
    below = min(below, most)
    return Solution(
        above.u,
        above.w,
        above.h,
        above.g,
        above.loss / float(np.sum(setting.p)),
        most,
        below,
        most - below,
        steps,
        "low-rank",
        scale * alpha,
        scale * beta,
        setting.factor.rank,
        max(value - below, 0.0),
    )
