"""The measurement request ``to_measure.csv``: blank cells for values to be measured, written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.columns import CellError, Cells, ColumnEncoding, Encodings
from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.classifier._ask_tell import MeasurementRequest
from exml_sim.cli._tables import Roles, Table, read_table
from exml_sim.money import show

NAME = "to_measure.csv"

#: Cells that belong to another candidate, and what is written for a row that cannot be measured.
ELSEWHERE, LOST = "-", "lost"

Key = tuple[str, int]


def _title(column: str) -> str:
    """Heading of a column of values; the file's own headings are not taken."""
    return f"value of {column}" if column in ("line", "row", "candidate", "cost") else column


@dataclass(slots=True, eq=False)
class FilledRequest:
    """The filled-in values of a request; other lines are not read.

    Attributes
    ----------
    values, lost
        Complete rows, and rows that cannot be measured, by candidate.
    partial
        Cells of rows that are filled in partly.
    missing
        Blank cells: line of the table, candidate, column.
    keys
        Requested pairs of candidate and row that were in the file.
    """

    values: dict[str, dict[int, tuple[float, ...]]] = field(default_factory=dict)
    lost: dict[str, list[int]] = field(default_factory=dict)
    partial: dict[Key, dict[str, str]] = field(default_factory=dict)
    missing: list[tuple[int, str, str]] = field(default_factory=list)
    keys: set[Key] = field(default_factory=set)

    @property
    def complete(self) -> int:
        """Rows that need not be asked for again."""
        return sum(map(len, self.values.values())) + sum(map(len, self.lost.values()))


def read_request(
    path: Path, table: Table, encodings: Mapping[str, Encodings], rows: Mapping[str, IntArray]
) -> FilledRequest:
    """Read the values of a table that are asked for: of `rows` by candidate.

    Raises
    ------
    ValueError
        If a value that was asked for does not belong to its column, or is there twice; the file stays as it is.
    """
    filled, content = FilledRequest(), read_table(path, na_values=table.na_values)
    place = {str(line): row for row, line in enumerate(table.lines)}
    asked = {(name, int(row)) for name, places in rows.items() for row in places}
    where = {name: i for i, name in enumerate(content.header)}
    keys = zip(content.raw(table.unit), content.raw("candidate"), content.cells, content.lines, strict=True)
    for line, name, cells, at in keys:
        key = name.strip(), place.get(line.strip(), -1)
        if key not in asked:
            continue
        if key in filled.keys:
            raise ValueError(f"{path}, line {at}: {key[0]} of {table.unit} {line.strip()} is there twice")
        filled.keys.add(key)
        own = {
            column: cells[where[_title(column)]].strip() if _title(column) in where else ""
            for column in (encoding.name for encoding in encodings[key[0]])
        }
        _take(filled, content, key, int(line), own, at, encodings[key[0]])
    return filled


def _take(
    filled: FilledRequest, content: Table, key: Key, line: int, own: dict[str, str], at: int, encodings: Encodings
) -> None:
    name, row = key
    if any(cell.lower() == LOST for cell in own.values()):
        filled.lost.setdefault(name, []).append(row)
        return
    blank = [column for column, cell in own.items() if content.is_blank(cell)]
    numbers = [_encode_cell(content, own[part.name], part, at) for part in encodings if part.name not in blank]
    if not blank:
        filled.values.setdefault(name, {})[row] = tuple(number for part in numbers for number in part)
        return
    filled.missing += [(line, name, column) for column in blank]
    if numbers:
        filled.partial[key] = own


def _encode_cell(content: Table, cell: str, encoding: ColumnEncoding, line: int) -> list[float]:
    if encoding.column_type == "number":
        content.number(cell, encoding.name, line)
    cells = Cells(np.array([cell], dtype=object), "text")
    try:
        encoding.check_known(cells)
        return [float(number) for number in encoding.encode(cells)[0]]
    except CellError as error:
        raise ValueError(f"{content.path}, {content.unit} {line}: {error.text}") from None


def write_request(
    path: Path,
    table: Table,
    roles: Roles,
    request: MeasurementRequest,
    partial: Mapping[Key, Mapping[str, str]],
) -> None:
    """Write the request, row after row of the table; partly filled rows are kept."""
    columns = {offer.name: offer.columns for offer in roles.offers}
    asked = [name for name in columns if name in request.rows]
    wide = [column for name in asked for column in columns[name]]
    ids = None if roles.id is None else table.raw(roles.id)
    head = [table.unit, *([] if roles.id is None else [_title(roles.id)]), "candidate", "cost", *map(_title, wide)]
    lines = []
    for row, name in sorted((int(place), key) for key in asked for place in request.rows[key]):
        kept = partial.get((name, row), {})
        cells = [kept.get(column, "") if column in columns[name] else ELSEWHERE for column in wide]
        start = [table.lines[row], *([] if ids is None else [ids[row]])]
        lines.append([*start, name, show(request.costs[name]), *cells])
    write_file(path, write_csv(head, lines))
