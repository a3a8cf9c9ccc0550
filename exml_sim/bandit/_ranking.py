"""Order arms by certified scores, and break ties.

A score is a value with an interval [lower, upper] that contains the true minimum. Lower is better. A
comparison is *certified* when the intervals are apart. What stays uncertified after the last refinement is
ordered by value; values closer than the resolution count as equal.

Equal arms are ordered at random, addressed by the trial, or the lowest index first. Every decision of a trial has a
number, and every arm gets a random word at the address (trial, decision, arm). Of equal arms the one with the smallest
word comes first. So a trial alone, a block of any size, and a replay break ties alike, and ties of different decisions
are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.seeds import Seeds, philox

TIES: Sequence[str] = ("random", "lowest")
#: Decisions are rounds of the random numbers from here on; no order of rows and no mean uses them.
_FIRST_DECISION, _LAST_DECISION = 1 << 61, 3 << 60
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Arms up to which comparing all pairs is faster than sorting.
_FEW_ARMS = 24


class TieBreaker:
    """Order equal arms of N trials.

    Parameters
    ----------
    seeds
        Addresses of the trials for random ties; None for the lowest index first.
    """

    def __init__(self, seeds: Seeds | None = None) -> None:
        self.is_random = seeds is not None
        self.key = np.zeros(2, dtype=np.uint64) if seeds is None else seeds.key
        self.trials = np.zeros(0, dtype=np.uint64) if seeds is None else seeds.trials
        self.decision = _FIRST_DECISION

    def finish(self) -> None:
        """Begin the last decisions, whose numbers do not depend on how many there were before."""
        self.decision = _LAST_DECISION

    def pick_lowest(self, values: FloatArray) -> IntArray:
        """Return the arm with the lowest value of every trial, shape (trials,)."""
        self.decision += 1
        picked = np.empty(len(values), dtype=np.int64)
        _pick(values, False, self.is_random, self.key, self.trials, np.uint64(self.decision), picked)
        return picked

    def pick_highest(self, values: FloatArray) -> IntArray:
        """Return the arm with the highest value of every trial: the one that `order` puts last, shape (trials,)."""
        self.decision += 1
        picked = np.empty(len(values), dtype=np.int64)
        _pick(values, True, self.is_random, self.key, self.trials, np.uint64(self.decision), picked)
        return picked

    def pick_several(self, values: FloatArray, number: int) -> IntArray:
        """Return the arms with the lowest values of every trial, best first, shape (trials, number)."""
        if number == 1:
            return self.pick_lowest(values)[:, None]
        if values.shape[1] > _FEW_ARMS:
            order = np.argsort(values, axis=1, kind="stable")
        else:
            order = np.empty(values.shape, dtype=np.int64)
            _rank_few(values, order)
        return self._order_equal(order, values, number)[:, :number]

    def order(self, order: IntArray, group: IntArray, number: int) -> IntArray:
        """Order the members of every group that starts within the first `number` places.

        Parameters
        ----------
        order
            Arms from best to worst, shape (trials, K); members of a group by index.
        group
            Number of the group at every place, rising from place to place.
        """
        by_arm = np.empty(group.shape)
        np.put_along_axis(by_arm, order, group, axis=1)
        return self._order_equal(order, by_arm, number)

    def _order_equal(self, order: IntArray, values: FloatArray, number: int) -> IntArray:
        """Order arms of equal finite values, in place."""
        self.decision += 1
        if self.is_random:
            _shuffle(order, values, number, self.key, self.trials, np.uint64(self.decision))
        return order


@kernel
def tie_word(key: WordArray, trial: np.uint64, decision: np.uint64, arm: int) -> np.uint64:
    """Draw the word of an arm at a decision."""
    return philox(key[0], key[1], np.uint64(arm), np.uint64(0), trial, decision)[0]


@kernel
def _pick(
    values: FloatArray,
    is_highest: bool,
    is_random: bool,
    key: WordArray,
    trials: WordArray,
    decision: np.uint64,
    picked: IntArray,
) -> None:
    """Write the first arm with the lowest value, or the last one with the highest; of equal arms by their words."""
    flip, sign = (_ALL, -1.0) if is_highest else (np.uint64(0), 1.0)
    tied = np.empty(values.shape[1], dtype=np.int64)
    for t in range(values.shape[0]):
        # Without branches, which would be mispredicted.
        least_value = np.inf
        for arm in range(values.shape[1]):
            other = sign * values[t, arm]
            least_value = other if other < least_value else least_value
        value, best, number = sign * least_value, 0, 0
        for place in range(values.shape[1]):
            arm = place if is_highest else values.shape[1] - 1 - place
            best = arm if values[t, arm] == value else best
            number += values[t, arm] == value
        if number > 1 and is_random:
            size, least = 0, _ALL
            for arm in range(values.shape[1]):
                tied[size] = arm
                size += values[t, arm] == value
            for j in range(size):
                word = tie_word(key, trials[t], decision, tied[j]) ^ flip
                best = tied[j] if word <= least else best
                least = min(word, least)
        picked[t] = best


@kernel
def _rank_few(values: FloatArray, order: IntArray) -> None:
    """Write the arms from the lowest value to the highest, equal ones by index."""
    for t in range(values.shape[0]):
        # Without branches: the place of an arm is the number of arms before it.
        for arm in range(values.shape[1]):
            value, place = values[t, arm], 0
            for other in range(arm):
                place += values[t, other] <= value
            for other in range(arm + 1, values.shape[1]):
                place += values[t, other] < value
            order[t, place] = arm


@kernel
def _shuffle(
    order: IntArray, values: FloatArray, number: int, key: WordArray, trials: WordArray, decision: np.uint64
) -> None:
    """Order the arms of every finite value by their words, for values that start within the first places."""
    n_arms = order.shape[1]
    words = np.empty(n_arms, dtype=np.uint64)
    for t in range(order.shape[0]):
        start = 0
        while start < number:
            stop, value = start + 1, values[t, order[t, start]]
            while stop < n_arms and values[t, order[t, stop]] == value and value < np.inf:
                stop += 1
            if stop > start + 1:
                for place in range(start, stop):
                    arm = order[t, place]
                    word, free = tie_word(key, trials[t], decision, arm), place
                    while free > start and words[free - 1] > word:
                        words[free], order[t, free] = words[free - 1], order[t, free - 1]
                        free -= 1
                    words[free], order[t, free] = word, arm
            start = stop


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


@kernel
def count_fewest(mask: BoolArray) -> int:
    """Count the marked arms of the trial that has the fewest."""
    fewest = mask.shape[1]
    for t in range(mask.shape[0]):
        number = 0
        for arm in range(mask.shape[1]):
            number += mask[t, arm]
        fewest = min(fewest, number)
    return int(fewest)


@kernel
def _mark_listed(arms: IntArray, mask: BoolArray) -> None:
    """Mark the listed arms of every trial; -1 stands for no arm."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if arms[t, j] >= 0:
                mask[t, arms[t, j]] = True


def mark_arms(arms: IntArray, n_arms: int) -> BoolArray:
    """Mark the listed arms of every trial, shape (trials, n_arms); -1 stands for no arm."""
    mask = np.zeros((arms.shape[0], n_arms), dtype=np.bool_)
    _mark_listed(np.asarray(arms, dtype=np.int64), mask)
    return mask


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
