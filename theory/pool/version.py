"""The bounds of a known population in the form of the table of versions: budgets first, arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs
from theory._inputs import Bound
from theory.errors import AssumptionError
from theory.pool.design import Pairing
from theory.pool.failure import Effort, Rows, delta_fail_median, delta_fail_uniform
from theory.pool.known import KnownPool

__all__ = ["median", "uniform"]


def uniform(
    B: ArrayLike,
    *,
    data: KnownPool,
    effort: Effort = "quick",
    pairing: Pairing = "same",
    population: int | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """`delta_fail_uniform` at whole budgets; equal numbers of rows are computed once per population."""

    def bound(budget: int) -> float:
        return delta_fail_uniform(data, budget, effort=effort, pairing=pairing, replacement=population is None)

    key = ("uniform", pairing, effort, str(population is None))
    return _at(B, data.n_arms, key, data, bound, strict, log)


def median(
    B: ArrayLike,
    *,
    data: KnownPool,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
    population: int | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """`delta_fail_median` at whole budgets; each is computed once per population."""

    def bound(budget: int) -> float:
        return delta_fail_median(
            data, budget, rows=rows, effort=effort, pairing=pairing, replacement=population is None
        )

    least = data.n_arms * int(np.ceil(np.log2(data.n_arms)))
    key = ("median", rows, pairing, effort, str(population is None))
    return _at(B, least, key, data, bound, strict, log)


def _at(
    B: ArrayLike,
    least: int,
    key: tuple[str, ...],
    data: KnownPool,
    bound: Callable[[int], float],
    strict: bool,
    log: bool,
) -> Bound:
    budgets = _inputs.whole(B, "B", least=0)
    memory: dict[tuple[tuple[str, ...], int], float] = data.cache.setdefault("budgets", {})
    values = np.full(budgets.shape, np.nan)
    for index in np.ndindex(budgets.shape):
        budget = int(budgets[index])
        if budget < least:
            if strict:
                raise AssumptionError(f"B >= {least}, one row per arm and round", least - budget, f"B={budget}")
            continue
        # Only uniform allocation has rows that depend on floor(B/K) alone.
        same = (key, budget // least * least if key[0] == "uniform" else budget)
        if same not in memory:
            try:
                memory[same] = bound(same[1])
            except AssumptionError:
                # Without replacement the rows end.
                if strict:
                    raise
                memory[same] = np.nan
        if strict and np.isnan(memory[same]):
            bound(same[1])
        values[index] = memory[same]
    with np.errstate(divide="ignore"):
        return _inputs.result(np.log(values) if log else values)
