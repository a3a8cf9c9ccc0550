"""Provide the options that all strategies of this package share, and the loops that several of them run.

CONTRIBUTING.md explains the six concepts of a strategy. `exml_sim.bandit.trial_batch` has the protocol and all methods
of a batch, and `exml_sim/strategies/uniform.py` is the shortest example. A strategy that decides by itself which arms
stay calls `batch.close_round(scores, survivors, certified)`; `batch.buy_among(units, arms)` is the fast purchase for
one or two arms per trial.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.validation import check_choice, check_count, shown
from exml_sim.bandit._ranking import TIES
from exml_sim.bandit.trial_batch import OBJECTIVES, TrialBatch
from exml_sim.money import ALIGNMENTS, Money, Prices, exact
from exml_sim.plugins import STRATEGIES

#: Checks the value of an option, given with its name; returns the value that the strategy keeps.
Check = Callable[[Any, str], Any]
Checks = Mapping[str, Check]


def check_share(value: Money, name: str) -> Money:
    """Check a fraction of the budget."""
    if not 0 < exact(value, name) <= 1:
        raise ValueError(f"{name} must be in (0, 1], got {value}")
    return value


def check_probability(value: object, name: str) -> float:
    """Check for a probability strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be between 0 and 1, both excluded, got {value!r}")
    return float(value)


def check_slack(value: object, name: str) -> float:
    """Check for a finite difference of risks that is not negative."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not 0.0 <= value <= sys.float_info.max
    ):
        raise ValueError(f"{name} must be a finite number that is not negative, got {value!r}")
    return float(value)


def check_numbers(value: Any, name: str, above: float = -math.inf) -> tuple[float, ...]:
    """Check for finite numbers above a limit, one per arm."""
    numbers: tuple[float, ...] = ()
    # A value that is not iterable and an integer beyond all floats leave nothing.
    with suppress(TypeError, OverflowError):
        entries = tuple(value)
        if all(isinstance(entry, Real) and not isinstance(entry, bool) for entry in entries):
            numbers = tuple(map(float, entries))
    if not numbers or not all(above < number < math.inf for number in numbers):
        limit = "" if above == -math.inf else f" above {above:g}"
        raise ValueError(f"{name} must be a list of finite numbers{limit}, one per arm, got {shown(value)}")
    return numbers


def check_flag(value: object, name: str) -> bool:
    """Check for True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_name(*allowed: str) -> Check:
    """Make the check for one of the allowed names."""
    return partial(_check_name, allowed)


def _check_name(allowed: Sequence[str], value: str, name: str) -> str:
    return check_choice(value, name, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseStrategy:
    """Options that every strategy of this package takes.

    Parameters
    ----------
    alignment
        "sample": all active arms get equally many pulls. "budget": all get equal money, so cheaper ones get
        more pulls.
    objective
        "risk": the lowest score wins. "risk_per_cost": the highest quality per cost wins, (1 - score) /
        cost, the test-time cost of the paper's Remark 2; 1 is the score of the zero model.
    ties
        "random": equal scores are ordered at random, by the address of the trial. "lowest": the lowest index first,
        the worst case where the best arm is listed last.

    Examples
    --------
    >>> from exml_sim.strategies import UniformAllocation
    >>> UniformAllocation(ties="lowest").ties
    'lowest'
    """

    #: Subclasses in a file of plug-ins announce themselves as strategies.
    plugin_group: ClassVar[str] = STRATEGIES
    #: The option that says how many arms are selected, for strategies that can select several.
    number_option: ClassVar[str | None] = None
    #: Whether only rounding leaves money over; False for strategies that may stop earlier.
    spends_all: ClassVar[bool] = True
    #: Checks of the options that a class adds; None is not checked where it is the default.
    checks: ClassVar[Checks] = {
        "alignment": check_name(*ALIGNMENTS),
        "objective": check_name(*OBJECTIVES),
        "ties": check_name(*TIES),
    }

    alignment: str = "sample"
    objective: str = "risk"
    ties: str = "random"

    def __post_init__(self) -> None:
        defaults = {entry.name: entry.default for entry in fields(self)}
        for kind in reversed(type(self).__mro__):
            for name, check in vars(kind).get("checks", {}).items():
                value = getattr(self, name)
                if value is not None or defaults[name] is not None:
                    object.__setattr__(self, name, check(value, name))

    @property
    def selects(self) -> int:
        """Number of arms that the strategy selects."""
        return 1 if self.number_option is None else int(getattr(self, self.number_option))

    def check_selects(self, prices: Prices) -> None:
        """Refuse a pool with fewer arms than are selected."""
        if self.selects > prices.size:
            raise ValueError(f"cannot select the top {self.selects} of {prices.size} arms")

    def cost_of_one_each(self, prices: Prices) -> Fraction:
        """Compute the money that buys at least one pull of every arm, shared as the strategy shares it."""
        costs = prices.exact_costs
        return prices.size * max(costs) if self.alignment == "budget" else sum(costs, Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PullByPull(BaseStrategy, ABC):
    """One pull of every arm, then one pull of the arm that the strategy chooses, until the money ends.

    A trial ends when it cannot pay for the arm that it chooses. The active arm with the best score is selected.
    """

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the cost of one pull of every arm."""
        return min(budget, self.cost_of_one_each(prices))

    @abstractmethod
    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Choose the next arm of every trial by the scores of the active arms, shape (trials,)."""

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull one arm after the other, then select."""
        batch.buy_pulls(np.ones_like(batch.pulls))
        open_trials = np.full(batch.ledger.trials, batch.n_arms > 1)
        step, costs = 0, batch.prices.costs
        while open_trials.any():
            scores, _ = batch.score()
            before = batch.active
            arm = self.choose(batch, scores.value, step)
            survivors, batch.active = batch.active, before
            if survivors is not before and not open_trials.all():
                # A trial that has ended keeps its arms.
                survivors = np.where(open_trials[:, None], survivors, before)
            batch.close_round(scores, survivors, False)
            price = costs[arm]
            open_trials &= batch.ledger.left_units >= price
            if open_trials.any():
                batch.buy_among(np.where(open_trials, price, 0), np.where(open_trials, arm, -1)[:, None])
            step += 1
        batch.ties.finish()
        return batch.keep_best(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched(BaseStrategy, ABC):
    """A first round for all arms, then a number of rounds for arms that the strategy chooses.

    Parameters
    ----------
    first_round_share
        Fraction of the budget that all arms share in the first round.
    rounds
        Number of rounds after the first. The money that floors leave over is carried to the next one.
    """

    checks: ClassVar[Checks] = {"first_round_share": check_share, "rounds": check_count}

    first_round_share: Money = Fraction(1, 4)
    rounds: int = 48

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the fraction of the budget that all arms share."""
        return budget * exact(self.first_round_share, "first_round_share")

    @abstractmethod
    def choose(self, batch: TrialBatch) -> IntArray:
        """Score, close the round, and choose the arms of the next one, shape (trials, number of arms)."""

    def select(self, batch: TrialBatch) -> IntArray:
        """Select after the last round: the arm with the best score, shape (trials, 1)."""
        return batch.keep_best(1)

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull all arms, then the chosen ones, and select."""
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        for left in range(self.rounds if batch.n_arms > 1 else 0, 0, -1):
            arms = self.choose(batch)
            batch.buy_among(batch.ledger.left_units // left, arms)
        return self.select(batch)
