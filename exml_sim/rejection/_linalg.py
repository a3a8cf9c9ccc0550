"""Provide dense linear algebra on small systems, inside compiled code.

BLAS is kept out of the solve on purpose: a threaded BLAS call costs milliseconds in thread hand-over on small machines
and oversubscribes the cores when trials already run in parallel.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_inline, compiled_sums
from exml_sim.rejection._simd import WIDTH, fused, load, minus, plus, store, times, total, zeros

BLOCK = 4  # rows that a factorisation finishes at a time
SCRATCH = 2 * WIDTH  # columns to the right of a system that its factorisation writes to


@compiled_sums
def dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    """Compute the inner product of the first n entries."""
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s


@compiled
def copy_two(s: np.ndarray, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """``x[:] = s; y[:] = t``: written so, numba would compile a message about shapes into every caller."""
    for i in range(len(s)):
        x[i], y[i] = s[i], t[i]


@compiled
def add_rows(matrix: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """``x += matrix' s; y += matrix' t``, skipping rows where both are zero.

    Four rows in one pass: x and y are read and written a quarter as often.
    """
    rows = np.empty(len(s), np.int64)
    count = 0
    for i in range(len(s)):
        rows[count] = i
        count += s[i] != 0.0 or t[i] != 0.0
    whole = count - count % BLOCK
    for k in range(0, whole, BLOCK):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        add_four(matrix, a, b, c, d, s[a], s[b], s[c], s[d], t[a], t[b], t[c], t[d], x, y)
    if whole < count:
        # Places without a row hold any one, no times.
        a, last = rows[whole], count - 1
        b, c = rows[min(whole + 1, last)], rows[min(whole + 2, last)]
        s1, t1 = (s[b], t[b]) if whole + 1 < count else (0.0, 0.0)
        s2, t2 = (s[c], t[c]) if whole + 2 < count else (0.0, 0.0)
        add_four(matrix, a, b, c, c, s[a], s1, s2, 0.0, t[a], t1, t2, 0.0, x, y)


@compiled
def add_four(matrix, a, b, c, d, s0, s1, s2, s3, t0, t1, t2, t3, x, y):
    """Add multiples of the rows a to d of a matrix to x and to y."""
    n = matrix.shape[1]
    r0, r1, r2, r3 = matrix[a], matrix[b], matrix[c], matrix[d]
    whole = n - n % WIDTH
    for i in range(0, whole, WIDTH):
        v0, v1, v2, v3 = load(r0, i), load(r1, i), load(r2, i), load(r3, i)
        store(x, i, minus(minus(minus(minus(load(x, i), -s0, v0), -s1, v1), -s2, v2), -s3, v3))
        store(y, i, minus(minus(minus(minus(load(y, i), -t0, v0), -t1, v1), -t2, v2), -t3, v3))
    for i in range(whole, n):
        x[i] += (s0 * r0[i] + s1 * r1[i]) + (s2 * r2[i] + s3 * r3[i])
        y[i] += (t0 * r0[i] + t1 * r1[i]) + (t2 * r2[i] + t3 * r3[i])


@compiled
def padded(n: int) -> int:
    """Round up to a multiple of four: the size at which a system of n unknowns is factorised."""
    size: int = n + (-n) % BLOCK
    return size


@compiled
def pad(a: np.ndarray, n: int) -> int:
    """Bring the leading n x n block to its padded size with ones on the diagonal, and clear the scratch beyond.

    Only the upper triangle is written, and only it is ever read.
    """
    size: int = padded(n)
    for i in range(size):
        a[i, max(n, i) : size + SCRATCH] = 0.0
        if i >= n:
            a[i, i] = 1.0
    return size


@compiled
def cholesky(a: np.ndarray, n: int) -> bool:
    """Upper factor U with U'U = A of the leading n x n block, in place; False if a pivot is not positive.

    n is a multiple of four, see :func:`pad`; columns n to n + SCRATCH are written to. Four rows at a time, sixteen
    columns of them in registers while all rows above are taken off: 64 products for twelve loads.
    """
    for i in range(0, n, BLOCK):
        left, right = _take_off(a, i, i, i)
        _put(a, i, i, left)
        sound, corner = _factor_corner(a, i)
        if not sound:
            return False
        _finish(a, i, i, left, corner)
        _finish(a, i, i + WIDTH, right, corner)
        _solve_columns(a, i, i + 2 * WIDTH, n, corner)
    return True


@compiled
def _solve_columns(a: np.ndarray, i: int, first: int, stop: int, corner: tuple[float, ...]) -> None:
    """Finish rows i to i + 3 in columns first..stop-1 and up to fifteen more, given their corner."""
    for j in range(first, stop, 2 * WIDTH):
        left, right = _take_off(a, i, j, i)
        _finish(a, i, j, left, corner)
        _finish(a, i, j + WIDTH, right, corner)


@compiled_inline
def _take_off(a, i, j, above):
    """Rows i to i + 3 of A - U'U in sixteen columns from j on, U its first `above` rows; eight columns and eight."""
    j2 = j + WIDTH
    r0, r1, r2, r3 = a[i], a[i + 1], a[i + 2], a[i + 3]
    p0, p1, p2, p3 = load(r0, j), load(r1, j), load(r2, j), load(r3, j)
    q0, q1, q2, q3 = load(r0, j2), load(r1, j2), load(r2, j2), load(r3, j2)
    for k in range(above):
        row = a[k]
        v, w = load(row, j), load(row, j2)
        c0, c1, c2, c3 = row[i], row[i + 1], row[i + 2], row[i + 3]
        p0, q0 = minus(p0, c0, v), minus(q0, c0, w)
        p1, q1 = minus(p1, c1, v), minus(q1, c1, w)
        p2, q2 = minus(p2, c2, v), minus(q2, c2, w)
        p3, q3 = minus(p3, c3, v), minus(q3, c3, w)
    return (p0, p1, p2, p3), (q0, q1, q2, q3)


@compiled_inline
def _put(a, i, j, four):
    """Store eight columns of four rows."""
    store(a[i], j, four[0])
    store(a[i + 1], j, four[1])
    store(a[i + 2], j, four[2])
    store(a[i + 3], j, four[3])


@compiled
def _factor_corner(a, i):
    """Factor of the 4 x 4 corner at i: whether there is one, one over its diagonal, and the entries above that."""
    none = (False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    pivot = a[i, i]
    if not pivot > 0.0:
        return none
    d0 = 1.0 / np.sqrt(pivot)
    u01, u02, u03 = a[i, i + 1] * d0, a[i, i + 2] * d0, a[i, i + 3] * d0
    pivot = a[i + 1, i + 1] - u01 * u01
    if not pivot > 0.0:
        return none
    d1 = 1.0 / np.sqrt(pivot)
    u12, u13 = (a[i + 1, i + 2] - u01 * u02) * d1, (a[i + 1, i + 3] - u01 * u03) * d1
    pivot = a[i + 2, i + 2] - u02 * u02 - u12 * u12
    if not pivot > 0.0:
        return none
    d2 = 1.0 / np.sqrt(pivot)
    u23 = (a[i + 2, i + 3] - u02 * u03 - u12 * u13) * d2
    pivot = a[i + 3, i + 3] - u03 * u03 - u13 * u13 - u23 * u23
    if not pivot > 0.0:
        return none
    return True, (d0, d1, d2, 1.0 / np.sqrt(pivot), u01, u02, u12, u03, u13, u23)


@compiled_inline
def _finish(a, i, j, four, corner):
    """Solve eight columns of four rows against the factor of their corner, and store them."""
    d0, d1, d2, d3, u01, u02, u12, u03, u13, u23 = corner
    r0 = times(d0, four[0])
    r1 = times(d1, minus(four[1], u01, r0))
    r2 = times(d2, minus(minus(four[2], u02, r0), u12, r1))
    r3 = times(d3, minus(minus(minus(four[3], u03, r0), u13, r1), u23, r2))
    _put(a, i, j, (r0, r1, r2, r3))


@compiled
def solve_columns(a: np.ndarray, n: int, count: int) -> None:
    """Solve U'W = B in place for the `count` columns from n on, U the factor in the leading n x n block."""
    for i in range(0, n, BLOCK):
        d0, d1, d2, d3 = 1.0 / a[i, i], 1.0 / a[i + 1, i + 1], 1.0 / a[i + 2, i + 2], 1.0 / a[i + 3, i + 3]
        u03, u13, u23 = a[i, i + 3], a[i + 1, i + 3], a[i + 2, i + 3]
        corner = (d0, d1, d2, d3, a[i, i + 1], a[i, i + 2], a[i + 1, i + 2], u03, u13, u23)
        _solve_columns(a, i, n, n + count, corner)


@compiled
def take_off_columns(a: np.ndarray, n: int, count: int) -> None:
    """``C - W'W`` in place: the upper triangle of the corner below the `count` columns W from n on.

    Like :func:`cholesky` four rows by sixteen columns at a time: as many rows as that takes have to be there.
    """
    for i in range(n, n + count, BLOCK):
        for j in range(i - (i - n) % (2 * WIDTH), n + count, 2 * WIDTH):
            left, right = _take_off(a, i, j, n)
            _put(a, i, j, left)
            _put(a, i, j + WIDTH, right)


@compiled
def cholesky_solve(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``U'U x = rhs`` in place, U from :func:`cholesky`."""
    forward_substitute(a, x, n)
    back_substitute(a, x, n)


@compiled
def forward_substitute(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``U'x = rhs`` in place; four rows at a time, the odd ones at the end one by one."""
    blocked = n - n % BLOCK
    for i in range(0, blocked, BLOCK):
        r0, r1, r2, r3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        x0 = x[i] * (1.0 / r0[i])
        x1 = (x[i + 1] - x0 * r0[i + 1]) * (1.0 / r1[i + 1])
        x2 = (x[i + 2] - x0 * r0[i + 2] - x1 * r1[i + 2]) * (1.0 / r2[i + 2])
        x3 = (x[i + 3] - x0 * r0[i + 3] - x1 * r1[i + 3] - x2 * r2[i + 3]) * (1.0 / r3[i + 3])
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3
        k = i + BLOCK
        while k + WIDTH <= n:
            rest = minus(minus(load(x, k), x0, load(r0, k)), x1, load(r1, k))
            store(x, k, minus(minus(rest, x2, load(r2, k)), x3, load(r3, k)))
            k += WIDTH
        while k < n:
            x[k] -= (x0 * r0[k] + x1 * r1[k]) + (x2 * r2[k] + x3 * r3[k])
            k += 1
    for i in range(blocked, n):
        x[i] /= a[i, i]
        for k in range(i + 1, n):
            x[k] -= x[i] * a[i, k]


@compiled
def back_substitute(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``U x = rhs`` in place; the odd rows at the end first, then four at a time."""
    blocked = n - n % BLOCK
    for i in range(n - 1, blocked - 1, -1):
        for k in range(i + 1, n):
            x[i] -= a[i, k] * x[k]
        x[i] /= a[i, i]
    for i in range(blocked - BLOCK, -1, -BLOCK):
        r0, r1, r2, r3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        s0, s1, s2, s3 = _four_products(r0, r1, r2, r3, x, i + BLOCK, n)
        x3 = (x[i + 3] - s3) * (1.0 / r3[i + 3])
        x2 = (x[i + 2] - s2 - x3 * r2[i + 3]) * (1.0 / r2[i + 2])
        x1 = (x[i + 1] - s1 - x3 * r1[i + 3] - x2 * r1[i + 2]) * (1.0 / r1[i + 1])
        x0 = (x[i] - s0 - x3 * r0[i + 3] - x2 * r0[i + 2] - x1 * r0[i + 1]) * (1.0 / r0[i])
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3


@compiled
def _four_products(r0, r1, r2, r3, x, first, stop):
    """Inner products of four rows with x over first..stop-1."""
    whole = stop - (stop - first) % WIDTH
    v0 = v1 = v2 = v3 = zeros()
    for k in range(first, whole, WIDTH):
        v = load(x, k)
        v0, v1 = plus(v0, v, load(r0, k)), plus(v1, v, load(r1, k))
        v2, v3 = plus(v2, v, load(r2, k)), plus(v3, v, load(r3, k))
    s0, s1, s2, s3 = total(v0), total(v1), total(v2), total(v3)
    for k in range(whole, stop):
        s0 += r0[k] * x[k]
        s1 += r1[k] * x[k]
        s2 += r2[k] * x[k]
        s3 += r3[k] * x[k]
    return s0, s1, s2, s3


@compiled
def two_products(gram: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``gram @ a`` and ``gram @ b`` for a symmetric matrix in one pass, skipping rows where both are zero."""
    x, y = np.zeros(len(a)), np.zeros(len(a))
    add_rows(gram, a, b, x, y)
    return x, y


@compiled
def digest(gram: np.ndarray) -> tuple[bool, int]:
    """Whether all entries are finite, and a 64-bit digest of the contents, in one pass at memory speed.

    Multilinear hashing: each entry's bits times an odd number of its column, summed per row; rows are then chained.
    """
    n = len(gram)
    bits = gram.view(np.uint64)
    odd = np.empty(n, np.uint64)
    state = np.uint64(0x243F6A8885A308D3)
    for j in range(n):
        state = (state ^ (state >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j)
        odd[j] = state | np.uint64(1)
    result = np.uint64(n)
    exponent = np.uint64(0x7FF0000000000000)
    finite = True
    for i in range(n):
        row = bits[i]
        total = np.uint64(0)
        strange = 0
        for j in range(n):
            total += (row[j] ^ (row[j] >> np.uint64(32))) * odd[j]
            strange += (row[j] & exponent) == exponent
        finite = finite and strange == 0
        result = (result ^ total ^ (total >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return finite, result >> np.uint64(1)  # type: ignore[return-value]


@compiled
def asymmetry(gram: np.ndarray) -> float:
    """Compute the largest difference between an entry and its mirror image."""
    worst = 0.0
    for i in range(len(gram)):
        for j in range(i):
            worst = max(worst, abs(gram[i, j] - gram[j, i]))
    return worst


@compiled
def factor_exists(gram: np.ndarray, shift: float) -> bool:
    """Check that gram + shift * I has a Cholesky factor, that is, no eigenvalue is below -shift."""
    n = len(gram)
    copy = np.empty((padded(n), padded(n) + SCRATCH))
    for i in range(n):
        for j in range(n):
            copy[i, j] = gram[i, j]
        copy[i, i] += shift
    return bool(cholesky(copy, pad(copy, n)))


@compiled
def exact_product(gram: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, float]:
    """``gram @ a`` and ``a' gram a`` as if in twice the working precision, then rounded.

    Functions on a nearly singular Gram matrix have large coefficients that cancel: in plain arithmetic their values and
    squared norms keep half of the digits only. Error-free products and sums (Ogita, Rump and Oishi's Dot2) carry the
    lost ones along. The matrix is symmetric, so all sums grow by one row at a time: the chains of additions, each
    waiting for the last, then run side by side.
    """
    n = len(a)
    sums, rest = np.zeros(n), np.zeros(n)
    for j in range(n):
        if a[j] != 0.0:
            _add_exactly(gram[j], a[j], sums, rest)
    values = np.empty(n)
    total, lost = 0.0, 0.0
    for i in range(n):
        values[i] = sums[i] + rest[i]
        product, error = _two_product(sums[i], a[i])
        total, carry = _two_sum(total, product)
        lost += error + carry + rest[i] * a[i]
    return values, total + lost


@compiled
def _add_exactly(row: np.ndarray, factor: float, sums: np.ndarray, rest: np.ndarray) -> None:
    """``sums + rest += factor * row``, `rest` what rounding takes from `sums`."""
    for i in range(len(row)):
        product, error = _two_product(row[i], factor)
        sums[i], carry = _two_sum(sums[i], product)
        rest[i] += error + carry


@compiled_sums
def magnitudes(gram: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``|gram| @ |a|`` and ``|gram| @ |b|``: what the rounding of the products is measured against."""
    n = len(a)
    x, y = np.zeros(n), np.zeros(n)
    for i in range(n):
        s, t = abs(a[i]), abs(b[i])
        if s != 0.0 or t != 0.0:
            row = gram[i]
            for j in range(n):
                x[j] += s * abs(row[j])
                y[j] += t * abs(row[j])
    return x, y


@compiled_inline
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and its rounding error, exactly."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


@compiled_inline
def _two_product(a: float, b: float) -> tuple[float, float]:
    """a * b and its rounding error, exactly."""
    p = a * b
    return p, fused(a, b, -p)
