"""Explore then commit: the formula of the gain, all money spent, exploring stops when it is not worth it."""

import numpy as np
import pytest
from scipy import integrate, stats

from exml_sim.bandit.parametric import BernoulliArm
from exml_sim.strategies import ValueOfInformationCommit
from exml_sim.strategies.value_of_information import expected_gain, growth
from tests.bandit.losses import LossPool


@pytest.mark.parametrize(("difference", "deviation", "rows", "more"), [(0.0, 0.2, 10, 10), (0.3, 0.2, 25, 50)])
def test_the_gain_is_that_of_the_moved_estimate(difference, deviation, rows, more):
    """E max(0, -(d + s Z)) by quadrature, s^2 the variance that the new rows take away."""
    moved = np.sqrt(deviation**2 - deviation**2 * rows / (rows + more))
    exact = integrate.quad(lambda z: max(0.0, -(difference + moved * z)) * stats.norm.pdf(z), -12, 12, limit=400)[0]
    arrays = (np.array(float(v)) for v in (difference, deviation, rows, more))
    assert float(expected_gain(*arrays)) == pytest.approx(exact, abs=1e-7)


def test_no_gain_without_doubt_and_none_from_hopeless_arms():
    nothing = expected_gain(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1))
    hopeless = expected_gain(np.array([np.inf, 9.0]), np.full(2, 0.1), np.ones(2), np.ones(2))
    assert nothing[0] == 0.0
    assert (hopeless < 1e-12).all()


def test_growth():
    rows = np.array([5.0, 20.0])
    np.testing.assert_allclose(growth(rows, rows, 24.0), 1.0)
    assert growth(np.array(24.0), np.array(1e9), 24.0) == pytest.approx(2.0)


def arms(*means):
    return LossPool([BernoulliArm(mean) for mean in means])


def test_close_arms_are_explored_longer_than_clear_ones():
    clear = arms(0.1, 0.9).explore_many(ValueOfInformationCommit(), 200, 200).pulls
    close = arms(0.5, 0.5).explore_many(ValueOfInformationCommit(), 200, 200).pulls
    assert close.min(axis=1).mean() > 1.2 * clear.min(axis=1).mean()


def test_one_arm_and_small_budgets():
    assert arms(0.5).explore(ValueOfInformationCommit(), 7).ledger.spent == 7
    assert arms(0.5, 0.4).explore(ValueOfInformationCommit(), 2).ledger.spent == 2
    with pytest.raises(ValueError, match="does not pay for one pull of each of 2 arms"):
        arms(0.5, 0.4).explore(ValueOfInformationCommit(), 1)
