"""Targets that are measured by trials of the engine: pools with too many kinds of rows to enumerate.

The search runs few trials per instance, all with its own seed. A violation only counts if fresh trials with the
confirmation seed refute the claim, at a false-alarm rate of 1e-6 for the whole search: the largest of many noisy rates
is a lucky one, and the same random numbers would confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine import Sampling, build_pool
from exml_sim.strategies import MedianElimination, UniformAllocation
from simulations._finite_support import atom_pool, ball_score
from simulations.falsify._spaces import PoolInstance, PoolSpace
from simulations.falsify._target import LOG_ZERO, Measured, Target, log, unmet
from theory import BoundProblem, verdicts
from theory.verdicts import Verdict, judge

#: A search makes at most `MAX_CONFIRMATIONS` = 10 confirmations of two instances each: 1e-6 in all.
ALPHA = 5e-8
SEARCH_TRIALS = 300
CONFIRMATION_TRIALS = 10_000

MANY_ROWS = PoolSpace(arms=(2, 8), atoms=(3, 10), budget=(16, 600), states=10**300, median=True)


@lru_cache(maxsize=16)
def feature_pool(instance: PoolInstance) -> FeaturePool:
    """The instance as a pool of the engine."""
    pool = build_pool(atom_pool(instance.pool, copies=instance.weights), ball_score(instance.pool), Sampling())
    assert isinstance(pool, FeaturePool)
    return pool


def run_failures(
    instance: PoolInstance, strategy: Any, trials: int, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which trials select none of the best arms."""
    pool = feature_pool(instance)
    selected = pool.explore_many(strategy, instance.budget, trials, seed=seed).selected[:, 0]
    return ~np.isin(selected, pool.best_arms())


def _compare(instance: PoolInstance, trials: int, seed: int) -> tuple[int, int]:
    """Trials in which only uniform allocation fails, and in which only median elimination does."""
    uniform, median = (
        run_failures(instance, strategy, trials, seed)
        for strategy in (UniformAllocation(ties="lowest"), MedianElimination(ties="lowest"))
    )
    return int((uniform & ~median).sum()), int((median & ~uniform).sum())


def _has_gap(instance: PoolInstance) -> bool:
    return bool((feature_pool(instance).gaps > 0).any())


def _me_fails_more() -> Target:
    """On trials where exactly one of the two fails, it is uniform allocation in at most half of them."""

    def measure(instance: PoolInstance, seed: int) -> Measured:
        if not _has_gap(instance):
            return unmet(1.0)
        only_uniform, only_median = _compare(instance, SEARCH_TRIALS, seed)
        both = only_uniform + only_median
        # One pseudo-trial on each side keeps small counts from giving large ratios.
        return Measured(log((only_uniform + 1) / (both + 2)), math.log(0.5))

    def confirm(instance: PoolInstance, seed: int) -> Verdict:
        only_uniform, only_median = _compare(instance, CONFIRMATION_TRIALS, seed)
        if only_uniform + only_median == 0:
            return verdicts.undecided(f"Both strategies fail together in all of {CONFIRMATION_TRIALS} trials.")
        return judge(only_uniform, only_uniform + only_median, 0.5, alpha=ALPHA)

    return Target(
        "me-fails-more/trials",
        "of the trials in which one strategy fails and the other does not, uniform allocation fails in at most half",
        MANY_ROWS,
        measure,
        confirm,
        holds=False,
        sampled=True,
        probability=False,
    )


def build_rate_target(
    id: str, bound: Callable[[PoolInstance, FeaturePool], float], holds: bool | None, space: PoolSpace
) -> Target:
    """P(uniform allocation selects no best arm) <= bound, by counting."""

    def measure(instance: PoolInstance, seed: int) -> Measured:
        if not _has_gap(instance):
            return unmet(10.0)
        limit = bound(instance, feature_pool(instance))
        if math.isnan(limit):
            return unmet(
                math.log1p((float(instance.kappa_lambda) / feature_pool(instance).gap) ** 2 / max(instance.rows, 1))
            )
        failed = int(run_failures(instance, UniformAllocation(ties="lowest"), SEARCH_TRIALS, seed).sum())
        if failed == 0:
            return Measured(LOG_ZERO, log(limit), hint=-float(instance.rows))
        return Measured(math.log(failed / SEARCH_TRIALS), log(limit))

    def confirm(instance: PoolInstance, seed: int) -> Verdict:
        failed = int(run_failures(instance, UniformAllocation(ties="lowest"), CONFIRMATION_TRIALS, seed).sum())
        return judge(failed, CONFIRMATION_TRIALS, bound(instance, feature_pool(instance)), alpha=ALPHA)

    says = "P(uniform allocation selects no best arm) <= the bound"
    return Target(id, says, space, measure, confirm, holds, sampled=True)


def _bound(version: str) -> Callable[[PoolInstance, FeaturePool], float]:
    def limit(instance: PoolInstance, pool: FeaturePool) -> float:
        ties = len(pool.best_arms())
        point = BoundProblem(
            instance.arms, pool.gap, float(instance.theta), float(instance.kappa_lambda), best_count=ties
        )
        return float(point.bound(version, "uniform", instance.budget))

    return limit


def targets() -> list[Target]:
    """All targets that are measured by trials."""
    return [
        _me_fails_more(),
        build_rate_target("corrected.delta_fail_uniform/trials", _bound("corrected"), True, MANY_ROWS),
        build_rate_target("tighter.delta_fail_uniform/trials", _bound("tighter"), True, MANY_ROWS),
    ]
