"""Explore step by step: values are requested, told and recorded in a journal, so that a run can be resumed.

`ExMLClassifier.fit` is a function of its inputs, its random state and the answers of the oracle. `AskTell` repeats it
with the answers so far, which `RecordedOracle` takes from the `Journal`.

**Journal.** Every bought value is on disk before the learner sees it. The first line of the file describes the run
(parameters, and a digest of the table). Every further line is a value, or a row that cannot be measured, with a
checksum. A run with more money or candidates that continues a finished one describes itself in a further line, and
keeps the values before it. A killed run leaves whole lines and at most one torn end, which the next run cuts off.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.columns import Encodings, read_raw
from exml_sim._internal.files import refuse_link
from exml_sim._internal.validation import check_random_state, shown
from exml_sim.classifier._acquisition import Tariff, add_rows
from exml_sim.money import CandidateCost, Money, exact_cost, show
from exml_sim.oracle import Oracle, availability, checked_answer

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import BaseExMLClassifier

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
    """

    run: Mapping[str, Any]
    path: Path | None = None
    values: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    lost: set[Key] = field(default_factory=set)
    earlier: set[Key] = field(default_factory=set)
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
        """Raise an error if an earlier run was about another table, or had other candidates."""
        for name in _COMMON:
            if before.get(name) != self.run.get(name):
                raise ValueError(f"{path} belongs to another table: {name} differ, so nothing can be continued")
        columns, now = before.get("candidates") or {}, self.run.get("candidates") or {}
        for candidate in before.get("costs") or {}:
            if candidate not in (self.run.get("costs") or {}) or columns.get(candidate) != now.get(candidate):
                raise ValueError(f"candidate {candidate!r} of {path} must be kept, with its columns, to continue")


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


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


class MissingMeasurements(Exception):
    """The run needs values that nobody has measured: `rows` by candidate."""

    def __init__(self, rows: Mapping[str, IntArray]) -> None:
        self.rows = dict(rows)
        listed = ", ".join(f"{len(places)} of {name}" for name, places in self.rows.items())
        super().__init__(f"values that nobody has measured are needed: {listed}")


class RecordedOracle:
    """An oracle that answers from a journal, then from a source; what neither has is `MissingMeasurements`.

    Parameters
    ----------
    costs
        Cost of one value of each candidate.
    n_rows
        Number of rows m.
    journal
        Answers so far; every new answer of the source is recorded before it is given.
    source
        Where values come from that are not in the journal; None if people measure them.
    measurable
        Whether people can measure what the source lacks. Otherwise such rows cannot be bought.
    watch
        Called after every purchase with the number of values of the run.
    """

    def __init__(
        self,
        costs: Mapping[str, Money],
        n_rows: int,
        journal: Journal,
        source: Oracle | None = None,
        *,
        measurable: bool = True,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        if not costs:
            raise ValueError("an oracle needs at least one candidate, got none")
        self.names = tuple(costs)
        self.costs = tuple(exact_cost(cost, f"cost of candidate {name!r}") for name, cost in costs.items())
        self.n_rows, self._journal, self._source = n_rows, journal, source
        self._measurable = measurable or source is None
        self._watch = watch
        self._asked: set[tuple[str, int]] = set()

    @property
    def encodings(self) -> Mapping[str, Encodings]:
        """Encodings of the source; answers in the journal are encoded already."""
        return getattr(self._source, "encodings", {})

    @property
    def earlier(self) -> dict[str, IntArray]:
        """Rows by candidate that an earlier run bought."""
        rows = {name: sorted(row for owner, row in self._journal.earlier if owner == name) for name in self.names}
        return {name: np.array(places, dtype=np.int64) for name, places in rows.items() if places}

    @property
    def unused(self) -> int:
        """Recorded values that this run has not asked for so far."""
        return len(set(self._journal.values) - self._asked)

    def available(self, candidate: str) -> BoolArray:
        """Return rows that are recorded, that the source has, or that can be measured; lost rows are not there."""
        rows = np.ones(self.n_rows, dtype=np.bool_) if self._measurable else self._offered(candidate)
        rows[[row for name, row in self._journal.values if name == candidate]] = True
        rows[[row for name, row in self._journal.lost if name == candidate]] = False
        return rows

    def prepare(self, wanted: Mapping[str, IntArray]) -> None:
        """Check a whole purchase before its values are queried; raise `MissingMeasurements` if values lack."""
        missing = {}
        for name, rows in wanted.items():
            self._asked |= {(name, int(row)) for row in rows}
            new = self._unrecorded(name, rows)
            new = new[~self._offered(name)[new]]
            if len(new):
                missing[name] = new
        if missing:
            raise MissingMeasurements(missing)
        if self._watch is not None:
            self._watch(len(self._asked))

    def query(self, candidate: str, rows: ArrayLike) -> FloatArray:
        """Return recorded values; new ones of the source are recorded first."""
        places = np.asarray(rows, dtype=np.int64)
        self.prepare({candidate: places})
        new = self._unrecorded(candidate, places)
        if len(new) and self._source is not None:
            answer = checked_answer(self._source.query(candidate, new), candidate, new)
            self._journal.record(candidate, zip(new.tolist(), answer.tolist(), strict=True))
        return np.array([self._journal.values[candidate, int(row)] for row in places], dtype=np.float64)

    def _unrecorded(self, candidate: str, rows: IntArray) -> IntArray:
        return np.array([row for row in rows if (candidate, int(row)) not in self._journal.values], dtype=np.int64)

    def _offered(self, candidate: str) -> BoolArray:
        """Return the rows that the source has."""
        if self._source is None:
            return np.zeros(self.n_rows, dtype=np.bool_)
        return availability(self._source, candidate, self.n_rows).copy()


@dataclass(frozen=True, slots=True, eq=False)
class MeasurementRequest:
    """Rows to be measured now by candidate, the cost of one value of each, and money for all, and before."""

    rows: dict[str, IntArray]
    costs: dict[str, Fraction]
    cost: Fraction
    before: Fraction

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))


class AskTell:
    """One exploration, step by step.

    Parameters
    ----------
    model
        An `ExMLClassifier`; it is fitted when nothing is left to measure. Its random state must be a whole number,
        because every step repeats the run so far with the answers so far.
    X, y
        As for `ExMLClassifier.fit`.
    costs
        Cost of one value of each candidate.
    journal
        File to which every value is appended at once; a later `AskTell` with the same arguments continues it.
    source
        Oracle for values that are measured already.
    measurable
        False: what the source lacks cannot be bought, and nobody is asked.
    watch
        Called after every purchase with the number of values of the run.
    about
        Further plain values that identify the run, for instance names of columns.
    groups
        As for `ExMLClassifier.fit`.
    top_up
        Continue a finished run of the journal with a larger budget or further candidates. What it bought is kept, and
        its money counts.

    Examples
    --------
    >>> from exml_sim.datasets import make_synthetic
    >>> from exml_sim.classifier import ExMLClassifier
    >>> rows = make_synthetic(40, angles=[20, 90], rng=0)
    >>> laboratory = {c.name: c.values for c in rows.candidates}
    >>> run = AskTell(ExMLClassifier(budget=100), rows.X, rows.y, {name: 1 for name in laboratory})
    >>> while request := run.ask():
    ...     run.tell({name: laboratory[name][places] for name, places in request.rows.items()})
    >>> run.model.ledger_.spent == len(run.journal.values) <= 100
    True
    """

    def __init__(
        self,
        model: BaseExMLClassifier,
        X: Any,
        y: ArrayLike,
        costs: Mapping[str, Money],
        *,
        journal: str | Path | None = None,
        source: Oracle | None = None,
        measurable: bool = True,
        watch: Callable[[int], None] | None = None,
        about: Mapping[str, Any] | None = None,
        groups: ArrayLike | None = None,
        top_up: bool = False,
    ) -> None:
        state = model.random_state
        if isinstance(state, bool) or not isinstance(state, Integral):
            raise ValueError(f"random_state must be a whole number, so that the run can be repeated; got {state!r}")
        check_random_state(state)
        if not isinstance(costs, Mapping) or not costs:
            raise ValueError(f"costs must name at least one candidate, like {{'ct': 5}}; got {shown(costs)}")
        for name, cost in costs.items():
            exact_cost(cost, f"cost of candidate {name!r}")
        self.model, self._X, self._y, self._groups = model, X, y, groups
        self._source, self._measurable = source, measurable
        self._costs, self._watch = dict(costs), watch
        labels = (y,) if groups is None else (y, groups)
        run = {**_identify_run(model, X, labels, self._costs), **(about or {})}
        self.journal = Journal.open(run, None if journal is None else Path(journal), top_up)
        self._request: MeasurementRequest | None = None
        self.unused = 0

    def ask(self) -> MeasurementRequest | None:
        """Return what to measure next; None when the model is fitted."""
        how: dict[str, Any] = {"measurable": self._measurable, "watch": self._watch}
        oracle = RecordedOracle(self._costs, len(np.asarray(self._y)), self.journal, self._source, **how)
        self._request = None
        try:
            self.model.fit(self._X, self._y, oracle, groups=self._groups)
        except MissingMeasurements as missing:
            self._request = self._make_request(missing.rows, oracle)
        self.unused = oracle.unused
        return self._request

    def _make_request(self, rows: dict[str, IntArray], oracle: RecordedOracle) -> MeasurementRequest:
        """Count the money of the recorded values and of the requested ones."""
        tariff, places = Tariff(oracle.names, oracle.costs), {name: arm for arm, name in enumerate(oracle.names)}
        bought = np.zeros((len(places), oracle.n_rows), dtype=np.bool_)
        for name, row in self.journal.values:
            bought[places[name], row] = True
        before = tariff.money(bought)
        after = tariff.money(add_rows(bought, {places[name]: wanted for name, wanted in rows.items()}))
        return MeasurementRequest(rows, dict(zip(oracle.names, oracle.costs, strict=True)), after - before, before)

    def tell(self, values: Mapping[str, ArrayLike], lost: Mapping[str, ArrayLike] | None = None) -> None:
        """Take values in the order of `MeasurementRequest.rows`; rows with NaN are asked for again.

        Parameters
        ----------
        values
            By candidate, shape (rows,) or (rows, columns). Candidates may be left out, they are asked for again.
        lost
            Row numbers by candidate that cannot be measured; the next row of the order is asked for instead.
        """
        if self._request is None:
            raise ValueError("nothing was asked for: call ask first")
        requested = self._request.rows
        gone = {name: _check_lost(name, rows) for name, rows in (lost or {}).items()}
        for name in [*values, *gone]:
            if name not in requested:
                raise ValueError(f"no value of {name!r} was asked for: {', '.join(requested)}")
        tables = {name: _complete_rows(name, v, requested[name], gone.get(name, set())) for name, v in values.items()}
        for name, rows in gone.items():
            stray = sorted(rows - set(requested[name].tolist()))
            if stray:
                raise ValueError(f"row {stray[0]} of {name!r} was not asked for")
        for name, answers in tables.items():
            self.journal.record(name, answers.items())
        for name, rows in gone.items():
            self.journal.give_up(name, sorted(rows))
        self._request = None


def _complete_rows(name: str, values: ArrayLike, rows: IntArray, gone: set[int]) -> dict[int, tuple[float, ...]]:
    """Return complete answers by row; rows with None or NaN are still lacking."""
    table = _check_values(name, values)
    if len(table) != len(rows):
        raise ValueError(f"{len(rows)} values of candidate {name!r} were asked for, got {len(table)}")
    blank = np.isnan(table.reshape(len(rows), -1)).any(axis=1)
    keep = np.flatnonzero(~blank & ~np.isin(rows, list(gone)))
    if not len(keep):
        return {}
    checked = checked_answer(table[keep], name, rows[keep])
    return {int(row): tuple(numbers) for row, numbers in zip(rows[keep], checked.tolist(), strict=True)}


def _check_values(name: str, values: ArrayLike) -> FloatArray:
    try:
        raw = np.asarray(values)
        is_text = raw.dtype.kind in "US" or any(isinstance(cell, str) for cell in raw.ravel() if raw.dtype == object)
        if is_text or raw.ndim not in (1, 2):
            raise TypeError
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"values of candidate {name!r} must be numbers of shape (rows,) or (rows, columns), got {shown(values)}"
        ) from None


def _check_lost(name: str, rows: ArrayLike) -> set[int]:
    raw = np.ravel(rows)
    if raw.size and raw.dtype.kind not in "iu":
        raise ValueError(f"lost rows of candidate {name!r} must be row numbers, got {shown(rows)}")
    return {int(row) for row in raw}


def _identify_run(
    model: BaseExMLClassifier, X: Any, labels: Iterable[ArrayLike], costs: Mapping[str, Money]
) -> dict[str, Any]:
    """Return plain values that identify a run, with its labels and groups; the number of threads does not."""
    given = {name: _plain(value) for name, value in sorted(model.parameters().items()) if name != "n_jobs"}
    plain_costs = {name: _plain(cost) for name, cost in costs.items()}
    table = read_raw(X)
    return {**given, "costs": plain_costs, "table": digest(*(cells.values for cells in table.cells), *labels)}


def _plain(value: Any) -> Any:
    if isinstance(value, CandidateCost) and (value.setup or value.bundle):
        return [show(value), show(value.setup), value.bundle, show(value.bundle_fee)]
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
