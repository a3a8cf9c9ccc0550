"""How much evidence: three depths, and how many trials a bound needs before counting can decide it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from theory.verdicts import judge

#: A bound counts as decided when a violation by this factor would have been seen with probability 95 %.
FACTOR = 2.0
#: Probability of refuting a true claim by bad luck, for all cells of one claim together.
ALARM = 1e-6


@dataclass(frozen=True, slots=True)
class Depth:
    """How far a verification goes.

    Attributes
    ----------
    name : str
    targets : tuple of float
        Promised probabilities at which cells are placed.
    levels : tuple of float
        Values of delta for statements that hold with probability 1 - delta.
    remote : tuple of float
        Promised probabilities that are too small to count, held against exact laws.
    least, most : int
        Trials per cell, between these and as many as the bound needs to be decided.
    pairs : int
        Trials of the paired comparison of two strategies.
    excess, excess_levels
        Trials per cell with redrawn populations, and the values of delta there.
    rows : int
        Rows per class of those populations.
    slack_trials : int
        Trials per budget when the budget needed in practice is looked for.
    """

    name: str
    targets: tuple[float, ...]
    levels: tuple[float, ...]
    remote: tuple[float, ...]
    least: int
    most: int
    pairs: int
    excess: int
    excess_levels: tuple[float, ...]
    rows: int
    slack_trials: int


DEPTHS = {
    one.name: one
    for one in (
        Depth(
            "quick", targets=(0.3, 0.1), levels=(0.2,), remote=(), least=1_000, most=2_000, pairs=4_000,
            excess=12, excess_levels=(0.2,), rows=30, slack_trials=400,
        ),
        Depth(
            "standard", targets=(0.3, 0.1, 0.03, 0.01), levels=(0.2, 0.05), remote=(1e-6, 1e-12),
            least=10_000, most=40_000, pairs=40_000, excess=320, excess_levels=(0.2,), rows=100, slack_trials=4_000,
        ),
        Depth(
            "deep", targets=(0.3, 0.1, 0.03, 0.01, 0.003, 0.001), levels=(0.2, 0.05, 0.01), remote=(1e-6, 1e-9, 1e-12),
            least=200_000, most=1_000_000, pairs=400_000, excess=4_000, excess_levels=(0.2, 0.05), rows=100,
            slack_trials=20_000,
        ),
    )
}  # fmt: skip


@lru_cache(maxsize=1024)
def enough_trials(bound: float, alarm: float, most: int) -> int:
    """Smallest number of trials with which `judge` decides a bound at the violation factor 2, at most ``most``.

    Examples
    --------
    >>> enough_trials(0.1, 1e-6, 10**6)
    514
    """
    if not 0 < bound < 1:
        return 1

    def decides(trials: int) -> bool:
        return judge(0, trials, bound, alpha=alarm, factor=FACTOR).outcome == "consistent"

    high = 16
    while high < most and not decides(high):
        high *= 2
    low, high = high // 2, min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    # The power of a discrete test is not quite monotone: a few trials more than the first that suffice.
    return min(most, high + high // 20)
