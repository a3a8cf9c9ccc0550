r"""Choose theta, the cost of a rejection, from observed labels.

*The initial model* (Section 5): the highest theta with 95 % accuracy on accepted points under cross-validation. The
higher the cost of a rejection, the more is accepted, up to a few rows.

*The augmented model*: cross-validation on its bought rows, including validation rows (the paper's remark on automatic
tuning). Wanted are few errors with respect to the truth: known rows rejected, hidden rows accepted and known rows
confused. Only observed labels are available. If hidden rows carry one of the C known labels uniformly at random, h
disagrees with the observed label of a hidden row with probability 1/f, f = C/(C-1). So f times the disagreements among
the accepted rows estimates the hidden ones there (or overstates by f the confused known ones), f times those among the
rejected rows estimates the hidden ones there, and the number of true errors is estimated by

.. math:: E(\theta) = f\,W_{acc} + (R - f\,W_{rej}),

with R rejected rows and W disagreements. The rule takes the theta with the smallest E. Up to the total number of
disagreements, E is the 0/1 rejection loss (Eq. 1) at the cost 1/(2f). Known rows that h cannot separate look hidden to
this estimate, so it compares costs of one model and does not compare models.

In a cascade a layer sees only the rows that the layers before it reject, so its theta is chosen on these. Chosen on all
rows, theta comes out too high where the first layer is good: the second layer accepts hidden rows that the first layer
rejected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier._latent_class import LatentFit, decide, estimate_row_losses
from exml_sim.classifier._probability_models import stratified_folds
from exml_sim.classifier._rejection_model import Frame, ModelOptions, apply_rejector, fit_coefficients
from exml_sim.classifier.constants import CROSS_VALIDATION_TOLERANCE


@dataclass(frozen=True, slots=True)
class ThetaResult:
    """The outcome of one theta in counts of rows.

    Attributes
    ----------
    theta
        The rejection cost.
    rows, accepted
        Rows counted, and those accepted.
    right_accepted, right_rejected
        Rows whose observed label is the winning class of h, among the accepted and among the rejected.
    """

    theta: float
    rows: int
    accepted: int
    right_accepted: int
    right_rejected: int

    @classmethod
    def count(cls, theta: float, winner: IntArray, accepted: BoolArray, y: IntArray) -> ThetaResult:
        """Count the outcomes of one model."""
        right = winner == y
        return cls(theta, len(y), int(accepted.sum()), int((right & accepted).sum()), int((right & ~accepted).sum()))

    @property
    def accuracy(self) -> float:
        """Accuracy on accepted rows; 1 where nothing is accepted."""
        return self.right_accepted / self.accepted if self.accepted else 1.0

    @property
    def rejection_rate(self) -> float:
        """Fraction of rejected rows."""
        return 1.0 - self.accepted / self.rows

    def estimated_errors(self, n_classes: int) -> float:
        """Return E(theta), the estimated number of errors with respect to the truth (see the module)."""
        f = n_classes / (n_classes - 1)
        rejected = self.rows - self.accepted
        wrong_accepted = self.accepted - self.right_accepted
        wrong_rejected = rejected - self.right_rejected
        return f * wrong_accepted + rejected - f * wrong_rejected


@dataclass(frozen=True, slots=True)
class ThetaChoice:
    """A chosen theta, all results, why it was chosen, and whether a target was met."""

    theta: float
    results: tuple[ThetaResult, ...]
    reason: str
    met: bool

    @property
    def chosen(self) -> ThetaResult:
        """The result of the chosen theta."""
        return next(result for result in self.results if result.theta == self.theta)


class Votes(ABC):
    """Out-of-fold decisions about training rows, for one theta at a time."""

    y: IntArray

    @abstractmethod
    def vote(self, theta: float | None) -> tuple[IntArray, BoolArray]:
        """Return winning class and acceptance of every row by models fitted without it."""

    def nominal_theta(self, theta: float | None) -> float:
        """Return the rejection cost as a number."""
        return float("nan") if theta is None else theta

    def accepted(self, theta: float | None) -> BoolArray:
        """Return the accepted rows."""
        return self.vote(theta)[1]

    def count(self, theta: float | None, among: BoolArray | None = None) -> ThetaResult:
        """Count the outcomes of one theta, on all rows or among some of them."""
        winner, accepted = self.vote(theta)
        rows = np.ones(len(self.y), dtype=np.bool_) if among is None else among
        return ThetaResult.count(self.nominal_theta(theta), winner[rows], accepted[rows], self.y[rows])

    def count_down_to(self, thetas: Sequence[float], target: float) -> tuple[ThetaResult, ...]:
        """Count outcomes from the highest theta down to the first that reaches the target accuracy."""
        results: list[ThetaResult] = []
        for theta in sorted(thetas, reverse=True):
            results.append(self.count(theta))
            if results[-1].accuracy >= target:
                break
        return tuple(reversed(results))


class CrossValidatedVotes(Votes):
    """Votes of rejection models by cross-validation on a Gram matrix.

    Scale and bandwidth come from all rows once; they do not depend on labels.
    """

    def __init__(
        self,
        gram: FloatArray,
        y: IntArray,
        n_classes: int,
        options: ModelOptions,
        *,
        folds: int,
        rng: np.random.Generator,
    ) -> None:
        if not 2 <= folds <= len(y):
            raise ValueError(f"folds must be between 2 and the number of rows {len(y)}, got {folds}")
        self._gram, self.y, self._n_classes, self._options = gram, y, n_classes, options
        self._fold = stratified_folds(y, folds, rng)
        self._votes: dict[float | None, tuple[IntArray, BoolArray]] = {}

    @classmethod
    def of_features(cls, X: FloatArray, y: IntArray, n_classes: int, options: ModelOptions, **how: Any) -> Self:
        """Build the Gram matrix from features."""
        frame = Frame.of(X, options)
        return cls(frame.cross(frame.points(X)), y, n_classes, options, **how)

    def vote(self, theta: float | None) -> tuple[IntArray, BoolArray]:
        """Fit every fold once per theta."""
        if theta not in self._votes:
            self._votes[theta] = self._fit_folds(self.nominal_theta(theta))
        return self._votes[theta]

    def _fit_folds(self, theta: float) -> tuple[IntArray, BoolArray]:
        y = self.y
        winner, accepted = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.bool_)
        for k in range(int(self._fold.max()) + 1):
            outside = self._fold == k
            u, w = fit_coefficients(
                self._gram, y, self._n_classes, theta, self._options, CROSS_VALIDATION_TOLERANCE, ~outside
            )
            cross = self._gram[outside]
            winner[outside], accepted[outside] = apply_rejector(cross @ u, cross @ w)
        return winner, accepted


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


def choose_initial(results: Sequence[ThetaResult], target: float) -> ThetaChoice:
    """Choose the highest theta with the target accuracy on accepted rows.

    If none reaches it, the most accurate one (the one that accepts more, if equal).
    """
    good = [result for result in results if result.accuracy >= target]
    if good:
        best = max(good, key=lambda result: result.theta)
        reason = (
            f"the highest rejection cost tried with at least {target:.0%} cross-validated accuracy on accepted rows; "
            f"it accepts {best.accepted} of {best.rows}"
            if best.accepted
            else f"no rejection cost reaches {target:.0%} accuracy on accepted rows except by accepting none"
        )
    else:
        best = max(results, key=lambda result: (result.accuracy, result.accepted))
        reason = (
            f"no rejection cost reaches {target:.0%} accuracy on accepted rows; this one has the highest "
            f"({best.accuracy:.1%})"
        )
    return ThetaChoice(best.theta, tuple(results), reason, bool(good))


def choose_fewest_errors(results: Sequence[ThetaResult], n_classes: int, where: str) -> ThetaChoice:
    """Choose the theta with the fewest estimated true errors; the smaller one, if equal."""
    best = min(results, key=lambda result: (result.estimated_errors(n_classes), result.theta))
    errors = best.estimated_errors(n_classes)
    reason = f"fewest estimated errors ({errors:g} of {best.rows}) on {where}"
    return ThetaChoice(best.theta, tuple(results), reason, True)


def choose_augmented(votes: Votes, thetas: Sequence[float], n_classes: int, reaching: BoolArray | None) -> ThetaChoice:
    """Choose theta of an augmented layer by estimated errors among the bought rows that reach it.

    Parameters
    ----------
    votes
        Cross-validation on the bought rows.
    reaching
        Bought rows that the layers before reject; None if the layer decides alone. If no bought row reaches it, all
        are counted.
    """
    if reaching is None or not reaching.any():
        results = [votes.count(theta) for theta in thetas]
        return choose_fewest_errors(results, n_classes, f"{results[0].rows} bought rows, cross-validated")
    results = [votes.count(theta, reaching) for theta in thetas]
    where = f"{results[0].rows} of {len(reaching)} bought rows, those that the layers before reject, cross-validated"
    return choose_fewest_errors(results, n_classes, where)
