"""Planted bugs are refuted by the exact laws that the real strategies, sampling, seeds and money agree with.

The laws come from `theory.exact`, which shares no code with the engine.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.strategies import UniformAllocation
from tests.statistical.alarms import purse
from tests.statistical.instances import BEST, EMPTY, RIVAL, as_affine, opposed_world
from tests.statistical.wrong_strategies import BUGS, BiasedPool, RepeatedSeedsPool, turned_into
from theory import exact, tighter
from theory.verdicts import judge, judge_agreement

BY_ERROR = {bug.error: bug for bug in BUGS}
TRIALS = 10_000
ROWS = 20
WORLD = {
    arms: opposed_world(Fraction(1, 10), Fraction(1, 10), (RIVAL, BEST, *(EMPTY,) * (arms - 2))) for arms in (2, 3, 4)
}


def law(arms, budget, accumulate):
    """Exact failure probability of the strategy that was meant; None stands for uniform allocation."""
    pool = as_affine(WORLD[arms])
    if accumulate is None:
        selection = exact.uniform_selection(pool, budget, exact=False)
    else:
        selection = exact.median_selection(pool, budget, accumulate=accumulate, exact=False)
    return float(exact.failure(pool, selection))


def outcome(failures, trials, probability, money):
    return judge_agreement(failures, trials, probability, alarm=money.alarm()).outcome


@pytest.mark.parametrize("error", BY_ERROR)
def test_a_buggy_strategy_is_refuted(error):
    bug, money = BY_ERROR[error], purse("test_planted_bugs")
    budget = ROWS * bug.arms * (1 if bug.accumulate is None else 2)
    probability = law(bug.arms, budget, bug.accumulate)
    found = [WORLD[bug.arms].count(rule, budget, TRIALS, seed=3) for rule in (bug.right, bug.wrong)]
    assert [outcome(failures, TRIALS, probability, money) for failures in found] == ["consistent", "refuted"]


def test_biased_sampling_is_refuted():
    money, pool, budget = purse("test_planted_bugs"), WORLD[2].pool, 2 * ROWS
    biased = turned_into(pool, BiasedPool)
    found = [one.explore_many(UniformAllocation(), budget, TRIALS, seed=4) for one in (pool, biased)]
    counts = [int(one.failures(pool.best_set()).sum()) for one in found]
    probability = law(2, budget, None)
    assert [outcome(failures, TRIALS, probability, money) for failures in counts] == ["consistent", "refuted"]


def test_repeated_seeds_are_refuted():
    """A single rate does not show them: pairs of trials that fail together do, p in place of p^2."""
    money, pool, budget = purse("test_planted_bugs"), WORLD[2].pool, 2 * ROWS
    repeated = turned_into(pool, RepeatedSeedsPool)
    probability = law(2, budget, None)
    outcomes = []
    for one in (pool, repeated):
        failed = one.explore_many(UniformAllocation(), budget, TRIALS, seed=5).failures(pool.best_set())
        both = int(np.sum(failed[::2] & failed[1::2]))
        outcomes.append(outcome(both, TRIALS // 2, probability**2, money))
    assert outcomes == ["consistent", "refuted"]


def test_ignoring_a_cost_is_refuted():
    """With costs 1 and 3 sample alignment buys floor(B / 4) rows of each arm; a free second arm would get more."""
    money, budget = purse("test_planted_bugs"), 4 * ROWS
    priced = WORLD[2].with_(costs=("1", "3"))
    probability = law(2, 2 * ROWS, None)
    found = [world.count(UniformAllocation(), budget, TRIALS, seed=6) for world in (priced, WORLD[2])]
    assert [outcome(failures, TRIALS, probability, money) for failures in found] == ["consistent", "refuted"]
    # The ledger of the buggy one, read with the true prices, is overdrawn.
    pulls = WORLD[2].pool.explore("uniform_allocation", budget).ledger.pulls[0]
    assert int(pulls @ [1, 3]) > budget


def test_keeping_the_worse_half_is_refuted_by_the_bound_too():
    bug, world, budget = BY_ERROR["keeps the worse half"], WORLD[4], 8 * 400
    facts = world.facts
    bound = float(tighter.delta_fail_median(budget, 4, None, facts.theta, facts.radius, gaps=facts.gaps))
    money = purse("test_planted_bugs")
    found = [
        judge(world.count(rule, budget, 2000, seed=7), 2000, bound, alarm=money.alarm())
        for rule in (bug.right, bug.wrong)
    ]
    assert [verdict.outcome for verdict in found] == ["consistent", "refuted"]
