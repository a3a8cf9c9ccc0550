"""Draw the figures of Section 5: synthetic data and decisions, accuracies, allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.datasets.synthetic import SyntheticRows
from simulations.figures.style import CYCLE, GUIDE, MARKERS, blank, context
from simulations.reproduction._results import CSD_ME, TABLE_2, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from pandas import DataFrame

CLASSES = ("known class 1", "known class 2", "hidden class")


def synthetic_data(rows: SyntheticRows, embedded: Mapping[str, FloatArray]) -> Figure:
    """Draw Figure 4: the truth, the training data, and each candidate's augmented space by t-SNE."""
    with context():
        figure = blank(10.5, 3.6)
        truth, seen, candidates = np.asarray(figure.subfigures(1, 3, width_ratios=(1.1, 1.0, 1.3)))
        space = truth.add_subplot(projection="3d")
        for k, label in enumerate(CLASSES):
            part = rows.points[rows.classes == k + 1]
            space.plot(part[:, 0], part[:, 1], part[:, 2], MARKERS[k], color=CYCLE[k], markersize=3, label=label)
        space.set(title="Ground truth (x₃ is not observed)", xlabel="x₁", ylabel="x₂", zlabel="x₃")
        space.legend(loc="upper left", fontsize="x-small")
        plane = seen.add_subplot()
        observed = np.where(rows.y < 0, 0, 1)
        for k in range(2):
            part = rows.points[observed == k]
            plane.plot(part[:, 0], part[:, 1], MARKERS[k], color=CYCLE[k], markersize=3, label=CLASSES[k])
        plane.set(title=f"Training data (n = {len(rows.y)})", xlabel="x₁", ylabel="x₂")
        plane.legend(loc="best")
        _embeddings(candidates.subplots(3, 3), rows, embedded)
        candidates.suptitle("Observed features with each candidate (t-SNE)", fontsize=10)
    return figure


def _embeddings(axes: object, rows: SyntheticRows, embedded: Mapping[str, FloatArray]) -> None:
    for ax, (name, points) in zip(np.ravel(axes), embedded.items(), strict=True):  # type: ignore[call-overload]
        for k in range(3):
            part = points[rows.classes == k + 1]
            ax.plot(part[:, 0], part[:, 1], MARKERS[k], color=CYCLE[k], markersize=1.2)
        ax.set(xticks=[], yticks=[])
        ax.set_title(name, fontsize=8)


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
