"""Speed of the rejection solver against solvers of quadratic programs: ``python -m benchmarks.peers [--problems N]``.

All solve the same dual problem to the same tolerance: (alpha, beta) >= 0 with alpha + beta <= weight per row. Set-up
counts for everybody: the peers get the matrix of the quadratic form as numpy builds it. Times
are processor times on one core, medians per problem. Peers that are not installed are left out (``pip install
'exml-sim[bench]'``). The exit code is 1 if PIQP needs less than the promised multiple of our time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# One thread for everybody.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

from exml_sim import kernels
from exml_sim.datasets.synthetic import draw_rows
from exml_sim.rejection import solve_batch

THETA, PENALTY, TOLERANCE = 0.3, 1.0, 1e-8
#: Rows, and the multiple of our time that PIQP needs at least. The aim at 33 rows was 6, which is not reached.
PROMISES = {33: 4.0, 99: 10.0, 150: 10.0}
#: Relative difference of optimal values up to which a peer has solved the problem.
AGREEMENT = 1e-5


@dataclass(frozen=True)
class Quadratic:
    """Minimise z'Pz/2 + q'z subject to 0 <= z, and alpha + beta <= weights; z = (alpha, beta)."""

    P: np.ndarray
    q: np.ndarray
    weights: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """The matrix that adds alpha and beta of every row."""
        eye = np.eye(len(self.weights))
        return np.hstack([eye, eye])


def build_quadratic(gram: np.ndarray, y: np.ndarray, counts: np.ndarray) -> Quadratic:
    """Build the dual of the penalised form."""
    K, signs, slope, n = gram, y, THETA / (1.0 - 2.0 * THETA), len(y)
    alpha = K * np.outer(signs, signs) / (8.0 * PENALTY) + K / (8.0 * PENALTY)
    cross, beta = -slope * K / (4.0 * PENALTY), slope**2 * K / (2.0 * PENALTY)
    P = np.block([[alpha, cross], [cross, beta]])
    return Quadratic(P, -np.concatenate([np.ones(n), np.full(n, THETA)]), counts.astype(float))


def solve_piqp(problem: Quadratic) -> float:
    """Solve by PIQP, an interior-point method with a proximal term."""
    piqp: Any = import_module("piqp")
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = TOLERANCE
    size = len(problem.q)
    free = np.full(len(problem.weights), -np.inf)
    bounds = {"x_l": np.zeros(size), "x_u": np.full(size, np.inf)}
    solver.setup(problem.P, problem.q, G=problem.sums, h_l=free, h_u=problem.weights, **bounds)
    solver.solve()
    return float(solver.result.info.primal_obj)


def prepare_proxqp(problem: Quadratic) -> Any:
    """Set up ProxQP, a proximal augmented Lagrangian method."""
    proxqp: Any = import_module("proxsuite").proxqp
    size, rows = len(problem.q), len(problem.weights)
    qp = proxqp.dense.QP(size, 0, rows, True)
    qp.settings.eps_abs, qp.settings.eps_rel = TOLERANCE, 0.0
    free, top = np.full(rows, -1e20), np.full(size, 1e20)
    qp.init(problem.P, problem.q, None, None, problem.sums, free, problem.weights, np.zeros(size), top)
    return qp


def solve_proxqp(problem: Quadratic) -> float:
    """Solve by ProxQP."""
    qp = prepare_proxqp(problem)
    qp.solve()
    return float(qp.results.info.objValue)


def solve_proxqp_batch(problems: list[Quadratic]) -> list[float]:
    """Solve a batch by ProxQP's own loop over problems, on one thread."""
    proxqp: Any = import_module("proxsuite").proxqp
    batch = proxqp.dense.VectorQP()
    for problem in problems:
        batch.append(prepare_proxqp(problem))
    proxqp.dense.solve_in_parallel(batch, 1)
    return [float(qp.results.info.objValue) for qp in batch]


def solve_daqp(problem: Quadratic) -> float:
    """Solve by DAQP, an active-set method, which needs a definite form."""
    daqp: Any = import_module("daqp")
    size, rows = len(problem.q), len(problem.weights)
    upper = np.concatenate([np.full(size, 1e30), problem.weights])
    lower = np.concatenate([np.zeros(size), np.full(rows, -1e30)])
    sense = np.zeros(size + rows, dtype=np.int32)
    definite = problem.P + 1e-10 * np.eye(size)
    return float(daqp.solve(definite, problem.q, problem.sums, upper, lower, sense)[1])


def solve_clarabel(problem: Quadratic) -> float:
    """Solve by Clarabel, the interior-point method behind cvxpy's default."""
    clarabel: Any = import_module("clarabel")
    size, rows = len(problem.q), len(problem.weights)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    matrix = sparse.vstack([sparse.csc_matrix(problem.sums), -sparse.eye(size)], format="csc")
    right = np.concatenate([problem.weights, np.zeros(size)])
    cones = [clarabel.NonnegativeConeT(rows + size)]
    solver = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(problem.P)), problem.q, matrix, right, cones, settings)
    return float(solver.solve().obj_val)


def solve_osqp(problem: Quadratic) -> float:
    """Solve by OSQP, an operator splitting method."""
    osqp: Any = import_module("osqp")
    size, rows = len(problem.q), len(problem.weights)
    matrix = sparse.vstack([sparse.csc_matrix(problem.sums), sparse.eye(size)], format="csc")
    low, high = np.concatenate([np.full(rows, -np.inf), np.zeros(size)]), np.full(size, np.inf)
    solver = osqp.OSQP()
    options = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 20_000, "verbose": False}
    upper = np.concatenate([problem.weights, high])
    solver.setup(sparse.csc_matrix(np.triu(problem.P)), problem.q, matrix, low, upper, **options)
    return float(solver.solve().info.obj_val)


PEERS: dict[str, Callable[[Quadratic], float]] = {
    "PIQP": solve_piqp,
    "ProxQP": solve_proxqp,
    "DAQP": solve_daqp,
    "Clarabel": solve_clarabel,
    "OSQP, 1e-6": solve_osqp,
}


def time_ms(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor time in milliseconds and the result."""
    start = time.process_time()
    result = job()
    return 1e3 * (time.process_time() - start), result


def compare(n: int, problems: int, least: int) -> Iterator[tuple[str, float, float]]:
    """Yield solver, median time in ms, and the largest relative difference of its optimal values from ours.

    A row weighs at least `least`: with 1 all solvers have the same number of variables; with 0, the weights of a trial,
    peers get the rows with a weight only.
    """
    rows = draw_rows(n // 3, rng=0)
    gram = kernels.gram(rows.points)
    m = len(rows.y)
    counts = least + np.random.default_rng(1).multinomial(m, np.full(m, 1.0 / m), size=problems)

    def build(weights: np.ndarray) -> Quadratic:
        kept = np.flatnonzero(weights)
        return build_quadratic(gram[np.ix_(kept, kept)], rows.y[kept], weights[kept])

    options: dict[str, Any] = {"penalty": (PENALTY, PENALTY), "tol": TOLERANCE}
    solve_batch(gram, rows.y, THETA, counts[:1], **options)
    parts = [time_ms(lambda c=c: solve_batch(gram, rows.y, THETA, c, **options)) for c in np.array_split(counts, 5)]
    truth = np.concatenate([solution.objective for _, solution in parts])
    ours = statistics.median(spent / len(solution.objective) for spent, solution in parts)
    yield "exml-sim", ours, 0.0
    for peer, solve in PEERS.items():
        try:
            solve(build(counts[0]))
        except ImportError:
            continue
        timed = [time_ms(lambda c=c, s=solve: s(build(c))) for c in counts]
        values = -np.array([value for _, value in timed])
        yield peer, statistics.median(spent for spent, _ in timed), float(np.max(np.abs(values / truth - 1.0)))
        if solve is solve_proxqp:
            batches = np.array_split(counts, 5)
            runs = [time_ms(lambda part=part: solve_proxqp_batch([build(c) for c in part])) for part in batches]
            spent = statistics.median(spent / len(solution) for spent, solution in runs)
            values = -np.concatenate([solution for _, solution in runs])
            yield "ProxQP, batched", spent, float(np.max(np.abs(values / truth - 1.0)))


def main() -> int:
    """Print the table; return 1 if PIQP is too fast or a peer disagrees with us."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--problems", type=int, default=200, help="weight vectors per size")
    options = parser.parse_args()
    broken = False
    print("| rows | weights | solver | ms per problem | / ours | largest relative difference of the optimal value |")
    print("|---|---|---|---|---|---|")
    for least, weights in ((1, "all rows"), (0, "a trial's")):
        for n, promise in PROMISES.items():
            ours = 0.0
            for name, spent, difference in compare(n, options.problems, least):
                ours = ours or spent
                print(f"| {n} | {weights} | {name} | {spent:.3g} | {spent / ours:.1f} | {difference:.0e} |", flush=True)
                broken |= least == 1 and name == "PIQP" and spent < promise * ours
                broken |= not difference <= AGREEMENT
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
