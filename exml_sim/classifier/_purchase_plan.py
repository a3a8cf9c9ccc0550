"""Plan what a strategy will buy, by running it on assumed scores.

Nothing is asked of an oracle. The rounds depend on which candidates survive. Where costs or numbers of rows differ, the
plan is given for both ends: the cheapest candidates stay, or the most expensive ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim._internal.arrays import BoolArray, CountArray, IntArray
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import BASELINE_RISK, ArmState, Payment
from exml_sim.classifier._growth import check_affordable, strategy_for
from exml_sim.classifier._tariff import Tariff
from exml_sim.classifier.acquisition import AcquisitionManager
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.classifier.report import render
from exml_sim.classifier.subset_selection import plan_first_round
from exml_sim.money import show
from exml_sim.oracle import ArrayOracle
from exml_sim.seeds import Seeds
from exml_sim.strategies import Strategy, ValueOfInformationCommit
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What will be bought under one assumption.

    Attributes
    ----------
    kind
        "rounds", "subset_selection" or "fixed_confidence".
    assumption
        Which candidates stay, or what decides.
    cost
        All that may be spent.
    first_rows, first_cost
        Rows of the candidate that gets fewest in the first round, and the money of that round.
    details
        Further values for the text: rounds, money for validation rows, unaffordable candidates, confidence.
    """

    kind: str
    assumption: str
    cost: Fraction
    first_rows: int
    first_cost: Fraction
    details: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Render the plan."""
        return render("plan.txt.j2", plan=self).rstrip("\n")


@dataclass(frozen=True, slots=True, eq=False)
class PurchasePlan:
    """The plans of the first exploration, the candidates, and the number of further layers."""

    rows: int
    budget: Fraction
    candidates: tuple[tuple[str, Fraction, int], ...]
    plans: tuple[Plan, ...]
    further_layers: int

    @property
    def first_rows(self) -> int:
        """Rows of the first round."""
        return min(plan.first_rows for plan in self.plans)

    def text(self) -> str:
        """Render all plans."""
        return render("plans.txt.j2", purchase=self).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; money is text, because it is exact."""
        return {
            "rows": self.rows,
            "budget": show(self.budget),
            "candidates": [{"name": n, "cost": show(c), "available": count} for n, c, count in self.candidates],
            "plans": [{"assumption": plan.assumption, "cost": show(plan.cost)} for plan in self.plans],
        }


def plan_purchase(
    model: BaseExMLClassifier, oracle: ArrayOracle, available: Sequence[int], n_classes: int
) -> PurchasePlan:
    """Plan the first exploration of a classifier.

    Parameters
    ----------
    available
        Number of rows that can be bought of each candidate.
    n_classes
        Number of known classes.
    """
    rows, names, costs = len(oracle.available(oracle.names[0])), oracle.names, oracle.costs
    parameters, budget = model.resolve(n_classes), model.budget_for(oracle, rows)
    check_affordable(AcquisitionManager(oracle, rows, budget), parameters)
    part = budget / max(1, parameters.max_stages - 1)
    strategy = parameters.strategy
    if len(names) > 1 and parameters.selects_subsets:
        plans = [plan_subset_selection(names, costs, available, part, n_classes, strategy)]
    elif len(names) > 1 and isinstance(strategy, FixedConfidence):
        plans = [plan_fixed_confidence(costs, available, part, strategy)]
    else:
        rule = strategy_for(parameters, len(names))
        plans = plan_rounds(names, costs, available, rule, part, parameters.validation_fraction)
    candidates = tuple(zip(names, costs, available, strict=True))
    return PurchasePlan(rows, budget, candidates, tuple(plans), max(0, parameters.max_stages - 2))


def plan_rounds(
    names: Sequence[str],
    costs: Sequence[Fraction],
    available: Sequence[int],
    strategy: Strategy,
    budget: Fraction,
    validation_fraction: Fraction,
) -> list[Plan]:
    """Plan the rounds of a bandit strategy, for both ends of what may survive.

    Parameters
    ----------
    available
        Number of rows that can be bought of each candidate.
    budget, validation_fraction
        Money for the exploration, and the part of it that is kept for validation rows.
    """
    prices = np.array([float(cost) for cost in costs])
    order = np.argsort(prices, kind="stable").argsort(kind="stable").astype(float)
    ends = [("the cheapest candidates stay", order), ("the most expensive candidates stay", -order)]
    if len(set(costs)) == 1 and len(set(available)) == 1:
        ends = [("the first candidates stay (all cost the same: the numbers are exact)", order)]
    plans = []
    for assumption, wanted in ends:
        # Quality per cost divides by the cost: undone here, so that the wanted order results.
        per_cost = strategy.objective == "risk_per_cost"
        pool = _AssumedScores(names, costs, available, BASELINE_RISK + wanted * prices if per_cost else wanted)
        ledger = pool.explore(strategy, budget * (1 - validation_fraction)).ledger
        # What rounding and missing rows leave over goes to validation rows as well.
        kept = budget - ledger.spent if validation_fraction else Fraction(0)
        rounds: list[dict[str, Any]] = []
        for number in range(1, ledger.rounds + 1):
            pulls = [int(n) for n in ledger.round_pulls(number)[0]]
            money = sum((n * c for n, c in zip(pulls, ledger.prices.exact_costs, strict=True)), Fraction(0))
            rounds.append({"rows": [(name, n) for name, n in zip(names, pulls, strict=True) if n], "money": money})
        details = {"rounds": rounds, "validation": kept}
        first = int(ledger.round_pulls(1)[0].min())
        plans.append(Plan("rounds", assumption, ledger.spent + kept, first, rounds[0]["money"], details))
    return plans


def plan_subset_selection(
    names: Sequence[str],
    costs: Sequence[Fraction],
    available: Sequence[int],
    budget: Fraction,
    n_classes: int,
    strategy: ValueOfInformationCommit,
) -> Plan:
    """Plan a subset selection: its first round is known, the rest follows the scores."""
    tariff = Tariff(names, costs)
    compared, rows = plan_first_round(tariff, available, budget, n_classes, strategy)
    first = [min(rows, count) * (place in compared) for place, count in enumerate(available)]
    left_out = [name for place, name in enumerate(names) if place not in compared] if rows else []
    cost = min(budget, tariff.total(available))
    return Plan("subset_selection", "the scores decide", cost, rows, tariff.total(first), {"unaffordable": left_out})


def plan_fixed_confidence(
    costs: Sequence[Fraction], available: Sequence[int], budget: Fraction, strategy: FixedConfidence
) -> Plan:
    """Plan a fixed-confidence strategy: its first round is known, the rest until it is confident."""
    rows = min(strategy.first_pulls, int(budget / sum(costs, Fraction(0))))
    first_cost = _cost_of_everything(costs, [min(rows, count) for count in available])
    cost = min(budget, _cost_of_everything(costs, available))
    details = {"confidence": strategy.confidence}
    return Plan("fixed_confidence", "until the selection is confident", cost, rows, first_cost, details)


def _cost_of_everything(costs: Sequence[Fraction], available: Sequence[int]) -> Fraction:
    return sum((cost * count for cost, count in zip(costs, available, strict=True)), Fraction(0))


class _AssumedScores(Pool):
    """Arms with given scores, of which only numbers of rows are known."""

    def __init__(self, names: Sequence[str], costs: Sequence[Fraction], rows: Sequence[int], badness: object) -> None:
        self._names, self._costs = tuple(names), tuple(costs)
        self._rows, self._badness = np.asarray(rows, dtype=np.int64), np.asarray(badness, dtype=np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        return self._costs

    def open(self, seeds: Seeds) -> _CountedArms:
        return _CountedArms(self._rows, self._badness)


class _CountedArms(ArmState):
    """Arms that count rows."""

    levels = 1
    has_exact_scores = True

    def __init__(self, rows: IntArray, badness: object) -> None:
        self._left = rows.copy()
        self._badness = np.asarray(badness, dtype=np.float64)

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        pulled = np.asarray(np.minimum(pulls, self._left), dtype=np.int64)
        pay(pulled, pulled)
        self._left = self._left - pulled[0]
        return pulled

    def pulls_left(self) -> IntArray:
        return self._left[None]

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        value = np.where(wanted, self._badness, np.inf)
        return Scores(value, value, value)

    def counts(self) -> CountArray | None:
        return None
