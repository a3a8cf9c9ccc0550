"""Exploration with values that people measure: ask what to measure next, tell the values, ask again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.classifier.journal import Journal, digest
from exml_sim.classifier.recorded import NotMeasured, RecordedOracle
from exml_sim.money import Money, exact_cost, show
from exml_sim.oracle import Oracle, checked_answer
from exml_sim.validation import check_random_state, shown

if TYPE_CHECKING:
    from exml_sim.classifier.explorer import Explorer


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What is to be measured now.

    Attributes
    ----------
    rows
        Row numbers by candidate, those without a value.
    purchase
        Row numbers of the whole purchase, those with a value too.
    prices
        Cost of one value of each candidate.
    """

    rows: dict[str, IntArray]
    purchase: dict[str, IntArray]
    prices: dict[str, Fraction]

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    @property
    def cost(self) -> Fraction:
        """Money for what is lacking."""
        return sum((self.prices[name] * len(rows) for name, rows in self.rows.items()), Fraction(0))


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
        File to which every value is appended at once; a later `AskTell` with the same arguments goes on with it. A
        file of another run is refused.
    source
        Oracle for values that are measured already; they are taken when their turn comes.
    measurable
        False: what the source has not got cannot be bought, and nobody is asked.
    watch
        Is told after every purchase how many values the run has.
    about
        Further plain values that make the run this run, for instance names of columns.

    Examples
    --------
    >>> from exml_sim.datasets import make_synthetic
    >>> from exml_sim.classifier import ExMLClassifier
    >>> rows = make_synthetic(40, angles=[20, 90], rng=0)
    >>> laboratory = {c.name: c.values for c in rows.candidates}
    >>> run = AskTell(ExMLClassifier(budget=100), rows.X, rows.y, {name: 1 for name in laboratory})
    >>> while wanted := run.ask():
    ...     run.tell({name: laboratory[name][places] for name, places in wanted.rows.items()})
    >>> run.model.ledger_.spent == len(run.journal.values) <= 100
    True
    """

    def __init__(
        self,
        model: Explorer,
        X: ArrayLike,
        y: ArrayLike,
        costs: Mapping[str, Money],
        *,
        journal: str | Path | None = None,
        source: Oracle | None = None,
        measurable: bool = True,
        watch: Callable[[int], None] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        state = model.random_state
        if isinstance(state, bool) or not isinstance(state, Integral):
            raise ValueError(f"random_state must be a whole number, so that the run can be repeated; got {state!r}")
        check_random_state(state)
        if model.theta == "hindsight":
            raise ValueError('theta="hindsight" buys once per theta and needs the truth: it cannot be asked for')
        self.model, self._X, self._y = model, X, y
        self._source, self._measurable = source, measurable
        self._costs, self._watch = _prices(costs), watch
        run = {**_identity(model, X, y, self._costs), **(about or {})}
        self.journal = Journal.open(run, None if journal is None else Path(journal))
        self._wanted: Wanted | None = None
        self.unused = 0

    def ask(self) -> Wanted | None:
        """What to measure next; None when the model is fitted."""
        oracle = RecordedOracle(
            self._costs,
            len(np.asarray(self._y)),
            self.journal,
            self._source,
            measurable=self._measurable,
            watch=self._watch,
        )
        self._wanted = None
        try:
            self.model.fit(self._X, self._y, oracle)
        except NotMeasured as stop:
            prices = dict(zip(oracle.names, oracle.costs, strict=True))
            self._wanted = Wanted(stop.lacking, stop.wanted, prices)
        self.unused = oracle.unused
        return self._wanted

    def tell(self, values: Mapping[str, ArrayLike], lost: Mapping[str, ArrayLike] | None = None) -> None:
        """Values in the order of `Wanted.rows`; rows with NaN are asked for again.

        Parameters
        ----------
        values
            By candidate, shape (rows,) or (rows, columns). Candidates may be left out, they are asked for again.
        lost
            Row numbers by candidate that cannot be measured; the next row of the order is asked for instead.
        """
        if self._wanted is None:
            raise ValueError("nothing was asked for: call ask first")
        gone = {name: _lost(name, rows) for name, rows in (lost or {}).items()}
        for name in [*values, *gone]:
            if name not in self._wanted.rows:
                raise ValueError(f"no value of {name!r} was asked for: {', '.join(self._wanted.rows)}")
        tables = {name: self._table(name, table, gone.get(name, set())) for name, table in values.items()}
        for name, rows in gone.items():
            stray = sorted(rows - set(self._wanted.rows[name].tolist()))
            if stray:
                raise ValueError(f"row {stray[0]} of {name!r} was not asked for")
        for name, answers in tables.items():
            self.journal.record(name, answers.items())
        for name, rows in gone.items():
            self.journal.give_up(name, sorted(rows))
        self._wanted = None

    def _table(self, name: str, values: ArrayLike, gone: set[int]) -> dict[int, tuple[float, ...]]:
        """Complete answers by row."""
        assert self._wanted is not None
        rows = self._wanted.rows[name]
        table = _numbers(name, values)
        if len(table) != len(rows):
            raise ValueError(f"{len(rows)} values of candidate {name!r} were asked for, got {len(table)}")
        blank = np.isnan(table.reshape(len(rows), -1)).any(axis=1)
        keep = np.flatnonzero(~blank & ~np.isin(rows, list(gone)))
        if not len(keep):
            return {}
        checked = checked_answer(table[keep], name, rows[keep])
        return {int(row): tuple(line) for row, line in zip(rows[keep], checked.tolist(), strict=True)}


def _prices(costs: Mapping[str, Money]) -> dict[str, Money]:
    """Costs as they were given, after a look at each of them."""
    if not isinstance(costs, Mapping) or not costs:
        raise ValueError(f"costs must name at least one candidate, like {{'ct': 5}}; got {shown(costs)}")
    for name, cost in costs.items():
        exact_cost(cost, f"cost of candidate {name!r}")
    return dict(costs)


def _numbers(name: str, values: ArrayLike) -> FloatArray:
    """Told values; None and NaN are those that are still lacking."""
    try:
        raw = np.asarray(values)
        text = raw.dtype.kind in "US" or any(isinstance(one, str) for one in raw.ravel() if raw.dtype == object)
        if text or raw.ndim not in (1, 2):
            raise TypeError
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"values of candidate {name!r} must be numbers of shape (rows,) or (rows, columns), got {shown(values)}"
        ) from None


def _lost(name: str, rows: ArrayLike) -> set[int]:
    raw = np.ravel(rows)
    if raw.size and raw.dtype.kind not in "iu":
        raise ValueError(f"lost rows of candidate {name!r} must be row numbers, got {shown(rows)}")
    return {int(row) for row in raw}


def _identity(model: Explorer, X: ArrayLike, y: ArrayLike, costs: Mapping[str, Money]) -> dict[str, Any]:
    """What makes a run this run, as plain values; how many threads it has is none of it."""
    given = {name: _plain(value) for name, value in sorted(model.parameters().items()) if name != "n_jobs"}
    prices = {name: _plain(cost) for name, cost in costs.items()}
    return {**given, "costs": prices, "table": digest(np.asarray(X), np.asarray(y))}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
