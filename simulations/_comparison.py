"""Compare the results of a study with the bounds: verdicts, their power, and where the slack arises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import special

from exml_sim.engine.result import CellSummary
from simulations.panels import ALPHA, TARGET, Panel, needed_in_simulation
from theory.population import BudgetStep, PopulationModel, decompose_budget
from theory.verdicts import Verdict, judge_exact, judge_family

#: Causes of slack in the order of `decompose_slack`.
SLACK_CAUSES = ("optimism", "union bound", "worst-case distribution", "sampling")


def judge_panels(panels: Sequence[Panel]) -> list[tuple[Panel, CellSummary, str, Verdict]]:
    """Test every counted or exact cell against every bound; `ALPHA` holds for all counts together."""
    pairs = [
        (panel, cell, name, panel.bound_at(name, cell))
        for panel in panels
        for cell in panel.cells
        if cell.interval in ("clopper-pearson", "exact")
        for name in panel.versions
    ]
    counts = [(cell.failures, cell.trials, bound) for _, cell, _, bound in pairs if cell.interval != "exact"]
    counted = iter(judge_family(counts, alpha=ALPHA))
    return [
        (panel, cell, name, judge_exact(min(max(cell.failure_rate, 0.0), 1.0), bound))
        if cell.interval == "exact"
        else (panel, cell, name, next(counted))
        for panel, cell, name, bound in pairs
    ]


@dataclass(frozen=True, slots=True)
class Power:
    """The smallest factor by which a bound, divided, would have been refuted by the counts, and where."""

    version: str
    factor: float
    title: str
    budget: float


def find_power(panels: Sequence[Panel]) -> list[Power]:
    """Find for every bound the cell that is nearest to refuting it.

    A bound b is refuted if b is below the Clopper-Pearson lower limit of the rate at `ALPHA`, shared by all pairs of a
    cell and a bound. So b divided by more than b over that limit would have been refuted.
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
        low = float(special.betaincinv(cell.failures, cell.trials - cell.failures + 1, ALPHA / len(pairs)))
        if bound < 1.0 and (name not in best or bound / low < best[name].factor):
            best[name] = Power(name, bound / low, panel.title, float(Fraction(cell.budget)))
    return list(best.values())


def find_gains(panel: Panel, target: float = TARGET) -> list[CellSummary]:
    """Find cells where our bound is below the target, the paper's is vacuous, and the rate is below both.

    The rate counts as below only if the upper end of its interval is: no failure seen is an upper limit, not 0.
    """
    gains = []
    for cell in panel.cells:
        ours, paper = panel.bound_at("tighter", cell), panel.bound_at("paper", cell)
        if ours < target and not paper < 1.0 and cell.upper < ours:
            gains.append(cell)
    return gains


def decompose_slack(panel: Panel, target: float = TARGET) -> tuple[BudgetStep, ...]:
    """List budgets from the distribution-free bound to simulation, each without one more cause of slack.

    Empty where no theorem is behind `theory.population.decompose_budget`, or no budget of the study reaches the target.
    """
    model, simulated = affine_model(panel), needed_in_simulation(panel.cells, target)
    if model is None or simulated is None:
        return ()
    steps = decompose_budget(model, target)
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
