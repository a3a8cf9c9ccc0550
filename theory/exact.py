"""Exact selection probabilities by enumeration, in the affine regime with few atoms.

When κΛ ≤ 1 − 2θ the surrogate loss (Eq. 2) is affine on the ball, ℓ = 1 + (g − yh)/2, and the smallest
empirical risk of a scalar feature φ under the linear kernel is

    V = 1 − (Λ/2)(|mean yφ| + |mean φ|) = 1 − (Λ/n)·max(|P|, |N|),

with P and N the sums of φ over the positive and the negative rows (|a+b| + |a−b| = 2 max(|a|, |b|)).
With rational features the scores are rational, so comparisons and ties are exact.  A row is one of a few
atoms; the counts of the atoms in a sample are multinomial (or hypergeometric), and the distribution of the
selected arm is a finite sum.  Ties break by lowest arm index.

The probabilities are `fractions.Fraction` with ``exact=True`` and floats (relative error about 1e-13,
computed from logarithms) with ``exact=False``.  `compositions` and `log_probabilities` enumerate samples as
arrays, for other scores and for probabilities below the floating point range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from theory._inputs import Flags, Floats, Ints
from theory.formulas import halving_schedule

Pairing = Literal["shared", "independent"]
Probability = Fraction | float
Weights = NDArray[Any]

MAX_STATES = 4_000_000


@dataclass(frozen=True, slots=True)
class AffinePool:
    """K arms over rows that are drawn from a few atoms.

    Attributes
    ----------
    weights : tuple of Fraction
        Probability of each atom; they sum to one.
    labels : tuple of int
        Label of each atom, +1 or -1.
    features : tuple (arms) of tuple (atoms) of Fraction
        The value of each arm's feature at each atom.
    radius : Fraction
        Λ, the radius of both balls; the kernel is linear, so κ is the largest absolute feature.
    theta : Fraction
        Rejection cost in (0, 1/2); κΛ ≤ 1 − 2θ is required.
    """

    weights: tuple[Fraction, ...]
    labels: tuple[int, ...]
    features: tuple[tuple[Fraction, ...], ...]
    radius: Fraction
    theta: Fraction

    def __post_init__(self) -> None:
        atoms = len(self.weights)
        if not self.features:
            raise ValueError("features must name at least one arm; got none.")
        if len(self.labels) != atoms or any(len(arm) != atoms for arm in self.features):
            raise ValueError(f"labels and every arm's features must have one entry per atom ({atoms}).")
        if any(weight <= 0 for weight in self.weights) or sum(self.weights) != 1:
            raise ValueError(f"weights must be positive and sum to 1; they sum to {sum(self.weights)}.")
        if any(label not in (-1, 1) for label in self.labels):
            raise ValueError(f"labels must be -1 or +1; got {self.labels}.")
        if not 0 < self.theta < Fraction(1, 2):
            raise ValueError(f"theta must lie in (0, 1/2); got {self.theta}.")
        if self.kappa_lambda > 1 - 2 * self.theta:
            raise ValueError(
                f"the affine regime needs kappa*Lambda <= 1 - 2 theta = {1 - 2 * self.theta}; got {self.kappa_lambda}."
            )

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return len(self.features)

    @property
    def kappa_lambda(self) -> Fraction:
        """κΛ with κ the largest absolute feature value."""
        return self.radius * max(abs(value) for arm in self.features for value in arm)

    def risks(self) -> tuple[Fraction, ...]:
        """Return R°_i, the smallest surrogate risk of each arm on the whole population."""
        return tuple(self._risk(arm) for arm in self.features)

    def gaps(self) -> tuple[Fraction, ...]:
        """Return Δ_i = R°_i − min_j R°_j (Eq. 7 under the assumption that the best arm has the smallest)."""
        risks = self.risks()
        return tuple(risk - min(risks) for risk in risks)

    def gap(self) -> Fraction:
        """Return Δ, the smallest positive gap (Eq. 7)."""
        positive = [gap for gap in self.gaps() if gap > 0]
        if not positive:
            raise ValueError("all arms have the same risk: the optimality gap is a minimum over nothing.")
        return min(positive)

    def best(self) -> tuple[int, ...]:
        """Return the indices of the arms with gap zero."""
        return tuple(arm for arm, gap in enumerate(self.gaps()) if gap == 0)

    def _risk(self, arm: Sequence[Fraction]) -> Fraction:
        terms = list(zip(self.weights, self.labels, arm, strict=True))
        sums = [abs(sum((w * x for w, y, x in terms if y == sign), Fraction(0))) for sign in (1, -1)]
        return 1 - self.radius * max(sums)


def make_pool(
    weights: Iterable[Any],
    features: Iterable[Iterable[Any]],
    *,
    labels: Iterable[int] | None = None,
    radius: Any = 1,
    theta: Any = Fraction(1, 10**6),
) -> AffinePool:
    """Build an `AffinePool` from numbers or strings that `Fraction` accepts; labels default to +1."""
    shares = tuple(Fraction(weight) for weight in weights)
    return AffinePool(
        weights=shares,
        labels=tuple(labels) if labels is not None else (1,) * len(shares),
        features=tuple(tuple(Fraction(value) for value in arm) for arm in features),
        radius=Fraction(radius),
        theta=Fraction(theta),
    )


def uniform_selection(
    pool: AffinePool,
    budget: int,
    *,
    rows: Pairing = "shared",
    population: int | None = None,
    exact: bool = True,
) -> tuple[Probability, ...]:
    """Return the distribution of the arm that uniform allocation selects with n = ⌊B/K⌋ rows per arm.

    Parameters
    ----------
    rows : {"shared", "independent"}
        Whether all arms are scored on the same rows (Algorithm 1) or on independent samples.
    population : int, optional
        Draw without replacement from a population of this many rows; default with replacement.
    exact : bool
        Fractions or floats.

    Returns
    -------
    tuple
        Probability that arm i is selected, i = 0..K-1.
    """
    n = budget // pool.arms
    if n < 1:
        raise ValueError(f"budget must buy one row per arm (at least {pool.arms}); got {budget}.")
    return _select(pool, [(pool.arms, n)], 1, accumulate=False, rows=rows, population=population, exact=exact)


def median_selection(
    pool: AffinePool, budget: int, *, accumulate: bool = True, **options: Any
) -> tuple[Probability, ...]:
    """Return the distribution of the arm that median elimination (Algorithm 1) leaves.

    Parameters
    ----------
    accumulate : bool
        Score on all rows bought so far (Algorithm 1) or on the fresh rows of the round (the proof, A.5).

    **options
        As for `uniform_selection`.
    """
    rounds = halving_schedule(budget, pool.arms)
    plan = list(zip(rounds.active.tolist(), rounds.pulls.tolist(), strict=True))
    if plan[0][1] < 1:
        raise ValueError(f"budget must buy one row per arm and round; got {budget} for K = {pool.arms}.")
    return _select(pool, plan, None, accumulate=accumulate, **options)


def failure(pool: AffinePool, selection: Sequence[Probability], *, target: int | None = None) -> Probability:
    """Return the probability that the selected arm is not a best arm (or not ``target`` when given)."""
    good = pool.best() if target is None else (target,)
    return sum((p for arm, p in enumerate(selection) if arm not in good), Fraction(0))


def score(pool: AffinePool, arm: int, counts: Sequence[int]) -> Fraction:
    """Return V of an arm on a sample given by its atom counts (Eq. 5 at the ball minimiser)."""
    rows = list(zip(counts, pool.labels, pool.features[arm], strict=True))
    sums = [abs(sum((k * x for k, y, x in rows if y == sign), Fraction(0))) for sign in (1, -1)]
    return 1 - pool.radius * max(sums) / sum(counts)


def sample_distribution(
    pool: AffinePool, n: int, *, population: int | None = None
) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return the distribution of the atom counts of n rows, as (counts, probability), with or without replacement."""
    counts = compositions(n, len(pool.weights))
    mass = _probabilities(counts, pool.weights, population, exact=True)
    return [(tuple(row), p) for row, p in zip(counts.tolist(), mass, strict=True) if p > 0]


def compositions(total: int, parts: int) -> Ints:
    """Return all vectors of ``parts`` non-negative integers with the given sum, one per row."""
    size = math.comb(total + parts - 1, parts - 1)
    if size > MAX_STATES:
        raise ValueError(f"{size} samples to enumerate, at most {MAX_STATES} allowed; use fewer rows or atoms.")
    places = chain.from_iterable(combinations(range(total + parts - 1), parts - 1))
    bars = np.fromiter(places, dtype=np.int64, count=size * (parts - 1)).reshape(size, parts - 1)
    edges = np.hstack([np.full((size, 1), -1), bars, np.full((size, 1), total + parts - 1)])
    return np.diff(edges, axis=1) - 1


def _select(
    pool: AffinePool,
    plan: Sequence[tuple[int, int]],
    keep: int | None,
    *,
    accumulate: bool,
    rows: Pairing = "shared",
    population: int | None = None,
    exact: bool = True,
) -> tuple[Probability, ...]:
    """Follow the distribution of (active arms, statistics) through the rounds of ``plan``."""
    if rows not in ("shared", "independent"):
        raise ValueError(f"rows must be 'shared' or 'independent'; got {rows!r}.")
    start = np.zeros((1, 2 * pool.arms), dtype=np.int64)
    certain: Weights = np.array([Fraction(1)], dtype=object) if exact else np.ones(1)
    states: dict[tuple[int, ...], tuple[Ints, Weights]] = {tuple(range(pool.arms)): (start, certain)}
    for active_count, n in plan:
        kept = keep if keep is not None else -(-active_count // 2)
        following: dict[tuple[int, ...], list[tuple[Ints, Weights]]] = {}
        for active, (statistics, mass) in states.items():
            gained, weight = _round_distribution(pool, active, n, rows, population, exact)
            if accumulate:
                gained, weight = _convolve(statistics, mass, gained, weight)
            else:
                weight = weight * mass.sum()
            for survivors, part in _keep_best(active, gained, kept):
                columns = [c for arm in survivors for c in _columns(active.index(arm))]
                following.setdefault(survivors, []).append((gained[part][:, columns], weight[part]))
        states = {
            arms: _merge(np.vstack([s for s, _ in parts]), np.concatenate([w for _, w in parts]))
            for arms, parts in following.items()
        }
    selection: list[Probability] = [Fraction(0) if exact else 0.0] * pool.arms
    for (arm,), (_, mass) in states.items():
        selection[arm] = mass.sum()
    return tuple(selection)


def _columns(position: int) -> tuple[int, int]:
    return 2 * position, 2 * position + 1


def _keep_best(active: tuple[int, ...], statistics: Ints, kept: int) -> list[tuple[tuple[int, ...], Flags]]:
    """Group the states by the arms that survive: the largest max(|P|, |N|), ties by lowest index."""
    strength = np.abs(statistics).reshape(len(statistics), len(active), 2).max(axis=2)
    order = np.sort(np.argsort(-strength, axis=1, kind="stable")[:, :kept], axis=1)
    groups, inverse = np.unique(order, axis=0, return_inverse=True)
    return [(tuple(active[i] for i in group), inverse.ravel() == g) for g, group in enumerate(groups)]


def _round_distribution(
    pool: AffinePool, active: tuple[int, ...], n: int, rows: Pairing, population: int | None, exact: bool
) -> tuple[Ints, Weights]:
    """Return the distribution of the active arms' statistics (P, N) over one round of n rows."""
    if rows == "shared":
        return _statistics(pool, active, n, population, exact)
    statistics, weight = _statistics(pool, active[:1], n, population, exact)
    for arm in active[1:]:
        more, mass = _statistics(pool, (arm,), n, population, exact)
        _check_size(len(statistics) * len(more))
        statistics = np.hstack([np.repeat(statistics, len(more), axis=0), np.tile(more, (len(statistics), 1))])
        weight = np.multiply.outer(weight, mass).ravel()
    return statistics, weight


def _statistics(
    pool: AffinePool, active: tuple[int, ...], n: int, population: int | None, exact: bool
) -> tuple[Ints, Weights]:
    """Return the distribution of the statistics of arms that are scored on the same n rows.

    Atoms with equal features of the active arms are merged first, which keeps late rounds small.
    """
    scale = math.lcm(*(value.denominator for arm in pool.features for value in arm))
    kinds: dict[tuple[int, ...], Fraction] = {}
    for atom, (share, label) in enumerate(zip(pool.weights, pool.labels, strict=True)):
        step: list[int] = []
        for arm in active:
            value = int(pool.features[arm][atom] * scale)
            step += [value, 0] if label == 1 else [0, value]
        kinds[tuple(step)] = kinds.get(tuple(step), Fraction(0)) + share
    counts = compositions(n, len(kinds))
    weight = _probabilities(counts, tuple(kinds.values()), population, exact=exact)
    possible = np.asarray(weight > 0, dtype=bool)
    steps = np.array(list(kinds), dtype=np.int64)
    return _merge(counts[possible] @ steps, weight[possible])


def log_probabilities(counts: Ints, weights: Sequence[Fraction | float]) -> Floats:
    """Return log P of multinomial counts, one sample per row, for atoms with these weights (sum 1)."""
    n = int(counts[0].sum())
    coefficients = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1)
    return np.asarray(coefficients + counts @ np.array([math.log(p) for p in weights]))


def _probabilities(counts: Ints, weights: Sequence[Fraction], population: int | None, *, exact: bool) -> Weights:
    """Return the probability of each sample, with or without replacement."""
    if population is not None:
        return _hypergeometric(counts, weights, population, exact=exact)
    if not exact:
        return np.asarray(np.exp(log_probabilities(counts, weights)))
    n = int(counts[0].sum())
    factorial = [math.factorial(k) for k in range(n + 1)]
    powers = [[p**k for k in range(n + 1)] for p in weights]
    probability = np.empty(len(counts), dtype=object)
    for row, count in enumerate(counts.tolist()):
        coefficient = factorial[n]
        mass = Fraction(1)
        for kind, k in enumerate(count):
            coefficient //= factorial[k]
            mass *= powers[kind][k]
        probability[row] = coefficient * mass
    return probability


def _hypergeometric(counts: Ints, weights: Sequence[Fraction], population: int, *, exact: bool) -> Weights:
    """Return multivariate hypergeometric probabilities: the rows of a round are distinct rows of the population."""
    n = int(counts[0].sum())
    sizes = [p * population for p in weights]
    if any(size.denominator != 1 for size in sizes):
        raise ValueError(f"population must make every atom a whole number of rows; got {population}.")
    if n > population:
        raise ValueError(f"cannot draw {n} distinct rows from a population of {population}.")
    total = math.comb(population, n)
    choices = [[math.comb(int(size), k) for k in range(n + 1)] for size in sizes]
    samples = [Fraction(math.prod(choices[a][k] for a, k in enumerate(row)), total) for row in counts.tolist()]
    return np.array(samples, dtype=object) if exact else np.array([float(p) for p in samples])


def _convolve(left: Ints, mass: Weights, right: Ints, weight: Weights) -> tuple[Ints, Weights]:
    _check_size(len(left) * len(right))
    total = (left[:, None, :] + right[None, :, :]).reshape(-1, left.shape[1])
    return _merge(total, np.multiply.outer(mass, weight).ravel())


def _merge(statistics: Ints, weight: Weights) -> tuple[Ints, Weights]:
    """Add up the mass of equal statistics."""
    unique, inverse = np.unique(statistics, axis=0, return_inverse=True)
    if weight.dtype != object:
        return unique, np.bincount(inverse.ravel(), weights=weight, minlength=len(unique))
    mass = np.full(len(unique), Fraction(0), dtype=object)
    np.add.at(mass, inverse.ravel(), weight)
    return unique, mass


def _check_size(size: int) -> None:
    if size > MAX_STATES:
        raise ValueError(f"{size} states to follow, at most {MAX_STATES} allowed; use fewer rows or atoms.")
