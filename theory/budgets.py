"""Invert bounds: the budget, the number of rows or the gap for a wanted failure probability.

Answers are exact: ``required_budget`` returns an integer that satisfies the bound while the integer
before it does not, and ``smallest_gap`` a float of which the same is true of the float before it.

Every bound of this package is monotone in B, up to rounding: each n_t = floor(B / (T a_t)) grows with B and
the bound falls with each n_t (for per-arm ``gaps`` see Theorem 3 of ``docs/theorems.md``). So bisection finds
the answer, and the bound stays below the target at all larger budgets.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory._bound import POPULATION_EXHAUSTED, is_elementwise
from theory._inputs import Bound, Flags
from theory.constants import gap_ceiling
from theory.errors import AssumptionError

__all__ = ["launch_budget", "required_budget", "smallest_gap"]

LARGEST_BUDGET = 2**52
"""Above this, a whole number of pulls is no longer exact in floating point."""

SECTIONS = 48
"""Parts of an interval whose ends are tried together."""

#: Width of an interval of gaps, in units of the gap, below which its ends are too close for many parts.
_NARROW = 1e-13


def required_budget(
    bound: Callable[..., Bound],
    target: float | None = None,
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
        The wanted failure probability (or regret, for a regret bound). ``delta=`` is accepted as a
        name for it when the bound itself has no such parameter.
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
    """
    wanted, rest = _target(target, parameters)
    search = _Search(bound, wanted, rest)
    end = _limit(bound, limit, rest)
    failure = f"no budget up to {end} brings {_name(bound)} to {wanted:g}"
    if is_elementwise(bound, rest):
        return _sections(search.holds, end, failure)
    return _bisect(search.works, end, failure)


def launch_budget(bound: Callable[..., Bound], *, limit: int = LARGEST_BUDGET, **parameters: Any) -> int:
    """Return the smallest budget at which the statement behind ``bound`` applies.

    That is the smallest B for which its assumptions hold, the identification condition among them.
    """

    def applies(budget: int) -> bool:
        return not math.isnan(float(bound(budget, **parameters, strict=False)))

    def apply(budgets: NDArray[np.int64]) -> Flags:
        return ~np.isnan(bound(budgets, **parameters, strict=False))

    end = _limit(bound, limit, parameters)
    failure = f"{_name(bound)} applies to no budget up to {end}"
    return _sections(apply, end, failure) if is_elementwise(bound, parameters) else _bisect(applies, end, failure)


def smallest_gap(bound: Callable[..., Bound], target: float | None = None, /, **parameters: Any) -> float:
    """Return the smallest gap that ``bound`` certifies with failure probability ``target``.

    ``parameters`` are the bound's arguments other than ``gap``, among them ``theta`` and
    ``kappa_lambda``. The answer works and the next smaller float does not.

    Raises
    ------
    ValueError
        When even the largest possible gap is not certified.
    """
    wanted, rest = _target(target, parameters)
    ceiling = float(gap_ceiling(rest["theta"], rest["kappa_lambda"]))
    search = _Search(bound, wanted, rest)

    def works(gap: float) -> bool:
        return bool(search.holds(gap=gap))

    if not works(ceiling):
        raise ValueError(
            f"{_name(bound)} certifies no gap up to the largest possible one, {ceiling:.6g}, at {wanted:g}"
        )
    low, high = 0.0, ceiling
    if is_elementwise(bound, rest):
        while high - low > _NARROW * high:
            low, high = _section(lambda gaps: search.holds(gap=gaps), np.linspace(low, high, SECTIONS + 1))
    while True:
        middle = low + (high - low) / 2
        if middle in (low, high):
            return high
        low, high = (low, middle) if works(middle) else (middle, high)


@dataclass(frozen=True, slots=True)
class _Search:
    """Whether the bound is at most the target, at one or many budgets."""

    bound: Callable[..., Bound]
    target: float
    parameters: dict[str, Any]
    has_log: bool = field(init=False)

    def __post_init__(self) -> None:
        # Looked up once: a search evaluates the bound hundreds of times.
        object.__setattr__(self, "has_log", "log" in inspect.signature(self.bound).parameters)

    def holds(self, *first: Any, **extra: Any) -> Flags:
        # A nan (assumption not met) compares false: the bound does not work there.
        if self.has_log:
            value = self.bound(*first, **self.parameters, **extra, strict=False, log=True)
            return np.asarray(np.asarray(value) <= math.log(self.target))
        return np.asarray(np.asarray(self.bound(*first, **self.parameters, **extra, strict=False)) <= self.target)

    def works(self, budget: int) -> bool:
        return bool(self.holds(budget))


def _target(target: float | None, parameters: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Return the wanted value, given first or as ``delta=``, and the remaining parameters."""
    rest = dict(parameters)
    if target is None:
        if "delta" not in rest:
            raise ValueError("a target is needed: the failure probability delta to reach")
        target = rest.pop("delta")
    wanted = float(target)
    if not wanted > 0:
        raise ValueError(f"the target must be positive, got {target!r}")
    return wanted, rest


def _name(bound: Callable[..., Bound]) -> str:
    return getattr(bound, "__name__", repr(bound))


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

    if not exhausts(limit):
        return limit
    return _bisect(exhausts, limit, "unreachable") - 1


def _bisect(works: Callable[[int], bool], limit: int, failure: str) -> int:
    """Return the smallest budget that works, for a property that holds from some budget on."""
    high = 1
    while not works(high):
        if high >= limit:
            raise ValueError(failure)
        high = min(2 * high, limit)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _sections(works: Callable[[NDArray[np.int64]], Flags], limit: int, failure: str) -> int:
    """Return the same for a property that is evaluated at many budgets at once.

    A bound at one point takes as long as at dozens of them: a search in few large steps is several times faster.
    """
    doubled = np.array([*(1 << k for k in range((limit - 1).bit_length())), limit])
    good = works(doubled)
    if not good.any():
        raise ValueError(failure)
    high = int(doubled[np.argmax(good)])
    low = high // 2
    while high - low > 1:
        low, high = map(int, _section(works, np.unique(np.linspace(low, high, SECTIONS + 1).astype(np.int64))))
    return high


def _section(works: Callable[[Any], Flags], ends: NDArray[Any]) -> tuple[Any, Any]:
    """Return the neighbours between which a property begins that the last end has, and the first has not."""
    first = int(np.argmax([*works(ends[1:-1]), True])) + 1
    return ends[first - 1], ends[first]
