"""The model cascade of Section 3.3: rows that one layer rejects go to the next.

A layer accepts the rows it is confident about. The others go to the next layer, which sees more features. Values
of its candidates are requested only for these rows. Rows that the last layer rejects belong to the hidden class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.encoding import Encodings
from exml_sim.classifier._latent_class import LatentModel
from exml_sim.classifier._rejection_model import RejectionModel
from exml_sim.oracle import ArrayOracle, Oracle, availability, checked_answer

#: Values of a candidate for some rows, and a mask of the rows that have one.
Ask = Callable[[str, IntArray], tuple[FloatArray, BoolArray]]

#: Between the names of missing candidates.
AND = " and "

#: Receives rows, and probabilities or values h of the classes, from every layer.
Watch = Callable[[IntArray, FloatArray], None]


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
        Number of the winning class in the last layer that saw the row, shape (n,); -1 if none saw it.
    layer
        Layer that accepted the row, from 1; 0 if none did.
    seen
        Last layer that saw the row; 0 if none did.
    missing
        Candidates whose missing values stopped the row, joined by " and "; "" for decided rows.
    asked
        Rows for which each candidate was requested, in order.
    """

    winner: IntArray
    layer: IntArray
    seen: IntArray
    missing: NDArray[np.str_]
    asked: dict[str, IntArray]

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
        """Return labels of all rows; an array of objects if known and hidden labels are of different kinds."""
        labels: NDArray[Any] = classes[np.maximum(self.winner, 0)]
        extra = [hidden_label] if not self.undecided.any() else [hidden_label, undecided]
        same_kind = all((np.asarray(label).dtype.kind in "US") == (labels.dtype.kind in "US") for label in extra)
        labels = labels.astype(np.result_type(labels, *map(np.asarray, extra)) if same_kind else object)
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

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates that some layer needs, first use first."""
        return tuple(dict.fromkeys(name for layer in self.layers for name in layer.candidates))

    def decide(self, X: FloatArray, ask: Ask, watch: Watch | None = None, fill: Collection[str] = ()) -> Decisions:
        """Send every row through the layers until one accepts it.

        Parameters
        ----------
        X
            Observed features, shape (n, d).
        ask
            Source of candidate values. It is asked at most once for a value, and only for rows that reach a layer that
            needs it.
        watch
            Receives the outputs of every layer.
        fill
            Candidates whose blank cells nobody will fill in. Rows that lack one of them are decided by the initial
            model inside the layer, if there is one. Other rows that lack a value stay undecided.
        """
        n = X.shape[0]
        longest = len(AND.join(self.candidates))
        winner, layer, seen = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        missing: NDArray[np.str_] = np.full(n, "", dtype=f"<U{max(1, longest)}")
        values = _RequestedValues(ask, n)
        pending = np.arange(n)
        for number, current in enumerate(self.layers, 1):
            reaching = pending
            is_filled = bool(current.candidates) and set(current.candidates) <= set(fill)
            initial = getattr(current.model, "initial", None) if is_filled else None
            pending = _drop_incomplete(current.candidates, getattr(ask, "available", None), pending, missing)
            if initial is not None and len(blank := np.setdiff1d(reaching, pending)):
                winner[blank], accepted = initial.evaluate(X[blank])
                if watch is not None:
                    watch(blank, initial.outputs(X[blank]))
                missing[blank], seen[blank], layer[blank[accepted]] = "", number, number
            for name in current.candidates:
                present = values.fetch(name, pending)
                missing[pending[~present]] = name
                pending = pending[present]
            if not len(pending):
                break
            points = np.hstack([X[pending], *(values.tables[name][pending] for name in current.candidates)])
            winner[pending], accepted = current.model.evaluate(points)
            if watch is not None:
                watch(pending, current.model.outputs(points))
            seen[pending] = number
            layer[pending[accepted]] = number
            pending = pending[~accepted]
        return Decisions(winner, layer, seen, missing, values.asked_rows())

    def explain(self, decisions: Decisions, classes: NDArray[Any], hidden_label: Any) -> list[str]:
        """Return one sentence per row."""
        sees = [", ".join(layer.candidates) for layer in self.layers]
        names = [f"layer {i} (observed features{f' and {c}' if c else ' only'})" for i, c in enumerate(sees, 1)]
        sentences = []
        for row in range(len(decisions.layer)):
            if decisions.missing[row]:
                before = f"rejected by {names[decisions.seen[row] - 1]}; " if decisions.seen[row] else ""
                sentences.append(f"undecided: {before}the next layer needs {decisions.missing[row]}")
            elif decisions.layer[row]:
                label = classes[decisions.winner[row]]
                sentences.append(f"{label}: accepted by {names[decisions.layer[row] - 1]}")
            else:
                everyone = names[0] if len(names) == 1 else f"all {len(names)} layers"
                sentences.append(f"{hidden_label}: rejected by {everyone}")
        return sentences


def _drop_incomplete(
    names: tuple[str, ...], available: Callable[[str], BoolArray] | None, pending: IntArray, missing: NDArray[np.str_]
) -> IntArray:
    """Return the rows that have all candidates; note all that the others lack, and request nothing of them."""
    if available is None or not names or not len(pending):
        return pending
    present = np.array([available(name)[pending] for name in names])
    complete = present.all(axis=0)
    for place in np.flatnonzero(~complete):
        missing[pending[place]] = AND.join(name for name, has in zip(names, present[:, place], strict=True) if not has)
    return np.asarray(pending[complete], dtype=np.int64)


class _RequestedValues:
    """Values requested so far."""

    def __init__(self, ask: Ask, n: int) -> None:
        self._ask, self._n = ask, n
        self.tables: dict[str, FloatArray] = {}
        self._asked: dict[str, BoolArray] = {}
        self._present: dict[str, BoolArray] = {}

    def fetch(self, name: str, rows: IntArray) -> BoolArray:
        """Request values that are not known yet; return which of the rows have one."""
        asked = self._asked.setdefault(name, np.zeros(self._n, dtype=np.bool_))
        present = self._present.setdefault(name, np.zeros(self._n, dtype=np.bool_))
        new = rows[~asked[rows]]
        if len(new):
            values, here = self._ask(name, new)
            if name not in self.tables:
                self.tables[name] = np.full((self._n, values.shape[1]), np.nan)
            self.tables[name][new[here]] = values[here]
            asked[new], present[new] = True, here
        return present[rows]

    def asked_rows(self) -> dict[str, IntArray]:
        return {name: np.flatnonzero(mask) for name, mask in self._asked.items()}


def make_ask(
    source: Oracle | Mapping[str, Any] | None,
    needed: tuple[str, ...],
    n_rows: int,
    encodings: Mapping[str, Encodings] | None = None,
) -> Ask:
    """Turn an oracle, or a mapping from candidate to values, into the source of `Cascade.decide`.

    A candidate that the source does not have is missing in every row. Recorded values are encoded as in training.
    """
    if source is None or isinstance(source, Mapping):
        given = {name: values for name in needed if (values := (source or {}).get(name)) is not None}
        oracle: Oracle | None = ArrayOracle(given, encodings=encodings) if given else None
    elif isinstance(source, Oracle):
        oracle = source.encoded_by(encodings or {}) if isinstance(source, ArrayOracle) else source
    else:
        raise ValueError(f"candidate values must be an oracle or a mapping from name to array, got {source!r}")

    def ask(name: str, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        nothing = np.full((len(rows), 1), np.nan), np.zeros(len(rows), dtype=np.bool_)
        if oracle is None or name not in oracle.names:
            return nothing
        present = availability(oracle, name, n_rows)[rows]
        if not present.any():
            return nothing
        answer = checked_answer(oracle.query(name, rows[present]), name, rows[present])
        values = np.full((len(rows), answer.shape[1]), np.nan)
        values[present] = answer
        return values, present

    def available(name: str) -> BoolArray:
        if oracle is None or name not in oracle.names:
            return np.zeros(n_rows, dtype=np.bool_)
        return availability(oracle, name, n_rows)

    ask.available = available  # type: ignore[attr-defined]
    return ask
