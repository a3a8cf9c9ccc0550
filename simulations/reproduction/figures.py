"""The figures of Section 5: synthetic data and decisions, Table 1 as curves, allocations, the RealDisp experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.datasets.synthetic import SyntheticRows
from simulations.figures.style import CYCLE, GUIDE, MARKERS, blank, look
from simulations.reproduction.cells import CSD_ME, Method, attainable, cell
from simulations.reproduction.printed import Printed
from simulations.reproduction.results import Configuration
from simulations.reproduction.statements import most_selected
from simulations.reproduction.tables import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

CLASSES = ("known class 1", "known class 2", "hidden class")


def synthetic_data(rows: SyntheticRows, embedded: Mapping[str, FloatArray]) -> Figure:
    """Figure 4: the truth, what is seen of it, and each candidate's augmented space by t-SNE."""
    with look():
        figure = blank(10.5, 3.6)
        truth, seen, candidates = np.asarray(figure.subfigures(1, 3, width_ratios=(1.1, 1.0, 1.3)))
        space = truth.add_subplot(projection="3d")
        for k, label in enumerate(CLASSES):
            mine = rows.points[rows.classes == k + 1]
            space.plot(mine[:, 0], mine[:, 1], mine[:, 2], MARKERS[k], color=CYCLE[k], markersize=3, label=label)
        space.set(title="Ground truth (x₃ is not observed)", xlabel="x₁", ylabel="x₂", zlabel="x₃")
        space.legend(loc="upper left", fontsize="x-small")
        plane = seen.add_subplot()
        perceived = np.where(rows.y < 0, 0, 1)
        for k in range(2):
            mine = rows.points[perceived == k]
            plane.plot(mine[:, 0], mine[:, 1], MARKERS[k], color=CYCLE[k], markersize=3, label=CLASSES[k])
        plane.set(title=f"Training data (n = {len(rows.y)})", xlabel="x₁", ylabel="x₂")
        plane.legend(loc="best")
        _embeddings(candidates.subplots(3, 3), rows, embedded)
        candidates.suptitle("Observed features with each candidate (t-SNE)", fontsize=10)
    return figure


def _embeddings(axes: object, rows: SyntheticRows, embedded: Mapping[str, FloatArray]) -> None:
    for one, (name, points) in zip(np.ravel(axes), embedded.items(), strict=True):  # type: ignore[call-overload]
        for k in range(3):
            mine = points[rows.classes == k + 1]
            one.plot(mine[:, 0], mine[:, 1], MARKERS[k], color=CYCLE[k], markersize=1.2)
        one.set(xticks=[], yticks=[])
        one.set_title(name, fontsize=8)


def synthetic_results(
    points: FloatArray,
    supervised: tuple[IntArray, float],
    explored: tuple[IntArray, float, str],
    shares: Mapping[str, FloatArray],
) -> Figure:
    """Figure 5: decisions of SL and of ExML on testing rows of one repetition, and the allocation over all.

    Parameters
    ----------
    points
        Testing rows in space; drawn in the plane of the first and the third coordinate.
    supervised, explored
        Predicted classes 0, 1, 2 and accuracy; for ExML also the selected candidate.
    shares
        Candidate -> share of the budget in every repetition.
    """
    with look():
        figure = blank(10.5, 3.4)
        left, middle, right = figure.subplots(1, 3)
        rows = f"n = {len(points)}"
        _decisions(left, points, supervised[0], f"SL: accuracy {supervised[1]:.1%}, {rows}")
        _decisions(middle, points, explored[0], f"ExML with {explored[2]}: accuracy {explored[1]:.1%}, {rows}")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)
        names = list(shares)
        repetitions = len(shares[names[0]])
        mean = [100.0 * float(np.mean(shares[name])) for name in names]
        spread = [100.0 * float(np.std(shares[name])) for name in names]
        right.bar(range(len(names)), mean, yerr=spread, color=CYCLE[0], ecolor=GUIDE)
        right.set_xticks(range(len(names)), names)
        right.set(xlabel="angle of the candidate", ylabel="share of the budget, %")
        right.set_title(f"Allocation, mean ± standard deviation of {repetitions} repetitions", fontsize=8)
    return figure


def _decisions(axes: Axes, points: FloatArray, labels: IntArray, title: str) -> None:
    for k, label in enumerate(CLASSES):
        mine = points[labels == k]
        axes.plot(mine[:, 0], mine[:, 2], MARKERS[k], color=CYCLE[k], markersize=3, label=label)
    axes.set(title=title, xlabel="x₁", ylabel="x₃")


def accuracy_by_budget(lines: Sequence[Row], printed: Printed | None) -> Figure:
    """Accuracy against budget, one panel per observed group; the paper's means as open marks."""
    groups = list(dict.fromkeys(line.observed for line in lines))
    across = 3
    down = -(-len(groups) // across)
    with look():
        figure = blank(10.0, 2.9 * down)
        axes = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
        for one in axes[len(groups) :]:
            one.set_visible(False)
        for one, group in zip(axes, groups, strict=False):
            mine = [line for line in lines if line.observed == group]
            budgets = [line.budget for line in mine]
            for k, method in enumerate(mine[0].methods):
                mean = [line.cells[k].mean for line in mine]
                error = [line.cells[k].std / np.sqrt(len(line.cells[k].accuracy)) for line in mine]
                one.errorbar(budgets, mean, error, color=CYCLE[k], marker=MARKERS[k], label=method.name)
                if printed:
                    paper = [printed[group, budget][k][0] for budget in budgets]
                    one.plot(budgets, paper, MARKERS[k], color=CYCLE[k], fillstyle="none", linestyle=":", linewidth=0.8)
            one.set(title=group, xticks=budgets)
        for one in axes[::across]:
            one.set_ylabel("accuracy, %")
        axes[0].legend(loc="lower right")
        note = "; open marks with dotted lines: the paper" if printed else ""
        figure.suptitle(f"Accuracy against budget in %, bars: one standard error{note}")
    return figure


def query_allocation(
    configurations: Sequence[Configuration],
    observed: Sequence[str],
    methods: Sequence[Method],
    budget: int,
    costs: Mapping[str, str],
    thetas_by: str,
) -> Figure:
    """Queries per candidate and method, and how often each candidate was selected (the figure of Section 5.4)."""
    with look():
        figure = blank(9.0, 3.1 * len(observed))
        axes = figure.subplots(len(observed), 1, squeeze=False).ravel()
        for one, group in zip(axes, observed, strict=True):
            names: list[str] = []
            for k, method in enumerate(methods):
                runs = cell(configurations, group, method, budget, thetas_by).runs
                names = list(runs[0].pulls)
                at = np.arange(len(names)) + 0.2 * (k - 1.5)
                mean = np.array([np.mean([run.pulls[name] for run in runs]) for name in names])
                times = np.array([np.mean([run.selected == name for run in runs]) for name in names])
                hatch = ".." if method.alignment == "budget" else ""
                colour = CYCLE[0] if method.strategy == "UA" else CYCLE[2]
                one.bar(at, mean, 0.19, color=colour, edgecolor="white", hatch=hatch, label=method.name)
                for x, height, share in zip(at, mean, times, strict=True):
                    weight = "bold" if share == times.max() else "normal"
                    ink = CYCLE[1] if share == times.max() else "black"
                    one.text(x, height, f"{share:.0%}", ha="center", va="bottom", fontsize=6, color=ink, weight=weight)
            one.set_xticks(range(len(names)), [f"{name} ({costs[name]})" for name in names])
            one.set(title=f"{group} observed, budget {budget} %", ylabel="queries")
        axes[0].legend(ncols=4, loc="upper right")
    return figure


def allocation_matrix(
    configurations: Sequence[Configuration], sensors: Sequence[str], budget: int, thetas_by: str
) -> Figure:
    """Share of the budget per observed sensor (line) and candidate (column), with attainable accuracies.

    The two best candidates of a line are framed; the candidate that is selected most often has a bold number.
    """
    shares = np.full((len(sensors), len(sensors)), np.nan)
    with look():
        figure = blank(7.6, 6.4)
        axes = figure.add_subplot()
        for i, sensor in enumerate(sensors):
            found = cell(configurations, sensor, CSD_ME, budget, thetas_by)
            quality = attainable(configurations, sensor)
            top = sorted(quality, key=lambda name: -quality[name])[:2]
            chosen = most_selected(found)
            for name, value in quality.items():
                j = list(sensors).index(name)
                shares[i, j] = np.mean([run.pulls[name] / sum(run.pulls.values()) for run in found.runs])
                weight = "bold" if name == chosen else "normal"
                ink = "white" if shares[i, j] > 0.2 else "black"
                axes.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=7, weight=weight, color=ink)
                if name in top:
                    axes.add_patch(_frame(j, i))
        image = axes.imshow(100.0 * shares, cmap="viridis_r", vmin=0.0)
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
