"""Targets about the selected arm: failure probabilities of both strategies against every bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from simulations.falsify.judging import exact_log, judge_measured
from simulations.falsify.laws import log_beaten, log_median_failure, log_uniform_failure
from simulations.falsify.pools import PoolInstance, PoolSpace
from simulations.falsify.target import Measured, Target, unmet
from theory import BoundProblem, corrected, exact, paper, tighter
from theory.corrected import Rows
from theory.paper import Strategy
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


def parameters(one: PoolInstance) -> tuple[float, float, float]:
    """(gap, theta, kappa Lambda) for the bounds."""
    return float(one.gap), float(one.theta), float(one.kappa_lambda)


def target(
    id: str, says: str, space: PoolSpace, failure: Failure, bound: LogBound, holds: bool | None, *, first: bool
) -> Target:
    """P(no good arm is selected) <= bound; good is the first arm only, or every best arm."""

    def side(which: LogFailure) -> Callable[[PoolInstance], Measured]:
        def measured(one: PoolInstance) -> Measured:
            log_bound, missed = premises(one, bound)
            if missed:
                return unmet(missed)
            return Measured(which(one, (0,) if first else one.best), log_bound)

        return measured

    fast, slow = side(failure.fast), side(failure.slow)

    def confirm(one: PoolInstance, seed: int) -> Verdict:
        return judge_measured(slow(one), how="theory.exact, in fractions" if in_fractions(one) else "theory.exact")

    return Target(id, says, space, lambda one, seed: fast(one), confirm, holds)


def premises(one: PoolInstance, bound: LogBound) -> tuple[float, float]:
    """log of the bound, and by how much its premises are missed (0 if they hold)."""
    if one.gap <= 0 or 0 not in one.best:
        return math.nan, 1e3
    value = bound(one)
    if not math.isnan(value):
        return value, 0.0
    # Launch conditions ask for n > constant (r / gap)^2: the further from it, the larger.
    return value, math.log1p(float(one.kappa_lambda / one.gap) ** 2 / max(one.rows, 1))


def in_fractions(one: PoolInstance) -> bool:
    """Whether the pool is small enough for exact fractions."""
    return math.comb(one.rows + len(one.weights) - 1, len(one.weights) - 1) <= FRACTIONS and one.rows <= 3000


def _slow_uniform(one: PoolInstance, good: tuple[int, ...]) -> float:
    law = exact.uniform_selection(one.pool, one.budget, exact=in_fractions(one))
    return exact_log(sum((p for arm, p in enumerate(law) if arm not in good), F(0)))


def slow_median(*, accumulate: bool, floats: bool = False) -> LogFailure:
    """Failure of median elimination by `theory.exact`."""

    def failure(one: PoolInstance, good: tuple[int, ...]) -> float:
        small = one.budget <= 240 and not floats
        law = exact.median_selection(one.pool, one.budget, accumulate=accumulate, exact=small)
        return exact_log(sum((p for arm, p in enumerate(law) if arm not in good), F(0)))

    return failure


def _distinct(fractions: bool) -> LogFailure:
    """Uniform allocation on rows drawn without replacement from sum(weights) rows."""

    def failure(one: PoolInstance, good: tuple[int, ...]) -> float:
        law = exact.uniform_selection(one.pool, one.budget, population=sum(one.weights), exact=fractions)
        return exact_log(sum((p for arm, p in enumerate(law) if arm not in good), F(0)))

    return failure


def distinct() -> Failure:
    """Failure of uniform allocation on rows drawn without replacement."""
    return Failure(_distinct(False), _distinct(True))


def _pair(ties: bool) -> Failure:
    def slow(one: PoolInstance, good: tuple[int, ...]) -> float:
        # Ties go to the lowest index: the rival in front wins them, behind it loses them.
        swapped = replace(one, features=one.features[::-1]) if ties else one
        law = exact.uniform_selection(swapped.pool, one.budget, exact=in_fractions(one))
        return exact_log(law[0 if ties else 1])

    return Failure(lambda one, good: log_beaten(one, one.rows, ties=ties), slow)


def point_of(one: PoolInstance, **known: Any) -> BoundProblem:
    """The pool as the bounds see it, told with one gap."""
    gap, theta, r = parameters(one)
    return BoundProblem(one.arms, gap, theta, r, best_count=len(one.best), **known)


def _by(version: str, strategy: Strategy, *, rows: Rows = "accumulated", gaps: bool = False) -> LogBound:
    """A version of the bound on the failure probability of a pool, as a logarithm."""

    def bound(one: PoolInstance) -> float:
        point = point_of(one, rows=rows)
        if gaps:
            point = replace(point, gap=None, gaps=tuple(float(value) for value in one.gaps[1:]))
        return float(point.bound(version, strategy, one.budget, log=True))

    return bound


def _pairwise(function: Any, **options: Any) -> LogBound:
    return lambda one: float(function(one.rows, *parameters(one), strict=False, log=True, **options))


def _by_variance(one: PoolInstance) -> float:
    """Theorem 7, told the variances of y Phi and Phi of the rival."""
    shares, rival = np.array(one.weights) / sum(one.weights), np.array(one.features[1])
    # The features are small whole numbers, so that the variance does not suffer from the difference.
    top_h, top_g = (shares @ values**2 - (shares @ values) ** 2 for values in (rival * np.array(one.labels), rival))
    variance = tighter.loss_variance(float(one.theta), max(top_h, 0.0), max(top_g, 0.0), float(one.radius))
    bound = tighter.lemma_4_variance(one.rows, *parameters(one), variance_rival=variance, strict=False, log=True)
    return float(bound)


def _without_replacement(one: PoolInstance) -> float:
    rows = sum(one.weights)
    if one.rows > rows:
        return math.nan
    return float(point_of(one, population=rows).bound("tighter", "uniform", one.budget, log=True))


UNIFORM_FAILURE = Failure(log_uniform_failure, _slow_uniform)
_FRESH = Failure(log_median_failure, slow_median(accumulate=False))
ACCUMULATED = Failure(slow_median(accumulate=True, floats=True), slow_median(accumulate=True))
_MISSES = "P(the selected arm is not the first, a best one) <= the printed bound"
LEAVES = "P(the selected arm is not a best one) <= the bound"
_WINS = "P(the second arm scores better than the first, on shared rows) <= the printed bound"
_BEATS = "P(the second arm scores at least as well as the first, on shared rows) <= the bound"


def _me_fails_more() -> Target:
    """P(uniform allocation fails) <= P(median elimination fails) at the same budget."""

    def measured(one: PoolInstance, uniform: LogFailure, median: LogFailure) -> Measured:
        if one.gap <= 0:
            return unmet(1.0)
        return Measured(uniform(one, one.best), median(one, one.best))

    def confirm(one: PoolInstance, seed: int) -> Verdict:
        slow = measured(one, _slow_uniform, slow_median(accumulate=True))
        return judge_measured(slow, how="theory.exact, in fractions", probability=False)

    return Target(
        "me-fails-more",
        "P(uniform allocation misses the best arms) <= P(median elimination misses them), equal budgets",
        HALVING,
        lambda one, seed: measured(one, log_uniform_failure, ACCUMULATED.fast),
        confirm,
        holds=False,
        probability=False,
    )


def _launch_is_a_limit() -> Target:
    """Five per cent <= P(uniform allocation fails) below the launch budget of Lemma 1."""

    def measured(one: PoolInstance, uniform: LogFailure) -> Measured:
        if one.gap <= 0:
            return unmet(10.0)
        launch = 16 * (float(one.kappa_lambda / one.gap) * float((1 - one.theta) / (1 - 2 * one.theta))) ** 2
        if one.rows > launch:
            return unmet(math.log(one.rows / launch))
        return Measured(math.log(0.05), uniform(one, one.best))

    return Target(
        "remark-5-launch-budget",
        "0.05 <= P(uniform allocation misses the best arms) below the launch budget of Lemma 1",
        PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(4, 600), states=20_000),
        lambda one, seed: measured(one, log_uniform_failure),
        lambda one, seed: judge_measured(
            measured(one, _slow_uniform), how="theory.exact, in fractions", probability=False
        ),
        holds=False,
        probability=False,
    )


def targets() -> list[Target]:
    """All targets about selection."""
    return [
        target("lemma-1-i", _MISSES, UNIFORM, UNIFORM_FAILURE, _by("paper", "uniform"), False, first=True),
        target(
            "lemma-1-i/no-ties", LEAVES, UNIFORM, UNIFORM_FAILURE, _by("paper", "uniform"), True, first=False
        ),
        target("lemma-2-i", _MISSES, MEDIAN, _FRESH, _by("paper", "median"), False, first=True),
        target(
            "lemma-4/affine", _WINS, PAIR, _pair(ties=False), _pairwise(paper.lemma_4), True, first=False
        ),
        target(
            "corrected.delta_fail_uniform",
            LEAVES, UNIFORM, UNIFORM_FAILURE, _by("corrected", "uniform"), True, first=False,
        ),
        target(
            "corrected.delta_fail_median/fresh",
            LEAVES, MEDIAN, _FRESH, _by("corrected", "median", rows="fresh"), True, first=False,
        ),
        target(
            "corrected.delta_fail_median",
            LEAVES, HALVING, ACCUMULATED, _by("corrected", "median"), True, first=False,
        ),
        target(
            "corrected.lemma_4", _BEATS, PAIR, _pair(ties=True), _pairwise(corrected.lemma_4), True, first=False
        ),
        target(
            "tighter.delta_fail_uniform",
            LEAVES, UNIFORM, UNIFORM_FAILURE, _by("tighter", "uniform"), True, first=False,
        ),
        target(
            "tighter.delta_fail_uniform/gaps",
            LEAVES, UNIFORM, UNIFORM_FAILURE, _by("tighter", "uniform", gaps=True), True, first=False,
        ),
        target(
            "tighter.delta_fail_uniform/distinct",
            LEAVES, DISTINCT, distinct(), _without_replacement, True, first=False,
        ),
        target(
            "tighter.delta_fail_median/fresh",
            LEAVES, MEDIAN, _FRESH, _by("tighter", "median", rows="fresh"), True, first=False,
        ),
        target(
            "tighter.delta_fail_median",
            LEAVES, HALVING, ACCUMULATED, _by("tighter", "median"), True, first=False,
        ),
        target(
            "tighter.delta_fail_median/gaps",
            LEAVES, HALVING, ACCUMULATED, _by("tighter", "median", gaps=True), True, first=False,
        ),
        target("tighter.lemma_4", _BEATS, PAIR, _pair(ties=True), _pairwise(tighter.lemma_4), True, first=False),
        target("tighter.lemma_4_variance", _BEATS, PAIR, _pair(ties=True), _by_variance, True, first=False),
        _me_fails_more(),
        _launch_is_a_limit(),
    ]  # fmt: skip
