"""Tables of people: CSV (plain or .gz) and Parquet are read once, every complaint one line; ours are written here."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import FloatArray
from exml_sim.validation import LARGEST_NUMBER, counted

#: Cells that mean "not measured" (compared in lower case).
BLANK = frozenset({"", "na", "nan", "n/a", "null", "none"})

#: Separators that are found without being told.
SEPARATORS = ",;\t|"

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Cells of a file as text.

    Attributes
    ----------
    path
        Where it came from.
    header
        Names of the columns.
    cells
        One list per row.
    lines
        Line of the file on which each row ends; of a Parquet file, the number of the row, from 1.
    blank
        Cells that mean "not measured", in lower case.
    unit
        What `lines` counts: "line" or "row".
    """

    path: Path
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    blank: frozenset[str] = BLANK
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.cells)

    def text(self, column: str) -> NDArray[np.str_]:
        """One column as text without blanks."""
        place = self._place(column)
        for row, line in zip(self.cells, self.lines, strict=True):
            if row[place].strip().lower() in self.blank:
                raise ValueError(self._blank(row[place].strip(), column, line))
        return np.array([row[place].strip() for row in self.cells])

    def raw(self, column: str) -> list[str]:
        """One column as it stands in the file."""
        place = self._place(column)
        return [row[place] for row in self.cells]

    def numbers(self, columns: Sequence[str], *, blanks: bool = False) -> FloatArray:
        """Some columns as numbers, shape (rows, columns); blanks, where allowed, become NaN."""
        places = [self._place(column) for column in columns]
        out = np.empty((len(self.cells), len(places)))
        for j, (column, place) in enumerate(zip(columns, places, strict=True)):
            cells = [row[place] for row in self.cells]
            known = self._plain_numbers(cells)
            out[:, j] = known if known is not None else self._one_by_one(cells, column, blanks)
        return out

    def _plain_numbers(self, cells: Sequence[str]) -> FloatArray | None:
        """A column of finite numbers at once; None if a cell may be anything else."""
        if any(_is_number(word) for word in self.blank):
            return None
        # What `as_number` does, without a call for every cell of a large table.
        if "_" in "".join(cells):
            return None
        try:
            found = np.array(list(map(float, cells)))
        except ValueError:
            return None
        return found if (np.abs(found) <= LARGEST_NUMBER).all() else None

    def _one_by_one(self, cells: Sequence[str], column: str, blanks: bool) -> list[float]:
        numbered = zip(cells, self.lines, strict=True)
        return [self.number(cell.strip(), column, line, blanks) for cell, line in numbered]

    def has(self, column: str) -> bool:
        """Whether there is such a column."""
        return column in self.header

    def is_blank(self, cell: str) -> bool:
        """Whether a cell means "not measured"."""
        return cell.strip().lower() in self.blank

    def number(self, cell: str, column: str, line: int, blanks: bool = False) -> float:
        """One cell as a finite number; NaN for a blank one, where it is allowed."""
        if self.is_blank(cell):
            if blanks:
                return float("nan")
            raise ValueError(self._blank(cell, column, line))
        try:
            value = as_number(cell)
        except ValueError:
            value = float("inf")
        if not abs(value) <= LARGEST_NUMBER:
            hint = "; write a decimal point, not a comma" if _DECIMAL_COMMA.fullmatch(cell.strip()) else ""
            hint = f" (at most {LARGEST_NUMBER:g} in size)" if np.isfinite(value) else hint
            raise ValueError(f"{self.path}, {self.unit} {line}: column {column!r} must be a number, got {cell!r}{hint}")
        return value

    def _place(self, column: str) -> int:
        if column not in self.header:
            near = difflib.get_close_matches(column, self.header, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            if len(self.header) == 1:
                hint = "; is another character between the columns? --delimiter says which"
            raise ValueError(f"{self.path} has no column {column!r}: it has {', '.join(map(repr, self.header))}{hint}")
        return self.header.index(column)

    def _blank(self, cell: str, column: str, line: int) -> str:
        hint = f"; if {cell!r} is a value, say with --blank what is blank" if cell else ""
        return f"{self.path}, {self.unit} {line}: column {column!r} is blank, but it must be known everywhere{hint}"


def as_number(cell: str) -> float:
    """A cell as a number; 1_000 is one in Python only, and may be a name in a table."""
    if "_" in cell:
        raise ValueError
    return float(cell)


def _is_number(word: str) -> bool:
    """Whether a word is a finite number."""
    try:
        return bool(np.isfinite(as_number(word)))
    except ValueError:
        return False


def blank_words(text: str | None) -> frozenset[str]:
    """Words that mean "not measured", from a list like ``NA,-``; an empty cell always does."""
    return BLANK if text is None else frozenset({"", *(word.strip().lower() for word in text.split(","))})


def read_table(
    path: Path, *, encoding: str = "utf-8", delimiter: str | None = None, blank: frozenset[str] = BLANK
) -> Table:
    """Read a table with a header: Parquet by its name, otherwise CSV, which may be compressed (.gz).

    Parameters
    ----------
    encoding
        Of a CSV file.
    delimiter
        Of a CSV file; by default the comma, semicolon, tab or bar that the header has most of.
    blank
        Cells that mean "not measured", in lower case.

    Raises
    ------
    ValueError
        If the file cannot be read, has no rows, repeats a column name, or has a row of another length.
    """
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(path, blank)
    try:
        rows = _lines(path, encoding, delimiter)
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read {path}: {_not_this(error, encoding)}") from None
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"cannot read {path}: it is no complete .gz file") from None
    except (OSError, csv.Error) as error:
        raise ValueError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has no rows: a header and at least one row are needed")
    header = _checked_header(path, tuple(name.strip() for name in rows[0][0]))
    for row, line in rows[1:]:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: {counted(len(row), 'cell')}, but the header has {len(header)}")
    return Table(path, header, tuple(row for row, _ in rows[1:]), tuple(line for _, line in rows[1:]), blank)


def _lines(path: Path, encoding: str, delimiter: str | None) -> list[tuple[tuple[str, ...], int]]:
    """Cells of every line that is not empty, with the number of the line."""
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", newline="", encoding=name) as file:
        text = file.read()
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count) if delimiter is None else delimiter.replace("\\t", "\t")
    if len(separator) != 1:
        raise ValueError(f"a delimiter is one character, like ';' or '\\t'; got {delimiter!r}")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return [(tuple(row), reader.line_num) for row in reader if row]


def _not_this(error: UnicodeDecodeError, encoding: str) -> str:
    """Text in another encoding, or no text at all."""
    data = error.object
    if b"\x00" in data or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return "it is not text" if b"\x00" in data else f"it is not in {encoding}"
    line = data[: error.start].count(b"\n") + 1
    return f"line {line} is not in UTF-8; if it was written by a spreadsheet, try --encoding latin-1 (or cp1252)"


def _checked_header(path: Path, header: tuple[str, ...]) -> tuple[str, ...]:
    for name in header:
        if header.count(name) > 1:
            raise ValueError(f"{path} has more than one column {name!r}")
    return header


def _parquet(path: Path, blank: frozenset[str]) -> Table:
    """A Parquet file, its cells as text; numbers keep all their digits."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError(f"cannot read {path}: Parquet files need the package pyarrow") from None
    try:
        with ParquetFile(path) as file:
            found = file.read()
    except (OSError, ArrowException) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ValueError(f"cannot read {path}: {reason}") from None
    header = _checked_header(path, tuple(found.column_names))
    if not found.num_rows or not header:
        raise ValueError(f"{path} has no rows: a header and at least one row are needed")
    columns = [[_cell(value) for value in column.to_pylist()] for column in found.columns]
    cells = tuple(zip(*columns, strict=True))
    return Table(path, header, cells, tuple(range(1, len(cells) + 1)), blank, "row")


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write_whole(path: Path, text: str | bytes) -> None:
    """Put a file in its place in one step: a reader, or a run after a crash, sees all of it or the one before."""
    aside = path.with_name(f".{path.name}.part")
    with aside.open("wb") as file:
        file.write(text.encode("utf-8") if isinstance(text, str) else text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
