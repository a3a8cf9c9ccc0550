"""A study's results as panels: one strategy on one pool over all budgets, next to the bounds that apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.engine.result import CellSummary, StudyResult
from simulations.pool_bounds import LEVELS, Level, PoolBounds, bounds_of
from theory.verdicts import Verdict, judge, judge_exact

#: The failure rate at which budgets are compared.
TARGET = 0.05
#: The level of the intervals in pictures and sentences.
CONFIDENCE = 0.99
#: The probability that the verdicts of a whole study raise a false alarm.
ALARM = 1e-6

NAMES = {"uniform_allocation": "uniform allocation", "median_elimination": "median elimination"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One strategy on one pool (and score) over all budgets.

    Attributes
    ----------
    pool, score, strategy
        Labels.
    arms
        Names of the arms.
    cells
        What the trials say, by ascending budget, with intervals at `CONFIDENCE`.
    bounds
        The bounds that apply, or None.
    reason
        Why none applies, or the empty string.
    """

    pool: str
    score: str
    strategy: str
    arms: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    bounds: PoolBounds | None
    reason: str

    @property
    def title(self) -> str:
        """The strategy for people."""
        return NAMES.get(self.strategy, self.strategy.replace("_", " "))

    @property
    def place(self) -> str:
        """Pool and score for people."""
        return f"{self.pool} ({self.score})" if self.score else self.pool

    def practice(self, target: float = TARGET) -> Fraction | None:
        """The first budget from which on every cell's interval is below the target, or None."""
        found = None
        for cell in reversed(self.cells):
            if cell.upper > target:
                break
            found = Fraction(cell.budget)
        return found

    def bound_at(self, level: Level, cell: CellSummary) -> float:
        """A bound at the budget of a cell, NaN where it says nothing; a fraction of a pull buys nothing."""
        if self.bounds is None:
            return float("nan")
        return float(self.bounds.bound(level, int(Fraction(cell.budget)))[0])


def panels_of(result: StudyResult, level: float = CONFIDENCE) -> list[Panel]:
    """All panels of a study, in the order of its cells."""
    study = result.study
    specs = {cell.index: cell for cell in study.cells()}
    names = {cell["cell"]: tuple(cell["arms"]) for cell in result.cells}
    grouped: dict[tuple[str, str, str], list[CellSummary]] = {}
    for one in result.summary(level):
        grouped.setdefault((one.pool, one.score, one.strategy), []).append(one)
    found = []
    for (pool, score, strategy), cells in grouped.items():
        bounds = bounds_of(study, specs[cells[0].cell])
        known = isinstance(bounds, PoolBounds)
        ordered = tuple(sorted(cells, key=lambda cell: Fraction(cell.budget)))
        found.append(
            Panel(
                pool,
                score,
                strategy,
                names[cells[0].cell],
                ordered,
                bounds if isinstance(bounds, PoolBounds) else None,
                "" if known else str(bounds),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Needs:
    """Budgets that bring a strategy's failure probability to the target: in practice, and by each bound."""

    title: str
    practice: Fraction | None
    bounds: dict[Level, int | None]

    def factor(self, level: Level) -> float:
        """How many times the budget of practice a bound asks for; NaN if either is unknown."""
        asked = self.bounds.get(level)
        if asked is None or self.practice is None:
            return float("nan")
        return float(asked / self.practice)


def needs(panel: Panel, target: float = TARGET) -> Needs:
    """Required budgets of a panel."""
    by_bound = {} if panel.bounds is None else {level: panel.bounds.required(level, target) for level in LEVELS}
    return Needs(panel.title, panel.practice(target), by_bound)


def sentence(found: Needs, target: float = TARGET) -> str:
    """What practice needs and what theory asks for, in words."""
    if found.practice is None:
        return f"{found.title.capitalize()} did not reach {target:.0%} failures in this study."
    start = (
        f"To miss the best candidate in at most {target:.0%} of all trials, {found.title} needs a budget of about "
        f"{float(found.practice):,.0f}"
    )
    words = {"paper": "the paper's bound asks for", "corrected": "the corrected one for", "tighter": "ours for"}
    parts = []
    for level in LEVELS:
        asked = found.bounds.get(level)
        if asked is not None:
            parts.append(f"{words[level]} {asked:,} ({found.factor(level):,.0f} times as much)")
    return f"{start}; {', '.join(parts)}." if parts else f"{start}."


def gained(panel: Panel, target: float = TARGET) -> list[CellSummary]:
    """Cells where our bound is below the target, the paper's is vacuous, and the rate is below both.

    The rate counts as below only if the upper end of its interval is: no failure seen is an upper limit, not 0.
    """
    found = []
    for cell in panel.cells:
        ours, printed = panel.bound_at("tighter", cell), panel.bound_at("paper", cell)
        if ours < target and not printed < 1.0 and cell.upper < ours:
            found.append(cell)
    return found


def verdicts(panels: Sequence[Panel]) -> list[tuple[Panel, CellSummary, Level, Verdict]]:
    """Hold every counted or exact cell against every bound; the false-alarm rate is split over all of them."""
    pairs = [
        (panel, cell, level)
        for panel in panels
        if panel.bounds is not None
        for cell in panel.cells
        if cell.interval in ("clopper-pearson", "exact")
        for level in LEVELS
    ]
    found = []
    for panel, cell, level in pairs:
        bound = panel.bound_at(level, cell)
        if cell.interval == "exact":
            verdict = judge_exact(min(max(cell.failure_rate, 0.0), 1.0), bound)
        else:
            verdict = judge(cell.failures, cell.trials, bound, alarm=ALARM / len(pairs))
        found.append((panel, cell, level, verdict))
    return found


def budget_axis(panels: Sequence[Panel]) -> tuple[float, float]:
    """From the smallest budget to where the last bound reaches the target."""
    low = min(float(Fraction(cell.budget)) for panel in panels for cell in panel.cells)
    high = max(float(Fraction(cell.budget)) for panel in panels for cell in panel.cells)
    asked = [needs(panel).bounds.get(level) for panel in panels for level in LEVELS]
    high = max([high, *(float(budget) for budget in asked if budget is not None)])
    return low, float(np.nextafter(high, np.inf)) if low == high else high
