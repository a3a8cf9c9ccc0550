"""Trials per second of the strategies: `python -m benchmarks.strategies [--quick]`.

Every line is the best of several timed runs after a warm-up (other work on the machine only slows), in trials per
second of processor time, on one core. Three strategies have a peer: the six lines of vectorised numpy that one writes
for a failure rate, where equal arms go to any of them. Both are timed in the same run, and 4 times its speed is
promised. Loops with one call per pull, and a comparison of failure rates, are in `benchmarks.rules`.

The last lines show what drawing a purchase in one random word costs a paired comparison: the variance of the difference
of two strategies' failures, over that with single pulls.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.parametric import BoundedArm, ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.population import Population
from exml_sim.strategies import MedianElimination, SuccessiveRejects, UniformAllocation
from exml_sim.strategies.successive_rejects import phase_totals

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


def uniform_by_numpy(trials: int, rng: np.random.Generator) -> IntArray:
    """Select the arm with the most successes of B / K pulls each; the first arm of equal ones."""
    return np.asarray(rng.binomial(BUDGET // 8, MEANS, size=(trials, 8)).argmax(axis=1))


def halving_by_numpy(trials: int, rng: np.random.Generator) -> IntArray:
    """Keep the half with the most successes of a round, three times."""
    active = np.tile(np.arange(8), (trials, 1))
    for _ in range(3):
        successes = rng.binomial(BUDGET // (3 * active.shape[1]), np.array(MEANS)[active])
        best = np.argsort(-successes, axis=1)[:, : active.shape[1] // 2]
        active = np.take_along_axis(active, best, axis=1)
    return np.asarray(active[:, 0])


def rejects_by_numpy(trials: int, rng: np.random.Generator) -> IntArray:
    """Drop the arm with the fewest successes after each of seven phases."""
    active, successes, before = np.tile(np.arange(8), (trials, 1)), np.zeros((trials, 8)), 0
    for total in phase_totals(BUDGET, 8):
        successes, before = successes + rng.binomial(total - before, np.array(MEANS)[active]), total
        kept = np.arange(active.shape[1] - 1) + (np.arange(active.shape[1] - 1) >= successes.argmin(axis=1)[:, None])
        active, successes = np.take_along_axis(active, kept, axis=1), np.take_along_axis(successes, kept, axis=1)
    return np.asarray(active[:, 0])


PEERS: dict[str, Callable[[int, np.random.Generator], IntArray]] = {
    "uniform_allocation": uniform_by_numpy,
    "sequential_halving": halving_by_numpy,
    "successive_rejects": rejects_by_numpy,
}
#: Ratio of speeds that is promised.
PROMISED_RATIO = 4.0


def compare_with_numpy(name: str, trials: int, repeats: int) -> tuple[str, bool]:
    """Time a strategy and its peer in turn; write the ratio, and whether it is as promised."""
    pool, rng = ParametricPool.bernoulli(MEANS), np.random.default_rng(1)
    fast = rate(lambda n: pool.explore_many(name, BUDGET, n), trials, repeats)
    slow = rate(lambda n: PEERS[name](n, rng), trials, repeats)
    text = f"{name:<20}{fast:>12,.0f} trials/s, numpy {slow:>10,.0f}: {fast / slow:.1f} times"
    return text, fast >= PROMISED_RATIO * slow


#: Strategies that are compared trial by trial.
PAIRED = (
    ("uniform_allocation", "median_elimination"),
    ("median_elimination", "successive_rejects"),
    ("sequential_halving", "ocba"),
    ("top_two", "ocba"),
)


def measure_pairing(first: str, second: str, trials: int) -> str:
    """Compare variances of paired differences: purchases in one word, single pulls, and independent trials."""
    arms = [BoundedArm((0.0, 1.0), (1.0 - mean, mean)) for mean in MEANS]
    variances = []
    for pool in (ParametricPool.bernoulli(MEANS), ParametricPool(arms)):
        failed = [pool.explore_many(name, 240, trials).selected[:, 0] != 7 for name in (first, second)]
        variances.append(float(np.var(failed[0].astype(float) - failed[1])))
    alone = sum(float(np.var(part)) for part in failed)
    return (
        f"{first} - {second}: {variances[0] / variances[1]:.2f} times, of independent trials {variances[0] / alone:.2f}"
    )


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
        ]
    ]
    table += [
        Rate(
            f"Bernoulli, K=8, B={BUDGET}, {name}, 1 thread",
            rate(lambda n, name=name: known.explore_many(name, BUDGET, n), trials(number), repeats),
        )
        for name, number in [
            ("top_two", 40_000),
            ("ocba", 40_000),
            ("ugap_eb", 40_000),
            ("eb_tc_epsilon", 8_000),
            ("continuous_rejects", 8_000),
        ]
    ]
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
    compared = [compare_with_numpy(name, 200_000, 3 if options.quick else 5) for name in PEERS]
    for text, _ in compared:
        sys.stdout.write(text + "\n")
    for first, second in PAIRED:
        sys.stdout.write(f"variance of {measure_pairing(first, second, 4_000 if options.quick else 40_000)}\n")
    is_slow = [entry.promised is not None and entry.per_second < entry.promised for entry in table]
    return int(any(is_slow) or not all(kept for _, kept in compared))


if __name__ == "__main__":
    sys.exit(main())
