"""Statements that are false or undefined somewhere: the engines must not prove them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from theory.proofs import statement
from theory.proofs.balls import digits
from theory.proofs.boxes import bound_below
from theory.proofs.statement import BITS, Cell, Orthant, Part, decide

F = Fraction


def zero(m, **_):
    return m.q(0)


def one(m, **_):
    return m.q(1)


def two(x, y):
    """Two numbers of which the second is larger for 5 < y < 6 only."""
    return x, x + (y - 5) * (6 - y)


def orthant(names, closed="", free=""):
    words = tuple(names.split())
    return Orthant(words, lambda m, **p: p, "planted", frozenset(closed.split()), frozenset(free.split()))


def unit(low, high):
    return Cell((("x", F(low), F(high)),), "planted")


X, CLOSED, FREE = orthant("x"), orthant("x", "x"), orthant("x", "", "x")
UNDEFINED = {
    "a maximum on the right of ==": (
        orthant("x y"),
        lambda m, x, y: x,
        "==",
        lambda m, x, y: two(x, y),
    ),
    "a maximum on the left of ==": (
        orthant("x y"),
        lambda m, x, y: two(x, y),
        "==",
        lambda m, x, y: x,
    ),
    "log 0 == 0": (X, lambda m, x: m.log(x - x), "==", zero),
    "log 0 >= 0": (X, lambda m, x: m.log(x - x), ">=", zero),
    "a pole that cancels": (X, lambda m, x: (x - 1) / (x - 1), ">=", one),
    "a pole in an exponent": (X, lambda m, x: m.exp(1 / (x - 1)), ">=", zero),
    "a pole times zero": (X, lambda m, x: 0 * (1 / (x - 1)), ">=", zero),
    "a pole to the power 0": (X, lambda m, x: (1 / (x - 1)) ** 0, ">=", one),
    "a pole under a root": (CLOSED, lambda m, x: m.sqrt(1 / x), ">=", zero),
    "a pole at 0 in an exponent": (CLOSED, lambda m, x: m.exp(-1 / x), "<=", one),
    "log x at 0": (CLOSED, lambda m, x: m.log(x), "<=", lambda m, x: m.log(x) + 1),
    "division by a root that may be 0": (CLOSED, lambda m, x: 1 / m.sqrt(x), ">=", zero),
    "division by log x": (X, lambda m, x: m.log(x) / m.log(x), ">=", one),
    "a negative power at 0": (CLOSED, lambda m, x: x**-1, ">=", zero),
    "a power that is not whole": (X, lambda m, x: x ** F(1, 2), ">=", zero),
    "no values on the left": (X, lambda m, x: (), "<=", lambda m, x: x),
    "no values on the right": (X, lambda m, x: x, "<=", lambda m, x: ()),
    "too many roots": (X, lambda m, x: sum((m.sqrt(x + i) for i in range(1, 20)), m.q(0)), ">=", zero),
    "division by 0": (X, lambda m, x: m.q(1) / 0, ">=", zero),
    "root of what is negative >= 0": (unit(0, 1), lambda m, x: m.sqrt(x - 2), ">=", zero),
    "root of what is negative <= 0": (unit(0, 1), lambda m, x: m.sqrt(x - 2), "<=", zero),
    "root of what may be negative": (unit(-1, 1), lambda m, x: m.sqrt(x) + 1, ">", zero),
    "root of a negative number": (unit(-5, -4), lambda m, x: m.sqrt(x), "<", one),
    "logarithm of a negative number": (unit(-2, -1), lambda m, x: m.log(x), "<=", zero),
    "logarithm on a box with 0": (unit(0, 1), lambda m, x: m.log(x), "<=", lambda m, x: x),
    "a pole inside the box": (unit(-1, 1), lambda m, x: 1 / (x * x), ">", zero),
    "a pole that cancels, on a box": (unit(-1, 1), lambda m, x: x / x, ">=", one),
    "an undefined constant": (unit(0, 1), lambda m, x: x * 0 + m.log(m.q(-1)), ">=", zero),
    "an undefined constant to the power 0": (unit(0, 1), lambda m, x: x * 0 + m.log(m.q(-1)) ** 0, ">=", zero),
    "1/0 to the power 0": (unit(0, 1), lambda m, x: x * 0 + (m.q(1) / m.q(0)) ** 0, ">=", zero),
    "NaN to the power 0": (unit(-2, -1), lambda m, x: m.log(x) ** 0, ">=", one),
    "a maximum with something undefined": (unit(-1, 1), lambda m, x: (m.log(x), m.q(5)), ">=", lambda m, x: m.q(5)),
    "no values on a box": (unit(0, 1), lambda m, x: (), ">=", zero),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_undefined_somewhere_is_not_decided(monkeypatch, name):
    monkeypatch.setattr(statement, "bound_below", partial(bound_below, most=200))
    region, left, relation, right = UNDEFINED[name]
    with digits(BITS):
        assert decide(Part(name, region, left, relation, right)).outcome == "not decided"


FALSE = {
    "at infinity": (X, lambda m, x: 10**9 + x, ">=", lambda m, x: x * x / 10**12),
    "in one whole number": (X, lambda m, x: (x - 3) ** 2, ">=", lambda m, x: m.q(1, 10**6)),
    "at 0": (CLOSED, lambda m, x: x, ">", zero),
    "log(1 + x^2) > 0 at 0": (FREE, lambda m, x: m.log(1 + x * x), ">", zero),
    "exp x >= 1 for any sign": (FREE, lambda m, x: m.exp(x), ">=", one),
    "in a narrow dip": (unit(0, 1), lambda m, x: (x - m.q(1, 3)) ** 2, ">=", lambda m, x: m.q(1, 10**14)),
    "without sides": (Cell((), "planted"), lambda m: m.q(-1), ">=", zero),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_in_a_small_place_is_refuted(name):
    region, left, relation, right = FALSE[name]
    with digits(BITS):
        assert decide(Part(name, region, left, relation, right)).outcome == "refuted"


TRUE = {
    "a negative power": (X, lambda m, x: x**-1, ">", zero),
    "log 2 > 0": (X, lambda m, x: m.log(m.q(2)), ">", zero),
    "a root as a divisor": (X, lambda m, x: 1 / m.sqrt(x), ">", zero),
    "a defined power 0": (unit(1, 2), lambda m, x: m.log(x) ** 0, ">=", one),
    "a root from 1 on": (unit(1, 2), lambda m, x: m.sqrt(x), ">=", one),
    "a maximum that is clear": (X, lambda m, x: x + 1, "==", lambda m, x: (x, x + 1)),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_defined_is_still_proved(name):
    region, left, relation, right = TRUE[name]
    with digits(BITS):
        assert decide(Part(name, region, left, relation, right)).outcome == "proved"


@pytest.mark.parametrize("relation", ["!=", "=>", "=", ""])
def test_unknown_relations_are_refused(relation):
    for region in (X, unit(0, 1)):
        with pytest.raises(ValueError, match="relation must be one of == <= < >= >; got"):
            Part("planted", region, zero, relation, one)


def test_names_are_checked():
    for closed, free in (("X", ""), ("", "X")):
        with pytest.raises(ValueError, match="X is no variable of the region; its variables are x"):
            orthant("x", closed, free)
    with pytest.raises(ValueError, match="the names of a region must be distinct; got x, x"):
        orthant("x x")
    with pytest.raises(ValueError, match="the names of a region must be distinct; got x, x"):
        Cell((("x", F(-1), F(1)), ("x", F(0), F(1))), "planted")


def test_a_side_that_is_no_interval_is_refused():
    with pytest.raises(ValueError, match="the region is empty"):
        decide(Part("planted", Cell((("x", float("nan"), float("inf")),), ""), lambda m, x: x, ">=", zero))
