"""Draw failure rate against budget with the bounds, and where they are vacuous."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim.engine.result import CellSummary, StudyResult
from exml_sim.money import short
from simulations.figures import facets, style
from simulations.panels import (
    CONFIDENCE,
    FORMULA_STEP,
    TARGET,
    Panel,
    affine_model,
    budget_axis,
    describe_shortfall,
    find_needs,
    format_factor,
    make_panels,
    name_bound,
    to_frame,
)
from theory.population import chernoff

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(ax: Axes, panel: Panel, axis: tuple[float, float] | None = None, *, floor: float | None = None) -> Axes:
    """Draw one panel on logarithmic axes; a bound is drawn where it is below 1, the zone before it is shaded.

    Parameters
    ----------
    ax
        Where to draw.
    panel
        What was observed, and the bounds.
    axis
        First and last budget; from the panel itself if not given.
    floor
        Smallest probability shown; below the smallest interval by default.
    """
    low, high = axis or budget_axis([panel])
    bottom = floor or _floor([panel])
    if panel.versions:
        _draw_bounds(ax, panel, low, high, bottom)
    _draw_cells(ax, panel.cells)
    ax.axhline(TARGET, color=style.GUIDE, linewidth=0.8, zorder=1)
    ax.set(xscale="log", yscale="log", xlim=(low / 1.3, high * 1.3), ylim=(bottom, 1.6))
    style.plain_ticks(ax.xaxis, low / 1.3, high * 1.3)
    pulls = panel.problem is not None and panel.problem.costs is None
    ax.set_xlabel("budget B (pulls)" if pulls else "budget B (cost)")
    ax.set_title(f"{panel.title}\n{_summary(panel)}", fontsize="medium")
    return ax


def _draw_cells(ax: Axes, cells: Sequence[CellSummary]) -> None:
    """Draw rates with a band; no failure seen is an upper limit, never a rate of 0."""
    seen = [cell for cell in cells if cell.failure_rate > 0]
    unseen = [cell for cell in cells if cell.failure_rate <= 0]
    colour = style.COLOURS["practice"]
    budgets = [_place(cell) for cell in seen]
    if seen:
        rates = [cell.failure_rate for cell in seen]
        lower, upper = [cell.lower for cell in seen], [cell.upper for cell in seen]
        ax.fill_between(budgets, lower, upper, color=colour, alpha=0.15, linewidth=0, zorder=3)
        errors = [np.subtract(rates, lower), np.subtract(upper, rates)]
        label = f"observed, {_trials(cells)} ({CONFIDENCE:.0%} interval)"
        ax.errorbar(
            budgets, rates, yerr=np.maximum(errors, 0.0), fmt="o-", color=colour, capsize=2, label=label, zorder=4
        )
    if unseen:
        places = [_place(cell) for cell in unseen]
        label = "no failure seen: upper limit of the rate"
        tops = [cell.upper for cell in unseen]
        ax.plot(places, tops, "v", color=colour, markerfacecolor="white", markersize=6, label=label, zorder=4)


def _trials(cells: Sequence[CellSummary]) -> str:
    if cells[0].interval == "exact":
        return "exact"
    counts = sorted({cell.trials for cell in cells})
    return f"{counts[0]:,} trials each" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} trials each"


def _draw_bounds(ax: Axes, panel: Panel, low: float, high: float, bottom: float) -> None:
    edge = low / 1.3
    # From the sharpest bound, which is below 1 first, to the paper's.
    for name in reversed(panel.versions):
        start, launch_budget = panel.informative(name), panel.launch_budget(name)
        line_style = style.of_version(name)
        colour = line_style["color"]
        if start is None:
            ax.plot([], [], label=f"{name_bound(name)} (vacuous everywhere)", **line_style)
            continue
        # Three overlapping shades: the lightest zone is where only the paper's bound is vacuous.
        ax.axvspan(edge, min(start, high * 1.3), color=style.GUIDE, alpha=0.13, linewidth=0, zorder=0)
        budgets, values = panel.curve(name, max(1.3 * high, 2.0 * start), bottom)
        ax.plot(budgets, values, label=name_bound(name), zorder=2, **line_style)
        ax.axvline(start, color=colour, linewidth=0.8, linestyle=":", zorder=1)
        if launch_budget is not None and launch_budget > low:
            # The corrected statement often launches where the paper's does: the marks stand below each other.
            height = 0.935 if name == "paper" else 0.975
            mark: dict[str, Any] = {"marker": "|", "markersize": 8, "markeredgewidth": 2, "color": colour}
            ax.plot([launch_budget], [height], transform=ax.get_xaxis_transform(), zorder=5, **mark)
        # At the top, where no other curve runs left of this one; at the bottom if the observed one does.
        crossed = start <= max((_place(cell) for cell in panel.cells if cell.failure_rate > 0), default=0.0)
        label, place = f"vacuous below {start:,}", (start / 1.04, 1.3 * bottom if crossed else 1.5)
        side = "bottom" if crossed else "top"
        ax.annotate(label, place, rotation=90, fontsize=5.5, color=colour, ha="right", va=side, zorder=3)
    for number, name in enumerate(panel.lower_versions):
        dots: dict[str, Any] = {"linestyle": facets.DOTS[number % len(facets.DOTS)], "color": "black", "linewidth": 1}
        ax.plot(*panel.curve(name, 1.3 * high, bottom), label=name_bound(name), **dots)
    _draw_limit(ax, panel, low, high, bottom)


def _draw_limit(ax: Axes, panel: Panel, low: float, high: float, bottom: float) -> None:
    """Draw exp(-n I) with the large-deviation rate of a search: an approximation, not a bound."""
    model = affine_model(panel)
    if model is None:
        return
    budgets = np.unique(np.geomspace(low, high, max(int(np.log(high / low) / np.log(FORMULA_STEP)), 2)).astype(int))
    values = np.array([chernoff(model, float(budget)) for budget in budgets])
    shown = values > bottom / 10.0
    label = "exp(-n I), large-deviation rate by search (approximation)"
    ax.plot(budgets[shown], values[shown], "-.", color=style.GUIDE, linewidth=1, label=label)


def _place(cell: CellSummary) -> float:
    return float(Fraction(cell.budget))


def _floor(panels: Sequence[Panel]) -> float:
    """Return a power of ten below every rate and every upper limit; a lower limit may leave the picture."""
    seen = [cell.failure_rate or cell.upper for panel in panels for cell in panel.cells]
    smallest = min((rate for rate in seen if rate > 0), default=1e-4)
    return float(10.0 ** np.floor(np.log10(min(smallest / 1.5, 1e-3))))


def _summary(panel: Panel) -> str:
    """Say what budget is needed in simulation, and the multiples of it that the bounds need."""
    needs = find_needs(panel)
    if needs.simulated is None:
        return describe_shortfall([panel])
    known = [name for name in reversed(needs.bounds) if needs.bounds[name] is not None]
    factors = " / ".join(f"{format_factor(needs.factor(name))}x" for name in known)
    start = f"{TARGET:.0%} failures: {float(needs.simulated):,.0f} in simulation"
    return f"{start}; bounds need {factors}" if known else start


def figure(panels: Sequence[Panel], heading: str) -> Figure:
    """Draw all panels side by side on common axes, with one legend."""
    if not panels:
        raise ValueError("there is nothing to draw: the study has no results yet")
    axis, floor = budget_axis(panels), _floor(panels)
    with style.context():
        picture, axes = style.make_axes(len(panels), (5.2, 4.2), columns=2, extra=0.6, sharex=True, sharey=True)
        several = len({panel.place for panel in panels}) > 1
        for ax, panel in zip(axes, panels, strict=True):
            draw(ax, panel, axis, floor=floor)
            if several:
                ax.set_title(f"{panel.place}, {ax.get_title()}", fontsize="medium")
            if ax.get_position().x0 == axes[0].get_position().x0:
                ax.set_ylabel("probability of missing the best arm")
        if any(panel.problem for panel in panels):
            mark: dict[str, Any] = {"marker": "|", "markersize": 8, "markeredgewidth": 2, "linestyle": "none"}
            axes[0].plot([], [], color=style.GUIDE, label="launch budget: the condition of the bound is met", **mark)
        style.finish(picture, heading)
    return picture


def figures(
    result: StudyResult, panels: Sequence[Panel] | None = None, **options: Any
) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield file stem, picture and data for each pool and score; options as in `facets.figures`."""
    panels, name = make_panels(result) if panels is None else panels, result.study.name
    places = list(dict.fromkeys(panel.place for panel in panels))
    for number, place in enumerate(places, start=1):
        shown = [panel for panel in panels if panel.place == place]
        alone = len(places) == 1
        title = name if alone else f"{name}: {place}"
        stem = "failure_rate" if alone else f"failure_rate_{number}"
        yield stem, choose_figure(shown, title, **options), to_frame(shown)


def choose_figure(panels: Sequence[Panel], name: str, **options: Any) -> Figure:
    """Draw all strategies of a pool on one axes, or one axes each where two at most have the paper's bounds.

    Several pools have one axes each. With any option of `simulations.figures.facets.draw` all strategies are together.
    """
    if (
        not options
        and 0 < len(panels) <= 2
        and len({panel.place for panel in panels}) == 1
        and any(p.problem for p in panels)
    ):
        return figure(panels, heading(panels, name))
    return facets.figure(panels, name, **options)


def heading(panels: Sequence[Panel], name: str) -> str:
    """Return the name of the study, with the parameters of its bounds if all panels share them."""
    shared = {(b.K, b.theta, b.kappa_lambda, b.gap) for b in (panel.problem for panel in panels) if b is not None}
    if len(shared) != 1 or any(panel.problem is not None and not panel.problem.plain for panel in panels):
        return name
    K, theta, radius, gap = shared.pop()
    return f"{name} (K = {K}, θ = {short(theta)}, κΛ = {radius:g}, smallest gap Δ = {gap:.3g})"
