"""The paper's tables with our numbers next to the printed ones, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from exml_sim._internal.spreadsheets import write_frame
from simulations._tables import markdown_table
from simulations.reproduction._printed import RECALL, Printed
from simulations.reproduction._printed import TABLE_1 as PRINTED_TABLE_1
from simulations.reproduction._results import CSD_ME, SL, Method, Results, mark_bold

#: Decimals of columns in CSV files.
DECIMALS = {"mean": 4, "std": 4, "theta": 3, "recall": 4}
#: (loss, C) of the sensitivity table; the last is Eq. 3 as printed, which rejects every point (docs/conventions.md).
GRID = (("sum", 0.05), ("sum", 0.1), ("sum", 0.15), ("sum", 0.25), ("sum", 0.5), ("sum", 1.0), ("mean", 1.0))
SENSITIVITY_BUDGET = 30


def make_table(
    results: Results, budgets: Sequence[int], methods: Sequence[Method], printed: Printed | None = None
) -> pd.DataFrame:
    """Tabulate all cells: one row per observed group, budget and method; numbers of the paper may be missing."""
    records = []
    for group in results.observed:
        for budget in budgets:
            cells = [results.cell(group, method, budget) for method in methods]
            paper = (printed or {}).get((group, budget), ((None, None),) * len(methods))
            for method, cell, is_bold, means in zip(methods, cells, mark_bold(cells), paper, strict=True):
                has_recall = method == CSD_ME and not results.attainable(group).empty
                known = RECALL.get((group, budget)) if has_recall and printed else None
                records.append(
                    {
                        "feature": group,
                        "budget": budget,
                        "method": method.name,
                        "configurations": results.size,
                        "mean": cell.mean,
                        "std": cell.std,
                        "bold": int(is_bold),
                        "theta": cell.thetas.mean(),
                        "paper_mean": means[0],
                        "paper_std": means[1],
                        "recall": results.recall(group, cell) / results.size if has_recall else None,
                        "paper_recall": None if known is None else known / 100,
                    }
                )
    return pd.DataFrame(records)


def write_markdown(table: pd.DataFrame) -> str:
    """Write the table as the paper prints it; the paper's numbers are in brackets."""
    has_recall = bool(table["recall"].notna().any())
    header = ["Feature", "Budget", *table["method"].unique(), *(["Recall"] if has_recall else [])]
    rows = []
    for (group, budget), cells in table.groupby(["feature", "budget"], sort=False):
        shown = [group, f"{budget} %"]
        for cell in cells.itertuples():
            number = f"{cell.mean:.2f} ± {cell.std:.2f}"
            number = f"**{number}**" if cell.bold else number
            shown.append(number if pd.isna(cell.paper_mean) else f"{number} ({cell.paper_mean:.2f})")
        if has_recall:
            (recalled,) = cells.loc[cells["recall"].notna()].itertuples()
            paper = "" if pd.isna(recalled.paper_recall) else f" ({recalled.paper_recall:.0%})"
            shown.append(f"{recalled.recall:.0%}{paper}".replace("%", " %"))
        rows.append(shown)
    return markdown_table(header, rows)


def write_csv(table: pd.DataFrame) -> str:
    """Write one line per row, with the decimals of `DECIMALS`."""
    shown = table.copy()
    for name in set(DECIMALS) & set(table.columns):
        shown[name] = [None if pd.isna(value) else f"{value:.{DECIMALS[name]}f}" for value in table[name]]
    return write_frame(shown)


def write_cascade(results: Results, budgets: Sequence[int]) -> str:
    """Compare the cascade with its own initial layer: rows that it rescues and hidden rows that it loses."""
    header = ["Feature", "Budget", "initial", "csd/ME", "worst", "rescued", "lost", "below by 2"]
    rows = []
    for group in results.observed:
        initial = results.initial(group)
        for budget in budgets:
            cell = results.cell(group, CSD_ME, budget)
            difference = cell.accuracy - initial
            numbers = [f"{initial.mean():.2f}", f"{cell.mean:.2f}", f"{difference.min():+.1f}"]
            numbers += [f"{np.mean(cell.runs['rescued']):.0f}", f"{np.mean(cell.runs['lost']):.0f}"]
            rows.append([group, f"{budget} %", *numbers, f"{int((difference < -2.0).sum())} of {results.size}"])
    return markdown_table(header, rows)


def write_selection(results: Results, budgets: Sequence[int]) -> str:
    """Show how good the selected candidates are, and what a miss costs where several are nearly equal."""
    header = ["Feature", "Budget", "recall", "best", "third", "selected", "within 2 points of the best"]
    rows = []
    for group in results.observed:
        ranked = np.sort(results.attainable(group).to_numpy(), axis=1)[:, ::-1]
        for budget in budgets:
            cell = results.cell(group, CSD_ME, budget)
            selected = results.selected_quality(group, cell)
            near = int((selected >= ranked[:, 0] - 0.02).sum())
            means = [ranked[:, 0], ranked[:, min(2, ranked.shape[1] - 1)], selected]
            numbers = [f"{100.0 * float(np.mean(values)):.1f}" for values in means]
            recall = f"{results.recall(group, cell)} of {results.size}"
            rows.append([group, f"{budget} %", recall, *numbers, f"{near} of {results.size}"])
    return markdown_table(header, rows)


def measure_sensitivity(loss: str, c: float, results: Results) -> pd.DataFrame:
    """Tabulate SL and csd/ME at the largest budget for one setting, next to Table 1."""
    return pd.DataFrame(
        {
            "setting": f"{loss} of losses, C = {c:g}",
            "method": method.name,
            "feature": view,
            "mean": results.cell(view, method, SENSITIVITY_BUDGET).mean,
            "paper_mean": PRINTED_TABLE_1[view, SENSITIVITY_BUDGET][column][0],
        }
        for column, method in ((0, SL), (3, CSD_ME))
        for view in results.observed
    )


def write_sensitivity(table: pd.DataFrame) -> str:
    """Write one line per setting and method, with the mean absolute difference from the paper in points."""
    views = list(table["feature"].unique())
    rows = []
    for method, part in table.groupby("method", sort=False):
        label = method if method == SL.name else f"{method}, {SENSITIVITY_BUDGET} %"
        paper = part.drop_duplicates("feature")["paper_mean"]
        rows.append(["the paper", label, *(f"{mean:.1f}" for mean in paper), ""])
        for setting, group in part.groupby("setting", sort=False):
            distance = (group["mean"] - group["paper_mean"]).abs().mean()
            rows.append([setting, label, *(f"{mean:.1f}" for mean in group["mean"]), f"{distance:.1f}"])
    return markdown_table(["Setting", "Method", *views, "distance"], rows)
