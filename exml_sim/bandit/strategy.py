"""What a strategy is, and which budgets can open one. The rules themselves are in `exml_sim.strategies`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from exml_sim.arrays import IntArray
from exml_sim.bandit.trial_batch import OBJECTIVES, TrialBatch
from exml_sim.money import ALIGNMENTS, LARGEST_UNITS, Prices, allot, exact, show
from exml_sim.validation import check_choice


@runtime_checkable
class Strategy(Protocol):
    """The protocol. Any object with these members can be passed to `explore`; no subclassing is needed."""

    @property
    def alignment(self) -> str:
        """How a round's money becomes pulls: "sample" or "budget"."""
        ...

    @property
    def objective(self) -> str:
        """What the best arm is: "risk" or "risk_per_cost"."""
        ...

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Money of the first round, which all arms share; budgets that are too small are refused by it."""
        ...

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run the rule to its end.

        Returns
        -------
        The selected arms, the first choice first, shape (trials, k).
        """
        ...


def check_strategy(strategy: object) -> Strategy:
    """A strategy, or an error that says what is missing."""
    if isinstance(strategy, type):
        raise ValueError(
            f"a strategy must be an object, got the class {strategy.__name__}: call it, {strategy.__name__}(…)"
        )
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy needs alignment, objective, opening and explore, got {strategy!r}")
    check_choice(strategy.alignment, "alignment", ALIGNMENTS)
    check_choice(strategy.objective, "objective", OBJECTIVES)
    return strategy


def with_confidence(rule: Strategy, confidence: float | None, epsilon: float | None) -> Strategy:
    """The rule with another confidence and epsilon, where they are given.

    Raises
    ------
    ValueError
        If the rule has none because it spends a fixed budget.
    """
    given = {"confidence": confidence, "epsilon": epsilon}
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        return rule
    if not hasattr(rule, "confidence"):
        raise ValueError(
            f"{type(rule).__name__} spends a fixed budget and has no {' and no '.join(wanted)}: choose a rule that "
            "stops when it is sure, like 'successive_elimination'"
        )
    return replace(rule, **wanted)  # type: ignore[type-var]


def smallest_budget(rule: Strategy, prices: Prices) -> Fraction:
    """The smallest budget, in steps of a K-th of a unit, with which the opening round pulls every arm once.

    The mean cost, by which some rules plan, is a whole number of such steps. The opening must not decrease with the
    budget.

    Raises
    ------
    ValueError
        If no budget that can be counted in 64 bits is enough.
    """
    step = prices.unit / prices.size
    high = int(prices.costs.sum()) * prices.size
    while not _opens(high * step, rule, prices):
        high *= 2
        if high > LARGEST_UNITS * prices.size:
            raise ValueError(
                f"no budget up to {show(LARGEST_UNITS * prices.unit)} lets the opening round pull every arm once"
            )
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _opens(middle * step, rule, prices) else (middle, high)
    return high * step


def _opens(budget: Fraction, rule: Strategy, prices: Prices) -> bool:
    """Whether the opening round pulls every arm at least once."""
    money = exact(rule.first_round_cost(budget, prices), "the money of the opening round")
    everyone = np.ones((1, prices.size), dtype=np.bool_)
    return bool(allot(prices.units(money), prices.costs, everyone, rule.alignment).min() >= 1)


def check_budget(budget: Fraction, rule: Strategy, prices: Prices) -> None:
    """Refuse a budget whose opening round leaves an arm without a pull, and say which budget would do."""
    if budget > 0 and _opens(budget, rule, prices):
        return
    need = smallest_budget(rule, prices)
    raise ValueError(
        f"a budget of {show(budget)} does not pay for one pull of each of {prices.size} arms "
        f"in the opening round of {type(rule).__name__}; the smallest budget that works, in steps of "
        f"{show(prices.unit / prices.size)}, is {show(need)}"
    )
