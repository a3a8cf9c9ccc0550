"""Write the glossary of the documents into the pages' assets: ``python -m tools.glossary``."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "glossary.md"
ASSET = ROOT / "simulations" / "report" / "assets" / "glossary.json"


def read_terms() -> dict[str, str]:
    """Read the terms and their definitions from the table of the document."""
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    return {term: meaning.replace("`", "") for term, meaning in rows if term not in ("term", "---")}


def write_asset() -> str:
    """Return the text of the asset."""
    return json.dumps(read_terms(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    ASSET.write_text(write_asset(), encoding="utf-8")
