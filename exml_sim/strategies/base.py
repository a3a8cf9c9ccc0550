"""What a strategy is: a rule that drives trials in lock-step, and the options that all rules share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from exml_sim.exploration.lockstep import OBJECTIVES, Lockstep
from exml_sim.money import ALIGNMENTS, IntArray, Prices, unknown


@runtime_checkable
class Strategy(Protocol):
    """The protocol. Any object with these members can be passed to `explore`; no subclassing is needed."""

    @property
    def alignment(self) -> str:
        """How a round's money becomes pulls: "sample" or "budget"."""
        ...

    @property
    def objective(self) -> str:
        """What the best arm is: "risk" or "risk_per_cost"."""
        ...

    def opening(self, budget: Fraction, prices: Prices) -> Fraction:
        """Money of the first round, which all arms share; budgets that are too small are refused by it."""
        ...

    def explore(self, trials: Lockstep) -> IntArray:
        """Run the rule to its end.

        Returns
        -------
        The selected arms, the first choice first, shape (trials, k).
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Options that every rule of this package takes.

    Parameters
    ----------
    alignment
        "sample": all active arms get equally many pulls. "budget": all get equal money, so cheaper ones get
        more pulls.
    objective
        "risk": the lowest score wins. "risk_per_cost": the highest quality per cost wins, (1 - score) /
        cost, the test-time cost of the paper's Remark 2; 1 is the score of a model that says nothing.
    """

    alignment: str = "sample"
    objective: str = "risk"

    def __post_init__(self) -> None:
        if self.alignment not in ALIGNMENTS:
            raise ValueError(unknown("alignment", self.alignment, ALIGNMENTS))
        if self.objective not in OBJECTIVES:
            raise ValueError(unknown("objective", self.objective, OBJECTIVES))
