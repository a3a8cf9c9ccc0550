"""Populations with given gaps: the closed form against the solver."""

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.datasets.graded import KAPPA, largest_ball, make_graded
from exml_sim.rejection import solve


@pytest.mark.parametrize("theta", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("best", [1.0, 0.7])
def test_the_gaps_are_the_ones_asked_for(theta, best):
    ball = largest_ball(theta)
    gaps = np.array([0.3, 0.0, 0.1, 1.0, 0.0]) * ball * best / 2
    pool = FeaturePool(make_graded(gaps, ball=ball, rows=80, best=best, rng=0), theta=theta, ball=ball, kernel="linear")
    np.testing.assert_allclose(pool.gaps, gaps, atol=1e-12)
    assert pool.best_arms() == (1, 4)
    assert pool.kappa <= KAPPA + 1e-12
    # The risk itself, by the closed form in the module and by the reference solver.
    assert pool.risks[1] == pytest.approx(1 - ball / 2 * (best + 1), abs=1e-12)
    slow = solve(pool.arms[0].gram, pool.population.y, theta, ball=ball, method="cvxpy", tol=1e-6)
    assert pool.risks[0] == pytest.approx(slow.risk, abs=1e-5)


def test_a_planted_error_in_the_noise_is_noticed():
    """With noise that is not balanced within labels the gaps are off by far more than the tolerance above."""
    population = make_graded([0.0, 0.05], ball=0.2, rows=80, rng=0)
    values = population.candidates[1].values[:, 0].copy()
    values[0], values[41] = values[41] * 2, values[0]
    spoiled = type(population)(population.X, population.y, {"g0": population.candidates[0].values, "g1": values})
    gaps = FeaturePool(spoiled, theta=0.1, ball=0.2, kernel="linear").gaps
    assert abs(gaps[1] - 0.05) > 1e-4


def test_candidates_are_their_own_draws():
    population = make_graded([0.0, 0.05, 0.05], ball=0.2, rows=400, costs=["1", "2", "0.5"], rng=1)
    assert [float(c) for c in population.costs] == [1.0, 2.0, 0.5]
    second, third = (population.candidates[k].values[:, 0] for k in (1, 2))
    assert not np.array_equal(second, third)
    again = make_graded([0.0, 0.05, 0.05], ball=0.2, rows=400, rng=1)
    np.testing.assert_array_equal(again.candidates[2].values, population.candidates[2].values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gaps": [0.1, 0.2]}, "smallest of them 0"),
        ({"gaps": [0.0, -0.1]}, "smallest of them 0"),
        ({"gaps": [0.0, 0.11]}, "at most ball"),
        ({"rows": 42}, "multiple of 4"),
        ({"best": 0.0}, "best must be"),
        ({"ball": -1.0}, "ball must be"),
        ({"costs": [1]}, "one for each"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        make_graded(**{"gaps": [0.0, 0.05], "ball": 0.2, **change})
