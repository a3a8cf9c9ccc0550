"""The cascade of Section 3.3: layers in order, and what they decide about rows.

A layer accepts the rows it is confident about. The others go to the next layer, which sees more features. Values
of its candidates are requested only for these rows. Rows that the last layer rejects belong to the hidden class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.columns import Encodings
from exml_sim.classifier._latent_class import LatentModel
from exml_sim.classifier._rejection_model import RejectionModel
from exml_sim.oracle import ArrayOracle, Oracle, availability, checked_answer

#: Candidate values of rows: an oracle, or arrays by name.
Values = Oracle | Mapping[str, Any] | None

#: Between the names of missing candidates.
AND = " and "
#: The layer without candidates.
INITIAL = "the model of the observed columns"


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A model and the candidates whose values it sees behind the observed features, in this order."""

    model: RejectionModel | LatentModel
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What became of every row.

    Attributes
    ----------
    winner
        Number of the winning class in the last layer that saw the row, or, for undecided rows, in its model of the
        observed columns, shape (n,); -1 if there is none.
    layer
        Layer that accepted the row, from 1; 0 if none did.
    seen
        Last layer that saw the row; 0 if none did.
    missing
        Candidates whose missing values stopped the row, joined by " and "; "" for decided rows.
    asked
        Rows for which each candidate was requested, in order.
    outputs
        Probabilities of the known classes and the hidden one, or values h of rejection models, by the model that found
        the winner, shape (n, C + 1) or (n, C); NaN if there is none.
    """

    winner: IntArray
    layer: IntArray
    seen: IntArray
    missing: NDArray[np.str_]
    asked: dict[str, IntArray]
    outputs: FloatArray

    @property
    def hidden(self) -> BoolArray:
        """Rows that every layer rejected."""
        return np.asarray((self.layer == 0) & (self.missing == ""), dtype=np.bool_)

    @property
    def undecided(self) -> BoolArray:
        """Rows that lack a value."""
        return np.asarray(self.missing != "", dtype=np.bool_)

    def count_lacking(self, names: tuple[str, ...]) -> dict[str, int]:
        """Return how many rows lack each of the candidates; those that no row lacks are left out."""
        lacking = [text.split(AND) for text in self.missing[self.undecided].tolist()]
        counts = {name: sum(name in texts for texts in lacking) for name in names}
        return {name: count for name, count in counts.items() if count}

    def labels(self, classes: NDArray[Any], hidden_label: Any, undecided: Any = None) -> NDArray[Any]:
        """Return labels of all rows; an array of objects if known and hidden labels are of different kinds.

        Without a hidden label, hidden rows get their best known one.
        """
        labels: NDArray[Any] = classes[np.maximum(self.winner, 0)]
        extra = [] if hidden_label is None else [hidden_label]
        extra += [undecided] if self.undecided.any() else []
        same_kind = all((np.asarray(label).dtype.kind in "US") == (labels.dtype.kind in "US") for label in extra)
        labels = labels.astype(np.result_type(labels, *map(np.asarray, extra)) if same_kind else object)
        if hidden_label is not None:
            labels[self.hidden] = hidden_label
        if self.undecided.any():
            labels[self.undecided] = undecided
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """Layers in order."""

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("a cascade needs at least one layer, got none")
        if len({layer.model.n_outputs for layer in self.layers}) > 1:
            raise ValueError("the layers of a cascade must have the same number of outputs")

    @property
    def layer_names(self) -> list[str]:
        """What the layers see, in words."""
        return [f"the model with {AND.join(c)}" if (c := layer.candidates) else INITIAL for layer in self.layers]

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates that some layer needs, first use first."""
        return tuple(dict.fromkeys(name for layer in self.layers for name in layer.candidates))

    def decide(
        self,
        X: FloatArray,
        source: Values,
        encodings: Mapping[str, Encodings] | None = None,
        fill: Collection[str] = (),
    ) -> Decisions:
        """Send every row through the layers until one accepts it.

        Parameters
        ----------
        X
            Observed features, shape (n, d).
        source
            Source of candidate values. It is asked at most once for a value, and only for rows that reach a layer that
            needs it.
        encodings
            How recorded values become numbers, by candidate.
        fill
            Candidates whose blank cells nobody will fill in. Rows that lack one of them are decided by the initial
            model inside the layer, if there is one. Other rows that lack a value stay undecided.
        """
        n = X.shape[0]
        longest = len(AND.join(self.candidates))
        winner, layer, seen = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        missing: NDArray[np.str_] = np.full(n, "", dtype=f"<U{max(1, longest)}")
        outputs = np.full((n, self.layers[0].model.n_outputs), np.nan)
        values = _RequestedValues(source, self.candidates, n, encodings)
        pending = np.arange(n)
        for number, current in enumerate(self.layers, 1):
            reaching = pending
            initial = getattr(current.model, "initial", None) if current.candidates else None
            pending = values.drop_incomplete(current.candidates, pending, missing)
            if initial is not None and len(blank := np.setdiff1d(reaching, pending)):
                winner[blank], accepted, outputs[blank] = initial.evaluate(X[blank])
                if set(current.candidates) <= set(fill):
                    missing[blank], seen[blank], layer[blank[accepted]] = "", number, number
            if not len(pending):
                break
            points = np.hstack([X[pending], *(values.fetch(name, pending) for name in current.candidates)])
            winner[pending], accepted, outputs[pending] = current.model.evaluate(points)
            seen[pending] = number
            layer[pending[accepted]] = number
            pending = pending[~accepted]
        asked = {name: np.flatnonzero(mask) for name, mask in values.asked.items()}
        return Decisions(winner, layer, seen, missing, asked, outputs)

    def explain(
        self, decisions: Decisions, classes: NDArray[Any], hidden_label: Any, hidden: str = "class"
    ) -> list[str]:
        """Return one sentence per row; `hidden` says what rejected rows are called, as in `ExMLClassifier`."""
        sentences, names = [], self.layer_names
        remark = {"class": "", "flag": "looks hidden, ", "never": "not confident, "}[hidden]
        for row in range(len(decisions.layer)):
            if decisions.missing[row]:
                before = f"rejected by {names[decisions.seen[row] - 1]}; " if decisions.seen[row] else ""
                sentences.append(f"undecided: {before}the next model needs {decisions.missing[row]}")
            elif decisions.layer[row]:
                label = classes[decisions.winner[row]]
                sentences.append(f"{label}: accepted by {names[decisions.layer[row] - 1]}")
            else:
                label = hidden_label if hidden == "class" else classes[decisions.winner[row]]
                sentences.append(f"{label}: {remark}rejected by {' and '.join(names)}")
        return sentences


def known_probabilities(outputs: FloatArray) -> FloatArray:
    """Return probabilities of the known classes if no row is hidden, from `Decisions.outputs`."""
    known = outputs[:, :-1]
    return np.asarray(known / known.sum(axis=1, keepdims=True), dtype=np.float64)


class _RequestedValues:
    """Values of candidates; each is requested at most once.

    Parameters
    ----------
    source
        Where they come from. A candidate that it does not have is missing in every row.
    names
        Candidates that may be requested.
    n_rows
        Number of rows.
    encodings
        How recorded values are encoded: as in training.
    """

    def __init__(
        self, source: Values, names: tuple[str, ...], n_rows: int, encodings: Mapping[str, Encodings] | None
    ) -> None:
        self._oracle: Oracle | None
        if source is None or isinstance(source, Mapping):
            given = {name: values for name in names if (values := (source or {}).get(name)) is not None}
            self._oracle = ArrayOracle(given, encodings=encodings) if given else None
        elif isinstance(source, Oracle):
            self._oracle = source.encoded_by(encodings or {}) if isinstance(source, ArrayOracle) else source
        else:
            raise ValueError(f"candidate values must be an oracle or a mapping from name to array, got {source!r}")
        self._n_rows = n_rows
        self._tables: dict[str, FloatArray] = {}
        self.asked = {name: np.zeros(n_rows, dtype=np.bool_) for name in names}

    def available(self, name: str) -> BoolArray:
        """Return the rows that have a value."""
        if self._oracle is None or name not in self._oracle.names:
            return np.zeros(self._n_rows, dtype=np.bool_)
        return availability(self._oracle, name, self._n_rows)

    def drop_incomplete(self, names: tuple[str, ...], rows: IntArray, missing: NDArray[np.str_]) -> IntArray:
        """Return the rows that have all candidates; note all that the others lack, and request nothing of them."""
        if not names or not len(rows):
            return rows
        present = np.array([self.available(name)[rows] for name in names])
        complete = present.all(axis=0)
        for place in np.flatnonzero(~complete):
            missing[rows[place]] = AND.join(name for name, has in zip(names, present[:, place], strict=True) if not has)
        return np.asarray(rows[complete], dtype=np.int64)

    def fetch(self, name: str, rows: IntArray) -> FloatArray:
        """Return values of rows that have one; those that are not known yet are requested."""
        new = rows[~self.asked[name][rows]]
        if len(new):
            assert self._oracle is not None
            answer = checked_answer(self._oracle.query(name, new), name, new)
            table = self._tables.setdefault(name, np.full((self._n_rows, answer.shape[1]), np.nan))
            table[new] = answer
            self.asked[name][new] = True
        return self._tables[name][rows]
