r"""Solve the dual by proximal points with a semismooth Newton method, certified by the duality gap.

The dual of the penalised problem in the coordinates of :mod:`exml_sim.rejection._triangle` is

.. math:: \max_{z_i \in T_i}\; D(z) = \sum_i c_i \cdot z_i - \tfrac12 z^\top (K \otimes I_2) z,

one triangle per row and no coupling constraint. Write :math:`s = c - Kz` for its gradient. The best reply of row i to s
is a corner of its triangle, and the duality gap is the sum over rows of what that reply would gain:

.. math:: P - D = \sum_i \max_{t \in T_i} s_i \cdot t - s_i \cdot z_i .

Two phases: *sweeps* maximise exactly row by row, cheap and fast at first, hopeless for the last digits; proximal point
steps (:mod:`exml_sim.rejection._proximal`) start from where they end.

Every gap that leaves this module is computed afresh from a feasible z.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exml_sim._internal.compiled import compiled
from exml_sim.rejection._linalg import add_four
from exml_sim.rejection._proximal import measure, proximal, refresh
from exml_sim.rejection._triangle import C1, C2, CORNER_B, INSIDE, project, shape

SWEEPS = 5  # row-by-row sweeps in a bout, at least
GAP_CHECK_AFTER = 4  # sweeps of a bout after which the gap is computed after each sweep
SWEEP_GAIN = 0.5  # a bout of sweeps that leaves more than this share of the gap is the last
SWEEP_COST = 20  # free^3 / (this * n^2) sweeps cost about one Newton step
MAX_SWEEPS = 1000
SIGMA_START = 50.0  # first proximal parameter over the mean of K(x, x): what sweeps leave lies along flat directions


@compiled
def sweep(gram, y, p, geo, u, v, ku, kv, face):
    """Maximise the dual over each row in turn; return the number of rows that moved.

    The quadratic part of one row is a multiple of the identity, so its exact maximiser is a projected gradient step.
    Moves wait until there are four of them: rows ahead are told of them entry by entry, all others in one pass.
    """
    n = len(y)
    c1, c2, corners = geo[C1], geo[C2], shape(geo)
    moved, waiting = 0, 0
    # Places without a move hold any row, no times.
    none: Any = np.int64(0)  # a plain 0 would have `add_four` compiled for every number of rows that may still be 0
    i0 = i1 = i2 = i3 = none
    u0, u1, u2, u3, v0, v1, v2, v3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        row, share = gram[i], 1.0 / p[i]
        # A row with K(x, x) = 0 has h = g = 0 whatever happens: any long step takes it to its corner.
        step = 1.0 / max(row[i], 1e-12)
        # The processor waits for the last move only: it comes last in every sum, and what can be is computed before.
        gu = (ku[i] + (u3 * row[i3] + u2 * row[i2]) + u1 * row[i1]) + u0 * row[i0]
        gv = (kv[i] + (v3 * row[i3] + v2 * row[i2]) + v1 * row[i1]) + v0 * row[i0]
        qu = share * (y[i] * u[i] + step * c1) - (share * step * y[i]) * gu
        qv = share * (v[i] + step * c2) - (share * step) * gv
        nu, nv, face[i] = project(qu, qv, corners)
        du, dv = (y[i] * p[i]) * nu - u[i], p[i] * nv - v[i]
        if du != 0.0 or dv != 0.0:
            u[i] += du
            v[i] += dv
            i0, i1, i2, i3 = i, i0, i1, i2
            u0, u1, u2, u3 = du, u0, u1, u2
            v0, v1, v2, v3 = dv, v0, v1, v2
            waiting += 1
            moved += 1
            if waiting == 4:
                add_four(gram, i0, i1, i2, i3, u0, u1, u2, u3, v0, v1, v2, v3, ku, kv)
                u0, u1, u2, u3, v0, v1, v2, v3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                waiting = 0
    add_four(gram, i0, i1, i2, i3, u0, u1, u2, u3, v0, v1, v2, v3, ku, kv)
    return moved


@compiled
def bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, sweeps, stop):
    """Run a limited number of sweeps, fewer where they reach the relative gap `stop`.

    Returns
    -------
    gap, value, free, moved
        Gap and dual value, free directions, rows that moved in the last sweep.
    """
    gap, value, moved = np.inf, 0.0, 0
    for k in range(sweeps):
        moved = sweep(gram, y, p, geo, u, v, ku, kv, face)
        if k >= GAP_CHECK_AFTER or moved == 0 or k == sweeps - 1:
            gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
            if moved == 0 or gap <= stop * max(1.0, abs(value + gap)):
                break
    free = 0
    for i in range(len(y)):
        free += (face[i] > CORNER_B) + (face[i] == INSIDE)
    return gap, value, free, moved


@compiled
def maximise(gram, y, p, geo, ku0, kv0, tol, limit, face):
    """Run all phases for one problem whose weights are all positive.

    Parameters
    ----------
    ku0, kv0 : ndarray
        Offsets of the gradient: a proximal centre of the primal, in dual units; zero for a plain solve.
    face : ndarray
        Filled with the face of every row, for those who go on from here.

    Returns
    -------
    u, v, ku, kv, gap, value, steps
    """
    n = len(y)
    u, v = np.zeros(n), np.zeros(n)
    ku, kv = ku0.copy(), kv0.copy()
    flat = n / max(np.trace(gram), 1e-300)
    sigma = SIGMA_START * flat
    steps = 0
    gap, value, free, moved = bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, np.int64(SWEEPS), tol)
    swept = SWEEPS
    before = np.inf
    while moved > 0 and swept < MAX_SWEEPS:
        # A bout may cost as much as one Newton step with that many free rows; on while it pays.
        if gap <= tol * max(1.0, abs(value + gap)) or gap > SWEEP_GAIN * before:
            break
        before = gap
        length = min(max(SWEEPS, free * free * free // (SWEEP_COST * n * n)), 100)
        gap, value, free, moved = bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, length, tol)
        swept += length
    _, _, more, _ = proximal(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, tol, limit - steps)
    # What is published is computed afresh: the updates above carry the rounding of every step.
    refresh(gram, u, v, ku, kv, ku0, kv0)
    gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
    steps += more
    if gap > tol * max(1.0, abs(value + gap)) and steps < limit:
        # A few problems in 10^5 end with sigma run down by rounding: from their last point short steps begin anew.
        bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, np.int64(SWEEPS), tol)
        sigma = SIGMA_START * flat
        _, _, more, _ = proximal(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, tol, limit - steps)
        refresh(gram, u, v, ku, kv, ku0, kv0)
        gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
        steps += more
    return u, v, ku, kv, gap, value, steps
