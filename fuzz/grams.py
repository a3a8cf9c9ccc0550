"""Adversarial Gram matrices: the solver's certificates against the same sums in 60 digits."""

from __future__ import annotations

import warnings
from collections import Counter

import mpmath
import numpy as np
from numpy.typing import NDArray

from exml_sim.rejection import solve
from fuzz.case import HANG, Case, Finding

Floats = NDArray[np.float64]
#: Relative rounding granted to a certificate that is called rounded up or down.
SLACK = 1e-13


def draw_problem(case: Case) -> tuple[Floats, Floats, float, Floats, dict[str, object]]:
    """Whole features times powers of two: a Gram matrix of any rank that is exactly positive semidefinite."""
    rng = np.random.default_rng(case["seed"])
    m, rank = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    features = rng.integers(-9, 10, size=(m, rank)).astype(np.float64)
    style = rng.integers(5)
    if style == 0:
        features[rng.integers(m, size=m)] = features[0]
    if style == 1:
        features *= 2.0 ** rng.integers(-8, 9, size=(m, 1))
    if style == 2:
        features = features[:, :1] * rng.integers(-2, 3, size=rank)
    if style == 3:
        features[rng.integers(m)] = 0
    gram = features @ features.T * 2.0 ** int(rng.choice([-20, -8, 0, 4]))
    y = rng.choice([-1.0, 1.0], size=m)
    theta = float(rng.choice([rng.uniform(0.01, 0.49), 1e-6, 0.4999999, 0.25]))
    weights = rng.integers(0, 5, size=m).astype(np.float64)
    weights[0] += 1
    if rng.random() < 0.2:
        weights *= 2.0 ** rng.integers(-30, 30, size=m)
    size = 2.0 ** float(rng.integers(-10, 11))
    form: dict[str, object] = {"ball": size} if rng.random() < 0.5 else {"penalty": (size, 2.0 ** rng.integers(-9, 9))}
    return gram, y, theta, weights, form


def _vector(values: Floats) -> mpmath.matrix:
    return mpmath.matrix([mpmath.mpf(float(one)) for one in values])


def _square(gram: mpmath.matrix, coefficients: mpmath.matrix) -> mpmath.mpf:
    return max((coefficients.T * gram * coefficients)[0], mpmath.mpf(0))


class Grams:
    """Objective and lower bound of the solver, recomputed from its own coefficients and dual point."""

    name, share, patience = "grams", 0.05, HANG

    def __init__(self) -> None:
        # Compiling is slow, and no hang.
        for form in ({"ball": 2.0}, {"ball": 0.1}, {"penalty": (1.0, 1.0)}):
            solve(np.eye(3) + 1.0, [1, -1, 1], 0.3, **form)  # type: ignore[arg-type]

    def draw(self, rng: np.random.Generator) -> Case:
        """A problem by its seed."""
        return {"seed": int(rng.integers(2**63))}

    def judge(self, case: Case) -> Counter[str]:
        """lower bound <= dual value <= optimum <= primal value <= objective, by high precision."""
        gram, y, theta, weights, form = draw_problem(case)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = solve(gram, y, theta, weights=weights, **form)  # type: ignore[arg-type]
        with mpmath.workdps(60):
            primal, dual = self._values(gram, y, theta, weights, form, found)
        room = SLACK * max(1.0, abs(found.objective), float(weights.sum()) if "penalty" in form else 1.0)
        if found.objective < primal - room:
            raise Finding(f"the objective {found.objective!r} is below the true value {mpmath.nstr(primal, 20)}")
        if found.lower_bound > dual + room:
            raise Finding(f"the lower bound {found.lower_bound!r} is above the dual value {mpmath.nstr(dual, 20)}")
        if not dual <= primal + room:
            raise Finding("the dual value is above the primal one")
        return Counter({"with a warning" if warned else "certified": 1, next(iter(form)): 1})

    def _values(
        self, gram: Floats, y: Floats, theta: float, weights: Floats, form: dict[str, object], found: object
    ) -> tuple[mpmath.mpf, mpmath.mpf]:
        """Primal value at the coefficients and dual value at the dual point, both clipped into their sets."""
        total = mpmath.matrix(gram.tolist())
        u, w, alpha, beta = (_vector(getattr(found, name)) for name in ("u", "w", "alpha", "beta"))
        share = _vector(weights) if "penalty" in form else _vector(weights) / mpmath.fsum(weights.tolist())
        price = mpmath.mpf(theta)
        slope = price / (1 - 2 * price)
        if "ball" in form:
            radius = mpmath.mpf(float(form["ball"]))  # type: ignore[arg-type]
            u, w = (self._inside(total, one, radius) for one in (u, w))
        h, g = total * u, total * w
        loss = mpmath.fsum(
            share[i] * max(1 + (g[i] - y[i] * h[i]) / 2, price - slope * g[i], mpmath.mpf(0)) for i in range(len(y))
        )
        for i in range(len(y)):
            alpha[i], beta[i] = max(alpha[i], mpmath.mpf(0)), max(beta[i], mpmath.mpf(0))
            if alpha[i] + beta[i] > share[i]:
                scale = share[i] / (alpha[i] + beta[i])
                alpha[i], beta[i] = alpha[i] * scale, beta[i] * scale
        first = mpmath.matrix([alpha[i] * mpmath.mpf(float(y[i])) / 2 for i in range(len(y))])
        second = mpmath.matrix([slope * beta[i] - alpha[i] / 2 for i in range(len(y))])
        gain = mpmath.fsum(alpha) + price * mpmath.fsum(beta)
        squares = _square(total, first), _square(total, second)
        # Losses are not negative, so 0 is a lower bound whatever the dual point says.
        if "ball" in form:
            return loss, max(gain - radius * (mpmath.sqrt(squares[0]) + mpmath.sqrt(squares[1])), mpmath.mpf(0))
        c_h, c_g = (mpmath.mpf(float(c)) for c in form["penalty"])  # type: ignore[attr-defined]
        primal = loss + c_h * _square(total, u) + c_g * _square(total, w)
        return primal, max(gain - squares[0] / (4 * c_h) - squares[1] / (4 * c_g), mpmath.mpf(0))

    @staticmethod
    def _inside(gram: mpmath.matrix, coefficients: mpmath.matrix, radius: mpmath.mpf) -> mpmath.matrix:
        size = mpmath.sqrt(_square(gram, coefficients))
        return coefficients * (radius / size) if size > radius else coefficients
