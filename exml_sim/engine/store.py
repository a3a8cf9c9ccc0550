"""The store: one SQLite file per study, written by the driver alone, one transaction per block.

In WAL mode a transaction is there as a whole or not at all, whatever kills the process, so a store always holds
complete blocks and the next run computes what is missing. Nothing that is stored is ever overwritten: a trial that is
there twice is an error.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from exml_sim.engine.manifest import DECISIVE, manifest
from exml_sim.engine.study import Cell, Study
from exml_sim.engine.trials import Block

#: Layout of the tables. A store with a higher number was written by a later version.
VERSION = 1
APPLICATION = 0x65786D6C  # "exml"

logger = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (number INTEGER PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY, pool TEXT NOT NULL, score TEXT NOT NULL, strategy TEXT NOT NULL,
    budget TEXT NOT NULL, stream INTEGER NOT NULL, unit TEXT NOT NULL, arms TEXT NOT NULL
);
CREATE TABLE blocks (
    cell INTEGER NOT NULL, first INTEGER NOT NULL, trials INTEGER NOT NULL, pulls TEXT NOT NULL, seconds REAL NOT NULL,
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
    PRIMARY KEY (cell, trial)
) WITHOUT ROWID;
CREATE TABLE laws (
    cell INTEGER NOT NULL, arm INTEGER NOT NULL, probability REAL NOT NULL, success REAL NOT NULL,
    regret REAL NOT NULL, pulls REAL NOT NULL,
    PRIMARY KEY (cell, arm)
) WITHOUT ROWID;
"""


class StoreError(ValueError):
    """A store that cannot be used; it has been left as it was."""


@dataclass(frozen=True, slots=True)
class Law:
    """The exact law of a cell, one entry per arm.

    Attributes
    ----------
    selected
        Probability that the arm is selected (first).
    success, regret
        The parts of the success probability and of the mean regret from outcomes that select the arm.
    pulls
        Mean pulls of the arm.
    """

    selected: tuple[float, ...]
    success: tuple[float, ...]
    regret: tuple[float, ...]
    pulls: tuple[float, ...]


class Store:
    """A study's results in one SQLite file.

    Use `Store.create_or_open` to write, `Store.read` to look. `path=None` is a private temporary file that goes away
    with the object.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, lock: Any = None) -> None:
        self._connection = connection
        self._lock = lock
        self.path = path

    @classmethod
    def create_or_open(cls, path: Path | str | None, study: Study, cells: Sequence[Cell]) -> Self:
        """Open the store of a study for writing; make it if the file does not exist.

        Raises
        ------
        StoreError
            If the file cannot be written, is no store, is damaged, is of a later version, belongs to another study, or
            another run is writing to it.
        """
        where = None if path is None else Path(path)
        lock = None if where is None else _locked(where)
        try:
            new = where is None or not where.exists() or where.stat().st_size == 0
            store = cls(_connect(where, "rwc" if new else "rw"), where, lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        try:
            with _explained(where):
                blank = new or store._is_blank()
                if not blank:
                    # Before anything is set: even a pragma would change somebody else's database.
                    store._check()
                    store._check_study(study)
                store._connection.execute("PRAGMA journal_mode = WAL")
                store._connection.execute("PRAGMA synchronous = NORMAL")
                if blank:
                    store._create(study, cells)
                store._note_session()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Open an existing store to look at it; safe while a run writes to it."""
        where = Path(path)
        if not where.is_file():
            raise StoreError(f"there is no store at {where}")
        # A reader of a WAL database needs its side files; where they cannot be made, nobody writes either.
        writable = os.access(where.parent, os.W_OK) and os.access(where, os.W_OK)
        store = cls(_connect(where, "rw" if writable else "ro&immutable=1"), where)
        try:
            with _explained(where):
                store._connection.execute("PRAGMA query_only = ON")
                store._check()
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _is_blank(self) -> bool:
        """A database without any table: a run was killed before it could write its first transaction."""
        version = self._value("PRAGMA user_version")
        return bool(version == 0 and self._value("SELECT count(*) FROM sqlite_master") == 0)

    def _create(self, study: Study, cells: Sequence[Cell]) -> None:
        with self._transaction():
            for statement in _TABLES.split(";"):
                if statement.strip():
                    self._connection.execute(statement)
            self._connection.executemany(
                "INSERT INTO manifest VALUES (?, ?)",
                [("hash", study.hash), ("study", study.to_toml()), ("seed", str(study.seed)), ("mode", study.mode)],
            )
            self._connection.executemany(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (c.index, *c.labels, c.budget, c.stream, str(pool.prices.unit), json.dumps(list(pool.names)))
                    for c, pool in ((c, study.pool(c)) for c in cells)
                ],
            )
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self) -> None:
        if self._value("PRAGMA application_id") != APPLICATION:
            raise StoreError(f"{self.path} is a database, but not a study's store; nothing was changed")
        version = self._value("PRAGMA user_version")
        if version > VERSION:
            raise StoreError(
                f"{self.path} was written by a later version (layout {version}, this version knows up to {VERSION}); "
                "nothing was changed"
            )
        damage = self._value("PRAGMA quick_check(1)")
        if damage != "ok":
            raise StoreError(f"{self.path} is damaged ({damage}); nothing was changed")

    def _check_study(self, study: Study) -> None:
        if self.hash != study.hash:
            raise StoreError(
                f"{self.path} belongs to another study ({self.hash[:12]}, and this one is {study.hash[:12]}); "
                "nothing was changed: give another file"
            )

    def _note_session(self) -> None:
        facts = manifest()
        before = self.sessions()
        if before:
            changed = [key for key in DECISIVE if before[0].get(key) != facts.get(key)]
            if changed:
                logger.warning(
                    "the store was begun with another %s; results may differ in their last bits", " and ".join(changed)
                )
        with self._transaction():
            self._connection.execute("INSERT INTO sessions (facts) VALUES (?)", (json.dumps(facts),))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _value(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(query, parameters).fetchone()[0]

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Any query, one line at a time."""
        return self._connection.execute(query, parameters)

    @property
    def hash(self) -> str:
        """Identity of the study."""
        return str(self._value("SELECT value FROM manifest WHERE key = 'hash'"))

    @property
    def study(self) -> Study:
        """The study, read back."""
        return Study.from_toml(str(self._value("SELECT value FROM manifest WHERE key = 'study'")))

    def sessions(self) -> list[Mapping[str, str]]:
        """Versions, processor and commit of every run that wrote here, the first one first."""
        return [json.loads(facts) for (facts,) in self.rows("SELECT facts FROM sessions ORDER BY number")]

    def add(self, block: Block) -> None:
        """Store one block in one transaction.

        Raises
        ------
        StoreError
            If one of its trials is there already, or the disk refuses.
        """
        numbers = range(block.first, block.first + len(block))
        lines = zip(
            [block.cell] * len(block),
            numbers,
            block.selected.tolist(),
            block.success.astype(np.int64).tolist(),
            block.regret.tolist(),
            block.spent.tolist(),
            block.weight.tolist(),
            strict=True,
        )
        with _explained(self.path), self._transaction():
            self._connection.executemany("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
            if block.terms is not None:
                terms = [(block.cell, n, *line) for n, line in zip(numbers, block.terms.tolist(), strict=True)]
                self._connection.executemany("INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?, ?, ?)", terms)
            self._connection.execute(
                "INSERT INTO blocks VALUES (?, ?, ?, ?, ?)",
                (block.cell, block.first, len(block), json.dumps(block.pulls.tolist()), block.seconds),
            )

    def add_law(self, cell: int, law: Law) -> None:
        """Store the exact law of a cell."""
        lines = zip(law.selected, law.success, law.regret, law.pulls, strict=True)
        with _explained(self.path), self._transaction():
            self._connection.executemany(
                "INSERT INTO laws VALUES (?, ?, ?, ?, ?, ?)", [(cell, arm, *line) for arm, line in enumerate(lines)]
            )

    def copy_from(self, other: Store) -> None:
        """Take over all blocks and laws of another store of the same study, in one transaction.

        Raises
        ------
        StoreError
            If both hold a trial.
        """
        with _explained(self.path), self._transaction():
            for table, columns in (("trials", 7), ("blocks", 5), ("laws", 6), ("terms", 8)):
                marks = ", ".join("?" * columns)
                lines = other.rows(f"SELECT * FROM {table}")
                self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", lines)
            facts = [(json.dumps(one),) for one in other.sessions()]
            self._connection.executemany("INSERT INTO sessions (facts) VALUES (?)", facts)

    def stretches(self, cell: int) -> list[tuple[int, int]]:
        """The stored trials of a cell as stretches first … stop - 1, in order."""
        found: list[tuple[int, int]] = []
        for first, trials in self.rows("SELECT first, trials FROM blocks WHERE cell = ? ORDER BY first", (cell,)):
            if found and found[-1][1] == first:
                found[-1] = (found[-1][0], first + trials)
            else:
                found.append((first, first + trials))
        return found

    def has_law(self, cell: int) -> bool:
        """Whether the exact law of a cell is stored."""
        return bool(self._value("SELECT count(*) FROM laws WHERE cell = ?", (cell,)))

    def counts(self, cell: int, stop: int | None = None) -> tuple[int, int]:
        """Trials and failures of a cell (of its first `stop` trials, if given)."""
        last = -1 if stop is None else stop
        query = "SELECT count(*), coalesce(sum(1 - success), 0) FROM trials WHERE cell = ? AND (? < 0 OR trial < ?)"
        trials, failures = self._connection.execute(query, (cell, last, last)).fetchone()
        return int(trials), int(failures)

    def pulls(self, cell: int) -> list[int]:
        """Pulls per arm, summed over the stored trials of a cell."""
        found = [json.loads(pulls) for (pulls,) in self.rows("SELECT pulls FROM blocks WHERE cell = ?", (cell,))]
        return [sum(column) for column in zip(*found, strict=True)]

    def digest(self) -> str:
        """SHA-256 of all results, whatever the blocks and sessions that made them."""
        total = hashlib.sha256(self.hash.encode())
        for line in self.rows("SELECT * FROM trials ORDER BY cell, trial"):
            total.update(repr(line).encode())
        for table in ("laws", "terms"):
            for line in self.rows(f"SELECT * FROM {table} ORDER BY 1, 2"):
                total.update(repr(line).encode())
        for (cell,) in self.rows("SELECT cell FROM cells ORDER BY cell").fetchall():
            total.update(repr(self.pulls(cell)).encode())
        return total.hexdigest()


def _connect(path: Path | None, mode: str) -> sqlite3.Connection:
    """Open a database; `None` is a temporary file of SQLite's own."""
    try:
        if path is None:
            return sqlite3.connect("", isolation_level=None, check_same_thread=False)
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    except sqlite3.Error as error:
        raise StoreError(f"cannot open the store {path}: {error}") from None


@contextmanager
def _explained(path: Path | None) -> Iterator[None]:
    """Say in one line what a database error means."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise StoreError(f"{path} holds a trial of this block already ({error}); nothing was changed") from None
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot use the store {path}: {error}; nothing was changed") from None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is damaged or no store at all ({error}); nothing was changed") from None


class _FileLock:
    """An advisory lock on a file next to the store: two drivers must not compute the same trials."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + "-driver")
        try:
            self._file = self.path.open("a")
        except OSError as error:
            raise StoreError(f"cannot write a store at {path}: {error.strerror}") from None
        try:
            import fcntl
        except ImportError:  # pragma: no cover - no such locks on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A driver that has just ended may have removed the name of the file that was locked here.
            held = os.fstat(self._file.fileno()).st_ino == self.path.stat().st_ino
        except OSError:
            held = False
        if not held:
            self._file.close()
            raise StoreError(f"another run is writing to {path}")

    def release(self) -> None:
        """Unlock; the operating system does the same for a driver that was killed."""
        self.path.unlink(missing_ok=True)
        self._file.close()


def _locked(path: Path) -> _FileLock:
    if not path.parent.is_dir():
        raise StoreError(f"cannot write a store at {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise StoreError(f"cannot write a store at {path}: it is a directory")
    return _FileLock(path)
