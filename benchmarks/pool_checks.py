"""What is promised of the bounds that know the population, and how they stand against exact failure probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.theory.population.small_pools import Small, exact_uniform, generated
from theory.population import PopulationModel, delta_fail_uniform

#: Largest number of rows whose samples are enumerated.
_ROWS = 32
_LEVEL = 0.05


@dataclass(slots=True)
class Promises:
    """Numbers that must be reached, and numbers that should be."""

    lines: list[tuple[str, str, bool, str]] = field(default_factory=list)

    def hold(self, what: str, met: bool, measured: str) -> None:
        """Something that must be so."""
        self.lines.append(("must", what, met, measured))

    def aim(self, what: str, met: bool, measured: str) -> None:
        """Something that should be so."""
        self.lines.append(("aim", what, met, measured))

    @property
    def broken(self) -> bool:
        """Whether a number that must be reached is not."""
        return any(kind == "must" and not met for kind, _, met, _ in self.lines)

    def table(self) -> str:
        """All of them, one line each."""
        rows = [f"| {kind} | {what} | {seen} | {'met' if met else 'missed'} |" for kind, what, met, seen in self.lines]
        return "\n".join(["| | promise | measured | |", "|---|---|---|---|", *rows])


def against_exact(promises: Promises, count: int = 312) -> None:
    """Both bounds next to the exact failure probability of generated pools, at the rows where the bound reaches 5 %."""
    pools = [*generated(count // 2, seed=1, arms=2, rows=3), *generated(count // 2, seed=2, arms=3, rows=4)]
    for effort in ("quick", "sharp"):
        least, ratios = np.inf, []
        for pool in pools:
            n = _rows(pool, effort)
            bound, exact = _bound(pool, n, effort), exact_uniform(pool, n)
            ratio = bound / exact if exact > 0.0 else np.inf
            least = min(least, ratio)
            if bound <= _LEVEL:
                ratios.append(ratio)
        seen = f"least bound/rate {least:.4g} on {len(pools)} pools"
        promises.hold(f"the {effort} bound is never below the exact rate of 300 pools", least >= 1.0, seen)
        middle = f"median bound/rate at 5 %: {np.median(ratios):.2f} ({len(ratios)} pools reach 5 % by {_ROWS} rows)"
        promises.aim(f"the {effort} bound at 5 % is within 10 times the exact rate", np.median(ratios) <= 10.0, middle)


def _rows(pool: Small, effort: str) -> int:
    """The rows per arm where the bound first reaches 5 %, or the most that are enumerated."""
    low, high = 0, _ROWS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _bound(pool, middle, effort) <= _LEVEL else (middle, high)
    return high


def _bound(pool: Small, n: int, effort: str) -> float:
    known = PopulationModel(pool.grams, pool.y, pool.ball, pool.theta, weights=pool.p)
    return delta_fail_uniform(known, n * known.n_arms, effort="sharp" if effort == "sharp" else "quick")
