"""Strategies of the literature against plain loops over one trial, written from the formulas alone."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, log, log2, pi, sqrt

import numpy as np
import pytest
from scipy.special import betaln, xlogy

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import GaussianArm, ParametricPool
from exml_sim.engine.modes._exact import enumerate_distribution
from exml_sim.strategies import by_name
from exml_sim.strategies.fc2fb import SAMPLING
from tests.bandit.losses import LossPool
from tests.strategies.reference import (
    Trial,
    coins,
    first_of,
    fresh_halving,
    list_phases,
    median_elimination,
    running_means,
    successive_rejects,
)

BUDGET, TRIALS = 90, 60
#: False-alarm probability of a test that counts.
ALPHA = 1e-7
VARIANCES = [0.1, 0.2, 0.4, 0.05, 0.3, 0.2, 0.1]
PRIORS = [0.5, 0.3, 0.5, 0.5, 0.4, 0.6, 0.5]


def double(t, loop, money):
    """Runs with budgets that double; the last finished one selects."""
    left, selected = t.budget, None
    while money <= left:
        selected, left, money = loop(t, money), left - money, 2 * money
    return selected


def continuous_rejects(t, average):
    t.had, active = [1] * t.n_arms, list(range(t.n_arms))
    while sum(t.had) <= t.budget:
        if len(active) > 1:
            worst = max(active, key=lambda arm: (t.score(arm), arm))
            others = [t.score(arm) for arm in active if arm != worst]
            gap = t.score(worst) - (sum(others) / len(others) if average else max(others))
            gone = [t.had[arm] for arm in range(t.n_arms) if arm not in active]
            logbar = 0.5 + sum(1 / i for i in range(2, len(active) + 1))
            b = logbar * sum(t.had[arm] for arm in active) / (t.budget - sum(gone))
            if t.had[worst] > max(gone, default=0) and gap >= 1 / sqrt(b) - 1:
                active.remove(worst)
        if sum(t.had) == t.budget:
            break
        t.had[first_of(active, t.had.__getitem__)] += 1
    return t.order(active)[:1]


def eb_tc(t, epsilon):
    t.had, led, own = [1] * t.n_arms, [0] * t.n_arms, [0] * t.n_arms
    while sum(t.had) < t.budget:
        b, *rest = t.order(range(t.n_arms))
        cost = {i: (t.score(i) - t.score(b) + epsilon) / sqrt(1 / t.had[b] + 1 / t.had[i]) for i in rest}
        led[b] += 1
        arm = b if own[b] <= led[b] / 2 else first_of(rest, cost.__getitem__)
        own[b] += arm == b
        t.had[arm] += 1
    return t.order(range(t.n_arms))[:1]


def ucb_e(t, hardness):
    t.had, a = [1] * t.n_arms, 25 / 36 * (t.budget - t.n_arms) / hardness
    while sum(t.had) < t.budget:
        t.had[first_of(range(t.n_arms), lambda arm: t.score(arm) - sqrt(a / t.had[arm]))] += 1
    return t.order(range(t.n_arms))[:1]


def sh_var(t):
    rounds, active = ceil(log2(t.n_arms)), list(range(t.n_arms))
    for _ in range(rounds):
        number = dict.fromkeys(active, 1)
        while sum(number.values()) < t.budget // rounds:
            number[first_of(active, lambda arm, n=number: -VARIANCES[arm] / n[arm])] += 1
        own = {}
        for arm in active:
            before = t.total(arm)
            t.pull(arm, number[arm])
            own[arm] = (t.total(arm) - before) / number[arm]
        active = sorted(active, key=lambda arm, own=own: (own[arm], arm))[: ceil(len(active) / 2)]
    return active


def bayes_elimination(t, prior_sd, sd):
    rounds, active = ceil(log2(t.n_arms)), list(range(t.n_arms))

    def posterior(arm):
        n, prior = t.had[arm] / sd**2, 1 / prior_sd**2
        return (t.score(arm) * n + PRIORS[arm] * prior) / (n + prior)

    for _ in range(rounds):
        t.buy(Fraction(t.budget, rounds), active)
        active = sorted(active, key=lambda arm: (posterior(arm), arm))[: ceil(len(active) / 2)]
    return active


CASES = {
    "sequential_halving": ({}, fresh_halving),
    "doubling_halving": ({}, lambda t: double(t, fresh_halving, t.n_arms * ceil(log2(t.n_arms)))),
    "doubling_rejects": (
        {},
        lambda t: double(t, successive_rejects, next(n for n in range(99) if list_phases(t, n)[0] >= t.n_arms)),
    ),
    "continuous_rejects": ({}, lambda t: continuous_rejects(t, True)),
    "continuous_rejects, closest": ({"criterion": "closest"}, lambda t: continuous_rejects(t, False)),
    "eb_tc_epsilon": ({}, lambda t: eb_tc(t, 0.1)),
    "eb_tc_epsilon, 0": ({"epsilon": 0.0}, lambda t: eb_tc(t, 0.0)),
    "ucb_e": ({"hardness": 200.0}, lambda t: ucb_e(t, 200.0)),
    "shvar": ({"variances": VARIANCES}, sh_var),
    "bayes_elimination": ({"prior_risks": PRIORS, "prior_sd": 0.1}, lambda t: bayes_elimination(t, 0.1, 0.5)),
    # With ties to the lowest index the subset is the first arms.
    "random_subset": ({"arms": 5}, lambda t: fresh_halving(t, arms=5)),
    "random_subset, all rows": (
        {"arms": 4, "sampling": "median_elimination"},
        lambda t: median_elimination(t, arms=4),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("means", [[0.3, 0.5, 0.4, 0.5, 0.35, 0.45, 0.5], [0.2, 0.8, 0.25, 0.7, 0.5, 0.9, 0.6]])
def test_selects_what_a_plain_loop_selects(case, means):
    options, loop = CASES[case]
    strategy = by_name(case.partition(",")[0], **options)
    pool = coins(means)
    table = running_means(pool, TRIALS, BUDGET)
    selected = pool.explore_many(replace(strategy, ties="lowest"), BUDGET, TRIALS, seed=21).selected
    for trial in range(TRIALS):
        assert selected[trial].tolist() == loop(Trial(table[trial], [1] * 7, BUDGET)), f"trial {trial}"


STAGED_BUDGET = 600


def log_evidence(t, u, v):
    """Log e-value against arm v being better than u: mixtures by beta functions, both arms at the pooled mean."""
    mixture = sum(betaln(t.total(i) + 0.5, t.had[i] - t.total(i) + 0.5) - log(pi) for i in (u, v))
    total, n = t.total(u) + t.total(v), t.had[u] + t.had[v]
    return float(mixture - xlogy(total, total / n) - xlogy(n - total, 1 - total / n))


def fc2fb(t, error_rate, stages):
    """Top two with a stopping rule whose error rate is that of the stage, one trial."""
    for arm in range(t.n_arms):
        t.pull(arm, 8)
    while True:
        leader, *others = t.order(range(t.n_arms))
        stage = min(sum(t.had) * stages // t.budget, stages - 1)
        bar = log((t.n_arms - 1) / error_rate ** (2 ** (stages - 1 - stage)))
        against = {v: log_evidence(t, leader, v) for v in others}
        left = {v: value + log(t.had[v]) for v, value in against.items() if value < bar}
        if not left:
            return [leader]
        pair = [leader, first_of(left, left.__getitem__)]
        pulls = min(max(ceil(min(t.had[arm] for arm in pair) * 0.1), 1), t.left // 2)
        if pulls == 0:
            return [leader]
        for arm in pair:
            t.pull(arm, pulls)


def test_fixed_confidence_in_stages_selects_what_a_plain_loop_selects():
    pool = coins([0.75, 0.3, 0.6])
    table = running_means(pool, TRIALS, STAGED_BUDGET)
    explored = pool.explore_many(by_name("fc2fb", ties="lowest"), STAGED_BUDGET, TRIALS, seed=21)
    # 600 is 25 times the cost of the first round: floor(log2(25)) stages.
    for trial in range(TRIALS):
        assert explored.selected[trial].tolist() == fc2fb(Trial(table[trial], [1] * 3, STAGED_BUDGET), exp(-1.0), 4)
    assert explored.confident is None
    # Some trials stop early; a later stage asks for less.
    assert (explored.spent_units < STAGED_BUDGET).mean() > 0.3
    for name in SAMPLING:
        easy = pool.explore_many(by_name("fc2fb", sampling=name), STAGED_BUDGET, 30, seed=4)
        parts = pool.explore_many(by_name("fc2fb", sampling=name), STAGED_BUDGET, 30, seed=4, block=7)
        assert (easy.selected == parts.selected).all()
        assert (easy.pulls == parts.pulls).all()


def square_root_cost(t, confidence):
    """Pull the active arm with the smallest sqrt(cost) pulls; drop arms that the leader beats; one trial."""
    active, bar = list(range(t.n_arms)), log((t.n_arms - 1) / (1 - confidence))
    for arm in active:
        t.pull(arm, 8)
    while True:
        leader = t.order(active)[0]
        active = [v for v in active if v == leader or log_evidence(t, leader, v) < bar]
        arm = first_of(active, lambda arm: sqrt(t.costs[arm]) * t.had[arm])
        pulls = min(ceil(t.had[arm] * 0.1), t.left // t.costs[arm])
        if len(active) == 1 or pulls == 0:
            return [leader]
        t.pull(arm, pulls)


def test_the_square_root_rule_buys_and_selects_what_a_plain_loop_does():
    costs = [4, 1, 9, 1]
    pool = coins([0.25, 0.6, 0.5, 0.45], costs)
    table = running_means(pool, TRIALS, STAGED_BUDGET)
    explored = pool.explore_many(by_name("square_root_cost", ties="lowest"), STAGED_BUDGET, TRIALS, seed=21)
    for trial in range(TRIALS):
        plain = Trial(table[trial], costs, STAGED_BUDGET)
        assert explored.selected[trial].tolist() == square_root_cost(plain, 0.95)
        assert explored.pulls[trial].tolist() == plain.had
    assert explored.confident.any()
    assert not explored.confident.all()


def sh_ada_var(pull, K, budget, error_rate):
    """Halve by the means of a round; pulls go to the largest upper limit of the variance over pulls, one trial."""
    T, active, bar = ceil(log2(K)), list(range(K)), log(1 / error_rate)
    for _ in range(T):
        own = {arm: [] for arm in active}
        for _ in range(budget // T):
            few = [arm for arm in active if len(own[arm]) <= 4 * bar + 1]
            if few:
                arm = first_of(few, lambda arm, own=own: len(own[arm]))
            else:
                size = {arm: len(own[arm]) for arm in active}
                upper = {arm: np.var(own[arm], ddof=1) / (1 - 2 * sqrt(bar / (size[arm] - 1))) for arm in active}
                arm = first_of(active, lambda arm, upper=upper, size=size: -upper[arm] / size[arm])
            own[arm].append(pull(arm))
        active = sorted(active, key=lambda arm, own=own: (np.mean(own[arm]), arm))[: ceil(len(active) / 2)]
    return active


@pytest.mark.parametrize("error_rate", [0.05, 0.5])
def test_halving_with_unknown_variances_selects_what_a_plain_loop_selects(error_rate):
    pool = LossPool(
        [GaussianArm(mean, sd) for mean, sd in ((0.1, 2.0), (0.0, 0.3), (0.3, 1.0), (0.2, 0.5), (0.2, 4.0))]
    )
    longest = 400
    table = running_means(pool, TRIALS, longest)
    sums = np.nan_to_num(table) * np.arange(longest + 1)
    explored = pool.explore_many(by_name("shadavar", error_rate=error_rate, ties="lowest"), longest, TRIALS, seed=21)
    for trial in range(TRIALS):
        streams = [iter(np.diff(line)) for line in sums[trial]]
        expected = sh_ada_var(lambda arm, streams=streams: next(streams[arm]), 5, longest, error_rate)
        assert explored.selected[trial].tolist() == expected
    # Once the variances are known to be unequal, the arms with the larger ones get the pulls.
    assert explored.pulls[:, 4].mean() > 2 * explored.pulls[:, 1].mean()
    parts = pool.explore_many(by_name("shadavar", error_rate=error_rate, ties="lowest"), longest, 9, seed=21, block=4)
    assert (parts.pulls == explored.pulls[:9]).all()


def test_the_upper_limit_of_the_variance_holds_as_often_as_it_says():
    """For Gaussian pulls, at the smallest number of them that has a limit."""
    bar, trials = log(1 / 0.05), 4000
    n = int(4 * bar) + 2
    variances = np.random.default_rng(8).normal(size=(trials, n)).var(axis=1, ddof=1)
    below = int((variances / (1 - 2 * sqrt(bar / (n - 1))) < 1.0).sum())
    assert clopper_pearson(below, trials, 1 - ALPHA)[0] <= 0.05


def test_a_random_subset_needs_less_than_one_pull_per_arm():
    """Subsets are uniform, other arms get nothing, and the exact distribution agrees."""
    pool = ParametricPool.bernoulli([0.8, 0.3, 0.4, 0.5])
    # Two rounds of 3 pulls are enough for 3 arms, not for 4.
    explored = pool.explore_many(by_name("random_subset"), 6, 4000, seed=3)
    assert ((explored.pulls > 0).sum(axis=1) == 3).all()
    for arm in range(4):
        low, high = clopper_pearson(int((explored.pulls[:, arm] > 0).sum()), 4000, 1 - ALPHA / 10)
        assert low <= 0.75 <= high
    exact = enumerate_distribution(pool, by_name("random_subset"), Fraction(6), 10**6).selected
    for arm in range(4):
        low, high = clopper_pearson(int((explored.selected == arm).sum()), 4000, 1 - ALPHA / 10)
        assert low <= exact[arm] <= high
    uniform = pool.explore_many(by_name("random_subset", sampling="uniform_allocation"), 2, 50)
    assert (uniform.pulls.sum(axis=1) == 2).all()
    assert (uniform.pulls <= 1).all()
    with pytest.raises(ValueError, match="for the first round of RandomSubset; the smallest budget that works"):
        pool.explore(by_name("random_subset", arms=3), 5)
