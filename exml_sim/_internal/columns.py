"""Read columns of arrays and of pandas, polars and Arrow tables as numbers, days or texts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray
from exml_sim._internal.validation import column_names, shown


class CellError(ValueError):
    """A cell that a column cannot hold; `row` is its place from 0."""

    def __init__(self, row: int, text: str) -> None:
        self.row, self.text = row, text
        super().__init__(f"row {row}: {text}")


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of a column in one of three forms.

    Attributes
    ----------
    values
        Numbers (NaN if missing), days since 1970 as numbers, or texts (None if missing).
    kind
        "number", "date" or "text".
    levels
        Levels of a categorical column in their order; None if it is not categorical.
    ordered
        Whether the order of the levels has a meaning.
    """

    values: NDArray[Any]
    kind: str
    levels: tuple[str, ...] | None = None
    ordered: bool = False

    @property
    def missing(self) -> BoolArray:
        """Which cells are missing."""
        if self.kind == "text":
            return np.array([cell is None for cell in self.values], dtype=np.bool_)
        return np.asarray(np.isnan(self.values), dtype=np.bool_)

    def take(self, rows: Any) -> Cells:
        """Return some of the rows."""
        return Cells(self.values[rows], self.kind, self.levels, self.ordered)

    @property
    def texts(self) -> NDArray[Any]:
        """Names of levels, None where missing."""
        if self.kind == "text":
            return self.values
        texts = np.empty(len(self.values), dtype=object)
        texts[:] = [None if cell != cell else write_level(cell) for cell in self.values.tolist()]
        return texts


def read_cells(column: Any, name: str) -> Cells:
    """Read one column of an array, or of a pandas, polars or Arrow table."""
    if isinstance(column, Cells):
        return column
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
        levels = tuple(write_level(level) for level in dtype.categories)
        return Cells(_read_objects(np.asarray(column, dtype=object), name, True).values, "text", levels, dtype.ordered)
    try:
        raw = np.asarray(column)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} must hold one value per row, got {type(column).__name__}") from None
    if raw.dtype.kind == "M":
        return Cells(_count_days(raw), "date")
    if raw.dtype.kind == "b":
        return _read_objects(raw.astype(object), name)
    if raw.dtype.kind in "iuf":
        return Cells(np.asarray(raw, dtype=np.float64), "number")
    return _read_objects(raw.astype(object), name)


def _read_objects(cells: NDArray[Any], name: str, as_text: bool = False) -> Cells:
    values = [None if _is_missing(cell) else cell for cell in cells.tolist()]
    given = [cell for cell in values if cell is not None]
    if not as_text and all(isinstance(cell, dt.date) for cell in given) and given:
        moments = [None if cell is None else cell.isoformat()[:19] for cell in values]
        return Cells(_count_days(np.array(moments, dtype="datetime64[s]")), "date")
    is_plain = [isinstance(cell, str | bool | np.bool_) for cell in given]
    if not as_text and not any(is_plain):
        try:
            return Cells(np.array([np.nan if cell is None else float(cell) for cell in values]), "number")
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"column {name!r} must be real numbers, texts or dates, got {shown(given[0])}") from None
    if not as_text and not all(is_plain):
        row = next(i for i, cell in enumerate(values) if cell is not None and not isinstance(cell, str | bool))
        raise CellError(
            row, f"column {name!r} must hold all texts or all numbers, got {shown(values[row])} among texts"
        )
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if cell is None else write_level(cell) for cell in values]
    return Cells(texts, "text")


def _is_missing(cell: Any) -> bool:
    is_nan = isinstance(cell, float | np.floating) and cell != cell
    return cell is None or is_nan or type(cell).__name__ in ("NAType", "NaTType")


def write_level(cell: Any) -> str:
    """Write a cell as the name of a level; 3.0 and 3 are the same level."""
    if isinstance(cell, int | float | np.number) and not isinstance(cell, bool) and float(cell).is_integer():
        return str(int(float(cell)))
    return str(cell).strip()


def _count_days(moments: NDArray[Any]) -> FloatArray:
    seconds = moments.astype("datetime64[s]")
    days = seconds.astype(np.int64) / 86400.0
    return np.asarray(np.where(np.isnat(seconds), np.nan, days), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """Columns of equal length before they are encoded.

    Attributes
    ----------
    columns
        Names; numbered if the table has none.
    cells
        One entry per column.
    is_named
        Whether the names were given.
    """

    columns: tuple[str, ...]
    cells: tuple[Cells, ...]
    is_named: bool = True

    def __len__(self) -> int:
        return len(self.cells[0].values)

    def __getitem__(self, name: str) -> Cells:
        return self.cells[self.columns.index(name)]

    def take(self, places: Sequence[int]) -> RawTable:
        """Return some of the columns."""
        return RawTable(tuple(self.columns[at] for at in places), tuple(self.cells[at] for at in places), self.is_named)

    def take_rows(self, rows: Any) -> RawTable:
        """Return some of the rows."""
        return RawTable(self.columns, tuple(cells.take(rows) for cells in self.cells), self.is_named)

    def clear_rows(self, rows: BoolArray) -> RawTable:
        """Return the table with all cells of the rows missing."""
        cleared = []
        for cells in self.cells:
            values = cells.values.copy()
            values[rows] = None if cells.kind == "text" else np.nan
            cleared.append(Cells(values, cells.kind, cells.levels, cells.ordered))
        return RawTable(self.columns, tuple(cleared), self.is_named)

    @property
    def missing(self) -> BoolArray:
        """Which cells are missing, shape (rows, columns)."""
        return np.column_stack([cells.missing for cells in self.cells])


def read_raw(values: Any, what: str = "X") -> RawTable:
    """Read a matrix, a single column or a table with names.

    Parameters
    ----------
    values : array-like or table
    what : str
        Name of the table in messages.

    Raises
    ------
    ValueError
        If it has no rows or columns, a name twice, or cells that are no numbers, texts or dates.
    """
    if isinstance(values, RawTable):
        return values
    names = column_names(values)
    if names is not None:
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{what} has more than one column {twice[0]!r}")
        cells = tuple(read_cells(values[name], name) for name in names)
    else:
        try:
            array = np.asarray(values)
        except (TypeError, ValueError):
            array = np.empty(())
        array = array[:, None] if array.ndim == 1 else array
        if array.dtype.kind == "c":
            raise ValueError(f"{what} must be real numbers, texts or dates; got complex numbers")
        if array.ndim != 2 or 0 in array.shape:
            shape = "at least one row and one column"
            raise ValueError(f"{what} must be a matrix with {shape}; got {shown(np.shape(array))}")
        names = tuple(f"column {i}" for i in range(array.shape[1]))
        cells = tuple(read_cells(column, name) for name, column in zip(names, array.T, strict=True))
        return RawTable(names, cells, False)
    if not cells or not len(cells[0].values):
        raise ValueError(f"{what} must be a matrix with at least one row and one column; got none")
    return RawTable(names, cells)
