"""Every strategy in lock-step selects what its one-trial reference selects, trial by trial."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.rules import PAIRS
from exml_sim._internal.binomial import clopper_pearson
from exml_sim.engine import StrategySpec
from exml_sim.seeds import Seeds
from exml_sim.strategies import (
    MedianElimination,
    SuccessiveAcceptsRejects,
    SuccessiveRejects,
    TopTwo,
    UniformAllocation,
)
from exml_sim.strategies.ocba import Ocba
from exml_sim.strategies.ugap import UGapEb
from simulations.bench import RULES
from tests.bandit.losses import LossPool, coins
from tests.strategies import reference

BUDGET = 210
TRIALS = 150
#: False-alarm probability of one comparison of counts.
ALARM = 1e-7


def running_means(pool, trials, longest):
    """Mean of the first n pulls for every trial, arm and n, shape (trials, K, longest + 1)."""
    arms = pool.open(Seeds.of(21, range(trials)))
    ones = np.ones((trials, pool.n_arms), dtype=np.int64)
    means = np.full((trials, pool.n_arms, longest + 1), np.nan)
    for n in range(1, longest + 1):
        arms.pull(ones, False, lambda granted, due: None)
        means[:, :, n] = arms.score(ones.astype(bool), False, 0).value
    return means


CASES = [
    (
        UniformAllocation(),
        lambda mean, k: [reference.ranked(range(k), [mean(a, BUDGET // k) for a in range(k)])[0]],
    ),
    (MedianElimination(), lambda mean, k: reference.median_elimination(mean, k, BUDGET)),
    (SuccessiveRejects(), lambda mean, k: reference.successive_rejects(mean, k, BUDGET)),
    (SuccessiveAcceptsRejects(k=1), lambda mean, k: reference.accepts_rejects(mean, k, BUDGET, 1)),
    (SuccessiveAcceptsRejects(k=3), lambda mean, k: reference.accepts_rejects(mean, k, BUDGET, 3)),
    (
        TopTwo(first_round_share=Fraction(1, 3), rounds=7),
        lambda mean, k: reference.top_two(mean, k, BUDGET, Fraction(1, 3), 7),
    ),
    (TopTwo(), lambda mean, k: reference.top_two(mean, k, BUDGET, Fraction(1, 4), 24)),
    (MedianElimination(accumulate=False), lambda mean, k: reference.fresh_halving(mean, k, BUDGET)),
    (Ocba(), lambda mean, k: reference.ocba(mean, k, BUDGET, Fraction(1, 4), 48)),
    (UGapEb(), lambda mean, k: reference.ugape_budget(mean, k, BUDGET, Fraction(1, 4), 48, 0.01)),
]


def test_every_rule_of_the_bench_has_a_plain_loop():
    bench = {StrategySpec.read(rule).label for rule in RULES.values()}
    assert bench <= {StrategySpec.read(strategy).label for strategy, _ in CASES}
    assert bench == {StrategySpec.read(pair.rule).label for pair in PAIRS}


@pytest.mark.parametrize(("strategy", "slow"), CASES, ids=lambda case: type(case).__name__)
@pytest.mark.parametrize("means", [[0.3, 0.5, 0.4, 0.5, 0.35, 0.45, 0.5], [0.2, 0.8, 0.25, 0.7], [0.4, 0.4, 0.4]])
def test_selects_what_the_reference_selects(strategy, slow, means):
    pool = coins(means)
    table = running_means(pool, TRIALS, BUDGET)
    found = pool.explore_many(replace(strategy, ties="lowest"), BUDGET, TRIALS, seed=21)
    for trial in range(TRIALS):
        expected = slow(lambda arm, n, t=trial: table[t, arm, n], pool.n_arms)
        assert found.selected[trial].tolist() == list(expected), f"trial {trial}"


def test_top_two_pulls_match_the_reference_budget():
    pool = LossPool.bernoulli([0.3, 0.5, 0.4])
    found = pool.explore_many(TopTwo(rounds=5), 100, 20)
    assert np.all(found.pulls.sum(axis=1) >= 98)
    assert np.all(found.pulls.sum(axis=1) <= 100)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_loops_of_the_benchmark_fail_as_often(pair):
    """Counts of two independent ways."""
    means, budget, looped = [0.4, 0.5, 0.55, 0.6, 0.65], 120, 1_500
    ours = LossPool.bernoulli(means).explore_many(pair.rule, budget, 20_000, seed=5).selected[:, 0]
    rng = np.random.default_rng(6)
    theirs = sum(pair.loop(means, budget, rng) != 0 for _ in range(looped))
    one = clopper_pearson(int((ours != 0).sum()), ours.size, 1 - ALARM / 2)
    other = clopper_pearson(theirs, looped, 1 - ALARM / 2)
    assert one[0] <= other[1]
    assert other[0] <= one[1]
