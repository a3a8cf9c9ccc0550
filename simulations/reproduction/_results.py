"""Results of an experiment as tables: which theta counts, means, and the paired t-test behind bold print.

The paper's numbers (`paper_tables.csv`) are the mean and the standard deviation of the accuracy in per cent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.spreadsheets import write_frame
from simulations import markdown_table

#: How the test labels pick theta: the best one of every configuration, or the one with the best mean for a whole cell.
THETAS_BY = ("each", "one")
SIGNIFICANCE = 0.05
#: Decimals of columns in CSV files.
DECIMALS = {"mean": 4, "std": 4, "theta": 3, "recall": 4}


@dataclass(frozen=True, slots=True)
class Method:
    """A column of a table.

    Attributes
    ----------
    name
        As printed.
    strategy, alignment
        Of the runs; "" for SL, which has none.
    layer
        "augmented" (alone) or "cascaded" (behind the initial layer); SL has one layer.
    """

    name: str
    strategy: str
    alignment: str
    layer: str


SL = Method("SL", "", "", "cascaded")
AUG_ME = Method("aug/ME", "ME", "sample", "augmented")
CSD_UA = Method("csd/UA", "UA", "sample", "cascaded")
CSD_ME = Method("csd/ME", "ME", "sample", "cascaded")
TABLE_1 = (SL, AUG_ME, CSD_UA, CSD_ME)
TABLE_2 = tuple(
    Method(f"{short}/{strategy}", strategy, alignment, "cascaded")
    for strategy in ("UA", "ME")
    for short, alignment in (("SA", "sample"), ("BA", "budget"))
)


@dataclass(frozen=True, slots=True, eq=False)
class TableCell:
    """One method on one observed group with one budget.

    Attributes
    ----------
    accuracy
        Per configuration, in per cent.
    thetas
        Per configuration.
    runs
        The counted runs, one row per configuration.
    """

    accuracy: FloatArray
    thetas: FloatArray
    runs: pd.DataFrame

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(self.accuracy.mean())

    @property
    def std(self) -> float:
        """Standard deviation over configurations (0 for one)."""
        return float(self.accuracy.std(ddof=1)) if len(self.accuracy) > 1 else 0.0

    def share(self, names: Sequence[str]) -> FloatArray:
        """Return the share of all queries that went to some candidates, per configuration, in per cent."""
        queries = self.runs["pulls"]
        return np.array([100.0 * sum(pulls.get(name, 0) for name in names) / sum(pulls.values()) for pulls in queries])

    @property
    def candidates(self) -> list[str]:
        """Names of the candidates."""
        return list(self.runs["pulls"].iloc[0])

    @property
    def most_selected(self) -> str:
        """The candidate that was selected in most configurations; the first of equal ones."""
        return max(self.candidates, key=lambda name: int((self.runs["selected"] == name).sum()))


class Results:
    """Records of all configurations, and how the test labels pick theta.

    Parameters
    ----------
    records
        What `Experiment.run` returns, one for each configuration.
    thetas_by
        One of `THETAS_BY`; it plays no role where there is one run per configuration.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]], thetas_by: str = "one") -> None:
        if thetas_by not in THETAS_BY:
            raise ValueError(f"thetas_by must be one of {', '.join(THETAS_BY)}; got {thetas_by!r}")
        self.thetas_by, self.size = thetas_by, len(records)
        runs = pd.DataFrame([run for record in records for run in record["runs"]])
        cases = pd.DataFrame([case for record in records for case in record["cases"]])
        self._runs = dict(tuple(runs.groupby(["observed", "strategy", "alignment", "budget"], sort=False)))
        self._cases = dict(tuple(cases.groupby("observed", sort=False)))

    @property
    def observed(self) -> list[str]:
        """Observed groups."""
        return list(self._cases)

    def cell(self, observed: str, method: Method, budget: int) -> TableCell:
        """Collect a cell; with several thetas per configuration, `thetas_by` says which one counts."""
        runs = self._runs[observed, method.strategy, method.alignment, budget if method.strategy else 0]
        tried = runs[method.layer].to_numpy(dtype=np.float64).reshape(self.size, -1)
        if self.thetas_by == "each":
            picked = tried.argmax(axis=1)
        else:
            picked = np.full(self.size, int(tried.mean(axis=0).argmax()))
        counted = runs.iloc[np.arange(self.size) * tried.shape[1] + picked]
        theta = "theta" if method.layer == "augmented" else "cascade_theta"
        return TableCell(100.0 * counted[method.layer].to_numpy(), counted[theta].to_numpy(), counted)

    def initial(self, observed: str) -> FloatArray:
        """Return the accuracy of the initial layer per configuration, in per cent."""
        return 100.0 * np.asarray(self._cases[observed]["initial"])

    def attainable(self, observed: str) -> pd.DataFrame:
        """Return attainable accuracies: configurations down, candidates across; empty if they were not computed."""
        return pd.DataFrame(list(self._cases[observed]["attainable"]))

    def recall(self, observed: str, cell: TableCell) -> int:
        """Count configurations whose selected candidate is one of the best two."""
        better = self.attainable(observed).to_numpy() > self.selected_quality(observed, cell)[:, None]
        return int((better.sum(axis=1) < 2).sum())

    def selected_quality(self, observed: str, cell: TableCell) -> FloatArray:
        """Return the attainable accuracy of the selected candidate, per configuration."""
        quality = self.attainable(observed)
        columns = quality.columns.get_indexer(cell.runs["selected"])
        return np.asarray(quality.to_numpy()[np.arange(len(quality)), columns])


def p_above(first: FloatArray, second: FloatArray, margin: float = 0.0) -> float:
    """Return the p-value of the one-sided paired t-test that `first` exceeds `second` + `margin` in the mean."""
    difference = np.asarray(first) - np.asarray(second) - margin
    if len(difference) < 2:
        return 1.0
    if np.ptp(difference) <= 1e-12:
        # Nothing varies: the test statistic is infinite, or 0/0 where there is no difference at all.
        return 0.0 if difference[0] > 1e-12 else 1.0
    return float(stats.ttest_1samp(difference, 0.0, alternative="greater").pvalue)


def mark_bold(cells: Sequence[TableCell]) -> list[bool]:
    """Mark what the paper prints bold: the best mean and all that a paired t-test at 95 % does not separate from it.

    If that is every method, none is bold, as in the rows of Table 2 where all are alike.
    """
    top = max(cells, key=lambda cell: cell.mean)
    marked = [cell is top or not _differs(top.accuracy, cell.accuracy) for cell in cells]
    return [False] * len(cells) if all(marked) else marked


def _differs(first: FloatArray, second: FloatArray) -> bool:
    return 2.0 * min(p_above(first, second), p_above(second, first)) < SIGNIFICANCE


def read_printed(number: int) -> pd.DataFrame:
    """Read a table of the paper: mean, standard deviation and recall by feature, budget and method."""
    table = pd.read_csv(Path(__file__).parent / "paper_tables.csv")
    return table[table["table"] == number].set_index(["feature", "budget", "method"])[["mean", "std", "recall"]]


def make_table(
    results: Results, budgets: Sequence[int], methods: Sequence[Method], printed: int | None = None
) -> pd.DataFrame:
    """Tabulate all cells: one row per observed group, budget and method, beside a printed table (1 or 2) if given."""
    records = []
    for group in results.observed:
        for budget in budgets:
            cells = [results.cell(group, method, budget) for method in methods]
            for method, cell, is_bold in zip(methods, cells, mark_bold(cells), strict=True):
                has_recall = method == CSD_ME and not results.attainable(group).empty
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
                        "recall": results.recall(group, cell) / results.size if has_recall else None,
                    }
                )
    table = pd.DataFrame(records)
    if printed is None:
        return table.assign(paper_mean=None, paper_std=None, paper_recall=None)
    return table.join(read_printed(printed).add_prefix("paper_"), on=["feature", "budget", "method"])


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
