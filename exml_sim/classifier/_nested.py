"""Predict every row of the last layer by a cascade that was fitted without it: nested cross-validation.

In every fold the family of the model, its weight, label noise, size of the hidden class and thresholds are chosen anew.
The selected candidates are kept. Rows of one group, and duplicated rows, are in the same fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier import constants
from exml_sim.classifier._latent_class import decide
from exml_sim.classifier._layers import FittedLayer, LatentLayers
from exml_sim.classifier._parameters import Parameters
from exml_sim.classifier._probability_models import StackedModel, normalise, scale_odds, stratified_folds

if TYPE_CHECKING:
    from exml_sim.classifier._growth import LayerRecord


@dataclass(frozen=True, slots=True, eq=False)
class NestedPredictions:
    """Predictions of the last layer's rows by cascades fitted without them.

    Attributes
    ----------
    winner, accepted
        Best known class, and whether it is accepted, shape (n,).
    hidden_label_rate
        Probability that the row is hidden and carries the label of the winner, shape (n,).
    """

    winner: IntArray
    accepted: BoolArray
    hidden_label_rate: FloatArray


def group_duplicates(X: FloatArray, y: IntArray) -> IntArray:
    """Return a group number per row; duplicated rows share one if chance does not explain them.

    The expectation is computed from the distinct rows, as if columns were independent: the product over columns of the
    fraction of pairs that agree.
    """
    distinct, group = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if 2 <= len(distinct) < len(y):
        counts = [np.unique(column, return_counts=True)[1] for column in distinct.T]
        pairs = len(distinct) * (len(distinct) - 1)
        by_chance = (len(y) - 1) * float(np.prod([(count * (count - 1)).sum() / pairs for count in counts]))
        if by_chance < constants.MIN_DUPLICATED_FRACTION:
            return np.asarray(group.ravel(), dtype=np.int64)
    return np.arange(len(y))


def encode_groups(groups: ArrayLike, rows: int) -> IntArray:
    """Return group numbers from names of groups, one per row."""
    names = np.asarray(groups)
    if names.shape != (rows,):
        raise ValueError(f"groups must have shape ({rows},), one group per row, got {names.shape}")
    distinct, codes = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(f"groups must have at least 2 groups, got only {distinct[0]!r}: leave groups out")
    return np.asarray(codes, dtype=np.int64)


def join_groups(first: IntArray, second: IntArray) -> IntArray:
    """Return groups that contain whole groups of both kinds."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    places = np.concatenate([first, int(first.max()) + 1 + second])
    edges = coo_matrix(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), n + places)), shape=(2 * n + int(places.max()) + 1,) * 2
    )
    return np.asarray(connected_components(edges, directed=False)[1][:n], dtype=np.int64)


def draw_folds(y: IntArray, groups: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of every row; groups are whole, and classes spread over the folds."""
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return stratified_folds(y[first], min(folds, len(first)), rng)[group.ravel()]


def cross_validate(
    records: Sequence[LayerRecord], y: IntArray, n_classes: int, parameters: Parameters, groups: IntArray | None = None
) -> NestedPredictions | None:
    """Cross-validate the last layer and the first one before it; None for rejection models and further layers.

    Parameters
    ----------
    records
        Layers of a run.
    y
        Class numbers of all rows.
    groups
        Group number of every row.
    """
    first, last = records[0], records[-1]
    if first.fitted.latent is None or len(records) > 2 or len(last.rows) < constants.MIN_NESTED_ROWS:
        return None
    everyone = group_duplicates(first.points, y)
    everyone = everyone if groups is None else join_groups(everyone, groups)
    own = join_groups(everyone[last.rows], group_duplicates(last.points, y[last.rows]))
    if len(np.unique(own)) < 2:
        return None
    rng = np.random.default_rng(0)
    fold = draw_folds(y[last.rows], own, constants.NESTED_FOLDS, rng)
    fitter = LatentLayers(parameters, n_classes, rng)
    n = len(last.rows)
    winner, accepted, rate = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), np.zeros(n)
    has_groups = len(np.unique(everyone)) < len(y)
    for k in range(int(fold.max()) + 1):
        outside = np.flatnonzero(fold == k)
        if len(records) == 1:
            parts = _predict_initial(fitter, first, y, fold != k, outside, parameters.initial_theta)
        else:
            left_out = np.isin(everyone, everyone[last.rows[outside]]) if has_groups else None
            parts = _predict_augmented(fitter, records, y, np.flatnonzero(fold != k), outside, left_out, parameters)
        winner[outside], accepted[outside], rate[outside] = parts
    return NestedPredictions(winner, accepted, rate)


def _predict_initial(
    fitter: LatentLayers, first: LayerRecord, y: IntArray, inside: BoolArray, outside: IntArray, theta: float | None
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Fit the initial layer to the rows inside, and predict those outside."""
    fitted = fitter.fit_initial(first.points[inside], y[inside], theta)
    f, model = fitted.model.outputs(first.points[outside]), fitted.model
    winner, accepted = decide(f, model.noise, model.theta)  # type: ignore[union-attr]
    return winner, accepted, f[:, -1] * model.noise[winner]  # type: ignore[union-attr]


def _predict_augmented(
    fitter: LatentLayers,
    records: Sequence[LayerRecord],
    y: IntArray,
    inside: IntArray,
    outside: IntArray,
    left_out: BoolArray | None,
    parameters: Parameters,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Fit both layers without the rows outside, and predict these; the first by its out-of-fold predictions if it can.

    Parameters
    ----------
    inside, outside
        Places among the rows of the last layer.
    left_out
        Rows of the table that a new first layer must not see; None to keep the first layer.
    """
    record, last = records[0], records[-1]
    first, rows, labels = record.fitted, last.rows[inside], y
    if left_out is not None:
        kept = np.flatnonzero(~left_out)
        first = fitter.fit_initial(record.points[kept], y[kept], parameters.initial_theta)
        rows, labels = np.searchsorted(kept, rows), y[kept]
    second = fitter.fit_augmented(last.points[inside], y[last.rows[inside]], rows, None, first)
    latent = first.latent.resize(second.latent.size)  # type: ignore[union-attr]
    points, places = last.points[outside], last.rows[outside]
    ahead = latent.out_of_fold[places] if left_out is None else latent.model.outputs(record.points[places])
    stacked = second.model.probabilities  # type: ignore[union-attr]
    assert isinstance(stacked, StackedModel)
    own = scale_odds(normalise(stacked.second.predict(points)), stacked.odds[1])
    f = (1.0 - stacked.weight) * ahead + stacked.weight * own
    noise = second.model.noise  # type: ignore[union-attr]
    winner, accepted = decide(f, noise, second.model.theta)
    rate = f[:, -1] * noise[winner]
    placed: FittedLayer | None = None
    if parameters.cascade:
        placed = fitter.place_first(first, second, labels, rows)
    if placed is not None:
        early, certain = decide(ahead, latent.model.noise, placed.model.theta)
        winner, accepted = np.where(certain, early, winner), accepted | certain
        rate = np.where(certain, ahead[:, -1] * latent.model.noise[early], rate)
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_), np.asarray(rate)
