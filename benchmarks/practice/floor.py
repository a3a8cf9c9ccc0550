"""What a selection of candidates can reach: ``python -m benchmarks.practice.floor``.

Reads the runs of ``python -m benchmarks.practice --kinds full --methods defaults single compared``. Three buyers know
more than any rule:

known
    the candidate that was best with the other seeds of the table, bought with all the money;
compared
    the same candidate with the money that is left after the first round of a comparison of all candidates;
best on test rows
    the candidate that is best on the test rows of the same seed, with all the money.

The sampling error of the bar "as good as a random candidate on all tables" is the frequency with which the first two
buyers lose against the mean of all candidates.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.practice.__main__ import read_runs
from benchmarks.practice.methods import COMPARED, DEFAULTS, SINGLE
from benchmarks.practice.results import Runs, mean_with_error
from benchmarks.practice.situations import BUDGETS

#: A situation: table, kind and seed.
Key = tuple[str, str, int]


def arrange(runs: Runs, prefix: str) -> dict[Key, dict[str, float]]:
    """Arrange the accuracies of single candidates by situation."""
    table: dict[Key, dict[str, float]] = {}
    for (name, kind, seed, method), numbers in runs.items():
        if method.startswith(prefix):
            table.setdefault((name, kind, seed), {})[method.removeprefix(prefix)] = numbers["accuracy"]
    return table


def choose_by_other_seeds(singles: dict[Key, dict[str, float]]) -> dict[Key, str]:
    """Choose the candidate with the best mean accuracy in the other seeds of a table."""
    chosen = {}
    for key in singles:
        others = [other for other in singles if other[:2] == key[:2] and other != key]
        if others:
            chosen[key] = max(
                sorted(singles[key]), key=lambda c: float(np.mean([singles[o][c] for o in others if c in singles[o]]))
            )
    return chosen


def measure_floor(runs: Runs) -> str:
    """Return the accuracies of all buyers relative to a random candidate and to the best on test rows, as Markdown."""
    singles, compared = arrange(runs, SINGLE), arrange(runs, COMPARED)
    chosen = choose_by_other_seeds(singles)
    accuracy = {key[:3]: numbers["accuracy"] for key, numbers in runs.items() if key[3] == DEFAULTS}
    keys = [key for key in chosen if key in compared and key in accuracy]
    buyers = {
        "defaults": {key: accuracy[key] for key in keys},
        "known": {key: singles[key][chosen[key]] for key in keys},
        "compared": {key: compared[key][chosen[key]] for key in keys},
        "best on test rows": {key: max(singles[key].values()) for key in keys},
    }
    random = {key: float(np.mean(list(singles[key].values()))) for key in keys}
    lines = [
        f"{len({key[0] for key in keys})} tables, {len(keys)} situations; "
        "points behind the best on test rows (standard error)",
        "",
        "| buyer | tables as good as random | situations | "
        + " | ".join(f"{float(budget):.0%} budget" for budget in BUDGETS)
        + " |",
        "|---" * (3 + len(BUDGETS)) + "|",
    ]
    for name, values in buyers.items():
        by_table = {table: [values[k] - random[k] for k in keys if k[0] == table] for table in {k[0] for k in keys}}
        tables = np.mean([np.mean(apart) >= 0.0 for apart in by_table.values()])
        regret = []
        for place in range(len(BUDGETS)):
            apart = {k: buyers["best on test rows"][k] - values[k] for k in keys if k[2] % len(BUDGETS) == place}
            regret.append("{:.1f} ({:.1f})".format(*mean_with_error(apart)))
        situations = np.mean([values[k] >= random[k] for k in keys])
        lines.append(f"| {name} | {tables:.0%} | {situations:.0%} | {' | '.join(regret)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the floor from the runs of one half."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice.floor", description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("out/practice/reporting.csv"))
    print(measure_floor(read_runs(parser.parse_args().runs)))


if __name__ == "__main__":
    main()
