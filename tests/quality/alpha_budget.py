"""Budget of false-alarm rates (alpha) of the statistical tests of this repository.

The alpha of an assertion is the probability that it fails although what it tests is right. Exact checks have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PlannedTests:
    """Number of verdicts of one test, or of one file of tests, and the alpha of each."""

    each: float
    verdicts: int

    @property
    def sum(self) -> float:
        """The union bound."""
        return self.each * self.verdicts


class AlphaAllotment:
    """Give out the alphas of one plan, and refuse more verdicts than were planned."""

    def __init__(self, name: str, plan: PlannedTests) -> None:
        self._name = name
        self._plan = plan
        self._left = plan.verdicts

    def alpha(self) -> float:
        """Return the alpha of the next verdict, or family of verdicts that share one."""
        if self._left == 0:
            raise ValueError(f"{self._name} asks for more than its {self._plan.verdicts} verdicts: plan them in DRAWN.")
        self._left -= 1
        return self._plan.each


@dataclass
class AlphaBudget:
    """All plans of a suite, and the most that they may sum to.

    Attributes
    ----------
    total
        The largest allowed sum.
    drawn
        Plans of tests that draw their alphas from an allotment.
    stated
        Files whose assertions state their own alphas, each counted as often as it runs, rounded up.
    """

    total: float
    drawn: Mapping[str, PlannedTests]
    stated: Mapping[str, PlannedTests] = field(default_factory=dict)
    _allotments: dict[str, AlphaAllotment] = field(default_factory=dict, init=False, repr=False)

    def allot(self, name: str) -> AlphaAllotment:
        """Return the allotment that all tests of a plan share."""
        if name not in self.drawn:
            raise ValueError(f"{name} has no plan in the budget: plans are {', '.join(self.drawn)}")
        return self._allotments.setdefault(name, AlphaAllotment(name, self.drawn[name]))

    def planned(self, name: str, verdicts: int) -> float:
        """Return the alpha of each of `verdicts` verdicts, if as many are planned."""
        plan = self.drawn[name]
        if verdicts > plan.verdicts:
            raise ValueError(f"{name} has a plan for {plan.verdicts} verdicts, not for {verdicts}.")
        return plan.each

    @property
    def sum(self) -> float:
        """The sum of all plans, by the union bound."""
        return sum(plan.sum for plan in (*self.drawn.values(), *self.stated.values()))

    def check(self) -> None:
        """Refuse plans that exceed the total."""
        if self.sum > self.total:
            raise ValueError(f"the plans come to {self.sum:.3g}, and the budget allows {self.total:.3g}")
