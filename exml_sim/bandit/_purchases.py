"""Compiled steps of a round in every trial: share money, charge the ledger, count pulls, mark arms."""

from __future__ import annotations

import numpy as np

from exml_sim._internal.arrays import BoolArray, IntArray
from exml_sim._internal.compiled import kernel

# Budgets have at most 2**52 units (see `Prices.units`), and sums below this stay far from 2**63.
_BEYOND_ALL_BUDGETS = 2.0**60


@kernel
def share_money(units: IntArray, costs: IntArray, active: BoolArray, equal_money: bool, pulls: IntArray) -> None:
    """Turn the money of every trial into pulls of its active arms, as `exml_sim.money.allot` does."""
    for t in range(active.shape[0]):
        divisor = 0
        for arm in range(active.shape[1]):
            if active[t, arm]:
                divisor += 1 if equal_money else costs[arm]
        share = units[t] // max(divisor, 1)
        for arm in range(active.shape[1]):
            pulls[t, arm] = (share // costs[arm] if equal_money else share) if active[t, arm] else 0


@kernel
def share_among(
    units: IntArray, costs: IntArray, arms: IntArray, equal_money: bool, number: IntArray, spent: IntArray
) -> None:
    """Turn the money of every trial into pulls of the listed arms; -1 stands for no arm."""
    for t in range(arms.shape[0]):
        divisor = 0
        for j in range(arms.shape[1]):
            if arms[t, j] >= 0:
                divisor += 1 if equal_money else costs[arms[t, j]]
        share = units[t] // max(divisor, 1)
        spent[t] = 0
        for j in range(arms.shape[1]):
            number[t, j] = 0
            if arms[t, j] >= 0:
                cost = costs[arms[t, j]]
                number[t, j] = share // cost if equal_money else share
                spent[t] += number[t, j] * cost


@kernel
def charge(pulls: IntArray, costs: IntArray, limit: int, spent: IntArray, after: IntArray) -> bool:
    """Add the cost of the pulls to what every trial has spent; return False if pulls are negative or unaffordable."""
    for t in range(pulls.shape[0]):
        total, size = spent[t], float(spent[t])
        for arm in range(pulls.shape[1]):
            if pulls[t, arm] < 0:
                return False
            total += pulls[t, arm] * costs[arm]
            # The product could overflow 64 bits; in floats it is seen to be unaffordable.
            size += float(pulls[t, arm]) * float(costs[arm])
        if size > _BEYOND_ALL_BUDGETS or total > limit:
            return False
        after[t] = total
    return True


@kernel
def count_pulls(arms: IntArray, number: IntArray, pulls: IntArray) -> None:
    """Add the numbers of pulls of the listed arms to `pulls`, shape (trials, K)."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if number[t, j]:
                pulls[t, arms[t, j]] += number[t, j]


@kernel
def mark_listed(arms: IntArray, mask: BoolArray) -> None:
    """Mark the listed arms of every trial; -1 stands for no arm."""
    for t in range(arms.shape[0]):
        for j in range(arms.shape[1]):
            if arms[t, j] >= 0:
                mask[t, arms[t, j]] = True


def mark_arms(arms: IntArray, n_arms: int) -> BoolArray:
    """Mark the listed arms of every trial, shape (trials, n_arms); -1 stands for no arm."""
    mask = np.zeros((arms.shape[0], n_arms), dtype=np.bool_)
    mark_listed(np.asarray(arms, dtype=np.int64), mask)
    return mask
