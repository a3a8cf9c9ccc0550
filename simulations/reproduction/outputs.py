"""What an experiment leaves in its folder: tables, verdicts and figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim.threads import one_thread
from simulations.figures.style import save
from simulations.reproduction import figures as figures
from simulations.reproduction import printed, statements, tables
from simulations.reproduction.cells import CSD_ME, SL, TABLE_1, TABLE_2, cell
from simulations.reproduction.experiment import Experiment
from simulations.reproduction.mfeat import PAPER_COSTS
from simulations.reproduction.results import Configuration
from simulations.reproduction.statements import Statement
from simulations.reproduction.synthetic import OBSERVED, SyntheticSource, groups
from simulations.reproduction.tables import Row

CASCADE = "The cascade against its own initial layer (rows of a test set; configurations more than 2 points below)"
#: Steps of t-SNE in Figure 4.
STEPS = 1000
SELECTION = "Attainable accuracy with the best, the third best and the selected candidate"


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The results of an experiment in words and numbers, and the files that hold them.

    Attributes
    ----------
    lines, statements
        The table, and what Section 5 says in words.
    extra
        Name of a file -> its title and a further table.
    files
        What was written.
    """

    name: str
    lines: Sequence[Row]
    statements: Sequence[Statement]
    extra: dict[str, tuple[str, str]]
    files: Sequence[Path]

    def text(self) -> str:
        """Table, further tables and verdicts, as Markdown."""
        parts = [tables.markdown(self.lines), *(f"{title}\n\n{body}" for title, body in self.extra.values())]
        return "\n".join([*parts, statements.markdown(self.statements)])

    def data(self) -> dict[str, Any]:
        """The same for JSON."""
        cells = [
            {"feature": line.observed, "budget": line.budget, "method": method.name, "mean": one.mean, "std": one.std}
            for line in self.lines
            for method, one in zip(line.methods, line.cells, strict=True)
        ]
        return {
            "experiment": self.name,
            "cells": cells,
            "verdicts": statements.as_data(self.statements),
            "files": [str(file) for file in self.files],
        }


def report(experiment: Experiment, configurations: Sequence[Configuration], out: Path, thetas_by: str) -> Report:
    """Write everything into the folder.

    Parameters
    ----------
    thetas_by
        Which theta counts in hindsight, see `cells.THETAS_BY`.
    """
    make = {"mfeat": _table_1, "costs": _table_2, "synthetic": _synthetic, "realdisp": _realdisp}[experiment.name]
    lines, said, files = make(experiment, configurations, out, thetas_by)
    extra = {}
    if CSD_ME in lines[0].methods:
        extra["cascade"] = CASCADE, tables.cascade_markdown(configurations, lines)
    if experiment.attainable:
        extra["selection"] = SELECTION, tables.selection_markdown(configurations, lines)
    for name, text in (
        ("table.md", tables.markdown(lines)),
        ("table.csv", tables.to_csv(lines)),
        ("verdicts.md", statements.markdown(said)),
        ("verdicts.json", json.dumps(statements.as_data(said), indent=1)),
        *((f"{name}.md", body) for name, (_, body) in extra.items()),
    ):
        (out / name).write_text(text, encoding="utf-8")
        files.append(out / name)
    return Report(experiment.name, lines, said, extra, files)


Made = tuple[list[Row], list[Statement], list[Path]]


def _table_1(experiment: Experiment, found: Sequence[Configuration], out: Path, thetas_by: str) -> Made:
    lines = tables.rows(found, experiment.source.observed, experiment.budgets, TABLE_1, thetas_by, printed.TABLE_1)
    files = save(figures.accuracy_by_budget(lines, printed.TABLE_1), out / "accuracy")
    return lines, statements.of_table_1(found, experiment.budgets, thetas_by), files


def _table_2(experiment: Experiment, found: Sequence[Configuration], out: Path, thetas_by: str) -> Made:
    lines = tables.rows(found, experiment.source.observed, experiment.budgets, TABLE_2, thetas_by, printed.TABLE_2)
    files = save(figures.accuracy_by_budget(lines, printed.TABLE_2), out / "accuracy")
    costs = {name: f"{float(cost):g}" for name, cost in PAPER_COSTS.items()}
    files += save(figures.query_allocation(found, ("fou", "zer"), TABLE_2, 20, costs, thetas_by), out / "allocation")
    return lines, statements.of_table_2(found, experiment.budgets, thetas_by), files


def _realdisp(experiment: Experiment, found: Sequence[Configuration], out: Path, thetas_by: str) -> Made:
    sensors = experiment.source.observed
    lines = tables.rows(found, sensors, experiment.budgets, TABLE_1, thetas_by)
    files = save(figures.accuracy_by_budget(lines, None), out / "accuracy")
    files += save(figures.allocation_matrix(found, sensors, max(experiment.budgets), thetas_by), out / "allocation")
    return lines, statements.of_realdisp(found, sensors, experiment.budgets, thetas_by), files


def _synthetic(experiment: Experiment, found: Sequence[Configuration], out: Path, thetas_by: str) -> Made:
    (budget,) = experiment.budgets
    lines = tables.rows(found, (OBSERVED,), (budget,), (SL, CSD_ME), thetas_by)
    files = _figure_4(experiment, out) + _figure_5(experiment, found, out, thetas_by)
    return lines, statements.of_synthetic(found, budget, thetas_by), files


def _figure_4(experiment: Experiment, out: Path) -> list[Path]:
    """The data of the first repetition; t-SNE of what a learner with all values of a candidate would see."""
    from sklearn.manifold import TSNE

    assert isinstance(experiment.source, SyntheticSource)
    train, _ = experiment.source.rows(experiment.seed, 0)
    values = groups(train)
    # 300 points: the threads of t-SNE would wait for each other, for minutes on a busy machine.
    with one_thread():
        seen = {name: np.hstack([values[OBSERVED], values[name]]) for name in experiment.source.candidates(OBSERVED)}
        embedding = TSNE(random_state=0, init="pca", max_iter=STEPS)
        embedded = {name: embedding.fit_transform(rows) for name, rows in seen.items()}
    return save(figures.synthetic_data(train, embedded), out / "figure_4")


def _figure_5(experiment: Experiment, found: Sequence[Configuration], out: Path, thetas_by: str) -> list[Path]:
    """Decisions of the first repetition with the thetas that count there, and the allocation over all repetitions."""
    assert isinstance(experiment.source, SyntheticSource)
    (budget,) = experiment.budgets
    ours = cell(found, OBSERVED, CSD_ME, budget, thetas_by)
    theirs = cell(found, OBSERVED, SL, budget, thetas_by)
    learner = experiment.learner(experiment.source.task(experiment.seed, 0), 0, 0)
    supervised = dict(learner.supervised())[float(theirs.thetas[0])]
    runs = learner.explore(experiment.explorings[0].build(), Fraction(budget, 100))
    explored = next(run for run in runs if run.cascade_theta == ours.thetas[0])
    shares = {
        name: np.array([run.pulls[name] / sum(run.pulls.values()) for run in ours.runs]) for name in ours.runs[0].pulls
    }
    _, test = experiment.source.rows(experiment.seed, 0)
    picture = figures.synthetic_results(
        test.points,
        (supervised.labels(), theirs.accuracy[0] / 100.0),
        (learner.initial.then(explored.behind).labels(), ours.accuracy[0] / 100.0, explored.selected),
        shares,
    )
    return save(picture, out / "figure_5")
