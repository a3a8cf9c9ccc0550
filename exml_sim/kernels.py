r"""Compute kernels: Gaussian with the paper's median bandwidth, linear, or the user's own.

Section 5 of the paper uses :math:`K(x, x') = \exp(-\|x - x'\|^2/\gamma)` with :math:`\gamma` the median of the
squared pairwise distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import check_choice, check_finite, check_matrix, check_positive, check_size, shown

#: Rows up to which the median bandwidth is taken over all pairs, and rows sampled beyond.
MEDIAN_ROWS = 2000
MEDIAN_SAMPLE = 1000

#: Points beyond this have squares and products of which sums overflow.
LARGEST_POINT = 1e100

#: Share of the largest squared distance below which the median may be nothing but the rounding of it.
DOUBTFUL_MEDIAN = 1e-12

#: A bandwidth below this share of the size of a row is lost in the rounding of its distances.
SMALLEST_SHARE = 1e-14

#: A row this many times as far from the mean as the median row, in squares, may have drawn the mean away from them.
OUTSIDE = 1000.0


class DegenerateMedianError(ValueError):
    """The median of the squared distances is no bandwidth: one row, or more than half of all pairs are duplicates."""


Kernel = Literal["gaussian", "linear"] | Callable[[FloatArray, FloatArray], ArrayLike]
Gamma = float | Literal["median"] | Callable[[FloatArray], float]


def check_points(values: ArrayLike, name: str) -> FloatArray:
    """Check for a finite matrix whose squares are finite, too."""
    points = check_matrix(values, name)
    return check_size(points, name, LARGEST_POINT)


def squared_distances(X: ArrayLike, Z: ArrayLike | None = None) -> FloatArray:
    r"""Compute the matrix of :math:`\|x_i - z_j\|^2`, never negative, exactly 0 on the diagonal when Z is X.

    The points are first moved to a common centre: distances do not change, but the cancellation in
    :math:`|x|^2 + |z|^2 - 2 x z` becomes harmless for data far from the origin. The centre is the mean; where few rows
    lie so far outside that it is far from all the others, the median.
    """
    left, right = _pair(X, Z)
    middle = centre(right)
    left, right = left - middle, right - middle
    squares = uncentred_squared_distances(left, right)
    if Z is None:
        squares = 0.5 * (squares + squares.T)
        np.fill_diagonal(squares, 0.0)
    return squares


def uncentred_squared_distances(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return the same for points that lie near the origin already, such as standardised ones."""
    squares: FloatArray = np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1)[None, :] - 2.0 * X @ Z.T
    return np.maximum(squares, 0.0, out=squares)


def centre(points: FloatArray) -> FloatArray:
    """Find a point that most rows are near to."""
    mean: FloatArray = points.mean(axis=0)
    sizes = np.sum((points - mean) ** 2, axis=1)
    # A distance errs by the rounding of the sizes of its ends: they must not be far larger than the distance itself.
    if sizes.max() <= OUTSIDE * np.median(sizes):
        return mean
    middle: FloatArray = np.median(points, axis=0)
    return middle if np.median(np.sum((points - middle) ** 2, axis=1)) < np.median(sizes) / 4.0 else mean


def median_gamma(X: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Compute the paper's bandwidth: the median of the squared distances over all pairs of rows.

    Beyond :data:`MEDIAN_ROWS` rows it is the median over all pairs of a fixed random sample of :data:`MEDIAN_SAMPLE` of
    them: half a million pairs estimate the median to a per cent or two, and the matrix of all distances would not fit.

    Parameters
    ----------
    X : array_like, shape (m, d)
    weights : array_like, shape (m,), optional
        Multiplicities of the rows: a row of weight 2 counts as two equal rows, one of weight 0 not at all.

    Raises
    ------
    DegenerateMedianError
        A ValueError, if there are fewer than two rows, or if more than half of all pairs are duplicates: the median is
        then 0 and the kernel undefined. Give ``gamma`` as a number, or drop duplicates.

    Examples
    --------
    >>> median_gamma([[0.0], [1.0], [3.0]])  # squared distances 1, 4 and 9
    4.0
    """
    X, w = _sample(check_points(X, "X"), weights)
    squares = squared_distances(X)
    gamma, total = _median_of_pairs(squares, w)
    if not total > 0.0:
        raise DegenerateMedianError('gamma="median" needs at least 2 rows; give gamma as a number above 0')
    if gamma <= DOUBTFUL_MEDIAN * float(np.max(squares)):
        # One cell far outside makes any median small next to the largest distance: only differences tell 0 from it.
        gamma = _median_of_pairs(_by_differences(X), w)[0]
    # A distance is known up to the rounding of the sizes of its ends; of most rows, not of those far outside.
    sizes = np.sum((X - centre(X)) ** 2, axis=1)
    if gamma <= max(SMALLEST_SHARE * float(np.median(sizes)), float(np.finfo(np.float64).tiny)):
        raise DegenerateMedianError(
            'gamma="median" is 0 because more than half of all pairs of rows are duplicates, up to rounding; '
            "give gamma as a number above 0"
        )
    return gamma


def _median_of_pairs(squares: FloatArray, w: FloatArray | None) -> tuple[float, float]:
    """Compute the median over all pairs of rows, and the number (or weight) of the pairs."""
    if w is None:
        distances = squares[np.tri(len(squares), k=-1, dtype=bool)]
        return float(np.median(distances)) if len(distances) else 0.0, float(len(distances))
    first, second = np.triu_indices(len(squares), 1)
    # Copies of the same row form pairs too, at distance 0.
    own = float(np.sum(np.maximum(w * (w - 1.0) / 2.0, 0.0)))
    return _weighted_median(np.append(squares[first, second], 0.0), np.append(w[first] * w[second], own))


def _by_differences(X: FloatArray) -> FloatArray:
    """Compute squared distances row by row: slower than products, and exactly 0 for equal rows."""
    return np.array([np.sum((X - row) ** 2, axis=1) for row in X])


def _sample(X: FloatArray, weights: ArrayLike | None) -> tuple[FloatArray, FloatArray | None]:
    """Choose the rows that a median is taken over: all, or a sample of those with weight."""
    heavy = np.arange(len(X))
    if weights is not None:
        weights = check_finite(weights, "weights")
        if weights.shape != (len(X),) or np.any(weights < 0.0):
            raise ValueError(f"weights must be one number of at least 0 for each of the {len(X)} rows")
        heavy = np.flatnonzero(weights)
    if len(X) <= MEDIAN_ROWS:
        return X, weights
    chosen = np.random.default_rng(0).choice(heavy, size=min(MEDIAN_SAMPLE, len(heavy)), replace=False)
    return X[chosen], None if weights is None else weights[chosen]


def _weighted_median(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Compute the median of values with multiplicities (the mean of two middle ones), and the total."""
    heavy = weights > 0.0
    if not np.any(heavy):
        return 0.0, 0.0
    order = np.argsort(values[heavy], kind="stable")
    values, reached = values[heavy][order], np.cumsum(weights[heavy][order])
    half = 0.5 * reached[-1]
    low = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1.0 + 1e-12), side="right"))
    return float(0.5 * (values[low] + values[min(high, len(values) - 1)])), float(reached[-1])


def resolve_gamma(X: ArrayLike, gamma: Gamma, weights: ArrayLike | None = None) -> float:
    """Resolve the bandwidth to a number: ``"median"``, a number above 0, or a callable that maps X to one."""
    if isinstance(gamma, str):
        if gamma != "median":
            raise ValueError(f"gamma must be 'median' or a number above 0; got {shown(gamma)}")
        return median_gamma(X, weights)
    if callable(gamma):
        return check_positive(gamma(check_matrix(X, "X")), "gamma(X)")
    return check_positive(gamma, "gamma")


def gaussian(X: ArrayLike, Z: ArrayLike | None = None, *, gamma: float) -> FloatArray:
    r"""Compute the Gaussian kernel :math:`\exp(-\|x - z\|^2/\gamma)`.

    Examples
    --------
    >>> gaussian([[0.0], [1.0]], gamma=1.0).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    gamma = check_positive(gamma, "gamma")
    with np.errstate(over="ignore"):  # a quotient beyond all floats is infinite, and its kernel value 0
        values: FloatArray = np.exp(squared_distances(X, Z) / -gamma)
    return values


def linear(X: ArrayLike, Z: ArrayLike | None = None) -> FloatArray:
    r"""Compute the linear kernel :math:`\langle x, z \rangle`.

    Examples
    --------
    >>> linear([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """
    left, right = _pair(X, Z)
    product: FloatArray = left @ right.T
    return 0.5 * (product + product.T) if Z is None else product


def _pair(X: ArrayLike, Z: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    left = check_points(X, "X")
    right = left if Z is None else check_points(Z, "Z")
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"X and Z must have the same number of columns; got {left.shape[1]} and {right.shape[1]}")
    return left, right


def gram(X: ArrayLike, kernel: Kernel = "gaussian", gamma: Gamma = "median") -> FloatArray:
    """Compute the Gram matrix of the rows of X under a kernel, with the bandwidth taken from the same rows.

    Parameters
    ----------
    X : array_like, shape (m, d)
    kernel : {"gaussian", "linear"} or callable
        A callable takes two matrices and returns the matrix of kernel values.
    gamma : "median", float or callable
        Bandwidth of the Gaussian kernel; ignored by the others.

    Examples
    --------
    >>> gram([[0.0], [1.0], [3.0]])[0].round(3)  # bandwidth 4
    array([1.   , 0.779, 0.105])
    """
    rows = check_matrix(X, "X")
    if callable(kernel):
        values = np.asarray(kernel(rows, rows), dtype=np.float64)
        if values.shape != (len(rows), len(rows)):
            raise ValueError(f"the kernel must return shape {(len(rows), len(rows))}; got {values.shape}")
        return values
    check_choice(kernel, "kernel", ("gaussian", "linear"))
    if kernel == "linear":
        return linear(rows)
    return gaussian(rows, gamma=resolve_gamma(rows, gamma))
