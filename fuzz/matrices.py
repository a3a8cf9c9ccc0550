"""Adversarial Gram matrices: the solver's certificates against the same sums in rational numbers."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from exml_sim.rejection import solve
from fuzz.case import HANG, Finding

Floats = NDArray[np.float64]
#: Bits to which square roots are rounded up.
ROOT_BITS = 200
_THETAS = st.one_of(st.floats(0.01, 0.49), st.sampled_from([1e-6, 0.4999999, 0.25]))


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    """Draw whole features times powers of two: an exactly positive semidefinite Gram matrix of any rank."""
    m, rank = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    row = st.lists(st.integers(-9, 9), min_size=rank, max_size=rank)
    rows = st.lists(row, min_size=m, max_size=m)
    powers = st.one_of(st.just([0] * m), st.lists(st.integers(-8, 8), min_size=m, max_size=m))
    weights = st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any)
    return {
        "features": draw(rows),
        "powers": draw(powers),
        "scale": draw(st.sampled_from([0, -20, -8, 4])),
        "y": draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m)),
        "theta": draw(_THETAS),
        "weights": draw(weights),
        "weight_powers": draw(st.one_of(st.just([0] * m), st.lists(st.integers(-30, 30), min_size=m, max_size=m))),
        "size": draw(st.integers(-10, 10)),
        "penalty": draw(st.none() | st.integers(-9, 8)),
    }


def build_problem(case: Any) -> tuple[Floats, Floats, float, Floats, dict[str, Any]]:
    """Return Gram matrix, labels, theta, weights, and the ball or penalty of a case."""
    features = np.array(case["features"], dtype=float) * 2.0 ** np.array(case["powers"])[:, None]
    gram = features @ features.T * 2.0 ** case["scale"]
    weights = np.array(case["weights"], dtype=float) * 2.0 ** np.array(case["weight_powers"])
    size = 2.0 ** case["size"]
    form = {"ball": size} if case["penalty"] is None else {"penalty": (size, 2.0 ** case["penalty"])}
    return gram, np.array(case["y"], dtype=float), case["theta"], weights, form


class Matrices:
    """Objective and lower bound of the solver, recomputed from its own coefficients and dual point."""

    name, share, timeout, is_interruptible = "matrices", 0.06, HANG, False
    cases = problems()

    def __init__(self) -> None:
        # Compilation is slow, but no hang.
        for form in ({"ball": 2.0}, {"ball": 0.1}, {"penalty": (1.0, 1.0)}):
            solve(np.eye(3) + 1.0, [1, -1, 1], 0.3, **form)

    def judge(self, case: Any) -> Counter[str]:
        """Check lower bound <= dual value and primal value <= objective, without any tolerance."""
        gram, y, theta, weights, form = build_problem(case)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            solution = solve(gram, y, theta, weights=weights, **form)
        upper, lower = compute_bounds(gram, y, theta, weights, form, solution)
        if solution.objective < upper:
            raise Finding(f"the objective {solution.objective!r} is {float(upper - solution.objective):.3g} too low")
        if solution.lower_bound > lower:
            raise Finding(f"the bound {solution.lower_bound!r} is {float(solution.lower_bound - lower):.3g} too high")
        return Counter({"warned" if warned else "solved": 1})


def compute_bounds(
    gram: Floats, y: Floats, theta: float, weights: Floats, form: dict[str, Any], solution: Any
) -> tuple[Fraction, Fraction]:
    """Return primal value at the coefficients and dual value at the dual point, both clipped into their sets.

    Square roots are rounded up, so that both are bounds of the optimum.
    """
    share, labels, K = _rationals(weights), _rationals(y), [_rationals(row) for row in gram]
    u, w, alpha, beta = (_rationals(getattr(solution, name)) for name in ("u", "w", "alpha", "beta"))
    cost = Fraction(theta)
    slope = cost / (1 - 2 * cost)
    if "ball" in form:
        share = [weight / sum(share) for weight in share]
        radius = Fraction(form["ball"])
        u, w = ([min(Fraction(1), radius / (_root(_square(K, v)) or radius)) * x for x in v] for v in (u, w))
    h, g = _multiply(K, u), _multiply(K, w)
    rows = list(zip(share, labels, h, g, strict=True))
    loss = sum(p * max(1 + (g - y * h) / 2, cost - slope * g, Fraction(0)) for p, y, h, g in rows)
    clipped = []
    for p, a, b in zip(share, alpha, beta, strict=True):
        a, b = max(a, Fraction(0)), max(b, Fraction(0))
        clipped.append((a, b) if a + b <= p else (a * p / (a + b), b * p / (a + b)))
    squares = [
        _square(K, [a * label / 2 for (a, _), label in zip(clipped, labels, strict=True)]),
        _square(K, [slope * b - a / 2 for a, b in clipped]),
    ]
    gain = sum(a + cost * b for a, b in clipped)
    # Losses are not negative, so 0 is a lower bound for every dual point.
    if "ball" in form:
        return Fraction(loss), max(gain - radius * (_root(squares[0]) + _root(squares[1])), Fraction(0))
    c_h, c_g = (Fraction(value) for value in form["penalty"])
    primal = loss + c_h * _square(K, u) + c_g * _square(K, w)
    return primal, max(gain - squares[0] / (4 * c_h) - squares[1] / (4 * c_g), Fraction(0))


def _rationals(values: Any) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


def _multiply(gram: list[list[Fraction]], a: list[Fraction]) -> list[Fraction]:
    return [sum((k * x for k, x in zip(row, a, strict=True) if k and x), Fraction(0)) for row in gram]


def _square(gram: list[list[Fraction]], a: list[Fraction]) -> Fraction:
    return sum((x * value for x, value in zip(a, _multiply(gram, a), strict=True)), Fraction(0))


def _root(square: Fraction) -> Fraction:
    """Round a square root up, to a relative error of 2^-ROOT_BITS."""
    scale = max(0, ROOT_BITS + (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    return (
        Fraction(math.isqrt((square.numerator << 2 * scale) // square.denominator) + 1, 1 << scale)
        if square
        else square
    )
