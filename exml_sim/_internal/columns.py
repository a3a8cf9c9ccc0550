"""Read columns of arrays and tables (pandas, polars, Arrow) and encode them as numbers by a fitted encoding.

The encoding is stored with the model. A kernel standardises every column, and a forest splits at thresholds. So a
category becomes one column of zeros and ones per frequent level. Rare levels share a column, because a standardised
column that is nearly constant has huge values. Further columns would only dilute distances, so a category with many
levels gets one column more: the logarithm of the number of rows of its level (frequency encoding). Labels are not used,
so out-of-fold predictions stay honest. Numbers stay as they are, bit by bit.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray
from exml_sim._internal.validation import LARGEST_NUMBER, column_names, shown


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
    values = [None if is_missing(cell) else cell for cell in cells.tolist()]
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


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, NA or NaT."""
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


#: Levels with a column of their own, and the fraction of rows that such a level needs. Chosen by reasoning: a level of
#: 2 % of the rows has a standardised value of 7, and 12 columns weigh as much as 12 measurements.
MAX_LEVELS, MIN_LEVEL_FRACTION = 12, 0.02
#: Texts of which more than half of the rows have a different one are free text, from this number of levels.
MIN_FREE_TEXTS = 13
#: A text column with this fraction of numbers (or dates) holds numbers (or dates), and the other cells are errors.
MIN_TYPICAL_FRACTION = 0.5

COLUMN_TYPES = ("number", "boolean", "date", "pair", "order", "category")
#: End of messages about a cell that cannot be read.
LEAVE_BLANK = "; leave it blank if the value is unknown"
#: End of the name of the column of missing cells.
MISSING = " is missing"
TRUE, FALSE = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_ISO = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?")
_SLASHES = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})(?: (\d\d?):(\d\d)(?::(\d\d))?)?")
_DOTS = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})(?: (\d\d?):(\d\d)(?::(\d\d))?)?")
#: Dates of other formats, such as 13/04/24 10:30, and no codes such as 1.2.34 or 12-34-56.
_OTHER_DATE = re.compile(
    r"(?:\d{4}([./-])\d\d?\1\d\d?|\d\d?([./-])\d\d?\2\d{4}|\d\d?/\d\d?/\d\d)(?:[T ,]+\d\d?:\d\d.*)?"
    r"|\d\d?([.-])\d\d?\3\d\d[T ,]+\d\d?:\d\d.*"
)
#: Column types whose missing cells have a value that does not depend on the cells of other rows.
_FIXED_FILLS = ("category", "pair")
#: Parts of a date, as functions of days since 1970.
_DATE_PARTS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "day": lambda days: days,
    "day of year": lambda days: _day_of_year(days),
    "weekday": lambda days: np.mod(np.floor(days) + 3.0, 7.0),
    "hour": lambda days: np.mod(days, 1.0) * 24.0,
}


def _day_of_year(days: FloatArray) -> FloatArray:
    known = np.where(np.isnan(days), 0.0, np.floor(days)).astype(np.int64).astype("datetime64[D]")
    in_year = (known - known.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.float64) + 1.0
    return np.asarray(np.where(np.isnan(days), np.nan, in_year))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnEncoding:
    """How one column becomes numbers.

    Attributes
    ----------
    name
        Name of the column.
    column_type
        "number", "boolean", "date", "pair" (two levels), "order" (levels in an order) or "category".
    levels
        Levels with a column of their own, or in their order; parts of a date.
    counts
        Rows of every level of a category with more levels than columns; empty if it has none.
    fill
        What stands for a missing number.
    has_missing
        Whether cells were missing in training, which then have a column.
    day_first
        Whether dates like 3/4/2025 start with the day.
    """

    name: str
    column_type: str
    levels: tuple[str, ...] = ()
    counts: Mapping[str, int] | None = None
    fill: float = 0.0
    has_missing: bool = False
    day_first: bool = True

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        names: tuple[str, ...] = (self.name,)
        if self.column_type == "category":
            names = tuple(f"{self.name}={level}" for level in self.levels)
            names += (f"{self.name}=other", f"rows of {self.name}") if self.counts else ()
        elif self.column_type == "date":
            names = tuple(f"{part} of {self.name}" for part in self.levels)
        return (*names, f"{self.name}{MISSING}") if self.has_missing else names

    @property
    def is_number(self) -> bool:
        """Whether the column is unchanged."""
        return self.column_type == "number" and not self.has_missing

    def check(self) -> None:
        """Raise an error for an encoding that no training wrote."""
        is_text = isinstance(self.name, str) and all(isinstance(level, str) for level in self.levels)
        counts = list((self.counts or {}).values())
        is_count = all(isinstance(n, int) and n >= 0 for n in counts)
        is_date = self.column_type != "date" or set(self.levels) <= set(_DATE_PARTS)
        if self.column_type not in COLUMN_TYPES or not (is_text and is_count and is_date):
            raise ValueError("an encoding of a column is damaged")

    def encode(self, column: Any) -> FloatArray:
        """Encode cells, shape (rows, columns); unknown levels have zeros, missing numbers `fill`.

        Unknown booleans and dates count as missing. A text among numbers does not: unlike a new answer to a question,
        it is most likely a sign of a damaged file or of shifted columns, whose other numbers would be wrong, too.

        Raises
        ------
        CellError
            If a cell is no number where the column holds numbers.
        """
        cells = read_cells(column, self.name)
        if self.column_type == "category":
            texts, missing = cells.texts, cells.missing
            place = {level: at for at, level in enumerate(self.levels)}
            codes = np.array([place.get(text, -1) for text in texts], dtype=np.int64)
            parts = [(codes == at).astype(np.float64) for at in range(len(self.levels))]
            if self.counts:
                counts = np.array([self.counts.get(text, 0) for text in texts])
                parts += [((counts > 0) & (codes < 0)).astype(np.float64), np.log1p(counts)]
        else:
            numbers = self._convert(cells)
            missing = np.isnan(numbers)
            if self.column_type == "date":
                filled = np.where(missing, self.fill, numbers)
                parts = [_DATE_PARTS[part](filled) for part in self.levels]
            else:
                parts = [np.where(missing, self.fill, numbers)]
        return np.column_stack([*parts, missing.astype(np.float64)] if self.has_missing else parts)

    def find_unknown(self, column: Any) -> BoolArray:
        """Find cells that are no boolean or date of the column, or have a level that training did not have."""
        cells = read_cells(column, self.name)
        if self.column_type in ("boolean", "date"):
            return np.asarray(np.isnan(self._convert(cells)) & ~cells.missing, dtype=np.bool_)
        if self.column_type == "number":
            return np.zeros(len(cells.values), dtype=np.bool_)
        known = {None, *(self.counts or self.levels)}
        return np.array([text not in known for text in cells.texts], dtype=np.bool_)

    def check_known(self, column: Any) -> None:
        """Raise a CellError for the first unknown cell."""
        cells = read_cells(column, self.name)
        for row in np.flatnonzero(self.find_unknown(cells))[:1]:
            levels = f"one of the levels {', '.join(map(repr, self.counts or self.levels))}"
            what = {"boolean": "true or false", "date": "a date"}.get(self.column_type, levels)
            raise self._make_error(int(row), what, cells.texts[row])

    def _make_error(self, row: int, what: str, text: str) -> CellError:
        is_large = what == "a number" and np.isfinite(parse_number(text) or np.nan)
        hint = f" (at most {LARGEST_NUMBER:g} in size)" if is_large else LEAVE_BLANK
        hint = "; write a decimal point, not a comma" if _DECIMAL_COMMA.fullmatch(text) else hint
        return CellError(row, f"column {self.name!r} must be {what}, got {shown(text)}{hint}")

    def _convert(self, cells: Cells) -> FloatArray:
        """Return one number per cell, NaN where it is missing, or no boolean or date."""
        if self.column_type == "number" and cells.kind == "number":
            return np.asarray(_check_size(cells.values, self.name), dtype=np.float64)
        if self.column_type == "date" and cells.kind == "date":
            return np.asarray(cells.values, dtype=np.float64)
        place = {level: float(at) for at, level in enumerate(self.levels)}
        convert: Callable[[str], float | None] = {
            "number": parse_number,
            "boolean": _parse_boolean,
            "date": lambda text: _parse_date(text, self.day_first),
        }.get(self.column_type, lambda text: place.get(text, self.fill))
        numbers = np.full(len(cells.values), np.nan)
        for row, text in enumerate(cells.texts):
            number = np.nan if text is None else convert(text)
            is_bad = number is None or (text is not None and not abs(number) <= LARGEST_NUMBER)
            if is_bad and self.column_type == "number":
                raise self._make_error(row, "a number", text)
            numbers[row] = np.nan if number is None else number
        return numbers


#: Encodings of the columns of a table, in order.
Encodings = tuple[ColumnEncoding, ...]


def _check_size(values: NDArray[Any], name: str) -> NDArray[Any]:
    bad = np.flatnonzero(np.abs(values) > LARGEST_NUMBER)
    if bad.size:
        what = f"must be a number of at most {LARGEST_NUMBER:g} in size"
        raise CellError(int(bad[0]), f"column {name!r} {what}, got {float(values[bad[0]])!r}")
    return values


def parse_number(cell: str) -> float | None:
    """Convert a text to a number, None if it is none; 1_000 is one in Python only, and may be a name in a table."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _parse_boolean(cell: str) -> float | None:
    word = cell.lower()
    return 1.0 if word in (*TRUE, "1") else 0.0 if word in (*FALSE, "0") else None


def _parse_date(cell: str, day_first: bool) -> float | None:
    """Return days since 1970 of an ISO date, 31.12.2025, or 12/31/2025; None if it is no date."""
    if match := _ISO.fullmatch(cell):
        year, month, day, *time = match.groups()
    elif match := _DOTS.fullmatch(cell):
        day, month, year, *time = match.groups()
    elif match := _SLASHES.fullmatch(cell):
        day, month, year, *time = match.groups()
        day, month = (day, month) if day_first else (month, day)
    else:
        return None
    try:
        hour, minute, second = (int(part or 0) for part in time)
        moment = dt.datetime(int(year), int(month), int(day), hour, minute, second)
    except ValueError:
        return None
    return (moment - dt.datetime(1970, 1, 1)).total_seconds() / 86400.0


def count_unknown(encodings: Encodings, table: RawTable) -> dict[str, int]:
    """Count unknown cells by column (`ColumnEncoding.find_unknown`); columns without any are left out."""
    pairs = zip(encodings, table.cells, strict=True)
    counts = {encoding.name: int(encoding.find_unknown(cells).sum()) for encoding, cells in pairs}
    return {name: count for name, count in counts.items() if count}


def fit_column(name: str, column: Any) -> ColumnEncoding:
    """Choose how a column becomes numbers from its cells; labels are not used.

    Parameters
    ----------
    name : str
    column : array-like or Cells

    Raises
    ------
    ValueError
        For free text, ambiguous dates, and a cell that is no number (or date) where most cells are.
    """
    cells = read_cells(column, name)
    if len(cells.values) and cells.missing.all():
        raise ValueError(f"column {name!r} has no value in any row: leave it out")
    if cells.levels is not None and cells.ordered and len(cells.levels) > 1:
        order = ColumnEncoding(name, "order", cells.levels)
        return _fit_fill(order, order._convert(cells))
    if cells.kind == "text":
        given = [text for text in cells.values if text is not None]
        kind, day_first = ("category", True) if cells.levels is not None else _guess_kind(name, given)
        if kind == "category":
            return _fit_levels(name, given, len(given) < len(cells.values), cells.levels is not None)
        encoding = ColumnEncoding(name, kind, day_first=day_first)
        if kind != "date":
            return _fit_fill(encoding, encoding._convert(cells))
        encoding.check_known(cells)
        cells = Cells(encoding._convert(cells), "date")
        return _fit_date(encoding, cells.values)
    if cells.kind == "date":
        return _fit_date(ColumnEncoding(name, "date"), cells.values)
    return _fit_fill(ColumnEncoding(name, "number"), _check_size(cells.values, name))


def _fit_fill(encoding: ColumnEncoding, numbers: FloatArray) -> ColumnEncoding:
    """Add the median, and whether cells are missing."""
    missing = np.isnan(numbers)
    return replace(encoding, fill=_median(numbers[~missing]), has_missing=bool(missing.any()))


def _median(numbers: FloatArray) -> float:
    return float(np.median(numbers)) if len(numbers) else 0.0


def _fit_date(encoding: ColumnEncoding, days: FloatArray) -> ColumnEncoding:
    """Keep the parts of a date that differ between rows."""
    known = days[~np.isnan(days)]
    varying = tuple(part for part, of in _DATE_PARTS.items() if len(known) and np.ptp(of(known)) > 0.0)
    return replace(_fit_fill(encoding, days), levels=varying or ("day",))


def _guess_kind(name: str, given: Sequence[str]) -> tuple[str, bool]:
    """Return the kind of a text column, and whether its dates start with the day."""
    distinct = Counter(given)
    total = max(len(given), 1)
    numeric = sum(n for text, n in distinct.items() if parse_number(text) is not None or _DECIMAL_COMMA.fullmatch(text))
    if numeric and numeric >= MIN_TYPICAL_FRACTION * total:
        return "number", True
    if distinct and all(text.lower() in (*TRUE, *FALSE) for text in distinct):
        return "boolean", True
    dates = sum(n for text, n in distinct.items() if _ISO.fullmatch(text) or _DOTS.fullmatch(text))
    slashes = {text: _SLASHES.fullmatch(text) for text in distinct}
    matches = [match for match in slashes.values() if match]
    dates += sum(distinct[text] for text, match in slashes.items() if match)
    if not dates or dates < MIN_TYPICAL_FRACTION * total:
        others = [text for text in distinct if _OTHER_DATE.fullmatch(text) and _parse_date(text, True) is None]
        if others and dates + sum(distinct[text] for text in others) >= MIN_TYPICAL_FRACTION * total:
            raise ValueError(
                f"column {name!r} has dates of an unknown or ambiguous format, like {others[0]!r}: "
                "write 2025-12-31 or 2025-12-31 23:59; or declare --categories (in Python a pandas category)"
            )
        return "category", True
    day_first = any(int(match[1]) > 12 for match in matches)
    if matches and day_first == any(int(match[2]) > 12 for match in matches):
        reason = "both occur" if day_first else "either is possible"
        raise ValueError(
            f"column {name!r} has dates like {matches[0][0]!r}, day/month or month/day: {reason}; write 2025-12-31"
        )
    return "date", day_first or not matches


def _fit_levels(name: str, given: Sequence[str], has_missing: bool, is_declared: bool) -> ColumnEncoding:
    """Give frequent levels a column each; two levels share a single one."""
    counts = Counter(given)
    if not is_declared and len(counts) >= MIN_FREE_TEXTS and len(counts) > len(given) / 2:
        raise ValueError(
            f"column {name!r} has {len(counts)} different texts in {len(given)} rows: free text has no levels to learn "
            "from; leave it out, or replace it by a few categories"
        )
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    if len(ranked) == 2:
        return ColumnEncoding(name, "pair", tuple(sorted(ranked)), fill=0.5, has_missing=has_missing)
    frequent = [level for level in ranked[:MAX_LEVELS] if counts[level] >= MIN_LEVEL_FRACTION * len(given)]
    known = {level: counts[level] for level in sorted(counts)} if len(frequent) < len(ranked) else None
    return ColumnEncoding(name, "category", tuple(sorted(frequent)), known, has_missing=has_missing)


def fit_encodings(table: RawTable) -> Encodings:
    """Fit the encodings of all columns of a table."""
    return tuple(fit_column(name, cells) for name, cells in zip(table.columns, table.cells, strict=True))


def encode(encodings: Sequence[ColumnEncoding], table: RawTable) -> FloatArray:
    """Encode the columns of a table beside each other, shape (rows, encoded columns), column after column in memory."""
    parts = [encoding.encode(cells) for encoding, cells in zip(encodings, table.cells, strict=True)]
    return np.asfortranarray(np.hstack(parts))


def fit_fills(encodings: Sequence[ColumnEncoding], table: FloatArray) -> Encodings:
    """Fit what stands for missing numbers to encoded rows: medians of their present cells, 0 without any."""
    fitted = []
    for encoding, block in zip(encodings, _split_columns(encodings, table), strict=True):
        present = block[block[:, -1] == 0.0] if encoding.has_missing else block
        has_fill = encoding.column_type not in _FIXED_FILLS
        fitted.append(replace(encoding, fill=_median(present[:, 0])) if has_fill else encoding)
    return tuple(fitted)


def fill_missing(encodings: Sequence[ColumnEncoding], table: FloatArray) -> FloatArray:
    """Return encoded rows with the fills of other encodings of the same columns in their missing cells."""
    filled = table.copy()
    for encoding, block in zip(encodings, _split_columns(encodings, filled), strict=True):
        if encoding.has_missing and encoding.column_type not in _FIXED_FILLS:
            days, is_date = np.array([encoding.fill]), encoding.column_type == "date"
            cells = [_DATE_PARTS[part](days)[0] for part in encoding.levels] if is_date else [encoding.fill]
            block[block[:, -1] == 1.0, :-1] = cells
    return filled


def _split_columns(encodings: Sequence[ColumnEncoding], table: FloatArray) -> list[FloatArray]:
    """Return views of the encoded columns, column by column."""
    ends = np.cumsum([len(encoding.feature_names) for encoding in encodings])
    return np.split(table, ends[:-1], axis=1)


def describe_encodings(encodings: Sequence[ColumnEncoding]) -> str:
    """Describe in one line how columns that are no plain numbers were encoded; empty if all are."""
    return "; ".join(_describe(encoding) for encoding in encodings if not encoding.is_number)


def _describe(encoding: ColumnEncoding) -> str:
    if encoding.column_type == "category":
        what = f"{len(encoding.counts or encoding.levels)} levels in {len(encoding.feature_names)} columns"
    elif encoding.column_type == "date":
        what = f"date as {', '.join(encoding.levels)}"
    else:
        ends = f"{encoding.levels[0]} to {encoding.levels[-1]}" if encoding.levels else ""
        what = {
            "number": f"median {encoding.fill:g}",
            "boolean": "true 1, false 0",
            "order": f"order from {ends}",
            "pair": f"0 to 1 for {ends}",
        }[encoding.column_type]
    return f"{encoding.name}: {what}{', missing cells have a column' if encoding.has_missing else ''}"
