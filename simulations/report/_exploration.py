"""Render the report of one exploration as an HTML page that fetches nothing."""

from __future__ import annotations

import base64

from simulations.report._render import fill_template

#: Markdown that reports use; inline markup is left out, so that a name with stars or brackets stays as it is.
#: Entities and backslashes are read, because reports escape names by them.
BLOCKS = ["heading", "table", "list", "fence", "paragraph"]


def page(report: str, picture: str, title: str) -> str:
    """Render the page as text.

    Parameters
    ----------
    report
        Markdown of `ExMLClassifier.report`: headings, paragraphs, tables, lists and code.
    picture
        The picture as SVG text.
    title
        Name of the table.
    """
    source = f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"
    return fill_template("exploration.html", title=title, picture=source, body=html_of(report))


def html_of(markdown: str) -> str:
    """Convert the Markdown of a report to HTML; every text is escaped, headings go one level down."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable([*BLOCKS, "newline", "entity", "escape"])
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 4)}"
    return str(parser.renderer.render(tokens, parser.options, {}))
