"""The columns of X: observed ones, and those of candidates if all are in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.columns import Cells, RawTable, read_raw
from exml_sim._internal.encoding import Encodings, encode, fit_encodings

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
        taken: dict[str, tuple[int, ...]] = {}
        for candidate, columns in (candidates or {}).items():
            several = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
            taken[candidate] = tuple(_place(column, names, width, candidate) for column in several)
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

        Columns with names may be in any order. A table with names may lack all columns of a candidate, which then has
        no values.
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
        extra = [name for name in table.columns if name not in self.names]
        if lacking or extra:
            what = f"{', '.join(map(repr, lacking))} missing" if lacking else f"{extra[0]!r} is unknown"
            raise ValueError(f"the columns of X are not those of the training table: {what}")
        blank = Cells(np.full(len(table), np.nan), "number")
        return RawTable(self.names, tuple(blank if name in absent else table[name] for name in self.names))


def _place(column: str | int, names: tuple[str, ...] | None, width: int, candidate: str) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            there = "X has no names of columns" if names is None else f"X has {', '.join(names)}"
            raise ValueError(f"candidate {candidate!r}: there is no column {column!r}; {there}")
        return names.index(column)
    if not 0 <= int(column) < width:
        raise ValueError(f"candidate {candidate!r}: there is no column {column} of {width}")
    return int(column)
