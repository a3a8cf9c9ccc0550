r"""Acquire candidate values: prices with fees, an order of rows, and a ledger that pays before the oracle is queried.

`AcquisitionManager` holds the oracle and the ledger of a run and asks for nothing that is not paid for. `Tariff` adds
set-up fees, paid once, and bundle fees, paid once per row.

**Balanced order.** With twenty rows per candidate chance decides how many rows of a class are among them. So rows are
sorted by their label and by how well the initial model predicts it out of fold, cut into strata of equal size, and
bought cycle by cycle: one random row of every stratum, the strata in random order. Rows that do not fill the strata are
taken out at random and come last. Values of candidates have no part in it.

Bets on differences of losses (`exml_sim.bandit.selection_report`) are settled at the ends of cycles. Given what was
seen before a cycle, its rows are drawn independently, one of every stratum. A stake turns the loss of a row into a
factor c. With :math:`\bar c_j` the mean of c over the rows that are left in stratum j of J,

.. math:: E \prod_{t \in \text{cycle}} c_t = \prod_j \bar c_j \le \Big(\frac1J \sum_j \bar c_j\Big)^J

by the inequality of the means, so wealth is a supermartingale from cycle to cycle whenever the mean of c over the rows
left is at most 1. Inside a cycle it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.columns import Encodings, fill_missing, fit_fills
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.selection_report import CYCLE
from exml_sim.money import CandidateCost, Money, exact_cost, show
from exml_sim.oracle import Oracle, availability, checked_answer, zip_names

#: How fees are named in the ledger.
SETUP, BUNDLE = "set-up of ", "bundle "


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee that candidates share: once for all, or once per row."""

    name: str
    amount: Fraction
    members: frozenset[int]
    is_per_row: bool


class Tariff:
    """Costs of candidates and their fees (`CandidateCost`), by positions of the candidates."""

    def __init__(self, names: Sequence[str], costs: Sequence[Fraction]) -> None:
        self.costs, self.names = tuple(costs), tuple(names)
        given = {arm: cost for arm, cost in enumerate(costs) if isinstance(cost, CandidateCost)}
        self.fees = [Fee(SETUP + names[arm], c.setup, frozenset({arm}), False) for arm, c in given.items() if c.setup]
        for bundle in dict.fromkeys(cost.bundle for cost in given.values() if cost.bundle):
            members = {arm: cost.bundle_fee for arm, cost in given.items() if cost.bundle == bundle}
            if len(set(members.values())) > 1:
                listed = " and ".join(show(fee) for fee in sorted(set(members.values())))
                raise ValueError(f"bundle {bundle!r} must have one fee, got {listed}")
            fee = next(iter(members.values()))
            self.fees.append(Fee(BUNDLE + bundle, fee, frozenset(members), True))

    @property
    def items(self) -> tuple[tuple[str, ...], tuple[Fraction, ...]]:
        """Names and amounts of everything that is paid: values of the candidates, then fees."""
        names = (*self.names, *(fee.name for fee in self.fees))
        return names, (*self.costs, *(fee.amount for fee in self.fees))

    def part(self, arms: Sequence[int], started: Collection[int] = ()) -> Tariff:
        """Return the tariff of some candidates; those that have started pay no set-up any more."""
        costs = [self.costs[arm] for arm in arms]
        for place, (arm, cost) in enumerate(zip(arms, costs, strict=True)):
            if isinstance(cost, CandidateCost) and arm in started:
                costs[place] = CandidateCost(cost, 0, cost.bundle, cost.bundle_fee)
        return Tariff([self.names[arm] for arm in arms], costs)

    def count(self, bought: BoolArray) -> IntArray:
        """Return how often every item was paid for the bought values, shape (K, m)."""
        fees = [bought[sorted(fee.members)].any(axis=0) for fee in self.fees]
        paid = [rows.sum() if fee.is_per_row else rows.any() for fee, rows in zip(self.fees, fees, strict=True)]
        return np.concatenate([bought.sum(axis=1), np.array(paid, dtype=np.int64)]).astype(np.int64)

    def money(self, bought: BoolArray) -> Fraction:
        """Return the money for the bought values, shape (K, m), fees included."""
        counts = zip(self.count(bought).tolist(), self.items[1], strict=True)
        return sum((count * amount for count, amount in counts), Fraction(0))

    def price(self, arms: Iterable[int], paid: Iterable[int] = ()) -> Fraction:
        """Return the cost of one row of the candidates together, beside those that are paid for in the row."""
        wanted, before = set(arms), set(paid)
        fees = (f.amount for f in self.fees if f.is_per_row and f.members & wanted and not f.members & before)
        return sum((self.costs[arm] for arm in wanted), Fraction(0)) + sum(fees, Fraction(0))

    def setup(self, arms: Iterable[int], paid: Iterable[int] = ()) -> Fraction:
        """Return the set-up fees of the candidates, without those that are paid."""
        new = set(arms) - set(paid)
        return sum((fee.amount for fee in self.fees if not fee.is_per_row and fee.members & new), Fraction(0))

    def total(self, rows: Sequence[int]) -> Fraction:
        """Return the cost of a number of rows of every candidate; rows of a bundle are the same ones."""
        values = sum((cost * int(count) for cost, count in zip(self.costs, rows, strict=True)), Fraction(0))
        most = [max(int(rows[arm]) for arm in fee.members) for fee in self.fees]
        return values + sum(
            (fee.amount * (n if fee.is_per_row else n > 0) for fee, n in zip(self.fees, most, strict=True)), Fraction(0)
        )


@dataclass(frozen=True, slots=True, eq=False)
class LayerInput:
    """Known features, labels and rows of a layer before its exploration.

    Attributes
    ----------
    X
        Features known before the layer's exploration, shape (m, d); NaN in rows outside of `rows`.
    y, n_classes
        Class numbers, shape (m,), and the number of classes C.
    rows
        Row numbers that the layer may use, in the random order in which they are bought.
    layer
        Number of the layer, for the record.
    groups
        Group number of every row of X; None if all are apart.
    """

    X: FloatArray
    y: IntArray
    n_classes: int
    rows: IntArray
    layer: int
    groups: IntArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Acquisition:
    """Values of one candidate that were bought together.

    Attributes
    ----------
    number
        Round of the ledger.
    layer
        Layer of the cascade it was for, from 2.
    purpose
        "exploration", "validation", or "earlier" for an exploration that is continued.
    candidate, rows
        Name and row numbers.
    """

    number: int
    layer: int
    purpose: str
    candidate: str
    rows: IntArray


class AcquisitionManager:
    """Pays from the budget, queries the oracle, and keeps what was bought of a table with m rows.

    Attributes
    ----------
    ledger
        Every purchase.
    tariff
        Costs and fees.
    bought
        Which values have been paid for, shape (K, m).
    purchases
        The same row by row, in order.
    encodings
        Encodings of the candidates. Missing numbers have the median of the first bought values.
    """

    def __init__(self, oracle: Oracle, n_rows: int, budget: Money) -> None:
        self._oracle = oracle
        self.n_rows = n_rows
        self.names = tuple(oracle.names)
        self.costs = tuple(exact_cost(cost, f"cost of candidate {n!r}") for n, cost in zip_names(oracle))
        self.tariff = Tariff(self.names, self.costs)
        items, amounts = self.tariff.items
        self.ledger = Ledger(budget, amounts, items)
        self.bought = np.zeros((len(self.names), n_rows), dtype=np.bool_)
        self.purchases: list[Acquisition] = []
        self._values: list[FloatArray | None] = [None] * len(self.names)
        self.encodings: dict[str, Encodings] = dict(getattr(oracle, "encodings", {}))

    def buy_earlier(self) -> None:
        """Book the values that an earlier run of the oracle bought: they are paid from the budget first."""
        earlier: Mapping[str, IntArray] = getattr(self._oracle, "earlier", {})
        wanted = {self.names.index(name): rows for name, rows in earlier.items()}
        if wanted and (money := self.price_all(wanted)) > self.ledger.budget:
            raise ValueError(
                f"values for {show(money)} are bought already: a budget to continue must be larger, got "
                f"{show(self.ledger.budget)}"
            )
        if wanted:
            self.buy(wanted, layer=2, purpose="earlier")

    def available(self, arm: int) -> BoolArray:
        """Return the rows for which a candidate can be bought."""
        return availability(self._oracle, self.names[arm], self.n_rows)

    def usable_rows(self, arm: int, rows: IntArray) -> IntArray:
        """Return those of the rows, in their order, that can be bought or are bought."""
        usable = self.available(arm) | self.bought[arm]
        return np.asarray(rows[usable[rows]], dtype=np.int64)

    def price(self, arms: Iterable[int], row: int | None = None) -> Fraction:
        """Return the cost of one row of the candidates together; bundles that the given row has paid are free."""
        paid = () if row is None or not self.tariff.fees else np.flatnonzero(self.bought[:, row]).tolist()
        return self.tariff.price(arms, paid)

    def setup(self, arms: Iterable[int]) -> Fraction:
        """Return the set-up fees of the candidates that are still to be paid."""
        return self.tariff.setup(arms, np.flatnonzero(self.bought.any(axis=1)).tolist())

    def price_all(self, wanted: Mapping[int, IntArray]) -> Fraction:
        """Return the cost of values of rows by candidate, fees included."""
        return self.tariff.money(add_rows(self.bought, wanted)) - self.tariff.money(self.bought)

    def buy(self, wanted: Mapping[int, IntArray], *, layer: int, purpose: str) -> None:
        """Buy values of rows by candidate: the ledger pays first, or raises an error. No value is bought twice."""
        self._check_new(wanted)
        self.ledger.buy(self.tariff.count(add_rows(self.bought, wanted)) - self.tariff.count(self.bought))
        self.receive(wanted, layer=layer, purpose=purpose)

    def buy_affordable(
        self, arms: Sequence[int], lacking: BoolArray, data: LayerInput, money: Fraction, *, purpose: str
    ) -> int:
        """Buy lacking values row by row, so that money that runs out leaves whole rows; return how many rows.

        Parameters
        ----------
        lacking
            Values that are wanted, shape (arms, m).
        data
            The layer, and the order of its rows.
        """
        wanted: dict[int, list[int]] = {arm: [] for arm in arms}
        rows = data.rows[lacking[:, data.rows].any(axis=0)].tolist()
        for count, row in enumerate(rows):
            new = [arm for arm, lacks in zip(arms, lacking[:, row].tolist(), strict=True) if lacks]
            price = self.price(new, row) + self.setup([arm for arm in new if not wanted[arm]])
            if price > money:
                rows = rows[:count]
                break
            money -= price
            for arm in new:
                wanted[arm].append(row)
        if rows:
            paid = {arm: np.array(places, dtype=np.int64) for arm, places in wanted.items() if places}
            self.buy(paid, layer=data.layer, purpose=purpose)
        return len(rows)

    def receive(self, wanted: Mapping[int, IntArray], *, layer: int, purpose: str) -> None:
        """Query values that the ledger has paid for already.

        If the oracle fails, the money of undelivered values is refunded.
        """
        self._check_new(wanted)
        paid = self.ledger.pulls[0] - self.tariff.count(self.bought)
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
                    self.purchases.append(Acquisition(self.ledger.rounds, layer, purpose, self.names[arm], rows.copy()))
        except BaseException:
            self.ledger.take_back(self.ledger.pulls[0] - self.tariff.count(self.bought))
            raise

    def _check_new(self, wanted: Mapping[int, IntArray]) -> None:
        for arm, rows in wanted.items():
            if not 0 <= arm < len(self.names) or (len(rows) and not 0 <= np.min(rows) <= np.max(rows) < self.n_rows):
                raise ValueError(f"there is no candidate {arm}, or a row of it is outside of 0 to {self.n_rows - 1}")
            if self.bought[arm, rows].any() or len(np.unique(rows)) < len(rows):
                raise ValueError(f"a value of candidate {self.names[arm]!r} would be bought twice")

    def _store(self, arm: int, rows: IntArray) -> None:
        name = self.names[arm]
        answer = checked_answer(self._oracle.query(name, rows), name, rows)
        table = self._values[arm]
        if table is None:
            table = self._values[arm] = np.full((self.n_rows, answer.shape[1]), np.nan)
        if table.shape[1] != answer.shape[1]:
            raise ValueError(
                f"the oracle first gave {table.shape[1]} columns for candidate {name!r}, now {answer.shape[1]}"
            )
        encodings = self._find_encodings(arm)
        if encodings and not self.bought[arm].any():
            self.encodings[name] = fit_fills(encodings, answer)
        table[rows] = answer
        self.bought[arm, rows] = True

    def _find_encodings(self, arm: int) -> Encodings:
        """Return the encodings of a candidate; none if its values were not encoded."""
        encodings, table = self.encodings.get(self.names[arm], ()), self._values[arm]
        width = sum(len(encoding.feature_names) for encoding in encodings)
        return encodings if table is not None and table.shape[1] == width else ()

    @property
    def widths(self) -> dict[str, int]:
        """Number of columns of every candidate of which something was bought."""
        return {n: table.shape[1] for n, table in zip(self.names, self._values, strict=True) if table is not None}

    def values(self, arm: int, rows: IntArray) -> FloatArray:
        """Return bought values; reading an unpaid value is an error."""
        table = self._values[arm]
        if table is None or not self.bought[arm, rows].all():
            raise ValueError(f"a value of candidate {self.names[arm]!r} was read that has not been bought")
        encodings = self._find_encodings(arm)
        return fill_missing(encodings, table[rows]) if encodings else table[rows]


def add_rows(bought: BoolArray, wanted: Mapping[int, IntArray]) -> BoolArray:
    """Return what is bought with further rows by candidate."""
    after = bought.copy()
    for arm, rows in wanted.items():
        after[arm, rows] = True
    return after


def balanced_order(y: IntArray, own: FloatArray, rng: np.random.Generator, strata: int = CYCLE) -> IntArray:
    """Return a random order of all rows in which every beginning resembles the table (see the module).

    Parameters
    ----------
    y
        Observed labels.
    own
        Out-of-fold probability of every row's own label.
    strata
        Their number; that of the rows if there are fewer.
    """
    strata = min(strata, len(y))
    shuffled = rng.permutation(len(y))  # ties of the sort are broken at random, and so is what comes last
    last, shuffled = np.split(shuffled, [len(y) % strata])
    ranked = shuffled[np.lexsort((own[shuffled], y[shuffled]))].reshape(strata, -1)
    cycles = rng.permuted(rng.permuted(ranked, axis=1).T, axis=1)
    return np.concatenate([cycles.ravel(), last]).astype(np.int64)
