"""P[one of some rivals beats the best arm] when every arm is scored on rows of its own; affine regime.

The forms are those of `theory.pool.windows`, but the rival's part and the best arm's part are statistics of two
independent samples, of any two sizes. Given the sum of two linear parts on one lattice, moments of the sum of the
rests are binomial sums of convolutions.
"""

from __future__ import annotations

from math import comb

import numpy as np

from theory.pool.graphs import Floats
from theory.pool.known import KnownPool
from theory.pool.law import UNIT
from theory.pool.moments import LEVELS, Conditional, conditional_moments, projection
from theory.pool.tails import tail_sum
from theory.pool.windows import Law, choose_windows, quadratic_law

__all__ = ["IndependentEvents", "both", "two_samples"]

#: Multiples of the population's ratio between which t is chosen.
_RATIOS = (0.6, 1.8)
#: Largest number of rows of one arm.
_ROWS = 20_000


def two_samples(S: Floats, n: int, T: Floats, k: int, p: Floats, *, order: int = 2, levels: int = LEVELS) -> float:
    """Upper bound on P[s' S s + t' T t >= 0] for the empirical laws s of n and t of k independent rows from p."""
    if min(n, k) < 2:
        return 1.0
    mean = sum(float(p @ M @ p) * (1.0 - 1.0 / size) + float(p @ np.diagonal(M)) / size for M, size in ((S, n), (T, k)))
    if mean >= 0.0:
        return 1.0
    widths = [float(np.ptp(projection(M, p, size))) / size for M, size in ((S, n), (T, k))]
    step = max(*widths, 1e-12 * float(np.abs(S).max() + np.abs(T).max()) / min(n, k)) / levels
    first = conditional_moments(S, p, n, order=order, step=step)
    second = conditional_moments(T, p, k, order=order, step=step)
    return tail_sum(both(first, second, step))


def both(first: Conditional, second: Conditional, step: float) -> Conditional:
    """The law of the sum of two independent statistics on lattices with the same step."""
    unit = float(np.hypot(first.unit, second.unit))
    mass = np.convolve(first.mass, second.mass)
    left, right = (_padded(law, unit) for law in (first, second))
    short = min(first.mass.size, second.mass.size)
    rounding = (short + 16) * UNIT * 1.01
    moments, errors = [], []
    for r in range(1, len(first.moments) + 1):
        exact, size, most = np.zeros_like(mass), np.zeros_like(mass), np.zeros_like(mass)
        for j in range(r + 1):
            (a, e), (b, f) = left[j], right[r - j]
            exact += comb(r, j) * np.convolve(a, b)
            size += comb(r, j) * np.convolve(np.abs(a), np.abs(b))
            most += comb(r, j) * np.convolve(np.abs(a) + e, np.abs(b) + f)
        moments.append(exact)
        # The errors of the factors, the rounding of the sums, and the cancellation in most - size.
        errors.append(most - size + 4.0 * rounding * most)
    value = first.value[0] + second.value[0] + step * np.arange(mass.size)
    scale = float(np.abs(value).max())
    slack = first.slack + second.slack + 16.0 * UNIT * scale
    missing = first.missing + second.missing
    return Conditional(value, mass * (1.0 + rounding), np.array(moments), np.array(errors), unit, slack, missing)


def _padded(law: Conditional, unit: float) -> list[tuple[Floats, Floats]]:
    """Moments from order 0 on, with their errors, in a common unit; masses are upper bounds and stay so."""
    ratio = law.unit / unit
    scaled = [(law.moments[r] * ratio ** (r + 1), law.errors[r] * ratio ** (r + 1)) for r in range(len(law.moments))]
    # A mass is too large by its own error at most, which is of the size of the last digits.
    return [(law.mass, law.mass * law.mass_error + 2.0 * law.missing), *scaled]


class IndependentEvents:
    """Events of one pool and one best arm, each arm with rows of its own.

    Parameters
    ----------
    pool
        In the affine regime.
    best
        The arm that the rivals must beat.
    """

    def __init__(self, pool: KnownPool, best: int) -> None:
        pool.require_affine("independent rows for every arm")
        self.pool = pool
        self.best = best
        self._signs = np.outer(pool.labels, pool.labels)
        self._plain = pool.gram(best)
        self._signed = self._plain * self._signs
        self._top = 1.0 if pool.nonnegative else np.inf
        self._tie = 8.0 * pool.kappa * pool.resolution / pool.ball
        self._laws: dict[int, tuple[Law, tuple[float, float]]] = {}

    def beaten(self, rivals: tuple[int, ...], rows: int | tuple[int, ...], order: int) -> float:
        """Upper bound on P[V_i <= V_best for some rival]; rows is one number, or one per arm of the pool."""
        counts = (rows,) * self.pool.n_arms if isinstance(rows, int) else rows
        total = sum(self._pair(i, counts[i], counts[self.best], order) for i in rivals)
        return min(1.0, total * (1.0 + 1e-12))

    def _pair(self, rival: int, n: int, k: int, order: int) -> float:
        if min(n, k) < 2 or max(n, k) > _ROWS:
            return 1.0
        law, nodes = self._law(rival)
        total = 0.0
        for window in choose_windows(_spread(law, n, k), nodes, k, self._top, order):
            t = sum(weight * node for weight, node in zip(window.on_forms, nodes, strict=True))
            S = self.pool.gram(rival) * (self._signs + t)
            T = window.on_a * self._signed + window.on_b * self._plain
            size = float(np.abs(S).max()) + (abs(window.on_a) + abs(window.on_b)) * float(np.abs(self._plain).max())
            total += two_samples(S, n, T + (self._tie + 32.0 * UNIT * size), k, self.pool.p, order=order)
            if total >= 1.0:
                return 1.0
        return total

    def _law(self, rival: int) -> tuple[Law, tuple[float, float]]:
        if rival not in self._laws:
            a, b = self.pool.norms
            ratio = max(float(a[self.best] + a[rival]), 1e-3) / max(float(b[self.best] + b[rival]), 1e-3)
            nodes = (_RATIOS[0] * ratio, _RATIOS[1] * ratio)
            K = self.pool.gram(rival)
            forms = [K * (self._signs + t) for t in nodes]
            self._laws[rival] = quadratic_law((*forms, self._signed, self._plain), self.pool.p), nodes
        return self._laws[rival]


def _spread(law: Law, n: int, k: int) -> Law:
    """The law of the forms as if all were on k rows: no covariance between the samples, the rival's part rescaled."""
    h, d, z1, z2 = law
    rival = np.arange(len(h)) < len(h) - 2
    apart = rival[:, None] != rival[None, :]
    both_rival = rival[:, None] & rival[None, :]
    share = k / n
    return (
        h,
        np.where(rival, k * ((1.0 / k - 1.0 / n) * h + d / n), d),
        np.where(apart, 0.0, z1 * np.where(both_rival, share, 1.0)),
        np.where(apart, 0.0, z2 * np.where(both_rival, share**2, 1.0)),
    )
