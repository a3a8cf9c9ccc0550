"""The solver's own Cholesky factorisation, against LAPACK's, at sizes around its blocks."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.rejection.linalg import BLOCK, cholesky, cholesky_solve

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
