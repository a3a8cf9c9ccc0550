"""Small random populations, and the law of the scores of all arms on a sample of one, by enumeration.

A world is a finite population with a linear kernel: atoms with sizes and labels, and a feature vector per atom for
every arm. In the affine regime the minimised risk of a sample is V = 1 - (r / 2)(|mean y Phi| + |mean Phi|); elsewhere
the middle of the solver's certificates stands for it. Written without the packages' own enumeration.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from exml_sim.rejection import solve_batch
from fuzz.case import Case, Finding

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rounding granted to a probability.
SLACK = 1e-12
#: Rows at most, by the number of atoms, so that the lines of an enumeration stay few.
MOST_ROWS = {2: 180, 3: 60, 4: 20}
REGIMES = ("affine", "beyond")


@lru_cache(maxsize=256)
def compositions(n: int, parts: int) -> Ints:
    """All vectors of `parts` whole numbers that are not negative and sum to n."""
    bars = np.array(list(combinations(range(n + parts - 1), parts - 1)), dtype=np.int64).reshape(-1, parts - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + parts - 1)])
    return np.diff(edges, axis=1) - 1


def multinomial(counts: Ints, law: Floats) -> Floats:
    """Probabilities of counts of rows drawn with replacement."""
    logs = gammaln(counts.sum(axis=-1) + 1) - gammaln(counts + 1).sum(axis=-1) + counts @ np.log(law)
    return np.asarray(np.exp(logs))


def hypergeometric(counts: Ints, sizes: Ints) -> Floats:
    """Probabilities of counts of rows drawn without replacement."""
    possible = np.all(counts <= sizes, axis=1)
    left = np.where(possible[:, None], sizes - counts, 0)

    def log_choose(total: Ints, part: Ints, rest: Ints) -> Floats:
        return np.asarray(gammaln(total + 1) - gammaln(part + 1) - gammaln(rest + 1))

    n, m = counts[0].sum(), sizes.sum()
    logs = log_choose(sizes, counts, left).sum(axis=1) - log_choose(m, n, m - n)
    return np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)


@dataclass(frozen=True)
class World:
    """Sizes of atoms (A,), labels (A,), features (K, A, d) of norm at most 1, best arm first."""

    sizes: Ints
    labels: Ints
    features: Floats
    theta: float
    r: float

    @property
    def arms(self) -> int:
        """K."""
        return len(self.features)

    @property
    def population(self) -> int:
        """m."""
        return int(self.sizes.sum())

    @property
    def law(self) -> Floats:
        """Probability of every atom."""
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def affine(self) -> bool:
        """Whether scores have the closed form."""
        return self.r <= 1 - 2 * self.theta

    @property
    def tie(self) -> float:
        """Scores this close are equal: rounding, or the tolerance of the solver."""
        return 1e-12 if self.affine else 3e-8

    @property
    def grams(self) -> Floats:
        """Kernel matrices of all arms."""
        return np.asarray(np.einsum("kad,kbd->kab", self.features, self.features))

    @property
    def kernels(self) -> tuple[str, ...]:
        """What bounds may be told about the kernels."""
        return ("any", "nonnegative") if self.grams.min() >= 0 else ("any",)

    @cached_property
    def risks(self) -> Floats:
        """Scores on the whole population."""
        return np.asarray(self.scores(self.sizes[None])[0])

    @cached_property
    def gaps(self) -> Floats:
        """Gaps of all arms but the first; beyond the affine regime not above the truth."""
        raw = self.risks[1:] - self.risks[0]
        blur = 0.0 if self.affine else self.tie
        return np.asarray(np.where(raw > 1e-9 + 2 * blur, raw - blur, 0.0))

    @property
    def blurred(self) -> bool:
        """Whether some gap is too small to call, or all are."""
        return bool(np.any((self.gaps > 0) & (self.gaps < 1e-6)) or not self.gaps.any())

    @property
    def rivals(self) -> Ints:
        """Arms outside the best set."""
        return np.asarray(1 + np.flatnonzero(self.gaps))

    @property
    def best(self) -> Ints:
        """Arms of the best set."""
        return np.asarray(np.concatenate([[0], 1 + np.flatnonzero(self.gaps == 0)]))

    def scores(self, counts: Ints) -> Floats:
        """V of every arm for lines of counts, shape (lines, K)."""
        if not self.affine:
            return self._solved(counts)
        weights = counts / counts.sum(axis=1, keepdims=True)
        signed = np.einsum("sa,a,kad->skd", weights, self.labels, self.features)
        plain = np.einsum("sa,kad->skd", weights, self.features)
        return np.asarray(1 - self.r / 2 * (np.linalg.norm(signed, axis=2) + np.linalg.norm(plain, axis=2)))

    def _solved(self, counts: Ints) -> Floats:
        columns = []
        for gram in self.grams:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = solve_batch(gram, self.labels, self.theta, counts, ball=self.r)
            columns.append((found.objective + found.lower_bound) / 2)
        return np.stack(columns, axis=1)

    def hostile(self, scores: Floats) -> Floats:
        """Scores with every tie decided for the rivals."""
        return np.asarray(scores - self.tie * np.isin(np.arange(self.arms), self.rivals))

    def rows_that_fit(self, n: int) -> int:
        """About as many lines as fit: fewer rows for more atoms, and for the solver."""
        return min(n, MOST_ROWS[len(self.sizes)] if self.affine else MOST_ROWS[len(self.sizes)] // 3)


def draw_case(rng: np.random.Generator, *, affine: float = 0.5) -> Case:
    """A world by its seed, its regime, and some numbers of rows."""
    rows = sorted({int(n) for n in np.exp(rng.uniform(0, 5.2, size=6))})
    return {"seed": int(rng.integers(2**63)), "rows": rows, "regime": REGIMES[int(rng.random() >= affine)]}


def draw_world(case: Case) -> World:
    """The world of a case."""
    rng = np.random.default_rng(case["seed"])
    arms, atoms, width = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    theta = float(rng.choice([rng.uniform(0.01, 0.49), 0.001, 0.4999, 0.25]))
    r = (1 - 2 * theta) * float(rng.choice([1.0, rng.uniform(0.01, 1.0)]))
    if case["regime"] == "beyond":
        theta = float(rng.choice([rng.uniform(0.01, 0.49), 0.25, 0.01]))
        r = (1 - 2 * theta) * float(np.exp(rng.uniform(0.01, 2.5)))
    labels = np.ones(atoms, dtype=np.int64) if rng.random() < 0.6 else rng.choice([-1, 1], size=atoms)
    sizes = rng.integers(1, rng.choice([4, 40, 400]), size=atoms)
    if rng.random() < 0.3:
        sizes, labels, features = _opposed(rng, arms)
    else:
        features = _features(rng, arms, atoms, width)
    order = np.argsort(World(sizes, labels, features, theta, r).risks, kind="stable")
    return World(sizes, labels, features[order], theta, r)


def _features(rng: np.random.Generator, arms: int, atoms: int, width: int) -> Floats:
    features = rng.normal(size=(arms, atoms, width))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    style = rng.integers(5)
    if style == 0:
        features *= rng.uniform(0, 1, size=(arms, atoms, 1)) ** rng.uniform(0.1, 3)
    if style == 1:
        # A nearly constant best arm makes large gaps, where bounds say something.
        features[0] = features[0, :1] + rng.normal(scale=0.1, size=features[0].shape)
    if style == 2:
        # Arms that err in opposite directions fail most often for their gap.
        features[1] = -features[0] * rng.choice([-1.0, 1.0], size=(atoms, 1))
    if style == 3:
        # Equal arms: ties in the best set or among the rivals.
        features[rng.integers(arms)] = features[rng.integers(arms)]
    if rng.random() < 0.4:
        features = np.abs(features)
    features /= np.maximum(np.linalg.norm(features, axis=2, keepdims=True), 1.0) * (1 + 1e-15)
    return np.asarray(features)


def _opposed(rng: np.random.Generator, arms: int) -> tuple[Ints, Ints, Floats]:
    """Arms with features (-1, 1, 1) and (1, -1, 1): a row moves the difference of their scores as far as it can.

    For a small third atom McDiarmid's inequality has the right exponent there.
    """
    sizes = np.array([rng.integers(10, 60), rng.integers(1, 12), rng.integers(1, 12)])
    best, rival = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, 1.0])
    lines = [best, *(rival if i == 0 or rng.random() < 0.5 else rival * rng.uniform(0.2, 1.0) for i in range(arms - 1))]
    return sizes, np.ones(3, dtype=np.int64), np.stack(lines)[:, :, None]


def missed_apart(world: World, scores: Sequence[Floats], masses: Sequence[Floats]) -> float:
    """P[a rival scores at most every best arm], every arm on rows of its own: scores and masses per arm."""
    values = np.unique(np.concatenate([scores[j] for j in world.best]))
    # P(min over the best set >= v) at each value, and from it the law of that minimum.
    tails = [_at_least(scores[j], masses[j], values) for j in world.best]
    survival = np.prod(tails, axis=0)
    law = survival - np.append(survival[1:], 0.0)
    above = [_at_least(scores[i], masses[i], values + world.tie) for i in world.rivals]
    return float(law @ (1 - np.prod(above, axis=0)))


def _at_least(scores: Floats, mass: Floats, values: Floats) -> Floats:
    order = np.argsort(scores)
    # From the top, so that small tails are not differences of large numbers.
    above = np.append(np.cumsum(mass[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(scores[order], values, side="left")])


class Holds:
    """Comparisons of truths with bounds, counted."""

    def __init__(self, where: str) -> None:
        self._where = where
        self.seen: Counter[str] = Counter()

    def hold(self, name: str, truth: object, bound: object) -> None:
        """No bound that speaks may be below the truth."""
        observed, limit = np.broadcast_arrays(np.asarray(truth, dtype=float), np.asarray(bound, dtype=float))
        if np.isnan(observed).any():
            raise Finding(f"{name} {self._where}: a probability is no number")
        spoken = ~np.isnan(limit)
        if np.any(observed[spoken] > limit[spoken] * (1 + 1e-9) + SLACK):
            worst = int(np.argmax(np.where(spoken, observed - limit, -np.inf)))
            raise Finding(f"{name} {self._where}: {observed.flat[worst]!r} is above {limit.flat[worst]!r}")
        informative = spoken & (limit < 1)
        self.seen["comparisons"] += int(spoken.sum())
        self.seen["informative"] += int(informative.sum())
        self.seen["above half of the bound"] += int((informative & (observed > limit / 2) & (limit > 1e-9)).sum())
        self.seen["silent"] += int((~spoken).sum())
