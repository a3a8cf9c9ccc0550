"""Targets about whole numbers and money: rows of the rounds, and what a share of the budget pays for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from simulations.falsify.axes import Box, Numbers, axis, box
from simulations.falsify.judging import exact_log, two_paths
from simulations.falsify.target import Measured, Target, unmet
from theory.constants import halving_schedule

F = Fraction
Sides = Callable[[Numbers], tuple[Fraction, Fraction]]

#: K = 2^power arms and a budget with ``first`` rows per arm in the first round: K log2 K divides it.
POWERS = box(power=axis(1, 7), first=axis(1, 400))
ANY_BUDGET = box(power=axis(1, 7), B=axis(4, 4000))
SIZES = box(K=axis(2, 64), B=axis(4, 4000))
_COST = axis("1/10", 5, grid=10)
COSTS = box(budget=axis(1, 60), cost1=_COST, cost2=_COST, cost3=_COST)


def rows_of_selected(budget: int, arms: int) -> int:
    """Rows of the arm that Algorithm 1 leaves, by its own loop."""
    active, rounds, rows = arms, (arms - 1).bit_length(), 0
    while active > 1:
        rows += budget // (rounds * active)
        active -= active // 2
    return rows


def _scheduled(budget: int, arms: int) -> int:
    """The same by the schedule of `theory`."""
    return int(halving_schedule(budget, arms).accumulated[-1])


def _count(share: Callable[[int], Fraction], rows: Callable[[int, int], int]) -> Sides:
    """share(K) floor(B / (K log2 K)) <= rows of the selected arm, where K log2 K divides B (A.5)."""

    def sides(one: Numbers) -> tuple[Fraction, Fraction]:
        power, first = one.integer("power"), one.integer("first")
        return share(2**power) * first, F(rows(first * 2**power * power, 2**power))

    return sides


def _half(rows: Callable[[int, int], int], *, down: bool = False) -> Sides:
    """floor(B / log2 K) / 2 <= rows of the selected arm, K = 2^power, whatever the budget.

    Rounded down it holds: the last round alone buys as many.
    """

    def sides(one: Numbers) -> tuple[Fraction, Fraction]:
        budget, power = one.integer("B"), one.integer("power")
        half = F(budget // power, 2)
        return F(math.floor(half)) if down else half, F(rows(budget, 2**power))

    return sides


def _first_round(one: Numbers) -> tuple[Fraction, Fraction]:
    """The rows that Eq. 11 counts with <= rows of the first round of Algorithm 1."""
    budget, arms = one.integer("B"), one.integer("K")
    return F(math.floor(budget / (arms * math.log2(arms)))), F(int(halving_schedule(budget, arms).pulls[0]))


def _spend(one: Numbers) -> tuple[Fraction, Fraction]:
    budget, arms = one.integer("B"), one.integer("K")
    return F(int(halving_schedule(budget, arms).spent)), F(budget)


def _aligned(one: Numbers) -> tuple[Fraction, Fraction]:
    """A feature's share of the budget pays for its samples."""
    budget, cost, total = _money(one)
    return cost * math.floor(budget / total), F(math.floor(cost * budget / total))


def _aligned_spend(one: Numbers) -> tuple[Fraction, Fraction]:
    budget, _, total = _money(one)
    return total * math.floor(budget / total), budget


def _money(one: Numbers) -> tuple[Fraction, Fraction, Fraction]:
    """Budget, first cost, all costs."""
    costs = [one.fraction(f"cost{i}") for i in (1, 2, 3)]
    return one.fraction("budget"), costs[0], sum(costs, F(0))


def _measured(sides: Sides) -> Callable[[Numbers], Measured]:
    def measured(one: Numbers) -> Measured:
        left, right = sides(one)
        return Measured(exact_log(left), exact_log(right)) if left > 0 else unmet(1.0)

    return measured


def targets() -> list[Target]:
    """All targets about numbers of rows and money; some are confirmed by a second way to count."""
    rows = "rows of the selected arm"
    by_loop = _count(F, rows_of_selected)
    table: tuple[tuple[str, str, Box, bool, Sides, Sides | None], ...] = (
        ("a5-count-3", f"K floor(B / (K log2 K)) <= {rows}", POWERS, False, _count(F, _scheduled), by_loop),
        (
            "a5-count-3/repaired", f"(K - 1) floor(B / (K log2 K)) <= {rows}",
            POWERS, True, _count(lambda K: F(K - 1), _scheduled), None,
        ),
        (
            "a5-count-4/half", f"floor(B / log2 K) / 2 <= {rows}",
            ANY_BUDGET, False, _half(_scheduled), _half(rows_of_selected),
        ),
        (
            "a5-count-4/half-rounded-down", f"floor(floor(B / log2 K) / 2) <= {rows}",
            ANY_BUDGET, True, _half(_scheduled, down=True), None,
        ),
        ("lemma-2-first-round", "floor(B / (K log2 K)) <= rows of the first round", SIZES, False, _first_round, None),
        ("me-spend", "pulls of median elimination <= B", SIZES, True, _spend, None),
        ("sample-alignment", "c_1 floor(b / sum c) <= floor(c_1 b / sum c)", COSTS, False, _aligned, None),
        ("sample-alignment-spend", "sum_i c_i floor(b / sum c) <= b", COSTS, True, _aligned_spend, None),
    )  # fmt: skip
    return [
        two_paths(id, says, space, _measured(fast), _measured(slow or fast), "exact numbers", holds, probability=False)
        for id, says, space, holds, fast, slow in table
    ]
