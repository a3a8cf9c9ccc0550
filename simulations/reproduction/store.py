"""Where finished configurations are kept: one SQLite file per experiment, one transaction per configuration.

A configuration is there as a whole or not at all, whatever kills the process, and the next run computes what is
missing. The file knows the settings it belongs to by their hash and refuses others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from exml_sim.engine.manifest import manifest
from simulations.reproduction.experiment import Experiment
from simulations.reproduction.records import Configuration

APPLICATION = 0x65786D72  # "exmr"
VERSION = 1

_TABLES = (
    "CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, facts TEXT NOT NULL)",
    "CREATE TABLE configurations (number INTEGER PRIMARY KEY, results TEXT NOT NULL, finished TEXT NOT NULL)",
)


class Store:
    """The results of one experiment.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    experiment
        The settings that its results must belong to.

    Raises
    ------
    ValueError
        If the file is no such store, is damaged, or belongs to other settings; it is left as it was.
    """

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise ValueError(f"cannot write a store at {path}: there is no directory {path.parent}")
        with self._explained():
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        try:
            with self._explained():
                if self._value("SELECT count(*) FROM sqlite_master") == 0:
                    self._create(experiment)
                self._check(experiment)
        except BaseException:
            self.close()
            raise

    def _create(self, experiment: Experiment) -> None:
        with self._transaction():
            for table in _TABLES:
                self._connection.execute(table)
            entries = [("hash", experiment.hash), ("settings", experiment.identity())]
            self._connection.executemany("INSERT INTO manifest VALUES (?, ?)", entries)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self, experiment: Experiment) -> None:
        if self._value("PRAGMA application_id") != APPLICATION:
            raise ValueError(f"{self.path} is a database, but holds no reproduction; nothing was changed")
        version = self._value("PRAGMA user_version")
        if version > VERSION:
            raise ValueError(f"{self.path} was written by a later version (layout {version}); nothing was changed")
        if self._value("SELECT value FROM manifest WHERE key = 'hash'") == experiment.hash:
            return
        theirs = json.loads(self._value("SELECT value FROM manifest WHERE key = 'settings'"))
        ours = json.loads(experiment.identity())
        differing = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
        raise ValueError(
            f"{self.path} holds results of other settings ({', '.join(differing)} differ); nothing was changed: "
            "give another --out"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def note_session(self) -> None:
        """Note versions, processor and commit of a run that is about to add results."""
        with self._explained(), self._transaction():
            self._connection.execute("INSERT INTO sessions (facts) VALUES (?)", (json.dumps(manifest()),))

    def add(self, configuration: Configuration) -> None:
        """Store one configuration in one transaction; one that is there already is an error."""
        entry = (configuration.number, configuration.to_json(), datetime.now(UTC).isoformat(timespec="seconds"))
        with self._explained(), self._transaction():
            self._connection.execute("INSERT INTO configurations VALUES (?, ?, ?)", entry)

    def numbers(self) -> set[int]:
        """Configurations that are there."""
        with self._explained():
            return {number for (number,) in self._connection.execute("SELECT number FROM configurations")}

    def read(self, count: int) -> list[Configuration]:
        """The first configurations, in order of their numbers."""
        query = "SELECT results FROM configurations WHERE number < ? ORDER BY number"
        with self._explained():
            return [Configuration.from_json(text) for (text,) in self._connection.execute(query, (count,))]

    def _value(self, query: str) -> Any:
        return self._connection.execute(query).fetchone()[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in one line what a database error means."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise ValueError(f"{self.path} holds this configuration already ({error}); nothing was changed") from None
        except sqlite3.OperationalError as error:
            raise ValueError(f"cannot use the store {self.path}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} is damaged or no store at all ({error}); nothing was changed") from None
