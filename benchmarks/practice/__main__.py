"""The benchmark of purchases: ``python -m benchmarks.practice [--half H] [--seeds N] [--kinds …] [--methods …]``.

Every table of one half (`split.json`) with every kind of hidden class and every seed. Finished runs are kept in
``out/practice/HALF.csv``, so an interrupted run continues; delete the file to start again. Prints the tables of the
documents. Standard errors are by bootstrap over tables.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.practice.methods import COMPARED, DEFAULTS, METHODS, SINGLE, Prediction, methods_for
from benchmarks.practice.results import COLUMNS, Runs, render
from benchmarks.practice.situations import KINDS, Situation, draw_situation, read_split
from benchmarks.practice.unseen import HINT, there
from exml_sim._internal.threads import one_thread

#: Constants were chosen with seeds below this one.
FIRST_SEED = 3000

#: Normal quantile of 95 % intervals.
Z = 1.959964

#: Methods of every candidate, by the prefixes of their names.
GROUPS = {"single": SINGLE, "compared": COMPARED}

#: Tables of the quick form.
QUICK = ("wine", "iris")


def measure(task: Situation, prediction: Prediction, seconds: float, evaluate: bool) -> list[Any]:
    """Return the numbers of one run, in the order of `COLUMNS`."""
    truth, hidden = task.truth, task.truth == task.known
    called = prediction.labels == task.known
    accuracy = float(np.mean(prediction.labels == truth))
    known = np.nan if prediction.known is None else float(np.mean(prediction.known[~hidden] == truth[~hidden]))
    f1 = 2.0 * (called & hidden).sum() / max(int(called.sum() + hidden.sum()), 1) if hidden.any() else np.nan
    model = prediction.fitted
    spent = np.nan if model is None else float(model.ledger_.spent / task.budget)
    checks = check_report(task, prediction) if evaluate and model is not None else [np.nan] * 6
    return [accuracy, known, float(f1), float(called.mean()), spent, seconds, *checks]


def check_report(task: Situation, prediction: Prediction) -> list[float]:
    """Return whether intervals contain test figures and truth, what is excluded, and whether rows were lost.

    The error of the test figure, which has a limited number of rows, is added to the interval in quadrature. The last
    but one is whether the interval contains the test figure without that.
    """
    model, rows = prediction.fitted, prediction.labels != task.known
    figures = model.evaluation_
    own, readings = figures.metrics[0], figures.hidden_class
    if readings is None or not rows.any() or not own.rows:
        return [np.nan] * 6
    observed, true = (
        float(np.mean(prediction.labels[rows] == labels[rows])) for labels in (task.test_labels, task.truth)
    )
    lost = 0.0
    selection = model.records_[-1].selection
    if selection is not None and selection.subsets is not None and selection.subsets.rounds:
        chosen = [model.bought_[arm] for arm in selection.subsets.rounds[-1].chosen]
        lost = float(len(model.records_[-1].rows) < np.logical_and.reduce(chosen).sum())
    low, high = own.interval
    return [
        float(contains(own.interval, own.accuracy, observed, int(rows.sum()))),
        float(contains(readings.if_hidden, own.accuracy, true, int(rows.sum()))),
        float(readings.excludes_large),
        lost,
        float(low <= observed <= high),
        float(contains(figures.hidden_interval, figures.hidden / figures.rows, float(np.mean(~rows)), len(rows))),
    ]


def contains(interval: tuple[float, float], centre: float, figure: float, rows: int) -> bool:
    """Return whether an interval contains a figure that was measured on a limited number of rows.

    The difference of both has the interval of Newcombe (1998), with Wilson's interval of the figure. Wald's error would
    be 0 for a figure of 100 %, which is one figure of ten.
    """
    middle, z = figure + Z**2 / (2.0 * rows), Z * np.sqrt(figure * (1.0 - figure) / rows + (Z / (2.0 * rows)) ** 2)
    low, high = ((middle + sign * z) / (1.0 + Z**2 / rows) for sign in (-1.0, 1.0))
    below, above = np.hypot(centre - interval[0], high - figure), np.hypot(interval[1] - centre, figure - low)
    return bool(centre - below <= figure <= centre + above)


def run_situation(name: str, kind: str, seed: int, wanted: Sequence[str], check: bool = True) -> list[list[Any]]:
    """Run some methods in one situation; "single" and "compared" stand for every candidate (`GROUPS`).

    The report of the defaults is checked, too, if wanted; its time is not counted.
    """
    task, rows = draw_situation(name, kind, seed), []
    for label, method in methods_for(task).items():
        if label in wanted or any(label.startswith(GROUPS[group]) for group in GROUPS.keys() & set(wanted)):
            start = time.process_time()
            prediction = method(task, seed)
            numbers = measure(task, prediction, time.process_time() - start, check and label == DEFAULTS)
            rows.append([name, kind, seed, label, *numbers])
    return rows


def read_runs(path: Path) -> Runs:
    """Read finished runs."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (row[0], row[1], int(row[2]), row[3]): dict(zip(COLUMNS, map(float, row[4:]), strict=True))
            for row in csv.reader(file)
        }


def is_done(method: str, situation: tuple[str, str, int], done: Runs) -> bool:
    """Return whether a method, or one of `GROUPS` for every candidate, was run in a situation."""
    if method in GROUPS:
        return any(key[:3] == situation and key[3].startswith(GROUPS[method]) for key in done)
    return (*situation, method) in done


def main() -> None:
    """Run what is missing, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice", description=__doc__)
    parser.add_argument("--half", choices=("reporting", "choosing"), default="reporting")
    parser.add_argument("--quick", action="store_true", help="two small tables, one seed")
    parser.add_argument("--seeds", type=int, default=3, help="seeds per table and kind")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--methods", nargs="+", default=[*METHODS, "single"])
    parser.add_argument("--rotate", action="store_true", help="one seed per table, so that budgets rotate over tables")
    parser.add_argument("--unchecked", action="store_true", help="leave out the checks of the report")
    parser.add_argument("--report", action="store_true", help="run nothing; print what is there")
    parser.add_argument("--out", type=Path, default=Path("out/practice"))
    given = parser.parse_args()
    if not given.quick and not there():
        parser.error(HINT)
    given.out.mkdir(parents=True, exist_ok=True)
    names = QUICK if given.quick else read_split()[given.half]
    path = given.out / ("quick.csv" if given.quick else f"{given.half}.csv")
    done = read_runs(path)
    seeds = range(given.first_seed, given.first_seed + (1 if given.quick else given.seeds))
    if not given.report:
        with one_thread(), path.open("a", newline="", encoding="utf-8") as file:
            for place, name in enumerate(names):
                for seed in [seeds[place % len(seeds)]] if given.rotate else seeds:
                    for kind in given.kinds:
                        wanted = [m for m in given.methods if not is_done(m, (name, kind, seed), done)]
                        if wanted:
                            rows = run_situation(name, kind, seed, wanted, not given.unchecked)
                            csv.writer(file).writerows(rows)
                            file.flush()
    print(render(read_runs(path)))


if __name__ == "__main__":
    main()
