"""Targets about the selected arm: failure probabilities of both strategies against every bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simulations.falsify._distributions import (
    compute_sums,
    log_beaten,
    log_median_failure,
    log_sum,
    log_uniform_failure,
    sample_distribution,
)
from simulations.falsify._spaces import PoolInstance, PoolSpace
from simulations.falsify._target import Measured, Target, exact_log, judge_measured, log, unmet
from theory import BoundProblem, corrected, exact, paper, tighter
from theory.corrected import Rows
from theory.exact import compositions
from theory.paper import Strategy
from theory.population import Effort, PopulationModel, delta_fail_median, delta_fail_uniform
from theory.verdicts import Verdict

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


@dataclass(frozen=True, slots=True)
class Failure:
    """How a failure probability is computed: fast for the search, by `theory.exact` for the confirmation."""

    fast: LogFailure
    slow: LogFailure


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

    def side(which: LogFailure) -> Callable[[PoolInstance], Measured]:
        def measured(instance: PoolInstance) -> Measured:
            log_bound, missed = premises(instance, bound)
            if missed:
                return unmet(missed)
            return Measured(which(instance, (0,) if first else instance.best), log_bound)

        return measured

    fast, slow = side(failure.fast), side(failure.slow)

    def confirm(instance: PoolInstance, seed: int) -> Verdict:
        return judge_measured(
            slow(instance), how="theory.exact, in fractions" if in_fractions(instance) else "theory.exact"
        )

    return Target(id, says, space, lambda instance, seed: fast(instance), confirm, holds)


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


def _slow_uniform(instance: PoolInstance, good: tuple[int, ...]) -> float:
    selection = exact.uniform_selection(instance.pool, instance.budget, exact=in_fractions(instance))
    return exact_log(sum((p for arm, p in enumerate(selection) if arm not in good), F(0)))


def slow_median(*, accumulate: bool, floats: bool = False) -> LogFailure:
    """Failure of median elimination by `theory.exact`."""

    def failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
        small = instance.budget <= 240 and not floats
        selection = exact.median_selection(instance.pool, instance.budget, accumulate=accumulate, exact=small)
        return exact_log(sum((p for arm, p in enumerate(selection) if arm not in good), F(0)))

    return failure


def _distinct(fractions: bool) -> LogFailure:
    """Uniform allocation on rows drawn without replacement from sum(weights) rows."""

    def failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
        selection = exact.uniform_selection(
            instance.pool, instance.budget, population=sum(instance.weights), exact=fractions
        )
        return exact_log(sum((p for arm, p in enumerate(selection) if arm not in good), F(0)))

    return failure


def distinct() -> Failure:
    """Failure of uniform allocation on rows drawn without replacement."""
    return Failure(_distinct(False), _distinct(True))


def _pair(ties: bool) -> Failure:
    def slow(instance: PoolInstance, good: tuple[int, ...]) -> float:
        # Ties go to the lowest index: the rival in front wins them, behind it loses them.
        swapped = replace(instance, features=instance.features[::-1]) if ties else instance
        selection = exact.uniform_selection(swapped.pool, instance.budget, exact=in_fractions(instance))
        return exact_log(selection[0 if ties else 1])

    return Failure(lambda instance, good: log_beaten(instance, instance.rows, ties=ties), slow)


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


UNIFORM_FAILURE = Failure(log_uniform_failure, _slow_uniform)
_FRESH = Failure(log_median_failure, slow_median(accumulate=False))
ACCUMULATED = Failure(slow_median(accumulate=True, floats=True), slow_median(accumulate=True))
_MISSES = "P(the selected arm is not the first, a best one) <= the printed bound"
LEAVES = "P(the selected arm is not a best one) <= the bound"
_WINS = "P(the second arm scores better than the first, on shared rows) <= the printed bound"
_BEATS = "P(the second arm scores at least as well as the first, on shared rows) <= the bound"


def _me_fails_more() -> Target:
    """P(uniform allocation fails) <= P(median elimination fails) at the same budget."""

    def measured(instance: PoolInstance, uniform: LogFailure, median: LogFailure) -> Measured:
        if instance.gap <= 0:
            return unmet(1.0)
        return Measured(uniform(instance, instance.best), median(instance, instance.best))

    def confirm(instance: PoolInstance, seed: int) -> Verdict:
        slow = measured(instance, _slow_uniform, slow_median(accumulate=True))
        return judge_measured(slow, how="theory.exact, in fractions", probability=False)

    return Target(
        "me-fails-more",
        "P(uniform allocation misses the best arms) <= P(median elimination misses them), equal budgets",
        HALVING,
        lambda instance, seed: measured(instance, log_uniform_failure, ACCUMULATED.fast),
        confirm,
        holds=False,
        probability=False,
    )


def _launch_is_a_limit() -> Target:
    """Five per cent <= P(uniform allocation fails) below the launch budget of Lemma 1."""

    def measured(instance: PoolInstance, uniform: LogFailure) -> Measured:
        if instance.gap <= 0:
            return unmet(10.0)
        launch_rows = (
            16
            * (float(instance.kappa_lambda / instance.gap) * float((1 - instance.theta) / (1 - 2 * instance.theta)))
            ** 2
        )
        if instance.rows > launch_rows:
            return unmet(math.log(instance.rows / launch_rows))
        return Measured(math.log(0.05), uniform(instance, instance.best))

    return Target(
        "remark-5-launch-budget",
        "0.05 <= P(uniform allocation misses the best arms) below the launch budget of Lemma 1",
        PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(4, 600), states=20_000),
        lambda instance, seed: measured(instance, log_uniform_failure),
        lambda instance, seed: judge_measured(
            measured(instance, _slow_uniform), how="theory.exact, in fractions", probability=False
        ),
        holds=False,
        probability=False,
    )


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


# The penalised score of Eq. 3 has a closed form where C_h = C_g = C is so large that the minimiser stays in the affine
# regime. With one feature per arm, S_i = 1 - ((mean y Phi_i)^2 + (mean Phi_i)^2) / (16 C). With P and N the sums of the
# feature over positive and negative rows, the bracket is 2 (P^2 + N^2) / n^2, so whole numbers order the arms.


def compute_penalty(instance: PoolInstance) -> Fraction:
    """C such that |h| / 2 + (b + 1/2) |g| = fill (1 - theta) at most, with |h|, |g| <= kappa^2 / (4 C): affine."""
    slope = instance.theta / (1 - 2 * instance.theta)
    return instance.kappa**2 * (F(1, 8) + (slope + F(1, 2)) / 4) / (instance.fill * (1 - instance.theta))


def penalised_gaps(instance: PoolInstance) -> tuple[Fraction, ...]:
    """How much larger the objective of every arm is than the smallest, on all rows."""
    total = sum(instance.weights)
    strength = [F(value, total**2) for value in _strengths(instance, instance.weights)]
    return tuple((max(strength) - value) / (16 * compute_penalty(instance)) for value in strength)


def log_penalised_bound(instance: PoolInstance) -> float:
    """Theorem 8 summed over the arms that are not best, with the smallest gap."""
    rivals = [gap for gap in penalised_gaps(instance) if gap > 0]
    C, kappa, theta = float(compute_penalty(instance)), float(instance.kappa), float(instance.theta)
    bound = partial(tighter.delta_fail_uniform_regularised, C_h=C, C_g=C, strict=False, log=True)
    # The bound counts K - 1 rivals: best arms that tie are none.
    arms = len(rivals) + 1
    return float(bound(instance.rows * arms, arms, float(min(rivals)), theta, kappa))


def log_penalised_failure(instance: PoolInstance) -> float:
    """log P(some other arm scores at least as well as every best one), by floats."""
    counts, logs = sample_distribution(instance, instance.rows)
    strength = np.square(compute_sums(instance, counts)).sum(axis=2)
    best = np.array([gap == 0 for gap in penalised_gaps(instance)])
    return log_sum(logs[strength[:, ~best].max(axis=1) >= strength[:, best].max(axis=1)])


def slow_log_penalised_failure(instance: PoolInstance) -> float:
    """The same in fractions, one sample after the other."""
    best = {arm for arm, gap in enumerate(penalised_gaps(instance)) if gap == 0}
    total, probability = sum(instance.weights), F(0)
    for counts in compositions(instance.rows, len(instance.weights)).tolist():
        strength = _strengths(instance, counts)
        top = max(strength[arm] for arm in best)
        if any(strength[arm] >= top for arm in range(instance.arms) if arm not in best):
            ways = math.factorial(instance.rows)
            for count in counts:
                ways //= math.factorial(count)
            probability += ways * math.prod(
                weight**count for weight, count in zip(instance.weights, counts, strict=True)
            )
    return exact_log(probability / F(total) ** instance.rows)


def _strengths(instance: PoolInstance, counts: tuple[int, ...] | list[int]) -> list[int]:
    """(sum y Phi)^2 + (sum Phi)^2 of every arm."""
    rows = list(zip(counts, instance.labels, strict=True))
    strengths = []
    for arm in instance.features:
        signed = sum(count * label * value for (count, label), value in zip(rows, arm, strict=True))
        plain = sum(count * value for (count, _), value in zip(rows, arm, strict=True))
        strengths.append(signed**2 + plain**2)
    return strengths


def _measure_penalised(instance: PoolInstance, *, slow: bool) -> Measured:
    if not any(penalised_gaps(instance)):
        return unmet(1e3)
    bound = log_penalised_bound(instance)
    if math.isnan(bound):
        return unmet(math.log1p(1 / max(instance.rows, 1)))
    return Measured(slow_log_penalised_failure(instance) if slow else log_penalised_failure(instance), bound)


def _confirm_penalised(instance: PoolInstance, seed: int) -> Verdict:
    slow = in_fractions(instance)
    return judge_measured(_measure_penalised(instance, slow=slow), how="in fractions" if slow else "in floats")


def _log_failure_target() -> Target:
    return Target(
        "tighter.delta_fail_uniform_regularised",
        "P(uniform allocation by the score of Eq. 3 selects no best arm, ties lost) <= the bound",
        UNIFORM,
        lambda instance, seed: _measure_penalised(instance, slow=False),
        _confirm_penalised,
        holds=True,
    )


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
        ("tighter.delta_fail_uniform/distinct", DISTINCT, distinct(), _without_replacement),
        ("tighter.delta_fail_median/fresh", MEDIAN, _FRESH, _by("tighter", "median", rows="fresh")),
        ("tighter.delta_fail_median", HALVING, ACCUMULATED, _by("tighter", "median")),
        ("tighter.delta_fail_median/gaps", HALVING, ACCUMULATED, _by("tighter", "median", gaps=True)),
        ("pool.delta_fail_median/sharp", KNOWN_HALVING, ACCUMULATED, _known_median),
        ("pool.delta_fail_uniform/distinct", DISTINCT, distinct(), _known_distinct),
    ]
    return [
        build_target("lemma-1-i", _MISSES, UNIFORM, UNIFORM_FAILURE, paper_ua, False, first=True),
        build_target("lemma-2-i", _MISSES, MEDIAN, _FRESH, paper_me, False, first=True),
        build_target("lemma-4/affine", _WINS, PAIR, _pair(ties=False), _pairwise(paper.lemma_4)),
        *(build_target(id, LEAVES, space, failure, bound) for id, space, failure, bound in cases),
        *(build_target(id, _BEATS, PAIR, _pair(ties=True), bound) for id, bound in pairwise),
        build_target("tighter.lemma_4_variance", _BEATS, PAIR, _pair(ties=True), _by_variance),
        _me_fails_more(),
        _launch_is_a_limit(),
        _known_uniform("quick"),
        _known_uniform("sharp"),
        _log_failure_target(),
    ]
