"""Layers that know the hidden class: which model, which gate, and what they say about their own training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.kernel_regression import CHOOSING_ROWS, KernelFitter
from exml_sim.classifier.latent import Discovered, LatentModel, brier, decide, discover, labels_of, one_hot, row_losses
from exml_sim.classifier.mislabelling import Mislabelling
from exml_sim.classifier.settings import Settings
from exml_sim.classifier.soft import (
    LARGEST_KERNEL,
    Fitter,
    Soft,
    StackedSoft,
    estimator_fitter,
    fitter_by_name,
    forest_fitter,
    mean_fitter,
    normalised,
)
from exml_sim.classifier.thresholds import Tried

#: Deviations by which one family must be better than the mean of all.
DOUBT = 2.0

#: What "auto" chooses from, the first unless another is better.
FAMILIES = ("mean", "forest", "kernel")

#: Weights of a layer next to the initial one.
WEIGHTS = (1.0, 0.75, 0.5, 0.25)

#: Rows from which a forest, and of how many trees, takes part in comparing candidates.
FOREST_FROM, SCORING_TREES = 60, 30

#: From so many candidates on, the kernel that compares them chooses penalty and bandwidth on so many rows: hundreds of
#: fits take twice as long with all rows. With few candidates all rows choose a little better.
MANY_CANDIDATES, SCORING_ROWS = 25, 96


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Votes of a latent layer on rows that its models have not seen, one price at a time.

    Attributes
    ----------
    held
        Probabilities of the known classes and the hidden one, shape (n, C + 1).
    law
        Law of mislabelling.
    y
        Perceived labels.
    mislabelling
        What the labels say about the law; None if it was given.
    size
        The share of hidden rows, if it was given.
    """

    held: FloatArray
    law: FloatArray
    y: IntArray
    mislabelling: Mislabelling | None = None
    size: float | None = None

    @classmethod
    def of(cls, found: Discovered, y: IntArray) -> HeldOut:
        """Of a fitted layer."""
        return cls(found.held, found.model.law, y, found.mislabelling, found.size)

    def vote(self, theta: float | None) -> tuple[IntArray, BoolArray]:
        """Winner and gate of every row."""
        return decide(self.held, self.law, theta)

    def accepted(self, theta: float | None) -> BoolArray:
        """Rows that pass the gate."""
        return self.vote(theta)[1]

    def judge(self, theta: float | None, among: BoolArray | None = None) -> Tried:
        """Count the outcomes on all rows or among some of them; without theta, the price of the likeliest class."""
        winner, accepted = self.vote(theta)
        price = float((1.0 - self.law.mean()) / 2.0) if theta is None else theta
        rows = np.ones(len(self.y), dtype=np.bool_) if among is None else among
        return Tried.count(price, winner[rows], accepted[rows], self.y[rows])

    def until(self, thetas: Sequence[float], target: float) -> tuple[Tried, ...]:
        """Try prices from the highest down to the first that reaches the target."""
        tried: list[Tried] = []
        for theta in sorted(thetas, reverse=True):
            tried.append(self.judge(theta))
            if tried[-1].accuracy >= target:
                break
        return tuple(reversed(tried))

    def losses(self, theta: float | None) -> FloatArray:
        """Estimated true errors row by row, up to a constant (see `exml_sim.classifier.latent.row_losses`)."""
        return row_losses(self.y, *self.vote(theta), self.law)


def scoring_fitter(settings: Settings, rng: np.random.Generator, candidates: int) -> Fitter:
    """The model by which so many candidates are compared: with few rows the kernel, the steadier one, then both.

    A model by name may be fitted in several threads at a time.
    """
    if not isinstance(settings.model, str):
        return estimator_fitter(settings.model, settings.folds, rng)
    forest = forest_fitter(_seed(rng), SCORING_TREES)
    choosing = SCORING_ROWS if candidates >= MANY_CANDIDATES else CHOOSING_ROWS

    def kernel(X: FloatArray, T: FloatArray) -> tuple[Soft, FloatArray]:
        # Its own decompositions every time: rows of a comparison are fitted once.
        return KernelFitter(choosing)(X, T)

    both = mean_fitter([kernel, forest])

    def fit(X: FloatArray, T: FloatArray) -> tuple[Soft, FloatArray]:
        if len(X) < FOREST_FROM:
            return kernel(X, T)
        return both(X, T) if len(X) <= LARGEST_KERNEL else forest(X, T)

    return fit


def fitted(
    X: FloatArray, y: IntArray, n_classes: int, settings: Settings, rng: np.random.Generator
) -> tuple[Discovered, str]:
    """Fit the wanted model, and say which it is; "auto" decides by held-out rows."""
    if not isinstance(settings.model, str):
        fitter, name = estimator_fitter(settings.model, settings.folds, rng), type(settings.model).__name__
    else:
        name, seed, kernel = settings.model, _seed(rng), KernelFitter()
        if name == "auto":
            name = best_family(X, y, n_classes, seed, kernel)
        fitter = fitter_by_name(name, len(y), seed, kernel)
    return discover(fitter, X, y, n_classes, settings.law, settings.theta, size=settings.hidden_share), name


def best_family(X: FloatArray, y: IntArray, n_classes: int, seed: int, kernel: KernelFitter | None = None) -> str:
    """The mean of forest and kernel, unless one of them predicts unseen labels better beyond doubt.

    Above `LARGEST_KERNEL` rows there is the forest alone.
    """
    if len(y) > LARGEST_KERNEL:
        return "forest"
    targets = one_hot(y, n_classes)
    parts = [normalised(fitter_by_name(name, len(y), seed, kernel)(X, targets)[1]) for name in FAMILIES[1:]]
    together = brier(np.asarray(np.mean(parts, axis=0), dtype=np.float64), y)
    for name, part in zip(FAMILIES[1:], parts, strict=True):
        gain = together - brier(part, y)
        if gain.mean() > DOUBT * gain.std() / np.sqrt(len(y)):
            return name
    return FAMILIES[0]


def stacked(found: Discovered, ahead: Discovered, rows: IntArray, y: IntArray, width: int) -> tuple[Discovered, float]:
    """Mix a layer with the initial one, which knows fewer columns of more rows, by what predicts unseen labels best.

    Parameters
    ----------
    found, ahead
        The layer, and the initial one.
    rows
        Rows of the layer among those of the initial one.
    width
        Number of observed columns.

    Returns
    -------
    The mixture, and the weight of the layer.
    """
    law, first = found.model.law, ahead.held[rows]
    losses = {w: float(brier(labels_of((1.0 - w) * first + w * found.held, law), y).mean()) for w in WEIGHTS}
    weight = min(WEIGHTS, key=lambda w: losses[w])
    first_odds, odds = ahead.model.odds, found.model.odds
    soft = StackedSoft(ahead.model.soft, found.model.soft, width, weight, (first_odds, odds))
    held = (1.0 - weight) * first + weight * found.held
    perceived = (1.0 - weight) * ahead.perceived[rows] + weight * found.perceived
    return replace(found, model=LatentModel(soft, law, found.model.theta), held=held, perceived=perceived), weight


def settled(first: HeldOut, thetas: Sequence[float], second: HeldOut) -> float | None:
    """The price of the first layer in front of the second, judged on rows that both know; None to leave it out.

    The highest price among those with the fewest estimated errors of the two layers together, so that as few rows as
    possible ask for values.
    """
    alone = second.losses(None)
    best, chosen = float(alone.mean()), None
    for theta in sorted(thetas):
        accepted = first.accepted(theta)
        loss = float(np.where(accepted, first.losses(theta), alone).mean())
        if loss <= best and accepted.any():
            best, chosen = loss, theta
    return chosen


def regated(model: LatentModel, theta: float | None) -> LatentModel:
    """The same model behind another gate."""
    return LatentModel(model.soft, model.law, theta, model.odds)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def check_rows(y: IntArray, n_classes: int, settings: Settings) -> None:
    """Refuse tables in which a fold of a user's model would see fewer than two rows of a class."""
    if isinstance(settings.model, str):
        return
    few: Any = np.bincount(y, minlength=n_classes).min()
    if few < 3:
        raise ValueError(f"model={type(settings.model).__name__} needs 3 rows of every class to be judged; got {few}")
