"""One exploration in three parts: scores with intervals look by look, what was bought, who decides the rows.

Drawn from plain values, those of ``exml explore --json``, so that a picture can be drawn again from a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulations.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Names longer than this are cut, those of a set to a share of it, down to the second number; of more names than the
#: third is said only how many they are.
LONGEST, SHORTEST, MOST_NAMES = 24, 10, 4
#: Candidates among the purchases, and lines of all looks together, that are drawn one by one; the others of a look
#: share a line. A look has a few lines of its own in any case.
MOST, MOST_OF_LOOKS, FEWEST_OF_A_LOOK = 24, 24, 5
#: Patterns, so that neighbouring parts of a bar differ without colour.
HATCHES = ("", "//", "..", "xx", "\\\\", "--")


def figure(facts: Mapping[str, Any]) -> Figure:
    """The whole picture.

    Parameters
    ----------
    facts
        `layers` as in `exml_sim.classifier.report.layers_to_dict`, `purchases` (rows per candidate and round),
        `decisions` (who decides, and how many rows), `spent` and `budget`.
    """
    looks = [look for layer in facts["layers"] for look in looks_of(layer)]
    names = list(dict.fromkeys(name for one in facts["purchases"] for name in one))
    lines = max(sum(min(len(look), most_of(looks) + 1) for look in looks), len(_bars(facts["purchases"], names)))
    tall = max(2.6, 1.0 + 0.28 * lines)
    with style.look():
        picture = style.blank(10.5, tall)
        scores, bought, decided = picture.subplots(1, 3, width_ratios=(4, 3, 2))
        draw_scores(scores, looks)
        draw_purchases(bought, facts["purchases"], names)
        draw_decisions(decided, facts["decisions"])
        picture.suptitle(f"Exploration: spent {facts['spent']} of {facts['budget']}")
    return picture


def most_of(looks: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """Lines of one look that are drawn one by one."""
    return min(MOST, max(FEWEST_OF_A_LOOK, MOST_OF_LOOKS // max(len(looks), 1)))


def looks_of(layer: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Looks of a race or rounds of another strategy in one form: name, score, interval, rows, fate."""
    excluded = _excluded(layer.get("statement"))
    raced = [
        [_line(one["candidates"], one["loss"], one, "chosen" if one["chosen"] else "") for one in look]
        for look in layer["looks"]
    ]
    rounds = [
        [_line([one["candidate"]], one["score"], one, "" if one["stays"] else "leaves") for one in look]
        for look in layer["rounds"]
    ]
    found = [*raced, *rounds]
    for number, look in enumerate(found):
        later = {one["name"] for after in found[number + 1 :] for one in after}
        for one in look:
            if one["name"] in excluded and one["name"] not in later:
                one["fate"] = "excluded"
    return found


def _line(names: Sequence[str], score: float, one: Mapping[str, Any], fate: str) -> dict[str, Any]:
    line = {"name": " + ".join(names), "label": _together(names), "score": score, "interval": one["interval"]}
    return {**line, "rows": one["rows"], "fate": fate}


def _excluded(statement: Mapping[str, Any] | None) -> set[str]:
    return set() if statement is None else {one["name"] for one in statement["comparisons"] if one["excluded"]}


def draw_scores(ax: Axes, looks: Sequence[Sequence[Mapping[str, Any]]]) -> Axes:
    """Scores with intervals, one line each, the looks below each other; hollow marks are out of the race."""
    ax.set_title("scores with 95 % intervals (approximate)")
    ax.set_xlabel("score on bought rows, lower is better")
    if not looks:
        return _empty(ax, "nothing was compared")
    names = list(dict.fromkeys(one["name"] for look in looks for one in look))
    places, labels, at = [], [], 0.0
    for number, look in enumerate(looks, 1):
        shown, others = _foremost(look, most_of(looks))
        for one in shown:
            which = names.index(one["name"])
            colour, marker = style.CYCLE[which % len(style.CYCLE)], style.MARKERS[which % len(style.MARKERS)]
            out = one["fate"] in ("excluded", "leaves")
            if one["interval"] is not None:
                ax.plot(one["interval"], [at, at], color=colour, linewidth=1.2)
            ax.plot(one["score"], at, marker, color=colour, markersize=6, markerfacecolor="white" if out else colour)
            places.append(at)
            fate = f" ({one['fate']})" if one["fate"] else ""
            labels.append(f"{number}: {one['label']}, {one['rows']} rows{fate}")
            at += 1.0
        if others:
            ends = [min(one["score"] for one in others), max(one["score"] for one in others)]
            ax.plot(ends, [at, at], color=style.GUIDE, linewidth=3.0)
            places.append(at)
            labels.append(f"{number}: scores of {len(others)} others")
            at += 1.0
        if number < len(looks):
            ax.axhline(at - 0.25, color=style.GUIDE, linewidth=0.6)
            at += 0.5
    ax.set_yticks(places, labels, fontsize=7.5)
    ax.set_ylim(at - 0.4, -0.6)
    return ax


def _foremost(look: Sequence[Mapping[str, Any]], most: int) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The lines of a look that are drawn, best first and what was chosen among them, and the others."""
    ranked = sorted(look, key=lambda one: float(one["score"]))
    if len(ranked) <= most + 1:
        return ranked, []
    chosen = [one for one in ranked[most:] if one["fate"] == "chosen"]
    shown = [*ranked[: most - len(chosen)], *chosen]
    return shown, [one for one in ranked if one not in shown]


def draw_purchases(ax: Axes, purchases: Sequence[Mapping[str, int]], names: Sequence[str]) -> Axes:
    """Rows bought per candidate, one part per round of the ledger."""
    ax.set_title("what was bought")
    ax.set_xlabel("rows")
    if not names:
        return _empty(ax, "nothing was bought")
    lines = _bars(purchases, names)
    left = [0.0] * len(lines)
    for number in range(len(purchases)):
        rows = [counts[number] for _, counts in lines]
        ax.barh(
            range(len(lines)),
            rows,
            left=left,
            color=style.CYCLE[number % len(style.CYCLE)],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="white",
            label=f"round {number + 1}",
        )
        left = [before + count for before, count in zip(left, rows, strict=True)]
    ax.set_yticks(range(len(lines)), [label for label, _ in lines], fontsize=7.5)
    ax.invert_yaxis()
    if len(purchases) <= 6:
        # Bars may fill the whole part: the legend then lies on them, and must be read.
        ax.legend(loc="best", frameon=True, framealpha=0.9)
    return ax


def _bars(purchases: Sequence[Mapping[str, int]], names: Sequence[str]) -> list[tuple[str, list[float]]]:
    """Labels and rows per round; of many candidates those with more than most of them, and the others' mean."""
    counts = {name: [float(one.get(name, 0)) for one in purchases] for name in names}
    most = set(names)
    if len(names) > MOST + 1:
        totals = sorted(sum(some) for some in counts.values())
        ranked = sorted(names, key=lambda name: -sum(counts[name]))
        # Most candidates have the rows of the opening and no more: a bar for each of them would say nothing.
        above = {name for name in ranked[:MOST] if sum(counts[name]) > totals[len(totals) // 2]}
        most = above or set(ranked[:MOST])
    shown = [(_cut(name), counts[name]) for name in names if name in most]
    others = [counts[name] for name in names if name not in most]
    if not others:
        return shown
    return [*shown, (f"mean of {len(others)} others", [sum(some) / len(others) for some in zip(*others, strict=True)])]


def draw_decisions(ax: Axes, decisions: Mapping[str, int]) -> Axes:
    """Who decides the rows of the table: one bar, a part for every layer, hidden, and what lacks a value."""
    ax.set_title("who decides the rows")
    bottom, total = 0, max(sum(decisions.values()), 1)
    for number, (name, count) in enumerate(decisions.items()):
        colour = style.CYCLE[number % len(style.CYCLE)]
        ax.bar(
            0, count, bottom=bottom, color=colour, hatch=HATCHES[number % len(HATCHES)], edgecolor="white", width=0.5
        )
        if count:
            ax.text(0.3, bottom + count / 2, f"{name}: {count} ({count / total:.0%})", va="center", fontsize=8)
        bottom += count
    ax.set(xlim=(-0.4, 1.6), ylabel="rows")
    ax.set_xticks([])
    return ax


def _empty(ax: Axes, words: str) -> Axes:
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=style.GUIDE)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _together(names: Sequence[str]) -> str:
    """The names of a set, each cut by itself, so that a set never looks like one candidate."""
    if len(names) > MOST_NAMES:
        return f"{len(names)} candidates together"
    return " + ".join(_cut(name, max(LONGEST // len(names), SHORTEST)) for name in names)


def _cut(name: str, longest: int = LONGEST) -> str:
    # Names of many candidates often differ at their ends only.
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"
