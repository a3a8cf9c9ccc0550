"""The fast distributions of the search against `theory.exact` and brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from simulations.falsify._target import PoolInstance, PoolSpace
from simulations.falsify.targets import _regrets as regrets
from simulations.falsify.targets import _selection as distributions
from simulations.falsify.targets._definitions import _grid_score, exchangeable_score
from simulations.falsify.targets._selection import slow_median
from tests.simulations.falsify.draws import draw
from theory import exact, paper

F = Fraction
SPACE = PoolSpace(arms=(2, 4), atoms=(2, 3), budget=(8, 60), states=3_000, median=True)


def pools(count, seed=0):
    return draw(SPACE, count + 20, seed)[-count:]


@pytest.mark.parametrize("pool", pools(12), ids=range(12))
def test_failures_are_those_of_the_exact_theory(pool):
    uniform = exact.failure(pool.pool, exact.uniform_selection(pool.pool, pool.budget))
    with_fresh_rows = exact.failure(pool.pool, exact.median_selection(pool.pool, pool.budget, accumulate=False))
    for probability, log_value in (
        (uniform, distributions.log_uniform_failure(pool, pool.best)),
        (with_fresh_rows, distributions.log_median_failure(pool, pool.best)),
        (with_fresh_rows, slow_median(accumulate=False)(pool, pool.best)),
    ):
        assert math.exp(log_value) == pytest.approx(float(probability), rel=1e-9, abs=1e-12)


def test_far_tails_are_logarithms():
    pool = PoolInstance((1, 1), (1, 1), ((1, 1), (-1, 1)), F(1, 10), F(1), 8000)
    log_value = distributions.log_beaten(pool, 4000, ties=True)
    # The second arm is as good as the first if all rows are of one kind: 2 / 2^4000, far below the smallest float.
    assert log_value == pytest.approx(-3999 * math.log(2), rel=1e-12)


def test_regrets_by_brute_force():
    """All samples of six rows, the learned model by trying both signs of both weights."""
    pool = PoolInstance((3, 2, 2), (1, -1, 1), ((2, 1, -1), (1, 2, 0)), F(1, 10), F(1), 12)
    radius, n = float(pool.radius), pool.rows
    weights = np.array(pool.weights) / sum(pool.weights)
    features, labels = np.array(pool.features), np.array(pool.labels)

    def risk(arm, probabilities, h, g):
        return float(np.sum(probabilities * (1 + radius * features[arm] * (g - labels * h) / 2)))

    signs = list(itertools.product((-1, 1), repeat=2))
    best = min(risk(arm, weights, *pair) for arm in range(2) for pair in signs)
    distribution = {}
    for sample in itertools.product(range(3), repeat=n):
        counts = np.bincount(sample, minlength=3) / n
        scores = [min(risk(arm, counts, *pair) for pair in signs) for arm in range(2)]
        arm = int(scores[1] < scores[0] - 1e-12)
        fits = [pair for pair in signs if risk(arm, counts, *pair) < scores[arm] + 1e-12]
        regret = round(min(risk(arm, weights, *pair) for pair in fits) - best, 9)
        distribution[regret] = distribution.get(regret, 0.0) + float(np.prod(weights[list(sample)]))
    expected = [
        (level, math.log(sum(p for value, p in distribution.items() if value >= level)))
        for level in sorted(distribution)
        if level > 0
    ]
    for tail in (distributions.log_regret_tail(pool, n), regrets._exact_tail(pool)):
        assert len(tail) == len(expected)
        for level, wanted in zip(tail, expected, strict=True):
            assert level == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("weights", [(4, 3), (1, 9)])
def test_whole_number_sums_have_the_binomial_distribution(weights):
    pool = PoolInstance(weights, (1, -1), ((1, 1), (0, 0)), F(1, 10), F(1), 40)
    samples = list(regrets._weighed_samples(pool))
    total = sum(ways for _, ways in samples)
    assert total == sum(weights) ** pool.rows
    for (k, rest), ways in samples:
        assert k + rest == pool.rows
        assert ways == math.comb(pool.rows, k) * weights[0] ** k * weights[1] ** rest


def test_the_smallest_delta_puts_the_bound_just_below_the_level():
    def bound(delta):
        return np.asarray(paper.exploratory_regret_uniform(20000, 2, 0.5, 0.1, 0.8, delta))

    level = float(bound(np.array([1e-5]))[0])
    log_delta = regrets.smallest_delta(bound, level)
    assert log_delta == pytest.approx(math.log(1e-5), rel=1e-5)
    assert bound(np.array([math.exp(log_delta)]))[0] < level
    assert math.isnan(regrets.smallest_delta(bound, 1e-9))


def test_scores_of_exchangeable_arms_are_those_of_the_solver():
    from exml_sim.rejection import solve

    rng = np.random.default_rng(2)
    for _ in range(5):
        n, theta = int(rng.integers(2, 12)), float(rng.uniform(0.05, 0.45))
        kappa, rho, radius = float(rng.uniform(0.2, 2)), float(rng.uniform(0, 1)), float(rng.uniform(0.1, 6))
        gram = kappa**2 * ((1 - rho) * np.eye(n) + rho)
        solved = solve(gram, np.ones(n), theta, ball=radius, method="cvxpy")
        score = exchangeable_score(kappa, radius, rho, theta, n)
        assert score == pytest.approx(solved.objective, abs=1e-6)
        assert _grid_score(kappa, radius, rho, theta, n) == pytest.approx(score, abs=1e-9)
