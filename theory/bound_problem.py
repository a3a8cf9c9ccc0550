"""The problem at which bounds are evaluated: what they may use, and every question put to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory import tighter
from theory._bound import EITHER_GAP, Kernel, Pairing, Rows, Strategy
from theory._inputs import Bound, Flags, Floats, Ints, result
from theory.budgets import launch_budget, required_budget
from theory.errors import AssumptionError
from theory.population import Alignment
from theory.versions import VERSIONS, Version, version_of

__all__ = ["BoundProblem", "BoundValue", "compare_bounds"]


@dataclass(frozen=True, slots=True)
class BoundValue:
    """One bound of a comparison.

    Attributes
    ----------
    name : str
        "paper", "corrected", "tighter, ...".
    log_value : float or array
        Natural logarithm of the bound; nan where its assumptions do not hold.
    note : str
        Why it is nan or not to be trusted, or the empty string.
    """

    name: str
    log_value: Bound
    note: str = ""

    @property
    def value(self) -> Bound:
        """The bound itself; it may exceed 1."""
        with np.errstate(under="ignore", over="ignore"):
            return result(np.exp(self.log_value))

    @property
    def vacuous(self) -> bool | Flags:
        """Whether the bound excludes nothing: it is at least 1 or its assumptions do not hold."""
        excludes_nothing = ~(np.asarray(self.log_value) < 0)
        return bool(excludes_nothing) if excludes_nothing.ndim == 0 else excludes_nothing


@dataclass(frozen=True, slots=True)
class BoundProblem:
    """What the bounds know of a pool of arms.

    ``bound``, ``required``, ``launch_budget``, ``informative`` and ``compare`` evaluate a version of the bound (a name
    of `theory.versions.VERSIONS`) for a strategy, "uniform" or "median". Arrays that broadcast may stand in place of
    numbers for ``bound`` and ``compare``.

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
        Cost of a row of every arm, if not every row costs 1; budgets are then costs.
    alignment : {"sample", "budget"}
        With costs: the same number of rows for all arms, or the same cost.

    Examples
    --------
    >>> problem = BoundProblem(K=8, gap=0.2, theta=0.1, kappa_lambda=0.5)
    >>> problem.required("tighter", "uniform", 0.05)
    2400
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
        """The same problem with the smallest gap only."""
        return replace(self, gaps=None)

    @property
    def plain(self) -> bool:
        """Whether the score is a risk over a ball at unit costs; a penalised score has kappa Lambda nan."""
        return self.costs is None and not bool(np.any(np.isnan(np.asarray(self.kappa_lambda, dtype=np.float64))))

    @property
    def possible(self) -> bool:
        """Whether a population can have these gaps; bounds with one gap do not use the largest themselves."""
        try:
            self.check()
        except AssumptionError:
            return False
        return True

    def check(self) -> None:
        """Raise AssumptionError if no population fits: theta outside (0, 1/2), a gap not positive or too large.

        A budget that is too small is not an error here: the bounds say by how much.
        """
        if not self.plain:
            # Other scores and costs have no ceiling of their gaps here.
            return
        tighter.launch_rows(self.gap or 0.0 if self.gaps is None else max(self.gaps), self.theta, self.kappa_lambda)

    def declined(self, version: str, strategy: Strategy) -> str:
        """Return why a version does not apply to this problem at any budget; empty if it may."""
        entry = version_of(version)
        if strategy not in ("uniform", "median"):
            raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
        if strategy not in entry.functions:
            return f"there is no {version} bound for {strategy}"
        if missing := self._missing(entry):
            return f"the {version} bound needs {', '.join(missing)}, which this problem does not have"
        return entry.declines(self, strategy)

    def bound(self, version: str, strategy: Strategy, B: ArrayLike, *, log: bool = False) -> Bound:
        """Evaluate the bound (or its natural logarithm) at whole budgets; nan where it does not apply."""
        if self.declined(version, strategy) or (self.gaps is not None and not self.possible):
            return result(np.full(np.shape(B), np.nan))
        entry = version_of(version)
        return entry.functions[strategy](B, **entry.arguments(self, strategy), strict=False, log=log)

    def required(self, version: str, strategy: Strategy, delta: float) -> int | None:
        """Return the smallest budget whose bound is at most delta; None if there is none."""
        return self._budget(version, strategy, lambda f, arguments: required_budget(f, delta, **arguments), self)

    def launch_budget(self, version: str, strategy: Strategy) -> int | None:
        """Return the smallest budget at which the smallest gap satisfies the launch condition; None if there is none.

        With per-arm gaps our bound has no such condition (an arm below it counts as a certain winner), so this is
        the launch budget of its form with one gap.
        """
        return self._budget(version, strategy, lambda f, arguments: launch_budget(f, **arguments), self.one_gap)

    def informative(self, version: str, strategy: Strategy) -> int | None:
        """Return the smallest budget at which the bound is below 1; None if there is none."""
        return self.required(version, strategy, float(np.nextafter(1.0, 0.0)))

    def _budget(
        self,
        version: str,
        strategy: Strategy,
        search: Callable[[Callable[..., Bound], dict[str, Any]], int],
        problem: BoundProblem,
    ) -> int | None:
        if self.declined(version, strategy) or not self.possible:
            return None
        entry = version_of(version)
        try:
            return search(entry.functions[strategy], entry.arguments(problem, strategy))
        except ValueError:
            return None

    def compare(self, strategy: Strategy, B: ArrayLike) -> tuple[BoundValue, ...]:
        """Evaluate all versions; see `theory.compare_bounds`. One that needs missing data is left out."""
        usable = [entry for entry in VERSIONS.values() if not self._missing(entry)]
        return tuple(value for entry in usable for value in self._values(entry, strategy, B))

    def _missing(self, entry: Version) -> list[str]:
        return [name for name in entry.needs if getattr(self, name) is None]

    def _values(self, entry: Version, strategy: Strategy, B: ArrayLike) -> list[BoundValue]:
        reason = self.declined(entry.name, strategy)
        if reason:
            return [BoundValue(entry.name, result(np.full(np.shape(B), np.nan)), reason)]
        note = entry.note(self, strategy)
        bound = entry.functions[strategy]
        return [_evaluate(name, bound, B, arguments, note) for name, arguments in entry.compared(self, strategy)]


def _evaluate(name: str, bound: Callable[..., Bound], B: ArrayLike, arguments: dict[str, Any], note: str) -> BoundValue:
    """Evaluate a bound; where it is nan, the note says which assumption it misses."""
    value, missed = bound(B, **arguments, strict=False, log=True), ""
    if np.any(np.isnan(value)):
        try:
            bound(B, **arguments)
        except AssumptionError as error:
            missed = str(error)
    return BoundValue(name, value, "; ".join(filter(None, (missed, note))))


def compare_bounds(
    B: ArrayLike, K: Any, gap: Any, theta: Any, kappa_lambda: Any, *, strategy: Strategy = "uniform", **known: Any
) -> tuple[BoundValue, ...]:
    """Evaluate all bounds on the failure probability side by side, each below the one before.

    The values are: paper; corrected; tighter with the symmetrised optimism; tighter (Theorem 1); then,
    as far as they are given, tighter with per-arm gaps, with a nonnegative kernel, and without
    replacement; then other versions of the table. From "corrected" to "tighter" they never rise. The paper's
    value is above "corrected" where its proof covers it: M <= 3, one best arm, and K a power of two for median
    elimination; its note says where it does not.

    Parameters
    ----------
    B, K, gap, theta, kappa_lambda
        As in :func:`theory.tighter.delta_fail_uniform`.
    strategy : {"uniform", "median"}
        Uniform allocation or median elimination.
    **known
        Other fields of `BoundProblem`: gaps, rows, pairing, kernel, population. With ``gaps`` the first values use
        the smallest positive one, and an arm with gap 0 counts as one more best arm.
    """
    if gap is not None and known.get("gaps") is not None:
        raise ValueError(EITHER_GAP)
    return BoundProblem(K, gap, theta, kappa_lambda, **known).compare(strategy, B)


def _counted(gaps: ArrayLike) -> tuple[Any, float | Floats, int | Ints]:
    """Return the gaps, the smallest positive one and the number of best arms, for bounds that use one gap."""
    values = np.asarray(gaps, dtype=np.float64)
    if not (values.ndim and values.size and np.all(np.any(values > 0, axis=-1))):
        raise ValueError("gaps must hold K - 1 numbers, at least one of them positive")
    smallest = np.min(np.where(values > 0, values, np.inf), axis=-1)
    ties = 1 + np.sum(values == 0, axis=-1)
    if values.ndim == 1:
        return tuple(values.tolist()), float(smallest), int(ties)
    return values, np.asarray(smallest), np.asarray(ties)
