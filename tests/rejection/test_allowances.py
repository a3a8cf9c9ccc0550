"""Allowances for rounding against their definitions, with a unit of rounding so large that every term is visible.

With the true unit, 2e-16, an allowance is as small as the rounding of the test itself. So the functions run uncompiled
with a unit of 1/1000, and are compared with the formulas of their docstrings in matrix notation.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from exml_sim._internal.compiled import compiled
from exml_sim.rejection import _certificates

Vector = NDArray[np.float64]
UNIT = 1e-3
ROWS = 7


class Problem:
    """A random problem with a dual point, the coefficients that belong to it, and others."""

    def __init__(self, seed: int, theta: float, scale: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((ROWS, 3)) * scale
        self.gram = x @ x.T
        self.y = rng.choice([-1.0, 1.0], ROWS)
        self.p = rng.dirichlet(np.ones(ROWS))
        self.theta, self.c_h, self.c_g = theta, 0.3, 0.7
        self.alpha = self.p * rng.uniform(0.1, 0.6, ROWS)
        self.beta = (self.p - self.alpha) * rng.uniform(0.1, 0.9, ROWS)
        # One row that does not count, one on the border of its triangle.
        self.alpha[0] = self.beta[0] = 0.0
        self.alpha[1], self.beta[1] = self.p[1], 0.0
        self.b = 1 / (1 - 2 * theta)
        self.u = self.y * self.alpha / (4 * self.c_h)
        self.w = (theta * self.b * self.beta - self.alpha / 2) / (2 * self.c_g)
        self.other_u, self.other_w = 0.9 * self.u, 1.1 * self.w
        self.roots = np.sqrt(np.diag(self.gram))
        self.slope_g = max(0.5, theta / (1 - 2 * theta))
        self.linear = float(np.sum(self.alpha) + theta * np.sum(self.beta))

    def loss(self, h: Vector, g: Vector) -> float:
        pieces = np.stack([1 + (g - self.y * h) / 2, self.theta * (1 - self.b * g), np.zeros(ROWS)])
        return float(self.p @ pieces.max(axis=0))

    def reach(self, a: Vector) -> float:
        """The norm of sum_i |a_i| |x_i|."""
        return float(np.abs(a) @ self.roots)

    def exact_upper(self, u: Vector, w: Vector) -> float:
        """Loss and squares, and what Dot2 and the evaluation of the loss may round."""
        h, g = self.gram @ u, self.gram @ w
        tiny = (ROWS * UNIT) ** 2
        loss, squares = self.loss(h, g), self.c_h * u @ h + self.c_g * w @ g
        error = self.p @ (0.5 * (4 * UNIT * (1 + np.abs(h)) + tiny * self.roots * self.reach(u)))
        error += self.p @ (self.slope_g * (6 * UNIT * np.abs(g) + tiny * self.roots * self.reach(w)))
        error += tiny * (self.c_h * self.reach(u) ** 2 + self.c_g * self.reach(w) ** 2)
        return float(loss + squares + error + (ROWS + 4) * UNIT * (loss + abs(squares)))

    def exact_lower(self) -> float:
        """The dual value less 2 sum_i e_i |g_i| + (sum_i e_i |x_i|)^2, Dot2 and the evaluation."""
        pull_h, pull_g = self.y * self.alpha, self.theta * self.b * self.beta - self.alpha / 2
        lost = 4 * UNIT * (self.theta * self.b * self.beta + self.alpha / 2)
        tiny = (ROWS * UNIT) ** 2
        square_h = pull_h @ self.gram @ pull_h + tiny * self.reach(pull_h) ** 2
        square_g = pull_g @ self.gram @ pull_g + tiny * self.reach(pull_g) ** 2
        square_g += self.reach(lost) ** 2 + 2 * lost @ np.abs(self.gram @ pull_g)
        squares = square_h / (16 * self.c_h) + square_g / (4 * self.c_g)
        return float(self.linear - squares - (ROWS + 4) * UNIT * (self.linear + squares))

    def plain_bounds(self) -> tuple[float, float]:
        """Objective and lower bound by plain sums of the rows that count."""
        unit = (np.count_nonzero((self.u != 0) | (self.w != 0)) + 4) * UNIT
        h, g = self.gram @ self.u, self.gram @ self.w
        size_h, size_g = np.abs(self.gram) @ np.abs(self.u), np.abs(self.gram) @ np.abs(self.w)
        loss, squares = self.loss(h, g), self.c_h * self.u @ h + self.c_g * self.w @ g
        error = unit * self.p @ (0.5 * size_h + self.slope_g * size_g)
        squares_error = unit * (self.c_h * np.abs(self.u) @ size_h + self.c_g * np.abs(self.w) @ size_g)
        final = (ROWS + 4) * UNIT
        objective = loss + squares + error + squares_error + final * (loss + abs(squares))
        return objective, self.linear - squares - squares_error - final * (self.linear + abs(squares))


@pytest.fixture
def certificates() -> ModuleType:
    """Copies of the functions as Python runs them, with a large unit of rounding."""
    copy, dispatcher = ModuleType("copy"), type(compiled(lambda: None))
    vars(copy).update(vars(_certificates), EPS=UNIT)
    for name, value in vars(_certificates).items():
        if isinstance(value, dispatcher) and value.py_func.__module__ == _certificates.__name__:
            setattr(copy, name, FunctionType(value.py_func.__code__, vars(copy)))
    return copy


# 0.1: the first piece of the loss is the steeper one in g; 0.4: the second.
PROBLEMS = [(seed, theta, scale) for seed in range(3) for theta in (0.1, 0.4) for scale in (0.3, 1.0, 8.0)]


def penalised(certificates: Any, problem: Problem, tol: float, u: Vector, w: Vector) -> Any:
    return certificates.penalised_bounds(
        problem.gram, problem.y, problem.p, problem.theta, problem.c_h, problem.c_g,
        problem.alpha.copy(), problem.beta.copy(), u, w, tol,
    )  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_bounds_of_plain_sums(certificates: Any, case: tuple[int, float, float]) -> None:
    problem = Problem(*case)
    u, w, h, g, loss, objective, lower = penalised(certificates, problem, np.inf, problem.other_u, problem.other_w)
    np.testing.assert_allclose(u, problem.u)
    np.testing.assert_allclose(w, problem.w)
    np.testing.assert_allclose(h, problem.gram @ problem.u)
    np.testing.assert_allclose(g, problem.gram @ problem.w)
    assert loss == pytest.approx(problem.loss(h, g), rel=1e-12)
    assert (objective, lower) == pytest.approx(problem.plain_bounds(), rel=1e-10)


@pytest.mark.parametrize("case", PROBLEMS)
def test_bounds_in_twice_the_precision(certificates: Any, case: tuple[int, float, float]) -> None:
    problem = Problem(*case)
    for u, w in ((problem.u, problem.w), (problem.other_u, problem.other_w)):
        arguments = (problem.gram, problem.y, problem.p, problem.theta, problem.c_h, problem.c_g)
        h, g, loss, objective = certificates.exact_upper(*arguments, u, w)
        assert loss == pytest.approx(problem.loss(h, g), rel=1e-12)
        assert objective == pytest.approx(problem.exact_upper(u, w), rel=1e-10)
    lower = certificates.exact_lower(
        problem.gram, problem.y, problem.theta, problem.c_h, problem.c_g, problem.alpha, problem.beta, problem.linear
    )
    assert lower == pytest.approx(problem.exact_lower(), rel=1e-10)


@pytest.mark.parametrize("case", PROBLEMS)
def test_the_better_bounds_are_returned_where_plain_sums_leave_a_gap(
    certificates: Any, case: tuple[int, float, float]
) -> None:
    problem = Problem(*case)
    objective, lower = problem.plain_bounds()
    best_lower = max(lower, problem.exact_lower())
    gap = (objective - lower) / max(1.0, abs(objective))
    for u, w in ((problem.u, problem.w), (problem.other_u, problem.other_w), (9 * problem.u, 9 * problem.w)):
        again = problem.exact_upper(u, w)
        got = penalised(certificates, problem, gap * 0.999, u, w)
        expected = (u, again) if again < objective else (problem.u, objective)
        np.testing.assert_allclose(got[0], expected[0])
        np.testing.assert_allclose(got[2], problem.gram @ expected[0], atol=1e-12)
        assert got[5:] == pytest.approx((expected[1], min(best_lower, expected[1])), rel=1e-10)
        # Just within the tolerance, the plain bounds stay.
        kept = penalised(certificates, problem, gap * 1.001, u, w)
        assert kept[5:] == pytest.approx((objective, lower), rel=1e-10)


def test_the_lower_bound_is_never_above_the_objective(certificates: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(0, 0.1)
    monkeypatch.setattr(certificates, "exact_lower", lambda *arguments: 1e9)
    *_, objective, lower = penalised(certificates, problem, 0.0, problem.other_u, problem.other_w)
    assert lower == objective


@pytest.mark.parametrize("case", PROBLEMS)
def test_lower_bound_over_the_ball(certificates: Any, case: tuple[int, float, float]) -> None:
    problem, radius = Problem(*case), 0.05
    got = certificates.ball_lower(
        problem.gram, problem.y, problem.p, problem.theta, radius, problem.alpha.copy(), problem.beta.copy()
    )
    pull_h, pull_g = problem.alpha * problem.y / 2, problem.theta * problem.b * problem.beta - problem.alpha / 2
    squares = [a @ problem.gram @ a + ((ROWS + 2) * UNIT * problem.reach(a)) ** 2 for a in (pull_h, pull_g)]
    pulled = radius * np.sqrt(squares).sum()
    size = (problem.alpha + problem.theta * problem.b * problem.beta) @ problem.roots
    expected = problem.linear - pulled - (ROWS + 4) * UNIT * (problem.linear + pulled) - 4 * UNIT * radius * size
    assert got == pytest.approx(max(expected, 0.0), rel=1e-10)
    nothing = certificates.ball_lower(
        problem.gram, problem.y, problem.p, problem.theta, 1e6, problem.alpha.copy(), problem.beta.copy()
    )
    assert nothing == 0.0


@pytest.mark.parametrize("case", PROBLEMS)
def test_models_over_the_ball(certificates: Any, case: tuple[int, float, float]) -> None:
    """The formula of the docstring, for a radius that shrinks neither function, one of them, and both."""
    problem = Problem(*case)
    sizes = [float(np.sqrt(a @ problem.gram @ a)) for a in (problem.u, problem.w)]
    largest = 1 + (ROWS + 4) * UNIT
    bounds = []
    for radius in (2 * max(sizes), (sizes[0] * sizes[1]) ** 0.5, 0.1 * min(sizes), max(sizes)):
        models, error = [], 0.0
        # The larger norm meets the radius exactly in the last case, up to the rounding of one square root.
        for coefficients, size, slope in zip((problem.u, problem.w), sizes, (0.5, problem.slope_g), strict=True):
            a = coefficients * min(1.0, radius / size)
            values, tau = problem.gram @ a, ((ROWS + 2) * UNIT) ** 2
            norm = np.sqrt(a @ values + tau * problem.reach(a) ** 2)
            excess = max((1 + 4 * UNIT) * norm / radius - 1, 0.0)
            lost = (UNIT + excess) * np.abs(values) + tau * problem.reach(a) * problem.roots
            error += float(problem.p @ (slope * lost))
            models.append((a, values))
        (u, h), (w, g) = models
        size = problem.p @ (1 + np.abs(h) + (1 + problem.b) * np.abs(g))
        loss = problem.loss(h, g) + error + (ROWS + 4) * UNIT * size
        arguments = (problem.gram, problem.y, problem.p, problem.theta, radius, problem.u.copy(), problem.w.copy())
        got = certificates.ball_model(*arguments)
        expected = (u, w, h, g) if loss <= largest else (np.zeros(ROWS),) * 4
        for part, vector in zip(got[:4], expected, strict=True):
            np.testing.assert_allclose(part, vector, atol=1e-12)
        assert got[4] == pytest.approx(min(loss, largest), rel=1e-10)
        bounds.append(loss)
    assert np.isfinite(bounds).all()


def test_a_model_that_rounding_has_destroyed_is_replaced_by_zero(certificates: Any) -> None:
    problem = Problem(0, 0.1)
    bad = np.full(ROWS, np.nan)
    arguments = (problem.gram, problem.y, problem.p, problem.theta, 1.0)
    *model, loss = certificates.ball_model(*arguments, bad, bad)
    assert all((part == 0).all() for part in model)
    assert loss == 1 + (ROWS + 4) * UNIT


@pytest.mark.parametrize("over_the_ball", [False, True])
def test_dual_points_are_clipped_into_their_triangles(certificates: Any, over_the_ball: bool) -> None:
    problem = Problem(1, 0.1)
    alpha, beta = problem.alpha.copy(), problem.beta.copy()
    alpha[2], beta[2] = 2 * problem.p[2], 1.0
    alpha[3], beta[3] = -1.0, 2 * problem.p[3]
    beta[4] = -1.0
    clipped = np.clip(alpha, 0.0, problem.p)
    expected = clipped, np.clip(beta, 0.0, problem.p - clipped)
    if over_the_ball:
        certificates.ball_lower(problem.gram, problem.y, problem.p, problem.theta, 1.0, alpha, beta)
    else:
        u, w = np.empty(ROWS), np.empty(ROWS)
        arguments = (problem.y, problem.p, problem.theta, problem.c_h, problem.c_g)
        used = certificates.model_of(*arguments, alpha, beta, u, w)
        # Row 0 counts for nothing.
        assert used == ROWS - 1
    np.testing.assert_array_equal(alpha, expected[0])
    np.testing.assert_array_equal(beta, expected[1])


def test_a_row_with_one_coefficient_counts(certificates: Any) -> None:
    problem = Problem(1, 0.25)
    # theta b = 1/2: with alpha = beta the function g has no coefficient; with alpha = 0 the function h has none.
    alpha, beta = np.full(ROWS, 0.01), np.full(ROWS, 0.01)
    alpha[3], u, w = 0.0, np.empty(ROWS), np.empty(ROWS)
    arguments = (problem.y, np.full(ROWS, 1 / ROWS), problem.theta, problem.c_h, problem.c_g)
    assert certificates.model_of(*arguments, alpha, beta, u, w) == ROWS
    assert np.count_nonzero(w) == 1
    assert np.count_nonzero(u) == ROWS - 1
