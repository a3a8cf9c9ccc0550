"""Results of a study by strategy and pool, next to the bounds that apply to them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exml_sim.bandit.parametric import ParametricPool
from exml_sim.engine.bound_context import PluginBound, plugin_bounds
from exml_sim.engine.result import CellSummary, StudyResult
from simulations._pool_bounds import ArmBound, bounds_of, match_classical
from simulations.certificates import Certificate
from theory import BoundProblem
from theory.classical import CLASSICAL
from theory.paper import Strategy
from theory.population import BudgetStep, PopulationModel, decompose_budget
from theory.versions import VERSIONS, kind_of

if TYPE_CHECKING:
    import pandas as pd

#: The failure rate at which budgets are compared.
TARGET = 0.05
#: The level of all intervals in text, figures, pages and JSON.
CONFIDENCE = 0.99
#: The probability that the verdicts of a whole study contain a false refutation.
ALPHA = 1e-6
#: Distance between two points of a bound's curve, as a factor of the budget: of a formula, which takes no time, and of
#: other bounds.
FORMULA_STEP, STEP = 1.05, 1.25

#: Strategies whose names are not words.
STRATEGY_NAMES = {
    "eb_tc_epsilon": "EB-TC-ε", "kl_lucb": "KL-LUCB", "ocba": "OCBA", "shadavar": "SHAdaVar", "shvar": "SHVar",
    "ucb_e": "UCB-E", "ugap_eb": "UGapEb", "ugap_ec": "UGapEc",
}  # fmt: skip


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
        Results by ascending budget, with intervals at `CONFIDENCE`.
    kind
        The name that the bounds have for the strategy.
    problem
        Where the bounds are evaluated, or None if none applies.
    reason
        Why none applies, or the empty string.
    plugin_bounds
        Bounds of the study's plug-ins.
    arm_bounds
        Classical bounds of parametric arms.
    label
        Title of the strategy, if it is not made from its name.
    certificates
        Budgets certified by simulation for this pool and strategy.
    """

    pool: str
    score: str
    strategy: str
    arms: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    kind: Strategy = "uniform"
    problem: BoundProblem | None = None
    reason: str = ""
    plugin_bounds: tuple[PluginBound, ...] = ()
    arm_bounds: tuple[ArmBound, ...] = ()
    label: str = ""
    certificates: tuple[Certificate, ...] = ()
    #: Values of bounds that are not a formula, by version and budget.
    computed: dict[str, dict[int, float]] = field(default_factory=dict, init=False, repr=False, compare=False)
    #: Required budgets by version and probability.
    needed: dict[tuple[str, float], int | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The strategy for readers."""
        return self.label or name_strategy(self.strategy)

    @property
    def place(self) -> str:
        """Pool and score for readers."""
        return f"{self.pool} ({self.score})" if self.score else self.pool

    @property
    def budgets(self) -> list[float]:
        """Budgets of the cells."""
        return [float(Fraction(cell.budget)) for cell in self.cells]

    @property
    def versions(self) -> tuple[str, ...]:
        """Names of the upper bounds that apply, from the paper's to the sharpest, then classical ones and plug-ins."""
        return tuple(name for name in self._applying() if kind_of(name) == "upper")

    @property
    def lower_versions(self) -> tuple[str, ...]:
        """Names of the lower bounds that apply: references to draw, which no strategy is judged by."""
        return tuple(name for name in self._applying() if kind_of(name) == "lower")

    def _applying(self) -> tuple[str, ...]:
        problem = self.problem
        own = () if problem is None else tuple(name for name in VERSIONS if not problem.declined(name, self.kind))
        return (*own, *(bound.name for bound in self.curves))

    def bound_at(self, version: str, cell: CellSummary) -> float:
        """Evaluate a bound at the budget of a cell; NaN where it does not apply."""
        curve = self._find_curve(version)
        budget = Fraction(cell.budget)
        if curve is not None:
            return curve.at(float(budget))
        if self.problem is None or version not in VERSIONS:
            return float("nan")
        if self.problem.costs is not None and budget.denominator != 1:
            # With costs, part of a unit may buy a row, and the bounds are defined for whole budgets only.
            return float("nan")
        return float(self.values(version, np.array([int(budget)]))[0])

    def values(self, version: str, budgets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Evaluate a bound at whole budgets; what takes long is computed once."""
        curve = self._find_curve(version)
        if curve is not None:
            return np.array([curve.at(int(budget)) for budget in budgets])
        assert self.problem is not None
        if VERSIONS[version].formula:
            return np.atleast_1d(np.asarray(self.problem.bound(version, self.kind, budgets)))
        known = self.computed.setdefault(version, {})
        missing = [int(budget) for budget in budgets if budget not in known]
        if missing:
            values = np.atleast_1d(np.asarray(self.problem.bound(version, self.kind, np.array(missing))))
            known |= dict(zip(missing, values.tolist(), strict=True))
        return np.array([known[int(budget)] for budget in budgets], dtype=float)

    def required(self, version: str, delta: float) -> int | None:
        """Find the smallest budget whose bound is at most delta; None if there is none."""
        if (version, delta) not in self.needed:
            self.needed[version, delta] = self._search(version, delta)
        return self.needed[version, delta]

    def _search(self, version: str, delta: float) -> int | None:
        curve = self._find_curve(version)
        if curve is not None:
            return curve.required(delta)
        if self.problem is None:
            return None
        budget = None if VERSIONS[version].formula else self._search_cells(version, delta)
        if self.is_slow(version):
            return budget
        if budget is None:
            return self.problem.required(version, self.kind, delta)
        # The bound falls, and the cells of the study already enclose the answer.
        low = max((int(b) for b, c in self._pairs() if b < budget and self.bound_at(version, c) > delta), default=0)
        tried = range(low + 1, budget)
        return tried.start + bisect_left(tried, True, key=lambda at: self.values(version, np.array([at]))[0] <= delta)

    def _pairs(self) -> Iterator[tuple[float, CellSummary]]:
        return zip(self.budgets, self.cells, strict=True)

    def curve(self, version: str, last: float, floor: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sample a bound for a picture, from where it is below 1 to a last budget, or until it is below a floor.

        A lower bound is sampled from the first budget of the study on. Returns budgets and values.
        """
        is_lower = version in self.lower_versions
        start = math.ceil(min(self.budgets)) if is_lower else self.informative(version)
        if start is None or start >= last:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        step = FORMULA_STEP if version in CLASSICAL or (version in VERSIONS and VERSIONS[version].formula) else STEP
        number = max(round(math.log(last / start) / math.log(step)), 2)
        budgets = np.unique(np.geomspace(start, last, number).astype(np.int64))
        if self.is_slow(version):
            whole = [int(budget) for budget in self.budgets if budget.is_integer()]
            budgets = np.array([budget for budget in whole if start <= budget <= last], dtype=np.int64)
        values = np.zeros(0)
        for part in np.array_split(budgets, max(-(-len(budgets) // 4), 1)):
            values = np.concatenate([values, self.values(version, part)])
            if len(values) and values[-1] < floor:
                break
        shown = np.isfinite(values)
        return budgets[: len(values)][shown], values[shown]

    def is_slow(self, version: str) -> bool:
        """Tell whether a value of a bound takes so long that only budgets of the study are evaluated.

        The population bound solves a problem of the size of the population per value, except in the affine regime.
        """
        data = None if self.problem is None else self.problem.data
        return version in VERSIONS and not VERSIONS[version].formula and not getattr(data, "affine", True)

    def _search_cells(self, version: str, delta: float) -> int | None:
        """Find the first budget of the study from which on a bound is at most delta."""
        budget = None
        for cell in reversed(self.cells):
            if not self.bound_at(version, cell) <= delta:
                break
            budget = math.ceil(Fraction(cell.budget))
        return budget

    def informative(self, version: str) -> int | None:
        """Find the smallest budget at which a bound is below 1; None if there is none."""
        return self.required(version, float(np.nextafter(1.0, 0.0)))

    def launch_budget(self, version: str) -> int | None:
        """Find the smallest budget that meets the launch condition; other bounds have none."""
        if self.problem is None or version not in VERSIONS or not VERSIONS[version].formula:
            return None
        return self.problem.launch_budget(version, self.kind)

    @property
    def curves(self) -> tuple[PluginBound | ArmBound, ...]:
        """Bounds beside those of `VERSIONS`."""
        return (*self.arm_bounds, *self.plugin_bounds)

    def _find_curve(self, version: str) -> PluginBound | ArmBound | None:
        return next((bound for bound in self.curves if bound.name == version), None)


def make_panels(result: StudyResult, certificates: Sequence[Certificate] = ()) -> list[Panel]:
    """Group the results of a study into panels, in the order of its cells, each with its certificates."""
    study = result.study
    cells = {cell.index: cell for cell in result.study_cells}
    arms = {cell["cell"]: tuple(cell["arms"]) for cell in result.cells}
    grouped: dict[tuple[str, str, str], list[CellSummary]] = {}
    for summary in result.summary(CONFIDENCE):
        grouped.setdefault((summary.pool, summary.score, summary.strategy), []).append(summary)
    panels = []
    for labels, summaries in grouped.items():
        first = summaries[0].cell
        bounds = bounds_of(study, cells[first])
        ordered = tuple(sorted(summaries, key=lambda summary: Fraction(summary.budget)))
        title = study.strategies[cells[first].strategy].title or ""
        panel = Panel(*labels, arms[first], ordered, plugin_bounds=plugin_bounds(study, cells[first]), label=title)
        if isinstance(bounds, str) and study.mode != "excess_risk" and not study.missing_plugin(cells[first]):
            panel = replace(panel, arm_bounds=match_classical(study.pool(cells[first]), study.strategy(cells[first])))
        own = tuple(certificate for certificate in certificates if certificate.concerns(study, cells[first]))
        panel = replace(panel, certificates=own)
        if isinstance(bounds, str):
            known = not study.missing_plugin(cells[first]) and isinstance(study.pool(cells[first]), ParametricPool)
            reason = "no bound covers this strategy on these arms" if known else bounds
            panels.append(replace(panel, reason="" if panel.arm_bounds else reason))
        else:
            panels.append(replace(panel, kind=bounds[0], problem=bounds[1]))
    return panels


def needed_in_simulation(cells: Sequence[CellSummary], target: float) -> Fraction | None:
    """Return the first of ascending budgets from which on every cell's upper limit is at most the target."""
    budget = None
    for cell in reversed(cells):
        if cell.upper > target:
            break
        budget = Fraction(cell.budget)
    return budget


#: Causes of slack in the order of `decompose_slack`.
SLACK_CAUSES = ("optimism", "union bound", "worst-case distribution", "sampling")


def decompose_slack(panel: Panel) -> tuple[BudgetStep, ...]:
    """List budgets from the distribution-free bound to simulation, each without one more cause of slack.

    Empty where no theorem is behind `theory.population.decompose_budget`, or no budget of the study reaches the target.
    """
    model, simulated = affine_model(panel), needed_in_simulation(panel.cells, TARGET)
    if model is None or simulated is None:
        return ()
    steps = decompose_budget(model, TARGET)
    return (*steps, BudgetStep("sampling", float(simulated))) if steps[-1].budget > 0.0 else ()


def affine_model(panel: Panel) -> PopulationModel | None:
    """Return the population where exp(-n I), n = B/K, is about uniform allocation.

    That is the affine regime with shared rows, with replacement, at unit costs.
    """
    problem = panel.problem
    if problem is None or panel.kind != "uniform":
        return None
    if (problem.pairing, problem.population, problem.costs) != ("same", None, None):
        return None
    return problem.data if isinstance(problem.data, PopulationModel) and problem.data.affine else None


def describe_shortfall(panels: Sequence[Panel]) -> str:
    """Say that no budget is certain to reach the target, with the lowest upper limit and its rate."""
    parts = []
    for panel in panels:
        best = min(panel.cells, key=lambda cell: cell.upper)
        parts.append(f"{panel.title} {best.failure_rate:.2%} (upper limit {best.upper:.2%})")
    return f"no budget has an upper limit of at most {TARGET:.0%}; lowest: {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Needs:
    """Budgets that bring a strategy's failure probability to the target, by simulation and by each bound."""

    title: str
    simulated: Fraction | None
    bounds: dict[str, int | None]

    def factor(self, version: str) -> float:
        """Divide the budget of a bound by the budget needed in simulation; NaN if either is unknown."""
        budget = self.bounds.get(version)
        if budget is None or self.simulated is None:
            return float("nan")
        return float(budget / self.simulated)


def find_needs(panel: Panel, target: float = TARGET) -> Needs:
    """Find the required budgets of a panel."""
    by_bound = {name: panel.required(name, target) for name in panel.versions}
    return Needs(panel.title, needed_in_simulation(panel.cells, target), by_bound)


def name_strategy(label: str) -> str:
    """Return the name of a strategy for readers, from its name in studies and its options."""
    name, bracket, options = label.partition("(")
    return STRATEGY_NAMES.get(name, name.replace("_", " ")) + bracket + options


def name_bound(version: str) -> str:
    """Return the one name that text, tables, figures and pages use for a bound."""
    known = VERSIONS.get(version) or CLASSICAL.get(version)
    if known is None:
        return f"{version} (plug-in)"
    return f"{known.title} (lower)" if known.kind == "lower" and "lower" not in known.title else known.title


def format_factor(factor: float) -> str:
    """Write a factor with one digit after the point while it is small."""
    return f"{factor:,.1f}" if factor < 9.95 else f"{factor:,.0f}"


def budget_axis(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return the smallest budget and the one at which the last bound reaches the target."""
    budgets = [budget for panel in panels for budget in panel.budgets]
    required = [budget for panel in panels for budget in find_needs(panel).bounds.values() if budget is not None]
    low, high = min(budgets), max([*budgets, *map(float, required)])
    return low, float(np.nextafter(high, np.inf)) if low == high else high


def drop_bounds(panels: Sequence[Panel]) -> list[Panel]:
    """Return the same results without any bound."""
    nothing: Any = {"problem": None, "plugin_bounds": (), "arm_bounds": (), "reason": "bounds were not asked for"}
    return [replace(panel, **nothing) for panel in panels]


def to_frame(panels: Sequence[Panel]) -> pd.DataFrame:
    """Tabulate one row per strategy, pool and budget, with intervals, bounds and mean pulls."""
    import pandas as pd

    rows = []
    for panel in panels:
        for cell, budget in zip(panel.cells, panel.budgets, strict=True):
            bounds = {f"bound_{name}": panel.bound_at(name, cell) for name in panel.versions}
            bounds |= {f"lower_bound_{name}": panel.bound_at(name, cell) for name in panel.lower_versions}
            rows.append(cell.row() | {"strategy": panel.title, "budget": budget} | bounds)
    frame = pd.DataFrame(rows)
    pulls = [f"pulls {name}" for name in dict.fromkeys(name for panel in panels for name in panel.arms)]
    return frame[[*(name for name in frame if name not in pulls), *pulls]]


def arrange(
    panels: Sequence[Panel], labels: Mapping[str, str] | None = None, order: Sequence[str] | None = None
) -> list[Panel]:
    """Rename and order the strategies of panels.

    Parameters
    ----------
    panels : sequence of Panel
        All panels.
    labels : mapping, optional
        New titles by strategy or title.
    order : sequence of str, optional
        Strategies or titles to keep, in this order.
    """
    known = list(dict.fromkeys(name for panel in panels for name in (panel.strategy, panel.title)))
    for name in (*(labels or {}), *(order or ())):
        if name not in known and name not in (labels or {}).values():
            raise ValueError(f"there is no strategy {name!r}: there are {', '.join(known)}")
    named = [
        replace(panel, label=(labels or {}).get(panel.strategy, (labels or {}).get(panel.title, panel.label)))
        for panel in panels
    ]
    if order is None:
        return named
    return [panel for name in order for panel in named if name in (panel.strategy, panel.title)]
