"""Explore step by step: values are requested, told and recorded in a journal, so that a run can be resumed.

`ExMLClassifier.fit` is a function of its inputs, its random state and the answers of the oracle. `AskTell` repeats it
with the answers so far, which `RecordedOracle` takes from the `Journal`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.columns import (
    CellError,
    Cells,
    Encodings,
    RawTable,
    count_unknown,
    encode,
    fit_encodings,
    read_raw,
    write_level,
)
from exml_sim._internal.validation import check_random_state, counted, shown
from exml_sim.classifier._acquisition import Tariff, add_rows
from exml_sim.classifier._journal import Journal, digest
from exml_sim.money import CandidateCost, Money, exact_cost, show
from exml_sim.oracle import ArrayOracle, Oracle, availability, checked_answer, name_columns

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import BaseExMLClassifier


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
        self.names = tuple(costs)
        self.costs = tuple(exact_cost(cost, f"cost of candidate {name!r}") for name, cost in costs.items())
        if isinstance(source, ArrayOracle) and journal.encodings:
            source = source.encoded_by({**source.encodings, **journal.encodings})
        self.n_rows, self._journal, self._source = n_rows, journal, source
        self._measurable = measurable or source is None
        self._watch = watch
        self._asked: set[tuple[str, int]] = set()

    @property
    def encodings(self) -> Mapping[str, Encodings]:
        """Encodings of the source, and learned ones; answers in the journal are encoded already."""
        return {**getattr(self._source, "encodings", {}), **self._journal.encodings}

    @property
    def earlier(self) -> dict[str, IntArray]:
        """Rows by candidate that an earlier run bought."""
        rows = {name: sorted(row for owner, row in self._journal.earlier if owner == name) for name in self.names}
        return {name: np.array(places, dtype=np.int64) for name, places in rows.items() if places}

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
        #: What is to be measured now; None before `ask` and after `tell`.
        self.request: MeasurementRequest | None = None

    def ask(self) -> MeasurementRequest | None:
        """Return what to measure next; None when the model is fitted."""
        how: dict[str, Any] = {"measurable": self._measurable, "watch": self._watch}
        oracle = RecordedOracle(self._costs, len(np.asarray(self._y)), self.journal, self._source, **how)
        self.request = None
        try:
            self.model.fit(self._X, self._y, oracle, groups=self._groups)
        except MissingMeasurements as missing:
            self.request = self._make_request(missing.rows, oracle)
        return self.request

    def _make_request(self, rows: dict[str, IntArray], oracle: RecordedOracle) -> MeasurementRequest:
        """Count the money of the recorded values and of the requested ones."""
        tariff, places = Tariff(oracle.names, oracle.costs), {name: arm for arm, name in enumerate(oracle.names)}
        bought = np.zeros((len(places), oracle.n_rows), dtype=np.bool_)
        for name, row in self.journal.values:
            bought[places[name], row] = True
        before = tariff.money(bought)
        after = tariff.money(add_rows(bought, {places[name]: wanted for name, wanted in rows.items()}))
        return MeasurementRequest(rows, dict(zip(oracle.names, oracle.costs, strict=True)), after - before, before)

    def find_encodings(self, name: str) -> Encodings:
        """Return how values of a candidate become numbers; empty as long as nothing of it is known."""
        return self.journal.encodings.get(name) or (self._find_in_source(name) if self._has_values(name) else ())

    def _find_in_source(self, name: str) -> Encodings:
        encodings: Mapping[str, Encodings] = getattr(self._source, "encodings", {})
        return encodings.get(name, ())

    def _has_values(self, name: str) -> bool:
        """Return whether the source has values of a candidate."""
        return self._source is not None and bool(availability(self._source, name, len(np.asarray(self._y))).any())

    def encode_answers(
        self, name: str, values: Any, lost: Collection[int] = ()
    ) -> tuple[Encodings, dict[int, tuple[float, ...]]]:
        """Return complete answers by row as numbers, and encodings if these answers tell them.

        Raises
        ------
        CellError
            If a value does not belong to its column; its row is the place in `values`.
        """
        if self.request is None or name not in self.request.rows:
            raise ValueError(f"no value of {name!r} was asked for")
        rows = self.request.rows[name]
        # numpy would make texts of a list of texts and NaN.
        values = np.array(values, dtype=object) if isinstance(values, list) else values
        table = self._arrange(name, read_raw(values, f"values of candidate {name!r}"))
        if len(table) != len(rows):
            raise ValueError(f"{len(rows)} values of candidate {name!r} were asked for, got {len(table)}")
        is_blank, is_lost = table.missing.any(axis=1), np.isin(rows, list(lost))
        keep = np.flatnonzero(~is_blank & ~is_lost)
        if not len(keep):
            return (), {}
        places, table = rows[keep].tolist(), table.take_rows(keep)
        try:
            known = self.find_encodings(name)
            if not known and (self._has_values(name) or (is_blank & ~is_lost).any()):
                if any(cells.kind != "number" for cells in table.cells):
                    raise ValueError(
                        f"the first values of candidate {name!r} are not all numbers: tell all {len(rows)} together, "
                        "from which types and levels are learned, or give its missing rows as lost"
                    )
                numbers = checked_answer(np.column_stack([cells.values for cells in table.cells]), name, rows[keep])
            elif not known:
                # Numbers that were told before the others of the first request are in the journal as they are.
                earlier = {row: own for (owner, row), own in self.journal.values.items() if owner == name}
                places = [*places, *earlier]
                if earlier:
                    columns = np.array(list(earlier.values())).T
                    table = RawTable(table.columns, tuple(map(_add_numbers, table.cells, columns)))
                known = fit_encodings(table)
                return known, _number_rows(places, encode(known, table))
            else:
                if name not in self.journal.encodings:
                    for encoding, cells in zip(known, table.cells, strict=True):
                        encoding.check_known(cells)
                numbers = encode(known, table)
        except CellError as error:
            if error.row < len(keep):
                raise CellError(int(keep[error.row]), error.text) from None
            raise ValueError(f"row {places[error.row]} of candidate {name!r}: {error.text}") from None
        return (), _number_rows(places, numbers)

    def _arrange(self, name: str, table: RawTable) -> RawTable:
        """Return the columns in the order and with the names of the candidate, if they are known."""
        columns = [encoding.name for encoding in self.find_encodings(name) or self._find_in_source(name)]
        widths = {len(numbers) for (owner, _), numbers in self.journal.values.items() if owner == name}
        wanted = len(columns) or next(iter(widths), 0)
        if wanted not in (0, len(table.columns)):
            raise ValueError(f"candidate {name!r} must have {counted(wanted, 'column')}, got {len(table.columns)}")
        if not columns:
            return name_columns(name, table)
        if table.is_named and set(columns) == set(table.columns):
            return table.take([table.columns.index(column) for column in columns])
        return RawTable(tuple(columns), table.cells)

    def count_unknown(self, values: Mapping[str, RawTable]) -> dict[str, int]:
        """Count values by column that the first ones of their candidate did not have."""
        counts: dict[str, int] = {}
        for name, table in values.items():
            if name in self.journal.encodings:
                counts |= count_unknown(self.journal.encodings[name], table)
        return counts

    def tell(self, values: Mapping[str, Any], lost: Mapping[str, ArrayLike] | None = None) -> None:
        """Take values in the order of `MeasurementRequest.rows`; rows with None or NaN are asked for again.

        Parameters
        ----------
        values
            By candidate, shape (rows,) or (rows, columns), or a table: numbers, texts, booleans or dates. Candidates
            may be left out, they are asked for again. If the source has no value of a candidate, the first request
            tells types and levels, so texts must be told for all its rows together. Later values with other levels are
            taken as at prediction.
        lost
            Row numbers by candidate that cannot be measured; the next row of the order is asked for instead.
        """
        if self.request is None:
            raise ValueError("nothing was asked for: call ask first")
        requested = self.request.rows
        gone = {name: _check_lost(name, rows) for name, rows in (lost or {}).items()}
        for name in [*values, *gone]:
            if name not in requested:
                raise ValueError(f"no value of {name!r} was asked for: {', '.join(requested)}")
        answers = {name: self.encode_answers(name, v, gone.get(name, ())) for name, v in values.items()}
        for name, rows in gone.items():
            stray = sorted(rows - set(requested[name].tolist()))
            if stray:
                raise ValueError(f"row {stray[0]} of {name!r} was not asked for")
        for name, (learned, numbers) in answers.items():
            if learned:
                self.journal.learn(name, learned, numbers)
            else:
                self.journal.record(name, numbers.items())
        for name, rows in gone.items():
            self.journal.give_up(name, sorted(rows))
        self.request = None


def _add_numbers(cells: Cells, numbers: FloatArray) -> Cells:
    """Append numbers to the cells of a column; among texts they are names of levels."""
    if cells.kind == "number":
        return Cells(np.concatenate([cells.values, numbers]), "number")
    texts = np.concatenate([cells.texts, np.array([write_level(number) for number in numbers], dtype=object)])
    return Cells(texts, "text", cells.levels)


def _number_rows(places: Sequence[int], numbers: FloatArray) -> dict[int, tuple[float, ...]]:
    return {int(row): tuple(values) for row, values in zip(places, numbers.tolist(), strict=True)}


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
    plain_costs = {name: _plain(exact_cost(cost)) for name, cost in costs.items()}
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
