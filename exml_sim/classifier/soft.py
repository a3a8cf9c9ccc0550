"""Models of class probabilities that judge their own training rows without having seen them.

A soft model is fitted to targets T, one line per row that sums to 1 (which class the row is, with what probability).
Besides predictions for new rows it gives `held`: the prediction of every training row by a model fitted without it. A
forest has them from its trees that did not draw the row, kernel regression in closed form
(`exml_sim.classifier.kernel_regression`), and any classifier of scikit-learn by cross-validation. So selection, gates and
reports need no further rows, and the first two cost no further fits. Forest and kernel are plain arrays, which a saved
model can hold without pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.classifier.forest import MOST_DRAWN, grown, summed
from exml_sim.classifier.kernel_regression import KernelFitter

#: Trees of a forest.
TREES = 40

#: Rows above which the kernel is left to the forest: its matrix grows with the square of them.
LARGEST_KERNEL = 1500

#: Smallest probability, so that no row is impossible.
FLOOR = 1e-3


class Soft(Protocol):
    """A fitted model of probabilities."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Targets of new rows, shape (n, k); not normalised."""
        ...


#: Fits targets: (X, T) to a model and its predictions of the training rows without them.
Fitter = Callable[[FloatArray, FloatArray], tuple[Soft, FloatArray]]


def normalised(values: FloatArray) -> FloatArray:
    """Probabilities: positive and of sum 1."""
    positive = np.clip(values, FLOOR, None)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True), dtype=np.float64)


def raised(f: FloatArray, odds: float) -> FloatArray:
    """Probabilities with the odds of the last target multiplied."""
    return normalised(np.column_stack([f[:, :-1], odds * f[:, -1]])) if odds != 1.0 else f


@dataclass(frozen=True, slots=True, eq=False)
class ForestSoft:
    """A regression forest as plain arrays: node by node, the trees one behind the other.

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
        """Mean over the trees."""
        nodes = self.feature, self.threshold, self.left, self.right, self.value
        return summed(X, nodes, self.roots) / len(self.roots)


def forest_fitter(seed: int, trees: int = TREES) -> Fitter:
    """Random forests on soft targets, judged by the trees that did not draw a row; one draws `MOST_DRAWN` at most."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[Soft, FloatArray]:
        nodes, roots, held = grown(X, T, trees, seed, min(len(X), MOST_DRAWN))
        # A row that every tree drew has no prediction.
        held[held.sum(axis=1) <= 0.0] = T.mean(axis=0)
        return ForestSoft(*nodes, roots), held

    return fit


@dataclass(frozen=True, slots=True, eq=False)
class MeanSoft:
    """The mean of several models' probabilities."""

    parts: tuple[Soft, ...]

    def predict(self, X: FloatArray) -> FloatArray:
        """Mean of normalised predictions."""
        return np.asarray(np.mean([normalised(part.predict(X)) for part in self.parts], axis=0), dtype=np.float64)


def mean_fitter(fitters: Sequence[Fitter]) -> Fitter:
    """Fit all, and average."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[Soft, FloatArray]:
        found = [one(X, T) for one in fitters]
        held = np.mean([normalised(held) for _, held in found], axis=0)
        return MeanSoft(tuple(model for model, _ in found)), np.asarray(held, dtype=np.float64)

    return fit


@dataclass(frozen=True, slots=True, eq=False)
class StackedSoft:
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
        Factors on the last target of both.
    """

    first: Soft
    second: Soft
    width: int
    weight: float
    odds: tuple[float, float] = (1.0, 1.0)

    def predict(self, X: FloatArray) -> FloatArray:
        """Weighted mean of normalised predictions."""
        ahead = raised(normalised(self.first.predict(X[:, : self.width])), self.odds[0])
        behind = raised(normalised(self.second.predict(X)), self.odds[1])
        return np.asarray((1.0 - self.weight) * ahead + self.weight * behind, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorSoft:
    """A classifier of scikit-learn; classes that it never saw have probability 0."""

    estimator: Any
    width: int

    def predict(self, X: FloatArray) -> FloatArray:
        """Its probabilities, in the columns of its classes."""
        out = np.zeros((len(X), self.width))
        said = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        wanted = len(X), len(self.estimator.classes_)
        if said.shape != wanted or not np.isfinite(said).all():
            what = "NaN or infinite numbers" if said.shape == wanted else f"an array of shape {said.shape}"
            name = type(self.estimator).__name__
            raise ValueError(f"predict_proba of {name} must give finite numbers of shape {wanted}; it gave {what}")
        out[:, np.asarray(self.estimator.classes_, dtype=np.int64)] = said
        return out


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot say how sure it is."""
    lacking = [name for name in ("fit", "predict_proba", "get_params") if not hasattr(estimator, name)]
    if lacking:
        raise ValueError(
            f"model must be a classifier with predict_proba; {type(estimator).__name__} has no {lacking[0]}"
        )


def estimator_fitter(estimator: Any, folds: int, rng: np.random.Generator) -> Fitter:
    """Any classifier with `predict_proba`: rows go to their likeliest target, held-out ones by cross-validation."""

    def fit(X: FloatArray, T: FloatArray) -> tuple[Soft, FloatArray]:
        from sklearn.base import clone

        codes = T.argmax(axis=1)
        fold = spread_folds(codes, min(folds, len(codes)), rng)
        held = np.zeros_like(T)
        for k in range(int(fold.max()) + 1):
            inside, outside = fold != k, fold == k
            if len(np.unique(codes[inside])) < 2:
                held[outside] = T[inside].mean(axis=0)
                continue
            part = EstimatorSoft(clone(estimator).fit(X[inside], codes[inside]), T.shape[1])
            held[outside] = part.predict(X[outside])
        return EstimatorSoft(clone(estimator).fit(X, codes), T.shape[1]), held

    return fit


def spread_folds(codes: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Fold number of every row; every class is spread evenly."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % folds
    return fold


def fitter_by_name(name: str, rows: int, seed: int, kernel: KernelFitter | None = None) -> Fitter:
    """One of "forest", "kernel", "mean" (of both); above `LARGEST_KERNEL` rows all are the forest.

    A kernel that has seen the rows has their decompositions.
    """
    forest = forest_fitter(seed)
    if name == "forest" or rows > LARGEST_KERNEL:
        return forest
    kernel = kernel or KernelFitter()
    return kernel if name == "kernel" else mean_fitter([forest, kernel])
