"""The benchmark of purchases: ``python -m benchmarks.practice [--quick] [--seeds N] [--jobs N] [--ablate]``.

Every finished run is kept in ``out/practice/runs.csv``, so that a run that was interrupted goes on where it stopped;
delete the file, or the lines of a way, to run it again. Prints the table, the numbers the defaults are judged by, and
writes a picture.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from benchmarks.practice.judgement import Runs, bars, table
from benchmarks.practice.picture import draw
from benchmarks.practice.situations import SETTINGS, Setting, situation
from benchmarks.practice.ways import ways

OUT = Path("out/practice")
QUICK = ("iris", "wine")


def jobs(
    settings: tuple[Setting, ...], seeds: int, ablate: bool, done: Runs
) -> Iterator[tuple[Setting, int, list[str]]]:
    """Settings and seeds with the ways that are still to be run, seed by seed."""
    for seed in range(seeds):
        for setting in settings:
            todo = [way for way in ways(situation(setting, seed), ablate) if (setting.name, seed, way) not in done]
            if todo:
                yield setting, seed, todo


def run(setting: Setting, seed: int, todo: list[str], ablate: bool) -> list[tuple[str, int, str, float]]:
    """Accuracies of some ways in one situation."""
    task = situation(setting, seed)
    known = ways(task, ablate)
    return [(setting.name, seed, way, known[way](task, seed)) for way in todo]


def read(path: Path) -> Runs:
    """Finished runs."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {(name, int(seed), way): float(accuracy) for name, seed, way, accuracy in csv.reader(file)}


def main() -> None:
    """Run what is missing, and judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small tables and two seeds")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ablate", action="store_true", help="also the defaults without each of their parts")
    parser.add_argument("--report", action="store_true", help="run nothing: judge what is there")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    seeds = 2 if given.quick else given.seeds
    settings = tuple(one for one in SETTINGS if not given.quick or one.table in QUICK)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "runs.csv"
    if not given.report:
        from joblib import Parallel, delayed

        work = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
        todo = (delayed(run)(*one, given.ablate) for one in jobs(settings, seeds, given.ablate, read(path)))
        with path.open("a", newline="", encoding="utf-8") as file:
            for lines in work(todo):
                csv.writer(file).writerows(lines)
                file.flush()
    runs = {key: value for key, value in read(path).items() if key[1] < seeds}
    names = [one for one in settings if any((one.name, seed, "defaults") in runs for seed in range(seeds))]
    print(table(names, runs))
    print(bars(names, runs))
    (given.out / "table.md").write_text(table(names, runs) + "\n" + bars(names, runs), encoding="utf-8")
    draw(names, runs, given.out / "practice.png")


if __name__ == "__main__":
    main()
