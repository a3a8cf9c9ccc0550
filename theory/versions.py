"""The table of versions: every bound on the probability of missing the best arm that the project knows.

A version is one file with its functions and one entry of `VERSIONS` here. Panels, figure, report, ladder, ``exml
bound`` and ``exml plan`` read this table and nothing else, so that a new version appears in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import corrected, paper, tighter
from theory._inputs import Bound
from theory.constants import loss_range
from theory.paper import Strategy
from theory.population import PopulationModel
from theory.population import version as pool

if TYPE_CHECKING:
    from theory.bound_problem import BoundProblem

__all__ = ["VERSIONS", "Version", "version_of"]

Arguments = dict[str, Any]


def _silent(point: BoundProblem, strategy: Strategy) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Version:
    """One answer to "how probable is a miss?".

    Attributes
    ----------
    name : str
        What commands, files and columns call it.
    functions : mapping
        For each strategy that it knows, a function ``bound(B, **arguments, strict=..., log=...)`` that falls with B.
    arguments : callable
        ``arguments(point, strategy)`` are the function's arguments other than the budget, from a `theory.BoundProblem`.
    label : str
        In a table or on a button, such as "paper's bound"; "<name> bound" if empty.
    asks : str
        Before a budget in a sentence, such as "ours for"; "the <name> one for" if empty.
    needs : tuple of str
        Fields of the point that must not be None, such as "data"; the version declines without them.
    declines : callable
        ``declines(point, strategy)`` is the reason why the version says nothing there, or the empty string.
    note : callable
        ``note(point, strategy)`` says why a value is not to be trusted, or the empty string.
    steps : callable, optional
        ``steps(point, strategy)`` gives (name, arguments) of its rungs on the ladder; one rung if there is none.
    formula : bool
        Whether the report computes it by itself (``assets/bounds.js``); otherwise the page gets points of the curve.
    """

    name: str
    functions: Mapping[Strategy, Callable[..., Bound]]
    arguments: Callable[[BoundProblem, Strategy], Arguments]
    label: str = ""
    asks: str = ""
    needs: tuple[str, ...] = ()
    declines: Callable[[BoundProblem, Strategy], str] = _silent
    note: Callable[[BoundProblem, Strategy], str] = _silent
    steps: Callable[[BoundProblem, Strategy], Iterable[tuple[str, Arguments]]] | None = None
    formula: bool = False

    @property
    def title(self) -> str:
        """The label, or one made from the name."""
        return self.label or f"{self.name} bound"

    @property
    def words(self) -> str:
        """What stands before a budget in a sentence."""
        return self.asks or f"the {self.name} one for"

    def rungs(self, point: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
        """(name, arguments) of every rung of the ladder."""
        if self.steps is None:
            return [(self.name, self.arguments(point, strategy))]
        return self.steps(point, strategy)


def version_of(name: str) -> Version:
    """The entry of the table with this name."""
    if name not in VERSIONS:
        raise ValueError(f"version must be one of {', '.join(VERSIONS)}, got {name!r}")
    return VERSIONS[name]


def _paper(point: BoundProblem, strategy: Strategy) -> Arguments:
    return {"K": point.K, "gap": point.gap, "theta": point.theta, "kappa_lambda": point.kappa_lambda}


def _corrected(point: BoundProblem, strategy: Strategy) -> Arguments:
    schedule = {"rows": point.rows} if strategy == "median" else {}
    return {**_paper(point, strategy), **schedule, "best_count": point.best_count}


def _tighter(point: BoundProblem, strategy: Strategy) -> Arguments:
    design = {"pairing": point.pairing, "kernel": point.kernel, "population": point.population}
    if point.gaps is None:
        return {**_corrected(point, strategy), **design}
    # The gaps themselves say which arms tie.
    return {**_corrected(point, strategy), **design, "gap": None, "gaps": point.gaps, "best_count": 1}


def _tighter_steps(point: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
    """Our theorems with one more fact of the point at each step."""
    told = replace(point, gaps=None, kernel="any", population=None)
    yield "tighter, symmetrised", {**_tighter(told, strategy), "optimism": "rademacher"}
    yield "tighter", _tighter(told, strategy)
    for name, given, fact in (
        ("per-arm gaps", point.gaps is not None, "gaps"),
        ("nonnegative kernel", point.kernel == "nonnegative", "kernel"),
        ("without replacement", point.population is not None, "population"),
    ):
        if given:
            told = replace(told, **{fact: getattr(point, fact)})
            yield f"tighter, {name}", _tighter(told, strategy)


def _needs_plain(point: BoundProblem, strategy: Strategy) -> str:
    """The older bounds are about risk minimisation over the norm ball, at unit costs."""
    if point.costs is not None:
        return "the bound counts pulls, and here not every pull costs 1"
    return "" if point.plain else "the bound is about risk minimisation over the norm ball, and this score is another"


def _pool(point: BoundProblem, strategy: Strategy) -> Arguments:
    schedule = {"rows": point.rows} if strategy == "median" else {}
    prices = {} if point.costs is None else {"costs": point.costs, "alignment": point.alignment}
    return {"data": point.data, "pairing": point.pairing, "population": point.population, **prices, **schedule}


def _pool_declines(point: BoundProblem, strategy: Strategy) -> str:
    """Where the theorems about a known population are silent."""
    if not isinstance(point.data, PopulationModel):
        return f"the pool bound needs data of the type PopulationModel, got {type(point.data).__name__}"
    if point.pairing == "arbitrary":
        return "the pool bound needs the same rows for all arms, or independent ones"
    if point.population is not None and point.pairing == "independent":
        return "the pool bound without replacement needs the same rows for all arms"
    uneven = point.costs is not None and len(set(point.costs)) > 1
    if uneven and point.alignment == "budget" and point.population is not None:
        return "the pool bound without replacement needs the same number of rows for all arms"
    if uneven and point.alignment == "sample" and strategy == "median":
        return "the pool bound of median elimination needs rows that do not depend on which arms are left"
    if point.population is not None and point.population != point.data.n_rows:
        return f"the pool bound knows {point.data.n_rows} rows, and the point says that there are {point.population}"
    return ""


def _pool_steps(point: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
    """Moments of order 2, then of order 4, which rows without replacement do not have."""
    yield "pool", _pool(point, strategy)
    if point.population is None:
        yield "pool, sharp", {**_pool(point, strategy), "effort": "sharp"}


def _paper_note(point: BoundProblem, strategy: Strategy) -> str:
    """Where the paper's proof does not cover its bound."""
    theta = np.asarray(point.theta, dtype=np.float64)
    if np.any((theta <= 0) | (theta >= 0.5)):
        return ""
    notes = []
    widest = float(np.max(loss_range(theta, point.kappa_lambda)))
    if widest > 3:
        notes.append(f"the paper's proof does not cover M > 3, and M = {widest:.4g} here")
    arms = np.asarray(point.K).astype(np.int64)
    uneven = (arms & (arms - 1)) != 0
    if strategy == "median" and np.any(uneven):
        notes.append(f"the paper's proof does not cover K = {arms[uneven].flat[0]}, which is not a power of two")
    if np.any(np.asarray(point.best_count) > 1):
        notes.append(f"the paper's proof does not cover ties, and {np.max(point.best_count)} arms are best here")
    return "; ".join(notes)


def _of(module: Any) -> dict[Strategy, Callable[..., Bound]]:
    return {"uniform": module.delta_fail_uniform, "median": module.delta_fail_median}


#: By name, from the paper's to the sharpest.
VERSIONS: dict[str, Version] = {
    one.name: one
    for one in (
        Version(
            "paper",
            _of(paper),
            _paper,
            label="paper's bound",
            asks="the paper's bound asks for",
            note=_paper_note,
            declines=_needs_plain,
            formula=True,
        ),
        Version(
            "corrected", _of(corrected), _corrected, asks="the corrected one for", declines=_needs_plain, formula=True
        ),
        Version(
            "tighter",
            _of(tighter),
            _tighter,
            asks="ours for",
            declines=_needs_plain,
            steps=_tighter_steps,
            formula=True,
        ),
        Version(
            "pool",
            {"uniform": pool.uniform, "median": pool.median},
            _pool,
            label="bound of this pool",
            asks="ours that knows the pool for",
            needs=("data",),
            declines=_pool_declines,
            steps=_pool_steps,
        ),
    )
}
