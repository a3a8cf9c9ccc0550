"""Collect what a study's page shows, as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from exml_sim.engine.result import CellSummary, StudyResult
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from simulations.certificates import Certificate
from simulations.panels import (
    ALPHA,
    CONFIDENCE,
    TARGET,
    Needs,
    Panel,
    budget_axis,
    find_needs,
    format_factor,
    make_panels,
    name_bound,
)
from simulations.report._findings import (
    describe_study,
    find_certified,
    judge_panels,
    summarise_bounds,
    write_budgets,
    write_findings,
    write_headline,
    write_verdict,
)
from simulations.report._render import join_rounds
from theory.versions import VERSIONS

#: Trials that are run again for the allocation per round, and panels with such an allocation.
REPEATED_TRIALS, MAX_REPEATED_PANELS = 50, 12
#: Name of budgets that a simulation certifies.
CERTIFIED = "certified by simulation"
#: Verdicts in the order in which they are listed.
OUTCOMES = ("refuted", "consistent", "undecided", "vacuous")
#: Sentences about budgets in the headline; the others are further findings.
MAX_SENTENCES = 6


def make_page(
    result: StudyResult, certificates: Sequence[Certificate] = (), panels: Sequence[Panel] | None = None
) -> dict[str, Any]:
    """Collect the page's data: numbers, texts, lists and tables, so that it can be written as JSON.

    Parameters
    ----------
    result : StudyResult
        Results of the study.
    certificates : sequence of Certificate
        Budgets certified by simulation; those about other pools or strategies are left out.
    panels : sequence of Panel, optional
        The panels of the results, if they were made already.

    Raises
    ------
    ValueError
        If the study has no results yet.
    """
    panels = make_panels(result, certificates) if panels is None else panels
    if not panels:
        raise ValueError("the study has no results yet: run it first (exml study)")
    budgets = write_budgets(panels)
    return {
        "title": result.study.name,
        "target": TARGET,
        "confidence": CONFIDENCE,
        "alpha": ALPHA,
        "studied": describe_study(result, panels),
        "headline": write_headline(result, panels),
        "bounds": summarise_bounds(panels),
        "budgets": budgets[:MAX_SENTENCES],
        "findings": [*budgets[MAX_SENTENCES:], *write_findings(result, panels)],
        "verdict": write_verdict(panels),
        "verdicts": _tabulate_verdicts(panels),
        "needs": tabulate_needs(panels),
        "groups": _describe_groups(result, panels),
        # The identity of the study, the digest of its results, and every run that wrote them.
        "provenance": {
            "hash": result.study.hash,
            "digest": result.store.digest(),
            "complete": result.complete,
            "sessions": [dict(session) for session in result.store.sessions()],
            "toml": result.study.to_toml(),
        },
    }


def tabulate_needs(panels: Sequence[Panel]) -> dict[str, Any]:
    """Tabulate the budget that every strategy needs in simulation, certified, and by each bound.

    Bounds that all strategies have are columns; others are listed in one column.
    """
    versions = _list_versions(panels)
    has_certificates = any(panel.certificates for panel in panels)
    is_common = all(len(panel.versions) == len(versions) > 0 for panel in panels)
    rows = []
    for panel in panels:
        needs = find_needs(panel)
        cells = ["not reached" if needs.simulated is None else f"{float(needs.simulated):,g}"]
        if has_certificates:
            budget = find_certified(panel)
            cells.append("none" if budget is None else f"{float(budget):,g}")
        needed = {name: _format_needed(needs, name) for name in versions if name in needs.bounds}
        if is_common:
            cells += needed.values()
        else:
            cells.append("; ".join(f"{name_bound(name)} {text}" for name, text in needed.items()) or "no bound")
        rows.append({"place": panel.place, "strategy": panel.title, "cells": cells})
    certified = [CERTIFIED] if has_certificates else []
    alpha = max((certificate.alpha for panel in panels for certificate in panel.certificates), default=None)
    columns = ["simulation", *certified, *(map(name_bound, versions) if is_common else ["bounds"])]
    return {"columns": columns, "rows": rows, "alpha": alpha, "numbers": len(columns) if is_common else 1}


def _format_needed(needs: Needs, name: str) -> str:
    """Write the budget of a bound and its multiple of that in simulation; tried budgets above it give no multiple."""
    budget, factor = needs.bounds[name], needs.factor(name)
    if budget is None:
        return "never"
    return f"{budget:,} ({format_factor(factor)}x)" if factor >= 1.0 else f"{budget:,}"


def _list_versions(panels: Sequence[Panel]) -> list[str]:
    """List the bounds that apply to a panel, from the sharpest to the paper's, then those of plug-ins."""
    applied = {name for panel in panels for name in panel.versions}
    own = [name for name in reversed(VERSIONS) if name in applied]
    return list(dict.fromkeys([*own, *(name for panel in panels for name in panel.versions)]))


def _tabulate_verdicts(panels: Sequence[Panel]) -> dict[str, Any]:
    """Count the verdicts on every bound by strategy."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for panel, _, version, verdict in judge_panels(panels):
        counts.setdefault((panel.place, panel.title, version), Counter())[verdict.outcome] += 1
    versions = _list_versions(panels)
    order = dict.fromkeys((place, strategy) for place, strategy, _ in counts)
    keys = sorted(counts, key=lambda key: (list(order).index(key[:2]), versions.index(key[2])))
    rows = [
        {"place": place, "strategy": strategy, "cells": [name_bound(name), *(counts[key][o] for o in OUTCOMES)]}
        for key in keys
        for place, strategy, name in [key]
    ]
    return {"columns": ["bound", *OUTCOMES], "rows": rows}


def group_panels(panels: Sequence[Panel]) -> dict[tuple[str, str], list[Panel]]:
    """Group panels by pool and score; strategies of a group share arms, gaps and the axis of budgets."""
    groups: dict[tuple[str, str], list[Panel]] = {}
    for panel in panels:
        groups.setdefault((panel.pool, panel.score), []).append(panel)
    return groups


def _describe_groups(result: StudyResult, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Collect what the page shows of every pool."""
    described, repeated = [], 0
    for group in group_panels(panels).values():
        repeated += len(group)
        reasons: dict[str, list[str]] = {}
        for panel in group:
            if panel.reason:
                reasons.setdefault(panel.reason, []).append(panel.title)
        described.append(
            {
                "place": group[0].place,
                "arms": _describe_arms(result, group[0]),
                "reasons": [f"{', '.join(titles)}: {reason}" for reason, titles in reasons.items()],
                "chart": make_chart(group),
                "cells": tabulate_cells(group),
                "allocation": _describe_allocation(result, group, repeat=repeated <= MAX_REPEATED_PANELS),
            }
        )
    return described


def _describe_arms(result: StudyResult, panel: Panel) -> dict[str, Any]:
    """Return names and gaps of the arms; no gaps if the pool needs code that is not here."""
    cell = next(cell for cell in result.study_cells if cell.index == panel.cells[0].cell)
    if result.study.missing_plugin(cell):
        return {"names": list(panel.arms), "gaps": []}
    return {"names": list(panel.arms), "gaps": [float(gap) for gap in result.study.pool(cell).gaps]}


def make_chart(panels: Sequence[Panel], titles: Sequence[str] = ()) -> dict[str, Any]:
    """Collect the chart of all strategies of one pool: observed rates and bounds in common axes.

    Parameters
    ----------
    panels : sequence of Panel
        Strategies on one pool.
    titles : sequence of str
        Strategies in the order of their colours; those of the panels if empty.
    """
    titles = titles or [panel.title for panel in panels]
    versions = _list_versions(panels)
    lower = list(dict.fromkeys(name for panel in panels for name in panel.lower_versions))
    low, high = budget_axis(panels)
    shown = [cell.failure_rate if cell.failure_rate > 0 else cell.upper for panel in panels for cell in panel.cells]
    floor = 10.0 ** math.floor(math.log10(min(1e-3, *(rate / 1.5 for rate in shown if rate > 0), 1e-3)))
    stars = [CERTIFIED] if any(panel.certificates for panel in panels) else []
    series: list[dict[str, Any]] = []
    colour: int | None
    for panel in panels:
        colour = titles.index(panel.title)
        series.append({"colour": colour, "dash": 0, **_list_points(panel)})
        if panel.certificates:
            series.append({"colour": colour, "dash": 1 + len(versions) + len(lower), **_list_certificates(panel)})
        for name in panel.versions:
            points = _list_curve(panel, name, 1.3 * high, floor)
            if points:
                series.append({"colour": colour, "dash": 1 + versions.index(name), "points": points})
    for dash, name in enumerate(lower, 1 + len(versions)):
        curves: list[tuple[int | None, list[list[Any]]]] = [
            (titles.index(panel.title), _list_curve(panel, name, 1.3 * high, floor))
            for panel in panels
            if name in panel.lower_versions
        ]
        # One that is the same for all strategies has no colour.
        is_common = all(points == curves[0][1] for _, points in curves)
        curves = [(None, curves[0][1])] if is_common else curves
        series += [{"colour": colour, "dash": dash, "points": points} for colour, points in curves if points]
    pulls = all(panel.problem is not None and panel.problem.costs is None for panel in panels)
    names = ", ".join(panel.title for panel in panels)
    return {
        "label": f"Failure rate against budget on {panels[0].place}: {names}",
        "x": {"label": "budget (pulls)" if pulls else "budget", "log": True, "ends": [low / 1.3, high * 1.3]},
        "y": {"label": "failure probability", "log": True, "ends": [floor, 1.2]},
        "line": {"at": TARGET, "label": f"{TARGET:.0%}"},
        "colours": list(titles),
        "dashes": ["observed", *map(name_bound, versions), *map(name_bound, lower), *stars],
        "styles": [
            "d0",
            *(f"d{min(i, 6)}" for i in range(1, 1 + len(versions))),
            *(("lower", "lower2")[i % 2] for i in range(len(lower))),
        ]
        + ["star" for _ in stars],
        "series": series,
    }


def _list_curve(panel: Panel, name: str, last: float, floor: float) -> list[list[Any]]:
    """List the points of a bound."""
    budgets, values = panel.curve(name, last, floor)
    return [[int(budget), float(value), None, None, False] for budget, value in zip(budgets, values, strict=True)]


def _list_certificates(panel: Panel) -> dict[str, Any]:
    """List the certified budgets as points at their failure probabilities."""
    known = [certificate for certificate in panel.certificates if certificate.budget is not None]
    points = [[float(c.budget or 0), c.delta, None, None, False] for c in known]
    return {"points": points, "texts": [[certificate.sentence] for certificate in known]}


def _list_points(panel: Panel) -> dict[str, Any]:
    """List the observed rates as points, and the lines that the page shows for each of them."""
    points, texts = [], []
    for cell in panel.cells:
        is_limit = not cell.failure_rate > 0
        rate = cell.upper if is_limit else cell.failure_rate
        ends = [None, None] if cell.interval == "exact" else [cell.lower, cell.upper]
        points.append([float(Fraction(cell.budget)), rate, *ends, is_limit])
        lines = [_describe_rate(cell), f"mean simple regret {_format_probability(cell.mean_regret)}"]
        for name in reversed(panel.versions):
            lines.append(f"{name_bound(name)} {_format_bound(panel.bound_at(name, cell))}")
        for name in panel.lower_versions:
            lines.append(f"{name_bound(name)} {_format_probability(panel.bound_at(name, cell))}")
        texts.append(lines)
    return {"points": points, "texts": texts}


def _describe_rate(cell: CellSummary) -> str:
    """Say what the trials of a cell show; no failure seen is an upper limit, never 0."""
    if cell.interval == "exact":
        return f"{_format_probability(cell.failure_rate)} exactly"
    trials, level = f"{cell.trials:,} trials", f"{CONFIDENCE:.0%}"
    if cell.failures == 0:
        return f"below {_format_probability(cell.upper)} (no failure in {trials}, {level})"
    is_weighted = cell.interval in ("student", "bounded weights")
    counted = f"{trials}, weighted" if is_weighted else f"{cell.failures:,} of {trials}"
    ends = f"{_format_probability(cell.lower)} to {_format_probability(cell.upper)}"
    return f"{_format_probability(cell.failure_rate)} ({counted}; {level} {ends})"


def _format_probability(value: float) -> str:
    return f"{value:.3g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.2e}"


def _format_bound(value: float) -> str:
    if math.isnan(value):
        return "does not apply"
    return f"vacuous ({_format_probability(min(value, 1e300))})" if value >= 1 else _format_probability(value)


def tabulate_cells(panels: Sequence[Panel], *, with_bounds: bool = True) -> dict[str, Any]:
    """Tabulate all cells of a pool: rates, regret, spending and bounds."""
    versions = _list_versions(panels) if with_bounds else []
    rows = [
        [
            panel.title,
            f"{float(Fraction(cell.budget)):,g}",
            _describe_rate(cell),
            _format_probability(cell.mean_regret),
            f"{cell.mean_spend:,.6g}",
            *(_format_bound(panel.bound_at(name, cell)) if name in panel.versions else "" for name in versions),
        ]
        for panel in panels
        for cell in panel.cells
    ]
    columns = ["strategy", "budget", "failure rate", "mean simple regret", "mean cost", *map(name_bound, versions)]
    return {"columns": columns, "rows": rows}


def _describe_allocation(result: StudyResult, panels: Sequence[Panel], *, repeat: bool) -> dict[str, Any]:
    """Return the mean pulls of every arm by round, at the budget that all strategies have and that one needs."""
    common = set.intersection(*({cell.budget for cell in panel.cells} for panel in panels))
    budgets = sorted(common or {cell.budget for cell in panels[0].cells}, key=Fraction)
    needed = [float(need) for panel in panels if (need := find_needs(panel).simulated) is not None]
    middle = min(needed) if needed else float(Fraction(budgets[len(budgets) // 2]))
    budget = min(budgets, key=lambda text: abs(float(Fraction(text)) - middle))
    strategies = []
    for panel in panels:
        cell = next((cell for cell in panel.cells if cell.budget == budget), None)
        if cell is None:
            continue
        total = [cell.allocation[name] for name in panel.arms]
        rounds = _average_rounds(result, cell) if repeat else []
        strategies.append({"title": panel.title, "total": total, "rounds": rounds})
    largest = max((sum(r) for s in strategies for r in _columns(s)), default=1.0) or 1.0
    return {"budget": f"{float(Fraction(budget)):,g}", "strategies": strategies, "largest": largest}


def _columns(strategy: dict[str, Any]) -> list[tuple[float, ...]]:
    rounds = strategy["rounds"] or [strategy["total"]]
    return list(zip(*rounds, strict=True))


def _average_rounds(result: StudyResult, cell: CellSummary) -> list[list[float]]:
    """Run the first trials again and return the mean pulls per round and arm; empty if they cannot be run."""
    study_cell = next(entry for entry in result.study_cells if entry.index == cell.cell)
    if result.study.missing_plugin(study_cell) or result.study.mode not in ("monte_carlo", "fixed_confidence"):
        return []
    pool, strategy = result.study.pool(study_cell), result.study.strategy(study_cell)
    seeds = Seeds.of(result.study.seed, range(min(REPEATED_TRIALS, result.study.trials)), study_cell.stream)
    batch, _ = pool.run(strategy, exact(study_cell.budget), seeds, record=True)
    rounds = range(1, batch.ledger.rounds + 1)
    return join_rounds([batch.ledger.round_pulls(number).mean(axis=0).tolist() for number in rounds])
