"""Tightness of bounds: the largest observed / bound that a search reaches.

A bound of almost 1 is trivially tight, so bounds on probabilities only count where they are at most `LEVEL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from simulations._tables import markdown_table
from simulations.falsify._target import Target, format_log
from simulations.falsify.search import Limits, Outcome, search

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
_STATES = {True: "holds", False: "false, but not here", None: "open"}


def measure_tightness(
    targets: Iterable[Target],
    *,
    seed: int = 0,
    evaluations: int | None = 2000,
    seconds: float | None = None,
    done: Callable[[dict[str, Any]], None] = lambda row: None,
) -> pd.DataFrame:
    """Search the largest ratio of every target; return one row per target."""
    import pandas as pd

    rows = []
    for target in targets:
        level = math.log(LEVEL) if target.probability else None
        limits = Limits(evaluations=evaluations, seconds=seconds, max_log_bound=level, maximise=True)
        rows.append(_to_row(search(target, seed=seed, limits=limits)))
        done(rows[-1])
    return pd.DataFrame(rows).astype({"holds": object})


def _to_row(outcome: Outcome) -> dict[str, Any]:
    measured, best = outcome.measured, outcome.best
    return {
        "id": outcome.target.id,
        "holds": outcome.target.holds,
        "violated": outcome.violated,
        "ratio": math.nan if best is None else measured.ratio,
        "observed": "-" if best is None else format_log(measured.log_observed),
        "bound": "-" if best is None else format_log(measured.log_bound),
        "evaluations": outcome.evaluations,
        "where": "no instance with such a bound" if best is None else best.describe(),
    }


def to_markdown(table: pd.DataFrame) -> str:
    """Return a table for a document, without the instances."""
    header = ("claim or bound", "over this space", "largest observed/bound", "observed", "bound", "evaluations")
    return markdown_table(
        header,
        (
            (
                f"`{row.id}`",
                "violated" if row.violated else _STATES[row.holds],
                _format_ratio(row.ratio),
                row.observed,
                row.bound,
                f"{row.evaluations:,}",
            )
            for row in table.itertuples()
        ),
    )


def _format_ratio(ratio: float) -> str:
    if math.isnan(ratio):
        return "-"
    return "unbounded" if math.isinf(ratio) else f"{ratio:.3g}"
