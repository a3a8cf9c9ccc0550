r"""Fit the rejection model of Section 3.1 for two or more known classes.

Two known classes are the rejection model (h, g) of Section 3.1. More than two are one rejection model per class, class
c against the rest, with one rejector over all of them: the point goes to the class c* with the largest h_c(x) and is
accepted if

.. math:: g_{c^*}(x) > 0 \quad\text{and}\quad h_{c^*}(x) \ge 0.

With two classes the two models are mirror images (the surrogate loss depends on y h only), the second condition always
holds, and the rejector accepts g(x) > 0, as the loss of Eq. 1 counts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim import kernels
from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice
from exml_sim.bandit.scoring import LOSSES, Scoring
from exml_sim.classifier.constants import FIT_TOLERANCE, KERNEL_BLOCK_ROWS

KERNELS: Sequence[str] = ("gaussian", "linear")
SCALINGS: Sequence[str] = ("unit", "none")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options of all rejection models.

    Parameters
    ----------
    kernel
        "gaussian" or "linear"; only these, so that a saved model is plain numbers.
    gamma
        "median" (of the squared distances of the training rows, Section 5) or a number above 0.
    C_h, C_g
        Penalties on the squared norms.
    loss
        "sum" or "mean" of the losses, see `exml_sim.bandit.scoring.Scoring`.
    scaling
        "unit": every column to [0, 1] by the range of the training rows, as in Section 5.2. "none": as given.
    """

    kernel: str = "gaussian"
    gamma: float | str = "median"
    C_h: float = 1.0
    C_g: float = 1.0
    loss: str = "sum"
    scaling: str = "unit"

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
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
    """Shift, scale and bandwidth of the kernel, from training rows."""

    shift: FloatArray
    scale: FloatArray
    kernel: str
    gamma: float

    @classmethod
    def of(cls, X: FloatArray, options: ModelOptions) -> Frame:
        """Take scale and bandwidth from the rows X."""
        shift, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if options.scaling == "unit":
            shift, spread = X.min(axis=0), np.ptp(X, axis=0)
            scale = np.where(spread > 0.0, spread, 1.0)
        gamma = 1.0
        if options.kernel == "gaussian":
            try:
                gamma = kernels.resolve_gamma((X - shift) / scale, options.gamma)  # type: ignore[arg-type]
            except kernels.DegenerateMedianError:
                # One row, or mostly equal rows: any bandwidth will do, as in RejectionClassifier.
                gamma = 1.0
        return cls(np.asarray(shift, dtype=np.float64), scale, options.kernel, gamma)

    def points(self, X: FloatArray) -> FloatArray:
        """Return rows in the scale of the kernel."""
        return np.asarray((X - self.shift) / self.scale, dtype=np.float64)

    def cross(self, points: FloatArray, anchors: FloatArray | None = None) -> FloatArray:
        """Return kernel values between points, or within them."""
        if self.kernel == "linear":
            return kernels.linear(points, anchors)
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

    def evaluate(self, X: FloatArray) -> tuple[IntArray, BoolArray]:
        """Return the winning class of every row, and whether it is accepted."""
        if X.shape[1] != self.anchors.shape[1]:
            raise ValueError(f"this layer was trained on {self.anchors.shape[1]} columns, got {X.shape[1]}")
        if X.shape[0] == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        # In blocks: the kernel values of a million rows do not fit into memory at once.
        parts = [apply_rejector(cross @ self.u, cross @ self.w) for cross in self._blocks(X)]
        return np.concatenate([winner for winner, _ in parts]), np.concatenate([accepted for _, accepted in parts])

    def outputs(self, X: FloatArray) -> FloatArray:
        """Return the values h of every class, shape (n, C)."""
        return np.vstack([cross @ self.u for cross in self._blocks(X)])

    def _blocks(self, X: FloatArray) -> list[FloatArray]:
        blocks = [X[start : start + KERNEL_BLOCK_ROWS] for start in range(0, X.shape[0], KERNEL_BLOCK_ROWS)]
        return [self.frame.cross(self.frame.points(block), self.anchors) for block in blocks]

    def check(self, width: int, n_classes: int) -> None:
        """Raise an error unless all arrays fit together."""
        n, d = self.anchors.shape
        shapes = (self.frame.shift.shape, self.frame.scale.shape, self.u.shape, self.w.shape)
        if shapes != ((d,), (d,), (n, n_classes), (n, n_classes)) or d != width:
            raise ValueError(f"the arrays of a layer do not fit together, or to {width} columns")
        if self.frame.kernel not in KERNELS or not self.frame.gamma > 0.0:
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
