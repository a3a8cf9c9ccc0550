"""Draw how the slack of the distribution-free bound decomposes, one bar per cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from exml_sim.engine.result import StudyResult
from simulations.figures import style
from simulations.panels import TARGET, Panel, format_factor, make_panels, name_bound, needed_in_simulation
from theory.population import BudgetStep, PopulationModel, decompose_budget
from theory.versions import VERSIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def draw(ax: Axes, panel: Panel, steps: Sequence[BudgetStep]) -> Axes:
    """Draw one bar per cause, from the budget with it to the budget without it; the sharpest bound is marked."""
    for row, (before, after) in enumerate(pairwise(steps)):
        low, high = sorted((before.budget, after.budget))
        ax.barh(row, high - low, left=low, color=style.CYCLE[row], height=0.6, zorder=2)
        ax.text(high * 1.08, row, f"{format_factor(before.budget / after.budget)}x", va="center", fontsize=8)
    sharpest = [name for name in panel.versions if name in VERSIONS][-1]
    marks = {
        name_bound("tighter"): steps[0].budget,
        "simulation": steps[-1].budget,
        name_bound(sharpest): panel.required(sharpest, TARGET),
    }
    for (name, budget), dashes in zip(marks.items(), ("--", ":", "-."), strict=True):
        if budget is not None:
            label = f"{name} {budget:,.0f}"
            ax.axvline(budget, color=style.GUIDE, linewidth=1.2, linestyle=dashes, label=label, zorder=1)
    ax.set_yticks(range(len(steps) - 1), SLACK_CAUSES)
    ax.set(xscale="log", ylim=(len(steps) - 1.4, -0.6), xlabel=f"budget for {TARGET:.0%} failures")
    ax.set_xlim(min(step.budget for step in steps) / 1.6, steps[0].budget * 2.2)
    return ax


def figures(result: StudyResult) -> Iterator[tuple[str, Figure]]:
    """Yield (file stem, picture) of every panel whose slack decomposes; a store without one is an error."""
    decomposed = [(panel, steps) for panel in make_panels(result) if (steps := decompose_slack(panel))]
    if not decomposed:
        raise ValueError(
            "there is nothing to draw: the slack decomposition needs uniform allocation in the affine regime on shared "
            f"rows with replacement at unit costs, and budgets that reach {TARGET:.0%} failures"
        )
    for number, (panel, steps) in enumerate(decomposed, start=1):
        with style.context():
            picture = style.blank(6.0, 3.2)
            draw(picture.subplots(), panel, steps)
            factor = format_factor(steps[0].budget / steps[-1].budget)
            style.finish(picture, f"{panel.title}, {panel.place}: decomposition of the factor {factor}")
        yield "slack_decomposition" if len(decomposed) == 1 else f"slack_decomposition_{number}", picture
