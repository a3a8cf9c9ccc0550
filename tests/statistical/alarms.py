"""The false-alarm budget of the whole test suite: at most 1e-4, written down, and refused when overdrawn.

An alarm is the probability with which an assertion fails although what it tests is right. Exact checks have none.
"""

from __future__ import annotations

from exml_sim.testing import Book, Item, Purse

TOTAL = 1e-4

# Tests that draw their alarms from here. The numbers of verdicts are those of the longest sweep.
DRAWN: dict[str, Item] = {
    "test_bounds_hold_in_the_affine_regime": Item(2e-8, 500),
    "test_bounds_hold_with_independent_rows": Item(2e-8, 250),
    "test_planted_bounds": Item(1e-7, 20),
    "test_small_levels": Item(1e-6, 3),
    "test_planted_bugs": Item(1e-7, 20),
}

# Files whose statistical assertions state their own alarms, each counted as often as it runs, rounded up. Assertions
# about single runs from a fixed seed, without a statement about rates, are not statistical and not counted.
STATED: dict[str, Item] = {
    "tests/fuzz/test_fuzz.py": Item(1e-8, 2),
    "tests/bandit/test_parametric.py": Item(1e-6, 40),
    "tests/bandit/test_sampling.py": Item(1e-6, 2),
    "tests/classifier/test_thresholds.py": Item(1e-8, 1),
    "tests/test_seeds.py": Item(1e-6, 6),
    "tests/engine/test_stopping.py": Item(1e-6, 1),
    "tests/engine/test_own_pools.py": Item(1e-7, 3),
    "tests/testing/test_check_strategy.py": Item(1e-7, 5),
    "tests/testing/test_check_bound.py": Item(1e-7, 1),
    "tests/engine/test_result.py": Item(1e-6, 1),
    "tests/engine/modes/test_importance_sampling.py": Item(1e-6, 3),
    "tests/engine/modes/test_exact.py": Item(1e-7, 1),
    "tests/engine/modes/test_excess_risk.py": Item(1e-7, 1),
    "tests/strategies/test_literature_bounds.py": Item(1e-6, 18),
    "tests/strategies/test_against_reference.py": Item(1e-7, 7),
    "tests/datasets/test_synthetic.py": Item(1e-9, 19),
    "tests/simulations/test_budget_vs_failure.py": Item(1e-15, 4),
}


BOOK = Book(TOTAL, DRAWN, STATED)


def purse(name: str) -> Purse:
    """The purse that all tests of a plan share."""
    return BOOK.purse(name)


def planned(name: str, verdicts: int) -> float:
    """The alarm of each of so many verdicts (or families of them), if they are planned."""
    return BOOK.planned(name, verdicts)
