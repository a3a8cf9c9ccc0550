"""What the repaired statements share: the range, the best set, the rows of a round."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants
from theory._inputs import Floats, Ints
from theory._instance import Instance
from theory.constants import HalvingSchedule

__all__ = ["Rows", "best_arms", "other_arms", "rows_of", "spread"]

Rows = Literal["accumulated", "fresh"]


def spread(point: Instance) -> Floats:
    """M at the point."""
    # A zero range (kappa_lambda = 0) only occurs at points that are masked.
    return np.asarray(np.maximum(_loss_constants.spread(point.theta, point.r, point.r), np.finfo(float).tiny))


def best_arms(arms: Ints, best_count: ArrayLike) -> Ints:
    """|S*|, checked against K."""
    best = _inputs.whole(best_count, "best_count", least=1)
    if np.any(best >= arms):
        raise ValueError(f"best_count must be below K (no gap exists otherwise), got {best_count!r}")
    return best


def other_arms(arms: Ints, best_count: ArrayLike) -> Ints:
    """K - |S*|, the number of rivals."""
    return np.asarray(arms - best_arms(arms, best_count))


def rows_of(schedule: HalvingSchedule, rows: Rows) -> Ints:
    """Rows behind the scores of each round."""
    if rows == "accumulated":
        return schedule.accumulated
    if rows == "fresh":
        return schedule.pulls
    raise ValueError(f'rows must be "accumulated" or "fresh", got {rows!r}')
