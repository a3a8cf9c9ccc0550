"""Provide the rejection model as a scikit-learn estimator."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from exml_sim import kernels
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.memory import free_memory, in_bytes
from exml_sim._internal.validation import check_alike, check_choice, check_count, check_positive, shown
from exml_sim.rejection._factor import (
    DEFAULT_RANK,
    EXACT_ROWS,
    check_low_rank,
    check_rank,
    chunks,
    factorise,
    largest_rank,
    memory_needed,
)
from exml_sim.rejection._large import CERTIFICATES, solve_low_rank
from exml_sim.rejection.solve import solve


class RejectionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Binary classifier with a reject option: the kernel rejection model of Section 3.1.

    A point is accepted when :math:`g(x) \ge 0` and then gets the class of :math:`\mathrm{sign}\,h(x)`; otherwise it is
    suspected to belong to a hidden class.

    Parameters
    ----------
    theta : float, default 0.3
        Price of a rejection, in (0, 1/2): the smaller, the more is rejected.
    kernel : {"gaussian", "linear", "precomputed"} or callable, default "gaussian"
    gamma : "median", float or callable, default "median"
        Bandwidth of the Gaussian kernel :math:`\exp(-|x-x'|^2/\gamma)`; the median is over the squared distances of the
        training rows, and 1.0 is taken when it does not exist (one row, or more than half of all pairs equal).
    C_h, C_g : float, default 1.0
        Penalties on the squared norms of h and g.
    loss : {"sum", "mean"}, default "sum"
        Eq. 3 prints the mean of the losses. With it and C = 1 the model provably rejects every point for theta <= 3/8,
        so the sum is the default; ``"mean"`` is the equation as printed.
    hidden_label : object, default None
        What :meth:`predict` returns for rejected points. With None, rejected points get the class of sign h like all
        others, and only :meth:`predict_reject` tells them apart.
    tol : float, default 1e-8
        Relative duality gap of the fit.
    max_iter : int, default 5000
        Newton steps at most.
    rank : "auto", int or None, default "auto"
        Landmarks of the low-rank path, which needs rows times rank numbers instead of rows squared; None for the Gram
        matrix. "auto" takes the Gram matrix up to 2,000 rows and 400 landmarks beyond, where the kernel has a low-rank
        path (Gaussian and linear). ``solution_.method`` and ``solution_.rank`` say what was done, and
        ``solution_.gap`` what it may have cost. 100 landmarks often predict as well in a third of the time; what more
        of them buy, above all in many dimensions, is a narrower gap.
    certificate : {"auto", "streamed", "trace"}, default "auto"
        How the low-rank path bounds the full problem from below, see :func:`exml_sim.rejection.solve_low_rank`.
    memory : int, default None
        Bytes that the fit may use; what is free by default. What needs more is refused before anything is allocated.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        The two known classes; h > 0 stands for the second.
    solution_ : Solution
        The certified fit.
    gamma_ : float or None
        The bandwidth used.
    X_fit_ : ndarray
        The points whose kernel values predictions need: the training rows, or the landmarks on the low-rank path (None
        for a precomputed kernel).
    n_features_in_, n_iter_ : int

    Examples
    --------
    >>> from exml_sim.rejection import RejectionClassifier
    >>> X = [[-2.0], [-1.5], [1.5], [2.0], [0.0], [0.0]]
    >>> y = ["left", "left", "right", "right", "left", "right"]
    >>> model = RejectionClassifier(theta=0.2, C_h=0.01, C_g=0.01, hidden_label="?").fit(X, y)
    >>> model.predict([[-1.8], [1.8], [0.0]]).tolist()
    ['left', 'right', '?']
    """

    gamma_: float | None
    X_fit_: FloatArray | None

    def __init__(
        self,
        theta: float = 0.3,
        *,
        kernel: Any = "gaussian",
        gamma: Any = "median",
        C_h: float = 1.0,
        C_g: float = 1.0,
        loss: str = "sum",
        hidden_label: Any = None,
        tol: float = 1e-8,
        max_iter: int = 5000,
        rank: Any = "auto",
        certificate: str = "auto",
        memory: int | None = None,
    ) -> None:
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.C_h = C_h
        self.C_g = C_g
        self.loss = loss
        self.hidden_label = hidden_label
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.certificate = certificate
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RejectionClassifier:
        """Fit h and g.

        Parameters
        ----------
        X : array_like, shape (m, d), or the Gram matrix (m, m) if the kernel is precomputed
        y : array_like, shape (m,)
            Labels with exactly two values.
        sample_weight : array_like, shape (m,), optional
            Weights of the losses; a weight of 2 counts as a repeated row.
        """
        if np.ndim(self.hidden_label):
            raise ValueError(f"hidden_label must be one label; got {shown(self.hidden_label)}")
        if not callable(self.kernel):
            check_choice(self.kernel, "kernel", ("gaussian", "linear", "precomputed"))
        if y is not None:  # scikit-learn says itself that they are missing
            check_alike(y)
        rows, labels = _validate(self, X, y, ensure_min_samples=2)
        check_classification_targets(labels)
        signs = self._encode(labels)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        scale = self._scale(len(signs) if weights is None else float(np.sum(weights)))
        penalty = (scale * check_positive(self.C_h, "C_h"), scale * check_positive(self.C_g, "C_g"))
        rank = self._choose_rank(len(rows))
        self._check_memory(rows, rank)
        if rank is None:
            gram = self._fit_gram(rows, weights)
            self.solution_ = solve(
                gram, signs, self.theta, weights=weights, penalty=penalty, tol=self.tol, max_iter=self.max_iter
            )
        else:
            self._fit_gamma(rows, weights)
            factor = factorise(rows, kernel=self.kernel, gamma=self.gamma_ or 1.0, rank=rank)
            self.X_fit_ = factor.landmarks
            self.solution_ = solve_low_rank(
                factor,
                signs,
                self.theta,
                weights=weights,
                penalty=penalty,
                tol=self.tol,
                max_iter=self.max_iter,
                certificate=self.certificate,
            )
        self.n_iter_ = max(1, self.solution_.iterations)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Evaluate h at the points: positive for the second class, negative for the first."""
        return self._values(X)[0]

    def rejection_function(self, X: ArrayLike) -> FloatArray:
        """Evaluate g at the points: negative where the model rejects."""
        return self._values(X)[1]

    def predict_reject(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Mark the rejected points, g(x) < 0 (the paper's prediction rule)."""
        return self.rejection_function(X) < 0.0

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict known classes, and `hidden_label` for rejected points if one was given."""
        h, g = self._values(X)
        labels: NDArray[Any] = self.classes_[(h > 0.0).astype(int)]
        if self.hidden_label is None:
            return labels
        # A common type for both kinds of label, so that a text label is not cut to the length of the known ones.
        hidden = np.asarray([self.hidden_label])
        mixed = (hidden.dtype.kind in "US") != (labels.dtype.kind in "US")
        labels = labels.astype(object if mixed else np.result_type(labels, hidden))
        labels[g < 0.0] = self.hidden_label
        return labels

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy of :meth:`predict`, rejected points counting by `hidden_label`."""
        hits = np.asarray(self.predict(X), dtype=object) == np.asarray(y, dtype=object)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(hits.astype(float), weights=weights))

    def _encode(self, y: NDArray[Any]) -> FloatArray:
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            kinds = "1 class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(f"Only binary classification is supported: y must have 2 classes; got {kinds}")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _choose_rank(self, m: int) -> int | None:
        """None for the exact path."""
        check_choice(self.certificate, "certificate", CERTIFICATES)
        if self.rank is None:
            return None
        if self.rank == "auto":
            return DEFAULT_RANK if m > EXACT_ROWS and self.kernel in ("gaussian", "linear") else None
        if isinstance(self.rank, str):
            raise ValueError(f"rank must be 'auto', None or a whole number of at least 1; got {shown(self.rank)}")
        check_low_rank(self.kernel)
        return check_rank(self.rank, m)

    def _check_memory(self, X: FloatArray, rank: int | None) -> None:
        """Refuse what will not fit before it is allocated."""
        if self.kernel == "precomputed":
            # The matrix is there already.
            return
        have = free_memory() if self.memory is None else check_count(self.memory, "memory")
        need = memory_needed(len(X), rank, d=X.shape[1])
        if have is None or need <= have:
            return
        most = 0 if callable(self.kernel) else largest_rank(len(X), have, d=X.shape[1])
        way = f"use rank <= {most}" if most else "no rank fits"
        raise MemoryError(f"{len(X)} rows need {in_bytes(need)} of memory, have {in_bytes(have)}; {way}")

    def _fit_gram(self, X: FloatArray, weights: FloatArray | None) -> FloatArray:
        self.gamma_ = None
        self.X_fit_ = X
        if callable(self.kernel):
            return kernels.gram(X, self.kernel)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix; got shape {X.shape}")
            self.X_fit_ = None
            return X
        self._fit_gamma(X, weights)
        return kernels.linear(X) if self.gamma_ is None else kernels.gaussian(X, gamma=self.gamma_)

    def _fit_gamma(self, X: FloatArray, weights: FloatArray | None) -> None:
        self.gamma_ = None
        if self.kernel == "gaussian":
            try:
                self.gamma_ = kernels.resolve_gamma(X, self.gamma, weights)
            except kernels.DegenerateMedianError:
                self.gamma_ = 1.0

    def _scale(self, total: float) -> float:
        """Scale the penalty: the mean of losses is the sum over the total weight, with C times the total."""
        check_choice(self.loss, "loss", ("sum", "mean"))
        return 1.0 if self.loss == "sum" else total

    def _values(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Evaluate h and g at the points, in chunks: kernel values with all points at once may not fit."""
        check_is_fitted(self)
        points: FloatArray = _validate(self, X, reset=False)
        both = np.column_stack([self.solution_.u, self.solution_.w])
        values = np.empty((len(points), 2))
        for part in chunks(len(points)):
            values[part] = self._cross(points[part]) @ both
        return values[:, 0], values[:, 1]

    def _cross(self, points: FloatArray) -> FloatArray:
        if callable(self.kernel):
            return np.asarray(self.kernel(points, self.X_fit_), dtype=np.float64)
        if self.kernel == "precomputed":
            return points
        if self.kernel == "linear":
            return kernels.linear(points, self.X_fit_)
        assert self.gamma_ is not None
        return kernels.gaussian(points, self.X_fit_, gamma=self.gamma_)


def _validate(model: RejectionClassifier, *data: Any, **how: Any) -> Any:
    """Check rows, and labels if there are any, as scikit-learn does; a number that is no float gets a message, too."""
    try:
        return validate_data(model, *data, dtype=np.float64, **how)
    except OverflowError:
        raise ValueError(f"X must have numbers of at most {sys.float_info.max:.2g} in size") from None
