"""Small populations, chosen to be hard, whose failure probability is a sum over all samples.

The package is only asked to build its model: scores come from the closed form of the affine regime, samples from
enumeration.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import ceil, factorial, log2, prod

import numpy as np

from theory.population import PopulationModel

TIE = 1e-9
KINDS = ("random", "gaussian", "opposed", "duplicates", "ties", "skewed", "heavy", "one class")


@dataclass(frozen=True)
class Small:
    """Gram matrices (K, m, m), labels, weights, theta and ball, in the affine regime."""

    kind: str
    grams: np.ndarray
    y: np.ndarray
    p: np.ndarray
    theta: float
    ball: float

    def strengths(self, shares: np.ndarray) -> np.ndarray:
        """|mean y Phi| + |mean Phi| of every arm under row distributions, shape (distributions, K); larger wins."""
        signed = np.einsum("sx,kxy,sy->sk", shares * self.y, self.grams, shares * self.y)
        plain = np.einsum("sx,kxy,sy->sk", shares, self.grams, shares)
        return np.sqrt(np.maximum(signed, 0.0)) + np.sqrt(np.maximum(plain, 0.0))

    @property
    def best(self) -> np.ndarray:
        strengths = self.strengths(self.p[None])[0]
        return strengths >= strengths.max() - TIE


def build_model(pool: Small, **more: object) -> PopulationModel:
    """The pool as bounds see it."""
    return PopulationModel(pool.grams, pool.y, pool.ball, pool.theta, **{"weights": pool.p, **more})


def compute_ratio(bound: float, exact: float) -> float:
    """Bound over exact probability, infinite where the latter is 0."""
    return bound / exact if exact > 0 else np.inf


def random_form(rng: np.random.Generator, m: int) -> np.ndarray:
    """A symmetric form of both signs, mostly with a negative mean."""
    left, right = rng.normal(size=(m, 3)), rng.normal(size=(m, 3))
    S = left @ left.T * rng.uniform(0.2, 1) - right @ right.T * rng.uniform(0.2, 1)
    return S - abs(S.mean()) * rng.uniform(0, 3) - rng.uniform(0, 1)


def random_weights(rng: np.random.Generator, m: int) -> np.ndarray:
    """Weights of m rows, none of them tiny."""
    p = rng.dirichlet(np.full(m, 2.0)) * 0.9 + 0.1 / m
    return p / p.sum()


def evaluate_form(S: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """c' S c of every line of counts."""
    return np.einsum("sx,xy,sy->s", counts, S, counts)


def samples(p: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All count vectors of n rows and their probabilities."""
    m = len(p)
    counts = np.array([np.bincount(c, minlength=m) for c in combinations_with_replacement(range(m), n)])
    ways = np.array([factorial(n) // prod(factorial(int(k)) for k in row) for row in counts], dtype=float)
    return counts, ways * np.prod(p**counts, axis=1)


def exact_uniform(pool: Small, n: int) -> float:
    """P[some arm outside the best arms is at least as strong as every best arm] on n shared rows."""
    counts, chance = samples(pool.p, n)
    strengths = pool.strengths(counts / n)
    fails = strengths[:, ~pool.best].max(axis=1) >= strengths[:, pool.best].max(axis=1) - TIE
    return float(chance[fails].sum())


def exact_median(pool: Small, budget: int, *, fresh_rows: bool) -> float:
    """P[median elimination ends outside the best arms], ties broken against the best arms."""
    K = len(pool.grams)
    rounds = ceil(log2(K))
    states: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {(tuple(range(K)), (0,) * len(pool.p)): 1.0}
    for _ in range(rounds):
        following: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (active, earlier), mass in states.items():
            if len(active) == 1:
                following[active, earlier] = following.get((active, earlier), 0.0) + mass
                continue
            counts, chance = samples(pool.p, budget // (rounds * len(active)))
            total = counts if fresh_rows else counts + np.array(earlier)
            strengths = np.round(pool.strengths(total / total.sum(axis=1, keepdims=True))[:, active], 9)
            order = np.lexsort((np.broadcast_to(pool.best[list(active)], strengths.shape), -strengths), axis=1)
            kept = np.sort(order[:, : -(-len(active) // 2)], axis=1)
            for row, line, weight in zip(total, kept, chance, strict=True):
                key = (tuple(active[i] for i in line), (0,) * len(pool.p) if fresh_rows else tuple(row.tolist()))
                following[key] = following.get(key, 0.0) + mass * weight
        states = following
    return sum(mass for ((arm,), _), mass in states.items() if not pool.best[arm])


def small_pool(rng: np.random.Generator, kind: str, *, arms: int = 3, rows: int = 4) -> Small:
    """A random pool of one kind; the best arm is often nearly constant, which makes bounds small enough to be wrong."""
    theta = float(rng.uniform(0.05, 0.4))
    y = np.ones(rows) if kind == "one class" else rng.permutation(np.resize([1.0, -1.0, 1.0], rows))
    p = np.full(rows, 1.0 / rows)
    if kind in ("skewed", "heavy"):
        p = rng.dirichlet(np.full(rows, 0.7)) * 0.97 + 0.03 / rows
        p /= p.sum()
    features = rng.normal(size=(arms, rows, 2))
    strong = y[:, None] * np.array([[1.0, 0.0]]) + np.array([[0.0, 1.0]]) + rng.normal(scale=0.15, size=(rows, 2))
    features[0] = strong
    if kind == "opposed":
        # The rival errs where the best arm does not: their errors are as far apart as can be.
        features[1] = strong * np.where(rng.random((rows, 1)) < 0.5, -0.4, 1.0)
    if kind == "heavy":
        features[:, 0] *= 4.0
    if kind == "duplicates":
        features[:, 1], y[1] = features[:, 0], y[0]
    if kind == "ties":
        features[-1] = features[0][:, ::-1]
    if kind == "gaussian":
        squares = ((features[:, :, None] - features[:, None, :]) ** 2).sum(axis=-1)
        grams = np.exp(-squares / np.median(squares[squares > 0]))
    else:
        grams = np.einsum("kxd,kyd->kxy", features, features)
    kappa = float(np.sqrt(np.max(np.diagonal(grams, axis1=1, axis2=2))))
    return Small(kind, grams, y, p, theta, float(rng.uniform(0.3, 1.0)) * (1 - 2 * theta) / kappa)


def generated(count: int, seed: int = 0, *, arms: int = 3, rows: int = 4) -> list[Small]:
    """Pools of all kinds in turn that have a gap."""
    rng = np.random.default_rng(seed)
    seen: list[Small] = []
    # Two arms that tie leave no rival.
    kinds = [kind for kind in KINDS if arms > 2 or kind != "ties"]
    while len(seen) < count:
        pool = small_pool(rng, kinds[len(seen) % len(kinds)], arms=arms, rows=rows)
        strengths = pool.strengths(pool.p[None])[0]
        rest = strengths[~pool.best]
        if rest.size and strengths.max() - rest.max() > 1e-3:
            seen.append(pool)
    return seen
