"""Failure bounds of the bandit literature hold for the strategies on known-mean arms.

Arms have values in [0, 1]. H2 = max_i i / Delta_(i)^2 over arms sorted by gap, i >= 2. Each assertion would
alarm with probability below 1e-6 if the true failure probability were at its bound.
"""

import numpy as np
import pytest
from scipy import stats

from exml_sim.bandit.parametric import BoundedArm
from exml_sim.strategies import MedianElimination, SuccessiveRejects
from exml_sim.strategies.successive_rejects import log_bar
from tests.bandit.losses import LossPool

ALARM = 1e-6
TRIALS = 20_000


def hardness(pool):
    gaps = np.sort(pool.gaps)
    return max((i + 1) / gaps[i] ** 2 for i in range(1, gaps.size))


def halving_bound(pool, budget):
    """Karnin, Koren and Somekh (2013), Theorem 4.1: 3 log2(K) exp(-B / (8 H2 log2 K))."""
    levels = np.log2(pool.n_arms)
    return 3 * levels * np.exp(-budget / (8 * hardness(pool) * levels))


def rejects_bound(pool, budget):
    """Audibert, Bubeck and Munos (2010), Theorem 2: K (K - 1) / 2 exp(-(n - K) / (log-bar(K) H2))."""
    size = pool.n_arms
    return size * (size - 1) / 2 * np.exp(-(budget - size) / (float(log_bar(size)) * hardness(pool)))


def violated(failures, bound):
    """True if that many failures would have probability below ALARM at the bound."""
    return bound < 1 and stats.binom.sf(failures - 1, TRIALS, bound) < ALARM


POOLS = [
    LossPool.bernoulli([0.2, 0.7, 0.7, 0.7]),
    LossPool.bernoulli([0.9, 0.5, 0.1, 0.45, 0.6, 0.7, 0.65, 0.8]),
    LossPool([BoundedArm((0.0, 0.5, 1.0), (1 - p, p / 2, p / 2)) for p in (0.8, 0.1, 0.9, 0.6)]),
]


@pytest.mark.parametrize("pool", POOLS, ids=str)
@pytest.mark.parametrize("level", [0.9, 0.2, 0.02])
def test_sequential_halving(pool, level):
    levels = np.log2(pool.n_arms)
    budget = int(np.ceil(8 * hardness(pool) * levels * np.log(3 * levels / level)))
    bound = halving_bound(pool, budget)
    assert bound <= level
    batch = pool.explore_many(MedianElimination(accumulate=False), budget, TRIALS, seed=7)
    assert not violated(batch.failures(pool.best_arms()).sum(), bound)


@pytest.mark.parametrize("pool", POOLS, ids=str)
@pytest.mark.parametrize("level", [0.9, 0.2, 0.02])
def test_successive_rejects(pool, level):
    size = pool.n_arms
    scale = float(log_bar(size)) * hardness(pool)
    budget = int(np.ceil(size + scale * np.log(size * (size - 1) / 2 / level)))
    bound = rejects_bound(pool, budget)
    assert bound <= level
    batch = pool.explore_many(SuccessiveRejects(), budget, TRIALS, seed=8)
    assert not violated(batch.failures(pool.best_arms()).sum(), bound)


def test_the_check_catches_a_rule_that_breaks_its_bound():
    """A rule that spends a fraction of the money it claims to have fails more often than allowed."""
    pool = POOLS[0]
    budget = 1200
    bound = rejects_bound(pool, budget)
    assert bound < 1e-6
    starved = pool.explore_many(SuccessiveRejects(), 20, TRIALS, seed=8)
    assert violated(starved.failures(pool.best_arms()).sum(), bound)
