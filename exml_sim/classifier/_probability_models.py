"""Fit models of class probabilities together with out-of-fold predictions of their training rows.

A model is fitted to targets T, one line per row that sums to 1. Besides predictions for new rows it gives out-of-fold
predictions of the training rows: a forest from the trees that did not draw the row, kernel regression in closed form
(`exml_sim.classifier._regression`), any classifier of scikit-learn by cross-validation. So selection, rejection
and evaluation need no further rows. Forest and kernel are plain arrays, which a saved model holds without pickle.

Duplicated rows, and groups such as persons with several rows, are kept together: no row confirms its own copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.columns import is_missing
from exml_sim._internal.validation import counted, shown
from exml_sim.classifier._regression import KernelFitter, grow_forest, sum_trees
from exml_sim.classifier.constants import (
    MAX_DRAWN_ROWS,
    MAX_KERNEL_ROWS,
    MIN_DUPLICATED_FRACTION,
    MIN_PROBABILITY,
    N_TREES,
    NESTED_FOLDS,
)


class ProbabilityModel(Protocol):
    """A fitted model of probabilities."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict targets of new rows, shape (n, k); not normalised."""
        ...


#: Fits targets: (X, T) to a model and its out-of-fold predictions of the training rows.
Fitter = Callable[[FloatArray, FloatArray], tuple[ProbabilityModel, FloatArray]]


def normalise(values: FloatArray) -> FloatArray:
    """Return probabilities: positive and of sum 1."""
    positive = np.clip(values, MIN_PROBABILITY, None)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True), dtype=np.float64)


def scale_odds(f: FloatArray, odds: float) -> FloatArray:
    """Multiply the odds of the last target; by 0 it gets probability 0."""
    if odds == 0.0:
        return np.column_stack([f[:, :-1] / f[:, :-1].sum(axis=1, keepdims=True), np.zeros(len(f))])
    return normalise(np.column_stack([f[:, :-1], odds * f[:, -1]])) if odds != 1.0 else f


def one_hot(y: IntArray, n_classes: int) -> FloatArray:
    """Return the targets of observed labels."""
    return np.asarray(np.eye(n_classes)[y], dtype=np.float64)


def brier(p: FloatArray, y: IntArray) -> FloatArray:
    """Return the squared error of probabilities of observed labels, row by row."""
    return np.asarray(((p - one_hot(y, p.shape[1])) ** 2).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ForestModel:
    """A regression forest as plain arrays, the nodes of the trees one behind the other.

    Attributes
    ----------
    feature, threshold, left, right
        Of every node; a leaf has feature -1.
    value
        Targets of every node, shape (nodes, k).
    roots
        First node of every tree.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    roots: IntArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the mean over the trees."""
        nodes = self.feature, self.threshold, self.left, self.right, self.value
        return sum_trees(X, nodes, self.roots) / len(self.roots)

    def check(self, width: int, targets: int) -> None:
        """Raise an error unless all arrays fit together and every path down ends."""
        nodes = len(self.feature)
        whole = (self.feature, self.left, self.right, self.roots)
        shapes = self.threshold.shape == self.left.shape == self.right.shape == self.feature.shape
        fit_together = all(array.dtype == np.int64 and array.ndim == 1 for array in whole) and shapes
        fit_together = fit_together and self.value.shape == (nodes, targets) and len(self.roots) > 0
        if not fit_together or not ((self.roots >= 0) & (self.roots < nodes)).all() or not (self.feature < width).all():
            raise ValueError("the arrays of a forest do not fit together")
        inner = np.flatnonzero(self.feature >= 0)
        for child in (self.left[inner], self.right[inner]):
            if not ((child > inner) & (child < nodes)).all():
                raise ValueError("the nodes of a forest are out of order")


def make_forest_fitter(seed: int, trees: int = N_TREES, max_drawn: int = MAX_DRAWN_ROWS) -> Fitter:
    """Return a fitter of random forests; a tree draws at most `max_drawn` rows."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        nodes, roots, out_of_fold = grow_forest(X, T, trees, seed, min(len(X), max_drawn))
        # A row that every tree drew has no prediction.
        out_of_fold[out_of_fold.sum(axis=1) <= 0.0] = T.mean(axis=0)
        return ForestModel(*nodes, roots), out_of_fold

    return fit


@dataclass(frozen=True, slots=True, eq=False)
class MeanModel:
    """The mean of the probabilities of several models."""

    parts: tuple[ProbabilityModel, ...]

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the mean of normalised predictions."""
        return np.asarray(np.mean([normalise(part.predict(X)) for part in self.parts], axis=0), dtype=np.float64)

    def check(self, width: int, targets: int) -> None:
        """Raise an error for a damaged part."""
        if not self.parts:
            raise ValueError("a mean has no parts")
        for part in self.parts:
            part.check(width, targets)  # type: ignore[attr-defined]


def make_mean_fitter(fitters: Sequence[Fitter]) -> Fitter:
    """Return a fitter of the mean of several models."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        fitted = [fitter(X, T) for fitter in fitters]
        out_of_fold = np.mean([normalise(predictions) for _, predictions in fitted], axis=0)
        return MeanModel(tuple(model for model, _ in fitted)), np.asarray(out_of_fold, dtype=np.float64)

    return fit


@dataclass(frozen=True, slots=True, eq=False)
class StackedModel:
    """A model of the first columns, trained on many rows, mixed with one of all columns, trained on few.

    Attributes
    ----------
    first, second
        The models.
    width
        Number of columns that the first one sees.
    weight
        Weight of the second one.
    odds
        Factors on the odds of the last target of both.
    """

    first: ProbabilityModel
    second: ProbabilityModel
    width: int
    weight: float
    odds: tuple[float, float] = (1.0, 1.0)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the weighted mean of normalised predictions."""
        first = scale_odds(normalise(self.first.predict(X[:, : self.width])), self.odds[0])
        second = scale_odds(normalise(self.second.predict(X)), self.odds[1])
        return np.asarray((1.0 - self.weight) * first + self.weight * second, dtype=np.float64)

    def check(self, width: int, targets: int) -> None:
        """Raise an error for a damaged part or weight."""
        odds = tuple(self.odds)
        if not 0 < self.width <= width or not 0.0 <= self.weight <= 1.0 or len(odds) != 2 or not min(odds) >= 0.0:
            raise ValueError("a mixture has no usable weight or width")
        self.first.check(self.width, targets)  # type: ignore[attr-defined]
        self.second.check(width, targets)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A classifier of scikit-learn; classes that it never saw have probability 0."""

    estimator: Any
    width: int

    def predict(self, X: FloatArray) -> FloatArray:
        """Return its probabilities, in the columns of its classes."""
        out = np.zeros((len(X), self.width))
        probabilities = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        shape = len(X), len(self.estimator.classes_)
        if probabilities.shape != shape or not np.isfinite(probabilities).all():
            wrong_shape = probabilities.shape != shape
            what = f"an array of shape {probabilities.shape}" if wrong_shape else "NaN or infinite numbers"
            name = type(self.estimator).__name__
            raise ValueError(f"predict_proba of {name} must give finite numbers of shape {shape}; it gave {what}")
        out[:, np.asarray(self.estimator.classes_, dtype=np.int64)] = probabilities
        return out


def check_estimator(estimator: Any) -> None:
    """Raise an error for a model without probabilities."""
    lacking = [name for name in ("fit", "predict_proba", "get_params") if not hasattr(estimator, name)]
    if lacking:
        raise ValueError(
            f"model must be a classifier with predict_proba; {type(estimator).__name__} has no {lacking[0]}"
        )


def make_estimator_fitter(estimator: Any, folds: int, rng: np.random.Generator) -> Fitter:
    """Return a fitter of any classifier with `predict_proba`; rows go to their likeliest target."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        from sklearn.base import clone

        codes = T.argmax(axis=1)
        fold = stratified_folds(codes, min(folds, len(codes)), rng)
        out_of_fold = np.zeros_like(T)
        for k in range(int(fold.max()) + 1):
            inside, outside = fold != k, fold == k
            if len(np.unique(codes[inside])) < 2:
                out_of_fold[outside] = T[inside].mean(axis=0)
                continue
            part = EstimatorModel(clone(estimator).fit(X[inside], codes[inside]), T.shape[1])
            out_of_fold[outside] = part.predict(X[outside])
        return EstimatorModel(clone(estimator).fit(X, codes), T.shape[1]), out_of_fold

    return fit


def stratified_folds(codes: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold number of every row; every class is spread evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % folds
    return fold


def make_fitter(name: str, rows: int, seed: int, kernel: KernelFitter | None = None) -> Fitter:
    """Return the fitter "forest", "kernel" or "mean" of both; above `MAX_KERNEL_ROWS` rows always the forest.

    A kernel that has seen the rows keeps their decompositions.
    """
    forest = make_forest_fitter(seed)
    if name == "forest" or rows > MAX_KERNEL_ROWS:
        return forest
    kernel = kernel or KernelFitter()
    return kernel if name == "kernel" else make_mean_fitter([forest, kernel])


def group_duplicates(X: FloatArray, y: IntArray) -> IntArray | None:
    """Return a group number per row, the same for duplicates; None if there are none beyond chance.

    The expectation is computed from the distinct rows, as if columns were independent: the product over columns of the
    fraction of pairs that agree.
    """
    distinct, group = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if not 2 <= len(distinct) < len(y):
        return None
    counts = [np.unique(column, return_counts=True)[1] for column in distinct.T]
    pairs = len(distinct) * (len(distinct) - 1)
    by_chance = (len(y) - 1) * float(np.prod([(count * (count - 1)).sum() / pairs for count in counts]))
    return np.asarray(group.ravel(), dtype=np.int64) if by_chance < MIN_DUPLICATED_FRACTION else None


def encode_groups(groups: ArrayLike, rows: int) -> IntArray:
    """Return group numbers from names of groups, one per row."""
    # numpy would make texts of a list of texts and NaN.
    names = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)
    if names.shape != (rows,):
        raise ValueError(f"groups must have shape ({rows},), one group per row, got {names.shape}")
    missing = sum(map(is_missing, names.tolist()))
    if missing:
        raise ValueError(
            f"groups must name the group of every row, got {counted(missing, 'row')} without one: give such a row a "
            "group of its own, or leave it out"
        )
    try:
        distinct, codes = np.unique(names, return_inverse=True)
    except TypeError:
        kinds = " and ".join(sorted({type(name).__name__ for name in names.tolist()}))
        raise ValueError(f"groups must be all texts or all numbers, got {kinds}: write all as texts") from None
    if len(distinct) < 2:
        raise ValueError(f"groups must have at least 2 groups, got only {shown(distinct[0])}: leave groups out")
    return np.asarray(codes, dtype=np.int64)


def join_groups(first: IntArray | None, second: IntArray | None) -> IntArray | None:
    """Return groups that contain whole groups of both kinds; None stands for rows that are all apart."""
    if first is None or second is None:
        return second if first is None else first
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    places = np.concatenate([first, int(first.max()) + 1 + second])
    edges = coo_matrix(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), n + places)), shape=(2 * n + int(places.max()) + 1,) * 2
    )
    return np.asarray(connected_components(edges, directed=False)[1][:n], dtype=np.int64)


def draw_folds(y: IntArray, groups: IntArray | None, folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of every row; groups are whole, and classes spread over the folds."""
    if groups is None:
        return stratified_folds(y, min(folds, len(y)), rng)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return stratified_folds(y[first], min(folds, len(first)), rng)[group.ravel()]


def keep_together(fit: Fitter, groups: IntArray | None) -> Fitter:
    """Return a fitter whose out-of-fold predictions come from models that saw no row of the same group."""
    if groups is None or len(np.unique(groups)) < 2:
        return fit

    def fit_by_groups(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        out_of_fold = np.zeros_like(T)
        fold = draw_folds(T.argmax(axis=1), groups, NESTED_FOLDS, np.random.default_rng(0))
        for k in range(int(fold.max()) + 1):
            outside = fold == k
            out_of_fold[outside] = fit(X[~outside], T[~outside])[0].predict(X[outside])
        return fit(X, T)[0], out_of_fold

    return fit_by_groups
