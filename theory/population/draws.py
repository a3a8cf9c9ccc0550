"""How rows are drawn: what turns a quadratic form and a number of rows into a bound on P[p^' S p^ >= 0]."""

from __future__ import annotations

from collections.abc import Callable

from theory.errors import AssumptionError
from theory.population.distinct import distinct_rows
from theory.population.graphs import Floats
from theory.population.model import PopulationModel
from theory.population.tails import event_probability

__all__ = ["Draws", "draws_of"]

#: From the form, the number of rows and the order of the moments to an upper bound.
Draws = Callable[[Floats, int, int], float]


def draws_of(pool: PopulationModel, *, replacement: bool) -> Draws:
    """Independent draws by the weights, or distinct rows, which have moments of order 2 only."""
    if replacement:
        return lambda S, n, order: event_probability(S, pool.p, n, order=order)
    if pool.weights is not None and float(pool.p.max() - pool.p.min()) > 1e-12:
        spread = float(pool.p.max() - pool.p.min())
        raise AssumptionError("draws without replacement: equal weights of the rows", spread, "weights differ")
    return lambda S, n, order: distinct_rows(S, n)
