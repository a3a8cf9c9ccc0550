"""An oracle that answers from a journal: what nobody has measured yet stops the run, and a later run goes on.

`ExMLClassifier.fit` is a function of its inputs, its random state and the answers. So a run is resumed by repeating it
with the recorded answers: it asks for the same values in the same order until it comes to one that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.journal import Journal
from exml_sim.money import Money, exact_cost
from exml_sim.oracle import Oracle, availability, checked_answer


class NotMeasured(Exception):
    """The run needs values that nobody has measured.

    Attributes
    ----------
    wanted
        All rows of this purchase by candidate.
    lacking
        Those of them that have no value yet.
    """

    def __init__(self, wanted: Mapping[str, IntArray], lacking: Mapping[str, IntArray]) -> None:
        self.wanted, self.lacking = dict(wanted), dict(lacking)
        listed = ", ".join(f"{len(rows)} of {name}" for name, rows in self.lacking.items())
        super().__init__(f"values that nobody has measured are needed: {listed}")


class RecordedOracle:
    """Answers from a journal, then from a source; what neither has is `NotMeasured`.

    Parameters
    ----------
    costs
        Cost of one value of each candidate.
    n_rows
        Number of rows m.
    journal
        What was answered so far; every new answer of the source is recorded before it is given.
    source
        Where values come from that are not in the journal; None if people measure them.
    measurable
        Whether people can measure what the source has not got. Otherwise such rows cannot be bought.
    watch
        Is told after every purchase how many values the run has asked for.
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
        self._costs = {name: exact_cost(cost, f"cost of candidate {name!r}") for name, cost in costs.items()}
        self._rows, self._journal, self._source = n_rows, journal, source
        self._measurable = measurable or source is None
        self._watch = watch
        self._asked: set[tuple[str, int]] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return tuple(self._costs)

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Cost of one value of each candidate."""
        return tuple(self._costs.values())

    @property
    def unused(self) -> int:
        """Recorded values that this run has not asked for (so far)."""
        return len(set(self._journal.values) - self._asked)

    def available(self, candidate: str) -> BoolArray:
        """Rows that are recorded, that the source has, or that can be measured; rows that were lost are not there."""
        there = np.ones(self._rows, dtype=np.bool_) if self._measurable else self._offered(candidate)
        there[[row for row in range(self._rows) if (candidate, row) in self._journal.values]] = True
        for name, row in self._journal.lost:
            if name == candidate:
                there[row] = False
        return there

    def prepare(self, wanted: Mapping[str, IntArray]) -> None:
        """Look at a whole purchase before its values are asked for one candidate after the other.

        Raises
        ------
        NotMeasured
            If something is lacking.
        """
        lacking = {}
        for name, rows in wanted.items():
            self._asked |= {(name, int(row)) for row in rows}
            blank = self._unknown(name, rows)
            blank = blank[~self._offered(name)[blank]]
            if len(blank):
                lacking[name] = blank
        if lacking:
            raise NotMeasured(wanted, lacking)
        if self._watch is not None:
            self._watch(len(self._asked))

    def query(self, candidate: str, rows: ArrayLike) -> FloatArray:
        """The recorded values; new ones of the source are recorded first."""
        places = np.asarray(rows, dtype=np.int64)
        self.prepare({candidate: places})
        new = self._unknown(candidate, places)
        if len(new):
            assert self._source is not None
            found = checked_answer(self._source.query(candidate, new), candidate, new)
            self._journal.record(candidate, zip(new.tolist(), found.tolist(), strict=True))
        return np.array([self._journal.values[candidate, int(row)] for row in places], dtype=np.float64)

    def _unknown(self, candidate: str, rows: IntArray) -> IntArray:
        return np.array([row for row in rows if (candidate, int(row)) not in self._journal.values], dtype=np.int64)

    def _offered(self, candidate: str) -> BoolArray:
        """Rows that the source has."""
        if self._source is None:
            return np.zeros(self._rows, dtype=np.bool_)
        return availability(self._source, candidate, self._rows).copy()
