"""How tight each bound can be at best: the largest observed / bound that a hunt reaches.

A bound that is about to exclude nothing is trivially tight; so bounds on probabilities only count where they say at
most `LEVEL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from simulations.falsify.judging import in_digits
from simulations.falsify.search import Limits, Outcome, hunt
from simulations.falsify.target import Target
from simulations.tables import csv_table, markdown_table

LEVEL = 0.05
_WORDS = {True: "holds", False: "false, but not here", None: "open"}


@dataclass(frozen=True, slots=True)
class Tightness:
    """One line of the report."""

    id: str
    holds: bool | None
    ratio: float
    observed: str
    bound: str
    violated: bool
    evaluations: int
    where: str


def table(
    targets: Iterable[Target],
    *,
    seed: int = 0,
    evaluations: int | None = 2000,
    seconds: float | None = None,
    done: Callable[[Tightness], None] | None = None,
) -> list[Tightness]:
    """Hunt for the largest ratio of every target, to the end."""
    rows = []
    for target in targets:
        level = math.log(LEVEL) if target.probability else None
        limits = Limits(evaluations=evaluations, seconds=seconds, log_level=level, to_the_end=True)
        rows.append(_row(hunt(target, seed=seed, limits=limits)))
        if done is not None:
            done(rows[-1])
    return rows


def _row(outcome: Outcome) -> Tightness:
    measured = outcome.measured
    nothing = outcome.best is None
    return Tightness(
        id=outcome.target.id,
        holds=outcome.target.holds,
        ratio=math.nan if nothing else measured.ratio,
        observed="-" if nothing else in_digits(measured.log_observed),
        bound="-" if nothing else in_digits(measured.log_bound),
        violated=outcome.found,
        evaluations=outcome.evaluations,
        where="no instance with such a bound" if outcome.best is None else outcome.best.words(),
    )


def to_markdown(rows: Iterable[Tightness]) -> str:
    """A table for a document."""
    header = ("claim or bound", "over this space", "largest observed/bound", "observed", "bound", "evaluations")
    return markdown_table(
        header,
        (
            (
                f"`{row.id}`",
                "violated" if row.violated else _WORDS[row.holds],
                _number(row.ratio),
                row.observed,
                row.bound,
                f"{row.evaluations:,}",
            )
            for row in rows
        ),
    )


def to_csv(rows: Iterable[Tightness]) -> str:
    """A table for other programs, with the instances."""
    names = ("id", "holds", "violated", "ratio", "observed", "bound", "evaluations", "where")
    return csv_table(names, (asdict(row) for row in rows))


def _number(ratio: float) -> str:
    if math.isnan(ratio):
        return "-"
    return "unbounded" if math.isinf(ratio) else f"{ratio:.3g}"
