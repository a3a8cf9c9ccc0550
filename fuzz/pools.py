"""Random small pools against the bounds of `theory`: no failure probability may be above its bound.

A pool has atoms with sizes and labels, and a feature per atom for every arm. In the affine regime the minimised risk of
a sample is V = 1 - (r / 2)(|mean y Phi| + |mean Phi|); elsewhere the middle of the solver's certificates is taken.
Probabilities are enumerated without `theory.exact`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammaln

from exml_sim.rejection import solve_batch
from fuzz.case import LONG, Finding, check_message
from theory import corrected, population, tighter

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Smallest probability that is compared: below, floats underflow.
SLACK = 1e-290
#: Largest number of rows, by the number of atoms, for uniform allocation.
MAX_ROWS = {2: 180, 3: 60, 4: 20}
#: Largest number of samples of an enumeration of median elimination.
MAX_SAMPLES = 500


@lru_cache(maxsize=256)
def compositions(n: int, parts: int) -> Ints:
    """Return all vectors of `parts` non-negative integers that sum to n."""
    bars = np.array(list(combinations(range(n + parts - 1), parts - 1)), dtype=np.int64).reshape(-1, parts - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + parts - 1)])
    return np.diff(edges, axis=1) - 1


def multinomial(counts: Ints, weights: Floats) -> Floats:
    """Return probabilities of counts of rows drawn with replacement."""
    logs = gammaln(counts.sum(axis=-1) + 1) - gammaln(counts + 1).sum(axis=-1) + counts @ np.log(weights)
    return np.asarray(np.exp(logs))


def hypergeometric(counts: Ints, sizes: Ints) -> Floats:
    """Return probabilities of counts of rows drawn without replacement."""
    possible = np.all(counts <= sizes, axis=1)
    left = np.where(possible[:, None], sizes - counts, 0)
    n, m = counts[0].sum(), sizes.sum()
    logs = (gammaln(sizes + 1) - gammaln(counts + 1) - gammaln(left + 1)).sum(axis=1)
    logs -= gammaln(m + 1) - gammaln(n + 1) - gammaln(m - n + 1)
    return np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)


@dataclass(frozen=True)
class SmallPool:
    """Sizes of atoms (A,), labels (A,), features (K, A) in [-1, 1], a best arm first."""

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
    def weights(self) -> Floats:
        """Probability of every atom."""
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def affine(self) -> bool:
        """Whether scores have the closed form."""
        return self.r <= 1 - 2 * self.theta

    @property
    def tie(self) -> float:
        """Largest difference of equal scores: rounding, or the tolerance of the solver."""
        return 1e-12 if self.affine else 3e-8

    @cached_property
    def risks(self) -> Floats:
        """Scores on the whole population."""
        return np.asarray(self.scores(self.sizes[None])[0])

    @cached_property
    def gaps(self) -> Floats:
        """Gaps of all arms but the first; beyond the affine regime not above the truth."""
        raw, blur = self.risks[1:] - self.risks[0], 0.0 if self.affine else self.tie
        return np.asarray(np.where(raw > 1e-9 + 2 * blur, raw - blur, 0.0))

    @property
    def is_ambiguous(self) -> bool:
        """Whether some gap is too small to tell from 0, or all are 0."""
        return bool(np.any((self.gaps > 0) & (self.gaps < 1e-6)) or not self.gaps.any())

    @property
    def rivals(self) -> Ints:
        """Arms that are not best."""
        return np.asarray(1 + np.flatnonzero(self.gaps))

    def scores(self, counts: Ints) -> Floats:
        """Return V of every arm for lines of counts, shape (lines, K)."""
        if self.affine:
            weights = counts / counts.sum(axis=1, keepdims=True)
            signed, plain = weights @ (self.labels * self.features).T, weights @ self.features.T
            return np.asarray(1 - self.r / 2 * (np.abs(signed) + np.abs(plain)))
        columns = []
        for feature in self.features:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                batch = solve_batch(np.outer(feature, feature), self.labels, self.theta, counts, ball=self.r)
            columns.append((batch.objective + batch.lower_bound) / 2)
        return np.stack(columns, axis=1)

    def hostile_scores(self, counts: Ints) -> Floats:
        """Return scores with every tie decided for the rivals."""
        return np.asarray(self.scores(counts) - self.tie * np.isin(np.arange(self.arms), self.rivals))


def build_pool(case: Any) -> SmallPool:
    """Build the pool of a case, a best arm first."""
    theta, factor = case["theta"], case["radius"]
    sizes, labels = (np.array([row[i] for row in case["atoms"]], dtype=np.int64) for i in (0, 1))
    features = np.array(case["features"], dtype=float) / 8
    pool = SmallPool(sizes, labels, features, theta, (1 - 2 * theta) * factor)
    return SmallPool(sizes, labels, features[np.argsort(pool.risks, kind="stable")], theta, pool.r)


@st.composite
def pools(draw: Any) -> dict[str, Any]:
    """Draw a pool, numbers of rows, and the rest of a budget."""
    size = st.one_of(st.integers(1, 4), st.integers(1, 40), st.integers(1, 400))
    atoms = draw(st.lists(st.tuples(size, st.sampled_from([1, 1, -1])), min_size=2, max_size=4))
    feature = st.one_of(st.sampled_from([-8, 8]), st.integers(-8, 8))
    arm = st.lists(feature, min_size=len(atoms), max_size=len(atoms))
    return {
        "atoms": [list(atom) for atom in atoms],
        "features": draw(st.lists(arm, min_size=2, max_size=5).filter(lambda arms: any(map(any, arms)))),
        "theta": draw(st.one_of(st.floats(0.01, 0.49), st.sampled_from([0.001, 0.25, 0.4999]))),
        "radius": draw(st.one_of(st.just(1.0), st.floats(0.01, 1), st.floats(1.01, 12))),
        "rows": draw(st.lists(st.integers(1, 180), min_size=1, max_size=4, unique=True)),
        "rest": draw(st.floats(0, 1, exclude_max=True)),
    }


class Pools:
    """Failure probabilities by enumeration against corrected, tighter and population bounds."""

    name, share, timeout = "pools", 0.2, LONG
    cases = pools()

    def judge(self, case: Any) -> Counter[str]:
        """Compare uniform allocation and median elimination with all bounds."""
        pool = build_pool(case)
        if pool.is_ambiguous:
            return Counter({"ambiguous pools": 1})
        compare = _Comparison(pool)
        for n in sorted({min(n, MAX_ROWS[len(pool.sizes)] // (1 if pool.affine else 3)) for n in case["rows"]}):
            compare.uniform(n, case["rest"])
            compare.median(n, case["rest"])
        return compare.outcomes


class _Comparison:
    def __init__(self, pool: SmallPool) -> None:
        self.pool, self.outcomes = pool, Counter[str]()
        self.least = float(pool.gaps[pool.gaps > 0].min())
        self.given = {"theta": pool.theta, "kappa_lambda": pool.r, "strict": False}
        grams = [np.outer(feature, feature) for feature in pool.features]
        best = [arm for arm in range(pool.arms) if arm not in pool.rivals]
        self.best_count = len(best)
        self.known: Any = None
        try:
            arguments = (grams, pool.labels, pool.r, pool.theta)
            self.known = population.PopulationModel(*arguments, weights=pool.weights, best=best)
        except ValueError as error:
            check_message(error)

    def uniform(self, n: int, rest: float) -> None:
        """Compare a rival that scores at most every best arm, with and without replacement."""
        pool, K = self.pool, self.pool.arms
        counts, budget = compositions(n, len(pool.sizes)), n * K + int(rest * K)
        failed = np.isin(pool.hostile_scores(counts).argmin(axis=1), pool.rivals)
        draws = [(None, multinomial(counts, pool.weights))]
        if n <= pool.sizes.sum():
            draws.append((int(pool.sizes.sum()), hypergeometric(counts, pool.sizes)))
        for size, mass in draws:
            truth = float(mass[failed].sum())
            for gaps in ({"gap": self.least, "best_count": self.best_count}, {"gap": None, "gaps": pool.gaps}):
                bound = tighter.delta_fail_uniform(budget, K, gaps.pop("gap"), population=size, **gaps, **self.given)
                self.hold(f"tighter.delta_fail_uniform at n = {n}", truth, bound)
            loose = corrected.delta_fail_uniform(budget, K, self.least, best_count=self.best_count, **self.given)
            self.hold(f"corrected.delta_fail_uniform at n = {n}", truth, loose)
            if K == 2:
                pair = tighter.lemma_4(n, pool.gaps, population=size, **self.given)
                self.hold(f"tighter.lemma_4 at n = {n}", truth, pair)
        if self.known is not None:
            for effort in ("quick", "sharp"):
                bound = population.delta_fail_uniform(self.known, budget, effort=effort)
                self.hold(
                    f"population.delta_fail_uniform, {effort}, at n = {n}", float(draws[0][1][failed].sum()), bound
                )

    def median(self, n: int, rest: float) -> None:
        """Compare median elimination with fresh and accumulated rows."""
        pool, K = self.pool, self.pool.arms
        least = K * (K - 1).bit_length()
        budget = n * least + int(rest * least)
        rows = sum(n for n, _ in schedule(budget, K))
        if np.prod([(rows + i) / i for i in range(1, len(pool.sizes))]) > MAX_SAMPLES:
            return
        for rows_kind in ("accumulated", "fresh"):
            truth = float(eliminate(pool, budget, accumulate=rows_kind == "accumulated")[pool.rivals].sum())
            name = f"delta_fail_median, {rows_kind}, at B = {budget}"
            loose = corrected.delta_fail_median(
                budget, K, self.least, best_count=self.best_count, rows=rows_kind, **self.given
            )
            self.hold(f"corrected.{name}", truth, loose)
            tight = tighter.delta_fail_median(budget, K, None, gaps=pool.gaps, rows=rows_kind, **self.given)
            self.hold(f"tighter.{name}", truth, tight)
            if self.known is not None:
                bound = population.delta_fail_median(self.known, budget, rows=rows_kind, effort="sharp")
                self.hold(f"population.{name}", truth, bound)

    def hold(self, name: str, truth: float, bound: Any) -> None:
        """Check that a bound that applies is not below the truth."""
        limit = float(np.min(bound))
        if truth > limit * (1 + 1e-9) + SLACK:
            raise Finding(f"{name}: {truth!r} is above {limit!r}")
        self.outcomes["comparisons" if limit < 1 else "vacuous"] += 1
        self.outcomes["above half of the bound"] += int(1e-9 < limit < 1 and truth > limit / 2)


def schedule(budget: int, arms: int) -> list[tuple[int, int]]:
    """Return (rows per arm, arms that are kept) of every round of Algorithm 1."""
    rounds, active, plan = (arms - 1).bit_length(), arms, []
    for _ in range(rounds):
        plan.append((budget // (rounds * active), -(-active // 2)))
        active = plan[-1][1]
    return plan


def eliminate(pool: SmallPool, budget: int, *, accumulate: bool) -> Floats:
    """Return the probability of every arm to be selected by median elimination on shared rows.

    The state after a round is the set of arms left and, with accumulated rows, the counts of the rows seen.
    """
    start = (0,) * len(pool.sizes)
    states: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {(tuple(range(pool.arms)), start): 1.0}
    for n, kept in schedule(budget, pool.arms):
        drawn = compositions(n, len(pool.sizes))
        mass = multinomial(drawn, pool.weights)
        after: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (active, seen), weight in states.items():
            counts = drawn + np.array(seen)
            scores = pool.hostile_scores(counts)[:, active]
            order = np.sort(np.argsort(scores, axis=1, kind="stable")[:, :kept], axis=1)
            for row, chosen in enumerate(order):
                left = tuple(active[i] for i in chosen)
                key = (left, tuple(counts[row].tolist()) if accumulate else start)
                after[key] = after.get(key, 0.0) + weight * float(mass[row])
        states = after
    chances = np.zeros(pool.arms)
    for ((arm,), _), weight in states.items():
        chances[arm] += weight
    return chances
