r"""Explore while it is worth more than further rows of the leader, then commit the rest of the budget to it.

The final model counts, not the name of the best arm. Two numbers decide after every round. The first is the expected
gain of another round by a change of the leader. If the difference d of a challenger to the leader is estimated with
deviation e, and b further rows next to n bring it to e sqrt(n/(n+b)), the estimate moves by s = e sqrt(b/(n+b)), and

.. math:: G = s\,\psi(d/s), \qquad \psi(u) = \varphi(u) - u\,(1 - \Phi(u)),

is the expected gain (the knowledge gradient of Frazier, Powell and Dayanik, SICON 2008). The second is the price: the
leader will have fewer rows at the end. The explained part of the loss grows with the rows about as n/(n + h), so h rows
explain half of what can be explained. The default h, 24 rows, is a choice and no measurement. A challenger whose gain
is below its price is dropped. When none is left, the rest of the money buys rows of the leader. Where the leader can
be bought completely and money is left over, exploring costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import check_count, check_positive
from exml_sim.bandit._ranking import mark_arms
from exml_sim.bandit.trial_batch import BASELINE_RISK, TrialBatch
from exml_sim.money import Money, Prices, exact
from exml_sim.strategies.base import BaseStrategy, Checks, check_share

#: Rows that explain half of what can be explained; chosen, not tuned.
HALF = 24.0


def expected_gain(difference: FloatArray, deviation: FloatArray, rows: FloatArray, more: FloatArray) -> FloatArray:
    """Compute the expected gain G of `more` rows next to `rows` by a change of the leader.

    Parameters
    ----------
    difference
        Score of the challenger less that of the leader, at least 0.
    deviation
        Standard deviation of this difference.
    """
    moved = deviation * np.sqrt(more / (rows + more))
    safe = np.where(moved > 0.0, moved, 1.0)
    u = np.minimum(difference / safe, 40.0)
    gain = safe * (np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi) - u * ndtr(-u))
    return np.asarray(np.where(moved > 0.0, np.maximum(gain, 0.0), 0.0), dtype=np.float64)


def growth(rows: FloatArray, final: FloatArray, half: float) -> FloatArray:
    """Compute the factor by which the explained part n/(n + h) grows from `rows` to `final` rows."""
    return np.asarray((final / (final + half)) * ((rows + half) / rows), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueOfInformationCommit(BaseStrategy):
    """Drop challengers by the value of information, then commit to the leader.

    Parameters
    ----------
    first_round_share
        Fraction of the budget that all arms share in the first round.
    rounds
        Largest number of rounds before the commitment; each doubles the rows of the active arms, for at most half of
        the money that is left.
    deviation
        Standard deviation of one row's loss.
    half
        Rows that explain half of what can be explained; by default 24, and in purchases 20 per known class.
    """

    checks: ClassVar[Checks] = {
        "first_round_share": check_share,
        "rounds": check_count,
        "deviation": check_positive,
        "half": check_positive,
    }

    first_round_share: Money = Fraction(1, 5)
    rounds: int = 4
    deviation: float = 0.5
    half: float | None = None

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the share of the budget that all arms get, at least one pull of each; all of it for a single arm."""
        if prices.size == 1:
            return budget
        share = budget * exact(self.first_round_share, "first_round_share")
        return max(share, min(budget, self.cost_of_one_each(prices)))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull all arms, drop challengers, commit to the leader."""
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        for _ in range(self.rounds):
            scores, _ = batch.score()
            stay = self._worth_it(scores.value, batch)
            batch.close_round(scores, stay, False)
            competing = stay.sum(axis=1) > 1
            if not competing.any():
                break
            batch.buy(np.where(competing, self._round_units(batch), 0))
        batch.ties.finish()
        leader = batch.keep_best(1)
        batch.buy(batch.ledger.left_units.copy(), among=mark_arms(leader, batch.n_arms))
        return leader

    def _worth_it(self, values: FloatArray, batch: TrialBatch) -> BoolArray:
        """Keep the leader, and the challengers whose expected gain is above their price."""
        lines = np.arange(len(values))
        leader = batch.pick_lowest(values)
        pulls = batch.pulls.astype(np.float64)
        own = pulls[lines, leader]
        difference = values - values[lines, leader][:, None]
        deviation = self.deviation * np.sqrt(1.0 / pulls + 1.0 / own[:, None])
        gain = expected_gain(difference, deviation, pulls, pulls)
        money = batch.ledger.left_units.astype(np.float64)[:, None]
        price = batch.prices.costs.astype(np.float64)
        leader_price = price[leader][:, None]
        most = self._affordable_rows(batch, leader)[:, None]
        amounts = money, np.maximum(money - pulls * price, 0)
        rich, poor = (own[:, None] + np.minimum(most, amount / leader_price) for amount in amounts)
        explained = np.maximum(BASELINE_RISK - values[lines, leader], 0.0)[:, None]
        half = HALF if self.half is None else self.half
        cost = explained * (growth(own[:, None], rich, half) - growth(own[:, None], poor, half))
        stay = batch.active & (gain > cost)
        stay[lines, leader] = True
        return np.asarray(stay, dtype=np.bool_)

    def _affordable_rows(self, batch: TrialBatch, leader: IntArray) -> FloatArray:
        """Count the rows of the leader that money and rows still allow."""
        rows, left = batch.ledger.left_units // batch.prices.costs[leader], batch.arms.pulls_left()
        if left is not None:
            rows = np.minimum(rows, left[np.arange(len(leader)), leader])
        return np.asarray(rows, dtype=np.float64)

    def _round_units(self, batch: TrialBatch) -> IntArray:
        """Compute the money to double the rows of the active arms, at most half of what is left."""
        double = (batch.active * batch.pulls) @ batch.prices.costs
        return np.asarray(np.minimum(double, batch.ledger.left_units // 2), dtype=np.int64)
