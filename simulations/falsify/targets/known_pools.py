"""Targets about the bounds that know the population: failure probabilities against `theory.population`."""

from __future__ import annotations

import math

import numpy as np

from simulations.falsify.pools import PoolInstance, PoolSpace
from simulations.falsify.target import Target
from simulations.falsify.targets.selection import ACCUMULATED, DISTINCT, LEAVES, UNIFORM_FAILURE, distinct, target
from theory.population import Effort, PopulationModel, delta_fail_median, delta_fail_uniform

#: Budgets at which these bounds begin to speak; the older ones are vacuous there.
UNIFORM = PoolSpace(arms=(2, 6), atoms=(2, 4), budget=(4, 400), states=20_000)
HALVING = PoolSpace(arms=(2, 6), atoms=(2, 3), budget=(6, 160), states=800, median=True)
#: Features are whole numbers: scores of different samples differ by more, or not at all.
RESOLUTION = 1e-11


def known(one: PoolInstance, *, rows: bool = False) -> PopulationModel:
    """The pool as these bounds see it: atoms with weights, or every row of its own."""
    copies = np.array(one.weights) if rows else np.ones(len(one.weights), dtype=np.int64)
    features = np.repeat(np.array(one.features, dtype=np.float64), copies, axis=1)
    labels = np.repeat(np.array(one.labels), copies)
    weights = None if rows else np.array(one.weights) / sum(one.weights)
    grams = list(features[:, :, None] * features[:, None, :])
    ball, theta = float(one.radius) * (1.0 - 1e-14), float(one.theta)
    return PopulationModel(grams, labels, ball, theta, weights=weights, best=one.best, resolution=RESOLUTION)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _uniform(effort: Effort) -> Target:
    def bound(one: PoolInstance) -> float:
        return _log(delta_fail_uniform(known(one), one.budget, effort=effort))

    name = "pool.delta_fail_uniform" + ("/sharp" if effort == "sharp" else "")
    return target(name, LEAVES, UNIFORM, UNIFORM_FAILURE, bound, True, first=False)


def _median(one: PoolInstance) -> float:
    return _log(delta_fail_median(known(one), one.budget, effort="sharp"))


def _without_replacement(one: PoolInstance) -> float:
    if one.rows > sum(one.weights):
        return math.nan
    return _log(delta_fail_uniform(known(one, rows=True), one.budget, replacement=False))


def targets() -> list[Target]:
    """All targets about known populations."""
    return [
        _uniform("quick"),
        _uniform("sharp"),
        target("pool.delta_fail_median/sharp", LEAVES, HALVING, ACCUMULATED, _median, True, first=False),
        target(
            "pool.delta_fail_uniform/distinct", LEAVES, DISTINCT, distinct(), _without_replacement, True, first=False
        ),
    ]
