"""The solver's own linear algebra against LAPACK's and numpy's, at sizes around its blocks; its projections."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim._internal.compiled import compiled
from exml_sim.rejection._linalg import (
    SCRATCH,
    add_rows,
    cholesky,
    cholesky_solve,
    exact_product,
    pad,
    padded,
)
from exml_sim.rejection._triangle import CORNER_B, INSIDE, geometry, nearest, project, shape

SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 19, 31, 33, 67, 131]


def matrix(n: int) -> np.ndarray:
    root = np.random.default_rng(n).normal(size=(n, n))
    return root @ root.T / n + 0.1 * np.eye(n)


def room(wanted: np.ndarray) -> np.ndarray:
    """A matrix with the room that a factorisation asks for; what it must not read is not a number."""
    n = len(wanted)
    filled = np.full((padded(n), padded(n) + SCRATCH), np.nan)
    filled[:n, :n] = np.where(np.tri(n, k=-1) > 0, np.nan, wanted)
    return filled


@pytest.mark.parametrize("n", SIZES)
def test_factor_and_solution_are_those_of_lapack(n: int) -> None:
    wanted = matrix(n)
    system = room(wanted)
    size = pad(system, n)
    assert cholesky(system, size)
    factor = np.triu(system[:n, :n])
    np.testing.assert_allclose(factor.T, np.linalg.cholesky(wanted), rtol=1e-10, atol=1e-12)
    rhs = np.zeros(size)
    rhs[:n] = np.arange(1.0, n + 1.0)
    x = rhs.copy()
    cholesky_solve(system, x, size)
    np.testing.assert_allclose(wanted @ x[:n], rhs[:n], rtol=1e-8)
    np.testing.assert_array_equal(x[n:], 0.0)


@pytest.mark.parametrize("n", SIZES)
def test_an_indefinite_matrix_is_turned_down(n: int) -> None:
    for row in {0, n // 2, n - 1}:
        bad = matrix(n)
        bad[row, row] = -1.0
        system = room(bad)
        assert not cholesky(system, pad(system, n))


@pytest.mark.parametrize("n", SIZES)
def test_products_of_four_rows_at_a_time_are_those_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    block = rng.normal(size=(n, n + 2))
    s, t = rng.normal(size=n) * (rng.random(n) < 0.6), rng.normal(size=n) * (rng.random(n) < 0.3)
    x, y = rng.normal(size=(2, n + 2))
    wanted = x + s @ block, y + t @ block
    add_rows(block, s, t, x, y)
    np.testing.assert_allclose((x, y), wanted, atol=1e-12)


@compiled
def projections(q, corners, result, faces):  # type: ignore[no-untyped-def]
    for i in range(len(q)):
        result[0, i, 0], result[0, i, 1], faces[0, i] = project(q[i, 0], q[i, 1], corners)
        result[1, i, 0], result[1, i, 1], faces[1, i] = nearest(q[i, 0], q[i, 1], corners)


@pytest.mark.parametrize("theta", [0.01, 0.3, 0.49])
def test_projections_are_the_nearest_points_of_the_triangle(theta: float) -> None:
    geo = geometry(theta, 0.7, 0.4)
    a1, a2, b2 = geo[:3]
    corners = np.array([[0.0, 0.0], [a1, -a2], [0.0, b2]])
    rng = np.random.default_rng(0)
    q = rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-2.0, 6.0, (4000, 1)) * max(a1, b2)
    q[:500] = rng.dirichlet(np.ones(3), 500) @ corners
    result, faces = np.empty((2, len(q), 2)), np.empty((2, len(q)), np.int64)
    projections(q, shape(geo), result, faces)
    np.testing.assert_array_equal(faces[0], faces[1])
    np.testing.assert_allclose(result[0], result[1], rtol=1e-12, atol=1e-14)
    assert set(faces[0]) == set(range(INSIDE + 1))
    # x is nearest if and only if no corner lies ahead of it in the direction of q; every x is feasible.
    ahead = np.einsum("nd,nkd->nk", q - result[0], corners[None] - result[0][:, None])
    assert np.all(
        ahead <= 1e-9 * np.linalg.norm(q - result[0], axis=1)[:, None] * np.linalg.norm(corners, axis=1).max()
    )
    shares = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), np.vstack([result[0].T, np.ones(len(q))]))
    assert shares.min() > -1e-12
    at = np.flatnonzero(faces[0] <= CORNER_B)
    np.testing.assert_array_equal(result[0][at], corners[faces[0][at]])


def test_exact_products_are_those_of_rational_arithmetic() -> None:
    rng = np.random.default_rng(0)
    gram = matrix(12)
    gram = (gram + gram.T) / 2.0
    a = rng.normal(size=12) * 10.0 ** rng.uniform(0.0, 12.0, 12)
    a[3] = 0.0
    a[0] -= gram[0] @ a / gram[0, 0]  # nearly nothing is left of the first value
    exact = [sum(Fraction(k) * Fraction(x) for k, x in zip(row, a, strict=True)) for row in gram.tolist()]
    square = sum(Fraction(x) * value for x, value in zip(a.tolist(), exact, strict=True))
    values, total = exact_product(gram, a)
    scale = float(np.max(np.abs(gram) @ np.abs(a)))
    for value, wanted in zip(values.tolist(), exact, strict=True):
        assert abs(Fraction(value) - wanted) <= abs(wanted) * Fraction(2.3e-16) + Fraction(1e-29 * scale)
    assert abs(Fraction(total) - square) <= abs(square) * Fraction(5e-16)
    # Plain arithmetic does not stand this test.
    assert abs(Fraction(float(gram[0] @ a)) - exact[0]) > abs(exact[0]) * Fraction(1e-8)
