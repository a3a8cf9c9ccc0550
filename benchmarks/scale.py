"""Growth with the rows: ``python -m benchmarks.scale [--quick | --huge | --explore | --pools]``.

The rejection classifier with a Gaussian kernel in ten dimensions, on the path that it chooses itself. The peers, in the
same process and on the same rows: scikit-learn's Nystroem with as many components followed by LinearSVC, and SVC at
10,000 rows. Where nothing is rejected the model is a support vector machine with C = 1/(8 C_h), so the accuracies may
be compared at theta = 0.4. Every size runs in a process of its own, after a small fit that loads the compiled code;
seconds are processor time on one thread, next to the wall clock, and memory is the largest the process held.

With --explore the command `exml explore` is timed instead, from reading a table to writing its results: five candidates
of which one tells the hidden class apart, a budget of 20 %, and 1,000 rows with a hundred candidates. With --pools it
is trials on a pool of 20,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# One thread for everybody, as in the solver's own benchmark.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.strategies import BUDGET, features
from exml_sim import kernels
from exml_sim.bandit.rows import FeaturePool
from exml_sim.rejection import DEFAULT_RANK, RejectionClassifier, factorise, memory_needed, solve, solve_low_rank
from exml_sim.strategies import MedianElimination

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
TEST_ROWS = 10_000
FEW = 100  # landmarks where accuracy is wanted quickly, not a bound
THETA, C = 0.4, 0.25


def table(m: int, d: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows; the sign of a smooth function of three coordinates, with noise: no classifier gets beyond 86 %."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    score = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, -1] + 0.5 * X[:, -1]
    return X, np.where(score + 0.5 * rng.normal(size=m) > 0.0, 1.0, -1.0)


def time_run(job: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, processor seconds, wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = job()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def peak() -> float:
    """Largest memory that this process held so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def one_size(m: int) -> dict[str, float]:
    """Fit at one size, with the peers."""
    warnings.simplefilter("ignore")
    X, y = table(m + TEST_ROWS)
    test, truth, X, y = X[m:], y[m:], X[:m], y[:m]
    for rank in (50, None):
        RejectionClassifier(rank=rank).fit(X[:500], y[:500])
    ours = RejectionClassifier(theta=THETA, C_h=C, C_g=C)
    before = peak()
    _, cpu, wall = time_run(lambda: ours.fit(X, y))
    by_name = {"cpu": cpu, "wall": wall, "memory": peak(), "added": peak() - before}
    solution = ours.solution_
    rank = solution.rank
    by_name |= {
        "rank": rank or 0,
        "gap": solution.gap / solution.objective,
        "accuracy": ours.score(test, truth),
        "promised": memory_needed(m, rank, d=10) / 2**30,
    }
    parts = min(rank or DEFAULT_RANK, m)
    peer = make_pipeline(
        Nystroem(gamma=1.0 / ours.gamma_, n_components=parts, random_state=0),
        LinearSVC(C=1.0 / (8.0 * C), loss="hinge", random_state=0),
    )
    _, by_name["peer"], _ = time_run(lambda: peer.fit(X, y))
    by_name["peer_accuracy"] = peer.score(test, truth)
    if m == 10_000:
        svc = SVC(C=1.0 / (8.0 * C), gamma=1.0 / ours.gamma_)
        _, by_name["svc"], _ = time_run(lambda: svc.fit(X, y))
        by_name["svc_accuracy"] = svc.score(test, truth)
        few = RejectionClassifier(theta=THETA, C_h=C, C_g=C, rank=FEW)
        _, by_name["few"], _ = time_run(lambda: few.fit(X, y))
        by_name["few_accuracy"] = few.score(test, truth)
    return by_name


def run_in_process(m: int) -> dict[str, float]:
    """The same in a fresh process, so that its peak memory is its own."""
    run = subprocess.run([sys.executable, "-m", "benchmarks.scale", "--one", str(m)], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{m} rows failed: {run.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(run.stdout))


def certificates(m: int) -> list[str]:
    """At a size that the exact path can check: are the bounds true, and how wide are they at the default rank?"""
    lines = []
    for d in (2, 3, 5, 10):
        X, y = table(m, d, seed=d)
        factor = factorise(X)
        K = kernels.gaussian(X, gamma=factor.gamma)
        spectrum = np.linalg.eigvalsh(K)
        floor = float(np.sum(spectrum[: -factor.rank]) / np.sum(spectrum))
        true, gaps = 0, []
        for theta in (0.1, 0.3, 0.45):
            for c in (0.1, 1.0, 10.0):
                low = solve_low_rank(factor, y, theta, penalty=(c, c))
                exact = solve(K, y, theta, penalty=(c, c))
                true += low.lower_bound <= exact.objective and exact.lower_bound <= low.objective
                gaps.append(low.gap / low.objective)
        left = f"{factor.left_out:.1e} | {max(floor, 0.0):.1e}"
        lines.append(f"| {d} | {left} | {true} of {len(gaps)} | {np.median(gaps):.1e} | {max(gaps):.1e} |")
    return lines


def write_table(path: Path, m: int, candidates: int) -> None:
    """Two known classes and a hidden one, five observed columns, three of every candidate; the second one is good."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=m)
    labels = np.where(truth < 2, truth, rng.integers(2, size=m))
    X = rng.normal(size=(m, 5 + 3 * candidates))
    X[:, 0] += 1.2 * (truth == 1)
    X[:, 2] += 0.7 * (truth == 2)
    for k in range(candidates):
        X[:, 5 + 3 * k] += (3.0 if k == 1 else 0.5) * (truth == 2)
        X[:, 6 + 3 * k] += 0.3 * (truth == 1)
    names = [f"x{i}" for i in range(5)] + [f"c{k}_{j}" for k in range(candidates) for j in range(3)]
    lines = [",".join(["y", *names])]
    lines += [",".join(["ab"[label], *(f"{value:.6g}" for value in row)]) for label, row in zip(labels, X, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def explore(m: int, candidates: int) -> tuple[float, float, float]:
    """Processor seconds, wall seconds and GiB of the command on one table."""
    with tempfile.TemporaryDirectory() as folder:
        table_file, out = Path(folder) / "table.csv", Path(folder) / "out"
        write_table(table_file, m, candidates)
        command = [sys.executable, "-m", "exml_sim", "explore", str(table_file), "--label", "y", "--observed", "x*"]
        for k in range(candidates):
            command += ["--candidate", f"c{k}=c{k}_*:1"]
        command += ["--budget", "20%", "--out", str(out), "--quiet"]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise RuntimeError(f"exml explore failed on {m} rows")
        return used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 2**20


def explorations(quick: bool) -> None:
    """Print the table of `exml explore`."""
    print("### exml explore, defaults, budget 20 %\n")
    print("| rows | candidates | s (wall) | GiB |\n|---|---|---|---|")
    for m, candidates in ((1_000, 100), (10_000, 5), *(() if quick else ((30_000, 5), (100_000, 5)))):
        cpu, wall, memory = explore(m, candidates)
        print(f"| {m:,} | {candidates} | {cpu:.1f} ({wall:.0f}) | {memory:.2f} |", flush=True)


def pools(rows: int = 20_000) -> None:
    """Print the table of trials on a large pool: 8 candidates, median elimination, budget 800."""
    print(f"### Trials on {rows:,} rows, 8 candidates, median elimination, budget {BUDGET}\n")
    print("| score | trials | s (wall) | whole population, s | GiB |\n|---|---|---|---|---|")
    population = features(per_class=rows // 3)
    for name, trials, options in (
        ("affine regime", 10_000, {"ball": 0.4}),
        ("penalised", 500, {"score": "objective"}),
    ):
        pool = FeaturePool(population, theta=0.3, **options)
        pool.explore_many(MedianElimination(), BUDGET, 2)
        _, whole, _ = time_run(pool.best_arms)
        _, cpu, wall = time_run(partial(pool.explore_many, MedianElimination(), BUDGET, trials))
        print(f"| {name} | {trials:,} | {cpu:.1f} ({wall:.0f}) | {whole:.1f} | {peak():.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 rows")
    parser.add_argument("--huge", action="store_true", help="300,000 rows too")
    parser.add_argument("--explore", action="store_true", help="the command exml explore instead")
    parser.add_argument("--pools", action="store_true", help="trials on a pool of 20,000 rows instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_size(options.one)))
        return
    if options.explore:
        explorations(options.quick)
        return
    if options.pools:
        pools()
        return
    sizes = (*(SIZES[:3] if options.quick else SIZES), *((300_000,) if options.huge else ()))
    print("### RejectionClassifier.fit, Gaussian kernel, d = 10\n")
    print("Memory: the process's peak, the fit's share of it, and what `memory_needed` promises for that.\n")
    print("| rows | rank | s (wall) | Nystroem + LinearSVC: our time / its | accuracy, less its | relative gap | GiB |")
    print("|---|---|---|---|---|---|---|")
    times = []
    for m in sizes:
        row = run_in_process(m)
        times.append(row["cpu"])
        points = 100.0 * (row["accuracy"] - row["peer_accuracy"])
        print(
            f"| {m:,} | {int(row['rank']) or 'exact'} | {row['cpu']:.2f} ({row['wall']:.1f}) "
            f"| {row['cpu'] / row['peer']:.2f} | {100 * row['accuracy']:.1f} %, {points:+.2f} "
            f"| {row['gap']:.1e} | {row['memory']:.2f}, {row['added']:.2f}, {row['promised']:.2f} |",
            flush=True,
        )
        if "svc" in row:
            result = row
    print(
        f"\nSVC at 10,000 rows takes {result['svc'] / result['cpu']:.1f} times our time (its accuracy "
        f"{100 * result['svc_accuracy']:.1f} %), and {result['svc'] / result['few']:.1f} times that of rank {FEW} "
        f"({100 * result['few_accuracy']:.1f} %)."
    )
    kept = [k for k, m in enumerate(sizes) if m <= 100_000]
    exponent = np.polyfit(np.log(np.array(sizes)[kept]), np.log(np.array(times)[kept]), 1)[0]
    print(f"Fitted growth from {sizes[0]:,} to {sizes[kept[-1]]:,} rows: rows^{exponent:.2f}.")
    print(f"\n### Bounds of the full problem at rank {DEFAULT_RANK}, 3,000 rows, against the exact path\n")
    print("| d | trace left out | least possible at that rank | true | median relative gap | largest |")
    print("|---|---|---|---|---|---|")
    print("\n".join(certificates(1_000 if options.quick else 3_000)))


if __name__ == "__main__":
    main()
