"""``exml watch``: show the state of a running study, as a table and curves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from exml_sim.cli import _options as options

#: Marks of a curve, from the lowest rate to the highest.
BARS = "▁▂▃▄▅▆▇█"
MAX_LINES = 40


@click.command(name="watch")
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--every", type=click.FloatRange(0.2, 3600), default=2.0, show_default=True, help="Seconds until the next state."
)
@click.option("--once", is_flag=True, help="Print the state once.")
@options.as_json
def command(store: Path, every: float, once: bool, as_json: bool) -> None:
    """Show trials, failures and failure rates in STORE until its study is complete; Ctrl-C ends it.

    Example: exml watch out/study.sqlite
    """
    while True:
        state = _read_state(store)
        if not once and not as_json:
            click.clear()
        options.emit(state, _write_state(state), as_json)
        if once or as_json or state["complete"]:
            return
        time.sleep(every)


def _read_state(store: Path) -> dict[str, Any]:
    """Count trials and failures by strategy, pool and budget; the study itself is not built."""
    from fractions import Fraction

    from exml_sim.engine.store import Store

    with Store.read(store, check=False) as opened:
        trials = opened.study.trials
        query = """
            SELECT c.cell, c.pool, c.score, c.strategy, c.budget, count(t.trial), coalesce(sum(1 - t.success), 0)
            FROM cells c LEFT JOIN trials t ON t.cell = c.cell GROUP BY c.cell ORDER BY c.cell
        """
        names = ("cell", "pool", "score", "strategy", "budget", "trials", "failures")
        cells = [dict(zip(names, row, strict=True)) for row in opened.rows(query)]
        failures = opened.failures()
        is_exact = opened.study.mode == "exact"
        finished = [opened.has_distribution(cell["cell"]) for cell in cells] if is_exact else []
    for cell in cells:
        cell["budget"] = float(Fraction(cell["budget"]))
        cell["rate"] = cell["failures"] / cell["trials"] if cell["trials"] else None
    is_complete = all(finished) if is_exact else all(cell["trials"] >= trials for cell in cells)
    return {"store": str(store), "planned": trials, "cells": cells, "failed": failures, "complete": is_complete}


def _write_state(state: dict[str, Any]) -> str:
    """Write one line per strategy and pool: trials, a curve over budgets, and the last rate."""
    curves: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for cell in state["cells"]:
        curves.setdefault((cell["strategy"], cell["pool"], cell["score"]), []).append(cell)
    done, planned = sum(cell["trials"] for cell in state["cells"]), state["planned"] * len(state["cells"])
    width = max(len(", ".join(filter(None, key))) for key in curves)
    lines = [
        f"{done:,} of {planned:,} trials ({done / planned:.0%})",
        f"{'':{width}}  trials     failure rate by budget",
    ]
    for key, cells in list(curves.items())[:MAX_LINES]:
        ordered = sorted(cells, key=lambda cell: float(cell["budget"]))
        marks = "".join("·" if cell["rate"] is None else BARS[round(cell["rate"] * 7)] for cell in ordered)
        known = [cell for cell in ordered if cell["rate"] is not None]
        last = f"{known[-1]['rate']:.2%} at {known[-1]['budget']:,g}" if known else "no trials yet"
        trials = sum(cell["trials"] for cell in cells)
        lines.append(f"{', '.join(filter(None, key)):{width}}  {trials:<9,}  {marks}  {last}")
    lines += [f"... {len(curves) - MAX_LINES} more"] if len(curves) > MAX_LINES else []
    lines += [f"failed: cell {cell}: {reason}" for cell, reason in state["failed"].items()]
    return "\n".join([*lines, "complete"] if state["complete"] else lines)
