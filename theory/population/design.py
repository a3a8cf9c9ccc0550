"""What is bought and how: prices, alignment, which arms share rows, and whether rows are drawn with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from theory.errors import AssumptionError

__all__ = ["Alignment", "Design", "Pairing"]

Pairing = Literal["same", "independent"]
Alignment = Literal["sample", "budget"]


@dataclass(frozen=True, slots=True)
class Design:
    """How a budget becomes rows.

    Attributes
    ----------
    pairing
        "same": arms read one order of rows from its beginning; "independent": every arm has rows of its own.
    costs
        Price of one row of every arm; None for 1 each.
    alignment
        With money b for the arms A, "sample" buys floor(b / sum of their costs) rows of each, "budget"
        floor(b / (|A| c_i)) rows of arm i.
    replacement
        Whether rows are drawn with replacement.
    """

    pairing: Pairing = "same"
    costs: tuple[Fraction, ...] | None = None
    alignment: Alignment = "sample"
    replacement: bool = True

    def __post_init__(self) -> None:
        if self.pairing not in ("same", "independent"):
            raise ValueError(f"pairing must be 'same' or 'independent', got {self.pairing!r}")
        if self.alignment not in ("sample", "budget"):
            raise ValueError(f"alignment must be 'sample' or 'budget', got {self.alignment!r}")
        if not self.replacement and self.pairing == "independent":
            raise AssumptionError("draws without replacement: the same rows for all arms", 1.0, "pairing='independent'")

    @classmethod
    def of(
        cls, pairing: Pairing, costs: Sequence[object] | None, alignment: Alignment, replacement: bool, arms: int
    ) -> Design:
        """From what a caller gives; equal costs are kept, because a price of 2 halves the rows."""
        prices = None if costs is None else tuple(_price(cost) for cost in costs)
        if prices is not None and len(prices) != arms:
            raise ValueError(f"costs must be {arms} positive numbers, one per arm, got {len(prices)}")
        return cls(pairing, prices, alignment, replacement)

    @property
    def even(self) -> bool:
        """Whether all arms get the same number of rows."""
        return self.costs is None or self.alignment == "sample" or len(set(self.costs)) == 1

    @property
    def fixed(self) -> bool:
        """Whether the rows of a round depend on the number of active arms only, not on which they are."""
        return self.costs is None or self.alignment == "budget" or len(set(self.costs)) == 1

    def least(self, arms: int) -> Fraction:
        """The smallest money that buys one row of every arm."""
        if self.costs is None:
            return Fraction(arms)
        return sum(self.costs, Fraction(0)) if self.alignment == "sample" else arms * max(self.costs)

    def rows(self, money: Fraction, arms: int, active: int) -> tuple[int, ...]:
        """Rows of every arm when ``active`` of them share the money."""
        if self.costs is None:
            return (int(money // active),) * arms
        if self.alignment == "sample":
            total = sum(self.costs) if active == arms else active * self.costs[0]
            return (int(money // total),) * arms
        return tuple(int(money // (active * cost)) for cost in self.costs)


def _price(cost: object) -> Fraction:
    """An exact price; a float stands for the number that it prints."""
    try:
        price = Fraction(str(cost))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"costs must be positive numbers, got {cost!r}") from None
    if price <= 0:
        raise ValueError(f"costs must be positive numbers, got {cost!r}")
    return price
