"""Solve the rejection model once, or for many weightings of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import (
    as_numbers,
    check_choice,
    check_count,
    check_finite,
    check_jobs,
    check_positive,
)
from exml_sim.rejection._batch import affine_block, ball_block, penalised_block, tidy_weights
from exml_sim.rejection._dual import maximise
from exml_sim.rejection._triangle import A1, A2, B2, geometry
from exml_sim.rejection.problem import (
    NEGLIGIBLE,
    SMALLEST_WEIGHT,
    Problem,
    Solution,
    certify_ball,
    certify_penalised,
    check_form,
    check_problem,
    check_rows,
    check_size,
    is_short,
    norm,
    warn_if_short,
)

METHODS = ("auto", "dual", "cvxpy")
MAX_ITER = 5000


@dataclass(frozen=True, slots=True)
class BatchSolution:
    """Scores of many trials, one entry per row of `counts`; the fields are those of :class:`Solution`.

    `method` is "dual", "affine", or "affine and dual" for a batch over the ball in which some trials hold only rows on
    which the surrogate is affine.
    """

    risk: FloatArray
    objective: FloatArray
    lower_bound: FloatArray
    gap: FloatArray
    iterations: NDArray[np.int64]
    method: str


def solve(
    gram: ArrayLike,
    y: ArrayLike,
    theta: float,
    *,
    weights: ArrayLike | None = None,
    penalty: tuple[float, float] | None = None,
    ball: float | None = None,
    tol: float = 1e-8,
    method: str = "auto",
    max_iter: int = MAX_ITER,
) -> Solution:
    r"""Fit the rejection model of Section 3.1 and certify the fit.

    With ``penalty=(C_h, C_g)``, Eq. 3 with the *sum* of weighted losses,

    .. math:: \min_{h,g} \sum_i p_i\,\ell_{surr}(h_i, g_i, y_i; \theta) + C_h|h|^2 + C_g|g|^2;

    with ``ball=Lambda``, the theory's empirical risk minimisation: the weighted *mean* of the losses over
    :math:`|h|, |g| \le \Lambda`.

    Parameters
    ----------
    gram : array_like, shape (m, m)
        Kernel values between the rows, symmetric positive semidefinite.
    y : array_like, shape (m,)
        Labels, -1 or +1. One class alone is allowed.
    theta : float
        Price of a rejection, in (0, 1/2).
    weights : array_like, shape (m,), optional
        Non-negative weights, for instance counts of bought rows; all one by default.
    penalty, ball
        Exactly one of the two forms.
    tol : float
        Stop at gap <= tol * max(1, |objective|).
    method : {"auto", "dual", "cvxpy"}
        "dual" is the fast solver (the closed form in the affine regime of the ball), "cvxpy" the slow reference;
        "auto" is "dual", with the reference's help for ill-conditioned problems that it does not finish.
    max_iter : int
        Newton steps at most. A solve that ends short of `tol`, for this or another reason, gives a
        :class:`ConvergenceWarning` and an honest gap.

    Returns
    -------
    Solution

    Notes
    -----
    A Gram matrix in floating point fixes the norm of a function that vanishes to about 1e-8 only. Where a ball does not
    bind on a kernel of low rank the lower bound holds such a norm times Lambda, and the gap cannot fall below that.

    Examples
    --------
    >>> import numpy as np
    >>> from exml_sim.rejection import solve
    >>> s = solve(np.eye(2), [1, -1], theta=0.2, penalty=(0.1, 0.1))
    >>> s.lower_bound <= s.objective, s.gap <= 1e-8
    (True, True)
    """
    problem = check_problem(gram, y, theta, weights, penalty, ball)
    tol = check_positive(tol, "tol")
    check_choice(method, "method", METHODS)
    max_iter = check_count(max_iter, "max_iter")
    if method == "cvxpy":
        from exml_sim.rejection.reference import solve_reference

        solution = solve_reference(problem, tol)
    elif problem.penalty is not None:
        solution = _solve_penalised(problem, tol, max_iter)
    elif is_affine(problem):
        solution = _solve_affine(problem)
    else:
        solution = _solve_ball(problem, tol, max_iter)
    if method == "auto" and is_short(solution.gap, solution.objective, tol):
        solution = _with_help(problem, solution, tol)
    warn_if_short(np.array([solution.gap]), np.array([solution.objective]), tol)
    return solution


def solve_batch(
    gram: ArrayLike,
    y: ArrayLike,
    theta: float,
    counts: ArrayLike,
    *,
    penalty: tuple[float, float] | None = None,
    ball: float | None = None,
    tol: float = 1e-8,
    max_iter: int = MAX_ITER,
    n_jobs: int = 1,
) -> BatchSolution:
    """Solve one problem per row of `counts`; see :func:`solve` for the problem.

    Parameters
    ----------
    counts : array_like, shape (trials, m)
        Weights of the rows, trial by trial; zeros are skipped and cost nothing.
    n_jobs : int, default 1
        Threads (the compiled code does not hold the interpreter's lock); -1 for all cores. Has no influence on results.

    Returns
    -------
    BatchSolution
        Certified scores without the models; call :func:`solve` with ``weights=counts[t]`` for the model of trial t.

    Examples
    --------
    >>> gram, y = [[1.0, 0.2], [0.2, 1.0]], [1, -1]
    >>> solve_batch(gram, y, 0.3, counts=[[1, 1], [2, 0]], ball=1.0).objective.round(3)
    array([0.53, 0.42])
    """
    solver = BatchSolver(gram, y, theta, penalty=penalty, ball=ball)
    value = as_numbers(counts, "counts")
    tol, max_iter = check_positive(tol, "tol"), check_count(max_iter, "max_iter")
    return solver.solve(value, tol, max_iter, check_jobs(n_jobs))


class BatchSolver:
    """Rows that are checked once and solved for many weightings.

    Parameters
    ----------
    gram, y, theta, penalty, ball
        As in :func:`solve_batch`. Nobody may change the arrays afterwards.
    """

    def __init__(
        self,
        gram: ArrayLike,
        y: ArrayLike,
        theta: float,
        *,
        penalty: tuple[float, float] | None = None,
        ball: float | None = None,
    ) -> None:
        self.rows = check_rows(gram, y, theta)
        self.penalty, self.ball = check_form(penalty, ball)

    def solve(self, counts: FloatArray, tol: float, max_iter: int = MAX_ITER, jobs: int = 1) -> BatchSolution:
        """Solve one problem per row of `counts`, see :func:`solve_batch`."""
        counts = _check_counts(counts, len(self.rows[1]))
        if self.penalty is not None:
            scores, methods = _empty(len(counts)), {"dual"}
            _in_blocks(penalised_block, (*self.rows, counts, *self.penalty, tol, max_iter), scores, len(counts), jobs)
        else:
            assert self.ball is not None
            scores, methods = _batch_over_ball(*self.rows, counts, self.ball, tol, max_iter, jobs)
        risk, objective, lower, steps = scores
        if not np.all(objective - lower <= tol * np.maximum(1.0, np.abs(objective))):
            warn_if_short(objective - lower, objective, tol)
        return BatchSolution(risk, objective, lower, objective - lower, steps, " and ".join(sorted(methods)))


#: Risk, objective, lower bound and steps of a block of trials.
_Scores = tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64]]


def _empty(trials: int) -> _Scores:
    return np.empty(trials), np.empty(trials), np.empty(trials), np.zeros(trials, np.int64)


def _batch_over_ball(
    gram: FloatArray, y: FloatArray, theta: float, counts: FloatArray, ball: float, tol: float, steps: int, jobs: int
) -> tuple[_Scores, set[str]]:
    """Solve in closed form where the surrogate is affine on a trial's rows, by the dual elsewhere.

    The choice is made trial by trial, so that a score does not depend on which trials it is computed with.
    """
    diagonal = np.diag(gram)
    affine = _affine(np.max(diagonal), theta, ball)
    if not affine:
        affine = _affine(np.max(np.where(counts > 0.0, diagonal, 0.0), axis=1), theta, ball)
    if np.all(affine):
        return _batch_affine(gram, y, counts, ball, jobs), {"affine"}
    if not np.any(affine):
        return _batch_ball(gram, y, theta, counts, ball, tol, steps, jobs), {"dual"}
    scores = _empty(len(counts))
    exact = _batch_affine(gram, y, counts[affine], ball, jobs)
    solved = _batch_ball(gram, y, theta, counts[~affine], ball, tol, steps, jobs)
    for column, first, second in zip(scores, exact, solved, strict=True):
        column[affine], column[~affine] = first, second
    return scores, {"affine", "dual"}


def _batch_affine(gram: FloatArray, y: FloatArray, counts: FloatArray, ball: float, jobs: int) -> _Scores:
    order = np.argsort(-y, kind="stable")
    sorted_gram = np.ascontiguousarray(gram.take(order, axis=0).take(order, axis=1))
    risk, slack = np.empty(len(counts)), np.empty(len(counts))
    arguments = (sorted_gram, order, int(np.sum(y > 0)), np.ascontiguousarray(counts), ball)
    _in_blocks(affine_block, arguments, (risk, slack), len(counts), jobs)
    return risk, risk + slack, risk - slack, np.zeros(len(counts), np.int64)


def _batch_ball(
    gram: FloatArray, y: FloatArray, theta: float, counts: FloatArray, ball: float, tol: float, steps: int, jobs: int
) -> _Scores:
    scores = _empty(len(counts))
    arguments = (gram, y, theta, np.ascontiguousarray(counts), ball, tol, steps, np.empty((0, 4, 0)))
    _in_blocks(ball_block, arguments, scores, len(counts), jobs)
    risk, objective, lower, _ = scores
    for t in np.flatnonzero(is_short(objective - lower, objective, tol)):
        helped = _try_reference(Problem(gram, y, theta, counts[t], None, ball), tol)
        if helped is not None:
            risk[t] = objective[t] = min(objective[t], helped.objective)
            lower[t] = min(max(lower[t], helped.lower_bound), objective[t])
    return scores


def is_affine(problem: Problem) -> bool:
    r"""Check :math:`\kappa\Lambda \le 1 - 2\theta`: the surrogate is then affine on the whole ball."""
    if problem.ball is None:
        return False
    return bool(_affine(np.max(np.diag(problem.gram)[problem.weights > 0.0]), problem.theta, problem.ball))


def _affine(kappa_squared: Any, theta: float, radius: float) -> Any:
    return np.sqrt(np.maximum(kappa_squared, 0.0)) * radius <= 1.0 - 2.0 * theta


def _solve_penalised(problem: Problem, tol: float, max_iter: int) -> Solution:
    assert problem.penalty is not None
    c_h, c_g = problem.penalty
    rows, gram, y, p = _active(problem)
    zero = np.zeros(len(p))
    geo = geometry(problem.theta, c_h, c_g)
    # A little more than asked for: the certificate is computed afresh and must not miss by rounding.
    u, v, _, _, _, _, steps = maximise(gram, y, p, geo, zero, zero, 0.9 * tol, max_iter, np.zeros(len(p), np.int64))
    alpha, beta = np.zeros(len(problem.y)), np.zeros(len(problem.y))
    alpha[rows] = y * u / geo[A1]
    beta[rows] = (v + geo[A2] * alpha[rows]) / geo[B2]
    cu, cw = np.zeros(len(problem.y)), np.zeros(len(problem.y))
    cu[rows], cw[rows] = u / np.sqrt(2.0 * c_h), v / np.sqrt(2.0 * c_g)
    return certify_penalised(problem, alpha, beta, (cu, cw), int(steps), "dual", tol)


def _solve_ball(problem: Problem, tol: float, max_iter: int) -> Solution:
    rows, gram, y, p = _active(problem)
    # No scores: the certificate below is computed from the model on all rows.
    none, models, steps = np.empty(0), np.empty((1, 4, len(p))), np.zeros(1, np.int64)
    ball_block(gram, y, problem.theta, p[None], problem.ball, tol, max_iter, models, 0, 1, none, none, none, steps)
    u, w, alpha, beta = (np.zeros(len(problem.y)) for _ in range(4))
    u[rows], w[rows], alpha[rows], beta[rows] = models[0]
    return certify_ball(problem, u, w, alpha, beta, int(steps[0]), "dual")


def _solve_affine(problem: Problem) -> Solution:
    """h along the mean of y Phi, g against the mean of Phi, both to the edge of the ball; alpha = weight, beta = 0."""
    assert problem.ball is not None
    share = problem.weights / np.sum(problem.weights)
    u, w = share * problem.y, -share
    size_u, size_w = norm(problem.gram, u), norm(problem.gram, w)
    # A mean that vanishes has no direction; what its multiple could gain is below Lambda times that size.
    tiny = 1e-12 * float(np.sqrt(np.max(np.diag(problem.gram))))
    u = problem.ball * u / size_u if size_u > tiny else 0.0 * u
    w = problem.ball * w / size_w if size_w > tiny else 0.0 * w
    return certify_ball(problem, u, w, share, np.zeros(len(share)), 0, "affine")


def _active(problem: Problem) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
    """Restrict the problem to the rows with positive weight."""
    rows = np.flatnonzero(problem.weights > NEGLIGIBLE * np.max(problem.weights))
    if len(rows) == len(problem.y):
        return rows, problem.gram, problem.y, problem.weights
    return (
        rows,
        np.ascontiguousarray(problem.gram[np.ix_(rows, rows)]),
        problem.y[rows],
        problem.weights[rows],
    )


def _in_blocks(
    kernel: Callable[..., None],
    arguments: tuple[Any, ...],
    results: tuple[Any, ...],
    trials: int,
    n_jobs: int,
) -> None:
    """Run a compiled block kernel over all trials, on threads if asked to; each block writes its own entries."""
    workers = min(n_jobs, trials)
    if workers <= 1:
        kernel(*arguments, 0, trials, *results)
        return
    cuts = np.linspace(0, trials, min(8 * workers, trials) + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(kernel, *arguments, int(a), int(b), *results) for a, b in pairwise(cuts)]
        for job in jobs:
            job.result()


def _try_reference(problem: Problem, tol: float) -> Solution | None:
    """Return the reference's solution, or None where it fails."""
    # cvxpy takes most of a second to import, and few need it.
    from exml_sim.rejection.reference import solve_reference

    try:
        return solve_reference(problem, tol)
    except Exception:  # cvxpy's errors are its own, and importing them here would import cvxpy
        return None


def _with_help(problem: Problem, ours: Solution, tol: float) -> Solution:
    """Combine the best of both solvers' bounds: the fast one fails on some ill-conditioned problems."""
    theirs = _try_reference(problem, tol)
    if theirs is None:
        return ours
    model = ours if ours.objective <= theirs.objective else theirs
    bound = ours if ours.lower_bound >= theirs.lower_bound else theirs
    # A matrix that is positive semidefinite up to rounding alone leaves the two as far apart as that, on either side.
    lower = min(bound.lower_bound, model.objective)
    return replace(
        model,
        lower_bound=lower,
        gap=model.objective - lower,
        alpha=bound.alpha,
        beta=bound.beta,
        iterations=ours.iterations + theirs.iterations,
    )


def _check_counts(counts: FloatArray, m: int) -> FloatArray:
    value = np.ascontiguousarray(counts)
    if value.ndim != 2 or value.shape[1] != m or len(value) == 0:
        raise ValueError(f"counts must have shape (trials, {m}) with at least one trial; got {value.shape}")
    tidy = np.empty_like(value)
    if tidy_weights(value, NEGLIGIBLE, SMALLEST_WEIGHT, tidy):
        return tidy
    check_finite(value, "counts")
    if np.any(value < 0.0):
        raise ValueError(f"counts must not be negative; got {float(value.min())!r}")
    empty = ~np.any(value > 0.0, axis=1)
    if np.any(empty):
        raise ValueError(f"counts of a trial must not all be zero; trial {int(np.argmax(empty))} is empty")
    check_size(value)
    raise AssertionError("unreachable: one of the checks above must fail")
