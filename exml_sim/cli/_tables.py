"""Read user tables (CSV, gzip, Parquet) with one-line errors, assign roles to columns, and write CSV files."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal import archives
from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.columns import CellError, Cells, RawTable, parse_number
from exml_sim._internal.spreadsheets import restore
from exml_sim._internal.validation import LARGEST_NUMBER, counted
from exml_sim.money import CandidateCost, exact_cost

#: Cells that mean "not measured" (compared in lower case).
NA_VALUES = frozenset({"", "na", "nan", "n/a", "null", "none"})

#: Largest Parquet table: a few bytes can stand for any number of equal cells.
MAX_CELLS = 100_000_000

#: Separators that are detected.
SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The cells of a file as text.

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
    na_values
        Cells that mean "not measured", in lower case.
    unit
        What `lines` counts: "line" or "row".
    """

    path: Path
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    na_values: frozenset[str] = NA_VALUES
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.cells)

    def text(self, column: str) -> NDArray[np.str_]:
        """Return one column as text without blanks."""
        place = self._place(column)
        for row, line in zip(self.cells, self.lines, strict=True):
            if row[place].strip().lower() in self.na_values:
                raise ValueError(self._blank(row[place].strip(), column, line))
        return np.array([row[place].strip() for row in self.cells])

    def raw(self, column: str) -> list[str]:
        """Return one column as it stands in the file."""
        place = self._place(column)
        return [row[place] for row in self.cells]

    def _convert_plain(self, cells: Sequence[str]) -> FloatArray | None:
        """Convert a column of finite numbers at once; None if a cell may be anything else."""
        if any(np.isfinite(parse_number(word) or 0.0) for word in self.na_values if parse_number(word) is not None):
            return None
        # What `parse_number` does, without a call for every cell of a large table.
        if "_" in "".join(cells):
            return None
        try:
            numbers = np.array(list(map(float, cells)))
        except ValueError:
            return None
        return numbers if (np.abs(numbers) <= LARGEST_NUMBER).all() else None

    def cells_of(self, column: str, is_category: bool = False) -> Cells:
        """Return one column as numbers, if all cells are numbers or blank, otherwise as texts.

        Parameters
        ----------
        column : str
        is_category : bool
            Numbers are names of levels.
        """
        cells = self.raw(column)
        numbers = self._convert_plain(cells)
        stripped = [None if self.is_blank(cell) else cell.strip() for cell in cells]
        if numbers is None:
            parsed = [float("nan") if word is None else parse_number(word) for word in stripped]
            is_numeric = all(number is not None for number in parsed)
            numbers = np.array(parsed, dtype=np.float64) if is_numeric else None
        if numbers is not None and not is_category:
            return Cells(numbers, "number")
        texts = np.empty(len(cells), dtype=object)
        texts[:] = stripped
        levels = tuple(sorted({word for word in stripped if word is not None})) if is_category else None
        return Cells(texts, "text", levels)

    def raw_table(self, columns: Sequence[str], categories: Collection[str] = ()) -> RawTable:
        """Return several columns before they are encoded; numbers of `categories` are names of levels."""
        return RawTable(tuple(columns), tuple(self.cells_of(column, column in categories) for column in columns))

    @contextmanager
    def name_lines(self) -> Iterator[None]:
        """Name file and line in the error of a wrong cell."""
        try:
            yield
        except CellError as error:
            raise ValueError(f"{self.path}, {self.unit} {self.lines[error.row]}: {error.text}") from None

    def has(self, column: str) -> bool:
        """Return whether there is such a column."""
        return column in self.header

    def is_blank(self, cell: str) -> bool:
        """Return whether a cell means "not measured"."""
        return cell.strip().lower() in self.na_values

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise an error that names all columns that are not there."""
        lacking = [column for column in dict.fromkeys(columns) if column not in self.header]
        if not lacking:
            return
        near = [name for column in lacking for name in difflib.get_close_matches(column, self.header, n=1)]
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
        if len(self.header) == 1:
            hint = "; is another character between the columns? --delimiter says which"
        what = f"column{'s' if len(lacking) > 1 else ''} {', '.join(map(repr, lacking))}"
        raise ValueError(f"{self.path} has no {what}: it has {', '.join(map(repr, self.header))}{hint}")

    def _place(self, column: str) -> int:
        self.check_columns([column])
        return self.header.index(column)

    def _blank(self, cell: str, column: str, line: int) -> str:
        hint = f"; if {cell!r} is a value, say with --na-values which cells are blank" if cell else ""
        return f"{self.path}, {self.unit} {line}: column {column!r} is blank, but it must be known everywhere{hint}"


def parse_na_values(text: str | None) -> frozenset[str]:
    """Return words that mean "not measured", from a list like ``NA,-``; an empty cell always does."""
    return NA_VALUES if text is None else frozenset({"", *(word.strip().lower() for word in text.split(","))})


def read_table(
    path: Path, *, encoding: str = "utf-8", delimiter: str | None = None, na_values: frozenset[str] = NA_VALUES
) -> Table:
    """Read a table with a header: Parquet by its name, otherwise CSV, which may be compressed (.gz).

    Parameters
    ----------
    encoding
        Of a CSV file.
    delimiter
        Of a CSV file; by default the comma, semicolon, tab or bar that the header has most of.
    na_values
        Cells that mean "not measured", in lower case.

    Raises
    ------
    ValueError
        If the file cannot be read, has no rows, repeats a column name, or has a row of another length.
    """
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, na_values)
    try:
        rows = _read_lines(path, encoding, delimiter)
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read {path}: {_describe_encoding(error, encoding)}") from None
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"cannot read {path}: it is no complete .gz file") from None
    except (OSError, csv.Error) as error:
        raise ValueError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has no rows: a header and at least one row are needed")
    header = _check_header(path, tuple(name.strip() for name in rows[0][0]))
    for row, line in rows[1:]:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: {counted(len(row), 'cell')}, but the header has {len(header)}")
    return Table(path, header, tuple(row for row, _ in rows[1:]), tuple(line for _, line in rows[1:]), na_values)


def _read_lines(path: Path, encoding: str, delimiter: str | None) -> list[tuple[tuple[str, ...], int]]:
    """Return the cells of every line that is not empty, with the number of the line."""
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    if path.suffix.lower() == ".gz":
        text = _unpack(path).decode(name)
    else:
        with path.open("rt", newline="", encoding=name) as file:
            text = file.read()
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count) if delimiter is None else delimiter.replace("\\t", "\t")
    if len(separator) != 1:
        raise ValueError(f"a delimiter is one character, like ';' or '\\t'; got {delimiter!r}")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return [(tuple(map(restore, row)), reader.line_num) for row in reader if row]


def _unpack(path: Path) -> bytes:
    """Unpack a .gz file, and stop where it becomes far larger than real tables."""
    parts, size = [], 0
    with gzip.open(path, "rb") as file:
        while part := file.read(1 << 24):
            parts.append(part)
            size += len(part)
            try:
                archives.check_unpacked(size, path.stat().st_size)
            except ValueError as error:
                raise ValueError(f"cannot read {path}: {error}") from None
    return b"".join(parts)


def _describe_encoding(error: UnicodeDecodeError, encoding: str) -> str:
    """Describe text in another encoding, or no text at all."""
    data = error.object
    if b"\x00" in data or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return "it is not text" if b"\x00" in data else f"it is not in {encoding}"
    line = data[: error.start].count(b"\n") + 1
    return f"line {line} is not in UTF-8; if it was written by a spreadsheet, try --encoding latin-1 (or cp1252)"


def _check_header(path: Path, header: tuple[str, ...]) -> tuple[str, ...]:
    for name in header:
        if header.count(name) > 1:
            raise ValueError(f"{path} has more than one column {name!r}")
    return header


def _read_parquet(path: Path, na_values: frozenset[str]) -> Table:
    """Read a Parquet file, its cells as text; numbers keep all their digits."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError(f"cannot read {path}: Parquet files need the package pyarrow") from None
    try:
        with ParquetFile(path) as file:
            cells = file.metadata.num_rows * file.metadata.num_columns
            if cells > MAX_CELLS:
                raise ValueError(f"cannot read {path}: it has {cells:,} cells, at most {MAX_CELLS:,} are read")
            content = file.read()
    except (OSError, ArrowException) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ValueError(f"cannot read {path}: {reason}") from None
    header = _check_header(path, tuple(content.column_names))
    if not content.num_rows or not header:
        raise ValueError(f"{path} has no rows: a header and at least one row are needed")
    columns = [[_cell(value) for value in column.to_pylist()] for column in content.columns]
    rows = tuple(zip(*columns, strict=True))
    return Table(path, header, rows, tuple(range(1, len(rows) + 1)), na_values, "row")


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate with its columns (wildcards allowed) and the cost of one row."""

    name: str
    columns: tuple[str, ...]
    cost: Fraction


def parse_names(text: str) -> tuple[str, ...]:
    """Parse a list of columns: ``a,"b, the second",c*``."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ValueError(
            f"columns are separated by commas, names with a comma in double quotes; got {text!r}"
        ) from None
    parts = tuple(part.strip() for part in cells)
    if not parts or not all(parts):
        raise ValueError(f"columns are separated by commas, and none is empty; got {text!r}")
    return parts


def parse_offer(text: str) -> Offer:
    """Parse NAME=COLUMN[,COLUMN…]:COST."""
    name, equals, rest = text.partition("=")
    columns, colon, cost = rest.rpartition(":")
    if not (equals and colon and name.strip() and columns.strip(" ,")):
        raise ValueError(f"a candidate is NAME=COLUMN[,COLUMN]:COST, like ct=ct1,ct2:5.0; got {text!r}")
    return Offer(name.strip(), parse_names(columns), exact_cost(cost.strip(), f"cost of candidate {name.strip()!r}"))


def read_offers(candidates: Sequence[str], costs: Path | None) -> tuple[Offer, ...]:
    """Parse the candidates of a command, and read those of its table of costs."""
    return (*map(parse_offer, candidates), *(() if costs is None else read_costs(costs)))


def read_costs(path: Path) -> tuple[Offer, ...]:
    """Read a table of costs: candidate, cost; if needed columns, and fees: setup, bundle and bundle_fee."""
    table = read_table(path, na_values=frozenset({""}))
    candidates, costs = table.text("candidate").tolist(), table.text("cost").tolist()
    optional = ("columns", "setup", "bundle", "bundle_fee")
    cells = [table.raw(column) if table.has(column) else [""] * len(candidates) for column in optional]
    out = []
    for line, name, cost, columns, setup, bundle, fee in zip(table.lines, candidates, costs, *cells, strict=True):
        try:
            parts = parse_names(columns) if columns.strip() else (name,)
            amount = exact_cost(cost, f"cost of candidate {name!r}")
            if setup.strip() or bundle.strip() or fee.strip():
                amount = CandidateCost(amount, setup.strip() or 0, bundle.strip(), fee.strip() or 0)
            out.append(Offer(name, parts, amount))
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {error}") from None
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of the columns, with wildcards resolved."""

    label: str
    observed: tuple[str, ...]
    offers: tuple[Offer, ...]
    id: str | None = None


def assign_roles(
    table: Table,
    label: str,
    observed: Sequence[str],
    offers: Sequence[Offer],
    id: str | None = None,
    unmeasured: bool = False,
    groups: str | None = None,
) -> Roles:
    """Assign a role to every column.

    Parameters
    ----------
    unmeasured
        Whether columns of candidates may be absent from the table.
    groups
        Column of groups, which is no feature.

    Raises
    ------
    ValueError
        If a column is named twice or is not there, a wildcard matches nothing, or two candidates have the same name.
    """
    candidates = [offer.name for offer in offers]
    if len(set(candidates)) < len(candidates):
        raise ValueError(f"candidate names must differ, got {', '.join(candidates)}")
    literal = [label, *(name for name in (id, groups) if name is not None)]
    literal += [c for c in (*observed, *(c for offer in offers for c in offer.columns)) if not _is_wildcard(c, table)]
    for column in literal:
        if literal.count(column) > 1:
            raise ValueError(f"column {column!r} is named more than once: it has one role, and one place in it")
    to_measure = [offer for offer in offers if unmeasured and not any(map(table.has, offer.columns))]
    absent = {column for offer in to_measure for column in offer.columns}
    table.check_columns(column for column in literal if column not in absent)
    taken = set(literal)
    expanded = []
    for offer in offers:
        columns = _expand(offer.columns, table, taken, f"candidate {offer.name!r}")
        taken |= set(columns)
        expanded.append(Offer(offer.name, columns, offer.cost))
    seen = _expand(observed, table, taken, "--observed")
    return Roles(label, seen, tuple(expanded), id)


def _is_wildcard(pattern: str, table: Table) -> bool:
    """Return whether a name is a wildcard; a name that the table has is none."""
    return not table.has(pattern) and ("*" in pattern or "?" in pattern)


def _expand(patterns: Sequence[str], table: Table, taken: Collection[str], what: str) -> tuple[str, ...]:
    out: list[str] = []
    for pattern in patterns:
        if not _is_wildcard(pattern, table):
            out.append(pattern)
            continue
        rule = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern))
        matches = [name for name in table.header if rule.fullmatch(name) and name not in taken and name not in out]
        if not matches:
            raise ValueError(f"{what}: no free column of {table.path} matches {pattern!r}")
        out += matches
    return tuple(out)
