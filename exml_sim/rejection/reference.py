"""Solve the problems with cvxpy: an independent reference for validating the fast solver."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim.rejection.problem import Problem, Solution, certify_ball, certify_penalised


def feature_map(gram: FloatArray) -> FloatArray:
    """Compute F with F F' = gram up to rounding, of the numerical rank: the rows in an orthonormal feature space."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > 1e-14 * max(float(eigenvalues[-1]), 1e-300)
    if not np.any(kept):
        return np.zeros((len(gram), 1))
    factor: FloatArray = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return factor


def solve_reference(problem: Problem, tol: float = 1e-8) -> Solution:
    """Solve with cvxpy and Clarabel in the feature space of the rows; bounds as certified as for the fast solver."""
    rows = problem.weights > 0.0
    weights = problem.weights[rows]
    if problem.ball is not None:
        weights = weights / np.sum(weights)
    features = feature_map(problem.gram[np.ix_(rows, rows)])
    y = problem.y[rows]
    a, b = cp.Variable(features.shape[1]), cp.Variable(features.shape[1])
    loss = cp.Variable(len(y))
    h, g = features @ a, features @ b
    pieces = [
        loss >= 1.0 + 0.5 * (g - cp.multiply(y, h)),
        loss >= problem.theta * (1.0 - g / (1.0 - 2.0 * problem.theta)),
        loss >= 0.0,
    ]
    risk = weights @ loss
    if problem.penalty is not None:
        c_h, c_g = problem.penalty
        program = cp.Problem(cp.Minimize(risk + c_h * cp.sum_squares(a) + c_g * cp.sum_squares(b)), pieces)
    else:
        balls = [cp.norm(a, 2) <= problem.ball, cp.norm(b, 2) <= problem.ball]
        program = cp.Problem(cp.Minimize(risk), pieces + balls)
    accuracy = min(1e-9, 0.01 * tol)
    with warnings.catch_warnings():
        # An inaccurate end shows in the certified gap, which is all that is believed.
        warnings.simplefilter("ignore", UserWarning)
        program.solve(solver=cp.CLARABEL, tol_gap_abs=accuracy, tol_gap_rel=accuracy, tol_feas=accuracy, max_iter=500)
    if a.value is None:
        raise RuntimeError(f"the reference solver ended without a point: {program.status}")
    alpha, beta, u, w = (np.zeros(len(rows)) for _ in range(4))
    alpha[rows], beta[rows] = pieces[0].dual_value, pieces[1].dual_value
    steps = int(program.solver_stats.num_iters or 0)
    if problem.penalty is not None:
        return certify_penalised(problem, alpha, beta, None, steps, "cvxpy", tol)
    # h = F a is a combination of the rows' features: its coefficients are the least squares solution of F' u = a.
    u[rows], w[rows] = (np.linalg.lstsq(features.T, x.value, rcond=None)[0] for x in (a, b))
    return certify_ball(problem, u, w, alpha, beta, steps, "cvxpy")
