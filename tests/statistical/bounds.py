"""The bounds under verification, each as a function of a world's facts and a budget; nan where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.statistical.worlds import Facts
from theory import corrected, tighter

Bound = Callable[[Facts, int], float]

UNIFORM: dict[str, Any] = {"name": "uniform_allocation"}
REUSE: dict[str, Any] = {"name": "median_elimination", "reuse": True}
FRESH: dict[str, Any] = {"name": "median_elimination", "reuse": False}
STRATEGIES = {"uniform": UNIFORM, "reuse": REUSE, "fresh": FRESH}


def design(facts: Facts) -> dict[str, Any]:
    """What `theory.tighter` wants to know about rows and kernel."""
    return {
        "pairing": facts.rows,
        "population": facts.population,
        "kernel": "nonnegative" if facts.nonnegative else "any",
        "strict": False,
    }


def place(facts: Facts) -> tuple[int, float, float, float]:
    """K, gap, theta and kappa Lambda, as most bounds take them."""
    return facts.arms, facts.gap, facts.theta, facts.radius


def corrected_uniform(facts: Facts, budget: int) -> float:
    """Lemma 1 (i) repaired."""
    return float(corrected.delta_fail_uniform(budget, *place(facts), best_count=facts.best_count, strict=False))


def corrected_median(rows: Any) -> Bound:
    """Lemma 2 (i) repaired."""

    def bound(facts: Facts, budget: int) -> float:
        options = {"best_count": facts.best_count, "rows": rows, "strict": False}
        return float(corrected.delta_fail_median(budget, *place(facts), **options))

    return bound


def tighter_uniform(facts: Facts, budget: int) -> float:
    """Theorem 3 with one gap for all arms."""
    options = design(facts) | {"best_count": facts.best_count}
    return float(tighter.delta_fail_uniform(budget, *place(facts), **options))


def tighter_uniform_gaps(facts: Facts, budget: int) -> float:
    """Theorem 3 with the gaps of all arms."""
    arms, _, theta, radius = place(facts)
    return float(tighter.delta_fail_uniform(budget, arms, None, theta, radius, gaps=facts.gaps, **design(facts)))


def tighter_median(rows: Any) -> Bound:
    """Theorem 4 with one gap for all arms."""

    def bound(facts: Facts, budget: int) -> float:
        options = design(facts) | {"best_count": facts.best_count, "rows": rows}
        return float(tighter.delta_fail_median(budget, *place(facts), **options))

    return bound


def tighter_median_gaps(rows: Any) -> Bound:
    """Theorem 4 with the gaps of all arms."""

    def bound(facts: Facts, budget: int) -> float:
        arms, _, theta, radius = place(facts)
        options = design(facts) | {"gaps": facts.gaps, "rows": rows}
        return float(tighter.delta_fail_median(budget, arms, None, theta, radius, **options))

    return bound


BOUNDS: dict[str, dict[str, Bound]] = {
    "uniform": {
        "corrected": corrected_uniform,
        "tighter": tighter_uniform,
        "tighter, per-arm gaps": tighter_uniform_gaps,
    },
    "reuse": {
        "corrected": corrected_median("accumulated"),
        "tighter": tighter_median("accumulated"),
        "tighter, per-arm gaps": tighter_median_gaps("accumulated"),
    },
    "fresh": {
        "corrected": corrected_median("fresh"),
        "tighter": tighter_median("fresh"),
        "tighter, per-arm gaps": tighter_median_gaps("fresh"),
    },
}
