"""Value of information: the formulas of the expected gain and of the growth of what is explained."""

import numpy as np
import pytest
from scipy import integrate, stats

from exml_sim.strategies.value_of_information import expected_gain, growth


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
