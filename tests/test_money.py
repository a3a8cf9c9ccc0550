"""Exact money: parsing, units, and the two alignments against fractions."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exml_sim.money import Prices, allot, exact, exact_cost, show


@pytest.mark.parametrize(
    ("given_amount", "expected"),
    [
        (0.95, "19/20"),
        (np.float32(0.95), "19/20"),
        (np.float64(0.1), "1/10"),
        (1e-7, "1/10000000"),
        ("0.1", "1/10"),
        ("1/3", "1/3"),
        (Decimal("2.50"), "5/2"),
        (Fraction(7, 9), "7/9"),
        (3, "3"),
        (np.int64(4), "4"),
    ],
)
def test_parses_exactly(given_amount, expected):
    assert exact(given_amount) == Fraction(expected)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "abc", None, True, "1/0", [1], "NaN", "1_000", "1_0/3"])
def test_refuses_what_is_no_number(bad):
    with pytest.raises(ValueError, match="must be a finite number"):
        exact(bad)


@pytest.mark.parametrize("bad", [0, -1, "-0.5", 0.0])
def test_refuses_costs_that_are_not_positive(bad):
    with pytest.raises(ValueError, match="must be greater than 0"):
        exact_cost(bad)


def test_shows_decimals_and_fractions():
    with pytest.raises(ValueError, match="a whole number or a fraction, got list"):
        show([1, -1])
    shown = {"19/20": "0.95", "3": "3", "1/3": "1/3", "100": "100", "-1/4": "-0.25", "0": "0"}
    assert {text: show(Fraction(text)) for text in shown} == shown


def test_units_are_the_largest_that_divide_every_cost():
    prices = Prices.of(["0.95", "1.2", 2])
    assert prices.unit == Fraction(1, 20)
    assert prices.costs.tolist() == [19, 24, 40]
    assert prices.exact_costs == (Fraction(19, 20), Fraction(6, 5), Fraction(2))
    assert prices.units(Fraction("10.07")) == 201


def test_refuses_price_lists_beyond_exact_arithmetic():
    with pytest.raises(ValueError, match="exact arithmetic in 64 bits"):
        Prices.of([Fraction(1, 10**9 + k) for k in (7, 9, 21)])
    with pytest.raises(ValueError, match="times the unit"):
        Prices.of([1]).units(Fraction(2**60))
    with pytest.raises(ValueError, match="at least one arm"):
        Prices.of([])


costs = st.lists(st.fractions(Fraction(1, 20), 5, max_denominator=40), min_size=1, max_size=12)


@given(costs, st.fractions(0, 5000, max_denominator=60), st.data())
def test_pulls_are_the_floors_of_the_paper(amounts, money, data):
    active = data.draw(st.lists(st.booleans(), min_size=len(amounts), max_size=len(amounts)).filter(any))
    prices = Prices.of(amounts)
    units = prices.units(money)
    mask = np.array([active])
    total = sum(c for c, a in zip(amounts, active, strict=True) if a)
    sample = [money // total if a else 0 for a in active]
    budget = [money // (sum(active) * c) if a else 0 for c, a in zip(amounts, active, strict=True)]
    assert allot(units, prices.costs, mask, "sample")[0].tolist() == sample
    assert allot(units, prices.costs, mask, "budget")[0].tolist() == budget
    assert allot(np.array([units]), prices.costs, mask, "budget")[0].tolist() == budget
    assert sum(n * c for n, c in zip(sample, amounts, strict=True)) <= money
    assert sum(n * c for n, c in zip(budget, amounts, strict=True)) <= money


def test_flooring_an_arms_money_first_would_lose_pulls():
    """b = 6 over total cost 5.55 pays for one pull of each, although floor(1.2 * 6 / 5.55) = 1 < 1.2."""
    amounts = ["1.2", "0.95", "1", "1.1", "1.3"]
    prices = Prices.of(amounts)
    pulls = allot(prices.units(Fraction(6)), prices.costs, np.ones((1, 5), dtype=bool), "sample")
    assert pulls.tolist() == [[1] * 5]
    assert Fraction("1.2") * 6 / Fraction("5.55") // 1 // Fraction("1.2") == 0


def test_unknown_alignment_names_the_allowed_ones():
    with pytest.raises(ValueError, match="unknown alignment 'equal': allowed are 'sample', 'budget'"):
        allot(1, np.array([1]), np.ones((1, 1), dtype=bool), "equal")
