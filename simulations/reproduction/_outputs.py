"""Write tables, verdicts and figures of an experiment into its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.files import write_file
from simulations.figures.style import CYCLE, GUIDE, MARKERS, blank, context, save
from simulations.reproduction import _results as tables
from simulations.reproduction import _statements as statements
from simulations.reproduction._results import CSD_ME, SL, TABLE_1, TABLE_2, Results
from simulations.reproduction._sources import OBSERVED, PAPER_COSTS, SyntheticSource
from simulations.reproduction._statements import PaperStatement
from simulations.reproduction.experiment import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from pandas import DataFrame

CASCADE = "The cascade against its own initial layer (rows of a test set; configurations more than 2 points below)"
SELECTION = "Attainable accuracy with the best, the third best and the selected candidate"


def write_report(experiment: Experiment, results: Results, out: Path) -> tuple[dict[str, Any], str]:
    """Write tables, verdicts and figures into the folder; return the values for JSON, and the text to print."""
    reports = {"mfeat": _report_table_1, "costs": _report_table_2, "synthetic": _report_synthetic}
    table, verdicts, files = reports.get(experiment.name, _report_realdisp)(experiment, results, out)
    extra = {}
    if CSD_ME.name in set(table["method"]):
        extra["cascade"] = CASCADE, tables.write_cascade(results, experiment.budgets)
    if experiment.attainable:
        extra["selection"] = SELECTION, tables.write_selection(results, experiment.budgets)
    main, checked = tables.write_markdown(table), statements.markdown(verdicts)
    for name, text in (
        ("table.md", main),
        ("table.csv", tables.write_csv(table)),
        ("verdicts.md", checked),
        ("verdicts.json", json.dumps(statements.as_data(verdicts), indent=1)),
        *((f"{name}.md", body) for name, (_, body) in extra.items()),
    ):
        write_file(out / name, text)
        files.append(out / name)
    data = {
        "experiment": experiment.name,
        "cells": table[["feature", "budget", "method", "mean", "std"]].to_dict("records"),
        "verdicts": statements.as_data(verdicts),
        "files": [str(file) for file in files],
        "configurations": results.size,
        "settings": experiment.identity(),
    }
    names = f"Results of {results.size} configurations are in {out}: {', '.join(file.name for file in files)}."
    return data, "\n".join([main, *(f"{title}\n\n{body}" for title, body in extra.values()), checked, names])


#: Table, verdicts, and the files of
Parts = tuple["DataFrame", list[PaperStatement], list[Path]]


def _report_table_1(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_1, 1)
    files = save(accuracy_by_budget(table), out / "accuracy")
    return table, statements.check_table_1(results, experiment.budgets), files


def _report_table_2(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_2, 2)
    files = save(accuracy_by_budget(table), out / "accuracy")
    costs = {name: f"{float(cost):g}" for name, cost in PAPER_COSTS.items()}
    files += save(query_allocation(results, ("fou", "zer"), 20, costs), out / "allocation")
    return table, statements.check_table_2(results, experiment.budgets), files


def _report_realdisp(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_1)
    files = save(accuracy_by_budget(table), out / "accuracy")
    files += save(allocation_matrix(results, max(experiment.budgets)), out / "allocation")
    return table, statements.check_realdisp(results, experiment.budgets), files


def _report_synthetic(experiment: Experiment, results: Results, out: Path) -> Parts:
    (budget,) = experiment.budgets
    table = tables.make_table(results, experiment.budgets, (SL, CSD_ME))
    files = _draw_figure_5(experiment, results, out)
    return table, statements.check_synthetic(results, budget), files


def _draw_figure_5(experiment: Experiment, results: Results, out: Path) -> list[Path]:
    """Draw decisions of the first repetition with the counted thetas, and the allocation over all repetitions."""
    assert isinstance(experiment.source, SyntheticSource)
    (budget,) = experiment.budgets
    cascade, supervised = results.cell(OBSERVED, CSD_ME, budget), results.cell(OBSERVED, SL, budget)
    learner = experiment.learner(experiment.source.task(experiment.seed, 0), 0, 0)
    predicted = dict(learner.supervised())[float(supervised.thetas[0])]
    runs = learner.explore(experiment.explorings[0].build(), Fraction(budget, 100))
    explored = next(run for run in runs if run.cascade_theta == cascade.thetas[0])
    _, test = experiment.source.rows(experiment.seed, 0)
    picture = synthetic_results(
        test.points,
        (predicted.labels(), supervised.accuracy[0] / 100.0),
        (learner.initial.then(explored.behind).labels(), cascade.accuracy[0] / 100.0, explored.selected),
        {name: cascade.share([name]) for name in cascade.candidates},
    )
    return save(picture, out / "figure_5")


CLASSES = ("known class 1", "known class 2", "hidden class")


def synthetic_results(
    points: FloatArray,
    supervised: tuple[IntArray, float],
    explored: tuple[IntArray, float, str],
    shares: Mapping[str, FloatArray],
) -> Figure:
    """Draw Figure 5: decisions of SL and of ExML on testing rows of one repetition, and the allocation over all.

    Parameters
    ----------
    points
        Testing rows in space; drawn in the plane of the first and the third coordinate.
    supervised, explored
        Predicted classes 0, 1, 2 and accuracy; for ExML also the selected candidate.
    shares
        Candidate -> share of the queries in every repetition, in per cent.
    """
    with context():
        figure = blank(10.5, 3.4)
        left, middle, right = figure.subplots(1, 3)
        rows = f"n = {len(points)}"
        _decisions(left, points, supervised[0], f"SL: accuracy {supervised[1]:.1%}, {rows}")
        _decisions(middle, points, explored[0], f"ExML with {explored[2]}: accuracy {explored[1]:.1%}, {rows}")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)
        names = list(shares)
        repetitions = len(shares[names[0]])
        mean = [float(np.mean(shares[name])) for name in names]
        spread = [float(np.std(shares[name])) for name in names]
        right.bar(range(len(names)), mean, yerr=spread, color=CYCLE[0], ecolor=GUIDE)
        right.set_xticks(range(len(names)), names)
        right.set(xlabel="angle of the candidate", ylabel="share of the budget, %")
        right.set_title(f"Allocation, mean ± standard deviation of {repetitions} repetitions", fontsize=8)
    return figure


def _decisions(axes: Axes, points: FloatArray, labels: IntArray, title: str) -> None:
    for k, label in enumerate(CLASSES):
        part = points[labels == k]
        axes.plot(part[:, 0], part[:, 2], MARKERS[k], color=CYCLE[k], markersize=3, label=label)
    axes.set(title=title, xlabel="x₁", ylabel="x₃")


def accuracy_by_budget(table: DataFrame) -> Figure:
    """Draw accuracy against budget, one panel per observed group; the paper's means are open marks."""
    groups = list(table["feature"].unique())
    has_paper = bool(table["paper_mean"].notna().any())
    across = 3
    down = -(-len(groups) // across)
    with context():
        figure = blank(10.0, 2.9 * down)
        axes = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
        for ax in axes[len(groups) :]:
            ax.set_visible(False)
        for ax, group in zip(axes, groups, strict=False):
            part = table[table["feature"] == group]
            for k, (method, cells) in enumerate(part.groupby("method", sort=False)):
                error = cells["std"] / np.sqrt(cells["configurations"])
                style = {"color": CYCLE[k], "marker": MARKERS[k]}
                ax.errorbar(cells["budget"], cells["mean"], error, label=method, **style)
                if has_paper:
                    ax.plot(
                        cells["budget"], cells["paper_mean"], fillstyle="none", linestyle=":", linewidth=0.8, **style
                    )
            ax.set(title=group, xticks=list(part["budget"].unique()))
        for ax in axes[::across]:
            ax.set_ylabel("accuracy, %")
        axes[0].legend(loc="lower right")
        note = "; open marks with dotted lines: the paper" if has_paper else ""
        figure.suptitle(f"Accuracy against budget in %, bars: one standard error{note}")
    return figure


def query_allocation(results: Results, observed: Sequence[str], budget: int, costs: Mapping[str, str]) -> Figure:
    """Draw queries per candidate and method, and how often each was selected (the figure of Section 5.4)."""
    with context():
        figure = blank(9.0, 3.1 * len(observed))
        axes = figure.subplots(len(observed), 1, squeeze=False).ravel()
        for ax, group in zip(axes, observed, strict=True):
            names: list[str] = []
            for k, method in enumerate(TABLE_2):
                cell = results.cell(group, method, budget)
                names = cell.candidates
                at = np.arange(len(names)) + 0.2 * (k - 1.5)
                mean = np.array([np.mean([pulls[name] for pulls in cell.runs["pulls"]]) for name in names])
                selected = np.array([np.mean(cell.runs["selected"] == name) for name in names])
                hatch = ".." if method.alignment == "budget" else ""
                colour = CYCLE[0] if method.strategy == "UA" else CYCLE[2]
                ax.bar(at, mean, 0.19, color=colour, edgecolor="white", hatch=hatch, label=method.name)
                for x, height, share in zip(at, mean, selected, strict=True):
                    is_top = share == selected.max()
                    strong = {"weight": "bold", "color": CYCLE[1]} if is_top else {"weight": "normal", "color": "black"}
                    ax.text(x, height, f"{share:.0%}", ha="center", va="bottom", fontsize=6, **strong)
            ax.set_xticks(range(len(names)), [f"{name} ({costs[name]})" for name in names])
            ax.set(title=f"{group} observed, budget {budget} %", ylabel="queries")
        axes[0].legend(ncols=4, loc="upper right")
    return figure


def allocation_matrix(results: Results, budget: int) -> Figure:
    """Draw the share of queries per observed sensor (row) and candidate (column), with attainable accuracies.

    The two best candidates of a row are framed; the candidate that is selected most often has a bold number.
    """
    sensors = results.observed
    shares = np.full((len(sensors), len(sensors)), np.nan)
    with context():
        figure = blank(7.6, 6.4)
        axes = figure.add_subplot()
        for i, sensor in enumerate(sensors):
            cell = results.cell(sensor, CSD_ME, budget)
            quality = 100.0 * results.attainable(sensor).mean()
            top = list(quality.sort_values(ascending=False, kind="stable").index[:2])
            for name, value in quality.items():
                j = sensors.index(name)
                shares[i, j] = np.mean(cell.share([name]))
                weight = "bold" if name == cell.most_selected else "normal"
                ink = "white" if shares[i, j] > 20.0 else "black"
                axes.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=7, weight=weight, color=ink)
                if name in top:
                    axes.add_patch(_frame(j, i))
        image = axes.imshow(shares, cmap="viridis_r", vmin=0.0)
        figure.colorbar(image, ax=axes, label="share of the queries, %")
        axes.set_xticks(range(len(sensors)), sensors)
        axes.set_yticks(range(len(sensors)), sensors)
        axes.set(xlabel="candidate", ylabel="observed sensor")
        axes.set_title(
            f"Allocation at {budget} %: numbers are attainable accuracies,\n frames the best two, bold: selected"
        )
    return figure


def _frame(x: int, y: int) -> Patch:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, fill=False, edgecolor=CYCLE[1], linewidth=1.5)
