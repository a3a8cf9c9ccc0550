"""Represent money exactly: as fractions, and as whole numbers of one smallest unit.

A cost of 0.95 is the decimal 95/100, not the nearest binary float; a floor taken on floats would sometimes be one pull
off. Amounts are therefore parsed to `Fraction`. For thousands of trials at once the same amounts are counted in a
common unit (the reciprocal of the costs' least common denominator), where every cost is an integer and every floor is
an integer division.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np

from exml_sim._internal.arrays import BoolArray, IntArray
from exml_sim._internal.validation import check_choice, shown

Money = int | float | str | Decimal | Fraction

ALIGNMENTS: Sequence[str] = ("sample", "budget")

#: Digits of an amount before and behind the point; every float has fewer.
MOST_DIGITS = 400

# Sums over the arms of a price list stay far below 2**63 under this limit.
LARGEST_UNITS = 2**52


def exact(amount: Money, what: str = "amount") -> Fraction:
    """Parse an amount of money without rounding.

    A float stands for the shortest decimal that prints as it, so `exact(0.95) == Fraction(95, 100)`.

    Raises
    ------
    ValueError
        If the amount is not a finite number, or has more digits than any float.
    """
    try:
        # Python reads 1_000 as a thousand; in a table it is a text, and so it is here.
        if isinstance(amount, bool) or (isinstance(amount, str) and (len(amount) > MOST_DIGITS or "_" in amount)):
            raise ValueError
        if isinstance(amount, Integral | Rational):
            return Fraction(int(amount.numerator), int(amount.denominator))
        if isinstance(amount, float | np.floating):
            # The text of a numpy scalar is the shortest decimal of its own type: 0.95 for float32(0.95), too.
            return Fraction(Decimal(str(amount)))
        if isinstance(amount, str) and "/" in amount:
            return Fraction(amount.strip())
        decimal = Decimal(amount.strip() if isinstance(amount, str) else amount)
        # "1e999999999" is nine characters, and a fraction that fills the memory.
        if decimal.is_finite() and (
            abs(decimal.adjusted()) > MOST_DIGITS or len(decimal.as_tuple().digits) > MOST_DIGITS
        ):
            raise ValueError
        return Fraction(decimal)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError, InvalidOperation):
        raise ValueError(
            f"{what} must be a finite number (int, float, decimal text, Decimal or Fraction) of at most {MOST_DIGITS} "
            f"digits, got {shown(amount)}"
        ) from None


class CandidateCost(Fraction):
    """The exact cost of one value of a candidate, with the fees that come with it.

    Parameters
    ----------
    value : Money
        Cost of one value.
    setup : Money
        Fee that is paid once, with the first value.
    bundle : str
        Candidates of one bundle share `bundle_fee`, which is paid once per row, such as for a visit or a panel.
    bundle_fee : Money
        Fee of the bundle.

    Examples
    --------
    >>> cost = CandidateCost("1.5", setup=100, bundle="visit", bundle_fee=20)
    >>> cost == Fraction(3, 2), cost.setup, cost.bundle_fee
    (True, Fraction(100, 1), Fraction(20, 1))
    """

    __slots__ = ("bundle", "bundle_fee", "setup")
    setup: Fraction
    bundle: str
    bundle_fee: Fraction

    def __new__(cls, value: Money, setup: Money = 0, bundle: str = "", bundle_fee: Money = 0) -> CandidateCost:
        """Check and parse all amounts."""
        cost = super().__new__(cls, exact(value, "cost"))
        cost.setup, cost.bundle = exact(setup, "set-up fee"), bundle
        cost.bundle_fee = exact(bundle_fee, "bundle fee")
        if cost.setup < 0 or cost.bundle_fee < 0:
            raise ValueError(f"fees must not be negative, got {shown(setup)} and {shown(bundle_fee)}")
        if bool(bundle) != (cost.bundle_fee > 0):
            raise ValueError(f"a bundle has a name and a fee above 0, got {bundle!r} and {shown(bundle_fee)}")
        return cost

    def __reduce__(self) -> tuple[type[CandidateCost], tuple[Money, ...]]:
        """Copy with the fees."""
        return CandidateCost, (Fraction(self), self.setup, self.bundle, self.bundle_fee)

    def __deepcopy__(self, memo: object) -> CandidateCost:
        """Return itself, which never changes."""
        return self


def exact_cost(amount: Money, what: str = "cost") -> Fraction:
    """Parse a cost, which must be positive; fees that it has are kept."""
    cost = amount if isinstance(amount, CandidateCost) else exact(amount, what)
    if cost <= 0:
        raise ValueError(f"{what} must be greater than 0, got {shown(amount)}")
    return cost


def cost_by_name(names: Sequence[str], costs: Mapping[str, Money] | None) -> tuple[Fraction, ...]:
    """Parse the costs of candidates, 1 where a name is missing."""
    if costs is not None and not isinstance(costs, Mapping):
        raise ValueError(f"costs must be given by name, like {{'ct': 5}}; got {shown(costs)}")
    prices = costs or {}
    stray = [name for name in prices if name not in names]
    if stray:
        raise ValueError(f"a cost is given for {stray[0]!r}, which is no candidate: {', '.join(names)}")
    return tuple(exact_cost(prices.get(name, 1), f"cost of candidate {name!r}") for name in names)


def show(amount: Fraction) -> str:
    """Print an exact amount: as a decimal when it ends within nine places, otherwise as a fraction."""
    if not isinstance(amount, int | Fraction):
        raise ValueError(f"an exact amount must be a whole number or a fraction, got {type(amount).__name__}")
    scaled = amount * 10**9
    if scaled.denominator != 1:
        return f"{amount.numerator}/{amount.denominator}"
    text = f"{Decimal(scaled.numerator).scaleb(-9):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short(number: float | None) -> str:
    """Print a number in few digits, but never as another one: 0.4999999 is not 0.5."""
    if number is None:
        return "-"
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number))


@dataclass(frozen=True, slots=True)
class Prices:
    """A price list in whole units: `costs[i] * unit` is the exact cost of one pull of arm i."""

    unit: Fraction
    costs: IntArray

    @classmethod
    def of(cls, costs: Iterable[Money]) -> Prices:
        """Parse a price list and choose the largest unit that divides every cost."""
        amounts = [exact_cost(cost, f"cost of arm {i}") for i, cost in enumerate(costs)]
        if not amounts:
            raise ValueError("a price list needs at least one arm, got none")
        denominator = math.lcm(*(amount.denominator for amount in amounts))
        whole = [int(amount * denominator) for amount in amounts]
        divisor = math.gcd(*whole)
        units = [number // divisor for number in whole]
        if sum(units) > LARGEST_UNITS:
            raise ValueError(
                f"the costs need {sum(units)} units of {Fraction(divisor, denominator)} in all, "
                f"more than the {LARGEST_UNITS} that exact arithmetic in 64 bits allows"
            )
        return cls(Fraction(divisor, denominator), np.array(units, dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of arms on the list."""
        return int(self.costs.size)

    @property
    def exact_costs(self) -> tuple[Fraction, ...]:
        """The costs as exact fractions."""
        return tuple(int(cost) * self.unit for cost in self.costs)

    def units(self, amount: Fraction) -> int:
        """Round an amount of money down to whole units."""
        units = amount // self.unit
        if units > LARGEST_UNITS:
            raise ValueError(
                f"an amount of {show(amount):.40} is more than {LARGEST_UNITS} times the unit {show(self.unit)} "
                "of the price list"
            )
        return units

    def money(self, units: int) -> Fraction:
        """Express a number of units as money."""
        return units * self.unit


def allot(units: int | IntArray, costs: IntArray, active: BoolArray, alignment: str) -> IntArray:
    """Turn a round's money into pulls per arm (the paper's Section 3.2, "Non-uniform Query Cost").

    With b the money, A the active arms and c their costs, every active arm gets

        sample alignment:  floor(b / sum_{j in A} c_j) pulls, the same number for all,
        budget alignment:  floor(b / (|A| c_i)) pulls, the same money for all.

    The floors are taken on the exact quotient. The paper also floors the *money* of an arm first, which for
    costs that are not whole numbers takes away pulls that its stated number of samples includes.

    Parameters
    ----------
    units
        The round's money, rounded down to whole units (which changes no floor, because all costs are whole
        units): one amount for all trials, or one per trial, shape (trials,).
    costs
        Costs in units, shape (K,).
    active
        Which arms share the money, shape (trials, K).

    Returns
    -------
    Pulls of shape (trials, K), zero where an arm is not active.
    """
    if alignment == "sample":
        total = np.maximum(active @ costs, 1)
        return np.asarray((units // total)[:, None] * active, dtype=np.int64)
    check_choice(alignment, "alignment", ALIGNMENTS)
    width = np.maximum(active.sum(axis=1), 1)
    share = np.broadcast_to(np.asarray(units, dtype=np.int64), width.shape) // width
    return np.asarray(share[:, None] // costs * active, dtype=np.int64)
