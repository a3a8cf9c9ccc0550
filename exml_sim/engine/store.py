"""The store: one SQLite file per study, written by the driver alone, one transaction per block.

In WAL mode a transaction is there as a whole or not at all, whatever kills the process, so a store always holds
complete blocks and the next run computes what is missing. Nothing that is stored is ever overwritten: a trial that is
there twice is an error. Every part has a SHA-256 beside it, which is compared when a store is opened: SQLite itself
does not notice a flipped bit inside a number (`exml_sim.engine._schema`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from exml_sim.engine._files import (
    APPLICATION,
    DriverLock,
    OtherStudyError,
    Rows,
    StoreError,
    beside,
    check_owner,
    check_place,
    connect,
    connect_to_read,
    draft,
    explained,
    transaction,
)
from exml_sim.engine._schema import (
    DECISIVE,
    VERSION,
    checksum,
    find_damage,
    find_schema_damage,
    header_checksum,
    list_statements,
    manifest,
)
from exml_sim.engine._trials import Block, CellMetadata, OutcomeDistribution
from exml_sim.engine.study import DRAWS, Cell, Study
from exml_sim.plugins import BOUNDS, DATA, GROUPS, Plugin, Plugins, UnknownPlugin, describe_change

__all__ = ["APPLICATION", "VERSION", "Store", "StoreError"]

logger = logging.getLogger(__name__)

#: Numbers of columns of the tables.
_COLUMNS = {
    "manifest": 2,
    "cells": 8,
    "trials": 7,
    "blocks": 6,
    "terms": 12,
    "distributions": 7,
    "distribution_checksums": 2,
    "failures": 2,
}


class Store:
    """A study's results in one SQLite file.

    Use `Store.create_or_open` to write, `Store.read` to look. `path=None` is a private temporary file that goes away
    with the object.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, lock: DriverLock | None = None) -> None:
        self._connection = connection
        self._lock = lock
        self._inode: int | None = None
        self.path = path

    @classmethod
    def create_or_open(
        cls, path: Path | str | None, study: Study, cells: Sequence[Cell], metadata: Sequence[CellMetadata] = ()
    ) -> Self:
        """Open the store of a study for writing; make it, with the metadata of its cells, if the file does not exist.

        Raises
        ------
        StoreError
            If the file cannot be written, is no store, is damaged, is of another version, belongs to another study, or
            another run is writing to it.
        """
        if path is None:
            store = cls(connect(None, "rwc"), None)
            store._create(study, cells, metadata)
            store._note_session()
            return store
        where = Path(path)
        check_place(where)
        lock = DriverLock(where)
        try:
            beside(where, "-new").unlink(missing_ok=True)
            if not where.exists():
                cls._build(where, lambda store: store._create(study, cells, metadata))
            return cls._open_to_write(where, study, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def make_from(cls, path: Path, parts: Sequence[Store]) -> None:
        """Make a new store from the blocks of others of one study, all at once; call with its lock held."""

        def fill(store: Store) -> None:
            store._create_like(parts[0])
            for part in parts:
                store.copy_from(part)
            store._note_session()

        cls._build(path, fill)

    @classmethod
    def _build(cls, path: Path, fill: Callable[[Store], None]) -> None:
        """Build a store beside, and give it its name when it is complete, so that no other file is overwritten."""
        with draft(path) as built, explained(path, "make"):
            store = cls(connect(built, "rwc"), path)
            try:
                fill(store)
                store._connection.execute("PRAGMA journal_mode = WAL")
            finally:
                store.close()

    @classmethod
    def _open_to_write(cls, where: Path, study: Study, lock: DriverLock) -> Self:
        # Before anything else: connecting alone would change somebody else's database.
        check_owner(where)
        store = cls(connect(where, "rw"), where)
        store._inode = where.stat().st_ino
        try:
            with explained(where):
                store._check()
                store._check_study(study)
                store._connection.execute("PRAGMA journal_mode = WAL")
                store._connection.execute("PRAGMA synchronous = NORMAL")
                store._note_session()
        except BaseException:
            store.close()
            raise
        store._lock = lock
        return store

    @classmethod
    def read(cls, path: Path | str, check: bool = True) -> Self:
        """Open an existing store to look at it, also while a run writes to it.

        Its contents are compared with their checksums, unless this process has just written them (`check=False`).
        """
        where = Path(path)
        if not where.is_file():
            raise StoreError(f"there is no store at {where}")
        check_owner(where)
        store = cls(connect_to_read(where), where)
        try:
            with explained(where, "read"):
                store._connection.execute("PRAGMA query_only = ON")
                store._check(check)
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _create(self, study: Study, cells: Sequence[Cell], metadata: Sequence[CellMetadata]) -> None:
        text = study.to_toml()
        if Study.from_toml(text, plugins=Plugins(study.used_plugins)) != study:
            raise StoreError("the study cannot be written as TOML and read again: a text in it is the reason")
        head = [
            ("hash", study.hash),
            ("study", text),
            ("seed", str(study.seed)),
            ("mode", study.mode),
            ("draws", str(DRAWS.get(study.mode, 1))),
            ("metadata", json.dumps([asdict(cell) for cell in metadata])),
            ("plugins", json.dumps([plugin.identity() for plugin in study.used_plugins])),
        ]
        lines = [
            (c.index, *c.labels, c.budget, c.stream, str(pool.prices.unit), json.dumps(list(pool.names)))
            for c, pool in ((c, study.pool(c)) for c in cells)
        ]
        self._write_head([*head, ("checksum", header_checksum(head, lines))], lines)

    def _create_like(self, other: Store) -> None:
        """Take over study, cells and checksum of another store."""
        head = list(other.rows("SELECT key, value FROM manifest"))
        self._write_head(head, list(other.rows("SELECT * FROM cells ORDER BY cell")))

    def _write_head(self, head: Sequence[Sequence[Any]], cells: Sequence[Sequence[Any]]) -> None:
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        with transaction(self._connection):
            for statement in list_statements():
                self._connection.execute(statement)
            self._insert("cells", cells)
            self._insert("manifest", head)
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self, contents: bool = True) -> None:
        version = self._value("PRAGMA user_version")
        if version != VERSION:
            other = "a later" if version > VERSION else "an earlier"
            raise StoreError(
                f"{self.path} was written by {other} version (schema {version}, this version has schema {VERSION}); "
                "nothing was changed"
            )
        damage = find_schema_damage(self._connection)
        if damage is None and contents:
            pages = self._value("PRAGMA quick_check(1)")
            damage = find_damage(self._connection) if pages == "ok" else " ".join(str(pages).split())
        if damage is not None:
            raise self._damaged(damage)
        if contents:
            self._check_draws()

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(f"{self.path} is damaged ({reason}); it was left as it is")

    def _check_draws(self) -> None:
        """Refuse trials that this version would draw otherwise: to go on, to merge or to replay would mix the two."""
        mode, stored = self._header("mode"), int(self._header("draws"))
        present = DRAWS.get(mode, 1)
        if stored != present:
            other = "a later" if stored > present else "an earlier"
            raise StoreError(
                f"{self.path} holds trials of mode {mode!r} that {other} version drew otherwise (draws {stored}, this "
                f"version has draws {present}); nothing was changed: run the study into another file"
            )

    def _header(self, key: str) -> str:
        return str(self._value("SELECT value FROM manifest WHERE key = ?", (key,)))

    def _check_study(self, study: Study) -> None:
        if self.hash != study.hash:
            raise OtherStudyError(
                f"{self.path} belongs to another study ({self.hash[:12]}, and this one is {study.hash[:12]}); "
                "nothing was changed: give another file"
            )
        self.check_plugins(
            [plugin.identity() for plugin in study.used_plugins], "nothing was changed: give another file"
        )

    def check_plugins(self, now: Sequence[Mapping[str, str]], end: str) -> None:
        """Refuse to put results of a changed plug-in, or of changed data, beside those that are stored.

        Bounds may change: they are laid over results and are no part of them.
        """
        there = {(plugin["group"], plugin["name"]): plugin for plugin in now}
        for before in self.plugins:
            other = there.get((before["group"], before["name"]))
            if other is not None and other["digest"] != before["digest"] and before["group"] != BOUNDS:
                raise OtherStudyError(f"{self.path}: {describe_change(before, other)}; {end}")

    def _note_session(self) -> None:
        environment = manifest()
        before = self.sessions()
        changed = [key for key in DECISIVE if any(session.get(key) != environment.get(key) for session in before)]
        if changed:
            logger.warning(
                "the store has results of another %s: selections are the same, regrets and weights may differ in their "
                "last digits",
                " and ".join(changed),
            )
        text = json.dumps(environment)
        with transaction(self._connection):
            self._add_sessions([(text, checksum(text))])

    def _add_sessions(self, lines: Iterable[tuple[str, str]]) -> None:
        self._connection.executemany("INSERT INTO sessions (environment, checksum) VALUES (?, ?)", lines)

    def _value(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        line = self.rows(query, parameters).fetchone()
        if line is None:
            raise self._damaged("something is not there")
        return line[0]

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> Rows:
        """Answer any query, one line at a time."""
        return Rows(self._connection, query, parameters, self.path)

    @property
    def hash(self) -> str:
        """Identity of the study."""
        return self._header("hash")

    @property
    def study(self) -> Study:
        """The study, read back; nothing of a plug-in is imported."""
        return self.read_study(Plugins(installed=False))

    def read_study(self, offer: Plugins) -> Study:
        """Read the study back; plug-ins that are not offered stay names.

        Raises
        ------
        StoreError
            If there is no study that can be read, or a plug-in has changed.
        """
        folders = () if self.path is None else (self.path.resolve().parent,)
        known = tuple(_resolve_stored(identity, offer) for identity in self.plugins)
        try:
            study = Study.from_toml(self._header("study"), plugins=Plugins(known, False, folders))
        except ValueError as error:
            raise StoreError(f"{self.path} holds no study that can be read: {error}") from None
        self.check_plugins([plugin.identity() for plugin in study.used_plugins], "nothing was changed")
        return study

    def study_cells(self, study: Study) -> tuple[Cell, ...]:
        """Return the cells of its study as they were stored; no pool is built."""
        pools = {pool.label: place for place, pool in enumerate(study.pools)}
        scores = {score.label: place for place, score in enumerate(study.scores)} | {"": -1}
        lines = list(self.rows("SELECT cell, pool, score, strategy, budget, stream FROM cells ORDER BY cell"))
        if any(pool not in pools or score not in scores for _, pool, score, *_ in lines):
            raise StoreError(f"{self.path} holds no study that can be read: its cells belong to another one")
        return tuple(
            Cell(
                number, pools[pool], scores[score], number % len(study.strategies), budget, stream, (pool, score, name)
            )
            for number, pool, score, name, budget, stream in lines
        )

    @property
    def plugins(self) -> list[Mapping[str, str]]:
        """Group, name, version and digest of everything in the study that is somebody else's."""
        plugins = self._list_of_tables("plugins")
        for plugin in plugins:
            if set(plugin) != {"group", "name", "version", "digest"} or plugin["group"] not in (*GROUPS, DATA):
                raise self._damaged("a plug-in that is none")
        return plugins

    def _list_of_tables(self, key: str) -> list[Any]:
        """Read an entry of the header that must be a JSON list of objects."""
        try:
            tables = json.loads(self._header(key))
        except ValueError:
            tables = None
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._damaged(f"its {key} are no list of tables")
        return tables

    @property
    def metadata(self) -> list[CellMetadata]:
        """What summaries need to know of the cells, in their order."""
        tables = self._list_of_tables("metadata")
        try:
            return [CellMetadata(**{**table, "costs": tuple(table["costs"])}) for table in tables]
        except (KeyError, TypeError):
            raise self._damaged("metadata of a cell") from None

    def sessions(self) -> list[Mapping[str, str]]:
        """Return versions, processor and commit of every run that wrote here, the first one first."""
        return [json.loads(text) for (text,) in self.rows("SELECT environment FROM sessions ORDER BY number")]

    def add(self, block: Block) -> None:
        """Store one block in one transaction.

        Raises
        ------
        StoreError
            If one of its trials is there already, or the disk refuses.
        """
        results, terms = block.rows()
        line = (block.cell, block.first, len(block), json.dumps(block.pulls.tolist()), block.seconds)
        with self._write():
            self._insert("trials", results)
            self._insert("terms", terms)
            self._insert("blocks", [(*line, checksum(line, results, terms))])

    def _insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * _COLUMNS[table])})", rows)

    @contextmanager
    def _write(self) -> Iterator[None]:
        """Run one transaction, if the file of this store still has its name."""
        if self._inode is not None and self.path is not None:
            inode = self.path.stat().st_ino if self.path.exists() else None
            if inode != self._inode:
                raise StoreError(
                    f"{self.path} was removed or replaced during the run, and results would be lost: run the study "
                    "again into another file"
                )
        with explained(self.path, "write to"), transaction(self._connection):
            yield

    def remove_trials(self, cell: int) -> None:
        """Remove the trials of a cell whose plug-in failed."""
        with self._write():
            for table in ("trials", "terms", "blocks"):
                self._connection.execute(f"DELETE FROM {table} WHERE cell = ?", (cell,))

    def record_failures(self, reasons: Mapping[int, str]) -> None:
        """Record why cells failed in this run; reasons of earlier runs are forgotten."""
        with self._write():
            self._connection.execute("DELETE FROM failures")
            self._insert("failures", reasons.items())

    def failures(self) -> dict[int, str]:
        """Return the reasons of cells that failed in the last run."""
        return {int(cell): str(reason) for cell, reason in self.rows("SELECT cell, reason FROM failures ORDER BY cell")}

    def add_distribution(self, cell: int, distribution: OutcomeDistribution) -> None:
        """Store the exact distribution of the outcome of a cell."""
        lines = [(cell, arm, *line) for arm, line in enumerate(distribution.lines())]
        with self._write():
            self._insert("distributions", lines)
            self._insert("distribution_checksums", [(cell, checksum(lines))])

    def copy_from(self, other: Store) -> None:
        """Take over all blocks and distributions of another store of the same study, in one transaction.

        Raises
        ------
        StoreError
            If both hold a trial.
        """
        with self._write():
            for table in ("trials", "blocks", "distributions", "distribution_checksums", "terms"):
                self._insert(table, other.rows(f"SELECT * FROM {table}"))
            self._add_sessions(other.rows("SELECT environment, checksum FROM sessions ORDER BY number"))

    def ranges(self, cell: int) -> list[tuple[int, int]]:
        """Return the stored trials of a cell as ranges first … stop - 1, in order."""
        ranges: list[tuple[int, int]] = []
        for first, trials in self.rows("SELECT first, trials FROM blocks WHERE cell = ? ORDER BY first", (cell,)):
            start = ranges.pop()[0] if ranges and ranges[-1][1] == first else first
            ranges.append((start, first + trials))
        return ranges

    def has_distribution(self, cell: int) -> bool:
        """Whether the exact distribution of a cell is stored."""
        return bool(self._value("SELECT count(*) FROM distributions WHERE cell = ?", (cell,)))

    def counts(self, cell: int, stop: int | None = None, first: int = 0) -> tuple[int, int]:
        """Trials and failures of a cell (of its trials first … stop - 1, if given)."""
        last = 2**62 if stop is None else stop
        query = "SELECT count(*), coalesce(sum(1 - success), 0) FROM trials WHERE cell = ? AND trial >= ? AND trial < ?"
        trials, failures = self.rows(query, (cell, first, last)).fetchone()
        return int(trials), int(failures)

    def pulls(self, cell: int) -> list[int]:
        """Pulls per arm, summed over the stored trials of a cell."""
        blocks = [json.loads(pulls) for (pulls,) in self.rows("SELECT pulls FROM blocks WHERE cell = ?", (cell,))]
        return [sum(column) for column in zip(*blocks, strict=True)]

    def digest(self, *, portable: bool = False) -> str:
        """SHA-256 of all results, whatever the blocks and sessions that made them.

        Parameters
        ----------
        portable
            Only selections, successes, spending and pulls, which are the same on every processor. Regrets, weights and
            probabilities are rounded differently by other instructions; they agree within the tolerance of the solver.
        """
        total = hashlib.sha256(self.hash.encode())
        columns = "cell, trial, selected, success, spent" if portable else "*"
        for line in self.rows(f"SELECT {columns} FROM trials ORDER BY cell, trial"):
            total.update(repr(line).encode())
        for table in () if portable else ("distributions", "terms"):
            for line in self.rows(f"SELECT * FROM {table} ORDER BY 1, 2"):
                total.update(repr(line).encode())
        for (cell,) in list(self.rows("SELECT cell FROM cells ORDER BY cell")):
            total.update(repr(self.pulls(cell)).encode())
        return total.hexdigest()


def _resolve_stored(identity: Mapping[str, str], offer: Plugins) -> Plugin:
    """Find what a store names among the plug-ins that are offered; it is not loaded if there is none."""
    group, name = identity["group"], identity["name"]
    try:
        if group != DATA:
            return offer.resolve(group, name)
    except UnknownPlugin:
        pass
    return Plugin(group, name, identity["version"], identity["digest"])
