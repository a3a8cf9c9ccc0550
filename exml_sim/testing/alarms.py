"""The false-alarm book of a test suite: what every statistical assertion may spend, and a sum that is kept.

An alarm is the probability with which an assertion fails although what it tests is right. Exact checks have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """What one test, or one file of tests, may spend: so many verdicts with so much each."""

    each: float
    verdicts: int

    @property
    def sum(self) -> float:
        """The union bound."""
        return self.each * self.verdicts


class Purse:
    """Hands out the alarms of one plan and refuses more verdicts than were planned."""

    def __init__(self, name: str, item: Item) -> None:
        self._name = name
        self._item = item
        self._left = item.verdicts

    def alarm(self) -> float:
        """The alarm of the next verdict (or family of verdicts that share one alarm)."""
        if self._left == 0:
            raise ValueError(f"{self._name} asks for more than its {self._item.verdicts} verdicts: plan them in DRAWN.")
        self._left -= 1
        return self._item.each


@dataclass
class Book:
    """All plans of a suite and the most that they may come to together.

    Attributes
    ----------
    total
        The most that the whole suite may spend.
    drawn
        Plans of tests that draw their alarms from a purse.
    stated
        Files whose assertions state their own alarms, each counted as often as it runs, rounded up.
    """

    total: float
    drawn: Mapping[str, Item]
    stated: Mapping[str, Item] = field(default_factory=dict)
    _purses: dict[str, Purse] = field(default_factory=dict, init=False, repr=False)

    def purse(self, name: str) -> Purse:
        """The purse that all tests of a plan share."""
        if name not in self.drawn:
            raise ValueError(f"{name} has no plan in the book: plans are {', '.join(self.drawn)}")
        return self._purses.setdefault(name, Purse(name, self.drawn[name]))

    def planned(self, name: str, verdicts: int) -> float:
        """The alarm of each of so many verdicts (or families of them), if they are planned."""
        item = self.drawn[name]
        if verdicts > item.verdicts:
            raise ValueError(f"{name} has a plan for {item.verdicts} verdicts, not for {verdicts}.")
        return item.each

    @property
    def sum(self) -> float:
        """What the whole suite may spend, by the union bound."""
        return sum(item.sum for item in (*self.drawn.values(), *self.stated.values()))

    def check(self) -> None:
        """Refuse a book that is overdrawn."""
        if self.sum > self.total:
            raise ValueError(f"the plans come to {self.sum:.3g}, and the book allows {self.total:.3g}")
