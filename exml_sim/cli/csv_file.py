"""CSV files: a user's is read once, every complaint one line with file, line and column; ours are written here."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import FloatArray

#: Cells that mean "not measured" (compared in lower case).
BLANK = frozenset({"", "na", "nan", "n/a", "null", "none"})


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Cells of a CSV file as text.

    Attributes
    ----------
    path
        Where it came from.
    header
        Names of the columns.
    cells
        One list per row.
    lines
        Line of the file on which each row ends.
    """

    path: Path
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def text(self, column: str) -> NDArray[np.str_]:
        """One column as text without blanks."""
        place = self._place(column)
        for row, line in zip(self.cells, self.lines, strict=True):
            if row[place].strip().lower() in BLANK:
                raise ValueError(
                    f"{self.path}, line {line}: column {column!r} is blank, but it must be known everywhere"
                )
        return np.array([row[place].strip() for row in self.cells])

    def numbers(self, columns: Sequence[str], *, blanks: bool = False) -> FloatArray:
        """Some columns as numbers, shape (rows, columns); blanks, where allowed, become NaN."""
        places = [self._place(column) for column in columns]
        out = np.empty((len(self.cells), len(places)))
        for i, (row, line) in enumerate(zip(self.cells, self.lines, strict=True)):
            for j, place in enumerate(places):
                out[i, j] = self._number(row[place].strip(), columns[j], line, blanks)
        return out

    def has(self, column: str) -> bool:
        """Whether there is such a column."""
        return column in self.header

    def _place(self, column: str) -> int:
        if column not in self.header:
            near = difflib.get_close_matches(column, self.header, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{self.path} has no column {column!r}: it has {', '.join(map(repr, self.header))}{hint}")
        return self.header.index(column)

    def _number(self, cell: str, column: str, line: int, blanks: bool) -> float:
        if cell.lower() in BLANK:
            if blanks:
                return float("nan")
            raise ValueError(f"{self.path}, line {line}: column {column!r} is blank, but it must be known everywhere")
        try:
            value = float(cell)
        except ValueError:
            value = float("inf")
        if not np.isfinite(value):
            raise ValueError(f"{self.path}, line {line}: column {column!r} must be a number, got {cell!r}")
        return value


def read_table(path: Path) -> Table:
    """Read a CSV file with a header; the separator is the comma, semicolon or tab that the header has most of.

    Raises
    ------
    ValueError
        If the file cannot be read, has no rows, repeats a column name, or has a row of another length.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            separator = max(",;\t", key=first.count)
            file.seek(0)
            reader = csv.reader(file, delimiter=separator, strict=True)
            rows = [(tuple(row), reader.line_num) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or ("it is not text" if isinstance(error, UnicodeError) else error)
        raise ValueError(f"cannot read {path}: {reason}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has no rows: a header and at least one row are needed")
    header = tuple(name.strip() for name in rows[0][0])
    for name in header:
        if header.count(name) > 1:
            raise ValueError(f"{path} has more than one column {name!r}")
    for row, line in rows[1:]:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: {len(row)} cells, but the header has {len(header)}")
    return Table(path, header, tuple(row for row, _ in rows[1:]), tuple(line for _, line in rows[1:]))


def as_csv(header: list[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
