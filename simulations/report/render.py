"""One HTML file from the page's data: template, style and scripts inlined, nothing fetched.

Names come from users' files. They travel as JSON in which ``<``, ``>`` and ``&`` are escaped, so that no text can end
the script element, and the page's scripts write them as text only. A Content-Security-Policy allows exactly the
scripts and styles of this page, by their hashes, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

#: In the order in which the page runs them.
SCRIPTS = ("d3.min.js", "bounds.js", "text.js", "chart.js", "explorer.js", "allocation.js", "page.js")


def render(page: Mapping[str, Any]) -> str:
    """The page as the text of one HTML file."""
    scripts = [asset(name) for name in SCRIPTS]
    style = asset("page.css")
    data = embed(page)
    policy = (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes([style])}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(asset("page.html")).substitute(
        title=escape(str(page["title"])),
        policy=escape(policy),
        style=style,
        data=data,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def embed(data: Any) -> str:
    """JSON that is safe inside a script element, whatever the texts in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # U+2028 and U+2029 end a line in older readers of JavaScript.
    risky = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    for character, code in risky.items():
        text = text.replace(character, code)
    return text


def asset(name: str) -> str:
    """The text of a file of the page; one that would end its element early is refused."""
    text = (files("simulations.report") / "assets" / name).read_text(encoding="utf-8")
    if not name.endswith(".html") and any(end in text.lower() for end in ("</script", "</style")):
        raise ValueError(f"{name} would end its element early")
    return text


def hashes(texts: list[str]) -> str:
    """What a Content-Security-Policy allows: the hashes of some texts."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
