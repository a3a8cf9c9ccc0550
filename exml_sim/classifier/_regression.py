r"""Fit kernel regressions and regression forests, with predictions of the training rows by models without them.

**Kernel regression.** Three kernels act on standardised columns. The Gaussian kernel compares rows in all columns at
once. It can learn anything, from many rows. The wide kernel has four times its bandwidth and is nearly a polynomial of
low degree: with a small penalty it sees the difference of two columns that are nearly equal. The additive kernel is a
mean over the d columns,

.. math:: k(x, x') = \frac1{ad} \sum_j \sum_b \beta_b(x_j)\,\beta_b(x'_j), \qquad \beta_b(t) = e^{-2 (t - c_b)^2},

with evenly spread centres :math:`c_b`; a is the sum of squares of the basis functions at 0, so that k(x, x) is about 1.
It fits a sum of smooth curves, one per column, which needs few rows. Values beyond the outermost centres are clipped.

Ridge regression with K has leave-one-out values in closed form,

.. math:: \hat f_{-i}(x_i) = \frac{\hat f(x_i) - H_{ii} t_i}{1 - H_{ii}}, \qquad H = K (K + \lambda I)^{-1},

with one decomposition of K for all penalties :math:`\lambda` and targets. With E the leave-one-out squared error of a
kernel and a penalty on n rows, the model is the mean of all regressions with weights :math:`\pi e^{-nE/2}`. The prior
weight :math:`\pi` of the wide kernel is smaller.

**Forests.** The trees are those of Breiman (2001) as scikit-learn grows them with ``max_features="sqrt"``: each draws
rows with replacement, every node tries the square root of the number of columns, drawn without replacement (at more, as
long as those are constant there), and takes the threshold with the largest

.. math:: \sum_k \frac{(\sum_L w\,t_k)^2}{\sum_L w} + \frac{(\sum_R w\,t_k)^2}{\sum_R w},

which leaves the least squared error; nodes are split until their targets are equal. scikit-learn spends most of its
time on checks and objects if rows are few, and a purchase grows thousands of trees on tens of rows. Here rows are
sorted by every column once per forest, and the nodes keep these orders: nothing is sorted again.

The compiled functions have plain loops where arrays could be added: they compile in half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from exml_sim._internal.arrays import FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.classifier import constants
from exml_sim.classifier.constants import EQUAL_TARGET_TOLERANCE, EQUAL_VALUE_TOLERANCE
from exml_sim.kernels import uncentred_squared_distances
from exml_sim.seeds import Seeds, mulhi, philox

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


#: Feature, threshold, left child, right child and targets of every node.
Nodes = tuple[IntArray, FloatArray, IntArray, IntArray, FloatArray]

# Substreams of a tree's random numbers.
_ROWS, _COLUMNS = np.uint64(0), np.uint64(1)


def grow_forest(
    X: FloatArray, T: FloatArray, trees: int, seed: int, drawn: int | None = None, tried: int | None = None
) -> tuple[Nodes, IntArray, FloatArray]:
    """Grow trees on bootstrap samples.

    Parameters
    ----------
    X, T
        Rows and targets.
    trees, seed
        Number of trees, and what they are drawn with.
    drawn
        Rows that every tree draws, with replacement; all by default.
    tried
        Columns that a node tries; the square root of their number by default.

    Returns
    -------
    The nodes of all trees, one tree behind the other (a leaf has feature -1 and children 0); the first node of every
    tree; the mean of the trees that did not draw a row, 0 where all drew it, shape of T.

    Notes
    -----
    With 40 trees, 10 columns and 3 targets ``RandomForestRegressor`` takes 75, 17, 6 and 3.5 times as long for 32, 120,
    400 and 1,500 rows (``python -m benchmarks.forest``).
    """
    if 0 in X.shape:
        raise ValueError(f"a forest needs at least one row and one column; got shape {X.shape}")
    largest, most = np.abs(X).max(), np.finfo(np.float32).max
    if not largest <= most:
        raise ValueError(f"trees compare numbers of single precision, up to {most:.2g}; got {largest:.2g}")
    columns = np.ascontiguousarray(X.T, dtype=np.float32)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    targets, drawn = np.ascontiguousarray(T, dtype=np.float64), drawn or len(X)
    room = trees * (2 * min(len(X), drawn) - 1)
    feature, left, right = (np.empty(room, dtype=np.int64) for _ in range(3))
    threshold, value = np.zeros(room), np.empty((room, T.shape[1]))
    roots, out_of_bag = np.empty(trees, dtype=np.int64), np.zeros(T.shape)
    tried, key = tried or max(1, int(np.sqrt(len(columns)))), Seeds.of(seed).key
    end = _forest(columns, order, targets, drawn, tried, key, feature, threshold, left, right, value, roots, out_of_bag)
    nodes = feature[:end].copy(), threshold[:end].copy(), left[:end].copy(), right[:end].copy(), value[:end].copy()
    return nodes, roots, out_of_bag


def sum_trees(X: FloatArray, nodes: Nodes, roots: IntArray) -> FloatArray:
    """Targets of rows, sum_trees over the trees."""
    # Trees compare single precision, as they were grown on it.
    points = np.ascontiguousarray(X, dtype=np.float32)
    feature, threshold, left, right, value = nodes
    total = np.zeros((len(X), value.shape[1]))
    _add_targets(points, feature, threshold, left, right, value, roots, total)
    return total


@kernel
def _add_targets(
    points: Any,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    roots: IntArray,
    total: FloatArray,
) -> None:
    """Walk every row down every tree."""
    for root in roots:
        for i in range(len(points)):
            node = root
            while feature[node] >= 0:
                node = left[node] if points[i, feature[node]] <= threshold[node] else right[node]
            for k in range(total.shape[1]):
                total[i, k] += value[node, k]


@kernel
def _forest(
    columns: Any,
    order: Any,
    T: FloatArray,
    drawn: int,
    tried: int,
    key: WordArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    roots: IntArray,
    out_of_bag: FloatArray,
) -> int:
    """Grow all trees into the arrays of `grow_forest`; returns the number of their nodes."""
    width, rows = columns.shape
    voters, weight, orders = np.zeros(rows), np.empty(rows, np.int64), np.empty((width, rows), np.int32)
    end = 0
    for tree in range(len(roots)):
        own = np.uint64(tree)
        _draw_rows(weight, drawn, key, own)
        count = _orders_of(order, weight, orders)
        roots[tree] = end
        # Not `end`: its first value, a plain 0, would have trees compiled twice.
        first = roots[tree]
        end = _tree(columns, orders, count, T, weight, tried, key, own, first, feature, threshold, left, right, value)
        for i in range(rows):
            if weight[i] == 0:
                node = roots[tree]
                while feature[node] >= 0:
                    node = left[node] if columns[feature[node], i] <= threshold[node] else right[node]
                for k in range(T.shape[1]):
                    out_of_bag[i, k] += value[node, k]
                voters[i] += 1.0
    for i in range(rows):
        for k in range(T.shape[1]):
            out_of_bag[i, k] /= max(voters[i], 1.0)
    return end


@kernel
def _draw_rows(weight: IntArray, drawn: int, key: WordArray, tree: np.uint64) -> None:
    """How often every row is drawn."""
    for i in range(len(weight)):
        weight[i] = 0
    rows = np.uint64(len(weight))
    for start in range(0, drawn, 4):
        words = philox(key[0], key[1], np.uint64(start // 4), _ROWS, tree, np.uint64(0))
        for j in range(min(4, drawn - start)):
            weight[np.int64(mulhi(words[j], rows))] += 1


@kernel
def _orders_of(order: Any, weight: IntArray, orders: Any) -> int:
    """Sort the drawn rows by every column, from the orders of all rows; returns how many they are."""
    count = 0
    for f in range(len(order)):
        count = 0
        for row in order[f]:
            if weight[row] > 0:
                orders[f, count] = row
                count += 1
    return count


@kernel
def _tree(
    columns: Any,
    orders: Any,
    count: int,
    T: FloatArray,
    weight: IntArray,
    tried: int,
    key: WordArray,
    tree: np.uint64,
    first: int,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
) -> int:
    """Grow one tree from node `first` on; returns the number of the node behind its last one."""
    width, k = len(columns), T.shape[1]
    sums, below = np.empty(k), np.empty(k)
    goes_left, aside = np.zeros(T.shape[0], np.int64), np.empty(count, np.int32)
    turns, words = np.arange(width), 0
    # Nodes that wait: number, first and last place in the orders.
    waiting = np.empty((count + 1, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = first, 0, count
    high, end = 1, first + 1
    while high:
        high -= 1
        node, start, stop = waiting[high, 0], waiting[high, 1], waiting[high, 2]
        total, spread = _sums(orders[0, start:stop], T, weight, sums)
        for j in range(k):
            value[node, j] = sums[j] / total
        feature[node], left[node], right[node] = -1, 0, 0
        if stop - start < 2 or spread <= EQUAL_TARGET_TOLERANCE * k:
            continue
        best, place, chosen, seen, varying = -np.inf, 0, -1, 0, 0
        while seen < width and (seen < tried or not varying):
            # The next turn of a shuffle.
            word = philox(key[0], key[1], np.uint64(words), _COLUMNS, tree, np.uint64(0))[0]
            words += 1
            swap = seen + np.int64(mulhi(word, np.uint64(width - seen)))
            turns[seen], turns[swap] = turns[swap], turns[seen]
            f = turns[seen]
            seen += 1
            column, ordered = columns[f], orders[f, start:stop]
            if column[ordered[-1]] <= column[ordered[0]] + EQUAL_VALUE_TOLERANCE:
                continue
            varying += 1
            gain, at = _best_place(column, ordered, T, weight, sums, below, total)
            if gain > best:
                best, place, chosen = gain, at, f
        if chosen < 0:
            continue
        ordered = orders[chosen, start:stop]
        low, top = (
            np.float64(columns[chosen, ordered[place - 1]]),
            np.float64(columns[chosen, ordered[place]]),
        )
        middle = low / 2.0 + top / 2.0
        feature[node], threshold[node] = chosen, low if middle >= top else middle
        left[node], right[node] = end, end + 1
        for j in range(len(ordered)):
            goes_left[ordered[j]] = np.int64(j < place)
        # Two rows make two leaves, whose targets are read in the first order.
        for f in range(width if stop - start > 2 else 1):
            if f != chosen:
                _part(orders[f, start:stop], goes_left, aside)
        waiting[high, 0], waiting[high, 1], waiting[high, 2] = end + 1, start + place, stop
        waiting[high + 1, 0], waiting[high + 1, 1], waiting[high + 1, 2] = end, start, start + place
        high, end = high + 2, end + 2
    return end


@kernel
def _sums(ordered: Any, T: FloatArray, weight: IntArray, sums: FloatArray) -> tuple[float, float]:
    """Weighted sums of the targets of a node's rows; return its weight and its summed variance."""
    for k in range(len(sums)):
        sums[k] = 0.0
    total, squares = 0.0, 0.0
    for row in ordered:
        w = np.float64(weight[row])
        total += w
        for k in range(len(sums)):
            sums[k] += w * T[row, k]
            squares += w * T[row, k] * T[row, k]
    spread = squares / total
    for target_sum in sums:
        spread -= (target_sum / total) ** 2
    return total, spread


@kernel
def _best_place(
    column: Any, ordered: Any, T: FloatArray, weight: IntArray, sums: FloatArray, below: FloatArray, total: float
) -> tuple[float, int]:
    """The best place to cut the sorted rows, and its gain (see the module)."""
    for k in range(len(sums)):
        below[k] = 0.0
    under, best, place = 0.0, -np.inf, 0
    for j in range(1, len(ordered)):
        row = ordered[j - 1]
        w = np.float64(weight[row])
        under += w
        for k in range(len(sums)):
            below[k] += w * T[row, k]
        if column[ordered[j]] <= column[row] + EQUAL_VALUE_TOLERANCE:
            continue
        low, top = 0.0, 0.0
        for k in range(len(sums)):
            rest = sums[k] - below[k]
            low += below[k] * below[k]
            top += rest * rest
        gain = low / under + top / (total - under)
        if gain > best:
            best, place = gain, j
    return best, place


@kernel
def _part(ordered: Any, goes_left: Any, aside: Any) -> None:
    """Rows that go left before the others, both in their order."""
    at, kept = 0, 0
    for j in range(len(ordered)):
        row, step = ordered[j], goes_left[ordered[j]]
        # Written to both sides: a jump that nobody can foresee would take longer.
        ordered[at], aside[kept] = row, row
        at, kept = at + step, kept + 1 - step
    for j in range(kept):
        ordered[at + j] = aside[j]
