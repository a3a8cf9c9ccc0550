"""Split outcomes of an exact distribution at random ties.

The strategy runs with the lowest index first and notes where a decision of an outcome depended on a tie. Outcomes
without one are finished. Every other outcome runs again, once per order of its first open tie that makes a difference,
with its probability divided among them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations, product

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._ranking import Scores, TieBreaker, group_equal


class EnumeratedTies(TieBreaker):
    """Order equal arms of outcomes as they were told to, and note the first tie of each that was not foreseen.

    Parameters
    ----------
    lines
        Number of outcomes.
    orders
        For decisions that were split before: the places in their new order, shape (lines, K); -1 in other outcomes.
    """

    def __init__(self, lines: int, orders: dict[int, IntArray] | None = None) -> None:
        super().__init__()
        self.orders = orders or {}
        self.is_open: BoolArray = np.zeros(lines, dtype=np.bool_)
        self._splits: list[tuple[int, IntArray, IntArray]] = []

    def pick_lowest(self, values: FloatArray) -> IntArray:
        """Return the arm with the lowest value of every outcome."""
        return self.pick_several(values, 1)[:, 0]

    def pick_several(self, values: FloatArray, number: int) -> IntArray:
        """Return the arms with the lowest values of every outcome, best first."""
        order, group = group_equal(Scores(values, values, values))
        return self.order(order, group, number)[:, :number]

    def pick_highest(self, values: FloatArray) -> IntArray:
        """Return the arm with the highest value of every outcome."""
        return self.pick_lowest(-values)

    def order(self, order: IntArray, group: IntArray, number: int) -> IntArray:
        """Order equal arms as foreseen; split outcomes in which another order would make a difference."""
        self.decision += 1
        given = self.orders.get(self.decision)
        split = np.ones(len(order), dtype=np.bool_)
        if given is not None:
            split = given[:, 0] < 0
            order = np.where(split[:, None], order, np.take_along_axis(order, np.maximum(given, 0), axis=1))
        patterns, place = np.unique(group, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            places = list_orders(tuple(pattern.tolist()), number)
            if len(places) > 1:
                lines = np.flatnonzero((place.ravel() == i) & split & ~self.is_open)
                self.is_open[lines] = True
                self._splits.append((self.decision, lines, np.array(places)))
        return order

    def count_branches(self) -> int:
        """Count the branches of the open outcomes."""
        return sum(lines.size * len(places) for _, lines, places in self._splits)

    def split(self) -> tuple[IntArray, FloatArray, dict[int, IntArray]]:
        """Return the outcome, the share and the orders of every branch."""
        whole = [np.repeat(lines, len(places)) for _, lines, places in self._splits]
        shares = [np.full(lines.size * len(places), 1.0 / len(places)) for _, lines, places in self._splits]
        outcome = np.concatenate(whole)
        orders = {decision: given[outcome] for decision, given in self.orders.items()}
        start = 0
        for decision, lines, places in self._splits:
            new = orders.setdefault(decision, np.full((outcome.size, places.shape[1]), -1, dtype=np.int64))
            new[start : start + lines.size * len(places)] = np.tile(places, (lines.size, 1))
            start += lines.size * len(places)
        return outcome, np.concatenate(shares), orders


@lru_cache(maxsize=4096)
def list_orders(group: tuple[int, ...], number: int) -> list[tuple[int, ...]]:
    """List equally likely orders of the places, up to what makes no difference.

    What matters is the set of the first `number` places and which arm is first; the whole order if `number` is K.
    """
    parts: list[list[tuple[int, ...]]] = []
    start = 0
    while start < len(group):
        stop = start + 1
        while stop < len(group) and group[stop] == group[start]:
            stop += 1
        members, inside = tuple(range(start, stop)), min(number, stop) - start
        if number == len(group):
            parts.append(list(permutations(members)))
        elif inside <= 0 or (inside == len(members) and start > 0):
            parts.append([members])
        else:
            firsts = [(first,) for first in members] if start == 0 else [()]
            heads = [
                (*first, *rest)
                for first in firsts
                for rest in combinations([place for place in members if place not in first], inside - len(first))
            ]
            parts.append([(*head, *(place for place in members if place not in head)) for head in heads])
        start = stop
    return [tuple(place for part in choice for place in part) for choice in product(*parts)]
