"""The ceiling of gaps, 1 - inf l, as a formula, and two bounds of it: kappa Lambda and 1."""

from __future__ import annotations

from theory.proofs.derived.tools import F, chain, zero
from theory.proofs.kernel.axioms import largest_above, largest_least
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Term, const, largest, smallest, variables
from theory.proofs.kernel.theorem import Theorem, assume

__all__ = ["ceiling", "ceiling_at_most_one", "ceiling_at_most_radius", "slope"]

THETA, R = variables("theta r")


def slope(theta: Term) -> Term:
    """b = theta/(1 - 2 theta)."""
    return theta / (1 - 2 * theta)


def _clip(theta: Term, r: Term) -> Term:
    return smallest(largest((1 - 2 * theta) * (r - 2 * (1 - theta)), -r), r)


def ceiling(theta: Term = THETA, r: Term = R) -> Term:
    """1 - inf l over |h|, |g| <= r."""
    s = _clip(theta, r)
    return smallest(smallest((r - s) / 2, 1 - theta + slope(theta) * s), 1)


def _smallest_below(term: Term, place: int) -> Theorem:
    """A smallest value is at most an entry; ``term`` is -max(-a, -b)."""
    values = term.args[1]
    return combine(term <= _entry(values, place), largest_above(values, place))


def _entry(values: Term, place: int) -> Term:
    """x of the entry -x."""
    return values.args[place].args[1]  # type: ignore[no-any-return]


def ceiling_at_most_one() -> Theorem:
    """ceiling <= 1."""
    return _smallest_below(ceiling(), 1)


def ceiling_at_most_radius() -> Theorem:
    """ceiling <= r for r >= 0."""
    outer = ceiling()
    inner = _entry(outer.args[1], 0)
    s = _clip(THETA, R)
    first, second = _smallest_below(outer, 0), _smallest_below(inner, 0)
    # -r <= s: both entries of the smallest are at least -r.
    values = s.args[1]
    low = largest_above(_entry(values, 0), 1)
    bounds = [
        combine(values.args[0] <= R, low),
        combine(values.args[1] <= R, (assume(zero <= R), 2)),
    ]
    end = combine(s >= -R, largest_least(values, *bounds))
    return chain(outer <= R, first, second, _half(end))


def _half(theorem: Theorem) -> Theorem:
    low, high = theorem.conclusion.args
    half = const(F(1, 2))
    return combine(half * low <= half * high, (theorem, half))
