"""Draw all strategies on one axes: failure rate or simple regret against budget, one axes per pool (and score)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim.engine.result import CellSummary, StudyResult
from simulations.figures import style
from simulations.panels import TARGET, Panel, make_panels, name_bound, to_frame
from theory.versions import VERSIONS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What is drawn: the label of the axis, and the fields of a cell with value and interval.
QUANTITIES = {
    "failure_rate": ("failure probability", ("failure_rate", "lower", "upper")),
    "regret": ("mean simple regret", ("mean_regret", "regret_lower", "regret_upper")),
}
#: Dashes of the bounds of one strategy.
DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
#: Points of a bound's curve, and width and height of one axes with its legend.
POINTS, SIZE = 60, (5.2, 4.2)


def draw(
    ax: Axes,
    panels: Sequence[Panel],
    *,
    quantity: str = "failure_rate",
    bounds: bool | Collection[str] = True,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Draw all strategies of one pool on logarithmic axes.

    A cell without a failure is an open triangle at its upper limit; no line leads to it.

    Parameters
    ----------
    ax
        Where to draw.
    panels
        The strategies of one pool, in the order of the legend.
    quantity
        "failure_rate" or "regret".
    bounds
        Draw the sharpest bounds of every strategy (True), none (False), or those with these names.
    colours
        Colours by title of the strategy; others take the next of the cycle.
    """
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity must be one of {', '.join(QUANTITIES)}, got {quantity!r}")
    label, names = QUANTITIES[quantity]
    for i, panel in enumerate(panels):
        colour = (colours or {}).get(panel.title, style.CYCLE[i % len(style.CYCLE)])
        _draw_cells(ax, panel, names, colour, style.MARKERS[i % len(style.MARKERS)])
        if quantity == "failure_rate" and bounds is not False:
            _draw_bounds(ax, panel, colour, None if bounds is True else set(bounds))
    if quantity == "failure_rate":
        ax.axhline(TARGET, color=style.GUIDE, linewidth=0.8, zorder=1)
    budgets = [budget for panel in panels for budget in panel.budgets]
    low, high = min(budgets) / 1.3, max(budgets) * 1.3
    values = [getattr(cell, names[0]) or getattr(cell, names[2]) for panel in panels for cell in panel.cells]
    smallest = min((value for value in values if value > 0), default=1e-3)
    ax.set(xscale="log", yscale="log", xlim=(low, high), xlabel="budget", ylabel=label)
    ax.set_ylim(10 ** math.floor(math.log10(smallest / 1.2)), 1.5 if quantity == "failure_rate" else None)
    style.plain_ticks(ax.xaxis, low, high)
    return ax


def _draw_cells(ax: Axes, panel: Panel, names: Sequence[str], colour: str, marker: str) -> None:
    def collect(cells: Sequence[CellSummary]) -> tuple[list[float], list[list[float]]]:
        budgets = [panel.budgets[panel.cells.index(cell)] for cell in cells]
        return budgets, [[getattr(cell, name) for cell in cells] for name in names]

    seen = [cell for cell in panel.cells if getattr(cell, names[0]) > 0]
    budgets, (values, lower, upper) = collect(seen)
    ax.plot(budgets, values, color=colour, marker=marker, label=panel.title, zorder=4)
    ax.fill_between(budgets, lower, upper, color=colour, alpha=0.15, linewidth=0, zorder=3)
    budgets, (_, _, limits) = collect([cell for cell in panel.cells if cell not in seen])
    ax.plot(budgets, limits, "v", color=colour, markerfacecolor="white", zorder=4)


def _draw_bounds(ax: Axes, panel: Panel, colour: str, wanted: Collection[str] | None) -> None:
    """Draw bounds in the colour of their strategy, from where they are below 1."""
    names = [name for name in panel.versions if name in wanted] if wanted is not None else _choose_bounds(panel)
    low, high = min(panel.budgets), max(panel.budgets)
    grid = np.unique(np.geomspace(low, 1.3 * high, POINTS).astype(np.int64)) if low < high else np.array([int(low)])
    for name, dashes in zip(names, DASHES, strict=False):
        places = panel.grid(name, grid)
        values = panel.values(name, places)
        shown = values < 1.0
        text = f"{panel.title}: {name_bound(name)}" + ("" if shown.any() else " (vacuous here)")
        ax.plot(places[shown], values[shown], color=colour, linestyle=dashes, linewidth=1.0, label=text, zorder=2)


def _choose_bounds(panel: Panel) -> list[str]:
    """Choose the sharpest of the versions for feature arms, and all other bounds."""
    ours = [name for name in panel.versions if name in VERSIONS]
    return [*ours[-1:], *(name for name in panel.versions if name not in VERSIONS)]


def figure(panels: Sequence[Panel], name: str = "", **options: Any) -> Figure:
    """Draw one axes per pool, with one legend below all of them.

    Parameters
    ----------
    panels
        Strategies and pools.
    name
        Title; none if empty.
    **options
        Those of `draw`.
    """
    if not panels:
        raise ValueError("there is nothing to draw: the study has no results yet")
    places = list(dict.fromkeys(panel.place for panel in panels))
    columns = min(4, math.ceil(math.sqrt(len(places))))
    rows = -(-len(places) // columns)
    with style.context():
        width, height = SIZE if len(places) == 1 else (3.2 * columns, 2.6 * rows + 0.8)
        picture = style.blank(width, height)
        axes = picture.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat[len(places) :]:
            ax.set_visible(False)
        floors = []
        for number, (ax, place) in enumerate(zip(axes.flat, places, strict=False)):
            draw(ax, [panel for panel in panels if panel.place == place], **options)
            floors.append(ax.get_ylim()[0])
            ax.set_title(place if len(places) > 1 else "")
            ax.label_outer()
            if number + columns >= len(places):
                # The lowest one of its column.
                ax.tick_params(axis="x", labelbottom=True)
                ax.set_xlabel("budget")
        budgets = [budget for panel in panels for budget in panel.budgets]
        axes.flat[0].set(xlim=(min(budgets) / 1.3, max(budgets) * 1.3), ylim=(min(floors), None))
        add_legend(picture)
        picture.suptitle(name)
    return picture


def add_legend(picture: Any) -> None:
    """Put one legend below all axes, in as many columns as fit between the edges of the picture."""
    handles = {
        text: handle for ax in picture.axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    for columns in (4, 3, 2, 1):
        legend = picture.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)
        picture.draw_without_rendering()
        if columns == 1 or legend.get_window_extent().width <= picture.bbox.width:
            return
        legend.remove()


def figures(
    result: StudyResult, panels: Sequence[Panel] | None = None, **options: Any
) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield one picture for the whole store, with its data.

    Parameters
    ----------
    result
        The store.
    panels
        Its panels, if they are renamed or ordered.
    **options
        Those of `draw`.
    """
    shown = make_panels(result) if panels is None else panels
    yield "facets", figure(shown, result.study.name, **options), to_frame(shown)
