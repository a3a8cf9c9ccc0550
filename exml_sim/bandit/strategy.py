"""Define the protocol of a strategy, and check budgets. The strategies themselves are in `exml_sim.strategies`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.validation import check_choice
from exml_sim.bandit._ties import TIES, TieBreaker
from exml_sim.bandit.trial_batch import OBJECTIVES, TrialBatch
from exml_sim.money import ALIGNMENTS, LARGEST_UNITS, Prices, allot, exact, show
from exml_sim.seeds import Seeds

#: Pulls in one trial; with more, a strategy that pulls one by one would run for days.
MAX_PULLS = 10**8


@runtime_checkable
class Strategy(Protocol):
    """Any object with these members can be passed to `explore`; no subclassing is needed.

    A member `ties`, "random" or "lowest", says how equal scores are ordered; without it they are ordered at random.
    """

    @property
    def alignment(self) -> str:
        """How a round's money becomes pulls: "sample" or "budget"."""
        ...

    @property
    def objective(self) -> str:
        """What the best arm is: "risk" or "risk_per_cost"."""
        ...

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money of the first round, which all arms share; budgets that are too small are refused by it."""
        ...

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run the strategy to its end.

        Returns
        -------
        The selected arms, the first choice first, shape (trials, k).
        """
        ...


def check_strategy(strategy: object) -> Strategy:
    """Check that an object is a strategy, and say what is missing."""
    if isinstance(strategy, type):
        raise ValueError(
            f"a strategy must be an object, got the class {strategy.__name__}: call it, {strategy.__name__}(…)"
        )
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy needs alignment, objective, first_round_cost and explore, got {strategy!r}")
    check_choice(strategy.alignment, "alignment", ALIGNMENTS)
    check_choice(strategy.objective, "objective", OBJECTIVES)
    check_choice(getattr(strategy, "ties", "random"), "ties", TIES)
    return strategy


def break_ties(strategy: Strategy, seeds: Seeds) -> TieBreaker:
    """Build the tie breaker of a strategy for the trials of `seeds`: at random unless its `ties` is "lowest"."""
    return TieBreaker(seeds if getattr(strategy, "ties", "random") == "random" else None)


def with_confidence(strategy: Strategy, confidence: float | None, epsilon: float | None) -> Strategy:
    """Replace the confidence and epsilon of a strategy, where they are given.

    Raises
    ------
    ValueError
        If the strategy has none because it spends a fixed budget.
    """
    options = {"confidence": confidence, "epsilon": epsilon}
    wanted: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if not wanted:
        return strategy
    if not hasattr(strategy, "confidence"):
        raise ValueError(
            f"{type(strategy).__name__} spends a fixed budget and has no {' and no '.join(wanted)}: "
            "choose a fixed-confidence strategy, like 'successive_elimination'"
        )
    return replace(strategy, **wanted)  # type: ignore[type-var]


def smallest_budget(strategy: Strategy, prices: Prices) -> Fraction:
    """Find the smallest budget, in steps of a K-th of a unit, with which the first round pulls every arm once.

    The mean cost, by which some strategies plan, is a whole number of such steps. The money of the first round must not
    decrease with the budget.

    Raises
    ------
    ValueError
        If no budget that can be counted in 64 bits is enough.
    """
    step = prices.unit / prices.size
    high = int(prices.costs.sum()) * prices.size
    while not _pays_first_round(high * step, strategy, prices):
        high *= 2
        if high > LARGEST_UNITS * prices.size:
            raise ValueError(
                f"no budget up to {show(LARGEST_UNITS * prices.unit)} lets the first round pull every arm once"
            )
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _pays_first_round(middle * step, strategy, prices) else (middle, high)
    return high * step


def _pays_first_round(budget: Fraction, strategy: Strategy, prices: Prices) -> bool:
    """Check that the first round pulls every arm at least once."""
    money = exact(strategy.first_round_cost(budget, prices), "the money of the first round")
    all_arms = np.ones((1, prices.size), dtype=np.bool_)
    return bool(allot(prices.units(money), prices.costs, all_arms, strategy.alignment).min() >= 1)


def check_budget(budget: Fraction, strategy: Strategy, prices: Prices) -> None:
    """Refuse a budget whose first round leaves an arm without a pull, or that buys too many pulls for one trial."""
    pulls = budget / min(prices.exact_costs)
    if pulls > MAX_PULLS:
        size = f"{float(min(pulls, Fraction(10**300))):.3g}"
        raise ValueError(f"a budget of {show(budget)} buys {size} pulls, at most {MAX_PULLS:.0e} are allowed")
    if budget > 0 and _pays_first_round(budget, strategy, prices):
        return
    need = smallest_budget(strategy, prices)
    raise ValueError(
        f"a budget of {show(budget)} does not pay for one pull of each of {prices.size} arms "
        f"in the first round of {type(strategy).__name__}; the smallest budget that works, in steps of "
        f"{show(prices.unit / prices.size)}, is {show(need)}"
    )
