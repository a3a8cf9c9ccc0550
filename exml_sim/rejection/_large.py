r"""Solve the penalised problem for more rows than a Gram matrix can hold, certified for the full kernel.

Write K = L L' + R with R positive semidefinite, as :mod:`exml_sim.rejection._factor` makes it, P(K) for the optimum and
D_K for the dual of :mod:`exml_sim.rejection.problem`.

*Upper bound.* The problem on L L' is the full one over fewer functions, those spanned by the landmarks, with the same
norm. So its every model is a model of the full problem at the same price: P(K) <= P(L L') <= objective.

*Lower bound.* The dual's feasible set, a triangle per row, does not depend on the kernel. So any feasible (alpha, beta)
gives, with :math:`a_i = y_i\alpha_i` and :math:`c_i = \theta b\beta_i - \alpha_i/2`,

.. math:: P(K) \ge D_K(\alpha, \beta)
          = \sum_i (\alpha_i + \theta\beta_i) - \frac{a^\top K a}{16 C_h} - \frac{c^\top K c}{4 C_g},

which is :math:`D_{LL'}` less :math:`a^\top R a/(16 C_h) + c^\top R c/(4 C_g)`, the residual at the dual point. Both
forms are evaluated with K itself, whose rows are streamed once: O(m^2 d), yet little next to the fit while m is below
some 10^5. Beyond, :math:`|R_{ij}| \le \sqrt{R_{ii} R_{jj}}` bounds the residual in O(m) by its diagonal,

.. math:: a^\top R a \le \Big(\sum_i |a_i| \sqrt{R_{ii}}\Big)^2 ,

which is true always and tight only where little of the trace is left. The triangles hold s (alpha, beta) for s in
[0, 1] too; the best s costs nothing and keeps the bound from falling below 0.

*Rounding.* Both bounds move outwards by a bound on the rounding of their own evaluation: of the entries of K, of the
sums, and of the step from (alpha, beta) to (a, c).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim import kernels
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_choice, check_count, check_positive
from exml_sim.rejection._certificates import EPS, total_loss
from exml_sim.rejection._factor import CHUNK, LowRankFactor, chunks
from exml_sim.rejection._linalg import exact_product
from exml_sim.rejection._loops import STRIP, gaussian_forms, in_columns, room, scale
from exml_sim.rejection._lowrank import DualIterate, Maximiser
from exml_sim.rejection._triangle import A1, A2, B2, geometry
from exml_sim.rejection.problem import NEGLIGIBLE, Solution, check_form, check_targets, check_weights, warn_if_short

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
        How the lower bound looks at what the factor leaves out (:mod:`exml_sim.rejection._large`): through all rows
        of the kernel, or through the diagonal, which is quick and wide. "auto" streams up to 150,000 rows.

    Returns
    -------
    Solution
        With ``method="low-rank"`` and its `rank`; `u` and `w` are the coefficients at ``factor.landmarks``.
    """
    labels, theta = check_targets(y, theta, len(factor))
    p = np.ones(len(labels)) if weights is None else check_weights(weights, len(labels))
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
        scale = float(np.mean(p[rows])) / np.sqrt(pair[0] * pair[1])
        # More than asked for: the certificate's allowance for rounding comes on top.
        point = work.run(scale, 0.25 * tol, max_iter)
        streamed = certificate == "streamed" or (certificate == "auto" and len(p) <= STREAM_ROWS)
        setting = Setting(factor, labels, p, theta, *pair)
        solution = _certify(setting, point, rows, geo, work.gap(point)[1], work.steps, streamed)
    allowed = max(tol, 1.1 * work.rank_cost(point) / max(1.0, solution.objective))
    warn_if_short(np.array([solution.gap - solution.rank_gap]), np.array([solution.objective]), allowed)
    return solution


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


#: Rows up to which the kernel is streamed for the lower bound where nobody says otherwise.
STREAM_ROWS = 150_000


@dataclass(frozen=True, slots=True)
class Setting:
    """A penalised problem on the rows of a factor."""

    factor: LowRankFactor
    y: FloatArray
    p: FloatArray
    theta: float
    c_h: float
    c_g: float


@dataclass(frozen=True, slots=True)
class Upper:
    """A model in the span of the landmarks: coefficients, values at the rows, weighted loss and objective.

    `measured` is the objective as it was computed, `objective` the same with an allowance for all rounding.
    """

    u: FloatArray
    w: FloatArray
    h: FloatArray
    g: FloatArray
    loss: float
    measured: float
    objective: float


def upper_bound(setting: Setting, t_h: FloatArray, t_g: FloatArray) -> Upper:
    """Compute the model with the images t_h, t_g, its values and norms from the kernel itself."""
    factor = setting.factor
    u, w = factor.coefficients(t_h), factor.coefficients(t_g)
    h, g, size_h, size_g = evaluate(factor, u, w)
    own = factor.cross(factor.landmarks)
    own = 0.5 * (own + own.T)
    squares = setting.c_h * exact_product(own, u)[1] + setting.c_g * exact_product(own, w)[1]
    unit = entry_error(factor) + 0.5 * (factor.rank + 8) * EPS  # half of EPS is the unit of rounding
    slope = max(0.5, setting.theta / (1.0 - 2.0 * setting.theta))
    error = unit * float(setting.p @ (0.5 * size_h + slope * size_g))
    roots = np.sqrt(np.diag(own))
    error += unit * (setting.c_h * float(np.abs(u) @ roots) ** 2 + setting.c_g * float(np.abs(w) @ roots) ** 2)
    loss = float(total_loss(setting.y, setting.p, setting.theta, h, g))
    error += (len(h) + 8) * EPS * (loss + float(np.sum(setting.p)) + abs(squares))
    return Upper(u, w, h, g, loss, loss + squares, loss + squares + error)


def lower_bound(setting: Setting, alpha: FloatArray, beta: FloatArray, streamed: bool) -> tuple[float, float]:
    """Compute a certified value of the full problem's dual at s (alpha, beta), and the scale s."""
    bend = setting.theta / (1.0 - 2.0 * setting.theta)
    a, c = setting.y * alpha, bend * beta - 0.5 * alpha
    sizes = alpha, bend * beta + 0.5 * alpha
    form_a, form_c = forms(setting.factor, a, c, sizes, streamed)
    linear = float(np.sum(alpha) + setting.theta * np.sum(beta))
    squares = form_a / (16.0 * setting.c_h) + form_c / (4.0 * setting.c_g)
    scale = 1.0 if linear >= 2.0 * squares else linear / (2.0 * squares)
    value = scale * linear - scale * scale * squares
    return value - (len(alpha) + 8) * EPS * (scale * linear + scale * scale * squares), scale


def forms(
    factor: LowRankFactor, a: FloatArray, c: FloatArray, sizes: tuple[FloatArray, FloatArray], streamed: bool
) -> tuple[float, float]:
    """Upper bounds of a'Ka and c'Kc; `sizes` bounds what their entries were computed from."""
    roots = np.sqrt(factor.diagonal)
    reach = [float(size @ roots) for size in sizes]
    if factor.kernel == "linear":
        quadratic = [float(np.sum((factor.points.T @ x) ** 2)) for x in (a, c)]
        unit = 4.0 * (len(a) + factor.points.shape[1] + 8) * EPS
    elif streamed:
        quadratic = list(_stream(factor, a, c))
        # Strips of products are added up one after the other: this many additions at most for any of them.
        unit = entry_error(factor) + (2 * STRIP + len(a) + len(a) // STRIP + 8) * EPS
    else:
        quadratic = [_by_the_diagonal(factor, x) for x in (a, c)]
        unit = 2.0 * factor_error(factor) + 4.0 * (len(a) + factor.rank + 8) * EPS
    # |K_ij| <= sqrt(K_ii K_jj): no form is larger, also where rounding leaves nothing of the kernel (fmin passes NaN).
    most = [size * size * (1.0 + 4.0 * (len(a) + 8) * EPS) for size in reach]
    first, second = (
        np.fmin(form + unit * size * size, top) for form, size, top in zip(quadratic, reach, most, strict=True)
    )
    return float(first), float(second)


def _stream(factor: LowRankFactor, a: FloatArray, c: FloatArray) -> tuple[float, float]:
    assert factor.gamma is not None
    used = (a != 0.0) | (c != 0.0)
    points = factor.points[used]
    if len(points) == 0:
        return 0.0, 0.0
    columns, lengths = in_columns(*scale(points, points.mean(axis=0), factor.gamma), STRIP)
    a, c = (np.concatenate([x[used], np.zeros(len(lengths) - len(points))]) for x in (a, c))
    first, second = gaussian_forms(np.ascontiguousarray(-2.0 * columns.T), lengths, columns, lengths, a, c)
    return float(first), float(second)


def _by_the_diagonal(factor: LowRankFactor, x: FloatArray) -> float:
    image = factor.values.T @ x
    return float(image @ image) + float(np.abs(x) @ np.sqrt(factor.rest)) ** 2


def entry_error(factor: LowRankFactor) -> float:
    """Bound on the rounding of an entry K(x, z), in units of the root of K(x, x) K(z, z)."""
    if factor.kernel == "linear":
        return float((factor.points.shape[1] + 2) * EPS)
    return _rounding(factor, float(np.max(_squared_lengths(factor.points, factor.points.mean(axis=0)))))


def typical_error(factor: LowRankFactor) -> float:
    """The same for most entries: no bound. A row far outside has kernel values of 0, and no part in those of others."""
    if factor.kernel == "linear":
        return entry_error(factor)
    return _rounding(factor, float(np.median(_squared_lengths(factor.points, kernels.centre(factor.points)))))


def _squared_lengths(points: FloatArray, centre: FloatArray) -> FloatArray:
    centred = points - centre
    return np.asarray(np.einsum("ij,ij->i", centred, centred), dtype=np.float64)


def _rounding(factor: LowRankFactor, spread: float) -> float:
    d = factor.points.shape[1]
    assert factor.gamma is not None
    # exp(-s/gamma) errs by the error of s over gamma; s is a sum of d + 4 terms of at most 4 spread, twice centred.
    return float((16.0 + 8.0 * (d + 8) * spread / factor.gamma) * EPS)


def factor_error(factor: LowRankFactor) -> float:
    """Rounding of L, to first order: that of the kernel and of the elimination, over the smallest pivot's root."""
    pivots = np.diag(factor.triangle)
    return float((entry_error(factor) + 8.0 * factor.rank * EPS) * np.max(pivots) / np.min(pivots))


def evaluate(
    factor: LowRankFactor, u: FloatArray, w: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """h and g at the rows from coefficients at the landmarks, and the sums of magnitudes that rounding goes by."""
    both = np.column_stack([u, w])
    values, sizes = np.empty((len(factor), 2)), np.empty((len(factor), 2))
    roots = np.linalg.norm(factor.triangle, axis=1)  # of K(x, x) at the landmarks
    space = np.empty(room(min(CHUNK, len(factor)), factor.rank))
    for part in chunks(len(factor)):
        block = factor.cross(factor.points[part], space)
        if factor.kernel == "gaussian":  # its entries err by a share of themselves
            products = block @ np.column_stack([both, np.abs(both)])
            values[part], sizes[part] = products[:, :2], products[:, 2:]
        else:
            values[part] = block @ both
            sizes[part] = np.outer(np.sqrt(factor.diagonal[part]), roots @ np.abs(both))
    return values[:, 0].copy(), values[:, 1].copy(), sizes[:, 0], sizes[:, 1]
