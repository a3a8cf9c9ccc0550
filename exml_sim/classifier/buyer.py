"""The buyer: holds the oracle and the one ledger of a run, pays first, asks afterwards, and keeps what was bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.ledger import Ledger
from exml_sim.money import Money, exact_cost
from exml_sim.oracle import Oracle, availability, checked_answer, zip_names


@dataclass(frozen=True, slots=True, eq=False)
class Purchase:
    """Values bought together.

    Attributes
    ----------
    number
        Number of the purchase, the round of the ledger.
    layer
        Layer of the cascade it was for, from 2.
    purpose
        "exploration" or "validation".
    candidate
        Name.
    rows
        Row numbers.
    """

    number: int
    layer: int
    purpose: str
    candidate: str
    rows: IntArray


class Buyer:
    """Pays, asks, and keeps what was bought.

    Parameters
    ----------
    oracle
        Source of values.
    n_rows
        Number of rows m.
    budget
        All the money there is.

    Attributes
    ----------
    ledger
        Every purchase.
    bought
        Which values have been paid for, shape (K, m).
    purchases
        The same row by row, in order.
    """

    def __init__(self, oracle: Oracle, n_rows: int, budget: Money) -> None:
        self._oracle = oracle
        self.n_rows = n_rows
        self.names = tuple(oracle.names)
        self.costs = tuple(exact_cost(cost, f"cost of candidate {n!r}") for n, cost in zip_names(oracle))
        self.ledger = Ledger(budget, self.costs, self.names)
        self.bought = np.zeros((len(self.names), n_rows), dtype=np.bool_)
        self.purchases: list[Purchase] = []
        self._values: list[FloatArray | None] = [None] * len(self.names)

    def available(self, arm: int) -> BoolArray:
        """Rows for which a candidate can be bought at all."""
        return availability(self._oracle, self.names[arm], self.n_rows)

    def buy(self, wanted: Mapping[int, IntArray], *, layer: int, purpose: str) -> None:
        """Buy values of some rows for some candidates: the ledger pays first, or refuses.

        Parameters
        ----------
        wanted
            Row numbers per candidate; no value may be bought twice.
        """
        self._check_new(wanted)
        self.ledger.buy([len(wanted.get(arm, ())) for arm in range(len(self.names))])
        self.receive(wanted, layer=layer, purpose=purpose)

    def receive(self, wanted: Mapping[int, IntArray], *, layer: int, purpose: str) -> None:
        """Ask for values that the ledger has paid for already; others are refused before anything is asked.

        If the oracle fails, the money of what it has not delivered is taken back: nothing is paid for without a value.
        """
        self._check_new(wanted)
        paid = self.ledger.pulls[0] - self.bought.sum(axis=1)
        for arm, rows in wanted.items():
            if len(rows) > paid[arm]:
                raise ValueError(
                    f"{len(rows)} values of candidate {self.names[arm]!r} were asked for, {paid[arm]} are paid for"
                )
        try:
            # A laboratory gets its orders for all candidates of a round at once.
            prepare = getattr(self._oracle, "prepare", None)
            if prepare is not None:
                prepare({self.names[arm]: rows for arm, rows in wanted.items() if len(rows)})
            for arm, rows in wanted.items():
                if len(rows):
                    self._store(arm, rows)
                    self.purchases.append(Purchase(self.ledger.rounds, layer, purpose, self.names[arm], rows.copy()))
        except BaseException:
            self.ledger.take_back(self.ledger.pulls[0] - self.bought.sum(axis=1))
            raise

    def _check_new(self, wanted: Mapping[int, IntArray]) -> None:
        for arm, rows in wanted.items():
            if not 0 <= arm < len(self.names) or (len(rows) and not 0 <= np.min(rows) <= np.max(rows) < self.n_rows):
                raise ValueError(f"there is no candidate {arm}, or a row of it is outside of 0 to {self.n_rows - 1}")
            if self.bought[arm, rows].any() or len(np.unique(rows)) < len(rows):
                raise ValueError(f"a value of candidate {self.names[arm]!r} would be bought twice")

    def _store(self, arm: int, rows: IntArray) -> None:
        answer = checked_answer(self._oracle.query(self.names[arm], rows), self.names[arm], rows)
        table = self._values[arm]
        if table is None:
            table = self._values[arm] = np.full((self.n_rows, answer.shape[1]), np.nan)
        if table.shape[1] != answer.shape[1]:
            raise ValueError(
                f"the oracle first gave {table.shape[1]} columns for candidate {self.names[arm]!r}, now "
                f"{answer.shape[1]}"
            )
        table[rows] = answer
        self.bought[arm, rows] = True

    @property
    def widths(self) -> dict[str, int]:
        """Number of columns of every candidate of which something was bought."""
        return {n: table.shape[1] for n, table in zip(self.names, self._values, strict=True) if table is not None}

    def values(self, arm: int, rows: IntArray) -> FloatArray:
        """Bought values; asking for one that was not paid for is an error of the program."""
        table = self._values[arm]
        if table is None or not self.bought[arm, rows].all():
            raise ValueError(f"a value of candidate {self.names[arm]!r} was read that has not been bought")
        return table[rows]
