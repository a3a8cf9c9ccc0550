"""The tables of a store, SHA-256 checksums of their contents, and the facts of a session.

The text of a schema lies in the file like any other data, so a flipped bit can rename a column, and SQLite does not
notice a flipped bit inside a number either. So the schema is compared with `TABLES`, and every part with its checksum.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sqlite3
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

#: Number of the schema. A store with another number was written by another version.
VERSION = 4

TABLES = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, environment TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY, pool TEXT NOT NULL, score TEXT NOT NULL, strategy TEXT NOT NULL,
    budget TEXT NOT NULL, stream INTEGER NOT NULL, unit TEXT NOT NULL, arms TEXT NOT NULL
);
CREATE TABLE blocks (
    cell INTEGER NOT NULL, first INTEGER NOT NULL, trials INTEGER NOT NULL, pulls TEXT NOT NULL, seconds REAL NOT NULL,
    checksum TEXT NOT NULL,
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
CREATE TABLE distributions (
    cell INTEGER NOT NULL, arm INTEGER NOT NULL, probability REAL NOT NULL, success REAL NOT NULL,
    failure REAL NOT NULL, regret REAL NOT NULL, pulls REAL NOT NULL,
    PRIMARY KEY (cell, arm)
) WITHOUT ROWID;
CREATE TABLE distribution_checksums (cell INTEGER PRIMARY KEY, checksum TEXT NOT NULL);
CREATE TABLE failures (cell INTEGER PRIMARY KEY, reason TEXT NOT NULL);
"""

# Blobs: a damaged text need not be text, and is compared, not decoded.
_SCHEMA = "SELECT CAST(name AS BLOB), CAST(type AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master"


def list_statements() -> list[str]:
    """Return the statements one by one."""
    return [part.strip() for part in TABLES.split(";") if part.strip()]


def find_schema_damage(connection: sqlite3.Connection) -> str | None:
    """Compare the schema of an open file with the statements that made it; return what is wrong, or None."""
    names = {statement.split()[2].encode(): statement.encode() for statement in list_statements()}
    expected = {(name, b"table", name, statement) for name, statement in names.items()}
    stored = set(connection.execute(_SCHEMA))
    if stored == expected:
        return None
    name = min(stored ^ expected, key=repr)[0]
    missing = name not in {entry[0] for entry in stored}
    text = (name or b"?").decode("utf-8", "backslashreplace")
    return f"the table {text!r} of its schema {'is missing' if missing else 'is not of the schema'}"


def checksum(*parts: Any) -> str:
    """Return the SHA-256 of numbers, texts and rows of them; `repr` distinguishes any two of them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def header_checksum(manifest: Iterable[tuple[Any, ...]], cells: Iterable[tuple[Any, ...]]) -> str:
    """Return the checksum of the manifest, without its own line, and of the cells."""
    return checksum(sorted(line for line in manifest if line[0] != "checksum"), sorted(cells))


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Compare everything with its checksum; return what is wrong, in a few words, or None."""
    # One state of the file from the first query to the last, also while a run adds blocks.
    connection.execute("BEGIN")
    try:
        return _check_header(connection) or _check_blocks(connection) or _check_distributions(connection)
    except TypeError as error:
        return f"a stored value is of another type: {' '.join(str(error).split())}"
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_header(connection: sqlite3.Connection) -> str | None:
    manifest = connection.execute("SELECT key, value FROM manifest").fetchall()
    cells = connection.execute("SELECT * FROM cells").fetchall()
    if dict(manifest).get("checksum") != header_checksum(manifest, cells):
        return "the study or its cells do not match their checksum"
    for number, environment, stored in connection.execute("SELECT * FROM sessions"):
        if stored != checksum(environment):
            return f"session {number} does not match its checksum"
    return None


def _check_blocks(connection: sqlite3.Connection) -> str | None:
    total, rows = 0, "SELECT * FROM {} WHERE cell = ? AND trial >= ? AND trial < ? ORDER BY trial"
    measured = connection.execute("SELECT count(*) FROM terms").fetchone()[0]
    for *block, stored in connection.execute("SELECT * FROM blocks ORDER BY cell, first").fetchall():
        cell, first, trials = block[:3]
        results, terms = (
            connection.execute(rows.format(table), (cell, first, first + trials)).fetchall()
            for table in ("trials", "terms")
        )
        if checksum(tuple(block), results, terms) != stored:
            return f"trials {first} to {first + trials - 1} of cell {cell} do not match their checksum"
        total += trials
    for table, expected in (("trials", total), ("terms", total if measured else 0)):
        number = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if number != expected:
            return f"there are {number} lines of {table}, and {expected} belong to blocks"
    return None


def _check_distributions(connection: sqlite3.Connection) -> str | None:
    stored = dict(connection.execute("SELECT * FROM distribution_checksums").fetchall())
    cells = [cell for (cell,) in connection.execute("SELECT DISTINCT cell FROM distributions")]
    for cell in sorted({*stored, *cells}):
        lines = connection.execute("SELECT * FROM distributions WHERE cell = ? ORDER BY arm", (cell,)).fetchall()
        if stored.get(cell) != checksum(lines):
            return f"the distribution of cell {cell} does not match its checksum"
    return None


#: Packages whose versions a session notes.
PACKAGES = ("numpy", "scipy", "numba", "joblib", "scikit-learn", "cvxpy", "pandas", "pydantic", "click")


def manifest() -> dict[str, str]:
    """Return one text per fact about the present run."""
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), **_lasting()}


@cache
def _lasting() -> dict[str, str]:
    """Facts that do not change while the process lives."""
    from exml_sim import __version__

    facts = {
        "exml_sim": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "arithmetic": _arithmetic(),
        "blas": _blas(),
        "commit": _commit(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


#: Facts whose change may change the last bits of regrets and weights; selections and spending do not depend on them.
DECISIVE = ("exml_sim", "numpy", "scipy", "numba", "arithmetic", "blas")


def _arithmetic() -> str:
    """Name the instructions that compiled code uses: those of the processor that no environment variable takes away."""
    build: Any = np.show_config(mode="dicts")
    texts = [platform.machine(), *build.get("SIMD Extensions", {}).get("found", [])]
    texts += [f"{name}={os.environ[name]}" for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if name in os.environ]
    return " ".join(texts)


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _blas() -> str:
    libraries = {
        f"{library.get('internal_api')} {library.get('version')} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library.get("user_api") == "blas"
    }
    return ", ".join(sorted(libraries)) or "unknown"


def _commit() -> str:
    """Return the commit of the source tree the package was imported from, if it is one."""
    home = Path(__file__).resolve().parents[2]
    if not (home / ".git").exists():
        return "not a source tree"
    try:
        command = ["git", "-C", str(home), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
