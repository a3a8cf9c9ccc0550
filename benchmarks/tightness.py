"""How tight can each bound be: the largest observed / bound of every claim and bound that can be searched.

``python -m benchmarks.tightness [LETTERS]`` prints the table of docs/reference/results-bounds.md, of those whose names
contain the letters.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable

import pandas as pd

from simulations import markdown_table
from simulations.falsify._target import Target, format_log
from simulations.falsify.search import Limits, search
from simulations.falsify.targets import all_targets

#: A bound of almost 1 is trivially tight, so bounds on probabilities only count for tightness up to this level.
LEVEL = 0.05
STATES = {True: "holds", False: "false, but not here", None: "open"}


def measure_tightness(
    targets: Iterable[Target], *, seed: int = 0, evaluations: int | None = 2000, seconds: float | None = None
) -> pd.DataFrame:
    """Search the largest observed / bound of every target; return one row per target.

    A violation of what should hold is VIOLATED in the column "over this space", one that was not confirmed undecided.
    """
    rows = []
    for target in targets:
        level = math.log(LEVEL) if target.probability else None
        limits = Limits(evaluations=evaluations, seconds=seconds, max_log_bound=level, maximise=True)
        outcome = search(target, seed=seed, limits=limits)
        best, measured = outcome.best, outcome.measured
        state = STATES[target.holds]
        if outcome.violated:
            state = "VIOLATED" if target.holds else "violated"
        elif outcome.undecided:
            state = "undecided"
        rows.append(
            {
                "id": target.id,
                "over this space": state,
                "ratio": math.nan if best is None else measured.ratio,
                "observed": "-" if best is None else format_log(measured.log_observed),
                "bound": "-" if best is None else format_log(measured.log_bound),
                "evaluations": outcome.evaluations,
            }
        )
    return pd.DataFrame(rows)


def to_markdown(table: pd.DataFrame) -> str:
    """Return the table for a document."""
    shown = table.copy()
    shown["id"] = [f"`{id}`" for id in shown["id"]]
    shown["ratio"] = [f"{ratio:.3g}".replace("nan", "-").replace("inf", "unbounded") for ratio in shown["ratio"]]
    return markdown_table(list(shown.columns), shown.astype(str).to_numpy().tolist())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("letters", nargs="?", default="", help="letters in the names of claims and bounds")
    parser.add_argument("--evaluations", type=int, default=2000, help="instances to measure, of every target")
    parser.add_argument("--seconds", type=float, help="time limit of every target")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    targets = [target for target in all_targets() if given.letters in target.id]
    if not targets:
        parser.error(f"no claim or bound contains {given.letters!r}; exml falsify --list names all")
    table = measure_tightness(targets, seed=given.seed, evaluations=given.evaluations, seconds=given.seconds)
    print(to_markdown(table))


if __name__ == "__main__":
    main()
