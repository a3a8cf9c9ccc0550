"""The bounds under verification, each as a function of a point and a budget; nan where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from theory import BoundProblem

Bound = Callable[[BoundProblem, int], float]

UNIFORM: dict[str, Any] = {"name": "uniform_allocation", "ties": "lowest"}
ACCUMULATE: dict[str, Any] = {"name": "median_elimination", "accumulate": True, "ties": "lowest"}
FRESH_ROWS: dict[str, Any] = {"name": "median_elimination", "accumulate": False, "ties": "lowest"}
STRATEGIES = {"uniform": UNIFORM, "accumulate": ACCUMULATE, "fresh": FRESH_ROWS}


def _bounds(strategy: Any, rows: Any = "accumulated") -> dict[str, Bound]:
    """The bounds that must hold for a strategy, told with the smallest gap or with the gaps of all arms."""

    def bound(version: str, one_gap: bool) -> Bound:
        def value(point: BoundProblem, budget: int) -> float:
            result = replace(point, rows=rows)
            return float((result.one_gap if one_gap else result).bound(version, strategy, budget))

        return value

    return {
        "corrected": bound("corrected", True),
        "tighter": bound("tighter", True),
        "tighter, per-arm gaps": bound("tighter", False),
    }


BOUNDS = {"uniform": _bounds("uniform"), "accumulate": _bounds("median"), "fresh": _bounds("median", "fresh")}
