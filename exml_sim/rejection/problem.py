r"""What is solved, and what a solution must show: the problem, its certificate, the checks at the door.

Penalised form (Eq. 3 with the sum of losses, see ``docs/conventions.md``), weights p and b = 1/(1 - 2 theta):

.. math:: \min_{h,g}\; \sum_i p_i \max\{1 + (g_i - y_i h_i)/2,\ \theta(1 - b g_i),\ 0\} + C_h |h|^2 + C_g |g|^2 .

Its dual has a pair (alpha_i, beta_i) >= 0 with alpha_i + beta_i <= p_i per row, and

.. math:: h = \sum_i \frac{\alpha_i y_i}{4 C_h} K_i, \quad g = \sum_i \frac{\theta b \beta_i - \alpha_i/2}{2 C_g} K_i,
          \quad \text{value } \sum_i (\alpha_i + \theta\beta_i) - C_h |h|^2 - C_g |g|^2 .

Ball form: the weighted mean of the losses over |h| <= Lambda, |g| <= Lambda.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.rejection.linalg import asymmetry, digest, lower_factor_exists, quadratic_form, two_products
from exml_sim.validation import check_finite, check_labels, check_positive, check_theta

Array = NDArray[np.float64]

#: A Gram matrix counts as positive semidefinite down to this share of its trace below zero.
PSD_TOLERANCE = 1e-10
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


class ConvergenceWarning(UserWarning):
    """The requested gap was not reached; the gap in the solution is the true one."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A rejection model at the rows, with its certificate: ``lower_bound <= optimum <= objective``.

    Attributes
    ----------
    u, w : ndarray, shape (m,)
        Coefficients: h(x) = sum_i u_i K(x, x_i), g(x) = sum_i w_i K(x, x_i).
    h, g : ndarray, shape (m,)
        Values at the rows, gram @ u and gram @ w.
    risk : float
        Weighted mean of the surrogate loss at the solution.
    objective : float
        Value of the objective at the solution, an upper bound of the optimum.
    lower_bound : float
        Value of the dual at (alpha, beta), reduced by a bound on the rounding of the sums.
    gap : float
        objective - lower_bound.
    iterations : int
        Newton steps (interior-point iterations for cvxpy).
    method : str
        "dual", "affine" or "cvxpy".
    alpha, beta : ndarray, shape (m,)
        The dual feasible point behind `lower_bound`.
    """

    u: Array
    w: Array
    h: Array
    g: Array
    risk: float
    objective: float
    lower_bound: float
    gap: float
    iterations: int
    method: str
    alpha: Array
    beta: Array


@dataclass(frozen=True, slots=True)
class Problem:
    """A checked problem; exactly one of `penalty` and `ball` is set."""

    gram: Array
    y: Array
    theta: float
    weights: Array
    penalty: tuple[float, float] | None
    ball: float | None

    @property
    def b(self) -> float:
        """The slope constant 1/(1 - 2 theta) of the rejection piece."""
        return 1.0 / (1.0 - 2.0 * self.theta)


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


def check_rows(gram: ArrayLike, y: ArrayLike, theta: float) -> tuple[Array, Array, float]:
    """Gram matrix, labels and theta."""
    theta_value = check_theta(theta)
    if theta_value.ndim:
        raise ValueError(f"theta must be one number; got an array of shape {theta_value.shape}")
    gram = check_gram(gram)
    y = np.ascontiguousarray(check_labels(y))
    if y.shape != (len(gram),):
        raise ValueError(
            f"y must have one label for each of the {len(gram)} rows of the Gram matrix; got shape {y.shape}"
        )
    return gram, y, float(theta_value)


def check_gram(gram: ArrayLike) -> Array:
    """A symmetric positive semidefinite matrix of finite numbers, contiguous.

    The test by factorisation costs as much as a solve, so a matrix that passed it is remembered by a 64-bit digest of
    its contents: a thousand solves on one Gram matrix pay for it once.
    """
    try:
        matrix = np.ascontiguousarray(gram, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("the Gram matrix must be real numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ValueError(f"the Gram matrix must be square with at least one row; got shape {matrix.shape}")
    finite, fingerprint = digest(matrix)
    if not finite:
        raise ValueError("the Gram matrix must be finite; it contains NaN or infinite values")
    key = (len(matrix), int(fingerprint))
    if key in _known_psd:
        return matrix
    skew = asymmetry(matrix)
    if skew > 1e-8 * max(float(np.max(np.abs(matrix))), 1e-300):
        raise ValueError(f"the Gram matrix must be symmetric; entries differ by up to {skew:.3g}")
    if not lower_factor_exists(matrix, PSD_TOLERANCE * max(float(np.trace(matrix)), 0.0) + 1e-300):
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueError(f"the Gram matrix must be positive semidefinite; its smallest eigenvalue is {lowest:.3g}")
    _known_psd[key] = None
    if len(_known_psd) > 256:
        _known_psd.popitem(last=False)
    return matrix


_known_psd: OrderedDict[tuple[int, int], None] = OrderedDict()


def check_weights(weights: ArrayLike, m: int) -> Array:
    """Non-negative weights, one per row, not all zero."""
    value = np.ascontiguousarray(check_finite(weights, "weights"))
    if value.shape != (m,):
        raise ValueError(f"weights must have one entry for each of the {m} rows; got shape {value.shape}")
    if np.any(value < 0.0):
        raise ValueError(f"weights must not be negative; got {float(value.min())!r}")
    if not np.any(value > 0.0):
        raise ValueError("weights must not all be zero")
    return value


def check_form(
    penalty: tuple[float, float] | None, ball: float | None
) -> tuple[tuple[float, float] | None, float | None]:
    """Exactly one of penalty=(C_h, C_g) and ball=Lambda."""
    if (penalty is None) == (ball is None):
        given = "neither" if penalty is None else "both"
        raise ValueError(f"give exactly one of penalty=(C_h, C_g) and ball=Lambda; got {given}")
    if ball is not None:
        return None, check_positive(ball, "ball")
    try:
        c_h, c_g = penalty  # type: ignore[misc]
    except (TypeError, ValueError):
        raise ValueError(f"penalty must be a pair (C_h, C_g); got {penalty!r}") from None
    return (check_positive(c_h, "C_h"), check_positive(c_g, "C_g")), None


def surrogate_at(problem: Problem, h: Array, g: Array) -> Array:
    """Eq. 2 at the rows, without the checks of :func:`exml_sim.losses.surrogate_loss`."""
    predict = 1.0 + 0.5 * (g - problem.y * h)
    reject = problem.theta * (1.0 - problem.b * g)
    loss: Array = np.maximum(np.maximum(predict, reject), 0.0)
    return loss


def make_feasible(problem: Problem, alpha: Array, beta: Array, weights: Array) -> tuple[Array, Array]:
    """Nearest thing to (alpha, beta) inside the triangle alpha, beta >= 0, alpha + beta <= weight, exactly."""
    alpha = np.clip(alpha, 0.0, weights)
    return alpha, np.clip(beta, 0.0, weights - alpha)


def certify_penalised(problem: Problem, alpha: Array, beta: Array, iterations: int, method: str) -> Solution:
    """The solution that a dual point stands for, with both bounds computed afresh from the exact Gram matrix."""
    assert problem.penalty is not None
    c_h, c_g = problem.penalty
    alpha, beta = make_feasible(problem, alpha, beta, problem.weights)
    u = problem.y * alpha / (4.0 * c_h)
    w = (problem.theta * problem.b * beta - 0.5 * alpha) / (2.0 * c_g)
    h, g = two_products(problem.gram, u, w)
    losses = problem.weights * surrogate_at(problem, h, g)
    squares = c_h * float(u @ h) + c_g * float(w @ g)
    linear = float(np.sum(alpha) + problem.theta * np.sum(beta))
    objective = float(np.sum(losses)) + squares
    size = c_h * float(np.abs(u) @ np.abs(h)) + c_g * float(np.abs(w) @ np.abs(g)) + linear
    lower = linear - squares - ROUNDING * size
    risk = float(np.sum(losses) / np.sum(problem.weights))
    return Solution(u, w, h, g, risk, objective, lower, objective - lower, iterations, method, alpha, beta)


def certify_ball(
    problem: Problem, u: Array, w: Array, alpha: Array, beta: Array, iterations: int, method: str
) -> Solution:
    r"""The same for the ball: h and g are scaled into it if rounding left them outside.

    The lower bound is :math:`\sum_i(\alpha_i + \theta\beta_i) - \Lambda|\tfrac12\sum_i\alpha_i y_i\Phi_i| -
    \Lambda|\sum_i(\theta b\beta_i - \alpha_i/2)\Phi_i|` with weights that sum to one.
    """
    assert problem.ball is not None
    share = problem.weights / np.sum(problem.weights)
    alpha, beta = make_feasible(problem, alpha, beta, share)
    h, g = two_products(problem.gram, u, w)
    shrink_h = min(1.0, problem.ball / max(norm(problem.gram, u), 1e-300))
    shrink_g = min(1.0, problem.ball / max(norm(problem.gram, w), 1e-300))
    u, h, w, g = shrink_h * u, shrink_h * h, shrink_g * w, shrink_g * g
    risk = float(share @ surrogate_at(problem, h, g))
    pull_h, pull_g = 0.5 * alpha * problem.y, problem.theta * problem.b * beta - 0.5 * alpha
    linear = float(np.sum(alpha) + problem.theta * np.sum(beta))
    reach = problem.ball * (norm(problem.gram, pull_h) + norm(problem.gram, pull_g))
    lower = max(linear - reach - ROUNDING * (linear + reach), 0.0)
    return Solution(u, w, h, g, risk, risk, lower, risk - lower, iterations, method, alpha, beta)


def norm(gram: Array, coefficients: Array) -> float:
    """RKHS norm of a function from its coefficients, in twice the working precision."""
    return float(np.sqrt(max(float(quadratic_form(gram, coefficients)), 0.0)))
