"""Measure the layout of a page: texts that are clipped, overlap each other, or break within a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Longer words, such as checksums, may break; a name may be as long as its author likes.
LONGEST_WORD = 18

MEASURE = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")


def measure_layout(tab: Any) -> list[str]:
    """Return the problems of the layout of an open page."""
    return tab.evaluate(MEASURE, LONGEST_WORD)
