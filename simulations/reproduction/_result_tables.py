"""The paper's tables with our numbers next to the printed ones, as Markdown and as CSV.

Printed numbers are the mean and the standard deviation of the accuracy in per cent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from exml_sim._internal.spreadsheets import write_frame
from simulations import markdown_table
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


Printed = dict[tuple[str, int], tuple[tuple[float, float], ...]]

#: Table 1: (view, budget) -> SL, aug/ME, csd/UA, csd/ME.
PRINTED_TABLE_1: Printed = {
    ("fac", 10): ((93.39, 1.66), (71.80, 9.55), (92.39, 2.79), (92.40, 2.78)),
    ("fac", 20): ((93.39, 1.66), (82.26, 7.52), (91.95, 3.32), (92.00, 3.27)),
    ("fac", 30): ((93.39, 1.66), (89.29, 4.72), (92.20, 3.33), (92.50, 2.86)),
    ("pix", 10): ((92.19, 2.47), (70.53, 8.27), (90.54, 6.27), (90.55, 6.31)),
    ("pix", 20): ((92.19, 2.47), (81.70, 7.16), (90.84, 6.17), (90.87, 6.09)),
    ("pix", 30): ((92.19, 2.47), (88.67, 4.14), (90.45, 5.74), (91.82, 4.26)),
    ("kar", 10): ((86.87, 3.43), (70.25, 10.2), (85.55, 4.94), (85.90, 4.85)),
    ("kar", 20): ((86.87, 3.43), (81.46, 6.88), (85.21, 5.46), (86.49, 4.81)),
    ("kar", 30): ((86.87, 3.43), (86.01, 5.41), (86.52, 4.71), (88.18, 3.57)),
    ("zer", 10): ((73.82, 8.82), (69.61, 10.7), (72.96, 10.4), (76.17, 8.52)),
    ("zer", 20): ((73.82, 8.82), (80.86, 8.02), (77.31, 7.89), (81.72, 7.33)),
    ("zer", 30): ((73.82, 8.82), (86.07, 5.51), (81.11, 6.79), (86.33, 5.04)),
    ("fou", 10): ((68.73, 9.07), (69.42, 9.68), (68.88, 11.8), (75.92, 8.81)),
    ("fou", 20): ((68.73, 9.07), (82.11, 6.48), (77.93, 8.27), (85.03, 4.39)),
    ("fou", 30): ((68.73, 9.07), (89.90, 3.69), (82.45, 5.20), (89.35, 3.89)),
    ("mor", 10): ((57.47, 15.3), (69.09, 11.3), (66.58, 13.5), (71.07, 11.1)),
    ("mor", 20): ((57.47, 15.3), (79.60, 10.1), (73.61, 8.86), (79.74, 9.92)),
    ("mor", 30): ((57.47, 15.2), (87.44, 7.34), (78.31, 9.00), (86.98, 7.07)),
}

#: Table 1, last column, in per cent.
RECALL: dict[tuple[str, int], int] = dict(
    zip(PRINTED_TABLE_1, (48, 46, 44, 58, 54, 68, 56, 54, 56, 82, 82, 86, 82, 88, 92, 80, 84, 90), strict=True)
)

#: Table 2: (view, budget) -> SA/UA, BA/UA, SA/ME, BA/ME.
PRINTED_TABLE_2: Printed = {
    ("fac", 10): ((91.81, 3.10), (91.81, 3.10), (91.58, 5.74), (91.58, 5.74)),
    ("fac", 20): ((92.30, 2.45), (92.31, 2.44), (91.74, 3.32), (91.73, 3.25)),
    ("fac", 30): ((92.13, 3.32), (92.14, 3.32), (92.33, 2.82), (92.26, 2.83)),
    ("pix", 10): ((90.90, 3.77), (90.90, 3.77), (91.22, 3.61), (91.22, 3.62)),
    ("pix", 20): ((90.33, 6.14), (90.42, 5.27), (90.65, 4.52), (90.86, 4.28)),
    ("pix", 30): ((90.96, 4.11), (90.78, 4.23), (91.57, 3.06), (92.72, 2.51)),
    ("kar", 10): ((84.27, 5.84), (84.14, 6.09), (84.11, 5.80), (84.95, 6.02)),
    ("kar", 20): ((84.64, 5.85), (84.78, 6.55), (84.67, 5.62), (88.84, 3.74)),
    ("kar", 30): ((84.95, 5.36), (86.35, 4.96), (87.27, 4.09), (90.65, 3.08)),
    ("zer", 10): ((70.99, 9.77), (70.72, 8.76), (74.16, 9.54), (79.42, 6.20)),
    ("zer", 20): ((76.02, 8.19), (76.92, 7.78), (81.33, 7.98), (86.32, 6.77)),
    ("zer", 30): ((80.60, 6.88), (81.10, 6.60), (85.93, 6.24), (90.59, 3.83)),
    ("fou", 10): ((69.67, 9.52), (69.02, 10.3), (74.45, 7.72), (76.93, 7.65)),
    ("fou", 20): ((77.43, 6.96), (75.26, 7.22), (81.39, 7.48), (88.04, 3.12)),
    ("fou", 30): ((84.08, 4.30), (83.21, 5.13), (87.57, 3.86), (90.17, 3.21)),
    ("mor", 10): ((63.61, 13.9), (65.59, 10.4), (68.95, 10.7), (74.31, 7.44)),
    ("mor", 20): ((73.04, 8.46), (72.85, 11.2), (77.41, 9.90), (86.14, 6.72)),
    ("mor", 30): ((79.61, 8.84), (82.38, 7.44), (85.32, 7.74), (90.28, 5.90)),
}
