"""The solver's own Cholesky factorisation, against LAPACK's, at sizes around its blocks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.rejection.linalg import BLOCK, cholesky, cholesky_solve, exact_product

SIZES = [1, 2, 3, 4, 5, 7, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 3, 131]


def matrix(n: int) -> np.ndarray:
    root = np.random.default_rng(n).normal(size=(n, n))
    return root @ root.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_factor_and_solution_are_those_of_lapack(n: int) -> None:
    wanted = matrix(n)
    room = np.full((n + 3, n + 3), np.nan)  # what lies outside the leading block is never read
    room[:n, :n] = wanted
    assert cholesky(room, n)
    factor = np.tril(room[:n, :n])
    np.testing.assert_allclose(factor, np.linalg.cholesky(wanted), rtol=1e-10, atol=1e-12)
    rhs = np.arange(1.0, n + 1.0)
    x = rhs.copy()
    cholesky_solve(room, x, n)
    np.testing.assert_allclose(wanted @ x, rhs, rtol=1e-8)


@pytest.mark.parametrize("n", SIZES)
def test_an_indefinite_matrix_is_turned_down(n: int) -> None:
    for row in {0, n // 2, n - 1}:
        bad = matrix(n)
        bad[row, row] = -1.0
        assert not cholesky(bad, n)


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
