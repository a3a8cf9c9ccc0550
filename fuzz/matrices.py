"""Adversarial Gram matrices: the solver's certificates against the same sums in rational numbers."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
from flint import fmpq
from hypothesis import strategies as st
from numpy.typing import NDArray

from exml_sim.rejection import Solution, solve
from fuzz.fuzzer import Finding, Fuzzer

Floats = NDArray[np.float64]
#: Bits to which square roots are rounded up.
ROOT_BITS = 200


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    """Draw whole features times powers of two: an exactly positive semidefinite Gram matrix of any rank."""
    m, rank = draw(st.integers(1, 8)), draw(st.integers(1, 8))

    def per_row(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(values, min_size=m, max_size=m)

    def powers(most: int) -> Any:
        return draw(st.just([0] * m) | per_row(st.integers(-most, most)))

    return {
        "features": draw(per_row(st.lists(st.integers(-9, 9), min_size=rank, max_size=rank))),
        "powers": powers(8),
        "scale": draw(st.sampled_from([0, -20, -8, 4])),
        "y": draw(per_row(st.sampled_from([-1, 1]))),
        "theta": draw(st.floats(0.01, 0.49) | st.sampled_from([1e-6, 0.4999999, 0.25])),
        "weights": draw(per_row(st.integers(0, 5)).filter(any)),
        "weight_powers": powers(30),
        "size": draw(st.integers(-10, 10)),
        "penalty": draw(st.none() | st.integers(-9, 8)),
    }


class Matrices(Fuzzer):
    """Objective and lower bound of the solver, recomputed from its own coefficients and dual point."""

    name, share = "matrices", 0.06
    cases = problems()

    def __init__(self) -> None:
        super().__init__()
        # Compilation is slow, but no hang.
        for form in ({"ball": 2.0}, {"ball": 0.1}, {"penalty": (1.0, 1.0)}):
            solve(np.eye(3) + 1.0, [1, -1, 1], 0.3, **form)

    def judge(self, case: Any) -> Counter[str]:
        """Check lower bound <= dual value and primal value <= objective, without any tolerance."""
        features = np.array(case["features"], dtype=float) * 2.0 ** np.array(case["powers"])[:, None]
        gram = features @ features.T * 2.0 ** case["scale"]
        y, weights = np.array(case["y"], dtype=float), case["weights"] * 2.0 ** np.array(case["weight_powers"])
        size = 2.0 ** case["size"]
        form = {"ball": size} if case["penalty"] is None else {"penalty": (size, 2.0 ** case["penalty"])}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            solution = solve(gram, y, case["theta"], weights=weights, **form)
        check_certificate(gram, y, case["theta"], weights, form, solution)
        return Counter({"warned" if warned else "solved": 1})


def check_certificate(
    gram: Floats,
    y: Floats,
    theta: float,
    weights: Floats,
    form: dict[str, Any],
    solution: Solution,
    slack: float = 0.0,
) -> None:
    """Check primal value and dual value at the solution's own points, clipped into their sets, against its bounds.

    Square roots are rounded up, so that both are bounds of the optimum.
    """
    K, y, p, u, w, alpha, beta = map(
        to_rationals, (gram, y, weights, solution.u, solution.w, solution.alpha, solution.beta)
    )
    zero = fmpq(0)
    cost, radius = (to_rationals(value).item() for value in (theta, form.get("ball", 0.0)))
    slope = cost / (1 - 2 * cost)
    if radius:
        p = p / p.sum()
        u, w = (v * min(fmpq(1), radius / (_root(v @ K @ v) or radius)) for v in (u, w))
    h, g = K @ u, K @ w
    upper = p @ np.maximum(np.maximum(1 + (g - y * h) / 2, cost - slope * g), zero)
    alpha, beta = np.maximum(alpha, zero), np.maximum(beta, zero)
    outside = alpha + beta > p
    shrink = p[outside] / (alpha + beta)[outside]
    alpha[outside], beta[outside] = alpha[outside] * shrink, beta[outside] * shrink
    squares = [pull @ K @ pull for pull in (alpha * y / 2, slope * beta - alpha / 2)]
    lower = alpha.sum() + cost * beta.sum()
    if radius:
        lower -= radius * sum(map(_root, squares), zero)
    else:
        c_h, c_g = to_rationals(form["penalty"])
        upper += c_h * (u @ h) + c_g * (w @ g)
        lower -= squares[0] / (4 * c_h) + squares[1] / (4 * c_g)
    # Losses are not negative, so 0 is a lower bound for every dual point.
    lower = max(lower, zero)
    objective, bound, slack = to_rationals([solution.objective, solution.lower_bound, slack])
    if objective < upper - slack:
        raise Finding(f"the objective {solution.objective!r} is {_short(upper - objective)} too low")
    if bound > lower + slack:
        raise Finding(f"the bound {solution.lower_bound!r} is {_short(bound - lower)} too high")


def to_rationals(values: Any) -> Any:
    """Return floats as an array of rational numbers."""
    return np.vectorize(lambda value: fmpq(*float(value).as_integer_ratio()), otypes=[object])(values)


def _short(value: fmpq) -> str:
    return f"{int(value.p) / int(value.q):.3g}"


def _root(square: fmpq) -> fmpq:
    """Round a square root up, to a relative error of 2^-ROOT_BITS; 0 for a square that rounding made negative."""
    numerator, denominator = int(square.p), int(square.q)
    scale = max(0, ROOT_BITS + (denominator.bit_length() - numerator.bit_length()) // 2)
    return fmpq(math.isqrt((numerator << 2 * scale) // denominator) + 1, 1 << scale) if numerator > 0 else fmpq(0)
