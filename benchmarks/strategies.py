"""Trials per second of the strategies: `python -m benchmarks.strategies [--quick]`.

Every line is the best of several timed runs after a warm-up (other work on the machine only slows), with
the rate that the project promises next to it: trials per second of processor time, on one core. The peer is
what one writes first: a Python loop over trials that draws each arm's successes with numpy; loops with one call per
pull are in `benchmarks.rules`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim.bandit.parametric import ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.population import Population
from exml_sim.strategies import MedianElimination, SuccessiveRejects, TopTwo, UniformAllocation

MEANS = [0.31, 0.37, 0.42, 0.44, 0.49, 0.53, 0.57, 0.62]
BUDGET = 800


@dataclass(frozen=True, slots=True)
class Rate:
    """One line of the table: what was timed, the rate, and the promised rate if there is one."""

    what: str
    per_second: float
    promised: float | None = None

    def line(self) -> str:
        """Show the rate against the promise."""
        promise = "" if self.promised is None else f"  promised {self.promised:>9,.0f}"
        verdict = "" if self.promised is None else "  ok" if self.per_second >= self.promised else "  TOO SLOW"
        return f"{self.what:<96}{self.per_second:>12,.0f} trials/s{promise}{verdict}"


def rate(work: Callable[[int], object], trials: int, repeats: int) -> float:
    """Trials per second: the best of the timed runs."""
    work(min(trials, 64))
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work(trials)
        seconds.append(time.process_time() - start)
    return trials / min(seconds)


def run_halving_loop(trials: int) -> list[int]:
    """The peer: median elimination on Bernoulli arms, one trial after the other."""
    rng = np.random.default_rng(0)
    selected = []
    for _ in range(trials):
        active = np.arange(len(MEANS))
        successes, pulls = np.zeros(len(MEANS)), 0
        for _round in range(3):
            n = BUDGET // (3 * active.size)
            successes[active] += rng.binomial(n, np.array(MEANS)[active])
            pulls += n
            order = np.argsort(successes[active] / pulls, kind="stable")
            active = active[order[: (active.size + 1) // 2]]
        selected.append(int(active[0]))
    return selected


def features(per_class: int = 100, n_arms: int = 8, seed: int = 0) -> Population:
    """Rows and candidates after the recipe of Section 5.1, with a = 1, sigma = 3 and z = 5.

    Two known classes and a hidden one in their overlap, labelled at random; the first two coordinates are
    observed, and candidate i is the coordinate along an angle of 10 (i + 1) degrees between the first and
    the third axis.
    """
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], per_class)
    means = np.array([[-1.0, 0.0, -5.0], [1.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    points = means[kind] + np.sqrt([3.0, 3.0, 1.5])[kind, None] * rng.normal(size=(kind.size, 3))
    y = np.where(kind == 2, rng.choice([-1, 1], kind.size), 2 * (kind == 1) - 1)
    angles = np.deg2rad(10.0 * np.arange(1, n_arms + 1))
    values = {f"x{i}": points[:, 0] * np.cos(a) + points[:, 2] * np.sin(a) for i, a in enumerate(angles)}
    return Population(points[:, :2], y, values, classes=kind, hidden=2)


def measure(quick: bool) -> list[Rate]:
    """Time everything."""
    scale, repeats = (0.1, 3) if quick else (1.0, 5)

    def trials(number: int) -> int:
        return max(64, int(scale * number))

    known = ParametricPool.bernoulli(MEANS, direction="minimise")
    table = [
        Rate(
            f"Bernoulli, K=8, B={BUDGET}, {type(rule).__name__}, 1 thread",
            rate(lambda n, rule=rule: known.explore_many(rule, BUDGET, n), trials(200_000), repeats),
            promised,
        )
        for rule, promised in [
            (UniformAllocation(), 300_000.0),
            (MedianElimination(), 100_000.0),
            (SuccessiveRejects(), None),
            (TopTwo(), None),
        ]
    ]
    table.append(
        Rate(
            "peer: MedianElimination in a Python loop, 1 thread",
            rate(run_halving_loop, trials(10_000), repeats),
        )
    )
    population = features()
    pools = [
        ("affine regime, theta=0.3, Lambda=0.4", FeaturePool(population, ball=0.4), trials(10_000), 2_500.0),
        ("score 'objective', C=1, sum", FeaturePool(population, score="objective"), trials(1_000), 750.0),
        ("score 'risk', C=1, sum", FeaturePool(population, score="risk"), trials(1_000), 200.0),
    ]
    for what, pool, number, promised in pools:
        table.append(
            Rate(
                f"features, m=300, K=8, B={BUDGET}, {what}, MedianElimination, 1 thread",
                rate(
                    lambda n, pool=pool: pool.explore_many(MedianElimination(), BUDGET, n),
                    number,
                    repeats,
                ),
                promised,
            )
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description="Trials per second of the strategies.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials, fewer repeats")
    options = parser.parse_args(arguments)
    table = measure(options.quick)
    for entry in table:
        sys.stdout.write(entry.line() + "\n")
    return int(any(entry.promised is not None and entry.per_second < entry.promised for entry in table))


if __name__ == "__main__":
    sys.exit(main())
