"""Small worlds in which failure probabilities are computed exactly, independently of the package.

A world is a finite population: atoms with probabilities and labels, and for every arm a feature
vector per atom (a linear kernel). In the affine regime kappa * Lambda <= 1 - 2 theta the minimised
risk of a sample is V = 1 - (Lambda / 2)(|mean y Phi| + |mean Phi|), so every probability is a sum
over the possible counts of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, lgamma

import numpy as np

TIE = 1e-12


@dataclass(frozen=True)
class World:
    """Atoms: probabilities (A,), labels (A,), features (K, A, d); kappa = 1."""

    probabilities: np.ndarray
    labels: np.ndarray
    features: np.ndarray
    theta: float
    r: float

    @property
    def arms(self) -> int:
        return len(self.features)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """V of every arm for rows of atom weights (S, A): shape (S, K)."""
        assert self.r <= 1 - 2 * self.theta + 1e-12
        signed = np.einsum("sa,a,kad->skd", weights, self.labels, self.features)
        plain = np.einsum("sa,kad->skd", weights, self.features)
        norms = np.linalg.norm(signed, axis=2) + np.linalg.norm(plain, axis=2)
        return 1 - self.r / 2 * norms

    def risks(self) -> np.ndarray:
        return self.scores(self.probabilities[None])[0]

    def learned_risks(self, weights: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Surrogate and 0/1 risk of the chosen arm's ball minimiser on every sample, Lambda = r."""
        features = self.features[chosen]
        signed = np.einsum("sa,a,sad->sd", weights, self.labels, features)
        plain = np.einsum("sa,sad->sd", weights, features)

        def along(v: np.ndarray) -> np.ndarray:
            norm = np.linalg.norm(v, axis=1, keepdims=True)
            return self.r * np.einsum("sad,sd->sa", features, np.where(norm > 1e-12, v / np.maximum(norm, 1e-12), 0.0))

        h, g = along(signed), -along(plain)
        zero_one = np.where(g <= 0, self.theta, (self.labels * h <= 0) * 1.0)
        return (1 + (g - self.labels * h) / 2) @ self.probabilities, zero_one @ self.probabilities

    def sorted(self) -> World:
        """The same world with the best arm first."""
        order = np.argsort(self.risks(), kind="stable")
        return World(self.probabilities, self.labels, self.features[order], self.theta, self.r)

    def gaps(self) -> np.ndarray:
        risks = self.risks()
        return risks[1:] - risks[0]


def compositions(n: int, parts: int) -> np.ndarray:
    """All vectors of ``parts`` nonnegative integers with sum ``n``."""
    bars = np.array(list(combinations(range(n + parts - 1), parts - 1))).reshape(-1, parts - 1)
    padded = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + parts - 1)])
    return np.diff(padded, axis=1) - 1


def multinomial(counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Probabilities of the counts for draws with replacement."""
    n = int(counts[0].sum())
    factorials = np.array([lgamma(k + 1) for k in range(n + 1)])
    logs = np.where(probabilities > 0, np.log(np.maximum(probabilities, 1e-300)), -np.inf)
    powers = np.where(counts > 0, counts * logs, 0.0).sum(axis=1)
    return np.exp(factorials[n] - factorials[counts].sum(axis=1) + powers)


def hypergeometric(counts: np.ndarray, population: np.ndarray) -> np.ndarray:
    """Probabilities of the counts for draws without replacement from integer atom sizes."""
    total = comb(int(population.sum()), int(counts[0].sum()))
    ways = np.array(
        [np.prod([comb(int(N), int(k)) for N, k in zip(population, row, strict=True)], dtype=object) for row in counts]
    )
    return np.array([w / total for w in ways], dtype=float)


def loses(scores: np.ndarray, rivals: np.ndarray, best: int = 0) -> np.ndarray:
    """Whether some rival scores at most the best arm's score (a tie counts as a loss)."""
    return np.any(scores[:, rivals] <= scores[:, [best]] + TIE, axis=1)


def random_world(rng: np.random.Generator, *, arms: int, atoms: int, dimension: int) -> World:
    """A random affine world with the best arm first; unit features are common, to be hard."""
    theta = float(rng.uniform(0.02, 0.45))
    r = float((1 - 2 * theta) * rng.choice([1.0, rng.uniform(0.1, 1.0)]))
    features = rng.normal(size=(arms, atoms, dimension))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    if rng.random() < 0.5:
        features *= rng.uniform(0, 1, size=(arms, atoms, 1)) ** rng.uniform(0.1, 2)
    if rng.random() < 0.6:
        # A nearly constant best arm makes large gaps, where the bounds say something.
        features[0] = features[0, :1] + rng.normal(scale=0.2, size=features[0].shape)
        features[0] /= np.maximum(np.linalg.norm(features[0], axis=1, keepdims=True), 1.0)
    probabilities = rng.dirichlet(np.full(atoms, rng.choice([0.5, 1.0, 5.0])))
    labels = rng.choice([-1, 1], size=atoms)
    if rng.random() < 0.6:
        labels = np.ones(atoms, dtype=int)
    return World(probabilities, labels, features, theta, r).sorted()


def exact_uniform(world: World, n: int, population: np.ndarray | None = None) -> float:
    """P[some arm with a positive gap scores at most arm 0] on n rows that all arms share."""
    counts = compositions(n, len(world.probabilities))
    weights = multinomial(counts, world.probabilities) if population is None else hypergeometric(counts, population)
    rivals = 1 + np.flatnonzero(world.gaps() > 1e-9)
    return float(weights[loses(world.scores(counts / n), rivals)].sum())


def exact_median(world: World, budget: int, *, fresh_rows: bool) -> float:
    """P[the selected arm has a positive gap] for median elimination, ties broken against the best."""
    arms, rounds = world.arms, int(np.ceil(np.log2(world.arms)))
    gaps = np.concatenate([[0.0], world.gaps()])
    best_last = np.lexsort((np.arange(arms), -gaps))
    states: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {
        ((0,) * len(world.probabilities), tuple(range(arms))): 1.0
    }
    for _ in range(rounds):
        following: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (earlier, active), mass in states.items():
            n = budget // (rounds * len(active))
            counts = compositions(n, len(world.probabilities))
            weights = multinomial(counts, world.probabilities) * mass
            rows = counts if fresh_rows else counts + np.array(earlier)
            scores = np.round(world.scores(rows / rows[0].sum()), 11)
            kept_count = (len(active) + 1) // 2
            ordered = [a for a in best_last if a in active]
            ranks = np.argsort(scores[:, ordered], axis=1, kind="stable")[:, :kept_count]
            kept = np.sort(np.array(ordered)[ranks], axis=1)
            for row, survivors, weight in zip(rows, kept, weights, strict=True):
                state = ((0,) * len(row) if fresh_rows else tuple(row), tuple(survivors))
                following[state] = following.get(state, 0.0) + weight
        states = following
    return float(sum(mass for (_, active), mass in states.items() if gaps[active[0]] > 1e-9))
