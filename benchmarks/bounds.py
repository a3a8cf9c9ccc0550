"""How many bound evaluations per second: vectorised against a scalar loop in mpmath, in one run.

Run ``python -m benchmarks.bounds``. It prints one line per bound: evaluations per second of one
vectorised call over a million random parameter points, those of the same formula in a loop of mpmath
numbers with 30 digits, and their ratio. The loop's values are compared with the vectorised ones.

``python -m benchmarks.bounds --numbers`` prints, instead, the tables of required and launch budgets
that ``docs/theorems.md`` quotes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath
import numpy as np

from theory import corrected, formulas, paper, tighter
from theory._inputs import Bound, Floats, Ints
from theory.budgets import required_budget

Columns = tuple[Ints, Ints, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class Rate:
    """Evaluations per second of one bound, vectorised and in the mpmath loop."""

    name: str
    vectorised: float
    scalar: float

    @property
    def ratio(self) -> float:
        return self.vectorised / self.scalar


def parameters(count: int, seed: int = 0) -> Columns:
    """Random feasible points above the launch budget of Lemma 1, for K = 8."""
    rng = np.random.default_rng(seed)
    theta, r = rng.uniform(0.05, 0.45, count), rng.uniform(0.1, 2.0, count)
    gap = np.asarray(formulas.gap_ceiling(theta, r)) * rng.uniform(0.2, 1.0, count)
    launch_rows = 16 * (np.asarray(formulas.rademacher_constant(theta)) * r / gap) ** 2
    arms = np.full(count, 8)
    rows = (launch_rows * rng.uniform(2, 20, count)).astype(np.int64) + 1
    return rows * arms * 3, arms, gap, theta, r


def mp_range(theta: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    top = max(1 + r, theta + theta * r / (1 - 2 * theta))
    return top - mp_floor(theta, r)


def mp_floor(theta: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    return 1 - r if r <= 1 - 2 * theta else max(theta * (3 - 2 * theta - r), 0)


def mp_margin(n: int, gap: mpmath.mpf, theta: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    return gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * r / mpmath.sqrt(n)


def mp_rounds(B: int, K: int) -> list[tuple[int, int]]:
    """(rows spent, arms kept) of every round of median elimination."""
    rounds, active, spent, table = (K - 1).bit_length(), K, 0, []
    for _ in range(rounds):
        spent += B // (rounds * active)
        active = (active + 1) // 2
        table.append((spent, active))
    return table


def mp_paper_uniform(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    n = B // K
    return mpmath.log(4 * (K - 1)) - mpmath.mpf(2) / 9 * n * mp_margin(n, *point) ** 2


def mp_paper_median(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    n = int(mpmath.floor(B / (K * mpmath.log(K, 2))))
    q = mpmath.exp(-mpmath.mpf(2) / 9 * n * mp_margin(n, *point) ** 2)
    return mpmath.log(8 * q / (1 - q))


def mp_corrected_uniform(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    n = B // K
    return mpmath.log(2 * (K - 1)) - 2 * n * (mp_margin(n, *point) / mp_range(*point[1:])) ** 2


def mp_corrected_median(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for n, kept in mp_rounds(B, K):
        tail = mpmath.exp(-2 * n * (mp_margin(n, *point) / mp_range(*point[1:])) ** 2)
        total += mpmath.mpf(2 * (K - 1)) / kept * tail
    return mpmath.log(total)


def mp_crowd(n: int, weight: mpmath.mpf, gap: mpmath.mpf, theta: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    """The smaller of the pairwise sum and the split, with ``weight`` rivals."""
    M = mp_range(theta, r)
    square = max((theta / (1 - 2 * theta)) ** 2, mpmath.mpf(1) / 2)
    x = gap - 2 * square / mpmath.sqrt(4 * square - 1) * r / mpmath.sqrt(n)
    pairs = weight * mpmath.exp(-n * x**2 / (2 * M**2))
    a = min(max(x / 2 - mpmath.log(weight) * M**2 / (4 * n * x), 0), x)
    e = a / M
    p = max((1 - gap - mp_floor(theta, r)) / M, mpmath.mpf(10) ** -25)
    q = p + e
    entropy = q * mpmath.log(q / p) + (1 - q) * mpmath.log((1 - q) / (1 - p)) if a > 0 else mpmath.mpf(0)
    head = mpmath.exp(-n * max(2 * e**2, entropy))
    return min(pairs, head + weight * mpmath.exp(-2 * n * ((x - a) / M) ** 2))


def mp_tighter_uniform(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log(mp_crowd(B // K, mpmath.mpf(K - 1), *point))


def mp_tighter_median(B: int, K: int, *point: mpmath.mpf) -> mpmath.mpf:
    rounds = mp_rounds(B, K)
    return mpmath.log(sum(min(1, mp_crowd(n, mpmath.mpf(K - 1) / kept, *point)) for n, kept in rounds))


def count_per_second(call: Callable[[], object], evaluations: int, repeats: int = 3) -> float:
    """Evaluations per second of the fastest of a few calls."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return evaluations / best


def measure(count: int, scalar_count: int) -> list[Rate]:
    """Time every bound both ways; refuse to report a rate of wrong values."""
    columns = parameters(count)
    few = parameters(scalar_count, seed=1)
    rates = []
    for name, bound, loop in (
        ("paper, uniform", paper.delta_fail_uniform, mp_paper_uniform),
        ("corrected, uniform", corrected.delta_fail_uniform, mp_corrected_uniform),
        ("tighter, uniform", tighter.delta_fail_uniform, mp_tighter_uniform),
        ("paper, median", paper.delta_fail_median, mp_paper_median),
        ("corrected, median", corrected.delta_fail_median, mp_corrected_median),
        ("tighter, median", tighter.delta_fail_median, mp_tighter_median),
    ):
        if not np.allclose(bound(*few, log=True), scalar_loop(loop, few), rtol=1e-9, atol=1e-9):
            raise AssertionError(f"{name}: the loop and the vectorised bound disagree")
        fast = count_per_second(partial(bound, *columns, log=True), count)
        rates.append(Rate(name, fast, count_per_second(partial(scalar_loop, loop, few), scalar_count, 1)))
    return rates


def scalar_loop(formula: Callable[..., mpmath.mpf], columns: Columns) -> list[float]:
    with mpmath.workdps(30):
        rows = zip(*columns, strict=True)
        return [
            float(formula(int(B), int(K), mpmath.mpf(gap), mpmath.mpf(theta), mpmath.mpf(r)))
            for B, K, gap, theta, r in rows
        ]


OURS = (tighter.delta_fail_uniform, tighter.delta_fail_median)
BOUNDS: tuple[tuple[str, Callable[..., Bound], Callable[..., Bound], dict[str, Any]], ...] = (
    ("paper", paper.delta_fail_uniform, paper.delta_fail_median, {}),
    ("corrected", corrected.delta_fail_uniform, corrected.delta_fail_median, {}),
    ("tighter, symmetrised", *OURS, {"optimism": "rademacher"}),
    ("tighter", *OURS, {}),
    ("tighter, nonnegative kernel", *OURS, {"kernel": "nonnegative"}),
)


def print_numbers() -> None:
    """Print required budgets and launch budgets as Markdown tables."""
    point: dict[str, Any] = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    print("| bound | rows per arm, uniform | budget, uniform | budget, median elimination |")
    print("|---|---|---|---|")
    for name, uniform, median, options in BOUNDS:
        budget = required_budget(uniform, 0.05, **point, **options)
        halving = required_budget(median, 0.05, **point, **options)
        print(f"| {name} | {budget // 8} | {budget} | {halving} |")
    without = required_budget(tighter.delta_fail_uniform, 0.05, **point, population=600)
    print(f"| tighter, without replacement from 600 rows | {without // 8} | {without} | |")
    print()
    print("| theta | paper, 16 c^2 | tighter, c_d^2 | ratio | symmetrised, 4 c*^2 | ratio |")
    print("|---|---|---|---|---|---|")
    for theta in (0.1, 0.2, 0.3, 0.4):
        lemma = 16 * float(formulas.rademacher_constant(theta)) ** 2
        ours = float(formulas.dual_constant(theta)) ** 2
        older = 4 * float(formulas.tight_rademacher_constant(theta)) ** 2
        print(f"| {theta} | {lemma:.2f} | {ours:.3f} | {lemma / ours:.1f} | {older:.2f} | {lemma / older:.1f} |")


def main() -> None:
    """Print the table of rates, or that of budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10**6, help="points of the vectorised call")
    parser.add_argument("--scalar-count", type=int, default=2000, help="points of the mpmath loop")
    parser.add_argument("--numbers", action="store_true", help="print required budgets, not rates")
    options = parser.parse_args()
    if options.numbers:
        print_numbers()
        return
    print(f"{'bound':<20}{'vectorised /s':>16}{'mpmath loop /s':>16}{'ratio':>10}")
    for rate in measure(options.count, options.scalar_count):
        print(f"{rate.name:<20}{rate.vectorised:>16,.0f}{rate.scalar:>16,.0f}{rate.ratio:>10,.0f}")


if __name__ == "__main__":
    main()
