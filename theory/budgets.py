"""Invert bounds: the budget or the number of rows for a wanted failure probability.

Answers are exact: ``required_budget`` returns an integer that satisfies the bound while the integer
before it does not.

Every bound of this package is monotone in B, up to rounding: each n_t = floor(B / (T a_t)) grows with B and
the bound falls with each n_t (for per-arm ``gaps`` see Theorem 3 of ``docs/theorems.md``). So bisection finds
the answer, and the bound stays below the target at all larger budgets.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory._bound import POPULATION_EXHAUSTED, is_elementwise
from theory._inputs import Bound, Flags
from theory.errors import AssumptionError

__all__ = ["launch_budget", "one_by_one", "required_budget", "smallest_budget"]

LARGEST_BUDGET = 2**52
"""Above this, a whole number of pulls is no longer exact in floating point."""

SECTIONS = 48
"""Parts of an interval whose ends are tried together."""


def required_budget(
    bound: Callable[..., Bound],
    target: float,
    /,
    *,
    limit: int = LARGEST_BUDGET,
    **parameters: Any,
) -> int:
    """Return the smallest budget (or number of rows) for which ``bound`` is at most ``target``.

    Parameters
    ----------
    bound : callable
        A bound of :mod:`theory.paper`, :mod:`theory.corrected` or :mod:`theory.tighter`; its first
        argument (B, n or m) is what is sought.
    target : float
        The wanted failure probability (or regret, for a regret bound).
    limit
        The largest budget considered.
    **parameters
        The bound's other arguments.

    Returns
    -------
    int
        The answer works and the answer minus one does not.

    Raises
    ------
    ValueError
        When no budget up to ``limit`` works.

    Examples
    --------
    >>> from theory import paper, tighter
    >>> pool = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    >>> [required_budget(bounds.delta_fail_uniform, 0.05, **pool) for bounds in (paper, tighter)]
    [33400, 2400]
    """
    if not target > 0:
        raise ValueError(f"the target must be positive, got {target!r}")
    return _search(bound, target, limit, parameters, "no budget up to {end} brings {name} to {target:g}")


def launch_budget(bound: Callable[..., Bound], *, limit: int = LARGEST_BUDGET, **parameters: Any) -> int:
    """Return the smallest budget at which the statement behind ``bound`` applies.

    That is the smallest B for which its assumptions hold, the identification condition among them.

    Examples
    --------
    >>> from theory import paper
    >>> launch_budget(paper.delta_fail_uniform, K=8, gap=0.2, theta=0.1, kappa_lambda=0.5)
    1016
    """
    # Every value but nan is at most infinity.
    return _search(bound, math.inf, limit, parameters, "{name} applies to no budget up to {end}")


def _search(bound: Callable[..., Bound], target: float, limit: int, parameters: dict[str, Any], failure: str) -> int:
    """Return the smallest budget at which the bound is at most the target; nan (assumption not met) is not."""
    end = _limit(bound, limit, parameters)
    log = {"log": True} if "log" in inspect.signature(bound).parameters else {}
    level = math.log(target) if log and target < math.inf else target

    def holds(budgets: Any) -> Any:
        return np.asarray(bound(budgets, **parameters, strict=False, **log)) <= level

    name = getattr(bound, "__name__", repr(bound))
    failure = failure.format(end=end, name=name, target=target)
    # An elementwise bound costs the same at dozens of points.
    if is_elementwise(bound, parameters):
        return smallest_budget(holds, end, failure, SECTIONS)
    return smallest_budget(one_by_one(holds), end, failure)


def one_by_one(holds: Callable[[Any], Any]) -> Callable[[NDArray[Any]], Flags]:
    """Return a predicate of ascending values that evaluates ``holds`` up to the first value that works."""

    def works(values: NDArray[Any]) -> Flags:
        flags = np.ones(len(values), dtype=bool)
        for place, value in enumerate(values.tolist()):
            flags[place] = bool(holds(value))
            if flags[place]:
                break
        return flags

    return works


def _limit(bound: Callable[..., Bound], limit: int, parameters: dict[str, Any]) -> int:
    """Return the largest budget to consider: draws without replacement end with the population."""
    if parameters.get("population") is None:
        return limit

    def exhausts(budget: int) -> bool:
        try:
            bound(budget, **parameters)
        except AssumptionError as error:
            return error.assumption == POPULATION_EXHAUSTED
        return False

    return smallest_budget(one_by_one(exhausts), limit, "unreachable") - 1 if exhausts(limit) else limit


def smallest_budget(works: Callable[[NDArray[Any]], Flags], limit: int, failure: str, parts: int = 2) -> int:
    """Return the smallest whole number up to a limit with a property that holds from some number on.

    ``works`` takes ascending numbers; ``failure`` is the message of the ValueError if none works.
    """
    doubled = np.array([*(1 << k for k in range((limit - 1).bit_length())), limit])
    good = works(doubled)
    if not good.any():
        raise ValueError(failure)
    high = int(doubled[np.argmax(good)])
    low = high // 2
    while high - low > 1:
        low, high = map(int, _section(works, np.unique(np.linspace(low, high, parts + 1).astype(np.int64))))
    return high


def _section(works: Callable[[NDArray[Any]], Flags], ends: NDArray[Any]) -> tuple[Any, Any]:
    """Return the neighbours between which a property begins that the last end has, and the first has not."""
    first = int(np.argmax([*works(ends[1:-1]), True])) + 1
    return ends[first - 1], ends[first]
