"""Targets about the selected arm: failure probabilities of both strategies against every bound.

The search measures log-probabilities of small pools in the affine regime. `theory.exact` gives the same probabilities
as floats or fractions; the search needs logarithms, because e^-2000 is as good a value as 0.1. Tests compare the two,
and violations are confirmed by `theory.exact` in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from exml_sim._internal.arrays import FloatArray, IntArray
from simulations.falsify._target import (
    LOG_ZERO,
    Measured,
    PoolInstance,
    PoolSpace,
    Target,
    build_exact_target,
    exact_log,
    log,
    unmet,
)
from theory import BoundProblem, corrected, exact, paper, tighter
from theory.corrected import Rows
from theory.exact import compositions
from theory.formulas import halving_schedule
from theory.paper import Strategy
from theory.population import Effort, PopulationModel, delta_fail_median, delta_fail_uniform

F = Fraction
LogBound = Callable[[PoolInstance], float]
LogFailure = Callable[[PoolInstance, tuple[int, ...]], float]

#: Samples up to which finds are confirmed in fractions; beyond, `theory.exact` in floats has to do.
FRACTIONS = 30_000

UNIFORM = PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(20, 6000), states=20_000)
MEDIAN = PoolSpace(arms=(2, 6), atoms=(2, 3), budget=(20, 20_000), states=20_000, median=True)
HALVING = PoolSpace(arms=(2, 8), atoms=(2, 3), budget=(6, 160), states=800, median=True)
PAIR = PoolSpace(arms=(2, 2), atoms=(2, 4), budget=(4, 3000), states=20_000)
DISTINCT = PoolSpace(arms=(2, 4), atoms=(2, 4), budget=(4, 240), states=20_000)


#: How a failure probability is computed: fast for the search, by `theory.exact` for the confirmation.
Failure = tuple[LogFailure, LogFailure]


@lru_cache(maxsize=24)
def _samples(n: int, atoms: int) -> tuple[IntArray, FloatArray]:
    """Return all counts of n rows over the atoms, and the logarithms of their multinomial coefficients."""
    counts = compositions(n, atoms)
    return counts, np.asarray(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1))


def sample_distribution(instance: PoolInstance, n: int) -> tuple[IntArray, FloatArray]:
    """Return all counts of n rows and their log-probabilities, drawn with replacement."""
    counts, ways = _samples(n, len(instance.weights))
    shares = np.log(np.array(instance.weights) / sum(instance.weights))
    return counts, ways + counts @ shares


def compute_sums(instance: PoolInstance, counts: IntArray) -> IntArray:
    """Return P and N of every arm, the sums of its feature over the positive and over the negative rows: (S, K, 2)."""
    features, labels = np.array(instance.features), np.array(instance.labels)
    positive = counts @ (features * (labels > 0)).T
    negative = counts @ (features * (labels < 0)).T
    return np.stack([positive, negative], axis=2)


def compute_strengths(instance: PoolInstance, counts: IntArray) -> IntArray:
    """Return max(|P|, |N|) of every arm; the score is 1 - Lambda strength / n, so the largest is the best."""
    return np.asarray(np.abs(compute_sums(instance, counts)).max(axis=2))


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of a sum of probabilities, LOG_ZERO for none."""
    return float(min(logsumexp(logs), 0.0)) if logs.size else LOG_ZERO


def log_uniform_failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
    """Return log P(uniform allocation selects none of the good arms); ties go to the lowest index."""
    counts, logs = sample_distribution(instance, instance.rows)
    selected = compute_strengths(instance, counts).argmax(axis=1)
    return log_sum(logs[~np.isin(selected, good)])


def log_beaten(instance: PoolInstance, n: int, *, ties: bool) -> float:
    """Return log P(the second arm scores better than the first on n shared rows), or as well, with ties."""
    counts, logs = sample_distribution(instance, n)
    strength = compute_strengths(instance, counts)
    lead = strength[:, 1] - strength[:, 0]
    return log_sum(logs[lead >= 0 if ties else lead > 0])


def log_median_failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
    """Return log P(median elimination with fresh rows in every round leaves none of the good arms)."""
    schedule = halving_schedule(instance.budget, instance.arms)
    masses: dict[tuple[int, ...], float] = {tuple(range(instance.arms)): 0.0}
    for n, kept in zip(schedule.pulls.tolist(), schedule.kept.tolist(), strict=True):
        counts, logs = sample_distribution(instance, n)
        strength = compute_strengths(instance, counts)
        following: dict[tuple[int, ...], list[float]] = {}
        for active, mass in masses.items():
            order = np.argsort(-strength[:, active], axis=1, kind="stable")[:, :kept]
            codes = (1 << order).sum(axis=1)
            for code in np.unique(codes).tolist():
                survivors = tuple(arm for place, arm in enumerate(active) if code >> place & 1)
                following.setdefault(survivors, []).append(mass + log_sum(logs[codes == code]))
        masses = {arms: log_sum(np.array(parts)) for arms, parts in following.items()}
    failed = [mass for (arm,), mass in masses.items() if arm not in good]
    return log_sum(np.array(failed))


def log_regret_tail(instance: PoolInstance, n: int) -> list[tuple[float, float]]:
    """Return (regret v, log P(exploratory regret >= v)) for every value v > 0, all arms scored on n shared rows.

    The regret is R_tr,is(f_is) - R_1. With w_h = ±Lambda and w_g = ±Lambda the learned model fits the positive rows if
    |P| > |N| and the negative ones if |N| > |P|, with the sign of that sum; if |P| = |N|, minimisers are many, and the
    one with the smallest risk is taken, in favour of the bound.
    """
    counts, logs = sample_distribution(instance, n)
    sample = compute_sums(instance, counts)
    selected = np.abs(sample).max(axis=2).argmax(axis=1)
    chosen = sample[np.arange(len(selected)), selected]
    whole = compute_sums(instance, np.array([instance.weights]))[0] / sum(instance.weights)
    gains = np.sign(chosen) * whole[selected]
    size = np.abs(chosen)
    gain = np.where(size[:, 0] > size[:, 1], gains[:, 0], gains[:, 1])
    gain = np.where(size[:, 0] == size[:, 1], gains.max(axis=1), gain)
    blank = (size == 0).all(axis=1)
    gain = np.where(blank, np.abs(whole[selected]).max(axis=1), gain)
    best = float(np.abs(whole).max())
    regret = np.round(float(instance.radius) * (best - gain), 12)
    levels = np.unique(regret[regret > 1e-9])
    return [(float(level), log_sum(logs[regret >= level])) for level in levels]


def parameters(instance: PoolInstance) -> tuple[float, float, float]:
    """(gap, theta, kappa Lambda) for the bounds."""
    return float(instance.gap), float(instance.theta), float(instance.kappa_lambda)


def build_target(
    id: str,
    says: str,
    space: PoolSpace,
    failure: Failure,
    bound: LogBound,
    holds: bool | None = True,
    *,
    first: bool = False,
) -> Target:
    """P(no good arm is selected) <= bound; good is the first arm only, or every best arm."""

    def side(failure: LogFailure) -> Callable[[PoolInstance], Measured]:
        def measured(instance: PoolInstance) -> Measured:
            log_bound, missed = premises(instance, bound)
            if missed:
                return unmet(missed)
            return Measured(failure(instance, (0,) if first else instance.best), log_bound)

        return measured

    return build_exact_target(id, says, space, side(failure[0]), side(failure[1]), "theory.exact", holds)


def premises(instance: PoolInstance, bound: LogBound) -> tuple[float, float]:
    """log of the bound, and by how much its premises are missed (0 if they hold)."""
    if instance.gap <= 0 or 0 not in instance.best:
        return math.nan, 1e3
    value = bound(instance)
    if not math.isnan(value):
        return value, 0.0
    # Launch conditions ask for n > constant (r / gap)^2: the further from it, the larger.
    return value, math.log1p(float(instance.kappa_lambda / instance.gap) ** 2 / max(instance.rows, 1))


def in_fractions(instance: PoolInstance) -> bool:
    """Whether the pool is small enough for exact fractions."""
    return (
        math.comb(instance.rows + len(instance.weights) - 1, len(instance.weights) - 1) <= FRACTIONS
        and instance.rows <= 3000
    )


def _log_missed(selection: Sequence[Any], good: tuple[int, ...]) -> float:
    return exact_log(sum((p for arm, p in enumerate(selection) if arm not in good), F(0)))


def slow_uniform(instance: PoolInstance, good: tuple[int, ...]) -> float:
    """Return the log-probability that uniform allocation fails, by `theory.exact`."""
    return _log_missed(exact.uniform_selection(instance.pool, instance.budget, exact=in_fractions(instance)), good)


def slow_median(*, accumulate: bool, floats: bool = False) -> LogFailure:
    """Build the log-probability that median elimination fails, by `theory.exact`."""

    def failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
        small = instance.budget <= 240 and not floats
        selection = exact.median_selection(instance.pool, instance.budget, accumulate=accumulate, exact=small)
        return _log_missed(selection, good)

    return failure


def _distinct(fractions: bool) -> LogFailure:
    """Uniform allocation on rows drawn without replacement from sum(weights) rows."""

    def failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
        rows = sum(instance.weights)
        return _log_missed(
            exact.uniform_selection(instance.pool, instance.budget, population=rows, exact=fractions), good
        )

    return failure


def _pair(ties: bool) -> Failure:
    def slow(instance: PoolInstance, good: tuple[int, ...]) -> float:
        # Ties go to the lowest index: the rival in front wins them, behind it loses them.
        swapped = replace(instance, features=instance.features[::-1]) if ties else instance
        selection = exact.uniform_selection(swapped.pool, instance.budget, exact=in_fractions(instance))
        return exact_log(selection[0 if ties else 1])

    return (lambda instance, good: log_beaten(instance, instance.rows, ties=ties)), slow


def point_of(instance: PoolInstance, **known: Any) -> BoundProblem:
    """The pool as the bounds see it, told with one gap."""
    gap, theta, r = parameters(instance)
    return BoundProblem(instance.arms, gap, theta, r, best_count=len(instance.best), **known)


def _by(version: str, strategy: Strategy, *, rows: Rows = "accumulated", gaps: bool = False) -> LogBound:
    """A version of the bound on the failure probability of a pool, as a logarithm."""

    def bound(instance: PoolInstance) -> float:
        point = point_of(instance, rows=rows)
        if gaps:
            point = replace(point, gap=None, gaps=tuple(float(value) for value in instance.gaps[1:]))
        return float(point.bound(version, strategy, instance.budget, log=True))

    return bound


def _pairwise(function: Any, **options: Any) -> LogBound:
    return lambda instance: float(function(instance.rows, *parameters(instance), strict=False, log=True, **options))


def _by_variance(instance: PoolInstance) -> float:
    """Theorem 7, told the variances of y Phi and Phi of the rival."""
    shares, rival = np.array(instance.weights) / sum(instance.weights), np.array(instance.features[1])
    # The features are small whole numbers, so that the variance does not suffer from the difference.
    top_h, top_g = (
        shares @ values**2 - (shares @ values) ** 2 for values in (rival * np.array(instance.labels), rival)
    )
    variance = tighter.loss_variance(float(instance.theta), max(top_h, 0.0), max(top_g, 0.0), float(instance.radius))
    bound = tighter.lemma_4_variance(
        instance.rows, *parameters(instance), variance_rival=variance, strict=False, log=True
    )
    return float(bound)


def _without_replacement(instance: PoolInstance) -> float:
    rows = sum(instance.weights)
    if instance.rows > rows:
        return math.nan
    return float(point_of(instance, population=rows).bound("tighter", "uniform", instance.budget, log=True))


UNIFORM_FAILURE: Failure = (log_uniform_failure, slow_uniform)
_FRESH: Failure = (log_median_failure, slow_median(accumulate=False))
ACCUMULATED: Failure = (slow_median(accumulate=True, floats=True), slow_median(accumulate=True))
DISTINCT_FAILURE: Failure = (_distinct(False), _distinct(True))
_MISSES = "P(the selected arm is not the first, a best one) <= the printed bound"
LEAVES = "P(the selected arm is not a best one) <= the bound"
_WINS = "P(the second arm scores better than the first, on shared rows) <= the printed bound"
_BEATS = "P(the second arm scores at least as well as the first, on shared rows) <= the bound"


def _fails_more(instance: PoolInstance, uniform: LogFailure, median: LogFailure) -> Measured:
    """P(uniform allocation fails) <= P(median elimination fails) at the same budget."""
    if instance.gap <= 0:
        return unmet(1.0)
    return Measured(uniform(instance, instance.best), median(instance, instance.best))


def _below_launch(instance: PoolInstance, uniform: LogFailure) -> Measured:
    """Five per cent <= P(uniform allocation fails) below the launch budget of Lemma 1."""
    if instance.gap <= 0:
        return unmet(10.0)
    ratio = float(instance.kappa_lambda / instance.gap) * float((1 - instance.theta) / (1 - 2 * instance.theta))
    launch_rows = 16 * ratio**2
    if instance.rows > launch_rows:
        return unmet(math.log(instance.rows / launch_rows))
    return Measured(math.log(0.05), uniform(instance, instance.best))


def _remark_targets() -> list[Target]:
    how = "theory.exact, in fractions"
    return [
        build_exact_target(
            "me-fails-more",
            "P(uniform allocation misses the best arms) <= P(median elimination misses them), equal budgets",
            HALVING,
            lambda instance: _fails_more(instance, log_uniform_failure, ACCUMULATED[0]),
            lambda instance: _fails_more(instance, slow_uniform, ACCUMULATED[1]),
            how,
            False,
            probability=False,
        ),
        build_exact_target(
            "remark-5-launch-budget",
            "0.05 <= P(uniform allocation misses the best arms) below the launch budget of Lemma 1",
            PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(4, 600), states=20_000),
            lambda instance: _below_launch(instance, log_uniform_failure),
            lambda instance: _below_launch(instance, slow_uniform),
            how,
            False,
            probability=False,
        ),
    ]


#: Budgets at which these bounds begin to speak; the older ones are vacuous there.
KNOWN_UNIFORM = PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(4, 400), states=20_000)
KNOWN_HALVING = PoolSpace(arms=(2, 6), atoms=(2, 3), budget=(6, 160), states=800, median=True)
#: Features are whole numbers: scores of different samples differ by more, or not at all.
RESOLUTION = 1e-11


def to_population_model(instance: PoolInstance, *, rows: bool = False) -> PopulationModel:
    """The pool as these bounds see it: atoms with weights, or every row of its own."""
    copies = np.array(instance.weights) if rows else np.ones(len(instance.weights), dtype=np.int64)
    features = np.repeat(np.array(instance.features, dtype=np.float64), copies, axis=1)
    labels = np.repeat(np.array(instance.labels), copies)
    weights = None if rows else np.array(instance.weights) / sum(instance.weights)
    grams = list(features[:, :, None] * features[:, None, :])
    ball, theta = float(instance.radius) * (1.0 - 1e-14), float(instance.theta)
    return PopulationModel(grams, labels, ball, theta, weights=weights, best=instance.best, resolution=RESOLUTION)


def _known_uniform(effort: Effort) -> Target:
    def bound(instance: PoolInstance) -> float:
        return log(delta_fail_uniform(to_population_model(instance), instance.budget, effort=effort))

    name = "pool.delta_fail_uniform" + ("/sharp" if effort == "sharp" else "")
    return build_target(name, LEAVES, KNOWN_UNIFORM, UNIFORM_FAILURE, bound)


def _known_median(instance: PoolInstance) -> float:
    return log(delta_fail_median(to_population_model(instance), instance.budget, effort="sharp"))


def _known_distinct(instance: PoolInstance) -> float:
    if instance.rows > sum(instance.weights):
        return math.nan
    return log(delta_fail_uniform(to_population_model(instance, rows=True), instance.budget, replacement=False))


def targets() -> list[Target]:
    """Return all targets about selection."""
    paper_ua, paper_me = _by("paper", "uniform"), _by("paper", "median")
    pairwise = [
        (f"{name}.lemma_4", _pairwise(module.lemma_4))
        for name, module in (("corrected", corrected), ("tighter", tighter))
    ]
    cases: list[tuple[str, PoolSpace, Failure, LogBound]] = [
        ("lemma-1-i/no-ties", UNIFORM, UNIFORM_FAILURE, paper_ua),
        ("corrected.delta_fail_uniform", UNIFORM, UNIFORM_FAILURE, _by("corrected", "uniform")),
        ("corrected.delta_fail_median/fresh", MEDIAN, _FRESH, _by("corrected", "median", rows="fresh")),
        ("corrected.delta_fail_median", HALVING, ACCUMULATED, _by("corrected", "median")),
        ("tighter.delta_fail_uniform", UNIFORM, UNIFORM_FAILURE, _by("tighter", "uniform")),
        ("tighter.delta_fail_uniform/gaps", UNIFORM, UNIFORM_FAILURE, _by("tighter", "uniform", gaps=True)),
        ("tighter.delta_fail_uniform/distinct", DISTINCT, DISTINCT_FAILURE, _without_replacement),
        ("tighter.delta_fail_median/fresh", MEDIAN, _FRESH, _by("tighter", "median", rows="fresh")),
        ("tighter.delta_fail_median", HALVING, ACCUMULATED, _by("tighter", "median")),
        ("tighter.delta_fail_median/gaps", HALVING, ACCUMULATED, _by("tighter", "median", gaps=True)),
        ("pool.delta_fail_median/sharp", KNOWN_HALVING, ACCUMULATED, _known_median),
        ("pool.delta_fail_uniform/distinct", DISTINCT, DISTINCT_FAILURE, _known_distinct),
    ]
    return [
        build_target("lemma-1-i", _MISSES, UNIFORM, UNIFORM_FAILURE, paper_ua, False, first=True),
        build_target("lemma-2-i", _MISSES, MEDIAN, _FRESH, paper_me, False, first=True),
        build_target("lemma-4/affine", _WINS, PAIR, _pair(ties=False), _pairwise(paper.lemma_4)),
        *(build_target(id, LEAVES, space, failure, bound) for id, space, failure, bound in cases),
        *(build_target(id, _BEATS, PAIR, _pair(ties=True), bound) for id, bound in pairwise),
        build_target("tighter.lemma_4_variance", _BEATS, PAIR, _pair(ties=True), _by_variance),
        *_remark_targets(),
        _known_uniform("quick"),
        _known_uniform("sharp"),
    ]
