"""Every rule of the bench beside its textbook loop: `python -m benchmarks.rules [--quick]`.

We know of no package that can be installed and has rules with a fixed budget, so the peer is what one writes after the
papers, one call per pull (`benchmarks.textbook`), on the same arms: 8 Bernoulli arms, budget 800. Both ways are timed
in turn, in processor time, and their failures are counted; the exit code is 1 if a rule that promises 100 times the
trials per second has less, or if two failure rates differ by more than chance allows (false-alarm probability 1e-6).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import textbook
from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import ParametricPool
from exml_sim.strategies import MedianElimination, Strategy, SuccessiveRejects, TopTwo, UniformAllocation
from exml_sim.strategies.ocba import Ocba
from exml_sim.strategies.ugap import UGapEb

MEANS = [0.31, 0.37, 0.42, 0.44, 0.49, 0.53, 0.57, 0.62]
BUDGET = 800
FALSE_ALARM_RATE = 1e-6
#: What is promised against the loop, for the rules whose rounds do not grow with the budget.
PROMISED = 100.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A rule and its loop."""

    name: str
    rule: Strategy
    loop: textbook.Loop
    promised: bool


PAIRS = (
    Pair("uniform", UniformAllocation(), textbook.uniform, True),
    Pair("median elimination", MedianElimination(), textbook.median_elimination, True),
    Pair("sequential halving", MedianElimination(accumulate=False), textbook.sequential_halving, True),
    Pair("successive rejects", SuccessiveRejects(), textbook.successive_rejects, True),
    Pair("top two", TopTwo(), textbook.top_two, False),
    Pair("OCBA", Ocba(), textbook.ocba, False),
    Pair("UGapEb", UGapEb(), textbook.ugape_budget, False),
)


def time_run(work: Callable[[], int]) -> tuple[float, int]:
    """Seconds of processor time, and failures."""
    start = time.process_time()
    failures = work()
    return time.process_time() - start, failures


def _count_missed(pair: Pair, trials: range) -> int:
    """Failures of the rule in these trials; the first arm is the best."""
    pool = ParametricPool.bernoulli(MEANS, direction="minimise")
    return int((pool.explore_many(pair.rule, BUDGET, trials).selected[:, 0] != 0).sum())


def line(pair: Pair, trials: int, looped: int, repeats: int) -> tuple[str, bool]:
    """The best of several turns of both ways, their failure rates, and whether all is well."""
    rng = np.random.default_rng(1)
    _count_missed(pair, range(64))
    ours, theirs = [], []
    for turn in range(repeats):
        ours.append(time_run(lambda turn=turn: _count_missed(pair, range(turn * trials, (turn + 1) * trials))))
        theirs.append(time_run(lambda: sum(pair.loop(MEANS, BUDGET, rng) != 0 for _ in range(looped))))
    fast, slow = (number / min(entry for entry, _ in result) for number, result in ((trials, ours), (looped, theirs)))
    sizes = repeats * trials, repeats * looped
    failed = sum(entry for _, entry in ours), sum(entry for _, entry in theirs)
    (low, high), (other_low, other_high) = (
        clopper_pearson(times, number, 1.0 - FALSE_ALARM_RATE / (2 * len(PAIRS)))
        for times, number in zip(failed, sizes, strict=True)
    )
    same = low <= other_high and other_low <= high
    enough = not pair.promised or fast >= PROMISED * slow
    words = f"{100 * failed[0] / sizes[0]:6.2f} % {100 * failed[1] / sizes[1]:6.2f} %"
    verdict = ("" if same else "  DIFFERENT") + ("" if enough else "  TOO SLOW")
    return f"{pair.name:<20}{fast:>12,.0f}{slow:>10,.0f}{fast / slow:>8.0f}x   {words}{verdict}", same and enough


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Rules with a fixed budget beside their textbook loops.")
    parser.add_argument("--quick", action="store_true", help="a quarter of the trials")
    options = parser.parse_args(arguments)
    scale = 4 if options.quick else 1
    sys.stdout.write(f"{'K = 8, B = 800':<20}{'trials/s':>12}{'loop':>10}{'ratio':>9}   {'failures':>8} {'loop':>8}\n")
    well = True
    for pair in PAIRS:
        text, good = line(pair, 40_000 // scale, 800 // scale, 5)
        sys.stdout.write(text + "\n")
        well &= good
    return int(not well)


if __name__ == "__main__":
    sys.exit(main())
