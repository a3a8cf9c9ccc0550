"""Many weightings of the same rows: one Gram matrix, one problem per trial, compiled, without the interpreter's lock.

A trial that bought n rows with replacement is a vector of counts over the m rows, so its score costs no more than the
distinct rows it holds. Each trial is solved on its own, from scratch and in a fixed order of operations: results do not
depend on how trials are cut into blocks or spread over threads.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled
from exml_sim.rejection.ball import minimise_over_ball
from exml_sim.rejection.dual import maximise
from exml_sim.rejection.linalg import dot
from exml_sim.rejection.triangle import geometry

EPS = 2.220446049250313e-16


@compiled
def gather(gram, y, counts):
    """Gram matrix, labels and weights of the rows with a positive count."""
    n = 0
    for i in range(len(counts)):
        n += counts[i] > 0.0
    rows = np.empty(n, np.int64)
    k = 0
    for i in range(len(counts)):
        if counts[i] > 0.0:
            rows[k] = i
            k += 1
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
        scale = total / (n * np.sqrt(c_h * c_g))
        u, v, ku, kv, gap, value, used = maximise(
            small, labels, p, geo, scale, zero, zero, tol, limit, np.zeros(n, np.int64)
        )
        squares = 0.5 * (np.sum(u * ku) + np.sum(v * kv))
        size = abs(value) + 2.0 * 0.5 * (np.sum(np.abs(u * ku)) + np.sum(np.abs(v * kv)))
        objective[trial] = value + gap
        risk[trial] = (value + gap - squares) / total
        lower[trial] = value - 8.0 * EPS * size
        steps[trial] = used


@compiled
def ball_block(gram, y, theta, counts, radius, tol, limit, start, stop, risk, objective, lower, steps):
    """Solve trials start..stop-1 of the ball form and write their scores."""
    for trial in range(start, stop):
        small, labels, p = gather(gram, y, counts[trial])
        _, _, _, _, up, low, used = minimise_over_ball(small, labels, p / np.sum(p), theta, radius, tol, limit)
        risk[trial] = up
        objective[trial] = up
        lower[trial] = max(low - 8.0 * EPS * (1.0 + radius), 0.0)
        steps[trial] = used


@compiled
def affine_block(gram, order, positive, counts, radius, start, stop, risk, slack):
    r"""Closed form of trials start..stop-1 in the affine regime, and a bound on its rounding.

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
        plus, minus, cross = 0.0, 0.0, 0.0
        for i in range(m):
            if c[i] == 0.0:
                continue
            row = gram[i]
            if i < positive:
                plus += c[i] * (2.0 * dot(row, c, i) + c[i] * row[i])
            else:
                cross += c[i] * dot(row, c, positive)
                minus += c[i] * (2.0 * dot(row[positive:], c[positive:], i - positive) + c[i] * row[i])
        error = 16.0 * EPS * (abs(plus) + abs(minus) + 2.0 * abs(cross))
        signed = plus + minus - 2.0 * cross
        plain = plus + minus + 2.0 * cross
        reach = np.sqrt(max(signed, 0.0)) + np.sqrt(max(plain, 0.0))
        wide = np.sqrt(max(signed, 0.0) + error) + np.sqrt(max(plain, 0.0) + error)
        risk[trial] = 1.0 - 0.5 * radius * reach / total
        slack[trial] = 0.5 * radius * (wide - reach) / total + 4.0 * EPS
