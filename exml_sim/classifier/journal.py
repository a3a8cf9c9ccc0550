"""The journal of a run: every bought value on a line of its own, on the disk before the learner sees it.

The first line says which run it is (settings, and a digest of the table), every further one is a value, or a row that
turned out not to be measurable, with a checksum. Lines are appended and forced to the disk, so a run that is killed at
any moment leaves whole lines and at most one torn end, which the next run cuts off.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FORMAT = "exml journal"
#: Lines have checksums since version 2; journals without them are continued.
VERSION = 2

#: A candidate and a row.
Key = tuple[str, int]


def digest(*parts: ArrayLike) -> str:
    """A short digest of arrays, by which a changed table is noticed."""
    found = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        plain = array.astype(np.float64) if array.dtype.kind in "fiub" else array.astype(np.str_)
        found.update(str((plain.shape, plain.dtype.str)).encode())
        found.update(np.ascontiguousarray(plain).tobytes())
    return found.hexdigest()[:16]


@dataclass(slots=True, eq=False)
class Journal:
    """Answers that were paid for, in memory and, with a path, in a file.

    Attributes
    ----------
    run
        What the run is: plain values by name. A file of another run is refused.
    path
        The file; None keeps the answers in memory only. It is written with the first answer, not before.
    values
        Numbers of every answered pair of candidate and row.
    lost
        Pairs that cannot be measured.
    """

    run: Mapping[str, Any]
    path: Path | None = None
    values: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    lost: set[Key] = field(default_factory=set)

    @classmethod
    def open(cls, run: Mapping[str, Any], path: Path | None = None) -> Journal:
        """Go on with the file, if there is one.

        Raises
        ------
        ValueError
            If the file is no journal, is damaged before its last line, or belongs to another run.
        """
        journal = cls(json.loads(json.dumps(run)), path)
        if path is not None and path.exists():
            journal._read(path)
        return journal

    @classmethod
    def of_file(cls, path: Path) -> Journal:
        """The journal in a file, whatever run it is of; for reading.

        Raises
        ------
        ValueError
            If there is none, or the file is damaged.
        """
        try:
            with path.open("rb") as file:
                run = json.loads(file.readline())["run"]
        except FileNotFoundError:
            raise ValueError(f"there is no {path}: was anything explored there?") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is not a journal that exml wrote") from None
        return cls.open(run, path)

    def begin(self) -> None:
        """Write the first line, so that the place belongs to this run before any value is there."""
        if self.path is not None and not self.path.exists():
            self._write([])

    def record(self, candidate: str, answers: Iterable[tuple[int, Sequence[float]]]) -> None:
        """Keep values of some rows: on the disk first."""
        new = [(int(row), tuple(float(one) for one in values)) for row, values in answers]
        self._append({"candidate": candidate, "row": row, "values": list(values)} for row, values in new)
        self.values |= {(candidate, row): values for row, values in new}

    def give_up(self, candidate: str, rows: Iterable[int]) -> None:
        """Remember that some rows cannot be measured."""
        new = [int(row) for row in rows]
        self._append({"candidate": candidate, "row": row, "lost": True} for row in new)
        self.lost |= {(candidate, row) for row in new}

    def _append(self, records: Iterable[dict[str, Any]]) -> None:
        lines = [_sealed(record) for record in records]
        if self.path is not None and lines:
            self._write(lines)

    @property
    def _head(self) -> str:
        return json.dumps({"format": FORMAT, "version": VERSION, "run": self.run})

    def _write(self, lines: list[str]) -> None:
        assert self.path is not None
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lines = [self._head, *lines]
        with self.path.open("ab") as file:
            before = file.tell()
            try:
                file.write(("\n".join(lines) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                # A full disk may have taken half of a line, to which the next one must not be added.
                with suppress(OSError):
                    os.ftruncate(file.fileno(), before)
                raise
        _settle(self.path.parent)

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        *lines, torn = data.split(b"\n")
        if not lines:
            # Only the beginning of our own first line can be what a killed run left.
            if not self._head.encode().startswith(torn):
                raise ValueError(f"{path} is not a journal that exml wrote")
            path.unlink()
            return
        version = self._check_head(lines[0], path)
        for number, line in enumerate(lines[1:], 2):
            try:
                self._take(line, sealed=version > 1)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ValueError(f"{path}, line {number}: this is no line of a journal, or it is damaged") from None
        if torn:
            self._cut(path, torn, len(lines) + 1)

    def _take(self, line: bytes, *, sealed: bool) -> None:
        record = json.loads(line)
        seal = record.pop("seal", None)
        if seal != _seal(record) and (sealed or seal is not None):
            raise ValueError("another checksum")
        key = str(record["candidate"]), int(record["row"])
        if record.get("lost"):
            self.lost.add(key)
        else:
            self.values[key] = tuple(float(one) for one in record["values"])

    @staticmethod
    def _cut(path: Path, torn: bytes, number: int) -> None:
        """Cut off the end of a line that was being written when the run was killed: nobody has seen it."""
        text = torn.decode(errors="replace")
        try:
            end = json.JSONDecoder().raw_decode(text)[1]
        except ValueError:
            end = len(text)
        if end < len(text):
            # A whole line with something behind it was not torn: its end is damaged.
            raise ValueError(f"{path}, line {number}: this is no line of a journal, or it is damaged")
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - len(torn))

    def _check_head(self, line: bytes, path: Path) -> int:
        """The version of a journal of this run."""
        try:
            head = json.loads(line)
            good = head["format"] == FORMAT and head["version"] in (1, VERSION) and isinstance(head["run"], dict)
        except (ValueError, KeyError, TypeError):
            good = False
        if not good:
            raise ValueError(f"{path} is not a journal that exml wrote")
        then = head["run"]
        for name in dict.fromkeys([*then, *self.run]):
            if then.get(name) != self.run.get(name):
                raise ValueError(
                    f"{path} belongs to a run with {name} {_short(then.get(name))}, not {_short(self.run.get(name))}: "
                    "go on with the same command, or choose another place"
                )
        return int(head["version"])


def _seal(record: Mapping[str, Any]) -> str:
    return _checksum(json.dumps(record, sort_keys=True))


def _sealed(record: dict[str, Any]) -> str:
    """The line of a record. Most are sorted by key: their text is made once, for checksum and line alike."""
    text = json.dumps(record)
    seal = _checksum(text) if list(record) == sorted(record) else _seal(record)
    return f'{text[:-1]}, "seal": "{seal}"}}'


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _settle(folder: Path) -> None:
    """Force the entry of a new file to the disk; not every system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
