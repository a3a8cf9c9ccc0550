"""Adversarial Gram matrices: the solver's certificates against the same sums in 60 digits."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from exml_sim.rejection import solve
from fuzz.case import HANG, Finding

Floats = NDArray[np.float64]
#: Relative rounding that a certificate may have.
SLACK = 1e-13
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

    name, share, timeout = "matrices", 0.06, HANG
    cases = problems()

    def __init__(self) -> None:
        # Compilation is slow, but no hang.
        for form in ({"ball": 2.0}, {"ball": 0.1}, {"penalty": (1.0, 1.0)}):
            solve(np.eye(3) + 1.0, [1, -1, 1], 0.3, **form)  # type: ignore[arg-type]

    def judge(self, case: Any) -> Counter[str]:
        """Check lower bound <= dual value and primal value <= objective in high precision."""
        gram, y, theta, weights, form = build_problem(case)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            solution = solve(gram, y, theta, weights=weights, **form)
        with mpmath.workdps(60):
            primal, dual = compute_values(gram, y, theta, weights, form, solution)
        room = SLACK * max(1.0, abs(solution.objective), float(weights.sum()) if "penalty" in form else 1.0)
        if solution.objective < primal - room:
            raise Finding(f"the objective {solution.objective!r} is below the true value {mpmath.nstr(primal, 20)}")
        if solution.lower_bound > dual + room:
            raise Finding(f"the lower bound {solution.lower_bound!r} is above the dual {mpmath.nstr(dual, 20)}")
        return Counter({"warned" if warned else "solved": 1})


def compute_values(
    gram: Floats, y: Floats, theta: float, weights: Floats, form: dict[str, Any], solution: Any
) -> tuple[Any, Any]:
    """Return primal value at the coefficients and dual value at the dual point, both clipped into their sets."""
    mpf, K = mpmath.mpf, mpmath.matrix(gram.tolist())
    u, w, alpha, beta = (mpmath.matrix(getattr(solution, name).tolist()) for name in ("u", "w", "alpha", "beta"))
    share = mpmath.matrix(weights.tolist())
    if "ball" in form:
        share /= mpmath.fsum(weights.tolist())
        radius = mpf(form["ball"])
        u, w = (v * min(mpf(1), radius / norm) if (norm := mpmath.sqrt(_square(K, v))) > 0 else v for v in (u, w))
    cost = mpf(theta)
    slope = cost / (1 - 2 * cost)
    h, g, rows = K * u, K * w, range(len(y))
    loss = mpmath.fsum(share[i] * max(1 + (g[i] - y[i] * h[i]) / 2, cost - slope * g[i], mpf(0)) for i in rows)
    for i in rows:
        alpha[i], beta[i] = max(alpha[i], mpf(0)), max(beta[i], mpf(0))
        if alpha[i] + beta[i] > share[i]:
            scale = share[i] / (alpha[i] + beta[i])
            alpha[i], beta[i] = alpha[i] * scale, beta[i] * scale
    first = mpmath.matrix([alpha[i] * mpf(float(y[i])) / 2 for i in rows])
    second = mpmath.matrix([slope * beta[i] - alpha[i] / 2 for i in rows])
    gain = mpmath.fsum(alpha) + cost * mpmath.fsum(beta)
    squares = _square(K, first), _square(K, second)
    # Losses are not negative, so 0 is a lower bound for every dual point.
    if "ball" in form:
        return loss, max(gain - radius * (mpmath.sqrt(squares[0]) + mpmath.sqrt(squares[1])), mpf(0))
    c_h, c_g = (mpf(value) for value in form["penalty"])
    primal = loss + c_h * _square(K, u) + c_g * _square(K, w)
    return primal, max(gain - squares[0] / (4 * c_h) - squares[1] / (4 * c_g), mpf(0))


def _square(gram: Any, coefficients: Any) -> Any:
    return max((coefficients.T * gram * coefficients)[0], mpmath.mpf(0))
