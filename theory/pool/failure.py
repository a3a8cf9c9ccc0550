"""Upper bounds on the failure probability of a strategy on a known population, and their inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from theory.constants import halving_schedule
from theory.pool.affine import AffineEvents
from theory.pool.dual_events import DualEvents
from theory.pool.independent import IndependentEvents
from theory.pool.known import KnownPool

__all__ = [
    "Effort",
    "Pairing",
    "Rows",
    "Strategy",
    "delta_fail_median",
    "delta_fail_rows",
    "delta_fail_uniform",
    "required_budget",
]

Effort = Literal["quick", "sharp"]
Rows = Literal["accumulated", "fresh"]
Strategy = Literal["uniform", "median"]
Pairing = Literal["same", "independent"]

_ORDERS: dict[str, int] = {"quick": 2, "sharp": 4}
#: Rows per arm at which the search for a budget gives up.
_LARGEST = 1_000_000


def delta_fail_uniform(pool: KnownPool, budget: int, *, effort: Effort = "quick", pairing: Pairing = "same") -> float:
    """Upper bound on P[uniform allocation selects an arm outside the best set].

    Every arm is scored on n = floor(B/K) rows, drawn with replacement.

    Parameters
    ----------
    pool
        The population.
    budget
        B, in pulls.
    effort
        "quick" uses moments of order 2, "sharp" of order 4.
    pairing
        Whether all arms are scored on the "same" rows or each on "independent" ones (affine regime).
    """
    n = _whole(budget) // pool.n_arms
    _require_rows(n, budget, pool.n_arms, 1)
    return _beats_one(pool, pool.rivals, n, _order(effort), pairing)


def delta_fail_rows(pool: KnownPool, rows: Sequence[int], *, effort: Effort = "quick") -> float:
    """Upper bound on P[the arm with the smallest score is outside the best set], arm i on ``rows[i]`` rows of its own.

    Costs that buy arms different numbers of rows lead here; the rows of different arms are independent.
    """
    counts = tuple(_whole(n) for n in rows)
    if len(counts) != pool.n_arms or min(counts) < 1:
        raise ValueError(f"rows must be {pool.n_arms} whole numbers, at least 1 each, got {list(rows)}")
    order = _order(effort)
    return min(_apart(pool, j).beaten(pool.rivals, counts, order) for j in pool.best_set)


def delta_fail_median(
    pool: KnownPool,
    budget: int,
    *,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
) -> float:
    """Upper bound on P[median elimination ends with an arm outside the best set].

    Parameters
    ----------
    pool, budget, effort, pairing
        As for `delta_fail_uniform`.
    rows
        Whether a round scores all rows bought so far, or its own only.
    """
    if rows not in ("accumulated", "fresh"):
        raise ValueError(f"rows must be 'accumulated' or 'fresh', got {rows!r}")
    order = _order(effort)
    schedule = halving_schedule(_whole(budget), pool.n_arms)
    active, pulls = schedule.active.tolist(), schedule.pulls.tolist()
    _require_rows(pulls[0], budget, pool.n_arms, len(active))
    total, held = 0.0, 0
    for t, (count, bought) in enumerate(zip(active, pulls, strict=True)):
        held = held + bought if rows == "accumulated" else bought
        crowd = _crowd(pool, -(-count // 2))
        if not crowd:
            continue
        # In the first round every best arm is active, so one of them can be named in advance.
        if t == 0:
            chance = _beats_one(pool, crowd, held, order, pairing)
        else:
            chance = _beats_any(pool, crowd, held, order, rows, pairing)
        total += chance
        if total >= 1.0:
            return 1.0
    return min(1.0, total * (1.0 + 1e-12))


def required_budget(
    pool: KnownPool,
    delta: float,
    strategy: Strategy = "uniform",
    *,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
) -> int:
    """The smallest budget, up to the search, whose bound is at most delta; the bound there is checked.

    Rows per arm (of the first round) are doubled and then bisected, so a dip of a bound that is not monotone can be
    missed; the answer is then too large, never too small.
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta:g}")
    if strategy not in ("uniform", "median"):
        raise ValueError(f"strategy must be 'uniform' or 'median', got {strategy!r}")
    K = pool.n_arms
    rounds = 1 if strategy == "uniform" else max(1, math.ceil(math.log2(K)))

    def fits(n: int) -> bool:
        if strategy == "uniform":
            return delta_fail_uniform(pool, n * K, effort=effort, pairing=pairing) <= delta
        return delta_fail_median(pool, n * K * rounds, rows=rows, effort=effort, pairing=pairing) <= delta

    return K * rounds * _smallest(fits)


def _smallest(fits: Callable[[int], bool]) -> int:
    high = 1
    while not fits(high):
        high *= 2
        if high > _LARGEST:
            raise ValueError(f"no bound is small enough up to {_LARGEST} rows per arm")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _crowd(pool: KnownPool, kept: int) -> tuple[int, ...]:
    """Rivals of which one must beat the best arm if ``kept`` of all rivals do: all but the kept - 1 nearest ones."""
    ranked = sorted(pool.rivals, key=lambda i: float(pool.intervals[0][i]))
    return tuple(ranked[kept - 1 :])


def _beats_one(pool: KnownPool, rivals: tuple[int, ...], n: int, order: int, pairing: Pairing) -> float:
    """P[some rival beats arm j] for the best arm j for which the bound is smallest."""
    return min(_events(pool, j, pairing).beaten(rivals, n, order) for j in pool.best_set)


def _beats_any(pool: KnownPool, rivals: tuple[int, ...], n: int, order: int, rows: Rows, pairing: Pairing) -> float:
    """P[some rival beats the best arm that is left]: which one that is depends on earlier rows."""
    chances = [_events(pool, j, pairing).beaten(rivals, n, order) for j in pool.best_set]
    # On fresh rows the arm is fixed by the past; on accumulated rows it is not independent of the scores.
    return max(chances) if rows == "fresh" else min(1.0, math.fsum(chances) * (1.0 + 1e-12))


def _events(pool: KnownPool, best: int, pairing: Pairing) -> AffineEvents | DualEvents | IndependentEvents:
    if pairing == "independent":
        return _apart(pool, best)
    if pairing != "same":
        raise ValueError(f"pairing must be 'same' or 'independent', got {pairing!r}")
    if best not in pool.cache:
        pool.cache[best] = AffineEvents(pool, best) if pool.affine else DualEvents(pool, best)
    found: AffineEvents | DualEvents = pool.cache[best]
    return found


def _apart(pool: KnownPool, best: int) -> IndependentEvents:
    key = ("independent", best)
    if key not in pool.cache:
        pool.cache[key] = IndependentEvents(pool, best)
    found: IndependentEvents = pool.cache[key]
    return found


def _order(effort: str) -> int:
    if effort not in _ORDERS:
        raise ValueError(f"effort must be 'quick' or 'sharp', got {effort!r}")
    return _ORDERS[effort]


def _whole(budget: int) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer):
        raise ValueError(f"budget must be a whole number, got {budget!r}")
    return int(budget)


def _require_rows(n: int, budget: int, arms: int, rounds: int) -> None:
    if n < 1:
        raise ValueError(f"budget must buy one row per arm and round, at least {arms * rounds}, got {budget}")
