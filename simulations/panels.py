"""A study's results as panels: one strategy on one pool over all budgets, next to the bounds that apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from exml_sim.engine.result import CellSummary, StudyResult
from simulations.plugin_bounds import PluginBound, plugin_bounds
from simulations.pool_bounds import bounds_of
from theory import BoundProblem
from theory.paper import Strategy
from theory.population import BudgetStep, PopulationModel, decompose_budget
from theory.verdicts import Verdict, judge_exact, judge_family
from theory.versions import VERSIONS

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
    kind
        The name that the bounds have for the strategy.
    point
        Where they are evaluated, or None if none applies.
    reason
        Why none applies, or the empty string.
    plugin_bounds
        Bounds of the study's plug-ins.
    """

    pool: str
    score: str
    strategy: str
    arms: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    kind: Strategy = "uniform"
    point: BoundProblem | None = None
    reason: str = ""
    plugin_bounds: tuple[PluginBound, ...] = ()
    _required: dict[tuple[str, float], int | None] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        return practice(self.cells, target)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the bound that may speak here, from the paper's to the sharpest; then those of plug-ins."""
        point = self.point
        ours = () if point is None else tuple(name for name in VERSIONS if not point.declined(name, self.kind))
        return (*ours, *(one.name for one in self.plugin_bounds))

    def bound_at(self, version: str, cell: CellSummary) -> float:
        """A bound at the budget of a cell, NaN where it says nothing; a fraction of a pull buys nothing."""
        other = self._plugin_bound(version)
        if other is not None:
            return other.at(float(Fraction(cell.budget)))
        if self.point is None or version not in VERSIONS:
            return float("nan")
        budget = Fraction(cell.budget)
        if self.point.costs is not None and budget.denominator != 1:
            # With prices a part of a unit may buy a row, and the bounds know whole budgets only.
            return float("nan")
        return float(self.point.bound(version, self.kind, int(budget)))

    def _plugin_bound(self, version: str) -> PluginBound | None:
        return next((one for one in self.plugin_bounds if one.name == version), None)

    def values(self, version: str, budgets: NDArray[np.int64], *, log: bool = False) -> NDArray[np.float64]:
        """A bound, or its logarithm, at whole budgets."""
        other = self._plugin_bound(version)
        if other is None:
            assert self.point is not None
            return np.atleast_1d(np.asarray(self.point.bound(version, self.kind, budgets, log=log)))
        found = np.array([other.at(int(budget)) for budget in np.atleast_1d(budgets)])
        with np.errstate(divide="ignore"):
            return np.log(found) if log else found

    def required(self, version: str, delta: float) -> int | None:
        """Smallest budget whose bound is at most delta; None if there is none."""
        if (version, delta) not in self._required:
            # Table, picture, report and findings all ask, and the answer is a search.
            self._required[version, delta] = self._search(version, delta)
        return self._required[version, delta]

    def _search(self, version: str, delta: float) -> int | None:
        other = self._plugin_bound(version)
        if other is not None:
            return other.required(delta)
        return None if self.point is None else self.point.required(version, self.kind, delta)

    def informative(self, version: str) -> int | None:
        """Smallest budget at which the bound is below 1; None if there is none."""
        return self.required(version, float(np.nextafter(1.0, 0.0)))

    def launch(self, version: str) -> int | None:
        """Smallest budget at which the statement's launch condition holds; bounds of plug-ins have none."""
        if self._plugin_bound(version) is not None or self.point is None:
            return None
        return self.point.launch(version, self.kind)


def practice(cells: Sequence[CellSummary], target: float) -> Fraction | None:
    """The first of ascending budgets from which on every cell's interval is below the target, or None."""
    found = None
    for cell in reversed(cells):
        if cell.upper > target:
            break
        found = Fraction(cell.budget)
    return found


def panels_of(result: StudyResult, level: float = CONFIDENCE) -> list[Panel]:
    """All panels of a study, in the order of its cells."""
    study = result.study
    specs = {cell.index: cell for cell in result.study_cells}
    names = {cell["cell"]: tuple(cell["arms"]) for cell in result.cells}
    grouped: dict[tuple[str, str, str], list[CellSummary]] = {}
    for one in result.summary(level):
        grouped.setdefault((one.pool, one.score, one.strategy), []).append(one)
    found = []
    for (pool, score, strategy), cells in grouped.items():
        bounds = bounds_of(study, specs[cells[0].cell])
        ordered = tuple(sorted(cells, key=lambda cell: Fraction(cell.budget)))
        others = plugin_bounds(study, specs[cells[0].cell])
        panel = Panel(pool, score, strategy, names[cells[0].cell], ordered, plugin_bounds=others)
        if isinstance(bounds, str):
            found.append(replace(panel, reason=bounds))
        else:
            found.append(replace(panel, kind=bounds[0], point=bounds[1]))
    return found


@dataclass(frozen=True, slots=True)
class Needs:
    """Budgets that bring a strategy's failure probability to the target: in practice, and by each bound."""

    title: str
    practice: Fraction | None
    bounds: dict[str, int | None]

    def factor(self, version: str) -> float:
        """How many times the budget of practice a bound asks for; NaN if either is unknown."""
        asked = self.bounds.get(version)
        if asked is None or self.practice is None:
            return float("nan")
        return float(asked / self.practice)


def needs(panel: Panel, target: float = TARGET) -> Needs:
    """Required budgets of a panel."""
    by_bound = {name: panel.required(name, target) for name in panel.versions}
    return Needs(panel.title, panel.practice(target), by_bound)


def words_of(version: str) -> str:
    """What stands before the budget of a bound in a sentence."""
    return VERSIONS[version].budget_phrase if version in VERSIONS else f"the bound {version} needs"


def title_of(version: str) -> str:
    """A bound in a table or on a button."""
    return VERSIONS[version].title if version in VERSIONS else f"{version} (plug-in)"


def times(factor: float) -> str:
    """A factor for people: one digit after the point while it is small."""
    return f"{factor:,.1f}" if factor < 9.95 else f"{factor:,.0f}"


def sentence(found: Needs, target: float = TARGET) -> str:
    """What practice needs and what theory asks for, in words."""
    if found.practice is None:
        return f"{found.title.capitalize()} did not reach {target:.0%} failures in this study."
    start = (
        f"To miss the best candidate in at most {target:.0%} of all trials, {found.title} needs a budget of about "
        f"{float(found.practice):,.0f} in practice (the smallest tried from where the upper {CONFIDENCE:.0%} limit of "
        f"the rate is at most {target:.0%})"
    )
    parts = [
        f"{words_of(name)} {asked:,} ({times(found.factor(name))} times as much)"
        for name, asked in found.bounds.items()
        if asked is not None
    ]
    return f"{start}; {', '.join(parts)}." if parts else f"{start}."


def account(panel: Panel, target: float = TARGET) -> tuple[BudgetStep, ...]:
    """Budgets from the bound that knows the gaps only to practice, each without one more cause of loss.

    Empty where `theory.population.decompose_budget` has no theorem behind it, or practice did not reach the target.
    """
    data, practice = known_data(panel), panel.practice(target)
    if data is None or practice is None:
        return ()
    steps = decompose_budget(data, target)
    return (*steps, BudgetStep("beyond the rate", float(practice))) if steps[-1].budget > 0.0 else ()


def known_data(panel: Panel) -> PopulationModel | None:
    """The population where exp(-n I), n = B/K, is about uniform allocation: affine, shared rows, no prices."""
    point = panel.point
    if (
        point is None
        or panel.kind != "uniform"
        or (point.pairing, point.population, point.costs) != ("same", None, None)
    ):
        return None
    return point.data if isinstance(point.data, PopulationModel) and point.data.affine else None


def account_sentence(panel: Panel, target: float = TARGET) -> str:
    """Where the distance between the bound of the gaps and practice goes, in words; empty if it is not known."""
    steps = account(panel, target)
    if not steps:
        return ""
    factors = [before.budget / after.budget for before, after in pairwise(steps)]
    names = ("the optimism of the arms", "the union over arms", "the worst law with these gaps instead of this one")
    parts = [f"{times(factor)} by {name}" for factor, name in zip(factors, names, strict=False)]
    return (
        f"The bound that knows the gaps only asks {panel.title} for {times(steps[0].budget / steps[-1].budget)} times "
        f"the budget of practice: {', '.join(parts)}, and {times(factors[-1])} from exp(-n I), with the rate I of "
        f"the pool as a search found it, to practice{_below(factors[-1])} (factors, which multiply)."
    )


def _below(factor: float) -> str:
    """Why the last factor may be below 1."""
    return ", which needs more because exp(-n I) is no bound and the grid of budgets is coarse" if factor < 1.0 else ""


def gained(panel: Panel, target: float = TARGET) -> list[CellSummary]:
    """Cells where our bound is below the target, the paper's is vacuous, and the rate is below both.

    The rate counts as below only if the upper end of its interval is: no failure seen is an upper limit, not 0.
    """
    found = []
    for cell in panel.cells:
        ours, paper = panel.bound_at("tighter", cell), panel.bound_at("paper", cell)
        if ours < target and not paper < 1.0 and cell.upper < ours:
            found.append(cell)
    return found


def verdicts(panels: Sequence[Panel]) -> list[tuple[Panel, CellSummary, str, Verdict]]:
    """Hold every counted or exact cell against every bound; one false-alarm rate for all counts (`judge_family`)."""
    pairs = [
        (panel, cell, name, panel.bound_at(name, cell))
        for panel in panels
        for cell in panel.cells
        if cell.interval in ("clopper-pearson", "exact")
        for name in panel.versions
    ]
    counts = [(cell.failures, cell.trials, bound) for _, cell, _, bound in pairs if cell.interval != "exact"]
    counted = iter(judge_family(counts, alpha=ALARM))
    return [
        (panel, cell, name, judge_exact(min(max(cell.failure_rate, 0.0), 1.0), bound))
        if cell.interval == "exact"
        else (panel, cell, name, next(counted))
        for panel, cell, name, bound in pairs
    ]


@dataclass(frozen=True, slots=True)
class Power:
    """The smallest factor by which a version, divided, would have been refuted by the counts, and where."""

    version: str
    factor: float
    title: str
    budget: Fraction


def power(panels: Sequence[Panel]) -> list[Power]:
    """What the trials could have seen: for every version the cell that is nearest to refuting it.

    A bound b is refuted if b is below the Clopper-Pearson lower limit of the rate at `ALARM`, shared by all pairs of a
    cell and a bound; so b divided by more than b over that limit would have been.
    """
    pairs = [
        (panel, cell, name)
        for panel in panels
        for cell in panel.cells
        if cell.interval == "clopper-pearson" and cell.failures > 0
        for name in panel.versions
    ]
    best: dict[str, Power] = {}
    for panel, cell, name in pairs:
        bound = panel.bound_at(name, cell)
        low = float(special.betaincinv(cell.failures, cell.trials - cell.failures + 1, ALARM / len(pairs)))
        if bound < 1.0 and (name not in best or bound / low < best[name].factor):
            best[name] = Power(name, bound / low, panel.title, Fraction(cell.budget))
    return list(best.values())


def budget_axis(panels: Sequence[Panel]) -> tuple[float, float]:
    """From the smallest budget to where the last bound reaches the target."""
    low = min(float(Fraction(cell.budget)) for panel in panels for cell in panel.cells)
    high = max(float(Fraction(cell.budget)) for panel in panels for cell in panel.cells)
    asked = [budget for panel in panels for budget in needs(panel).bounds.values() if budget is not None]
    high = max([high, *map(float, asked)])
    return low, float(np.nextafter(high, np.inf)) if low == high else high
