"""Collect and render the page that compares strategies over the pools of several studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exml_sim.engine.result import StudyResult
from simulations.figures.profiles import compute_profiles
from simulations.panels import CONFIDENCE, TARGET, Panel, make_panels
from simulations.report._page import group_panels, make_chart, tabulate_cells, tabulate_needs
from simulations.report._render import fill_template

#: Points of a profile; each is drawn with its interval.
PROFILE_POINTS = 13


def make_comparison(results: Sequence[StudyResult]) -> dict[str, Any]:
    """Collect the data of the page from the results of several studies.

    Raises
    ------
    ValueError
        If no study has results, or two stores hold the same study.
    """
    _refuse_duplicates(results)
    panels = _collect_panels(results)
    if not panels:
        raise ValueError("the studies have no results yet: run them first (exml study)")
    groups = list(group_panels(panels).values())
    curves = [group for group in groups if any(len(panel.cells) > 1 for panel in group)]
    strategies = list(dict.fromkeys(panel.title for panel in panels))
    ranks = _describe_ranks(panels)
    return {
        "studies": [result.study.name for result in results],
        "pools": len(groups),
        "strategies": strategies,
        "headline": _write_headline(ranks),
        "ranks": ranks,
        "left_out": [name for name in strategies if ranks and name not in ranks["chart"]["colours"]],
        "needs": tabulate_needs([panel for group in curves for panel in group]),
        "target": TARGET,
        "confidence": CONFIDENCE,
        "groups": [{"place": group[0].place, "chart": make_chart(group, strategies)} for group in curves],
        "rates": _tabulate_rates([group for group in groups if group not in curves], strategies),
        "cells": [
            [group[0].place, *row] for group in groups for row in tabulate_cells(group, with_bounds=False)["rows"]
        ],
        "columns": ["pool", *tabulate_cells(panels, with_bounds=False)["columns"]],
    }


def render_comparison(comparison: Mapping[str, Any]) -> str:
    """Render the page as the text of one HTML file."""
    profile = [{"chart": comparison["ranks"]["chart"]}] if comparison["ranks"] else []
    data = [*profile, *comparison["groups"]]
    return fill_template("comparison.html", scripts=["chart.js", "page.js"], data=data, page=comparison)


def _refuse_duplicates(results: Sequence[StudyResult]) -> None:
    """Refuse two stores of one study, whose problems would be counted twice."""
    first: dict[str, StudyResult] = {}
    for result in results:
        other = first.setdefault(result.study.hash, result)
        if other is result:
            continue
        stores = [Path(same.store.path or same.study.name) for same in (other, result)]
        if stores[0].resolve() == stores[1].resolve():
            raise ValueError(f"{stores[1]} is given twice: give every store once")
        raise ValueError(
            f"{stores[0]} and {stores[1]} hold the same study: give one of them (exml merge joins parts of a study)"
        )


def _tabulate_rates(groups: Sequence[Sequence[Panel]], strategies: Sequence[str]) -> dict[str, Any] | None:
    """Tabulate failure rates of pools with one budget, pools down and strategies across; None without such pools."""
    rows = []
    for group in groups:
        rates = {panel.title: f"{panel.cells[0].failure_rate:.2%}" for panel in group}
        rows.append([group[0].place, f"{group[0].budgets[0]:,g}", *(rates.get(name, "") for name in strategies)])
    return {"columns": ["pool", "budget", *strategies], "rows": rows} if rows else None


def _collect_panels(results: Sequence[StudyResult]) -> list[Panel]:
    """Collect the panels of all studies; a pool that several studies have is named with its study."""
    panels = [
        (result.study.name, number, panel) for number, result in enumerate(results) for panel in make_panels(result)
    ]
    places = {(panel.place, number) for _, number, panel in panels}
    repeated = {place for place, count in Counter(place for place, _ in places).items() if count > 1}
    names = Counter(result.study.name for result in results)
    return [
        replace(panel, pool=f"{panel.pool}, {name}{f' {number + 1}' if names[name] > 1 else ''}")
        if panel.place in repeated
        else panel
        for name, number, panel in panels
    ]


def _describe_ranks(panels: Sequence[Panel]) -> dict[str, Any] | None:
    """Return mean ranks and performance profiles; None if no two strategies share a problem."""
    try:
        summary = compute_profiles(panels, PROFILE_POINTS)
    except ValueError:
        return None
    titles, best = summary["titles"], (summary["ratios"] <= 1.0).mean(axis=0)
    order = sorted(range(len(titles)), key=lambda i: float(summary["ranks"][i]))
    rows = [
        [
            titles[i],
            f"{summary['ranks'][i]:.2f}",
            f"{summary['lower'][i]:.2f} to {summary['upper'][i]:.2f}",
            f"{best[i]:.0%}",
        ]
        for i in order
    ]
    series = []
    for colour, i in enumerate(order):
        points = zip(summary["grid"], summary["shares"][i], *summary["ends"][i], strict=True)
        numbers = [[*map(float, point), False] for point in points]
        texts = [[f"share {y:.0%} ({CONFIDENCE:.0%} {low:.0%} to {high:.0%})"] for _, y, low, high, _ in numbers]
        series.append({"colour": colour, "dash": 0, "points": numbers, "texts": texts})
    chart = {
        "label": "Performance profiles",
        "x": {
            "label": "failure rate / best failure rate",
            "log": True,
            "ends": [0.97, float(summary["grid"][-1]) * 1.03],
        },
        "y": {"label": "share of problems", "log": False, "ends": [0.0, 1.03]},
        "line": None,
        "spread": True,
        "colours": [titles[i] for i in order],
        "dashes": ["share"],
        "styles": ["d0"],
        "series": series,
    }
    return {"rows": rows, "problems": summary["problems"], "chart": chart}


def _write_headline(ranks: Mapping[str, Any] | None) -> list[str]:
    if ranks is None:
        return ["No two strategies were run on the same pool and budget, so there are no ranks."]
    first, *others = ranks["rows"]
    start = f"{first[0][:1].upper()}{first[0][1:]} has the lowest mean rank, {first[1]} ({CONFIDENCE:.0%} {first[2]})"
    over = f"over {ranks['problems']} problem{'' if ranks['problems'] == 1 else 's'} (a pool at a budget)"
    return [f"{start}, {over}.", f"Next: {others[0][0]}, {others[0][1]} ({others[0][2]})."]
