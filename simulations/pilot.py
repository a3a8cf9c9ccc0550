"""Which budget will be needed? Planned from a pilot: a few rows of which all candidates are known.

The pilot stands for the population: the engine runs trials on it, and on worlds of as many rows drawn from it with
replacement, and finds for each the budget with which the best candidate is missed in a share delta of the trials. The
budget of the pilot itself is the plan; the worlds say how far it can be trusted.

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

from exml_sim.arrays import IntArray
from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.study import Cell
from exml_sim.population import Candidate, Population
from exml_sim.strategies import Strategy, by_name
from simulations.pool_bounds import bounds_of
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
class Plan:
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
        """The plan for people."""
        sure = f"{100.0 * self.level:g} %"
        if not math.isfinite(self.budget):
            plan = "the pilot cannot tell its best candidates apart: no budget that was tried is enough"
        else:
            plan = f"about {self.budget:,.0f}"
        ends = f"{self.lower:,.0f} to {self.upper:,.0f}" if math.isfinite(self.upper) else f"at least {self.lower:,.0f}"
        ends = ends if math.isfinite(self.lower) else "more than was tried"
        best = f"{self.best} is best in {self.share:.0%} of the worlds drawn from it"
        return f"{plan} ({sure} interval {ends}) by a pilot of {self.rows} rows; {best}"


def check_pilot(rows: int, available: int) -> int:
    """A number of rows that the table has."""
    if not FEWEST_ROWS <= rows <= available:
        raise ValueError(f"a pilot needs {FEWEST_ROWS} to {available} complete rows of the table, got {rows}")
    return rows


def drawn(pilot: Population, rows: IntArray) -> Population:
    """Some rows of a population, perhaps several times."""
    candidates = [Candidate(one.name, one.values[rows], one.cost) for one in pilot.candidates]
    return Population(pilot.X[rows], pilot.y[rows], candidates)


def in_order(pilot: Population, order: Sequence[int]) -> Population:
    """The same rows with candidates in another order."""
    return Population(pilot.X, pilot.y, [pilot.candidates[i] for i in order])


def best_last(population: Population) -> FeaturePool:
    """The pool in which ties count as misses: candidates by name, the best ones last."""
    by_name = sorted(range(len(population.candidates)), key=lambda i: population.candidates[i].name)
    population = in_order(population, by_name)
    pool = FeaturePool(population, **SCORE)
    best = pool.best_arms()
    order = [*(i for i in range(pool.n_arms) if i not in best), *best]
    return pool if order == list(range(pool.n_arms)) else FeaturePool(in_order(population, order), **SCORE)


def needed(pool: FeaturePool, strategy: Any, delta: float, trials: int, seed: int = 0) -> float:
    """The smallest tried budget with which at most a share delta of the trials miss the best candidate."""
    best, price = pool.best_arms(), sum(pool.costs, Fraction(0))

    def misses(pulls: int) -> bool:
        try:
            found = pool.explore_many(strategy, pulls * price, trials, seed=seed, stream=pulls)
        except ValueError:
            return True
        return bool(found.failures(best).mean() > delta)

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
) -> Plan:
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
        # Who is best is open, so two may be alike, and then no budget is enough.
        upper = math.inf
    name = strategy if isinstance(strategy, str) else type(strategy).__name__
    return Plan(name, delta, rows, budget, lower, upper, level, worlds, trials, best, same / max(worlds, 1))


def world(pilot: Population, rng: np.random.Generator) -> FeaturePool:
    """As many rows drawn from the pilot, with both labels among them, the best candidate last."""
    rows = len(pilot.y)
    while True:
        some = rng.integers(0, rows, rows)
        if len(np.unique(pilot.y[some])) > 1:
            return best_last(drawn(pilot, some))


def interval(budgets: Sequence[float], level: float) -> tuple[float, float]:
    """Order statistics of the worlds' budgets, so that infinite ones are no trouble.

    A quarter of the tail is left out at either end, not half: worlds are fewer than pilots could be.
    """
    ordered = sorted(budgets)
    first = int((1.0 - level) / 4.0 * len(ordered))
    return ordered[first], ordered[len(ordered) - 1 - first]


@dataclass(frozen=True, slots=True, eq=False)
class _AsStudy:
    """One pool and strategy where a study is asked for them."""

    feature_pool: FeaturePool
    rule: Strategy
    mode: str = "monte_carlo"

    @property
    def pools(self) -> tuple[_AsStudy, ...]:
        return (self,)

    def table(self) -> dict[str, str]:
        return {"kernel": "gaussian"}

    def pool(self, cell: object) -> FeaturePool:
        return self.feature_pool

    def strategy(self, cell: object) -> Strategy:
        return self.rule


def bounds(pilot: Population, strategy: str) -> tuple[paper.Strategy, BoundProblem] | str:
    """The bounds at the pilot, or the reason why none applies."""
    study = _AsStudy(FeaturePool(pilot, **SCORE), by_name(strategy))
    return bounds_of(study, Cell(0, 0, 0, 0, "1", 0, ("pilot", "", strategy)))  # type: ignore[arg-type]
