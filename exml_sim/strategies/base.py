"""The options that all rules of this package share; what a strategy is says `exml_sim.bandit.strategy`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from exml_sim.arrays import IntArray
from exml_sim.bandit.trial_batch import OBJECTIVES, TrialBatch
from exml_sim.money import ALIGNMENTS, Money, Prices, exact
from exml_sim.plugins import STRATEGIES
from exml_sim.validation import check_choice, check_count


def check_share(share: Money) -> None:
    """Refuse a part of the budget that is none."""
    if not 0 < exact(share, "first_round_share") <= 1:
        raise ValueError(f"first_round_share must be in (0, 1], got {share}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseStrategy:
    """Options that every rule of this package takes.

    Parameters
    ----------
    alignment
        "sample": all active arms get equally many pulls. "budget": all get equal money, so cheaper ones get
        more pulls.
    objective
        "risk": the lowest score wins. "risk_per_cost": the highest quality per cost wins, (1 - score) /
        cost, the test-time cost of the paper's Remark 2; 1 is the score of a model that says nothing.
    """

    #: Subclasses in a file of plug-ins announce themselves as strategies.
    plugin_group: ClassVar[str] = STRATEGIES
    #: The option that says how many arms are selected, for rules that can select several.
    number_option: ClassVar[str | None] = None

    alignment: str = "sample"
    objective: str = "risk"

    def __post_init__(self) -> None:
        check_choice(self.alignment, "alignment", ALIGNMENTS)
        check_choice(self.objective, "objective", OBJECTIVES)

    @property
    def selects(self) -> int:
        """Number of arms that the rule selects."""
        return 1 if self.number_option is None else int(getattr(self, self.number_option))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched(BaseStrategy, ABC):
    """A common opening, then so many batches for arms that the rule chooses.

    Parameters
    ----------
    first_round_share
        Part of the budget that all arms share in the opening round.
    rounds
        Number of batches after the opening. The money that floors leave over is carried to the next one.
    """

    first_round_share: Money = Fraction(1, 4)
    rounds: int = 48

    def __post_init__(self) -> None:
        BaseStrategy.__post_init__(self)
        check_share(self.first_round_share)
        object.__setattr__(self, "rounds", check_count(self.rounds, "rounds"))

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """The share of the budget that all arms get."""
        return budget * exact(self.first_round_share, "first_round_share")

    @abstractmethod
    def explore(self, batch: TrialBatch) -> IntArray:
        """Open, choose, select."""
