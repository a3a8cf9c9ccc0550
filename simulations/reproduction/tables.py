"""The paper's tables with our numbers next to the printed ones, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulations.reproduction import cells as stats
from simulations.reproduction.cells import CSD_ME, Method, TableCell
from simulations.reproduction.printed import RECALL, Printed
from simulations.reproduction.results import Configuration
from simulations.tables import csv_table, markdown_table

COLUMNS = (
    "feature", "budget", "method", "configurations", "mean", "std", "bold", "theta", "paper_mean", "paper_std",
    "recall", "paper_recall",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One line of a table: a group observed, a budget, one cell per method.

    Attributes
    ----------
    printed
        The paper's means and standard deviations, in the order of the methods; None if it prints none.
    recall
        Share of configurations whose selected candidate is one of the best two; None if that was not measured.
    """

    observed: str
    budget: int
    methods: tuple[Method, ...]
    cells: tuple[TableCell, ...]
    printed: tuple[tuple[float, float], ...] | None
    recall: float | None
    printed_recall: int | None


def rows(
    configurations: Sequence[Configuration],
    observed: Sequence[str],
    budgets: Sequence[int],
    methods: tuple[Method, ...],
    thetas_by: str,
    printed: Printed | None = None,
) -> list[Row]:
    """All lines of a table."""
    return [
        _row(configurations, group, budget, methods, thetas_by, printed or {})
        for group in observed
        for budget in budgets
    ]


def _row(
    configurations: Sequence[Configuration],
    group: str,
    budget: int,
    methods: tuple[Method, ...],
    thetas_by: str,
    printed: Printed,
) -> Row:
    cells = tuple(stats.cell(configurations, group, method, budget, thetas_by) for method in methods)
    found = None
    if CSD_ME in methods and stats.case_of(configurations[0], group).attainable:
        runs = cells[methods.index(CSD_ME)].runs
        found = stats.recall(configurations, group, runs) / len(configurations)
    known = None if found is None or not printed else RECALL.get((group, budget))
    return Row(group, budget, methods, cells, printed.get((group, budget)), found, known)


def markdown(lines: Sequence[Row]) -> str:
    """The table as the paper prints it; what the paper has is in brackets."""
    first = lines[0]
    header = ["Feature", "Budget", *(method.name for method in first.methods)]
    header += ["Recall"] if first.recall is not None else []
    text = []
    for line in lines:
        shown = [line.observed, f"{line.budget} %"]
        for k, (one, strong) in enumerate(zip(line.cells, stats.bold(line.cells), strict=True)):
            number = f"{one.mean:.2f} ± {one.std:.2f}"
            number = f"**{number}**" if strong else number
            shown.append(number if line.printed is None else f"{number} ({line.printed[k][0]:.2f})")
        if line.recall is not None:
            paper = "" if line.printed_recall is None else f" ({line.printed_recall} %)"
            shown.append(f"{line.recall:.0%}".replace("%", " %") + paper)
        text.append(shown)
    return markdown_table(header, text)


def to_csv(lines: Sequence[Row]) -> str:
    """One line per cell."""
    found = []
    for line in lines:
        for k, (one, strong) in enumerate(zip(line.cells, stats.bold(line.cells), strict=True)):
            paper = ("", "") if line.printed is None else line.printed[k]
            is_ours = line.methods[k] == CSD_ME
            recall = f"{line.recall:.4f}" if is_ours and line.recall is not None else ""
            known = line.printed_recall / 100 if is_ours and line.printed_recall is not None else ""
            numbers = [len(one.accuracy), f"{one.mean:.4f}", f"{one.std:.4f}", int(strong), f"{one.thetas.mean():.3f}"]
            values = [line.observed, line.budget, line.methods[k].name, *numbers, *paper, recall, known]
            found.append(dict(zip(COLUMNS, values, strict=True)))
    return csv_table(COLUMNS, found)


def cascade_markdown(configurations: Sequence[Configuration], lines: Sequence[Row]) -> str:
    """How the cascade compares with its own initial layer, and why: rows it rescues and hidden rows it loses."""
    header = ["Feature", "Budget", "initial", "csd/ME", "worst", "rescued", "lost", "below by 2"]
    text = []
    for line in lines:
        ours = line.cells[line.methods.index(CSD_ME)]
        cases = [stats.case_of(one, line.observed) for one in configurations]
        initial = 100.0 * np.array([case.initial for case in cases])
        difference = ours.accuracy - initial
        numbers = [
            f"{initial.mean():.2f}",
            f"{ours.mean:.2f}",
            f"{difference.min():+.1f}",
            f"{np.mean([run.rescued for run in ours.runs]):.0f}",
            f"{np.mean([run.lost for run in ours.runs]):.0f}",
            f"{int((difference < -2.0).sum())} of {len(cases)}",
        ]
        text.append([line.observed, f"{line.budget} %", *numbers])
    return markdown_table(header, text)


def selection_markdown(configurations: Sequence[Configuration], lines: Sequence[Row]) -> str:
    """How good the selected candidates are: recall, and what a miss costs where several candidates are nearly equal."""
    header = ["Feature", "Budget", "recall", "best", "third", "selected", "within 2 points of the best"]
    text = []
    for line in lines:
        runs = line.cells[line.methods.index(CSD_ME)].runs
        cases = [stats.case_of(one, line.observed) for one in configurations]
        ranked = [sorted(case.attainable.values(), reverse=True) for case in cases]
        chosen = [case.attainable[run.selected] for case, run in zip(cases, runs, strict=True)]
        near = [ours >= values[0] - 0.02 for ours, values in zip(chosen, ranked, strict=True)]
        numbers = [
            f"{stats.recall(configurations, line.observed, runs)} of {len(runs)}",
            f"{100.0 * float(np.mean([values[0] for values in ranked])):.1f}",
            f"{100.0 * float(np.mean([values[:3][-1] for values in ranked])):.1f}",
            f"{100.0 * float(np.mean(chosen)):.1f}",
            f"{sum(near)} of {len(near)}",
        ]
        text.append([line.observed, f"{line.budget} %", *numbers])
    return markdown_table(header, text)
