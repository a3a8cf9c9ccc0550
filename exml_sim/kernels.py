r"""Kernels: Gaussian with the paper's median bandwidth, linear, or the user's own.

Section 5 of the paper uses :math:`K(x, x') = \exp(-\|x - x'\|^2/\gamma)` with :math:`\gamma` the median of the
squared pairwise distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.validation import check_choice, check_matrix, check_positive

Array = NDArray[np.float64]
Kernel = Literal["gaussian", "linear"] | Callable[[Array, Array], ArrayLike]
Gamma = float | Literal["median"] | Callable[[Array], float]


def squared_distances(X: ArrayLike, Z: ArrayLike | None = None) -> Array:
    r"""Matrix of :math:`\|x_i - z_j\|^2`, never negative, exactly 0 on the diagonal when Z is X.

    The points are first moved to a common centre: distances do not change, but the cancellation in
    :math:`|x|^2 + |z|^2 - 2 x z` becomes harmless for data far from the origin.
    """
    X = check_matrix(X, "X")
    same = Z is None
    Z = X if Z is None else check_matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X and Z must have the same number of columns; got {X.shape[1]} and {Z.shape[1]}")
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    squares = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Z, Z)[None, :] - 2.0 * (X @ Z.T)
    np.maximum(squares, 0.0, out=squares)
    if same:
        squares = 0.5 * (squares + squares.T)
        np.fill_diagonal(squares, 0.0)
    return squares


def median_gamma(X: ArrayLike) -> float:
    """The paper's bandwidth: the median of the squared distances over all pairs of distinct rows.

    Raises
    ------
    ValueError
        If there are fewer than two rows, or if at least half of all pairs are duplicates: the median is then 0 and
        the kernel undefined. Give ``gamma`` as a number, or drop duplicates.
    """
    squares = squared_distances(X)
    m = len(squares)
    if m < 2:
        raise ValueError(f'gamma="median" needs at least 2 rows; got {m}; give gamma as a number')
    gamma = float(np.median(squares[np.triu_indices(m, 1)]))
    if gamma <= 1e-14 * float(np.max(squares, initial=0.0)) or gamma == 0.0:
        raise ValueError(
            'gamma="median" is 0 because at least half of all pairs of rows are duplicates; '
            "give gamma as a number above 0"
        )
    return gamma


def resolve_gamma(X: ArrayLike, gamma: Gamma) -> float:
    """The bandwidth as a number: ``"median"``, a number above 0, or a callable that maps X to one."""
    if isinstance(gamma, str):
        check_choice(gamma, "gamma", ("median",))
        return median_gamma(X)
    if callable(gamma):
        return check_positive(gamma(check_matrix(X, "X")), "gamma(X)")
    return check_positive(gamma, "gamma")


def gaussian(X: ArrayLike, Z: ArrayLike | None = None, *, gamma: float) -> Array:
    r"""Gaussian kernel :math:`\exp(-\|x - z\|^2/\gamma)`."""
    gamma = check_positive(gamma, "gamma")
    squares = squared_distances(X, Z)
    return np.exp(squares / -gamma)


def linear(X: ArrayLike, Z: ArrayLike | None = None) -> Array:
    r"""Linear kernel :math:`\langle x, z \rangle`."""
    X = check_matrix(X, "X")
    if Z is None:
        product = X @ X.T
        return 0.5 * (product + product.T)
    Z = check_matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X and Z must have the same number of columns; got {X.shape[1]} and {Z.shape[1]}")
    return X @ Z.T


def gram(X: ArrayLike, kernel: Kernel = "gaussian", gamma: Gamma = "median") -> Array:
    """Gram matrix of the rows of X under a kernel, with the bandwidth taken from the same rows.

    Parameters
    ----------
    X : array_like, shape (m, d)
    kernel : {"gaussian", "linear"} or callable
        A callable takes two matrices and returns the matrix of kernel values.
    gamma : "median", float or callable
        Bandwidth of the Gaussian kernel; ignored by the others.
    """
    X = check_matrix(X, "X")
    if callable(kernel):
        values = np.asarray(kernel(X, X), dtype=np.float64)
        if values.shape != (len(X), len(X)):
            raise ValueError(f"the kernel must return shape {(len(X), len(X))}; got {values.shape}")
        return values
    check_choice(kernel, "kernel", ("gaussian", "linear"))
    if kernel == "linear":
        return linear(X)
    return gaussian(X, gamma=resolve_gamma(X, gamma))
