"""Order arms by certified scores, and break ties.

A score is a value with an interval [lower, upper] that contains the true minimum. Lower is better. A
comparison is *certified* when the intervals are apart. What stays uncertified after the last refinement is
ordered by value; values closer than the resolution count as equal, and `exml_sim.bandit._ties` orders equal arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._ties import TieBreaker


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of K arms in N trials, +inf where an arm was not scored.

    Attributes
    ----------
    value, lower, upper
        Shape (trials, K).
    resolution
        Values that differ by no more than `resolution * max(unit, |value|)` are equal if no certificate says
        otherwise; 0 for arms whose scores are exact.
    unit
        What one unit of an arm's plain score is worth here (1, or 1 / cost), anything that broadcasts to
        (trials, K).
    """

    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    resolution: float = 0.0
    unit: float | FloatArray = 1.0

    def replaced(self, where: BoolArray, new: Scores) -> Scores:
        """Take the scores of `new` at the marked places."""
        value, lower = np.where(where, new.value, self.value), np.where(where, new.lower, self.lower)
        return Scores(value, lower, np.where(where, new.upper, self.upper), self.resolution, self.unit)

    def only(self, where: BoolArray) -> Scores:
        """Keep the scores at the marked places, +inf elsewhere."""
        value, lower, upper = (np.where(where, part, np.inf) for part in (self.value, self.lower, self.upper))
        return Scores(value, lower, upper, self.resolution, self.unit)

    def scaled(self, shift: float, factor: FloatArray) -> Scores:
        """Compute the scores (s - shift) * factor, for positive factors per arm; unscored arms stay at +inf."""
        value, lower, upper = ((part - shift) * factor for part in (self.value, self.lower, self.upper))
        return Scores(value, lower, upper, self.resolution, self.unit * factor)

    def best(self) -> BoolArray:
        """Mark the arms whose value is the lowest of their trial, or within the resolution of it, shape (trials, K)."""
        first = self.value.argmin(axis=1)[:, None]
        unit = np.broadcast_to(self.unit, self.value.shape)
        lowest_value = np.take_along_axis(self.value, first, axis=1)
        scale = np.maximum(np.maximum(unit, np.take_along_axis(unit, first, axis=1)), np.abs(lowest_value))
        return np.asarray(self.value - lowest_value <= self.resolution * scale, dtype=np.bool_)

    def width(self) -> FloatArray:
        """Compute the widest certificate among the scored arms of each trial, shape (trials,)."""
        scored = np.isfinite(self.value)
        upper = np.where(scored, self.upper, 0.0)
        return np.asarray((upper - np.where(scored, self.lower, 0.0)).max(axis=1), dtype=np.float64)


def any_arm(mask: BoolArray) -> BoolArray:
    """Mark the trials in which some arm is marked, shape (trials,)."""
    return np.asarray(mask.any(axis=1), dtype=np.bool_)


def group_equal(scores: Scores, tied: BoolArray | None = None) -> tuple[IntArray, IntArray]:
    """Order the arms from best to worst; return the order and the group of equal arms at every place.

    Members of a group are in the order of their indices. Unscored arms come last, each in a group of its own.

    Parameters
    ----------
    scores
        What to order by.
    tied
        Trials in which values within the resolution count as equal, shape (trials,). Equality is carried
        along a chain of neighbours, so that the order does not depend on which of them comes first.
    """
    order = np.argsort(scores.value, axis=1, kind="stable")
    ordered = np.take_along_axis(scores.value, order, axis=1)
    apart = (ordered[:, 1:] > ordered[:, :-1]) | ~np.isfinite(ordered[:, 1:])
    rows = np.flatnonzero(tied) if tied is not None and scores.resolution > 0.0 else np.zeros(0, dtype=np.int64)
    if rows.size:
        finite = np.where(np.isfinite(ordered[rows]), ordered[rows], np.finfo(np.float64).max)
        unit = np.take_along_axis(np.broadcast_to(scores.unit, scores.value.shape)[rows], order[rows], axis=1)
        step = scores.resolution * np.maximum(np.maximum(unit[:, :-1], unit[:, 1:]), np.abs(finite[:, :-1]))
        apart[rows] = (finite[:, 1:] - finite[:, :-1] > step) | ~np.isfinite(ordered[rows, 1:])
    group = np.zeros(order.shape, dtype=np.int64)
    np.cumsum(apart, axis=1, out=group[:, 1:])
    if rows.size:
        by_arm = np.empty_like(group)
        np.put_along_axis(by_arm, order, group, axis=1)
        order[rows] = np.argsort(by_arm[rows], axis=1, kind="stable")
    return order, group


def ranking(scores: Scores, tied: BoolArray | None = None) -> IntArray:
    """Order the arms from best to worst, equal arms by index, shape (trials, K); `tied` as for `group_equal`."""
    return group_equal(scores, tied)[0]


def lowest(scores: Scores, number: int, tied: BoolArray | None = None, ties: TieBreaker | None = None) -> IntArray:
    """Return the best arms of every trial, best first, shape (trials, number).

    Parameters
    ----------
    tied
        As for `group_equal`.
    ties
        How equal arms are ordered; by index if it is not given.
    """
    breaker = TieBreaker() if ties is None else ties
    if tied is None or scores.resolution == 0.0 or not tied.any():
        return breaker.pick_several(scores.value, number)
    return breaker.order(*group_equal(scores, tied), number)[:, :number]


def cut_unclear(scores: Scores, active: BoolArray, kept: BoolArray) -> BoolArray:
    """Mark the arms whose certificate leaves open on which side of the cut they belong, shape (trials, K).

    No arm is marked in a trial where every kept arm is certified to be better than every dropped one.
    """
    dropped = active & ~kept
    worst_kept = np.where(kept, scores.upper, -np.inf).max(axis=1, keepdims=True)
    best_dropped = np.where(dropped, scores.lower, np.inf).min(axis=1, keepdims=True)
    unclear = worst_kept >= best_dropped
    reach = (kept & (scores.upper >= best_dropped)) | (dropped & (scores.lower <= worst_kept))
    return np.asarray(unclear & reach, dtype=np.bool_)
