"""Bad input of the solver: each kind its own clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exml_sim.rejection import solve, solve_batch
from exml_sim.rejection._batch import tidy_weights

K = np.array([[1.0, 0.5], [0.5, 1.0]])
GOOD: dict[str, Any] = {"gram": K, "y": [1, -1], "theta": 0.2, "penalty": (1.0, 1.0)}
# Positive 2 x 2 minors everywhere, and yet an eigenvalue of -0.2.
SUBTLE = np.full((3, 3), -0.6) + 1.6 * np.eye(3)

BAD = [
    ({"theta": 0.0}, r"theta must lie in the open interval \(0, 0.5\); got 0.0"),
    ({"theta": 0.5}, "theta must lie in"),
    ({"theta": float("nan")}, "theta must lie in"),
    ({"theta": [0.1, 0.2]}, "theta must be one number"),
    ({"theta": "a"}, "theta must be real numbers"),
    ({"y": [0, 1]}, r"labels must be -1 or \+1; got 0.0"),
    ({"y": [1, float("nan")]}, "labels must be"),
    ({"y": ["a", "b"]}, "y must be real numbers"),
    ({"y": [1, -1, 1]}, "one label for each of the 2 rows"),
    ({"gram": np.ones((2, 3))}, r"must be square with at least one row; got shape \(2, 3\)"),
    ({"gram": np.ones(2)}, "must be square"),
    ({"gram": np.ones((0, 0)), "y": []}, "at least one row"),
    ({"gram": [["a", "b"], ["c", "d"]]}, "the Gram matrix must be real numbers"),
    ({"gram": np.array([[1, 1j], [-1j, 1]])}, "the Gram matrix must be real numbers"),
    ({"gram": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "must be finite"),
    ({"gram": np.array([[1.0, np.inf], [np.inf, 1.0]])}, "must be finite"),
    ({"gram": np.array([[1.0, 0.5], [0.4, 1.0]])}, "must be symmetric; entries differ by up to 0.1"),
    ({"gram": np.array([[1.0, 2.0], [2.0, 1.0]])}, "positive semidefinite; its smallest eigenvalue is -1"),
    ({"gram": SUBTLE, "y": [1, -1, 1]}, r"smallest eigenvalue is -0\.2"),
    ({"weights": [1.0]}, "one entry for each of the 2 rows"),
    ({"weights": [1.0, -1.0]}, r"weights must not be negative; got -1\.0"),
    ({"weights": [0.0, 0.0]}, "weights must not all be zero"),
    ({"weights": [1.0, np.inf]}, "weights must be finite"),
    ({"ball": 1.0}, "exactly one of penalty=.* and ball=Lambda; got both"),
    ({"penalty": None}, "exactly one of penalty=.* and ball=Lambda; got neither"),
    ({"penalty": (0.0, 1.0)}, r"C_h must be a finite number above 0; got 0\.0"),
    ({"penalty": (1.0, -2.0)}, "C_g must be a finite number above 0"),
    ({"penalty": 1.0}, r"penalty must be a pair \(C_h, C_g\); got 1.0"),
    ({"penalty": (1.0, 1.0, 1.0)}, "penalty must be a pair"),
    ({"penalty": None, "ball": 0.0}, "ball must be a finite number above 0"),
    ({"penalty": None, "ball": "big"}, "ball must be a finite number above 0; got 'big'"),
    ({"tol": 0.0}, "tol must be a finite number above 0"),
    ({"method": "magic"}, "unknown method 'magic': allowed are 'auto', 'dual', 'cvxpy'"),
    ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_solve_says_what_is_wrong(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(**{**GOOD, **change})


def test_the_good_arguments_are_good() -> None:
    assert solve(**GOOD).gap < 1e-7


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 1], r"shape \(trials, 2\)"),
        (np.ones((0, 2)), "at least one trial"),
        ([[1, 1, 1]], r"shape \(trials, 2\)"),
        ([[1, -1]], "counts must not be negative"),
        ([[1, 1], [0, 0]], "trial 1 is empty"),
        ([[1, np.nan]], "counts must be finite"),
    ],
)
def test_solve_batch_says_what_is_wrong(counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve_batch(K, [1, -1], 0.2, counts, penalty=(1.0, 1.0))


def test_a_changed_gram_matrix_is_checked_again() -> None:
    """The memory of matrices that passed goes by contents: changing one in place does not smuggle it through."""
    gram = np.eye(3)
    solve(gram, [1, -1, 1], 0.2, penalty=(1.0, 1.0))
    gram[0, 1] = gram[1, 0] = 3.0
    with pytest.raises(ValueError, match="positive semidefinite"):
        solve(gram, [1, -1, 1], 0.2, penalty=(1.0, 1.0))


def test_jobs() -> None:
    with pytest.raises(ValueError, match="n_jobs must be a positive whole number or -1"):
        solve_batch(K, [1, -1], 0.2, [[1, 1]], penalty=(1.0, 1.0), n_jobs=0)


@given(
    hnp.arrays(
        np.float64,
        (3, 4),
        elements=st.sampled_from([0.0, 1.0, 2.5, 1e-120, 1e-100, 1e100, 1e101, np.nan, np.inf, -1.0]),
    )
)
def test_the_compiled_check_of_counts_agrees_with_numpy(counts: np.ndarray) -> None:
    largest = counts.max(axis=1, keepdims=True)
    usable = bool(np.all(counts >= 0.0) and np.all((largest >= 1e-100) & (largest <= 1e100)))
    tidy = np.empty_like(counts)
    assert tidy_weights(counts, 1e-100, 1e-100, tidy) == usable
    if usable:
        np.testing.assert_array_equal(tidy, np.where(counts > 1e-100 * largest, counts, 0.0))
