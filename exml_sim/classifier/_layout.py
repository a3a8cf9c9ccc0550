"""The columns of X: observed ones, and those of candidates if all are in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import (
    as_numbers,
    check_columns,
    check_matrix,
    check_size,
    column_names,
    numeric_column,
)

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
    """

    names: tuple[str, ...] | None
    width: int
    observed: tuple[int, ...]
    candidates: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, candidates: Mapping[str, Columns] | None = None) -> Layout:
        """Read the layout of a training table.

        Raises
        ------
        ValueError
            If a candidate's column is not there, has two roles, or leaves no observed column.
        """
        names, width = column_names(X), _table(X).shape[1]
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
        return cls(names, width, observed, taken)

    @property
    def observed_names(self) -> tuple[str, ...] | None:
        """Names of the observed columns; None if X has none."""
        return None if self.names is None else tuple(self.names[place] for place in self.observed)

    def split(self, X: Any) -> tuple[FloatArray, dict[str, FloatArray] | None]:
        """Return observed features, and values of the candidates (NaN where there is none), if they are in X.

        A table with names may lack all columns of a candidate: then it has no value in any row.
        """
        kept = self._kept(column_names(X))
        check_columns(None if self.names is None else tuple(self.names[at] for at in kept), column_names(X))
        table = _table(X)
        if len(kept) < self.width:
            whole = np.full((len(table), self.width), np.nan)
            whole[:, kept] = table
            table = whole
        if table.shape[1] != self.width:
            raise ValueError(f"X must have {self.width} columns as in fit, got {table.shape[1]}")
        seen = check_size(check_matrix(table[:, list(self.observed)], "X"), "X")
        if not self.candidates:
            return seen, None
        return seen, {name: table[:, list(places)] for name, places in self.candidates.items()}

    def _kept(self, names: tuple[str, ...] | None) -> list[int]:
        """Return places of all columns but those of candidates that the table lacks."""
        absent: set[int] = set()
        if self.names is not None and names is not None:
            for places in self.candidates.values():
                if not any(self.names[at] in names for at in places):
                    absent |= set(places)
        return [at for at in range(self.width) if at not in absent]


def _place(column: str | int, names: tuple[str, ...] | None, width: int, candidate: str) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            there = "X has no names of columns" if names is None else f"X has {', '.join(names)}"
            raise ValueError(f"candidate {candidate!r}: there is no column {column!r}; {there}")
        return names.index(column)
    if not 0 <= int(column) < width:
        raise ValueError(f"candidate {candidate!r}: there is no column {column} of {width}")
    return int(column)


def _table(X: Any) -> FloatArray:
    """Return X as numbers, NaN where a value is missing."""
    names = column_names(X)
    if names is None:
        table = as_numbers(X, "X")
    else:
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"X has more than one column {twice[0]!r}")
        table = np.column_stack([numeric_column(X[name], name) for name in names]) if names else np.zeros((0, 0))
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"X must be a matrix with at least one row and one column; got shape {table.shape}")
    return table
