"""Approximations that are no bounds: a normal planner, the large-deviation rate, and the budget decomposition.

The planner uses normal tails with the exact mean and variance of the quadratic statistics.

By Sanov's theorem P[fail] = exp(-n I + o(n)) with I = min{KL(q || p) : some rival is at least as good as every best arm
under q}. The set is not convex, so the rate here is the smallest that a search from several starts found: every
distribution of the search is in the set, so I is at most this number, and it may be smaller.

The budget decomposition concerns uniform allocation in the affine regime. It leads from the bound that uses the gaps
only (Theorem 3) to the exponential rate of the population: first without the optimism of the arms, then for the nearest
rival alone instead of a union over all, then with the population's own large-deviation rate instead of that of the
worst distribution with the same gap and range. Another order would give other parts. Only the first is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from theory import budgets, tighter
from theory._bound import Strategy
from theory.formulas import halving_schedule
from theory.population._moments import Floats
from theory.population.model import PopulationModel, require_level

__all__ = [
    "BudgetStep",
    "approximate_failure",
    "chernoff",
    "decompose_budget",
    "large_deviation_rate",
    "nearest_failure",
    "planned_budget",
]


class _NormalApproximation:
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
        """Return mean over standard deviation of every rival's statistic."""
        mean = (1.0 - 1.0 / n) * self.h + self.d / n
        return np.asarray(mean / np.sqrt(4.0 * self.z1 / n + 2.0 * self.z2 / n**2 + 1e-300))

    def union(self, n: float) -> float:
        """Approximate P[some rival beats the best arm] by Ditlevsen's bound, nearest rival first."""
        z = np.sort(self.scores(n))[::-1]
        order = np.argsort(-self.scores(n))
        total = float(special.ndtr(z[0]))
        for k in range(1, len(z)):
            joint = _joint_probability(z[k], z[:k], self.correlation[order[k], order[:k]])
            total += max(float(special.ndtr(z[k])) - float(joint.max()), 0.0)
        return min(1.0, total)

    def several(self, n: float, count: int) -> float:
        """Approximate P[at least ``count`` rivals beat the best arm], as if stronger rivals always came first."""
        z = np.sort(self.scores(n))[::-1]
        return float(special.ndtr(z[count - 1])) if count <= len(z) else 0.0


def approximate_failure(pool: PopulationModel, budget: int, strategy: Strategy = "uniform") -> float:
    """Approximate the failure probability with same rows, drawn with replacement, accumulated (no bound)."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < pool.n_arms:
        raise ValueError(f"budget must be a whole number, at least {pool.n_arms} (one row per arm), got {budget!r}")
    return _failure(_normal(pool), pool.n_arms, int(budget), strategy)


def planned_budget(pool: PopulationModel, delta: float, strategy: Strategy = "uniform") -> int:
    """Return the budget at which the approximate failure probability reaches delta (no bound)."""
    require_level(delta)
    approximation, K = _normal(pool), pool.n_arms
    unit = K if strategy == "uniform" else K * math.ceil(math.log2(K))

    def reaches(n: int) -> bool:
        return _failure(approximation, K, n * unit, strategy) <= delta

    failure = "no budget is large enough: the gaps are too small to plan for"
    return unit * budgets.smallest_budget(budgets.one_by_one(reaches), 2**40, failure)


def _failure(approximation: _NormalApproximation, K: int, budget: int, strategy: str) -> float:
    if strategy == "uniform":
        return approximation.union(max(budget // K, 1))
    if strategy != "median":
        raise ValueError(f"strategy must be 'uniform' or 'median', got {strategy!r}")
    schedule = halving_schedule(budget, K)
    rounds = zip(schedule.accumulated.tolist(), schedule.kept.tolist(), strict=True)
    return min(1.0, math.fsum(approximation.several(max(scored_rows, 1), kept) for scored_rows, kept in rounds))


def _normal(pool: PopulationModel) -> _NormalApproximation:
    return pool.cached("normal", lambda: _NormalApproximation(pool))


def _joint_probability(x: float, y: Floats, rho: Floats) -> Floats:
    """Return P[X <= x, Y <= y] for standard normal X, Y with correlation rho, by Owen's function."""
    root = np.sqrt(np.maximum(1.0 - rho**2, 1e-16))
    x = x if x != 0.0 else 1e-12
    y = np.where(y != 0.0, y, 1e-12)
    owen = special.owens_t(x, (y / x - rho) / root) + special.owens_t(y, (x / y - rho) / root)
    apart = np.where((x * y < 0) | ((x * y == 0) & (x + y < 0)), 0.5, 0.0)
    return np.asarray(np.clip(0.5 * (special.ndtr(x) + special.ndtr(y)) - owen - apart, 0.0, None))


#: Eigenvectors of a rival's forms from which the search starts, in both directions, and steps of their iteration.
_VECTORS, _POWER = 3, 30
#: Single rows from which it starts.
_ROWS = 12
#: Starts that are followed for a few steps, and to the end.
_FOLLOWED, _FINISHED = 24, 5
_FEW, _MANY = 4, 60
#: Sizes of a tilt by a direction of variance 1.
_SIZES = tuple(0.02 * 1.5**k for k in range(30))


class NearestFailure(NamedTuple):
    """The nearest distribution of the rows that a search finds under which a rival wins."""

    rate: float
    distribution: Floats
    rival: int


def large_deviation_rate(pool: PopulationModel) -> float:
    """Return a rate per row from a search in the affine regime: I is at most this; inf if the search fails."""
    return pool.cached("rate", lambda: nearest_failure(pool).rate)


def nearest_failure(pool: PopulationModel) -> NearestFailure:
    """Search for the distribution in the set of failures with the smallest divergence from the population."""
    pool.require_affine("the rate in closed form")
    default = NearestFailure(float("inf"), pool.p, pool.rivals[0])
    tracks: list[tuple[NearestFailure, _RivalSearch]] = []
    for rival in pool.rivals:
        search = _RivalSearch(pool, rival)
        reached = [search.first(v) for v in search.starts()]
        tracks += [(failure, search) for failure in (*reached, *search.rows()) if failure is not None]
    for count, steps in ((_FOLLOWED, _FEW), (_FINISHED, _MANY)):
        tracks = sorted(tracks, key=lambda track: track[0].rate)[:count]
        tracks = [(search.descend(failure, steps), search) for failure, search in tracks]
    return min((failure for failure, _ in tracks), key=lambda failure: failure.rate, default=default)


class _RivalSearch:
    """One rival against all best arms; distributions are p exp(s v), normed, for directions v."""

    def __init__(self, pool: PopulationModel, rival: int) -> None:
        self.pool, self.rival = pool, rival
        self.p, self.y = pool.p, pool.labels
        self._other, self._best = pool.gram(rival), [pool.gram(j) for j in pool.best_arms]
        # Scores within the resolution are a tie, which is charged to the strategy.
        self._tie = 2.0 * pool.resolution / pool.radius

    def lead(self, q: Floats) -> tuple[float, Floats]:
        """Return the rival's |mean y Phi| + |mean Phi| less the largest of the best arms, and the gradient."""
        high, up = self._strength(self._other, q)
        low, down = max((self._strength(K, q) for K in self._best), key=lambda pair: pair[0])
        return high - low + self._tie, up - down

    def ahead(self, q: Floats) -> float:
        """Return the lead alone: a search for its sign needs no gradient."""
        q_twice = self._twice(q)
        low = max(sum(self._norms(K, q_twice)[0]) for K in self._best)
        return sum(self._norms(self._other, q_twice)[0]) - low + self._tie

    def _strength(self, K: Floats, q: Floats) -> tuple[float, Floats]:
        (a, b), products = self._norms(K, self._twice(q))
        return a + b, products[:, 0] * self.y / max(a, 1e-8) + products[:, 1] / max(b, 1e-8)

    def _twice(self, q: Floats) -> Floats:
        """Return the distribution with and without the labels, side by side."""
        both = np.empty((len(q), 2))
        both[:, 0] = q * self.y
        both[:, 1] = q
        return both

    def _norms(self, K: Floats, q_twice: Floats) -> tuple[tuple[float, float], Floats]:
        """Return |mean y Phi| and |mean Phi| under the distribution, and their products with K."""
        products = K @ q_twice
        signed, plain = q_twice[:, 0] @ products[:, 0], q_twice[:, 1] @ products[:, 1]
        return (math.sqrt(max(float(signed), 0.0)), math.sqrt(max(float(plain), 0.0))), products

    def _on_tilt(self, v: Floats, size: float) -> float:
        return self.ahead(self._tilted(v, size))

    def _on_segment(self, end: Floats, share: float) -> float:
        return self.ahead((1.0 - share) * self.p + share * end)

    def starts(self) -> Iterator[Floats]:
        """Yield the gradient at the population, and leading eigenvectors of the forms."""
        yield self.lead(self.p)[1]
        signs = np.multiply.outer(self.y, self.y)
        less = self._other - self._best[0]
        for form in (self._other, self._other * signs, less * (1.0 + signs)):
            for v in _leading(form):
                yield v
                yield -v

    def rows(self) -> Iterator[NearestFailure | None]:
        """Yield mixtures of the population and single rows on which the rival wins."""
        ahead = np.sqrt(np.diagonal(self._other)) - np.max([np.sqrt(np.diagonal(K)) for K in self._best], axis=0)
        near = np.argsort(-(ahead + 1e-3 * self.p * np.abs(ahead).max()), kind="stable")[:_ROWS]
        for x in near:
            vertex = np.zeros_like(self.p)
            vertex[x] = 1.0
            if self.ahead(vertex) >= 0.0:
                share = _crossing(partial(self._on_segment, vertex), 1.0)
                yield self._failure_at((1.0 - share) * self.p + share * vertex)

    def first(self, v: Floats) -> NearestFailure | None:
        """Return the first failing distribution in one direction."""
        v = self._normed(v)
        lead = partial(self._on_tilt, v)
        leads: list[float] = []
        for size in _SIZES:
            leads.append(lead(size))
            if leads[-1] >= 0.0:
                return self._failure_at(self._tilted(v, _crossing(lead, size)))
        # The failures may lie between two sizes: try where the lead is largest.
        size = _peak(lead, _SIZES[max(int(np.argmax(leads)) - 1, 0)], _SIZES[min(int(np.argmax(leads)) + 1, 29)])
        return self._failure_at(self._tilted(v, _crossing(lead, size))) if lead(size) >= 0.0 else None

    def descend(self, at: NearestFailure, steps: int) -> NearestFailure:
        """Turn the direction to the gradient as long as the divergence from the population falls."""
        turn = 1.0
        for _ in range(steps):
            v = self._normed(np.log(np.maximum(at.distribution, 1e-30) / self.p))
            goal = self._normed(self.lead(at.distribution)[1])
            while turn > 1e-4:
                w = self._normed((1.0 - turn) * v + turn * goal)
                size = self._size_at(w, at.rate)
                if self._on_tilt(w, size) >= 0.0:
                    break
                turn /= 2.0
            else:
                return at
            new = self._failure_at(self._tilted(w, _crossing(partial(self._on_tilt, w), size)))
            if not new.rate < at.rate * (1.0 - 1e-10):
                return new if new.rate < at.rate else at
            at, turn = new, min(1.0, 2.0 * turn)
        return at

    def _size_at(self, v: Floats, rate: float) -> float:
        """Return the largest s, up to the search, whose divergence is at most ``rate``."""
        low, high = 0.0, 1.0
        while self._divergence(self._tilted(v, high)) < rate and high < 1e6:
            low, high = high, 2.0 * high
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._divergence(self._tilted(v, middle)) <= rate else (low, middle)
        return low

    def _normed(self, v: Floats) -> Floats:
        v = v - self.p @ v
        return np.asarray(v / np.sqrt(max(float(self.p @ (v * v)), 1e-300)))

    def _tilted(self, v: Floats, size: float) -> Floats:
        slope = size * v
        q = self.p * np.exp(slope - slope.max())
        return np.asarray(q / q.sum())

    def _divergence(self, q: Floats) -> float:
        return float(np.sum(q * np.log(np.maximum(q, 1e-300) / self.p)))

    def _failure_at(self, q: Floats) -> NearestFailure:
        return NearestFailure(self._divergence(q), q, self.rival)


def _leading(form: Floats) -> Floats:
    """Approximate the leading eigenvectors of a symmetric matrix, as rows, by iteration of a fixed start."""
    start = np.random.default_rng(0).normal(size=(len(form), min(_VECTORS, len(form))))
    for _ in range(_POWER):
        start = np.linalg.qr(form @ start)[0]
    return np.asarray(start.T)


def _peak(lead: Callable[[float], float], low: float, high: float) -> float:
    """Return where the lead is largest between two sizes, if it has one maximum."""
    for _ in range(50):
        third = (high - low) / 3.0
        low, high = (low, high - third) if lead(low + third) >= lead(high - third) else (low + third, high)
    return (low + high) / 2.0


def _crossing(lead: Callable[[float], float], high: float) -> float:
    """Return a point of [0, high] where the lead is not negative, and is negative shortly before it."""
    # scipy.optimize takes a quarter of a second to import: every process would wait for it.
    from scipy.optimize import brentq

    if lead(0.0) >= 0.0:
        return 0.0
    root, step = float(brentq(lead, 0.0, high, xtol=1e-12 * high, rtol=1e-12, maxiter=1000)), 1e-12 * high
    # The computed root may lie on either side of the true one.
    while lead(root) < 0.0:
        root, step = min(root + step, high), 2.0 * step
    return root


#: In place of kappa Lambda in the optimism: none.
_NO_OPTIMISM = 1e-12


class BudgetStep(NamedTuple):
    """A budget, and the cause of loss that was removed from the step before."""

    name: str
    budget: float


def decompose_budget(pool: PopulationModel, delta: float) -> tuple[BudgetStep, ...]:
    """Split the budget of uniform allocation for failure probability delta, from the bound of the gaps to the rate.

    The last is K ln(1/delta) / I with the rate I of `large_deviation_rate`: where exp(-n I) reaches delta. The failure
    probability has a factor before the exponential, so practice may need less than this, or more.
    """
    require_level(delta)
    pool.require_affine("the budget decomposition")
    gaps = np.sort(pool.risks[list(pool.rivals)] - float(pool.risks.min()))
    ties = [0.0] * (len(pool.best_arms) - 1)
    given: dict[str, Any] = {"gap": None, "theta": pool.theta, "kappa_lambda": pool.kappa * pool.radius}
    given |= {"kernel": "nonnegative" if pool.nonnegative else "any"}
    bound, K = tighter.delta_fail_uniform, pool.n_arms
    every = {**given, "K": K, "gaps": np.array([*ties, *gaps])}
    nearest = {**given, "K": 2, "gaps": gaps[:1], "mean_kappa_lambda": _NO_OPTIMISM}
    return (
        BudgetStep("gaps only", budgets.required_budget(bound, delta, **every)),
        BudgetStep("optimism", budgets.required_budget(bound, delta, **every, mean_kappa_lambda=_NO_OPTIMISM)),
        BudgetStep("union over arms", budgets.required_budget(bound, delta, **nearest) / 2 * K),
        BudgetStep("worst-case distribution", K * math.log(1.0 / delta) / large_deviation_rate(pool)),
    )


def chernoff(pool: PopulationModel, budget: float) -> float:
    """Return exp(-n I), n = B/K rows per arm at unit costs, I the rate of `large_deviation_rate`; no bound."""
    return math.exp(-budget / pool.n_arms * large_deviation_rate(pool))
