"""Eq. 1 and Eq. 2."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exml_sim.losses import rejection_loss, surrogate_loss

values = st.floats(-10, 10)
thetas = st.floats(0.01, 0.49)


def test_values_by_hand() -> None:
    # accepted and right, accepted and wrong, rejected
    np.testing.assert_array_equal(rejection_loss([2, -2, 5], [1, 1, -1], [1, 1, 1], 0.2), [0.0, 1.0, 0.2])
    # prediction piece 1 + (0.5 - 2)/2, rejection piece 0.2 (1 + 1/0.6), no loss
    np.testing.assert_allclose(surrogate_loss([2, 0, 9], [0.5, -1, 2], [1, 1, 1], 0.2), [0.25, 0.2 * (1 + 1 / 0.6), 0])


def test_zero_is_an_error() -> None:
    """Eq. 1 as printed has a strict inequality: h = 0, g = 1 would have loss zero on every sample."""
    assert [rejection_loss(0.0, 1.0, y, 0.2) for y in (-1, 1)] == [1.0, 1.0]


def test_the_boundary_of_the_reject_option_rejects() -> None:
    assert rejection_loss(1.0, 0.0, 1, 0.3) == 0.3


@given(values, values, st.sampled_from([-1, 1]), thetas)
def test_the_surrogate_lies_above(h: float, g: float, y: int, theta: float) -> None:
    assert surrogate_loss(h, g, y, theta) >= rejection_loss(h, g, y, theta) - 1e-12


def test_above_one_half_it_would_not() -> None:
    """Why theta ends at 1/2: the formula of Eq. 2 at theta = 3/4, h = 0, g = -2 is 0, and the 0/1 loss is 3/4."""
    theta, g = 0.75, -2.0
    assert max(1 + g / 2, theta * (1 - g / (1 - 2 * theta)), 0) == 0 < theta
    with pytest.raises(ValueError, match="theta must lie in"):
        surrogate_loss(0.0, g, 1, theta)


@given(st.lists(st.tuples(values, values, st.sampled_from([-1, 1])), min_size=2, max_size=5), thetas)
def test_the_surrogate_is_convex(points: list[tuple[float, float, int]], theta: float) -> None:
    (h0, g0, y), (h1, g1, _) = points[0], points[1]
    middle = surrogate_loss((h0 + h1) / 2, (g0 + g1) / 2, y, theta)
    assert middle <= (surrogate_loss(h0, g0, y, theta) + surrogate_loss(h1, g1, y, theta)) / 2 + 1e-12


def test_broadcasts_over_theta() -> None:
    assert surrogate_loss(0.0, -1.0, 1, [0.1, 0.2, 0.3]).shape == (3,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.0, 0, 0.2), r"labels must be -1 or \+1"),
        ((0.0, 0.0, 1, 0.5), r"theta must lie in the open interval \(0, 0.5\); got 0.5"),
        ((0.0, 0.0, 1, [0.1, -0.1]), "got -0.1"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    for loss in (rejection_loss, surrogate_loss):
        with pytest.raises(ValueError, match=message):
            loss(*arguments)
