"""Where bounds are evaluated: what they may know of a pool, and every question that is put to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory import tighter
from theory._inputs import Bound, Floats, Ints, result
from theory._ladder import Rung, rung
from theory._repairs import Rows
from theory._tails import Kernel, Pairing
from theory.budgets import launch_budget, required_budget
from theory.errors import AssumptionError
from theory.paper import Strategy
from theory.population import Alignment
from theory.versions import VERSIONS, Version, version_of

__all__ = ["BoundProblem", "ladder"]

EITHER_GAP = "give either gap (one number for all other arms) or gaps (one per other arm)"


@dataclass(frozen=True, slots=True)
class BoundProblem:
    """A pool as the bounds see it.

    ``bound``, ``required``, ``launch``, ``informative`` and ``ladder`` ask a version of the bound (a name of
    `theory.versions.VERSIONS`) about a strategy, "uniform" or "median". Arrays that broadcast may stand in place of
    numbers for ``bound`` and ``ladder``.

    Attributes
    ----------
    K : int
        Number of arms.
    gap : float, optional
        The gap of all other arms; with ``gaps`` the smallest positive one, which need not be given.
    theta, kappa_lambda : float
        Rejection cost, and kappa times the radius of the ball.
    gaps : tuple of float, optional
        The K - 1 gaps of the other arms, 0 for an arm that ties with the best.
    best_count : int
        Number of arms that tie for the best; with ``gaps`` it is counted.
    rows : {"accumulated", "fresh"}
        Rows behind the scores of median elimination.
    pairing : {"same", "independent", "arbitrary"}
        Whether arms are scored on the same rows.
    kernel : {"any", "nonnegative"}
        "nonnegative" for a Gaussian kernel.
    population : int, optional
        Number of rows, if they are drawn without replacement.
    data : object, optional
        The population itself (Gram matrices, labels), for versions that need more than numbers.
    costs : tuple, optional
        Price of a row of every arm, if not every row costs 1; budgets are then money.
    alignment : {"sample", "budget"}
        With costs: the same number of rows for all arms, or the same money.
    """

    K: int
    gap: float | None
    theta: float
    kappa_lambda: float
    _: KW_ONLY
    gaps: tuple[float, ...] | None = None
    best_count: int = 1
    rows: Rows = "accumulated"
    pairing: Pairing = "same"
    kernel: Kernel = "any"
    population: int | None = None
    data: Any = None
    costs: tuple[Any, ...] | None = None
    alignment: Alignment = "sample"

    def __post_init__(self) -> None:
        if self.gaps is None:
            if self.gap is None:
                raise ValueError(EITHER_GAP)
            return
        gaps, smallest, ties = _counted(self.gaps)
        if self.gap is not None and not np.array_equal(self.gap, smallest):
            raise ValueError(f"gap must be None or the smallest positive of gaps, {smallest}, got {self.gap}")
        for name, value in (("gaps", gaps), ("gap", smallest), ("best_count", ties)):
            object.__setattr__(self, name, value)

    @property
    def one_gap(self) -> BoundProblem:
        """The same point told with the smallest gap only."""
        return replace(self, gaps=None)

    @property
    def plain(self) -> bool:
        """Whether it is about risks over a ball at unit costs; a penalised score has kappa Lambda nan."""
        return self.costs is None and not bool(np.any(np.isnan(np.asarray(self.kappa_lambda, dtype=np.float64))))

    @property
    def possible(self) -> bool:
        """Whether a population can have these gaps; bounds with one gap do not see the largest themselves."""
        try:
            self.check()
        except AssumptionError:
            return False
        return True

    def check(self) -> None:
        """Refuse what no population has: theta outside (0, 1/2), a gap that is not positive or too large.

        A budget that is too small is no bad input: the bounds say by how much.
        """
        if not self.plain:
            # Other scores and prices have no ceiling of their gaps here.
            return
        tighter.launch_rows(self.gap or 0.0 if self.gaps is None else max(self.gaps), self.theta, self.kappa_lambda)

    def declined(self, version: str, strategy: Strategy) -> str:
        """Why a version says nothing about this point at any budget; empty if it may speak."""
        told = version_of(version)
        if strategy not in ("uniform", "median"):
            raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
        if strategy not in told.functions:
            return f"there is no {version} bound for {strategy}"
        if missing := self._missing(told):
            return f"the {version} bound needs {', '.join(missing)}, which this point does not have"
        return told.declines(self, strategy)

    def bound(self, version: str, strategy: Strategy, B: ArrayLike, *, log: bool = False) -> Bound:
        """The bound (or its natural logarithm) at whole budgets; nan where it says nothing."""
        if self.declined(version, strategy) or (self.gaps is not None and not self.possible):
            return result(np.full(np.shape(B), np.nan))
        told = version_of(version)
        return told.functions[strategy](B, **told.arguments(self, strategy), strict=False, log=log)

    def required(self, version: str, strategy: Strategy, delta: float) -> int | None:
        """Smallest budget whose bound is at most delta; None if there is none."""
        return self._budget(version, strategy, lambda f, arguments: required_budget(f, delta, **arguments), self)

    def launch(self, version: str, strategy: Strategy) -> int | None:
        """Smallest budget at which the smallest gap satisfies the statement's launch condition; None if there is none.

        With per-arm gaps our bound has no such condition (an arm below it counts as a certain winner), so this is
        the launch budget of its form with one gap.
        """
        return self._budget(version, strategy, lambda f, arguments: launch_budget(f, **arguments), self.one_gap)

    def informative(self, version: str, strategy: Strategy) -> int | None:
        """Smallest budget at which the bound is below 1; None if there is none."""
        return self.required(version, strategy, float(np.nextafter(1.0, 0.0)))

    def _budget(
        self,
        version: str,
        strategy: Strategy,
        question: Callable[[Callable[..., Bound], dict[str, Any]], int],
        told: BoundProblem,
    ) -> int | None:
        if self.declined(version, strategy) or not self.possible:
            return None
        entry = version_of(version)
        try:
            return question(entry.functions[strategy], entry.arguments(told, strategy))
        except ValueError:
            return None

    def ladder(self, strategy: Strategy, B: ArrayLike) -> tuple[Rung, ...]:
        """All versions side by side; see `theory.ladder`. One that needs more than the point has is left out."""
        able = [told for told in VERSIONS.values() if not self._missing(told)]
        return tuple(one for told in able for one in self._rungs(told, strategy, B))

    def _missing(self, told: Version) -> list[str]:
        return [name for name in told.needs if getattr(self, name) is None]

    def _rungs(self, told: Version, strategy: Strategy, B: ArrayLike) -> list[Rung]:
        reason = self.declined(told.name, strategy)
        if reason:
            return [Rung(told.name, result(np.full(np.shape(B), np.nan)), reason)]
        note = told.note(self, strategy)
        bound = told.functions[strategy]
        return [rung(name, bound, B, arguments, note) for name, arguments in told.rungs(self, strategy)]


def ladder(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike | None,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strategy: Strategy = "uniform",
    gaps: ArrayLike | None = None,
    rows: Rows = "accumulated",
    pairing: Pairing = "same",
    kernel: Kernel = "any",
    population: ArrayLike | None = None,
) -> tuple[Rung, ...]:
    """Evaluate all bounds on the failure probability side by side, each below the one before.

    The rungs are: paper; corrected; tighter with the symmetrised optimism; tighter (Theorem 1); then,
    as far as they are given, tighter with per-arm gaps, with a nonnegative kernel, and without
    replacement; then other versions of the table. From "corrected" to "tighter" they never rise. The paper's own
    rung is above "corrected" where its proof covers it: M <= 3, one best arm, and K a power of two for median
    elimination; its note says where it does not.

    Parameters
    ----------
    B, K, gap, theta, kappa_lambda, gaps
        As in :func:`theory.tighter.delta_fail_uniform`; with ``gaps`` the first rungs use the smallest
        positive one, and an arm with gap 0 counts as one more best arm.
    strategy : {"uniform", "median"}
        Which allocation rule.
    rows, pairing, kernel, population
        As in :mod:`theory.tighter`; ``rows`` concerns median elimination only.
    """
    if gap is not None and gaps is not None:
        raise ValueError(EITHER_GAP)
    given: dict[str, Any] = {"K": K, "gap": gap, "theta": theta, "kappa_lambda": kappa_lambda, "gaps": gaps}
    given |= {"rows": rows, "pairing": pairing, "kernel": kernel, "population": population}
    return BoundProblem(**given).ladder(strategy, B)


def _counted(gaps: ArrayLike) -> tuple[Any, float | Floats, int | Ints]:
    """The gaps, the smallest positive one and the number of best arms, for bounds that know one gap only."""
    values = np.asarray(gaps, dtype=np.float64)
    if not (values.ndim and values.size and np.all(np.any(values > 0, axis=-1))):
        raise ValueError("gaps must hold K - 1 numbers, at least one of them positive")
    smallest = np.min(np.where(values > 0, values, np.inf), axis=-1)
    ties = 1 + np.sum(values == 0, axis=-1)
    if values.ndim == 1:
        return tuple(values.tolist()), float(smallest), int(ties)
    return values, np.asarray(smallest), np.asarray(ties)
