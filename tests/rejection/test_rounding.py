"""Certificates hold in exact arithmetic, recomputed in rational numbers from the returned model and dual point.

Gram matrices x x' of dyadic x are exact in floating point and exactly positive semidefinite, of rank one and badly
scaled: coefficients become large and cancel, which is where rounding can turn a bound false.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exml_sim.rejection import ConvergenceWarning, RejectionClassifier, solve, solve_batch
from fuzz.matrices import check_certificate


@st.composite
def rank_one(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    m = draw(st.integers(2, 6))
    centre = draw(st.sampled_from([0, 4, 64, 512, 4096]))
    x = centre + np.array(draw(st.lists(st.integers(-16, 16), min_size=m, max_size=m))) / 8
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=m, max_size=m)))
    return x, y, draw(st.sampled_from([0.125, 0.25, 0.375]))


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=300)
@given(rank_one(), st.integers(-8, 6), st.booleans())
def test_bounds_are_true(case: tuple[np.ndarray, np.ndarray, float], exponent: int, over_the_ball: bool) -> None:
    x, y, theta = case
    gram, size = np.outer(x, x), 2.0**exponent
    form = {"ball": size} if over_the_ball else {"penalty": (size, size)}
    solution = solve(gram, y, theta, method="dual", **form)
    check_certificate(gram, y, theta, np.ones(len(x)), form, solution)
    assert solution.gap >= 0.0
    # Both ways of asking enclose the same optimum.
    batch = solve_batch(gram, y, theta, np.ones((1, len(x))), **form)
    assert batch.lower_bound[0] <= solution.objective
    assert solution.lower_bound <= batch.objective[0]


def test_a_negative_gap_is_gone() -> None:
    """Summed up plainly, the loss at the solution of this problem came out 3.8e-6 below the lower bound."""
    x, y = np.array([512.25, 512, 510.875, 514]), np.array([1.0, -1, 1, 1])
    assert solve(np.outer(x, x), y, 0.25, ball=4.0).gap >= 0


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
def test_affine_batches_know_their_rounding() -> None:
    """Weights that cancel exactly: the closed form holds the root of a difference of equal sums."""
    x = np.array([1.0, 2.0, -3.0, 5.0, -5.0])
    weights = np.array([[1.0, 1.0, 1.0, 2.0, 2.0]])
    batch = solve_batch(np.outer(x, x) / 32, np.ones(5), 0.25, weights, ball=0.4)
    assert batch.method == "affine"
    assert batch.lower_bound[0] <= 1.0 <= batch.objective[0]


@pytest.mark.parametrize("weights", [[1e-310, 1e-310], [1e308, 1e308], [1e-150, 1e-150]])
def test_weights_out_of_range_are_refused(weights: list[float]) -> None:
    for call in (
        lambda: solve(np.eye(2), [1, -1], 0.2, weights=weights, penalty=(1, 1)),
        lambda: solve_batch(np.eye(2), [1, -1], 0.2, [weights], ball=1.0),
    ):
        with pytest.raises(ValueError, match="the largest weight must lie between 1e-100 and 1e100"):
            call()


def test_negligible_weights_do_no_harm() -> None:
    result = solve(np.eye(2), [1, -1], 0.2, weights=[1, 1e-320], penalty=(1, 1))
    two = solve(np.eye(2), [1, -1], 0.2, weights=[1, 0], penalty=(1, 1))
    assert result.objective == pytest.approx(two.objective)
    assert np.isfinite(result.gap)


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
def test_auto_asks_the_reference_where_the_fast_solver_gives_up() -> None:
    hard = 1e4 * np.ones((6, 6))
    labels = [1, -1] * 3
    solution = solve(hard, labels, 0.2, penalty=(1e-3, 1e-3))
    assert solution.gap <= 1e-6 * solution.objective
    # The reference itself may fail; the answer that is there is kept.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = solve_batch(1e-30 * np.eye(3), [1, -1, 1], 0.2, np.ones((1, 3)), ball=2e15)
    assert kept.lower_bound[0] <= kept.objective[0]


def test_normalised_sample_weights_keep_the_bandwidth() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = [0, 1] * 10
    plain = RejectionClassifier().fit(X, y).gamma_
    assert RejectionClassifier().fit(X, y, sample_weight=np.full(20, 1 / 20)).gamma_ == pytest.approx(plain)


def test_score_with_a_hidden_label_of_another_type() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array([0, 1] * 15)
    model = RejectionClassifier(theta=0.1, hidden_label="hidden").fit(X, y)
    assert model.score(X, y) == pytest.approx(np.mean([p == t for p, t in zip(model.predict(X), y, strict=True)]))
    with pytest.raises(ValueError, match="hidden_label must be one label"):
        RejectionClassifier(hidden_label=("a", "b")).fit(X, y)


@pytest.mark.parametrize("far", [1e5, 1e6, 1e8])
def test_one_cell_far_outside_leaves_the_low_rank_model_as_good_as_the_exact_one(far: float) -> None:
    """Its allowance for rounding may exceed the objective; the model must not be given up for that."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=600) > 0, 1, 0)
    Z = X.copy()
    Z[0, 0] = far
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        low = RejectionClassifier(theta=0.2, rank=150).fit(Z, y)
    exact = RejectionClassifier(theta=0.2, rank=None).fit(Z, y)
    assert np.mean(low.predict(X) == y) >= np.mean(exact.predict(X) == y) - 0.02
    assert np.abs(low.decision_function(X)).max() > 0.1
    assert low.solution_.lower_bound <= exact.solution_.objective
    assert exact.solution_.lower_bound <= low.solution_.objective


def test_no_model_over_the_ball_is_worse_than_none():
    """Where rounding takes a model away, h = g = 0 is left, which costs 1; and the bound is said to be wide."""
    gram = np.kron(np.eye(3), np.ones((40, 40))) * 4.0**6
    y = np.tile(np.r_[np.ones(20), -np.ones(20)], 3)
    with pytest.warns(ConvergenceWarning):
        result = solve(gram, y, 0.45, ball=1e5, method="dual")
    assert result.objective <= 1.0 + 1e-12
    loss = np.maximum(np.maximum(1.0 + 0.5 * (result.g - y * result.h), 0.45 * (1.0 - 10.0 * result.g)), 0.0)
    assert result.objective >= float(np.mean(loss)) - 1e-12


def test_the_upper_bound_over_the_ball_allows_for_the_rounding_of_its_sum():
    """A problem whose optimum is a fraction: the sum over 144 rows once ended 8e-16 below it."""
    theta = Fraction(0.499999)
    optimum = 1 - (1 - theta) / (Fraction(1, 2) + theta / (1 - 2 * theta)) / 2
    gram = np.kron(np.eye(4), np.ones((36, 36)))
    y = np.tile(np.r_[np.ones(18), -np.ones(18)], 4)
    result = solve(gram, y, float(theta), ball=4.203836542180523, method="dual")
    assert Fraction(result.lower_bound) <= optimum <= Fraction(result.objective)


def test_bounds_of_two_solvers_are_in_order_where_the_matrix_is_positive_up_to_rounding_alone():
    """A Gram matrix of rank one: the reference's model was 5e-10 below the bound of the fast solver."""
    for seed in (13, *range(12)):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(6, 1)), rng.choice([-1, 1], 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = solve(X @ X.T, y, 0.2, ball=1000.0)
            many = solve_batch(X @ X.T, y, 0.2, np.ones((1, 6)), ball=1000.0)
        assert result.lower_bound <= result.objective
        assert result.gap >= 0.0
        assert many.lower_bound[0] <= many.objective[0]


@pytest.mark.filterwarnings("error")
def test_a_diagonal_entry_below_zero_by_rounding_gives_finite_bounds() -> None:
    scores = solve_batch(np.diag([1.0, -1e-12]), [1, -1], 0.1, [[1, 1], [0, 1]], ball=0.5)
    assert np.isfinite([scores.lower_bound, scores.objective]).all()
    assert (scores.lower_bound <= scores.objective).all()


def test_both_solvers_certify_the_same_matrix_where_the_given_one_is_symmetric_up_to_rounding() -> None:
    """Before, the score of the batch was 1.3e-10 below the lower bound of the single problem."""
    gram = [[1.0, 0.5 + 4e-9], [0.5 - 4e-9, 1.0]]
    for _ in range(2):  # the second time the matrix is a known one
        single, batch = solve(gram, [1, -1], 0.1, ball=0.3), solve_batch(gram, [1, -1], 0.1, [[1, 1]], ball=0.3)
        assert batch.objective[0] >= single.lower_bound
        assert single.objective >= batch.lower_bound[0]
