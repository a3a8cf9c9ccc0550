"""Solve many weightings of the same rows: one Gram matrix, one problem per trial, without the interpreter's lock.

A trial that bought n rows with replacement is a vector of counts over the m rows, so its score costs no more than the
distinct rows it holds. Each trial is solved on its own, from scratch and in a fixed order of operations: results do not
depend on how trials are cut into blocks or spread over threads.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled
from exml_sim.rejection._ball import minimise_over_ball
from exml_sim.rejection._certificates import EPS, ball_lower, ball_model, penalised_bounds
from exml_sim.rejection._dual import maximise
from exml_sim.rejection._linalg import copy_two, dot
from exml_sim.rejection._triangle import A1, A2, B2, geometry


@compiled
def tidy_weights(weights, negligible, smallest, tidy):
    """Copy weights trial by trial with negligible ones set to 0; False if a trial's weights are not usable.

    Usable are finite weights of at least 0 whose largest lies between `smallest` and its reciprocal. One pass that
    stays in the cache: what numpy does in ten passes took half as long as the scores.
    """
    for trial in range(len(weights)):
        row = weights[trial]
        largest, usable = 0.0, True
        for weight in row:
            usable &= weight >= 0.0  # false for NaN
            largest = max(largest, weight)
        if not (usable and smallest <= largest <= 1.0 / smallest):
            return False
        for j in range(len(row)):
            tidy[trial, j] = row[j] if row[j] > negligible * largest else 0.0
    return True


@compiled
def gather(gram, y, counts):
    """Gather Gram matrix, labels and weights of the rows with a positive count; the matrix itself for all rows."""
    rows = np.flatnonzero(counts > 0.0)
    n = len(rows)
    if n == len(counts):
        return gram, y, counts
    small = np.empty((n, n))
    labels, p = np.empty(n), np.empty(n)
    for a in range(n):
        labels[a], p[a] = y[rows[a]], counts[rows[a]]
        source = gram[rows[a]]
        for b in range(n):
            small[a, b] = source[rows[b]]
    return small, labels, p


@compiled
def penalised_block(gram, y, theta, counts, c_h, c_g, tol, limit, start, stop, risk, objective, lower, steps):
    """Solve trials start..stop-1 of the penalised form and write their scores."""
    geo = geometry(theta, c_h, c_g)
    for trial in range(start, stop):
        small, labels, p = gather(gram, y, counts[trial])
        n = len(p)
        zero = np.zeros(n)
        total = np.sum(p)
        # A little more than asked for: the certificate is computed afresh and must not miss by rounding.
        u, v, _, _, _, _, used = maximise(small, labels, p, geo, zero, zero, 0.9 * tol, limit, np.zeros(n, np.int64))
        alpha, beta = np.empty(n), np.empty(n)
        for i in range(n):
            alpha[i] = labels[i] * u[i] / geo[A1]
            beta[i] = (v[i] + geo[A2] * alpha[i]) / geo[B2]
        _, _, _, _, loss, objective[trial], lower[trial] = penalised_bounds(
            small, labels, p, theta, c_h, c_g, alpha, beta, u / np.sqrt(2.0 * c_h), v / np.sqrt(2.0 * c_g), tol
        )
        risk[trial] = loss / total
        steps[trial] = used


@compiled
def ball_block(gram, y, theta, counts, radius, tol, limit, models, start, stop, risk, objective, lower, steps):
    """Solve trials start..stop-1 of the ball form and write their scores.

    `models`, shape (trials, 4, rows), takes the coefficients of h and g and the dual point of each, one after the other
    for the rows with a positive count; of no length, it takes none, and a `risk` of no length stands for no scores but
    the steps. (One way in for single problems and for many: the solver below takes long to compile.)
    """
    for trial in range(start, stop):
        small, labels, p = gather(gram, y, counts[trial])
        p = p / np.sum(p)
        cu, cw, alpha, beta, _, _, used = minimise_over_ball(small, labels, p, theta, radius, 0.9 * tol, limit)
        steps[trial] = used
        if len(models) > 0:
            copy_two(cu, cw, models[trial, 0], models[trial, 1])
            copy_two(alpha, beta, models[trial, 2], models[trial, 3])
        if len(risk) == 0:
            continue
        _, _, _, _, risk[trial] = ball_model(small, labels, p, theta, radius, cu, cw)
        objective[trial] = risk[trial]
        lower[trial] = min(ball_lower(small, labels, p, theta, radius, alpha, beta), risk[trial])


@compiled
def affine_block(gram, order, positive, counts, radius, start, stop, risk, slack):
    r"""Evaluate the closed form of trials start..stop-1 in the affine regime, and bound its rounding.

    With :math:`s_\pm` the sums of the features of the rows of each label, :math:`|\sum y\Phi|^2 = |s_+|^2 + |s_-|^2 - 2
    \langle s_+, s_-\rangle` and :math:`|\sum\Phi|^2` the same with a plus: one pass over the lower triangle of the Gram
    matrix, whose rows are sorted by label (`order`, the first `positive` of them labelled +1).
    """
    m = len(order)
    c = np.empty(m)
    for trial in range(start, stop):
        total = 0.0
        for i in range(m):
            c[i] = counts[trial, order[i]]
            total += c[i]
        plus, minus, cross, spread = 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            if c[i] == 0.0:
                continue
            row = gram[i]
            spread += c[i] * np.sqrt(max(row[i], 0.0))
            if i < positive:
                plus += c[i] * (2.0 * dot(row, c, i) + c[i] * row[i])
            else:
                cross += c[i] * dot(row, c, positive)
                minus += c[i] * (2.0 * dot(row[positive:], c[positive:], i - positive) + c[i] * row[i])
        # Cauchy-Schwarz bounds every term of the three sums, and with it their rounding, by the diagonal.
        error = 2.0 * (m + 4) * EPS * spread * spread
        signed = plus + minus - 2.0 * cross
        plain = plus + minus + 2.0 * cross
        reach = np.sqrt(max(signed, 0.0)) + np.sqrt(max(plain, 0.0))
        wide = np.sqrt(max(signed, 0.0) + error) + np.sqrt(max(plain, 0.0) + error)
        narrow = np.sqrt(max(signed - error, 0.0)) + np.sqrt(max(plain - error, 0.0))
        risk[trial] = 1.0 - 0.5 * radius * reach / total
        slack[trial] = 0.5 * radius * max(wide - reach, reach - narrow) / total + 4.0 * EPS
