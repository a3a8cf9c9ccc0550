"""Bounds of plug-ins over a study's results: the same questions that a `theory.BoundProblem` answers for ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exml_sim.engine.setting import Setting, declined, setting_of, value_of
from exml_sim.engine.study import Cell, Study
from exml_sim.plugins import find, given

#: Budgets beyond which a bound counts as silent.
MOST = 2**40


@dataclass(frozen=True, slots=True)
class PluggedBound:
    """A bound of somebody else's on one pool and strategy.

    Attributes
    ----------
    name
        What figure, report and plan call it.
    plugin
        The plug-in's name.
    function
        ``bound(budget, setting)``; it must not rise with the budget.
    setting
        What it may know.
    """

    name: str
    plugin: str
    function: Callable[..., Any]
    setting: Setting

    def at(self, budget: float) -> float:
        """The bound at a budget, NaN where it says nothing."""
        return value_of(self.plugin, self.function, budget, self.setting)

    def required(self, delta: float) -> int | None:
        """Smallest whole budget whose bound is at most delta; None if there is none."""
        high = 1
        while not self.at(high) <= delta:
            high *= 2
            if high > MOST:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle) <= delta else (middle, high)
        return high

    def informative(self) -> int | None:
        """Smallest budget at which the bound is below 1."""
        return self.required(math.nextafter(1.0, 0.0))


def plugged_of(study: Study, cell: Cell) -> tuple[PluggedBound, ...]:
    """The bounds of the study's plug-ins that speak of a cell's strategy and arms."""
    if not study.bounds:
        return ()
    setting = setting_of(study, cell)
    if isinstance(setting, str):
        return ()
    found = []
    with given(study.plugins):
        for spec in study.bounds:
            function = find("theory.bounds", spec.name).load()
            if not declined(function, spec, setting):
                found.append(PluggedBound(spec.label, spec.name, function, setting))
    return tuple(found)
