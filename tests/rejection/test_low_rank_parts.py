"""Compiled parts of the low-rank path against slow ways: powers, Gaussian values, forms, sweeps row by row."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exml_sim import kernels
from exml_sim._internal.compiled import compiled
from exml_sim.rejection import factorise
from exml_sim.rejection._loops import STRIP, gaussian_cross, gaussian_forms, in_columns, room, scale, shuffle
from exml_sim.rejection._lowrank import DualIterate, _Bouts
from exml_sim.rejection._simd import WIDTH, load, power_of_two, store
from exml_sim.rejection._triangle import geometry, project, shape

from .problems import table


@compiled
def powers(t, out):
    for j in range(0, len(t), WIDTH):
        store(out, j, power_of_two(load(t, j), 0.0))


class TestStreaming:
    @given(st.lists(st.floats(-980.0, 0.0), min_size=8, max_size=8))
    def test_powers_of_two(self, exponents: list[float]) -> None:
        out = np.empty(8)
        powers(np.array(exponents), out)
        for x, value in zip(exponents, out, strict=True):
            with mpmath.workdps(40):
                true = mpmath.power(2, mpmath.mpf(x))
                assert abs(mpmath.mpf(float(value)) / true - 1) <= 4.5e-16
        powers(np.array([-5000.0, -np.inf, np.nan, -1e300, 0.0, 1e-9, 5.0, np.inf]), out)
        assert np.all((out[:4] >= 0.0) & (out[:4] <= 1e-300))
        np.testing.assert_array_equal(out[4:], 1.0)

    @pytest.mark.parametrize("m", [1, 2, STRIP, STRIP + 1, 3 * STRIP + 17])
    def test_forms(self, m: int) -> None:
        rng = np.random.default_rng(m)
        X = rng.normal(size=(m, 6))
        a, c = rng.normal(size=(2, m))
        columns, lengths = in_columns(*scale(X, np.zeros(6), 5.0), STRIP)
        K = kernels.gaussian(X, gamma=5.0)
        a_filled, c_filled = (np.append(x, np.zeros(len(lengths) - m)) for x in (a, c))
        rows = np.ascontiguousarray(-2.0 * columns.T)
        result = gaussian_forms(rows, lengths, columns, lengths, a_filled, c_filled)
        np.testing.assert_allclose(result, [a @ K @ a, c @ K @ c], rtol=1e-10, atol=1e-11 * m)

    @pytest.mark.parametrize(("m", "n", "d"), [(1, 1, 1), (7, 5, 3), (16, 8, 1), (33, 70, 12)])
    def test_values(self, m: int, n: int, d: int) -> None:
        rng = np.random.default_rng(m)
        X, Z = 100.0 + rng.normal(size=(m, d)), 100.0 + rng.normal(size=(n, d))
        true = kernels.gaussian(X, Z, gamma=2.0)
        np.testing.assert_allclose(gaussian_cross(X, Z, 2.0), true, rtol=1e-13)
        space = np.full(room(m, n) + 3, np.nan)
        result = gaussian_cross(X, Z, 2.0, space)
        np.testing.assert_array_equal(result, gaussian_cross(X, Z, 2.0))
        assert np.shares_memory(result, space)
        assert np.all(np.isnan(space[room(m, n) :]))

    def test_lengths_beyond_all_floats(self) -> None:
        X = np.array([[0.0], [1e99]])
        np.testing.assert_array_equal(gaussian_cross(X, X, 1e-200), np.eye(2))


@pytest.mark.parametrize("scale", [1.0, 1e30])
@pytest.mark.parametrize("sweeps", [1, 4])
def test_sweeps_are_maximisations_row_by_row(sweeps: int, scale: float) -> None:
    """Against a plain loop in double precision; weights and kernels of any size."""
    X, y = table(90, 4)
    values, p = factorise(X, rank=25).values / np.sqrt(scale), scale * (1.0 + np.arange(90) % 3)
    geo = geometry(0.3, 0.1, 0.2)
    bouts = _Bouts(values, y, p, geo)
    zeros = [np.zeros(90), np.zeros(90), np.zeros((25, 2)), np.zeros(90), np.zeros(90)]
    point = DualIterate(*zeros, np.zeros(90, np.int64))
    order, state = np.arange(90), bouts.state.copy()
    z, faces, count, gap = np.zeros((90, 2)), np.zeros(90, np.int64), 90, 0.0
    K, c = values @ values.T, np.array([geo[3], geo[4]])
    for sweep in range(sweeps):
        last = sweep == sweeps - 1
        count = 90 if last else count
        shuffle(order, count, state)
        visited = order[:count].tolist()
        for i in visited:
            flip = np.array([y[i], 1.0])  # the triangle of a row with label -1 is mirrored
            slope = c - flip * (K[i] @ z)
            if last:
                best = max(0.0, slope @ [geo[0], -geo[1]], slope @ [0.0, geo[2]])
                gap += p[i] * best - slope @ (flip * z[i])
            u, v, faces[i] = project(*(flip * z[i] + slope / K[i, i]) / p[i], shape(geo))
            z[i] = flip * p[i] * np.array([u, v])
        # Rows off the corners come to the front, in the way that the compiled sweep exchanges them.
        kept = 0
        for k, i in enumerate(visited):
            if faces[i] > 2:
                order[k], order[kept] = order[kept], i
                kept += 1
        count = kept
    guess, moved = bouts.run(point, sweeps)
    size = np.max(np.abs(z))
    np.testing.assert_allclose(np.column_stack([point.u, point.v]) / size, z / size, atol=1e-4)
    np.testing.assert_allclose(point.image, values.T @ np.column_stack([point.u, point.v]), rtol=1e-4, atol=1e-4 * size)
    assert guess == pytest.approx(gap, rel=1e-4)
    assert 0 < moved <= 90
    assert bouts.active == count
