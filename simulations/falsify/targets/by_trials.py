"""Targets that are measured by trials of the engine: pools with more kinds of rows than can be enumerated.

The search runs few trials per instance, all with the hunt's search seed; a find only counts if fresh trials with the
confirmation seed refute the claim, at a false-alarm rate of 1e-6 for the whole hunt. Searching for the largest of many
noisy rates finds lucky ones, and the same random numbers would confirm their luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.specs import Sampling, build_pool
from exml_sim.strategies import MedianElimination, UniformAllocation
from simulations.atoms import atom_pool, ball_score
from simulations.falsify.pools import PoolInstance, PoolSpace
from simulations.falsify.target import LOG_ZERO, Measured, Target, log, unmet
from theory import BoundProblem, verdicts
from theory.verdicts import Verdict, judge

#: A hunt asks for at most `search.ATTEMPTS` = 10 confirmations of two instances each: 1e-6 for the whole hunt.
ALARM = 5e-8
SEARCH_TRIALS = 300
CONFIRMATION_TRIALS = 10_000

MANY_ROWS = PoolSpace(arms=(2, 8), atoms=(3, 10), budget=(16, 600), states=10**300, median=True)


@lru_cache(maxsize=16)
def feature_pool(one: PoolInstance) -> FeaturePool:
    """The instance as a pool of the engine."""
    pool = build_pool(atom_pool(one.pool, copies=one.weights), ball_score(one.pool), Sampling())
    assert isinstance(pool, FeaturePool)
    return pool


def failures(one: PoolInstance, rule: Any, trials: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which trials select none of the best arms."""
    pool = feature_pool(one)
    selected = pool.explore_many(rule, one.budget, trials, seed=seed).selected[:, 0]
    return ~np.isin(selected, pool.best_arms())


def _compared(one: PoolInstance, trials: int, seed: int) -> tuple[int, int]:
    """Trials in which only uniform allocation fails, and in which only median elimination does."""
    uniform, median = (failures(one, rule, trials, seed) for rule in (UniformAllocation(), MedianElimination()))
    return int((uniform & ~median).sum()), int((median & ~uniform).sum())


def _has_gap(one: PoolInstance) -> bool:
    return bool((feature_pool(one).gaps > 0).any())


def _me_fails_more() -> Target:
    """On trials where exactly one of the two fails, it is uniform allocation in at most half of them."""

    def measure(one: PoolInstance, seed: int) -> Measured:
        if not _has_gap(one):
            return unmet(1.0)
        only_uniform, only_median = _compared(one, SEARCH_TRIALS, seed)
        both = only_uniform + only_median
        # One imagined trial on each side keeps small counts from looking like large ratios.
        return Measured(log((only_uniform + 1) / (both + 2)), math.log(0.5))

    def confirm(one: PoolInstance, seed: int) -> Verdict:
        only_uniform, only_median = _compared(one, CONFIRMATION_TRIALS, seed)
        if only_uniform + only_median == 0:
            return verdicts.undecided(f"Both strategies fail together in all of {CONFIRMATION_TRIALS} trials.")
        return judge(only_uniform, only_uniform + only_median, 0.5, alpha=ALARM)

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


def rate_target(
    id: str, bound: Callable[[PoolInstance, FeaturePool], float], holds: bool | None, space: PoolSpace
) -> Target:
    """P(uniform allocation selects no best arm) <= bound, by counting."""

    def measure(one: PoolInstance, seed: int) -> Measured:
        if not _has_gap(one):
            return unmet(10.0)
        limit = bound(one, feature_pool(one))
        if math.isnan(limit):
            return unmet(math.log1p((float(one.kappa_lambda) / feature_pool(one).gap) ** 2 / max(one.rows, 1)))
        failed = int(failures(one, UniformAllocation(), SEARCH_TRIALS, seed).sum())
        if failed == 0:
            return Measured(LOG_ZERO, log(limit), hint=-float(one.rows))
        return Measured(math.log(failed / SEARCH_TRIALS), log(limit))

    def confirm(one: PoolInstance, seed: int) -> Verdict:
        failed = int(failures(one, UniformAllocation(), CONFIRMATION_TRIALS, seed).sum())
        return judge(failed, CONFIRMATION_TRIALS, bound(one, feature_pool(one)), alpha=ALARM)

    says = "P(uniform allocation selects no best arm) <= the bound"
    return Target(id, says, space, measure, confirm, holds, sampled=True)


def _bound(version: str) -> Callable[[PoolInstance, FeaturePool], float]:
    def limit(one: PoolInstance, pool: FeaturePool) -> float:
        ties = len(pool.best_arms())
        point = BoundProblem(one.arms, pool.gap, float(one.theta), float(one.kappa_lambda), best_count=ties)
        return float(point.bound(version, "uniform", one.budget))

    return limit


def targets() -> list[Target]:
    """All targets that are measured by trials."""
    return [
        _me_fails_more(),
        rate_target("corrected.delta_fail_uniform/trials", _bound("corrected"), True, MANY_ROWS),
        rate_target("tighter.delta_fail_uniform/trials", _bound("tighter"), True, MANY_ROWS),
    ]
