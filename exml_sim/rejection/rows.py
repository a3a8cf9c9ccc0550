"""Row-by-row loops of the low-rank solver."""

from __future__ import annotations

import math

import numpy as np

from exml_sim.compiled import compiled, compiled_sums
from exml_sim.rejection.linalg import dot
from exml_sim.rejection.triangle import C1, C2, project, shape


@compiled
def sweep_factor(factor, steps, order, y, p, geo, u, v, image, face):
    """Maximise the dual on L L' over each row in turn, in the given order; returns the number of rows that moved.

    `steps` is one over the squared length of every row of L; `image` is L'z, one column per channel, and is kept up to
    date.
    """
    rank = factor.shape[1]
    iu, iv = image[:, 0].copy(), image[:, 1].copy()
    moved, corners = 0, shape(geo)
    for i in order:
        row = factor[i]
        step = steps[i]
        ku, kv = two_dots(row, iu, iv, rank)
        qu, qv = y[i] * u[i] + step * (geo[C1] - y[i] * ku), v[i] + step * (geo[C2] - kv)
        nu, nv, face[i] = project(qu / p[i], qv / p[i], corners)
        du, dv = y[i] * p[i] * nu - u[i], p[i] * nv - v[i]
        if du != 0.0 or dv != 0.0:
            u[i] += du
            v[i] += dv
            add_twice(row, du, dv, iu, iv, rank)
            moved += 1
    image[:, 0], image[:, 1] = iu, iv
    return moved


@compiled_sums
def two_dots(row, x, y, n):
    """Inner products of a row with two vectors, in one pass."""
    s, t = 0.0, 0.0
    for k in range(n):
        s += row[k] * x[k]
        t += row[k] * y[k]
    return s, t


@compiled_sums
def add_twice(row, s, t, x, y, n):
    """``x += s * row; y += t * row`` in one pass over the row."""
    for k in range(n):
        x[k] += s * row[k]
        y[k] += t * row[k]


# 1.5 * 2^52: added to a number of ordinary size it leaves the nearest whole number in the last bits of the sum.
SHIFTER = 6755399441055744.0
STRIP = 256  # columns at a time: in few dimensions they stay in the first cache
# 2^f = sum_k (f ln 2)^k / k!; for |f| <= 1/2 the terms left out are below 1e-17.
T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13 = (math.log(2.0) ** k / math.factorial(k) for k in range(1, 14))


@compiled
def powers_of_two(t, n, whole, bits, out, out_bits):
    """out = 2^t for the first n entries, 1 where t > 0; loops that vectorise, where a library call would not.

    `bits` and `out_bits` are the same memory as `whole` and `out`, read as integers.
    """
    for j in range(n):
        # No kernel value is above 1, whatever rounding makes of the exponent.
        x = min(max(t[j], -1000.0), 0.0)
        shifted = x + SHIFTER
        whole[j] = shifted
        out[j] = x - (shifted - SHIFTER)
    taylor(out, n)
    for j in range(n):
        out_bits[j] += bits[j] << 52  # adds the whole part to the exponent


@compiled_sums
def taylor(f, n):
    """2^f in place, |f| <= 1/2."""
    for j in range(n):
        x = f[j]
        x2 = x * x
        x4 = x2 * x2
        low = (1.0 + x * T1) + x2 * (T2 + x * T3)
        middle = (T4 + x * T5) + x2 * (T6 + x * T7)
        high = (T8 + x * T9) + x2 * (T10 + x * T11) + x4 * (T12 + x * T13)
        f[j] = low + x4 * (middle + x4 * high)


@compiled_sums
def exponents(columns, norms, i, start, n, t):
    """t = 2 x_i x_j - |x_i|^2 - |x_j|^2 for n columns j from `start` on, four coordinates at a time."""
    stop = start + n
    own, others = norms[i], norms[start:stop]
    for j in range(n):
        t[j] = -own - others[j]
    for k in range(0, len(columns), 4):
        f0, f1, f2, f3 = 2.0 * columns[k, i], 2.0 * columns[k + 1, i], 2.0 * columns[k + 2, i], 2.0 * columns[k + 3, i]
        x0, x1, x2, x3 = (
            columns[k, start:stop],
            columns[k + 1, start:stop],
            columns[k + 2, start:stop],
            columns[k + 3, start:stop],
        )
        for j in range(n):
            t[j] += (f0 * x0[j] + f1 * x1[j]) + (f2 * x2[j] + f3 * x3[j])


@compiled
def gaussian_forms(columns, norms, a, c):
    """a'Ka and c'Kc for K_ij = 2^(2 x_i x_j - |x_i|^2 - |x_j|^2), row by row, K never held.

    `columns` is the transpose of the points, scaled so that the kernel is a power of two, with zero rows up to a
    multiple of four.
    """
    m = columns.shape[1]
    t, whole, out = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    bits, out_bits = whole.view(np.int64), out.view(np.int64)
    total_a, total_c = 0.0, 0.0
    for i in range(m):
        total_a += a[i] * a[i]
        total_c += c[i] * c[i]
    for start in range(0, m, STRIP):
        strip_a, strip_c = 0.0, 0.0
        for i in range(start + 1, m):
            n = min(STRIP, i - start)
            exponents(columns, norms, i, start, n, t)
            powers_of_two(t, n, whole, bits, out, out_bits)
            strip_a += a[i] * dot(out, a[start:], n)
            strip_c += c[i] * dot(out, c[start:], n)
        total_a += 2.0 * strip_a
        total_c += 2.0 * strip_c
    return total_a, total_c
