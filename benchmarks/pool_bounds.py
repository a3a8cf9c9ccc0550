"""Budgets that bounds ask for when they know the population, next to those of practice and of the older bounds.

Run ``python -m benchmarks.pool_bounds``; ``--pool NAME`` for one pool, ``--trials`` for practice. Every line has the
budget of practice (the smallest whose observed failure rate is at most delta), the approximate planner's, those of the
quick and of the sharp bound with their ratio to practice and the seconds that the search took, and that of
`theory.tighter`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim.datasets import make_graded
from exml_sim.datasets.graded import largest_ball
from exml_sim.engine.specs import MfeatPool, SyntheticPool
from exml_sim.exploration.rows import FeaturePool
from simulations.budget_vs_failure import ANGLES, RADIUS, THETA
from simulations.pool_bounds import known_pool
from theory.budgets import required_budget as by_gaps
from theory.pool import Effort, KnownPool, Strategy, large_deviation_rate, planned_budget, required_budget
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
    """A pool, a strategy and a level."""

    name: str
    make: Callable[[], FeaturePool]
    strategy: Strategy = "uniform"
    delta: float = 0.05


LINES = (
    Line("default", default),
    Line("default, median", default, "median"),
    Line("mfeat fac/fou", digits),
    Line("graded, gaussian", lambda: graded("gaussian")),
    Line("graded, linear", lambda: graded("linear")),
    Line("default, ball 1.2", lambda: default(1.2)),
    Line("default, ball 2", lambda: default(2.0)),
    Line("default, ball 4", lambda: default(4.0)),
    Line("default at 1e-6", default, delta=1e-6),
)


def failure_rate(pool: FeaturePool, n: int, strategy: Strategy, trials: int) -> float:
    """Share of trials that end outside the best set; n rows per arm in the first round, accumulated after it."""
    rng = np.random.default_rng(0)
    best = np.isin(np.arange(pool.n_arms), pool.best_set())
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


def practice(pool: FeaturePool, line: Line, trials: int) -> int | None:
    """The smallest budget whose observed failure rate is at most delta, by bisection on common random numbers."""
    if line.delta * trials < 20:
        return None
    unit = pool.n_arms * (1 if line.strategy == "uniform" else math.ceil(math.log2(pool.n_arms)))
    high = 2
    while failure_rate(pool, high, line.strategy, trials) > line.delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if failure_rate(pool, middle, line.strategy, trials) <= line.delta:
            high = middle
        else:
            low = middle
    return high * unit


def older(pool: FeaturePool, line: Line) -> int:
    """The budget of `theory.tighter` with all it can know."""
    gaps = sorted(float(gap) for gap in pool.gaps)[1:]
    given = {"K": pool.n_arms, "gap": None, "gaps": np.array(gaps), "theta": pool.scoring.theta}
    kernel = "nonnegative" if min(float(arm.gram.min()) for arm in pool.feature_arms) >= 0 else "any"
    bound = delta_fail_uniform if line.strategy == "uniform" else delta_fail_median
    ball = float(pool.scoring.ball or 0.0)
    return by_gaps(bound, line.delta, **given, kappa_lambda=pool.kappa * ball, kernel=kernel)


def timed(pool: KnownPool, line: Line, effort: Effort) -> tuple[int, float]:
    """The budget of one bound and the seconds of its search; the population's preparation is part of it."""
    pool.cache.clear()
    start = time.perf_counter()
    return required_budget(pool, line.delta, line.strategy, effort=effort), time.perf_counter() - start


def show(line: Line, trials: int) -> str:
    """One line of the table."""
    pool = line.make()
    known = known_pool(pool)
    affine = known.affine
    seen = practice(pool, line, trials if affine else min(trials, 1000))
    start = time.perf_counter()
    planned = f"{planned_budget(known, line.delta, line.strategy):,}" if affine else "-"
    spent = 1000 * (time.perf_counter() - start)
    parts = [line.name, f"{seen:,}" if seen else "-", f"{planned} ({spent:.0f} ms)" if affine else "-"]
    for effort in ("quick", "sharp"):
        budget, seconds = timed(known, line, effort)
        ratio = f", {budget / seen:.1f}x" if seen else ""
        parts.append(f"{budget:,} ({seconds:.1f} s{ratio})")
    return " | ".join([*parts, f"{older(pool, line):,}", f"{large_deviation_rate(known):.4f}" if affine else "-"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", choices=[line.name for line in LINES], help="one line only")
    parser.add_argument("--trials", type=int, default=8000, help="trials per tried budget of practice")
    options = parser.parse_args()
    print("| pool | practice | planner (approximate) | quick | sharp | tighter | rate per row |")
    print("|---|---|---|---|---|---|---|")
    for line in LINES:
        if options.pool in (None, line.name):
            print(f"| {show(line, options.trials)} |", flush=True)


if __name__ == "__main__":
    main()
