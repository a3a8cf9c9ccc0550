r"""The dual's feasible set, row by row: a triangle in the plane.

Per row the dual has a pair (alpha, beta) >= 0 with alpha + beta <= p, p the weight of the row. In the coordinates

.. math:: u = y\,\alpha/\sqrt{8 C_h}, \qquad v = (\theta b\,\beta - \alpha/2)/\sqrt{2 C_g}, \qquad b = 1/(1 - 2\theta)

the dual is :math:`c \cdot z - \frac12 z^\top (K \otimes I_2) z` with a plain Gram matrix in both channels, and the set
is the triangle with the corners O (alpha = beta = 0: no loss), A (alpha = p: the prediction piece of Eq. 2) and
B (beta = p: the rejection piece). Projecting onto it is the only non-smooth operation of the whole solver.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled, compiled_inline

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


@compiled_inline
def project(qu: float, qv: float, p: float, geo: np.ndarray) -> tuple[float, float, int]:
    """Nearest point of the triangle of a row with label +1 and weight p, and where it lies.

    Works in units of p, so that the comparisons do not depend on the scale of the weights.
    """
    a1, a2, b2 = geo[A1], geo[A2], geo[B2]
    qu, qv = qu / p, qv / p
    d1 = a1 * qu - a2 * qv
    d2 = b2 * qv
    if d1 <= 0.0 and d2 <= 0.0:
        return 0.0, 0.0, CORNER_O
    aa = a1 * a1 + a2 * a2
    ab = -a2 * b2
    bb = b2 * b2
    d3 = d1 - aa
    d4 = d2 - ab
    if d3 >= 0.0 and d4 <= d3:
        return p * a1, -p * a2, CORNER_A
    d5 = d1 - ab
    d6 = d2 - bb
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, p * b2, CORNER_B
    if d1 >= 0.0 and d3 <= 0.0 and d1 * d4 - d3 * d2 <= 0.0:
        t = p * (d1 / aa)
        return t * a1, -t * a2, EDGE_OA
    if d2 >= 0.0 and d6 <= 0.0 and d5 * d2 - d1 * d6 <= 0.0:
        return 0.0, p * qv, EDGE_OB
    to_b = d4 - d3
    to_a = d5 - d6
    if to_b >= 0.0 and to_a >= 0.0 and d3 * d6 - d5 * d4 <= 0.0:
        w = to_b / (to_b + to_a)
        return p * (1.0 - w) * a1, p * (w * b2 - (1.0 - w) * a2), EDGE_AB
    return p * qu, p * qv, INSIDE


@compiled
def edge(face, sign, geo):
    """Unit direction of an edge of the triangle of a row with that label."""
    if face == EDGE_OA:
        length = np.sqrt(geo[A1] * geo[A1] + geo[A2] * geo[A2])
        return sign * geo[A1] / length, -geo[A2] / length
    if face == EDGE_OB:
        return 0.0, 1.0
    rise = geo[A2] + geo[B2]
    length = np.sqrt(geo[A1] * geo[A1] + rise * rise)
    return sign * geo[A1] / length, -rise / length
