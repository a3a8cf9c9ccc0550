"""Write tables, verdicts and figures of an experiment into its folder."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim._internal.threads import one_thread
from simulations.figures.style import save
from simulations.reproduction import _figures as figures
from simulations.reproduction import _result_tables as tables
from simulations.reproduction import _statements as statements
from simulations.reproduction._results import CSD_ME, SL, TABLE_1, TABLE_2, Results
from simulations.reproduction._sources import OBSERVED, PAPER_COSTS, SyntheticSource
from simulations.reproduction._statements import PaperStatement
from simulations.reproduction.experiment import Experiment

if TYPE_CHECKING:
    from pandas import DataFrame

CASCADE = "The cascade against its own initial layer (rows of a test set; configurations more than 2 points below)"
#: Steps of t-SNE in Figure 4.
STEPS = 1000
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
        (out / name).write_text(text, encoding="utf-8")
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


#: Table, verdicts, and the files of figures.
Parts = tuple["DataFrame", list[PaperStatement], list[Path]]


def _report_table_1(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_1, tables.PRINTED_TABLE_1)
    files = save(figures.accuracy_by_budget(table), out / "accuracy")
    return table, statements.check_table_1(results, experiment.budgets), files


def _report_table_2(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_2, tables.PRINTED_TABLE_2)
    files = save(figures.accuracy_by_budget(table), out / "accuracy")
    costs = {name: f"{float(cost):g}" for name, cost in PAPER_COSTS.items()}
    files += save(figures.query_allocation(results, ("fou", "zer"), 20, costs), out / "allocation")
    return table, statements.check_table_2(results, experiment.budgets), files


def _report_realdisp(experiment: Experiment, results: Results, out: Path) -> Parts:
    table = tables.make_table(results, experiment.budgets, TABLE_1)
    files = save(figures.accuracy_by_budget(table), out / "accuracy")
    files += save(figures.allocation_matrix(results, max(experiment.budgets)), out / "allocation")
    return table, statements.check_realdisp(results, experiment.budgets), files


def _report_synthetic(experiment: Experiment, results: Results, out: Path) -> Parts:
    (budget,) = experiment.budgets
    table = tables.make_table(results, experiment.budgets, (SL, CSD_ME))
    files = _draw_figure_4(experiment, out) + _draw_figure_5(experiment, results, out)
    return table, statements.check_synthetic(results, budget), files


def _draw_figure_4(experiment: Experiment, out: Path) -> list[Path]:
    """Draw the data of the first repetition, and t-SNE of what a learner with all values of a candidate would see."""
    from sklearn.manifold import TSNE

    source = experiment.source
    assert isinstance(source, SyntheticSource)
    train, _ = source.rows(experiment.seed, 0)
    values = source.groups(train)
    # 300 points: the threads of t-SNE would wait for each other, for minutes on a busy machine.
    with one_thread():
        augmented = {name: np.hstack([values[OBSERVED], values[name]]) for name in source.candidates(OBSERVED)}
        embedding = TSNE(random_state=0, init="pca", max_iter=STEPS)
        embedded = {name: embedding.fit_transform(rows) for name, rows in augmented.items()}
    return save(figures.synthetic_data(train, embedded), out / "figure_4")


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
    picture = figures.synthetic_results(
        test.points,
        (predicted.labels(), supervised.accuracy[0] / 100.0),
        (learner.initial.then(explored.behind).labels(), cascade.accuracy[0] / 100.0, explored.selected),
        {name: cascade.share([name]) for name in cascade.candidates},
    )
    return save(picture, out / "figure_5")
