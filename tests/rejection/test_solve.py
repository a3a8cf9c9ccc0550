"""The fast solver: against the reference, by its certificate, under symmetries, in closed-form cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exml_sim import kernels
from exml_sim.datasets.synthetic import draw_rows
from exml_sim.rejection import ConvergenceWarning, Solution, solve, solve_batch
from fuzz.matrices import check_certificate, to_rationals

from .problems import Case, cases, penalties, radii

# Every assertion about a value allows for the two certificates and for the rounding of sums of about this many terms.
ROUNDING = 1e-12


def exact_norm(gram: np.ndarray, a: np.ndarray) -> float:
    """Root of a' gram a in exact arithmetic: large coefficients on a nearly singular matrix cancel."""
    square = to_rationals(a) @ to_rationals(gram) @ to_rationals(a)
    return float(max(int(square.p) / int(square.q), 0.0)) ** 0.5


def check_solution(case: Case, solution: Solution, form: dict[str, Any]) -> None:
    """Check all parts of a solution against each other; bounds in rational numbers."""
    # A Gram matrix in floating point is positive semidefinite up to rounding only.
    slack = 1e-9 * (1.0 + abs(solution.objective))
    check_certificate(case.gram, case.y, case.theta, case.weights, form, solution, slack)
    # Coefficients on a nearly singular Gram matrix may be large and cancel: so does the rounding of gram @ u.
    h, g = case.gram @ solution.u, case.gram @ solution.w
    rounding = 1e-9 + 1e-15 * float(np.max(np.abs(case.gram) @ (np.abs(solution.u) + np.abs(solution.w))))
    np.testing.assert_allclose(solution.h, h, atol=rounding * (1 + np.abs(h).max()))
    np.testing.assert_allclose(solution.g, g, atol=rounding * (1 + np.abs(g).max()))
    risk = case.risk(h, g) / case.weights.sum()
    assert solution.risk == pytest.approx(risk, abs=rounding / (1.0 - 2.0 * case.theta))
    assert solution.gap == solution.objective - solution.lower_bound
    assert solution.lower_bound <= solution.objective
    assert np.all(np.minimum(solution.alpha, solution.beta) >= 0.0)


@settings(max_examples=150)
@given(cases(), penalties())
def test_penalised_reaches_the_gap_with_a_true_certificate(case: Case, penalty: tuple[float, float]) -> None:
    solution = solve(case.gram, case.y, case.theta, weights=case.weights, penalty=penalty)
    check_solution(case, solution, {"penalty": penalty})
    assert solution.gap <= 1e-8 * max(1.0, abs(solution.objective))


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=120)
@given(cases(), radii())
def test_ball_reaches_the_gap_inside_the_ball(case: Case, radius: float) -> None:
    solution = solve(case.gram, case.y, case.theta, weights=case.weights, ball=radius)
    check_solution(case, solution, {"ball": radius})
    assert solution.risk == solution.objective
    assert max(exact_norm(case.gram, a) for a in (solution.u, solution.w)) <= radius * (1 + 1e-12)
    # A Gram matrix of low rank carries its own rounding (see the notes of solve): a floor for balls that do not bind.
    kappa, bend = float(np.sqrt(np.max(np.diag(case.gram)))), case.theta / (1.0 - 2.0 * case.theta)
    floor = 2e-8 * kappa * radius * max(1.0, bend) if np.linalg.matrix_rank(case.gram) < len(case.y) else 0.0
    assert solution.gap <= 1e-8 * max(1.0, solution.objective) + floor


@pytest.mark.parametrize("field", ["u", "w", "objective", "lower_bound", "h", "alpha", "beta"])
def test_a_planted_error_breaks_the_certificate(field: str) -> None:
    """The check above is no formality: a wrong coefficient, bound or value does not pass it."""
    rows = draw_rows(20, rng=3)
    case = Case(kernels.gram(rows.points), rows.y, 0.2, np.ones(60))
    solution = solve(case.gram, case.y, case.theta, penalty=(1.0, 1.0))
    check_solution(case, solution, {"penalty": (1.0, 1.0)})
    # Without help from the reference the dual point and the model are one.
    np.testing.assert_allclose(solution.u, case.y * solution.alpha / 4.0, atol=1e-15)
    with pytest.raises(AssertionError):
        check_solution(case, replace(solution, **{field: getattr(solution, field) + 1e-4}), {"penalty": (1.0, 1.0)})


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=60)
@given(cases(max_rows=40), penalties())
def test_penalised_agrees_with_the_reference(case: Case, penalty: tuple[float, float]) -> None:
    fast, slow = (
        solve(case.gram, case.y, case.theta, weights=case.weights, penalty=penalty, tol=tol, method=method)
        for tol, method in ((1e-10, "auto"), (1e-8, "cvxpy"))
    )
    # The optimum lies in both intervals.
    slack = ROUNDING * (1.0 + fast.objective)
    assert fast.lower_bound <= slow.objective + slack
    assert slow.lower_bound <= fast.objective + slack
    # Strong convexity: C |h - h*|^2 <= gap, so both solutions are that close in norm, and at the rows up to kappa.
    kappa = float(np.sqrt(np.max(np.diag(case.gram))))
    for ours, theirs, c in ((fast.h, slow.h, penalty[0]), (fast.g, slow.g, penalty[1])):
        distance = np.sqrt(max(fast.gap, 0.0) / c) + np.sqrt(max(slow.gap, 0.0) / c)
        assert np.max(np.abs(ours - theirs)) <= kappa * distance + 1e-9 * (1 + np.abs(theirs).max())


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=40)
@given(cases(max_rows=30), radii())
def test_ball_agrees_with_the_reference(case: Case, radius: float) -> None:
    fast, slow = (
        solve(case.gram, case.y, case.theta, weights=case.weights, ball=radius, method=method)
        for method in ("dual", "cvxpy")
    )
    # Rounding of squared norms, as above, may favour either.
    slack = 1e-9 * (1.0 + radius * float(np.sqrt(np.max(np.diag(case.gram)))))
    assert fast.lower_bound <= slow.objective + slack
    assert slow.lower_bound <= fast.objective + slack


@pytest.mark.parametrize("theta", [0.05, 0.2, 0.375])
@pytest.mark.parametrize("dim", [2, 3])
def test_mean_loss_with_unit_penalty_rejects_everything(theta: float, dim: int) -> None:
    """Eq. 3 as printed has a closed form while kappa^2/(4C) <= 1 - 2 theta, and its gate is negative everywhere."""
    rows = draw_rows(100, rng=1)
    K, m = kernels.gram(rows.points[:, :dim]), 300
    solution = solve(K, rows.y, theta, penalty=(m, m), tol=1e-12)
    np.testing.assert_allclose(solution.h, K @ rows.y / (4 * m), atol=1e-7)
    np.testing.assert_allclose(solution.g, -K.sum(axis=1) / (4 * m), atol=1e-7)
    assert np.all(solution.g < 0)


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=60)
@given(cases(), penalties(), st.integers(0, 1000))
def test_symmetries(case: Case, penalty: tuple[float, float], seed: int) -> None:
    """Permuting rows permutes h and g; flipping labels flips h alone; scaling weights and C alike changes nothing."""
    tol = 1e-10
    order = np.random.default_rng(seed).permutation(len(case.y))
    triple = (3.0 * penalty[0], 3.0 * penalty[1])
    base, moved, flipped, scaled = (
        solve(gram, y, case.theta, weights=weights, penalty=pair, tol=tol)
        for gram, y, weights, pair in (
            (case.gram, case.y, case.weights, penalty),
            (case.gram[np.ix_(order, order)], case.y[order], case.weights[order], penalty),
            (case.gram, -case.y, case.weights, penalty),
            (case.gram, case.y, 3.0 * case.weights, triple),
        )
    )
    size = tol * max(1.0, base.objective) * 2 + ROUNDING * (1 + base.objective)
    assert moved.objective == pytest.approx(base.objective, abs=size)
    assert flipped.objective == pytest.approx(base.objective, abs=size)
    assert scaled.objective == pytest.approx(3.0 * base.objective, abs=5 * size)
    kappa = float(np.sqrt(np.max(np.diag(case.gram))))
    near_h, near_g = (2 * kappa * np.sqrt(size / c) + 1e-9 for c in penalty)
    np.testing.assert_allclose(moved.h, base.h[order], atol=near_h)
    np.testing.assert_allclose(flipped.h, -base.h, atol=near_h)
    np.testing.assert_allclose(flipped.g, base.g, atol=near_g)
    np.testing.assert_allclose(scaled.h, base.h, atol=2 * near_h)


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=40)
@given(cases(max_rows=15), penalties(), st.integers(0, 1000))
def test_counts_equal_repeated_rows(case: Case, penalty: tuple[float, float], seed: int) -> None:
    m = len(case.y)
    counts = np.random.default_rng(seed).integers(0, 4, size=m)
    counts[0] = max(counts[0], 1)
    rows = np.repeat(np.arange(m), counts)
    for form in ({"penalty": penalty}, {"ball": 2.0}):
        weighted = solve(case.gram, case.y, case.theta, weights=counts, **form)
        repeated = solve(case.gram[np.ix_(rows, rows)], case.y[rows], case.theta, **form)
        slack = 1e-9 * (1 + weighted.objective)
        assert weighted.lower_bound <= repeated.objective + slack
        assert repeated.lower_bound <= weighted.objective + slack
        if "penalty" in form:
            near = np.sqrt(np.diag(case.gram).max()) * sum(
                np.sqrt(max(s.gap, 0.0) / penalty[0]) for s in (weighted, repeated)
            )
            np.testing.assert_allclose(repeated.h, weighted.h[rows], atol=near + 1e-9)


def test_one_row_has_a_closed_form() -> None:
    """One row with K = 1, y = +1: for small weight the prediction piece alone, h = p/(4 C_h), g = -p/(4 C_g)."""
    p, c_h, c_g = 0.3, 0.5, 0.7
    solution = solve([[1.0]], [1.0], 0.2, weights=[p], penalty=(c_h, c_g), tol=1e-12)
    assert solution.h[0] == pytest.approx(p / (4 * c_h))
    assert solution.g[0] == pytest.approx(-p / (4 * c_g))
    assert solution.objective == pytest.approx(p - p**2 / (16 * c_h) - p**2 / (16 * c_g))


@pytest.mark.parametrize("theta", [0.1, 0.25, 0.4])
def test_affine_regime_matches_reference_and_ends_where_it_should(theta: float) -> None:
    rows = draw_rows(20, rng=5)
    K = kernels.gram(rows.points)
    edge = 1.0 - 2.0 * theta
    inside = solve(K, rows.y, theta, ball=edge * (1 - 1e-12))
    outside = solve(K, rows.y, theta, ball=edge * (1 + 1e-6))
    assert (inside.method, outside.method) == ("affine", "dual")
    mean_label = np.sqrt(rows.y @ K @ rows.y) / 60
    mean = np.sqrt(K.sum()) / 60
    assert inside.risk == pytest.approx(1 - edge / 2 * (mean_label + mean))
    assert outside.risk == pytest.approx(inside.risk, abs=1e-5)
    slow = solve(K, rows.y, theta, ball=0.7 * edge, method="cvxpy")
    assert slow.risk == pytest.approx(solve(K, rows.y, theta, ball=0.7 * edge).risk, abs=1e-7)


def test_balls_that_do_not_bind() -> None:
    """Far-apart rows: a large ball reaches loss zero; with contradicting duplicates it reaches a positive minimum."""
    K = np.eye(6)
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    assert solve(K, y, 0.2, ball=50.0).risk <= 1e-8
    pairs = np.kron(np.eye(3), np.ones((2, 2)))
    clash = solve(pairs, np.tile([1.0, -1.0], 3), 0.2, ball=50.0)
    # Each pair pays the surrogate's Bayes risk at even odds, theta (3 - 2 theta).
    assert clash.risk == pytest.approx(0.2 * (3 - 0.4), abs=1e-8)
    assert clash.gap <= 1e-8


def test_max_iter_gives_a_warning_and_an_honest_gap() -> None:
    rows = draw_rows(100, rng=0)
    K = kernels.gram(rows.points[:, :2])
    with pytest.warns(ConvergenceWarning, match="1 of 1 problems stopped short"):
        short = solve(K, rows.y, 0.3, penalty=(0.1, 0.1), max_iter=1, method="dual")
    full = solve(K, rows.y, 0.3, penalty=(0.1, 0.1))
    assert short.gap > 1e-8 * short.objective
    assert short.lower_bound <= full.objective
    assert full.lower_bound <= short.objective


class TestBatch:
    rows = draw_rows(30, rng=4)
    gram = kernels.gram(rows.points)
    counts = np.random.default_rng(0).multinomial(60, np.full(90, 1 / 90), size=40)

    @pytest.mark.parametrize("form", [{"penalty": (1.0, 0.5)}, {"ball": 4.0}, {"ball": 0.3}])
    def test_equals_single_solves(self, form: dict) -> None:
        batch = solve_batch(self.gram, self.rows.y, 0.2, self.counts, **form)
        for t in range(len(self.counts)):
            result = solve(self.gram, self.rows.y, 0.2, weights=self.counts[t], **form)
            slack = 1e-12 * (1 + result.objective)
            assert result.lower_bound <= batch.objective[t] + slack
            assert batch.lower_bound[t] <= result.objective + slack
            assert batch.risk[t] == pytest.approx(result.risk, abs=1e-4)

    @pytest.mark.parametrize("form", [{"penalty": (1.0, 0.5)}, {"ball": 4.0}, {"ball": 0.3}])
    def test_does_not_depend_on_blocks_or_threads(self, form: dict) -> None:
        whole = solve_batch(self.gram, self.rows.y, 0.2, self.counts, **form)
        threads = solve_batch(self.gram, self.rows.y, 0.2, self.counts, n_jobs=3, **form)
        parts = [solve_batch(self.gram, self.rows.y, 0.2, self.counts[[t]], **form) for t in range(len(self.counts))]
        for name in ("risk", "objective", "lower_bound", "gap", "iterations"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(threads, name))
            np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts]))

    def test_the_regime_is_decided_trial_by_trial(self) -> None:
        """With a linear kernel kappa depends on the rows held: company must not change a trial's score."""
        gram = kernels.linear(np.array([[0.1], [0.2], [3.0]]))
        counts = np.array([[1, 2, 0], [1, 1, 1]])
        both = solve_batch(gram, [1, -1, 1], 0.2, counts, ball=1.0)
        assert both.method == "affine and dual"
        for t, method in enumerate(("affine", "dual")):
            alone = solve_batch(gram, [1, -1, 1], 0.2, counts[[t]], ball=1.0)
            assert alone.method == method == solve(gram, [1, -1, 1], 0.2, weights=counts[t], ball=1.0).method
            assert (alone.risk[0], alone.lower_bound[0]) == (both.risk[t], both.lower_bound[t])

    def test_affine_batch_is_the_closed_form(self) -> None:
        batch = solve_batch(self.gram, self.rows.y, 0.2, self.counts, ball=0.5)
        assert batch.method == "affine"
        share = self.counts / self.counts.sum(axis=1, keepdims=True)
        signed = share * self.rows.y
        reach = [np.sqrt(np.einsum("ti,ij,tj->t", s, self.gram, s)) for s in (signed, share)]
        np.testing.assert_allclose(batch.risk, 1 - 0.25 * (reach[0] + reach[1]), atol=1e-14)
        assert np.all(batch.gap < 1e-13)
