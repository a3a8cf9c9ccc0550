"""Checksums: SHA-256 of every part of a store, computed when it is written and compared when it is opened.

A seal is over the numbers themselves (their 64 bits), not over their text, so what is compared is what is used.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from exml_sim.engine.trials import Block

#: Types of the columns selected, success, regret, spent and weight of a trial, the same on every machine.
_TYPES = ("<i8", "<i8", "<f8", "<i8", "<f8")


def text_seal(*parts: str) -> str:
    """Seal of texts; their lengths are in it, so that nothing can move from one to the next."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def head_seal(head: Iterable[tuple[Any, ...]], cells: Iterable[tuple[Any, ...]]) -> str:
    """Seal of the manifest and the cells."""
    return text_seal(repr(sorted(head)), repr(sorted(cells)))


def law_seal(cell: int, lines: Sequence[Sequence[float]]) -> str:
    """Seal of the exact law of a cell."""
    return text_seal(f"{cell}", repr([tuple(float(value).hex() for value in line) for line in lines]))


def block_seal(block: Block, pulls: str) -> str:
    """Seal of a block that is about to be stored; `pulls` as they are stored."""
    columns = (block.selected, block.success, block.regret, block.spent, block.weight)
    return _seal((block.cell, block.first, len(block), pulls, block.seconds), columns, block.measured)


def _seal(head: tuple[Any, ...], columns: Iterable[Any], terms: Any) -> str:
    total = hashlib.sha256(repr(head).encode("utf-8", "surrogatepass"))
    for column, kind in zip(columns, _TYPES, strict=True):
        total.update(np.ascontiguousarray(column, dtype=kind).tobytes())
    if terms is not None:
        total.update(np.ascontiguousarray(terms, dtype="<f8").tobytes())
    return total.hexdigest()


def verify(connection: sqlite3.Connection) -> str | None:
    """Compare everything with its seal; returns what is wrong, in a few words, or None."""
    # One state of the file from the first query to the last, also while a run adds blocks.
    connection.execute("BEGIN")
    try:
        return _head(connection) or _sessions(connection) or _blocks(connection) or _laws(connection)
    except (TypeError, ValueError) as error:
        return f"a stored value is of another type: {' '.join(str(error).split())}"
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _head(connection: sqlite3.Connection) -> str | None:
    head = connection.execute("SELECT key, value FROM manifest").fetchall()
    cells = connection.execute("SELECT * FROM cells").fetchall()
    seal = dict(head).get("seal")
    rest = [line for line in head if line[0] != "seal"]
    return None if seal == head_seal(rest, cells) else "the study or its cells do not match their checksum"


def _sessions(connection: sqlite3.Connection) -> str | None:
    for number, facts, seal in connection.execute("SELECT number, facts, seal FROM sessions"):
        if seal != text_seal(facts):
            return f"session {number} does not match its checksum"
    return None


def _blocks(connection: sqlite3.Connection) -> str | None:
    blocks = connection.execute("SELECT * FROM blocks ORDER BY cell, first").fetchall()
    measured = connection.execute("SELECT count(*) FROM terms").fetchone()[0]
    total = 0
    for cell, first, trials, pulls, seconds, seal in blocks:
        lines = _lines(connection, "trials", cell, first, trials)
        terms = _lines(connection, "terms", cell, first, trials) if measured else []
        columns = list(zip(*lines, strict=True)) or [()] * (2 + len(_TYPES))
        places = [(cell, trial) for trial in range(first, first + trials)]
        # A key that was changed moves a line to another place, or to one that is taken.
        at_home = list(zip(*columns[:2], strict=True)) == places and [line[:2] for line in terms] in (places, [])
        extra = [line[2:] for line in terms] if measured else None
        if not at_home or _seal((cell, first, trials, pulls, seconds), columns[2:], extra) != seal:
            return f"trials {first} to {first + trials - 1} of cell {cell} do not match their checksum"
        total += trials
    for table, expected in (("trials", total), ("terms", total if measured else 0)):
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if found != expected:
            return f"there are {found} lines of {table}, and {expected} belong to blocks"
    return None


def _lines(connection: sqlite3.Connection, table: str, cell: int, first: int, trials: int) -> list[tuple[Any, ...]]:
    query = f"SELECT * FROM {table} WHERE cell = ? AND trial >= ? AND trial < ? ORDER BY trial"
    return connection.execute(query, (cell, first, first + trials)).fetchall()


def _laws(connection: sqlite3.Connection) -> str | None:
    seals = dict(connection.execute("SELECT cell, seal FROM law_seals").fetchall())
    laws: dict[int, list[Sequence[float]]] = {}
    for cell, _, *line in connection.execute("SELECT * FROM laws ORDER BY cell, arm"):
        laws.setdefault(cell, []).append(line)
    for cell in sorted({*seals, *laws}):
        if seals.get(cell) != law_seal(cell, laws.get(cell, [])):
            return f"the law of cell {cell} does not match its checksum"
    return None
