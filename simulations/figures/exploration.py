"""Draw one exploration in three parts: scores with intervals, rows bought, and which layer decides the rows.

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
#: Candidates among the purchases, and rows of all interim analyses together, that are drawn separately; the others of
#: an analysis share a row. An analysis has at least a few rows of its own.
MOST, MOST_OF_ALL, FEWEST_OF_ONE = 24, 24, 5
Entries = Sequence[Mapping[str, Any]]
#: Patterns, so that neighbouring parts of a bar differ without colour.
HATCHES = ("", "//", "..", "xx", "\\\\", "--")


def figure(facts: Mapping[str, Any]) -> Figure:
    """Draw the whole picture.

    Parameters
    ----------
    facts
        `layers` as in `exml_sim.classifier.report.layers_to_dict`, `purchases` (rows per candidate and round),
        `decisions` (who decides, and how many rows), `spent` and `budget`.
    """
    analyses = [analysis for layer in facts["layers"] for analysis in collect_analyses(layer)]
    names = list(dict.fromkeys(name for bought in facts["purchases"] for name in bought))
    most = most_of(analyses) + 1
    lines = max(sum(min(len(analysis), most) for analysis in analyses), len(_bars(facts["purchases"], names)))
    tall = max(2.6, 1.0 + 0.28 * lines)
    with style.context():
        picture = style.blank(10.5, tall)
        scores, bought, decided = picture.subplots(1, 3, width_ratios=(4, 3, 2))
        draw_scores(scores, analyses)
        draw_purchases(bought, facts["purchases"], names)
        draw_decisions(decided, facts["decisions"])
        picture.suptitle(f"Exploration: spent {facts['spent']} of {facts['budget']}")
    return picture


def most_of(analyses: Sequence[Entries]) -> int:
    """Return the number of rows of an analysis that are drawn separately."""
    return min(MOST, max(FEWEST_OF_ONE, MOST_OF_ALL // max(len(analyses), 1)))


def collect_analyses(layer: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Collect interim analyses or rounds in one form: name, score, interval, rows, fate."""
    excluded = _excluded(layer.get("statement"))
    compared = [
        [_line(entry["candidates"], entry["loss"], entry, "chosen" if entry["chosen"] else "") for entry in analysis]
        for analysis in layer["looks"]
    ]
    rounds = [
        [_line([entry["candidate"]], entry["score"], entry, "" if entry["stays"] else "leaves") for entry in analysis]
        for analysis in layer["rounds"]
    ]
    analyses = [*compared, *rounds]
    for number, analysis in enumerate(analyses):
        later = {entry["name"] for after in analyses[number + 1 :] for entry in after}
        for entry in analysis:
            if entry["name"] in excluded and entry["name"] not in later:
                entry["fate"] = "excluded"
    return analyses


def _line(names: Sequence[str], score: float, entry: Mapping[str, Any], fate: str) -> dict[str, Any]:
    line = {"name": " + ".join(names), "label": _together(names), "score": score, "interval": entry["interval"]}
    return {**line, "rows": entry["rows"], "fate": fate}


def _excluded(statement: Mapping[str, Any] | None) -> set[str]:
    return set() if statement is None else {entry["name"] for entry in statement["comparisons"] if entry["excluded"]}


def draw_scores(ax: Axes, analyses: Sequence[Entries]) -> Axes:
    """Draw scores with intervals, analyses below each other; hollow marks are excluded candidates."""
    ax.set_title("scores with 95 % intervals (approximate)")
    ax.set_xlabel("score on bought rows, lower is better")
    if not analyses:
        return _empty(ax, "nothing was compared")
    names = list(dict.fromkeys(entry["name"] for analysis in analyses for entry in analysis))
    places, labels, at = [], [], 0.0
    for number, analysis in enumerate(analyses, 1):
        shown, others = _foremost(analysis, most_of(analyses))
        for entry in shown:
            which = names.index(entry["name"])
            colour, marker = style.CYCLE[which % len(style.CYCLE)], style.MARKERS[which % len(style.MARKERS)]
            out = entry["fate"] in ("excluded", "leaves")
            if entry["interval"] is not None:
                ax.plot(entry["interval"], [at, at], color=colour, linewidth=1.2)
            ax.plot(entry["score"], at, marker, color=colour, markersize=6, markerfacecolor="white" if out else colour)
            places.append(at)
            fate = f" ({entry['fate']})" if entry["fate"] else ""
            labels.append(f"{number}: {entry['label']}, {entry['rows']} rows{fate}")
            at += 1.0
        if others:
            ends = [min(entry["score"] for entry in others), max(entry["score"] for entry in others)]
            ax.plot(ends, [at, at], color=style.GUIDE, linewidth=3.0)
            places.append(at)
            labels.append(f"{number}: scores of {len(others)} others")
            at += 1.0
        if number < len(analyses):
            ax.axhline(at - 0.25, color=style.GUIDE, linewidth=0.6)
            at += 0.5
    ax.set_yticks(places, labels, fontsize=7.5)
    ax.set_ylim(at - 0.4, -0.6)
    return ax


def _foremost(analysis: Entries, most: int) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Split an analysis into entries that are drawn, best first and with the chosen one, and the others."""
    ranked = sorted(analysis, key=lambda entry: float(entry["score"]))
    if len(ranked) <= most + 1:
        return ranked, []
    chosen = [entry for entry in ranked[most:] if entry["fate"] == "chosen"]
    shown = [*ranked[: most - len(chosen)], *chosen]
    return shown, [entry for entry in ranked if entry not in shown]


def draw_purchases(ax: Axes, purchases: Sequence[Mapping[str, int]], names: Sequence[str]) -> Axes:
    """Draw rows bought per candidate, one part per round of the ledger."""
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
    """Collect labels and rows per round; of many candidates those above the median, and the mean of the others."""
    counts = {name: [float(entry.get(name, 0)) for entry in purchases] for name in names}
    most = set(names)
    if len(names) > MOST + 1:
        totals = sorted(sum(rows) for rows in counts.values())
        ranked = sorted(names, key=lambda name: -sum(counts[name]))
        # Most candidates have the rows of the first round and no more, so that separate bars carry no information.
        above = {name for name in ranked[:MOST] if sum(counts[name]) > totals[len(totals) // 2]}
        most = above or set(ranked[:MOST])
    shown = [(_cut(name), counts[name]) for name in names if name in most]
    others = [counts[name] for name in names if name not in most]
    if not others:
        return shown
    return [*shown, (f"mean of {len(others)} others", [sum(rows) / len(others) for rows in zip(*others, strict=True)])]


def draw_decisions(ax: Axes, decisions: Mapping[str, int]) -> Axes:
    """Draw which layer decides the rows of the table; parts for hidden rows and missing values."""
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


def _empty(ax: Axes, text: str) -> Axes:
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=style.GUIDE)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _together(names: Sequence[str]) -> str:
    """Join the names of a set, each cut separately, so that a set never looks like one candidate."""
    if len(names) > MOST_NAMES:
        return f"{len(names)} candidates together"
    return " + ".join(_cut(name, max(LONGEST // len(names), SHORTEST)) for name in names)


def _cut(name: str, longest: int = LONGEST) -> str:
    # Names of many candidates often differ at their ends only.
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"
