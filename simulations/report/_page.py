"""Collect what a study's page shows, as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.engine._fields import to_plain
from exml_sim.engine.result import CellSummary, StudyResult
from simulations._comparison import judge_panels
from simulations.figures import facets, style
from simulations.panels import ALPHA, CONFIDENCE, TARGET, Panel, make_panels, name_bound
from simulations.report._findings import describe_study, write_budgets, write_findings, write_headline, write_verdict
from theory.versions import VERSIONS

#: Points of a curve that the page cannot compute by itself.
CURVE_POINTS = 20
#: Sentences about budgets in the headline; the others are further findings.
MAX_SENTENCES = 6


def make_page(result: StudyResult) -> dict[str, Any]:
    """Collect the page's data: numbers, texts, lists and tables, so that it can be written as JSON.

    Raises
    ------
    ValueError
        If the study has no results yet.
    """
    panels = make_panels(result)
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
        "budgets": budgets[:MAX_SENTENCES],
        "findings": [*budgets[MAX_SENTENCES:], *write_findings(result, panels)],
        "verdict": write_verdict(panels),
        "verdicts": _count_verdicts(panels),
        "settings": _list_settings(result),
        "versions": [{"name": name, "title": name_bound(name)} for name in _list_versions(panels)],
        "groups": _group_panels(panels),
        "facets": _draw_facets(result, panels),
        "provenance": _describe_provenance(result),
    }


def _draw_facets(result: StudyResult, panels: Sequence[Panel]) -> str:
    """Draw all pools side by side; empty for a single pool, which the chart shows already."""
    if len({panel.place for panel in panels}) < 2:
        return ""
    return style.inline(facets.figure(panels, result.study.name))


def _list_versions(panels: Sequence[Panel]) -> list[str]:
    """List bounds from the sharpest to the paper's, then those of plug-ins."""
    return list(dict.fromkeys([*reversed(VERSIONS), *(name for panel in panels for name in panel.versions)]))


def _count_verdicts(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Count the outcomes of each bound and strategy."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for panel, _, version, verdict in judge_panels(panels):
        counts.setdefault((panel.place, panel.title, name_bound(version)), Counter())[verdict.outcome] += 1
    return [
        {"place": place, "strategy": strategy, "bound": bound, "cells": outcomes.total(), **outcomes}
        for (place, strategy, bound), outcomes in counts.items()
    ]


def _list_settings(result: StudyResult) -> list[list[str]]:
    """List name and value of everything that was chosen."""
    study, cells = result.study, result.study_cells
    rows = [
        ["study", study.name],
        ["trials per cell", f"{study.trials:,}"],
        ["root seed", str(study.seed)],
        ["mode", study.mode],
        ["strategies", ", ".join(dict.fromkeys(cell.labels[2] for cell in cells))],
        ["budgets", ", ".join(dict.fromkeys(f"{float(Fraction(cell.budget)):,g}" for cell in cells))],
    ]
    rows += [[f"pool {spec.label}", _format_table(to_plain(spec))] for spec in study.pools]
    rows += [[f"score {score.label}", _format_table(to_plain(score))] for score in study.scores]
    rows.append(["sampling", _format_table(to_plain(study.sampling))])
    if study.stop is not None:
        rows.append(["early stopping", _format_table(to_plain(study.stop))])
    return rows


def _format_table(table: dict[str, Any]) -> str:
    parts = []
    for name, value in table.items():
        if value is None or name == "label":
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        parts.append(f"{name.replace('_', ' ')} {text}")
    return "; ".join(parts)


def _group_panels(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Group panels by pool and score; strategies of a group share arms, gaps and the axis of budgets."""
    groups: dict[tuple[str, str], list[Panel]] = {}
    for panel in panels:
        groups.setdefault((panel.pool, panel.score), []).append(panel)
    return [
        {"place": group[0].place, "arms": list(group[0].arms), "panels": [_describe_panel(panel) for panel in group]}
        for group in groups.values()
    ]


def _describe_panel(panel: Panel) -> dict[str, Any]:
    """Collect cells of a strategy, and what the page needs to compute the bounds."""
    hidden = _explain_hidden(panel)
    return {
        "title": panel.title,
        "strategy": panel.strategy,
        "reason": panel.reason or hidden,
        "bounds": _describe_bounds(panel) if (panel.versions or panel.problem) and not hidden else None,
        "cells": [_describe_cell(panel, cell) for cell in panel.cells],
    }


def _explain_hidden(panel: Panel) -> str:
    """Say why the page draws no bound although one applies."""
    if panel.problem is None or panel.problem.plain:
        return ""
    return "the chart draws bounds for unit costs over the norm ball; the population bound is in the table of cells"


def _describe_bounds(panel: Panel) -> dict[str, Any]:
    """Collect the parameters of the bounds, and curves of the bounds for which the page has no formula.

    Where only bounds of plug-ins apply there are no parameters, and nothing to move.
    """
    hidden, problem = ("data", "costs", "alignment"), panel.problem
    numbers = {} if problem is None else asdict(replace(problem, data=None))
    numbers = {name: value for name, value in numbers.items() if name not in hidden}
    versions = panel.versions[::-1]
    curves = {
        name: _sample_curve(panel, name) for name in versions if not (name in VERSIONS and VERSIONS[name].formula)
    }
    return {"strategy": panel.kind, "movable": bool(numbers), **numbers, "versions": versions, "curves": curves}


def _sample_curve(panel: Panel, name: str) -> dict[str, Any]:
    """Sample the logarithm of a bound from where it is below 1 to beyond the right end of the chart."""
    informative, target = panel.informative(name), panel.required(name, TARGET)
    ends = {"launch": panel.launch_budget(name), "informative": informative, "target": target}
    if informative is None:
        return {**ends, "budgets": [], "logs": []}
    last = 2.0 * max(informative, target or 0, *panel.budgets)
    budgets = np.unique(np.geomspace(informative, last, CURVE_POINTS).astype(np.int64))
    logs = panel.values(name, budgets, log=True)
    # Where a bound is too small for a number, or does not apply, the curve ends.
    is_drawn = np.isfinite(logs)
    return {**ends, "budgets": budgets[is_drawn].tolist(), "logs": logs[is_drawn].tolist()}


def _describe_cell(panel: Panel, cell: CellSummary) -> dict[str, Any]:
    bounds = {name: panel.bound_at(name, cell) for name in dict.fromkeys((*VERSIONS, *panel.versions))}
    return {
        "budget": float(Fraction(cell.budget)),
        "trials": cell.trials,
        "failures": cell.failures,
        "rate": cell.failure_rate,
        "lower": cell.lower,
        "upper": cell.upper,
        "interval": cell.interval,
        "regret": cell.mean_regret,
        "spend": cell.mean_spend,
        "pulls": [cell.allocation[name] for name in panel.arms],
        # JSON has no NaN.
        "bounds": {name: value if math.isfinite(value) else None for name, value in bounds.items()},
    }


def _describe_provenance(result: StudyResult) -> dict[str, Any]:
    """Collect the identity of the study, the digest of its results, and every run that wrote them."""
    return {
        "hash": result.study.hash,
        "digest": result.store.digest(),
        "complete": result.complete,
        "sessions": [dict(session) for session in result.store.sessions()],
        "toml": result.study.to_toml(),
    }
