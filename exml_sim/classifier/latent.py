r"""The hidden class as a class of its own, found by expectation and maximisation.

What a row truly is, one of the C known classes or the hidden class H, is not seen; its perceived label y is. A known
row carries its own label, a hidden one the label c with probability q_c, the law of mislabelling. With f the
probabilities of the true class at x, the chance that a row is hidden, given its label, is

.. math:: r = \frac{f_H(x)\,q_y}{f_y(x) + f_H(x)\,q_y},

and f is fitted again to the targets (1 - r on y, r on H). A few rounds of this turn "the labels are mixed here" into a
class whose rows support each other, which a threshold on the confidence of a classifier cannot do. In both steps f(x)
of a row is what a model fitted without the row says (`exml_sim.classifier.soft`), so no row confirms its own label.

The start: with p the probabilities of perceived labels, the hidden share at x is s(x) = min_c (1 - p_c)/(1 - q_c) where
one known class at most is possible. Labels are mixed also where known classes overlap, and perceived labels alone
cannot tell the two apart. What can be said beforehand is that a hidden class is hardly larger than a known one. So
where the mean of s is above a largest share, `LARGEST_HIDDEN` times 1/(C + 1), only that part of it is laid to the
hidden class,

.. math:: f_H = \kappa\,s, \qquad f_c = p_c - \kappa\,s\,q_c,

the rest to overlap. The rounds keep the mean of f_H: its odds are multiplied by one factor, also for new rows. Nor are
more rows than that called hidden at the end: where labels say nothing, a guess among known classes is the safe choice.

A hidden class that is larger shows where the features tell much. Overlap makes s pass through all values, small ones
most; a hidden class of its own puts s near 1. So if many rows are clear, s <= 1/4, and few lie between 1/4 and 1/2,
then what lies above 1/2, less as many as lie between, is laid to the hidden class even beyond the largest share.

Labels hardly tell how many rows are hidden. Whoever knows it, about, can give the share. The mean of f_H is then that
and a quarter more at most: too small a class costs more than too large a one, because rows lean on their own labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.mislabelling import Mislabelling, mislabelling
from exml_sim.classifier.soft import Fitter, Soft, normalised, raised

#: Rounds of expectation and maximisation; with more the hidden class slowly shrinks, as rows lean on their own labels.
ROUNDS = 2

#: Size of the hidden class in units of an average known one, at most, unless it is seen to be larger.
LARGEST_HIDDEN = 1.1

#: A size that is given is taken so many times as large.
GENEROUS = 1.25

#: A hidden class is seen to be larger if so many rows are clear, and at most so many in between for each of them.
CLEAR_ROWS, BETWEEN_PER_CLEAR = 0.2, 0.5


def one_hot(y: IntArray, n_classes: int) -> FloatArray:
    """Targets of perceived labels."""
    return np.asarray(np.eye(n_classes)[y], dtype=np.float64)


def fair(n_classes: int) -> FloatArray:
    """The fair die."""
    return np.full(n_classes, 1.0 / n_classes)


def hidden_parts(p: FloatArray, law: FloatArray) -> tuple[IntArray, FloatArray]:
    """The class that explains the labels best at every row, and the hidden part s(x) beside it."""
    ratio = (1.0 - p) / (1.0 - law)[None, :]
    best = ratio.argmin(axis=1)
    return np.asarray(best, dtype=np.int64), np.asarray(ratio[np.arange(len(p)), best], dtype=np.float64)


def largest_share(mixed: FloatArray, n_classes: int) -> float:
    """The share of rows that the hidden class may have, from s of the rows (see the module)."""
    usual = LARGEST_HIDDEN / (n_classes + 1)
    clear, above = float((mixed <= 0.25).mean()), float((mixed > 0.5).mean())
    between = 1.0 - clear - above
    if clear < CLEAR_ROWS or between > BETWEEN_PER_CLEAR * clear:
        return usual
    return max(usual, min(float(mixed.mean()), above - between))


@dataclass(frozen=True, slots=True, eq=False)
class LatentModel:
    """A fitted layer: probabilities of the known classes and the hidden one.

    Attributes
    ----------
    soft
        Model of the C + 1 probabilities.
    law
        Law of mislabelling, shape (C,).
    theta
        None: the likeliest class. A number: the winner must also be likelier to be the perceived label than 1 - theta,
        Chow's rule.
    odds
        Factor on the odds of the hidden class.
    """

    soft: Soft
    law: FloatArray
    theta: float | None = None
    odds: float = 1.0

    @property
    def n_classes(self) -> int:
        """Number of known classes C."""
        return len(self.law)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Of the known classes, then of the hidden one, shape (n, C + 1)."""
        if not len(X):
            return np.zeros((0, self.n_classes + 1))
        return raised(normalised(self.soft.predict(X)), self.odds)

    def outputs(self, X: FloatArray) -> FloatArray:
        """The same under the name that every model of a layer has."""
        return self.probabilities(X)

    def evaluate(self, X: FloatArray) -> tuple[IntArray, BoolArray]:
        """The winning class of every row, and whether the gate accepts it."""
        return decide(self.probabilities(X), self.law, self.theta)


def balancing_odds(f: FloatArray, share: float) -> float:
    """The factor on the odds of the hidden class that gives it a mean probability, by bisection."""
    low, high = -12.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if raised(f, float(np.exp(middle)))[:, -1].mean() < share else (low, middle)
    return float(np.exp((low + high) / 2.0))


def decide(f: FloatArray, law: FloatArray, theta: float | None) -> tuple[IntArray, BoolArray]:
    """Winner among the known classes, and whether it is accepted (see `LatentModel`)."""
    known, hidden = f[:, :-1], f[:, -1]
    winner = known.argmax(axis=1)
    top = known[np.arange(len(f)), winner]
    accepted = top >= hidden
    if theta is not None:
        accepted &= 1.0 - top - hidden * law[winner] <= theta
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Discovered:
    """A fitted model and its judgement of the training rows without them.

    Attributes
    ----------
    model
        The layer.
    held
        Held-out probabilities of the training rows, shape (n, C + 1).
    perceived
        Held-out probabilities of perceived labels by a model that knows no hidden class, shape (n, C).
    mislabelling
        What the labels say about the law; None if it was given.
    size
        The share of hidden rows, if it was given.
    """

    model: LatentModel
    held: FloatArray
    perceived: FloatArray
    mislabelling: Mislabelling | None = None
    size: float | None = None


def discover(
    fit: Fitter,
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    law: FloatArray | None = None,
    theta: float | None = None,
    rounds: int = ROUNDS,
    size: float | None = None,
) -> Discovered:
    """Fit a layer that knows the hidden class.

    Parameters
    ----------
    fit
        Fits soft targets.
    X, y
        Rows and class numbers 0 … C-1.
    law
        Law of mislabelling; estimated if None.
    size
        Share of the rows that are hidden, about, from somebody who knows it; guessed if None (see the module).
    """
    lines = np.arange(len(y))
    perceived = normalised(fit(X, one_hot(y, n_classes))[1])
    estimate = mislabelling(perceived, y) if law is None else None
    q = estimate.law if estimate is not None else np.asarray(law)
    _, mixed = hidden_parts(perceived, q)
    mixed = np.clip(mixed, 0.0, 1.0)
    most = largest_share(mixed, n_classes) if size is None else min(GENEROUS * size, 1.0)
    share = min(float(mixed.mean()), most)
    hidden = mixed * share / max(float(mixed.mean()), 1e-12)
    held = normalised(np.column_stack([np.maximum(perceived - hidden[:, None] * q, 0.0), hidden]))
    soft, odds = None, 1.0
    for _ in range(rounds):
        likely = held[:, -1] * q[y]
        likely = likely / np.maximum(likely + held[lines, y], 1e-12)
        targets = np.zeros_like(held)
        targets[lines, y], targets[:, -1] = 1.0 - likely, likely
        soft, found = fit(X, targets)
        held = normalised(found)
        odds = balancing_odds(held, share)
        held = raised(held, odds)
    assert soft is not None
    # Who knows the size leaves it to the probabilities how many rows are called hidden: where known rows lie among
    # hidden ones, all of them together may be more than the hidden ones are.
    cut = _cut(held, most) if size is None else 1.0
    return Discovered(LatentModel(soft, q, theta, odds * cut), raised(held, cut), perceived, estimate, size)


def _cut(f: FloatArray, most: float) -> float:
    """The factor, at most 1, on the odds of the hidden class that makes it the likeliest for so many rows at most."""
    ratio = np.sort(f[:, :-1].max(axis=1) / np.maximum(f[:, -1], 1e-12))
    return float(min(1.0, ratio[min(len(ratio) - 1, int(most * len(ratio)))]))


def row_losses(y: IntArray, winner: IntArray, accepted: BoolArray, law: FloatArray) -> FloatArray:
    r"""What every row says about true errors, by perceived labels alone.

    An accepted row whose label is not the winner counts 2 / (1 - q_winner), a rejected row 1. The expectation is

    .. math:: \pi_H + P(\text{hidden accepted}) + P(\text{known rejected}) + 2 E[1_{\text{known confused}}/(1-q)],

    so up to the share of hidden rows, which no decision changes, it is the number of true errors, known rows that are
    confused with each other counted more than once: it judges thresholds, models and candidates alike.
    """
    return np.asarray(np.where(accepted, 2.0 * (y != winner) / (1.0 - law[winner]), 1.0), dtype=np.float64)


def brier(p: FloatArray, y: IntArray) -> FloatArray:
    """Squared error of probabilities of perceived labels, row by row."""
    return np.asarray(((p - one_hot(y, p.shape[1])) ** 2).sum(axis=1), dtype=np.float64)


def labels_of(f: FloatArray, law: FloatArray) -> FloatArray:
    """Probabilities of perceived labels from those of the true classes, shape (n, C)."""
    return np.asarray(f[:, :-1] + f[:, -1:] * law[None, :], dtype=np.float64)
