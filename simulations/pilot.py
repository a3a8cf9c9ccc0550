"""Plan a budget from a pilot: a few rows for which all candidates are known.

The pilot stands for the population. Trials are run on it, and on bootstrap samples of it ("worlds"), to find the budget
with which the best candidate is missed in a share delta of the trials. The budget of the pilot itself is the plan; the
bootstrap samples give its interval.

Where scores tie, the first arm wins. So the best candidate is put last: a tie counts as a miss, and the plan does not
depend on the order in which candidates were named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.rows import FeaturePool
from exml_sim.population import Candidate, Population
from exml_sim.strategies import by_name
from simulations._pool_bounds import match_bounds
from theory import BoundProblem, paper

#: Worlds that are drawn from the pilot, trials on each at every tried budget, and the level of the interval.
WORLDS, TRIALS, LEVEL = 60, 400, 0.95
#: Pulls per arm after which the search gives up, and steps that divide the last doubling.
MOST_PULLS, STEPS = 4096, 4
#: Fewest rows of a pilot.
FEWEST_ROWS = 10
#: The score of the plan: a ball in the affine regime, where trials are fast and bounds apply.
SCORE: dict[str, Any] = {"theta": 0.1, "ball": 0.8}


@dataclass(frozen=True, slots=True)
class PilotPlan:
    """The budget for a probability delta of missing the best candidate, by a pilot.

    Attributes
    ----------
    strategy, delta
        What is planned.
    rows
        Rows of the pilot.
    budget
        What the pilot itself needs; infinite if no budget that was tried is enough.
    lower, upper
        Approximate interval at the level; infinite ends where worlds need more than was tried.
    level, worlds, trials
        How it was found.
    best
        The best candidate of the pilot, and in how large a part of the worlds it is the best one.
    """

    strategy: str
    delta: float
    rows: int
    budget: float
    lower: float
    upper: float
    level: float
    worlds: int
    trials: int
    best: str
    share: float

    def sentence(self) -> str:
        """Write the plan as a sentence."""
        level = f"{100.0 * self.level:g} %"
        if not math.isfinite(self.budget):
            plan = "no tried budget is enough: the best candidates of the pilot are too close"
        else:
            plan = f"about {self.budget:,.0f}"
        ends = f"{self.lower:,.0f} to {self.upper:,.0f}" if math.isfinite(self.upper) else f"at least {self.lower:,.0f}"
        ends = ends if math.isfinite(self.lower) else "more than was tried"
        best = f"{self.best} is best in {self.share:.0%} of its bootstrap samples"
        return f"{plan} ({level} interval {ends}) by a pilot of {self.rows} rows; {best}"


def check_pilot(rows: int, available: int) -> int:
    """Check the number of rows of a pilot."""
    if not FEWEST_ROWS <= rows <= available:
        raise ValueError(f"a pilot needs {FEWEST_ROWS} to {available} complete rows of the table, got {rows}")
    return rows


def drawn(pilot: Population, rows: IntArray) -> Population:
    """Return some rows of a population, perhaps several times."""
    candidates = [Candidate(part.name, part.values[rows], part.cost) for part in pilot.candidates]
    return Population(pilot.X[rows], pilot.y[rows], candidates)


def in_order(pilot: Population, order: Sequence[int]) -> Population:
    """Return the same rows with candidates in another order."""
    return Population(pilot.X, pilot.y, [pilot.candidates[i] for i in order])


def best_last(population: Population) -> FeaturePool:
    """Make the pool in which ties count as misses: candidates by name, the best ones last."""
    by_name = sorted(range(len(population.candidates)), key=lambda i: population.candidates[i].name)
    population = in_order(population, by_name)
    pool = FeaturePool(population, **SCORE)
    best = pool.best_arms()
    order = [*(i for i in range(pool.n_arms) if i not in best), *best]
    return pool if order == list(range(pool.n_arms)) else FeaturePool(in_order(population, order), **SCORE)


def needed(pool: FeaturePool, strategy: Any, delta: float, trials: int, seed: int = 0) -> float:
    """Find the smallest tried budget with which at most a share delta of the trials miss the best candidate."""
    best, price = pool.best_arms(), sum(pool.costs, Fraction(0))

    def misses(pulls: int) -> bool:
        try:
            explored = pool.explore_many(strategy, pulls * price, trials, seed=seed, stream=pulls)
        except ValueError:
            return True
        return bool(explored.failures(best).mean() > delta)

    high = 1
    while misses(high):
        high *= 2
        if high > MOST_PULLS:
            return math.inf
    low = high // 2
    for _ in range(STEPS):
        middle = round(math.sqrt(max(low, 1) * high)) if high > 4 else (low + high) // 2
        if not low < middle < high:
            break
        low, high = (middle, high) if misses(middle) else (low, middle)
    return float(high * price)


def plan(
    pilot: Population,
    strategy: Any = "uniform_allocation",
    delta: float = 0.05,
    *,
    worlds: int = WORLDS,
    trials: int = TRIALS,
    level: float = LEVEL,
    seed: int = 0,
) -> PilotPlan:
    """Plan a budget from a pilot.

    Parameters
    ----------
    pilot
        Rows with all candidates.
    strategy
        Name or object.
    delta
        Wanted probability of a miss.
    worlds, trials, level, seed
        See the module.
    """
    rng = np.random.default_rng(seed)
    rows = len(pilot.y)
    own = best_last(pilot)
    best = own.names[own.best_arms()[0]]
    budgets, same = [], 0
    for number in range(worlds):
        pool = world(pilot, rng)
        same += best in {pool.names[arm] for arm in pool.best_arms()}
        budgets.append(needed(pool, strategy, delta, trials, seed + 1 + number))
    budget = needed(own, strategy, delta, trials, seed)
    lower, upper = interval([*budgets, budget], level)
    # Worlds have fewer different rows than the pilot, and need more: its own budget always counts.
    lower, upper = min(lower, budget), max(upper, budget)
    if same < level * worlds:
        # The best candidate is not significant: two may be equal, and then no budget is enough.
        upper = math.inf
    name = strategy if isinstance(strategy, str) else type(strategy).__name__
    return PilotPlan(name, delta, rows, budget, lower, upper, level, worlds, trials, best, same / max(worlds, 1))


def world(pilot: Population, rng: np.random.Generator) -> FeaturePool:
    """Draw a bootstrap sample of the pilot with both labels, the best candidate last."""
    rows = len(pilot.y)
    while True:
        sample = rng.integers(0, rows, rows)
        if len(np.unique(pilot.y[sample])) > 1:
            return best_last(drawn(pilot, sample))


def interval(budgets: Sequence[float], level: float) -> tuple[float, float]:
    """Return order statistics of the budgets, which may be infinite.

    A quarter of the tail is left out at either end, not half, because there are few bootstrap samples.
    """
    ordered = sorted(budgets)
    first = int((1.0 - level) / 4.0 * len(ordered))
    return ordered[first], ordered[len(ordered) - 1 - first]


def bounds(pilot: Population, strategy: str) -> tuple[paper.Strategy, BoundProblem] | str:
    """Return the bounds at the pilot, or the reason why none applies."""
    return match_bounds(FeaturePool(pilot, **SCORE), by_name(strategy), strategy, is_gaussian=True)
