"""The benchmark of purchases: ``python -m benchmarks.practice [--quick | --many] [--seeds N] [--jobs N] [--ablate]``.

Every finished run is kept in ``out/practice/runs.csv``, so that a run that was interrupted goes on where it stopped;
delete the file, or the lines of a way, to run it again. Prints the tables, the numbers the defaults are judged by, and
writes pictures: for the tables that constants were chosen on, at seeds that were not used for it, and for unseen ones.
With --many: sixty-six tables that nobody prepared (`benchmarks.practice.many`).
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.practice.judgement import Runs, bars, table
from benchmarks.practice.many import judge
from benchmarks.practice.picture import draw
from benchmarks.practice.situations import SETTINGS, UNSEEN_SETTINGS, Setting, situation
from benchmarks.practice.unseen import HINT, there
from benchmarks.practice.ways import ways
from exml_sim import ExMLClassifier
from exml_sim.datasets import make_synthetic
from exml_sim.oracle import ArrayOracle

OUT = Path("out/practice")
QUICK = ("iris", "wine")

#: Constants were chosen with smaller seeds.
FIRST_SEED = 2000


def jobs(
    settings: tuple[Setting, ...], seeds: int, ablate: bool, done: Runs
) -> Iterator[tuple[Setting, int, list[str]]]:
    """Settings and seeds with the ways that are still to be run, seed by seed."""
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
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
    parser.add_argument("--quick", action="store_true", help="two small tables")
    parser.add_argument("--seeds", type=int, help="20, or 2 of the quick form, 6 of many, unless given")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ablate", action="store_true", help="also the defaults without each of their parts")
    parser.add_argument("--many", action="store_true", help="many tables as they come, instead")
    parser.add_argument("--report", action="store_true", help="run nothing: judge what is there")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.many:
        if not there():
            parser.error(HINT)
        print(judge(given.out / "many.csv", 0 if given.report else given.seeds or 6, given.jobs))
        return
    seeds = given.seeds or (2 if given.quick else 20)
    if not given.quick and not there():
        print(HINT)
    groups = {
        "practice": tuple(one for one in SETTINGS if not given.quick or one.table in QUICK),
        "unseen": UNSEEN_SETTINGS if there() and not given.quick else (),
    }
    settings = groups["unseen"] + groups["practice"]
    path = given.out / "runs.csv"
    if not given.report:
        from joblib import Parallel, delayed

        work = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
        todo = (delayed(run)(*one, given.ablate) for one in jobs(settings, seeds, given.ablate, read(path)))
        with path.open("a", newline="", encoding="utf-8") as file:
            for lines in work(todo):
                csv.writer(file).writerows(lines)
                file.flush()
    for name, some in groups.items():
        if some:
            _judge(name, some, read(path), given.out)
    print(f"702 rows, 5 candidates, model='rejection': {seconds_of_a_fit():.1f} s of processor time, second fit")


def seconds_of_a_fit() -> float:
    """Processor time of a purchase and fit with the paper's model, code compiled by one before it."""
    rows = make_synthetic(234, angles=[10, 30, 50, 70, 90], rng=0)
    values = {one.name: one.values for one in rows.candidates}
    for _ in range(2):
        start = time.process_time()
        ExMLClassifier(budget_ratio=0.2, model="rejection", random_state=0).fit(rows.X, rows.y, ArrayOracle(values))
    return time.process_time() - start


def _judge(name: str, settings: tuple[Setting, ...], runs: Runs, out: Path) -> None:
    """Print and write the table, the numbers and the picture of one group of settings."""
    done = [one for one in settings if any(key[0] == one.name and key[2] == "defaults" for key in runs)]
    text = table(done, runs) + "\n" + bars(done, runs)
    print(text)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    draw(done, runs, out / f"{name}.png")


if __name__ == "__main__":
    main()
