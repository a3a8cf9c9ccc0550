"""What a fitted ExMLClassifier does with rows: labels, probabilities, explanations, and its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MethodType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.arrays import FloatArray
from exml_sim.classifier.cascade import Cascade, Decisions
from exml_sim.classifier.decisions import asker, explanations, labelled
from exml_sim.classifier.latent import LatentModel
from exml_sim.classifier.layout import Layout
from exml_sim.classifier.saved import load, save, to_saved
from exml_sim.oracle import Oracle

Values = Oracle | Mapping[str, ArrayLike] | None


def check_fitted(model: Any) -> None:
    """Refuse a model without layers, as scikit-learn does."""
    if not hasattr(model, "cascade_"):
        # Here, because it takes a second: most runs have no use for it.
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


def _check_probabilities(model: Any) -> None:
    """Rejection models say yes or no, not how likely."""
    if hasattr(model, "cascade_"):
        has = all(isinstance(layer.model, LatentModel) for layer in model.cascade_.layers)
    else:
        has = not (isinstance(model.model, str) and model.model == "rejection")
    if not has:
        raise AttributeError(
            "rejection models have no probabilities: decision_function has their values, model='auto' has both"
        )


class _WithProbabilities:
    """A method of models that have probabilities; the others do not have the attribute."""

    def __init__(self, method: Callable[..., FloatArray]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type) -> Callable[..., FloatArray]:
        if model is None:
            return self._method
        _check_probabilities(model)
        return MethodType(self._method, model)


class Predicting:
    """The half of `ExMLClassifier` that a saved model has, too."""

    cascade_: Cascade
    classes_: NDArray[Any]
    layout_: Layout
    hidden_label: Any

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.layout_.width

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, if it has names."""
        if self.layout_.names is None:
            raise AttributeError("X had no names of columns")
        return np.array(self.layout_.names, dtype=object)

    def predict(self, X: Any, oracle: Values = None) -> NDArray[Any]:
        """Known classes, and `hidden_label` for rows that every layer gives up.

        Parameters
        ----------
        oracle
            Candidate values of these rows: an oracle, or a mapping from candidate to array. It is asked only for the
            selected candidates, and only for rows that reach a layer that needs them. None if they are columns of X.

        Raises
        ------
        ValueError
            If a value is needed and missing; `decide` and `explain` say for which rows.
        """
        decisions = self._complete(self.decide(X, oracle))
        return labelled(decisions, self.classes_, self.hidden_label)

    def decide(self, X: Any, oracle: Values = None) -> Decisions:
        """Which layer decided what, row by row, and which values were asked for."""
        points, source = self._given(X, oracle)
        return self.cascade_.decide(points, asker(source, self.cascade_.candidates, len(points)))

    def explain(self, X: Any, oracle: Values = None) -> list[str]:
        """One sentence per row: which layer decided it, or which value it lacks."""
        return explanations(self.decide(X, oracle), self.cascade_, self.classes_, self.hidden_label)

    @_WithProbabilities
    def predict_proba(self, X: Any, oracle: Values = None) -> FloatArray:
        """Probabilities of the known classes in the order of `classes_`, and of the hidden class in the last column.

        Every row by the last layer that saw it. Rejection models have none.
        """
        return self._outputs(X, oracle)

    def decision_function(self, X: Any, oracle: Values = None) -> FloatArray:
        """How much speaks for every known class, by the last layer that saw the row; of two, the second less the first.

        Probabilities, or the values h of rejection models.
        """
        found = self._outputs(X, oracle)[:, : len(self.classes_)]
        return np.asarray(found[:, 1] - found[:, 0] if found.shape[1] == 2 else found, dtype=np.float64)

    def score(self, X: Any, y: ArrayLike, oracle: Values = None) -> float:
        """Share of rows whose class (known, or the hidden label) is predicted."""
        hits = np.asarray(self.predict(X, oracle), dtype=object) == np.asarray(y, dtype=object)
        return float(np.mean(hits))

    def save(self, path: str | Path) -> None:
        """Write what predicting takes as arrays and JSON, without pickle; an existing file is not overwritten."""
        check_fitted(self)
        layout, columns = self.layout_, None
        if layout.names is not None and layout.candidates:
            columns = {name: [layout.names[at] for at in some] for name, some in layout.candidates.items()}
        save(to_saved(self, layout.observed_names, columns), Path(path))  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save`, or exml explore, wrote: it predicts and explains, but has no report."""
        saved = load(Path(path))
        model = cls(hidden_label=saved.hidden_label)  # type: ignore[call-arg]
        model.cascade_, model.classes_ = saved.cascade, saved.classes
        model.layout_ = saved.layout or Layout(saved.observed, len(saved.observed), tuple(range(len(saved.observed))))
        return model

    def _given(self, X: Any, oracle: Values) -> tuple[FloatArray, Values]:
        """Observed features, and where candidate values come from."""
        check_fitted(self)
        points, values = self.layout_.split(X)
        if values is not None and oracle is not None:
            raise ValueError("candidate values are columns of X: leave the oracle out")
        return points, oracle if values is None else values

    def _outputs(self, X: Any, oracle: Values) -> FloatArray:
        points, source = self._given(X, oracle)
        out = np.zeros((len(points), len(self.classes_) + 1))

        def watch(rows: NDArray[np.int64], found: FloatArray) -> None:
            out[rows, : found.shape[1]] = found

        ask = asker(source, self.cascade_.candidates, len(points))
        self._complete(self.cascade_.decide(points, ask, watch))
        return out

    def _complete(self, decisions: Decisions) -> Decisions:
        stuck = np.flatnonzero(decisions.undecided)
        if len(stuck):
            name = str(decisions.missing[stuck[0]])
            need = "1 row needs" if len(stuck) == 1 else f"{len(stuck)} rows need"
            raise ValueError(f"{need} a value of candidate {name!r}, the first is row {stuck[0]}")
        return decisions
