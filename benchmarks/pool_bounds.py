"""Budgets that bounds ask for when they know the population, next to those of practice and of the older bounds.

Run ``python -m benchmarks.pool_bounds``; ``--pool NAME`` for one pool, ``--trials`` for practice. Every line has the
budget of practice (the smallest whose failure rate is at most delta; by tilted trials where that is rare), the
approximate planner's, those of the quick and of the sharp bound with their ratio to practice and the processor seconds
of the search, that of `theory.tighter`, and whether each promise and each aim is met. Then come the times of single
evaluations and the check against exact failure probabilities of generated pools. It exits with 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.pool_checks import Promises, against_exact
from exml_sim.bandit.rows import FeaturePool
from exml_sim.datasets import make_graded
from exml_sim.datasets.graded import largest_ball
from exml_sim.engine import MfeatPool, SyntheticPool, run
from simulations._pool_bounds import known_pool
from simulations.budget_vs_failure import ANGLES, RADIUS, THETA, make_study
from theory.budgets import required_budget as by_gaps
from theory.population import Effort, PopulationModel, Strategy, large_deviation_rate, planned_budget, required_budget
from theory.population import delta_fail_uniform as delta_fail
from theory.tighter import delta_fail_median, delta_fail_uniform

Bools = NDArray[np.bool_]


def default(ball: float = RADIUS) -> FeaturePool:
    """The pool of the study of budgets against failures."""
    return FeaturePool(SyntheticPool(per_class=100, angles=ANGLES).population(), theta=THETA, ball=ball)


def digits() -> FeaturePool:
    """Two views of Mfeat, 600 rows."""
    return FeaturePool(MfeatPool(per_class=200, candidates=("fac", "fou")).population(), theta=THETA, ball=RADIUS)


def graded(kernel: str) -> FeaturePool:
    """Eight arms with gaps 0, 0.02, ..., 0.14 under the linear kernel, 400 rows."""
    ball = largest_ball(THETA)
    rows = make_graded([0.02 * k for k in range(8)], ball=ball, rows=400, best=0.8, rng=0)
    return FeaturePool(rows, theta=THETA, ball=ball if kernel == "linear" else RADIUS, kernel=kernel)


@dataclass(frozen=True, slots=True)
class Line:
    """A pool, a strategy, a level, and what is promised for them.

    Attributes
    ----------
    name, make, strategy, delta
        What is asked.
    quick, sharp
        Largest budgets that the two bounds may ask for, as a number or as a multiple of practice; 0: no promise.
    aim
        Multiple of practice that the sharp bound should reach.
    """

    name: str
    make: Callable[[], FeaturePool]
    strategy: Strategy = "uniform"
    delta: float = 0.05
    quick: int = 0
    sharp: int = 0
    times: float = 0.0
    aim: float = 2.0


LINES = (
    Line("default", default, quick=448, sharp=320),
    Line("default, median", default, "median", quick=1200, sharp=800),
    Line("mfeat fac/fou", digits, quick=128, sharp=88),
    Line("graded, gaussian", lambda: graded("gaussian"), quick=2640, sharp=1950),
    Line("graded, linear", lambda: graded("linear"), sharp=4120, aim=1.5),
    Line("default, ball 1.2", lambda: default(1.2), times=8, aim=3),
    Line("default, ball 2", lambda: default(2.0), times=25, aim=8),
    Line("default, ball 4", lambda: default(4.0), times=90, aim=8),
    Line("default at 1e-6", default, delta=1e-6, times=5),
)


def failure_rate(pool: FeaturePool, n: int, strategy: Strategy, trials: int) -> float:
    """Share of trials that end outside the best set; n rows per arm in the first round, accumulated after it."""
    rng = np.random.default_rng(0)
    best = np.isin(np.arange(pool.n_arms), pool.best_arms())
    counts = np.zeros((trials, pool.n_rows), dtype=np.int32)
    active = np.ones((trials, pool.n_arms), dtype=np.bool_)
    size, rounds = pool.n_arms, 1 if strategy == "uniform" else math.ceil(math.log2(pool.n_arms))
    budget = n * pool.n_arms * rounds
    for _ in range(rounds):
        share = np.full(pool.n_rows, 1.0 / pool.n_rows)
        counts += rng.multinomial(budget // (rounds * size), share, size=trials).astype(np.int32)
        size = 1 if strategy == "uniform" else -(-size // 2)
        active = _kept(pool, counts, active, size)
    return float(1.0 - active[:, best].any(axis=1).mean())


def _kept(pool: FeaturePool, counts: NDArray[np.int32], active: Bools, size: int) -> Bools:
    values = np.full(active.shape, np.inf)
    for i, arm in enumerate(pool.feature_arms):
        lines = np.flatnonzero(active[:, i])
        if lines.size:
            values[lines, i] = arm.refined(counts[lines], 2)[0]
    order = np.argsort(values, axis=1, kind="stable")[:, :size]
    kept = np.zeros_like(active)
    np.put_along_axis(kept, order, True, axis=1)
    return kept


def rare_rate(n: int) -> float:
    """The failure rate of uniform allocation on the default pool at n rows per arm, by 4,000 tilted trials."""
    study = make_study(4000, budgets=(n * len(ANGLES),))
    (found,) = run(replace(study, mode="importance_sampling", strategies=study.strategies[:1])).summary()
    return float(found.failure_rate)


def practice(pool: FeaturePool, line: Line, trials: int) -> int:
    """The smallest budget whose failure rate is at most delta, by bisection on common random numbers."""
    unit = pool.n_arms * (1 if line.strategy == "uniform" else math.ceil(math.log2(pool.n_arms)))
    rare = line.delta * trials < 20

    def fits(n: int) -> bool:
        return (rare_rate(n) if rare else failure_rate(pool, n, line.strategy, trials)) <= line.delta

    high = 64 if rare else 2
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high * unit


def older(pool: FeaturePool, line: Line) -> int:
    """The budget of `theory.tighter` with all it can know."""
    gaps = sorted(float(gap) for gap in pool.gaps)[1:]
    given = {"K": pool.n_arms, "gap": None, "gaps": np.array(gaps), "theta": pool.scoring.theta}
    kernel = "nonnegative" if min(float(arm.gram.min()) for arm in pool.feature_arms) >= 0 else "any"
    bound = delta_fail_uniform if line.strategy == "uniform" else delta_fail_median
    ball = float(pool.scoring.ball or 0.0)
    return by_gaps(bound, line.delta, **given, kappa_lambda=pool.kappa * ball, kernel=kernel)


def timed(pool: PopulationModel, line: Line, effort: Effort) -> tuple[int, float]:
    """The budget of one bound and the processor seconds of its search, the population's preparation included."""
    pool.cache.clear()
    start = time.process_time()
    return required_budget(pool, line.delta, line.strategy, effort=effort), time.process_time() - start


def show(line: Line, trials: int, promises: Promises) -> str:
    """One line of the table."""
    pool = line.make()
    known = known_pool(pool)
    affine = known.affine
    seen = practice(pool, line, trials if affine else min(trials, 1000))
    parts = [line.name, f"{seen:,}", planned(known, line, seen, promises) if affine else "-"]
    found = {}
    for effort, most in (("quick", line.quick), ("sharp", line.sharp)):
        budget, seconds = timed(known, line, effort)
        found[effort] = budget
        parts.append(f"{budget:,} ({budget / seen:.1f}x, {seconds:.1f} s)")
        if most:
            promises.hold(f"{line.name}, {effort}: at most {most:,}", budget <= most, f"{budget:,}")
    best = min(found.values())
    if line.times:
        most = round(line.times * seen)
        promises.hold(f"{line.name}: at most {line.times:g}x = {most:,}", best <= most, f"{best:,}")
    promises.aim(f"{line.name}: {line.aim:g}x", best <= line.aim * seen, f"{best / seen:.2f}x")
    return " | ".join([*parts, f"{older(pool, line):,}", f"{large_deviation_rate(known):.4f}" if affine else "-"])


def planned(known: PopulationModel, line: Line, seen: int, promises: Promises) -> str:
    """The planner's budget and its processor milliseconds, the first call apart, which loads scipy's functions."""
    planned_budget(known, 0.5, line.strategy)
    known.cache.clear()
    start = time.process_time()
    budget = planned_budget(known, line.delta, line.strategy)
    spent = 1000 * (time.process_time() - start)
    off = budget / seen - 1.0
    good = abs(off) <= 0.25
    promises.hold(f"{line.name}: planner within 25 % and 50 ms", good and spent <= 50, f"{off:+.0%}, {spent:.0f} ms")
    promises.aim(f"{line.name}: planner within 10 %", abs(off) <= 0.1, f"{off:+.0%}")
    return f"{budget:,} ({off:+.0%}, {spent:.0f} ms)"


def single_times(promises: Promises) -> None:
    """Processor seconds of single evaluations on the default pool, preparation included."""
    pool = known_pool(default())
    for name, most, call in (
        ("the quick bound at 448", 1.0, lambda: delta_fail(pool, 448)),
        ("the sharp bound at 320", 10.0, lambda: delta_fail(pool, 320, effort="sharp")),
        ("a required budget by the quick bound", 15.0, lambda: required_budget(pool, 0.05)),
    ):
        pool.cache.clear()
        start = time.process_time()
        call()
        spent = time.process_time() - start
        promises.hold(f"{name}: at most {most:g} s", spent <= most, f"{spent:.2f} s")


def main() -> None:
    """Print the table, then what was promised and what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", choices=[line.name for line in LINES], help="one line only")
    parser.add_argument("--trials", type=int, default=8000, help="trials per tried budget of practice")
    options = parser.parse_args()
    promises = Promises()
    print("| pool | practice | planner (approximate) | quick | sharp | tighter | rate per row |")
    print("|---|---|---|---|---|---|---|")
    for line in LINES:
        if options.pool in (None, line.name):
            print(f"| {show(line, options.trials, promises)} |", flush=True)
    if options.pool is None:
        single_times(promises)
        against_exact(promises)
    print()
    print(promises.table())
    sys.exit(1 if promises.broken else 0)


if __name__ == "__main__":
    main()
