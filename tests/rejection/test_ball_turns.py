"""Steps with a low-rank factor of the Gram matrix, against steps on the matrix alone; over the ball and penalised."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim import kernels
from exml_sim.datasets.synthetic import draw_rows
from exml_sim.rejection import ball, dual
from exml_sim.rejection.batch import ball_block
from exml_sim.rejection.linalg import pivoted_cholesky
from exml_sim.rejection.multipliers import first_multiplier, mean_diagonal
from exml_sim.rejection.triangle import geometry

TOL = 1e-8


def start(radius: float, theta: float) -> tuple[tuple[np.ndarray, ...], list[np.ndarray], float, int]:
    """Rows, and the dual point after some sweeps: (gram, y, p), [c, u, v, ku, kv, face], sigma, free directions."""
    rows = draw_rows(250, rng=3)
    gram, n = kernels.gram(rows.points[:, :2]), 750
    y, p = rows.y.astype(float), np.full(n, 1.0 / n)
    first = first_multiplier(mean_diagonal(gram, p), radius)
    u, v, ku, kv, zero = (np.zeros(n) for _ in range(5))
    face = np.zeros(n, np.int64)
    geo = geometry(theta, first, first)
    _, _, free, _ = dual.bout(gram, y, p, geo, u, v, ku, kv, zero, zero, face, ball.SWEEPS, 0.0)
    return (gram, y, p), [np.array([first, first]), u, v, ku, kv, face], ball.SIGMA_FIRST / (n * first), free


@pytest.mark.parametrize(("radius", "theta"), [(8.0, 0.3), (20.0, 0.2), (300.0, 0.25)])
def test_both_ways_end_at_the_same_value(radius: float, theta: float) -> None:
    (gram, y, p), state, sigma, free = start(radius, theta)
    assert free >= dual.COARSE_FROM  # else the factor would not be used
    assert pivoted_cholesky(gram, len(y) // 4, ball.COARSE_TRACE)[1] > 0
    none, (upper, _, lower), steps = np.empty((0, 4, 0)), np.empty((3, 1)), np.empty(1, np.int64)
    ball_block(gram, y, theta, p[None], radius, TOL, 5000, ball.TOGETHER, none, 0, 1, upper, upper.copy(), lower, steps)
    none = np.empty((len(y), 0))
    plain = ball.turns(gram, none, y, p, theta, radius, *state, sigma, TOL, 5000)
    assert upper[0] - lower[0] <= TOL
    assert plain[4] - plain[5] <= TOL
    assert max(lower[0], plain[5]) <= min(upper[0], plain[4]) + 1e-14


def test_a_factor_that_is_wrong_is_noticed_and_left() -> None:
    (gram, y, p), state, sigma, _ = start(8.0, 0.3)
    factor, _ = pivoted_cholesky(gram, len(y) // 4, ball.COARSE_TRACE)
    before = [part.copy() for part in state]
    steps = ball.turns(gram, 0.1 * factor, y, p, 0.3, 8.0, *state, sigma, ball.COARSE_LEFT, 5000)[6]
    assert steps > 0
    # The step is taken back: where the turns on K itself go on from is the place where they began.
    for part, old in zip(state, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_the_penalised_form_ends_at_the_same_value_with_a_factor_and_without() -> None:
    (gram, y, p), _, _, _ = start(8.0, 0.3)
    n, c, p = len(y), 0.1, np.ones(len(y))
    geo, zero, face = geometry(0.3, c, c), np.zeros(n), np.zeros(n, np.int64)
    u, v, ku, kv = (np.zeros(n) for _ in range(4))
    _, _, free, _ = dual.bout(gram, y, p, geo, u, v, ku, kv, zero, zero, face, dual.SWEEPS, 0.0)
    assert free >= dual.COARSE_FROM  # else the factor would not be used
    assert pivoted_cholesky(gram, min(dual.COARSE_RANK, int(dual.COARSE_SHARE * free)), dual.COARSE_TRACE)[1] > 0
    *_, gap, value, _ = dual.maximise(gram, y, p, geo, zero, zero, TOL, 5000, np.zeros(n, np.int64))
    none, sigma = np.empty((n, 0)), dual.SIGMA_START * n / np.trace(gram)
    rest, plain, _, _ = dual.proximal(gram, none, y, p, geo, u, v, ku, kv, zero, zero, face, sigma, TOL, 5000)
    assert max(gap, rest) <= TOL * value
    assert max(value, plain) <= min(value + gap, plain + rest) + 1e-12 * value
