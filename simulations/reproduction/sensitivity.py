"""How Table 1 depends on C and on whether losses are added up or averaged: SL and csd/ME at the largest budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulations.reproduction import cells as stats
from simulations.reproduction.cells import CSD_ME, SL
from simulations.reproduction.printed import TABLE_1
from simulations.reproduction.results import Configuration
from simulations.tables import csv_table, markdown_table

#: (loss, C); the last one is Eq. 3 as printed, which rejects every point (docs/explanation/conventions.md).
GRID = (("sum", 0.05), ("sum", 0.1), ("sum", 0.15), ("sum", 0.25), ("sum", 0.5), ("sum", 1.0), ("mean", 1.0))
BUDGET = 30


@dataclass(frozen=True, slots=True, eq=False)
class SensitivityRow:
    """Mean accuracies at one setting: view -> per cent, for SL and for csd/ME."""

    label: str
    supervised: dict[str, float]
    explored: dict[str, float]


def line(loss: str, c: float, configurations: Sequence[Configuration], thetas_by: str) -> SensitivityRow:
    """Take the cells that the comparison with the paper is about."""
    views = [case.observed for case in configurations[0].cases]
    supervised, explored = (
        {view: stats.cell(configurations, view, method, BUDGET, thetas_by).mean for view in views}
        for method in (SL, CSD_ME)
    )
    return SensitivityRow(f"{loss} of losses, C = {c:g}", supervised, explored)


def distance(found: dict[str, float], column: int) -> float:
    """Mean absolute difference from the printed means of a column of Table 1, in points."""
    return float(np.mean([abs(value - TABLE_1[view, BUDGET][column][0]) for view, value in found.items()]))


def markdown(found: Sequence[SensitivityRow]) -> str:
    """One line per setting and method, and the distance from the paper."""
    views = list(found[0].supervised)
    header = ["Setting", "Method", *views, "distance"]
    text = []
    for column, name in ((0, "SL"), (3, f"csd/ME, {BUDGET} %")):
        paper = [f"{TABLE_1[view, BUDGET][column][0]:.1f}" for view in views]
        text.append(["the paper", name, *paper, ""])
        for one in found:
            values = one.supervised if column == 0 else one.explored
            shown = [f"{values[view]:.1f}" for view in views]
            text.append([one.label, name, *shown, f"{distance(values, column):.1f}"])
    return markdown_table(header, text)


def to_csv(found: Sequence[SensitivityRow]) -> str:
    """One line per setting, method and view."""
    lines = [
        {
            "setting": one.label,
            "method": name,
            "feature": view,
            "mean": f"{value:.4f}",
            "paper_mean": TABLE_1[view, BUDGET][column][0],
        }
        for one in found
        for column, name, values in ((0, "SL", one.supervised), (3, "csd/ME", one.explored))
        for view, value in values.items()
    ]
    return csv_table(list(lines[0]), lines)
