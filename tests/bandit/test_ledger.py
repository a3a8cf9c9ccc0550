"""The ledger: exact sums, refusals, and what it shows."""

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit.ledger import Ledger, Overspend


def test_records_rounds_exactly():
    ledger = Ledger(10, [0.95, 1.2], names=["pix", "mor"])
    ledger.buy([2, 2], money=Fraction(5))
    ledger.buy([5, 0], money=Fraction(5), active=np.array([[True, False]]))
    first, second, third = ledger.entries()
    assert (first.round, first.arm, first.pulls, first.unit_cost, first.spent) == (
        1,
        "pix",
        2,
        Fraction(19, 20),
        Fraction(19, 10),
    )
    # Sample alignment shares 5 as 0.95 : 1.2.
    assert first.left_over == 5 * Fraction(95, 215) - Fraction(19, 10)
    assert first.left_over + second.left_over == 5 - 2 * Fraction("2.15")
    assert third.left_over == 5 - 5 * Fraction(19, 20)
    assert ledger.spent == Fraction("9.05")
    assert ledger.left == Fraction("0.95")
    assert ledger.pulls.tolist() == [[7, 2]]
    assert ledger.round_pulls(2).tolist() == [[5, 0]]


def test_budget_alignment_shares_money_equally():
    ledger = Ledger(10, [1, 3])
    ledger.buy([5, 1], money=Fraction(10), alignment="budget")
    assert [entry.left_over for entry in ledger.entries()] == [0, 2]


def test_spends_the_last_cent_but_not_one_more():
    ledger = Ledger("0.3", ["0.1"])
    ledger.buy([3])
    assert ledger.left == 0
    with pytest.raises(Overspend, match=r"round 2 would cost 0\.1 in trial 0, but only 0 of the budget 0\.3 is left"):
        ledger.buy([1])
    assert ledger.rounds == 1
    # Binary floats would refuse the third pull: the check is not idle.
    assert 0.1 + 0.1 + 0.1 > 0.3


def test_a_refused_round_leaves_no_trace_in_any_trial():
    ledger = Ledger(5, [1, 1], trials=3)
    with pytest.raises(Overspend, match="in trial 1"):
        ledger.buy(np.array([[1, 1], [3, 3], [0, 0]]))
    assert ledger.spent_units.tolist() == [0, 0, 0]
    with pytest.raises(Overspend):
        ledger.buy([2**62, 2**62])


def test_pulls_whose_price_overflows_64_bits_are_refused():
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


def test_without_money_nothing_is_left_over():
    ledger = Ledger(100, [1, 3])
    ledger.buy([5, 1])
    ledger.buy([5, 1], alignment="budget")
    assert [entry.left_over for entry in ledger.entries()] == [0, 0, 0, 0]


def test_pulls_are_not_stretched_to_all_arms():
    for pulls in ([4], 4, [[4]], [[1, 1], [1, 1]]):
        with pytest.raises(ValueError, match=r"pulls must have shape \(2,\) or \(1, 2\), got"):
            Ledger(100, [1, 3]).buy(pulls)


def test_trials_have_their_own_money():
    ledger = Ledger(5, [1, 2], trials=2)
    ledger.buy(np.array([[1, 2], [5, 0]]), short=np.array([[0, 1], [0, 0]]))
    assert ledger.left_units.tolist() == [0, 0]
    assert ledger.trial(0).spent == 5
    assert [entry.short for entry in ledger.trial(0).entries()] == [0, 1]
    assert ledger.trial(1).pulls.tolist() == [[5, 0]]
    with pytest.raises(ValueError, match="choose one with"):
        _ = ledger.spent


@pytest.mark.parametrize("bad", [[-1, 0], [0.5, 0], [1, 2, 3]])
def test_refuses_pulls_that_are_none(bad):
    with pytest.raises(ValueError):  # noqa: PT011
        Ledger(10, [1, 1]).buy(bad)


def test_shows_and_exports():
    ledger = Ledger(4, ["0.95", "1"], names=["a", "b"])
    ledger.buy([2, 2], money=Fraction(4))
    text = str(ledger)
    assert "unit cost" in text
    assert text.endswith("spent 3.9 of 4, left 0.1")
    assert ledger.to_csv().splitlines()[1] == "1,a,2,0.95,1.9,19/390,0"
    assert "2 arms" in repr(ledger)
    assert "3 trials" in repr(Ledger(1, [1], trials=3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1, "costs": [1]}, "budget must not be negative"),
        ({"budget": 1, "costs": [1, 0]}, "cost of arm 1 must be greater than 0, got 0"),
        ({"budget": 1, "costs": []}, "at least one arm"),
        ({"budget": 1, "costs": [1], "names": ["a", "b"]}, "as many names"),
        ({"budget": 1, "costs": [1], "trials": 0}, "at least one trial"),
        ({"budget": "much", "costs": [1]}, "budget must be a finite number"),
    ],
)
def test_bad_ledgers(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ledger(**arguments)


@pytest.mark.parametrize(
    ("budget", "arms", "message"),
    [
        (5, [0, 0], "a window needs different arms from 0 to 2, got \\[0, 0\\]"),
        (5, [7], "a window needs different arms from 0 to 2"),
        (11, [0], "a window of 11 is more than the 10 that are left"),
    ],
)
def test_bad_windows(budget, arms, message):
    with pytest.raises(ValueError, match=message):
        Ledger(10, [1, 1, 2]).window(budget, arms)


def test_a_window_shows_its_own_purchases_and_books_them_in_the_whole():
    whole = Ledger(10, [1, 1, 2], ["a", "b", "c"])
    part = whole.window(6, [2, 0])
    part.buy([2, 1])
    assert (part.spent, whole.spent, part.names) == (5, 5, ("c", "a"))
    assert whole.pulls.tolist() == [[1, 0, 2]]
    whole.buy([0, 4, 0])
    with pytest.raises(ValueError, match="only 1 of the budget"):
        part.buy([1, 0])
    assert part.spent == 5
