"""The alpha budget of the whole test suite: at most 1e-4, written down.

A false-alarm rate is the probability that an assertion fails although what it tests is right. Exact checks have none.
"""

from __future__ import annotations

from typing import NamedTuple

from theory.verdicts import judge

TOTAL = 1e-4


class PlannedTests(NamedTuple):
    """Largest false-alarm rate of the verdicts of a file, and their number."""

    each: float
    verdicts: int


# Files whose statistical assertions state their alpha, each counted as often as it runs in the longest sweep, rounded
# up. Assertions about single runs from a fixed seed, without a statement about rates, are not statistical.
STATED: dict[str, PlannedTests] = {
    "tests/properties/test_bounds_hold.py": PlannedTests(2e-8, 750),
    "tests/statistical/test_planted_bounds.py": PlannedTests(1e-7, 20),
    "tests/statistical/test_planted_bugs.py": PlannedTests(1e-7, 20),
    "tests/bandit/test_parametric.py": PlannedTests(1e-6, 40),
    "tests/bandit/test_ties.py": PlannedTests(1e-10, 28),
    "tests/bandit/test_sampling.py": PlannedTests(1e-6, 2),
    "tests/classifier/test_thresholds.py": PlannedTests(1e-8, 1),
    "tests/test_seeds.py": PlannedTests(1e-6, 6),
    "tests/engine/test_own_pools.py": PlannedTests(1e-7, 3),
    "tests/testing/test_check_strategy.py": PlannedTests(1e-7, 5),
    "tests/testing/test_check_bound.py": PlannedTests(1e-7, 1),
    "tests/engine/modes/test_importance_sampling.py": PlannedTests(1e-6, 3),
    "tests/engine/modes/test_exact.py": PlannedTests(1e-7, 1),
    "tests/engine/modes/test_excess_risk.py": PlannedTests(1e-7, 1),
    "tests/strategies/test_literature.py": PlannedTests(1e-7, 2),
    "tests/strategies/test_against_reference.py": PlannedTests(1e-7, 7),
    "tests/datasets/test_synthetic.py": PlannedTests(1e-9, 19),
    "tests/simulations/test_rare_failures.py": PlannedTests(1e-6, 2),
    "tests/simulations/test_papers.py": PlannedTests(1e-6, 1),
    "tests/simulations/verification/test_limit_trials.py": PlannedTests(1e-6, 1),
}


def agrees(failures: int, trials: int, probability: float, alpha: float) -> bool:
    """Whether the failures are neither too many nor too few for a probability, at alpha / 2 each."""
    sides = ((failures, probability), (trials - failures, 1 - probability))
    return all(judge(count, trials, rate, alpha=alpha / 2).outcome != "refuted" for count, rate in sides)
