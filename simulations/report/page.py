"""What the page says, as plain data: settings, findings, curves, allocations, provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.engine.result import CellSummary, StudyResult
from simulations.figures import facets, style
from simulations.panels import ALARM, CONFIDENCE, TARGET, Panel, panels_of, title_of
from simulations.report.findings import findings_of
from theory.versions import VERSIONS

#: Points of a curve that the page cannot compute by itself.
CURVE_POINTS = 20


def page_of(result: StudyResult) -> dict[str, Any]:
    """The page's data; only numbers, texts, lists and tables, so that it can be written as JSON.

    Parameters
    ----------
    result
        The results of a study.

    Raises
    ------
    ValueError
        If the study has no results yet.
    """
    panels = panels_of(result)
    if not panels:
        raise ValueError("the study has no results yet: run it first (exml study)")
    return {
        "title": result.study.name,
        "target": TARGET,
        "confidence": CONFIDENCE,
        "alarm": ALARM,
        "findings": findings_of(result, panels),
        "settings": _settings(result),
        "versions": [{"name": name, "title": title_of(name)} for name in _names(panels)],
        "groups": _groups(panels),
        "facets": _facets(result, panels),
        "provenance": _provenance(result),
    }


def _facets(result: StudyResult, panels: Sequence[Panel]) -> str:
    """All pools side by side, where there are several; a page of one pool needs no second picture of it."""
    if len({panel.place for panel in panels}) < 2:
        return ""
    return style.inline(facets.figure(panels, result.study.name))


def _names(panels: Sequence[Panel]) -> list[str]:
    """Ours from the sharpest to the paper's, then those of plug-ins."""
    return list(dict.fromkeys([*reversed(VERSIONS), *(one.name for panel in panels for one in panel.plugin_bounds)]))


def _settings(result: StudyResult) -> list[list[str]]:
    """Name and value of everything that was chosen."""
    study = result.study
    cells = result.study_cells
    rows = [
        ["study", study.name],
        ["trials per cell", f"{study.trials:,}"],
        ["root seed", str(study.seed)],
        ["mode", study.mode],
        ["strategies", ", ".join(dict.fromkeys(cell.labels[2] for cell in cells))],
        ["budgets", ", ".join(dict.fromkeys(f"{float(Fraction(cell.budget)):,g}" for cell in cells))],
    ]
    for spec in study.pools:
        rows.append([f"pool {spec.label}", _words({"kind": spec.kind, **spec.table()})])
    for score in study.scores:
        rows.append([f"score {score.label}", _words(score.table())])
    rows.append(["sampling", _words(study.sampling.table())])
    if study.stop is not None:
        rows.append(["early stopping", _words(study.stop.table())])
    return rows


def _words(table: dict[str, Any]) -> str:
    parts = []
    for name, value in table.items():
        if value is None or name == "label":
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        parts.append(f"{name.replace('_', ' ')} {text}")
    return "; ".join(parts)


def _groups(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """One group per pool and score; its strategies share arms, gaps and the axis of budgets."""
    places = list(dict.fromkeys((panel.pool, panel.score) for panel in panels))
    return [_group([panel for panel in panels if (panel.pool, panel.score) == place]) for place in places]


def _group(panels: Sequence[Panel]) -> dict[str, Any]:
    return {"place": panels[0].place, "arms": list(panels[0].arms), "panels": [_panel(panel) for panel in panels]}


def _panel(panel: Panel) -> dict[str, Any]:
    """One strategy: its cells, and what the page needs to compute the bounds."""
    return {
        "title": panel.title,
        "strategy": panel.strategy,
        "reason": panel.reason or _hidden(panel),
        "bounds": _bounds(panel) if (panel.versions or panel.point) and not _hidden(panel) else None,
        "cells": [_cell(panel, cell) for cell in panel.cells],
    }


def _hidden(panel: Panel) -> str:
    """Why the page draws no bound although one speaks."""
    if panel.point is None or panel.point.plain:
        return ""
    return "the page draws bounds of unit costs over the ball; the one of this pool is in the table and in the picture"


def _bounds(panel: Panel) -> dict[str, Any]:
    """The point of the bounds as numbers, and curves of the versions for which the page has no formula.

    Where only plug-ins speak there are no numbers, and nothing to move.
    """
    hidden, point = ("data", "costs", "alignment"), panel.point
    numbers = {} if point is None else {k: v for k, v in asdict(replace(point, data=None)).items() if k not in hidden}
    spoken = panel.versions[::-1]
    curves = {name: _curve(panel, name) for name in spoken if not (name in VERSIONS and VERSIONS[name].formula)}
    return {"strategy": panel.kind, "movable": bool(numbers), **numbers, "versions": spoken, "curves": curves}


def _curve(panel: Panel, name: str) -> dict[str, Any]:
    """Budgets of a version, and its logarithm from where it is below 1 to beyond the right end of the chart."""
    informative, target = panel.informative(name), panel.required(name, TARGET)
    found = {"launch": panel.launch(name), "informative": informative, "target": target}
    if informative is None:
        return {**found, "budgets": [], "logs": []}
    last = 2.0 * max(informative, target or 0, *(float(Fraction(cell.budget)) for cell in panel.cells))
    budgets = np.unique(np.geomspace(informative, last, CURVE_POINTS).astype(np.int64))
    logs = panel.values(name, budgets, log=True)
    # Where a bound is too small for a number, or says nothing, the curve ends.
    drawn = np.isfinite(logs)
    return {**found, "budgets": budgets[drawn].tolist(), "logs": logs[drawn].tolist()}


def _cell(panel: Panel, cell: CellSummary) -> dict[str, Any]:
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
        "bounds": {name: _finite(panel.bound_at(name, cell)) for name in dict.fromkeys((*VERSIONS, *panel.versions))},
    }


def _finite(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None


def _provenance(result: StudyResult) -> dict[str, Any]:
    """Identity of the study, digest of its results, and every run that wrote them."""
    return {
        "hash": result.study.hash,
        "digest": result.store.digest(),
        "complete": result.complete,
        "sessions": [dict(session) for session in result.store.sessions()],
        "toml": result.study.to_toml(),
    }
