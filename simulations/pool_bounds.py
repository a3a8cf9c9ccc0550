"""Which bounds apply to a strategy on a pool of a study, and what they say there.

The lemmas are about empirical risk minimisation over the norm ball, unit costs, uniform allocation or median
elimination. A cell that is something else gets a reason instead of a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

import theory
from exml_sim.engine.study import Cell, Study
from exml_sim.exploration.rows import FeaturePool
from exml_sim.strategies import MedianElimination, UniformAllocation
from theory import corrected, paper, tighter
from theory.budgets import launch_budget, required_budget

Level = Literal["paper", "corrected", "tighter"]
LEVELS: tuple[Level, ...] = get_args(Level)
FUNCTIONS: dict[tuple[Level, str], Callable[..., Any]] = {
    ("paper", "uniform"): paper.delta_fail_uniform,
    ("paper", "median"): paper.delta_fail_median,
    ("corrected", "uniform"): corrected.delta_fail_uniform,
    ("corrected", "median"): corrected.delta_fail_median,
    ("tighter", "uniform"): tighter.delta_fail_uniform,
    ("tighter", "median"): tighter.delta_fail_median,
}


class _Bounds:
    """Questions to the bounds of one strategy; a subclass knows their arguments."""

    __slots__ = ()
    strategy: str

    @property
    def possible(self) -> bool:
        """Whether a population can have the gaps that the bounds do not see themselves."""
        return True

    def parameters(self, level: Level) -> dict[str, Any]:
        """All arguments of the bound but the budget."""
        raise NotImplementedError

    def launch_parameters(self, level: Level) -> dict[str, Any]:
        """All arguments of the form of the bound that has a launch condition."""
        return self.parameters(level)

    def bound(self, level: Level, budgets: ArrayLike) -> NDArray[np.float64]:
        """The bound at whole budgets; NaN where its assumptions do not hold."""
        values = FUNCTIONS[level, self.strategy](np.atleast_1d(budgets), **self.parameters(level), strict=False)
        # The first two levels see the smallest gap only, but no bound is about a pool that cannot exist.
        return np.asarray(values if self.possible else np.full_like(values, np.nan), dtype=np.float64)

    def required(self, level: Level, delta: float) -> int | None:
        """Smallest budget whose bound is at most delta; None if there is none."""
        return self._budget(lambda: required_budget(FUNCTIONS[level, self.strategy], delta, **self.parameters(level)))

    def launch(self, level: Level) -> int | None:
        """Smallest budget at which the smallest gap satisfies the statement's launch condition; None if there is none.

        With per-arm gaps our bound has no such condition (an arm below it counts as a certain winner), so this is
        the launch budget of its form with one gap.
        """
        return self._budget(lambda: launch_budget(FUNCTIONS[level, self.strategy], **self.launch_parameters(level)))

    def informative(self, level: Level) -> int | None:
        """Smallest budget at which the bound is below 1."""
        return self.required(level, float(np.nextafter(1.0, 0.0)))

    def _budget(self, question: Callable[[], int]) -> int | None:
        if not self.possible:
            return None
        try:
            return question()
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class PointBounds(_Bounds):
    """The bounds where all other arms have the same gap, however many they are.

    Attributes
    ----------
    strategy, theta, kappa_lambda, kernel, rows, pairing, population
        As in `PoolBounds`.
    K
        Number of arms.
    gap
        The gap of every arm but the best.
    """

    strategy: str
    K: int
    gap: float
    theta: float
    kappa_lambda: float
    kernel: str = "any"
    rows: str = "accumulated"
    pairing: str = "same"
    population: int | None = None

    def parameters(self, level: Level) -> dict[str, Any]:
        """All arguments of the bound but the budget; only ours uses what is known of the kernel."""
        same: dict[str, Any] = {"K": self.K, "gap": self.gap, "theta": self.theta, "kappa_lambda": self.kappa_lambda}
        if level == "paper":
            return same
        schedule = {"rows": self.rows} if self.strategy == "median" else {}
        if level == "corrected":
            return {**same, **schedule}
        return {**same, **schedule, "kernel": self.kernel, "pairing": self.pairing, "population": self.population}


@dataclass(frozen=True, slots=True)
class PoolBounds(_Bounds):
    """What the bounds need to know about one strategy on one pool.

    Attributes
    ----------
    strategy
        "uniform" or "median".
    gaps
        The K - 1 gaps of the other arms in ascending order, 0 for an arm that ties with the best.
    theta, kappa_lambda
        Rejection cost, and kappa times the radius of the ball.
    kernel
        "nonnegative" for the Gaussian kernel.
    rows
        For median elimination: scores on "accumulated" or on "fresh" rows.
    pairing
        Whether arms are scored on the "same" or on "independent" rows.
    population
        Number of rows when they are drawn without replacement, else None.
    """

    strategy: str
    gaps: tuple[float, ...]
    theta: float
    kappa_lambda: float
    kernel: str = "any"
    rows: str = "accumulated"
    pairing: str = "same"
    population: int | None = None

    @property
    def K(self) -> int:
        """Number of arms."""
        return len(self.gaps) + 1

    @property
    def gap(self) -> float:
        """The smallest positive gap, the Delta of the lemmas."""
        return min(gap for gap in self.gaps if gap > 0)

    @property
    def best_count(self) -> int:
        """Number of arms that tie for the best."""
        return 1 + sum(gap == 0 for gap in self.gaps)

    @property
    def possible(self) -> bool:
        """Whether a population can have these gaps; the largest one decides."""
        try:
            tighter.launch_rows(max(self.gaps), self.theta, self.kappa_lambda)
        except theory.AssumptionError:
            return False
        return True

    def parameters(self, level: Level) -> dict[str, Any]:
        """All arguments of the bound but the budget; only ours uses every gap and what is known of the kernel."""
        same: dict[str, Any] = {"K": self.K, "theta": self.theta, "kappa_lambda": self.kappa_lambda}
        if level == "paper":
            return {**same, "gap": self.gap}
        schedule = {"rows": self.rows} if self.strategy == "median" else {}
        if level == "corrected":
            return {**same, **schedule, "gap": self.gap, "best_count": self.best_count}
        design = {"kernel": self.kernel, "pairing": self.pairing, "population": self.population}
        return {**same, **schedule, **design, "gap": None, "gaps": np.array(self.gaps)}

    def launch_parameters(self, level: Level) -> dict[str, Any]:
        """One gap instead of all: with a gap per arm our bound has no launch condition."""
        one = {"gap": self.gap, "gaps": None, "best_count": self.best_count} if level == "tighter" else {}
        return {**self.parameters(level), **one}

    def ladder(self, budget: int) -> tuple[theory.Rung, ...]:
        """All bounds side by side at one budget."""
        chosen: dict[str, Any] = {"strategy": self.strategy, "rows": self.rows, "pairing": self.pairing}
        chosen |= {"kernel": self.kernel, "population": self.population, "gaps": np.array(self.gaps)}
        return theory.ladder(budget, self.K, None, self.theta, self.kappa_lambda, **chosen)


def bounds_of(study: Study, cell: Cell) -> PoolBounds | str:
    """The bounds for a cell, or the reason why none applies."""
    if study.mode == "excess":
        return "the population is redrawn in every trial, and the bounds are about one population"
    pool, strategy = study.pool(cell), study.strategy(cell)
    if not isinstance(pool, FeaturePool):
        return "the arms have known distributions, and the bounds are about minimised risks"
    if pool.scoring.score != "ball" or pool.scoring.ball is None:
        return f"the score is {pool.scoring.score!r}, and the bounds are about risk minimisation over the norm ball"
    if any(cost != 1 for cost in pool.costs):
        return "the bounds count pulls, and here not every pull costs 1"
    named = _strategy(strategy)
    if named is None:
        return f"the paper has no bound for {cell.labels[2]}"
    gaps = sorted(float(gap) for gap in pool.gaps)[1:]
    if not gaps or gaps[-1] <= 0:
        return "all arms are equally good, so there is no gap"
    kind, rows = named
    without = pool.options.replacement != "always"
    if kind == "median" and without and (pool.options.replacement == "never") == (rows == "fresh"):
        return f"no theorem covers {rows} rows with replacement {pool.options.replacement!r}"
    return PoolBounds(
        strategy=kind,
        gaps=tuple(gaps),
        theta=float(pool.scoring.theta),
        kappa_lambda=pool.kappa * float(pool.scoring.ball),
        kernel="nonnegative" if study.pools[cell.pool].table().get("kernel") == "gaussian" else "any",
        rows=rows,
        pairing=pool.options.rows,
        population=pool.n_rows if without else None,
    )


def _strategy(strategy: object) -> tuple[str, str] | None:
    """The lemma's name of a strategy, and the rows that its scores use."""
    if getattr(strategy, "objective", "") != "risk":
        return None
    if type(strategy) is UniformAllocation and strategy.top == 1:
        return "uniform", "accumulated"
    if type(strategy) is MedianElimination:
        return "median", "accumulated" if strategy.reuse else "fresh"
    return None
