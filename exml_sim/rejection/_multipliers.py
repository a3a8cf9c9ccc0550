r"""Minimise the empirical risk over the ball by a search over the multipliers, where :mod:`.ball` falls short.

By Lagrange duality the value is the maximum over :math:`C_h, C_g \ge 0` of the concave function

.. math:: \Phi(C) = J(C) - \Lambda^2 (C_h + C_g), \qquad \partial\Phi/\partial C_h = |h_C|^2 - \Lambda^2,

where J(C) is the value of the penalised problem and :math:`(h_C, g_C)` its solution. So the solver of
:mod:`exml_sim.rejection._dual` is called for a few C, each from the last solution, and Newton's method finds the C at
which both norms are Lambda. A ball that does not bind would drive its C to zero and the dual out of the range of
floating point; from a floor on, its penalty is centred at the last solution instead (a proximal step of the primal),
which makes the multiplier vanish at a C of ordinary size.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_inline
from exml_sim.rejection._dual import maximise
from exml_sim.rejection._linalg import cholesky_solve, copy_two, padded
from exml_sim.rejection._newton import directions, factor_free
from exml_sim.rejection._proximal import proximal, refresh
from exml_sim.rejection._triangle import A1, A2, B2, geometry

FLOOR = 1e-5  # a ball whose C Lambda^2 falls below this is treated as not binding
SLACK = 1e-6  # C over the mean of K(x, x) in its proximal steps: below it the rounding of h shows in the loss
ROUNDS = 100
COLD = 10.0  # changes of log C beyond which the last solution is no help
WARM = 50.0  # proximal parameter of a warm start over the size of the change
JITTER = 1e-9


@compiled
def mean_diagonal(gram, p):
    """Compute the weighted mean of K(x, x)."""
    kappa = 0.0
    for i in range(len(p)):
        kappa += p[i] * gram[i, i]
    return kappa


@compiled
def first_multiplier(kappa, radius):
    """Choose the first multiplier: at most kappa / (4 Lambda); far from the affine regime the value limits it."""
    return min(0.25 * np.sqrt(max(kappa, 1e-12)) / radius, 0.05 / (radius * radius))


@compiled
def sensitivity(gram, y, geo, face, ku, kv, uku, vkv):
    r"""Derivative of (log |h|^2, log |g|^2) by (-log C_h, -log C_g) while no row changes its face.

    With D the free directions, S = D' K D and k_h = D'(Ku, 0), k_g = D'(0, Kv):
    J = 2 (I - [k_h, k_g]' S^{-1} [k_h, k_g] / diag(u'Ku, v'Kv)).
    """
    jacobian = np.array([[2.0, 0.0], [0.0, 2.0]])
    at, e1, e2 = directions(face, y, geo)
    free = len(at)
    if free == 0:
        return jacobian
    sound, system = factor_free(gram, at, e1, e2, JITTER, np.empty((0, 0)))
    if not sound:
        return jacobian
    size = padded(free)
    kh, kg = np.zeros(size), np.zeros(size)
    for k in range(free):
        kh[k], kg[k] = e1[k] * ku[at[k]], e2[k] * kv[at[k]]
    xh, xg = kh.copy(), kg.copy()
    cholesky_solve(system, xh, size)
    cholesky_solve(system, xg, size)
    for k in range(free):
        jacobian[0, 0] -= 2.0 * kh[k] * xh[k] / uku
        jacobian[0, 1] -= 2.0 * kh[k] * xg[k] / uku
        jacobian[1, 0] -= 2.0 * kg[k] * xh[k] / vkv
        jacobian[1, 1] -= 2.0 * kg[k] * xg[k] / vkv
    return jacobian


@compiled
def ball_bounds(y, p, theta, radius, alpha, beta, h, g, norm_h, norm_g, pull_h, pull_g):
    """Upper bound from (h, g) scaled into the balls, lower bound from (alpha, beta); also the two scales.

    `pull_h`, `pull_g` are the norms of the dual's two vectors.
    """
    shrink_h = 1.0 if norm_h <= radius else radius / norm_h
    shrink_g = 1.0 if norm_g <= radius else radius / norm_g
    b = 1.0 / (1.0 - 2.0 * theta)
    upper = 0.0
    lower = -radius * (pull_h + pull_g)
    for i in range(len(y)):
        rejector = shrink_g * g[i]
        upper += p[i] * max(1.0 + 0.5 * (rejector - y[i] * shrink_h * h[i]), theta * (1.0 - b * rejector), 0.0)
        lower += alpha[i] + theta * beta[i]
    return upper, lower, shrink_h, shrink_g


@compiled_inline
def search_multipliers(gram, y, p, theta, radius, tol, limit):
    """Solve the ball problem for weights that are positive and sum to one, whether or not the balls bind.

    Returns
    -------
    cu, cw, alpha, beta, upper, lower, steps
        Coefficients of h and g, the dual point, the two bounds up to rounding, Newton steps in all. What is published
        is computed afresh in :mod:`exml_sim.rejection._certificates`.
    """
    n = len(y)
    squared = radius * radius
    kappa = mean_diagonal(gram, p)
    first = first_multiplier(kappa, radius)
    here = np.array([first, first])  # the accepted C
    c = here.copy()  # the one being tried
    slack = np.zeros(2, np.bool_)
    centre, values = np.zeros((2, n)), np.zeros((2, n))  # proximal centre of a slack ball: coefficients, values at rows
    u, v, ku, kv = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    alpha, beta = np.zeros(n), np.zeros(n)
    face = np.zeros(n, np.int64)
    # The loss is never negative: alpha = beta = 0 gives the lower bound 0.
    best_upper, best_lower = np.inf, 0.0
    best_cu, best_cw, best_alpha, best_beta = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    floor = np.array([FLOOR, FLOOR])
    steps, halvings = 0, 0
    merit, size = -np.inf, np.inf
    move, excess_here = np.zeros(2), np.zeros(2)
    low, high = np.full(2, -np.inf), np.full(2, np.inf)  # brackets of log C: the norm is too large, too small
    inner = 1e-3
    for turn in range(ROUNDS):
        geo = geometry(theta, c[0], c[1])
        root_h, root_g = np.sqrt(2.0 * c[0]), np.sqrt(2.0 * c[1])
        ku0, kv0 = root_h * values[0], root_g * values[1]
        scale = 1.0 / (n * np.sqrt(c[0] * c[1]))
        far = max(abs(move[0]), abs(move[1]), 1e-3)
        if turn == 0 or far > COLD:
            u, v, ku, kv, _, value, more = maximise(gram, y, p, geo, ku0, kv0, inner, limit, face)
        else:
            for i in range(n):
                u[i] = y[i] * geo[A1] * alpha[i]
                v[i] = geo[B2] * beta[i] - geo[A2] * alpha[i]
            warm = max(WARM / far, WARM)
            refresh(gram, u, v, ku, kv, ku0, kv0)
            _, value, more, _ = proximal(
                gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, warm * scale, inner, limit - steps
            )
            refresh(gram, u, v, ku, kv, ku0, kv0)
        steps += more
        uku, vkv = 0.0, 0.0
        for i in range(n):
            alpha[i] = min(max(y[i] * u[i] / geo[A1], 0.0), p[i])
            beta[i] = min(max((v[i] + geo[A2] * alpha[i]) / geo[B2], 0.0), p[i] - alpha[i])
            uku += u[i] * (ku[i] - ku0[i])
            vkv += v[i] * (kv[i] - kv0[i])
        uku, vkv = max(uku, 0.0), max(vkv, 0.0)
        cu, cw = centre[0] + u / root_h, centre[1] + v / root_g
        h, g = ku / root_h, kv / root_g
        norm_h, norm_g = np.sqrt(max(np.sum(cu * h), 0.0)), np.sqrt(max(np.sum(cw * g), 0.0))
        upper, lower, shrink_h, shrink_g = ball_bounds(
            y,
            p,
            theta,
            radius,
            alpha,
            beta,
            h,
            g,
            norm_h,
            norm_g,
            root_h * np.sqrt(uku),
            root_g * np.sqrt(vkv),
        )
        if upper < best_upper:
            best_upper = upper
            best_cu, best_cw = shrink_h * cu, shrink_g * cw
        if lower > best_lower:
            best_lower = lower
            best_alpha, best_beta = alpha.copy(), beta.copy()
        if best_upper - best_lower <= tol * max(1.0, abs(best_upper)) or steps >= limit:
            break
        excess = np.array([2.0 * np.log(max(norm_h, 1e-150) / radius), 2.0 * np.log(max(norm_g, 1e-150) / radius)])
        for k in range(2):
            if slack[k] and excess[k] > 1e-9:
                # It binds after all, with a multiplier below the floor: back to the search for it, from the floor on.
                slack[k] = False
                floor[k] *= 1e-3
                for i in range(n):
                    centre[k, i], values[k, i] = 0.0, 0.0
                c[k] = min(c[k], FLOOR / squared)
                low[k], high[k] = -np.inf, np.inf
                excess[k] = -0.5
            elif slack[k] or (c[k] * squared <= floor[k] and excess[k] < 0.0):
                # Shrinking C lengthens the proximal steps as the rounding that a small C brings becomes harmless.
                c[k] = max(0.5 * c[k], 1e-3 * SLACK * kappa) if slack[k] else max(c[k], SLACK * kappa)
                slack[k] = True
                excess[k] = 0.0
                if k == 0:
                    copy_two(cu, h, centre[0], values[0])
                else:
                    copy_two(cw, g, centre[1], values[1])
        for k in range(2):
            # |h_C| falls in C_h, so with the other ball slack this is a root of one monotone function: bracket it.
            # (The other's centre moves the root a little: a bracket that has become narrow has outlived its use.)
            if not slack[1 - k] or high[k] - low[k] < 0.02:
                low[k], high[k] = -np.inf, np.inf
            elif excess[k] > 0.0:
                low[k] = max(low[k], np.log(c[k]))
            elif excess[k] < 0.0:
                high[k] = min(high[k], np.log(c[k]))
        now = value - squared * (c[0] + c[1])
        now_size = max(abs(excess[0]), abs(excess[1]))
        if slack[0] or slack[1] or now > merit or now_size < 0.7 * size or halvings > 6:
            copy_two(c, excess, here, excess_here)
            merit, size, halvings = now, now_size, 0
            jacobian = sensitivity(gram, y, geo, face, ku - ku0, kv - kv0, max(uku, 1e-300), max(vkv, 1e-300))
            for k in range(2):
                if slack[k]:
                    jacobian[k, 1 - k] = jacobian[1 - k, k] = 0.0
                    jacobian[k, k] = 1.0
            move = newton_move(jacobian, excess)
            for k in range(2):
                move[k] = keep_inside(np.log(c[k]), move[k], low[k], high[k])
        else:
            # Rows changed face on the way, and the concave Phi fell: shorten, at last to the step that never fails,
            # C |h| / Lambda, which maximises a minorant of the dual.
            halvings += 1
            for k in range(2):
                move[k] = 0.4 * move[k] if halvings < 6 else 0.5 * excess_here[k]
        for k in range(2):
            c[k] = here[k] * np.exp(move[k])
        inner = min(max(1e-2 * size * size * min(c[0], c[1]) * squared, 1e-13), 1e-3)
    return best_cu, best_cw, best_alpha, best_beta, best_upper, best_lower, steps


@compiled
def newton_move(jacobian, excess):
    """Change of log C that should bring both norms to the radius.

    The local derivative knows nothing of rows that will change their face: far from the goal the diagonal is kept
    near 1, its value over long distances, and away from zero always, because where the faces alone fix a norm, C has
    to move until a row leaves its face.
    """
    move = np.empty(2)
    for k in range(2):
        move[k] = excess[k] / max(jacobian[k, k], min(1.0, abs(excess[k])), 0.02)
    near = max(abs(excess[0]), abs(excess[1])) < 0.5
    det = jacobian[0, 0] * jacobian[1, 1] - jacobian[0, 1] * jacobian[1, 0]
    if near and det > 1e-6 * jacobian[0, 0] * jacobian[1, 1] and min(jacobian[0, 0], jacobian[1, 1]) > 0.0:
        move[0] = (jacobian[1, 1] * excess[0] - jacobian[0, 1] * excess[1]) / det
        move[1] = (jacobian[0, 0] * excess[1] - jacobian[1, 0] * excess[0]) / det
        for k in range(2):
            # A step cut short takes the other one's share of the coupling with it.
            if abs(move[k]) > 3.0 and abs(move[k]) >= abs(move[1 - k]):
                move[k] = np.sign(move[k]) * 3.0
                move[1 - k] = (excess[1 - k] - jacobian[1 - k, k] * move[k]) / jacobian[1 - k, 1 - k]
    for k in range(2):
        move[k] = min(max(move[k], -3.0), 3.0)
    return move


@compiled
def keep_inside(start, move, low, high):
    """Move a step that would leave the bracket to its middle: the norm may be flat here and steep further on."""
    if low >= high or low < start + move < high or np.isinf(low) or np.isinf(high):
        return move
    return 0.5 * (low + high) - start
