"""The false-alarm budget of the whole test suite: at most 1e-4, written down, and refused when overdrawn.

An alarm is the probability with which an assertion fails although what it tests is right. Exact checks have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

TOTAL = 1e-4


@dataclass(frozen=True)
class Item:
    """What one test, or one file of tests, may spend: so many verdicts with so much each."""

    each: float
    verdicts: int

    @property
    def sum(self) -> float:
        """The union bound."""
        return self.each * self.verdicts


# Tests that draw their alarms from here. The numbers of verdicts are those of the longest sweep.
DRAWN: dict[str, Item] = {
    "test_bounds_hold_in_the_affine_regime": Item(2e-8, 500),
    "test_bounds_hold_with_independent_rows": Item(2e-8, 250),
    "test_planted_bounds": Item(1e-7, 20),
    "test_small_levels": Item(1e-6, 3),
    "test_planted_bugs": Item(1e-7, 20),
}

# Files whose statistical assertions state their own alarms, each counted as often as it runs, rounded up. Assertions
# about single runs from a fixed seed, without a statement about rates, are not statistical and not counted.
STATED: dict[str, Item] = {
    "tests/exploration/test_known.py": Item(1e-6, 40),
    "tests/exploration/test_sampling.py": Item(1e-6, 2),
    "tests/method/test_thresholds.py": Item(1e-8, 1),
    "tests/test_seeds.py": Item(1e-6, 6),
    "tests/engine/test_stopping.py": Item(1e-6, 1),
    "tests/engine/test_result.py": Item(1e-6, 1),
    "tests/engine/modes/test_rare.py": Item(1e-6, 3),
    "tests/engine/modes/test_exact.py": Item(1e-7, 1),
    "tests/engine/modes/test_excess.py": Item(1e-7, 1),
    "tests/strategies/test_literature_bounds.py": Item(1e-6, 18),
    "tests/datasets/test_synthetic.py": Item(1e-9, 19),
    "tests/simulations/test_budget_vs_failure.py": Item(1e-15, 4),
}


class Purse:
    """Hands out the alarms of one plan and refuses more verdicts than were planned."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._item = DRAWN[name]
        self._left = self._item.verdicts

    def alarm(self) -> float:
        """The alarm of the next verdict (or family of verdicts that share one alarm)."""
        if self._left == 0:
            raise ValueError(f"{self._name} asks for more than its {self._item.verdicts} verdicts: plan them in DRAWN.")
        self._left -= 1
        return self._item.each


@cache
def purse(name: str) -> Purse:
    """The purse that all tests of a plan share."""
    return Purse(name)


def planned(name: str, verdicts: int) -> float:
    """The alarm of each of so many verdicts (or families of them), if they are planned."""
    item = DRAWN[name]
    if verdicts > item.verdicts:
        raise ValueError(f"{name} has a plan for {item.verdicts} verdicts, not for {verdicts}.")
    return item.each


def total() -> float:
    """What the whole suite may spend, by the union bound."""
    return sum(item.sum for item in (*DRAWN.values(), *STATED.values()))
