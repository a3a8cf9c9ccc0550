r"""Certify both bounds of a solution from its dual point, rounding included.

A dual feasible (alpha, beta) gives a lower bound, the model it stands for an upper one. Each is moved outwards by a
bound on the rounding of its own evaluation, so that ``lower_bound <= optimum <= objective`` holds as it stands and not
only up to rounding. For the penalised form a priori bounds of the plain sums are tight enough; over the ball, where a
slack constraint asks for functions that almost vanish, products are evaluated in twice the working precision.

The lower bound needs a matrix that is positive semidefinite as it is given. The rounding of its entries is not counted:
X @ X.T in floats can have eigenvalues of about -1e-15, and with a ball of 1e6 such a lower bound was 4e-9 too large.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled
from exml_sim.rejection._linalg import exact_product, magnitudes, two_products

EPS = 2.220446049250313e-16


@compiled
def penalised_bounds(gram, y, p, theta, c_h, c_g, alpha, beta, cu, cw, tol):
    """Compute model, loss, objective and lower bound of a feasible dual point; alpha and beta are clipped in place.

    Plain sums and their a priori bounds first, for the model that (alpha, beta) stands for. Where that leaves the gap
    above `tol` (a theta near 1/2 multiplies the rounding of beta and of g by b), the bounds are computed anew in twice
    the working precision, the upper one for the solver's own coefficients `cu`, `cw`.
    """
    n = len(y)
    u, w = np.empty(n), np.empty(n)
    used = model_of(y, p, theta, c_h, c_g, alpha, beta, u, w)
    h, g = two_products(gram, u, w)
    error_h, error_g = magnitudes(gram, u, w)
    # Rounding of one entry of gram @ u, the conversion of alpha to u included; the slopes of the loss in h and g.
    unit = (used + 4) * EPS
    slope_g = max(0.5, theta / (1.0 - 2.0 * theta))
    final = (n + 4) * EPS
    error, squares, squares_error, linear = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        error += unit * p[i] * (0.5 * error_h[i] + slope_g * error_g[i])
        squares += c_h * u[i] * h[i] + c_g * w[i] * g[i]
        squares_error += unit * (c_h * abs(u[i]) * error_h[i] + c_g * abs(w[i]) * error_g[i])
        linear += alpha[i] + theta * beta[i]
    loss = total_loss(y, p, theta, h, g)
    objective = loss + squares + error + squares_error + final * (loss + abs(squares))
    lower = linear - squares - squares_error - final * (linear + abs(squares))
    if objective - lower > tol * max(1.0, abs(objective)):
        again = exact_upper(gram, y, p, theta, c_h, c_g, cu, cw)
        if again[3] < objective:
            u, w = cu, cw
            h, g, loss, objective = again
        lower = max(lower, exact_lower(gram, y, theta, c_h, c_g, alpha, beta, linear))
    return u, w, h, g, loss, objective, min(lower, objective)


@compiled
def total_loss(y, p, theta, h, g):
    """Sum the weighted surrogate losses."""
    b = 1.0 / (1.0 - 2.0 * theta)
    loss = 0.0
    for i in range(len(y)):
        loss += p[i] * max(1.0 + 0.5 * (g[i] - y[i] * h[i]), theta * (1.0 - b * g[i]), 0.0)
    return loss


@compiled
def model_of(y, p, theta, c_h, c_g, alpha, beta, u, w):
    """Clip the dual point into its triangles and write its coefficients; return how many rows count."""
    b = 1.0 / (1.0 - 2.0 * theta)
    used = 0
    for i in range(len(y)):
        alpha[i] = min(max(alpha[i], 0.0), p[i])
        beta[i] = min(max(beta[i], 0.0), p[i] - alpha[i])
        u[i] = y[i] * alpha[i] / (4.0 * c_h)
        w[i] = (theta * b * beta[i] - 0.5 * alpha[i]) / (2.0 * c_g)
        used += (u[i] != 0.0) or (w[i] != 0.0)
    return used


@compiled
def exact_upper(gram, y, p, theta, c_h, c_g, u, w):
    """Compute values, loss and objective of coefficients, products in twice the working precision."""
    n = len(y)
    h, square_h = exact_product(gram, u)
    g, square_g = exact_product(gram, w)
    size_h, size_g = reach(gram, u), reach(gram, w)
    slope_g = max(0.5, theta / (1.0 - 2.0 * theta))
    tiny = n * n * EPS * EPS  # Dot2 errs by this share of the sum of magnitudes, and by half a unit of the result
    error = 0.0
    for i in range(n):
        root = np.sqrt(max(gram[i, i], 0.0))
        error += p[i] * 0.5 * (4.0 * EPS * (1.0 + abs(h[i])) + tiny * root * size_h)
        error += p[i] * slope_g * (6.0 * EPS * abs(g[i]) + tiny * root * size_g)
    error += c_h * tiny * size_h * size_h + c_g * tiny * size_g * size_g
    loss = total_loss(y, p, theta, h, g)
    squares = c_h * square_h + c_g * square_g
    return h, g, loss, loss + squares + error + (n + 4) * EPS * (loss + abs(squares))


@compiled
def exact_lower(gram, y, theta, c_h, c_g, alpha, beta, linear):
    r"""Compute the dual's value at (alpha, beta), products in twice the working precision.

    The pull on g, v = theta b beta - alpha/2, is rounded to some v + e with :math:`|e_i| \le \epsilon_i`, which changes
    its squared norm by at most :math:`2 \sum_i \epsilon_i |(Kv)_i| + (\sum_i \epsilon_i \sqrt{K_{ii}})^2`.
    """
    n = len(y)
    b = 1.0 / (1.0 - 2.0 * theta)
    pull_h, pull_g, lost = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        pull_h[i] = y[i] * alpha[i]
        pull_g[i] = theta * b * beta[i] - 0.5 * alpha[i]
        lost[i] = 4.0 * EPS * (theta * b * beta[i] + 0.5 * alpha[i])
    _, square_h = exact_product(gram, pull_h)
    g, square_g = exact_product(gram, pull_g)
    tiny = n * n * EPS * EPS
    rest_h = tiny * reach(gram, pull_h) ** 2
    rest_g = tiny * reach(gram, pull_g) ** 2 + reach(gram, lost) ** 2
    for i in range(n):
        rest_g += 2.0 * lost[i] * abs(g[i])
    squares = (max(square_h, 0.0) + rest_h) / (16.0 * c_h) + (max(square_g, 0.0) + rest_g) / (4.0 * c_g)
    return linear - squares - (n + 4) * EPS * (linear + squares)


@compiled
def reach(gram, a):
    """Bound the norm of a sum of vectors by their Gram matrix, as if they were parallel."""
    total = 0.0
    for i in range(len(a)):
        total += abs(a[i]) * np.sqrt(max(gram[i, i], 0.0))
    return total


@compiled
def dot2_error(n):
    """Bound the error of sums by :func:`exact_product` as a share of the sum of magnitudes, besides final rounding."""
    return (n + 2) * (n + 2) * EPS * EPS


@compiled
def scale_into_ball(gram, radius, a):
    """Scale coefficients into the ball if necessary; compute their values and the errors of :func:`ball_model`.

    Return coefficients, values, the share by which the norm may exceed the radius, and tau r.
    """
    values, square = exact_product(gram, a)
    if np.sqrt(max(square, 0.0)) > radius:
        a = radius / np.sqrt(square) * a
        values, square = exact_product(gram, a)
    lost = dot2_error(len(a)) * reach(gram, a)
    largest = np.sqrt(max(square, 0.0) + lost * reach(gram, a))
    return a, values, max((1.0 + 4.0 * EPS) * largest / radius - 1.0, 0.0), lost


@compiled
def ball_model(gram, y, p, theta, radius, cu, cw):
    r"""Scale functions into the balls if necessary; bound the mean loss of the scaled functions; p sums to one.

    Never worse than the zero model.

    Notes
    -----
    Scaling rounds the coefficients, which changes the values :math:`(Ku)_i` by up to
    :math:`\epsilon \sum_j |K_{ij} u_j|`. Therefore values and norms are those of the rounded coefficients u. With
    :math:`r = \sum_j |u_j| \sqrt{K_{jj}}`, the error :math:`\tau` of :func:`dot2_error` and the computed
    :math:`\hat h = Ku`, :math:`\hat s = u^\top K u`, the function :math:`h = u \min(1, \Lambda/|u|)` is in the ball and

    .. math:: |h_i - \hat h_i| \le (\epsilon + \delta_h) |\hat h_i| + \tau r \sqrt{K_{ii}}, \qquad
        \delta_h = \max\Bigl(0, \frac{\sqrt{\hat s + \tau r^2}}{\Lambda} - 1\Bigr),

    and likewise for g. The loss has slope 1/2 in h and :math:`\max(1/2, \theta b)` in g, which gives the bound

    .. math:: \sum_i p_i \hat\ell_i + \sum_i p_i \Bigl(\frac{|h_i - \hat h_i|}{2}
        + \max\bigl(\tfrac12, \theta b\bigr) |g_i - \hat g_i|\Bigr)
        + (n + 4) \epsilon \sum_i p_i (1 + |\hat h_i| + (1 + b) |\hat g_i|).

    The last term counts the rounding of the weights p and of the sum itself.
    """
    b = 1.0 / (1.0 - 2.0 * theta)
    slope_g = max(0.5, theta * b)
    cu, h, excess_h, lost_h = scale_into_ball(gram, radius, cu)
    cw, g, excess_g, lost_g = scale_into_ball(gram, radius, cw)
    loss, size, error = 0.0, 0.0, 0.0
    for i in range(len(y)):
        root = np.sqrt(max(gram[i, i], 0.0))
        loss += p[i] * max(1.0 + 0.5 * (g[i] - y[i] * h[i]), theta * (1.0 - b * g[i]), 0.0)
        size += p[i] * (1.0 + abs(h[i]) + (1.0 + b) * abs(g[i]))
        error += p[i] * 0.5 * ((EPS + excess_h) * abs(h[i]) + lost_h * root)
        error += p[i] * slope_g * ((EPS + excess_g) * abs(g[i]) + lost_g * root)
    loss += error + (len(y) + 4) * EPS * size
    most = 1.0 + (len(y) + 4) * EPS
    if not loss <= most:
        # Rounding has left nothing of the model: h = g = 0 costs 1.
        zero = np.zeros(len(y))
        return zero, zero.copy(), zero.copy(), zero.copy(), most
    return cu, cw, h, g, loss


@compiled
def ball_lower(gram, y, p, theta, radius, alpha, beta):
    """Compute the lower bound over the ball from a dual point, which is clipped in place; p sums to one."""
    n = len(y)
    b = 1.0 / (1.0 - 2.0 * theta)
    pull_h, pull_g = np.empty(n), np.empty(n)
    linear, size = 0.0, 0.0
    for i in range(n):
        alpha[i] = min(max(alpha[i], 0.0), p[i])
        beta[i] = min(max(beta[i], 0.0), p[i] - alpha[i])
        size += (alpha[i] + theta * b * beta[i]) * np.sqrt(
            max(gram[i, i], 0.0)
        )  # the pulls carry rounding of this size
        pull_h[i] = 0.5 * alpha[i] * y[i]
        pull_g[i] = theta * b * beta[i] - 0.5 * alpha[i]
        linear += alpha[i] + theta * beta[i]
    _, square_h = exact_product(gram, pull_h)
    _, square_g = exact_product(gram, pull_g)
    tiny = dot2_error(n)
    norm_h = np.sqrt(max(square_h, 0.0) + tiny * reach(gram, pull_h) ** 2)
    norm_g = np.sqrt(max(square_g, 0.0) + tiny * reach(gram, pull_g) ** 2)
    pulled = radius * (norm_h + norm_g)
    return max(linear - pulled - (n + 4) * EPS * (linear + pulled) - 4.0 * EPS * radius * size, 0.0)
