"""Building blocks shared by all regret and excess-risk bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec

import numpy as np

from theory import _inputs
from theory._inputs import Bound, Floats, Ints

__all__ = ["ExcessRisk", "hoeffding", "log_sum", "root", "total_of"]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ExcessRisk:
    """The terms of an excess-risk bound; they add up to :attr:`total`.

    Attributes
    ----------
    complexity_rows, complexity_pulls : float or array
        Rademacher terms on all m rows (terms a and d) and on the bought rows (term b).
    deviation_rows, deviation_pulls : float or array
        Deviation terms, likewise.
    approximation : float or array
        R_ap, term (e).
    """

    complexity_rows: Bound
    complexity_pulls: Bound
    deviation_rows: Bound
    deviation_pulls: Bound
    approximation: Bound

    @property
    def total(self) -> Bound:
        """The bound itself."""
        rows = np.asarray(self.complexity_rows) + self.deviation_rows
        pulls = np.asarray(self.complexity_pulls) + self.deviation_pulls
        return _inputs.result(rows + pulls + self.approximation)


def total_of(terms: Callable[P, ExcessRisk]) -> Callable[[Callable[[], None]], Callable[P, Bound]]:
    """Decorate a name and a docstring: the function takes the arguments of ``terms`` and returns their sum."""

    def named(described: Callable[[], None]) -> Callable[P, Bound]:
        def total(*args: P.args, **options: P.kwargs) -> Bound:
            return terms(*args, **options).total

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(total, name, getattr(described, name))
        total.__signature__ = inspect.signature(terms).replace(return_annotation="Bound")  # type: ignore[attr-defined]
        return total

    return named


def root(rows: Ints) -> Floats:
    """sqrt(rows), with 1 for no rows at all (a case that the callers refuse or mask)."""
    return np.asarray(np.sqrt(np.maximum(rows, 1).astype(np.float64)))


def hoeffding(rows: Ints, argument: Floats) -> Floats:
    """sqrt(log(argument) / (2 rows)): Hoeffding's deviation of a mean of losses with range 1."""
    return np.asarray(np.sqrt(np.log(argument) / 2) / root(rows))


def log_sum(logs: Sequence[Floats]) -> Floats:
    """log of a sum of exponentials; -inf stands for a term that cannot occur."""
    total = logs[0]
    with np.errstate(under="ignore"):
        for term in logs[1:]:
            total = np.logaddexp(total, term)
    return np.asarray(total)
