"""From the cascade's decisions to labels and sentences, and from what a user has to the values the cascade asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.cascade import Ask, Cascade, Decisions
from exml_sim.oracle import ArrayOracle, Oracle, availability, checked_answer


def asker(source: Oracle | Mapping[str, ArrayLike] | None, needed: tuple[str, ...], n_rows: int) -> Ask:
    """Turn an oracle, or a mapping from candidate to array, into what `Cascade.decide` asks.

    A candidate that the source has not got is missing in every row.
    """
    if source is None or isinstance(source, Mapping):
        given = {name: values for name in needed if (values := (source or {}).get(name)) is not None}
        oracle: Oracle | None = ArrayOracle(given) if given else None
    elif isinstance(source, Oracle):
        oracle = source
    else:
        raise ValueError(f"candidate values must be an oracle or a mapping from name to array, got {source!r}")

    def ask(name: str, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        if oracle is None or name not in oracle.names:
            return np.full((len(rows), 1), np.nan), np.zeros(len(rows), dtype=np.bool_)
        present = availability(oracle, name, n_rows)[rows]
        found = checked_answer(oracle.query(name, rows[present]), name, rows[present]) if present.any() else None
        values = np.full((len(rows), 1 if found is None else found.shape[1]), np.nan)
        if found is not None:
            values[present] = found
        return values, present

    return ask


def labelled(decisions: Decisions, classes: NDArray[Any], hidden_label: Any, undecided: Any = None) -> NDArray[Any]:
    """Labels of all rows; an array of objects if known and hidden labels are of different kinds."""
    labels: NDArray[Any] = classes[np.maximum(decisions.winner, 0)]
    extra = [hidden_label] if not decisions.undecided.any() else [hidden_label, undecided]
    same_kind = all((np.asarray(one).dtype.kind in "US") == (labels.dtype.kind in "US") for one in extra)
    labels = labels.astype(np.result_type(labels, *map(np.asarray, extra)) if same_kind else object)
    labels[decisions.hidden] = hidden_label
    if decisions.undecided.any():
        labels[decisions.undecided] = undecided
    return labels


def explanations(decisions: Decisions, cascade: Cascade, classes: NDArray[Any], hidden_label: Any) -> list[str]:
    """One sentence per row."""
    sees = [", ".join(layer.candidates) for layer in cascade.layers]
    names = [f"layer {i} (observed features{f' and {c}' if c else ' only'})" for i, c in enumerate(sees, 1)]
    lines = []
    for row in range(len(decisions.layer)):
        if decisions.missing[row]:
            before = f"given up by {names[decisions.seen[row] - 1]}; " if decisions.seen[row] else ""
            lines.append(f"undecided: {before}the next layer needs {decisions.missing[row]}")
        elif decisions.layer[row]:
            label = classes[decisions.winner[row]]
            lines.append(f"{label}: accepted by {names[decisions.layer[row] - 1]}")
        else:
            all_of = names[0] if len(names) == 1 else f"all {len(names)} layers"
            lines.append(f"{hidden_label}: given up by {all_of}")
    return lines
