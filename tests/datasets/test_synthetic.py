"""The generator of Section 5.1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from exml_sim.datasets.synthetic import HIDDEN, candidate_values, draw_rows


def test_moments() -> None:
    """Means and variances within z = 6.5 standard errors (false alarm below 1e-9 for each of the 18 numbers)."""
    n, a = 20_000, 2.0
    rows = draw_rows(n, a=a, rng=0)
    means = {1: (-a, 0, -5 * a), 2: (a, 0, 5 * a), HIDDEN: (0, 0, 0)}
    for k, mean in means.items():
        variance = 3 * a if k != HIDDEN else 1.5 * a
        points = rows.points[rows.classes == k]
        assert np.all(np.abs(points.mean(axis=0) - mean) < 6.5 * np.sqrt(variance / n))
        assert np.all(np.abs(points.var(axis=0) / variance - 1) < 6.5 * np.sqrt(2 / n))


def test_labels() -> None:
    rows = draw_rows(10_000, rng=1)
    assert np.all(rows.y[rows.classes == 1] == -1)
    assert np.all(rows.y[rows.classes == 2] == 1)
    heads = int(np.sum(rows.y[rows.classes == HIDDEN] > 0))
    assert stats.binomtest(heads, 10_000).pvalue > 1e-9


def test_candidates_turn_from_the_first_axis_to_the_third() -> None:
    points = np.array([[1.0, 7.0, 2.0]])
    np.testing.assert_allclose(candidate_values(points, np.array([0, 30, 90])), [[1, np.sqrt(0.75) + 1, 2]])


def test_same_seed_same_rows() -> None:
    np.testing.assert_array_equal(draw_rows(5, rng=3).points, draw_rows(5, rng=3).points)
    assert not np.array_equal(draw_rows(5, rng=3).points, draw_rows(5, rng=4).points)


@pytest.mark.parametrize("change", [{"per_class": 0}, {"per_class": 2.5}, {"a": 0}, {"sigma": -1}, {"z": 0}])
def test_bad_input(change: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        draw_rows(**{"per_class": 3, **change})
