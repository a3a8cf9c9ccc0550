r"""Sweep over the rows of a low-rank factor: exact maximisation of the dual on L L' row by row.

A row costs two inner products with the image :math:`L^\top z`, so a sweep is bound by reading L. It is read in single
precision; the dual point itself is double, and every gap that counts is computed from it in double precision. Two
things make the sweeps quick: a new random order each time (a fixed order needs several times as many), and
that most of them visit the rows off the corners only.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_sums
from exml_sim.rejection._simd import fetch
from exml_sim.rejection._triangle import A1, A2, B2, C1, C2, CORNER_B, project, shape

AHEAD = 4  # visits between asking for a row and using it
LINE = 16  # numbers of single precision in a line of the cache


@compiled
def bout_factor(factor, square, size, steps, order, active, y, p, geo, u, v, iu, iv, face, sweeps, state):
    """Sweeps over the rows that the sweep before left off the corners, in random order; the last over all rows.

    Parameters
    ----------
    factor : ndarray of float32, shape (m, r)
        L in a unit in which its entries are at most 1.
    square, size : float
        The square of that unit, and the unit of the image: numbers in single precision must be neither huge nor tiny.
    steps : ndarray
        One over the squared length of every row of L.
    order, active : ndarray, int
        All rows, the first `active` of which are to be visited first; shuffled in place.
    iu, iv : ndarray of float32
        The image of z in its units; kept up to date.
    state : ndarray of uint64, shape (1,)
        Of the random numbers.

    Returns
    -------
    gap : float
        The duality gap as the last sweep met it, each row's share at the time of its visit.
    moved, active : int
        Rows that moved in the last sweep; rows for the next bout to begin with.
    """
    m, rank = factor.shape
    corners, c1, c2, scale, per = shape(geo), geo[C1], geo[C2], square * size, 1.0 / size
    gap, moved = 0.0, 0
    count = active
    for left in range(sweeps - 1, -1, -1):
        count = m if left == 0 else count
        shuffle(order, count, state)
        kept = 0
        for k in range(count):
            i = order[k]
            if k + AHEAD < count:
                start = order[k + AHEAD] * rank
                for j in range(0, rank, LINE):
                    fetch(factor, start + j)
            row, share = factor[i], 1.0 / p[i]
            ku, kv = two_dots(row, iu, iv, rank)
            own, su, sv = y[i] * u[i], c1 - y[i] * scale * ku, c2 - scale * kv
            if left == 0:
                gap += max(0.0, p[i] * (geo[A1] * su - geo[A2] * sv), p[i] * geo[B2] * sv) - (su * own + sv * v[i])
            nu, nv, where = project(share * (own + steps[i] * su), share * (v[i] + steps[i] * sv), corners)
            face[i] = where
            du, dv = y[i] * p[i] * nu - u[i], p[i] * nv - v[i]
            if du != 0.0 or dv != 0.0:
                u[i] += du
                v[i] += dv
                add_twice(row, per * du, per * dv, iu, iv, rank)
                moved += left == 0
            if where > CORNER_B:
                order[k], order[kept] = order[kept], i
                kept += 1
        count = kept
    return gap, moved, count


@compiled
def shuffle(order, n, state):
    """Put the first n entries into a random order (xorshift; its bias of 2^-32 is nothing here)."""
    x = state[0]
    for k in range(n - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = ((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32)
        order[k], order[j] = order[j], order[k]
    state[0] = x


@compiled_sums
def two_dots(row, x, y, n):
    """Inner products of a row with two vectors in single precision, in one pass."""
    s, t = np.float32(0.0), np.float32(0.0)
    for k in range(n):
        s += row[k] * x[k]
        t += row[k] * y[k]
    return s, t


@compiled_sums
def add_twice(row, s, t, x, y, n):
    """``x += s * row; y += t * row`` in single precision, in one pass over the row."""
    s, t = np.float32(s), np.float32(t)
    for k in range(n):
        x[k] += s * row[k]
        y[k] += t * row[k]
