"""Mutants of a bound: the same bound with one error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from exml_sim.engine.bound_context import BoundContext
from simulations.testing import Assumes, Bound, examine_bound
from tests.quality.strategy_mutants import Plant


def _change_context(bound: Bound, **change: Callable[[BoundContext], Any]) -> Bound:
    """Return the bound with another context."""
    return lambda budget, context: bound(
        budget, replace(context, **{name: make(context) for name, make in change.items()})
    )


def bound_mutants(bound: Bound) -> dict[str, Bound]:
    """Return the bound with one typical error each."""

    def gaps(make: Callable[[tuple[float, ...]], Sequence[float]]) -> Bound:
        return _change_context(bound, gaps=lambda context: (0.0, *make(context.ordered)))

    return {
        "four times the budget": lambda budget, context: bound(4 * budget, context),
        "twice the budget": lambda budget, context: bound(2 * budget, context),
        "twice the gaps": gaps(lambda ordered: [2 * gap for gap in ordered]),
        "the largest gap for all": gaps(lambda ordered: [max(ordered)] * len(ordered)),
        "squared": lambda budget, context: bound(budget, context) ** 2,
        "to the fourth power": lambda budget, context: bound(budget, context) ** 4,
        "a tenth of it": lambda budget, context: bound(budget, context) / 10,
        "a hundredth of it": lambda budget, context: bound(budget, context) / 100,
        "B in place of B / K": lambda budget, context: bound(budget * context.K, context),
    }


def planted_bound(bound: Bound, assumes: Assumes | None = None, **options: Any) -> tuple[Plant, ...]:
    """Return every mutant of a bound, and the sentence that refutes it."""
    plants = []
    for error, mutant in bound_mutants(bound).items():
        report = examine_bound(mutant, assumes, **options)
        plants.append(Plant(error, mutant, report.findings[0] if report.findings else ""))
    return tuple(plants)
