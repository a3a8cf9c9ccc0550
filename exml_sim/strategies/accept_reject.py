"""Successive accepts and rejects for the top k arms (Bubeck, Wang and Viswanathan, ICML 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from exml_sim._internal.arrays import BoolArray, IntArray
from exml_sim._internal.validation import check_count
from exml_sim.bandit._ranking import Scores, any_arm, ranking
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy, Checks
from exml_sim.strategies.successive_rejects import phase_money


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessiveAcceptsRejects(BaseStrategy):
    """After each of K - 1 phases decide on the arm furthest from the border between the top k and the rest.

    With s slots open and the active arms ordered by score, the best arm is accepted if its distance to arm
    s + 1 is larger than the distance of the worst arm to arm s; otherwise the worst arm is rejected (also
    when both are equal). Phases are those of successive rejects.

    Parameters
    ----------
    k
        Number of arms to select.
    """

    number_option: ClassVar[str | None] = "k"
    checks: ClassVar[Checks] = {"k": check_count}

    k: int

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money of the first phase."""
        self.check_selects(prices)
        return budget if prices.size == 1 else max(phase_money(budget, prices)[0], Fraction(0))

    def explore(self, batch: TrialBatch) -> IntArray:
        """Decide on one arm per phase; the last arm takes the last slot if it is open."""
        lines = np.arange(batch.active.shape[0])
        slots = np.full(lines.size, self.k)
        selected = np.empty((lines.size, self.k), dtype=np.int64)
        for money in phase_money(batch.budget, batch.prices):
            batch.buy(money)
            width = int(batch.active[0].sum())
            scores, doubtful = batch.score(partial(_unclear, slots=slots, width=width))
            order = batch.rank(scores, any_arm(doubtful))
            accept = _accepts(scores, order, slots, width)[0]
            decided = np.where(accept, order[:, 0], order[:, width - 1])
            selected[lines[accept], self.k - slots[accept]] = decided[accept]
            slots = slots - accept
            survivors = batch.active.copy()
            survivors[lines, decided] = False
            batch.close_round(scores, survivors, ~any_arm(doubtful))
        open_slot = slots == 1
        selected[open_slot, self.k - 1] = batch.active.argmax(axis=1)[open_slot]
        return selected


def _accepts(scores: Scores, order: IntArray, slots: IntArray, width: int) -> tuple[BoolArray, IntArray, IntArray]:
    """Decide whether the best arm is accepted (else the worst is rejected); return the two distances as well."""
    ordered = np.take_along_axis(scores.value, order, axis=1)
    lines = np.arange(slots.size)
    # With no slot open everything is rejected; with as many slots as arms everything is accepted.
    above = np.where(slots == width, np.inf, ordered[lines, np.minimum(slots, width - 1)] - ordered[:, 0])
    below = np.where(slots == 0, np.inf, ordered[:, width - 1] - ordered[lines, np.maximum(slots - 1, 0)])
    return (above > below) & (slots > 0), above, below


def _unclear(scores: Scores, slots: IntArray, width: int) -> BoolArray:
    """Mark all active arms of the trials in which the certificates could change the decision."""
    order = ranking(scores)
    ordered = np.take_along_axis(scores.value, order, axis=1)
    accept, above, below = _accepts(scores, order, slots, width)
    # Each distance is off by at most one certificate width per end.
    blur = 2.0 * scores.width()
    extreme = np.where(accept, ordered[:, 1] - ordered[:, 0], ordered[:, width - 1] - ordered[:, width - 2])
    # With two arms and one slot both distances are the same number, and to accept one is to reject the other.
    is_contested = (np.abs(above - below) <= 2.0 * blur) & (width > 2)
    open_lines = (extreme <= blur) | is_contested
    return np.asarray(open_lines[:, None] & np.isfinite(scores.value), dtype=np.bool_)
