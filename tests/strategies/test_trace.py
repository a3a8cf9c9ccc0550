"""One median-elimination run with K = 5 computed by hand, round by round.

An arm's score after n rows is a + b / n. Budget 60, T = 3, so the rounds buy 60 / (3 * 5) = 4,
floor(60 / (3 * 3)) = 6 and 60 / (3 * 2) = 10 rows per arm.

            a     b      n = 4    n = 10 (4 + 6)    n = 20 (4 + 6 + 10)
    A      0.5   0       0.5      0.5               0.5
    B      0.3   2       0.8      leaves
    C      0.6  -1       0.35     0.5 (tie, leaves)
    D      0.45  0.4     0.55     0.49              0.47 (selected)
    E      0.7   0       0.7      leaves
"""

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit.rows import RowPool
from exml_sim.strategies import MedianElimination


class Curve:
    """A plug-in arm: no base class, a score that depends on the number of rows only."""

    def __init__(self, name, a, b, cost=1):
        self.name, self.a, self.b, self.cost = name, a, b, cost

    def score(self, counts):
        return self.a + self.b / counts.sum(axis=1)


def pool():
    lines = [("A", 0.5, 0.0), ("B", 0.3, 2.0), ("C", 0.6, -1.0), ("D", 0.45, 0.4), ("E", 0.7, 0.0)]
    return RowPool([Curve(*line) for line in lines], n_rows=7)


def test_reference_trace_with_reuse():
    result = pool().explore(MedianElimination(), 60)
    first, second, third = result.rounds
    assert (first.active, first.survivors) == ((0, 1, 2, 3, 4), (0, 2, 3))
    assert first.pulls.tolist() == [4, 4, 4, 4, 4]
    assert first.scores == pytest.approx([0.5, 0.8, 0.35, 0.55, 0.7])
    assert first.certified
    assert (second.active, second.survivors) == ((0, 2, 3), (0, 3))
    assert second.pulls.tolist() == [6, 0, 6, 6, 0]
    assert second.scores[[0, 2, 3]] == pytest.approx([0.5, 0.5, 0.49])
    assert np.isinf(second.scores[[1, 4]]).all()
    assert not second.certified
    assert (third.active, third.survivors) == ((0, 3), (3,))
    assert third.pulls.tolist() == [10, 0, 0, 10, 0]
    assert third.scores[[0, 3]] == pytest.approx([0.5, 0.47])
    assert (result.selected, result.selected_name, result.accepted) == (3, "D", (3,))
    assert [(e.round, e.arm, e.pulls, e.spent, e.left_over) for e in result.ledger.entries()] == [
        *[(1, arm, 4, 4, 0) for arm in "ABCDE"],
        *[(2, arm, 6, 6, Fraction(2, 3)) for arm in "ACD"],
        *[(3, arm, 10, 10, 0) for arm in "AD"],
    ]
    assert result.ledger.spent == 58
    assert result.counts.sum(axis=1).tolist() == [20, 4, 10, 20, 4]
