"""Finished work by key, so that an interrupted run continues: one SQLite file, one transaction per piece of work.

A piece is there as a whole or not at all, whatever kills the process, and has a SHA-256 beside it that is compared when
the file is opened. The file knows the settings that its results belong to and refuses others. Verification keeps
checks and blocks of trials here, the reproduction its configurations; studies have the engine's store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from exml_sim.engine.files import DriverLock, check_owner, check_place, connect, explained, is_blank, transaction
from exml_sim.engine.layout import schema_damage
from exml_sim.engine.manifest import manifest
from exml_sim.engine.seals import text_seal

APPLICATION = 0x65786D72  # "exmr"
VERSION = 3
Item = TypeVar("Item")

_TABLES = (
    "CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, facts TEXT NOT NULL)",
)
_FINISHED = "CREATE TABLE finished (key TEXT PRIMARY KEY, value TEXT NOT NULL, time TEXT NOT NULL)"
_SEALS = "CREATE TABLE seals (key TEXT PRIMARY KEY, seal TEXT NOT NULL) WITHOUT ROWID"
_LAYOUT = (*_TABLES, _FINISHED, _SEALS)
#: Whose seal is asked for; no key of a result begins with a blank.
_SETTINGS = " settings"
#: Layout 1 was the reproduction's alone: numbered configurations.
_FROM_LAYOUT_1 = (
    _FINISHED,
    "INSERT INTO finished SELECT CAST(number AS TEXT), results, finished FROM configurations",
    "DROP TABLE configurations",
)


class Cache:
    """Results that JSON can hold, by key.

    Parameters
    ----------
    path
        The file, which is made if it does not exist; without one the results live as long as the object.
    settings
        What the results depend on, as values that JSON has.

    Raises
    ------
    ValueError
        If the file is no such cache, is damaged, belongs to other settings, or another run is writing to it; it is
        left as it was.
    """

    def __init__(self, path: Path | None = None, settings: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self._lock: DriverLock | None = None
        self._noted = False
        if path is not None:
            check_place(path)
            if not is_blank(path):
                check_owner(path, APPLICATION, "a file of finished work")
            self._lock = DriverLock(path)
        try:
            self._connection = connect(path, "rwc")
            with self._explained():
                self._open(json.dumps(settings or {}, sort_keys=True))
        except BaseException:
            self.close()
            raise

    def _open(self, settings: str) -> None:
        if self._value("SELECT count(*) FROM sqlite_master") == 0:
            self._execute(*_LAYOUT, f"PRAGMA application_id = {APPLICATION}", settings=settings)
        version = self._value("PRAGMA user_version")
        if version > VERSION:
            raise ValueError(f"{self.path} was written by a later version (layout {version}); nothing was changed")
        damage = self._damage() if version == VERSION else None
        if damage is not None:
            raise ValueError(f"{self.path} is damaged ({damage}); nothing was changed")
        theirs = json.loads(self._value("SELECT value FROM manifest WHERE key = 'settings'"))
        ours = json.loads(settings)
        differing = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
        if differing:
            raise ValueError(
                f"{self.path} holds results of other settings ({', '.join(differing)} differ); nothing was changed: "
                "give another --out"
            )
        if version < VERSION:
            self._execute(*(_FROM_LAYOUT_1 if version < 2 else ()), _SEALS)

    def _execute(self, *statements: str, settings: str | None = None) -> None:
        """Make or change the tables and seal what is there, all or nothing."""
        with transaction(self._connection):
            for statement in (*statements, f"PRAGMA user_version = {VERSION}"):
                self._connection.execute(statement)
            if settings is not None:
                self._connection.execute("INSERT INTO manifest VALUES ('settings', ?)", (settings,))
            self._connection.executemany("INSERT INTO seals VALUES (?, ?)", self._sealed())

    def _sealed(self) -> Iterator[tuple[str, str]]:
        """The seal of the settings and of every result, as they should be."""
        for (text,) in self._connection.execute("SELECT value FROM manifest WHERE key = 'settings'"):
            yield _SETTINGS, text_seal(text)
        for key, value, time in self._connection.execute("SELECT key, value, time FROM finished"):
            yield key, text_seal(key, value, time)

    def _damage(self) -> str | None:
        """Compare everything with the layout and its seals; returns what is wrong, in a few words, or None."""
        found = schema_damage(self._connection, _LAYOUT, "")
        if found is not None:
            return found
        # The whole check: keys are found through an index, which no seal covers and the quick check does not compare.
        found = str(self._value("PRAGMA integrity_check(1)"))
        if found != "ok":
            return " ".join(found.split())
        try:
            expected = dict(self._sealed())
        except (TypeError, AttributeError):
            return "a stored value is no text"
        seals = dict(self._connection.execute("SELECT key, seal FROM seals"))
        differing = (key for key in expected.keys() | seals.keys() if expected.get(key) != seals.get(key))
        wrong = sorted(map(str, differing))
        return f"{wrong[0].strip()!r} does not match its checksum" if wrong else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __len__(self) -> int:
        return int(self._value("SELECT count(*) FROM finished"))

    def __contains__(self, key: str) -> bool:
        with self._explained():
            return bool(self._value("SELECT count(*) FROM finished WHERE key = ?", key))

    def get(self, key: str) -> Any:
        """The result of a key that is there."""
        with self._explained():
            return json.loads(self._value("SELECT value FROM finished WHERE key = ?", key))

    def put(self, key: str, value: Any) -> None:
        """Keep a result in one transaction; a key that is there already is an error."""
        entry = (key, json.dumps(value, sort_keys=True), datetime.now(UTC).isoformat(timespec="seconds"))
        with self._explained(), transaction(self._connection):
            if not self._noted:
                # Versions, processor and commit of a run that adds results.
                self._connection.execute("INSERT INTO sessions (facts) VALUES (?)", (json.dumps(manifest()),))
            self._connection.execute("INSERT INTO finished VALUES (?, ?, ?)", entry)
            self._connection.execute("INSERT INTO seals VALUES (?, ?)", (key, text_seal(*entry)))
        self._noted = True

    def map(
        self,
        job: Callable[[Item], Any],
        items: Mapping[str, Item],
        *,
        n_jobs: int = 1,
        prefer: str = "threads",
        done: Callable[[], object] = lambda: None,
    ) -> list[Any]:
        """Do a job for every item whose key is not there yet, keep each result, and return all, in order of the items.

        Parameters
        ----------
        job
            Item -> result. It runs on workers, and all results are kept by the caller's process.
        items
            Key -> item.
        n_jobs, prefer
            Number of workers, "threads" or "processes"; results do not depend on them.
        done
            Called after every result.
        """
        missing = [key for key in items if key not in self]
        if missing:
            workers = min(effective_n_jobs(n_jobs), len(missing))
            parallel = Parallel(n_jobs=workers, prefer=prefer, batch_size=1, return_as="generator_unordered")
            for key, value in parallel(delayed(_keyed)(job, key, items[key]) for key in missing):
                self.put(key, value)
                done()
        return [self.get(key) for key in items]

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.path, what="this result")

    def _value(self, query: str, *values: str) -> Any:
        found = self._connection.execute(query, values).fetchone()
        if found is None:
            raise ValueError(f"{self.path} is damaged or has no such result; it was left as it is")
        return found[0]


def _keyed(job: Callable[[Item], Any], key: str, item: Item) -> tuple[str, Any]:
    return key, job(item)
