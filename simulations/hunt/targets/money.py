"""Targets about whole numbers and money: rows of the rounds, and what a share of the budget pays for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from simulations.hunt.axes import Box, Numbers, axis, box
from simulations.hunt.judging import exact_log, two_paths
from simulations.hunt.target import Measured, Target, unmet
from theory.constants import halving_schedule

F = Fraction
Sides = Callable[[Numbers], tuple[Fraction, Fraction]]

#: K = 2^power arms and a budget with ``first`` rows per arm in the first round: K log2 K divides it.
POWERS = box(power=axis(1, 7), first=axis(1, 400))
ANY_BUDGET = box(power=axis(1, 7), B=axis(4, 4000))
SIZES = box(K=axis(2, 64), B=axis(4, 4000))
_COST = axis("1/10", 5, grid=10)
COSTS = box(budget=axis(1, 60), cost1=_COST, cost2=_COST, cost3=_COST)


def _powers(one: Numbers) -> tuple[int, int]:
    """(B, K)."""
    power = one.integer("power")
    return one.integer("first") * 2**power * power, 2**power


def rows_of_selected(budget: int, arms: int) -> int:
    """Rows of the arm that Algorithm 1 leaves, by its own loop."""
    active, rounds, rows = arms, (arms - 1).bit_length(), 0
    while active > 1:
        rows += budget // (rounds * active)
        active -= active // 2
    return rows


def _claimed_rows(one: Numbers) -> tuple[Fraction, Fraction]:
    """K floor(B / (K log2 K)) <= rows of the selected arm (A.5, last line of the count)."""
    budget, arms = _powers(one)
    claimed = arms * (budget // (arms * one.integer("power")))
    return F(claimed), F(int(halving_schedule(budget, arms).accumulated[-1]))


def _true_rows(one: Numbers) -> tuple[Fraction, Fraction]:
    """(K - 1) floor(B / (K log2 K)) <= rows of the selected arm."""
    claimed, rows = _claimed_rows(one)
    arms = 2 ** one.integer("power")
    return claimed * (arms - 1) / arms, rows


def _half_of_claimed(one: Numbers) -> tuple[Fraction, Fraction]:
    """floor(B / log2 K) / 2 <= rows of the selected arm, K = 2^power, whatever the budget."""
    budget, power = one.integer("B"), one.integer("power")
    return F(budget // power, 2), F(int(halving_schedule(budget, 2**power).accumulated[-1]))


def _half_rounded_down(one: Numbers) -> tuple[Fraction, Fraction]:
    """floor(floor(B / log2 K) / 2) <= rows of the selected arm: the last round alone buys as many."""
    half, rows = _half_of_claimed(one)
    return F(math.floor(half)), rows


def _loop_half(one: Numbers) -> tuple[Fraction, Fraction]:
    half, _ = _half_of_claimed(one)
    return half, F(rows_of_selected(one.integer("B"), 2 ** one.integer("power")))


def _first_round(one: Numbers) -> tuple[Fraction, Fraction]:
    """floor(B / (K log2 K)) of Eq. 11 <= rows of the first round of Algorithm 1."""
    budget, arms = one.integer("B"), one.integer("K")
    return F(math.floor(budget / (arms * math.log2(arms)))), F(int(halving_schedule(budget, arms).pulls[0]))


def _spend(one: Numbers) -> tuple[Fraction, Fraction]:
    """Pulls of Algorithm 1 <= B."""
    budget, arms = one.integer("B"), one.integer("K")
    return F(int(halving_schedule(budget, arms).spent)), F(budget)


def _aligned(one: Numbers) -> tuple[Fraction, Fraction]:
    """c_1 floor(b / sum c) <= floor(c_1 b / sum c): a feature's share pays for its samples."""
    budget, costs = _money(one)
    total = sum(costs, F(0))
    return costs[0] * math.floor(budget / total), F(math.floor(costs[0] * budget / total))


def _aligned_spend(one: Numbers) -> tuple[Fraction, Fraction]:
    """sum_i c_i floor(b / sum c) <= b."""
    budget, costs = _money(one)
    total = sum(costs, F(0))
    return total * math.floor(budget / total), budget


def _money(one: Numbers) -> tuple[Fraction, list[Fraction]]:
    return one.fraction("budget"), [one.fraction(f"cost{i}") for i in (1, 2, 3)]


def _loop_rows(one: Numbers) -> tuple[Fraction, Fraction]:
    claimed, _ = _claimed_rows(one)
    return claimed, F(rows_of_selected(*_powers(one)))


def _target(id: str, says: str, space: Box, sides: Sides, holds: bool, again: Sides | None = None) -> Target:
    """Sides that are exact numbers; ``again`` computes them another way for the confirmation."""

    def measured(which: Sides) -> Callable[[Numbers], Measured]:
        def compared(one: Numbers) -> Measured:
            left, right = which(one)
            return Measured(exact_log(left), exact_log(right)) if left > 0 else unmet(1.0)

        return compared

    slow = measured(again or sides)
    return two_paths(id, says, space, measured(sides), slow, "exact numbers", holds, probability=False)


def targets() -> list[Target]:
    """All targets about numbers of rows and money."""
    rows = "rows of the selected arm"
    return [
        _target("a5-count-3", f"K floor(B / (K log2 K)) <= {rows}", POWERS, _claimed_rows, False, _loop_rows),
        _target("a5-count-3/repaired", f"(K - 1) floor(B / (K log2 K)) <= {rows}", POWERS, _true_rows, True),
        _target("a5-count-4/half", f"floor(B / log2 K) / 2 <= {rows}", ANY_BUDGET, _half_of_claimed, False, _loop_half),
        _target(
            "a5-count-4/half-rounded-down",
            f"floor(floor(B / log2 K) / 2) <= {rows}",
            ANY_BUDGET,
            _half_rounded_down,
            True,
        ),
        _target("lemma-2-first-round", "floor(B / (K log2 K)) <= rows of the first round", SIZES, _first_round, False),
        _target("me-spend", "pulls of median elimination <= B", SIZES, _spend, True),
        _target("sample-alignment", "c_1 floor(b / sum c) <= floor(c_1 b / sum c)", COSTS, _aligned, False),
        _target("sample-alignment-spend", "sum_i c_i floor(b / sum c) <= b", COSTS, _aligned_spend, True),
    ]
