r"""Fit kernel regressions of class probabilities with exact leave-one-out predictions.

Three kernels act on standardised columns. The Gaussian kernel compares rows in all columns at once. It can learn
anything, from many rows. The wide kernel has four times its bandwidth and is nearly a polynomial of low degree: with a
small penalty it sees the difference of two columns that are nearly equal. The additive kernel is a mean over the d
columns,

.. math:: k(x, x') = \frac1{ad} \sum_j \sum_b \beta_b(x_j)\,\beta_b(x'_j), \qquad \beta_b(t) = e^{-2 (t - c_b)^2},

with evenly spread centres :math:`c_b`; a is the sum of squares of the basis functions at 0, so that k(x, x) is about 1.
It fits a sum of smooth curves, one per column, which needs few rows. Values beyond the outermost centres are clipped.

Ridge regression with K has leave-one-out values in closed form,

.. math:: \hat f_{-i}(x_i) = \frac{\hat f(x_i) - H_{ii} t_i}{1 - H_{ii}}, \qquad H = K (K + \lambda I)^{-1},

with one decomposition of K for all penalties :math:`\lambda` and targets. With E the leave-one-out squared error of a
kernel and a penalty on n rows, the model is the mean of all regressions with weights :math:`\pi e^{-nE/2}`. The prior
weight :math:`\pi` of the wide kernel is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from exml_sim._internal.arrays import FloatArray
from exml_sim.classifier import constants
from exml_sim.kernels import uncentred_squared_distances

#: A kernel: points of a regression to the matrix of its values.
Kernel = Callable[[FloatArray], FloatArray]

#: Weights of the regressions from their errors, shape (kernels, penalties), and the number of rows.
Weigh = Callable[[FloatArray, int], FloatArray]


def expand_basis(points: FloatArray) -> FloatArray:
    """Return the basis functions of every column, one column after the other, shape (n, d * centres)."""
    clipped = np.clip(points, constants.CENTRES[0], constants.CENTRES[-1])
    return np.asarray(np.exp(-2.0 * (clipped[:, :, None] - constants.CENTRES) ** 2).reshape(len(points), -1))


def additive(points: FloatArray) -> FloatArray:
    """Return the matrix of the additive kernel."""
    matrix = np.zeros((len(points), len(points)))
    for start in range(0, points.shape[1], constants.BLOCK_COLUMNS):
        basis = expand_basis(points[:, start : start + constants.BLOCK_COLUMNS])
        matrix += basis @ basis.T
    return np.asarray(matrix / (constants.BASIS_NORM * points.shape[1]))


def sum_curves(points: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Turn coefficients of the additive kernel into heights of the basis functions, shape (d * centres, k)."""
    starts = range(0, points.shape[1], constants.BLOCK_COLUMNS)
    heights = [expand_basis(points[:, start : start + constants.BLOCK_COLUMNS]).T @ coefficients for start in starts]
    return np.asarray(np.vstack(heights) / (constants.BASIS_NORM * points.shape[1]))


def clip_limits(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest value that the kernel takes of every column.

    A column with a grossly far value is clipped at the distance from which values are far, others are not clipped.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    spread = high - low
    gross = (np.abs(X - middle).max(axis=0) > constants.CLIP_QUARTILE_DISTANCES * spread) & (spread > 0.0)
    largest, reach = np.finfo(np.float64).max, constants.FAR_QUARTILE_DISTANCES * spread
    return np.where(gross, middle - reach, -largest), np.where(gross, middle + reach, largest)


@dataclass(frozen=True, slots=True, eq=False)
class KernelModel:
    """A fitted kernel regression as plain arrays.

    Attributes
    ----------
    low, high, shift, scale
        Clipping limits, mean and deviation of every column.
    anchors, gamma
        Standardised training rows, and the exponent of the Gaussian kernel.
    coefficients, wide
        Of the rows in the Gaussian and in the wide part, shape (n, k).
    curves
        Heights of the basis functions in the additive part, shape (d * centres, k).
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
        """Predict targets, in blocks of rows that bound the memory."""
        step = max(1, constants.MAX_BLOCK_VALUES // max(len(self.anchors), 1))
        blocks = [self._predict_block(X[start : start + step]) for start in range(0, max(len(X), 1), step)]
        return np.vstack(blocks)

    def _predict_block(self, X: FloatArray) -> FloatArray:
        points = (np.clip(X, self.low, self.high) - self.shift) / self.scale
        far = np.exp(-self.gamma / constants.WIDE_POWER * uncentred_squared_distances(points, self.anchors))
        prediction = far**constants.WIDE_POWER @ self.coefficients + far @ self.wide + self.base
        width = len(constants.CENTRES)
        for start in range(0, points.shape[1], constants.BLOCK_COLUMNS):
            heights = self.curves[width * start : width * (start + constants.BLOCK_COLUMNS)]
            prediction += expand_basis(points[:, start : start + constants.BLOCK_COLUMNS]) @ heights
        return np.asarray(prediction)

    def check(self, width: int, targets: int) -> None:
        """Raise an error unless all arrays fit together."""
        rows = len(self.anchors), targets
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("low", "high", "shift", "scale"), (width,))
        shapes |= {"anchors": (rows[0], width), "coefficients": rows, "wide": rows, "base": (targets,)}
        shapes["curves"] = (width * len(constants.CENTRES), targets)
        fit_together = all(getattr(self, name).shape == shape for name, shape in shapes.items())
        if not fit_together or not 0.0 < self.gamma < np.inf or not (self.scale > 0.0).all():
            raise ValueError("the arrays of a kernel model do not fit together")


@dataclass(frozen=True, slots=True, eq=False)
class _Spectrum:
    """Eigenvalues and eigenvectors of one kernel matrix, for any targets."""

    values: FloatArray
    vectors: FloatArray
    penalties: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, penalties: FloatArray) -> _Spectrum:
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors, penalties)

    def leave_one_out(self, rest: FloatArray) -> FloatArray:
        """Predict centred targets by regressions without the row, shape (n, penalties, k)."""
        shares = self.values[:, None] / (self.values[:, None] + self.penalties)
        own = ((self.vectors**2) @ shares)[:, :, None]
        turned = shares[:, :, None] * (self.vectors.T @ rest)[:, None, :]
        fitted = (self.vectors @ turned.reshape(len(rest), -1)).reshape(turned.shape)
        return np.asarray((fitted - own * rest[:, None, :]) / np.maximum(1.0 - own, 1e-9))

    def coefficients(self, rest: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the coefficients of the weighted sum of the regressions."""
        filtered = (weights / (self.values[:, None] + self.penalties)).sum(axis=1)
        return np.asarray(self.vectors @ (filtered[:, None] * (self.vectors.T @ rest)))


def weigh_regressions(errors: FloatArray, rows: int) -> FloatArray:
    """Return the weights of regressions with these errors, shape (kernels, penalties)."""
    logits = np.log(constants.KERNEL_PRIOR)[:, None] - constants.REGRESSION_TEMPERATURE * rows * errors
    weights = np.exp(logits - logits.max())
    weights[weights < constants.MIN_RELATIVE_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


class KernelFitter:
    """Fits mean kernel regressions; decompositions of the latest rows are kept for further targets.

    Parameters
    ----------
    choosing
        Above this number of rows, this many of them choose one kernel and one penalty, which are solved for all rows.
    penalties, weigh
        Penalties of the regressions, and how they are weighted.
    """

    def __init__(
        self,
        choosing: int = constants.MAX_CHOOSING_ROWS,
        penalties: FloatArray = constants.PENALTIES,
        weigh: Weigh = weigh_regressions,
    ) -> None:
        self._choosing, self._penalties, self._weigh = choosing, penalties, weigh
        self._rows: FloatArray | None = None
        self._roots: dict[tuple[int, float], FloatArray] = {}

    def __call__(self, X: FloatArray, T: FloatArray) -> tuple[KernelModel, FloatArray]:
        """Fit targets; return the model and leave-one-out predictions."""
        if X is not self._rows:
            self._decompose(X)
        base = T.mean(axis=0)
        rest = T - base
        chosen = rest[self._chosen]
        predictions = [spectrum.leave_one_out(chosen) for spectrum in self._spectra]
        errors = np.array([((p - chosen[:, None, :]) ** 2).sum(axis=2).mean(axis=0) for p in predictions])
        if len(chosen) < len(X):
            kernel, at = np.unravel_index(int(self._weigh(errors, len(chosen)).argmax()), errors.shape)
            solution, left_out = self._solve_all(int(kernel), float(self._penalties[at]), rest)
            parts = [solution if k == kernel else np.zeros_like(rest) for k in range(len(predictions))]
        else:
            weights = self._weigh(errors, len(X))
            left_out = np.einsum("kp,knpt->nt", weights, np.array(predictions))
            parts = [s.coefficients(rest, share) for s, share in zip(self._spectra, weights, strict=True)]
        near, wide, added = parts
        curves = sum_curves(self._points, added)
        columns = self._low, self._high, self._shift, self._scale
        model = KernelModel(*columns, self._points, near, wide, curves, base, self._gamma)
        return model, left_out + base

    def _solve_all(self, kernel: int, penalty: float, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coefficients c = A t with A = (K + lambda I)^-1, and leave-one-out values t - c / A_ii.

        With K + lambda I = L L' and W the inverse of L, A = W'W. Only its product with t and its diagonal are needed,
        which is a third of the work of an inverse.
        """
        if (kernel, penalty) not in self._roots:
            matrix = self._kernels[kernel](self._points)
            matrix[np.diag_indices_from(matrix)] += penalty
            # Lapack reads columns: the transpose of a symmetric matrix is the matrix, and is not copied.
            root, failed = dpotrf(matrix.T, lower=1)
            if failed:
                raise ValueError("the kernel matrix is not positive definite: is there a value that is not finite?")
            self._roots = {(kernel, penalty): dtrtri(root, lower=1, overwrite_c=1)[0]}
        inverse = self._roots[kernel, penalty]
        coefficients = inverse.T @ (inverse @ rest)
        return coefficients, rest - coefficients / np.einsum("ij,ij->j", inverse, inverse)[:, None]

    @property
    def _kernels(self) -> tuple[Kernel, Kernel, Kernel]:
        return lambda points: self._wide(points) ** constants.WIDE_POWER, self._wide, additive

    def _wide(self, points: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-self._gamma / constants.WIDE_POWER * uncentred_squared_distances(points, points)))

    def _decompose(self, X: FloatArray) -> None:
        self._low, self._high = clip_limits(X)
        clipped = np.clip(X, self._low, self._high)
        self._shift, spread = clipped.mean(axis=0), clipped.std(axis=0)
        self._scale = np.where(spread > constants.MIN_RELATIVE_DEVIATION * np.abs(clipped).max(axis=0), spread, 1.0)
        self._points = (clipped - self._shift) / self._scale
        self._chosen = np.unique(np.linspace(0, len(X) - 1, min(len(X), self._choosing)).round().astype(np.int64))
        self._roots.clear()
        points = self._points[self._chosen]
        distances = uncentred_squared_distances(points, points)[np.triu_indices(len(points), 1)]
        median = float(np.median(distances)) if len(distances) else 1.0
        self._gamma = 1.0 / (median if median > 0.0 else 1.0)
        self._spectra = [_Spectrum.of(kernel(points), self._penalties) for kernel in self._kernels]
        self._rows = X
