"""Speed of the rejection solver against its peers: ``python -m benchmarks.solver [--quick] [--table NAME]``.

Every figure is a ratio of medians taken in this process on this machine, all on one core and in processor time, which
other work on the machine lengthens less than the wall time. (The batch table gives the wall time of two threads
as well.) The peers: cvxpy with Clarabel on the same problem (its own `solve` call, canonicalisation included), and
scikit-learn's SVC on the same Gram matrix, a smaller problem (one function instead of two), at the C that weighs loss
against norm alike: SVC's C = 1/(2 C_h).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# One BLAS thread for everybody: all peers run on one core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.svm import SVC

from benchmarks.strategies import features
from exml_sim import kernels
from exml_sim.datasets.mfeat import VIEWS, load_mfeat, scale_to_unit
from exml_sim.datasets.synthetic import draw_rows
from exml_sim.rejection import BatchSolution, solve, solve_batch

THETAS = (0.1, 0.2, 0.3, 0.4)
PENALTIES = (1.0, 0.1)
REPEATS = 5
WALL_REPEATS = 15  # the wall time needs more: other work on the machine lengthens it


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    name: str
    ours_ms: float
    cvxpy: float | None = None  # times slower
    svc: float | None = None  # our time over SVC's
    note: str = ""


def times_ms(job: Callable[[], object], repeats: int, clock: Callable[[], float]) -> list[float]:
    """Times in milliseconds by a clock, after one run to warm up."""
    job()
    times = []
    for _ in range(repeats):
        start = clock()
        job()
        times.append(1e3 * (clock() - start))
    return times


def median_ms(job: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median processor time in milliseconds, after one run to warm up."""
    return statistics.median(times_ms(job, repeats, time.process_time))


def once_ms(job: Callable[[], object]) -> float:
    """Processor time of a single run, for the slow peer."""
    start = time.process_time()
    job()
    return 1e3 * (time.process_time() - start)


def synthetic_cases(repeats: int) -> list[Row]:
    """The 16 cases of Section 5.1: 2-D observed and 3-D augmented rows, m = 300."""
    rows = draw_rows(100, rng=0)
    table = []
    for dim in (2, 3):
        gram = kernels.gram(rows.points[:, :dim])
        for c in PENALTIES:
            svc = SVC(kernel="precomputed", C=1.0 / (2.0 * c), tol=1e-6)
            peer = median_ms(lambda gram=gram, svc=svc: svc.fit(gram, rows.y))
            for theta in THETAS:
                table.append(compare(f"{dim}-D  C={c:g}  theta={theta:g}", gram, rows.y, theta, c, peer, repeats))
    return table


def compare(
    name: str, gram: np.ndarray, y: np.ndarray, theta: float, c: float, svc_ms: float | None, repeats: int
) -> Row:
    """Ours against cvxpy, and against SVC if its time is given."""
    ours = median_ms(lambda: solve(gram, y, theta, penalty=(c, c)))
    slow = [once_ms(lambda: solve(gram, y, theta, penalty=(c, c), method="cvxpy")) for _ in range(repeats)]
    return Row(name, ours, statistics.median(slow) / ours, None if svc_ms is None else ours / svc_ms)


def mfeat_cases(repeats: int) -> list[Row]:
    """All six views: 600 of the digits 0-8, three digits a known class, the other three mislabelled by a coin."""
    data = load_mfeat()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.flatnonzero(data.y < 9))[:600]
    digits = data.y[chosen]
    y = np.where(digits < 3, -1.0, np.where(digits < 6, 1.0, rng.choice([-1.0, 1.0], 600)))
    table = []
    for view in VIEWS:
        gram = kernels.gram(scale_to_unit(data.views[view][chosen]))
        for c in PENALTIES:
            svc = SVC(kernel="precomputed", C=1.0 / (2.0 * c), tol=1e-6)
            peer = median_ms(lambda gram=gram, svc=svc: svc.fit(gram, y))
            table.append(compare(f"{view}  C={c:g}  theta=0.3", gram, y, 0.3, c, peer, repeats))
    return table


def batch_cases(repeats: int, trials: int) -> list[Row]:
    """Weight vectors of 150 bought rows out of 300, on one thread and, by the clock on the wall, on two."""
    rows = draw_rows(100, rng=0)
    counts = np.random.default_rng(1).multinomial(150, np.full(300, 1 / 300), size=trials)
    table = []
    for dim in (2, 3):
        gram = kernels.gram(rows.points[:, :dim])

        def batch(gram: np.ndarray = gram, n_jobs: int = 1) -> BatchSolution:
            return solve_batch(gram, rows.y, 0.3, counts, penalty=(1.0, 1.0), n_jobs=n_jobs)

        ours = median_ms(batch) / trials
        wall = np.array(times_ms(lambda batch=batch: batch(n_jobs=2), WALL_REPEATS, time.perf_counter)) / trials
        slow = statistics.median(
            once_ms(lambda g=gram, t=t: solve(g, rows.y, 0.3, weights=counts[t], penalty=(1.0, 1.0), method="cvxpy"))
            for t in range(repeats)
        )
        reached = batch()
        worst = float(np.max(reached.gap / np.maximum(1.0, reached.objective)))
        spread = f"median {np.median(wall):.3g}, least {wall.min():.3g} of {WALL_REPEATS}"
        note = f"wall time on two threads, ms: {spread}; largest relative gap {worst:.1e}"
        table.append(Row(f"{dim}-D  C=1  theta=0.3", ours, slow / ours, note=note))
    return table


def ball_cases(problems: int, against: int) -> tuple[list[Row], str]:
    """A random family over the ball: radii from 0.3 to 1000, balls that do not bind among them."""
    rng = np.random.default_rng(0)
    ours, ratios, reached, slack = [], [], 0, 0
    for k in range(problems):
        rows = draw_rows(100, rng=rng)
        gram = kernels.gram(rows.points[:, : rng.integers(2, 4)])
        theta = float(rng.uniform(0.05, 0.45))
        radius = float(10 ** rng.uniform(-0.5, 3.0))
        if rng.random() < 0.25:
            gram = kernels.gaussian(rows.points, gamma=0.05)  # far-apart rows: loss zero is in reach
        if k == 0:
            solve(gram, rows.y, theta, ball=radius)
        start = time.process_time()
        solution = solve(gram, rows.y, theta, ball=radius, method="dual")
        ours.append(1e3 * (time.process_time() - start))
        reached += solution.gap <= 1e-8 * max(1.0, solution.objective)
        norms = (solution.u @ solution.h, solution.w @ solution.g)
        slack += any(n < (0.999 * radius) ** 2 for n in norms)
        if k < against:
            problem = (gram, rows.y, theta, radius)
            ratios.append(once_ms(lambda p=problem: solve(p[0], p[1], p[2], ball=p[3], method="cvxpy")) / ours[-1])
    note = f"{reached} of {problems} at 1e-8; a ball slack in {slack}; slowest {max(ours):.0f} ms"
    return [Row("m=300", statistics.median(ours), statistics.median(ratios) if ratios else None, note=note)], note


@dataclass(frozen=True)
class Draw:
    """Random problems that share rows: a Gram matrix, labels, theta, weights line by line, and one of the two forms."""

    gram: np.ndarray
    y: np.ndarray
    theta: float
    counts: np.ndarray
    form: dict[str, Any]

    def shortfall(self) -> np.ndarray:
        """Relative gaps of the fast solver, one per problem."""
        solved = solve_batch(self.gram, self.y, self.theta, self.counts, **self.form)
        return solved.gap / np.maximum(1.0, np.abs(solved.objective))


#: Families that must all reach 1e-8, penalised and over the ball, and those too ill-conditioned to promise it.
FAMILIES = ("synthetic", "flagship", "theta near 1/2", "theta near 0", "uneven penalties", "linear", "10-D", "ball")
HARD_FAMILIES = ("theta nearer 1/2", "tiny penalties", "ball, theta near 1/2")


def draw_family(name: str, seed: int, problems: int = 20) -> Draw:
    """Problems of a family: 150 rows bought out of 300 (100 for the ball)."""
    rng = np.random.default_rng([seed, (*FAMILIES, *HARD_FAMILIES).index(name)])
    ball = name.startswith("ball")
    rows = draw_rows(33 if ball else 100, rng=rng)
    points, y = rows.points[:, : rng.integers(2, 4)], rows.y
    theta, c = float(rng.uniform(0.02, 0.48)), float(10 ** rng.uniform(-2, 1))
    form: dict[str, Any] = {"penalty": (c, c)}
    if name == "flagship":
        pool = features(seed=seed)
        points, y, theta = np.column_stack([pool.X, pool.candidates[rng.integers(8)].values]), pool.y.astype(float), 0.3
        form = {"penalty": (1.0, 1.0)}
    elif name in ("theta near 1/2", "theta nearer 1/2"):
        theta = 0.5 - float(10 ** (rng.uniform(-4, -1) if name == "theta near 1/2" else rng.uniform(-7, -4)))
    elif name == "theta near 0":
        theta = float(10 ** rng.uniform(-6, -1))
    elif name == "uneven penalties":
        form = {"penalty": tuple(10 ** rng.uniform(-3, 3, size=2))}
    elif name == "tiny penalties":
        form = {"penalty": tuple(10 ** rng.uniform(-7, -3, size=2))}
    elif name == "10-D":
        points = rng.normal(size=(300, 10))
    elif ball:
        theta = 0.5 - float(10 ** rng.uniform(-3, -1)) if name != "ball" else float(rng.uniform(0.05, 0.45))
        form = {"ball": float(10 ** rng.uniform(-0.5, 3.0))}
    gram = kernels.linear(points) if name == "linear" else kernels.gram(points)
    if ball and rng.random() < 0.25:
        gram = kernels.gaussian(points, gamma=0.05)  # far-apart rows: loss zero is in reach
    counts = rng.multinomial(len(y) // 2, np.full(len(y), 1 / len(y)), size=problems)
    return Draw(gram, y, theta, counts, form)


def family_cases(draws: int) -> list[str]:
    """How many problems of each family end at 1e-8, by the fast solver alone (the ball may ask the reference)."""
    lines = []
    for name in (*FAMILIES, *HARD_FAMILIES):
        gaps = np.concatenate(
            [draw_family(name, seed, 5 if "ball" in name else 20).shortfall() for seed in range(draws)]
        )
        kind = "ill-conditioned" if name in HARD_FAMILIES else ""
        lines.append(f"| {name} | {np.sum(gaps <= 1e-8)} of {gaps.size} | {gaps.max():.1e} | {kind} |")
    return lines


def affine_case(trials: int) -> Row:
    """Scores of many trials of one arm in the affine regime."""
    rows = draw_rows(100, rng=0)
    gram = kernels.gram(rows.points)
    counts = np.random.default_rng(2).multinomial(150, np.full(300, 1 / 300), size=trials).astype(float)
    solve_batch(gram, rows.y, 0.2, counts[:2], ball=0.5)
    took = once_ms(lambda: solve_batch(gram, rows.y, 0.2, counts, ball=0.5))
    return Row(f"{trials:,} trials", took / trials, note=f"{took / 1e3:.2f} s in all")


def growth_cases(sizes: tuple[int, ...]) -> tuple[list[Row], float]:
    """Time against m, mean over dimension, C and theta; and the exponent fitted to the logarithms."""
    table, means = [], []
    for m in sizes:
        rows = draw_rows(m // 3, rng=0)
        times = [
            median_ms(lambda g=gram, y=rows.y, t=theta, c=c: solve(g, y, t, penalty=(c, c)), 3)
            for dim in (2, 3)
            for gram in [kernels.gram(rows.points[:, :dim])]
            for c in PENALTIES
            for theta in THETAS
        ]
        means.append(float(np.exp(np.mean(np.log(times)))))
        table.append(Row(f"m={3 * (m // 3)}", means[-1]))
    exponent = float(np.polyfit(np.log(sizes), np.log(means), 1)[0])
    return table, exponent


def show(title: str, rows: list[Row]) -> None:
    """Print a table in Markdown."""
    print(f"\n### {title}\n\n| case | ours, ms | cvxpy / ours | ours / SVC | |\n|---|---|---|---|---|")
    for row in rows:
        cvxpy = "" if row.cvxpy is None else f"{row.cvxpy:.0f}"
        svc = "" if row.svc is None else f"{row.svc:.2f}"
        print(f"| {row.name} | {row.ours_ms:.3g} | {cvxpy} | {svc} | {row.note} |")


def summary(rows: list[Row]) -> str:
    """The figures that a table is held against."""
    cvxpy = [r.cvxpy for r in rows if r.cvxpy is not None]
    svc = [r.svc for r in rows if r.svc is not None]
    line = f"cvxpy / ours: least {min(cvxpy):.0f}, median {statistics.median(cvxpy):.0f}"
    return line + (f"; ours / SVC: median {statistics.median(svc):.2f}, most {max(svc):.2f}" if svc else "")


def synthetic_table(quick: bool) -> None:
    """Section 5.1."""
    table = synthetic_cases(1 if quick else REPEATS)
    show("Synthetic rows of Section 5.1, m = 300, sum loss, relative gap 1e-8", table)
    print(f"\n{summary(table)}")


def mfeat_table(quick: bool) -> None:
    """Multiple Features."""
    table = mfeat_cases(1)
    show("Mfeat, m = 600 (one run of cvxpy each)", table)
    print(f"\n{summary(table)}")


def batch_table(quick: bool) -> None:
    """Many weight vectors."""
    cases = batch_cases(1 if quick else REPEATS, 200 if quick else 1000)
    show("Batch: processor time per problem on one core, n = 150 of m = 300", cases)


def ball_table(quick: bool) -> None:
    """Over the ball."""
    ball, _ = ball_cases(40 if quick else 200, 3 if quick else 20)
    show("Ball form, random family, median", ball)


def family_table(quick: bool) -> None:
    """Who reaches 1e-8."""
    print("\n### Random families\n\n| family | at 1e-8 | largest relative gap | |\n|---|---|---|---|")
    print("\n".join(family_cases(5 if quick else 50)))


def affine_table(quick: bool) -> None:
    """The closed form."""
    show("Affine regime, time per trial", [affine_case(100_000)])


def growth_table(quick: bool) -> None:
    """Time against rows."""
    growth, exponent = growth_cases((99, 300, 600, 999, 2001))
    show("Growth with m (geometric mean over the 16 kinds of case)", growth)
    print(f"\nfitted exponent {exponent:.2f}")


TABLES: dict[str, Callable[[bool], None]] = {
    "synthetic": synthetic_table,
    "mfeat": mfeat_table,
    "batch": batch_table,
    "ball": ball_table,
    "families": family_table,
    "affine": affine_table,
    "growth": growth_table,
}


def main() -> None:
    """Run all tables, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each slow peer, fewer problems")
    parser.add_argument("--table", choices=TABLES, help="one table only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, table in TABLES.items():
        if options.table in (None, name):
            table(options.quick)


if __name__ == "__main__":
    main()
