"""Oracles: sources of candidate values. The learner sees a value only by asking for it, and asking costs.

Anything with `names`, `costs` and `query(candidate, rows)` is an oracle; no subclassing is needed. In the
classifier `exml_sim.classifier._acquisition.AcquisitionManager` holds it and asks for nothing that is not paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.columns import (
    CellError,
    ColumnEncoding,
    Encodings,
    RawTable,
    encode,
    fit_encodings,
    fit_fills,
    read_cells,
    read_raw,
)
from exml_sim._internal.validation import as_table, check_size, column_names, counted, shown
from exml_sim.money import Money, cost_by_name


@runtime_checkable
class Oracle(Protocol):
    """What the method asks of a source of values: a lab, a sensor, a recorded table.

    An oracle may also have `available(candidate)`, a mask of the rows for which the candidate can be had at all;
    without it every row can. Knowing that a measurement exists is free, its value is not.

    Examples
    --------
    >>> isinstance(CallableOracle({"twice": lambda rows: 2.0 * rows}), Oracle)
    True
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        ...

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Cost of one value of each candidate."""
        ...

    def query(self, candidate: str, rows: IntArray) -> ArrayLike:
        """Values of one candidate for some rows, shape (len(rows), columns) or (len(rows),)."""
        ...


class _Priced:
    """Names and costs, validated."""

    def __init__(self, names: Sequence[str], costs: Mapping[str, Money] | None) -> None:
        self._names, self._costs = tuple(names), cost_by_name(names, costs)
        if not names:
            raise ValueError("an oracle needs at least one candidate, got none")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Cost of one value of each candidate."""
        return self._costs

    def _known(self, candidate: str) -> str:
        if candidate not in self._names:
            raise ValueError(f"unknown candidate {candidate!r}: allowed are {', '.join(self._names)}")
        return candidate


class ArrayOracle(_Priced):
    """Candidates whose values are recorded; what was never measured cannot be bought.

    Values may be numbers, texts, booleans and dates. Types and levels are known from the whole column, as from a data
    dictionary; the value of a row is known when it is bought. A missing number is 0, beside a column that marks it; the
    learner puts a median of bought values there. A row can be bought unless all its cells are missing.

    Parameters
    ----------
    values
        Mapping from name to an array of shape (m,) or (m, columns), or to a table of pandas, polars or Arrow.
    costs
        Mapping from name to the cost of one value; 1 where a name is missing.
    encodings
        How columns become numbers, by candidate; fitted to the values where a name is missing.

    Examples
    --------
    >>> oracle = ArrayOracle({"ct": [0.5, float("nan"), 0.7]}, costs={"ct": "5.0"})
    >>> oracle.query("ct", [2]).tolist(), oracle.available("ct").tolist()
    ([[0.7]], [True, False, True])
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        costs: Mapping[str, Money] | None = None,
        encodings: Mapping[str, Encodings] | None = None,
    ) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(
                f"values of candidates must be given by name, like {{'ct': [1.5, 2]}}; got {shown(values)}"
            )
        super().__init__(tuple(values), costs)
        self._raw = {name: read_raw(table, f"candidate {name!r}") for name, table in values.items()}
        lengths = {name: len(table) for name, table in self._raw.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"all candidates need equally many rows, got {lengths}")
        self._encodings = dict(encodings or {})
        self._tables: dict[str, FloatArray] = {}

    @property
    def encodings(self) -> dict[str, Encodings]:
        """How the columns of every candidate become numbers."""
        return {name: self._fit(name) for name in self._names}

    def _fit(self, name: str) -> Encodings:
        if name not in self._encodings:
            raw = self._raw[name]
            rows = ~raw.missing.all(axis=1)
            table = name_columns(name, raw.take_rows(rows))
            if rows.any():
                fitted = _name_candidate(name, lambda: fit_encodings(table))
            else:
                # Nothing is measured: who takes the first values learns their type (`AskTell`).
                fitted = tuple(ColumnEncoding(column, "number") for column in table.columns)
            # Medians of the whole column would tell about values that nobody has paid for.
            self._encodings[name] = fit_fills(fitted, np.empty((0, sum(len(e.feature_names) for e in fitted))))
        return self._encodings[name]

    def _encode(self, name: str) -> FloatArray:
        """Encode a candidate as a whole: a value that no model takes must not come up in the middle of a purchase."""
        if self._known(name) not in self._tables:
            raw, encodings = self._raw[name], self._fit(name)
            if len(raw.cells) != len(encodings):
                raise ValueError(
                    f"candidate {name!r} must have {counted(len(encodings), 'column')}, got {len(raw.cells)}"
                )
            table = _name_candidate(name, lambda: encode(encodings, raw))
            table[raw.missing.all(axis=1)] = np.nan
            self._tables[name] = table
        return self._tables[name]

    def take_rows(self, rows: IntArray, names: Sequence[str] | None = None) -> ArrayOracle:
        """Return some of the rows, encoded by their own levels, of some of the candidates."""
        costs = dict(zip(self._names, self._costs, strict=True))
        chosen = self._names if names is None else names
        return ArrayOracle({name: self._raw[name].take_rows(rows) for name in chosen}, {n: costs[n] for n in chosen})

    def encoded_by(self, encodings: Mapping[str, Encodings]) -> ArrayOracle:
        """Return the same candidates with the encodings of a fitted model."""
        return ArrayOracle(self._raw, dict(zip(self._names, self._costs, strict=True)), encodings)

    def query(self, candidate: str, rows: ArrayLike) -> FloatArray:
        """Return the encoded values of rows."""
        return self._encode(candidate)[np.asarray(rows, dtype=np.int64)].copy()

    def available(self, candidate: str) -> BoolArray:
        """Return the rows in which some cell of the candidate is present."""
        return np.asarray(~np.isnan(self._encode(candidate)[:, 0]), dtype=np.bool_)


def name_columns(name: str, table: RawTable) -> RawTable:
    """Return the table of a candidate with names of columns; without own ones they have that of the candidate."""
    numbered = [f"{name}{i}" for i in range(len(table.columns))] if len(table.columns) > 1 else [name]
    return RawTable(table.columns if table.is_named else tuple(numbered), table.cells)


def _name_candidate(name: str, work: Callable[[], Any]) -> Any:
    """Do something with a candidate, and name it in the message of a wrong cell."""
    try:
        return work()
    except CellError as error:
        raise CellError(error.row, f"candidate {name!r}, {error.text}") from None


class FrameOracle(ArrayOracle):
    """Candidates that are columns of a pandas or polars frame or an Arrow table.

    Parameters
    ----------
    frame
        One row per sample, in the order of X (the index is not used).
    columns
        Mapping from candidate name to its column(s), or a list of columns, one candidate each.
    costs
        As for `ArrayOracle`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"heart_rate": [61.0, 84.0], "ecg": [0.1, 0.7]})
    >>> FrameOracle(frame, ["heart_rate", "ecg"], costs={"ecg": 5}).names
    ('heart_rate', 'ecg')
    """

    def __init__(
        self,
        frame: Any,
        columns: Mapping[str, str | Sequence[str]] | Sequence[str],
        costs: Mapping[str, Money] | None = None,
    ) -> None:
        named = columns if isinstance(columns, Mapping) else {name: name for name in columns}
        there = column_names(frame) or ()
        values = {}
        for candidate, given in named.items():
            names = (given,) if isinstance(given, str) else tuple(given)
            for name in names:
                if name not in there:
                    raise ValueError(f"the frame has no column {name!r}: it has {', '.join(map(str, there))}")
            values[candidate] = RawTable(names, tuple(read_cells(frame[name], name) for name in names))
        super().__init__(values, costs)


class CallableOracle(_Priced):
    """Candidates behind functions: a laboratory, a sensor, a web service.

    Parameters
    ----------
    measure
        Mapping from name to a function that gets an array of row numbers and returns their values.
    costs
        As for `ArrayOracle`.

    Examples
    --------
    >>> CallableOracle({"twice": lambda rows: 2.0 * rows}).query("twice", [1, 3])
    array([2., 6.])
    """

    def __init__(
        self, measure: Mapping[str, Callable[[IntArray], ArrayLike]], costs: Mapping[str, Money] | None = None
    ) -> None:
        super().__init__(tuple(measure), costs)
        self._measure = dict(measure)

    def query(self, candidate: str, rows: ArrayLike) -> ArrayLike:
        """Call the function."""
        return self._measure[self._known(candidate)](np.asarray(rows, dtype=np.int64))


def zip_names(oracle: Oracle) -> list[tuple[str, Money]]:
    """Names with costs, checked to be equally many and different."""
    names = tuple(oracle.names)
    given: Any = oracle.costs
    if isinstance(given, Mapping):
        # Not the protocol, but what people write; its order need not be that of the names.
        missing, stray = [name for name in names if name not in given], [name for name in given if name not in names]
        if missing or stray:
            what = f"none for {missing[0]!r}" if missing else f"one for {stray[0]!r}, which is no candidate"
            raise ValueError(
                f"an oracle needs one cost per candidate ({', '.join(map(str, names))}), its costs have {what}"
            )
        given = tuple(given[name] for name in names)
    costs = tuple(given)
    if len(names) != len(costs) or not names:
        raise ValueError(f"an oracle needs one cost per candidate, got {len(names)} names and {len(costs)} costs")
    if len(set(names)) < len(names):
        raise ValueError(f"candidate names must differ, got {', '.join(names)}")
    return list(zip(names, costs, strict=True))


def availability(oracle: Oracle, candidate: str, n_rows: int) -> BoolArray:
    """Rows for which a candidate can be had: all of them, unless the oracle knows better."""
    ask: Callable[[str], Any] | None = getattr(oracle, "available", None)
    mask = np.ones(n_rows, dtype=np.bool_) if ask is None else np.asarray(ask(candidate), dtype=np.bool_)
    if mask.shape != (n_rows,):
        raise ValueError(f"candidate {candidate!r} must have {n_rows} rows like X, got {mask.size}")
    return mask


def checked_answer(answer: ArrayLike, candidate: str, rows: IntArray) -> FloatArray:
    """An oracle's answer as a table of finite numbers."""
    table = as_table(answer, f"values of candidate {candidate!r}")
    if table.shape[0] != len(rows):
        raise ValueError(f"{len(rows)} values of candidate {candidate!r} were asked for, the oracle gave {len(table)}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if bad.size:
        raise ValueError(f"the value of candidate {candidate!r} for row {rows[bad[0]]} is not finite")
    return check_size(table, f"values of candidate {candidate!r}")
