"""Draw all strategies on one axes: failure rate or simple regret against budget, one axes per pool (and score)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
#: Dashes of bounds, which differ also in the short line of a legend, and dots of lower bounds.
DASHES: tuple[Any, ...] = ((0, (2.5, 1.5)), (0, (9, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (5, 1, 1, 1, 1, 1)), (0, (5, 5)))
DOTS: tuple[Any, ...] = (":", (0, (1, 1.5, 1, 1.5, 1, 5)), (0, (1, 5)))
#: Natural width and height of an axes that stands alone, and of one of several.
SIZE, SMALL_SIZE = (5.2, 3.7), (3.2, 2.6)


def draw(
    ax: Axes,
    panels: Sequence[Panel],
    *,
    quantity: str = "failure_rate",
    bounds: bool | Collection[str] = True,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Draw all strategies of one pool on logarithmic axes.

    A colour is a strategy and a dash is a bound. Lower bounds are dotted; their names say for which strategies they
    hold. A cell without a failure is an open triangle at its upper limit; no line leads to it.

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
    palette = {
        panel.title: (colours or {}).get(panel.title, style.CYCLE[i % len(style.CYCLE)])
        for i, panel in enumerate(panels)
    }
    for i, panel in enumerate(panels):
        _draw_cells(ax, panel, names, palette[panel.title], style.MARKERS[i % len(style.MARKERS)])
    budgets = [budget for panel in panels for budget in panel.budgets]
    low, high = min(budgets) / 1.3, max(budgets) * 1.3
    if quantity == "failure_rate":
        ax.axhline(TARGET, color=style.GUIDE, linewidth=0.8, zorder=1)
        if bounds is not False:
            _draw_bounds(ax, panels, palette, high, None if bounds is True else set(bounds))
    if any(getattr(cell, names[0]) <= 0 for panel in panels for cell in panel.cells):
        mark: dict[str, Any] = {"marker": "v", "markerfacecolor": "white", "linestyle": "none", "color": style.GUIDE}
        ax.plot([], [], label="no failure seen: upper limit", **mark)
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


def _draw_bounds(
    ax: Axes, panels: Sequence[Panel], palette: Mapping[str, str], last: float, wanted: Collection[str] | None
) -> None:
    """Draw bounds in the colour of their strategy, from where they are below 1; lower bounds once in black."""
    chosen = [(panel, name) for panel in panels for name in _choose_bounds(panel, wanted)]
    names = list(dict.fromkeys(name for _, name in chosen))
    lower = list(dict.fromkeys(name for panel, name in chosen if name in panel.lower_versions))
    visible = set()
    for panel, name in chosen:
        budgets, values = panel.curve(name, last, 0.0)
        if name in panel.lower_versions:
            if name not in visible:
                dots = DOTS[lower.index(name) % len(DOTS)]
                ax.plot(budgets, values, color="black", linestyle=dots, linewidth=1.0, label=name_bound(name))
        else:
            dashes = DASHES[names.index(name) % len(DASHES)]
            # A label that begins with an underscore is not in the legend.
            label = f"_{panel.title}: {name_bound(name)}"
            ax.plot(budgets, values, color=palette[panel.title], linestyle=dashes, linewidth=1.0, label=label, zorder=2)
        visible |= {name} if len(budgets) else set()
    for name in names:
        if name not in lower:
            text = name_bound(name) + ("" if name in visible else style.VACUOUS)
            ax.plot([], [], color=style.GUIDE, linestyle=DASHES[names.index(name) % len(DASHES)], label=text)


def _choose_bounds(panel: Panel, wanted: Collection[str] | None) -> list[str]:
    """Choose the sharpest of the versions for feature arms, and all other bounds."""
    if wanted is not None:
        return [name for name in (*panel.versions, *panel.lower_versions) if name in wanted]
    ours = [name for name in panel.versions if name in VERSIONS]
    return [*ours[-1:], *(name for name in panel.versions if name not in VERSIONS), *panel.lower_versions]


def figure(panels: Sequence[Panel], name: str = "", **options: Any) -> Figure:
    """Draw one axes per pool, with one legend below all of them; options as in `draw`."""
    if not panels:
        raise ValueError("there is nothing to draw: the study has no results yet")
    places = list(dict.fromkeys(panel.place for panel in panels))
    columns = min(4, math.ceil(math.sqrt(len(places))))
    with style.context():
        size = SIZE if len(places) == 1 else SMALL_SIZE
        picture, axes = style.make_axes(len(places), size, columns=columns, extra=0.6, sharex=True, sharey=True)
        floors = []
        for ax, place in zip(axes, places, strict=True):
            draw(ax, [panel for panel in panels if panel.place == place], **options)
            floors.append(ax.get_ylim()[0])
            ax.set_title(place if len(places) > 1 else "")
            ax.label_outer()
        lowest = {ax.get_position().x0: ax for ax in axes}
        for ax in lowest.values():
            # The lowest one of its column.
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("budget")
        budgets = [budget for panel in panels for budget in panel.budgets]
        low, high = min(budgets) / 1.3, max(budgets) * 1.3
        axes[0].set(xscale="log", xlim=(low, high), ylim=(min(floors), None))
        style.plain_ticks(axes[0].xaxis, low, high)
        style.finish(picture, name)
    return picture


def figures(
    result: StudyResult, panels: Sequence[Panel] | None = None, **options: Any
) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield one picture for the whole store, or some of its panels, with its data; options as in `draw`."""
    shown = make_panels(result) if panels is None else panels
    yield "facets", figure(shown, result.study.name, **options), to_frame(shown)
