r"""Define the problem and its certified solution, and check arguments.

Penalised form (Eq. 3, sum of losses, see ``docs/explanation/conventions.md``), weights p and b = 1/(1 - 2 theta):

.. math:: \min_{h,g}\; \sum_i p_i \max\{1 + (g_i - y_i h_i)/2,\ \theta(1 - b g_i),\ 0\} + C_h |h|^2 + C_g |g|^2 .

Its dual has a pair (alpha_i, beta_i) >= 0 with alpha_i + beta_i <= p_i per row, and

.. math:: h = \sum_i \frac{\alpha_i y_i}{4 C_h} K_i, \quad g = \sum_i \frac{\theta b \beta_i - \alpha_i/2}{2 C_g} K_i,
          \quad \text{value } \sum_i (\alpha_i + \theta\beta_i) - C_h |h|^2 - C_g |g|^2 .

Ball form: the weighted mean of the losses over |h| <= Lambda, |g| <= Lambda.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import as_numbers, check_finite, check_labels, check_positive, check_theta, shown
from exml_sim.rejection._certificates import ball_lower, ball_model, model_of, penalised_bounds
from exml_sim.rejection._linalg import asymmetry, digest, exact_product, factor_exists

#: A Gram matrix counts as positive semidefinite down to this share of its trace below zero.
PSD_TOLERANCE = 1e-10


#: Weights below this share of the largest are no part of a solve; their rows still count in the certificate.
NEGLIGIBLE = 1e-100
SMALLEST_WEIGHT = 1e-100


class ConvergenceWarning(UserWarning):
    """The requested gap was not reached; the gap in the solution is the true one."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A rejection model at the rows, with its certificate: ``lower_bound <= optimum <= objective``.

    On a low-rank factor, too, the optimum is that of the problem on the full kernel.

    Attributes
    ----------
    u, w : ndarray, shape (m,)
        Coefficients: h(x) = sum_i u_i K(x, x_i), g(x) = sum_i w_i K(x, x_i). On a factor there are `rank` of them, and
        the x_i are its landmarks.
    h, g : ndarray, shape (m,)
        Values at the rows, gram @ u and gram @ w.
    risk : float
        Weighted mean of the surrogate loss at the solution.
    objective : float
        Value of the objective at the solution, rounded up: an upper bound of the optimum. It is that of the
        coefficients before they are rounded to double precision, which shows where large ones cancel.
    lower_bound : float
        Value of the dual at (alpha, beta), rounded down.
    gap : float
        objective - lower_bound.
    iterations : int
        Newton steps (interior-point iterations for cvxpy).
    method : str
        The path taken: "dual", "affine" or "cvxpy" on the Gram matrix, "low-rank" on a factor of it.
    alpha, beta : ndarray, shape (m,)
        The dual feasible point behind `lower_bound`.
    rank : int or None
        Landmarks of the factor; None on the Gram matrix.
    rank_gap : float
        The part of `gap` that comes from the rank: a higher rank would shrink it, more steps would not.
    """

    u: FloatArray
    w: FloatArray
    h: FloatArray
    g: FloatArray
    risk: float
    objective: float
    lower_bound: float
    gap: float
    iterations: int
    method: str
    alpha: FloatArray
    beta: FloatArray
    rank: int | None = None
    rank_gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Problem:
    """A checked problem; exactly one of `penalty` and `ball` is set."""

    gram: FloatArray
    y: FloatArray
    theta: float
    weights: FloatArray
    penalty: tuple[float, float] | None
    ball: float | None


def check_problem(
    gram: ArrayLike,
    y: ArrayLike,
    theta: float,
    weights: ArrayLike | None,
    penalty: tuple[float, float] | None,
    ball: float | None,
) -> Problem:
    """Turn the arguments of :func:`exml_sim.rejection.solve` into a problem, or say what is wrong with them."""
    gram, y, theta = check_rows(gram, y, theta)
    weights = np.ones(len(y)) if weights is None else check_weights(weights, len(y))
    penalty, ball = check_form(penalty, ball)
    return Problem(gram, y, theta, weights, penalty, ball)


def check_rows(gram: ArrayLike, y: ArrayLike, theta: float) -> tuple[FloatArray, FloatArray, float]:
    """Check Gram matrix, labels and theta."""
    gram = check_gram(gram)
    return gram, *check_targets(y, theta, len(gram))


def check_targets(y: ArrayLike, theta: float, m: int) -> tuple[FloatArray, float]:
    """Check one label for each of m rows, and theta."""
    theta_value = check_theta(theta)
    if theta_value.ndim:
        raise ValueError(f"theta must be one number; got an array of shape {theta_value.shape}")
    labels = np.require(check_labels(y), requirements=["C", "W"])
    if labels.shape != (m,):
        raise ValueError(f"y must have one label for each of the {m} rows; got shape {labels.shape}")
    return labels, float(theta_value)


def check_gram(gram: ArrayLike) -> FloatArray:
    """Check for a symmetric positive semidefinite matrix of finite numbers; make it contiguous and exactly symmetric.

    The test by factorisation costs as much as a solve, so a matrix that passed it is remembered by a 64-bit digest of
    its contents: a thousand solves on one Gram matrix pay for it once.
    """
    # Writable, though nobody writes to it: numba would compile the solver once more for a matrix that is not.
    matrix = np.require(as_numbers(gram, "the Gram matrix"), requirements=["C", "W"])
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ValueError(f"the Gram matrix must be square with at least one row; got shape {matrix.shape}")
    finite, fingerprint = digest(matrix)
    if not finite:
        raise ValueError("the Gram matrix must be finite; it contains NaN or infinite values")
    key = (len(matrix), int(fingerprint))
    if key in _known_psd:
        return _symmetrise(matrix) if _known_psd[key] else matrix
    skew = asymmetry(matrix)
    if skew > 1e-8 * max(float(np.max(np.abs(matrix))), 1e-300):
        raise ValueError(f"the Gram matrix must be symmetric; entries differ by up to {skew:.3g}")
    if not factor_exists(matrix, PSD_TOLERANCE * max(float(np.trace(matrix)), 0.0) + 1e-300):
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueError(f"the Gram matrix must be positive semidefinite; its smallest eigenvalue is {lowest:.3g}")
    with _memory:
        _known_psd[key] = skew > 0.0
        if len(_known_psd) > 256:
            _known_psd.popitem(last=False)
    return _symmetrise(matrix) if skew > 0.0 else matrix


def _symmetrise(matrix: FloatArray) -> FloatArray:
    """Return the mean of a matrix and its transpose: both certificates must be about the same matrix."""
    return np.ascontiguousarray(0.5 * matrix + 0.5 * matrix.T)


#: Matrices that passed, by size and digest: are they asymmetric by rounding?
_known_psd: OrderedDict[tuple[int, int], bool] = OrderedDict()
_memory = Lock()


def check_weights(weights: ArrayLike, m: int) -> FloatArray:
    """Check for non-negative weights, one per row, not all zero."""
    value = np.require(check_finite(weights, "weights"), requirements=["C", "W"])
    if value.shape != (m,):
        raise ValueError(f"weights must have one entry for each of the {m} rows; got shape {value.shape}")
    if np.any(value < 0.0):
        raise ValueError(f"weights must not be negative; got {float(value.min())!r}")
    if not np.any(value > 0.0):
        raise ValueError("weights must not all be zero")
    check_size(value)
    return value


def check_size(weights: FloatArray) -> None:
    """Refuse weights whose products leave the range of floating point."""
    largest = np.max(weights, axis=-1)
    if np.any((largest < SMALLEST_WEIGHT) | (largest > 1.0 / SMALLEST_WEIGHT)):
        raise ValueError(f"the largest weight must lie between 1e-100 and 1e100; got {float(np.min(largest)):g}")


def check_form(
    penalty: tuple[float, float] | None, ball: float | None
) -> tuple[tuple[float, float] | None, float | None]:
    """Check for exactly one of penalty=(C_h, C_g) and ball=Lambda."""
    if (penalty is None) == (ball is None):
        given = "neither" if penalty is None else "both"
        raise ValueError(f"give exactly one of penalty=(C_h, C_g) and ball=Lambda; got {given}")
    if ball is not None:
        return None, check_positive(ball, "ball")
    try:
        c_h, c_g = penalty  # type: ignore[misc]
    except (TypeError, ValueError):
        raise ValueError(f"penalty must be a pair (C_h, C_g); got {shown(penalty)}") from None
    return (check_positive(c_h, "C_h"), check_positive(c_g, "C_g")), None


def certify_penalised(
    problem: Problem,
    alpha: FloatArray,
    beta: FloatArray,
    model: tuple[FloatArray, FloatArray] | None,
    iterations: int,
    method: str,
    tol: float,
) -> Solution:
    """Build the solution of a dual point, with both bounds recomputed from the exact Gram matrix.

    `model` holds the coefficients of h and g that the solver had in hand, before they were turned into (alpha, beta).
    """
    assert problem.penalty is not None
    alpha, beta = alpha.copy(), beta.copy()
    if model is None:
        model = (np.empty(len(alpha)), np.empty(len(alpha)))
        model_of(problem.y, problem.weights, problem.theta, *problem.penalty, alpha, beta, *model)
    u, w, h, g, loss, objective, lower = penalised_bounds(
        problem.gram, problem.y, problem.weights, problem.theta, *problem.penalty, alpha, beta, *model, tol
    )
    risk = loss / float(np.sum(problem.weights))
    return Solution(u, w, h, g, risk, objective, lower, objective - lower, iterations, method, alpha, beta)


def certify_ball(
    problem: Problem, u: FloatArray, w: FloatArray, alpha: FloatArray, beta: FloatArray, iterations: int, method: str
) -> Solution:
    r"""Build the solution over the ball: h and g are scaled into it if rounding left them outside.

    The lower bound is :math:`\sum_i(\alpha_i + \theta\beta_i) - \Lambda|\tfrac12\sum_i\alpha_i y_i\Phi_i| -
    \Lambda|\sum_i(\theta b\beta_i - \alpha_i/2)\Phi_i|` with weights that sum to one.
    """
    assert problem.ball is not None
    share = problem.weights / np.sum(problem.weights)
    alpha, beta = alpha.copy(), beta.copy()
    setting = (problem.gram, problem.y, share, problem.theta, problem.ball)
    u, w, h, g, risk = ball_model(*setting, u, w)
    lower = min(ball_lower(*setting, alpha, beta), risk)
    return Solution(u, w, h, g, risk, risk, lower, risk - lower, iterations, method, alpha, beta)


def is_short(gap: Any, objective: Any, tol: float) -> Any:
    """Check whether a gap misses the tolerance, gap <= tol * max(1, |objective|)."""
    return ~np.less_equal(gap, tol * np.maximum(1.0, np.abs(objective)))  # NaN is short too


def warn_if_short(gap: FloatArray, objective: FloatArray, tol: float) -> None:
    """Warn of gaps that miss the tolerance, at the caller's caller."""
    short = is_short(gap, objective, tol)
    if np.any(short):
        warnings.warn(
            f"{int(np.sum(short))} of {len(gap)} problems stopped short of tol={tol:g}; "
            f"the largest gap is {float(np.max(gap[short])):.3g}",
            ConvergenceWarning,
            stacklevel=3,
        )


def norm(gram: FloatArray, coefficients: FloatArray) -> float:
    """Compute the RKHS norm of a function from its coefficients, in twice the working precision."""
    return float(np.sqrt(max(float(exact_product(gram, coefficients)[1]), 0.0)))
