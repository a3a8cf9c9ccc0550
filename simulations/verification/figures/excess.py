"""Excess risk against budget: the five terms of Eq. 8 as measured, stacked, next to the bounds of A.2 on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from simulations.figures import style
from simulations.verification.excess_risk import ANGLES, CLAIMS, RADIUS, THETA, RedrawnTrials
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


def bounds(one: RedrawnTrials) -> dict[str, float]:
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


def interval(one: RedrawnTrials) -> tuple[float, float]:
    """Mean excess risk and half the width of Student's 99 % interval, which is wide for few trials."""
    values = one.terms[:, 0]
    return float(values.mean()), float(stats.t.ppf(0.995, len(values) - 1) * stats.sem(values))


def height(trials: Sequence[RedrawnTrials]) -> float:
    """Where the highest stack of known bounds ends."""
    return max(float(np.nansum([value for value in bounds(one).values() if value > 0])) for one in trials)


def draw(ax: Axes, trials: Sequence[RedrawnTrials], top: float | None = None) -> Axes:
    """Two bars per budget: measured means, stacked up and down from zero, and the bounds (hatched).

    Where term (b) has no bound its part of the bar is open at the top, and higher than every bar that has an end.

    Parameters
    ----------
    ax, trials
    top : float, optional
        `height` of everything that shares the axis; of these trials unless given.
    """
    width, top = 0.38, height(trials) if top is None else top
    labels = []
    for place, one in enumerate(trials):
        means = dict(zip(("excess", *TERMS), one.terms.mean(axis=0), strict=True))
        _stack(ax, place - width / 2, width, {term: float(means[term]) for term in TERMS}, "")
        allowed = bounds(one)
        _stack(ax, place + width / 2, width, allowed, "////")
        if math.isnan(allowed["b"]):
            _open(ax, place + width / 2, width, sum(v for v in allowed.values() if v > 0), top)
        else:
            total = sum(allowed.values())
            ax.text(place + width / 2, total + 0.02, f"{total:.2f}", ha="center", va="bottom", fontsize=7)
        mean, spread = interval(one)
        mark = style.COLOURS["practice"]
        ax.errorbar(
            place - width / 2, mean, yerr=spread, fmt="D", color=mark, markersize=3, capsize=6, markerfacecolor="white"
        )
        labels.append(f"{one.budget:,}\nn = {len(one.terms)}\n{_short(mean, spread)}")
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set_ylim(top=1.45 * top)
    ax.set_xticks(range(len(trials)), labels)
    ax.set_xlabel("budget (pulls, cost 1 each); n trials; mean excess risk with its interval")
    return ax


def _short(mean: float, spread: float) -> str:
    """Mean and half a width; in words where all trials have the same excess risk and the interval has no width."""
    return f"all {mean:.3f}" if spread < 1e-12 else f"{mean:.3f} ± {spread:.1g}"


def _open(ax: Axes, x: float, width: float, base: float, top: float) -> None:
    """A part without an end: it fades out above every bar that has one, under an arrow upwards."""
    end, colour, slices = 1.2 * top, style.CYCLE[TERMS.index("b")], 8
    step = (end - base) / slices
    for number in range(slices):
        alpha = 0.35 * (1 - number / slices)
        ax.bar(x, step, width, bottom=base + number * step, color=colour, alpha=alpha, linewidth=0)
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4}
    ax.annotate("", (x, 1.28 * top), (x, (base + end) / 2), arrowprops=arrow)
    ax.text(x, 1.29 * top, "no bound on (b)\nbelow launch", ha="center", va="bottom", fontsize=7)


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


def figure(excess: Mapping[str, Sequence[RedrawnTrials]]) -> Figure:
    """One panel per theorem."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    with style.look():
        picture = style.blank(5.2 * len(excess) + 0.6, 5.4)
        axes = picture.subplots(1, len(excess), sharey=True, squeeze=False)[0]
        titles = {"uniform": "uniform allocation (Theorem 1)", "median-accumulated": "median elimination (Theorem 2)"}
        top = max(height([one for one in trials if one.replacement]) for trials in excess.values())
        for ax, (claim, trials) in zip(axes, excess.items(), strict=True):
            held = sorted((one for one in trials if one.replacement), key=lambda one: one.budget)
            draw(ax, held, top)
            ax.set_title(titles[CLAIMS[claim]])
        axes[0].set_ylabel("risk (0/1 loss with rejection)")
        handles: list[Patch | Line2D] = [
            Patch(color=colour, label=_NAMES[term]) for colour, term in zip(style.CYCLE, TERMS, strict=False)
        ]
        handles.append(Patch(facecolor="#BBBBBB", hatch="////", edgecolor="white", label="their bounds (corrected)"))
        handles.append(
            Line2D(
                [],
                [],
                marker="D",
                linestyle="",
                color="black",
                markerfacecolor="white",
                label="mean excess risk = sum, Student's 99% interval",
            )
        )
        picture.legend(handles=handles, loc="outside lower center", ncols=2)
        first = next(iter(excess.values()))[0]
        picture.suptitle(
            f"Excess risk and its five terms against their bounds "
            f"(m = {first.m} rows, θ = {THETA}, κΛ = {RADIUS}, K = {len(ANGLES)}, δ = {DELTA})"
        )
    return picture
