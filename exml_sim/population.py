"""Hold rows, candidates, costs and the hidden truth, validated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import as_table, check_labels, counted, shown
from exml_sim.money import Money, cost_by_name, exact_cost, show


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Candidate:
    """A feature that can be bought: its name, its values (one row per sample) and the cost of one value."""

    name: str
    values: FloatArray
    cost: Fraction

    def __init__(self, name: str, values: ArrayLike, cost: Money = 1) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a candidate's name must be a text that is not empty, got {shown(name)}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", _matrix(values, f"values of candidate {name!r}"))
        object.__setattr__(self, "cost", exact_cost(cost, f"cost of candidate {name!r}"))

    def __repr__(self) -> str:
        return f"<Candidate {self.name!r}: {_show_columns(self.values)}, cost {show(self.cost)}>"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Population:
    """The population D_tr: m rows with observed features and observed labels, and K candidates to buy.

    Parameters
    ----------
    X
        Observed features, shape (m, d), or (m,) for a single one.
    y
        Observed labels, each -1 or +1, shape (m,). Rows of the hidden class carry one of the two by mistake.
    candidates
        `Candidate` objects, or a mapping from name to values; then `costs` gives the prices.
    costs
        Mapping from name to the cost of one pull (1 where a name is missing). Only with a mapping of
        candidates.
    classes
        True classes, shape (m,), if known.
    hidden
        The value in `classes` (or the collection of values) that the observed labels do not have.

    Examples
    --------
    >>> Population([[0.0], [1.0]], [-1, 1], {"x2": [3.0, 4.0]}, costs={"x2": "0.95"})
    <Population: 2 rows, 1 observed feature, labels -1: 1 and +1: 1, 1 candidate: x2 (1 column, cost 0.95)>
    """

    X: FloatArray
    y: NDArray[np.int64]
    candidates: tuple[Candidate, ...]
    classes: NDArray[Any] | None = field(default=None)
    hidden: tuple[Any, ...] = field(default=())

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        candidates: Sequence[Candidate] | Mapping[str, ArrayLike],
        *,
        costs: Mapping[str, Money] | None = None,
        classes: ArrayLike | None = None,
        hidden: Any = None,
    ) -> None:
        observed = _matrix(X, "observed features X")
        rows = observed.shape[0]
        if rows == 0:
            raise ValueError("a population needs at least one row, got none")
        object.__setattr__(self, "X", observed)
        object.__setattr__(self, "y", _labels(y, rows))
        object.__setattr__(self, "candidates", _candidates(candidates, costs, rows))
        truth = None if classes is None else np.array(classes)
        if truth is not None:
            truth.setflags(write=False)
        object.__setattr__(self, "classes", truth)
        object.__setattr__(self, "hidden", _hidden(truth, hidden, rows))

    @property
    def n_rows(self) -> int:
        """Number of rows m."""
        return int(self.X.shape[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Candidate names in order."""
        return tuple(candidate.name for candidate in self.candidates)

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs in the order of the candidates."""
        return tuple(candidate.cost for candidate in self.candidates)

    @property
    def is_hidden(self) -> NDArray[np.bool_] | None:
        """Which rows belong to the hidden class, if that is known."""
        return None if self.classes is None or not self.hidden else np.isin(self.classes, self.hidden)

    def augmented(self, candidate: int | str) -> FloatArray:
        """Observed features with one candidate's values appended, shape (m, d + d_i)."""
        index = self.index(candidate)
        return np.hstack([self.X, self.candidates[index].values])

    def index(self, candidate: int | str) -> int:
        """Position of a candidate given by name or position."""
        if isinstance(candidate, str):
            if candidate not in self.names:
                raise ValueError(f"unknown candidate {candidate!r}: allowed are {', '.join(self.names)}")
            return self.names.index(candidate)
        if (
            isinstance(candidate, bool)
            or not isinstance(candidate, int | np.integer)
            or not 0 <= candidate < len(self.candidates)
        ):
            raise ValueError(
                f"candidate {candidate!r} does not exist: there are {len(self.candidates)}, counted from 0"
            )
        return int(candidate)

    def __repr__(self) -> str:
        shown = ", ".join(f"{c.name} ({_show_columns(c.values)}, cost {show(c.cost)})" for c in self.candidates[:6])
        more = "" if len(self.candidates) <= 6 else f", and {len(self.candidates) - 6} more"
        hidden = self.is_hidden
        truth = "" if hidden is None else f", {counted(int(hidden.sum()), 'row')} hidden"
        return (
            f"<Population: {counted(self.n_rows, 'row')}, {counted(self.X.shape[1], 'observed feature')}, "
            f"labels -1: {int((self.y < 0).sum())} and +1: {int((self.y > 0).sum())}{truth}, "
            f"{counted(len(self.candidates), 'candidate')}: {shown}{more}>"
        )


def _show_columns(values: FloatArray) -> str:
    return counted(values.shape[1], "column")


def _matrix(values: ArrayLike, what: str) -> FloatArray:
    # A copy, frozen: later changes to the caller's array must not change the population.
    table = as_table(values, what)
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        row, column = bad[0]
        raise ValueError(f"{what} must be finite, got {table[row, column]} in row {row}, column {column}")
    table.setflags(write=False)
    return table


def _labels(y: ArrayLike, rows: int) -> NDArray[np.int64]:
    labels = check_labels(y).astype(np.int64)
    if labels.shape != (rows,):
        raise ValueError(f"labels y must have shape ({rows},), one per row of X, got {labels.shape}")
    labels.setflags(write=False)
    return labels


def _candidates(
    given: Sequence[Candidate] | Mapping[str, ArrayLike], costs: Mapping[str, Money] | None, rows: int
) -> tuple[Candidate, ...]:
    if isinstance(given, Mapping):
        prices = cost_by_name(tuple(given), costs)
        given = [Candidate(name, values, cost) for (name, values), cost in zip(given.items(), prices, strict=True)]
    elif costs is not None:
        raise ValueError("`costs` goes with a mapping of candidates; a Candidate object carries its own cost")
    if not isinstance(given, Sequence) or not all(isinstance(candidate, Candidate) for candidate in given):
        raise ValueError(
            "candidates must be a list of Candidate objects or a mapping from name to values, got "
            f"{type(given).__name__} of something else"
        )
    if not given:
        raise ValueError("a population needs at least one candidate, got none (K = 0)")
    seen: set[str] = set()
    for candidate in given:
        if candidate.name in seen:
            raise ValueError(f"candidate names must differ, got {candidate.name!r} twice")
        seen.add(candidate.name)
        if candidate.values.shape[0] != rows:
            raise ValueError(
                f"candidate {candidate.name!r} must have {rows} rows like X, got {candidate.values.shape[0]}"
            )
    return tuple(given)


def _hidden(classes: NDArray[Any] | None, hidden: Any, rows: int) -> tuple[Any, ...]:
    if classes is None:
        if hidden is not None:
            raise ValueError("a hidden class needs the true `classes` of the rows")
        return ()
    if classes.shape != (rows,):
        raise ValueError(f"classes must have shape ({rows},), one per row of X, got {classes.shape}")
    if hidden is None:
        return ()
    chosen = tuple(hidden) if isinstance(hidden, list | tuple | set | frozenset | np.ndarray) else (hidden,)
    present = np.unique(classes).tolist()
    for value in chosen:
        if value not in present:
            raise ValueError(f"hidden class {value!r} is not among the classes {present}")
    return chosen
