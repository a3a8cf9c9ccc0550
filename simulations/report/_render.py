"""Render pages as single HTML files, with style and scripts inside; nothing is fetched.

Names come from users' files. The templates escape them, and the JSON for the scripts escapes ``<``, ``>`` and ``&``, so
that no text can end its element. The scripts write names as text only. A Content-Security-Policy allows exactly the
scripts and styles of this page, by their hashes, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

#: Space around the plot in pixels: left, right, top, bottom.
MARGINS = (58, 14, 10, 44)
#: Number of colours in page.css; later series repeat them with another mark.
N_COLOURS = 8
#: Marks around the origin; the series of one colour share a mark, so that no chart depends on colour alone.
MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
    "M-3.6,-3.6h7.2v7.2h-7.2Z",
    "M0,-4.8L4.6,3.6H-4.6Z",
    "M0,-5L5,0L0,5L-5,0Z",
    "M-4.5,-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z",
    "M0,-5L4.3,-2.5V2.5L0,5L-4.3,2.5V-2.5Z",
)
LIMIT = "M-4.6,-3.6H4.6L0,4.8Z"
STAR = "M0,-7.5L1.8,-2.4H7.2L2.9,0.9L4.5,6L0,2.9L-4.5,6L-2.9,0.9L-7.2,-2.4H-1.8Z"
#: Pixels between the marks of neighbouring colours in a chart whose series share their places.
SPREAD = 5
#: Formulas between dollar signs.
FORMULA = re.compile(r"\$([^$]+)\$")
#: Directional marks of Unicode, by which a name could reorder the text around it.
BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
#: Letters that sentences write by their names.
GREEK = {
    "theta": "θ", "kappa": "κ", "Lambda": "Λ", "lambda": "λ", "Delta": "Δ", "delta": "δ", "epsilon": "ε", "alpha": "α",
}  # fmt: skip
#: Mathematics in sentences, as patterns over escaped text and what readers see.
SYMBOLS = (
    (rf"(?<![a-zA-Z])({'|'.join(GREEK)})(?![a-zA-Z])", lambda match: GREEK[match[1]]),
    (r"(?<=[κΛ])\*(?=[κΛ])|(?<=\d) (?=[θκΛΔδε])", ""),
    (r"(?<=[\wθκΛΔδε)])\*(?=[\wθκΛΔδε(])", "·"),
    (r"&lt;=", "≤"),
    (r"&gt;=", "≥"),
    (r"\bsqrt\(", "√("),
    (r"(?<=[\dθκΛK)]) - (?=[\dθκΛR(])", " − "),
    (r"(?<![\w.])([A-Za-zθκΛΔδε])_(\w+)", r"\1<sub>\2</sub>"),
    (r"\^(-?\w+|\([^()]*\))", r"<sup>\1</sup>"),
)
#: Commands of LaTeX that the converter does not know.
UNKNOWN_COMMANDS = {r"\arg": r"\operatorname{arg}", r"\gen": r"\mathrm{gen}"}


def render(page: Mapping[str, Any]) -> str:
    """Render the page of a study as the text of one HTML file."""
    return fill_template("study.html", scripts=["chart.js", "page.js"], data=page["groups"], page=page)


def fill_template(name: str, *, scripts: Sequence[str] = ("page.js",), data: Any = None, **values: Any) -> str:
    """Fill a template with escaped values, and state the policy that allows its style and scripts.

    Parameters
    ----------
    name : str
        The template.
    scripts : sequence of str
        Names of assets, in the order in which the page runs them.
    data : object, optional
        Plain data for the scripts.
    **values : object
        Values of the template.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(read_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value.translate(BIDI) if isinstance(value, str) else value,
    )
    environment.globals |= {"shapes": MARKS, "star": STAR, "label_rows": _label_rows, "lay_out": lay_out_chart}
    environment.filters |= {"terms": TermMarker(), "math": typeset, "symbols": write_symbols}
    style = read_asset("page.css")
    texts = [read_asset(script) for script in scripts]
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    policy = f"default-src 'none'; script-src {hash_texts(texts)}; style-src {hash_texts([style])}; {rest}"
    template = environment.get_template(name)
    return template.render(policy=policy, style=style, scripts=texts, data=embed(data), **values)


def _label_rows(rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Put the strategy before the cells of every row, with its pool if there are several."""
    several = len({row["place"] for row in rows}) > 1
    return [[f"{row['strategy']}, {row['place']}" if several else row["strategy"], *row["cells"]] for row in rows]


def lay_out_chart(chart: Mapping[str, Any], width: int = 860, height: int = 380) -> dict[str, Any]:
    """Compute the positions of axes, curves and marks of a chart in pixels, for the static SVG of the template.

    A chart is plain data: `x` and `y` (label, log, ends), `line` (a horizontal guide or None), `colours` and `dashes`
    (the two dimensions of the legend), `styles` (of the dashes: d0 has marks, d1 to d6 are lines, lower and lower2 are
    dotted, star has stars) and `series`. A series has a colour (None if it belongs to all), a dash and points
    ``[x, y, low, high, is_limit]``. `spread` puts marks at equal places next to each other.
    """
    left, right, top, bottom = MARGINS
    x = _make_scale(chart["x"], left, width - right)
    y = _make_scale(chart["y"], height - bottom, top)
    labels = [(x(tick), _format_tick(tick)) for tick in list_ticks(chart["x"], max(width // 90, 2))]
    rows = [(y(tick), _format_tick(tick)) for tick in list_ticks(chart["y"], max(height // 48, 2))]
    return {
        "left": left,
        "right": width - right,
        "top": top,
        "base": height - bottom,
        # The last label stays inside; a digit is about 7 pixels wide.
        "x": [(at, min(at, width - 3.6 * len(label)), label) for at, label in labels],
        "y": rows,
        "line": y(chart["line"]["at"]) if chart["line"] else None,
        "series": [_lay_out_series(series, chart, x, y) for series in chart["series"]],
    }


def _lay_out_series(
    series: Mapping[str, Any], chart: Mapping[str, Any], x: Callable[[float], float], y: Callable[[float], float]
) -> dict[str, Any]:
    points: Sequence[Sequence[Any]] = series["points"]
    colour, kind = series["colour"], chart["styles"][series["dash"]]
    shift = SPREAD * (colour - (len(chart["colours"]) - 1) / 2) if chart.get("spread") else 0.0
    owner = "" if colour is None else f"{chart['colours'][colour]}, "
    seen = [f"{x(point[0]) + shift:.1f},{y(point[1]):.1f}" for point in points if not point[4]]
    shapes = [STAR if kind == "star" else LIMIT if point[4] else MARKS[(colour or 0) % len(MARKS)] for point in points]
    return {
        "name": "plain" if colour is None else f"c{colour % N_COLOURS}",
        "title": f"{owner}{chart['dashes'][series['dash']]}",
        "kind": kind,
        "whiskers": [
            (x(point[0]) + shift, y(point[2]), y(point[3]))
            for point in points
            if kind == "d0" and not point[4] and point[2] is not None
        ],
        "path": None if kind == "star" else "M" + "L".join(seen),
        "marks": [
            (" limit" if point[4] else "", x(point[0]) + shift, y(point[1]), shape)
            for point, shape in zip(points, shapes, strict=True)
            if kind in ("d0", "star")
        ],
    }


def _make_scale(axis: Mapping[str, Any], start: float, stop: float) -> Callable[[float], float]:
    """Return the function from values of an axis to pixels; values beyond the ends are at the ends."""
    low, high = (_position(value, axis) for value in axis["ends"])

    def scale(value: float) -> float:
        if axis["log"] and value <= 0.0:
            return start
        share = (_position(value, axis) - low) / (high - low or 1.0)
        return start + (stop - start) * min(max(share, 0.0), 1.0)

    return scale


def _position(value: float, axis: Mapping[str, Any]) -> float:
    return math.log10(value) if axis["log"] else value


def list_ticks(axis: Mapping[str, Any], most: int) -> list[float]:
    """List at most about this number of round values between the ends of an axis."""
    low, high = axis["ends"]
    if not axis["log"]:
        step = 10.0 ** math.floor(math.log10((high - low) / most))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= most)
        return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        ticks = [f * 10.0**power for power in powers for f in factors if low <= 1.001 * f * 10.0**power <= 1.002 * high]
        if len(ticks) >= 3:
            break
    # A study with one budget may have no round value between the ends.
    ticks = ticks or [float(f"{math.sqrt(low * high):.3g}")]
    every = -(-len(ticks) // most)
    # From the upper end, because the largest probability is 1.
    return ticks[::-1][::every][::-1]


def _format_tick(value: float) -> str:
    """Write a tick without superfluous digits: 1e-05 for very small numbers, 20,000 for large ones."""
    return f"{value:.0e}".replace("e-0", "e-") if 0.0 < value < 9e-4 else f"{value:,.10g}"


def join_rounds(rounds: Sequence[Sequence[float]], most: int = 6) -> list[list[float]]:
    """Join the pulls of many rounds into at most this number of groups of consecutive rounds."""
    groups = [[0.0] * len(rounds[0]) for _ in range(min(len(rounds), most))] if rounds else []
    for number, pulls in enumerate(rounds):
        group = groups[number if len(rounds) <= most else number * most // len(rounds)]
        for arm, value in enumerate(pulls):
            group[arm] += value
    return groups


def embed(data: Any) -> str:
    """Write JSON that is safe inside a script element, whatever the texts in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(BIDI)
    # U+2028 and U+2029 end a line in older readers of JavaScript.
    risky = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    for character, code in risky.items():
        text = text.replace(character, code)
    return text


def read_asset(name: str) -> str:
    """Read a file of the page; one that would end its element early is an error."""
    text = (files("simulations.report") / "assets" / name).read_text(encoding="utf-8")
    if not name.endswith(".html") and any(end in text.lower() for end in ("</script", "</style")):
        raise ValueError(f"{name} would end its element early")
    return text


def hash_texts(texts: Sequence[str]) -> str:
    """List what a Content-Security-Policy allows: the hashes of some texts."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def typeset(formula: str, display: str = "block") -> Markup:
    """Convert LaTeX to MathML, which browsers draw without scripts or fonts."""
    from latex2mathml.converter import convert

    for command, known in UNKNOWN_COMMANDS.items():
        formula = re.sub(re.escape(command) + r"(?![a-zA-Z])", known.replace("\\", "\\\\"), formula)
    return Markup(convert(formula, display=display))


def typeset_text(text: str) -> Markup:
    """Escape a text and convert its formulas between dollar signs to MathML."""
    parts = FORMULA.split(text)
    return Markup("").join(typeset(part, "inline") if i % 2 else escape(part) for i, part in enumerate(parts))


def write_symbols(text: str) -> Markup:
    """Escape a sentence and write its mathematics by symbols: theta <= 1/2 becomes θ ≤ 1/2."""
    markup = str(escape(text))
    for pattern, replacement in SYMBOLS:
        markup = re.sub(pattern, replacement, markup)
    return Markup(markup)


@cache
def read_glossary() -> dict[str, str]:
    """Read the terms of the glossary, in lower case, and their definitions."""
    return {name.lower(): meaning for name, meaning in json.loads(read_asset("glossary.json")).items()}


class TermMarker:
    """Mark the first use of every glossary term on a page, with its definition on hover, focus or tap."""

    def __init__(self) -> None:
        self._marked: set[str] = set()

    def __call__(self, text: object) -> Markup:
        """Escape a text, or take markup as it is, and mark terms that were not yet marked on the page."""
        markup = str(escape(text))
        return Markup(_term_pattern().sub(self._mark, markup))

    def _mark(self, match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in self._marked:
            return match[0]
        self._marked.add(name)
        place = f"term-{name.replace(' ', '-')}"
        button = Markup('<button type="button" class="term" aria-describedby="{}">{}</button>')
        note = Markup('<span class="meaning" role="tooltip" id="{}">{}</span>')
        return str(button.format(place, Markup(match[0])) + note.format(place, typeset_text(read_glossary()[name])))


@cache
def _term_pattern() -> re.Pattern[str]:
    """Match a term, or its plural, outside of tags; longer terms first."""
    names = "|".join(re.escape(name) for name in sorted(read_glossary(), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])({names})s?(?![\w-]|[ ]allocation)(?![^<]*>)", re.IGNORECASE)
