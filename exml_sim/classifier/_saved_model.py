"""What a fitted model has beside its cascade: the columns of X, and the file that holds all of it.

A model is saved as arrays and JSON in one .npz file. Trees of dataclasses are packed generically, without pickle: a
file from a stranger cannot run code. The file holds the training rows that kernel models need, so it is as confidential
as the data.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal import archives
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.columns import (
    Cells,
    ColumnEncoding,
    Encodings,
    RawTable,
    count_unknown,
    encode,
    fit_encodings,
    read_raw,
)
from exml_sim.classifier._cascade import Cascade, Decisions, Layer, known_probabilities
from exml_sim.classifier._latent_class import LatentModel
from exml_sim.classifier._probability_models import ForestModel, MeanModel, StackedModel
from exml_sim.classifier._regression import KernelModel
from exml_sim.classifier._rejection_model import Frame, RejectionModel

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import BaseExMLClassifier

#: Columns of a candidate: a name or number, or several of them.
Columns = str | int | Sequence[str | int]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Places of the columns.

    Attributes
    ----------
    names
        Names of all columns; None if X has none.
    width
        Number of columns of X.
    observed
        Places of the observed ones.
    candidates
        Places of the columns of every candidate; empty if values come from an oracle.
    encodings
        How the observed columns become numbers.
    """

    names: tuple[str, ...] | None
    width: int
    observed: tuple[int, ...]
    candidates: dict[str, tuple[int, ...]] = field(default_factory=dict)
    encodings: Encodings = ()

    @classmethod
    def of(cls, X: Any, candidates: Mapping[str, Columns] | None = None) -> Layout:
        """Read the layout of a training table, and fit the encodings of the observed columns.

        Raises
        ------
        ValueError
            If a candidate's column is not there, has two roles, or leaves no observed column.
        """
        table = read_raw(X)
        names, width = table.columns if table.is_named else None, len(table.columns)
        wanted = {
            candidate: [columns] if isinstance(columns, str | int | np.integer) else list(columns)
            for candidate, columns in (candidates or {}).items()
        }
        _check_columns(wanted, names, width)
        taken = {
            candidate: tuple(
                names.index(column) if names is not None and isinstance(column, str) else int(column)
                for column in columns
            )
            for candidate, columns in wanted.items()
        }
        places = [place for own in taken.values() for place in own]
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise ValueError(f"column {twice if names is None else names[twice]!r} belongs to more than one candidate")
        observed = tuple(place for place in range(width) if place not in places)
        if not observed:
            raise ValueError("every column of X belongs to a candidate: at least one must be observed")
        return cls(names, width, observed, taken, fit_encodings(table.take(observed)))

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Names of the observed columns."""
        return tuple(encoding.name for encoding in self.encodings)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded observed columns."""
        return tuple(name for encoding in self.encodings for name in encoding.feature_names)

    def split(self, X: Any) -> tuple[FloatArray, dict[str, RawTable] | None]:
        """Return encoded observed features, and raw values of the candidates, if they are in X.

        Columns with names may be in any order, and further ones are ignored. A table with names may lack all columns
        of a candidate, which then has no values.
        """
        given = read_raw(X)
        table = self._arrange(given)
        points = encode(self.encodings, table.take(self.observed))
        if not self.candidates:
            return points, None
        has_names = self.names is not None and given.is_named
        there = set(given.columns) if has_names else set(table.columns)
        return points, {
            name: table.take(places)
            for name, places in self.candidates.items()
            if any(table.columns[place] in there for place in places)
        }

    def _arrange(self, table: RawTable) -> RawTable:
        """Return the columns in the order of the training table; those of absent candidates are missing."""
        if self.names is None or not table.is_named:
            if len(table.columns) != self.width:
                raise ValueError(f"X must have {self.width} columns as in fit, got {len(table.columns)}")
            return table
        absent = {
            self.names[at]
            for places in self.candidates.values()
            if not any(self.names[at] in table.columns for at in places)
            for at in places
        }
        lacking = [name for name in self.names if name not in table.columns and name not in absent]
        if lacking:
            listed = ", ".join(map(repr, lacking))
            raise ValueError(f"the columns of X are not those of the training table: {listed} missing")
        blank = Cells(np.full(len(table), np.nan), "number")
        return RawTable(self.names, tuple(blank if name in absent else table[name] for name in self.names))


def _check_columns(wanted: Mapping[str, Sequence[str | int]], names: tuple[str, ...] | None, width: int) -> None:
    """Raise an error that names all columns of candidates that are not there."""
    lacking = [
        f"{column!r} (candidate {candidate!r})"
        for candidate, columns in wanted.items()
        for column in columns
        if (column not in (names or ()) if isinstance(column, str) else not 0 <= int(column) < width)
    ]
    if lacking:
        there = f"X has the columns 0 to {width - 1}, without names" if names is None else f"X has {', '.join(names)}"
        what = "is no column" if len(lacking) == 1 else "are no columns"
        raise ValueError(f"there {what} {', '.join(lacking)}; {there}")


FORMAT, VERSION = "exml model", 6


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """All that predicting needs: a cascade, its labels, and the encodings of its columns, also by candidate.

    `hidden` says what rows that look hidden are called: "class" the hidden label, otherwise the best known one.
    """

    cascade: Cascade
    classes: NDArray[Any]
    hidden_label: Any
    hidden: str
    layout: Layout
    candidates: dict[str, Encodings]

    @classmethod
    def of(cls, model: BaseExMLClassifier) -> SavedModel:
        """Take what predicting needs from a fitted classifier."""
        known, widths = model.encodings_, model.widths_
        needed = {name: known.get(name) or _numbered(name, widths[name]) for name in model.cascade_.candidates}
        return cls(model.cascade_, model.classes_, model.hidden_label, model.hidden, model.layout_, needed)

    def decide(self, observed: Any, values: Mapping[str, Any]) -> Decisions:
        """Decide as `ExMLClassifier.decide`, from the observed columns and those of candidates."""
        table, encodings = read_raw(observed), self.layout.encodings
        if len(table.columns) != len(encodings):
            raise ValueError(f"the model was trained on {len(encodings)} observed columns, got {len(table.columns)}")
        return self.cascade.decide(encode(encodings, table), values, self.candidates)

    def count_unknown(self, observed: RawTable, values: Mapping[str, RawTable]) -> dict[str, int]:
        """Count cells by column that are no boolean or date, or a level that training did not have."""
        counts = count_unknown(self.layout.encodings, observed)
        for name, table in values.items():
            counts |= count_unknown(self.candidates[name], table)
        return counts

    def labels(self, decisions: Decisions, undecided: Any = None) -> NDArray[Any]:
        """Return labels of decided rows; `undecided` for rows that lack a value."""
        return decisions.labels(self.classes, self.hidden_label if self.hidden == "class" else None, undecided)

    def tabulate(self, decisions: Decisions) -> tuple[list[str], list[list[Any]]]:
        """Return headings and cells of the predictions; what is not known is None.

        Rows that lack a value have no prediction, but the best known label and probabilities by the observed columns.
        Rejection models have no probabilities.
        """
        names = ["prediction", "best_known_label"]
        best = self.classes.astype(object)[decisions.winner]
        best[decisions.winner < 0] = None
        parts = [self.labels(decisions).tolist(), best.tolist()]
        outputs = decisions.outputs
        if outputs.shape[1] > len(self.classes):
            labels = [*self.classes, self.hidden_label] if self.hidden != "never" else [*self.classes]
            shown = outputs if self.hidden != "never" else known_probabilities(outputs)
            names += [f"P({label})" for label in labels]
            parts += [[None if math.isnan(p) else round(p, 4) for p in column] for column in shown.T.tolist()]
        sentences = self.cascade.explain(decisions, self.classes, self.hidden_label, self.hidden)
        return [*names, "explanation"], [list(row) for row in zip(*parts, sentences, strict=True)]


def _numbered(name: str, width: int) -> Encodings:
    """Return encodings of plain numbers, for an oracle that does not know its columns."""
    names = (name,) if width == 1 else tuple(f"{name}{i}" for i in range(width))
    return tuple(ColumnEncoding(column, "number") for column in names)


_KINDS = {
    kind.__name__: kind
    for kind in (
        SavedModel,
        Cascade,
        Layer,
        Layout,
        ColumnEncoding,
        RejectionModel,
        Frame,
        LatentModel,
        ForestModel,
        KernelModel,
        MeanModel,
        StackedModel,
    )
}


def save(saved: SavedModel, path: Path) -> None:
    """Write the file; an existing one is not overwritten.

    Raises
    ------
    ValueError
        If a layer is a user's own estimator, which is no plain array.
    """
    arrays: dict[str, Any] = {}
    manifest = {"format": FORMAT, "version": VERSION, "model": pack(saved, arrays)}
    # The fastest level: numpy's own would take seconds for forests of many rows.
    with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in {"manifest": np.array(json.dumps(manifest)), **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def load(path: Path) -> SavedModel:
    """Read a file that `save` wrote.

    Raises
    ------
    ValueError
        If it is something else, or damaged.
    """
    with archives.open_archive(path, "a model that exml explore saved") as file:
        if "manifest" not in file:
            raise ValueError("it holds no manifest")
        manifest = json.loads(str(file["manifest"]))
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            raise ValueError(f"it is not of the format {FORMAT!r}, version {VERSION}")
        saved = unpack(manifest["model"], file)
        if not isinstance(saved, SavedModel) or saved.hidden not in ("class", "flag", "never"):
            raise ValueError("it holds no model")
        for encodings in (saved.layout.encodings, *saved.candidates.values()):
            for encoding in encodings:
                encoding.check()
        for layer in saved.cascade.layers:
            used = [saved.layout.encodings, *(saved.candidates[name] for name in layer.candidates)]
            width = sum(len(encoding.feature_names) for encodings in used for encoding in encodings)
            layer.model.check(width, len(saved.classes))
        return saved


def pack(value: Any, arrays: dict[str, Any]) -> Any:
    """Turn a tree of dataclasses into JSON values; numeric arrays are added to `arrays`."""
    if is_dataclass(value) and type(value).__name__ in _KINDS:
        return {"kind": type(value).__name__} | {f.name: pack(getattr(value, f.name), arrays) for f in fields(value)}
    if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.int64):
        arrays[name := f"array_{len(arrays)}"] = value
        return {"kind": "array", "name": name}
    if isinstance(value, np.ndarray):
        return {"kind": "labels", "values": value.tolist()}
    if isinstance(value, Mapping):
        return {"kind": "mapping", "items": [[key, pack(part, arrays)] for key, part in value.items()]}
    if isinstance(value, tuple | list):
        return [pack(part, arrays) for part in value]
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain
    raise ValueError(
        "only rejection, forest and kernel models are saved as plain arrays: pickle a classifier of your own"
    )


def unpack(value: Any, file: Mapping[str, Any]) -> Any:
    """Build the tree again from what `pack` wrote."""
    if isinstance(value, list):
        return tuple(unpack(part, file) for part in value)
    if not isinstance(value, dict):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"a number must be finite, got {value}")
        return value
    kind, content = value["kind"], {name: part for name, part in value.items() if name != "kind"}
    if kind == "array":
        array = file[content["name"]]
        if array.dtype != np.int64 and (array.dtype != np.float64 or not np.isfinite(array).all()):
            raise ValueError("an array must be finite numbers")
        return array
    if kind == "labels":
        return np.array(content["values"])
    if kind == "mapping":
        return {str(key): unpack(part, file) for key, part in content["items"]}
    if kind not in _KINDS:
        raise ValueError(f"it holds an unknown kind of object, {kind!r}")
    return _KINDS[kind](**{name: unpack(part, file) for name, part in content.items()})
