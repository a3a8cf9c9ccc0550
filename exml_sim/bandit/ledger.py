"""Spend money exactly: the only place that does, for one trial or many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.money import Money, Prices, exact, show

# Budgets have at most 2**52 units (see `Prices.units`), and sums below this stay far from 2**63.
_BEYOND_ALL_BUDGETS = 2.0**60


class Overspend(ValueError):
    """A purchase that the budget does not cover."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One arm in one round of one trial.

    Attributes
    ----------
    round
        Number of the purchase, from 1.
    arm
        Name of the arm.
    pulls
        Values bought.
    unit_cost
        Cost of one pull.
    spent
        `pulls * unit_cost`.
    left_over
        What the arm's share of the round's money did not buy, because pulls are whole or because rows ran
        out.
    short
        Pulls that the share would have paid for but that no row was left for.
    """

    round: int
    arm: str
    pulls: int
    unit_cost: Fraction
    spent: Fraction
    left_over: Fraction
    short: int = 0


_COLUMNS = [column.name for column in fields(Entry)]


@dataclass(frozen=True, slots=True, eq=False)
class _Purchase:
    pulls: IntArray
    active: BoolArray
    money: Fraction | IntArray | None
    alignment: str
    short: IntArray | None


class Ledger:
    """Record of every pull and what it cost; refuses to overspend.

    Parameters
    ----------
    budget
        The money there is, per trial.
    costs
        Cost of one pull of every arm. Decimals are exact: 0.95 is 95/100.
    names
        Names of the arms; `arm 0`, `arm 1`, … if not given.
    trials
        Number of trials that run together, each with its own budget.

    Examples
    --------
    >>> ledger = Ledger(10, ["0.95", "1.2"], names=["pix", "mor"])
    >>> ledger.buy([4, 4])
    >>> ledger.spent, ledger.left
    (Fraction(43, 5), Fraction(7, 5))
    """

    def __init__(
        self,
        budget: Money,
        costs: Iterable[Money] | Prices,
        names: Sequence[str] | None = None,
        trials: int = 1,
    ) -> None:
        self.prices = costs if isinstance(costs, Prices) else Prices.of(costs)
        self.budget = exact(budget, "budget")
        if self.budget < 0:
            raise ValueError(f"budget must not be negative, got {budget}")
        if trials < 1:
            raise ValueError(f"a ledger needs at least one trial, got {trials}")
        self.names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(self.prices.size))
        if len(self.names) != self.prices.size:
            raise ValueError(f"{self.prices.size} costs need as many names, got {len(self.names)}")
        self.trials = trials
        self._limit = self.prices.units(self.budget)
        self._spent = np.zeros(trials, dtype=np.int64)
        self._history = True
        self._rounds = 0
        self._purchases: list[_Purchase] = []

    def __repr__(self) -> str:
        many = "" if self.trials == 1 else f", {self.trials} trials"
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return f"<Ledger: {rounds}, budget {show(self.budget)}, {self.prices.size} arms{many}>"

    def __str__(self) -> str:
        return self.table()

    def buy(
        self,
        pulls: IntArray | Sequence[int],
        *,
        money: Fraction | IntArray | None = None,
        active: BoolArray | None = None,
        alignment: str = "sample",
        short: IntArray | None = None,
    ) -> None:
        """Pay for one round of pulls in every trial, or for none of them.

        Parameters
        ----------
        pulls
            Pulls per arm, shape (K,) or (trials, K).
        money
            The round's money: an exact amount, or whole units of the price list per trial. Left-overs are
            counted against it; without it nothing is left over.
        active
            The arms that share the money; by default those that are pulled.
        alignment
            How the arms share it: in proportion to cost ("sample") or equally ("budget").
        short
            Pulls that the money would have paid for but that could not be had.

        Raises
        ------
        Overspend
            If some trial has not enough money left. Nothing is recorded then.
        ValueError
            If pulls are negative, not whole, or of the wrong shape.
        """
        given = np.asarray(pulls)
        shape = (self.trials, self.prices.size)
        if given.shape not in (shape, shape[1:]):
            raise ValueError(f"pulls must have shape {shape[1:]} or {shape}, got {given.shape}")
        whole = np.ascontiguousarray(np.broadcast_to(given, shape), dtype=np.int64)
        spent = np.empty_like(self._spent)
        is_whole = given.dtype == np.int64 or not np.any(whole != given)
        if not is_whole or not _charge(whole, self.prices.costs, self._limit, self._spent, spent):
            if not is_whole or whole.min() < 0:
                raise ValueError(f"pulls must be whole numbers, none negative, got {pulls!r}")
            raise Overspend(self._explain_overspend(whole))
        if self._history:
            sharing = whole > 0 if active is None else active.copy()
            self._add_purchase(_Purchase(whole.copy(), sharing, money, alignment, short))
        else:
            self._rounds += 1
        self._spent = spent

    def charge(self, units: IntArray) -> bool:
        """Pay whole units in every trial, without a record of what they buy; return False if some trial cannot."""
        spent = self._spent + units
        if self._history or spent.max() > self._limit:
            return False
        self._rounds += 1
        self._spent = spent
        return True

    def _add_purchase(self, purchase: _Purchase) -> None:
        self._rounds += 1
        self._purchases.append(purchase)

    def take_back(self, pulls: IntArray | Sequence[int]) -> None:
        """Return the money of pulls of the latest round that were not delivered, for ledgers of one trial.

        Raises
        ------
        ValueError
            If the latest round has fewer pulls than that.
        """
        self._check_single()
        self._check_history()
        returned = np.asarray(pulls, dtype=np.int64).reshape(1, -1)
        if not self._purchases or returned.shape != (1, self.prices.size) or np.any(returned < 0):
            raise ValueError(f"pulls of the latest round must have shape ({self.prices.size},), got {pulls!r}")
        last = self._purchases[-1]
        if np.any(returned > last.pulls):
            raise ValueError(f"the latest round has the pulls {last.pulls[0].tolist()}, not {returned[0].tolist()}")
        self._purchases[-1] = replace(last, pulls=last.pulls - returned)
        self._spent = self._spent - returned @ self.prices.costs

    def forget(self) -> None:
        """Keep sums only from here on: thousands of rounds would leave as many arrays."""
        self._history = False

    def window(self, budget: Money, arms: Sequence[int]) -> Ledger:
        """Open a part of this ledger (of one trial) for the given arms and at most the given money.

        Purchases through the window are booked here, and refused here if the money has been spent elsewhere. The window
        shows its own purchases.
        """
        self._check_single()
        chosen = [int(arm) for arm in arms]
        if len(set(chosen)) < len(chosen) or not all(0 <= arm < self.prices.size for arm in chosen):
            raise ValueError(f"a window needs different arms from 0 to {self.prices.size - 1}, got {chosen}")
        if exact(budget, "budget") > self.left:
            raise ValueError(f"a window of {show(exact(budget)):.40} is more than the {show(self.left)} that are left")
        return _Window(self, budget, chosen)

    def _explain_overspend(self, pulls: IntArray) -> str:
        costs = [int(cost) for cost in self.prices.costs]
        wanted = [sum(int(n) * cost for n, cost in zip(row, costs, strict=True)) for row in pulls]
        worst = max(range(self.trials), key=lambda trial: wanted[trial] + int(self._spent[trial]))
        left = self.budget - self.prices.money(int(self._spent[worst]))
        return (
            f"round {self.rounds + 1} would cost {show(self.prices.money(wanted[worst]))} in trial {worst}, "
            f"but only {show(left)} of the budget {show(self.budget)} is left"
        )

    @property
    def rounds(self) -> int:
        """Number of purchases so far."""
        return self._rounds

    @property
    def left_units(self) -> IntArray:
        """Whole units of money left in every trial, shape (trials,)."""
        return self._limit - self._spent

    @property
    def spent_units(self) -> IntArray:
        """Units of money spent in every trial, shape (trials,)."""
        return self._spent.copy()

    @property
    def spent(self) -> Fraction:
        """Money spent (ledgers of one trial)."""
        return self.prices.money(int(self._spent[self._check_single()]))

    @property
    def left(self) -> Fraction:
        """Money left (ledgers of one trial)."""
        return self.budget - self.spent

    @property
    def pulls(self) -> IntArray:
        """Pulls per trial and arm over all rounds, shape (trials, K)."""
        self._check_history()
        total = np.zeros((self.trials, self.prices.size), dtype=np.int64)
        for purchase in self._purchases:
            total += purchase.pulls
        return total

    def round_pulls(self, number: int) -> IntArray:
        """Pulls of one round (numbered from 1), shape (trials, K)."""
        self._check_history()
        return self._purchases[number - 1].pulls

    def _check_single(self) -> int:
        if self.trials != 1:
            raise ValueError(f"this ledger holds {self.trials} trials: choose one with .trial(i)")
        return 0

    def _check_history(self) -> None:
        if not self._history:
            raise ValueError("this ledger keeps sums only: its purchases were not noted")

    def trial(self, index: int) -> Ledger:
        """Extract the ledger of one trial."""
        self._check_history()
        alone = Ledger(self.budget, self.prices, self.names)
        alone._spent = self._spent[index : index + 1].copy()
        row = slice(index, index + 1)
        alone._purchases = [
            _Purchase(
                p.pulls[row],
                p.active[row],
                p.money[row] if isinstance(p.money, np.ndarray) else p.money,
                p.alignment,
                None if p.short is None else p.short[row],
            )
            for p in self._purchases
        ]
        alone._rounds = self._rounds
        return alone

    def entries(self) -> list[Entry]:
        """List every arm that had a share of a round's money, in order (ledgers of one trial)."""
        self._check_single()
        self._check_history()
        return [entry for number, purchase in enumerate(self._purchases, 1) for entry in self._split(number, purchase)]

    def _split(self, number: int, purchase: _Purchase) -> Iterator[Entry]:
        """Split a purchase into one entry per arm."""
        arms = [int(i) for i in np.flatnonzero(purchase.active[0])]
        costs = self.prices.exact_costs
        money = purchase.money
        if isinstance(money, np.ndarray):
            money = self.prices.money(int(money[0]))
        total = sum(costs[i] for i in arms)
        for i in arms:
            pulls = int(purchase.pulls[0, i])
            short = 0 if purchase.short is None else int(purchase.short[0, i])
            share = spent = pulls * costs[i]
            if money is not None:
                share = money * costs[i] / total if purchase.alignment == "sample" else money / len(arms)
            yield Entry(number, self.names[i], pulls, costs[i], spent, share - spent, short)

    def _rows(self) -> list[list[str]]:
        """Write the fields of every entry as text, with exact amounts."""
        fields = (astuple(entry) for entry in self.entries())
        return [[show(value) if isinstance(value, Fraction) else str(value) for value in row] for row in fields]

    def table(self) -> str:
        """Write the ledger as text: one line per round and arm, then the sum."""
        rows = [[column.replace("_", " ") for column in _COLUMNS], *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, f"spent {show(self.spent)} of {show(self.budget)}, left {show(self.left)}"])

    def to_csv(self) -> str:
        """Export the entries as CSV text with exact amounts."""
        return write_csv(_COLUMNS, self._rows())


class _Window(Ledger):
    """Part of the arms of a ledger with a limit of their own; the purchases are the ledger's."""

    def __init__(self, whole: Ledger, budget: Money, arms: Sequence[int]) -> None:
        costs = whole.prices.exact_costs
        super().__init__(budget, [costs[arm] for arm in arms], [whole.names[arm] for arm in arms])
        self._whole, self._arms = whole, list(arms)

    def _add_purchase(self, purchase: _Purchase) -> None:
        money = purchase.money
        self._whole.buy(
            self._spread(purchase.pulls),
            money=self.prices.money(int(money[0])) if isinstance(money, np.ndarray) else money,
            active=self._spread(purchase.active),
            alignment=purchase.alignment,
            short=None if purchase.short is None else self._spread(purchase.short),
        )
        super()._add_purchase(purchase)

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add a column of zeros for every other arm of the whole ledger."""
        wide = np.zeros((1, self._whole.prices.size), dtype=values.dtype)
        wide[:, self._arms] = values
        return wide


@kernel
def share_money(units: IntArray, costs: IntArray, active: BoolArray, equal_money: bool, pulls: IntArray) -> None:
    """Turn the money of every trial into pulls of its active arms, as `exml_sim.money.allot` does."""
    for t in range(active.shape[0]):
        divisor = 0
        for arm in range(active.shape[1]):
            if active[t, arm]:
                divisor += 1 if equal_money else costs[arm]
        share = units[t] // max(divisor, 1)
        for arm in range(active.shape[1]):
            pulls[t, arm] = (share // costs[arm] if equal_money else share) if active[t, arm] else 0


@kernel
def share_among(
    units: IntArray, costs: IntArray, arms: IntArray, equal_money: bool, number: IntArray, spent: IntArray
) -> None:
    """Turn the money of every trial into pulls of the listed arms; -1 stands for no arm."""
    for t in range(arms.shape[0]):
        divisor = 0
        for j in range(arms.shape[1]):
            if arms[t, j] >= 0:
                divisor += 1 if equal_money else costs[arms[t, j]]
        share = units[t] // max(divisor, 1)
        spent[t] = 0
        for j in range(arms.shape[1]):
            number[t, j] = 0
            if arms[t, j] >= 0:
                cost = costs[arms[t, j]]
                number[t, j] = share // cost if equal_money else share
                spent[t] += number[t, j] * cost


@kernel
def _charge(pulls: IntArray, costs: IntArray, limit: int, spent: IntArray, after: IntArray) -> bool:
    """Add the cost of the pulls to what every trial has spent; return False if pulls are negative or unaffordable."""
    for t in range(pulls.shape[0]):
        total, size = spent[t], float(spent[t])
        for arm in range(pulls.shape[1]):
            if pulls[t, arm] < 0:
                return False
            total += pulls[t, arm] * costs[arm]
            # The product could overflow 64 bits; in floats it is seen to be unaffordable.
            size += float(pulls[t, arm]) * float(costs[arm])
        if size > _BEYOND_ALL_BUDGETS or total > limit:
            return False
        after[t] = total
    return True


@kernel
def count_pulls(arms: IntArray, number: IntArray, pulls: IntArray) -> None:
    """Add the numbers of pulls of the listed arms to `pulls`, shape (trials, K)."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if number[t, j]:
                pulls[t, arms[t, j]] += number[t, j]
