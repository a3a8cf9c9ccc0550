"""Small levels of the bounds, decided by many trials; too slow for every commit."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from tests.statistical.bounds import BOUNDS, STRATEGIES
from tests.statistical.instances import BEST, EMPTY, RIVAL, opposed_world
from tests.statistical.worlds import hold_counted
from theory.budgets import required_budget

#: False-alarm probability of one family of verdicts.
ALARM = 1e-6
TILT = Fraction(3, 10)
ARMS = {
    "uniform": (RIVAL, BEST),
    "accumulate": (RIVAL, BEST, *(EMPTY,) * 6),
    "fresh": (RIVAL, RIVAL, RIVAL, BEST),
}


@pytest.mark.long
@pytest.mark.parametrize(("strategy", "level"), [("uniform", 0.001), ("accumulate", 0.003), ("fresh", 0.003)])
def test_the_tighter_bounds_are_consistent_at_small_levels(strategy, level):
    """At the smallest budget that brings the bound to the level, that many trials that the factor 2 is decided."""
    world = opposed_world(TILT, TILT, ARMS[strategy])
    bounds = {name: bound for name, bound in BOUNDS[strategy].items() if name.startswith("tighter")}
    budget = required_budget(lambda B, strict: bounds["tighter"](world.point, B), level, limit=10**6)
    trials = ceil(85 / level)
    values = {name: bound(world.point, budget) for name, bound in bounds.items()}
    failures = world.count(STRATEGIES[strategy], budget, trials, seed=11)
    verdicts = hold_counted(failures, trials, values, alarm=ALARM)
    assert verdicts["tighter"].outcome == "consistent"
    assert verdicts["tighter, per-arm gaps"].outcome in ("consistent", "undecided")
