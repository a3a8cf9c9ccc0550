"""Write CSV files whose cells no spreadsheet takes for formulas, and undo this on reading.

A text that starts with = + - @, a tab or a line break and is no number gets an apostrophe in front. So does a text that
starts with apostrophes before such a character, which makes the step reversible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_QUOTED = re.compile(r'[,"\r\n]')
#: A single sign is a dash, not a formula.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n].", re.DOTALL)


def neutralise(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would execute; other cells stay."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell) else cell


def restore(cell: str) -> str:
    """Return the text that `neutralise` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) and not _is_number(cell[1:]) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.strip() == cell


def write_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a CSV file, neutralised for spreadsheets; None is an empty cell."""
    for row in chain([header], rows):
        cells = ["" if cell is None else str(neutralise(cell)) for cell in row]
        # A carriage return splits rows as well, which the csv module of Python does not quote.
        quoted = ['"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells]
        yield (",".join(quoted) if quoted != [""] else '""') + "\n"


def write_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text, neutralised for spreadsheets."""
    return "".join(write_lines(header, rows))


def write_frame(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV text without its index, neutralised for spreadsheets."""
    plain = frame.astype(object).where(frame.notna(), None)
    return write_csv([str(name) for name in frame.columns], plain.itertuples(index=False, name=None))
