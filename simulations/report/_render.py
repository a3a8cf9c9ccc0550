"""Render pages as single HTML files, with style and scripts inside; nothing is fetched.

Names come from users' files. The templates escape them, and the JSON for the scripts escapes ``<``, ``>`` and ``&``, so
that no text can end its element. The scripts write names as text only. A Content-Security-Policy allows exactly the
scripts and styles of this page, by their hashes, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

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
    environment.globals |= {"label_rows": _label_rows}
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
