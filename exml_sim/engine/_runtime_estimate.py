"""Estimate what a large run costs before it starts: time, from a few trials of its cells, and space on the disk.

The timed trials are discarded; those of the study do not depend on them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from exml_sim.engine.modes import mode_of, run_block
from exml_sim.engine.study import Cell, Study

#: Bytes of a stored trial, and of its terms in mode "excess_risk" (measured: tests/engine/test_runtime_estimate.py).
TRIAL_BYTES, TERMS_BYTES = 30, 110
#: A run is timed if it has as many trials, and reported if it lasts as many seconds.
MIN_TRIALS, MIN_TERMS = 10**6, 10**4
MIN_SECONDS = 3600.0
#: The timing itself: cells, trials of each, and seconds in all.
CELLS, TRIALS, SECONDS = 16, 32, 0.5


def estimate_runtime(study: Study, left: Sequence[tuple[Cell, int]], workers: int, store: Path | None) -> str | None:
    """Describe a run that is long or does not fit on the disk; None for any other.

    Parameters
    ----------
    left
        Cells, and how many trials of each are to be run.
    workers
        Number of parallel workers.
    store
        Where the trials go; None for a temporary file.
    """
    total, has_terms = sum(trials for _, trials in left), bool(mode_of(study).terms)
    if total < (MIN_TERMS if has_terms else MIN_TRIALS):
        return None
    seconds = total * _time_trial(study, [cell for cell, trials in left if trials]) / workers
    needed = total * (TRIAL_BYTES + (TERMS_BYTES if has_terms else 0))
    free = shutil.disk_usage((store or Path.cwd()).resolve().parent).free
    if seconds < MIN_SECONDS and needed <= free:
        return None
    gigabytes = f"{needed / 10**9:,.1f} GB"
    start = f"{total:,} trials take about {format_duration(seconds)} with {workers} workers and {gigabytes} on the disk"
    if needed > free:
        share, place = free / needed, store or "the temporary folder"
        return (
            f"{start}, of which {free / 10**9:,.1f} GB are free: the run will stop after about {share:.1%} of them, "
            f"in about {format_duration(seconds * share)}, when the disk of {place} is full; finished trials are kept"
        )
    end = "in more than 50 years"
    if seconds < 50 * 365 * 86400:
        end = f"on {datetime.now() + timedelta(seconds=seconds):%Y-%m-%d at %H:%M}"
    kept = "without a store they are lost if it is stopped" if store is None else "it may be stopped, and continues"
    return f"{start}: it will end {end}; {kept}"


def _time_trial(study: Study, cells: Sequence[Cell]) -> float:
    """Return the mean seconds of a trial over cells that are spread over the study, so that all sizes take part."""
    step = max(1, -(-len(cells) // CELLS))
    start, times = time.perf_counter(), []
    for cell in [*cells[::step], cells[-1]]:
        begun = time.perf_counter()
        run_block(study, cell, 0, 1)
        single = time.perf_counter() - begun
        # One trial alone pays for what a block of thousands shares, unless it is slow by itself.
        more = run_block(study, cell, 0, 1 + TRIALS).seconds if single < SECONDS / 2 else single * (1 + TRIALS)
        times.append((more - single) / TRIALS if more > single else more / (1 + TRIALS))
        if time.perf_counter() - start > SECONDS:
            break
    return sum(times) / len(times)


def format_duration(seconds: float) -> str:
    """Format a time for people."""
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{max(seconds, 1):.0f} seconds"
