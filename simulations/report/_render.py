"""Render one HTML file from a page's data, with style and scripts inside; nothing is fetched.

Names come from users' files. The templates escape them, and the JSON for the scripts escapes ``<``, ``>`` and ``&``, so
that no text can end its element. The scripts write names as text only. A Content-Security-Policy allows exactly the
scripts and styles of this page, by their hashes, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

#: In the order in which the page runs them.
SCRIPTS = ("d3.min.js", "bounds.js", "text.js", "chart.js", "explorer.js", "allocation.js", "page.js")


def render(page: Mapping[str, Any]) -> str:
    """Render the page of a study as the text of one HTML file."""
    scripts = [read_asset(name) for name in SCRIPTS]
    drawn = {name: page[name] for name in ("target", "confidence", "versions", "groups")}
    return fill_template("page.html", scripts=scripts, data=embed(drawn), page=page)


def fill_template(name: str, *, style: str = "", scripts: list[str] | None = None, **values: Any) -> str:
    """Fill a template with escaped values, the common style and the policy that allows style and scripts."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(read_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    css = read_asset("page.css") + style
    allowed = f"script-src {hash_texts(scripts)}; " if scripts else ""
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    policy = f"default-src 'none'; {allowed}style-src {hash_texts([css])}; {rest}"
    template = environment.get_template(name)
    return template.render(policy=policy, style=css, scripts=scripts or [], **values)


def embed(data: Any) -> str:
    """Write JSON that is safe inside a script element, whatever the texts in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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


def hash_texts(texts: list[str]) -> str:
    """List what a Content-Security-Policy allows: the hashes of some texts."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
