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
        picked = np.asarray(values.argmin(axis=1), dtype=np.int64)
        self.decision += 1
        if self.is_random:
            _pick(values, self.key, self.trials, np.uint64(self.decision), np.uint64(0), picked)
        return picked

    def pick_highest(self, values: FloatArray) -> IntArray:
        """Return the arm with the highest value of every trial: the one that `order` puts last, shape (trials,)."""
        picked = np.asarray(values.shape[1] - 1 - values[:, ::-1].argmax(axis=1), dtype=np.int64)
        self.decision += 1
        if self.is_random:
            _pick(values, self.key, self.trials, np.uint64(self.decision), _ALL, picked)
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
    values: FloatArray, key: WordArray, trials: WordArray, decision: np.uint64, flip: np.uint64, picked: IntArray
) -> None:
    """Replace each picked arm by the one of the same value whose word, with the bits of `flip`, is the smallest."""
    for t in range(values.shape[0]):
        value = values[t, picked[t]]
        number = 0
        for arm in range(values.shape[1]):
            number += values[t, arm] == value
        if number < 2:
            continue
        least = _ALL
        for arm in range(values.shape[1]):
            if values[t, arm] == value:
                word = tie_word(key, trials[t], decision, arm) ^ flip
                if word <= least:
                    least = word
                    picked[t] = arm


@kernel
def _shuffle(
    order: IntArray, group: IntArray, number: int, key: WordArray, trials: WordArray, decision: np.uint64
) -> None:
    """Order the members of groups by their words."""
    for t in range(order.shape[0]):
        start = 0
        while start < number:
            stop = start + 1
            while stop < order.shape[1] and group[t, stop] == group[t, start]:
                stop += 1
            if stop > start + 1:
                words = np.empty(stop - start, dtype=np.uint64)
                for i in range(stop - start):
                    words[i] = tie_word(key, trials[t], decision, order[t, start + i])
                order[t, start:stop] = order[t, start:stop][np.argsort(words)]
            start = stop
