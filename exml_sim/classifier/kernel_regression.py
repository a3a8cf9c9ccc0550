r"""Kernel regression of soft targets: a function of all columns together, and a curve for every column.

Three kernels on standardised columns. The Gaussian one sees rows as near if they are near in all columns at once; it
can learn anything, from many rows. A wide one, of four times its bandwidth, is all but a polynomial of low degree: with
a small penalty it sees the difference of two columns that are nearly equal. The additive one is a mean over the d
columns,

.. math:: k(x, x') = \frac1{ad} \sum_j \sum_b \beta_b(x_j)\,\beta_b(x'_j), \qquad \beta_b(t) = e^{-2 (t - c_b)^2},

with bumps around evenly spread centres (a is about the sum of squares of the bumps at a value, so that k(x, x) is about
1): what it fits is a sum of smooth curves, one per column, which few rows can tell, and one strange column
cannot spoil. Values beyond the outermost centres are drawn in to them.

Ridge regression with K has held-out values in closed form,

.. math:: \hat f_{-i}(x_i) = \frac{\hat f(x_i) - H_{ii} t_i}{1 - H_{ii}}, \qquad H = K (K + \lambda I)^{-1},

one decomposition of K for all penalties :math:`\lambda` and targets. With E the held-out squared error of a kernel and
a penalty on n rows, the regression is the mean of all of them with weights :math:`\pi e^{-nE/2}`: the data of few rows
cannot choose, and a mean errs less than a wrong choice. The :math:`\pi` of the wide kernel is smaller: it counts where
it is seen to be better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from exml_sim.arrays import FloatArray
from exml_sim.classifier.outliers import limits

#: Penalties of a regression, smallest first.
PENALTIES = np.array([10.0 ** (k / 2) for k in range(-8, 5)])

#: Centres of the bumps, in standard deviations of a column.
CENTRES = np.linspace(-3.0, 3.0, 11)

#: Sum of squares of the bumps at 0, between centres about the same.
BUMPS = float(np.exp(-4.0 * CENTRES**2).sum())

#: How much the weight of a regression falls with its error: by the factor exp(-SAY) per row and unit of it.
SAY = 0.5

#: The Gaussian kernel is the wide one to this power; weights of the three kernels before any data.
POWER, PRIOR = 16, np.array([1.0, 0.3, 1.0])

#: Weights below this part of the largest are none.
FAINT = 1e-3

#: Rows above which kernel and penalty are chosen on so many of them, evenly spread: decompositions of all rows would
#: take most of the time.
CHOOSING_ROWS = 600

#: Columns whose bumps are held at a time, and kernel values.
BLOCK, LARGEST_BLOCK = 64, 1 << 22

#: A column whose deviation is below this part of its values is constant: the rest is rounding.
CONSTANT = 1e-12

#: A kernel, from points of a regression to the matrix of its values.
Kernel = Callable[[FloatArray], FloatArray]


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Between all pairs of rows."""
    found = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None, :] - 2.0 * a @ b.T
    return np.asarray(np.maximum(found, 0.0))


def bumps(points: FloatArray) -> FloatArray:
    """The bumps of every column, one column after the other, shape (n, d * centres)."""
    near = np.clip(points, CENTRES[0], CENTRES[-1])
    return np.asarray(np.exp(-2.0 * (near[:, :, None] - CENTRES) ** 2).reshape(len(points), -1))


def additive(points: FloatArray) -> FloatArray:
    """Matrix of the additive kernel."""
    matrix = np.zeros((len(points), len(points)))
    for start in range(0, points.shape[1], BLOCK):
        some = bumps(points[:, start : start + BLOCK])
        matrix += some @ some.T
    return np.asarray(matrix / (BUMPS * points.shape[1]))


def curves_of(points: FloatArray, coefficients: FloatArray) -> FloatArray:
    """What the coefficients of the additive kernel say about every bump, shape (d * centres, k)."""
    found = [bumps(points[:, start : start + BLOCK]).T @ coefficients for start in range(0, points.shape[1], BLOCK)]
    return np.asarray(np.vstack(found) / (BUMPS * points.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class KernelSoft:
    """Kernel regression as plain arrays.

    Attributes
    ----------
    low, high, shift, scale
        Of every column: where it is cut (`exml_sim.classifier.outliers`), its mean and its deviation.
    anchors, gamma
        Standardised training rows, and the exponent of the Gaussian kernel.
    coefficients, wide
        Of the rows in the Gaussian part and in the wide one, shape (n, k).
    curves
        Height of every bump in the additive part, shape (d * centres, k).
    base
        Mean of the targets.
    """

    low: FloatArray
    high: FloatArray
    shift: FloatArray
    scale: FloatArray
    anchors: FloatArray
    coefficients: FloatArray
    wide: FloatArray
    curves: FloatArray
    base: FloatArray
    gamma: float

    def predict(self, X: FloatArray) -> FloatArray:
        """The mean, what the Gaussian parts add, and the curves; so many rows at a time that memory is bounded."""
        step = max(1, LARGEST_BLOCK // max(len(self.anchors), 1))
        parts = [self._predicted(X[start : start + step]) for start in range(0, max(len(X), 1), step)]
        return np.vstack(parts)

    def _predicted(self, X: FloatArray) -> FloatArray:
        points = (np.clip(X, self.low, self.high) - self.shift) / self.scale
        far = np.exp(-self.gamma / POWER * squared_distances(points, self.anchors))
        found = far**POWER @ self.coefficients + far @ self.wide + self.base
        width = len(CENTRES)
        for start in range(0, points.shape[1], BLOCK):
            some = slice(width * start, width * (start + BLOCK))
            found += bumps(points[:, start : start + BLOCK]) @ self.curves[some]
        return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Spectrum:
    """Eigenvalues and vectors of one kernel matrix; targets come and go, the rows stay."""

    values: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> _Spectrum:
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def held(self, rest: FloatArray) -> FloatArray:
        """Targets less their mean by regressions without the row, shape (n, penalties, k)."""
        shares = self.values[:, None] / (self.values[:, None] + PENALTIES)
        own = ((self.vectors**2) @ shares)[:, :, None]
        turned = shares[:, :, None] * (self.vectors.T @ rest)[:, None, :]
        fitted = (self.vectors @ turned.reshape(len(rest), -1)).reshape(turned.shape)
        return np.asarray((fitted - own * rest[:, None, :]) / np.maximum(1.0 - own, 1e-9))

    def coefficients(self, rest: FloatArray, weights: FloatArray) -> FloatArray:
        """Of the sum of the regressions, each so many times."""
        filtered = (weights / (self.values[:, None] + PENALTIES)).sum(axis=1)
        return np.asarray(self.vectors @ (filtered[:, None] * (self.vectors.T @ rest)))


def averaged(errors: FloatArray, rows: int) -> FloatArray:
    """Weights of regressions with these errors, kernel by kernel (see the module)."""
    found = np.log(PRIOR)[:, None] - SAY * rows * errors
    weights = np.exp(found - found.max())
    weights[weights < FAINT] = 0.0
    return np.asarray(weights / weights.sum())


class KernelFitter:
    """Kernel regression, a mean over kernels and penalties.

    The decompositions of the latest rows are kept: the same rows are fitted to many targets.

    Parameters
    ----------
    choosing
        Rows above which so many of them choose one kernel and one penalty, which are solved for all rows.
    """

    def __init__(self, choosing: int = CHOOSING_ROWS) -> None:
        self._choosing = choosing
        self._rows: FloatArray | None = None
        self._roots: dict[tuple[int, float], FloatArray] = {}

    def __call__(self, X: FloatArray, T: FloatArray) -> tuple[KernelSoft, FloatArray]:
        """Fit targets."""
        if X is not self._rows:
            self._decompose(X)
        base = T.mean(axis=0)
        rest = T - base
        some = rest[self._some]
        held = [one.held(some) for one in self._spectra]
        errors = np.array([((one - some[:, None, :]) ** 2).sum(axis=2).mean(axis=0) for one in held])
        if len(some) < len(X):
            kernel, penalty = np.unravel_index(int(averaged(errors, len(some)).argmax()), errors.shape)
            found, left_out = self._of_all(int(kernel), float(PENALTIES[penalty]), rest)
            parts = [found if k == kernel else np.zeros_like(rest) for k in range(len(held))]
        else:
            weights = averaged(errors, len(X))
            left_out = np.einsum("kp,knpt->nt", weights, np.array(held))
            parts = [one.coefficients(rest, share) for one, share in zip(self._spectra, weights, strict=True)]
        near, wide, added = parts
        curves = curves_of(self._points, added)
        columns = self._low, self._high, self._shift, self._scale
        model = KernelSoft(*columns, self._points, near, wide, curves, base, self._gamma)
        return model, left_out + base

    def _of_all(self, kernel: int, penalty: float, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients c = A t with A = (K + lambda I)^-1, and held-out values t - c / A_ii.

        With K + lambda I = L L' and W the inverse of L, A = W'W, of which the product with t and the diagonal are all
        that is wanted: a third of the work of an inverse.
        """
        if (kernel, penalty) not in self._roots:
            matrix = self._kernels[kernel](self._points)
            matrix[np.diag_indices_from(matrix)] += penalty
            # Lapack reads columns: the transpose of a symmetric matrix is the matrix, and is not copied.
            root, wrong = dpotrf(matrix.T, lower=1)
            if wrong:
                raise ValueError("the kernel matrix is not positive definite: is there a value that is not finite?")
            self._roots = {(kernel, penalty): dtrtri(root, lower=1, overwrite_c=1)[0]}
        inverse = self._roots[kernel, penalty]
        coefficients = inverse.T @ (inverse @ rest)
        return coefficients, rest - coefficients / np.einsum("ij,ij->j", inverse, inverse)[:, None]

    @property
    def _kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        return lambda points: self._wide(points) ** POWER, self._wide, additive

    def _wide(self, points: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-self._gamma / POWER * squared_distances(points, points)))

    def _decompose(self, X: FloatArray) -> None:
        self._low, self._high = limits(X)
        near = np.clip(X, self._low, self._high)
        self._shift, spread = near.mean(axis=0), near.std(axis=0)
        self._scale = np.where(spread > CONSTANT * np.abs(near).max(axis=0), spread, 1.0)
        self._points = (near - self._shift) / self._scale
        self._some = np.unique(np.linspace(0, len(X) - 1, min(len(X), self._choosing)).round().astype(np.int64))
        self._roots.clear()
        chosen = self._points[self._some]
        off = squared_distances(chosen, chosen)[np.triu_indices(len(chosen), 1)]
        middle = float(np.median(off)) if len(off) else 1.0
        self._gamma = 1.0 / (middle if middle > 0.0 else 1.0)
        self._spectra = [_Spectrum.of(kernel(chosen)) for kernel in self._kernels]
        self._rows = X
