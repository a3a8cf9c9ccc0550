"""Worlds: pools written out row by row, the points that bounds are about, and the engine's evidence on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine import Study, run
from theory import BoundProblem
from theory.verdicts import Verdict, judge_exact, judge_family


@dataclass(frozen=True)
class World:
    """A pool of scalar features over a few atoms, its score, and how rows are drawn.

    Attributes
    ----------
    values : one tuple per arm, with the feature's value at every atom
    y, copies : label and number of rows of every atom
    theta, ball : the loss and the radius Lambda
    rows, replacement : as for `exml_sim.bandit._sampling.RowOptions`
    kernel : "linear", or "gaussian" with gamma = 1
    """

    values: tuple[tuple[float, ...], ...]
    copies: tuple[int, ...]
    theta: float
    ball: float
    y: tuple[int, ...] = ()
    rows: str = "same"
    replacement: str = "always"
    kernel: str = "linear"
    costs: tuple[str, ...] | None = None

    def study(self, strategy: dict[str, Any], budget: int, mode: str, *, trials: int = 1, seed: int = 0) -> Study:
        """One cell."""
        return Study(
            pools=[self.table],  # type: ignore[arg-type]
            scores=[{"score": "ball", "theta": self.theta, "ball": self.ball}],  # type: ignore[arg-type]
            strategies=[strategy],  # type: ignore[arg-type]
            budgets={"absolute": [budget]},  # type: ignore[arg-type]
            sampling={"rows": self.rows, "replacement": self.replacement},  # type: ignore[arg-type]
            mode=mode,
            trials=trials,
            seed=seed,
        )

    @property
    def table(self) -> dict[str, Any]:
        """The pool as a study has it."""
        labels = self.y or (1,) * len(self.copies)
        table: dict[str, Any] = {"kind": "finite_support", "values": self.values, "y": labels, "copies": self.copies}
        table |= {"kernel": self.kernel, "gamma": 1.0}
        return table if self.costs is None else table | {"costs": self.costs}

    @cached_property
    def pool(self) -> FeaturePool:
        """The engine's pool."""
        study = self.study({"name": "uniform_allocation"}, 10**6, "monte_carlo")
        result = study.pool(study.cells()[0])
        assert isinstance(result, FeaturePool)
        return result

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """The K - 1 gaps of the other arms, 0 for ties."""
        return tuple(float(gap) for gap in np.sort(self.pool.gaps)[1:])

    @property
    def affine(self) -> bool:
        """Whether the surrogate is affine on the ball."""
        return self.pool.kappa * self.ball <= 1 - 2 * self.theta

    @cached_property
    def point(self) -> BoundProblem:
        """What bounds need to know."""
        known: Any = {"gaps": self.gaps, "pairing": self.rows}
        known["population"] = None if self.replacement == "always" else self.pool.n_rows
        known["kernel"] = "nonnegative" if self.kernel == "gaussian" else "any"
        return BoundProblem(self.pool.n_arms, None, self.theta, self.pool.kappa * self.ball, **known)

    def outcomes(self, pieces: tuple[int, ...]) -> float:
        """Number of outcomes of consecutive draws of that many rows, all arms on the same rows."""
        atoms = len(self.copies)
        return math.prod(math.comb(n + atoms - 1, atoms - 1) for n in pieces)

    def exact_failure(self, strategy: dict[str, Any], budget: int) -> float:
        """Failure probability by the engine's enumeration of all outcomes."""
        (result,) = run(self.study(strategy, budget, "exact"), progress=False, n_jobs=1).summary()
        return result.failure_rate

    def count(self, strategy: Any, budget: int, trials: int, *, seed: int) -> int:
        """Failures in that many trials of a strategy: a table by name, or any object that is one."""
        if isinstance(strategy, dict):
            study = self.study(strategy, budget, "monte_carlo", trials=trials, seed=seed)
            (result,) = run(study, progress=False, n_jobs=1).summary()
            return result.failures
        done = self.pool.explore_many(strategy, budget, trials, seed=seed)
        return int(done.failures(self.pool.best_arms()).sum())

    def with_(self, **changes: Any) -> World:
        """The same world with some parts replaced."""
        return replace(self, **changes)


def hold_exactly(probability: float, bounds: dict[str, float]) -> dict[str, Verdict]:
    """Verdicts of an exact probability; rounding of the enumeration (relative 1e-9) is granted to the bound."""
    return {name: judge_exact(probability * (1 - 1e-9), bound) for name, bound in bounds.items()}


def hold_counted(failures: int, trials: int, bounds: dict[str, float], *, alpha: float) -> dict[str, Verdict]:
    """Verdicts of counts; ``alpha`` holds for all bounds together."""
    verdicts = judge_family([(failures, trials, bound) for bound in bounds.values()], alpha=alpha)
    return dict(zip(bounds, verdicts, strict=True))
