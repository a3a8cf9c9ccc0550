"""Planted bugs are refuted by the exact distributions that real strategies, sampling, seeds and money agree with."""

from __future__ import annotations

import pytest

from exml_sim.strategies import MedianElimination
from tests.statistical.alpha_budget import agrees
from tests.statistical.wrong_strategies import BUGS, ROWS, WORLD, WorseHalf, seen
from theory import tighter
from theory.verdicts import judge

#: False-alarm probability of one verdict.
ALPHA = 1e-7


@pytest.mark.parametrize("error", BUGS)
def test_a_bug_is_refuted(error):
    result = seen(error)
    counts = (result.right, result.wrong)
    assert [agrees(count, result.trials, result.probability, ALPHA) for count in counts] == [True, False]


def test_a_repeated_seed_does_not_show_in_the_rate():
    """Why pairs are counted: the number of single failures of the buggy one is as it should be."""
    result = seen("seeds repeated between trials")
    assert result.wrong / result.trials == pytest.approx(result.probability**0.5, rel=0.1)


def test_the_ledger_of_ignored_costs_is_overdrawn():
    pulls = WORLD[2].pool.explore("uniform_allocation", 4 * ROWS).ledger.pulls[0]
    assert int(pulls @ [1, 3]) > 4 * ROWS


def test_keeping_the_worse_half_is_refuted_by_the_bound_too():
    world, budget = WORLD[4], 8 * 400
    point = world.point
    bound = float(tighter.delta_fail_median(budget, 4, None, point.theta, point.kappa_lambda, gaps=point.gaps))
    outcomes = [
        judge(world.count(rule, budget, 2000, seed=7), 2000, bound, alpha=ALPHA).outcome
        for rule in (MedianElimination(), WorseHalf())
    ]
    assert outcomes == ["consistent", "refuted"]
