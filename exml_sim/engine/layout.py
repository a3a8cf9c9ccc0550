"""The tables of a store, and whether a file still has exactly them.

The text of a schema lies in the file like any other data, so a flipped bit can rename a column or change its type, and
SQLite takes it as it comes. The text is therefore compared with the layout before anything else is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

#: Layout of the tables. A store with another number was written by another version.
VERSION = 2

TABLES = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, facts TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY, pool TEXT NOT NULL, score TEXT NOT NULL, strategy TEXT NOT NULL,
    budget TEXT NOT NULL, stream INTEGER NOT NULL, unit TEXT NOT NULL, arms TEXT NOT NULL
);
CREATE TABLE blocks (
    cell INTEGER NOT NULL, first INTEGER NOT NULL, trials INTEGER NOT NULL, pulls TEXT NOT NULL, seconds REAL NOT NULL,
    seal TEXT NOT NULL,
    PRIMARY KEY (cell, first)
) WITHOUT ROWID;
CREATE TABLE trials (
    cell INTEGER NOT NULL, trial INTEGER NOT NULL, selected INTEGER NOT NULL, success INTEGER NOT NULL,
    regret REAL NOT NULL, spent INTEGER NOT NULL, weight REAL NOT NULL,
    PRIMARY KEY (cell, trial)
) WITHOUT ROWID;
CREATE TABLE terms (
    cell INTEGER NOT NULL, trial INTEGER NOT NULL, excess REAL NOT NULL, a REAL NOT NULL, b REAL NOT NULL,
    c REAL NOT NULL, d REAL NOT NULL, e REAL NOT NULL,
    excess_noise REAL NOT NULL, a_noise REAL NOT NULL, d_noise REAL NOT NULL, e_noise REAL NOT NULL,
    PRIMARY KEY (cell, trial)
) WITHOUT ROWID;
CREATE TABLE laws (
    cell INTEGER NOT NULL, arm INTEGER NOT NULL, probability REAL NOT NULL, success REAL NOT NULL,
    failure REAL NOT NULL, regret REAL NOT NULL, pulls REAL NOT NULL,
    PRIMARY KEY (cell, arm)
) WITHOUT ROWID;
CREATE TABLE law_seals (cell INTEGER PRIMARY KEY, seal TEXT NOT NULL);
"""

#: Tables as stores of the same layout had them earlier: what is read is there.
_EARLIER = """
CREATE TABLE laws (
    cell INTEGER NOT NULL, arm INTEGER NOT NULL, probability REAL NOT NULL, failure REAL NOT NULL,
    regret REAL NOT NULL, pulls REAL NOT NULL,
    PRIMARY KEY (cell, arm)
) WITHOUT ROWID;
"""

# Blobs: a damaged text need not be text, and is compared, not decoded.
_SCHEMA = "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master"

#: Type, name, table and text of an object of a schema.
Entry = tuple[bytes | None, ...]


def statements(tables: str = TABLES) -> list[str]:
    """The statements one by one."""
    return [part.strip() for part in tables.split(";") if part.strip()]


@cache
def _entries(tables: tuple[str, ...]) -> frozenset[Entry]:
    """What SQLite notes about the tables."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in tables:
            connection.execute(statement)
        return frozenset(connection.execute(_SCHEMA))
    finally:
        connection.close()


def schema_damage(
    connection: sqlite3.Connection, tables: Sequence[str] | None = None, earlier: str = _EARLIER
) -> str | None:
    """Compare the schema of an open file with the layout; returns what is wrong, in a few words, or None.

    Parameters
    ----------
    tables
        The statements that made the tables; those of a store by default.
    earlier
        Statements whose tables may be there instead of the ones of the same name.
    """
    expected = _named(_entries(tuple(statements() if tables is None else tables)))
    allowed = _named(_entries(tuple(statements(earlier))))
    found = _named(connection.execute(_SCHEMA))
    for name in sorted({*expected, *found}, key=repr):
        if found.get(name) not in (expected.get(name), allowed.get(name, expected.get(name))):
            shown = (name or b"?").decode("utf-8", "backslashreplace")
            word = "is missing" if name not in found else "is not of the layout"
            return f"the table {shown!r} of its schema {word}"
    return None


def _named(entries: Iterable[Entry]) -> Mapping[bytes | None, Sequence[Entry]]:
    """Entries by name; a name that is there twice has two."""
    found: dict[bytes | None, list[Entry]] = {}
    for entry in sorted(entries, key=repr):
        found.setdefault(entry[1], []).append(entry)
    return found
