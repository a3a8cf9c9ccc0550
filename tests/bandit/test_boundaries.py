"""Money, ledgers and rankings at their boundaries: the largest amount that is allowed, the last cent, equal scores."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exml_sim.bandit._ranking import (
    Scores,
    TieBreaker,
    count_fewest,
    cut_unclear,
    group_equal,
    lowest,
    mark_arms,
    ranking,
)
from exml_sim.bandit.ledger import Ledger, Overspend, count_pulls, share_among, share_money
from exml_sim.money import LARGEST_UNITS, MOST_DIGITS, CandidateCost, Prices, allot, exact, exact_cost, short, show
from exml_sim.seeds import Seeds

INF = np.inf


def test_limits_of_amounts() -> None:
    assert (MOST_DIGITS, LARGEST_UNITS) == (400, 2**52)
    # Every float has at most 309 digits before the point and 324 places behind it.
    for text in ("1e400", "1e-400", "9" * 400, "0." + "3" * 398, Decimal("9" * 400), " 12 "):
        assert exact(text) == Fraction(str(text).strip())
    for text in ("1e401", "1e-401", "9" * 401, Decimal("9" * 401), Decimal("1e401"), Decimal("NaN"), "1" * 401):
        with pytest.raises(ValueError, match="at most 400 digits"):
            exact(text)
    assert exact("1/3 ") == Fraction(1, 3)
    with pytest.raises(ValueError, match="at most 400 digits"):
        exact("1/" + "3" * 400)


def test_limits_of_price_lists() -> None:
    assert Prices.of([LARGEST_UNITS - 1, 1]).costs.tolist() == [LARGEST_UNITS - 1, 1]
    with pytest.raises(ValueError, match="more than"):
        Prices.of([LARGEST_UNITS, 1])
    prices = Prices.of([Fraction(1, 2), 3])
    assert prices.units(Fraction(LARGEST_UNITS, 2)) == LARGEST_UNITS
    with pytest.raises(ValueError, match="times the unit"):
        prices.units(Fraction(LARGEST_UNITS + 1, 2))
    assert (prices.size, prices.money(7)) == (2, Fraction(7, 2))


def test_fees_of_candidates() -> None:
    plain = CandidateCost(2)
    assert (plain.setup, plain.bundle, plain.bundle_fee) == (0, "", 0)
    assert exact_cost(CandidateCost("0.1", setup="0.01")).setup == Fraction(1, 100)
    for options in ({"setup": -1}, {"bundle": "visit", "bundle_fee": -1}):
        with pytest.raises(ValueError, match="fees must not be negative"):
            CandidateCost(2, **options)
    for options in ({"bundle": "visit"}, {"bundle_fee": 1}, {"bundle": "visit", "bundle_fee": 0}):
        with pytest.raises(ValueError, match="a bundle has a name and a fee above 0"):
            CandidateCost(2, **options)


def test_amounts_are_printed_as_decimals_of_nine_places_or_as_fractions() -> None:
    texts = {Fraction(1, 10**9): "0.000000001", Fraction(1, 10**10): "1/10000000000", Fraction(10**12): "1000000000000"}
    assert {amount: show(amount) for amount in texts} == texts
    numbers = {0.4999999: "0.4999999", 0.5: "0.5", 1e6: "1e+06", 1234567.0: "1234567.0", None: "-"}
    assert {number: short(number) for number in numbers} == numbers


@pytest.mark.parametrize("equal_money", [False, True])
def test_shares_of_all_arms_of_some_and_of_none(equal_money: bool) -> None:
    """`share_money` and `share_among` against `allot`, trial by trial; without active arms nothing is bought."""
    costs = np.array([1, 7, 60])
    active = np.array([[a, b, c] for a in (False, True) for b in (False, True) for c in (False, True)])
    alignment = "budget" if equal_money else "sample"
    for units in (0, 1, 6, 7, 8, 59, 60, 61, 67, 68, 69, 179, 180, 181, 10**9):
        money = np.full(len(active), units)
        pulls = np.empty(active.shape, dtype=np.int64)
        share_money(money, costs, active, equal_money, pulls)
        np.testing.assert_array_equal(pulls, allot(money, costs, active, alignment))
        np.testing.assert_array_equal(pulls, allot(units, costs, active, alignment))
        for mask, row in zip(active, pulls, strict=True):
            arms = np.flatnonzero(mask)
            each = [units // (len(arms) * costs[i]) if equal_money else units // costs[arms].sum() for i in arms]
            assert row[arms].tolist() == each
            assert row[~mask].tolist() == [0] * (3 - len(arms))
            listed = np.array([arms if len(arms) else [-1]])
            number, spent = np.empty_like(listed), np.empty(1, dtype=np.int64)
            share_among(np.array([units]), costs, listed, equal_money, number, spent)
            assert number[0].tolist() == (each or [0])
            assert spent[0] == row @ costs
            counted = np.ones((1, 3), dtype=np.int64)
            count_pulls(listed, number, counted)
            assert counted[0].tolist() == (1 + row).tolist()


def test_the_last_cent_of_every_trial() -> None:
    ledger = Ledger("1.2", ["0.1", "0.3"], trials=3)
    ledger.buy([[12, 0], [0, 4], [3, 3]])
    assert ledger.left_units.tolist() == [0, 0, 0]
    assert ledger.spent_units.tolist() == [12, 12, 12]
    ledger = Ledger("1.2", ["0.1", "0.3"], trials=3)
    with pytest.raises(
        Overspend, match=r"round 1 would cost 1\.3 in trial 1, but only 1\.2 of the budget 1\.2 is left"
    ):
        ledger.buy([[11, 0], [1, 4], [12, 0]])
    ledger.buy([[6, 0], [1, 0], [0, 3]])
    # Trial 0 would have spent 1.5 in all, trial 1 1.6: the worst one is named.
    with pytest.raises(
        Overspend, match=r"round 2 would cost 1\.5 in trial 1, but only 1\.1 of the budget 1\.2 is left"
    ):
        ledger.buy([[9, 0], [0, 5], [0, 0]])
    assert ledger.rounds == 1
    ledger.forget()
    assert ledger.charge(np.array([6, 11, 3]))
    assert not ledger.charge(np.array([0, 1, 0]))
    assert (ledger.left_units.tolist(), ledger.rounds) == ([0, 0, 0], 2)
    ledger.buy([0, 0])
    assert ledger.rounds == 3
    for question in (lambda: ledger.pulls, lambda: ledger.trial(0), lambda: ledger.round_pulls(1)):
        with pytest.raises(ValueError, match="keeps sums only"):
            question()


def test_a_ledger_with_history_refuses_a_payment_without_purchases() -> None:
    ledger = Ledger(10, [1, 2])
    assert not ledger.charge(np.array([1]))
    assert (ledger.spent, ledger.rounds) == (0, 0)


def test_one_negative_number_of_pulls_is_enough_to_refuse_a_purchase() -> None:
    ledger = Ledger(10, [1, 1])
    with pytest.raises(ValueError, match="pulls must be whole numbers, none negative"):
        ledger.buy([[3, -1]])
    assert ledger.spent == 0


def test_no_money_is_a_budget_and_one_trial_a_ledger() -> None:
    ledger = Ledger(0, [1, 2])
    ledger.buy([0, 0])
    with pytest.raises(Overspend):
        ledger.buy([1, 0])
    assert ledger.names == ("arm 0", "arm 1")
    assert repr(ledger) == "<Ledger: 1 round, budget 0, 2 arms>"
    assert repr(Ledger(0, [1], trials=2)) == "<Ledger: 0 rounds, budget 0, 1 arms, 2 trials>"
    with pytest.raises(ValueError, match="at least one trial, got 0"):
        Ledger(1, [1], trials=0)
    with pytest.raises(ValueError, match="must not be negative"):
        Ledger(-1, [1])


def test_pulls_that_were_not_delivered() -> None:
    ledger = Ledger(20, [1, 2])
    with pytest.raises(ValueError, match="must have shape"):
        ledger.take_back([0, 0])
    ledger.buy([5, 3])
    ledger.buy([2, 3])
    bad: dict[str, list[Any]] = {"must have shape": [[0], [-1, 0], [0, 0, 0]], "the latest round has": [[3, 0], [0, 4]]}
    for message, cases in bad.items():
        for pulls in cases:
            with pytest.raises(ValueError, match=message):
                ledger.take_back(pulls)
    ledger.take_back([0, 1])
    ledger.take_back([2, 2])
    assert (ledger.spent, ledger.pulls.tolist(), ledger.round_pulls(2).tolist()) == (11, [[5, 3]], [[0, 0]])
    assert ledger.round_pulls(1).tolist() == [[5, 3]]


def test_windows_of_the_first_and_the_last_arm() -> None:
    ledger = Ledger(10, [1, 2, 3])
    ledger.buy([1, 0, 0])
    part = ledger.window(9, [2, 0])
    part.buy([2, 3], money=Fraction(9), short=np.array([[0, 1]]))
    assert (ledger.pulls.tolist(), part.pulls.tolist(), ledger.left, part.left) == ([[4, 0, 2]], [[2, 3]], 0, 0)
    assert [entry.short for entry in ledger.entries()[1:]] == [1, 0]
    for budget, arms, message in (
        (1, [0], "is more than the 0 that are left"),
        (0, [3], "arms from 0 to 2"),
        (0, [-1], "arms from 0 to 2"),
        (0, [1, 1], "different arms"),
    ):
        with pytest.raises(ValueError, match=message):
            ledger.window(budget, arms)


def test_one_of_several_trials() -> None:
    ledger = Ledger(30, [1, 2], trials=3)
    ledger.buy([[1, 2], [3, 4], [5, 6]], money=np.array([10, 20, 30]), short=np.array([[0, 0], [0, 1], [0, 0]]))
    ledger.buy([1, 1], money=Fraction(5))
    alone = ledger.trial(1)
    assert (alone.spent, alone.rounds, alone.trials) == (14, 2, 1)
    shown = [(e.round, e.arm, e.pulls, e.spent, e.left_over, e.short) for e in alone.entries()]
    thirds = Fraction(20, 3), Fraction(40, 3), Fraction(5, 3), Fraction(10, 3)
    assert shown == [
        (1, "arm 0", 3, 3, thirds[0] - 3, 0),
        (1, "arm 1", 4, 8, thirds[1] - 8, 1),
        (2, "arm 0", 1, 1, thirds[2] - 1, 0),
        (2, "arm 1", 1, 2, thirds[3] - 2, 0),
    ]
    with pytest.raises(ValueError, match="holds 3 trials"):
        ledger.entries()


def scores(values: list[Any], half_width: float = 0.0, resolution: float = 0.0, unit: Any = 1.0) -> Scores:
    value = np.array(values, dtype=float)
    return Scores(value, value - half_width, value + half_width, resolution, unit)


def test_best_arms_are_within_the_resolution() -> None:
    """Values on a binary grid, so that a difference of exactly the resolution is one."""
    marks = scores([[0.5, 0.5625, 0.625, INF]], resolution=0.0625).best()
    assert marks.tolist() == [[True, True, False, False]]
    # The larger unit of the two arms counts, or the size of the lowest value.
    units = np.array([[1.0, 2.0, 0.5, 4.0]])
    assert scores([[0.0, 0.125, 0.125, 0.25]], resolution=0.0625, unit=units).best().tolist() == [
        [True, True, False, True]
    ]
    assert scores([[-4.0, -3.75, -3.5]], resolution=0.0625).best().tolist() == [[True, True, False]]
    assert scores([[1.0, 1.0], [0.0, 1.0]]).best().tolist() == [[True, True], [True, False]]
    three = scores([[2.0, 0.0, 0.125]], resolution=0.0625, unit=np.array([[1.0, 2.0, 1.0]]))
    assert three.best().tolist() == [[False, True, True]]


def test_chains_of_near_ties() -> None:
    tied = np.array([True])
    step = 0.0625
    for values, unit, groups in (
        ([0.0, step, 2 * step, 3.5 * step, INF, INF], 1.0, [0, 0, 0, 1, 2, 3]),
        ([0.0, step, 2 * step, 3 * step], np.array([[1.0, 1.0, 0.5, 0.5]]), [0, 0, 0, 1]),
        ([0.0, 2 * step, 4 * step, 7 * step], np.array([[1.0, 2.0, 1.0, 2.0]]), [0, 0, 0, 1]),
        ([-8.0, -8.0 + 8 * step, -8.0 + 15.75 * step], 1.0, [0, 0, 1]),
    ):
        order, group = group_equal(scores([values], resolution=step, unit=unit), tied)
        assert group[0].tolist() == groups
        assert order[0].tolist() == list(range(len(values)))
        shuffled = [values[::-1]]
        back = unit if isinstance(unit, float) else unit[:, ::-1]
        order, group = group_equal(scores(shuffled, resolution=step, unit=back), tied)
        assert group[0].tolist() == groups
        # Members of a group by index; groups in the order of their values.
        places = {arm: groups[len(values) - 1 - arm] for arm in range(len(values))}
        finite = [arm for arm in order[0].tolist() if shuffled[0][arm] < INF]
        assert finite == sorted(finite, key=lambda arm: (places[arm], arm))
        assert (ranking(scores(shuffled, resolution=step, unit=back), tied) == order).all()


def test_ties_within_the_resolution_need_both_a_mark_and_a_resolution() -> None:
    values = [[0.25, 0.125, 0.0]]
    for resolution, tied, order in ((0.5, [True], [0, 1, 2]), (0.5, [False], [2, 1, 0]), (0.0, [True], [2, 1, 0])):
        marked = scores(values, resolution=resolution)
        assert lowest(marked, 3, np.array(tied)).tolist() == [order]
        assert lowest(marked, 1, np.array(tied)).tolist() == [order[:1]]
        assert ranking(marked, np.array(tied)).tolist() == [order]
    assert lowest(scores(values, resolution=0.5), 2).tolist() == [[2, 1]]
    assert ranking(scores(values, resolution=0.5)).tolist() == [[2, 1, 0]]
    both = scores([values[0], values[0]], resolution=0.5)
    assert lowest(both, 2, np.array([False, True])).tolist() == [[2, 1], [0, 1]]


def test_widths_and_replaced_scores() -> None:
    some = Scores(np.array([[1.0, 2.0, INF]]), np.array([[0.5, 1.0, -INF]]), np.array([[1.5, 4.0, INF]]), 0.25, 2.0)
    assert some.width().tolist() == [3.0]
    both = Scores(
        some.value.repeat(2, axis=0), np.array([[0.5, 2.0, -INF]] * 2), np.array([[1, 2, INF], [0.5, 2.25, INF]])
    )
    assert both.width().tolist() == [0.5, 0.25]
    new = scores([[7.0, 8.0, 9.0]], 1.0)
    mask = np.array([[True, False, True]])
    mixed = some.replaced(mask, new)
    assert [part[0].tolist() for part in (mixed.value, mixed.lower, mixed.upper)] == [[7, 2, 9], [6, 1, 8], [8, 4, 10]]
    only = some.only(mask)
    assert [part[0].tolist() for part in (only.value, only.lower, only.upper)] == [
        [1, INF, INF],
        [0.5, INF, -INF],
        [1.5, INF, INF],
    ]
    assert {(s.resolution, s.unit) for s in (mixed, only)} == {(0.25, 2.0)}
    scaled = some.scaled(1.0, np.array([2.0, 3.0, 1.0]))
    assert (scaled.value[0].tolist(), scaled.resolution) == ([0, 3, INF], 0.25)
    assert np.asarray(scaled.unit).tolist() == [4, 6, 2]


@pytest.mark.parametrize(
    ("worst_kept", "best_dropped", "marked"),
    [
        # Upper end of the worst kept arm, lower end of the best dropped arm; touching is unclear.
        (0.5, 0.625, []),
        (0.5, 0.5, [1, 2]),
        (0.625, 0.5, [1, 2]),
        (0.875, 0.5, [1, 2, 3]),
        (0.625, 0.125, [0, 1, 2]),
    ],
)
def test_arms_whose_intervals_reach_the_other_side(worst_kept: float, best_dropped: float, marked: list[int]) -> None:
    lower = np.array([[0.0, 0.25, best_dropped, 0.875, 0.0]])
    upper = np.array([[0.125, worst_kept, 0.75, 1.0, 0.0]])
    active, kept = np.array([[True] * 4 + [False]]), np.array([[True, True, False, False, False]])
    unclear = cut_unclear(Scores(lower, lower, upper), active, kept)
    assert np.flatnonzero(unclear).tolist() == marked


def test_marks_and_counts() -> None:
    assert mark_arms(np.array([[2, 0], [-1, -1]]), 3).tolist() == [[True, False, True], [False] * 3]
    masks = [[[True, True, False], [True, False, False]], [[True] * 3] * 2, [[False] * 3, [True] * 3], [[True] * 3]]
    assert [count_fewest(np.array(mask)) for mask in masks] == [1, 3, 0, 3]


@pytest.mark.parametrize("seeds", [None, Seeds.of(3, range(60))], ids=["lowest", "random"])
def test_every_way_to_break_ties_is_one_order(seeds: Seeds | None) -> None:
    """The lowest, several, the highest and the whole order, with ties at both ends, against a sort by words."""
    rng = np.random.default_rng(8)
    for n_arms in (1, 2, 5, 24, 25, 26):
        values = rng.integers(0, 3, (60, n_arms)).astype(float)
        values[rng.random(values.shape) < 0.2] = INF
        whole = TieBreaker(seeds).order(*group_equal(scores(values.tolist())), n_arms)
        finite = np.isfinite(values)
        assert (np.sort(whole, axis=1) == np.arange(n_arms)).all()
        assert (np.diff(np.take_along_axis(np.where(finite, values, 9.0), whole, axis=1)) >= 0).all()
        some = finite.any(axis=1)
        assert (TieBreaker(seeds).pick_lowest(values)[some] == whole[some, 0]).all()
        for number in range(1, n_arms + 1):
            several = TieBreaker(seeds).pick_several(values, number)
            enough = finite.sum(axis=1) >= number
            assert (several[enough] == whole[enough, :number]).all()
        highest = TieBreaker(seeds).pick_highest(np.where(finite, values, -INF))
        last = np.take_along_axis(whole, finite.sum(axis=1, keepdims=True) - 1, axis=1)[:, 0]
        assert (highest[some] == last[some]).all()


def test_decisions_differ_and_the_last_ones_have_their_own_numbers() -> None:
    values, seeds = np.zeros((200, 4)), Seeds.of(3, range(200))
    picks: list[Callable[[TieBreaker], Any]] = [
        lambda ties: ties.pick_lowest(values),
        lambda ties: ties.pick_highest(values),
        lambda ties: ties.pick_several(values, 2),
        lambda ties: ties.order(np.tile(np.arange(4), (200, 1)), np.zeros((200, 4), dtype=np.int64), 4),
    ]
    for pick in picks:
        ties = TieBreaker(seeds)
        first = np.array(pick(ties))
        assert (np.array(pick(ties)) != first).any()
        ties.finish()
        last = np.array(pick(ties))
        early = TieBreaker(seeds)
        early.finish()
        assert (np.array(pick(early)) == last).all()
        assert (last != first).any()
