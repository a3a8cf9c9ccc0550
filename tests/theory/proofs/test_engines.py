"""The two engines by themselves: what they must prove, refute, and leave open."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from flint import arb

from theory.proofs import statement
from theory.proofs.balls import Balls, Jet, ball, interval
from theory.proofs.boxes import bound_below
from theory.proofs.statement import Cell, Orthant, Part, decide
from theory.proofs.symbols import Symbols, Unclear

F = Fraction
ONE = {"x": (F(0), F(1))}


def part(region, left, relation, right, **more):
    return Part("planted", region, left, relation, right, **more)


def orthant(names, closed="", free="", point=None):
    return Orthant(tuple(names), point or (lambda m, **p: p), "planted", frozenset(closed), frozenset(free))


def test_equal_rational_functions_are_recognised():
    m = Symbols(("x", "y"))
    x, y = m.variables["x"], m.variables["y"]
    assert ((x**2 + 2 * x * y + y**2) / (x + y) - (x + y)).is_zero()
    assert not (x / y - y / x).is_zero()


def test_signs_are_read_off_from_coefficients_only():
    m = Symbols(("x", "y"), frozenset("y"), frozenset())
    x, y = m.variables["x"], m.variables["y"]
    assert (x + y).positive()
    assert y.not_negative()
    assert not y.positive(), "y may be zero"
    assert not (x - y).not_negative()
    assert not (x**2 - 2 * x * y + y**2).not_negative(), "a square, but the coefficients do not show it"


def test_a_variable_of_any_sign_counts_in_even_powers_only():
    m = Symbols(("z",), free=frozenset("z"))
    z = m.variables["z"]
    assert (z**2 + 1).positive()
    assert not (z + 1).not_negative()
    assert not (z**2).positive()


def test_a_quotient_with_a_pole_in_the_region_is_not_defined():
    m = Symbols(("x", "y"), frozenset("y"))
    x, y = m.variables["x"], m.variables["y"]
    for divisor in (y, x - 1, x - x):
        with pytest.raises(Unclear, match="may be zero"):
            1 / divisor
    assert (1 / (x + y)).positive()
    assert (1 / (-x - y) + 1 / (x + y)).is_zero()


def test_floats_are_refused():
    with pytest.raises(TypeError, match=r"the float 0.1 is not exact"):
        Symbols(("x",)).constant(0.1)


def test_roots_of_squares_and_atoms_for_the_rest():
    m = Symbols(("x",))
    x = m.variables["x"]
    assert (m.sqrt(4 * x**2) - 2 * x).is_zero()
    assert (m.sqrt(x) - m.sqrt(x)).is_zero()
    assert not (m.sqrt(x) - m.sqrt(x + 1)).is_zero()
    with pytest.raises(Unclear, match="the sign under the root"):
        m.sqrt(x - 1)
    with pytest.raises(Unclear, match="the sign of the root"):
        m.sqrt((x - 1) ** 2)


def test_logarithms_split_into_positive_factors():
    m = Symbols(("x",))
    x = m.variables["x"]
    assert (m.log(12 * x) - m.log(4) - m.log(3) - m.log(x)).is_zero()
    assert m.log(1 + x).not_negative()
    assert not m.log(x).not_negative()
    with pytest.raises(Unclear, match="logarithm"):
        m.log(x - 1)


def test_exponentials_know_their_sign():
    m = Symbols(("x",))
    x = m.variables["x"]
    assert (1 - m.exp(-x)).positive()
    assert (m.exp(x) * m.exp(-x) - 1).is_zero()


def test_a_maximum_that_is_not_clear_is_not_resolved():
    m = Symbols(("x", "y"))
    with pytest.raises(Unclear):
        m.max(m.variables["x"], m.variables["y"])


def test_branch_and_bound_proves_with_a_bound_that_is_below_the_minimum():
    answer = bound_below(lambda m, x: x * x - x + m.q(26, 100), ONE, strict=True)
    assert answer.outcome == "proved"
    assert 0 < answer.least <= 0.01
    assert answer.boxes > 1


def test_branch_and_bound_refutes_at_a_point():
    answer = bound_below(lambda m, x: x * x - x + m.q(24, 100), ONE, strict=True)
    assert answer.outcome == "refuted"
    ((low, high),) = answer.where.values()
    assert low == high
    assert low**2 - low + F(24, 100) < 0


def test_equality_inside_is_left_open_and_at_a_corner_is_proved():
    open_ = bound_below(lambda m, x: (x - m.q(1, 3)) * (x - m.q(1, 3)), ONE, strict=True, most=300)
    assert open_.outcome == "not decided"
    corner = bound_below(lambda m, x: m.exp(x) - 1, ONE, strict=False)
    assert corner.outcome == "proved"
    assert corner.least == 0


def test_strict_and_weak_inequalities_differ_at_equality():
    assert bound_below(lambda m, x: x, ONE, strict=False).outcome == "proved"
    assert bound_below(lambda m, x: x, ONE, strict=True).outcome == "refuted"


def test_a_formula_that_cannot_be_enclosed_is_not_decided(monkeypatch):
    monkeypatch.setattr(statement, "bound_below", partial(bound_below, most=200))
    pole = Cell((("x", F(-1), F(1)),), "around a pole")
    found = decide(part(pole, lambda m, x: 1 / (x * x), ">", lambda m, x: x - x))
    assert found.outcome == "not decided"
    assert found.where.startswith("smallest box: x")


def test_an_orthant_without_a_certificate_is_not_decided():
    square = part(orthant("xy"), lambda m, x, y: x * x + y * y, ">=", lambda m, x, y: 2 * x * y)
    found = decide(square)
    assert found.outcome == "not decided"
    assert found.where == "planted"
    assert found.pieces == 0


def test_an_empty_region_is_refused():
    empty = Cell((("x", F(1), F(0)),), "nothing")
    with pytest.raises(ValueError, match="the region is empty: x has no value from 1 to 0"):
        decide(part(empty, lambda m, x: x, ">", lambda m, x: x - 1))
    with pytest.raises(ValueError, match="the region is empty"):
        bound_below(lambda m, x: x, {"x": (F(1), F(0))}, strict=True)


def test_an_open_end_counts_for_strict_claims():
    def both(closed):
        return decide(part(orthant("x", closed), lambda m, x: x, ">", lambda m, x: 0 * x)).outcome

    assert both("") == "proved"
    assert both("x") == "refuted"


def test_an_identity_needs_algebra():
    with pytest.raises(ValueError, match="an identity is proved by algebra"):
        decide(part(Cell((("x", F(0), F(1)),), "unit"), lambda m, x: x, "==", lambda m, x: x))


def test_weights_must_be_a_convex_combination():
    def larger(m, x):
        return x, -x

    good = part(orthant("x"), larger, ">=", lambda m, x: 0 * x, weights=lambda m, x: (1, 0))
    for weights in ((2, 0), (1, -1), (F(1, 2), F(1, 4)), (1,)):
        bad = part(orthant("x"), larger, ">=", lambda m, x: 0 * x, weights=lambda m, x, w=weights: w)
        assert decide(bad).outcome == "not decided"
    assert decide(good).outcome == "proved"


def test_jets_enclose_the_derivative():
    x = F(3, 7)
    jet = Jet(ball(x), (arb(1),))
    m = Balls()
    value = m.exp(jet) * m.log(jet + 1) / (m.sqrt(jet) + 2) + m.max(jet, jet * jet) ** 3
    step = F(1, 10**8)

    def at(z):
        z = ball(z)
        return m.exp(z) * m.log(z + 1) / (m.sqrt(z) + 2) + m.max(z, z * z) ** 3

    slope = (at(x + step) - at(x - step)) / ball(2 * step)
    assert abs(float(slope.mid()) - float(value.slopes[0].mid())) < 1e-6
    assert interval(F(0), F(1)).contains(ball(F(1, 3)))
