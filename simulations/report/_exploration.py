"""Render the report of one exploration as an HTML page that fetches nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from simulations.report._render import fill_template, join_rounds

#: Markdown that reports use; inline markup is left out, so that a name with stars or brackets stays as it is.
#: Entities and backslashes are read, because reports escape names by them.
BLOCKS = ["heading", "table", "list", "fence", "paragraph"]
#: Sets of candidates in the figure, and candidates among the purchases; the page says how many others there are.
MAX_SETS, MAX_BARS = 6, 24
#: Names in the label of a set; of more it says how many they are.
MAX_NAMES = 4


def page(report: str, facts: Mapping[str, Any], title: str) -> str:
    """Render the page as text.

    Parameters
    ----------
    report : str
        Markdown of `ExMLClassifier.report`: headings, paragraphs, tables, lists and code.
    facts : mapping
        `layers` as in `exml_sim.classifier.report.layers_to_dict`, `purchases` (rows per candidate and round), `money`
        (spent after each round), `decisions` (who decides, and how many rows); optionally `inspect` (a table of rows
        with suspicious labels), `accuracy` (money, expected accuracy, lower and upper end) and `baseline`, the accuracy
        without candidates.
    title : str
        Name of the table.
    """
    start, *sections = re.split(r"^## ", report, flags=re.MULTILINE)
    lines = [line.replace("`", "") for line in start.splitlines() if line and not line.startswith("#")]
    warnings = [line for line in lines if line.startswith("Warning: ")]
    chart, left_out = make_chart(facts)
    accuracy = _make_accuracy_chart(facts.get("accuracy", ()), facts.get("baseline"))
    parts = [section.split("\n", 1) for section in sections]
    return fill_template(
        "exploration.html",
        scripts=["chart.js", "page.js"],
        data=[{"chart": entry} for entry in (accuracy, chart) if entry],
        accuracy=accuracy,
        inspect=facts.get("inspect"),
        title=title,
        answer=[_convert_line(line) for line in lines if line not in warnings],
        warnings=[_convert_line(warning.removeprefix("Warning: ")) for warning in warnings],
        chart=chart,
        left_out=left_out,
        bought=_describe_purchases(facts["purchases"]),
        decisions={name: count for name, count in facts["decisions"].items() if count},
        sections=[(_convert_line(heading), Markup(html_of(body))) for heading, body in parts],
    )


def html_of(markdown: str) -> str:
    """Convert the Markdown of a report to HTML; every text is escaped, headings go one level down."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable([*BLOCKS, "newline", "entity", "escape"])
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 4)}"
    text = str(parser.renderer.render(tokens, parser.options, {}))
    # A heading without text is an error for screen readers.
    text = text.replace("<th></th>", "<td></td>")
    return text.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")


def _convert_line(line: str) -> Markup:
    """Convert one line of Markdown to the contents of an element."""
    return Markup(html_of(line).strip().removeprefix("<p>").removesuffix("</p>"))


def make_chart(facts: Mapping[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """Collect the scores of candidates against the money spent; also return how many sets are left out."""
    sets: dict[str, list[dict[str, Any]]] = {}
    # Every analysis of every layer follows a purchase.
    analyses = [analysis for layer in facts["layers"] for analysis in collect_analyses(layer)]
    for money, analysis in zip(facts["money"], analyses, strict=False):
        for entry in analysis:
            sets.setdefault(entry["name"], []).append({**entry, "money": money})
    if not sets:
        return None, 0

    def rank(name: str) -> tuple[float, ...]:
        last = sets[name][-1]
        return -last["money"], not last["chosen"], last["score"]

    shown = sorted(sets, key=rank)[:MAX_SETS]
    series: list[dict[str, Any]] = []
    for colour, name in enumerate(shown):
        # All intervals of the selected set, and the last one of the others, so that each can be seen.
        ends = [entry["interval"] if colour == 0 else None for entry in sets[name][:-1]] + [sets[name][-1]["interval"]]
        points = [
            [entry["money"], entry["score"], *(interval or (None, None)), False]
            for entry, interval in zip(sets[name], ends, strict=True)
        ]
        series.append({"colour": colour, "dash": 0, "points": points, "texts": [_describe(e) for e in sets[name]]})
    values = [end for entry in series for point in entry["points"] for end in point[1:4] if end is not None]
    most = max(point[0] for entry in series for point in entry["points"])
    low, high = min(0.0, *values), max(values)
    chart = {
        "label": "Scores of candidates against the money spent",
        "x": {"label": "money spent", "log": False, "ends": [0.0, 1.05 * most]},
        "y": {"label": "score, lower is better", "log": False, "ends": [low, high + 0.05 * (high - low or 1.0)]},
        "line": None,
        "spread": True,
        "colours": [_shorten(name) for name in shown],
        "dashes": ["score"],
        "styles": ["d0"],
        "series": series,
    }
    return chart, len(sets) - len(shown)


def _make_accuracy_chart(points: Sequence[Sequence[float]], baseline: float | None) -> dict[str, Any] | None:
    """Collect the expected accuracy against the money, with its interval and the accuracy without candidates."""
    if len(points) < 2:
        return None
    texts = [[f"expected accuracy {y:.1%} ({low:.1%} to {high:.1%})"] for _, y, low, high in points]
    series = {"colour": 0, "dash": 0, "points": [[*point, False] for point in points], "texts": texts}
    low = min([point[2] for point in points] + ([] if baseline is None else [baseline]))
    return {
        "label": "Expected accuracy against money",
        "x": {
            "label": "money for rows of the selected candidates",
            "log": False,
            "ends": [0.0, 1.05 * max(point[0] for point in points)],
        },
        "y": {"label": "expected accuracy", "log": False, "ends": [max(low - 0.05, 0.0), 1.0]},
        "line": None if baseline is None else {"at": baseline, "label": "without candidates"},
        "colours": ["expected accuracy of new rows"],
        "dashes": ["accuracy"],
        "styles": ["d0"],
        "series": [series],
    }


def collect_analyses(layer: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Collect interim analyses or rounds in one form: name, score, interval, rows, chosen."""
    compared = [
        [_entry(" + ".join(entry["candidates"]), entry["loss"], entry, entry["chosen"]) for entry in analysis]
        for analysis in layer["looks"]
    ]
    rounds = [
        [_entry(entry["candidate"], entry["score"], entry, entry["stays"]) for entry in analysis]
        for analysis in layer["rounds"]
    ]
    return [*compared, *rounds]


def _entry(name: str, score: float, entry: Mapping[str, Any], is_chosen: bool) -> dict[str, Any]:
    return {"name": name, "score": score, "interval": entry["interval"], "rows": entry["rows"], "chosen": is_chosen}


def _describe(entry: Mapping[str, Any]) -> list[str]:
    score = f"score {entry['score']:.3f} on {entry['rows']} rows"
    if entry["interval"] is not None:
        score += f" (95% {entry['interval'][0]:.3f} to {entry['interval'][1]:.3f}, approximate)"
    return [score, *(["best at this point"] if entry["chosen"] else [])]


def _shorten(name: str) -> str:
    names = name.split(" + ")
    return name if len(names) <= MAX_NAMES else f"{len(names)} candidates together"


def _describe_purchases(purchases: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Return the rows bought of every candidate by round; of many candidates those with the most rows."""
    names = list(dict.fromkeys(name for bought in purchases for name in bought))
    totals = {name: sum(bought.get(name, 0) for bought in purchases) for name in names}
    shown = [name for name in names if name in sorted(names, key=lambda name: -totals[name])[:MAX_BARS]]
    rounds = join_rounds([[float(bought.get(name, 0)) for name in shown] for bought in purchases])
    strategy = {"title": "", "total": [totals[name] for name in shown], "rounds": rounds}
    largest = max(totals.values(), default=0) or 1
    allocation = {"strategies": [strategy] if shown else [], "largest": largest}
    return {"arms": {"names": shown}, "allocation": allocation, "others": len(names) - len(shown)}
