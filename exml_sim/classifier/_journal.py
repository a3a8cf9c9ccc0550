"""The journal of an exploration: every bought value is on disk before the learner sees it.

The first line of the file describes the run (parameters, and a digest of the table). Every further line is a value, or
a row that cannot be measured, with a checksum. The first values of a candidate whose type they tell are one line, with
the encoding of its columns. A run with more money or candidates that continues a finished one
describes itself in a further line, and keeps the values before it. A killed run leaves whole lines and at most one torn
end, which the next run cuts off.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.columns import ColumnEncoding, Encodings
from exml_sim._internal.files import refuse_link

FORMAT, VERSION = "exml journal", 3

#: What a run that continues another one must have in common with it.
_COMMON = ("table", "observed", "categories")

#: A candidate and a row.
Key = tuple[str, int]


def digest(*parts: ArrayLike) -> str:
    """Return a short digest of arrays, by which a changed table is noticed."""
    checksum = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        plain = array.astype(np.float64) if array.dtype.kind in "fiub" else array.astype(np.str_)
        checksum.update(str((plain.shape, plain.dtype.str)).encode())
        checksum.update(np.ascontiguousarray(plain).tobytes())
    return checksum.hexdigest()[:16]


@dataclass(slots=True, eq=False)
class Journal:
    """Bought values, in memory and, with a path, in a file.

    Attributes
    ----------
    run
        Plain values that identify the run. The file of another run is an error.
    path
        The file; None keeps the values in memory only. It is written with the first value.
    values
        Numbers of every pair of candidate and row.
    lost
        Pairs that cannot be measured.
    earlier
        Pairs that an earlier run bought, which this one continues.
    encodings
        How values become numbers, of candidates whose type was learned from their first values.
    """

    run: Mapping[str, Any]
    path: Path | None = None
    values: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    lost: set[Key] = field(default_factory=set)
    earlier: set[Key] = field(default_factory=set)
    encodings: dict[str, Encodings] = field(default_factory=dict)
    _is_new: bool = False

    @classmethod
    def open(cls, run: Mapping[str, Any], path: Path | None = None, top_up: bool = False) -> Journal:
        """Continue the file, if it exists; with `top_up` also that of another run on the same table.

        Raises
        ------
        ValueError
            If the file is no journal, is damaged before its last line, or belongs to another run.
        """
        journal = cls(json.loads(json.dumps(run)), path)
        if path is not None and path.exists():
            before = journal._read(path)
            if before is not None and top_up and before != journal.run:
                journal._check_same_table(before, path)
                journal.earlier, journal._is_new = set(journal.values), True
            elif before is not None:
                journal._check_run(before, path)
        return journal

    @classmethod
    def of_file(cls, path: Path) -> Journal:
        """Read the journal of any run.

        Raises
        ------
        ValueError
            If it cannot be read.
        """
        if not path.exists():
            raise ValueError(f"there is no {path}: was anything explored there?")
        journal = cls({}, path)
        journal.run = journal._read(path) or {}
        return journal

    def begin(self) -> None:
        """Write the line of this run, so that the folder belongs to it before any value is there."""
        if self.path is not None and (self._is_new or not self.path.exists()):
            self._write([])

    def record(self, candidate: str, answers: Iterable[tuple[int, Sequence[float]]]) -> None:
        """Keep values of rows, on disk first."""
        new = [(int(row), tuple(map(float, values))) for row, values in answers]
        self._append({"candidate": candidate, "row": row, "values": list(values)} for row, values in new)
        self.values |= {(candidate, row): values for row, values in new}

    def learn(self, candidate: str, encodings: Encodings, answers: Mapping[int, Sequence[float]]) -> None:
        """Keep the encodings of a candidate, and all its values by them, in one line: a killed run has both or none."""
        values = [[int(row), list(map(float, numbers))] for row, numbers in answers.items()]
        record = {"candidate": candidate, "encodings": [asdict(encoding) for encoding in encodings], "values": values}
        # As it will be read: with lists for tuples.
        record = json.loads(json.dumps(record))
        self._append([record])
        self._take_learned(record)

    def _take_learned(self, record: Mapping[str, Any]) -> None:
        name = str(record["candidate"])
        encodings = tuple(ColumnEncoding(**{**part, "levels": tuple(part["levels"])}) for part in record["encodings"])
        for encoding in encodings:
            encoding.check()
        self.values |= {(name, int(row)): tuple(map(float, numbers)) for row, numbers in record["values"]}
        self.encodings[name] = encodings

    def give_up(self, candidate: str, rows: Iterable[int]) -> None:
        """Remember rows that cannot be measured."""
        new = [int(row) for row in rows]
        self._append({"candidate": candidate, "row": row, "lost": True} for row in new)
        self.lost |= {(candidate, row) for row in new}

    def _append(self, records: Iterable[dict[str, Any]]) -> None:
        lines = [json.dumps(record | {"checksum": _checksum(record)}) for record in records]
        if self.path is not None and lines:
            self._write(lines)

    @property
    def _header(self) -> str:
        return json.dumps({"format": FORMAT, "version": VERSION, "run": self.run})

    def _write(self, lines: list[str]) -> None:
        if self.path is None:
            return
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lines = [self._header, *lines]
        elif self._is_new:
            record = {"continued": self.run}
            lines = [json.dumps(record | {"checksum": _checksum(record)}), *lines]
        self._is_new = False
        if not lines:
            return
        refuse_link(self.path)
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

    def _read(self, path: Path) -> Mapping[str, Any] | None:
        """Read all values, and return the latest run; None if the file was only the beginning of its first line."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        *lines, torn = data.split(b"\n")
        if not lines:
            # A killed run can leave only the beginning of our own first line.
            if not self._header.encode().startswith(torn):
                raise ValueError(f"{path} is not a journal that exml wrote")
            path.unlink()
            return None
        run: Mapping[str, Any] = _parse_header(lines[0], path)["run"]
        for number, line in enumerate(lines[1:], 2):
            try:
                run = self._take(json.loads(line)) or run
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ValueError(f"{path}, line {number}: this is no line of a journal, or it is damaged") from None
        if torn:
            self._cut(path, torn, len(lines) + 1)
        return run

    def _take(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """Keep a value; return the run of a line that continues another one."""
        if record.pop("checksum") != _checksum(record):
            raise ValueError("another checksum")
        if "continued" in record:
            self.earlier = set(self.values)
            return dict(record["continued"])
        if "encodings" in record:
            self._take_learned(record)
            return None
        key = str(record["candidate"]), int(record["row"])
        if record.get("lost"):
            self.lost.add(key)
        else:
            self.values[key] = tuple(map(float, record["values"]))
        return None

    @staticmethod
    def _cut(path: Path, torn: bytes, number: int) -> None:
        """Cut off the end of a line that was being written when the run was killed."""
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

    def _check_run(self, before: Mapping[str, Any], path: Path) -> None:
        for name in dict.fromkeys([*before, *self.run]):
            if before.get(name) != self.run.get(name):
                raise ValueError(
                    f"{path} belongs to a run with {name} {_shorten(before.get(name))}, not "
                    f"{_shorten(self.run.get(name))}: use the same command, another folder, or --continue "
                    "(top_up=True) for more money or candidates"
                )

    def _check_same_table(self, before: Mapping[str, Any], path: Path) -> None:
        """Raise an error if an earlier run was about another table, had other candidates, or bought at other costs."""
        for name in _COMMON:
            if before.get(name) != self.run.get(name):
                raise ValueError(f"{path} belongs to a run with another {name}: use the same one, or another folder")
        columns, now = before.get("candidates") or {}, self.run.get("candidates") or {}
        costs, bought = self.run.get("costs") or {}, {name for name, _ in self.values}
        for candidate, cost in (before.get("costs") or {}).items():
            if candidate not in costs or columns.get(candidate) != now.get(candidate):
                raise ValueError(f"candidate {candidate!r} of {path} must be kept, with its columns, to continue")
            if candidate in bought and cost != costs[candidate]:
                raise ValueError(
                    f"candidate {candidate!r} of {path} was bought at {_describe_cost(cost)}, got "
                    f"{_describe_cost(costs[candidate])}: keep the cost to continue, or use another folder"
                )


def _parse_header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
        if header["format"] == FORMAT and header["version"] == VERSION and isinstance(header["run"], dict):
            return dict(header)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} is not a journal that exml wrote")


def _checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:12]


def _describe_cost(cost: Any) -> str:
    """Describe a cost of a run: an amount, or amount, set-up fee, bundle and its fee."""
    amount, setup, bundle, fee = cost if isinstance(cost, list) else (cost, "0", "", "0")
    fees = [f"set-up fee {setup}"] * (setup != "0") + [f"bundle {bundle!r} for {fee}"] * bool(bundle)
    return f"cost {amount}" + (f" with {' and '.join(fees)}" if fees else "")


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
