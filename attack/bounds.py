"""Random small pools, every probability by enumeration, against the bounds of `theory`: none may be below the truth.

A world is a finite population with a linear kernel: atoms with probabilities and labels, and a feature vector per atom
for every arm. In the affine regime the minimised risk of a sample is V = 1 - (r / 2)(|mean y Phi| + |mean Phi|);
elsewhere the solver's certificates stand for it. Written without the packages' own enumeration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from attack.case import Case, Finding
from theory import corrected, tighter

Floats = NDArray[np.float64]

#: Deltas of the bounds on regrets, and shares of the gap at which tails are asked for.
DELTAS = np.array([0.9, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 1e-4])
SHIFTS = np.linspace(0.05, 1.0, 20)
#: Rounding granted to a probability and to a tie of two scores.
SLACK, TIE = 1e-12, 1e-12


@lru_cache(maxsize=256)
def compositions(n: int, parts: int) -> NDArray[np.int64]:
    """All vectors of `parts` whole numbers that are not negative and sum to n."""
    bars = np.array(list(combinations(range(n + parts - 1), parts - 1)), dtype=np.int64).reshape(-1, parts - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + parts - 1)])
    return np.diff(edges, axis=1) - 1


def multinomial(counts: NDArray[np.int64], law: Floats) -> Floats:
    """Probabilities of counts of rows drawn with replacement."""
    logs = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(law)
    return np.exp(logs)


def hypergeometric(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    """Probabilities of counts of rows drawn without replacement."""
    possible = np.all(counts <= sizes, axis=1)
    left = np.where(possible[:, None], sizes - counts, 0)

    def log_choose(total: NDArray[np.int64], part: NDArray[np.int64], rest: NDArray[np.int64]) -> Floats:
        return np.asarray(gammaln(total + 1) - gammaln(part + 1) - gammaln(rest + 1))

    n, m = counts[0].sum(), sizes.sum()
    logs = log_choose(sizes, counts, left).sum(axis=1) - log_choose(m, n, m - n)
    return np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)


@dataclass(frozen=True)
class World:
    """Sizes of atoms (A,), labels (A,), features (K, A, d) of norm at most 1, best arm first."""

    sizes: NDArray[np.int64]
    labels: NDArray[np.int64]
    features: Floats
    theta: float
    r: float

    @property
    def law(self) -> Floats:
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def affine(self) -> bool:
        return self.r <= 1 - 2 * self.theta

    @property
    def nonnegative(self) -> bool:
        inner = np.einsum("kad,kbd->kab", self.features, self.features)
        return bool(inner.min() >= 0)

    def scores(self, weights: Floats) -> Floats:
        """V of every arm for lines of weights, shape (lines, K)."""
        if not self.affine:
            return self._solved(weights)
        signed = np.einsum("sa,a,kad->skd", weights, self.labels, self.features)
        plain = np.einsum("sa,kad->skd", weights, self.features)
        return np.asarray(1 - self.r / 2 * (np.linalg.norm(signed, axis=2) + np.linalg.norm(plain, axis=2)))

    def _solved(self, weights: Floats) -> Floats:
        from exml_sim.rejection import solve_batch

        counts = np.rint(weights * (len(weights[0]) * 5040)).astype(np.int64) if weights.max() <= 1 else weights
        columns = []
        for arm in self.features:
            found = solve_batch(arm @ arm.T, self.labels, self.theta, counts, ball=self.r, tol=1e-9)
            columns.append((found.objective + found.lower_bound) / 2)
        return np.stack(columns, axis=1)


def draw_world(case: Case) -> World:
    """The world of a case."""
    rng = np.random.default_rng(case["seed"])
    arms, atoms, width = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    theta = float(rng.choice([rng.uniform(0.01, 0.49), 0.001, 0.4999, 0.25]))
    r = (1 - 2 * theta) * float(rng.choice([1.0, rng.uniform(0.01, 1.0)]))
    features = rng.normal(size=(arms, atoms, width))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    style = rng.integers(4)
    if style == 0:
        features *= rng.uniform(0, 1, size=(arms, atoms, 1)) ** rng.uniform(0.1, 3)
    if style == 1:
        # A nearly constant best arm makes large gaps, where bounds say something.
        features[0] = features[0, :1] + rng.normal(scale=0.1, size=features[0].shape)
    if style == 2:
        # Arms that err in opposite directions fail most often for their gap.
        features[1] = -features[0] * rng.choice([-1.0, 1.0], size=(atoms, 1))
    if rng.random() < 0.4:
        features = np.abs(features)
    features /= np.maximum(np.linalg.norm(features, axis=2, keepdims=True), 1.0) * (1 + 1e-15)
    labels = np.ones(atoms, dtype=np.int64) if rng.random() < 0.6 else rng.choice([-1, 1], size=atoms)
    sizes = rng.integers(1, rng.choice([4, 40, 400]), size=atoms)
    world = World(sizes, labels, features, theta, r)
    order = np.argsort(world.scores(world.law[None])[0], kind="stable")
    return World(sizes, labels, features[order], theta, r)


class Bounds:
    """Bounds against probabilities by enumeration."""

    name, share = "bounds", 0.18

    def draw(self, rng: np.random.Generator) -> Case:
        """A world and some numbers of rows."""
        return {"seed": int(rng.integers(2**63)), "rows": sorted({int(n) for n in np.exp(rng.uniform(0, 5.2, size=6))})}

    def judge(self, case: Case) -> Counter[str]:
        """Compare everything that can be enumerated."""
        world = draw_world(case)
        risks = world.scores(world.law[None])[0]
        gaps = np.where(risks - risks[0] > 1e-9, risks - risks[0], 0.0)[1:]
        if not gaps.any():
            return Counter({"worlds of ties": 1})
        seen: Counter[str] = Counter(worlds=1)
        for n in case["rows"]:
            # About as many lines as fit: fewer rows for more atoms.
            rows = min(n, {2: 180, 3: 60, 4: 20}[len(world.sizes)])
            seen += _Look(world, rows, risks, gaps).compare()
        return seen


class _Look:
    """A world at a number of rows: laws, scores, and every comparison."""

    def __init__(self, world: World, n: int, risks: Floats, gaps: Floats) -> None:
        self.world, self.n, self.risks, self.gaps = world, n, risks, gaps
        self.counts = compositions(n, len(world.sizes))
        self.mass = multinomial(self.counts, world.law)
        self.scores = world.scores(self.counts / n)
        self.seen: Counter[str] = Counter()
        self.arms = len(risks)

    def compare(self) -> Counter[str]:
        self._pairs()
        self._uniform()
        self._without_replacement()
        self._tails()
        self._regrets()
        return self.seen

    def _hold(self, name: str, truth: object, bound: object) -> None:
        """No bound that speaks may be below the truth."""
        observed, limit = np.broadcast_arrays(np.asarray(truth, dtype=float), np.asarray(bound, dtype=float))
        spoken = ~np.isnan(limit)
        if np.any(observed[spoken] > limit[spoken] * (1 + 1e-9) + SLACK):
            worst = int(np.argmax(np.where(spoken, observed - limit, -np.inf)))
            raise Finding(f"{name} at n = {self.n}: {observed.flat[worst]!r} is above {limit.flat[worst]!r}")
        self.seen["comparisons"] += int(spoken.sum())
        self.seen["informative"] += int((limit[spoken] < 1).sum())
        self.seen["silent"] += int((~spoken).sum())

    @property
    def _kernels(self) -> tuple[str, ...]:
        return ("any", "nonnegative") if self.world.nonnegative else ("any",)

    def _pairs(self) -> None:
        """Theorem 2 and Lemma 4: a rival scores at most the best arm; same rows, independent rows, any coupling."""
        theta, r, n = self.world.theta, self.world.r, self.n
        rivals = 1 + np.flatnonzero(self.gaps)
        gaps = self.gaps[rivals - 1]
        beaten = self.scores[:, rivals] <= self.scores[:, :1] + TIE
        same = self.mass @ beaten
        order = np.argsort(self.scores[:, 0])
        best, below = self.scores[order, 0], np.concatenate([[0.0], np.cumsum(self.mass[order])])
        # P(V_1 >= v): the best arm on rows of its own.
        at_least = below[-1] - below[np.searchsorted(best, self.scores[:, rivals] - TIE, side="left")]
        independent = self.mass @ at_least
        for kernel in self._kernels:
            for optimism in ("dual", "rademacher"):
                more = {"kernel": kernel, "optimism": optimism, "strict": False}
                self._hold("tighter.lemma_4", same, tighter.lemma_4(n, gaps, theta, r, **more))
                apart = tighter.lemma_4(n, gaps, theta, r, pairing="independent", **more)
                self._hold("tighter.lemma_4, independent rows", independent, apart)
                loose = tighter.lemma_4(n, gaps, theta, r, pairing="arbitrary", **more)
                self._hold("tighter.lemma_4, any coupling", np.maximum(same, independent), loose)
        self._hold("corrected.lemma_4", same, corrected.lemma_4(n, gaps, theta, r, strict=False))

    def _missed(self, mass: Floats) -> float:
        rivals = 1 + np.flatnonzero(self.gaps)
        best = self.scores[:, [0, *(1 + np.flatnonzero(self.gaps == 0))]].min(axis=1)
        return float(mass @ np.any(self.scores[:, rivals] <= best[:, None] + TIE, axis=1))

    def _uniform(self) -> None:
        """Theorem 3 and Lemma 1 (i), with one gap and with all, at every budget of this many rows."""
        theta, r, K = self.world.theta, self.world.r, self.arms
        truth, gap, ties = self._missed(self.mass), self.gaps[self.gaps > 0].min(), 1 + int((self.gaps == 0).sum())
        budgets = np.arange(self.n * K, (self.n + 1) * K)
        told = {"theta": theta, "kappa_lambda": r, "strict": False}
        self._hold(
            "corrected.delta_fail_uniform",
            truth,
            corrected.delta_fail_uniform(budgets, K, gap, best_count=ties, **told),
        )
        for kernel in self._kernels:
            one = tighter.delta_fail_uniform(budgets, K, gap, best_count=ties, kernel=kernel, **told)
            self._hold("tighter.delta_fail_uniform", truth, one)
            each = tighter.delta_fail_uniform(budgets, K, None, gaps=self.gaps, kernel=kernel, **told)
            self._hold("tighter.delta_fail_uniform, per-arm gaps", truth, each)

    def _without_replacement(self) -> None:
        population = int(self.world.sizes.sum())
        if self.n > population:
            return
        mass = hypergeometric(self.counts, self.world.sizes)
        told = {"theta": self.world.theta, "kappa_lambda": self.world.r, "population": population, "strict": False}
        each = tighter.delta_fail_uniform(self.n * self.arms, self.arms, None, gaps=self.gaps, **told)
        self._hold("tighter.delta_fail_uniform without replacement", self._missed(mass), each)

    def _tails(self) -> None:
        """Theorem 7: how far the score of an arm is below or above its risk, with the largest variance there is."""
        theta, r, n = self.world.theta, self.world.r, self.n
        for arm in range(self.arms):
            x = self.world.features[arm]
            second = self.world.law @ (x**2).sum(axis=1)
            means = (self.world.law * self.world.labels) @ x, self.world.law @ x
            spreads = [max(float(second - mean @ mean), 0.0) for mean in means]
            variance = float(tighter.loss_variance(theta, *spreads, r))
            shifts = SHIFTS * max(float(self.gaps.max()), 0.05 * r)
            low = np.array([self.mass[self.scores[:, arm] <= self.risks[arm] - s].sum() for s in shifts])
            high = np.array([self.mass[self.scores[:, arm] >= self.risks[arm] + s].sum() for s in shifts])
            self._hold("erm_tail_variance", low, tighter.erm_tail_variance(n, shifts, theta, r, variance=variance))
            above = tighter.comparator_tail_variance(n, shifts, theta, r, variance=variance)
            self._hold("comparator_tail_variance", high, above)

    def _regrets(self) -> None:
        """Theorem 6: the gap of the selected arm exceeds its bound with probability at most delta."""
        chosen = np.argmin(np.round(self.scores, 11), axis=1)
        regret = self.risks[chosen] - self.risks[0]
        for kernel in self._kernels:
            limit = tighter.selection_regret_uniform(
                self.n * self.arms, self.arms, self.world.theta, self.world.r, DELTAS, kernel=kernel
            )
            truth = np.array([self.mass[regret > one + TIE].sum() for one in np.atleast_1d(limit)])
            self._hold("selection_regret_uniform", truth, DELTAS)
