"""Few outcomes for exact distributions: symmetric rows are merged, and outcomes are split at random ties.

Two rows are symmetric if exchanging them leaves the labels and all kernel matrices as they are; they need not be alike
(orthogonal rows of the same length are symmetric). Counts that differ by such exchanges give the same scores, so only
one of them is kept, with the probability of all. Samples are built draw by draw: a state is the history of every row
up to exchanges, and states that meet are added up.

For random ties the strategy runs with the lowest index first and notes where a decision of an outcome depended on a
tie. Outcomes without one are finished. Every other outcome runs again, once per order of its first open tie that makes
a difference, with its probability divided among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, permutations, product

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit._ranking import Scores, TieBreaker, group_equal

#: Entries of kernel matrices closer than this share of the largest are equal: rounding of one formula.
TOLERANCE = 1e-12


def symmetric_classes(grams: Sequence[FloatArray], labels: IntArray, sizes: IntArray) -> IntArray:
    """Return the class of every atom; exchanging two atoms of a class changes nothing.

    Exchanges of neighbours generate all of them, so a class is found by comparing with its first member.
    """
    classes = np.full(len(labels), -1, dtype=np.int64)
    buckets: dict[tuple[object, ...], list[int]] = {}
    profiles = [np.sort(gram, axis=1).sum(axis=1) for gram in grams]
    scales = [max(float(np.abs(gram).max()), 1e-300) for gram in grams]
    for atom in range(len(labels)):
        # Sums of a line and diagonals are equal for symmetric rows; coarse, so that rounding does not part them.
        sums = [round(float(profile[atom]) / scale, 6) + 0.0 for profile, scale in zip(profiles, scales, strict=True)]
        bucket = buckets.setdefault((int(labels[atom]), int(sizes[atom]), *sums), [])
        for first in bucket:
            if all(_exchangeable(gram, first, atom, scale) for gram, scale in zip(grams, scales, strict=True)):
                classes[atom] = classes[first]
                break
        else:
            bucket.append(atom)
            classes[atom] = classes.max() + 1
    return classes


def _exchangeable(gram: FloatArray, atom: int, other: int, scale: float) -> bool:
    limit = TOLERANCE * scale
    if abs(gram[atom, atom] - gram[other, other]) > limit:
        return False
    difference = np.abs(gram[atom] - gram[other])
    difference[[atom, other]] = 0.0
    return bool(difference.max() <= limit)


def least_states(classes: IntArray, length: int) -> int:
    """Samples of this length up to exchanges: a coefficient of the product of 1/(1 - x^i), i = 1, ..., class size."""
    ways = [1] + [0] * length
    for size in np.bincount(classes):
        for step in range(1, min(int(size), length) + 1):
            for total in range(step, length + 1):
                ways[total] += ways[total - step]
    return ways[length]


def drawn(
    lines: IntArray,
    mass: FloatArray,
    length: int,
    classes: IntArray,
    chances: Callable[[IntArray], FloatArray],
    check: Callable[[int], None],
) -> tuple[IntArray, FloatArray]:
    """Extend every line of histories by ``length`` draws, up to exchanges.

    Parameters
    ----------
    lines
        Counts of atoms at every cut, shape (lines, cuts, atoms), one representative each.
    mass
        Probability of each.
    length
        Number of draws.
    classes
        Class of every atom.
    chances
        From counts of shape (lines, atoms) to the probability that the next draw is each atom.
    check
        Refuses a number of states that is too large.
    """
    states = np.concatenate([lines, lines[:, -1:]], axis=1)
    for _ in range(length):
        states, mass = _one_more(states, mass, classes, chances, check)
    return states, mass


def _one_more(
    states: IntArray,
    mass: FloatArray,
    classes: IntArray,
    chances: Callable[[IntArray], FloatArray],
    check: Callable[[int], None],
) -> tuple[IntArray, FloatArray]:
    chance = chances(states[:, -1])
    # Among atoms of a class with the same history the first stands for all: they are neighbours, as states are sorted.
    same = np.ones((len(states), states.shape[2]), dtype=np.bool_)
    same[:, 1:] = (states[:, :, 1:] != states[:, :, :-1]).any(axis=1) | (classes[1:] != classes[:-1])
    group = np.cumsum(same, axis=1) - 1
    total = np.zeros_like(chance)
    np.add.at(total, (np.arange(len(states))[:, None], group), chance)
    line, atom = np.nonzero(same & (np.take_along_axis(total, group, axis=1) > 0.0))
    check(line.size)
    following = states[line].copy()
    following[np.arange(line.size), -1, atom] += 1
    weight = mass[line] * total[line, group[line, atom]]
    return _merged(_sorted(following, classes), weight)


def _sorted(states: IntArray, classes: IntArray) -> IntArray:
    """Histories in falling order within every class; atoms of a class must be neighbours."""
    keys = [-states[:, cut] for cut in range(states.shape[1])][::-1]
    order = np.lexsort((*keys, np.broadcast_to(classes, keys[0].shape)), axis=1)
    return np.asarray(np.take_along_axis(states, order[:, None, :], axis=2), dtype=np.int64)


def _merged(states: IntArray, mass: FloatArray) -> tuple[IntArray, FloatArray]:
    flat, place = np.unique(states.reshape(len(states), -1), axis=0, return_inverse=True)
    total = np.zeros(len(flat))
    np.add.at(total, place.ravel(), mass)
    return flat.reshape(-1, *states.shape[1:]), total


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
