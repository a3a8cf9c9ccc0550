"""Tables as text: Markdown for documents, CSV for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    first, *rest = (f"| {' | '.join(line)} |\n" for line in (header, *lines))
    return "".join([first, f"|{'---|' * len(header)}\n", *rest])


def csv_table(names: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> str:
    """Columns of the given names; None is written as nothing, and other entries are left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()
