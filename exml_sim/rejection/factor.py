r"""Low-rank factors of kernel matrices that are never formed: K = L L' + R with L of shape (m, r).

Landmarks are drawn one after the other with odds proportional to what the ones before leave of K(x, x) (randomly
pivoted Cholesky), in blocks so that the work is matrix products. With S the landmarks and :math:`T T' = K_{SS}`, the
factor is :math:`L = K_{\cdot S} T^{-\top}` and the rest :math:`R = K - K_{\cdot S} K_{SS}^{-1} K_{S\cdot}` is positive
semidefinite. A function :math:`h = \sum_s a_s K(\cdot, x_s)` has the values L t at the rows and the norm |t|, with
:math:`t = T^\top a`: the problem on L L' is the full problem over the functions spanned by the landmarks.

Rows are streamed in chunks; memory is m r numbers for L and a few chunks, see :func:`memory_needed`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from exml_sim import kernels
from exml_sim.arrays import FloatArray
from exml_sim.threads import one_thread
from exml_sim.validation import check_choice, check_count

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


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
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

    def take(self, rows: ArrayLike) -> Factor:
        """The same factor on some of the rows (indices or a mask), for folds: the landmarks stay."""
        chosen = np.asarray(rows)
        return replace(self, points=self.points[chosen], values=self.values[chosen], rest=self.rest[chosen])

    def cross(self, Z: ArrayLike) -> FloatArray:
        """Kernel values between points and the landmarks, shape (n, r)."""
        return _kernel(np.asarray(Z, dtype=np.float64), self.landmarks, self.kernel, self.gamma)

    def embed(self, Z: ArrayLike) -> FloatArray:
        """Rows of L for new points, shape (n, r): inner products of embedded points approximate the kernel."""
        return _right_solve(self.cross(Z), self.triangle)

    def coefficients(self, t: FloatArray) -> FloatArray:
        """Coefficients at the landmarks of the function with the values L t: a with T' a = t."""
        solved: FloatArray = solve_triangular(self.triangle, t, lower=True, trans="T", check_finite=False)
        return solved


def factorise(
    X: ArrayLike,
    *,
    kernel: str = "gaussian",
    gamma: kernels.Gamma = "median",
    rank: int = DEFAULT_RANK,
    seed: int = 0,
) -> Factor:
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
    """A number of landmarks between 1 and the number of rows."""
    value = check_count(rank, "rank")
    if value > m:
        raise ValueError(f"rank must be at most the number of rows, {m}; got {value}")
    return value


def memory_needed(m: int, rank: int | None = None, *, d: int = 0, folds: bool = False) -> int:
    """Bytes that a fit needs at most on top of the interpreter and its libraries, before anything is allocated.

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
    folds : bool
        Whether copies of the rows are taken for cross-validation.
    """
    word = 8
    if rank is None:
        return word * (6 * m * m + m * d + 40 * m)
    r = min(rank, m)
    copies = 2 if folds else 1
    chunk, pairs = min(CHUNK, m), m if m <= kernels.MEDIAN_ROWS else kernels.MEDIAN_SAMPLE
    # What stays: the factor, points (as numbers, centred and scaled), vectors. What comes and goes: distances for the
    # bandwidth, Newton systems of twice the rank with the sums that they are made from, kernel values of a chunk.
    kept = copies * m * r + 4 * m * d + 60 * m
    return word * (kept + max(4 * pairs * pairs, 24 * r * r + chunk * r, 5 * chunk * r))


def largest_rank(m: int, memory: int, *, d: int = 0) -> int:
    """The largest rank with which so many rows fit into memory; 0 if none does."""
    low, high = 0, m + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if memory_needed(m, middle, d=d) <= memory else (low, middle)
    return low


class _Drawing:
    """The factor in the making: landmarks are drawn block by block until rank or trace runs out."""

    def __init__(self, points: FloatArray, kernel: str, gamma: float | None, rank: int, seed: int) -> None:
        self.points, self.kernel, self.gamma = points, kernel, gamma
        self.values = np.empty((len(points), rank))
        self.triangle = np.zeros((rank, rank))
        self.chosen: list[int] = []
        self.rest = _diagonal(points, kernel)
        self.rng = np.random.default_rng(seed)

    def run(self) -> Factor:
        top, trace = float(np.max(self.rest)), float(np.sum(self.rest))
        floor = SMALLEST_PIVOT * top
        limit = self.values.shape[1]
        while len(self.chosen) < limit and float(np.sum(self.rest)) > TRACE_LEFT * trace:
            self.rest[self.rest <= floor] = 0.0
            if not np.any(self.rest > 0.0):
                break
            self._block(min(BLOCK, limit - len(self.chosen)), floor)
        return self._finish()

    def _block(self, size: int, floor: float) -> None:
        """Draw candidates by their rest, keep them with the odds that the others leave, and eliminate them."""
        k = len(self.chosen)
        odds = self.rest / np.sum(self.rest)
        drawn = list(dict.fromkeys(self.rng.choice(len(odds), size=size, p=odds).tolist()))
        own = self.values[drawn, :k]
        block = _kernel(self.points[drawn], self.points[drawn], self.kernel, self.gamma) - own @ own.T
        kept = _accept(block, self.rest[drawn], self.rng.random(len(drawn)), floor)
        rows = [drawn[j] for j in kept]
        corner = self._corner(block[np.ix_(kept, kept)])
        new = slice(k, k + len(rows))
        before = self.values[rows, :k]
        marks = self.points[rows]
        for part in chunks(len(self.points)):
            rest = _kernel(self.points[part], marks, self.kernel, self.gamma)
            rest -= self.values[part, :k] @ before.T
            fresh = _right_solve(rest, corner)
            self.values[part, new] = fresh
            self.rest[part] = np.maximum(self.rest[part] - np.einsum("ij,ij->i", fresh, fresh), 0.0)
        self.values[rows, new] = corner
        self.rest[rows] = 0.0
        self.triangle[new, :k] = before
        self.triangle[new, new] = corner
        self.chosen += rows

    def _corner(self, block: FloatArray) -> FloatArray:
        """Cholesky factor of what the landmarks before leave of the new ones."""
        try:
            return np.asarray(np.linalg.cholesky(block), dtype=np.float64)
        except np.linalg.LinAlgError:
            # A distance of a row to itself is 0 up to rounding; over a tiny bandwidth K(x, x) is then anything.
            why = "" if self.gamma is None else f": gamma {self.gamma:g} is below the rounding of squared distances"
            raise ValueError(f"rounding leaves no positive definite kernel on these rows{why}") from None

    def _finish(self) -> Factor:
        r = len(self.chosen)
        values, triangle = self.values, self.triangle
        if r == 0:  # every K(x, x) is 0: one landmark that changes nothing keeps all shapes
            self.chosen, r = [0], 1
            values, triangle = np.zeros((len(self.points), 1)), np.eye(1)
        elif r < values.shape[1]:
            values, triangle = np.ascontiguousarray(values[:, :r]), triangle[:r, :r].copy()
        for part in chunks(len(self.points)):  # the updates above carry rounding; this does not
            square = np.einsum("ij,ij->i", values[part], values[part])
            self.rest[part] = np.maximum(_diagonal(self.points[part], self.kernel) - square, 0.0)
        marks = self.points[self.chosen].copy()
        return Factor(self.points, self.kernel, self.gamma, marks, triangle, values, self.rest)


def _accept(block: FloatArray, start: FloatArray, coins: FloatArray, floor: float) -> list[int]:
    """Candidates in turn, each kept with the odds of what those kept before leave of it over what it started with."""
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


def chunks(m: int) -> list[slice]:
    """Slices that cover m rows."""
    return [slice(start, min(start + CHUNK, m)) for start in range(0, m, CHUNK)]


def _right_solve(block: FloatArray, triangle: FloatArray) -> FloatArray:
    """block T^{-T} for a lower triangle T."""
    solved: FloatArray = solve_triangular(triangle, block.T, lower=True, check_finite=False).T
    return solved


def _diagonal(points: FloatArray, kernel: str) -> FloatArray:
    return np.ones(len(points)) if kernel == "gaussian" else np.einsum("ij,ij->i", points, points)


def _kernel(X: FloatArray, Z: FloatArray, kernel: str, gamma: float | None) -> FloatArray:
    """Kernel values between two sets of points, as :mod:`exml_sim.kernels` computes them."""
    if kernel == "linear":
        product: FloatArray = X @ Z.T
        return product
    assert gamma is not None
    return kernels.gaussian(X, Z, gamma=gamma)
