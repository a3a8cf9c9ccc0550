"""The value of a term at a point, in fractions or balls, and whether a formula holds there for sure.

Inside, fractions are FLINT's: sums of powers have hundreds of digits, and Python's own take ten times as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from theory.proofs.balls import Balls, ball
from theory.proofs.kernel.language import Formula, Refused, Term

__all__ = ["holds", "value"]

_BALLS = Balls()
_HUGE = 4096


def value(term: Term, point: Mapping[str, Any]) -> Any:
    """The value: a fraction if it can be one, else a ball. Sequences are tuples, counted from 1.

    Here nothing is total: what is undefined is refused, and so is a comparison that the balls do not decide.
    """
    found = _value(term, point)
    return Fraction(int(found.p), int(found.q)) if isinstance(found, fmpq) else found


def _value(term: Term, point: Mapping[str, Any]) -> Any:
    return _VALUES.get(term.op, _arithmetic)(term, point)


def holds(formula: Formula, point: Mapping[str, Any]) -> bool:
    """Whether the formula holds at the point."""
    if formula.op == "all":
        name, low, high, body = formula.args
        return all(holds(body, {**point, name: i}) for i in _range(low, high, point))
    if formula.op == "integer":
        found = _value(formula.args[0], point)
        return isinstance(found, fmpq) and found.q == 1
    left, right = (_value(side, point) for side in formula.args)
    return _compare(formula.op, left, right)


def _compare(op: str, left: Any, right: Any) -> bool:
    if isinstance(left, fmpq) and isinstance(right, fmpq):
        return bool({"==": left == right, "<=": left <= right, "<": left < right}[op])
    left, right = ball(left), ball(right)
    yes, no = {
        "==": (False, left < right or left > right),
        "<=": (left <= right, left > right),
        "<": (left < right, left >= right),
    }[op]
    if not (yes or no):
        raise Refused(f"{left} {op} {right} is not decided at this precision.")
    return bool(yes)


def _number(found: Any) -> Any:
    """Whole numbers, fractions and floats exactly; balls as they are."""
    if isinstance(found, int):
        return fmpq(int(found))
    if isinstance(found, arb | fmpq):
        return found
    exact = found if isinstance(found, Fraction) else Fraction(found)
    return fmpq(*exact.as_integer_ratio())


def _range(low: Term, high: Term, point: Mapping[str, Any]) -> range:
    ends = _value(low, point), _value(high, point)
    if any(not isinstance(end, fmpq) or end.q != 1 for end in ends):
        raise Refused(f"a range from {ends[0]} to {ends[1]} does not end at whole numbers.")
    return range(int(ends[0].p), int(ends[1].p) + 1)


def _whole(term: Term, point: Mapping[str, Any], least: int) -> int:
    found = _value(term, point)
    if not isinstance(found, fmpq) or found.q != 1 or found < least:
        raise Refused(f"{term} must be a whole number from {least} on; it is {found}.")
    return int(found.p)


def _quotient_of_logs(term: Term, point: Mapping[str, Any]) -> Any:
    """log(b^k)/log(b) = k exactly: a ball would not say that it is whole."""
    number, base = (_value(one.args[0], point) for one in term.args)
    if not (isinstance(number, fmpq) and isinstance(base, fmpq) and base > 1 and number >= 1):
        return None
    k = 0
    while number > 1:
        number, k = number / base, k + 1
    return fmpq(k) if number == 1 else None


def _arithmetic(term: Term, point: Mapping[str, Any]) -> Any:
    if term.op == "/" and all(one.op == "log" for one in term.args):
        exact_quotient = _quotient_of_logs(term, point)
        if exact_quotient is not None:
            return exact_quotient
    if term.op in ("+", "*", "/"):
        left, right = _value(term.args[0], point), _value(term.args[1], point)
        exact = isinstance(left, fmpq) and isinstance(right, fmpq)
        if not exact:
            left, right = ball(left), ball(right)
        if term.op == "+":
            return left + right
        if term.op == "*":
            return left * right
        if right == 0 or (not exact and right.contains(0)):
            raise Refused(f"the divisor of {term} is not seen to differ from 0.")
        return left / right
    if term.op in ("sqrt", "log", "exp"):
        argument = _value(term.args[0], point)
        found = getattr(_BALLS, term.op)(ball(argument))
        if not found.is_finite():
            raise Refused(f"{term} is not defined at {argument}.")
        return found
    raise Refused(f"{term.op} has no value.")


def _found(name: str, point: Mapping[str, Any]) -> Any:
    if name not in point:
        raise Refused(f"{name} has no value here.")
    return point[name]


def _variable(term: Term, point: Mapping[str, Any]) -> Any:
    return _number(_found(term.args[0], point))


def _entry(term: Term, point: Mapping[str, Any]) -> Any:
    family, *indices = term.args
    found: Any = _found(family, point)
    for index in indices:
        i = _whole(index, point, 1)
        if i > len(found):
            raise Refused(f"{family} has {len(found)} entries, not {i}.")
        found = found[i - 1]
    return _number(found)


def _power(term: Term, point: Mapping[str, Any]) -> Any:
    base, exponent = _value(term.args[0], point), _whole(term.args[1], point, 0)
    # A fraction to a huge power has too many digits to be written out.
    return (ball(base) if exponent > _HUGE and base not in (0, 1, 2) else base) ** exponent


def _floor(term: Term, point: Mapping[str, Any]) -> Any:
    found = _value(term.args[0], point)
    if isinstance(found, fmpq):
        return fmpq(found.floor())
    whole = found.floor().unique_fmpz()
    if whole is None:
        raise Refused(f"the floor of {found} is not decided at this precision.")
    return fmpq(whole)


def _larger(left: Any, right: Any) -> Any:
    if isinstance(left, fmpq) and isinstance(right, fmpq):
        return max(left, right)
    return ball(left).max(ball(right))


def _largest(values: list[Any]) -> Any:
    if not values:
        raise Refused("there is no largest of nothing.")
    found = values[0]
    for one in values[1:]:
        found = _larger(found, one)
    return found


def _where(term: Term, point: Mapping[str, Any]) -> Any:
    condition, yes, no = term.args
    return _value(yes if holds(condition, point) else no, point)


def _each(term: Term, point: Mapping[str, Any]) -> list[Any]:
    name, low, high, body = term.args
    return [_value(body, {**point, name: i}) for i in _range(low, high, point)]


def _total(term: Term, point: Mapping[str, Any]) -> Any:
    found: Any = fmpq(0)
    for one in _each(term, point):
        found = found + one if isinstance(found, fmpq) and isinstance(one, fmpq) else ball(found) + ball(one)
    return found


def _recursive(term: Term, point: Mapping[str, Any]) -> Any:
    name, first, step, index = term.args
    found = _value(first, point)
    for _ in range(_whole(index, point, 1) - 1):
        found = _value(step, {**point, name: found})
    return found


def _binomial(term: Term, point: Mapping[str, Any]) -> Any:
    n, k = (_whole(argument, point, 0) for argument in term.args)
    return fmpq(math.comb(n, k))


_VALUES: dict[str, Any] = {
    "const": lambda term, point: _number(term.args[0]),
    "var": _variable,
    "at": _entry,
    "^": _power,
    "floor": _floor,
    "max": lambda term, point: _largest([_value(argument, point) for argument in term.args]),
    "where": _where,
    "sum": _total,
    "most": lambda term, point: _largest(_each(term, point)),
    "rec": _recursive,
    "binomial": _binomial,
}
