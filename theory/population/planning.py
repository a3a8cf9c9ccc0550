"""Approximations that are no bounds: the large-deviation rate, and the budget decomposition.

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

from theory import budgets, tighter
from theory.population._moments import Floats
from theory.population.model import PopulationModel, require_level

__all__ = [
    "BudgetStep",
    "chernoff",
    "decompose_budget",
    "large_deviation_rate",
    "nearest_failure",
]

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
