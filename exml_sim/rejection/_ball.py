r"""Minimise the empirical risk over the norm ball, the theory's model class: min mean loss with |h|, |g| <= Lambda.

With :math:`a_h = |\tfrac12\sum_i \alpha_i y_i \Phi_i|` and :math:`a_g = |\sum_i (\theta b\beta_i - \alpha_i/2)\Phi_i|`
the dual is concave in the dual point and the multipliers C of the two constraints together:

.. math:: \max_{\alpha, \beta, C}\; \sum_i (\alpha_i + \theta\beta_i) - \frac{a_h^2}{4 C_h} - \frac{a_g^2}{4 C_g}
    - \Lambda^2 (C_h + C_g).

For fixed C this is the penalised problem. So its proximal steps (:mod:`exml_sim.rejection._proximal`) take turns with
steps of C: towards :math:`C = a/(2\Lambda)`, the maximum for a fixed dual point, lengthened for the answer of the dual
point as the turns before have shown it; near the goal Newton's method on log C, with the derivative on the present
faces. Nothing is solved to the end for a C that is not the last. What this leaves short, above all a ball that does not
bind, whose C would have to vanish, is left to the search of :mod:`exml_sim.rejection._multipliers`.

The certificate needs neither step: any h, g scaled into the balls gives an upper bound, any feasible (alpha, beta) the
lower bound :math:`\sum_i (\alpha_i + \theta\beta_i) - \Lambda (a_h + a_g)`.

In the affine regime :math:`\kappa\Lambda \le 1 - 2\theta` the loss is :math:`1 + (g - yh)/2` on the whole ball and the
value is :math:`1 - (\Lambda/2)(|\mathrm{mean}\, y\Phi| + |\mathrm{mean}\,\Phi|)`: no solver at all.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_inline
from exml_sim.rejection._dual import bout
from exml_sim.rejection._linalg import add_rows, copy_two
from exml_sim.rejection._multipliers import (
    FLOOR,
    ball_bounds,
    first_multiplier,
    mean_diagonal,
    search_multipliers,
    sensitivity,
)
from exml_sim.rejection._proximal import (
    INNER_ACCURACY,
    INNER_LIMIT,
    SIGMA_GROWTH,
    WORK,
    copy_point,
    measure,
    proximal_step,
    refresh,
    settle,
)
from exml_sim.rejection._triangle import A1, A2, B2, geometry

EITHER, TOGETHER, SEARCH = range(3)  # ways: multipliers with the dual point, then a search; one of these only
SWEEPS = 10  # row-by-row sweeps before the first turn
TURNS = 80
PATIENCE = 20  # turns without a better gap
NEAR = 0.1  # log of a squared norm over Lambda^2 from which on the derivative on the present faces is trusted
SETTLED = 0.03  # gap of the penalised problem over what the excess leaves: above it the derivative says nothing
WORTH_KEEPING = 0.1  # gap over what C is worth: from a wider one even a step that failed leads on faster than back
SIGMA_FIRST = 10.0  # first proximal parameter, in units of mean weight / C; less where sweeps left a wide gap
SIGMA_MOVED = 1000.0  # and the largest one after a change of log C by one or more; it grows as the changes shrink
SIGMA_MOST = 1e10  # a shorter step would take many turns along the flattest free directions of K
SIGMA_SAFE = 1e8  # rounding asks for no shorter one
ROUNDING = 10.0  # gap over what the excess leaves from which on C is not what is wrong
RESPONSE = 1.45  # d log|h|^2 / d log(1/C) over long distances; 2 would be a dual point that stays where it is
RESPONSE_LEAST = 0.5  # and the least that is believed of it: faces yet to change would make longer steps miss


@compiled_inline
def minimise_over_ball(gram, y, p, theta, radius, tol, limit, ways):
    """Solve the ball problem for weights that are positive and sum to one.

    `ways` is EITHER; or TOGETHER or SEARCH, for those who compare the two.

    Returns
    -------
    cu, cw, alpha, beta, upper, lower, steps
        Coefficients of h and g, the dual point, the two bounds up to rounding, Newton steps in all. What is published
        is computed afresh in :mod:`exml_sim.rejection._certificates`.
    """
    cu, cw, alpha, beta = np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)
    upper, lower, steps = np.inf, -np.inf, 0
    if ways != SEARCH:
        cu, cw, alpha, beta, upper, lower, steps = ascend(gram, y, p, theta, radius, tol, limit)
    if ways == SEARCH or (ways == EITHER and upper - lower > tol * max(1.0, abs(upper)) and steps < limit):
        cu2, cw2, alpha2, beta2, upper2, lower2, more = search_multipliers(
            gram, y, p, theta, radius, tol, limit - steps
        )
        if upper2 < upper:
            cu, cw, upper = cu2, cw2, upper2
        if lower2 > lower:
            alpha, beta, lower = alpha2, beta2, lower2
        steps += more
    return cu, cw, alpha, beta, upper, lower, steps


@compiled
def ascend(gram, y, p, theta, radius, tol, limit):
    """Improve dual point and multipliers together; return what :func:`minimise_over_ball` does.

    Proximal steps and steps of C alternate. A proximal step that did not come to an end and lowered the dual value is
    taken back, and turns go on.
    """
    n = len(y)
    first = first_multiplier(mean_diagonal(gram, p), radius)
    c = np.array([first, first])
    zero, u, v, ku, kv = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    face = np.zeros(n, np.int64)
    geo = geometry(theta, c[0], c[1])
    gap, _, _, _ = bout(gram, y, p, geo, u, v, ku, kv, zero, zero, face, np.int64(SWEEPS), 0.0)
    # Sweeps get nowhere at a small C: from such a point a long step would throw rows from corner to corner.
    sound = min(1.0, 2.0 * first * radius * radius / max(gap, 1e-300))
    sigma = sound * SIGMA_FIRST / (n * first)
    squared = radius * radius
    alpha, beta, best_alpha, best_beta = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    best_cu, best_cw = np.zeros(n), np.zeros(n)
    # The loss is never negative: alpha = beta = 0 gives the lower bound 0.
    best_upper, best_lower, best_gap = np.inf, 0.0, np.inf
    system, work = np.empty((0, 0)), np.empty((WORK, n))
    old_u, old_v, old_ku, old_kv = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    old_face = face.copy()
    cap = SIGMA_MOST
    response, move, excess_before = np.full(2, RESPONSE), np.zeros(2), np.zeros(2)
    steps, waited, inner, size_before, gap_before = 0, 0, 0, np.inf, np.inf
    for _ in range(TURNS):
        root_h, root_g = np.sqrt(2.0 * c[0]), np.sqrt(2.0 * c[1])
        uku, vkv = 0.0, 0.0
        for i in range(n):
            alpha[i] = min(max(y[i] * u[i] / geo[A1], 0.0), p[i])
            beta[i] = min(max((v[i] + geo[A2] * alpha[i]) / geo[B2], 0.0), p[i] - alpha[i])
            uku += u[i] * ku[i]
            vkv += v[i] * kv[i]
        size_u, size_v = np.sqrt(max(uku, 1e-300)), np.sqrt(max(vkv, 1e-300))
        h, g, norm_h, norm_g = ku / root_h, kv / root_g, size_u / root_h, size_v / root_g
        upper, lower, shrink_h, shrink_g = ball_bounds(
            y, p, theta, radius, alpha, beta, h, g, norm_h, norm_g, root_h * size_u, root_g * size_v
        )
        if upper < best_upper:
            best_upper = upper
            best_cu, best_cw = shrink_h * u / root_h, shrink_g * v / root_g
        if lower > best_lower:
            best_lower = lower
            best_alpha, best_beta = alpha.copy(), beta.copy()
        waited = 0 if best_upper - best_lower < 0.9 * best_gap else waited + 1
        best_gap = min(best_gap, best_upper - best_lower)
        if best_gap <= tol * max(1.0, abs(best_upper)) or steps >= limit or waited > PATIENCE:
            break
        excess = np.array([2.0 * np.log(norm_h / radius), 2.0 * np.log(norm_g / radius)])
        size = max(abs(excess[0]), abs(excess[1]))
        learn_response(response, excess_before, excess, move)
        gap, _ = measure(y, p, geo, u, v, ku, kv, zero, zero)
        reach = squared * (c[0] + c[1])
        if gap > reach:
            move = np.zeros(2)  # this dual point says too little about its C
        elif size < NEAR and (inner <= 1 or (gap < SETTLED * reach * size and size < 0.5 * size_before)):
            # One Newton step was enough, so faces stay, or the last turn came close to what was foretold.
            jacobian = sensitivity(gram, y, geo, face, ku, kv, size_u * size_u, size_v * size_v)
            move = joint_move(jacobian, excess)
        else:
            # Far off, or faces changed and Newton's step did not halve the excess.
            move = np.array([excess[0] / response[0], excess[1] / response[1]])
        size_before = size if size < NEAR else np.inf
        excess_before = excess
        for k in range(2):
            move[k] = min(max(move[k], -3.0), 3.0)
            c[k] *= np.exp(move[k])
        if min(c[0], c[1]) * squared < FLOOR:
            break
        # The dual point itself stays: its coordinates change with C, and K times them alike.
        geo = geometry(theta, c[0], c[1])
        scale_h, scale_g = root_h / np.sqrt(2.0 * c[0]), root_g / np.sqrt(2.0 * c[1])
        for i in range(n):
            u[i] *= scale_h
            ku[i] *= scale_h
            v[i] *= scale_g
            kv[i] *= scale_g
        copy_point(u, v, ku, kv, face, old_u, old_v, old_ku, old_kv, old_face)
        _, value = measure(y, p, geo, u, v, ku, kv, zero, zero)
        if inner <= 1 and gap > max(gap_before, ROUNDING * reach * size):
            # The faces stay, C is all but right, and yet the gap rises: rounding, multiplied by sigma, has taken over.
            cap = max(0.1 * sigma, SIGMA_SAFE)
            sigma = min(sigma, cap)
        gap_before = gap
        far = max(abs(move[0]), abs(move[1]), 1e-3)
        sigma = min(sigma, max(SIGMA_MOVED / far, SIGMA_MOVED) / (n * np.sqrt(c[0] * c[1])), cap)
        inner, sound, system = proximal_step(
            gram, y, p, geo, u, v, ku, kv, face, sigma, INNER_ACCURACY, min(INNER_LIMIT, limit), work, system
        )
        steps += inner
        if not sound:
            sigma *= 0.1
            cap = sigma
            continue
        settle(y, p, geo, face, work[0], work[1], u, v, work[4], work[5])
        copy_two(work[2], work[3], ku, kv)
        if best_gap < 1e-4:
            refresh(gram, u, v, ku, kv, zero, zero)
        else:
            add_rows(gram, work[4], work[5], ku, kv)
        if inner >= INNER_LIMIT and gap < WORTH_KEEPING * reach:
            # A solved step never lowers the dual value; this one was too bold, and what it left is far off.
            _, now = measure(y, p, geo, u, v, ku, kv, zero, zero)
            if now < value:
                copy_point(old_u, old_v, old_ku, old_kv, old_face, u, v, ku, kv, face)
        if inner <= 3:
            sigma = min(sigma * SIGMA_GROWTH, cap)
        elif inner <= 12:
            sigma = min(sigma * 3.0, cap)
        elif inner >= INNER_LIMIT:
            sigma *= 0.05
    return best_cu, best_cw, best_alpha, best_beta, best_upper, best_lower, steps


@compiled
def learn_response(response, before, excess, move):
    """Average the response so far and that to the last change of log C geometrically, one for each norm."""
    for k in range(2):
        if abs(move[k]) > 1e-7:
            had = (before[k] - excess[k]) / move[k]
            response[k] = np.sqrt(response[k] * min(max(had, RESPONSE_LEAST), RESPONSE))


@compiled
def joint_move(jacobian, excess):
    """Compute Newton's change of log C for both norms, at most 1/2; separately where the derivative is singular."""
    move = np.empty(2)
    det = jacobian[0, 0] * jacobian[1, 1] - jacobian[0, 1] * jacobian[1, 0]
    if det > 1e-6 * jacobian[0, 0] * jacobian[1, 1] and jacobian[0, 0] > 0.0:
        move[0] = (jacobian[1, 1] * excess[0] - jacobian[0, 1] * excess[1]) / det
        move[1] = (jacobian[0, 0] * excess[1] - jacobian[1, 0] * excess[0]) / det
    else:
        for k in range(2):
            move[k] = excess[k] / max(jacobian[k, k], 0.2)
    longest = max(abs(move[0]), abs(move[1]))
    if longest > 0.5:
        move[0], move[1] = move[0] * (0.5 / longest), move[1] * (0.5 / longest)
    return move
