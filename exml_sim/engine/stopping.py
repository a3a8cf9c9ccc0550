"""Early stopping: a cell may stop when its question is decided, at looks that are fixed beforehand.

Looks are at multiples of `stop.every` trials, and a decision uses exactly the trials before the look. So the number of
trials of a cell depends on the study alone, not on workers or blocks. What is then reported is the confidence sequence,
which is valid at a stopping time; a Clopper-Pearson interval would not be.
"""

from __future__ import annotations

from collections.abc import Iterator

from exml_sim.engine.intervals import confidence_sequence
from exml_sim.engine.study import Stop, Study


def looks(study: Study) -> Iterator[int]:
    """Numbers of trials after which decisions are taken; the last one is all trials."""
    if study.stop is not None:
        yield from range(study.stop.every, study.trials, study.stop.every)
    yield study.trials


def decided(stop: Stop, failures: int, trials: int) -> bool:
    """Whether the question of a cell is decided after so many trials."""
    low, high = confidence_sequence(failures, trials, stop.alarm)
    clear = stop.bound is not None and not low <= stop.bound <= high
    narrow = stop.width is not None and high - low <= stop.width
    return clear or narrow
