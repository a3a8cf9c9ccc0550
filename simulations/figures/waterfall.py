"""Where the distance between the bounds and practice goes: the budget of a bound, one cause of loss less at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from exml_sim.engine.result import StudyResult
from simulations.figures import style
from simulations.panels import TARGET, Panel, account, panels_of, times
from theory.population import BudgetStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "optimism": "optimism of the arms",
    "union over arms": "union over arms",
    "worst-case distribution": "worst law with these gaps",
    "beyond the rate": "exp(-n I) to practice",
}


def draw(ax: Axes, panel: Panel, steps: Sequence[BudgetStep]) -> Axes:
    """One bar per cause, from the budget with it to the budget without it, on a logarithmic axis.

    Parameters
    ----------
    ax
        Where to draw.
    panel
        Whose bounds of the pool are marked.
    steps
        Budgets as `simulations.panels.account` gives them.
    """
    for line, (before, after) in enumerate(pairwise(steps)):
        low, high = sorted((before.budget, after.budget))
        ax.barh(line, high - low, left=low, color=style.CYCLE[line], height=0.6, zorder=2)
        ax.text(high * 1.08, line, f"{times(before.budget / after.budget)}×", va="center", fontsize=8)
    ends = ((steps[0].budget, "gaps only"), (steps[-1].budget, "practice"))
    own = [] if panel.point is None else [(panel.point.required("population", panel.kind, TARGET), "population bound")]
    for budget, name in (*ends, *own):
        if budget is not None:
            ax.axvline(budget, color=style.GUIDE, linewidth=0.9, linestyle=":", zorder=1)
            across = ax.get_xaxis_transform()
            ax.text(budget, 1.01, f"{name} {budget:,.0f}", transform=across, fontsize=7, ha="center", va="bottom")
    ax.set_yticks(range(len(steps) - 1), [NAMES.get(step.name, step.name) for step in steps[1:]])
    ax.set(xscale="log", ylim=(len(steps) - 1.4, -0.6), xlabel=f"budget B for {TARGET:.0%} failures (pulls)")
    ax.set_xlim(min(step.budget for step in steps) / 1.6, steps[0].budget * 2.2)
    return ax


def figures(result: StudyResult) -> Iterator[tuple[str, Figure]]:
    """One picture for every panel whose losses can be told apart; a store without one is an error."""
    found = [(panel, steps) for panel in panels_of(result) if (steps := account(panel))]
    if not found:
        raise ValueError(
            "there is nothing to draw: the waterfall needs uniform allocation in the affine regime on shared rows with "
            f"replacement at unit prices, and budgets that reach {TARGET:.0%} failures"
        )
    for number, (panel, steps) in enumerate(found, start=1):
        with style.look():
            picture = style.blank(7.0, 2.9)
            draw(picture.subplots(), panel, steps)
            factor = times(steps[0].budget / steps[-1].budget)
            picture.suptitle(f"{panel.title}, {panel.place}: where the factor {factor} goes")
        yield "waterfall" if len(found) == 1 else f"waterfall_{number}", picture
