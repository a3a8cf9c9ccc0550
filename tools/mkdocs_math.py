"""Render formulas of Markdown pages as MathML while the site is built (a hook of mkdocs).

Formulas are written as in LaTeX between ``$`` signs (inline) or ``$$`` signs (display). Browsers display MathML without
scripts or fonts from elsewhere, so the site works offline.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

#: Code is left as it is; a formula has no blank line.
_CODE_OR_MATH = re.compile(
    r"(?P<code>^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*?$|`[^`\n]+`)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?<![\\$\w])\$(?!\s)(?P<inline>(?:[^$\n]|\n(?!\s*\n))+?)(?<!\s)\$(?![\d$])",
    re.DOTALL | re.MULTILINE,
)
#: Bars and slashes, which browsers space like relations.
_WIDE_OPERATOR = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x0002F;)</mo>")
#: Letters of LaTeX above which an inline formula scrolls on narrow screens.
MAX_INLINE = 40
_PLACEHOLDER = "zqmath{:d}zq"


def extract_formulas(markdown: str) -> tuple[str, list[str]]:
    """Replace formulas by placeholders and return the MathML of each.

    Parameters
    ----------
    markdown : str
        Text of a page.

    Returns
    -------
    tuple of str and list of str
        Text with placeholders, and one MathML element per placeholder.
    """
    elements: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        display = match["display"] is not None
        latex = " ".join((match["display"] or match["inline"]).split())
        element = convert(latex, display="block" if display else "inline")
        element = _WIDE_OPERATOR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', element)
        is_wide = not display and len(latex) > MAX_INLINE
        elements.append(f'<span class="wide-formula">{element}</span>' if is_wide else element)
        return _PLACEHOLDER.format(len(elements) - 1)

    return _CODE_OR_MATH.sub(replace, markdown), elements


def insert_formulas(html: str, elements: list[str]) -> str:
    """Replace the placeholders of a rendered page by MathML.

    Parameters
    ----------
    html : str
        Rendered page with placeholders.
    elements : list of str
        MathML, one element per placeholder.

    Returns
    -------
    str
        Rendered page.
    """
    return re.sub(r"zqmath(\d+)zq", lambda match: elements[int(match[1])], html)


_formulas: dict[str, list[str]] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take the formulas out of a page before Markdown sees their asterisks and underscores."""
    if not page.file.src_uri.endswith(".md") or page.file.src_uri in ("CLAIMS.md",):
        return markdown
    text, _formulas[page.file.src_uri] = extract_formulas(markdown)
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put the formulas into the rendered page."""
    return insert_formulas(html, _formulas.pop(page.file.src_uri, []))
