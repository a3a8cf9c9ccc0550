"""An approximate planner in closed form: normal tails with the exact mean and variance of the quadratic statistics.

These numbers are no bounds. They say what practice will need, and are marked as approximate wherever they are shown.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import special

from theory.constants import halving_schedule
from theory.population.graphs import Floats
from theory.population.model import PopulationModel, require_level

__all__ = ["approximate_failure", "planned_budget"]

Strategy = Literal["uniform", "median"]


class _Normal:
    """Means and variances of the rivals' statistics for every n, and the correlations of their linear parts."""

    def __init__(self, pool: PopulationModel) -> None:
        pool.require_affine("the planner")
        best = pool.best_arms[0]
        a, b = pool.norms
        y, p, plain = pool.labels, pool.p, pool.gram(best)
        rows, numbers = [], []
        for i in pool.rivals:
            ratio = (a[best] + a[i]) / max(b[best] + b[i], 1e-12)
            H = (pool.gram(i) - plain) * (np.multiply.outer(y, y) + ratio)
            row = H @ p
            h = float(p @ row)
            z1 = float(p @ (row - h) ** 2)
            z2 = float(p @ (H * H) @ p) - h * h - 2.0 * z1
            numbers.append((h, float(p @ np.diagonal(H)), z1, max(z2, 0.0)))
            rows.append(row - h)
        self.h, self.d, self.z1, self.z2 = np.array(numbers).T
        linear = np.array(rows)
        size = np.sqrt(np.maximum((linear * p * linear).sum(axis=1), 1e-300))
        self.correlation = np.clip((linear * p) @ linear.T / np.outer(size, size), -1.0, 1.0)

    def scores(self, n: float) -> Floats:
        """Mean over standard deviation of every rival's statistic."""
        mean = (1.0 - 1.0 / n) * self.h + self.d / n
        return np.asarray(mean / np.sqrt(4.0 * self.z1 / n + 2.0 * self.z2 / n**2 + 1e-300))

    def union(self, n: float) -> float:
        """P[some rival beats the best arm]: Ditlevsen's bound for a normal vector, nearest rival first."""
        z = np.sort(self.scores(n))[::-1]
        order = np.argsort(-self.scores(n))
        total = float(special.ndtr(z[0]))
        for k in range(1, len(z)):
            both = _both(z[k], z[:k], self.correlation[order[k], order[:k]])
            total += max(float(special.ndtr(z[k])) - float(both.max()), 0.0)
        return min(1.0, total)

    def several(self, n: float, count: int) -> float:
        """P[at least ``count`` rivals beat the best arm], as if the weaker never did without the stronger."""
        z = np.sort(self.scores(n))[::-1]
        return float(special.ndtr(z[count - 1])) if count <= len(z) else 0.0


def approximate_failure(pool: PopulationModel, budget: int, strategy: Strategy = "uniform") -> float:
    """Approximate failure probability with same rows, drawn with replacement, accumulated (no bound)."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < pool.n_arms:
        raise ValueError(f"budget must be a whole number, at least {pool.n_arms} (one row per arm), got {budget!r}")
    return _failure(_normal(pool), pool.n_arms, int(budget), strategy)


def planned_budget(pool: PopulationModel, delta: float, strategy: Strategy = "uniform") -> int:
    """The budget at which the approximate failure probability reaches delta (no bound)."""
    require_level(delta)
    law, K = _normal(pool), pool.n_arms
    unit = K if strategy == "uniform" else K * math.ceil(math.log2(K))
    low, high = 0, 1
    while _failure(law, K, high * unit, strategy) > delta:
        low, high = high, 2 * high
        if high > 2**40:
            raise ValueError("no budget is large enough: the gaps are too small to plan for")
    while high - low > 1:
        middle = (low + high) // 2
        if _failure(law, K, middle * unit, strategy) <= delta:
            high = middle
        else:
            low = middle
    return high * unit


def _failure(law: _Normal, K: int, budget: int, strategy: str) -> float:
    if strategy == "uniform":
        return law.union(max(budget // K, 1))
    if strategy != "median":
        raise ValueError(f"strategy must be 'uniform' or 'median', got {strategy!r}")
    schedule = halving_schedule(budget, K)
    rounds = zip(schedule.accumulated.tolist(), schedule.kept.tolist(), strict=True)
    return min(1.0, math.fsum(law.several(max(held, 1), kept) for held, kept in rounds))


def _normal(pool: PopulationModel) -> _Normal:
    if "normal" not in pool.cache:
        pool.cache["normal"] = _Normal(pool)
    found: _Normal = pool.cache["normal"]
    return found


def _both(x: float, y: Floats, rho: Floats) -> Floats:
    """P[X <= x, Y <= y] for standard normal X, Y with correlation rho, by Owen's function."""
    root = np.sqrt(np.maximum(1.0 - rho**2, 1e-16))
    x = x if x != 0.0 else 1e-12
    y = np.where(y != 0.0, y, 1e-12)
    owen = special.owens_t(x, (y / x - rho) / root) + special.owens_t(y, (x / y - rho) / root)
    apart = np.where((x * y < 0) | ((x * y == 0) & (x + y < 0)), 0.5, 0.0)
    return np.asarray(np.clip(0.5 * (special.ndtr(x) + special.ndtr(y)) - owen - apart, 0.0, None))
