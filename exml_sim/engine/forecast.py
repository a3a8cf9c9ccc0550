"""What a large run will cost, before it starts: time, by a few trials of its cells, room on the disk, and its end.

The trials are run to be timed and thrown away; those of the study are the same with and without them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from exml_sim.engine.modes import mode_of, run_block
from exml_sim.engine.study import Cell, Study

#: Bytes of a stored trial, and of its terms in mode "excess_risk" (measured: tests/engine/test_forecast.py).
TRIAL_BYTES, TERMS_BYTES = 30, 110
#: A run is looked at if it has as many trials, and spoken of if it lasts as many seconds.
TRIALS_FROM, TERMS_FROM = 10**6, 10**4
SECONDS_FROM = 3600.0
#: The timing itself: cells, trials of each, and seconds in all.
CELLS, TRIALS, SECONDS = 16, 32, 0.5


def forecast(study: Study, left: Sequence[tuple[Cell, int]], workers: int, store: Path | None) -> str | None:
    """One sentence about a run that is long or does not fit on the disk; None about any other.

    Parameters
    ----------
    left
        Cells, and how many trials of each are to be run.
    workers
        How many run at once.
    store
        Where the trials go; None for a temporary file.
    """
    total = sum(trials for _, trials in left)
    if total < (TERMS_FROM if mode_of(study).terms else TRIALS_FROM):
        return None
    seconds = total * _seconds_per_trial(study, [cell for cell, trials in left if trials]) / workers
    needed = total * (TRIAL_BYTES + (TERMS_BYTES if mode_of(study).terms else 0))
    free = shutil.disk_usage((store or Path.cwd()).resolve().parent).free
    if seconds < SECONDS_FROM and needed <= free:
        return None
    return _words(total, workers, seconds, needed, free, store)


def _words(total: int, workers: int, seconds: float, needed: int, free: int, store: Path | None) -> str:
    start = f"{total:,} trials take about {duration(seconds)} with {workers} workers and {_size(needed)} on the disk"
    if needed > free:
        share, place = free / needed, store or "the temporary folder"
        return (
            f"{start}, of which {_size(free)} are free: the run will stop after about {share:.1%} of them, in about "
            f"{duration(seconds * share)}, when the disk of {place} is full; finished trials are kept"
        )
    kept = "without a store they are lost if it is stopped" if store is None else "it may be stopped, and continues"
    return f"{start}: it will end {_moment(seconds)}; {kept}"


def _seconds_per_trial(study: Study, cells: Sequence[Cell]) -> float:
    """Mean over cells that are spread over the study; cells cost differently, so all sizes must be among them."""
    step = max(1, -(-len(cells) // CELLS))
    chosen = [*cells[::step], cells[-1]]
    start, found = time.perf_counter(), []
    for cell in chosen:
        begun = time.perf_counter()
        run_block(study, cell, 0, 1)
        one = time.perf_counter() - begun
        # One trial alone pays for what a block of thousands shares, unless it is slow by itself.
        more = run_block(study, cell, 0, 1 + TRIALS).seconds if one < SECONDS / 2 else one * (1 + TRIALS)
        found.append((more - one) / TRIALS if more > one else more / (1 + TRIALS))
        if time.perf_counter() - start > SECONDS:
            break
    return sum(found) / len(found)


def duration(seconds: float) -> str:
    """A time for people."""
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{max(seconds, 1):.0f} seconds"


def _moment(seconds: float) -> str:
    if seconds > 50 * 365 * 86400:
        return "after our time"
    return f"on {datetime.now() + timedelta(seconds=seconds):%Y-%m-%d at %H:%M}"


def _size(size: int) -> str:
    return f"{size / 10**9:,.1f} GB"
