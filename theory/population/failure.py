"""Upper bounds on the failure probability of a strategy on a known population, and their inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, budgets, tighter
from theory._bound import POPULATION_EXHAUSTED, Rows, Strategy
from theory._inputs import Bound
from theory.errors import AssumptionError
from theory.formulas import ceil_log2, halving_schedule
from theory.population._affine import AffineEvents
from theory.population._events import DualEvents, PairEvents, PenalisedEvents
from theory.population._probability import tail_bound_of
from theory.population.model import Design, Pairing, PopulationModel, require_level

__all__ = [
    "Effort",
    "Rows",
    "Strategy",
    "delta_fail_median",
    "delta_fail_rows",
    "delta_fail_uniform",
    "median_at",
    "required_budget",
    "uniform_at",
]

Effort = Literal["quick", "sharp"]
_Events = AffineEvents | DualEvents | PenalisedEvents

_ORDERS: dict[str, int] = {"quick": 2, "sharp": 4}
#: Rows per arm at which the search for a budget gives up.
_LARGEST = 1_000_000


def delta_fail_uniform(pool: PopulationModel, budget: int, *, effort: Effort = "quick", **options: Any) -> float:
    """Bound P[uniform allocation selects an arm that is not a best arm].

    Parameters
    ----------
    pool
        The population.
    budget
        B; every arm is scored on floor(B/K) rows unless there are costs.
    effort
        "quick" uses moments of order 2, "sharp" of order 4.
    **options
        Fields of `theory.population.model.Design`: pairing, costs, alignment, replacement.
    """
    design = Design.of(pool.n_arms, **options)
    counts = design.rows(Fraction(_whole(budget)), pool.n_arms, pool.n_arms)
    _require_rows(min(counts), budget, design.least(pool.n_arms))
    _require_population(pool, counts, design)
    value = _beats_one(pool, pool.rivals, counts, _order(effort), design)
    return min(value, bound_from_gaps(pool, budget, "uniform", "accumulated", design))


def delta_fail_rows(
    pool: PopulationModel, rows: Sequence[int], *, effort: Effort = "quick", pairing: Pairing = "independent"
) -> float:
    """Bound P[the arm with the smallest score is not a best arm], arm i on ``rows[i]`` rows.

    With ``pairing`` "same" the rows of all arms are beginnings of one order, otherwise they are independent.
    """
    counts = tuple(_whole(n) for n in rows)
    if len(counts) != pool.n_arms or min(counts) < 1:
        raise ValueError(f"rows must be {pool.n_arms} whole numbers, at least 1 each, got {list(rows)}")
    return _beats_one(pool, pool.rivals, counts, _order(effort), Design(pairing))


def delta_fail_median(
    pool: PopulationModel, budget: int, *, rows: Rows = "accumulated", effort: Effort = "quick", **options: Any
) -> float:
    """Bound P[median elimination ends with an arm that is not a best arm].

    Parameters
    ----------
    pool, budget, effort, **options
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
    design = Design.of(K, **options)
    if not design.fixed:
        given = f"alignment='sample', {len(set(design.costs or ()))} costs"
        raise AssumptionError("median elimination: rows that do not depend on which arms are left", 1.0, given)
    active = halving_schedule(max(_whole(budget), K * K), K).active.tolist()
    total, scored_rows = 0.0, (0,) * K
    for t, count in enumerate(active):
        bought = design.rows(Fraction(_whole(budget), len(active)), K, count)
        if t == 0:
            _require_rows(min(bought), budget, len(active) * design.least(K))
        scored_rows = (
            tuple(a + b for a, b in zip(scored_rows, bought, strict=True)) if rows == "accumulated" else bought
        )
        _require_population(pool, scored_rows, design)
        rivals = _deciding_rivals(pool, -(-count // 2))
        if not rivals:
            continue
        # In the first round every best arm is active, so one of them can be named in advance.
        if t == 0:
            total += _beats_one(pool, rivals, scored_rows, order, design)
        else:
            total += _beats_any(pool, rivals, scored_rows, order, rows, design)
        if total >= 1.0:
            break
    return min(1.0, total * (1.0 + 1e-12), bound_from_gaps(pool, budget, "median", rows, design))


def required_budget(
    pool: PopulationModel,
    delta: float,
    strategy: Strategy = "uniform",
    *,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
) -> int:
    """Return the smallest budget, up to the search, whose bound is at most delta; the bound there is checked.

    Rows per arm (of the first round) are doubled and then bisected, so a dip of a bound that is not monotone can be
    missed; the answer is then too large, never too small.
    """
    require_level(delta)
    if strategy not in ("uniform", "median"):
        raise ValueError(f"strategy must be 'uniform' or 'median', got {strategy!r}")
    K = pool.n_arms
    rounds = 1 if strategy == "uniform" else ceil_log2(K)

    bound = delta_fail_uniform if strategy == "uniform" else partial(delta_fail_median, rows=rows)

    def fits(n: int) -> bool:
        return bound(pool, n * K * rounds, effort=effort, pairing=pairing) <= delta

    failure = f"no bound is small enough up to {_LARGEST} rows per arm"
    return K * rounds * budgets.smallest_budget(budgets.one_by_one(fits), _LARGEST, failure)


def _deciding_rivals(pool: PopulationModel, kept: int) -> tuple[int, ...]:
    """Return all but the kept - 1 nearest rivals: one of them must beat the best arm if ``kept`` rivals do."""
    ranked = sorted(pool.rivals, key=lambda i: float(pool.intervals[0][i]))
    return tuple(ranked[kept - 1 :])


def _beats_one(
    pool: PopulationModel, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, design: Design
) -> float:
    """Bound P[some rival beats arm j] for the best arm j for which the bound is smallest."""
    return min(_beats(pool, j, rivals, counts, order, design) for j in pool.best_arms)


def _beats_any(
    pool: PopulationModel, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, rows: Rows, design: Design
) -> float:
    """Bound P[some rival beats the best arm that is left], which depends on earlier rows."""
    bounds = [_beats(pool, j, rivals, counts, order, design) for j in pool.best_arms]
    # On fresh rows the arm is fixed by the past; on accumulated rows it is not independent of the scores.
    return max(bounds) if rows == "fresh" else min(1.0, math.fsum(bounds) * (1.0 + 1e-12))


def _beats(
    pool: PopulationModel, best: int, rivals: tuple[int, ...], counts: tuple[int, ...], order: int, design: Design
) -> float:
    """Bound P[some rival beats arm ``best``], arm i on ``counts[i]`` rows."""
    even = len({counts[i] for i in (best, *rivals)}) == 1
    if design.pairing == "same" and even:
        return _shared(pool, best, replacement=design.replacement).beaten(rivals, counts[best], order)
    if not design.replacement:
        raise AssumptionError("draws without replacement: the same number of rows for all arms", 1.0, f"rows {counts}")
    return _paired(pool, best, design.pairing).beaten(rivals, counts, order)


def _shared(pool: PopulationModel, best: int, *, replacement: bool) -> _Events:
    """Return the events of one best arm on the same rows for all; computed once per pool."""

    def make() -> _Events:
        tail_bound = tail_bound_of(pool, replacement=replacement)
        kind = PenalisedEvents if pool.ball is None else AffineEvents if pool.affine else DualEvents
        return kind(pool, best, tail_bound)

    return pool.cached(("shared", best, replacement), make)


def _paired(pool: PopulationModel, best: int, pairing: Pairing) -> PairEvents:
    """Return the events of one best arm on different rows; computed once per pool."""
    return pool.cached(("paired", best, pairing), lambda: PairEvents(pool, best, shared=pairing == "same"))


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


def bound_from_gaps(pool: PopulationModel, budget: int, strategy: Strategy, rows: Rows, design: Design) -> float:
    """Return the bound of `theory.tighter`, or 1 where it does not apply: a penalised score, costs, no gap.

    Moments of a statistic fall like a power of n, Theorems 3 to 5 exponentially: for very small levels they win.
    """
    if pool.ball is None or design.costs is not None:
        return 1.0
    arguments = _gap_arguments(pool)
    if arguments is None:
        return 1.0
    arguments |= {"pairing": design.pairing, "population": None if design.replacement else pool.n_rows}
    bound = tighter.delta_fail_uniform if strategy == "uniform" else partial(tighter.delta_fail_median, rows=rows)
    value = float(np.asarray(bound(budget, **arguments, strict=False)))
    # A formula of a few dozen operations on logarithms of at most 1e3.
    return min(1.0, value * (1.0 + 1e-10)) if np.isfinite(value) else 1.0


def _gap_arguments(pool: PopulationModel) -> dict[str, Any] | None:
    """Return K, gaps, theta and kappa Lambda; a gap is from the worst best arm, less ties and rounding."""

    def make() -> list[float]:
        low, high = pool.intervals
        worst = max(float(high[j]) for j in pool.best_arms)
        return [float(low[i]) - worst - pool.resolution - 1e-12 for i in pool.rivals]

    gaps = pool.cached("gaps", make)
    if min(gaps) <= 0.0:
        return None
    return {
        "K": pool.n_arms,
        "gap": None,
        "gaps": np.array([0.0] * (len(pool.best_arms) - 1) + sorted(gaps)),
        "theta": pool.theta,
        "kappa_lambda": pool.kappa * pool.radius,
        "kernel": "nonnegative" if pool.nonnegative else "any",
    }


def _evaluate_at(
    bound: Callable[..., float],
    B: ArrayLike,
    *,
    data: PopulationModel,
    population: int | None = None,
    strict: bool = True,
    log: bool = False,
    **how: Any,
) -> Bound:
    """Evaluate the bound once per population and budget; nan or AssumptionError where it does not apply.

    ``how`` are options of the bound.
    """
    if population is not None and population != data.n_rows:
        raise ValueError(f"population must be None or the {data.n_rows} rows of the data, got {population}")
    options = tuple((name, tuple(value) if np.ndim(value) else value) for name, value in sorted(how.items()))
    memory: dict[Any, float] = data.cached((bound.__name__, population is None, options), dict)

    def value(budget: int) -> float:
        if budget not in memory or (strict and np.isnan(memory[budget])):
            try:
                memory[budget] = bound(data, budget, replacement=population is None, **how)
            except AssumptionError:
                # Too small a budget for a row of every arm, or too few rows without replacement.
                if strict:
                    raise
                memory[budget] = np.nan
        return memory[budget]

    whole = _inputs.whole(B, "B", least=0)
    # Of the budgets of uniform allocation at unit costs only floor(B / K) matters.
    step = data.n_arms if bound is delta_fail_uniform and how.get("costs") is None else 1
    values = np.array([value(int(budget) // step * step) for budget in whole.flat]).reshape(whole.shape)
    with np.errstate(divide="ignore"):
        return _inputs.result(np.log(values) if log else values)


uniform_at = partial(_evaluate_at, delta_fail_uniform)
"""`delta_fail_uniform` at whole budgets, for `theory.versions`."""

median_at = partial(_evaluate_at, delta_fail_median)
"""`delta_fail_median` at whole budgets, for `theory.versions`."""
