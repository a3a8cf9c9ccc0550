"""The language of statements: terms and formulas as plain data, so that "the same expression" means equality.

Every function is total, as in most proof assistants: a quotient by 0, a root or a logarithm of a negative number and a
largest of nothing are 0. Whether a statement makes sense without this convention is checked at the end
(`theory.proofs.kernel.defined`). Sequences such as ``at("c", i)`` are arbitrary functions of their index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = [
    "Formula",
    "Refused",
    "Term",
    "absolute",
    "at",
    "binomial",
    "const",
    "every",
    "exp",
    "floor",
    "free",
    "integer",
    "largest",
    "largest_of",
    "log",
    "power",
    "recursive",
    "same",
    "smallest",
    "sqrt",
    "substitute",
    "total",
    "variables",
    "where",
]

_BINDERS = ("sum", "most", "all")


class Refused(ValueError):
    """A rule was applied where it does not apply: nothing is proved."""


@dataclass(frozen=True, slots=True)
class Term:
    """An operation and its arguments; `variables`, `const` and the functions below make them."""

    op: str
    args: tuple[Any, ...]

    def __add__(self, other: Any) -> Term:
        return Term("+", (self, const(other)))

    def __radd__(self, other: Any) -> Term:
        return Term("+", (const(other), self))

    def __mul__(self, other: Any) -> Term:
        return Term("*", (self, const(other)))

    def __rmul__(self, other: Any) -> Term:
        return Term("*", (const(other), self))

    def __neg__(self) -> Term:
        return const(-1) * self

    def __sub__(self, other: Any) -> Term:
        return self + -const(other)

    def __rsub__(self, other: Any) -> Term:
        return const(other) + -self

    def __truediv__(self, other: Any) -> Term:
        return Term("/", (self, const(other)))

    def __rtruediv__(self, other: Any) -> Term:
        return Term("/", (const(other), self))

    def __pow__(self, exponent: int) -> Term:
        return power(self, exponent)

    def __le__(self, other: Any) -> Formula:
        return Formula("<=", (self, const(other)))

    def __lt__(self, other: Any) -> Formula:
        return Formula("<", (self, const(other)))

    def __ge__(self, other: Any) -> Formula:
        return Formula("<=", (const(other), self))

    def __gt__(self, other: Any) -> Formula:
        return Formula("<", (const(other), self))

    def __repr__(self) -> str:
        return _words(self)


@dataclass(frozen=True, slots=True)
class Formula:
    """``left op right`` with op one of == <= <, or "integer" of a term, or "all" i from low to high."""

    op: str
    args: tuple[Any, ...]

    @property
    def left(self) -> Term:
        """The left side of a relation."""
        return self.args[0]  # type: ignore[no-any-return]

    @property
    def right(self) -> Term:
        """The right side of a relation."""
        return self.args[1]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return _words(self)


def const(value: Any) -> Term:
    """A rational number as a term; floats are refused."""
    if isinstance(value, Term):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise Refused(f"a term is made of whole numbers and fractions; got {value!r}.")
    return Term("const", (Fraction(value),))


def variables(names: str) -> tuple[Term, ...]:
    """One term per name."""
    return tuple(Term("var", (name,)) for name in names.split())


def same(left: Any, right: Any) -> Formula:
    """left == right (``==`` itself compares the expressions)."""
    return Formula("==", (const(left), const(right)))


def integer(term: Any) -> Formula:
    """The term is a whole number."""
    return Formula("integer", (const(term),))


def every(name: str, low: Any, high: Any, body: Formula) -> Formula:
    """The formula for all whole numbers from low to high."""
    return Formula("all", (name, const(low), const(high), body))


def at(family: str, *index: Any) -> Term:
    """An entry of a sequence."""
    return Term("at", (family, *(const(one) for one in index)))


def power(base: Any, exponent: Any) -> Term:
    """base ** exponent, for a whole exponent >= 0."""
    return Term("^", (const(base), const(exponent)))


def sqrt(x: Any) -> Term:
    """Square root."""
    return Term("sqrt", (const(x),))


def log(x: Any) -> Term:
    """Natural logarithm."""
    return Term("log", (const(x),))


def exp(x: Any) -> Term:
    """Exponential."""
    return Term("exp", (const(x),))


def floor(x: Any) -> Term:
    """The largest whole number that is not above x."""
    return Term("floor", (const(x),))


def largest(*values: Any) -> Term:
    """The largest of finitely many."""
    if not values:
        raise Refused("there is no largest of no values.")
    return Term("max", tuple(const(value) for value in values))


def smallest(*values: Any) -> Term:
    """The smallest of finitely many."""
    return -largest(*(-const(value) for value in values))


def absolute(x: Any) -> Term:
    """|x|."""
    return largest(x, -const(x))


def where(condition: Formula, yes: Any, no: Any) -> Term:
    """``yes`` where the condition holds, else ``no``."""
    if condition.op not in ("<=", "<"):
        raise Refused(f"a condition is a comparison; got {condition}.")
    return Term("where", (condition, const(yes), const(no)))


def total(name: str, low: Any, high: Any, body: Any) -> Term:
    """The sum of body over name = low, ..., high; 0 if high = low - 1."""
    return Term("sum", (name, const(low), const(high), const(body)))


def largest_of(name: str, low: Any, high: Any, body: Any) -> Term:
    """The largest of body over name = low, ..., high."""
    return Term("most", (name, const(low), const(high), const(body)))


def recursive(name: str, first: Any, step: Any, index: Any) -> Term:
    """Entry ``index`` of the sequence with a(1) = first, a(t + 1) = step at name = a(t)."""
    return Term("rec", (name, const(first), const(step), const(index)))


def binomial(n: Any, k: Any) -> Term:
    """The number of subsets of size k of n things."""
    return Term("binomial", (const(n), const(k)))


def _scopes(one: Term | Formula) -> Iterator[tuple[str | None, Term | Formula]]:
    """The arguments that are expressions, each with the name that is bound in it."""
    if one.op in _BINDERS:
        name, low, high, body = one.args
        yield from ((None, low), (None, high), (name, body))
    elif one.op == "rec":
        name, first, step, index = one.args
        yield from ((None, first), (name, step), (None, index))
    else:
        for argument in one.args:
            if isinstance(argument, Term | Formula):
                yield None, argument


def free(one: Term | Formula) -> frozenset[str]:
    """The names of the variables that are not bound."""
    if one.op == "var":
        return frozenset(one.args)
    found: frozenset[str] = frozenset()
    for bound, inner in _scopes(one):
        found |= free(inner) - ({bound} if bound else set())
    return found


def substitute(one: Any, values: Mapping[str, Term]) -> Any:
    """Put terms for variables; a variable that a binder would catch is refused."""
    if one.op == "var":
        return values.get(one.args[0], one)
    if one.op in (*_BINDERS, "rec"):
        return _under_binder(one, values)
    args = tuple(substitute(a, values) if isinstance(a, Term | Formula) else a for a in one.args)
    return type(one)(one.op, args)


def _under_binder(one: Any, values: Mapping[str, Term]) -> Any:
    name = one.args[0]
    place = 2 if one.op == "rec" else 3
    body = one.args[place]
    inner = {key: value for key, value in values.items() if key != name and key in free(body)}
    if any(name in free(value) for value in inner.values()):
        raise Refused(f"the variable {name} of {one} would be caught; rename it.")
    args = list(one.args)
    for index in range(1, 4):
        args[index] = substitute(args[index], inner if index == place else values)
    return type(one)(one.op, tuple(args))


_INFIX = ("+", "*", "/", "^", "==", "<=", "<")


def _words(one: Term | Formula) -> str:
    if one.op in ("var", "const"):
        return str(one.args[0])
    if one.op in _INFIX:
        return f"({_words(one.args[0])} {one.op} {_words(one.args[1])})"
    inside = ", ".join(_words(a) if isinstance(a, Term | Formula) else str(a) for a in one.args)
    return f"{one.op}({inside})"
