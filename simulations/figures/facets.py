"""Draw failure rate against budget, one small picture per pool (and score), one line per strategy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from exml_sim.engine.result import StudyResult
from simulations.figures import style
from simulations.panels import TARGET, Panel, make_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(ax: Axes, panels: Sequence[Panel]) -> None:
    """Draw all strategies of one place; no failure seen is an upper limit."""
    for i, panel in enumerate(panels):
        colour, mark = style.CYCLE[i % len(style.CYCLE)], style.MARKERS[i % len(style.MARKERS)]
        shown = [cell.failure_rate if cell.failures or cell.failure_rate > 0 else cell.upper for cell in panel.cells]
        below = [max(rate - cell.lower, 0.0) for rate, cell in zip(shown, panel.cells, strict=True)]
        over = [max(cell.upper - rate, 0.0) for rate, cell in zip(shown, panel.cells, strict=True)]
        ax.errorbar(panel.budgets, shown, yerr=[below, over], color=colour, marker=mark, capsize=2, label=panel.title)
    ax.axhline(TARGET, color=style.GUIDE, linewidth=0.8, zorder=1)
    ax.set(xscale="log", yscale="log")
    ax.set_title(panels[0].place)


def figure(panels: Sequence[Panel], name: str) -> Figure:
    """Draw one facet per place on common axes, with one legend."""
    if not panels:
        raise ValueError("there is nothing to draw: the study has no results yet")
    places = list(dict.fromkeys(panel.place for panel in panels))
    columns = min(4, math.ceil(math.sqrt(len(places))))
    rows = -(-len(places) // columns)
    with style.context():
        picture = style.blank(3.2 * columns, 2.6 * rows + 0.8)
        axes = picture.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat[len(places) :]:
            ax.set_visible(False)
        for ax, place in zip(axes.flat, places, strict=False):
            draw(ax, [panel for panel in panels if panel.place == place])
        budgets = [budget for panel in panels for budget in panel.budgets]
        low, high = min(budgets) / 1.3, max(budgets) * 1.3
        axes.flat[0].set_xlim(low, high)
        style.plain_ticks(axes.flat[0].xaxis, low, high)
        for row in axes:
            row[0].set_ylabel("failure rate")
        for ax in axes[-1]:
            ax.set_xlabel("budget")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=4)
        picture.suptitle(name)
    return picture


def figures(result: StudyResult) -> Iterator[tuple[str, Figure]]:
    """Yield one picture for the whole store."""
    yield "facets", figure(make_panels(result), result.study.name)
