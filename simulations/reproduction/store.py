"""Where finished configurations are kept: one SQLite file per experiment, one transaction per configuration.

A configuration is there as a whole or not at all, whatever kills the process, and the next run computes what is
missing. The file knows the settings it belongs to by their hash and refuses others.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from exml_sim.engine.files import check_owner, check_place, explained, is_blank, transaction
from exml_sim.engine.manifest import manifest
from simulations.reproduction.experiment import Experiment
from simulations.reproduction.results import Configuration

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
        check_place(path)
        if not is_blank(path):
            check_owner(path, APPLICATION, "a reproduction")
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
        with transaction(self._connection):
            for table in _TABLES:
                self._connection.execute(table)
            entries = [("hash", experiment.hash), ("settings", experiment.identity())]
            self._connection.executemany("INSERT INTO manifest VALUES (?, ?)", entries)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self, experiment: Experiment) -> None:
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
        with self._explained(), transaction(self._connection):
            self._connection.execute("INSERT INTO sessions (facts) VALUES (?)", (json.dumps(manifest()),))

    def add(self, configuration: Configuration) -> None:
        """Store one configuration in one transaction; one that is there already is an error."""
        entry = (configuration.number, configuration.to_json(), datetime.now(UTC).isoformat(timespec="seconds"))
        with self._explained(), transaction(self._connection):
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

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.path, what="this configuration")

    def _value(self, query: str) -> Any:
        return self._connection.execute(query).fetchone()[0]
