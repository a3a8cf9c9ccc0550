"""Columns and candidates as people write them: lists, wildcards, quotes, and a price list in a file."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from exml_sim.cli.csv_file import Table, read_table
from exml_sim.money import exact_cost


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate with its columns (wildcards allowed) and the cost of one row."""

    name: str
    columns: tuple[str, ...]
    cost: Fraction


def names(text: str) -> tuple[str, ...]:
    """Read a list of columns: ``a,"b, the second",c*``."""
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ValueError(
            f"columns are separated by commas, names with a comma in double quotes; got {text!r}"
        ) from None
    parts = tuple(part.strip() for part in found)
    if not parts or not all(parts):
        raise ValueError(f"columns are separated by commas, and none is empty; got {text!r}")
    return parts


def offer(text: str) -> Offer:
    """Read NAME=COLUMN[,COLUMN…]:COST."""
    name, equals, rest = text.partition("=")
    columns, colon, cost = rest.rpartition(":")
    if not (equals and colon and name.strip() and columns.strip(" ,")):
        raise ValueError(f"a candidate is NAME=COLUMN[,COLUMN]:COST, like ct=ct1,ct2:5.0; got {text!r}")
    return Offer(name.strip(), names(columns), exact_cost(cost.strip(), f"cost of candidate {name.strip()!r}"))


def price_list(path: Path) -> tuple[Offer, ...]:
    """Read a price list: a table with the columns candidate, cost and, unless they are the same, columns."""
    table = read_table(path, blank=frozenset({""}))
    called, costs = table.text("candidate").tolist(), table.text("cost").tolist()
    listed = table.raw("columns") if table.has("columns") else [""] * len(called)
    out = []
    for line, name, cost, columns in zip(table.lines, called, costs, listed, strict=True):
        try:
            parts = names(columns) if columns.strip() else (name,)
            out.append(Offer(name, parts, exact_cost(cost, f"cost of candidate {name!r}")))
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {error}") from None
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column plays which part, wildcards resolved."""

    label: str
    observed: tuple[str, ...]
    offers: tuple[Offer, ...]
    id: str | None = None


def roles(
    table: Table,
    label: str,
    observed: Sequence[str],
    offers: Sequence[Offer],
    id: str | None = None,
    unmeasured: bool = False,
) -> Roles:
    """Give every column its role.

    Parameters
    ----------
    unmeasured
        Whether columns of candidates may be absent from the table.

    Raises
    ------
    ValueError
        If a column is named twice, a wildcard matches nothing, or two candidates have the same name.
    """
    called = [one.name for one in offers]
    if len(set(called)) < len(called):
        raise ValueError(f"candidate names must differ, got {', '.join(called)}")
    literal = [label, *([] if id is None else [id])]
    literal += [c for c in (*observed, *(c for one in offers for c in one.columns)) if not _wild(c, table)]
    for column in literal:
        if literal.count(column) > 1:
            raise ValueError(f"column {column!r} is named more than once: it has one role, and one place in it")
    taken = set(literal)
    found = []
    for one in offers:
        columns = _expanded(one.columns, table, taken, f"candidate {one.name!r}")
        taken |= set(columns)
        found.append(Offer(one.name, columns, one.cost))
        if not unmeasured:
            for column in columns:
                table.raw(column)
    seen = _expanded(observed, table, taken, "--observed")
    return Roles(label, seen, tuple(found), id)


def _wild(pattern: str, table: Table) -> bool:
    """A name that the table has is a name, whatever is in it."""
    return not table.has(pattern) and ("*" in pattern or "?" in pattern)


def _expanded(patterns: Sequence[str], table: Table, taken: Collection[str], what: str) -> tuple[str, ...]:
    out: list[str] = []
    for pattern in patterns:
        if not _wild(pattern, table):
            out.append(pattern)
            continue
        rule = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern))
        found = [name for name in table.header if rule.fullmatch(name) and name not in taken and name not in out]
        if not found:
            raise ValueError(f"{what}: no free column of {table.path} matches {pattern!r}")
        out += found
    return tuple(out)
