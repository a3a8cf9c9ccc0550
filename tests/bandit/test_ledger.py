"""Money and the ledger: exact sums, refusals, and both at their boundaries, the largest amount and the last cent."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exml_sim.bandit.ledger import Ledger, Overspend, count_pulls, share_among, share_money
from exml_sim.money import LARGEST_UNITS, MOST_DIGITS, CandidateCost, Prices, allot, exact, exact_cost, short, show


def test_limits_of_amounts() -> None:
    assert (MOST_DIGITS, LARGEST_UNITS) == (400, 2**52)
    # Every float has at most 309 digits before the point and 324 places behind it.
    for text in ("1e400", "1e-400", "9" * 400, "0." + "3" * 398, Decimal("9" * 400), " 12 "):
        assert exact(text) == Fraction(str(text).strip())
    for text in ("1e401", "1e-401", Decimal("9" * 401), Decimal("1e401"), Decimal("NaN"), "1" * 401, "1/" + "3" * 400):
        with pytest.raises(ValueError, match="at most 400 digits"):
            exact(text)
    assert exact("1/3 ") == Fraction(1, 3)


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
    active = np.array(list(np.ndindex(2, 2, 2)), dtype=bool)
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


def test_records_rounds_exactly() -> None:
    ledger = Ledger(10, [0.95, 1.2], names=["pix", "mor"])
    ledger.buy([2, 2], money=Fraction(5))
    ledger.buy([5, 0], money=Fraction(5), active=np.array([[True, False]]))
    first, second, third = ledger.entries()
    shown = (first.round, first.arm, first.pulls, first.unit_cost, first.spent)
    assert shown == (1, "pix", 2, Fraction(19, 20), Fraction(19, 10))
    # Sample alignment shares 5 as 0.95 : 1.2.
    assert first.left_over == 5 * Fraction(95, 215) - Fraction(19, 10)
    assert first.left_over + second.left_over == 5 - 2 * Fraction("2.15")
    assert third.left_over == 5 - 5 * Fraction(19, 20)
    assert (ledger.spent, ledger.left) == (Fraction("9.05"), Fraction("0.95"))
    assert (ledger.pulls.tolist(), ledger.round_pulls(2).tolist()) == ([[7, 2]], [[5, 0]])


def test_left_over_money_by_alignment_and_without_an_amount() -> None:
    ledger = Ledger(100, [1, 3])
    ledger.buy([5, 1], money=Fraction(10), alignment="budget")
    ledger.buy([5, 1])
    ledger.buy([5, 1], alignment="budget")
    assert [entry.left_over for entry in ledger.entries()] == [0, 2, 0, 0, 0, 0]


def test_spends_the_last_cent_but_not_one_more() -> None:
    ledger = Ledger("0.3", ["0.1"])
    ledger.buy([3])
    assert ledger.left == 0
    with pytest.raises(Overspend, match=r"round 2 would cost 0\.1 in trial 0, but only 0 of the budget 0\.3 is left"):
        ledger.buy([1])
    assert ledger.rounds == 1
    # Binary floats would refuse the third pull: the check is not idle.
    assert 0.1 + 0.1 + 0.1 > 0.3


def test_the_last_cent_of_every_trial() -> None:
    ledger = Ledger("1.2", ["0.1", "0.3"], trials=3)
    ledger.buy([[12, 0], [0, 4], [3, 3]])
    assert ledger.left_units.tolist() == [0, 0, 0]
    assert ledger.spent_units.tolist() == [12, 12, 12]
    ledger = Ledger("1.2", ["0.1", "0.3"], trials=3)
    with pytest.raises(Overspend, match=r"round 1 would cost 1\.3 in trial 1, but only 1\.2 of the budget 1\.2"):
        ledger.buy([[11, 0], [1, 4], [12, 0]])
    # A refused round leaves no trace in any trial.
    assert ledger.spent_units.tolist() == [0, 0, 0]
    ledger.buy([[6, 0], [1, 0], [0, 3]])
    # Trial 0 would have spent 1.5 in all, trial 1 1.3, of which 1.2 now: the one that spends most in all is named.
    with pytest.raises(Overspend, match=r"round 2 would cost 0\.9 in trial 0, but only 0\.6 of the budget 1\.2"):
        ledger.buy([[9, 0], [0, 4], [0, 0]])
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


def test_pulls_whose_price_overflows_64_bits_are_refused() -> None:
    ledger = Ledger(2**40, [2**30, 1])
    for pulls in ([2**34, 0], [2**33, 0], [0, 2**41], [2**33, 2**40]):
        with pytest.raises(Overspend, match="round 1 would cost"):
            ledger.buy(pulls)
    # Every arm alone is within the budget; the sum of 4096 of them would be 2**64.
    many = Ledger(2**52, [1] * 4096)
    with pytest.raises(Overspend, match=str(2**64)):
        many.buy([2**52] * 4096)
    ledger.buy([2**10, 0])
    assert ledger.left == 0


@pytest.mark.parametrize("pulls", [[4], 4, [[4]], [[1, 1], [1, 1]], [1, 2, 3], [-1, 0], [[3, -1]], [0.5, 0]])
def test_refuses_pulls_that_are_none(pulls: Any) -> None:
    ledger = Ledger(100, [1, 3])
    with pytest.raises(ValueError, match=r"pulls must have shape \(2,\) or \(1, 2\), got|whole numbers, none negative"):
        ledger.buy(pulls)
    assert ledger.spent == 0


def test_shows_and_exports() -> None:
    ledger = Ledger(4, ["0.95", "1"], names=["a", "b"])
    ledger.buy([2, 2], money=Fraction(4))
    assert str(ledger).endswith("spent 3.9 of 4, left 0.1")
    assert ledger.to_csv().splitlines()[1] == "1,a,2,0.95,1.9,19/390,0"
    assert repr(ledger) == "<Ledger: 1 round, budget 4, 2 arms>"
    assert repr(Ledger(0, [1], trials=2)) == "<Ledger: 0 rounds, budget 0, 1 arms, 2 trials>"


def test_no_money_is_a_budget() -> None:
    ledger = Ledger(0, [1, 2])
    ledger.buy([0, 0])
    with pytest.raises(Overspend):
        ledger.buy([1, 0])
    assert ledger.names == ("arm 0", "arm 1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1, "costs": [1]}, "budget must not be negative"),
        ({"budget": 1, "costs": [1, 0]}, "cost of arm 1 must be greater than 0, got 0"),
        ({"budget": 1, "costs": []}, "at least one arm"),
        ({"budget": 1, "costs": [1], "names": ["a", "b"]}, "as many names"),
        ({"budget": 1, "costs": [1], "trials": 0}, "at least one trial, got 0"),
        ({"budget": "much", "costs": [1]}, "budget must be a finite number"),
    ],
)
def test_bad_ledgers(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ledger(**arguments)


def test_pulls_that_were_not_delivered() -> None:
    ledger = Ledger(20, [1, 2])
    with pytest.raises(ValueError, match="must have shape"):
        ledger.take_back([0, 0])
    ledger.buy([5, 3])
    ledger.buy([2, 3])
    for pulls in ([0], [-1, 0], [0, 0, 0], [3, 0], [0, 4]):
        with pytest.raises(ValueError, match=r"must have shape|the latest round has"):
            ledger.take_back(pulls)
    ledger.take_back([0, 1])
    ledger.take_back([2, 2])
    assert (ledger.spent, ledger.pulls.tolist(), ledger.round_pulls(2).tolist()) == (11, [[5, 3]], [[0, 0]])
    assert ledger.round_pulls(1).tolist() == [[5, 3]]


def test_a_window_shows_its_own_purchases_and_books_them_in_the_whole() -> None:
    ledger = Ledger(10, [1, 2, 3], ["a", "b", "c"])
    ledger.buy([1, 0, 0])
    part = ledger.window(9, [2, 0])
    part.buy([2, 1], money=Fraction(9), short=np.array([[0, 1]]))
    assert (part.names, part.spent, ledger.spent) == (("c", "a"), 7, 8)
    assert [entry.short for entry in ledger.entries()[1:]] == [1, 0]
    ledger.buy([0, 1, 0])
    with pytest.raises(ValueError, match="only 0 of the budget"):
        part.buy([0, 1])
    assert (ledger.pulls.tolist(), part.pulls.tolist(), part.left) == ([[2, 1, 2]], [[2, 1]], 2)
    for budget, arms, message in (
        (1, [0], "a window of 1 is more than the 0 that are left"),
        (0, [3], "different arms from 0 to 2"),
        (0, [-1], "different arms from 0 to 2"),
        (0, [1, 1], r"different arms from 0 to 2, got \[1, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            ledger.window(budget, arms)
    assert ledger.window(0, [0, 2]).left == 0


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
    for question in (ledger.entries, lambda: ledger.spent):
        with pytest.raises(ValueError, match="holds 3 trials: choose one with"):
            question()
