"""The table of versions: every bound on the failure probability of arms with features.

A version is one file with its functions and one entry of `VERSIONS` here. Panels, figure, report, comparison, ``exml
bound`` and ``exml plan`` read this table and nothing else, so that a new version appears in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import corrected, paper, tighter
from theory._inputs import Bound
from theory.classical import CLASSICAL, Kind
from theory.formulas import loss_range
from theory.paper import Strategy
from theory.population import PopulationModel, median_at, uniform_at

if TYPE_CHECKING:
    from theory.bound_problem import BoundProblem

__all__ = ["VERSIONS", "Version", "kind_of", "version_of"]

Arguments = dict[str, Any]


def _no_reason(problem: BoundProblem, strategy: Strategy) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Version:
    """One bound on the failure probability.

    Attributes
    ----------
    name : str
        Its name in commands, files and columns.
    functions : mapping
        For each supported strategy a function ``bound(B, **arguments, strict=..., log=...)`` that falls with B.
    arguments : callable
        ``arguments(problem, strategy)`` are the function's arguments other than the budget.
    label : str
        Name in a table or on a button, such as "paper's bound"; "<name> bound" if empty.
    needs : tuple of str
        Fields of the problem that must not be None, such as "data"; the version declines without them.
    declines : callable
        ``declines(problem, strategy)`` is the reason why the version does not apply, or the empty string.
    note : callable
        ``note(problem, strategy)`` says why a value is not to be trusted, or the empty string.
    variants : callable, optional
        ``variants(problem, strategy)`` gives (name, arguments) of its values in a comparison; one if there is none.
    formula : bool
        Whether the report computes it by itself (``assets/bounds.js``); otherwise the page gets points of the curve.
    kind : {"upper", "lower"}
        Whether the failure probability is at most or at least the value. A lower bound is a reference that is drawn; no
        strategy is judged by it.
    """

    name: str
    functions: Mapping[Strategy, Callable[..., Bound]]
    arguments: Callable[[BoundProblem, Strategy], Arguments]
    label: str = ""
    needs: tuple[str, ...] = ()
    declines: Callable[[BoundProblem, Strategy], str] = _no_reason
    note: Callable[[BoundProblem, Strategy], str] = _no_reason
    variants: Callable[[BoundProblem, Strategy], Iterable[tuple[str, Arguments]]] | None = None
    formula: bool = False
    kind: Kind = "upper"

    @property
    def title(self) -> str:
        """The label, or one made from the name."""
        return self.label or f"{self.name} bound"

    def compared(self, problem: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
        """Return (name, arguments) of every value in a comparison of bounds."""
        if self.variants is None:
            return [(self.name, self.arguments(problem, strategy))]
        return self.variants(problem, strategy)


def version_of(name: str) -> Version:
    """Return the entry of the table with this name."""
    if name not in VERSIONS:
        raise ValueError(f"version must be one of {', '.join(VERSIONS)}, got {name!r}")
    return VERSIONS[name]


def kind_of(name: str) -> Kind:
    """Return whether a bound of `VERSIONS` or `theory.classical.CLASSICAL` is an upper or a lower one.

    Bounds of plug-ins, whose names are unknown here, are upper bounds.
    """
    entry = VERSIONS.get(name) or CLASSICAL.get(name)
    return "upper" if entry is None else entry.kind


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


def _tighter_variants(point: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
    """Use one more fact of the problem at each step."""
    known = replace(point, gaps=None, kernel="any", population=None)
    yield "tighter, symmetrised", {**_tighter(known, strategy), "optimism": "rademacher"}
    yield "tighter", _tighter(known, strategy)
    for name, given, fact in (
        ("per-arm gaps", point.gaps is not None, "gaps"),
        ("nonnegative kernel", point.kernel == "nonnegative", "kernel"),
        ("without replacement", point.population is not None, "population"),
    ):
        if given:
            known = replace(known, **{fact: getattr(point, fact)})
            yield f"tighter, {name}", _tighter(known, strategy)


def _needs_plain(point: BoundProblem, strategy: Strategy) -> str:
    """Decline unless the score is risk minimisation over the norm ball, at unit costs."""
    if point.costs is not None:
        return "the bound counts pulls, and here not every pull costs 1"
    return "" if point.plain else "the bound is about risk minimisation over the norm ball, and this score is another"


def _population(point: BoundProblem, strategy: Strategy) -> Arguments:
    schedule = {"rows": point.rows} if strategy == "median" else {}
    costs = {} if point.costs is None else {"costs": point.costs, "alignment": point.alignment}
    return {"data": point.data, "pairing": point.pairing, "population": point.population, **costs, **schedule}


def _population_declines(point: BoundProblem, strategy: Strategy) -> str:
    """Return why the theorems about a known population do not apply."""
    if not isinstance(point.data, PopulationModel):
        return f"the population bound needs data of the type PopulationModel, got {type(point.data).__name__}"
    if point.pairing == "arbitrary":
        return "the population bound needs the same rows for all arms, or independent ones"
    if point.population is not None and point.pairing == "independent":
        return "the population bound without replacement needs the same rows for all arms"
    uneven = point.costs is not None and len(set(point.costs)) > 1
    if uneven and point.alignment == "budget" and point.population is not None:
        return "the population bound without replacement needs the same number of rows for all arms"
    if uneven and point.alignment == "sample" and strategy == "median":
        return "the population bound of median elimination needs rows that do not depend on which arms are left"
    if point.population is not None and point.population != point.data.n_rows:
        return (
            f"the population bound has {point.data.n_rows} rows, and the problem says that there are {point.population}"
        )
    return ""


def _population_variants(point: BoundProblem, strategy: Strategy) -> Iterable[tuple[str, Arguments]]:
    """Use moments of order 2, then of order 4, which rows without replacement do not have."""
    yield "population", _population(point, strategy)
    if point.population is None:
        yield "population, sharp", {**_population(point, strategy), "effort": "sharp"}


def _paper_note(point: BoundProblem, strategy: Strategy) -> str:
    """Return where the paper's proof does not cover its bound."""
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
    version.name: version
    for version in (
        Version(
            "paper",
            _of(paper),
            _paper,
            label="paper's bound",
            note=_paper_note,
            declines=_needs_plain,
            formula=True,
        ),
        Version("corrected", _of(corrected), _corrected, declines=_needs_plain, formula=True),
        Version(
            "tighter",
            _of(tighter),
            _tighter,
            label="distribution-free bound",
            declines=_needs_plain,
            variants=_tighter_variants,
            formula=True,
        ),
        Version(
            "population",
            {"uniform": uniform_at, "median": median_at},
            _population,
            needs=("data",),
            declines=_population_declines,
            variants=_population_variants,
        ),
    )
}
