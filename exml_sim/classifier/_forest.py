r"""Grow regression forests in compiled code, with out-of-bag predictions.

The trees are those of Breiman (2001) as scikit-learn grows them with ``max_features="sqrt"``: each draws rows with
replacement, every node tries the square root of the number of columns, drawn without replacement (at more, as long
as those are constant there), and takes the threshold with the largest

.. math:: \sum_k \frac{(\sum_L w\,t_k)^2}{\sum_L w} + \frac{(\sum_R w\,t_k)^2}{\sum_R w},

which leaves the least squared error; nodes are split until their targets are equal. scikit-learn spends most of its
time on checks and objects if rows are few, and a purchase grows thousands of trees on tens of rows. Here rows are
sorted by every column once per forest, and the nodes keep these orders: nothing is sorted again.

The compiled functions have plain loops where arrays could be added: they compile in half the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.classifier.constants import EQUAL_TARGET_TOLERANCE, EQUAL_VALUE_TOLERANCE
from exml_sim.seeds import Seeds, mulhi, philox

#: Feature, threshold, left child, right child and targets of every node.
Nodes = tuple[IntArray, FloatArray, IntArray, IntArray, FloatArray]

# Substreams of a tree's random numbers.
_ROWS, _COLUMNS = np.uint64(0), np.uint64(1)


def grow_forest(
    X: FloatArray, T: FloatArray, trees: int, seed: int, drawn: int | None = None, tried: int | None = None
) -> tuple[Nodes, IntArray, FloatArray]:
    """Grow trees on bootstrap samples.

    Parameters
    ----------
    X, T
        Rows and targets.
    trees, seed
        Number of trees, and what they are drawn with.
    drawn
        Rows that every tree draws, with replacement; all by default.
    tried
        Columns that a node tries; the square root of their number by default.

    Returns
    -------
    The nodes of all trees, one tree behind the other (a leaf has feature -1 and children 0); the first node of every
    tree; the mean of the trees that did not draw a row, 0 where all drew it, shape of T.
    """
    if 0 in X.shape:
        raise ValueError(f"a forest needs at least one row and one column; got shape {X.shape}")
    largest, most = np.abs(X).max(), np.finfo(np.float32).max
    if not largest <= most:
        raise ValueError(f"trees compare numbers of single precision, up to {most:.2g}; got {largest:.2g}")
    columns = np.ascontiguousarray(X.T, dtype=np.float32)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    targets, drawn = np.ascontiguousarray(T, dtype=np.float64), drawn or len(X)
    room = trees * (2 * min(len(X), drawn) - 1)
    feature, left, right = (np.empty(room, dtype=np.int64) for _ in range(3))
    threshold, value = np.zeros(room), np.empty((room, T.shape[1]))
    roots, out_of_bag = np.empty(trees, dtype=np.int64), np.zeros(T.shape)
    tried, key = tried or max(1, int(np.sqrt(len(columns)))), Seeds.of(seed).key
    end = _forest(columns, order, targets, drawn, tried, key, feature, threshold, left, right, value, roots, out_of_bag)
    nodes = feature[:end].copy(), threshold[:end].copy(), left[:end].copy(), right[:end].copy(), value[:end].copy()
    return nodes, roots, out_of_bag


def sum_trees(X: FloatArray, nodes: Nodes, roots: IntArray) -> FloatArray:
    """Targets of rows, sum_trees over the trees."""
    # Trees compare single precision, as they were grown on it.
    points = np.ascontiguousarray(X, dtype=np.float32)
    feature, threshold, left, right, value = nodes
    total = np.zeros((len(X), value.shape[1]))
    _add_targets(points, feature, threshold, left, right, value, roots, total)
    return total


@kernel
def _add_targets(
    points: Any,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    roots: IntArray,
    total: FloatArray,
) -> None:
    """Walk every row down every tree."""
    for root in roots:
        for i in range(len(points)):
            node = root
            while feature[node] >= 0:
                node = left[node] if points[i, feature[node]] <= threshold[node] else right[node]
            for k in range(total.shape[1]):
                total[i, k] += value[node, k]


@kernel
def _forest(
    columns: Any,
    order: Any,
    T: FloatArray,
    drawn: int,
    tried: int,
    key: WordArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
    roots: IntArray,
    out_of_bag: FloatArray,
) -> int:
    """Grow all trees into the arrays of `grow_forest`; returns the number of their nodes."""
    width, rows = columns.shape
    voters, weight, orders = np.zeros(rows), np.empty(rows, np.int64), np.empty((width, rows), np.int32)
    end = 0
    for tree in range(len(roots)):
        own = np.uint64(tree)
        _draw_rows(weight, drawn, key, own)
        count = _orders_of(order, weight, orders)
        roots[tree] = end
        # Not `end`: its first value, a plain 0, would have trees compiled twice.
        first = roots[tree]
        end = _tree(columns, orders, count, T, weight, tried, key, own, first, feature, threshold, left, right, value)
        for i in range(rows):
            if weight[i] == 0:
                node = roots[tree]
                while feature[node] >= 0:
                    node = left[node] if columns[feature[node], i] <= threshold[node] else right[node]
                for k in range(T.shape[1]):
                    out_of_bag[i, k] += value[node, k]
                voters[i] += 1.0
    for i in range(rows):
        for k in range(T.shape[1]):
            out_of_bag[i, k] /= max(voters[i], 1.0)
    return end


@kernel
def _draw_rows(weight: IntArray, drawn: int, key: WordArray, tree: np.uint64) -> None:
    """How often every row is drawn."""
    for i in range(len(weight)):
        weight[i] = 0
    rows = np.uint64(len(weight))
    for start in range(0, drawn, 4):
        words = philox(key[0], key[1], np.uint64(start // 4), _ROWS, tree, np.uint64(0))
        for j in range(min(4, drawn - start)):
            weight[np.int64(mulhi(words[j], rows))] += 1


@kernel
def _orders_of(order: Any, weight: IntArray, orders: Any) -> int:
    """Sort the drawn rows by every column, from the orders of all rows; returns how many they are."""
    count = 0
    for f in range(len(order)):
        count = 0
        for row in order[f]:
            if weight[row] > 0:
                orders[f, count] = row
                count += 1
    return count


@kernel
def _tree(
    columns: Any,
    orders: Any,
    count: int,
    T: FloatArray,
    weight: IntArray,
    tried: int,
    key: WordArray,
    tree: np.uint64,
    first: int,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    value: FloatArray,
) -> int:
    """Grow one tree from node `first` on; returns the number of the node behind its last one."""
    width, k = len(columns), T.shape[1]
    sums, below = np.empty(k), np.empty(k)
    goes_left, aside = np.zeros(T.shape[0], np.int64), np.empty(count, np.int32)
    turns, words = np.arange(width), 0
    # Nodes that wait: number, first and last place in the orders.
    waiting = np.empty((count + 1, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = first, 0, count
    high, end = 1, first + 1
    while high:
        high -= 1
        node, start, stop = waiting[high, 0], waiting[high, 1], waiting[high, 2]
        total, spread = _sums(orders[0, start:stop], T, weight, sums)
        for j in range(k):
            value[node, j] = sums[j] / total
        feature[node], left[node], right[node] = -1, 0, 0
        if stop - start < 2 or spread <= EQUAL_TARGET_TOLERANCE * k:
            continue
        best, place, chosen, seen, varying = -np.inf, 0, -1, 0, 0
        while seen < width and (seen < tried or not varying):
            # The next turn of a shuffle.
            word = philox(key[0], key[1], np.uint64(words), _COLUMNS, tree, np.uint64(0))[0]
            words += 1
            swap = seen + np.int64(mulhi(word, np.uint64(width - seen)))
            turns[seen], turns[swap] = turns[swap], turns[seen]
            f = turns[seen]
            seen += 1
            column, ordered = columns[f], orders[f, start:stop]
            if column[ordered[-1]] <= column[ordered[0]] + EQUAL_VALUE_TOLERANCE:
                continue
            varying += 1
            gain, at = _best_place(column, ordered, T, weight, sums, below, total)
            if gain > best:
                best, place, chosen = gain, at, f
        if chosen < 0:
            continue
        ordered = orders[chosen, start:stop]
        low, top = (
            np.float64(columns[chosen, ordered[place - 1]]),
            np.float64(columns[chosen, ordered[place]]),
        )
        middle = low / 2.0 + top / 2.0
        feature[node], threshold[node] = chosen, low if middle >= top else middle
        left[node], right[node] = end, end + 1
        for j in range(len(ordered)):
            goes_left[ordered[j]] = np.int64(j < place)
        # Two rows make two leaves, whose targets are read in the first order.
        for f in range(width if stop - start > 2 else 1):
            if f != chosen:
                _part(orders[f, start:stop], goes_left, aside)
        waiting[high, 0], waiting[high, 1], waiting[high, 2] = end + 1, start + place, stop
        waiting[high + 1, 0], waiting[high + 1, 1], waiting[high + 1, 2] = end, start, start + place
        high, end = high + 2, end + 2
    return end


@kernel
def _sums(ordered: Any, T: FloatArray, weight: IntArray, sums: FloatArray) -> tuple[float, float]:
    """Weighted sums of the targets of a node's rows; return its weight and its summed variance."""
    for k in range(len(sums)):
        sums[k] = 0.0
    total, squares = 0.0, 0.0
    for row in ordered:
        w = np.float64(weight[row])
        total += w
        for k in range(len(sums)):
            sums[k] += w * T[row, k]
            squares += w * T[row, k] * T[row, k]
    spread = squares / total
    for target_sum in sums:
        spread -= (target_sum / total) ** 2
    return total, spread


@kernel
def _best_place(
    column: Any, ordered: Any, T: FloatArray, weight: IntArray, sums: FloatArray, below: FloatArray, total: float
) -> tuple[float, int]:
    """The best place to cut the sorted rows, and its gain (see the module)."""
    for k in range(len(sums)):
        below[k] = 0.0
    under, best, place = 0.0, -np.inf, 0
    for j in range(1, len(ordered)):
        row = ordered[j - 1]
        w = np.float64(weight[row])
        under += w
        for k in range(len(sums)):
            below[k] += w * T[row, k]
        if column[ordered[j]] <= column[row] + EQUAL_VALUE_TOLERANCE:
            continue
        low, top = 0.0, 0.0
        for k in range(len(sums)):
            rest = sums[k] - below[k]
            low += below[k] * below[k]
            top += rest * rest
        gain = low / under + top / (total - under)
        if gain > best:
            best, place = gain, j
    return best, place


@kernel
def _part(ordered: Any, goes_left: Any, aside: Any) -> None:
    """Rows that go left before the others, both in their order."""
    at, kept = 0, 0
    for j in range(len(ordered)):
        row, step = ordered[j], goes_left[ordered[j]]
        # Written to both sides: a jump that nobody can foresee would take longer.
        ordered[at], aside[kept] = row, row
        at, kept = at + step, kept + 1 - step
    for j in range(kept):
        ordered[at + j] = aside[j]
