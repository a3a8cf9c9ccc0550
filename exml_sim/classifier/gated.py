r"""One layer of the method: known classes behind one rejection gate.

Two known classes are the rejection model (h, g) of Section 3.1. More than two are one rejection model per class, class
c against the rest, with one gate over all of them: the point goes to the class c* with the largest h_c(x) and is
accepted if

.. math:: g_{c^*}(x) \ge 0 \quad\text{and}\quad h_{c^*}(x) \ge 0,

that is, if the model of the winning class does not give the point up and does claim it. With two classes the two models
are mirror images (the surrogate loss depends on y h only), the second condition always holds, and the gate is the
paper's g(x) >= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim import kernels
from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.scoring import LOSSES, Scoring
from exml_sim.validation import check_choice

KERNELS: Sequence[str] = ("gaussian", "linear")
SCALINGS: Sequence[str] = ("unit", "none")

# Rows whose kernel values are computed together.
PIECE = 4096


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What all layers share.

    Parameters
    ----------
    kernel
        "gaussian" or "linear"; only these, so that a saved model is numbers and nothing else.
    gamma
        "median" (of the squared distances of the training rows, Section 5) or a number above 0.
    C_h, C_g
        Penalties on the squared norms.
    loss
        "sum" or "mean" of the losses, see `exml_sim.bandit.scoring.Scoring`.
    scaling
        "unit": every column to [0, 1] by the range of the training rows, as Section 5.2 does. "none": as given.
    """

    kernel: str = "gaussian"
    gamma: float | str = "median"
    C_h: float = 1.0
    C_g: float = 1.0
    loss: str = "sum"
    scaling: str = "unit"

    def __post_init__(self) -> None:
        for what, given, allowed in (
            ("kernel", self.kernel, KERNELS),
            ("loss", self.loss, LOSSES),
            ("scaling", self.scaling, SCALINGS),
        ):
            check_choice(given, what, allowed)
        if self.gamma != "median":
            kernels.resolve_gamma(np.zeros((1, 1)), self.gamma)  # type: ignore[arg-type]
        # The scoring's own door checks the penalties.
        self.scoring(0.25, "risk")

    def scoring(self, theta: float, score: str) -> Scoring:
        """The certified score of a candidate under these options."""
        return Scoring(theta, score, None, (float(self.C_h), float(self.C_g)), self.loss)

    def penalty(self, rows: int) -> tuple[float, float]:
        """The penalties that go with the sum of `rows` losses."""
        scale = 1.0 if self.loss == "sum" else float(rows)
        return scale * float(self.C_h), scale * float(self.C_g)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """How rows become points of the kernel: shift, scale and bandwidth, taken from training rows."""

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
        """Rows in the scale of the kernel."""
        return np.asarray((X - self.shift) / self.scale, dtype=np.float64)

    def cross(self, points: FloatArray, anchors: FloatArray | None = None) -> FloatArray:
        """Kernel values between points (or within them)."""
        if self.kernel == "linear":
            return kernels.linear(points, anchors)
        return kernels.gaussian(points, anchors, gamma=self.gamma)


@dataclass(frozen=True, slots=True, eq=False)
class GatedModel:
    """A fitted layer: plain arrays.

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
        """The winning class of every row, and whether the gate accepts it."""
        if X.shape[1] != self.anchors.shape[1]:
            raise ValueError(f"this layer was trained on {self.anchors.shape[1]} columns, got {X.shape[1]}")
        if X.shape[0] == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        # In pieces: the kernel values of a million rows do not fit into memory at once.
        parts = [self._piece(X[start : start + PIECE]) for start in range(0, X.shape[0], PIECE)]
        return np.concatenate([one for one, _ in parts]), np.concatenate([other for _, other in parts])

    def outputs(self, X: FloatArray) -> FloatArray:
        """The values h of every class, shape (n, C)."""
        pieces = [X[start : start + PIECE] for start in range(0, X.shape[0], PIECE)]
        return np.vstack([self.frame.cross(self.frame.points(one), self.anchors) @ self.u for one in pieces])

    def _piece(self, X: FloatArray) -> tuple[IntArray, BoolArray]:
        cross = self.frame.cross(self.frame.points(X), self.anchors)
        return through_the_gate(cross @ self.u, cross @ self.w)


def through_the_gate(h: FloatArray, g: FloatArray) -> tuple[IntArray, BoolArray]:
    """Winning class and gate from the values of all models, each of shape (n, C)."""
    lines = np.arange(h.shape[0])
    winner = h.argmax(axis=1)
    accepted = (g[lines, winner] >= 0.0) & (h[lines, winner] >= 0.0)
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_)


def signs(y: IntArray, n_classes: int) -> list[IntArray]:
    """Labels -1 and +1 of the binary problems: one for two classes, C for more (class c against the rest)."""
    if n_classes == 2:
        return [np.where(y == 1, 1, -1).astype(np.int64)]
    return [np.where(y == c, 1, -1).astype(np.int64) for c in range(n_classes)]


def coefficients(
    gram: FloatArray,
    y: IntArray,
    n_classes: int,
    theta: float,
    options: ModelOptions,
    tol: float,
    used: BoolArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of h and g for every class, each of shape (n, C).

    Parameters
    ----------
    used
        Rows to train on, all by default; the coefficients of the others are 0. The result is that of the smaller
        matrix, but a large one is checked once for all of its parts.
    """
    # An exploration without rejection models need not load their solver.
    from exml_sim.rejection import solve

    weights = None if used is None else used.astype(np.float64)
    rows = len(y) if used is None else int(used.sum())
    found = [
        solve(gram, labels, theta, weights=weights, penalty=options.penalty(rows), tol=tol, method="dual")
        for labels in signs(y, n_classes)
    ]
    if n_classes == 2:
        (one,) = found
        return np.column_stack([-one.u, one.u]), np.column_stack([one.w, one.w])
    return np.column_stack([s.u for s in found]), np.column_stack([s.w for s in found])


def fit(
    X: FloatArray, y: IntArray, n_classes: int, theta: float, options: ModelOptions, *, tol: float = 1e-7
) -> GatedModel:
    """Fit one layer.

    Parameters
    ----------
    X
        Rows, shape (n, d).
    y
        Class numbers 0 … C-1, shape (n,); not every class need occur.
    n_classes
        C, at least 2.
    """
    frame = Frame.of(X, options)
    anchors = frame.points(X)
    u, w = coefficients(frame.cross(anchors), y, n_classes, theta, options, tol)
    return GatedModel(frame, anchors, u, w, float(theta))
