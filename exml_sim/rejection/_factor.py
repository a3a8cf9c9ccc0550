r"""Factorise kernel matrices that are never formed: K = L L' + R with L of shape (m, r).

Landmarks are drawn one after the other with odds proportional to what the ones before leave of K(x, x) (randomly
pivoted Cholesky), in blocks so that the work is matrix products. With S the landmarks and :math:`T T' = K_{SS}`, the
factor is :math:`L = K_{\cdot S} T^{-\top}` and the rest :math:`R = K - K_{\cdot S} K_{SS}^{-1} K_{S\cdot}` is positive
semidefinite. A function :math:`h = \sum_s a_s K(\cdot, x_s)` has the values L t at the rows and the norm |t|, with
:math:`t = T^\top a`: the problem on L L' is the full problem over the functions spanned by the landmarks.

Rows are streamed in chunks; memory is m r numbers for L and a few chunks, see :func:`memory_needed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm

from exml_sim import kernels
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_choice, check_count
from exml_sim.rejection._loops import ROWS, gaussian_cross, gaussian_values, in_columns, room, scale
from exml_sim.rejection._simd import WIDTH

Index = NDArray[np.intp]

#: Up to this many rows the Gram matrix itself is used where nobody says otherwise.
EXACT_ROWS = 2000
#: Landmarks where nobody says how many.
DEFAULT_RANK = 400
#: Landmarks are drawn until so little of the trace is left.
TRACE_LEFT = 1e-11
#: A landmark whose own rest is below this share of the largest K(x, x) would only bring rounding.
SMALLEST_PIVOT = 1e-11
BLOCK = 64
CHUNK = 4096
#: Rows at a time while landmarks are drawn: they stay in the cache. A power of two would crowd a few of its lines.
ROUND = 1000


@dataclass(frozen=True, slots=True, eq=False)
class LowRankFactor:
    """A kernel matrix on given points as L L' + R, made by :func:`factorise`.

    Rows may be taken out for folds; what was learnt on some rows predicts anywhere, from the landmarks alone.

    Attributes
    ----------
    points : ndarray, shape (m, d)
        The rows.
    kernel : {"gaussian", "linear"}
    gamma : float or None
        Bandwidth of the Gaussian kernel.
    landmarks : ndarray, shape (r, d)
        Points that span the functions of the model.
    triangle : ndarray, shape (r, r)
        Lower Cholesky factor T of the kernel matrix of the landmarks.
    values : ndarray, shape (m, r)
        L.
    rest : ndarray, shape (m,)
        Diagonal of R, never negative.
    """

    points: FloatArray
    kernel: str
    gamma: float | None
    landmarks: FloatArray
    triangle: FloatArray
    values: FloatArray
    rest: FloatArray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def rank(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    @property
    def diagonal(self) -> FloatArray:
        """K(x, x) at the rows."""
        return _diagonal(self.points, self.kernel)

    @property
    def left_out(self) -> float:
        """Share of the trace of K that the factor leaves out."""
        return float(np.sum(self.rest) / max(float(np.sum(self.diagonal)), 1e-300))

    def take(self, rows: ArrayLike) -> LowRankFactor:
        """Restrict the factor to rows (indices or a mask), for folds: the landmarks stay."""
        chosen = np.asarray(rows)
        return replace(self, points=self.points[chosen], values=self.values[chosen], rest=self.rest[chosen])

    def cross(self, Z: ArrayLike, space: FloatArray | None = None) -> FloatArray:
        """Compute kernel values between points and landmarks, shape (n, r), in `space` where that is possible."""
        return kernel_values(np.asarray(Z, dtype=np.float64), self.landmarks, self.kernel, self.gamma, space)

    def coefficients(self, t: FloatArray) -> FloatArray:
        """Compute coefficients at the landmarks of the function with the values L t: a with T' a = t."""
        solved: FloatArray = solve_triangular(self.triangle, t, lower=True, trans="T", check_finite=False)
        return solved


def factorise(
    X: ArrayLike,
    *,
    kernel: str = "gaussian",
    gamma: kernels.Gamma = "median",
    rank: int = DEFAULT_RANK,
    seed: int = 0,
) -> LowRankFactor:
    """Draw landmarks among the rows of X and factorise the kernel matrix on them.

    Parameters
    ----------
    X : array_like, shape (m, d)
    kernel : {"gaussian", "linear"}
        Other kernels have no low-rank path: use their Gram matrix.
    gamma : "median", float or callable
        Bandwidth of the Gaussian kernel; the median is that of :func:`exml_sim.kernels.median_gamma`, from a sample of
        the rows where there are many.
    rank : int
        Landmarks at most. Fewer are taken when nothing is left of the kernel matrix, as with duplicated rows or with a
        linear kernel in few dimensions.
    seed : int
        Of the draw of the landmarks; the same rows and seed give the same factor.
    """
    points = np.ascontiguousarray(kernels.check_points(X, "X"))
    check_low_rank(kernel)
    limit = check_rank(rank, len(points))
    bandwidth = kernels.resolve_gamma(points, gamma) if kernel == "gaussian" else None
    with one_thread("blas"):
        return _Drawing(points, kernel, bandwidth, limit, seed).run()


def check_low_rank(kernel: Any) -> None:
    """Refuse kernels without a low-rank path."""
    if kernel == "precomputed" or callable(kernel):
        what = "a precomputed" if kernel == "precomputed" else "a callable"
        raise ValueError(f"{what} kernel has no low-rank path: use rank=None, or kernel 'gaussian' or 'linear'")
    check_choice(kernel, "kernel", ("gaussian", "linear"))


def check_rank(rank: Any, m: int) -> int:
    """Check for a number of landmarks between 1 and the number of rows."""
    value = check_count(rank, "rank")
    if value > m:
        raise ValueError(f"rank must be at most the number of rows, {m}; got {value}")
    return value


def memory_needed(m: int, rank: int | None = None, *, d: int = 0) -> int:
    """Bound the bytes that a fit needs on top of the interpreter and its libraries.

    On the low-rank path measured peaks are a third of it or more while the rank is small next to the rows. A rank that
    is not, a linear kernel in many columns, or landmarks that run out early, need less.

    Parameters
    ----------
    m : int
        Rows.
    rank : int or None
        Landmarks; None for the exact path: the Gram matrix, the copies that its checks make, and the temporaries of
        its computation from points.
    d : int
        Columns of the points.
    """
    word = 8
    if rank is None:
        return word * (6 * m * m + m * d + 40 * m)
    r = min(rank, m)
    chunk, pairs = min(CHUNK, m), m if m <= kernels.MEDIAN_ROWS else kernels.MEDIAN_SAMPLE
    # What stays: the factor (in single precision too), points (as numbers, centred and scaled), vectors. What comes and
    # goes: distances for the bandwidth, Newton systems of twice the rank with the sums that they are made from, kernel
    # values of a chunk.
    kept = m * r + m * r // 2 + 5 * m * d + 60 * m
    return word * (kept + max(4 * pairs * pairs, 24 * r * r + chunk * r, 5 * chunk * r))


def largest_rank(m: int, memory: int, *, d: int = 0) -> int:
    """Find the largest rank with which the rows fit into memory; 0 if none does."""
    low, high = 0, m + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if memory_needed(m, middle, d=d) <= memory else (low, middle)
    return low


class _Values:
    """Kernel values of a few rows with chunks of all rows, which are prepared once."""

    def __init__(self, points: FloatArray, kernel: str, gamma: float | None, parts: list[slice]) -> None:
        self.points, self.kernel, self.gamma, self.parts = points, kernel, gamma, parts
        self.quick = False
        if kernel == "gaussian":
            assert gamma is not None
            self.scaled, self.lengths = scale(points, kernels.centre(points), gamma)
            self.quick = bool(np.all(np.isfinite(self.lengths)))
        if self.quick:
            self.columns = [in_columns(self.scaled[part], self.lengths[part], WIDTH) for part in parts]
            self.space = np.empty(room(BLOCK, min(ROUND, len(points))))

    def lines(self, rows: list[int]) -> Iterator[FloatArray]:
        """Kernel values of at most BLOCK rows with each chunk, one line per row; each result gives way to the next."""
        if not self.quick:
            for part in self.parts:
                yield kernel_values(self.points[rows], self.points[part], self.kernel, self.gamma)
            return
        marks, sizes = in_columns(-2.0 * self.scaled[rows], self.lengths[rows], ROWS)
        marks = np.ascontiguousarray(marks.T)
        for part, (columns, lengths) in zip(self.parts, self.columns, strict=True):
            out = self.space[: len(sizes) * len(lengths)].reshape(len(sizes), -1)
            gaussian_values(marks, sizes, columns, lengths, out)
            yield out[: len(rows), : part.stop - part.start]


class _Drawing:
    """A factor under construction: landmarks are drawn block by block until rank or trace runs out.

    Rows are held in chunks, each transposed: a block of landmarks is then a few contiguous lines of each, filled in
    place by one matrix product and one triangular solve.
    """

    def __init__(self, points: FloatArray, kernel: str, gamma: float | None, rank: int, seed: int) -> None:
        self.points, self.kernel, self.gamma, self.rank = points, kernel, gamma, rank
        self.flat = np.empty(len(points) * rank)
        self.parts = chunks(len(points), ROUND)
        self.chunk_factors = [self.flat[part.start * rank : part.stop * rank].reshape(rank, -1) for part in self.parts]
        self.triangle = np.zeros((rank, rank))
        self.chosen: list[int] = []
        self.rest = _diagonal(points, kernel)
        self.rng = np.random.default_rng(seed)
        self.values = _Values(points, kernel, gamma, self.parts)

    def run(self) -> LowRankFactor:
        top, trace = float(np.max(self.rest)), float(np.sum(self.rest))
        floor = SMALLEST_PIVOT * top
        while len(self.chosen) < self.rank and float(np.sum(self.rest)) > TRACE_LEFT * trace:
            self.rest[self.rest <= floor] = 0.0
            if not np.any(self.rest > 0.0):
                break
            self._block(min(BLOCK, self.rank - len(self.chosen)), floor)
        return self._finish()

    def _block(self, size: int, floor: float) -> None:
        """Draw candidates by their residual diagonal, accept some of them, and eliminate them."""
        k = len(self.chosen)
        odds = self.rest / np.sum(self.rest)
        drawn = list(dict.fromkeys(self.rng.choice(len(odds), size=size, p=odds).tolist()))
        own = self._lines(drawn)
        block = kernel_values(self.points[drawn], self.points[drawn], self.kernel, self.gamma) - own @ own.T
        kept = _accept(block, self.rest[drawn], self.rng.random(len(drawn)), floor)
        rows = [drawn[j] for j in kept]
        corner = self._corner(block[np.ix_(kept, kept)])
        new = slice(k, k + len(rows))
        before = np.ascontiguousarray(own[kept])
        lines = np.asfortranarray(corner)
        for part, chunk_factor, values in zip(self.parts, self.chunk_factors, self.values.lines(rows), strict=True):
            fresh = chunk_factor[new]
            np.matmul(before, chunk_factor[:k], out=fresh)
            np.subtract(values, fresh, out=fresh)
            dtrsm(1.0, lines, fresh.T, side=1, lower=1, trans_a=1, overwrite_b=1)
            self.rest[part] = np.maximum(self.rest[part] - np.einsum("ij,ij->j", fresh, fresh), 0.0)
        for row, line in zip(rows, corner, strict=True):
            self.chunk_factors[row // ROUND][new, row % ROUND] = line
        self.rest[rows] = 0.0
        self.triangle[new, :k] = before
        self.triangle[new, new] = corner
        self.chosen += rows

    def _lines(self, rows: list[int]) -> FloatArray:
        """Return the present rows of L."""
        k = len(self.chosen)
        return np.array([self.chunk_factors[row // ROUND][:k, row % ROUND] for row in rows]).reshape(len(rows), k)

    def _corner(self, block: FloatArray) -> FloatArray:
        """Compute the Cholesky factor of the new landmarks given the earlier ones."""
        try:
            return np.asarray(np.linalg.cholesky(block), dtype=np.float64)
        except np.linalg.LinAlgError:
            # A distance of a row to itself is 0 up to rounding; over a tiny bandwidth K(x, x) is then anything.
            why = "" if self.gamma is None else f": gamma {self.gamma:g} is below the rounding of squared distances"
            raise ValueError(f"rounding leaves no positive definite kernel on these rows{why}") from None

    def _finish(self) -> LowRankFactor:
        r = len(self.chosen)
        triangle = self.triangle[:r, :r].copy()
        if r == 0:  # every K(x, x) is 0: one landmark that changes nothing keeps all shapes
            self.chosen, triangle = [0], np.eye(1)
            for chunk_factor in self.chunk_factors:
                chunk_factor[:1] = 0.0
        r = len(self.chosen)
        for part, chunk_factor in zip(self.parts, self.chunk_factors, strict=True):
            # In place: what is written to has been read before.
            lines = np.ascontiguousarray(chunk_factor[:r].T)
            self.flat[part.start * r : part.stop * r] = lines.ravel()
            # The updates above carry rounding; this does not.
            square = np.einsum("ij,ij->i", lines, lines)
            self.rest[part] = np.maximum(_diagonal(self.points[part], self.kernel) - square, 0.0)
        values = self.flat[: len(self.points) * r].reshape(-1, r)
        if r < self.rank:  # lets go of what is not needed
            values = values.copy()
        marks = self.points[self.chosen].copy()
        return LowRankFactor(self.points, self.kernel, self.gamma, marks, triangle, values, self.rest)


def _accept(block: FloatArray, start: FloatArray, coins: FloatArray, floor: float) -> list[int]:
    """Accept candidates in turn, each with probability residual diagonal over initial diagonal."""
    work = block.copy()
    kept: list[int] = []
    for j in range(len(work)):
        left = work[j, j]
        if left > floor and coins[j] * start[j] <= left:
            kept.append(j)
            column = work[:, j] / np.sqrt(left)
            work -= np.outer(column, column)
    if not kept:  # the first is always good: its rest is what it started with, up to rounding
        kept.append(0)
    return kept


def chunks(m: int, size: int = CHUNK) -> list[slice]:
    """List slices that cover m rows."""
    return [slice(start, min(start + size, m)) for start in range(0, m, size)]


def _diagonal(points: FloatArray, kernel: str) -> FloatArray:
    return np.ones(len(points)) if kernel == "gaussian" else np.einsum("ij,ij->i", points, points)


def kernel_values(
    X: FloatArray, Z: FloatArray, kernel: str, gamma: float | None, space: FloatArray | None = None
) -> FloatArray:
    """Compute kernel values between two sets of points, Gaussian ones in `space` if it is given."""
    if kernel == "linear":
        product: FloatArray = X @ Z.T
        return product
    assert gamma is not None
    return gaussian_cross(X, Z, gamma, space)
