"""Fit the layers of a cascade: one protocol, implemented by rejection models and by latent-class models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier import constants
from exml_sim.classifier._latent_class import LatentFit, LatentModel, decide, estimate_row_losses, fit_em, mix_labels
from exml_sim.classifier._preflight import Parameters
from exml_sim.classifier._probability_models import (
    Fitter,
    ProbabilityModel,
    StackedModel,
    brier,
    group_duplicates,
    join_groups,
    keep_together,
    make_estimator_fitter,
    make_fitter,
    make_forest_fitter,
    make_mean_fitter,
    normalise,
    one_hot,
)
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier._rejection_model import (
    CrossValidatedVotes,
    RejectionModel,
    ThetaChoice,
    Votes,
    choose_augmented,
    choose_initial,
    fit_rejection_model,
)

#: What "auto" chooses from, the first unless another is better.
FAMILIES = ("mean", "forest", "kernel")


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Out-of-fold decisions about the rows of a layer: winning class, and whether it is accepted, shape (n,)."""

    winner: IntArray
    accepted: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class FittedLayer:
    """A fitted layer and what is known about its training rows.

    Attributes
    ----------
    model, name, columns
        The model, its name for the report, and the number of columns that it sees.
    theta
        Rejection cost.
    choice, decided
        How theta was chosen, and the out-of-fold decisions; None if theta was given.
    latent
        The fit of a latent-class model; None for a rejection model.
    """

    model: RejectionModel | LatentModel
    name: str
    columns: int
    theta: float
    choice: ThetaChoice | None
    decided: Decided | None
    latent: LatentFit | None = None


class LatentVotes(Votes):
    """Votes of a latent-class model from its out-of-fold probabilities, shape (n, C + 1)."""

    def __init__(self, out_of_fold: FloatArray, noise: FloatArray, y: IntArray) -> None:
        self._out_of_fold, self._noise, self.y = out_of_fold, noise, y

    @classmethod
    def of(cls, fit: LatentFit, y: IntArray, rows: IntArray | slice = slice(None)) -> LatentVotes:
        """Take the votes of a fitted layer, of all its rows or of some."""
        return cls(fit.out_of_fold[rows], fit.model.noise, y)

    def vote(self, theta: float | None) -> tuple[IntArray, BoolArray]:
        """Decide by the likeliest class, and by Chow's rule if theta is a number."""
        return decide(self._out_of_fold, self._noise, theta)

    def nominal_theta(self, theta: float | None) -> float:
        """Return theta; without it the rejection cost that the likeliest class amounts to."""
        return float((1.0 - self._noise.mean()) / 2.0) if theta is None else theta

    def estimate_losses(self, theta: float | None) -> FloatArray:
        """Estimate true errors row by row, up to a constant."""
        return estimate_row_losses(self.y, *self.vote(theta), self._noise)


class LayerFitter(ABC):
    """Fits the layers of a cascade; `groups` numbers the groups of the rows of the first layer, if there are any."""

    def __init__(
        self, parameters: Parameters, n_classes: int, rng: np.random.Generator, groups: IntArray | None = None
    ) -> None:
        self._parameters, self._n_classes, self._rng, self._groups = parameters, n_classes, rng, groups

    @abstractmethod
    def fit_initial(self, X: FloatArray, y: IntArray) -> FittedLayer:
        """Fit the layer of the observed columns."""

    @abstractmethod
    def fit_augmented(
        self, X: FloatArray, y: IntArray, rows: IntArray, reaching: BoolArray | None, first: FittedLayer
    ) -> FittedLayer:
        """Fit a further layer.

        Parameters
        ----------
        X, y
            Its training rows.
        rows
            Their places among the rows of the first layer.
        reaching
            Training rows that the layers before reject; None if this layer decides alone.
        """

    def place_first(self, first: FittedLayer, second: FittedLayer, y: IntArray, rows: IntArray) -> FittedLayer | None:
        """Return the first layer as it stands before the second one; None to leave it out."""
        return first


class RejectionLayers(LayerFitter):
    """Layers that are rejection models (Section 3.1)."""

    def fit_initial(self, X: FloatArray, y: IntArray) -> FittedLayer:
        """Fit on all rows, with the highest theta that reaches the target."""
        parameters = self._parameters
        votes = self._cross_validate(X, y, parameters.folds)
        choice = choose_initial(votes.count_down_to(constants.INITIAL_THETAS, parameters.target), parameters.target)
        return self._fit(X, y, choice.theta, choice, votes)

    def fit_augmented(
        self, X: FloatArray, y: IntArray, rows: IntArray, reaching: BoolArray | None, first: FittedLayer
    ) -> FittedLayer:
        """Fit with the given theta, or with the one that has the fewest estimated errors."""
        parameters = self._parameters
        if parameters.theta is not None:
            return self._fit(X, y, parameters.theta, None, None)
        votes = self._cross_validate(X, y, min(parameters.folds, len(rows)))
        choice = choose_augmented(votes, constants.PAPER_THETAS, self._n_classes, reaching)
        return self._fit(X, y, choice.theta, choice, votes)

    def _cross_validate(self, X: FloatArray, y: IntArray, folds: int) -> CrossValidatedVotes:
        options = self._parameters.options
        return CrossValidatedVotes.of_features(X, y, self._n_classes, options, folds=folds, rng=self._rng)

    def _fit(
        self, X: FloatArray, y: IntArray, theta: float, choice: ThetaChoice | None, votes: CrossValidatedVotes | None
    ) -> FittedLayer:
        model = fit_rejection_model(X, y, self._n_classes, theta, self._parameters.options)
        decided = None if votes is None else Decided(*votes.vote(theta))
        return FittedLayer(model, "rejection", X.shape[1], theta, choice, decided)


class LatentLayers(LayerFitter):
    """Layers with the hidden class as a class of its own."""

    def __init__(
        self,
        parameters: Parameters,
        n_classes: int,
        rng: np.random.Generator,
        groups: IntArray | None = None,
        decided: LatentFit | None = None,
    ) -> None:
        super().__init__(parameters, n_classes, rng, groups)
        # A fit whose size of the hidden class is taken over; None to choose.
        self._decided = decided

    def fit_initial(self, X: FloatArray, y: IntArray) -> FittedLayer:
        """Fit on all rows; a row that this layer decides is never seen again, so it must be confident."""
        highest = (1.0 - 1.0 / self._n_classes) / constants.INITIAL_LAYER_ODDS
        thetas = [theta for theta in constants.INITIAL_THETAS if theta <= highest]
        target = self._parameters.target
        latent, name = self._fit(X, y, None, self._groups, large=True)
        fit = latent.resize(latent.size)
        votes = LatentVotes.of(fit, y)
        choice = choose_initial(votes.count_down_to(thetas, target), target)
        model = replace(fit.model, theta=choice.theta)
        return FittedLayer(model, name, X.shape[1], choice.theta, choice, Decided(*votes.vote(choice.theta)), latent)

    def fit_augmented(
        self, X: FloatArray, y: IntArray, rows: IntArray, reaching: BoolArray | None, first: FittedLayer
    ) -> FittedLayer:
        """Fit, mix with the first layer, and decide by the likeliest class or a given theta."""
        theta = self._parameters.theta
        own = None if self._groups is None else self._groups[rows]
        fit, name = self._fit(X, y, theta, join_groups(own, group_duplicates(X, y)))
        if first.latent is not None:
            fit, weight = stack(fit, first.latent.resize(fit.size), rows, y, first.columns)
            name += "" if weight == 1.0 else f" (weight {weight:g}, initial layer {1 - weight:g})"
        votes = LatentVotes.of(fit, y)
        result = votes.count(theta, reaching if reaching is not None and reaching.any() else None)
        reason = f"the likeliest class, known or hidden, cross-validated on {result.rows} bought rows"
        choice = ThetaChoice(result.theta, (result,), reason)
        return FittedLayer(fit.model, name, X.shape[1], result.theta, choice, Decided(*votes.vote(theta)), fit)

    def place_first(self, first: FittedLayer, second: FittedLayer, y: IntArray, rows: IntArray) -> FittedLayer | None:
        """Choose the theta of the first layer with the fewest estimated errors of both layers together."""
        if first.latent is None or second.latent is None:
            return first
        latent = first.latent.resize(second.latent.size)
        known, behind = LatentVotes.of(latent, y[rows], rows), LatentVotes.of(second.latent, y[rows])
        thetas = [theta for theta in constants.INITIAL_THETAS if theta <= first.theta]
        theta = choose_first_theta(known, thetas or [first.theta], behind)
        if theta is None:
            return None
        model = replace(latent.model, theta=theta)
        return replace(first, model=model, latent=latent, decided=Decided(*LatentVotes.of(latent, y).vote(theta)))

    def _fit(
        self, X: FloatArray, y: IntArray, theta: float | None, groups: IntArray | None, large: bool = False
    ) -> tuple[LatentFit, str]:
        """Fit the wanted model by EM, and name it; "auto" chooses by out-of-fold predictions."""
        parameters, n_classes = self._parameters, self._n_classes
        if not isinstance(parameters.model, str):
            fitter = make_estimator_fitter(parameters.model, parameters.folds, self._rng)
            name = type(parameters.model).__name__
        else:
            name, seed, kernel = parameters.model, _draw_seed(self._rng), KernelFitter()
            if name == "auto":
                name = choose_family(X, y, n_classes, seed, kernel, groups)
            fitter = make_fitter(name, len(y), seed, kernel)
        fit, noise, share = keep_together(fitter, groups), parameters.label_noise, parameters.hidden_share
        return fit_em(fit, X, y, n_classes, noise, theta, share, large, self._decided), name


def make_layer_fitter(
    parameters: Parameters, n_classes: int, rng: np.random.Generator, groups: IntArray | None = None
) -> LayerFitter:
    """Return the fitter of the wanted kind of layers."""
    kind: type[LayerFitter] = RejectionLayers if parameters.uses_rejection else LatentLayers
    return kind(parameters, n_classes, rng, groups)


def make_scoring_fitter(parameters: Parameters, rng: np.random.Generator, candidates: int) -> Fitter:
    """Return the model that compares that many candidates: with few rows the kernel, then kernel and forest.

    A model by name may be fitted in several threads at a time.
    """
    if not isinstance(parameters.model, str):
        return make_estimator_fitter(parameters.model, parameters.folds, rng)
    forest = make_forest_fitter(_draw_seed(rng), constants.N_SCORING_TREES)
    choosing = constants.MAX_SCORING_ROWS if candidates >= constants.MANY_CANDIDATES else constants.MAX_CHOOSING_ROWS

    def fit_kernel(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        # Its own decompositions every time: rows of a comparison are fitted once.
        return KernelFitter(choosing)(X, T)

    fit_both = make_mean_fitter([fit_kernel, forest])

    def fit(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        if len(X) < constants.MIN_FOREST_ROWS:
            return fit_kernel(X, T)
        return fit_both(X, T) if len(X) <= constants.MAX_KERNEL_ROWS else forest(X, T)

    return fit


def choose_family(
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    seed: int,
    kernel: KernelFitter | None = None,
    groups: IntArray | None = None,
) -> str:
    """Choose the mean of forest and kernel, unless one of them predicts out-of-fold labels significantly better.

    Above `MAX_KERNEL_ROWS` rows there is the forest alone.
    """
    if len(y) > constants.MAX_KERNEL_ROWS:
        return "forest"
    targets = one_hot(y, n_classes)
    fitters = [keep_together(make_fitter(name, len(y), seed, kernel), groups) for name in FAMILIES[1:]]
    parts = [normalise(fit(X, targets)[1]) for fit in fitters]
    mean = brier(np.asarray(np.mean(parts, axis=0), dtype=np.float64), y)
    for name, part in zip(FAMILIES[1:], parts, strict=True):
        gain = mean - brier(part, y)
        if gain.mean() > constants.FAMILY_DEVIATIONS * gain.std() / np.sqrt(len(y)):
            return name
    return FAMILIES[0]


def stack(fit: LatentFit, first: LatentFit, rows: IntArray, y: IntArray, width: int) -> tuple[LatentFit, float]:
    """Mix a layer with the initial one by the weight that predicts out-of-fold labels best.

    Parameters
    ----------
    rows
        Rows of the layer among those of the initial one.
    width
        Number of observed columns.

    Returns
    -------
    The mixture, and the weight of the layer.
    """
    noise, ahead = fit.model.noise, first.out_of_fold[rows]
    losses = {
        w: float(brier(mix_labels((1.0 - w) * ahead + w * fit.out_of_fold, noise), y).mean())
        for w in constants.STACKING_WEIGHTS
    }
    weight = min(constants.STACKING_WEIGHTS, key=lambda w: losses[w])
    odds = first.model.odds, fit.model.odds
    model = StackedModel(first.model.probabilities, fit.model.probabilities, width, weight, odds)
    mixed = replace(
        fit,
        model=LatentModel(model, noise, fit.model.theta, 1.0 if fit.model.odds > 0.0 else 0.0),
        out_of_fold=(1.0 - weight) * ahead + weight * fit.out_of_fold,
        label_probabilities=(1.0 - weight) * first.label_probabilities[rows] + weight * fit.label_probabilities,
    )
    return mixed, weight


def choose_first_theta(first: LatentVotes, thetas: Sequence[float], second: LatentVotes) -> float | None:
    """Choose theta of the first layer before the second, on rows that both have; None to leave it out.

    The highest theta among those with the fewest estimated errors, so that as few rows as possible need values.
    """
    alone = second.estimate_losses(None)
    best, chosen = float(alone.mean()), None
    for theta in sorted(thetas):
        accepted = first.accepted(theta)
        loss = float(np.where(accepted, first.estimate_losses(theta), alone).mean())
        if loss <= best and accepted.any():
            best, chosen = loss, theta
    return chosen


def check_class_rows(y: IntArray, n_classes: int, parameters: Parameters) -> None:
    """Raise an error if a fold of a user's model would see fewer than two rows of a class."""
    if isinstance(parameters.model, str):
        return
    fewest = int(np.bincount(y, minlength=n_classes).min())
    if fewest < 3:
        name = type(parameters.model).__name__
        raise ValueError(f"model={name} needs at least 3 rows of every class, got {fewest}")


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
