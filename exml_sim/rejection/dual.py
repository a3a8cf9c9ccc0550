r"""The fast solver: dual proximal point with a semismooth Newton method, certified by the duality gap.

The dual of the penalised problem in the coordinates of :mod:`exml_sim.rejection.triangle` is

.. math:: \max_{z_i \in T_i}\; D(z) = \sum_i c_i \cdot z_i - \tfrac12 z^\top (K \otimes I_2) z,

one triangle per row and no coupling constraint. Write :math:`s = c - Kz` for its gradient. The best reply of row i to s
is a corner of its triangle, and the duality gap is the sum over rows of what that reply would gain:

.. math:: P - D = \sum_i \max_{t \in T_i} s_i \cdot t - s_i \cdot z_i .

Three phases, each a warm start for the next:

1. *Sweeps*: exact maximisation row by row. Cheap and fast at first, hopeless for the last digits.
2. *Coarse*: proximal point steps :math:`\max_z D(z) - |z - z_k|^2/(2\sigma)` on a low-rank factor of K, if it has one.
   The step's dual is the smooth convex function of x

   .. math:: \psi(x) = \tfrac12 x^\top K x + (|q|^2 - |q - \Pi(q)|^2)/(2\sigma), \quad q = z_k + \sigma (c - Kx),

   with gradient :math:`K(x - \Pi(q))`; its Newton direction solves :math:`(I + \sigma P K) d = \Pi(q) - x`, where P is
   the derivative of the projection: zero for rows at a corner, rank one on an edge, the identity inside.
3. *Fine*: the same on the exact K. Rows at corners drop out, so the Newton systems are small by then.

Every gap that leaves this module is computed on the exact K from a feasible z.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled
from exml_sim.rejection.linalg import axpy2, dot, pivoted_cholesky
from exml_sim.rejection.newton import coarse_direction, exact_direction, line_search, weights_of
from exml_sim.rejection.triangle import (
    A1,
    A2,
    B2,
    C1,
    C2,
    CORNER_A,
    CORNER_B,
    CORNER_O,
    INSIDE,
    project,
)

SWEEPS = 20  # row-by-row sweeps between two looks at the gap, at least
SWEEP_GAIN = 0.7  # a bout of sweeps that leaves more than this share of the gap is the last
SWEEP_COST = 20  # free^3 / (this * n^2) sweeps cost about one Newton step
MAX_SWEEPS = 1000
COARSE_FROM = 100  # free rows from which a low-rank phase is considered
COARSE_SHARE = 0.35  # of the free rows: the largest rank at which it is worth while
COARSE_RANK = 128
COARSE_TRACE = 3e-5  # share of the trace that the factor may leave out
COARSE_GAP = 1e-5  # relative gap at which the low-rank phase hands over
SIGMA_START = 5.0  # first proximal parameter, in units of mean weight / C
SIGMA_GROWTH = 6.0
SIGMA_CAP = 1e9
INNER_LIMIT = 30  # Newton steps per proximal step
INNER_ACCURACY = 1e-3  # of the proximal step's length; looser inner solves make the outer iteration wander


@compiled
def sweep(gram, y, p, geo, u, v, ku, kv, face):
    """Maximise the dual over each row in turn; returns the number of rows that moved.

    The quadratic part of one row is a multiple of the identity, so its exact maximiser is a projected gradient step.
    """
    n = len(y)
    c1, c2 = geo[C1], geo[C2]
    moved = 0
    for i in range(n):
        # A row with K(x, x) = 0 has h = g = 0 whatever happens: any long step takes it to its corner.
        step = 1.0 / max(gram[i, i], 1e-12)
        nu, nv, face[i] = project(y[i] * u[i] + step * (c1 - y[i] * ku[i]), v[i] + step * (c2 - kv[i]), p[i], geo)
        du, dv = y[i] * nu - u[i], nv - v[i]
        if du != 0.0 or dv != 0.0:
            u[i] += du
            v[i] += dv
            axpy2(gram[i], du, dv, ku, kv, n)
            moved += 1
    return moved


@compiled
def bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, sweeps):
    """Several sweeps, then a look: gap, dual value, free directions, rows that moved in the last sweep."""
    moved = 0
    for _ in range(sweeps):
        moved = sweep(gram, y, p, geo, u, v, ku, kv, face)
        if moved == 0:
            break
    free = 0
    for i in range(len(y)):
        free += (face[i] > CORNER_B) + (face[i] == INSIDE)
    gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
    return gap, value, free, moved


@compiled
def measure(y, p, geo, u, v, ku, kv, ku0, kv0):
    """Duality gap and dual value at a feasible z, given the gradient's ku = ku0 + K u and kv = kv0 + K v."""
    a1, a2, b2, c1, c2 = geo[A1], geo[A2], geo[B2], geo[C1], geo[C2]
    gap = 0.0
    value = 0.0
    for i in range(len(y)):
        su, sv = c1 - y[i] * ku[i], c2 - kv[i]
        own = y[i] * u[i]
        gap += max(0.0, p[i] * (a1 * su - a2 * sv), p[i] * b2 * sv) - (su * own + sv * v[i])
        value += c1 * own + c2 * v[i] - 0.5 * (u[i] * (ku[i] + ku0[i]) + v[i] * (kv[i] + kv0[i]))
    return gap, value


@compiled
def first_residual(y, geo, face, kzu, kzv, sigma, ru, rv):
    """Right-hand side of a proximal step's first Newton step, which stays on the faces of z.

    With x = z itself a large sigma would throw rows to corners.
    """
    c1, c2 = geo[C1], geo[C2]
    for i in range(len(y)):
        gu, gv = sigma * (y[i] * c1 - kzu[i]), sigma * (c2 - kzv[i])
        w11, w12, w22 = weights_of(face[i], y[i], geo)
        ru[i] = w11 * gu + w12 * gv
        rv[i] = w12 * gu + w22 * gv


@compiled
def inner_residual(y, p, geo, zu, zv, xu, xv, kxu, kxv, sigma, face, ru, rv):
    """Residual r = Pi(q) - x and the faces of Pi(q); returns faces changed, largest residual, length of the step."""
    c1, c2 = geo[C1], geo[C2]
    changed, residual, length = 0, 0.0, 0.0
    for i in range(len(y)):
        sign = y[i]
        qu = sign * zu[i] + sigma * (c1 - sign * kxu[i])
        pu, pv, where = project(qu, zv[i] + sigma * (c2 - kxv[i]), p[i], geo)
        pu *= sign
        changed += where != face[i]
        face[i] = where
        ru[i], rv[i] = pu - xu[i], pv - xv[i]
        residual = max(residual, abs(ru[i]), abs(rv[i]))
        length = max(length, abs(pu - zu[i]), abs(pv - zv[i]))
    return changed, residual, length


@compiled
def settle(y, p, geo, face, xu, xv, zu, zv, su, sv):
    """Feasible z from the Newton iterate x, and s = z - x.

    Corners exactly; elsewhere the Newton iterate, not Pi(q): q carries the rounding of the gradient times sigma.
    """
    for i in range(len(y)):
        if face[i] == CORNER_O:
            nu, nv = 0.0, 0.0
        elif face[i] == CORNER_A:
            nu, nv = p[i] * geo[A1], -p[i] * geo[A2]
        elif face[i] == CORNER_B:
            nu, nv = 0.0, p[i] * geo[B2]
        else:
            # The face stays the one of q: x lies on its edge only up to rounding, which would read as inside.
            nu, nv, _ = project(y[i] * xu[i], xv[i], p[i], geo)
        zu[i], zv[i] = y[i] * nu, nv
        su[i], sv[i] = zu[i] - xu[i], zv[i] - xv[i]


@compiled
def pace(gap, now, best, last, inner, stalled, sigma, cap):
    """Judge a proximal step: whether to take it back, the count of stalled steps, and the next sigma and its cap.

    A solved proximal step never lowers the dual value (the gap may rise on the way). A drop beyond rounding means that
    this step was too bold to be solved: it is taken back. A value that rose is progress, however little the gap shows
    of it.
    """
    noise = 1e-13 * abs(last)
    sunk, risen = now < last - noise, now > last + noise
    if gap < 0.9 * best:
        stalled = 0
    elif not risen:
        stalled += 1
    back = sunk and inner >= INNER_LIMIT and gap > best
    # Near the end a stall means that rounding, multiplied by sigma, has taken over (before, the gap may just rise).
    late = min(gap, best) < 1e-5 * max(1.0, abs(now))
    if not risen and (inner >= INNER_LIMIT or (late and stalled % 3 == 2)):
        sigma *= 0.05
        if late:
            cap = max(cap * 0.1, sigma)
    elif inner <= 3:
        sigma = min(sigma * SIGMA_GROWTH, cap)
    elif inner <= 12:
        sigma = min(sigma * 3.0, cap)
    return back, stalled, sigma, cap


@compiled
def exhausted(stalled, best, value):
    """Whether nothing is left to gain: too many stalled steps, or few at the floor of rounding."""
    return stalled > 15 or (stalled > 4 and best < 1e-11 * max(1.0, abs(value)))


@compiled
def proximal(gram, factor, coarse, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, stop, limit):
    """Proximal point steps from a feasible z = (u, v) until the relative gap is at most `stop`.

    Updates u, v and ku = ku0 + K u, kv = kv0 + K v in place (K the factor's product in the coarse phase).

    Returns
    -------
    gap, value, steps, sigma
        Gap and dual value at the best z, Newton steps taken, last proximal parameter.
    """
    n = len(y)
    ru, rv = np.empty(n), np.empty(n)
    du, dv, kdu, kdv = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    xu, xv, kxu, kxv = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    zu, zv, kzu, kzv = u.copy(), v.copy(), ku.copy(), kv.copy()
    rank = factor.shape[1]
    curvature = np.zeros((3, rank, rank)) if coarse else np.zeros((3, 0, 0))
    seen = np.zeros(n, np.int64)
    system = np.empty((0, 0))
    cap = SIGMA_CAP
    steps = 0
    best, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
    last = value
    old_u, old_v, old_ku, old_kv, old_face = u.copy(), v.copy(), ku.copy(), kv.copy(), face.copy()
    stalled = 0
    while best > stop * max(1.0, abs(value + best)) and steps < limit:
        first_residual(y, geo, face, kzu, kzv, sigma, ru, rv)
        if coarse:
            sound, system = coarse_direction(
                factor, y, geo, face, seen, curvature, ru, rv, sigma, du, dv, kdu, kdv, system
            )
        else:
            sound, system = exact_direction(gram, y, geo, face, ru, rv, sigma, du, dv, kdu, kdv, system)
        steps += 1
        if not sound:
            sigma *= 0.1
            cap = sigma
            stalled += 1
            if stalled > 12:
                break
            continue
        for i in range(n):
            xu[i], xv[i] = zu[i] + du[i], zv[i] + dv[i]
            kxu[i], kxv[i] = kzu[i] + kdu[i], kzv[i] + kdv[i]
        inner = 1
        t = 1.0
        while True:
            changed, residual, length = inner_residual(y, p, geo, zu, zv, xu, xv, kxu, kxv, sigma, face, ru, rv)
            # Faces unchanged after a full step: psi was one quadratic all the way, and this is its minimum.
            if (changed == 0 and t == 1.0) or residual <= INNER_ACCURACY * length:
                break
            if inner >= INNER_LIMIT or steps >= limit:
                break
            if coarse:
                sound, system = coarse_direction(
                    factor, y, geo, face, seen, curvature, ru, rv, sigma, du, dv, kdu, kdv, system
                )
            else:
                sound, system = exact_direction(gram, y, geo, face, ru, rv, sigma, du, dv, kdu, kdv, system)
            steps += 1
            inner += 1
            t = line_search(y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma) if sound else 0.0
            if t == 0.0:
                break
            for i in range(n):
                xu[i] += t * du[i]
                xv[i] += t * dv[i]
                kxu[i] += t * kdu[i]
                kxv[i] += t * kdv[i]
        settle(y, p, geo, face, xu, xv, zu, zv, ru, rv)
        kzu[:], kzv[:] = kxu, kxv
        if coarse:
            add_products(factor, ru, rv, kzu, kzv)
        elif best < 1e-5 * max(1.0, abs(value)):
            # For the last digits the rounding that the updates pile up matters.
            refresh(gram, zu, zv, kzu, kzv, ku0, kv0)
        else:
            for i in range(n):
                if ru[i] != 0.0 or rv[i] != 0.0:
                    axpy2(gram[i], ru[i], rv[i], kzu, kzv, n)
        gap, now = measure(y, p, geo, zu, zv, kzu, kzv, ku0, kv0)
        back, stalled, sigma, cap = pace(gap, now, best, last, inner, stalled, sigma, cap)
        if gap < best:
            best, value = gap, now
            u[:], v[:], ku[:], kv[:] = zu, zv, kzu, kzv
        if back:
            zu[:], zv[:], kzu[:], kzv[:], face[:] = old_u, old_v, old_ku, old_kv, old_face
        else:
            last = now
            old_u[:], old_v[:], old_ku[:], old_kv[:], old_face[:] = zu, zv, kzu, kzv, face
        if exhausted(stalled, best, value):
            break
    return best, value, steps, sigma


@compiled
def maximise(gram, y, p, geo, scale, ku0, kv0, tol, limit, face):
    """All phases for one problem whose weights are all positive.

    Parameters
    ----------
    scale : float
        Mean weight over C: the natural size of the proximal parameter.
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
    sigma = SIGMA_START * scale
    steps = 0
    gap, value, free, moved = bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, SWEEPS)
    rank = 0
    if free >= COARSE_FROM:
        factor, rank = pivoted_cholesky(gram, min(COARSE_RANK, int(COARSE_SHARE * free)), COARSE_TRACE)
        if rank > 0:
            stop = max(COARSE_GAP, tol)
            project_gradient(factor, u, v, ku, kv, ku0, kv0)
            reached, _, steps, sigma = proximal(
                gram, factor, True, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, stop, limit
            )
            refresh(gram, u, v, ku, kv, ku0, kv0)
            # What the factor left out may have opened the gap again: a step as long as the last would be too bold.
            gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
            sigma *= min(1.0, max(10.0 * reached / max(gap, 1e-300), 1e-6))
    swept = SWEEPS
    before = np.inf
    while rank == 0 and moved > 0 and swept < MAX_SWEEPS:
        # Without a coarse phase a bout may cost as much as one Newton step with that many free rows; on while it pays.
        if gap <= tol * max(1.0, abs(value + gap)) or gap > SWEEP_GAIN * before:
            break
        before = gap
        length = min(max(SWEEPS, free * free * free // (SWEEP_COST * n * n)), 100)
        gap, value, free, moved = bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, length)
        swept += length
    none = np.empty((n, 0))
    _, _, more, _ = proximal(gram, none, False, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, tol, limit - steps)
    # What is published is computed afresh: the updates above carry the rounding of every step.
    refresh(gram, u, v, ku, kv, ku0, kv0)
    gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
    steps += more
    if gap > tol * max(1.0, abs(value + gap)) and steps < limit:
        # A few problems in 10^5 end with sigma run down by rounding: from their last point short steps begin anew.
        bout(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, SWEEPS)
        sigma = SIGMA_START * scale
        _, _, more, _ = proximal(gram, none, False, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, tol, limit - steps)
        refresh(gram, u, v, ku, kv, ku0, kv0)
        gap, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
        steps += more
    return u, v, ku, kv, gap, value, steps


@compiled
def project_gradient(factor, u, v, ku, kv, ku0, kv0):
    """Recompute ku = ku0 + L L' u and kv = kv0 + L L' v."""
    ku[:], kv[:] = ku0, kv0
    add_products(factor, u, v, ku, kv)


@compiled
def add_products(factor, u, v, ku, kv):
    """ku += L L' u and kv += L L' v."""
    n, rank = factor.shape
    acc_u, acc_v = np.zeros(rank), np.zeros(rank)
    for i in range(n):
        if u[i] != 0.0 or v[i] != 0.0:
            axpy2(factor[i], u[i], v[i], acc_u, acc_v, rank)
    for i in range(n):
        ku[i] += dot(factor[i], acc_u, rank)
        kv[i] += dot(factor[i], acc_v, rank)


@compiled
def refresh(gram, u, v, ku, kv, ku0, kv0):
    """Recompute ku = ku0 + K u and kv = kv0 + K v from the exact Gram matrix."""
    n = len(u)
    ku[:], kv[:] = ku0, kv0
    for i in range(n):
        if u[i] != 0.0 or v[i] != 0.0:
            axpy2(gram[i], u[i], v[i], ku, kv, n)
