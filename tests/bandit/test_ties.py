"""Random ties: every equal arm is as likely, and distributions with ties are those of a plain recursion."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import GaussianArm
from exml_sim.engine.modes._exact import enumerate_distribution
from exml_sim.engine.modes._outcomes import list_orders
from exml_sim.money import exact
from exml_sim.strategies import by_name
from tests.bandit.exact_distributions import uniform_selection_probabilities
from tests.bandit.losses import LossPool

#: False-alarm probability of one interval; all tests of this file together stay below 1e-6.
ALPHA = 1e-10
NAMES = ["uniform_allocation", "median_elimination", "successive_rejects", "top_two", "ocba", "ugap_eb"]


def is_plausible(times: int, number: int, probability: float) -> bool:
    low, high = clopper_pearson(times, number, 1.0 - ALPHA)
    return low <= probability <= high


@pytest.mark.parametrize("name", NAMES)
def test_equal_arms_are_selected_equally_often_or_the_lowest_index_is(name):
    """Arms without noise tie in every decision of every trial."""
    pool = LossPool([GaussianArm(0.5, 0.0) for _ in range(4)])
    selected = pool.explore_many(by_name(name), 64, 4000, seed=3).selected[:, 0]
    for times in np.bincount(selected, minlength=4):
        assert is_plausible(int(times), 4000, 0.25)
    assert (pool.explore_many(by_name(name, ties="lowest"), 64, 50).selected == 0).all()


def median_elimination_with_ties(means: list[float], budget: int) -> np.ndarray:
    """Plain recursion over all sums and all equally likely ways to cut a tie, for K = 4 Bernoulli arms."""
    selected = np.zeros(4)
    first, second = budget // 8, budget // 4
    mass = [binom.pmf(np.arange(first + 1), first, mean) for mean in means]
    more = [binom.pmf(np.arange(second + 1), second, mean) for mean in means]
    for sums in np.ndindex(*[first + 1] * 4):
        weight = np.prod([mass[arm][value] for arm, value in enumerate(sums)])
        cut = sorted(sums)[1]
        certain = [arm for arm in range(4) if sums[arm] < cut]
        tied = [arm for arm in range(4) if sums[arm] == cut]
        for rest in combinations(tied, 2 - len(certain)):
            a, b = (*certain, *rest)
            share = weight / comb(len(tied), 2 - len(certain))
            joint = np.multiply.outer(more[a], more[b])
            difference = sums[a] + np.arange(second + 1)[:, None] - sums[b] - np.arange(second + 1)
            tie = 0.5 * joint[difference == 0].sum()
            selected[a] += share * (joint[difference < 0].sum() + tie)
            selected[b] += share * (joint[difference > 0].sum() + tie)
    return selected


def test_median_elimination_against_a_plain_recursion():
    means, budget = [0.5, 0.4, 0.55, 0.3], 16
    expected = median_elimination_with_ties(means, budget)
    pool = LossPool.bernoulli(means)
    distribution = enumerate_distribution(pool, by_name("median_elimination"), exact(budget))
    assert distribution.selected == pytest.approx(expected, abs=1e-12)
    lowest = enumerate_distribution(pool, by_name("median_elimination", ties="lowest"), exact(budget))
    assert max(abs(a - b) for a, b in zip(lowest.selected, expected, strict=True)) > 0.01
    selected = pool.explore_many("median_elimination", budget, 40_000, seed=1).selected[:, 0]
    for arm, times in enumerate(np.bincount(selected, minlength=4)):
        assert is_plausible(int(times), 40_000, expected[arm])


def test_the_first_of_several_selected_arms_is_random():
    top_two = enumerate_distribution(LossPool.bernoulli([0.5] * 3), by_name("uniform_allocation", top=2), exact(6))
    assert top_two.selected == pytest.approx([1 / 3] * 3, abs=1e-12)
    top_one = enumerate_distribution(LossPool.bernoulli([0.3, 0.5, 0.5]), by_name("uniform_allocation"), exact(6))
    assert top_one.selected == pytest.approx(uniform_selection_probabilities([0.3, 0.5, 0.5], 2), abs=1e-12)


def test_orders_up_to_what_matters():
    assert list_orders((0, 1, 2), 1) == [(0, 1, 2)]
    assert list_orders((0, 0, 1), 1) == [(0, 1, 2), (1, 0, 2)]
    # Places 1 and 2 are tied across the cut, and the first place is certain.
    assert list_orders((0, 1, 1), 2) == [(0, 1, 2), (0, 2, 1)]
    assert len(list_orders((0, 0, 0), 2)) == 6
    assert len(list_orders((0, 0, 1, 1), 4)) == 4
