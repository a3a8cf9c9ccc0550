"""Processor time of bounds, figure and report beside that of the trials: `python -m benchmarks.reports [--quick]`.

Two limits: a third of the trials' time for the main study, and 5 s for a finished study of a table (600 rows, four
strategies) that is run again. The exit code is 1 if one is broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner

from exml_sim.cli.study import command
from exml_sim.datasets import make_synthetic
from exml_sim.engine import run
from simulations.budget_vs_failure import make_study

#: Share of the trials' time that the rest of the main study may take, and seconds of a finished table study.
MAX_SHARE, MAX_SECONDS = 1 / 3, 5.0
TABLE_STUDY = """
name = "table"
strategies = ["uniform_allocation", "median_elimination", "successive_rejects", "ocba"]
trials = 20
pools = [{ kind = "table", file = "table.csv", target = "y", observed = ["x1", "x2"], candidates = CANDIDATES }]
scores = [{ score = "objective", theta = 0.3 }]
budgets = { per_arm = [10, 30] }
"""


def call(*arguments: str) -> float:
    """Run ``exml study`` in this process and return its processor seconds."""
    start = time.process_time()
    result = CliRunner().invoke(command, [*arguments, "--quiet", "--n-jobs", "1"])
    if result.exit_code:
        raise SystemExit(f"exml study failed: {result.output}{result.exception}")
    return time.process_time() - start


def write_table_study(folder: Path) -> Path:
    """Write a table with 600 rows and eight candidates, and its study."""
    population = make_synthetic(200, angles=tuple(range(10, 90, 10)), rng=0)
    names = [f"c{i}" for i in range(len(population.candidates))]
    columns = [candidate.values[:, 0] for candidate in population.candidates]
    lines = [",".join(["x1", "x2", *names, "y"])]
    for i, label in enumerate(population.y):
        row = [*map(float, population.X[i, :2]), *(float(column[i]) for column in columns), int(label)]
        lines.append(",".join(map(repr, row)))
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    file = folder / "table.toml"
    file.write_text(TABLE_STUDY.replace("CANDIDATES", str([[name] for name in names])), encoding="utf-8")
    return file


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description="Processor time of bounds, figure and report.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials; the limits do not count")
    trials = 1_000 if parser.parse_args(arguments).quick else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call("--out", str(folder / "warm"), "--quick", "--no-bounds")  # imports, compiled code, fonts
        start = time.process_time()
        run(make_study(trials), store=folder / "study.sqlite", n_jobs=1, progress=False).close()
        spent = time.process_time() - start
        options = ["--out", str(folder), *(["--quick"] if trials == 1_000 else [])]
        first, again = call(*options), call(*options)
        sys.stdout.write(
            f"main study, {trials:,} trials per cell: {spent:.1f} s of trials, {first:.1f} s of bounds, figure and "
            f"report ({first / spent:.0%}, at most {MAX_SHARE:.0%}); run again {again:.1f} s\n"
        )
        sys.stdout.flush()
        file, out = str(write_table_study(folder)), str(folder / "table")
        first_table, table = call(file, "--out", out), call(file, "--out", out)
    sys.stdout.write(
        f"study of a table with 600 rows and 4 strategies: {first_table:.1f} s; finished and run again {table:.1f} s "
        f"(at most {MAX_SECONDS} s)\n"
    )
    return int(trials > 1_000 and not (first <= MAX_SHARE * spent and table <= MAX_SECONDS))


if __name__ == "__main__":
    sys.exit(main())
