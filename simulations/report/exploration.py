"""The report of one exploration as an HTML page that fetches nothing: its Markdown, and its picture inlined."""

from __future__ import annotations

import base64
import re
from html import escape

from simulations.report.render import asset, hashes

#: What the page adds to the style of all reports.
STYLE = "img { max-width: 100%; height: auto; background: #ffffff; } td, th { padding: .2rem .6rem; text-align: left; }"


def page(report: str, picture: str, title: str) -> str:
    """The page as text.

    Parameters
    ----------
    report
        Markdown of `ExMLClassifier.report`: headings, paragraphs, tables, lists and code.
    picture
        The picture as SVG text.
    title
        Name of the table.
    """
    style = f"{asset('page.css')}\n{STYLE}"
    policy = f"default-src 'none'; style-src {hashes([style])}; img-src data:; base-uri 'none'; form-action 'none'"
    source = base64.b64encode(picture.encode()).decode()
    words = "Scores of the candidates with intervals, look by look; rows bought per round; who decides the rows."
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}: exploration</title>\n<style>{style}</style>\n</head>\n<body>",
            f'<header class="top"><p class="eyebrow">exml-sim exploration</p><h1>{escape(title)}</h1></header>\n<main>',
            '<section id="exploration"><h2>The exploration</h2>',
            f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{source}"></section>',
            html_of(report),
            "</main>\n</body>\n</html>\n",
        ]
    )


def html_of(markdown: str) -> str:
    """The Markdown of a report as HTML; every text is escaped."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        lines = block.split("\n")
        while lines:
            lines = _taken(lines, out)
    return "\n".join(out)


def _taken(lines: list[str], out: list[str]) -> list[str]:
    """Turn the first lines of a block into an element; returns the rest."""
    first = lines[0]
    heading = re.match(r"(#{1,4}) +(.*)", first)
    if heading:
        level = min(len(heading[1]) + 1, 4)
        out.append(f"<h{level}>{escape(heading[2])}</h{level}>")
        return lines[1:]
    for mark, make in (("|", _table), ("- ", _list), ("```", _code)):
        if first.startswith(mark):
            end = next((i for i, line in enumerate(lines) if i and not line.startswith(mark)), len(lines))
            end = len(lines) if mark == "```" else end
            out.append(make(lines[:end]))
            return lines[end:]
    end = next((i for i, line in enumerate(lines) if line.startswith(("|", "- ", "#", "```"))), len(lines))
    out.append("<p>" + "<br>".join(escape(line) for line in lines[:end]) + "</p>")
    return lines[end:]


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    body = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    head, *rest = (_row(row, "td" if number else "th") for number, row in enumerate(body))
    return f"<table><thead>{head}</thead><tbody>{''.join(rest)}</tbody></table>"


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line[2:])}</li>" for line in lines) + "</ul>"


def _code(lines: list[str]) -> str:
    text = "\n".join(line for line in lines if not line.startswith("```"))
    return f"<pre>{escape(text)}</pre>"
