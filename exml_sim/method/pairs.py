"""Held-out losses of a purchase, for the statement how sure its choice is."""

from __future__ import annotations

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.exploration.paired import ROWS_FOR_BETS, Pair, later_losses
from exml_sim.method.latent import brier, one_hot
from exml_sim.method.soft import Fitter, normalised


def held_out_losses(fit: Fitter, points: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Squared error of probabilities of every row by models that have not seen it."""
    return brier(normalised(fit(points, one_hot(y, n_classes))[1]), y)


def later_row_losses(fit: Fitter, points: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """The same of later rows by models that were fitted to earlier ones alone."""

    def loss(known: IntArray, new: IntArray) -> FloatArray:
        model = fit(np.ascontiguousarray(points[known]), one_hot(y[known], n_classes))[0]
        return brier(normalised(model.predict(points[new])), y[new])

    return later_losses(len(y), loss)


def pair_of(
    name: str,
    losses: tuple[FloatArray, FloatArray],
    points: tuple[FloatArray, FloatArray],
    y: IntArray,
    n_classes: int,
    fit: Fitter,
) -> Pair:
    """The chosen and another one on common rows, in the order of the purchase; with bets where rows are enough.

    Parameters
    ----------
    losses, points
        Held-out losses and features of the chosen one, then of the other one.
    """
    later = None
    if len(y) >= ROWS_FOR_BETS:
        mine, theirs = (later_row_losses(fit, one, y, n_classes) for one in points)
        later = theirs - mine
    return Pair(name, *losses, later)
