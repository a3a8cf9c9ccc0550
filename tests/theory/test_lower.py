"""Lower bounds on failure probabilities: exact probabilities of strategies that treat arms alike, planted errors."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy.special import ndtr

from theory.lower import lower_bound


def kl(p: float, q: float) -> float:
    """Divergence of two Bernoulli distributions."""
    parts = ((p, q), (1 - p, 1 - q))
    return math.fsum(x * math.log(x / y) if y > 0 else math.inf for x, y in parts if x > 0)


def fail_uniform(means: tuple[float, ...], pulls: int) -> float:
    """P[uniform allocation misses arm 0, the lowest mean], Bernoulli arms, random ties, by enumeration."""
    masses = [[math.comb(pulls, k) * p**k * (1 - p) ** (pulls - k) for k in range(pulls + 1)] for p in means]
    total = []
    for counts in itertools.product(range(pulls + 1), repeat=len(means)):
        ties = counts.count(min(counts))
        share = 1 / ties if counts[0] == min(counts) else 0.0
        total.append(math.prod(mass[k] for mass, k in zip(masses, counts, strict=True)) * (1 - share))
    return math.fsum(total)


@pytest.mark.parametrize("means", [(0.3, 0.5), (0.01, 0.02), (0.1, 0.9), (0.4, 0.5, 0.6), (0.2, 0.25, 0.9), (0.0, 0.5)])
def test_no_exact_probability_is_below_the_bound(means: tuple[float, ...]) -> None:
    forward = [kl(means[0], mean) for mean in means[1:]]
    backward = [kl(mean, means[0]) for mean in means[1:]]
    for pulls in (1, 3, 10, 18):
        budget, failure = pulls * len(means), fail_uniform(means, pulls)
        assert lower_bound(budget, forward, backward) <= failure
        assert lower_bound(budget, forward, backward, uniform=True) <= failure


def test_normal_arms_and_unequal_allocations() -> None:
    """Two arms with variance 1, any split of the budget: the failure probability is in closed form."""
    for gap in (0.1, 0.5, 2.0):
        for first, second in ((1, 1), (5, 20), (30, 30), (59, 1)):
            failure = float(ndtr(-gap / math.sqrt(1 / first + 1 / second)))
            assert lower_bound(first + second, [gap**2 / 2], [gap**2 / 2]) <= failure


def test_wrong_exponents_are_caught() -> None:
    """Planted errors: the divergence to the middle, which bounds the worse of two problems only, and no factor 1/4."""
    gap, pulls = 1.0, 40
    failure = float(ndtr(-gap * math.sqrt(pulls / 2)))
    assert 0.25 * math.exp(-2 * pulls * gap**2 / 8) > failure
    # Two arms that nearly always differ: without the factor the bound is above the probability.
    assert math.exp(-2 * kl(0.4, 0.5)) > fail_uniform((0.4, 0.5), 1) >= lower_bound(2, [kl(0.4, 0.5)], [kl(0.5, 0.4)])


def test_the_nearest_arm_decides_and_pulls_lower_the_bound() -> None:
    assert lower_bound(40, [0.1, 9.0], [0.1, 9.0]) == lower_bound(40, [0.1], [0.1])
    assert lower_bound(41, [0.1], [0.1]) < lower_bound(40, [0.1], [0.1]) < 0.25
    assert lower_bound(40, [math.inf], [0.1]) == 0.0


@pytest.mark.parametrize("given", [(40, [], []), (40, [0.1], []), (-1, [0.1], [0.1]), (40, [-0.1], [0.1])])
def test_bad_arguments_are_refused(given) -> None:
    with pytest.raises(ValueError, match="divergences"):
        lower_bound(*given)
