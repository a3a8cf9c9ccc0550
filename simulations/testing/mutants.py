"""Mutants of a bound: the same bound with one error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from exml_sim.engine.setting import Setting
from exml_sim.testing.mutants import Plant
from simulations.testing.assumptions import Assumes, Bound
from simulations.testing.checks import examine_bound


def _told(bound: Bound, **change: Callable[[Setting], Any]) -> Bound:
    """A bound that is told something else."""
    return lambda budget, setting: bound(
        budget, replace(setting, **{name: make(setting) for name, make in change.items()})
    )


def bound_mutants(bound: Bound) -> dict[str, Bound]:
    """The bound with one error each, as bounds are wrong in earnest."""

    def gaps(make: Callable[[tuple[float, ...]], Sequence[float]]) -> Bound:
        return _told(bound, gaps=lambda setting: (0.0, *make(setting.ordered)))

    return {
        "four times the budget": lambda budget, setting: bound(4 * budget, setting),
        "twice the budget": lambda budget, setting: bound(2 * budget, setting),
        "twice the gaps": gaps(lambda ordered: [2 * gap for gap in ordered]),
        "the largest gap for all": gaps(lambda ordered: [max(ordered)] * len(ordered)),
        "squared": lambda budget, setting: bound(budget, setting) ** 2,
        "to the fourth power": lambda budget, setting: bound(budget, setting) ** 4,
        "a tenth of it": lambda budget, setting: bound(budget, setting) / 10,
        "a hundredth of it": lambda budget, setting: bound(budget, setting) / 100,
        "B in place of B / K": lambda budget, setting: bound(budget * setting.K, setting),
    }


def planted_bound(bound: Bound, assumes: Assumes | None = None, **options: Any) -> tuple[Plant, ...]:
    """Every mutant of a bound, and the sentence that refutes it."""
    found = []
    for error, mutant in bound_mutants(bound).items():
        report = examine_bound(mutant, assumes, **options)
        found.append(Plant(error, mutant, report.findings[0] if report.findings else ""))
    return tuple(found)
