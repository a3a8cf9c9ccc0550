"""The exponential rate at which failures become rare: the limit of what any bound on a known population can say.

By Sanov's theorem P[V_i <= V_1] = exp(-n I + o(n)) with I = min{KL(q || p) : V_i(q) <= V_1(q)}. The minimiser solves
q ~ p exp(lam * gradient of (V_1 - V_i) at q). The problem is not convex: the number is that of the branch that starts
at the population, found numerically, and no bound.
"""

from __future__ import annotations

import numpy as np

from theory.pool.graphs import Floats
from theory.pool.known import KnownPool

__all__ = ["large_deviation_rate"]

_STEPS = 60
_ITERATIONS = 400


def large_deviation_rate(pool: KnownPool) -> float:
    """The smallest rate over all rivals, per row, in the affine regime; for ties that of the first best arm."""
    pool.require_affine("the rate in closed form")
    return min(_rate(pool, i) for i in pool.rivals)


def _rate(pool: KnownPool, rival: int) -> float:
    y, p = pool.labels, pool.p
    best, other = pool.gram(pool.best_set[0]), pool.gram(rival)

    def strength(K: Floats, q: Floats) -> tuple[float, Floats]:
        signed, plain = (K @ (q * y)) * y, K @ q
        a, b = np.sqrt(max(float(q @ signed), 1e-16)), np.sqrt(max(float(q @ plain), 1e-16))
        return float(a + b), signed / a + plain / b

    def lead(q: Floats) -> tuple[float, Floats]:
        (high, up), (low, down) = strength(other, q), strength(best, q)
        return high - low, up - down

    def tilted(q: Floats, size: float) -> Floats:
        for _ in range(_ITERATIONS):
            slope = size * lead(q)[1]
            goal = p * np.exp(slope - slope.max())
            step = 0.3 * (goal / goal.sum() - q)
            q = q + step
            if np.abs(step).max() < 1e-12:
                break
        return q

    low, high, q = 0.0, 1.0, p
    while lead(q := tilted(q, high))[0] < 0.0:
        low, high = high, 2.0 * high
        if high > 1e6:
            return float("inf")
    start = p
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        start = tilted(start, middle)
        low, high = (middle, high) if lead(start)[0] < 0.0 else (low, middle)
        if high - low < 1e-9 * high:
            break
    q = tilted(start, high)
    return float(np.sum(q * np.log(np.maximum(q, 1e-300) / p)))
