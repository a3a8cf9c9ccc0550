r"""Take proximal point steps of the dual, each solved by a semismooth Newton method.

A step maximises :math:`D(z) - |z - z_k|^2/(2\sigma)`, D the dual of :mod:`exml_sim.rejection._dual`. Its own dual is
the smooth convex function of x

.. math:: \psi(x) = \tfrac12 x^\top K x + (|q|^2 - |q - \Pi(q)|^2)/(2\sigma), \quad q = z_k + \sigma (c - Kx),

with gradient :math:`K(x - \Pi(q))`; its Newton direction solves :math:`(I + \sigma P K) d = \Pi(q) - x`, where P is the
derivative of the projection: zero for rows at a corner, rank one on an edge, the identity inside. Rows at corners drop
out, so the systems are small at the end.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_sums
from exml_sim.rejection._linalg import add_rows, copy_two
from exml_sim.rejection._newton import exact_direction, line_search, weights_of
from exml_sim.rejection._triangle import A1, A2, B2, C1, C2, CORNER_A, CORNER_B, CORNER_O, nearest, nearest_on, shape

SIGMA_GROWTH = 6.0
SIGMA_CAP = 1e9
INNER_LIMIT = 30  # Newton steps per proximal step
INNER_ACCURACY = 1e-3  # of the proximal step's length; looser inner solves can make the outer iteration wander
LOOSE = 0.1  # the same for a penalised problem until a step lowers the dual value: the next step corrects the rest
REFRESH = 1e-7  # relative gap below which the rounding that updates pile up matters
WORK = 10  # vectors that one proximal step works with


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


@compiled_sums
def inner_residual(y, p, geo, zu, zv, xu, xv, kxu, kxv, sigma, face, ru, rv):
    """Residual r = Pi(q) - x and the faces of Pi(q); returns faces changed, |r|, length of the step |Pi(q) - z|."""
    c1, c2, corners = geo[C1], geo[C2], shape(geo)
    changed, residual, length = 0, 0.0, 0.0
    for i in range(len(y)):
        sign, share = y[i], 1.0 / p[i]
        qu, qv = sign * zu[i] + sigma * (c1 - sign * kxu[i]), zv[i] + sigma * (c2 - kxv[i])
        pu, pv, where = nearest(share * qu, share * qv, corners)
        pu, pv = sign * p[i] * pu, p[i] * pv
        changed += where != face[i]
        face[i] = where
        ru[i], rv[i] = pu - xu[i], pv - xv[i]
        residual += (pu - xu[i]) * (pu - xu[i]) + (pv - xv[i]) * (pv - xv[i])
        length += (pu - zu[i]) * (pu - zu[i]) + (pv - zv[i]) * (pv - zv[i])
    return changed, np.sqrt(residual), np.sqrt(length)


@compiled
def settle(y, p, geo, face, xu, xv, zu, zv, su, sv):
    """Feasible z from the Newton iterate x, and s = z - x.

    Corners exactly; elsewhere the Newton iterate, not Pi(q): q carries the rounding of the gradient times sigma. On an
    edge its nearest point of that edge: the next step moves along the faces, and never back to one that z has left.
    """
    corners = shape(geo)
    for i in range(len(y)):
        if face[i] == CORNER_O:
            nu, nv = 0.0, 0.0
        elif face[i] == CORNER_A:
            nu, nv = p[i] * geo[A1], -p[i] * geo[A2]
        elif face[i] == CORNER_B:
            nu, nv = 0.0, p[i] * geo[B2]
        else:
            nu, nv = nearest_on(face[i], y[i] * xu[i] / p[i], xv[i] / p[i], corners)
            nu, nv = p[i] * nu, p[i] * nv
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
    """Check whether nothing is left to gain: too many stalled steps, or few at the floor of rounding."""
    return stalled > 15 or (stalled > 4 and best < 1e-11 * max(1.0, abs(value)))


@compiled
def proximal_step(gram, y, p, geo, zu, zv, kzu, kzv, face, sigma, accuracy, allowed, work, system):
    """Solve one proximal step from z to an accuracy or by `allowed` Newton steps; z itself stays as it is.

    Parameters
    ----------
    face : ndarray
        Faces of z; afterwards those of the solution.
    work : ndarray, shape (WORK, n)
        Its first four lines hold the solution x = (xu, xv) and K x afterwards.

    Returns
    -------
    steps, sound, system
        Newton steps taken, whether the first of them was, and the last system's factor, to be used again.
    """
    xu, xv, kxu, kxv, ru, rv = work[0], work[1], work[2], work[3], work[4], work[5]
    du, dv, kdu, kdv = work[6], work[7], work[8], work[9]
    based = np.full(len(y), -1)  # no factor yet for this sigma
    first_residual(y, geo, face, kzu, kzv, sigma, ru, rv)
    sound, system = exact_direction(gram, y, geo, face, based, ru, rv, sigma, du, dv, kdu, kdv, system)
    if not sound:
        return 1, False, system
    for i in range(len(y)):
        xu[i], xv[i] = zu[i] + du[i], zv[i] + dv[i]
        kxu[i], kxv[i] = kzu[i] + kdu[i], kzv[i] + kdv[i]
    inner = 1
    t = 1.0
    while True:
        changed, residual, length = inner_residual(y, p, geo, zu, zv, xu, xv, kxu, kxv, sigma, face, ru, rv)
        # Faces unchanged after a full step: psi was one quadratic all the way, and this is its minimum.
        if (changed == 0 and t == 1.0) or residual <= accuracy * length or inner >= allowed:
            break
        sound, system = exact_direction(gram, y, geo, face, based, ru, rv, sigma, du, dv, kdu, kdv, system)
        inner += 1
        t = line_search(y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma, ru, rv) if sound else 0.0
        if t == 0.0:
            break
        for i in range(len(y)):
            xu[i] += t * du[i]
            xv[i] += t * dv[i]
            kxu[i] += t * kdu[i]
            kxv[i] += t * kdv[i]
    return inner, True, system


@compiled
def proximal(gram, y, p, geo, u, v, ku, kv, ku0, kv0, face, sigma, stop, limit):
    """Proximal point steps from a feasible z = (u, v) until the relative gap is at most `stop`.

    Updates u, v and ku = ku0 + K u, kv = kv0 + K v in place.

    Returns
    -------
    gap, value, steps, sigma
        Gap and dual value at the best z, Newton steps taken, last proximal parameter.
    """
    n = len(y)
    work = np.empty((WORK, n))
    xu, xv, kxu, kxv, su, sv = work[0], work[1], work[2], work[3], work[4], work[5]
    zu, zv, kzu, kzv = u.copy(), v.copy(), ku.copy(), kv.copy()
    system = np.empty((0, 0))
    cap = SIGMA_CAP
    steps = 0
    best, value = measure(y, p, geo, u, v, ku, kv, ku0, kv0)
    last = value
    old_u, old_v, old_ku, old_kv, old_face = u.copy(), v.copy(), ku.copy(), kv.copy(), face.copy()
    stalled, accuracy = np.int64(0), LOOSE
    while best > stop * max(1.0, abs(value + best)) and steps < limit:
        allowed = min(INNER_LIMIT, limit - steps)
        inner, sound, system = proximal_step(
            gram, y, p, geo, zu, zv, kzu, kzv, face, sigma, accuracy, allowed, work, system
        )
        steps += inner
        if not sound:
            sigma *= 0.1
            cap = sigma
            stalled += 1
            if stalled > 12:
                break
            continue
        settle(y, p, geo, face, xu, xv, zu, zv, su, sv)
        copy_two(kxu, kxv, kzu, kzv)
        if best < REFRESH * max(1.0, abs(value)):
            refresh(gram, zu, zv, kzu, kzv, ku0, kv0)
        else:
            add_rows(gram, su, sv, kzu, kzv)
        gap, now = measure(y, p, geo, zu, zv, kzu, kzv, ku0, kv0)
        if not now > last:
            accuracy = INNER_ACCURACY
        back, stalled, sigma, cap = pace(gap, now, best, last, inner, stalled, sigma, cap)
        if gap < best:
            best, value = gap, now
            copy_two(zu, zv, u, v)
            copy_two(kzu, kzv, ku, kv)
        if back:
            copy_point(old_u, old_v, old_ku, old_kv, old_face, zu, zv, kzu, kzv, face)
        else:
            last = now
            copy_point(zu, zv, kzu, kzv, face, old_u, old_v, old_ku, old_kv, old_face)
        if exhausted(stalled, best, value):
            break
    return best, value, steps, sigma


@compiled
def copy_point(u, v, ku, kv, face, to_u, to_v, to_ku, to_kv, to_face):
    """Write a dual point, K times it and its faces over another."""
    for i in range(len(u)):
        to_u[i], to_v[i], to_ku[i], to_kv[i], to_face[i] = u[i], v[i], ku[i], kv[i], face[i]


@compiled
def refresh(gram, u, v, ku, kv, ku0, kv0):
    """Recompute ku = ku0 + K u and kv = kv0 + K v from the exact Gram matrix."""
    copy_two(ku0, kv0, ku, kv)
    add_rows(gram, u, v, ku, kv)
