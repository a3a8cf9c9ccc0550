"""OCBA (Chen, Lin, Yucesan and Chick, 2000): a fixed budget, split by how hard each arm is to tell from the best."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.exploration.lockstep import Lockstep
from exml_sim.exploration.ranking import lowest
from exml_sim.money import Money, Prices, exact
from exml_sim.strategies.base import Rule, check_share
from exml_sim.validation import check_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Ocba(Rule):
    """Optimal computing budget allocation with equal variances, in batches.

    With gaps D_i to the leader b the wanted shares are w_i ~ 1 / D_i^2 for i != b and w_b = (sum_{i != b} w_i^2)^{1/2}.
    Every batch goes to the arm that is furthest behind its share.

    Parameters
    ----------
    opening_share
        Part of the budget that all arms share in the opening round.
    rounds
        Number of batches after the opening.
    """

    opening_share: Money = Fraction(1, 4)
    rounds: int = 48

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        check_share(self.opening_share)
        object.__setattr__(self, "rounds", check_count(self.rounds, "rounds"))

    def opening(self, budget: Fraction, prices: Prices) -> Fraction:
        """The share of the budget that all arms get."""
        return budget * exact(self.opening_share, "opening_share")

    def explore(self, trials: Lockstep) -> IntArray:
        """Open, follow the shares, select."""
        trials.buy(self.opening(trials.budget, trials.prices))
        for left in range(self.rounds if trials.n_arms > 1 else 0, 0, -1):
            scores, _ = trials.score(_never)
            wanted = shares(scores.value, lowest(scores, 1)[:, 0])
            behind = wanted / trials.pulls
            trials.close_round(scores, trials.active, np.ones(behind.shape[0], dtype=np.bool_))
            among = np.arange(trials.n_arms) == behind.argmax(axis=1)[:, None]
            trials.buy(trials.ledger.left_units // left, among=among)
        return trials.keep(1)


def _never(scores: object) -> BoolArray:
    """Shares need no certified order."""
    return np.zeros((1, 1), dtype=np.bool_)


def shares(values: FloatArray, leader: IntArray) -> FloatArray:
    """The wanted shares of the arms, up to a factor, shape (trials, K)."""
    lines = np.arange(leader.size)
    gap = values - values[lines, leader][:, None]
    # Ties with the leader share what there is; a tiny gap stands for them.
    smallest = np.maximum(gap.max(axis=1, keepdims=True), 1e-12) * 1e-4
    weight = 1.0 / np.maximum(gap, smallest) ** 2
    weight[lines, leader] = 0.0
    weight[lines, leader] = np.sqrt((weight**2).sum(axis=1))
    return np.asarray(weight, dtype=np.float64)
