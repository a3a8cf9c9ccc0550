"""Figures of a verification: margins per family of claims, excess risk with its terms, and slack of the bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from simulations.figures import style
from simulations.verification._budget_slack import LEVEL, TARGET, RequiredBudget, SlackDecomposition
from simulations.verification._cells import count_distinct
from simulations.verification._excess_risk import ANGLES, CLAIMS, RADIUS, THETA, RandomInstanceTrials
from simulations.verification.report import compute_slack, group_by_family, title_of
from simulations.verification.run import Result, Verification
from theory import corrected
from theory.versions import VERSIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Decades of room that are drawn; what is further away sits at the edge with an arrow's meaning in the caption.
ROOM, BREACH = 6.0, 3.0
_OFFSETS = {"paper": -0.22, "corrected": 0.0, "tighter": 0.22}


def draw_claims(ax: Axes, results: Sequence[Result]) -> Axes:
    """Draw one line per claim: log10(claimed side / observed side); a violation is left of zero.

    Squares are the closest instance of a check, crosses planted errors, circles cells of trials or enumeration,
    triangles cells without any failure, for which the slack is at least that large. Claims without such a number
    (identities, definitions) have their outcome in words.
    """
    ax.axvspan(-BREACH - 0.5, 0.0, color=style.SHADE, zorder=0)
    ax.axvline(0.0, color=style.GUIDE, linewidth=1.0, zorder=1)
    for row, result in enumerate(results):
        drawn = _draw_checks(ax, row, result)
        drawn += _draw_cells(ax, row, result)
        undecided = sum(cell.informative and not cell.decided for cell in result.evidence)
        corrected = result.checks.corrected
        if undecided:
            _write(ax, 0.15, row + 0.22, f"{undecided} cell{'' if undecided == 1 else 's'} not decided")
        elif result.evidence and not result.has_guarantee:
            _write(ax, 0.15, row, "no guarantee in any cell of trials at this depth")
        elif not drawn:
            words = "" if corrected is None else f", corrected {corrected.outcome}"
            _write(ax, 0.15, row, f"{result.checks.printed.outcome} as printed{words}")
        elif corrected is not None and corrected.margin is None and not result.evidence:
            _write(ax, 0.15, row, f"corrected {corrected.outcome}")
    ax.set_yticks(range(len(results)), [result.claim.id for result in results])
    ax.set(xlim=(-BREACH - 0.5, ROOM + 0.5), ylim=(len(results) - 0.4, -0.6))
    ticks = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6]
    labels = ["≤ 10⁻³", "10⁻²", "10⁻¹", "1", "10", "10²", "10³", "10⁴", "10⁵", "≥ 10⁶"]
    ax.set_xticks(ticks, labels)
    ax.set_xlabel("claimed side / observed side (left of 1: violated)")
    ax.grid(axis="y", color="#F0F0F0", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def _write(ax: Axes, x: float, y: float, words: str) -> None:
    """Write a small text on the guide lines."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    ax.text(x, y, words, va="center", fontsize=7, color="#555555", bbox=box)


def _clip(value: float) -> float:
    return min(max(value, -BREACH), ROOM)


def _draw_checks(ax: Axes, row: int, result: Result) -> int:
    drawn = 0
    for name in ("printed", "corrected", "mutant"):
        check = getattr(result.checks, name)
        if check is None or check.margin is None:
            continue
        if name == "mutant":
            ax.plot(_clip(check.margin), row, marker="x", color="#777777", markersize=6, zorder=3)
        else:
            version = "paper" if name == "printed" else name
            colour, y = style.COLOURS[version], row + _OFFSETS[version]
            ax.plot(_clip(check.margin), y, marker="s", color=colour, markersize=6, zorder=4)
        drawn += 1
    return drawn


def _draw_cells(ax: Axes, row: int, result: Result) -> int:
    drawn = 0
    for cell in result.evidence:
        slack = compute_slack(cell) if cell.informative else None
        if slack is None:
            continue
        value, at_least = slack
        if at_least and not cell.decided:
            # Too few trials to say anything: that is neither a violation nor room, and it is said in words.
            continue
        colour, y = style.COLOURS[cell.reading], row + _OFFSETS[cell.reading]
        face = colour if cell.decided else "white"
        marker = ">" if at_least else "o"
        ax.plot(_clip(value), y, marker=marker, color=colour, markerfacecolor=face, alpha=0.8, markersize=4.5, zorder=3)
        drawn += 1
    return drawn


def draw_family(title: str, results: Sequence[Result]) -> Figure:
    """Draw the figure of one family."""
    from matplotlib.lines import Line2D

    def mark(marker: str, colour: str, words: str, face: str | None = None) -> Line2D:
        return Line2D([], [], marker=marker, linestyle="", color=colour, markerfacecolor=face or colour, label=words)

    with style.context():
        picture = style.blank(8.0, 1.9 + 0.34 * len(results))
        draw_claims(picture.subplots(), results)
        trials = count_distinct(cell for result in results for cell in result.evidence).trials
        counted = f", {trials:,} trials" if trials else ""
        picture.suptitle(f"{title} ({len(results)} claims{counted})")
        handles = [
            mark("s", style.COLOURS["paper"], "check, as printed"),
            mark("s", style.COLOURS["corrected"], "check, corrected"),
            mark("x", "#777777", "check of a planted error"),
        ]
        if trials:
            handles += [
                mark("o", style.COLOURS["paper"], "trials or exact probability, as printed"),
                mark("o", style.COLOURS["corrected"], "trials or exact probability, corrected"),
                mark("o", style.COLOURS["tighter"], "trials or exact probability, tighter"),
                mark(">", "#555555", "no failure seen: at least this"),
                mark("o", "#555555", "not decided", "white"),
            ]
        picture.legend(handles=handles, loc="outside lower center", ncols=3)
    return picture


def draw_families(verification: Verification) -> Iterator[tuple[str, Figure]]:
    """Yield (file stem, figure) of every family that has claims."""
    for name, results in group_by_family(verification).items():
        yield f"claims-{name.replace('_', '-')}", draw_family(title_of(name), results)


DELTA = 0.2
TERMS = ("a", "b", "c", "d", "e")
_TERM_NAMES = {
    "a": "(a) risk of the returned model − surrogate risk on D_tr",
    "b": "(b) exploratory regret",
    "c": "(c) f̂₁* against f₁* on D_tr, never positive",
    "d": "(d) surrogate risk of f₁* on D_tr − expected",
    "e": "(e) approximation error R_ap",
}


def bound_terms(run: RandomInstanceTrials) -> dict[str, float]:
    """Return bounds on the terms, at delta/3 each (A.2, corrected); nan below the launch budget."""
    kind = "uniform" if run.strategy == "uniform" else "median"
    regret = getattr(corrected, f"exploratory_regret_{kind}")
    gap = float(np.median(run.gaps))
    return {
        "a": float(corrected.term_a(run.m, THETA, RADIUS, DELTA / 3)),
        "b": float(regret(run.budget, len(ANGLES), gap, THETA, RADIUS, DELTA / 3, strict=False)),
        "c": 0.0,
        "d": float(corrected.term_d(run.m, THETA, RADIUS, DELTA / 3)),
        "e": run.approximation,
    }


def compute_interval(run: RandomInstanceTrials) -> tuple[float, float]:
    """Return mean excess risk and half the width of Student's 99 % interval, which is wide for few trials."""
    values = run.terms[:, 0]
    return float(values.mean()), float(stats.t.ppf(0.995, len(values) - 1) * stats.sem(values))


def compute_height(trials: Sequence[RandomInstanceTrials]) -> float:
    """Return the height of the highest stack of known bounds."""
    return max(float(np.nansum([value for value in bound_terms(run).values() if value > 0])) for run in trials)


def draw_excess(ax: Axes, trials: Sequence[RandomInstanceTrials], top: float | None = None) -> Axes:
    """Draw two bars per budget: measured means, stacked up and down from zero, and the bounds (hatched).

    Where term (b) has no bound its part of the bar is open at the top, and higher than every bar that has an end.

    Parameters
    ----------
    ax, trials
    top : float, optional
        `compute_height` of everything that shares the axis; of these trials unless given.
    """
    width, top = 0.38, compute_height(trials) if top is None else top
    labels = []
    for place, run in enumerate(trials):
        means = dict(zip(("excess", *TERMS), run.terms.mean(axis=0), strict=True))
        _stack(ax, place - width / 2, width, {term: float(means[term]) for term in TERMS}, "")
        allowed = bound_terms(run)
        _stack(ax, place + width / 2, width, allowed, "////")
        if math.isnan(allowed["b"]):
            _draw_open_end(ax, place + width / 2, width, sum(v for v in allowed.values() if v > 0), top)
        else:
            total = sum(allowed.values())
            ax.text(place + width / 2, total + 0.02, f"{total:.2f}", ha="center", va="bottom", fontsize=7)
        mean, spread = compute_interval(run)
        mark = style.COLOURS["practice"]
        ax.errorbar(
            place - width / 2, mean, yerr=spread, fmt="D", color=mark, markersize=3, capsize=6, markerfacecolor="white"
        )
        labels.append(f"{run.budget:,}\nn = {len(run.terms)}\n{_format_mean(mean, spread)}")
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set_ylim(top=1.45 * top)
    ax.set_xticks(range(len(trials)), labels)
    ax.set_xlabel("budget (pulls, cost 1 each); n trials; mean excess risk with its interval")
    return ax


def _format_mean(mean: float, spread: float) -> str:
    """Mean and half a width; in words where all trials have the same excess risk and the interval has no width."""
    return f"all {mean:.3f}" if spread < 1e-12 else f"{mean:.3f} ± {spread:.1g}"


def _draw_open_end(ax: Axes, x: float, width: float, base: float, top: float) -> None:
    """A part without an end: it fades out above every bar that has run, under an arrow upwards."""
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


def draw_excess_figure(excess: Mapping[str, Sequence[RandomInstanceTrials]]) -> Figure:
    """Draw one panel per theorem."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    with style.context():
        picture = style.blank(5.2 * len(excess) + 0.6, 5.4)
        axes = picture.subplots(1, len(excess), sharey=True, squeeze=False)[0]
        titles = {"uniform": "uniform allocation (Theorem 1)", "median-accumulated": "median elimination (Theorem 2)"}
        top = max(compute_height([run for run in trials if run.replacement]) for trials in excess.values())
        for ax, (claim, trials) in zip(axes, excess.items(), strict=True):
            shown = sorted((run for run in trials if run.replacement), key=lambda run: run.budget)
            draw_excess(ax, shown, top)
            ax.set_title(titles[CLAIMS[claim]])
        axes[0].set_ylabel("risk (0/1 loss with rejection)")
        handles: list[Patch | Line2D] = [
            Patch(color=colour, label=_TERM_NAMES[term]) for colour, term in zip(style.CYCLE, TERMS, strict=False)
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


_AXIS_NAMES = {"K": "number of candidates K", "theta": "rejection cost θ", "gap": "optimality gap Δ"}
_MARKERS = {"uniform": "o", "median-accumulated": "s"}
_TITLES = {"uniform": "uniform allocation", "median-accumulated": "median elimination", "median": "median elimination"}


def draw_needs(ax: Axes, required: Sequence[RequiredBudget], axis: str) -> Axes:
    """Draw budget by each bound / budget in practice against one parameter; unreached targets have no point."""
    for version in VERSIONS:
        for strategy, marker in _MARKERS.items():
            shown = sorted((n for n in required if n.axis == axis and n.strategy == strategy), key=lambda n: n.value)
            if not any(version in n.bounds for n in shown):
                continue
            appearance = style.of_version(version)
            ax.plot(
                [n.value for n in shown],
                [n.ratio(version) for n in shown],
                marker=marker,
                markerfacecolor=appearance["color"] if strategy == "uniform" else "white",
                label=f"{version} bound, {_TITLES[strategy]}",
                **appearance,
            )
    ax.axhline(1.0, color=style.GUIDE, linewidth=0.8)
    ax.set(yscale="log", xlabel=_AXIS_NAMES[axis])
    if axis in ("K", "gap"):
        ax.set_xscale("log", base=2 if axis == "K" else 10)
    values = sorted({n.value for n in required if n.axis == axis})
    ax.set_xticks(values, [f"{value:.2g}" for value in values])
    ax.minorticks_off()
    return ax


def draw_budget_figure(required: Sequence[RequiredBudget], trials: int) -> Figure:
    """Draw one panel per parameter."""
    with style.context():
        picture = style.blank(10.0, 4.4)
        axes = picture.subplots(1, 3, sharey=True)
        for ax, axis in zip(axes, _AXIS_NAMES, strict=True):
            draw_needs(ax, required, axis)
        axes[0].set_ylabel("budget by the bound / budget in practice")
        handles, labels = axes[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
        picture.suptitle(
            f"How much more the bounds ask for than a failure probability of {TARGET:.0%} takes\n"
            f"(K = 8, θ = 0.1, Δ = 0.3 κΛ where not varied; κΛ = 0.9(1 − 2θ); practice: {trials:,} trials per budget, "
            f"{LEVEL:.0%} limits)"
        )
    return picture


def draw_decomposition(ax: Axes, decomposition: SlackDecomposition) -> Axes:
    """Draw one bar per factor between the paper's bound and the truth, each starting where the one above it ended."""
    ten = math.log(10)
    level = decomposition.slack.log_bound / ten
    names, starts, ends = [f"the paper's bound, {_power(level)}"], [0.0], [level]
    for factor in decomposition.slack.factors:
        if abs(factor.log) > 1e-12:
            names.append(f"{factor.name.replace('^2', '²')}, {_factor(factor.log / ten)}")
            starts.append(level)
            level -= factor.log / ten
            ends.append(level)
    top = _power(math.log10(decomposition.truth_upper))
    # Student's interval may reach below zero; then only its upper end says something.
    between = (
        f"{_power(math.log10(decomposition.truth_lower))} to {top}"
        if decomposition.truth_lower > 0
        else f"at most {top}"
    )
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
    gap, K = decomposition.pool.gap, decomposition.pool.K
    ax.set_title(
        f"{_TITLES[decomposition.strategy]}: budget {decomposition.budget:,}, K = {K}, Δ = {gap:.2g}",
        loc="left",
    )
    return ax


def _power(log10: float) -> str:
    return f"{10**log10:.2g}" if log10 > -4 else f"10$^{{{log10:.1f}}}$"


def _factor(log10: float) -> str:
    return f"×{10**log10:.3g}" if abs(log10) < 3 else f"×10$^{{{log10:.1f}}}$"


def draw_slack_figure(decompositions: Sequence[SlackDecomposition]) -> Figure:
    """Draw one panel per strategy."""
    with style.context():
        picture = style.blank(8.0, 0.6 + 3.0 * len(decompositions))
        axes = picture.subplots(len(decompositions), 1, squeeze=False)[:, 0]
        for ax, decomposition in zip(axes, decompositions, strict=True):
            draw_decomposition(ax, decomposition)
        picture.suptitle(
            "Where the paper's bounds lose: one factor per step of the proof (truth: importance sampling, 99% interval)"
        )
    return picture
