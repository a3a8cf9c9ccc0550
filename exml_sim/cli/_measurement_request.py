"""The measurement request ``to_measure.csv``: blank cells for values to be measured, written and read back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.columns import LEAVE_BLANK, CellError, RawTable
from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.classifier._ask_tell import AskTell, MeasurementRequest
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
        Values of the requested rows, blank where they are not complete, and rows that cannot be measured, by candidate.
    partial
        Cells of rows that are filled in partly, or wait for others.
    waiting
        Number of complete rows that wait until all rows of their candidate are filled in, by which its type is learned.
    missing
        Blank cells: line of the table, candidate, column.
    keys
        Requested pairs of candidate and row that were in the file.
    """

    values: dict[str, RawTable] = field(default_factory=dict)
    lost: dict[str, list[int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    partial: dict[Key, dict[str, str]] = field(default_factory=dict)
    missing: list[tuple[int, str, str]] = field(default_factory=list)
    keys: set[Key] = field(default_factory=set)


def read_request(
    path: Path,
    table: Table,
    columns: Mapping[str, Sequence[str]],
    run: AskTell,
    rows: Mapping[str, IntArray],
    categories: Collection[str] = (),
) -> FilledRequest:
    """Read the values of a table that a run asks for.

    Parameters
    ----------
    columns
        Columns of every candidate.
    run, rows
        The run, and the rows by candidate that it asks for.
    categories
        Columns whose numbers are names of levels.

    Raises
    ------
    ValueError
        If a value that was asked for does not belong to its column, or is there twice; the file stays as it is.
    """
    filled, content = FilledRequest(), read_table(path, na_values=table.na_values)
    place = {str(line): row for row, line in enumerate(table.lines)}
    asked = {(name, int(row)) for name, places in rows.items() for row in places}
    where = {name: i for i, name in enumerate(content.header)}
    cells_of: dict[Key, dict[str, str]] = {}
    line_of: dict[Key, int] = {}
    keys = zip(content.raw(table.unit), content.raw("candidate"), content.cells, content.lines, strict=True)
    for line, name, cells, at in keys:
        key = name.strip(), place.get(line.strip(), -1)
        if key not in asked:
            continue
        if key in filled.keys:
            raise ValueError(f"{path}, line {at}: {key[0]} of {table.unit} {line.strip()} is there twice")
        filled.keys.add(key)
        titles = {column: _title(column) for column in columns[key[0]]}
        cells_of[key] = {c: cells[where[title]].strip() if title in where else "" for c, title in titles.items()}
        line_of[key] = at
        if any(cell.lower() == LOST for cell in cells_of[key].values()):
            filled.lost.setdefault(key[0], []).append(key[1])
            continue
        blank = [column for column, cell in cells_of[key].items() if content.is_blank(cell)]
        filled.missing += [(int(line), key[0], column) for column in blank]
        if 0 < len(blank) < len(titles):
            filled.partial[key] = cells_of[key]
    for name, places in rows.items():
        pairs = [(name, int(row)) for row in places]
        _take(filled, content, run, pairs, columns[name], cells_of, line_of, categories)
    return filled


def _take(
    filled: FilledRequest,
    content: Table,
    run: AskTell,
    keys: Sequence[Key],
    columns: Sequence[str],
    cells_of: Mapping[Key, Mapping[str, str]],
    line_of: Mapping[Key, int],
    categories: Collection[str],
) -> None:
    """Check the complete rows of a candidate, and take them."""
    name = keys[0][0]
    lost = filled.lost.get(name, [])
    is_whole = [
        key in cells_of and key[1] not in lost and not any(map(content.is_blank, cells_of[key].values()))
        for key in keys
    ]
    cells = tuple(
        tuple(cells_of[key].values()) if whole else ("",) * len(columns)
        for key, whole in zip(keys, is_whole, strict=True)
    )
    lines = tuple(line_of.get(key, 0) for key in keys)
    own = replace(content, header=tuple(columns), cells=cells, lines=lines)
    raw = own.raw_table(columns, categories)
    is_open = any(not whole and key[1] not in lost for key, whole in zip(keys, is_whole, strict=True))
    if not run.find_encodings(name) and is_open and any(part.kind != "number" for part in raw.cells):
        filled.lost.pop(name, None)
        filled.waiting[name] = sum(is_whole) + sum(key[1] in lost for key in keys)
        filled.partial |= {key: dict(cells_of[key]) for key in keys if key in cells_of}
        return
    if any(is_whole):
        try:
            run.encode_answers(name, raw, lost)
        except CellError as error:
            hint = f"; write {LOST!r} if it cannot be measured"
            if not run.find_encodings(name):
                hint += ", or start anew with --categories if numbers are names of levels"
            text = error.text.replace(LEAVE_BLANK, hint)
            raise ValueError(f"{content.path}, {content.unit} {lines[error.row]}: {text}") from None
        filled.values[name] = raw


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
