r"""Fit the rejection model of Section 3.1, and choose theta, the cost of a rejection, from observed labels.

Two known classes are the rejection model (h, g) of Section 3.1. More than two are one rejection model per class, class
c against the rest, with one rejector over all of them: the point goes to the class c* with the largest h_c(x) and is
accepted if

.. math:: g_{c^*}(x) > 0 \quad\text{and}\quad h_{c^*}(x) \ge 0.

With two classes the two models are mirror images (the surrogate loss depends on y h only), the second condition always
holds, and the rejector accepts g(x) > 0, as the loss of Eq. 1 counts it.

*Theta of the initial model* (Section 5): the highest theta with 95 % accuracy on accepted points under
cross-validation. The higher the cost of a rejection, the more is accepted, up to a few rows.

*Theta of the augmented model*: cross-validation on its bought rows, including validation rows (the paper's remark on
automatic tuning). Wanted are few errors with respect to the truth: known rows rejected, hidden rows accepted and known
rows confused. Only observed labels are available. If hidden rows carry one of the C known labels uniformly at random, h
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

from exml_sim import kernels
from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice
from exml_sim.bandit.scoring import LOSSES, Scoring
from exml_sim.classifier._probability_models import stratified_folds
from exml_sim.classifier.constants import CROSS_VALIDATION_TOLERANCE, FIT_TOLERANCE, KERNEL_BLOCK_ROWS

SCALINGS: Sequence[str] = ("unit", "none")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options of all rejection models.

    Parameters
    ----------
    gamma
        Exponent of the Gaussian kernel: "median" of the squared distances of the training rows (Section 5), or a number
        above 0.
    C_h, C_g
        Penalties on the squared norms.
    loss
        "sum" or "mean" of the losses, see `exml_sim.bandit.scoring.Scoring`.
    scaling
        "unit": every column to [0, 1] by the range of the training rows, as in Section 5.2. "none": as given.
    """

    gamma: float | str = "median"
    C_h: float = 1.0
    C_g: float = 1.0
    loss: str = "sum"
    scaling: str = "unit"

    def __post_init__(self) -> None:
        check_choice(self.loss, "loss", LOSSES)
        check_choice(self.scaling, "scaling", SCALINGS)
        if self.gamma != "median":
            kernels.resolve_gamma(np.zeros((1, 1)), self.gamma)  # type: ignore[arg-type]
        # Scoring checks the penalties.
        self.scoring(0.25, "risk")

    def scoring(self, theta: float, score: str) -> Scoring:
        """Return the certified score of a candidate under these options."""
        return Scoring(theta, score, None, (float(self.C_h), float(self.C_g)), self.loss)

    def penalty(self, rows: int) -> tuple[float, float]:
        """Return the penalties that belong to the sum of `rows` losses."""
        scale = 1.0 if self.loss == "sum" else float(rows)
        return scale * float(self.C_h), scale * float(self.C_g)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Shift, scale and bandwidth of the Gaussian kernel, from training rows."""

    shift: FloatArray
    scale: FloatArray
    gamma: float

    @classmethod
    def of(cls, X: FloatArray, options: ModelOptions) -> Frame:
        """Take scale and bandwidth from the rows X."""
        shift, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if options.scaling == "unit":
            shift, spread = X.min(axis=0), np.ptp(X, axis=0)
            scale = np.where(spread > 0.0, spread, 1.0)
        try:
            gamma = kernels.resolve_gamma((X - shift) / scale, options.gamma)  # type: ignore[arg-type]
        except kernels.DegenerateMedianError:
            # One row, or mostly equal rows: any bandwidth will do, as in RejectionClassifier.
            gamma = 1.0
        return cls(np.asarray(shift, dtype=np.float64), scale, gamma)

    def points(self, X: FloatArray) -> FloatArray:
        """Return rows in the scale of the kernel."""
        return np.asarray((X - self.shift) / self.scale, dtype=np.float64)

    def cross(self, points: FloatArray, anchors: FloatArray | None = None) -> FloatArray:
        """Return kernel values between points, or within them."""
        return kernels.gaussian(points, anchors, gamma=self.gamma)


@dataclass(frozen=True, slots=True, eq=False)
class RejectionModel:
    """A fitted layer as plain arrays.

    Attributes
    ----------
    frame
        Scale and kernel.
    anchors
        Training rows in the scale of the kernel, shape (n, d).
    u, w
        Coefficients of h and g, one column per class, shape (n, C).
    theta
        Rejection cost.
    """

    frame: Frame
    anchors: FloatArray
    u: FloatArray
    w: FloatArray
    theta: float

    @property
    def n_classes(self) -> int:
        """Number of known classes C."""
        return int(self.u.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of columns of the values h."""
        return self.n_classes

    def evaluate(self, X: FloatArray) -> tuple[IntArray, BoolArray, FloatArray]:
        """Return the winning class of every row, whether it is accepted, and the values h, shape (n, C)."""
        if X.shape[1] != self.anchors.shape[1]:
            raise ValueError(f"this layer was trained on {self.anchors.shape[1]} columns, got {X.shape[1]}")
        if X.shape[0] == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_), np.zeros((0, self.n_classes))
        # In blocks: the kernel values of a million rows do not fit into memory at once.
        blocks = [X[start : start + KERNEL_BLOCK_ROWS] for start in range(0, X.shape[0], KERNEL_BLOCK_ROWS)]
        crosses = (self.frame.cross(self.frame.points(block), self.anchors) for block in blocks)
        values = [(cross @ self.u, cross @ self.w) for cross in crosses]
        h, g = np.vstack([h for h, _ in values]), np.vstack([g for _, g in values])
        return (*apply_rejector(h, g), h)

    def check(self, width: int, n_classes: int) -> None:
        """Raise an error unless all arrays fit together."""
        n, d = self.anchors.shape
        shapes = (self.frame.shift.shape, self.frame.scale.shape, self.u.shape, self.w.shape)
        if shapes != ((d,), (d,), (n, n_classes), (n, n_classes)) or d != width:
            raise ValueError(f"the arrays of a layer do not fit together, or to {width} columns")
        if not self.frame.gamma > 0.0:
            raise ValueError("a layer has no usable kernel")


def apply_rejector(h: FloatArray, g: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the winning class and whether it is accepted, from the values of all models of shape (n, C)."""
    rows = np.arange(h.shape[0])
    winner = h.argmax(axis=1)
    accepted = (g[rows, winner] > 0.0) & (h[rows, winner] >= 0.0)
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_)


def binary_labels(y: IntArray, n_classes: int) -> list[IntArray]:
    """Return labels -1 and +1 of the binary problems: one for two classes, C for more."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return [np.where(y == c, 1, -1).astype(np.int64) for c in positive]


def fit_coefficients(
    gram: FloatArray,
    y: IntArray,
    n_classes: int,
    theta: float,
    options: ModelOptions,
    tol: float,
    used: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Fit coefficients of h and g for every class, each of shape (n, C).

    Parameters
    ----------
    used
        Rows to train on, all by default; the coefficients of the others are 0.
    """
    # An exploration without rejection models need not load their solver.
    from exml_sim.rejection import solve

    weights = None if used is None else used.astype(np.float64)
    rows = len(y) if used is None else int(used.sum())
    solutions = [
        solve(gram, labels, theta, weights=weights, penalty=options.penalty(rows), tol=tol, method="dual")
        for labels in binary_labels(y, n_classes)
    ]
    if n_classes == 2:
        (solution,) = solutions
        return np.column_stack([-solution.u, solution.u]), np.column_stack([solution.w, solution.w])
    return np.column_stack([s.u for s in solutions]), np.column_stack([s.w for s in solutions])


def fit_rejection_model(
    X: FloatArray, y: IntArray, n_classes: int, theta: float, options: ModelOptions, *, tol: float = FIT_TOLERANCE
) -> RejectionModel:
    """Fit a rejection model to rows X and class numbers y (0 … C-1, not every class need occur)."""
    frame = Frame.of(X, options)
    anchors = frame.points(X)
    u, w = fit_coefficients(frame.cross(anchors), y, n_classes, theta, options, tol)
    return RejectionModel(frame, anchors, u, w, float(theta))


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
    """A chosen theta, all results, and why it was chosen."""

    theta: float
    results: tuple[ThetaResult, ...]
    reason: str

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
    return ThetaChoice(best.theta, tuple(results), reason)


def choose_fewest_errors(results: Sequence[ThetaResult], n_classes: int, where: str) -> ThetaChoice:
    """Choose the theta with the fewest estimated true errors; the smaller one, if equal."""
    best = min(results, key=lambda result: (result.estimated_errors(n_classes), result.theta))
    errors = best.estimated_errors(n_classes)
    reason = f"fewest estimated errors ({errors:g} of {best.rows}) on {where}"
    return ThetaChoice(best.theta, tuple(results), reason)


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
    reached = reaching if reaching is not None and reaching.any() else None
    results = [votes.count(theta, reached) for theta in thetas]
    where = f"{results[0].rows} bought rows"
    if reached is not None:
        where = f"{results[0].rows} of {len(reached)} bought rows, those that the layers before reject"
    return choose_fewest_errors(results, n_classes, f"{where}, cross-validated")
