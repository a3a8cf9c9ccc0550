r"""Choosing theta, the price of a rejection, from data that a learner really has: perceived labels.

Two questions, two rules.

*The initial model* (Section 5): the highest theta that gives 95 % accuracy on accepted points under cross-validation.
The higher the price of a rejection the more is accepted, up to a few rows.

*The augmented model*: cross-validation on its bought rows, among them validation rows that were bought for the purpose
(the paper's remark on automatic tuning). What one wants is few errors with respect to the truth, known rows given up
plus hidden rows accepted plus known rows confused, but only perceived labels are there. If hidden rows carry one of the
C known labels by a fair die, h disagrees with the perceived label of a hidden row with probability 1/f, f = C/(C-1),
whatever the row looks like. So f times the disagreements among the accepted rows estimates the hidden ones there (or
overstates by f the confused known ones), f times those among the rejected rows estimates the hidden ones there, and the
number of true errors is estimated by

.. math:: E(\theta) = f\,W_{acc} + (R - f\,W_{rej}),

with R rejected rows and W disagreements. The rule takes the theta with the smallest E. Up to the total number of
disagreements, E is the 0/1 rejection loss (Eq. 1) at the price 1/(2f), one quarter for two classes. The estimate trusts
the die: known rows that h cannot tell apart look hidden to it, so it compares prices of one model and does not judge
models.

In a cascade a layer sees only the rows that the layers before it give up, so its theta is judged on these. Judged on
all rows, most of which never reach it, theta comes out too high where the first layer is good: hidden rows that the
first layer gave up are then accepted by the second one, and the cascade falls below its own first layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.gated import Frame, ModelOptions, coefficients, through_the_gate

#: Prices tried for the initial model.
INITIAL_THETAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)

#: The paper's pool for the augmented model.
PAPER_THETAS = (0.1, 0.2, 0.3, 0.4)

# A duality gap far below the noise of a count of rows.
TOL = 1e-5


@dataclass(frozen=True, slots=True)
class Tried:
    """One theta and what came of it, in counts of rows.

    Attributes
    ----------
    theta
        The price tried.
    rows, accepted
        Rows judged, and those accepted.
    right_accepted, right_rejected
        Rows whose perceived label is the winning class of h, among the accepted and among the rejected.
    """

    theta: float
    rows: int
    accepted: int
    right_accepted: int
    right_rejected: int

    @classmethod
    def count(cls, theta: float, winner: IntArray, accepted: BoolArray, y: IntArray) -> Tried:
        """Count the outcomes of one model."""
        right = winner == y
        return cls(theta, len(y), int(accepted.sum()), int((right & accepted).sum()), int((right & ~accepted).sum()))

    @property
    def accuracy(self) -> float:
        """Accuracy on accepted rows; 1 where nothing is accepted, because nothing accepted is wrong."""
        return self.right_accepted / self.accepted if self.accepted else 1.0

    @property
    def rejection_rate(self) -> float:
        """Share of rows that are given up."""
        return 1.0 - self.accepted / self.rows

    def estimated_errors(self, n_classes: int) -> float:
        """E(theta), see the module: the estimated number of errors with respect to the truth."""
        f = n_classes / (n_classes - 1)
        rejected = self.rows - self.accepted
        wrong_accepted = self.accepted - self.right_accepted
        wrong_rejected = rejected - self.right_rejected
        return f * wrong_accepted + rejected - f * wrong_rejected


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen theta, everything that was tried, and why it was taken."""

    theta: float
    tried: tuple[Tried, ...]
    reason: str
    met: bool

    @property
    def chosen(self) -> Tried:
        """The line of the chosen theta."""
        return next(one for one in self.tried if one.theta == self.theta)


class CrossValidation:
    """Judges every row by models that were fitted without it, one price at a time.

    Scale and bandwidth are taken from all rows once: they do not look at labels.
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
        self._gram, self._y, self._n_classes, self._options = gram, y, n_classes, options
        self._fold = _balanced_folds(y, folds, rng)
        self._votes: dict[float, tuple[IntArray, BoolArray]] = {}

    @classmethod
    def of_features(cls, X: FloatArray, y: IntArray, n_classes: int, options: ModelOptions, **how: Any) -> Self:
        """The same from features, with the options' kernel."""
        frame = Frame.of(X, options)
        return cls(frame.cross(frame.points(X)), y, n_classes, options, **how)

    def judge(self, theta: float, among: BoolArray | None = None) -> Tried:
        """Count the outcomes of one price, on all rows or among some of them."""
        winner, accepted = self.vote(theta)
        if among is None:
            return Tried.count(theta, winner, accepted, self._y)
        return Tried.count(theta, winner[among], accepted[among], self._y[among])

    def accepted(self, theta: float) -> BoolArray:
        """Rows that a model fitted without them accepts."""
        return self.vote(theta)[1]

    def vote(self, theta: float) -> tuple[IntArray, BoolArray]:
        """Winning class and gate of every row by models that were fitted without it; a price is tried once."""
        if theta not in self._votes:
            self._votes[theta] = self._fitted_without(theta)
        return self._votes[theta]

    def _fitted_without(self, theta: float) -> tuple[IntArray, BoolArray]:
        y = self._y
        winner, accepted = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.bool_)
        for k in range(int(self._fold.max()) + 1):
            outside = self._fold == k
            u, w = coefficients(self._gram, y, self._n_classes, theta, self._options, TOL, ~outside)
            cross = self._gram[outside]
            winner[outside], accepted[outside] = through_the_gate(cross @ u, cross @ w)
        return winner, accepted

    def until(self, thetas: Sequence[float], target: float) -> tuple[Tried, ...]:
        """Try prices from the highest down to the first that reaches the target."""
        tried: list[Tried] = []
        for theta in sorted(thetas, reverse=True):
            tried.append(self.judge(theta))
            if tried[-1].accuracy >= target:
                break
        return tuple(reversed(tried))


def _balanced_folds(y: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Fold number of every row; every class is spread evenly."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % folds
    return fold


def choose_initial(tried: Sequence[Tried], target: float) -> Choice:
    """The highest theta tried that has the target accuracy on accepted rows.

    If none reaches it, the most accurate one (the one that accepts more, if equal).
    """
    good = [one for one in tried if one.accuracy >= target]
    if good:
        best = max(good, key=lambda one: one.theta)
        reason = (
            f"the highest price tried with at least {target:.0%} cross-validated accuracy on accepted rows; "
            f"it accepts {best.accepted} of {best.rows}"
            if best.accepted
            else f"no price reaches {target:.0%} accuracy on accepted rows except by accepting none"
        )
    else:
        best = max(tried, key=lambda one: (one.accuracy, one.accepted))
        reason = (
            f"no price reaches {target:.0%} accuracy on accepted rows; this one has the highest ({best.accuracy:.1%})"
        )
    return Choice(best.theta, tuple(tried), reason, bool(good))


def fewest_errors(tried: Sequence[Tried], n_classes: int, where: str) -> Choice:
    """The theta with the fewest estimated true errors; the smaller one, if equal."""
    best = min(tried, key=lambda one: (one.estimated_errors(n_classes), one.theta))
    errors = best.estimated_errors(n_classes)
    reason = f"fewest estimated errors ({errors:g} of {best.rows}) on {where}"
    return Choice(best.theta, tuple(tried), reason, True)


def choose_augmented(
    judge: CrossValidation, thetas: Sequence[float], n_classes: int, reaching: BoolArray | None
) -> Choice:
    """Theta of an augmented layer: the fewest estimated errors among the bought rows that reach it.

    Parameters
    ----------
    judge
        Cross-validation on the bought rows.
    reaching
        Bought rows that the layers before give up; None if the layer decides alone. If no bought row reaches it, all
        are judged.
    """
    if reaching is None or not reaching.any():
        tried = [judge.judge(theta) for theta in thetas]
        return fewest_errors(tried, n_classes, f"{tried[0].rows} bought rows, cross-validated")
    tried = [judge.judge(theta, reaching) for theta in thetas]
    where = f"{tried[0].rows} of {len(reaching)} bought rows, those that the layers before give up, cross-validated"
    return fewest_errors(tried, n_classes, where)
