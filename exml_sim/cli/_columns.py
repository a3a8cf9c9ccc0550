"""Parse columns and candidates: lists, wildcards, quotes, and a table of costs."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from exml_sim.cli._tables import Table, read_table
from exml_sim.money import CandidateCost, exact_cost


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
) -> Roles:
    """Assign a role to every column.

    Parameters
    ----------
    unmeasured
        Whether columns of candidates may be absent from the table.

    Raises
    ------
    ValueError
        If a column is named twice, a wildcard matches nothing, or two candidates have the same name.
    """
    candidates = [offer.name for offer in offers]
    if len(set(candidates)) < len(candidates):
        raise ValueError(f"candidate names must differ, got {', '.join(candidates)}")
    literal = [label, *([] if id is None else [id])]
    literal += [c for c in (*observed, *(c for offer in offers for c in offer.columns)) if not _is_wildcard(c, table)]
    for column in literal:
        if literal.count(column) > 1:
            raise ValueError(f"column {column!r} is named more than once: it has one role, and one place in it")
    taken = set(literal)
    expanded = []
    for offer in offers:
        columns = _expand(offer.columns, table, taken, f"candidate {offer.name!r}")
        taken |= set(columns)
        expanded.append(Offer(offer.name, columns, offer.cost))
        if not unmeasured:
            for column in columns:
                table.raw(column)
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
