"""Tables, verdicts and figures of an experiment, and the test that decides whether a statement is reproduced.

Three kinds of comparison, all by one-sided paired t-tests over configurations:

- "ahead": the first mean is above the second at the 5 % level, in every instance;
- "at least": the first mean is not below the second, at the 5 % level for all instances of the statement together
  (Bonferroni);
- "close": as "at least", after 2 points are added to the first.

A statement is reproduced if all of its instances are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.files import write_file
from exml_sim.strategies import MedianElimination
from simulations import markdown_table
from simulations.figures.style import CYCLE, GUIDE, MARKERS, blank, context, save
from simulations.reproduction import _results as tables
from simulations.reproduction._results import (
    AUG_ME,
    CSD_ME,
    CSD_UA,
    SIGNIFICANCE,
    SL,
    TABLE_1,
    TABLE_2,
    Method,
    Results,
    p_above,
)
from simulations.reproduction._sources import GOOD, OBSERVED, PAPER_COSTS, POOR, SyntheticSource
from simulations.reproduction.experiment import Experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

#: Points of accuracy that count as close: the paper's own cascade is up to 1.6 below the better of its two layers.
CLOSE = 2.0


@dataclass(frozen=True, slots=True)
class AccuracyComparison:
    """One comparison: where, which numbers, p-value of the deciding test, and whether it holds."""

    where: str
    first: float
    second: float
    p: float
    holds: bool


@dataclass(frozen=True, slots=True)
class PaperStatement:
    """One statement of the paper in our words, what was tested, and its instances."""

    statement: str
    test: str
    instances: tuple[AccuracyComparison, ...]

    @property
    def reproduced(self) -> bool:
        """Whether all instances hold."""
        return all(instance.holds for instance in self.instances)

    @property
    def verdict(self) -> str:
        """Say "undecided" where every difference has the right sign and a test is only not significant."""
        if self.reproduced:
            return "reproduced"
        misses = [instance for instance in self.instances if not instance.holds]
        is_open = all(instance.p == instance.p and instance.first > instance.second for instance in misses)
        return "**undecided**" if is_open else "**not reproduced**"


Pair = tuple[str, FloatArray, FloatArray]


def ahead(statement: str, pairs: Iterable[Pair], what: str) -> PaperStatement:
    """Test that the first is better in every instance."""
    tested = [(pair, p_above(pair[1], pair[2])) for pair in pairs]
    instances = [_compare(pair, p, p < SIGNIFICANCE) for pair, p in tested]
    return PaperStatement(statement, f"{what}: paired t-test, p < 0.05 in every instance", tuple(instances))


def at_least(statement: str, pairs: Sequence[Pair], what: str, margin: float = 0.0) -> PaperStatement:
    """Test that the first is not worse (by more than the margin) in any instance."""
    level = SIGNIFICANCE / len(pairs)
    tested = [(pair, p_above(pair[2], pair[1], margin)) for pair in pairs]
    instances = [_compare(pair, p, p >= level) for pair, p in tested]
    slack = f" by more than {margin:g} points" if margin else ""
    return PaperStatement(
        statement, f"{what}: not below{slack} by a paired t-test, 5 % for all together", tuple(instances)
    )


def _compare(pair: Pair, p: float, holds: bool) -> AccuracyComparison:
    where, first, second = pair
    return AccuracyComparison(where, float(np.mean(first)), float(np.mean(second)), p, holds)


def _pairs(
    results: Results, first: Method, second: Method, groups: Iterable[str], budgets: Sequence[int]
) -> list[Pair]:
    """Pair the accuracies of two methods on every group and budget."""
    return [
        (
            f"{group}, {budget} %",
            results.cell(group, first, budget).accuracy,
            results.cell(group, second, budget).accuracy,
        )
        for group in groups
        for budget in budgets
    ]


def check_table_1(results: Results, budgets: Sequence[int]) -> list[PaperStatement]:
    """Test the statements of Section 5.2."""
    views, last, pairs = (*GOOD, *POOR), max(budgets), partial(_pairs, results)
    supervised = {view: results.cell(view, SL, last).accuracy for view in views}
    good = np.mean([supervised[view] for view in GOOD], axis=0)
    # The printed table itself has aug/ME below SL on Zer at 10 %, and level with it on Fou.
    augmented = [pair for pair in pairs(AUG_ME, SL, POOR, budgets) if pair[0] not in ("zer, 10 %", "fou, 10 %")]
    order = [(f"{a} over {b}", supervised[a], supervised[b]) for a, b in pairwise(views)]
    poor = [(view, good, supervised[view]) for view in POOR]
    both = [_best_of_two(results, view, budget) for view in views for budget in budgets]
    statement = "Even with uniform allocation the cascade can beat the augmented model alone."
    smallest = "csd/UA against aug/ME on good views, smallest budget"
    better = "csd/ME against the better of SL and aug/ME"
    against_sl = "csd/ME against SL"
    beats = "With the largest budget ExML beats SL on poor views."
    eliminates = "Median elimination is at least as good as uniform allocation."
    explored = "On good views SL does well and nothing need be explored."
    return [
        at_least("The views are ordered by quality: Fac, Pix, Kar, Zer, Fou, Mor.", order, "SL on adjacent views"),
        at_least(explored, pairs(SL, AUG_ME, GOOD, budgets), "SL against aug/ME"),
        ahead("On poor views SL degenerates.", poor, "SL, mean of good views against each poor one"),
        ahead("On poor views the augmented model beats SL.", augmented, "aug/ME against SL, where the paper has it"),
        at_least(
            "ExML is at least as good as SL on poor views.", pairs(CSD_ME, SL, POOR, budgets), "csd/ME against SL"
        ),
        ahead(beats, pairs(CSD_ME, SL, POOR, [last]), against_sl),
        at_least(eliminates, pairs(CSD_ME, CSD_UA, views, budgets), "csd/ME against csd/UA"),
        at_least("The cascade is close to the best of both worlds.", both, better, CLOSE),
        ahead(statement, pairs(CSD_UA, AUG_ME, GOOD, [min(budgets)]), smallest),
        _test_selection(results, budgets),
    ]


def _best_of_two(results: Results, view: str, budget: int) -> Pair:
    both = [results.cell(view, SL, budget), results.cell(view, AUG_ME, budget)]
    top = max(both, key=lambda cell: cell.mean)
    return f"{view}, {budget} %", results.cell(view, CSD_ME, budget).accuracy, top.accuracy


def _test_selection(results: Results, budgets: Sequence[int]) -> PaperStatement:
    """Test recall on poor views against a random choice among five, which is in the top two with probability 2/5."""
    instances = []
    for view in POOR:
        for budget in budgets:
            hits = results.recall(view, results.cell(view, CSD_ME, budget))
            p = float(stats.binomtest(hits, results.size, 0.4, alternative="greater").pvalue)
            share = 100.0 * hits / results.size
            instances.append(AccuracyComparison(f"{view}, {budget} %", share, 40.0, p, p < SIGNIFICANCE))
    test = "share of selections among the top two against 2/5: binomial test, p < 0.05 in every instance"
    return PaperStatement("On poor views one of the two best candidates is selected.", test, tuple(instances))


def check_table_2(results: Results, budgets: Sequence[int]) -> list[PaperStatement]:
    """Test the statements of Section 5.4."""
    sa_ua, ba_ua, sa_me, ba_me = TABLE_2
    middle = sorted(budgets)[len(budgets) // 2]
    alike = [_spread(results, view, budget) for view in ("fac", "pix") for budget in budgets]
    rivals = [
        (f"{where} against {rival.name}", first, second)
        for rival in (sa_ua, ba_ua, sa_me)
        for where, first, second in _pairs(results, ba_me, rival, POOR, budgets)
    ]

    def share(view: str, method: Method, groups: Sequence[str]) -> FloatArray:
        return results.cell(view, method, middle).share(groups)

    fac = [
        (f"{view}, {sa.strategy}", share(view, sa, ["fac"]), share(view, ba, ["fac"]))
        for view in ("pix", "kar", *POOR)
        for sa, ba in ((sa_ua, ba_ua), (sa_me, ba_me))
    ]
    cheap = [
        (f"{view}, {me.alignment} alignment", share(view, me, ["pix", "kar"]), share(view, ua, ["pix", "kar"]))
        for view in ("fou", "zer")
        for me, ua in ((sa_me, sa_ua), (ba_me, ba_ua))
    ]
    statement = "Median elimination concentrates on good and cheap features more than uniform allocation."
    aligned = _pairs(results, ba_me, sa_me, POOR, budgets)
    of_fac = f"share of queries on Fac at {middle} %, sample against budget alignment"
    return [
        at_least("On Fac and Pix all four variants are alike.", alike, "worst against best of the four means", CLOSE),
        at_least("Budget alignment with median elimination is the best on poor views.", rivals, "BA/ME against others"),
        ahead("Budget alignment is ahead of sample alignment on poor views.", aligned, "BA/ME against SA/ME"),
        ahead("Budget alignment avoids the expensive Fac.", fac, of_fac),
        ahead(statement, cheap, f"share of queries on Pix and Kar at {middle} %, the two views of the figure"),
    ]


def _spread(results: Results, view: str, budget: int) -> Pair:
    cells = sorted((results.cell(view, method, budget) for method in TABLE_2), key=lambda cell: cell.mean)
    return f"{view}, {budget} %", cells[0].accuracy, cells[-1].accuracy


def check_synthetic(results: Results, budget: int) -> list[PaperStatement]:
    """Test the statements of Section 5.1."""
    explored, supervised = results.cell(OBSERVED, CSD_ME, budget), results.cell(OBSERVED, SL, budget)
    names = explored.candidates
    best_three = explored.share(names[-3:])
    rank = [_correlate_ranks([pulls[name] for name in names]) for pulls in explored.runs["pulls"]]
    accuracies = ("20 %", explored.accuracy, supervised.accuracy)
    return [
        ahead("ExML has a substantial advantage over SL.", [accuracies], "csd/ME, SL"),
        ahead(
            "The allocation concentrates on informative features (larger angles).",
            [
                ("share of the three best, against one half", best_three, np.full(len(best_three), 50.0)),
                ("rank correlation of angle and pulls, against 0", np.array(rank), np.zeros(len(rank))),
            ],
            "per repetition",
        ),
    ]


def _correlate_ranks(pulls: Sequence[int]) -> float:
    correlation = float(stats.spearmanr(np.arange(len(pulls)), pulls).statistic)
    return correlation if np.isfinite(correlation) else 0.0


def check_realdisp(results: Results, budgets: Sequence[int]) -> list[PaperStatement]:
    """Test the statements of Section 5.3; accuracies are means over sensors, repetition by repetition."""
    sensors, last = results.observed, max(budgets)

    def mean(method: Method, budget: int) -> FloatArray:
        return np.asarray(np.mean([results.cell(sensor, method, budget).accuracy for sensor in sensors], axis=0))

    rivals = [
        (f"{rival.name}, {budget} %", mean(CSD_ME, budget), mean(rival, budget))
        for rival in (SL, AUG_ME, CSD_UA)
        for budget in budgets
    ]
    return [
        at_least("ExML outperforms the others.", rivals, "csd/ME against each, mean over sensors"),
        ahead(
            "With the largest budget ExML beats SL.",
            [(f"{last} %", mean(CSD_ME, last), mean(SL, last))],
            "csd/ME against SL, mean over sensors",
        ),
        _test_modal_selection(results, last),
    ]


def _test_modal_selection(results: Results, budget: int) -> PaperStatement:
    """Test the candidate that is selected most often, for every observed sensor; the paper excuses one of nine."""
    rows = []
    for sensor in results.observed:
        quality = 100.0 * results.attainable(sensor).mean()
        ranked = list(quality.sort_values(ascending=False, kind="stable").index)
        selected = results.cell(sensor, CSD_ME, budget).most_selected
        rows.append((sensor, float(quality[selected]), float(quality[ranked[1]]), selected in ranked[:2]))
    misses = sum(not row[3] for row in rows)
    return PaperStatement(
        "The selected candidate is one of the two best, for all sensors but one.",
        "most often selected candidate by mean attainable accuracy; no test, at most one miss allowed",
        tuple(AccuracyComparison(*row[:3], float("nan"), row[3] or misses <= 1) for row in rows),
    )


def write_verdicts(statements: Sequence[PaperStatement]) -> str:
    """Write all verdicts: a summary line, one line per statement, and the instances that do not hold."""
    parts = [(statement, part) for statement in statements for part in statement.instances]
    misses = [(statement, part) for statement, part in parts if not part.holds]
    lines = [
        (
            statement.statement,
            statement.verdict,
            f"{sum(part.holds for part in statement.instances)} of {len(statement.instances)}",
            statement.test,
        )
        for statement in statements
    ]
    text = (
        f"{sum(statement.reproduced for statement in statements)} of {len(statements)} statements are reproduced "
        f"({len(parts) - len(misses)} of {len(parts)} comparisons hold).\n\n"
    ) + markdown_table(("Statement", "Verdict", "Holds in", "Test"), lines)
    if misses:
        text += "\nWhat does not hold:\n\n"
    return text + "".join(
        f"- {statement.statement} {part.where}: {part.first:.2f} against {part.second:.2f}, p = {part.p:.2g}\n"
        for statement, part in misses
    )


def list_verdicts(statements: Sequence[PaperStatement]) -> list[dict[str, object]]:
    """Return the verdicts for JSON."""
    return [
        {
            "statement": statement.statement,
            "test": statement.test,
            "reproduced": statement.reproduced,
            "instances": [{**asdict(part), "p": None if np.isnan(part.p) else part.p} for part in statement.instances],
        }
        for statement in statements
    ]


CASCADE = "The cascade against its own initial layer (rows of a test set; configurations more than 2 points below)"
SELECTION = "Attainable accuracy with the best, the third best and the selected candidate"


def write_report(experiment: Experiment, results: Results, out: Path) -> tuple[dict[str, Any], str]:
    """Write tables, verdicts and figures into the folder; return the values for JSON, and the text to print."""
    budgets = experiment.budgets
    files: list[Path] = []
    if experiment.name == "mfeat":
        table, verdicts = tables.make_table(results, budgets, TABLE_1, 1), check_table_1(results, budgets)
    elif experiment.name == "costs":
        table, verdicts = tables.make_table(results, budgets, TABLE_2, 2), check_table_2(results, budgets)
        files += save(query_allocation(results, ("fou", "zer"), 20), out / "allocation")
    elif experiment.name == "synthetic":
        table, verdicts = tables.make_table(results, budgets, (SL, CSD_ME)), check_synthetic(results, budgets[0])
        files += _draw_figure_5(experiment, results, out)
    else:
        table, verdicts = tables.make_table(results, budgets, TABLE_1), check_realdisp(results, budgets)
        files += save(allocation_matrix(results, max(budgets)), out / "allocation")
    extra = {}
    if CSD_ME.name in set(table["method"]):
        extra["cascade"] = CASCADE, tables.write_cascade(results, budgets)
    if experiment.attainable:
        extra["selection"] = SELECTION, tables.write_selection(results, budgets)
    main, checked = tables.write_markdown(table), write_verdicts(verdicts)
    for name, text in (
        ("table.md", main),
        ("table.csv", tables.write_csv(table)),
        ("verdicts.md", checked),
        ("verdicts.json", json.dumps(list_verdicts(verdicts), indent=1)),
        *((f"{name}.md", body) for name, (_, body) in extra.items()),
    ):
        write_file(out / name, text)
        files.append(out / name)
    data = {
        "experiment": experiment.name,
        "cells": table[["feature", "budget", "method", "mean", "std"]].to_dict("records"),
        "verdicts": list_verdicts(verdicts),
        "files": [str(file) for file in files],
        "configurations": results.size,
        "settings": experiment.identity(),
    }
    names = f"Results of {results.size} configurations are in {out}: {', '.join(file.name for file in files)}."
    return data, "\n".join([main, *(f"{title}\n\n{body}" for title, body in extra.values()), checked, names])


CLASSES = ("known class 1", "known class 2", "hidden class")


def _draw_figure_5(experiment: Experiment, results: Results, out: Path) -> list[Path]:
    """Draw decisions of the first repetition with the counted thetas, and the allocation over all repetitions.

    Rows are drawn in the plane of the first and the third coordinate.
    """
    assert isinstance(experiment.source, SyntheticSource)
    (budget,) = experiment.budgets
    cascade, supervised = results.cell(OBSERVED, CSD_ME, budget), results.cell(OBSERVED, SL, budget)
    learner = experiment.learner(experiment.source.task(experiment.seed, 0), 0, 0)
    predicted = dict(learner.supervised())[float(supervised.thetas[0])]
    runs = learner.explore(MedianElimination(), Fraction(budget, 100))
    explored = next(run for run in runs if run.cascade_theta == cascade.thetas[0])
    points = experiment.source.rows(experiment.seed, 0)[1].points
    shares = [cascade.share([name]) for name in cascade.candidates]
    with context():
        figure = blank(10.5, 3.4)
        left, middle, right = figure.subplots(1, 3)
        for ax, labels, name, cell in (
            (left, predicted.labels(), "SL", supervised),
            (middle, learner.initial.then(explored.behind).labels(), f"ExML with {explored.selected}", cascade),
        ):
            for k, label in enumerate(CLASSES):
                part = points[labels == k]
                ax.plot(part[:, 0], part[:, 2], MARKERS[k], color=CYCLE[k], markersize=3, label=label)
            title = f"{name}: accuracy {cell.accuracy[0] / 100.0:.1%}, n = {len(points)}"
            ax.set(title=title, xlabel="x₁", ylabel="x₃")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)
        mean, spread = np.mean(shares, axis=1), np.std(shares, axis=1)
        right.bar(cascade.candidates, mean, yerr=spread, color=CYCLE[0], ecolor=GUIDE)
        right.set(xlabel="angle of the candidate", ylabel="share of the budget, %")
        right.set_title(f"Allocation, mean ± standard deviation of {results.size} repetitions", fontsize=8)
    return save(figure, out / "figure_5")


def query_allocation(results: Results, observed: Sequence[str], budget: int) -> Figure:
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
            ax.set_xticks(range(len(names)), [f"{name} ({float(PAPER_COSTS[name]):g})" for name in names])
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
