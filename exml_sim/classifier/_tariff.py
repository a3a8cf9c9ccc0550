"""Prices of candidates with their fees: set-up fees once, bundle fees once per row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import BoolArray, IntArray
from exml_sim.money import CandidateCost, show

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
    """Costs of candidates and their fees, by positions of the candidates.

    Parameters
    ----------
    names
        Names of the candidates.
    costs
        Cost of one value of each; `CandidateCost` for fees.
    """

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
