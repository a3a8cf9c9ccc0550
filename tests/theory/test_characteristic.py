"""The characteristic time: a slow grid, closed forms, and a planted error."""

from __future__ import annotations

import numpy as np
import pytest

from theory.characteristic import bernoulli, characteristic_time, gaussian, least_pulls


def information(means: list[float], shares: np.ndarray, divergence: object) -> float:
    """min over arms of the information of the pair, by a fine grid of x: a slow path."""
    best = int(np.argmin(means))
    seen = []
    for a in range(len(means)):
        if a != best:
            grid = np.linspace(means[best], means[a], 2001)[1:-1]
            values = [shares[best] * divergence(means[best], x) + shares[a] * divergence(means[a], x) for x in grid]  # type: ignore[operator]
            seen.append(min(values))
    return min(seen)


@pytest.mark.parametrize("divergence", [bernoulli, gaussian(0.5)])
@pytest.mark.parametrize("means", [[0.3, 0.5], [0.5, 0.2, 0.35], [0.1, 0.15, 0.4, 0.4]])
def test_the_shares_reach_the_time_and_no_others_do_better(means: list[float], divergence: object) -> None:
    time, shares = characteristic_time(means, divergence)  # type: ignore[arg-type]
    assert sum(shares) == pytest.approx(1.0)
    assert information(means, np.array(shares), divergence) == pytest.approx(1.0 / time, rel=1e-3)
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(len(means)), 40):
        assert information(means, other, divergence) <= 1.0 / time * (1 + 1e-3)


def test_closed_form_of_two_normal_arms() -> None:
    """Half of the pulls each: 1/T = (gap)^2 / (8 sd^2)."""
    time, shares = characteristic_time([0.0, 0.4], gaussian(1.0))
    assert time == pytest.approx(8.0 / 0.16)
    assert shares == pytest.approx((0.5, 0.5))
    assert least_pulls([0.0, 0.4], 0.05, gaussian(1.0)) == pytest.approx(50.0 * bernoulli(0.05, 0.95))


def test_planted_equal_shares_are_not_the_best() -> None:
    means = [0.1, 0.15, 0.4, 0.4]
    time, _ = characteristic_time(means)
    assert information(means, np.full(4, 0.25), bernoulli) < 0.9 / time


def test_equally_good_arms_have_no_time() -> None:
    with pytest.raises(ValueError, match="must be unique"):
        characteristic_time([0.3, 0.3, 0.5])
    with pytest.raises(ValueError, match="delta"):
        least_pulls([0.3, 0.5], 1.5)
    assert bernoulli(0.5, 0.0) == np.inf
