"""Budget slack (needed in theory over needed in practice) and the waterfall from the paper's bound to the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulations.figures import style
from simulations.verification.budget_slack import LEVEL, TARGET, Fall, Need
from theory.versions import VERSIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = {"K": "number of candidates K", "theta": "rejection cost θ", "gap": "optimality gap Δ"}
_MARKERS = {"uniform": "o", "median-accumulated": "s"}
_TITLES = {"uniform": "uniform allocation", "median-accumulated": "median elimination", "median": "median elimination"}


def draw_needs(ax: Axes, needs: Sequence[Need], axis: str) -> Axes:
    """Budget by each bound over the budget in practice, against one parameter; a missing point was not reached."""
    for version in VERSIONS:
        for strategy, marker in _MARKERS.items():
            held = sorted((n for n in needs if n.axis == axis and n.strategy == strategy), key=lambda n: n.value)
            if not any(version in n.bounds for n in held):
                continue
            look = style.of_version(version)
            ax.plot(
                [n.value for n in held],
                [n.ratio(version) for n in held],
                marker=marker,
                markerfacecolor=look["color"] if strategy == "uniform" else "white",
                label=f"{version} bound, {_TITLES[strategy]}",
                **look,
            )
    ax.axhline(1.0, color=style.GUIDE, linewidth=0.8)
    ax.set(yscale="log", xlabel=_AXES[axis])
    if axis in ("K", "gap"):
        ax.set_xscale("log", base=2 if axis == "K" else 10)
    values = sorted({n.value for n in needs if n.axis == axis})
    ax.set_xticks(values, [f"{value:.2g}" for value in values])
    ax.minorticks_off()
    return ax


def budget_figure(needs: Sequence[Need], trials: int) -> Figure:
    """One panel per parameter."""
    with style.look():
        picture = style.blank(10.0, 4.4)
        axes = picture.subplots(1, 3, sharey=True)
        for ax, axis in zip(axes, _AXES, strict=True):
            draw_needs(ax, needs, axis)
        axes[0].set_ylabel("budget by the bound / budget in practice")
        handles, labels = axes[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
        picture.suptitle(
            f"How much more the bounds ask for than a failure probability of {TARGET:.0%} takes\n"
            f"(K = 8, θ = 0.1, Δ = 0.3 κΛ where not varied; κΛ = 0.9(1 − 2θ); practice: {trials:,} trials per budget, "
            f"{LEVEL:.0%} limits)"
        )
    return picture


def draw_fall(ax: Axes, one: Fall) -> Axes:
    """One bar per factor between the paper's bound and the truth, each starting where the one above it ended."""
    ten = math.log(10)
    level = one.slack.log_bound / ten
    names, starts, ends = [f"the paper's bound, {_power(level)}"], [0.0], [level]
    for factor in one.slack.factors:
        if abs(factor.log) > 1e-12:
            names.append(f"{factor.name.replace('^2', '²')}, {_factor(factor.log / ten)}")
            starts.append(level)
            level -= factor.log / ten
            ends.append(level)
    top = _power(math.log10(one.truth_upper))
    # Student's interval may reach below zero; then only its upper end says something.
    between = f"{_power(math.log10(one.truth_lower))} to {top}" if one.truth_lower > 0 else f"at most {top}"
    names.append(f"the truth, {_power(level)} ({between})")
    colours = [style.COLOURS["paper"], *[style.COLOURS["tighter"]] * (len(ends) - 1)]
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        # A factor below 1 is an ingredient of the paper that was too small: it goes the other way.
        colour = colours[row] if row == 0 or end <= start else style.COLOURS["corrected"]
        ax.barh(row, end - start, left=start, color=colour, height=0.6)
        ax.plot([end, end], [row, row + 1], color=style.GUIDE, linewidth=0.8)
    ax.plot([level], [len(names) - 1], marker="D", color=style.COLOURS["practice"], markersize=6)
    ax.axvline(0.0, color=style.GUIDE, linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("log₁₀ of the failure probability")
    gap = one.world.gap
    ax.set_title(f"{_TITLES[one.strategy]}: budget {one.budget:,}, K = {one.world.K}, Δ = {gap:.2g}", loc="left")
    return ax


def _power(log10: float) -> str:
    return f"{10**log10:.2g}" if log10 > -4 else f"10$^{{{log10:.1f}}}$"


def _factor(log10: float) -> str:
    return f"×{10**log10:.3g}" if abs(log10) < 3 else f"×10$^{{{log10:.1f}}}$"


def waterfall_figure(falls: Sequence[Fall]) -> Figure:
    """One panel per strategy."""
    with style.look():
        picture = style.blank(8.0, 0.6 + 3.0 * len(falls))
        axes = picture.subplots(len(falls), 1, squeeze=False)[:, 0]
        for ax, one in zip(axes, falls, strict=True):
            draw_fall(ax, one)
        picture.suptitle(
            "Where the paper's bounds lose: one factor per step of the proof (truth: tilted sampling, 99% interval)"
        )
    return picture
