"""Upper bounds on the failure probability of a strategy on a known population, and their inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from theory._bound import POPULATION_EXHAUSTED
from theory.constants import halving_schedule
from theory.errors import AssumptionError
from theory.population.affine import AffineEvents
from theory.population.design import Alignment, Design, Pairing
from theory.population.draws import draws_of
from theory.population.dual_events import DualEvents
from theory.population.model import PopulationModel, require_level
from theory.population.numbers import by_numbers
from theory.population.pairs import PairEvents
from theory.population.penalised import PenalisedEvents

__all__ = [
    "Effort",
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
_Events = AffineEvents | DualEvents | PenalisedEvents

_ORDERS: dict[str, int] = {"quick": 2, "sharp": 4}
#: Rows per arm at which the search for a budget gives up.
_LARGEST = 1_000_000


def delta_fail_uniform(
    pool: PopulationModel,
    budget: int,
    *,
    effort: Effort = "quick",
    pairing: Pairing = "same",
    costs: Sequence[object] | None = None,
    alignment: Alignment = "sample",
    replacement: bool = True,
) -> float:
    """Upper bound on P[uniform allocation selects an arm outside the best set].

    Parameters
    ----------
    pool
        The population.
    budget
        B; every arm is scored on floor(B/K) rows unless there are costs.
    effort
        "quick" uses moments of order 2, "sharp" of order 4.
    pairing
        Whether all arms are scored on the "same" rows (beginnings of one order) or each on "independent" ones.
    costs, alignment
        Prices of the arms' rows, and whether all arms get the same number of rows ("sample") or the same money
        ("budget").
    replacement
        Whether rows are drawn with replacement.
    """
    design = Design.of(pairing, costs, alignment, replacement, pool.n_arms)
    counts = design.rows(Fraction(_whole(budget)), pool.n_arms, pool.n_arms)
    _require_rows(min(counts), budget, design.least(pool.n_arms))
    _require_population(pool, counts, design)
    found = _beats_one(pool, pool.rivals, counts, _order(effort), design)
    return min(found, by_numbers(pool, budget, "uniform", "accumulated", design))


def delta_fail_rows(
    pool: PopulationModel, rows: Sequence[int], *, effort: Effort = "quick", pairing: Pairing = "independent"
) -> float:
    """Upper bound on P[the arm with the smallest score is outside the best set], arm i on ``rows[i]`` rows.

    With ``pairing`` "same" the rows of all arms are beginnings of one order, otherwise they are independent.
    """
    counts = tuple(_whole(n) for n in rows)
    if len(counts) != pool.n_arms or min(counts) < 1:
        raise ValueError(f"rows must be {pool.n_arms} whole numbers, at least 1 each, got {list(rows)}")
    return _beats_one(pool, pool.rivals, counts, _order(effort), Design(pairing))


def delta_fail_median(
    pool: PopulationModel,
    budget: int,
    *,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
    costs: Sequence[object] | None = None,
    alignment: Alignment = "sample",
    replacement: bool = True,
) -> float:
    """Upper bound on P[median elimination ends with an arm outside the best set].

    Parameters
    ----------
    pool, budget, effort, pairing, costs, alignment, replacement
        As for `delta_fail_uniform`. Different costs need the alignment "budget": with "sample" the rows of a later
        round depend on which arms are left. Without replacement, accumulated rows are one sample that grows, and
        fresh ones a new sample in every round.
    rows
        Whether a round scores all rows bought so far, or its own only.
    """
    if rows not in ("accumulated", "fresh"):
        raise ValueError(f"rows must be 'accumulated' or 'fresh', got {rows!r}")
    order = _order(effort)
    K = pool.n_arms
    design = Design.of(pairing, costs, alignment, replacement, K)
    if not design.fixed:
        given = f"alignment='sample', {len(set(design.costs or ()))} prices"
        raise AssumptionError("median elimination: rows that do not depend on which arms are left", 1.0, given)
    active = halving_schedule(max(_whole(budget), K * K), K).active.tolist()
    total, held = 0.0, (0,) * K
    for t, count in enumerate(active):
        bought = design.rows(Fraction(_whole(budget), len(active)), K, count)
        if t == 0:
            _require_rows(min(bought), budget, len(active) * design.least(K))
        held = tuple(a + b for a, b in zip(held, bought, strict=True)) if rows == "accumulated" else bought
        _require_population(pool, held, design)
        crowd = _crowd(pool, -(-count // 2))
        if not crowd:
            continue
        # In the first round every best arm is active, so one of them can be named in advance.
        if t == 0:
            total += _beats_one(pool, crowd, held, order, design)
        else:
            total += _beats_any(pool, crowd, held, order, rows, design)
        if total >= 1.0:
            break
    return min(1.0, total * (1.0 + 1e-12), by_numbers(pool, budget, "median", rows, design))


def required_budget(
    pool: PopulationModel,
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
    require_level(delta)
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


def _crowd(pool: PopulationModel, kept: int) -> tuple[int, ...]:
    """Rivals of which one must beat the best arm if ``kept`` of all rivals do: all but the kept - 1 nearest ones."""
    ranked = sorted(pool.rivals, key=lambda i: float(pool.intervals[0][i]))
    return tuple(ranked[kept - 1 :])


def _beats_one(
    pool: PopulationModel, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, design: Design
) -> float:
    """P[some rival beats arm j] for the best arm j for which the bound is smallest."""
    return min(_beats(pool, j, rivals, counts, order, design) for j in pool.best_arms)


def _beats_any(
    pool: PopulationModel, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, rows: Rows, design: Design
) -> float:
    """P[some rival beats the best arm that is left]: which one that is depends on earlier rows."""
    chances = [_beats(pool, j, rivals, counts, order, design) for j in pool.best_arms]
    # On fresh rows the arm is fixed by the past; on accumulated rows it is not independent of the scores.
    return max(chances) if rows == "fresh" else min(1.0, math.fsum(chances) * (1.0 + 1e-12))


def _beats(
    pool: PopulationModel, best: int, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, design: Design
) -> float:
    """P[some rival beats arm ``best``], arm i on ``counts[i]`` rows."""
    even = len({counts[i] for i in (best, *rivals)}) == 1
    if design.pairing == "same" and even:
        return _shared(pool, best, replacement=design.replacement).beaten(rivals, counts[best], order)
    if not design.replacement:
        raise AssumptionError("draws without replacement: the same number of rows for all arms", 1.0, f"rows {counts}")
    return _paired(pool, best, design.pairing).beaten(rivals, counts, order)


def _shared(pool: PopulationModel, best: int, *, replacement: bool) -> _Events:
    """The events of one best arm on the same rows for all; made once per pool."""
    key = ("shared", best, replacement)
    if key not in pool.cache:
        draws = draws_of(pool, replacement=replacement)
        kind = PenalisedEvents if pool.ball is None else AffineEvents if pool.affine else DualEvents
        pool.cache[key] = kind(pool, best, draws)
    found: _Events = pool.cache[key]
    return found


def _paired(pool: PopulationModel, best: int, pairing: Pairing) -> PairEvents:
    """The events of one best arm on different rows; made once per pool."""
    key = ("paired", best, pairing)
    if key not in pool.cache:
        pool.cache[key] = PairEvents(pool, best, shared=pairing == "same")
    found: PairEvents = pool.cache[key]
    return found


def _order(effort: str) -> int:
    if effort not in _ORDERS:
        raise ValueError(f"effort must be 'quick' or 'sharp', got {effort!r}")
    return _ORDERS[effort]


def _whole(budget: int) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer):
        raise ValueError(f"budget must be a whole number, got {budget!r}")
    return int(budget)


def _require_rows(n: int, budget: int, least: Fraction) -> None:
    if n < 1:
        raise AssumptionError("a budget that buys one row per arm and round", float(least - budget), f"B={budget}")


def _require_population(pool: PopulationModel, counts: tuple[int, ...], design: Design) -> None:
    if not design.replacement and max(counts) > pool.n_rows:
        given = f"{max(counts)} rows of {pool.n_rows}"
        raise AssumptionError(POPULATION_EXHAUSTED, max(counts) - pool.n_rows, given)
