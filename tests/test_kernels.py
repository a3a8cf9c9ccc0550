"""Kernels and bandwidths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exml_sim import kernels


def direct_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.array([[np.sum((x - z) ** 2) for z in Z] for x in X])


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e6]))
def test_distances_survive_a_far_origin(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(6, 3)) + shift, rng.normal(size=(4, 3)) + shift
    np.testing.assert_allclose(kernels.squared_distances(X, Z), direct_distances(X, Z), rtol=1e-7, atol=1e-8)
    own = kernels.squared_distances(X)
    assert np.array_equal(own, own.T)
    assert np.array_equal(np.diag(own), np.zeros(6))


def test_median_over_pairs_by_hand() -> None:
    # Points 0, 1, 3: squared distances 1, 9, 4.
    assert kernels.median_gamma([[0.0], [1.0], [3.0]]) == 4.0
    K = kernels.gram([[0.0], [1.0], [3.0]])
    assert K[0, 2] == pytest.approx(np.exp(-9 / 4))


@given(st.integers(0, 10**6))
def test_weights_are_repetitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    weights = rng.integers(0, 4, size=7)
    repeated = np.repeat(X, weights, axis=0)
    try:
        expected = kernels.median_gamma(repeated) if len(repeated) else None
    except kernels.DegenerateMedianError:
        expected = None
    if expected is None:
        with pytest.raises(kernels.DegenerateMedianError):
            kernels.median_gamma(X, weights)
    else:
        assert kernels.median_gamma(X, weights) == pytest.approx(expected, rel=1e-12)


def test_degenerate_median() -> None:
    with pytest.raises(kernels.DegenerateMedianError, match="more than half of all pairs of rows are duplicates"):
        kernels.median_gamma([[1.0], [1.0], [1.0], [1.0], [2.0]])
    with pytest.raises(kernels.DegenerateMedianError, match="at least 2 rows"):
        kernels.median_gamma([[1.0]])


@pytest.mark.parametrize("far", [1e7, 1e9, 1e12, 1e60])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_cell_far_outside_is_no_reason_to_give_the_median_up(far: float, weighted: bool) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    weights = np.ones(60) if weighted else None
    before = kernels.median_gamma(X, weights)
    X[0, 0] = far
    assert kernels.median_gamma(X, weights) == pytest.approx(before, rel=0.1)


def test_rows_that_are_equal_up_to_rounding_have_no_median() -> None:
    """Two heaps whose rows differ in the last digit: a bandwidth of 1e-32 would make noise of the kernel."""
    heaps = np.repeat([[0.3, 1.0], [0.9, -1.0]], [30, 10], axis=0)
    heaps[::2, 0] += 1e-16
    with pytest.raises(kernels.DegenerateMedianError, match="duplicates, up to rounding"):
        kernels.median_gamma(heaps)


def test_gamma_as_number_or_callable() -> None:
    X = np.array([[0.0], [1.0]])
    assert kernels.gram(X, gamma=2.0)[0, 1] == pytest.approx(np.exp(-0.5))
    assert kernels.gram(X, gamma=lambda rows: 4.0 * len(rows))[0, 1] == pytest.approx(np.exp(-1 / 8))


def test_linear_and_own_kernels() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(kernels.gram(X, "linear"), [[5, 11], [11, 25]])
    own = kernels.gram(X, lambda A, B: A @ B.T + 1.0)
    np.testing.assert_array_equal(own, [[6, 12], [12, 26]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.gram([[1.0]], "cubic"), "unknown kernel 'cubic': allowed are 'gaussian', 'linear'"),
        (lambda: kernels.gram([[1.0], [2.0]], gamma="mean"), "gamma must be 'median' or a number above 0; got 'mean'"),
        (lambda: kernels.gram([[1.0], [2.0]], gamma=0.0), "gamma must be a finite number above 0; got 0.0"),
        (lambda: kernels.gram([[1.0], [2.0]], gamma=lambda X: -1.0), r"gamma\(X\) must be a finite number above 0"),
        (lambda: kernels.gram([1.0, 2.0]), r"X must be a matrix .* got shape \(2,\)"),
        (lambda: kernels.gram([[np.nan]]), "X must be finite; 1 of 1 values"),
        (lambda: kernels.gram([[1e200], [2.0]]), r"X must be numbers of at most 1e\+100 in size; got 1e\+200"),
        (lambda: kernels.linear([[1.0]], [[-1e200]]), r"Z must be numbers of at most 1e\+100 in size; got -1e\+200"),
        (lambda: kernels.linear([[1.0]], [[1.0, 2.0]]), "same number of columns; got 1 and 2"),
        (lambda: kernels.gram([[1.0], [2.0]], lambda A, B: np.ones((1, 1))), "the kernel must return shape"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("far", [1e3, 1e6, 1e8])
def test_one_cell_far_outside_does_not_spoil_the_distances_of_the_others(far):
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[0, 0] = far
    slow = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(kernels.squared_distances(X)[1:, 1:], slow[1:, 1:], atol=1e-12)
    # Moved to the mean, which the cell draws away, they are wrong.
    moved = X - X.mean(axis=0)
    squares = (moved**2).sum(axis=1)
    spoiled = squares[:, None] + squares[None, :] - 2.0 * moved @ moved.T
    assert far < 1e6 or np.abs(spoiled - slow)[1:, 1:].max() > 1e-10


def test_ordinary_rows_are_moved_to_their_mean():
    X = np.random.default_rng(1).standard_t(3, size=(200, 4))
    np.testing.assert_array_equal(kernels.centre(X), X.mean(axis=0))
