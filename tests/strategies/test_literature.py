"""Strategies of the literature against plain loops over one trial, written from the formulas alone."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, log, log2, pi, sqrt

import numpy as np
import pytest
from scipy.special import betaln, xlogy

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import BoundedArm, GaussianArm, ParametricPool
from exml_sim.engine.modes._exact import enumerate_distribution
from exml_sim.seeds import Seeds
from exml_sim.strategies import by_name
from exml_sim.strategies.fc2fb import SAMPLING
from tests.bandit.losses import LossPool, coins
from tests.strategies import reference

BUDGET, TRIALS = 90, 60
#: False-alarm probability of a test that counts.
ALARM = 1e-7
VARIANCES = [0.1, 0.2, 0.4, 0.05, 0.3, 0.2, 0.1]
PRIORS = [0.5, 0.3, 0.5, 0.5, 0.4, 0.6, 0.5]


def first_of(arms, value):
    return min(arms, key=lambda arm: (value(arm), arm))


def doubling_halving(mean, K):
    """Runs of 1, 2, 4, … times K ceil(log2 K) pulls on pulls of their own; `mean` is of whole numbers."""
    T = ceil(log2(K))
    money, left, had, selected = K * T, BUDGET, [0] * K, None
    while money <= left:
        active = list(range(K))
        for _ in range(T):
            pulls = money // (T * len(active))
            start = max(had)
            own = {}
            for arm in active:
                before = round(mean(arm, had[arm]) * had[arm]) if had[arm] else 0
                own[arm] = round(mean(arm, had[arm] + pulls) * (had[arm] + pulls)) - before
                had[arm] += pulls
            assert start >= 0
            active = reference.ranked(active, own)[: ceil(len(active) / 2)]
        left, money, selected = left - money, 2 * money, active
    return selected


def doubling_rejects(mean, K):
    money = next(n for n in range(1, 1000) if reference.phases(K, n)[0] >= 1)
    left, had, selected = BUDGET, [0] * K, None
    while money <= left:
        active, before = list(range(K)), 0
        for total in reference.phases(K, money):
            for arm in active:
                had[arm] += total - before
            before = total
            active.remove(reference.ranked(active, {arm: mean(arm, had[arm]) for arm in active})[-1])
        left, money, selected = left - money, 2 * money, active
    return selected


def continuous_rejects(mean, K, average):
    had, active = [1] * K, list(range(K))
    while sum(had) <= BUDGET:
        score = {arm: mean(arm, had[arm]) for arm in active}
        if len(active) > 1:
            worst = max(active, key=lambda arm: (score[arm], arm))
            others = [score[arm] for arm in active if arm != worst]
            gap = score[worst] - (sum(others) / len(others) if average else max(others))
            gone = [had[arm] for arm in range(K) if arm not in active]
            logbar = 0.5 + sum(1 / i for i in range(2, len(active) + 1))
            b = logbar * sum(had[arm] for arm in active) / (BUDGET - sum(gone))
            if had[worst] > max(gone, default=0) and gap >= 1 / sqrt(b) - 1:
                active.remove(worst)
        if sum(had) == BUDGET:
            break
        had[first_of(active, lambda arm: had[arm])] += 1
    return [first_of(active, lambda arm: mean(arm, had[arm]))]


def eb_tc(mean, K, epsilon):
    had, led, own = [1] * K, [0] * K, [0] * K
    while sum(had) < BUDGET:
        score = [mean(arm, had[arm]) for arm in range(K)]
        b = first_of(range(K), score.__getitem__)
        rest = [arm for arm in range(K) if arm != b]
        cost = {i: (score[i] - score[b] + epsilon) / sqrt(1 / had[b] + 1 / had[i]) for i in rest}
        c = first_of(rest, cost.__getitem__)
        led[b] += 1
        arm = b if own[b] <= led[b] / 2 else c
        own[b] += arm == b
        had[arm] += 1
    return [first_of(range(K), lambda arm: mean(arm, had[arm]))]


def ucb_e(mean, K, hardness):
    had, a = [1] * K, 25 / 36 * (BUDGET - K) / hardness
    while sum(had) < BUDGET:
        had[first_of(range(K), lambda arm: mean(arm, had[arm]) - sqrt(a / had[arm]))] += 1
    return [first_of(range(K), lambda arm: mean(arm, had[arm]))]


def sh_var(mean, K):
    T, active, had = ceil(log2(K)), list(range(K)), [0] * K
    for _ in range(T):
        number = dict.fromkeys(active, 1)
        while sum(number.values()) < BUDGET // T:
            number[first_of(active, lambda arm, n=number: -VARIANCES[arm] / n[arm])] += 1
        own = {}
        for arm in active:
            before = round(mean(arm, had[arm]) * had[arm]) if had[arm] else 0
            had[arm] += number[arm]
            own[arm] = (round(mean(arm, had[arm]) * had[arm]) - before) / number[arm]
        active = reference.ranked(active, own)[: ceil(len(active) / 2)]
    return active


def bayes_elimination(mean, K, prior_sd, sd):
    T, active, had = ceil(log2(K)), list(range(K)), 0
    for _ in range(T):
        had += BUDGET // (T * len(active))

        def posterior(arm, n=had):
            return (mean(arm, n) * n / sd**2 + PRIORS[arm] / prior_sd**2) / (n / sd**2 + 1 / prior_sd**2)

        active = reference.ranked(active, {arm: posterior(arm) for arm in active})[: ceil(len(active) / 2)]
    return active


CASES = {
    "sequential_halving": ({}, lambda mean, K: reference.fresh_halving(mean, K, BUDGET)),
    "doubling_halving": ({}, doubling_halving),
    "doubling_rejects": ({}, doubling_rejects),
    "continuous_rejects": ({}, lambda mean, K: continuous_rejects(mean, K, True)),
    "continuous_rejects, closest": ({"criterion": "closest"}, lambda mean, K: continuous_rejects(mean, K, False)),
    "eb_tc_epsilon": ({}, lambda mean, K: eb_tc(mean, K, 0.1)),
    "eb_tc_epsilon, 0": ({"epsilon": 0.0}, lambda mean, K: eb_tc(mean, K, 0.0)),
    "ucb_e": ({"hardness": 200.0}, lambda mean, K: ucb_e(mean, K, 200.0)),
    "shvar": ({"variances": VARIANCES}, sh_var),
    "bayes_elimination": (
        {"prior_risks": PRIORS, "prior_sd": 0.1},
        lambda mean, K: bayes_elimination(mean, K, 0.1, 0.5),
    ),
    # With ties to the lowest index the subset is the first arms.
    "random_subset": ({"arms": 5}, lambda mean, K: reference.fresh_halving(mean, 5, BUDGET)),
    "random_subset, all rows": (
        {"arms": 4, "sampling": "median_elimination"},
        lambda mean, K: reference.median_elimination(mean, 4, BUDGET),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("means", [[0.3, 0.5, 0.4, 0.5, 0.35, 0.45, 0.5], [0.2, 0.8, 0.25, 0.7, 0.5, 0.9, 0.6]])
def test_selects_what_a_plain_loop_selects(case, means):
    options, loop = CASES[case]
    strategy = by_name(case.partition(",")[0], **options)
    pool = coins(means)
    table = reference.running_means(pool, TRIALS, BUDGET)
    selected = pool.explore_many(replace(strategy, ties="lowest"), BUDGET, TRIALS, seed=21).selected
    for trial in range(TRIALS):
        expected = loop(lambda arm, n, t=trial: table[t, arm, n], pool.n_arms)
        assert selected[trial].tolist() == list(expected), f"trial {trial}"


@pytest.mark.parametrize("case", CASES)
def test_blocks_costs_and_budgets(case):
    """Trials do not depend on blocks, also with random ties and unequal costs; no trial spends more than it has."""
    options, _ = CASES[case]
    costs = [1] * 7 if case == "shvar" else [1, 2, "0.5", 1, 3, 1, 1]
    pool = ParametricPool.bernoulli([0.5, 0.5, 0.6, 0.5, 0.4, 0.5, 0.5], costs)
    strategy = by_name(case.partition(",")[0], **options)
    whole = pool.explore_many(strategy, 120, 30, seed=4)
    parts = pool.explore_many(strategy, 120, 30, seed=4, block=7)
    assert (whole.selected == parts.selected).all()
    assert (whole.pulls == parts.pulls).all()
    assert (whole.spent_units * whole.unit <= 120).all()
    for trial in (0, 17):
        assert pool.explore(strategy, 120, Seeds.of(4, trial)).selected == whole.selected[trial, 0]


STAGED_BUDGET = 600


def log_evidence(score, had, u, v):
    """Log e-value against arm v being better than u: mixtures by beta functions, both arms at the pooled mean."""
    wins = {arm: score[arm] * had[arm] for arm in (u, v)}
    mixture = sum(betaln(wins[i] + 0.5, had[i] - wins[i] + 0.5) - log(pi) for i in (u, v))
    total, n = wins[u] + wins[v], had[u] + had[v]
    return float(mixture - xlogy(total, total / n) - xlogy(n - total, 1 - total / n))


def fc2fb(mean, K, error_rate, stages):
    """Top two with a stopping rule whose error rate is that of the stage, one trial."""
    had = [8] * K
    while True:
        score = [mean(arm, had[arm]) for arm in range(K)]
        leader = first_of(range(K), score.__getitem__)
        stage = min(sum(had) * stages // STAGED_BUDGET, stages - 1)
        bar = log((K - 1) / error_rate ** (2 ** (stages - 1 - stage)))
        against = {v: log_evidence(score, had, leader, v) for v in range(K) if v != leader}
        if min(against.values()) >= bar:
            return [leader]
        left = {v: value + log(had[v]) for v, value in against.items() if value < bar}
        pair = [leader, first_of(left, left.__getitem__)]
        pulls = min(max(ceil(min(had[arm] for arm in pair) * 0.1), 1), (STAGED_BUDGET - sum(had)) // 2)
        if pulls == 0:
            return [leader]
        for arm in pair:
            had[arm] += pulls


def test_fixed_confidence_in_stages_selects_what_a_plain_loop_selects():
    pool = coins([0.75, 0.3, 0.6])
    table = reference.running_means(pool, TRIALS, STAGED_BUDGET)
    explored = pool.explore_many(by_name("fc2fb", ties="lowest"), STAGED_BUDGET, TRIALS, seed=21)
    # 600 is 25 times the cost of the first round: floor(log2(25)) stages.
    for trial in range(TRIALS):
        assert explored.selected[trial].tolist() == fc2fb(lambda a, n, t=trial: table[t, a, n], 3, exp(-1.0), 4)
    assert explored.confident is None
    # Some trials stop early; a later stage asks for less.
    assert (explored.spent_units < STAGED_BUDGET).mean() > 0.3
    for name in SAMPLING:
        easy = pool.explore_many(by_name("fc2fb", sampling=name), STAGED_BUDGET, 30, seed=4)
        parts = pool.explore_many(by_name("fc2fb", sampling=name), STAGED_BUDGET, 30, seed=4, block=7)
        assert (easy.selected == parts.selected).all()
        assert (easy.pulls == parts.pulls).all()


def square_root_cost(mean, costs, budget, confidence):
    """Pull the active arm with the smallest sqrt(cost) pulls; drop arms that the leader beats; one trial."""
    had, active = [8] * len(costs), list(range(len(costs)))
    bar = log((len(costs) - 1) / (1 - confidence))
    while True:
        score = {arm: mean(arm, had[arm]) for arm in active}
        leader = first_of(active, score.__getitem__)
        active = [v for v in active if v == leader or log_evidence(score, had, leader, v) < bar]
        if len(active) == 1:
            return leader, had
        arm = first_of(active, lambda arm: sqrt(costs[arm]) * had[arm])
        left = budget - sum(n * cost for n, cost in zip(had, costs, strict=True))
        pulls = min(ceil(had[arm] * 0.1), left // costs[arm])
        if pulls == 0:
            return leader, had
        had[arm] += pulls


def test_the_square_root_rule_buys_and_selects_what_a_plain_loop_does():
    costs, means = [4, 1, 9, 1], [0.25, 0.6, 0.5, 0.45]
    pool = LossPool([BoundedArm((0.0, 1.0), (1.0 - mean, mean), cost) for mean, cost in zip(means, costs, strict=True)])
    table = reference.running_means(pool, TRIALS, STAGED_BUDGET)
    explored = pool.explore_many(by_name("square_root_cost", ties="lowest"), STAGED_BUDGET, TRIALS, seed=21)
    for trial in range(TRIALS):
        selected, pulls = square_root_cost(lambda a, n, t=trial: table[t, a, n], costs, STAGED_BUDGET, 0.95)
        assert explored.selected[trial, 0] == selected
        assert explored.pulls[trial].tolist() == pulls
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
        active = reference.ranked(active, {arm: np.mean(own[arm]) for arm in active})[: ceil(len(active) / 2)]
    return active


@pytest.mark.parametrize("error_rate", [0.05, 0.5])
def test_halving_with_unknown_variances_selects_what_a_plain_loop_selects(error_rate):
    pool = LossPool(
        [GaussianArm(mean, sd) for mean, sd in ((0.1, 2.0), (0.0, 0.3), (0.3, 1.0), (0.2, 0.5), (0.2, 4.0))]
    )
    longest = 400
    table = reference.running_means(pool, TRIALS, longest)
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
    assert clopper_pearson(below, trials, 1 - ALARM)[0] <= 0.05


def test_a_random_subset_needs_less_than_one_pull_per_arm():
    """Subsets are uniform, other arms get nothing, and the exact distribution agrees."""
    pool = ParametricPool.bernoulli([0.8, 0.3, 0.4, 0.5])
    # Two rounds of 3 pulls are enough for 3 arms, not for 4.
    explored = pool.explore_many(by_name("random_subset"), 6, 4000, seed=3)
    assert ((explored.pulls > 0).sum(axis=1) == 3).all()
    for arm in range(4):
        low, high = clopper_pearson(int((explored.pulls[:, arm] > 0).sum()), 4000, 1 - ALARM / 10)
        assert low <= 0.75 <= high
    exact = enumerate_distribution(pool, by_name("random_subset"), Fraction(6), 10**6).selected
    for arm in range(4):
        low, high = clopper_pearson(int((explored.selected == arm).sum()), 4000, 1 - ALARM / 10)
        assert low <= exact[arm] <= high
    uniform = pool.explore_many(by_name("random_subset", sampling="uniform_allocation"), 2, 50)
    assert (uniform.pulls.sum(axis=1) == 2).all()
    assert (uniform.pulls <= 1).all()
    with pytest.raises(ValueError, match="for the first round of RandomSubset; the smallest budget that works"):
        pool.explore(by_name("random_subset", arms=3), 5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("shvar", {"variances": [0.1, 0.2]}, "one variance for each of 3 arms"),
        ("shvar", {"variances": [0.1, -0.2, 1]}, "variances must be positive"),
        ("ucb_e", {"hardness": 0}, "hardness must be"),
        ("bayes_elimination", {"prior_risks": [1.0]}, "3 arms need as many prior risks, got 1"),
        ("continuous_rejects", {"criterion": "c"}, "unknown criterion 'c'"),
        ("fc2fb", {"sampling": "ocba"}, "unknown sampling 'ocba'"),
        ("fc2fb", {"error_rate": 1.0}, "error_rate must be between 0 and 1, both excluded, got 1.0"),
        ("random_subset", {"sampling": "ocba"}, "unknown sampling 'ocba'"),
        ("random_subset", {"arms": 0}, "arms must be"),
        ("random_subset", {"arms": 4}, "cannot draw a subset of 4 arms: the pool has 3"),
        ("shadavar", {"error_rate": 0.0}, "error_rate must be between 0 and 1, both excluded, got 0.0"),
    ],
)
def test_bad_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        ParametricPool.bernoulli([0.5, 0.4, 0.3]).explore(by_name(name, **options), 60)
