"""Predict every row of the last layer by a cascade that was fitted without it: nested cross-validation.

In every fold the family of the model, its weight, label noise, size of the hidden class and thresholds are chosen anew.
The selected candidates are kept. Rows of one group, and duplicated rows, are in the same fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier import constants
from exml_sim.classifier._groups import draw_folds, group_duplicates, join_groups
from exml_sim.classifier._latent_class import decide
from exml_sim.classifier._layers import FittedLayer, LatentLayers
from exml_sim.classifier._parameters import Parameters
from exml_sim.classifier._probability_models import StackedModel, normalise, scale_odds

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
        Group number of every row; None if all are apart.
    """
    first, last = records[0], records[-1]
    if first.fitted.latent is None or len(records) > 2 or len(last.rows) < constants.MIN_NESTED_ROWS:
        return None
    n, rng = len(last.rows), np.random.default_rng(0)
    own = join_groups(None if groups is None else groups[last.rows], group_duplicates(last.points, y[last.rows]))
    if own is not None and len(np.unique(own)) < 2:
        return None
    fold = draw_folds(y[last.rows], own, constants.NESTED_FOLDS, rng)
    winner, accepted, rate = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), np.zeros(n)
    for k in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if len(records) == 1:
            fitter = LatentLayers(parameters, n_classes, rng, None if groups is None else groups[inside])
            parts = _predict_initial(fitter, first, y, inside, outside, parameters.initial_theta)
        else:
            fitter = LatentLayers(parameters, n_classes, rng, groups)
            parts = _predict_augmented(fitter, records, y, inside, outside, parameters)
        winner[outside], accepted[outside], rate[outside] = parts
    return NestedPredictions(winner, accepted, rate)


def _predict_initial(
    fitter: LatentLayers, first: LayerRecord, y: IntArray, inside: IntArray, outside: IntArray, theta: float | None
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
    parameters: Parameters,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Fit the second layer without the rows outside, and predict these; the first predicts them out of fold.

    Parameters
    ----------
    inside, outside
        Places among the rows of the last layer.
    """
    first, last = records[0].fitted, records[-1]
    rows = last.rows[inside]
    second = fitter.fit_augmented(last.points[inside], y[rows], rows, None, first)
    latent = first.latent.resize(second.latent.size)  # type: ignore[union-attr]
    points, ahead = last.points[outside], latent.out_of_fold[last.rows[outside]]
    stacked = second.model.probabilities  # type: ignore[union-attr]
    assert isinstance(stacked, StackedModel)
    own = scale_odds(normalise(stacked.second.predict(points)), stacked.odds[1])
    f = (1.0 - stacked.weight) * ahead + stacked.weight * own
    noise = second.model.noise  # type: ignore[union-attr]
    winner, accepted = decide(f, noise, second.model.theta)
    rate = f[:, -1] * noise[winner]
    placed: FittedLayer | None = None
    if parameters.cascade:
        placed = fitter.place_first(first, second, y, rows)
    if placed is not None:
        early, certain = decide(ahead, latent.model.noise, placed.model.theta)
        winner, accepted = np.where(certain, early, winner), accepted | certain
        rate = np.where(certain, ahead[:, -1] * latent.model.noise[early], rate)
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_), np.asarray(rate)
