"""Excess risk against budget: the five terms of Eq. 8 as measured, stacked, next to the bounds of A.2 on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulations.figures import style
from simulations.verification.redrawn import ANGLES, CLAIMS, RADIUS, THETA, Measured
from theory import corrected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTA = 0.2
TERMS = ("a", "b", "c", "d", "e")
_NAMES = {
    "a": "(a) risk of the returned model − surrogate risk on D_tr",
    "b": "(b) exploratory regret",
    "c": "(c) f̂₁* against f₁* on D_tr, never positive",
    "d": "(d) surrogate risk of f₁* on D_tr − expected",
    "e": "(e) approximation error R_ap",
}


def bounds(one: Measured) -> dict[str, float]:
    """Bounds on the terms with probability 1 - delta, delta/3 each (A.2, corrected); nan below the launch budget."""
    kind = "uniform" if one.strategy == "uniform" else "median"
    regret = getattr(corrected, f"exploratory_regret_{kind}")
    gap = float(np.median(one.gaps))
    return {
        "a": float(corrected.term_a(one.m, THETA, RADIUS, DELTA / 3)),
        "b": float(regret(one.budget, len(ANGLES), gap, THETA, RADIUS, DELTA / 3, strict=False)),
        "c": 0.0,
        "d": float(corrected.term_d(one.m, THETA, RADIUS, DELTA / 3)),
        "e": one.approximation,
    }


def draw(ax: Axes, trials: Sequence[Measured]) -> Axes:
    """Two bars per budget: measured means, stacked up and down from zero, and the bounds (hatched)."""
    width = 0.38
    for place, one in enumerate(trials):
        means = dict(zip(("excess", *TERMS), one.terms.mean(axis=0), strict=True))
        _stack(ax, place - width / 2, width, {term: float(means[term]) for term in TERMS}, "")
        allowed = bounds(one)
        _stack(ax, place + width / 2, width, allowed, "////")
        spread = 2.58 * one.terms[:, 0].std(ddof=1) / math.sqrt(len(one.terms))
        mark = style.COLOURS["practice"]
        ax.errorbar(place - width / 2, means["excess"], yerr=spread, fmt="D", color=mark, markersize=5, capsize=3)
        total = sum(allowed.values())
        top = sum(value for value in allowed.values() if not math.isnan(value))
        words = "(b) unbounded:\nbelow launch" if math.isnan(total) else f"{total:.2f}"
        ax.text(place + width / 2, top + 0.02, words, ha="center", va="bottom", fontsize=7)
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set_xticks(range(len(trials)), [f"{one.budget:,}\n(n = {len(one.terms)})" for one in trials])
    ax.set_xlabel("budget (pulls, cost 1 each); n trials")
    return ax


def _stack(ax: Axes, x: float, width: float, values: Mapping[str, float], hatch: str) -> None:
    above = below = 0.0
    for colour, (_, value) in zip(style.CYCLE, values.items(), strict=False):
        if math.isnan(value):
            continue
        base = above if value >= 0 else below
        # Hatched bars stay light, so that the two kinds differ without colour.
        ax.bar(x, value, width, bottom=base, color=colour, alpha=0.35 if hatch else 1.0, hatch=hatch, edgecolor="white")
        if value >= 0:
            above += value
        else:
            below += value


def figure(excess: Mapping[str, Sequence[Measured]]) -> Figure:
    """One panel per theorem."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    with style.look():
        picture = style.blank(5.2 * len(excess) + 0.6, 5.4)
        axes = picture.subplots(1, len(excess), sharey=True, squeeze=False)[0]
        titles = {"uniform": "uniform allocation (Theorem 1)", "median-accumulated": "median elimination (Theorem 2)"}
        for ax, (claim, trials) in zip(axes, excess.items(), strict=True):
            held = sorted((one for one in trials if one.replacement), key=lambda one: one.budget)
            draw(ax, held)
            ax.set_title(titles[CLAIMS[claim]])
        axes[0].set_ylabel("risk (0/1 loss with rejection)")
        handles: list[Patch | Line2D] = [
            Patch(color=colour, label=_NAMES[term]) for colour, term in zip(style.CYCLE, TERMS, strict=False)
        ]
        handles.append(Patch(facecolor="#BBBBBB", hatch="////", edgecolor="white", label="their bounds (corrected)"))
        handles.append(
            Line2D([], [], marker="D", linestyle="", color="black", label="mean excess risk = sum, 99% interval")
        )
        picture.legend(handles=handles, loc="outside lower center", ncols=2)
        first = next(iter(excess.values()))[0]
        picture.suptitle(
            f"Excess risk and its five terms against their bounds "
            f"(m = {first.m} rows, θ = {THETA}, κΛ = {RADIUS}, K = {len(ANGLES)}, δ = {DELTA})"
        )
    return picture
