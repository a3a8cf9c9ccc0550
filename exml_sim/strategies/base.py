"""Provide the options that all strategies of this package share.

CONTRIBUTING.md explains the six concepts of a strategy. `exml_sim.bandit.trial_batch` has the protocol and all methods
of a batch, and `exml_sim/strategies/uniform.py` is the shortest example. A strategy that decides by itself which arms
stay calls `batch.close_round(scores, survivors, certified)`; `batch.buy_among(units, arms)` is the fast purchase for
one or two arms per trial.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice, check_count
from exml_sim.bandit._ranking import TIES, Scores
from exml_sim.bandit.trial_batch import OBJECTIVES, TrialBatch
from exml_sim.money import ALIGNMENTS, Money, Prices, exact
from exml_sim.plugins import STRATEGIES


def check_share(share: Money) -> None:
    """Check a fraction of the budget."""
    if not 0 < exact(share, "first_round_share") <= 1:
        raise ValueError(f"first_round_share must be in (0, 1], got {share}")


def mark_nothing(scores: Scores) -> BoolArray:
    """Mark nothing as unclear: the strategy needs no certified order."""
    return np.zeros((1, 1), dtype=np.bool_)


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

    alignment: str = "sample"
    objective: str = "risk"
    ties: str = "random"

    def __post_init__(self) -> None:
        check_choice(self.alignment, "alignment", ALIGNMENTS)
        check_choice(self.objective, "objective", OBJECTIVES)
        check_choice(self.ties, "ties", TIES)

    @property
    def selects(self) -> int:
        """Number of arms that the strategy selects."""
        return 1 if self.number_option is None else int(getattr(self, self.number_option))


@dataclass(frozen=True, slots=True, kw_only=True)
class PullByPull(BaseStrategy, ABC):
    """One pull of every arm, then one pull of the arm that the strategy chooses, until the money ends.

    A trial ends when it cannot pay for the arm that it chooses. The active arm with the best score is selected.
    """

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the cost of one pull of every arm."""
        costs = prices.exact_costs
        return min(budget, prices.size * max(costs) if self.alignment == "budget" else sum(costs, Fraction(0)))

    @abstractmethod
    def choose(self, batch: TrialBatch, values: FloatArray, step: int) -> IntArray:
        """Choose the next arm of every trial by the scores of the active arms, shape (trials,)."""

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull one arm after the other, then select."""
        batch.buy_pulls(np.ones_like(batch.pulls))
        open_trials = np.full(batch.ledger.trials, batch.n_arms > 1)
        step, costs, nothing = 0, batch.prices.costs, np.zeros(open_trials.size, dtype=np.bool_)
        while open_trials.any():
            scores, _ = batch.score(mark_nothing)
            before = batch.active
            arm = self.choose(batch, scores.value, step)
            survivors, batch.active = batch.active, before
            if survivors is not before and not open_trials.all():
                # A trial that has ended keeps its arms.
                survivors = np.where(open_trials[:, None], survivors, before)
            batch.close_round(scores, survivors, nothing)
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

    first_round_share: Money = Fraction(1, 4)
    rounds: int = 48

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        check_share(self.first_round_share)
        object.__setattr__(self, "rounds", check_count(self.rounds, "rounds"))

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the fraction of the budget that all arms share."""
        return budget * exact(self.first_round_share, "first_round_share")

    @abstractmethod
    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull all arms, then the chosen ones, and select."""
