"""Dense linear algebra on small systems, inside compiled code.

BLAS is kept out of the solve on purpose: a threaded BLAS call costs milliseconds in thread hand-over on small machines
and oversubscribes the cores when trials already run in parallel.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled, compiled_inline, compiled_sums

BLOCK = 32  # rows of a Cholesky block, a multiple of 4: with 500 columns they fill a quarter of a usual L2 cache


@compiled_sums
def dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    """Inner product of the first n entries."""
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s


@compiled_sums
def axpy2(row: np.ndarray, s: float, t: float, x: np.ndarray, y: np.ndarray, n: int) -> None:
    """``x += s * row; y += t * row`` in one pass over the row."""
    for i in range(n):
        x[i] += s * row[i]
        y[i] += t * row[i]


@compiled
def add_rows(matrix: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """``x += matrix' s; y += matrix' t``, skipping rows where both are zero.

    Four rows in one pass: x and y are read and written a quarter as often.
    """
    n = matrix.shape[1]
    used, us, ut = np.empty(len(s), np.int64), np.empty(len(s)), np.empty(len(s))
    count = 0
    for i in range(len(s)):
        used[count], us[count], ut[count] = i, s[i], t[i]
        count += s[i] != 0.0 or t[i] != 0.0
    blocked = count - count % 4
    for k in range(0, blocked, 4):
        add_four(matrix, used[k:], us[k:], ut[k:], x, y)
    for k in range(blocked, count):
        axpy2(matrix[used[k]], us[k], ut[k], x, y, n)


@compiled_sums
def add_four(matrix: np.ndarray, rows: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Four rows of a matrix, so many times each, added to x and to y."""
    r0, r1, r2, r3 = matrix[rows[0]], matrix[rows[1]], matrix[rows[2]], matrix[rows[3]]
    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
    t0, t1, t2, t3 = t[0], t[1], t[2], t[3]
    for i in range(matrix.shape[1]):
        x[i] += (s0 * r0[i] + s1 * r1[i]) + (s2 * r2[i] + s3 * r3[i])
        y[i] += (t0 * r0[i] + t1 * r1[i]) + (t2 * r2[i] + t3 * r3[i])


@compiled_sums
def cholesky(a: np.ndarray, n: int) -> bool:
    """Lower Cholesky factor of the leading n x n block, in place; False if a pivot is not positive.

    Left-looking by rows, two at a time against four earlier ones: eight products for six loads. Rows go in blocks, so
    that the earlier ones are read from memory once per block, not once per pair.
    """
    first = 0
    while first < n:
        stop = min(first + BLOCK, n)
        for j in range(0, first, 4):
            for i in range(first, stop - 1, 2):
                _eliminate_pair(a, i, j)
        if (stop - first) % 2 == 1:
            _eliminate(a, stop - 1, 0, first)
        if not _factor_block(a, first, stop):
            return False
        first = stop
    return True


@compiled_sums
def _factor_block(a: np.ndarray, first: int, stop: int) -> bool:
    """Finish rows first..stop-1, which are solved against all rows before the block."""
    for i in range(first, stop, 2):
        j = first
        if i + 1 < stop:
            while j + 4 <= i:
                _eliminate_pair(a, i, j)
                j += 4
            _eliminate(a, i + 1, j, i)
        _eliminate(a, i, j, i)
        for k in range(i, min(i + 2, stop)):
            row = a[k]
            # The second row of a pair still lacks the column of the first.
            if k > i:
                row[i] = (row[i] - dot(row, a[i], i)) / a[i, i]
            pivot = row[k] - dot(row, row, k)
            if not pivot > 0.0:
                return False
            row[k] = np.sqrt(pivot)
    return True


@compiled_sums
def _eliminate_pair(a: np.ndarray, i: int, j: int) -> None:
    """Solve rows i and i + 1 against rows j..j+3."""
    x, y = a[i], a[i + 1]
    r0, r1, r2, r3 = a[j], a[j + 1], a[j + 2], a[j + 3]
    s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
    for k in range(j):
        p, q = x[k], y[k]
        s0 += p * r0[k]
        s1 += p * r1[k]
        s2 += p * r2[k]
        s3 += p * r3[k]
        t0 += q * r0[k]
        t1 += q * r1[k]
        t2 += q * r2[k]
        t3 += q * r3[k]
    x[j] = (x[j] - s0) / r0[j]
    x[j + 1] = (x[j + 1] - s1 - x[j] * r1[j]) / r1[j + 1]
    x[j + 2] = (x[j + 2] - s2 - x[j] * r2[j] - x[j + 1] * r2[j + 1]) / r2[j + 2]
    x[j + 3] = (x[j + 3] - s3 - x[j] * r3[j] - x[j + 1] * r3[j + 1] - x[j + 2] * r3[j + 2]) / r3[j + 3]
    y[j] = (y[j] - t0) / r0[j]
    y[j + 1] = (y[j + 1] - t1 - y[j] * r1[j]) / r1[j + 1]
    y[j + 2] = (y[j + 2] - t2 - y[j] * r2[j] - y[j + 1] * r2[j + 1]) / r2[j + 2]
    y[j + 3] = (y[j + 3] - t3 - y[j] * r3[j] - y[j + 1] * r3[j + 1] - y[j + 2] * r3[j + 2]) / r3[j + 3]


@compiled_sums
def _eliminate(a: np.ndarray, i: int, start: int, stop: int) -> None:
    """Solve row i against rows start..stop-1, one by one."""
    x = a[i]
    for j in range(start, stop):
        x[j] = (x[j] - dot(x, a[j], j)) / a[j, j]


@compiled
def eliminate_rows(a: np.ndarray, first: int, stop: int) -> None:
    """Solve rows first..stop-1 against all rows before them, which hold a factor; not against each other."""
    blocked = first - first % 4
    for j in range(0, blocked, 4):
        for i in range(first, stop - 1, 2):
            _eliminate_pair(a, i, j)
    for i in range(first, stop):
        _eliminate(a, i, 0 if i == stop - 1 and (stop - first) % 2 == 1 else blocked, first)


@compiled
def cholesky_solve(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``L L' x = rhs`` in place, L from :func:`cholesky`."""
    forward_substitute(a, x, n)
    back_substitute(a, x, n)


@compiled_sums
def forward_substitute(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``L x = rhs`` in place."""
    for i in range(n):
        s = 0.0
        ri = a[i]
        for k in range(i):
            s += ri[k] * x[k]
        x[i] = (x[i] - s) / ri[i]


@compiled_sums
def back_substitute(a: np.ndarray, x: np.ndarray, n: int) -> None:
    """Solve ``L' x = rhs`` in place."""
    for i in range(n - 1, -1, -1):
        ri = a[i]
        xi = x[i] / ri[i]
        x[i] = xi
        for k in range(i):
            x[k] -= xi * ri[k]


@compiled_sums
def pivoted_cholesky(gram: np.ndarray, max_rank: int, tolerance: float) -> tuple[np.ndarray, int]:
    """Factor with ``gram ~ L L'``, pivots chosen greedily, until the trace of the rest is below a share of the trace.

    Returns
    -------
    factor : ndarray, shape (m, rank)
        Rank 0 if the tolerance is out of reach: at a quarter of the allowed rank the decay so far is extrapolated, so
        that a matrix of high rank costs little to turn down.
    rank : int
    """
    m = len(gram)
    rest = np.empty(m)
    trace = 0.0
    for i in range(m):
        rest[i] = gram[i, i]
        trace += gram[i, i]
    columns = np.empty((max_rank, m))  # transposed: one contiguous row per pivot
    target = tolerance * trace
    rank = 0
    left = trace
    while left > target:
        if rank == max_rank:
            return np.empty((m, 0)), 0
        if rank == max_rank // 4 and rank > 0 and left > trace * (target / trace) ** 0.2:
            return np.empty((m, 0)), 0
        pivot = 0
        for i in range(1, m):
            if rest[i] > rest[pivot]:
                pivot = i
        root = np.sqrt(rest[pivot])
        new = columns[rank]
        new[:] = gram[pivot]
        for k in range(rank):
            old = columns[k]
            w = old[pivot]
            for i in range(m):
                new[i] -= w * old[i]
        left = 0.0
        for i in range(m):
            new[i] /= root
            rest[i] = max(rest[i] - new[i] * new[i], 0.0)
            left += rest[i]
        rest[pivot] = 0.0
        rank += 1
    factor = np.empty((m, rank))
    for i in range(m):
        for k in range(rank):
            factor[i, k] = columns[k, i]
    return factor, rank


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
    """Largest difference between an entry and its mirror image."""
    worst = 0.0
    for i in range(len(gram)):
        for j in range(i):
            worst = max(worst, abs(gram[i, j] - gram[j, i]))
    return worst


@compiled
def lower_factor_exists(gram: np.ndarray, shift: float) -> bool:
    """Whether gram + shift * I has a Cholesky factor, that is, no eigenvalue is below -shift."""
    copy = gram.copy()
    for i in range(len(gram)):
        copy[i, i] += shift
    return bool(cholesky(copy, len(gram)))


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
    """a * b and its rounding error, exactly, by Veltkamp's splitting."""
    p = a * b
    c = 134217729.0 * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
