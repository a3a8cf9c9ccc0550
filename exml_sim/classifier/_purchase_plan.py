"""Plan what a classifier will buy: its first round is known, the rest follows the scores. No oracle is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from exml_sim.classifier._growth import check_affordable, strategy_for
from exml_sim.classifier._tariff import Tariff
from exml_sim.classifier.acquisition import AcquisitionManager
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.classifier.report import render
from exml_sim.classifier.subset_selection import plan_first_round
from exml_sim.money import Prices, allot, show
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True, eq=False)
class PurchasePlan:
    """The first round, and what may be spent.

    Attributes
    ----------
    rows, budget, cost
        Rows of the table, the money, and the most that the exploration may spend.
    candidates
        Names, costs and numbers of rows that can be bought.
    first
        Rows of the first round by candidate; those that it leaves out are missing.
    first_cost
        Money of the first round.
    selects_subsets
        Whether sets of candidates are compared; otherwise a strategy decides.
    confidence
        Of a fixed-confidence strategy, otherwise None.
    further_layers
        Number of layers after the first exploration.
    """

    rows: int
    budget: Fraction
    cost: Fraction
    candidates: tuple[tuple[str, Fraction, int], ...]
    first: dict[str, int]
    first_cost: Fraction
    selects_subsets: bool
    confidence: float | None
    further_layers: int

    @property
    def first_rows(self) -> int:
        """Rows of the candidate that gets fewest in the first round."""
        return min(self.first.values(), default=0)

    @property
    def left_out(self) -> list[str]:
        """Candidates whose cost exceeds the exploration budget."""
        return [name for name, _, _ in self.candidates if self.first and name not in self.first]

    def text(self) -> str:
        """Render the plan."""
        return render("plan.txt.j2", plan=self).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; money is text, because it is exact."""
        return {
            "rows": self.rows,
            "budget": show(self.budget),
            "candidates": [{"name": n, "cost": show(c), "available": count} for n, c, count in self.candidates],
            "first_round": self.first,
            "first_cost": show(self.first_cost),
            "cost": show(self.cost),
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
    rows, names, tariff = len(oracle.available(oracle.names[0])), oracle.names, Tariff(oracle.names, oracle.costs)
    parameters, budget = model.resolve(n_classes), model.budget_for(oracle, rows)
    check_affordable(AcquisitionManager(oracle, rows, budget), parameters)
    part = budget / max(1, parameters.max_stages - 1)
    strategy: Any = strategy_for(parameters, len(names))
    if parameters.selects_subsets and len(names) > 1:
        places, count = plan_first_round(tariff, available, part, n_classes, strategy)
        wanted = {place: count for place in places if count}
    elif isinstance(strategy, FixedConfidence):
        count = min(strategy.first_pulls, int(part / tariff.price(range(len(names)))))
        wanted = dict.fromkeys(range(len(names)), count)
    else:
        prices, money = Prices.of(oracle.costs), part * (1 - parameters.validation_fraction)
        units = prices.units(strategy.first_round_cost(money, prices))
        active = (prices.costs > 0)[None]
        wanted = dict(enumerate(allot(units, prices.costs, active, strategy.alignment)[0].tolist()))
    first = [min(wanted.get(place, 0), available[place]) for place in range(len(names))]
    return PurchasePlan(
        rows,
        budget,
        min(part, tariff.total(available)),
        tuple(zip(names, oracle.costs, available, strict=True)),
        {name: first[place] for place, name in enumerate(names) if place in wanted},
        tariff.total(first),
        parameters.selects_subsets,
        getattr(strategy, "confidence", None),
        max(0, parameters.max_stages - 2),
    )
