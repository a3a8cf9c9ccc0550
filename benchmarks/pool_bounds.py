"""Budgets that bounds ask for when they know the population, next to those of practice and of the older bounds.

Run ``python -m benchmarks.pool_bounds``; ``--pool NAME`` for one pool, ``--certified`` for the budgets that simulation
certifies at alpha = 1e-9, with the processor seconds of the search. Every line has the budget of practice (the
smallest whose failure probability is certified by simulation to be at most delta; at 1e-6 the smallest whose rate in
tilted trials is), those of the quick and of the sharp bound with their ratio to practice and the processor seconds of
the search, that of `theory.tighter`, and whether each promise and each aim is met. Then come the times of single
evaluations and the check against exact failure probabilities of generated pools. It exits with 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.pool_checks import Promises, against_exact
from exml_sim.bandit.rows import FeaturePool
from exml_sim.datasets.graded import largest_ball
from exml_sim.engine import Budgets, Score, StrategySpec, Study, SyntheticPool, run
from exml_sim.engine.pools import DatasetPool
from simulations._pool_bounds import known_pool
from simulations.budget_vs_failure import ANGLES, RADIUS, THETA, make_study
from simulations.certificates import search_budget
from theory.budgets import required_budget as by_gaps
from theory.population import Effort, PopulationModel, Strategy, large_deviation_rate, required_budget, uniform_at
from theory.population import delta_fail_uniform as delta_fail
from theory.tighter import delta_fail_median, delta_fail_uniform

#: The pool of the study of budgets against failures, and two views of Mfeat with 600 rows.
DEFAULT = SyntheticPool(per_class=100, angles=ANGLES)
DIGITS = DatasetPool(name="mfeat", options={"per_class": 200, "candidates": ("fac", "fou")})
#: Eight arms with gaps 0, 0.02, ..., 0.14 under the linear kernel, 400 rows.
GAPS = {"gaps": [0.02 * k for k in range(8)], "ball": largest_ball(THETA), "rows": 400, "best": 0.8}


@dataclass(frozen=True, slots=True)
class Line:
    """A pool, a strategy, a level, and what is promised for them.

    Attributes
    ----------
    name, pool, ball, strategy, delta
        What is asked.
    quick, sharp
        Largest budgets that the two bounds may ask for, as a number or as a multiple of practice; 0: no promise.
    aim
        Multiple of practice that the sharp bound should reach.
    certified, seconds
        Largest budget that simulation may certify, and the processor seconds of its search; 0: no promise.
    """

    name: str
    pool: Any
    ball: float = RADIUS
    strategy: Strategy = "uniform"
    delta: float = 0.05
    quick: int = 0
    sharp: int = 0
    times: float = 0.0
    aim: float = 2.0
    certified: int = 0
    seconds: int = 0

    @property
    def study(self) -> Study:
        """The study of this line."""
        name = "uniform_allocation" if self.strategy == "uniform" else "median_elimination"
        score = Score(score="ball", theta=THETA, ball=self.ball)
        return Study(
            pools=(self.pool,), scores=(score,), strategies=(StrategySpec(name),), budgets=Budgets(per_arm=("8",))
        )


LINES = (
    Line("default", DEFAULT, quick=448, sharp=320, certified=128, seconds=5),
    Line("default, median", DEFAULT, strategy="median", quick=1200, sharp=800, certified=403, seconds=10),
    Line("mfeat fac/fou", DIGITS, quick=128, sharp=88),
    Line("graded, gaussian", DatasetPool(name="graded", options=GAPS), quick=2640, sharp=1950),
    Line(
        "graded, linear", DatasetPool(name="graded", options=GAPS, kernel="linear"), GAPS["ball"], sharp=4120, aim=1.5
    ),
    Line("default, ball 1.2", DEFAULT, 1.2, times=8, aim=3, certified=114, seconds=100),
    Line("default, ball 2", DEFAULT, 2.0, times=25, aim=8, certified=132, seconds=100),
    Line("default, ball 4", DEFAULT, 4.0, times=90, aim=8, certified=140, seconds=100),
    Line("default at 1e-6", DEFAULT, delta=1e-6, times=5, certified=850, seconds=60),
)


def rare_rate(n: int) -> float:
    """The failure rate of uniform allocation on the default pool at n rows per arm, by 4,000 tilted trials."""
    study = make_study(4000, budgets=(n * len(ANGLES),))
    (summary,) = run(replace(study, mode="importance_sampling", strategies=study.strategies[:1])).summary()
    return float(summary.failure_rate)


def practice(line: Line) -> int:
    """The smallest budget that is certified by simulation; at a small delta the smallest by tilted trials."""
    study = line.study
    if line.delta >= 1e-3:
        certificate = search_budget(study, study.cells()[0], line.delta)
        assert certificate.budget is not None, certificate.sentence
        return int(certificate.budget)
    low, high = 32, 128
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rare_rate(middle) <= line.delta else (middle, high)
    return high * len(ANGLES)


def show_certified(line: Line, promises: Promises) -> str:
    """One line of the table of certified budgets; the time includes the search and everything it prepares."""
    study = line.study
    start = time.process_time()
    certificate = search_budget(study, study.cells()[0], line.delta)
    spent, best = time.process_time() - start, certificate.best
    assert best is not None, certificate.sentence
    promises.hold(f"{line.name}: certified at most {line.certified:,}", int(best.budget) <= line.certified, best.budget)
    promises.hold(f"{line.name}: at most {line.seconds} s", spent <= line.seconds, f"{spent:.1f} s")
    return f"{line.name} | {line.delta:g} | {int(best.budget):,} | {best.trials:,} | {spent:.1f}"


def older(pool: FeaturePool, line: Line) -> int:
    """The budget of `theory.tighter` with all it can know."""
    gaps = sorted(float(gap) for gap in pool.gaps)[1:]
    given = {"K": pool.n_arms, "gap": None, "gaps": np.array(gaps), "theta": pool.scoring.theta}
    kernel = "nonnegative" if min(float(arm.gram.min()) for arm in pool.feature_arms) >= 0 else "any"
    bound = delta_fail_uniform if line.strategy == "uniform" else delta_fail_median
    ball = float(pool.scoring.ball or 0.0)
    return by_gaps(bound, line.delta, **given, kappa_lambda=pool.kappa * ball, kernel=kernel)


def time_run(pool: PopulationModel, line: Line, effort: Effort) -> tuple[int, float]:
    """The budget of one bound and the processor seconds of its search, the population's preparation included."""
    pool.cache.clear()
    start = time.process_time()
    return required_budget(pool, line.delta, line.strategy, effort=effort), time.process_time() - start


def show(line: Line, promises: Promises) -> str:
    """One line of the table."""
    pool = line.study.pool(line.study.cells()[0])
    assert isinstance(pool, FeaturePool)
    known = known_pool(pool)
    affine = known.affine
    seen = practice(line)
    parts = [line.name, f"{seen:,}"]
    budgets = {}
    for effort, most in (("quick", line.quick), ("sharp", line.sharp)):
        budget, seconds = time_run(known, line, effort)
        budgets[effort] = budget
        parts.append(f"{budget:,} ({budget / seen:.1f}x, {seconds:.1f} s)")
        if most:
            promises.hold(f"{line.name}, {effort}: at most {most:,}", budget <= most, f"{budget:,}")
    best = min(budgets.values())
    if line.times:
        most = round(line.times * seen)
        promises.hold(f"{line.name}: at most {line.times:g}x = {most:,}", best <= most, f"{best:,}")
    promises.aim(f"{line.name}: {line.aim:g}x", best <= line.aim * seen, f"{best / seen:.2f}x")
    return " | ".join([*parts, f"{older(pool, line):,}", f"{large_deviation_rate(known):.4f}" if affine else "-"])


def single_times(promises: Promises) -> None:
    """Processor seconds of single evaluations on the default pool, preparation included."""
    pool = known_pool(FeaturePool(DEFAULT.population(), theta=THETA, ball=RADIUS))
    budgets = len(ANGLES) * np.geomspace(3, 5000, 40).astype(np.int64)
    for name, most, call in (
        ("the quick bound at 448", 1.0, lambda: delta_fail(pool, 448)),
        ("the sharp bound at 320", 10.0, lambda: delta_fail(pool, 320, effort="sharp")),
        ("a required budget by the quick bound", 15.0, lambda: required_budget(pool, 0.05)),
        ("the quick bound at 40 budgets up to 40,000", 1.0, lambda: uniform_at(budgets, data=pool)),
    ):
        pool.cache.clear()
        start = time.process_time()
        # One thread, as in all commands: more of them wait for each other longer than they compute.
        with threadpool_limits(1):
            call()
        spent = time.process_time() - start
        promises.hold(f"{name}: at most {most:g} s", spent <= most, f"{spent:.2f} s")


def main() -> None:
    """Print the table, then what was promised and what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", choices=[line.name for line in LINES], help="one line only")
    parser.add_argument("--certified", action="store_true", help="budgets certified by simulation only")
    options = parser.parse_args()
    promises = Promises()
    if options.certified:
        print("| pool | failure probability | certified budget | trials | seconds |\n|---|---|---|---|---|")
        for line in LINES:
            if line.certified and options.pool in (None, line.name):
                print(f"| {show_certified(line, promises)} |", flush=True)
        print(f"\n{promises.table()}")
        sys.exit(1 if promises.broken else 0)
    print("| pool | practice | quick | sharp | tighter | rate per row |")
    print("|---|---|---|---|---|---|")
    for line in LINES:
        if options.pool in (None, line.name):
            print(f"| {show(line, promises)} |", flush=True)
    if options.pool is None:
        single_times(promises)
        against_exact(promises)
    print()
    print(promises.table())
    sys.exit(1 if promises.broken else 0)


if __name__ == "__main__":
    main()
