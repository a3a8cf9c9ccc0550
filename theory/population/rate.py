"""The exponential rate at which failures become rare: how fast a bound on a known population could fall at best.

By Sanov's theorem P[fail] = exp(-n I + o(n)) with I = min{KL(q || p) : some rival is at least as good as every best arm
under q}. The set is not convex, so the number here is the smallest that a search from several starts found: every law
that it looks at is in the set, so I is at most this number, and it may be smaller. It is no bound on P[fail].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from theory.population.graphs import Floats
from theory.population.model import PopulationModel

__all__ = ["Nearest", "large_deviation_rate", "nearest_failure"]

#: Eigenvectors of a rival's forms from which the search starts, in both directions, and steps of their iteration.
_VECTORS, _POWER = 3, 30
#: Single rows from which it starts.
_ROWS = 12
#: Starts that are followed for a few steps, and to the end.
_FOLLOWED, _FINISHED = 24, 5
_FEW, _MANY = 4, 60
#: Sizes of a tilt by a direction of variance 1.
_SIZES = tuple(0.02 * 1.5**k for k in range(30))


class Nearest(NamedTuple):
    """The nearest law of the rows that was found under which a rival wins."""

    rate: float
    law: Floats
    rival: int


def large_deviation_rate(pool: PopulationModel) -> float:
    """A rate per row, found by a search in the affine regime: the true I is at most this; inf if none was found."""
    return nearest_failure(pool).rate


def nearest_failure(pool: PopulationModel) -> Nearest:
    """The law with the smallest divergence from the population that the search found in the set of failures."""
    pool.require_affine("the rate in closed form")
    best = Nearest(float("inf"), pool.p, pool.rivals[0])
    tracks: list[tuple[Nearest, _Duel]] = []
    for rival in pool.rivals:
        duel = _Duel(pool, rival)
        reached = [duel.first(v) for v in duel.starts()]
        tracks += [(one, duel) for one in (*reached, *duel.rows()) if one is not None]
    for count, steps in ((_FOLLOWED, _FEW), (_FINISHED, _MANY)):
        tracks = sorted(tracks, key=lambda track: track[0].rate)[:count]
        tracks = [(duel.descend(one, steps), duel) for one, duel in tracks]
    return min((one for one, _ in tracks), key=lambda one: one.rate, default=best)


class _Duel:
    """One rival against all best arms; laws are p exp(s v), normed, for directions v."""

    def __init__(self, pool: PopulationModel, rival: int) -> None:
        self.pool, self.rival = pool, rival
        self.p, self.y = pool.p, pool.labels
        self._other, self._best = pool.gram(rival), [pool.gram(j) for j in pool.best_arms]
        # Scores within the resolution are a tie, which is charged to the strategy.
        self._tie = 2.0 * pool.resolution / pool.radius

    def lead(self, q: Floats) -> tuple[float, Floats]:
        """The rival's strength |mean y Phi| + |mean Phi| less that of the strongest best arm, and the gradient."""
        high, up = self._strength(self._other, q)
        low, down = max((self._strength(K, q) for K in self._best), key=lambda pair: pair[0])
        return high - low + self._tie, up - down

    def ahead(self, q: Floats) -> float:
        """The lead alone: a search for its sign needs no gradient, and asks thousands of times."""
        q_twice = self._twice(q)
        low = max(sum(self._norms(K, q_twice)[0]) for K in self._best)
        return sum(self._norms(self._other, q_twice)[0]) - low + self._tie

    def _strength(self, K: Floats, q: Floats) -> tuple[float, Floats]:
        (a, b), products = self._norms(K, self._twice(q))
        return a + b, products[:, 0] * self.y / max(a, 1e-8) + products[:, 1] / max(b, 1e-8)

    def _twice(self, q: Floats) -> Floats:
        """The law with and without the labels, side by side."""
        both = np.empty((len(q), 2))
        both[:, 0] = q * self.y
        both[:, 1] = q
        return both

    def _norms(self, K: Floats, q_twice: Floats) -> tuple[tuple[float, float], Floats]:
        """|mean y Phi| and |mean Phi| under the law, and the products with K that they come from."""
        products = K @ q_twice
        signed, plain = q_twice[:, 0] @ products[:, 0], q_twice[:, 1] @ products[:, 1]
        return (math.sqrt(max(float(signed), 0.0)), math.sqrt(max(float(plain), 0.0))), products

    def _on_tilt(self, v: Floats, size: float) -> float:
        return self.ahead(self._tilted(v, size))

    def _on_segment(self, end: Floats, share: float) -> float:
        return self.ahead((1.0 - share) * self.p + share * end)

    def starts(self) -> Iterator[Floats]:
        """The gradient at the population, and leading eigenvectors of the rival's and of the difference's forms."""
        yield self.lead(self.p)[1]
        signs = np.multiply.outer(self.y, self.y)
        less = self._other - self._best[0]
        for form in (self._other, self._other * signs, less * (1.0 + signs)):
            for v in _leading(form):
                yield v
                yield -v

    def rows(self) -> Iterator[Nearest | None]:
        """Laws on the way from the population to single rows on which the rival wins."""
        ahead = np.sqrt(np.diagonal(self._other)) - np.max([np.sqrt(np.diagonal(K)) for K in self._best], axis=0)
        near = np.argsort(-(ahead + 1e-3 * self.p * np.abs(ahead).max()), kind="stable")[:_ROWS]
        for x in near:
            vertex = np.zeros_like(self.p)
            vertex[x] = 1.0
            if self.ahead(vertex) >= 0.0:
                share = _crossing(partial(self._on_segment, vertex), 1.0)
                yield self._found((1.0 - share) * self.p + share * vertex)

    def first(self, v: Floats) -> Nearest | None:
        """The first law of the failures in one direction."""
        v = self._normed(v)
        lead = partial(self._on_tilt, v)
        leads: list[float] = []
        for size in _SIZES:
            leads.append(lead(size))
            if leads[-1] >= 0.0:
                return self._found(self._tilted(v, _crossing(lead, size)))
        # The failures may lie between two sizes: look where the lead is largest.
        size = _peak(lead, _SIZES[max(int(np.argmax(leads)) - 1, 0)], _SIZES[min(int(np.argmax(leads)) + 1, 29)])
        return self._found(self._tilted(v, _crossing(lead, size))) if lead(size) >= 0.0 else None

    def descend(self, at: Nearest, steps: int) -> Nearest:
        """Turn the direction to the gradient as long as that brings the law nearer to the population."""
        turn = 1.0
        for _ in range(steps):
            v = self._normed(np.log(np.maximum(at.law, 1e-30) / self.p))
            goal = self._normed(self.lead(at.law)[1])
            while turn > 1e-4:
                w = self._normed((1.0 - turn) * v + turn * goal)
                size = self._size_at(w, at.rate)
                if self._on_tilt(w, size) >= 0.0:
                    break
                turn /= 2.0
            else:
                return at
            new = self._found(self._tilted(w, _crossing(partial(self._on_tilt, w), size)))
            if not new.rate < at.rate * (1.0 - 1e-10):
                return new if new.rate < at.rate else at
            at, turn = new, min(1.0, 2.0 * turn)
        return at

    def _size_at(self, v: Floats, rate: float) -> float:
        """The largest s, up to the search, whose law is not farther than ``rate`` from the population."""
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

    def _found(self, q: Floats) -> Nearest:
        return Nearest(self._divergence(q), q, self.rival)


def _leading(form: Floats) -> Floats:
    """About the leading eigenvectors of a symmetric matrix, as rows, by iteration of a fixed start."""
    start = np.random.default_rng(0).normal(size=(len(form), min(_VECTORS, len(form))))
    for _ in range(_POWER):
        start = np.linalg.qr(form @ start)[0]
    return np.asarray(start.T)


def _peak(lead: Callable[[float], float], low: float, high: float) -> float:
    """Where the lead is largest between two sizes, if it has one top."""
    for _ in range(50):
        third = (high - low) / 3.0
        low, high = (low, high - third) if lead(low + third) >= lead(high - third) else (low + third, high)
    return (low + high) / 2.0


def _crossing(lead: Callable[[float], float], high: float) -> float:
    """A place in [0, high] where the lead is not negative, and is negative shortly before it."""
    # scipy.optimize takes a quarter of a second to import: every process would wait for it.
    from scipy.optimize import brentq

    if lead(0.0) >= 0.0:
        return 0.0
    place, step = float(brentq(lead, 0.0, high, xtol=1e-12 * high, rtol=1e-12, maxiter=1000)), 1e-12 * high
    # A root is a place to either side of it.
    while lead(place) < 0.0:
        place, step = min(place + step, high), 2.0 * step
    return place
