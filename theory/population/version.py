"""The bounds of a known population in the form of the table of versions: budgets first, arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs
from theory._inputs import Bound
from theory.errors import AssumptionError
from theory.population.design import Alignment, Pairing
from theory.population.failure import Effort, Rows, delta_fail_median, delta_fail_uniform
from theory.population.model import PopulationModel

__all__ = ["median", "uniform"]

Key = tuple[object, ...]


def uniform(
    B: ArrayLike,
    *,
    data: PopulationModel,
    effort: Effort = "quick",
    pairing: Pairing = "same",
    population: int | None = None,
    costs: Sequence[object] | None = None,
    alignment: Alignment = "sample",
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """`delta_fail_uniform` at whole budgets; equal numbers of rows are computed once per population."""
    _require_population(data, population)
    how = {"effort": effort, "pairing": pairing, "costs": costs, "alignment": alignment}

    def bound(budget: int) -> float:
        return delta_fail_uniform(data, budget, replacement=population is None, **how)  # type: ignore[arg-type]

    # At unit costs only floor(B/K) matters.
    step = data.n_arms if costs is None else 1
    return _at(B, step, ("uniform", population is None, *_key(how)), data, bound, strict, log)


def median(
    B: ArrayLike,
    *,
    data: PopulationModel,
    rows: Rows = "accumulated",
    effort: Effort = "quick",
    pairing: Pairing = "same",
    population: int | None = None,
    costs: Sequence[object] | None = None,
    alignment: Alignment = "sample",
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """`delta_fail_median` at whole budgets; each is computed once per population."""
    _require_population(data, population)
    how = {"rows": rows, "effort": effort, "pairing": pairing, "costs": costs, "alignment": alignment}

    def bound(budget: int) -> float:
        return delta_fail_median(data, budget, replacement=population is None, **how)  # type: ignore[arg-type]

    return _at(B, 1, ("median", population is None, *_key(how)), data, bound, strict, log)


def _key(how: Mapping[str, object]) -> Key:
    return tuple(tuple(value) if isinstance(value, Sequence | np.ndarray) else value for value in how.values())


def _require_population(data: PopulationModel, population: int | None) -> None:
    if population is not None and population != data.n_rows:
        raise ValueError(f"population must be None or the {data.n_rows} rows of the data, got {population}")


def _at(
    B: ArrayLike,
    step: int,
    key: Key,
    data: PopulationModel,
    bound: Callable[[int], float],
    strict: bool,
    log: bool,
) -> Bound:
    """The bound at every budget, from memory if it can be; nan where it says nothing, or the reason if strict."""
    budgets = _inputs.whole(B, "B", least=0)
    memory: dict[tuple[Key, int], float] = data.cache.setdefault("budgets", {})
    values = np.full(budgets.shape, np.nan)
    for index in np.ndindex(budgets.shape):
        budget = int(budgets[index]) // step * step
        if (key, budget) not in memory:
            try:
                memory[key, budget] = bound(budget)
            except AssumptionError:
                # Too little money for one row of every arm, or too few rows without replacement.
                if strict:
                    raise
                memory[key, budget] = np.nan
        if strict and np.isnan(memory[key, budget]):
            bound(budget)
        values[index] = memory[key, budget]
    with np.errstate(divide="ignore"):
        return _inputs.result(np.log(values) if log else values)
