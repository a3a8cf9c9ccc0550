"""Break ties: equal arms in random order, addressed by the trial, or the lowest index first.

Every decision of a trial has a number, and every arm gets a random word at the address (trial, decision, arm). Of equal
arms the one with the smallest word comes first. So a trial alone, a block of any size, and a replay break ties alike,
and ties of different decisions are independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray, WordArray
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
        self.decision += 1
        picked = np.empty((len(values), number), dtype=np.int64)
        _pick_several(values, self.is_random, self.key, self.trials, np.uint64(self.decision), picked)
        return picked

    def order(self, order: IntArray, group: IntArray, number: int) -> IntArray:
        """Order the members of every group that starts within the first `number` places.

        Parameters
        ----------
        order
            Arms from best to worst, shape (trials, K); members of a group by index.
        group
            Number of the group at every place, rising from place to place.
        """
        self.decision += 1
        if self.is_random:
            _shuffle(order, group, number, self.key, self.trials, np.uint64(self.decision))
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
            least = _ALL
            for arm in range(values.shape[1]):
                if values[t, arm] == value:
                    word = tie_word(key, trials[t], decision, arm) ^ flip
                    if word <= least:
                        least = word
                        best = arm
        picked[t] = best


@kernel
def _pick_several(
    values: FloatArray, is_random: bool, key: WordArray, trials: WordArray, decision: np.uint64, picked: IntArray
) -> None:
    """Write the arms with the lowest values, best first; equal ones by their words, or by index."""
    n_arms, number = values.shape[1], picked.shape[1]
    order, words = np.empty(n_arms, dtype=np.int64), np.empty(n_arms, dtype=np.uint64)
    for t in range(values.shape[0]):
        if n_arms > _FEW_ARMS:
            order[:] = np.argsort(values[t], kind="mergesort")
        else:
            # Without branches: the place of an arm is the number of arms before it.
            for arm in range(n_arms):
                value, place = values[t, arm], 0
                for other in range(arm):
                    place += values[t, other] <= value
                for other in range(arm + 1, n_arms):
                    place += values[t, other] < value
                order[place] = arm
        start = 0
        while start < number and is_random:
            stop, value = start + 1, values[t, order[start]]
            while stop < n_arms and values[t, order[stop]] == value and value < np.inf:
                stop += 1
            if stop > start + 1:
                _order_members(order, start, stop, key, trials[t], decision, words)
            start = stop
        for place in range(number):
            picked[t, place] = order[place]


@kernel
def _order_members(
    order: IntArray, start: int, stop: int, key: WordArray, trial: np.uint64, decision: np.uint64, words: WordArray
) -> None:
    """Order the equal arms at the places from `start` to `stop` by their words, in place."""
    for place in range(start, stop):
        arm = order[place]
        word, free = tie_word(key, trial, decision, arm), place
        while free > start and words[free - 1] > word:
            words[free], order[free] = words[free - 1], order[free - 1]
            free -= 1
        words[free], order[free] = word, arm


@kernel
def _shuffle(
    order: IntArray, group: IntArray, number: int, key: WordArray, trials: WordArray, decision: np.uint64
) -> None:
    """Order the members of groups by their words."""
    words = np.empty(order.shape[1], dtype=np.uint64)
    for t in range(order.shape[0]):
        start = 0
        while start < number:
            stop = start + 1
            while stop < order.shape[1] and group[t, stop] == group[t, start]:
                stop += 1
            if stop > start + 1:
                _order_members(order[t], start, stop, key, trials[t], decision, words)
            start = stop
