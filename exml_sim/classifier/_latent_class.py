r"""Fit the hidden class as a class of its own by EM, with estimated label noise.

The true class of a row, one of the C known classes or the hidden class H, is latent. Its observed label y is known. A
known row carries its own label, a hidden row the label c with probability q_c, the label noise. With f the
probabilities of the true class at x, the probability that a row is hidden, given its label, is

.. math:: r = \frac{f_H(x)\,q_y}{f_y(x) + f_H(x)\,q_y},

and f is fitted again to the targets (1 - r on y, r on H). In both steps f(x) is an out-of-fold prediction
(`exml_sim.classifier._probability_models`), so no row confirms its own label.

**Start.** With p the probabilities of observed labels, the hidden part at x is s(x) = min_c (1 - p_c)/(1 - q_c) if at
most one known class is possible. Labels are mixed also where known classes overlap, and labels alone do not separate
the two. The hidden class is assumed to be at most `MAX_HIDDEN_SIZE` times as large as an average known class. Where the
mean of s is above that share, only a part kappa of it is assigned to the hidden class,

.. math:: f_H = \kappa\,s, \qquad f_c = p_c - \kappa\,s\,q_c,

and the rest to overlap. EM keeps the mean of f_H by one factor on its odds, also for new rows.

**Size.** Features and labels do not identify whether a hidden class exists: overlapping known classes can have the same
distribution. So the size is a decision, and held-out prediction of labels makes it. A hidden class about as large as a
known one (`MAX_HIDDEN_SIZE`) is fitted first. It is kept unless it predicts out-of-fold labels worse than the model
without a hidden class, by `MIN_SIZE_DEVIATIONS` standard errors of the Brier score. Then one of `SMALL_HIDDEN_SIZE` is
fitted. More rows than the assumed share may be predicted as hidden, if they look like it. With `hidden_share` the user
decides; with 0 there is no hidden class.

**Label noise.** Out-of-fold probabilities p_i gather near the corner e_c in the region of class c, and near q in the
region of the hidden class. They are modelled as draws from

.. math:: \sum_c w_c\,\mathrm{Dir}(k m_c) + w_H\,\mathrm{Dir}(k q) + w_0\,\mathrm{Dir}(1),
          \qquad m_c = (1 - e)\,e_c + \tfrac{e}{C - 1} (1 - e_c),

with k the number of neighbours that p_i is worth and e the noise left near a corner. The label y_i itself counts as one
more neighbour (a factor m_{c,y}, q_y, or p_{i,y}). For every q of a grid the weights are fitted by EM, k and e are
summed over, and the estimate is the mean of q under the flattened likelihood. With few rows it stays near the uniform
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier import constants
from exml_sim.classifier._probability_models import (
    Fitter,
    ProbabilityModel,
    StackedModel,
    brier,
    normalise,
    one_hot,
    scale_odds,
)


@dataclass(frozen=True, slots=True, eq=False)
class LabelNoise:
    """What the labels say about the label noise of hidden rows.

    Attributes
    ----------
    grid
        Distributions, shape (g, C).
    log_likelihoods
        Of every distribution.
    rows
        Number of rows.
    """

    grid: FloatArray
    log_likelihoods: FloatArray
    rows: int

    @property
    def estimate(self) -> FloatArray:
        """Mean under the flattened likelihood and the prior prod_c C q_c, which is largest for the uniform one."""
        log_prior = np.log(self.grid * self.grid.shape[1]).sum(axis=1)
        weights = self.log_likelihoods / constants.ROWS_PER_OBSERVATION + log_prior
        weights = np.exp(weights - weights.max())
        return np.asarray(weights @ self.grid / weights.sum(), dtype=np.float64)

    @property
    def range(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest share of every label among the possible distributions and the estimate.

        If the distribution nearest to a corner is possible, so is the corner.
        """
        allowance = constants.MAX_LOG_LIKELIHOOD_LOSS + constants.MAX_LOG_LIKELIHOOD_LOSS_PER_ROW * self.rows
        possible = self.log_likelihoods >= self.log_likelihoods.max() - allowance
        furthest = possible & (self.grid.max(axis=1) == self.grid.max())
        corners = np.eye(self.grid.shape[1])[self.grid[furthest].argmax(axis=1)]
        kept = np.vstack([self.grid[possible], corners, self.estimate[None, :]])
        return np.asarray(kept.min(axis=0)), np.asarray(kept.max(axis=0))


def uniform_noise(n_classes: int) -> FloatArray:
    """Return the uniform distribution over the known labels."""
    return np.full(n_classes, 1.0 / n_classes)


def noise_grid(n_classes: int) -> FloatArray:
    """Return the uniform distribution, and distributions that lean on one class, shape (1 + C s, C)."""
    uniform, corners = uniform_noise(n_classes), np.eye(n_classes)
    return np.asarray(
        [uniform, *((1.0 - s) * uniform + s * corner for corner in corners for s in constants.NOISE_LEANS)]
    )


def estimate_label_noise(p: FloatArray, y: IntArray) -> LabelNoise:
    """Estimate the label noise from out-of-fold probabilities of observed labels, shape (n, C), and the labels."""
    grid = noise_grid(p.shape[1])
    inside = np.clip(p, constants.MIN_BORDER_DISTANCE, 1.0 - constants.MIN_BORDER_DISTANCE)
    terms = [
        _noise_log_likelihoods(inside, y, grid, k, e)
        for k in constants.NOISE_NEIGHBOURS
        for e in constants.CORNER_NOISES
    ]
    return LabelNoise(grid, np.asarray(logsumexp(terms, axis=0), dtype=np.float64), len(y))


def _noise_log_likelihoods(p: FloatArray, y: IntArray, grid: FloatArray, k: float, e: float) -> FloatArray:
    """Return log-likelihood and prior of every distribution at its best weights."""
    n_classes = p.shape[1]
    corners = np.full((n_classes, n_classes), e / (n_classes - 1))
    np.fill_diagonal(corners, 1.0 - e)
    overlap = gammaln(n_classes) + np.log(p[np.arange(len(y)), y])
    known = np.vstack([_log_densities(p, y, corners, k), overlap])
    hidden = _log_densities(p, y, grid, k)
    top = np.maximum(known.max(axis=0), hidden.max(axis=0))
    known, hidden = np.exp(known - top), np.exp(hidden - top)
    prior = np.array(
        [constants.PRIOR_CLASS_ROWS] * n_classes + [constants.PRIOR_OVERLAP_ROWS, constants.PRIOR_HIDDEN_ROWS]
    )
    weights = np.full((len(grid), n_classes + 2), 1.0 / (n_classes + 2))
    for _ in range(constants.NOISE_EM_ROUNDS):
        mixture = weights[:, :-1] @ known + weights[:, -1:] * hidden
        weights[:, :-1] *= (1.0 / mixture) @ known.T
        weights[:, -1] *= (hidden / mixture).sum(axis=1)
        weights += prior
        weights /= weights.sum(axis=1, keepdims=True)
    mixture = weights[:, :-1] @ known + weights[:, -1:] * hidden
    return np.asarray((np.log(mixture) + top).sum(axis=1) + np.log(weights) @ prior, dtype=np.float64)


def _log_densities(p: FloatArray, y: IntArray, means: FloatArray, k: float) -> FloatArray:
    """Return the logarithm of Dir(p_i; k m) m_y for every mean m and row i, shape (means, n)."""
    offsets = gammaln(k) - gammaln(k * means).sum(axis=1)
    return np.asarray(offsets[:, None] + (k * means - 1.0) @ np.log(p).T + np.log(means[:, y]), dtype=np.float64)


def hidden_parts(p: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the hidden part s(x) of every row, beside the class that explains its labels best."""
    return np.asarray(((1.0 - p) / (1.0 - noise)[None, :]).min(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class LatentModel:
    """A fitted layer: probabilities of the known classes and the hidden one.

    Attributes
    ----------
    probabilities
        Model of the C + 1 probabilities.
    noise
        Label noise of hidden rows, shape (C,).
    theta
        None: the likeliest class. A number: the winner must also be the observed label with probability above
        1 - theta (Chow's rule).
    odds
        Factor on the odds of the hidden class; 0 if there is none.
    """

    probabilities: ProbabilityModel
    noise: FloatArray
    theta: float | None = None
    odds: float = 1.0

    @property
    def n_classes(self) -> int:
        """Number of known classes C."""
        return len(self.noise)

    def outputs(self, X: FloatArray) -> FloatArray:
        """Return probabilities of the known classes, then of the hidden one, shape (n, C + 1)."""
        if not len(X):
            return np.zeros((0, self.n_classes + 1))
        return scale_odds(normalise(self.probabilities.predict(X)), self.odds)

    @property
    def n_outputs(self) -> int:
        """Number of columns of `outputs`."""
        return self.n_classes + 1

    def evaluate(self, X: FloatArray) -> tuple[IntArray, BoolArray, FloatArray]:
        """Return the winning class of every row, whether it is accepted, and `outputs`."""
        outputs = self.outputs(X)
        return (*decide(outputs, self.noise, self.theta), outputs)

    @property
    def initial(self) -> LatentModel | None:
        """The model of the observed columns that this one is mixed with, if it is."""
        mixed = self.probabilities
        if not isinstance(mixed, StackedModel):
            return None
        return replace(self, probabilities=mixed.first, odds=self.odds * mixed.odds[0])

    def check(self, width: int, n_classes: int) -> None:
        """Raise an error unless all parts fit together."""
        if self.noise.shape != (n_classes,) or not ((self.noise >= 0.0) & (self.noise < 1.0)).all():
            raise ValueError("a layer has no usable label noise")
        if not self.odds >= 0.0:
            raise ValueError("a layer has no usable odds")
        self.probabilities.check(width, n_classes + 1)  # type: ignore[attr-defined]


def balance_odds(f: FloatArray, share: float) -> float:
    """Return the factor on the odds of the hidden class that gives it a mean probability, by bisection."""
    low, high = -12.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if scale_odds(f, float(np.exp(middle)))[:, -1].mean() < share else (low, middle)
    return float(np.exp((low + high) / 2.0))


def decide(f: FloatArray, noise: FloatArray, theta: float | None) -> tuple[IntArray, BoolArray]:
    """Return the winner among the known classes, and whether it is accepted (see `LatentModel`)."""
    known, hidden = f[:, :-1], f[:, -1]
    winner = known.argmax(axis=1)
    top = known[np.arange(len(f)), winner]
    accepted = top >= hidden
    if theta is not None:
        accepted &= 1.0 - top - hidden * noise[winner] <= theta
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class LatentFit:
    """A fitted model and its out-of-fold predictions of the training rows.

    Attributes
    ----------
    model
        The layer.
    out_of_fold
        Probabilities of the known classes and the hidden one, shape (n, C + 1).
    label_probabilities
        Probabilities of observed labels by a model without a hidden class, shape (n, C).
    label_noise
        The estimated label noise; None if it was given.
    size
        Size of the hidden class in units of an average known class; None if the labels show a large one.
    gain_deviations
        Standard errors by which a large hidden class improves the prediction of labels; NaN if the size was given.
    """

    model: LatentModel
    out_of_fold: FloatArray
    label_probabilities: FloatArray
    label_noise: LabelNoise | None = None
    size: float | None = None
    gain_deviations: float = float("nan")

    def resize(self, size: float | None) -> LatentFit:
        """Return the fit with a smaller hidden class, by a factor on its odds; None for no change."""
        share = 1.0 if size is None else size / (self.model.n_classes + 1)
        if self.out_of_fold[:, -1].mean() <= share:
            return self
        odds = balance_odds(self.out_of_fold, share)
        model = replace(self.model, odds=self.model.odds * odds)
        return replace(self, model=model, out_of_fold=scale_odds(self.out_of_fold, odds), size=size)


def fit_em(
    fit: Fitter,
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    noise: FloatArray | None = None,
    theta: float | None = None,
    hidden_share: float | None = None,
    large: bool = False,
    decided: LatentFit | None = None,
) -> LatentFit:
    """Fit a layer with a latent hidden class by EM.

    Parameters
    ----------
    fit
        Fits targets.
    X, y
        Rows and class numbers 0 … C-1.
    noise
        Label noise; estimated if None.
    hidden_share
        Approximate share of hidden rows, if known; chosen if None (see the module).
    large
        Choose the size, but keep the fit of the large one, for `LatentFit.resize`.
    decided
        A fit whose size is taken over instead of choosing one.
    """
    plain, predictions = fit(X, np.column_stack([one_hot(y, n_classes), np.zeros(len(y))]))
    label_probabilities = normalise(predictions[:, :-1])
    estimate = estimate_label_noise(label_probabilities, y) if noise is None else None
    q = estimate.estimate if estimate is not None else np.asarray(noise)
    if hidden_share == 0.0:
        alone = LatentModel(plain, q, theta, 0.0)
        return LatentFit(alone, scale_odds(normalise(predictions), 0.0), label_probabilities, estimate, 0.0)
    parts = np.clip(hidden_parts(label_probabilities, q), 0.0, 1.0)
    most = constants.MAX_HIDDEN_SIZE / (n_classes + 1) if hidden_share is None else hidden_share
    model, odds, f = _run_em(fit, X, y, q, label_probabilities, parts, most)
    size, deviations = None if hidden_share is None else hidden_share * (n_classes + 1), float("nan")
    if hidden_share is None:
        gain = brier(label_probabilities, y) - brier(mix_labels(f, q), y)
        deviations = float(gain.mean() / max(gain.std(ddof=1) / np.sqrt(len(y)), 1e-12)) if len(y) > 1 else 0.0
        small = constants.SMALL_HIDDEN_SIZE if deviations < constants.MIN_SIZE_DEVIATIONS else None
        size = small if decided is None else decided.size
        if size is not None and not large:
            model, odds, f = _run_em(fit, X, y, q, label_probabilities, parts, size / (n_classes + 1))
    return LatentFit(LatentModel(model, q, theta, odds), f, label_probabilities, estimate, size, deviations)


def _run_em(
    fit: Fitter, X: FloatArray, y: IntArray, q: FloatArray, p: FloatArray, parts: FloatArray, most: float
) -> tuple[ProbabilityModel, float, FloatArray]:
    """Return model, factor on the odds, and out-of-fold probabilities with at most a share of hidden rows."""
    rows, mean = np.arange(len(y)), float(parts.mean())
    share = min(mean, most)
    hidden = parts * share / max(mean, 1e-12)
    f = normalise(np.column_stack([np.maximum(p - hidden[:, None] * q, 0.0), hidden]))
    for _ in range(constants.EM_ROUNDS):
        posterior = f[:, -1] * q[y]
        posterior = posterior / np.maximum(posterior + f[rows, y], 1e-12)
        targets = np.zeros_like(f)
        targets[rows, y], targets[:, -1] = 1.0 - posterior, posterior
        model, predictions = fit(X, targets)
        f = normalise(predictions)
        odds = balance_odds(f, share)
        f = scale_odds(f, odds)
    return model, odds, f


def estimate_row_losses(y: IntArray, winner: IntArray, accepted: BoolArray, noise: FloatArray) -> FloatArray:
    r"""Estimate true errors from observed labels, row by row.

    An accepted row whose label is not the winner counts 2 / (1 - q_winner), a rejected row 1. The expectation is

    .. math:: \pi_H + P(\text{hidden accepted}) + P(\text{known rejected}) + 2 E[1_{\text{known confused}}/(1-q)],

    the number of true errors up to the constant share of hidden rows, with confused known rows counted more than once.
    """
    return np.asarray(np.where(accepted, 2.0 * (y != winner) / (1.0 - noise[winner]), 1.0), dtype=np.float64)


def mix_labels(f: FloatArray, noise: FloatArray) -> FloatArray:
    """Return probabilities of observed labels from those of the true classes, shape (n, C)."""
    return np.asarray(f[:, :-1] + f[:, -1:] * noise[None, :], dtype=np.float64)
