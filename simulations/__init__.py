"""Studies: each module is one question, where the system meets the theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table of texts."""
    first, *rest = (f"| {' | '.join(row)} |\n" for row in (header, *rows))
    return "".join([first, f"|{'---|' * len(header)}\n", *rest])
