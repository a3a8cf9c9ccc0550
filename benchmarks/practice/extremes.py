"""Candidates that are noise, and a large table of mixed columns: ``python -m benchmarks.practice.extremes``.

In every situation of one half the rows of every candidate are permuted. A run passes if it spends at most half of the
budget and says that no candidate explains the labels. The large table has 10,000 rows, 22 observed columns of numbers,
texts, booleans and dates with missing cells, and 4 candidates of 2 columns each. The processor time of a whole
``exml explore`` is printed.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.practice.__main__ import FIRST_SEED
from benchmarks.practice.methods import explore
from benchmarks.practice.situations import BUDGETS, KINDS, Situation, draw_situation, read_split
from exml_sim._internal.threads import one_thread

#: Rows of the large table.
LARGE_TABLE_ROWS = 10_000


def permute_candidates(task: Situation, seed: int) -> Situation:
    """Permute the rows of every candidate, so that none says anything about labels."""
    rng = np.random.default_rng([seed, 2])
    train, test = (
        {name: values[rng.permutation(len(values))] for name, values in table.items()}
        for table in (task.candidates, task.test)
    )
    return replace(task, candidates=train, test=test)


def measure_noise(half: str, seeds: int, rotate: bool) -> None:
    """Print how often runs on noise stop and say so, by budget."""
    passed: dict[Fraction, list[bool]] = {budget: [] for budget in BUDGETS}
    all_seeds = range(FIRST_SEED, FIRST_SEED + seeds)
    for place, name in enumerate(read_split()[half]):
        for seed in [all_seeds[place % seeds]] if rotate else all_seeds:
            for kind in KINDS:
                task = permute_candidates(draw_situation(name, kind, seed), seed)
                model = explore(task, seed).fitted
                says = "candidates_explain_nothing" in [note.code for note in model.notes_]
                passed[BUDGETS[seed % 3]].append(says and model.ledger_.spent <= task.budget / 2)
    print("Runs on noise that spend at most half of the budget and say so:")
    for budget, runs in passed.items():
        print(f"budget of {float(budget):.0%}: {np.mean(runs):.0%} of {len(runs)}")
    print(f"all: {np.mean(np.concatenate(list(passed.values()))):.0%}")


def write_large_table(path: Path) -> list[str]:
    """Write the large table; return the columns of the candidates."""
    rng, n = np.random.default_rng(0), LARGE_TABLE_ROWS
    known, hidden = rng.integers(0, 3, n), rng.random(n) < 0.2
    truth, labels = np.where(hidden, 3, known), np.where(hidden, rng.integers(0, 3, n), known)
    columns: dict[str, list[str]] = {"y": [f"class {label}" for label in labels]}
    for i in range(10):
        cells = np.round(rng.normal(size=n) + 0.3 * truth * (i % 3), 4).astype(str)
        columns[f"number{i}"] = np.where(rng.random(n) < 0.02, "", cells).tolist()
    for i in range(6):
        columns[f"text{i}"] = [f"level {v}" for v in rng.integers(0, 6, n) + (truth if i % 2 else 0)]
    for i in range(4):
        columns[f"boolean{i}"] = rng.choice(["yes", "no"], n).tolist()
    for i in range(2):
        columns[f"date{i}"] = (np.datetime64("2020-01-01") + rng.integers(0, 1500, n)).astype(str).tolist()
    measured = [f"measured{i}" for i in range(8)]
    for i, name in enumerate(measured):
        columns[name] = np.round(rng.normal(size=n) + (1.2 if i == 5 else 0.2) * truth, 4).astype(str).tolist()
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return measured


def measure_large_table() -> None:
    """Print the processor time of an exploration of the large table."""
    from exml_sim.cli import main as run_command

    with TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        measured = write_large_table(table)
        pairs = [f"c{i}={measured[i]},{measured[i + 1]}:{1 + i % 3}" for i in range(0, len(measured), 2)]
        candidates = [part for pair in pairs for part in ("--candidate", pair)]
        observed = ["--label", "y", "--observed", "number*,text*,boolean*,date*", "--budget", "20%", "--quiet"]
        start = time.process_time()
        try:
            run_command(["explore", str(table), *observed, *candidates, "--out", str(Path(folder) / "out")])
        except SystemExit as stop:
            print(f"exml explore of {LARGE_TABLE_ROWS:,} rows ended with {stop.code}")
        print(f"{time.process_time() - start:.1f} s of processor time")


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice.extremes", description=__doc__)
    parser.add_argument("--half", choices=("reporting", "choosing"), default="reporting")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rotate", action="store_true", help="one seed per table, so that budgets rotate over tables")
    given = parser.parse_args()
    measure_large_table()
    with one_thread():
        measure_noise(given.half, given.seeds, given.rotate)


if __name__ == "__main__":
    main()
