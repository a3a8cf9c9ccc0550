"""The purchase plan: what a strategy will buy, found by running it on make-believe scores.

Nothing is asked of an oracle. The rounds depend on which candidates survive; where prices or numbers of rows differ, so
does the plan, and it is shown for both ends: the cheapest candidates stay, or the dearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.arrays import BoolArray, CountArray, IntArray
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.ranking import Scores
from exml_sim.bandit.trial_batch import BASELINE_RISK, ArmState, Payment
from exml_sim.classifier.race import opened
from exml_sim.money import show
from exml_sim.seeds import Seeds
from exml_sim.strategies import Strategy, ValueOfInformationCommit
from exml_sim.strategies.fixed_confidence import FixedConfidence
from exml_sim.validation import counted


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What will be bought under one assumption about the survivors.

    Attributes
    ----------
    assumption
        Which candidates stay.
    ledger
        The exploration's purchases.
    validation
        Money that is kept for rows to choose theta.
    """

    assumption: str
    ledger: Ledger
    validation: Fraction

    @property
    def cost(self) -> Fraction:
        """Money of the exploration and of the validation rows."""
        return self.ledger.spent + self.validation

    def table(self) -> str:
        """The plan as text: one line per round."""
        lines = [f"plan if {self.assumption}:"]
        for number in range(1, self.ledger.rounds + 1):
            pulls = self.ledger.round_pulls(number)[0]
            bought = [(name, int(n)) for name, n in zip(self.ledger.names, pulls, strict=True) if n]
            money = sum(
                (n * c for n, c in zip(map(int, pulls), self.ledger.prices.exact_costs, strict=True)), Fraction(0)
            )
            rows = ", ".join(f"{counted(n, 'row')} of {name}" for name, n in bought)
            lines.append(f"  round {number}: {rows}, for {show(money)}")
        if self.validation:
            lines.append(f"  then rows of the selected candidate to choose theta, for at most {show(self.validation)}")
        lines.append(f"  in all at most {show(self.cost)}")
        return "\n".join(lines)


def plans(
    names: Sequence[str],
    costs: Sequence[Fraction],
    available: Sequence[int],
    strategy: Strategy,
    budget: Fraction,
    validation_share: Fraction,
) -> list[Plan]:
    """The plans of one exploration.

    Parameters
    ----------
    available
        Number of rows that can be bought of each candidate.
    budget, validation_share
        Money for the exploration, and the part of it that is kept for validation rows.
    """
    order = np.argsort(np.array([float(cost) for cost in costs]), kind="stable").argsort(kind="stable").astype(float)
    ends = [("the cheapest candidates stay", order), ("the dearest candidates stay", -order)]
    if len(set(costs)) == 1 and len(set(available)) == 1:
        ends = [("the first candidates stay (all cost the same: the numbers are exact)", order)]
    out = []
    for assumption, wanted in ends:
        # Quality per cost divides by the cost: undone here, so that the wanted order comes out.
        per_cost = strategy.objective == "risk_per_cost"
        badness = BASELINE_RISK + wanted * np.array([float(cost) for cost in costs]) if per_cost else wanted
        pool = _MakeBelieve(names, costs, available, badness)
        found = pool.explore(strategy, budget * (1 - validation_share))
        # What rounding and missing rows leave over goes to validation rows as well.
        kept = budget - found.ledger.spent if validation_share else Fraction(0)
        out.append(Plan(assumption, found.ledger, kept))
    return out


@dataclass(frozen=True, slots=True)
class RacePlan:
    """What a race will buy: its opening is known, the rest follows the scores.

    Attributes
    ----------
    rows
        Rows of every candidate in the opening.
    opening, most
        Money of the opening, and in all.
    too_dear
        Candidates that are left out for their price.
    """

    rows: int
    opening: Fraction
    most: Fraction
    too_dear: tuple[str, ...] = ()

    assumption = "the race decides"

    @property
    def cost(self) -> Fraction:
        """All that may be spent."""
        return self.most

    def table(self) -> str:
        """The plan as text."""
        if not self.rows:
            return f"too little money to compare candidates: one of the cheapest, for at most {show(self.most)}"
        whom = f"every candidate but {', '.join(self.too_dear)}, too dear" if self.too_dear else "every candidate"
        return (
            f"opening: {counted(self.rows, 'row')} of {whom}, for {show(self.opening)}\n"
            "then rows of the candidates that can still change the choice, for as long as that is worth more than rows "
            f"of the leader;\nall that is left buys rows of what was chosen: in all at most {show(self.most)}"
        )


def race_plan(
    names: Sequence[str],
    costs: Sequence[Fraction],
    available: Sequence[int],
    budget: Fraction,
    n_classes: int,
    rule: ValueOfInformationCommit,
) -> RacePlan:
    """The plan of one race."""
    compared, rows = opened(costs, available, budget, n_classes, rule)
    opening = sum((costs[place] * min(rows, available[place]) for place in compared), Fraction(0))
    everything = sum((cost * there for cost, there in zip(costs, available, strict=True)), Fraction(0))
    too_dear = tuple(name for place, name in enumerate(names) if place not in compared) if rows else ()
    return RacePlan(rows, opening, min(budget, everything), too_dear)


@dataclass(frozen=True, slots=True)
class SurePlan:
    """What a rule with a confidence will buy: its opening is known, the rest until it is sure.

    Attributes are those of `RacePlan`, and the rule's confidence.
    """

    rows: int
    opening: Fraction
    most: Fraction
    confidence: float
    keeps_rest: bool

    assumption = "until it is sure"

    @property
    def cost(self) -> Fraction:
        """All that may be spent."""
        return self.most

    def table(self) -> str:
        """The plan as text."""
        rest = "is kept" if self.keeps_rest else "buys rows of what was selected"
        return (
            f"opening: {counted(self.rows, 'row')} of every candidate, for {show(self.opening)}\n"
            f"then rows of the candidates that are not excluded, until the selection is sure with "
            f"{100.0 * self.confidence:g} %;\nwhat is left then {rest}: in all at most {show(self.most)}"
        )


def sure_plan(
    costs: Sequence[Fraction], available: Sequence[int], budget: Fraction, rule: FixedConfidence, keeps_rest: bool
) -> SurePlan:
    """The plan of a rule with a confidence."""
    whole = sum(costs, Fraction(0))
    rows = min(rule.first_pulls, int(budget / whole))
    opening = sum((cost * min(rows, there) for cost, there in zip(costs, available, strict=True)), Fraction(0))
    everything = sum((cost * there for cost, there in zip(costs, available, strict=True)), Fraction(0))
    return SurePlan(rows, opening, min(budget, everything), rule.confidence, keeps_rest)


class _MakeBelieve(Pool):
    """Arms whose scores are given, and of which only numbers of rows are known."""

    def __init__(self, names: Sequence[str], costs: Sequence[Fraction], rows: Sequence[int], badness: object) -> None:
        self._names, self._costs = tuple(names), tuple(costs)
        self._rows, self._badness = np.asarray(rows, dtype=np.int64), np.asarray(badness, dtype=np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        return self._costs

    def open(self, seeds: Seeds) -> _Numbers:
        return _Numbers(self._rows, self._badness)


class _Numbers(ArmState):
    """A session that counts rows."""

    levels = 1
    has_exact_scores = True

    def __init__(self, rows: IntArray, badness: object) -> None:
        self._left = rows.copy()
        self._badness = np.asarray(badness, dtype=np.float64)

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        granted = np.asarray(np.minimum(pulls, self._left), dtype=np.int64)
        pay(granted, granted)
        self._left = self._left - granted[0]
        return granted

    def pulls_left(self) -> IntArray:
        return self._left[None]

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        value = np.where(wanted, self._badness, np.inf)
        return Scores(value, value, value)

    def counts(self) -> CountArray | None:
        return None
