"""Bounds of plug-ins over a study's results: the same questions that a `theory.BoundProblem` answers for ours."""

from __future__ import annotations

import math
from dataclasses import dataclass

from exml_sim.engine.bound_context import BoundContext, BoundSpec, context_of, evaluate, find_reason
from exml_sim.engine.study import Cell, Study

#: Budgets beyond which a bound counts as vacuous: no study has a larger one.
MAX_BUDGET = 2**40


@dataclass(frozen=True, slots=True)
class PluginBound:
    """A bound of a plug-in on one pool and strategy.

    Attributes
    ----------
    spec
        The bound; it must not rise with the budget.
    context
        What it may know.
    """

    spec: BoundSpec
    context: BoundContext

    @property
    def name(self) -> str:
        """Its name in figure, report and plan."""
        return self.spec.label

    def at(self, budget: float) -> float:
        """Evaluate the bound at a budget, NaN where it does not apply."""
        return evaluate(self.spec, budget, self.context)

    def required(self, delta: float) -> int | None:
        """Smallest whole budget whose bound is at most delta; None if there is none."""
        high = 1
        while not self.at(high) <= delta:
            high *= 2
            if high > MAX_BUDGET:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle) <= delta else (middle, high)
        return high

    def informative(self) -> int | None:
        """Smallest budget at which the bound is below 1."""
        return self.required(math.nextafter(1.0, 0.0))


def plugin_bounds(study: Study, cell: Cell) -> tuple[PluginBound, ...]:
    """List the loaded bounds of plug-ins that cover a cell's strategy and arms."""
    specs = [spec for spec in study.bounds if spec.loaded]
    context = context_of(study, cell) if specs else ""
    if isinstance(context, str):
        return ()
    return tuple(PluginBound(spec, context) for spec in specs if not find_reason(spec, context))


def describe_missing(study: Study) -> str:
    """Say which bounds of plug-ins are not drawn because only the store was read; empty if all are."""
    names = [spec.label for spec in study.bounds if not spec.loaded]
    return f"Not drawn: bounds of plug-ins ({', '.join(names)}); --plugins FILE draws them." if names else ""
