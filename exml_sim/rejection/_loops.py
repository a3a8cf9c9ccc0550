r"""Compiled loops of the low-rank path: Gaussian kernel values, and sweeps over the rows of a factor.

*Kernel values.* The points are centred and scaled once (:func:`scale`) so that :math:`K(x, z) = 2^{2xz - |x|^2 -
|z|^2}`: an exponent is a sum of products. Four rows at a time share what is loaded of the columns, and nothing is
written to memory that the caller does not ask for.

*Sweeps* maximise the dual on L L' row by row. A row costs two inner products with the image :math:`L^\top z`, so a
sweep is bound by reading L. It is read in single precision; the dual point itself is double, and every gap that counts
is computed from it in double precision. Two things make the sweeps quick: a new random order each time (a fixed order
needs several times as many), and that most of them visit the rows off the corners only.
"""

from __future__ import annotations

import numpy as np

from exml_sim import kernels
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.compiled import compiled, compiled_inline, compiled_sums
from exml_sim.rejection._simd import WIDTH, fetch, load, minus, plus, power_of_two, store, times, total, zeros
from exml_sim.rejection._triangle import A1, A2, B2, C1, C2, CORNER_B, project, shape

STRIP = 256  # columns at a time: in few dimensions they stay in the first cache
ROWS = 4  # rows at a time
AHEAD = 4  # visits between asking for a row and using it
LINE = 16  # numbers of single precision in a line of the cache


def scale(points: FloatArray, centre: FloatArray, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Scale points around a centre so that the kernel is a power of two; compute squared lengths."""
    scaled: FloatArray = (points - centre) * np.sqrt(np.log2(np.e) / gamma)
    return scaled, np.einsum("ij,ij->i", scaled, scaled)


def in_columns(scaled: FloatArray, norms: FloatArray, multiple: int) -> tuple[FloatArray, FloatArray]:
    """Transpose scaled points and squared lengths, padded to a multiple with points where K is 0."""
    n, d = scaled.shape
    size = multiple * -(-n // multiple)
    columns, lengths = np.zeros((d, size)), np.full(size, 1e300)
    columns[:, :n], lengths[:n] = scaled.T, norms
    return columns, lengths


def gaussian_cross(X: FloatArray, Z: FloatArray, gamma: float, space: FloatArray | None = None) -> FloatArray:
    """Compute kernel values between two sets of points, as :func:`exml_sim.kernels.gaussian` up to rounding.

    `space` is a vector of at least :func:`room` numbers that the values may be written to: fresh memory costs as much
    as they do.
    """
    middle = kernels.centre(Z)
    left, sizes = scale(X, middle, gamma)
    right, lengths = scale(Z, middle, gamma)
    if not (np.all(np.isfinite(sizes)) and np.all(np.isfinite(lengths))):
        return kernels.gaussian(X, Z, gamma=gamma)
    rows, lines = in_columns(-2.0 * left, sizes, ROWS)
    columns, lengths = in_columns(right, lengths, WIDTH)
    needed = room(len(X), len(Z))
    flat = np.empty(needed) if space is None else space[:needed]
    out = flat.reshape(len(lines), len(lengths))
    gaussian_values(np.ascontiguousarray(rows.T), lines, columns, lengths, out)
    return out[: len(X), : len(Z)]


def room(m: int, n: int) -> int:
    """Count the numbers that kernel values between m and n points take here."""
    return ROWS * -(-m // ROWS) * WIDTH * -(-n // WIDTH)


@compiled_inline
def four_rows(points, norms, i, columns, lengths, j):
    """Compute kernel values of four rows from i on and eight columns from j on; `points` hold the rows times -2."""
    d, n = columns.shape
    own = load(lengths, j)
    t0 = times(-1.0, own)
    t1, t2, t3 = t0, t0, t0
    p0, p1, p2, p3 = points[i], points[i + 1], points[i + 2], points[i + 3]
    for k in range(d):
        x = load(columns, k * n + j)
        t0, t1, t2, t3 = minus(t0, p0[k], x), minus(t1, p1[k], x), minus(t2, p2[k], x), minus(t3, p3[k], x)
    return (
        power_of_two(t0, -norms[i]),
        power_of_two(t1, -norms[i + 1]),
        power_of_two(t2, -norms[i + 2]),
        power_of_two(t3, -norms[i + 3]),
    )


@compiled
def gaussian_values(points, norms, columns, lengths, out):
    """out = K between rows, scaled and times -2, and columns; of both there are multiples of ROWS and WIDTH."""
    for i in range(0, len(points), ROWS):
        o0, o1, o2, o3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        for j in range(0, len(lengths), WIDTH):
            k0, k1, k2, k3 = four_rows(points, norms, i, columns, lengths, j)
            store(o0, j, k0)
            store(o1, j, k1)
            store(o2, j, k2)
            store(o3, j, k3)


@compiled
def gaussian_forms(points, norms, columns, lengths, a, c):
    """a'Ka and c'Kc, K never held: strips of columns, the triangle below the diagonal counted twice.

    `points` and `columns` are the same rows, filled up to a multiple of STRIP, with `a` and `c` zero there.
    """
    m = len(a)
    total_a, total_c = 0.0, 0.0
    for start in range(0, m, STRIP):
        for i in range(start, m, ROWS):
            form_a, form_c = zeros(), zeros()
            for j in range(start, start + STRIP, WIDTH):
                k0, k1, k2, k3 = four_rows(points, norms, i, columns, lengths, j)
                sum_a, sum_c = times(a[i], k0), times(c[i], k0)
                sum_a, sum_c = minus(sum_a, -a[i + 1], k1), minus(sum_c, -c[i + 1], k1)
                sum_a, sum_c = minus(sum_a, -a[i + 2], k2), minus(sum_c, -c[i + 2], k2)
                sum_a, sum_c = minus(sum_a, -a[i + 3], k3), minus(sum_c, -c[i + 3], k3)
                form_a, form_c = plus(form_a, sum_a, load(a, j)), plus(form_c, sum_c, load(c, j))
            times_counted = 1.0 if i < start + STRIP else 2.0
            total_a += times_counted * total(form_a)
            total_c += times_counted * total(form_c)
    return total_a, total_c


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
