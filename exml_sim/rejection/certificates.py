r"""Certificates: both bounds of a solution from its dual point, rounding included.

A dual feasible (alpha, beta) gives a lower bound, the model it stands for an upper one. Each is moved outwards by a
bound on the rounding of its own evaluation, so that ``lower_bound <= optimum <= objective`` holds as it stands and not
only up to rounding. For the penalised form a priori bounds of the plain sums are tight enough; over the ball, where a
slack constraint asks for functions that almost vanish, products are evaluated in twice the working precision.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled
from exml_sim.rejection.linalg import exact_product, magnitudes, two_products

EPS = 2.220446049250313e-16


@compiled
def penalised_bounds(gram, y, p, theta, c_h, c_g, alpha, beta):
    """Model, weighted loss, objective and lower bound of a feasible dual point; alpha and beta are clipped in place."""
    n = len(y)
    b = 1.0 / (1.0 - 2.0 * theta)
    u, w = np.empty(n), np.empty(n)
    used = 0
    for i in range(n):
        alpha[i] = min(max(alpha[i], 0.0), p[i])
        beta[i] = min(max(beta[i], 0.0), p[i] - alpha[i])
        u[i] = y[i] * alpha[i] / (4.0 * c_h)
        w[i] = (theta * b * beta[i] - 0.5 * alpha[i]) / (2.0 * c_g)
        used += (u[i] != 0.0) or (w[i] != 0.0)
    h, g = two_products(gram, u, w)
    size_h, size_g = magnitudes(gram, u, w)
    # Rounding of one entry of gram @ u, the conversion of alpha to u included; the slopes of the loss in h and g.
    unit = (used + 4) * EPS
    slope_g = max(0.5, theta * b)
    loss, loss_error, squares, squares_error, linear = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        error_h, error_g = unit * size_h[i], unit * size_g[i]
        piece = max(1.0 + 0.5 * (g[i] - y[i] * h[i]), theta * (1.0 - b * g[i]), 0.0)
        loss += p[i] * piece
        loss_error += p[i] * (0.5 * error_h + slope_g * error_g)
        squares += c_h * u[i] * h[i] + c_g * w[i] * g[i]
        squares_error += c_h * abs(u[i]) * error_h + c_g * abs(w[i]) * error_g
        linear += alpha[i] + theta * beta[i]
    final = (n + 4) * EPS
    objective = loss + squares + loss_error + squares_error + final * (loss + abs(squares))
    lower = linear - squares - squares_error - final * (linear + abs(squares))
    return u, w, h, g, loss, objective, min(lower, objective)


@compiled
def ball_model(gram, y, p, theta, radius, cu, cw):
    """Functions scaled into the balls if need be, their values, and the mean loss; p sums to one."""
    b = 1.0 / (1.0 - 2.0 * theta)
    h, square_h = exact_product(gram, cu)
    g, square_g = exact_product(gram, cw)
    shrink_h = min(1.0, radius / max(np.sqrt(max(square_h, 0.0)), 1e-300))
    shrink_g = min(1.0, radius / max(np.sqrt(max(square_g, 0.0)), 1e-300))
    cu, cw, h, g = shrink_h * cu, shrink_g * cw, shrink_h * h, shrink_g * g
    loss, size = 0.0, 0.0
    for i in range(len(y)):
        loss += p[i] * max(1.0 + 0.5 * (g[i] - y[i] * h[i]), theta * (1.0 - b * g[i]), 0.0)
        size += p[i] * (1.0 + abs(h[i]) + (1.0 + b) * abs(g[i]))
    return cu, cw, h, g, loss + 4.0 * EPS * size


@compiled
def ball_lower(gram, y, p, theta, radius, alpha, beta):
    """Lower bound over the ball from a dual point, which is clipped in place; p sums to one."""
    n = len(y)
    b = 1.0 / (1.0 - 2.0 * theta)
    pull_h, pull_g = np.empty(n), np.empty(n)
    linear, size = 0.0, 0.0
    for i in range(n):
        alpha[i] = min(max(alpha[i], 0.0), p[i])
        beta[i] = min(max(beta[i], 0.0), p[i] - alpha[i])
        size += (alpha[i] + theta * b * beta[i]) * np.sqrt(gram[i, i])  # the pulls carry rounding of this size
        pull_h[i] = 0.5 * alpha[i] * y[i]
        pull_g[i] = theta * b * beta[i] - 0.5 * alpha[i]
        linear += alpha[i] + theta * beta[i]
    _, square_h = exact_product(gram, pull_h)
    _, square_g = exact_product(gram, pull_g)
    reach = radius * (np.sqrt(max(square_h, 0.0)) + np.sqrt(max(square_g, 0.0)))
    return max(linear - reach - (n + 4) * EPS * (linear + reach) - 4.0 * EPS * radius * size, 0.0)
