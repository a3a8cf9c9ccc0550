r"""Project onto the dual's feasible set: row by row, a triangle in the plane.

Per row the dual has a pair (alpha, beta) >= 0 with alpha + beta <= p, p the weight of the row. In the coordinates

.. math:: u = y\,\alpha/\sqrt{8 C_h}, \qquad v = (\theta b\,\beta - \alpha/2)/\sqrt{2 C_g}, \qquad b = 1/(1 - 2\theta)

the dual is :math:`c \cdot z - \frac12 z^\top (K \otimes I_2) z` with a plain Gram matrix in both channels, and the set
is the triangle with the corners O (alpha = beta = 0: no loss), A (alpha = p: the prediction piece of Eq. 2) and
B (beta = p: the rejection piece). Projecting onto it is the only non-smooth operation of the whole solver.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_inline

# Where a point of the triangle lies. Corners first: a row at a corner is settled and drops out of Newton systems.
CORNER_O, CORNER_A, CORNER_B, EDGE_OA, EDGE_OB, EDGE_AB, INSIDE = range(7)

# Field of `geometry`, the numbers that all rows of a problem share.
A1, A2, B2, C1, C2 = range(5)


@compiled
def geometry(theta: float, c_h: float, c_g: float) -> np.ndarray:
    """Corner A = p (a1, -a2) and corner B = p (0, b2) for y = +1, and the linear term (c1, c2)."""
    b = 1.0 / (1.0 - 2.0 * theta)
    return np.array(
        [
            1.0 / np.sqrt(8.0 * c_h),
            0.5 / np.sqrt(2.0 * c_g),
            theta * b / np.sqrt(2.0 * c_g),
            np.sqrt(8.0 * c_h) * (3.0 - 2.0 * theta) / 2.0,
            np.sqrt(2.0 * c_g) * (1.0 - 2.0 * theta),
        ]
    )


@compiled
def shape(geo):
    """What projections need of a geometry: the corners, and one over the squared lengths of the edges."""
    a1, a2, b2 = geo[A1], geo[A2], geo[B2]
    rise = a2 + b2
    return a1, a2, b2, 1.0 / (a1 * a1 + a2 * a2), 1.0 / b2, 1.0 / (a1 * a1 + rise * rise)


@compiled_inline
def project(qu, qv, corners):
    """Find the nearest point of the triangle of a row with label +1 and weight 1, and where it lies.

    t, s and w are where q falls on the lines OA, OB and AB; `corners` is from :func:`shape`. For a weight p one takes
    p project(q/p), so that the comparisons do not depend on the scale of the weights.
    """
    a1, a2, b2, per_oa, per_ob, per_ab = corners
    t = (a1 * per_oa) * qu - (a2 * per_oa) * qv
    s = qv * per_ob
    if t <= 0.0 and s <= 0.0:
        return 0.0, 0.0, CORNER_O
    rise = a2 + b2
    w = (rise * (qv + a2) - a1 * (qu - a1)) * per_ab
    if t >= 1.0 and w <= 0.0:
        return a1, -a2, CORNER_A
    if s >= 1.0 and w >= 1.0:
        return 0.0, b2, CORNER_B
    if 0.0 < t < 1.0 and a1 * qv + a2 * qu <= 0.0:
        return t * a1, -t * a2, EDGE_OA
    if 0.0 < s < 1.0 and qu <= 0.0:
        return 0.0, qv, EDGE_OB
    if 0.0 < w < 1.0 and a1 * (qv + a2) + rise * (qu - a1) >= 0.0:
        return (1.0 - w) * a1, w * rise - a2, EDGE_AB
    return qu, qv, INSIDE


@compiled
def nearest_on(face, qu, qv, corners):
    """Find the nearest point of one edge of the same triangle, or of all of it for the face INSIDE."""
    a1, a2, b2, per_oa, _, per_ab = corners
    if face == EDGE_OA:
        t = min(max((a1 * per_oa) * qu - (a2 * per_oa) * qv, 0.0), 1.0)
        return t * a1, -t * a2
    if face == EDGE_OB:
        return 0.0, min(max(qv, 0.0), b2)
    if face == EDGE_AB:
        rise = a2 + b2
        w = min(max((rise * (qv + a2) - a1 * (qu - a1)) * per_ab, 0.0), 1.0)
        return (1.0 - w) * a1, w * rise - a2
    nu, nv, _ = project(qu, qv, corners)
    return nu, nv


@compiled_inline
def nearest(qu, qv, corners):
    """Project as :func:`project` without a branch, so that loops over rows run in vector registers.

    What applies last is what `project` asks first. All tests are linear in q: squared distances would lose an edge near
    a corner when q is far away.
    """
    a1, a2, b2, per_oa, per_ob, per_ab = corners
    rise = a2 + b2
    t = (a1 * per_oa) * qu - (a2 * per_oa) * qv
    s = qv * per_ob
    w = (rise * (qv + a2) - a1 * (qu - a1)) * per_ab
    x, z, face = qu, qv, INSIDE
    on = (w > 0.0) & (w < 1.0) & (a1 * (qv + a2) + rise * (qu - a1) >= 0.0)
    x, z, face = ((1.0 - w) * a1, w * rise - a2, EDGE_AB) if on else (x, z, face)
    on = (s > 0.0) & (s < 1.0) & (qu <= 0.0)
    x, z, face = (0.0, qv, EDGE_OB) if on else (x, z, face)
    on = (t > 0.0) & (t < 1.0) & (a1 * qv + a2 * qu <= 0.0)
    x, z, face = (t * a1, -t * a2, EDGE_OA) if on else (x, z, face)
    on = (s >= 1.0) & (w >= 1.0)
    x, z, face = (0.0, b2, CORNER_B) if on else (x, z, face)
    on = (t >= 1.0) & (w <= 0.0)
    x, z, face = (a1, -a2, CORNER_A) if on else (x, z, face)
    on = (t <= 0.0) & (s <= 0.0)
    x, z, face = (0.0, 0.0, CORNER_O) if on else (x, z, face)
    return x, z, face


@compiled
def edge(face, sign, geo):
    """Return the unit direction of an edge of the triangle of a row with that label."""
    if face == EDGE_OA:
        length = np.sqrt(geo[A1] * geo[A1] + geo[A2] * geo[A2])
        return sign * geo[A1] / length, -geo[A2] / length
    if face == EDGE_OB:
        return 0.0, 1.0
    rise = geo[A2] + geo[B2]
    length = np.sqrt(geo[A1] * geo[A1] + rise * rise)
    return sign * geo[A1] / length, -rise / length
