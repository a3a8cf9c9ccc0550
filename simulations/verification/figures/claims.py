"""One figure per family of claims: how far every check and every cell of trials is from a violation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simulations.figures import style
from simulations.verification.report import FAMILIES, family_of, slack, title_of
from simulations.verification.run import Result, Verification
from simulations.verification.tally import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Decades of room that are drawn; what is further away sits at the edge with an arrow's meaning in the caption.
ROOM, BREACH = 6.0, 3.0
_OFFSETS = {"paper": -0.22, "corrected": 0.0, "tighter": 0.22}


def draw(ax: Axes, results: Sequence[Result]) -> Axes:
    """One line per claim: log10(claimed side / observed side); a violation is left of zero.

    Squares are the closest instance of a check, crosses planted errors, circles cells of trials and exact laws,
    triangles cells without any failure, for which the slack is at least that large. Claims without such a number
    (identities, definitions) have their outcome in words.
    """
    ax.axvspan(-BREACH - 0.5, 0.0, color=style.SHADE, zorder=0)
    ax.axvline(0.0, color=style.GUIDE, linewidth=1.0, zorder=1)
    for row, result in enumerate(results):
        drawn = _draw_checks(ax, row, result)
        drawn += _draw_cells(ax, row, result)
        silent = sum(one.informative and not one.decided for one in result.findings)
        corrected = result.checks.corrected
        if silent:
            _say(ax, 0.15, row + 0.22, f"{silent} cell{'' if silent == 1 else 's'} not decided")
        elif result.findings and not any(one.informative for one in result.findings):
            _say(ax, 0.15, row, "no cell of trials promises anything at this depth")
        elif not drawn:
            words = "" if corrected is None else f", corrected {corrected.outcome}"
            _say(ax, 0.15, row, f"{result.checks.printed.outcome} as printed{words}")
        elif corrected is not None and corrected.margin is None and not result.findings:
            _say(ax, 0.15, row, f"corrected {corrected.outcome}")
    ax.set_yticks(range(len(results)), [one.claim.id for one in results])
    ax.set(xlim=(-BREACH - 0.5, ROOM + 0.5), ylim=(len(results) - 0.4, -0.6))
    ticks = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6]
    labels = ["≤ 10⁻³", "10⁻²", "10⁻¹", "1", "10", "10²", "10³", "10⁴", "10⁵", "≥ 10⁶"]
    ax.set_xticks(ticks, labels)
    ax.set_xlabel("claimed side / observed side (left of 1: violated)")
    ax.grid(axis="y", color="#F0F0F0", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def _say(ax: Axes, x: float, y: float, words: str) -> None:
    """Small words on the guide lines."""
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
    for one in result.findings:
        pair = slack(one) if one.informative else None
        if pair is None:
            continue
        value, at_least = pair
        if at_least and not one.decided:
            # Too few trials to say anything: that is neither a violation nor room, and it is said in words.
            continue
        colour, y = style.COLOURS[one.reading], row + _OFFSETS[one.reading]
        face = colour if one.decided else "white"
        marker = ">" if at_least else "o"
        ax.plot(_clip(value), y, marker=marker, color=colour, markerfacecolor=face, alpha=0.8, markersize=4.5, zorder=3)
        drawn += 1
    return drawn


def figure(title: str, results: Sequence[Result]) -> Figure:
    """The picture of one family."""
    from matplotlib.lines import Line2D

    def mark(marker: str, colour: str, words: str, face: str | None = None) -> Line2D:
        return Line2D([], [], marker=marker, linestyle="", color=colour, markerfacecolor=face or colour, label=words)

    with style.look():
        picture = style.blank(8.0, 1.9 + 0.34 * len(results))
        draw(picture.subplots(), results)
        trials = distinct(one for result in results for one in result.findings).trials
        counted = f", {trials:,} trials" if trials else ""
        picture.suptitle(f"{title} ({len(results)} claims{counted})")
        handles = [
            mark("s", style.COLOURS["paper"], "check, as printed"),
            mark("s", style.COLOURS["corrected"], "check, corrected"),
            mark("x", "#777777", "check of a planted error"),
        ]
        if trials:
            handles += [
                mark("o", style.COLOURS["paper"], "trials or exact law, as printed"),
                mark("o", style.COLOURS["corrected"], "trials or exact law, corrected"),
                mark("o", style.COLOURS["tighter"], "trials or exact law, tighter"),
                mark(">", "#555555", "no failure seen: at least this"),
                mark("o", "#555555", "not decided", "white"),
            ]
        picture.legend(handles=handles, loc="outside lower center", ncols=3)
    return picture


def figures(found: Verification) -> Iterator[tuple[str, Figure]]:
    """(file stem, picture) of every family that has claims."""
    for key in dict.fromkeys([*FAMILIES, *(family_of(one.claim) for one in found.results)]):
        results = [one for one in found.results if family_of(one.claim) == key]
        if results:
            yield f"claims-{key.replace('_', '-')}", figure(title_of(key), results)
