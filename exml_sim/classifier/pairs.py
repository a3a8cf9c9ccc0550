"""Held-out losses of a purchase, for the statement how sure its choice is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import Pair, is_worth_betting, later_losses
from exml_sim.classifier.latent import brier, one_hot
from exml_sim.classifier.soft import Fitter, normalised


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
    later: tuple[Callable[[], FloatArray], Callable[[], FloatArray]],
) -> Pair:
    """The chosen and another one on common rows, in the order of the purchase; with bets where they are worth it.

    Parameters
    ----------
    losses, later
        Held-out losses of the chosen one, then of the other one; and those of later rows, which cost fits and are asked
        for only where a bet is worth them.
    """
    if not is_worth_betting(*losses):
        return Pair(name, *losses, None)
    mine, theirs = (one() for one in later)
    return Pair(name, *losses, theirs - mine)
