"""Constants against brute force on the loss, retyped from Eq. 2."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import AssumptionError, formulas, paper, tighter

THETAS = st.floats(0.005, 0.495)
RADII = st.floats(0.01, 12.0)


def loss(t: np.ndarray, s: np.ndarray, theta: float) -> np.ndarray:
    """Eq. 2 with t = y h and s = g."""
    return np.maximum(np.maximum(1 + (s - t) / 2, theta * (1 - s / (1 - 2 * theta))), 0)


def box(r: float, points: int = 401) -> tuple[np.ndarray, np.ndarray]:
    axis = np.linspace(-r, r, points)
    return np.meshgrid(axis, axis)


@given(THETAS, RADII)
def test_range_of_the_loss_on_a_grid(theta: float, r: float) -> None:
    values = loss(*box(r), theta)
    slope = max(1.0, theta / (1 - 2 * theta)) * 2 * r / 400
    assert 1 + formulas.loss_rise(theta, r, r) == pytest.approx(values.max(), rel=1e-12)
    assert values.min() - slope - 1e-12 <= 1 - formulas.loss_fall(theta, r, r) <= values.min() + 1e-12
    assert formulas.loss_range(theta, r) == formulas.loss_rise(theta, r, r) + formulas.loss_fall(theta, r, r)


@given(THETAS, RADII, RADII)
def test_range_on_a_rectangle(theta: float, r_h: float, r_g: float) -> None:
    t, s = np.meshgrid(np.linspace(-r_h, r_h, 401), np.linspace(-r_g, r_g, 401))
    values = loss(t, s, theta)
    result = values.max() - values.min()
    slope = (r_h + r_g * max(1.0, 2 * theta / (1 - 2 * theta))) / 400
    assert result - 1e-12 <= formulas.loss_range(theta, r_h, r_g) <= result + slope + 1e-12


@given(THETAS, RADII, st.floats(0, 1))
def test_gap_ceiling_on_a_disc(theta: float, r: float, fraction: float) -> None:
    radius = r * np.sqrt(2 * (fraction**2 + (1 - fraction) ** 2))
    t, s = box(r)
    inside = t**2 + s**2 <= radius**2
    lowest = loss(t, s, theta)[inside].min()
    ceiling = formulas.gap_ceiling(theta, r, fraction)
    step = max(1.0, theta / (1 - 2 * theta)) * 6 * r / 400
    assert 1 - lowest - 1e-9 <= ceiling <= 1 - lowest + step
    assert ceiling <= formulas.gap_ceiling(theta, r) + 1e-12


def test_gap_ceiling_in_closed_form() -> None:
    assert formulas.gap_ceiling(0.1, 0.5) == pytest.approx(0.5, rel=1e-14)
    assert formulas.gap_ceiling(0.1, 0.5, 0.5) == pytest.approx(0.5 / np.sqrt(2), rel=1e-14)
    assert formulas.gap_ceiling(0.2, 100.0) == 1.0


@given(THETAS)
def test_order_of_the_constants(theta: float) -> None:
    c = formulas.rademacher_constant(theta)
    c_star = formulas.tight_rademacher_constant(theta)
    c_dual = formulas.dual_constant(theta)
    assert 1 <= c_dual <= c_star + 1e-12
    assert c_star <= c + 1e-12
    assert c == pytest.approx((2 - 2 * theta) / (1 - 2 * theta) / 2)


@given(THETAS)
def test_dual_constant_is_the_maximum_over_mixtures(theta: float) -> None:
    b = theta / (1 - 2 * theta)
    q = np.linspace(0, 1, 20001)
    mixtures = np.sqrt(q) / 2 + np.sqrt(q / 4 + (1 - q) * b**2)
    assert formulas.dual_constant(theta) == pytest.approx(mixtures.max(), rel=1e-6)
    assert formulas.dual_constant(theta) >= mixtures.max() - 1e-12


@pytest.mark.parametrize("theta", [0.1, 0.2, 0.25, 0.3, 0.4])
def test_tight_rademacher_constant_by_enumeration(theta: float) -> None:
    """All signs, a grid of the ball in one dimension: never above c* r / sqrt n."""
    rng = np.random.default_rng(5)
    weights = np.linspace(-1, 1, 41)
    w_h, w_g = (w.ravel() for w in np.meshgrid(weights, weights))
    largest = 0.0
    for _ in range(12):
        n, r = int(rng.integers(1, 6)), float(rng.uniform(0.2, 4))
        x, y = rng.choice([-1.0, 1.0], size=n), rng.choice([-1, 1], size=n)
        losses = loss(r * np.outer(w_h, x * y), r * np.outer(w_g, x), theta)
        signs = np.array(list(product([-1, 1], repeat=n)))
        complexity = (losses @ signs.T / n).max(axis=0).mean()
        ratio = complexity * np.sqrt(n) / r
        largest = max(largest, ratio)
        assert ratio <= formulas.tight_rademacher_constant(theta) + 1e-9
    if theta <= 0.25:
        # A constant 10 % smaller would be refuted by one row: there the complexity is M / 2 = r.
        r = 1 - 2 * theta
        one_row = (loss(*box(r, 11), theta).max() - loss(*box(r, 11), theta).min()) / 2
        assert one_row / r > 0.9 * formulas.tight_rademacher_constant(theta)


@pytest.mark.parametrize(("theta", "r"), [(0.1, 0.8), (0.3, 0.4), (0.4, 2.0), (0.45, 1.0)])
def test_nonnegative_kernel_moves_the_loss_less(theta: float, r: float) -> None:
    """Random feature vectors at a nonnegative angle and random balls: the change stays below the range."""
    rng = np.random.default_rng(8)
    size = 200_000
    first = np.stack([np.ones(size), np.zeros(size)], axis=1)
    angle = rng.uniform(0, np.pi / 2, size)
    second = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    first *= rng.choice([1.0, 0.5], size=(size, 1))
    w_h, w_g = (r * v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.normal(size=(2, size, 2)))
    y1, y2 = rng.choice([-1, 1], size=(2, size))

    def losses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return loss(y * np.sum(w_h * x, axis=1), np.sum(w_g * x, axis=1), theta)

    change = np.max(np.abs(losses(first, y1) - losses(second, y2)))
    limit = formulas.replacement_range(theta, r, kernel="nonnegative")
    assert change <= limit + 1e-12
    # For r <= 1 - 2 theta the range is attained, so that a smaller one would be wrong.
    if r <= 1 - 2 * theta:
        assert change >= 0.98 * limit


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paper.lemma_3(100, 0.1, -1, 0.05), "kappa_lambda must not be negative, got -1"),
        (lambda: paper.lemma_3(100, float("nan"), 1, 0.05), "theta must be finite"),
        (lambda: paper.lemma_3(100, "many", 1, 0.05), "theta must be a real number"),
        (lambda: formulas.halving_schedule(10, 1), "K must be at least 2, got 1"),
        (lambda: formulas.halving_schedule(10.5, 2), "B must be a whole number, got 10.5"),
        (lambda: formulas.halving_schedule(-1, 2), "B must be at least 0, got -1"),
        (lambda: tighter.lemma_4_regularised(9, 0.1, 0.1, 1.0, C_h=0.0, C_g=1.0), "C_h must be positive"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_a_miss_by_nothing_is_not_negative() -> None:
    with pytest.raises(AssumptionError, match=r"theta < 1/2 \(equality is not enough\) at m=1, theta=0.5"):
        paper.lemma_3(1, 0.5, 1.0, 0.05)
