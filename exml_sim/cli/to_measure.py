"""The sheet ``to_measure.csv``: what to measure next, with blank cells for the values, written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exml_sim.classifier.ask_tell import Wanted
from exml_sim.cli.columns import Roles
from exml_sim.cli.csv_file import Table, as_csv, read_table, write_whole
from exml_sim.money import show

NAME = "to_measure.csv"

#: Cells that belong to another candidate, and what is written for a row that cannot be measured.
ELSEWHERE, LOST = "-", "lost"

Key = tuple[str, int]


def _title(column: str) -> str:
    """Heading of a column of values; the sheet's own headings are not taken."""
    return f"value of {column}" if column in ("line", "row", "candidate", "price") else column


@dataclass(slots=True, eq=False)
class Sheet:
    """What was found in a sheet, of what was asked for; other lines are not looked at.

    Attributes
    ----------
    values, lost
        Complete rows, and rows that cannot be measured, by candidate.
    partial
        Cells of rows that are filled in partly.
    missing
        Blank cells: line of the table, candidate, column.
    strangers
        Number of lines that were not asked for.
    """

    values: dict[str, dict[int, tuple[float, ...]]] = field(default_factory=dict)
    lost: dict[str, list[int]] = field(default_factory=dict)
    partial: dict[Key, dict[str, str]] = field(default_factory=dict)
    missing: list[tuple[int, str, str]] = field(default_factory=list)
    strangers: int = 0
    keys: set[Key] = field(default_factory=set)

    @property
    def filled(self) -> int:
        """Rows that need not be asked for again."""
        return sum(map(len, self.values.values())) + sum(map(len, self.lost.values()))


def read_sheet(path: Path, table: Table, roles: Roles, rows: Mapping[str, object]) -> Sheet:
    """Read the values that are asked for.

    Parameters
    ----------
    rows
        Row numbers by candidate that lack a value.

    Raises
    ------
    ValueError
        If a value that was asked for is no number, or is there twice; the sheet stays as it is.
    """
    found, sheet = Sheet(), read_table(path, blank=table.blank)
    columns = {one.name: one.columns for one in roles.offers}
    place = {str(line): row for row, line in enumerate(table.lines)}
    asked = {(name, int(row)) for name, some in rows.items() for row in some}  # type: ignore[attr-defined]
    where = {name: i for i, name in enumerate(sheet.header)}
    keys = zip(sheet.raw(table.unit), sheet.raw("candidate"), sheet.cells, sheet.lines, strict=True)
    for line, name, cells, at in keys:
        key = name.strip(), place.get(line.strip(), -1)
        if key not in asked:
            found.strangers += 1
            continue
        if key in found.keys:
            raise ValueError(f"{path}, line {at}: {key[0]} of {table.unit} {line.strip()} is there twice")
        found.keys.add(key)
        own = {
            column: cells[where[_title(column)]].strip() if _title(column) in where else ""
            for column in columns[key[0]]
        }
        _take(found, sheet, key, int(line), own, at)
    return found


def _take(found: Sheet, sheet: Table, key: Key, line: int, own: dict[str, str], at: int) -> None:
    name, row = key
    if any(cell.lower() == LOST for cell in own.values()):
        found.lost.setdefault(name, []).append(row)
        return
    blank = [column for column, cell in own.items() if sheet.is_blank(cell)]
    numbers = {column: sheet.number(cell, column, at) for column, cell in own.items() if column not in blank}
    if not blank:
        found.values.setdefault(name, {})[row] = tuple(numbers[column] for column in own)
        return
    found.missing += [(line, name, column) for column in blank]
    if numbers:
        found.partial[key] = own


def write_sheet(
    path: Path,
    table: Table,
    roles: Roles,
    wanted: Wanted,
    partial: Mapping[Key, Mapping[str, str]],
) -> None:
    """Write the sheet, row after row of the table; what was filled in partly is kept."""
    columns = {one.name: one.columns for one in roles.offers}
    asked = [name for name in columns if name in wanted.rows]
    wide = [column for name in asked for column in columns[name]]
    ids = None if roles.id is None else table.raw(roles.id)
    head = [table.unit, *([] if roles.id is None else [_title(roles.id)]), "candidate", "price", *map(_title, wide)]
    lines = []
    for row, name in sorted((int(row), one) for one in asked for row in wanted.rows[one]):
        kept = partial.get((name, row), {})
        cells = [kept.get(column, "") if column in columns[name] else ELSEWHERE for column in wide]
        start = [table.lines[row], *([] if ids is None else [ids[row]])]
        lines.append([*start, name, show(wanted.prices[name]), *cells])
    write_whole(path, as_csv(head, lines))
