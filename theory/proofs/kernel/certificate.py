"""Arithmetic: an inequality that is a combination of others, checked by the signs of coefficients.

`combine` proves ``a <= b`` from theorems ``a_k <= b_k`` with multipliers m_k >= 0, if

    (b - a) - sum_k m_k (b_k - a_k)

is a quotient of polynomials without negative coefficients in variables that are known not to be negative. Chains, sums
of inequalities and products with something nonnegative are all of this kind. Equations may have multipliers of any
sign.
Everything that is not arithmetic (a floor, a sum, an entry of a sequence, ...) is one more variable, the same for the
same arguments. A quotient is computed only where the divisor is seen not to vanish; otherwise it is a variable too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flint.utils.flint_exceptions import DomainError

from theory.proofs.kernel.language import Formula, Refused, Term, const
from theory.proofs.kernel.theorem import Theorem, made, union
from theory.proofs.symbols import Ratio, Symbols, Unclear

__all__ = ["combine"]

_RELATIONS = ("==", "<=", "<")


def combine(goal: Formula, *uses: Theorem | tuple[Theorem, Any], signs: Iterable[Theorem] = ()) -> Theorem:
    """The goal as a combination of theorems.

    Parameters
    ----------
    uses : theorems, or pairs (theorem, multiplier); a multiplier is 1 unless given
    signs : theorems ``0 < x`` or ``0 <= x`` about variables and what counts as one, in the order in which they are
        needed (a sign under a quotient before the quotient's)
    """
    pairs = [one if isinstance(one, tuple) else (one, 1) for one in uses]
    known = tuple(signs)
    parents = (*(fact for fact, _ in pairs), *known)
    given = union(*parents) if parents else frozenset[Formula]()
    used = [(fact, const(multiplier)) for fact, multiplier in pairs]
    try:
        why = _check(goal, used, known)
    except (Unclear, ArithmeticError, DomainError) as problem:
        raise Refused(f"{goal} is not decided: {problem}") from None
    if why:
        raise Refused(f"{goal} is not decided: {why}")
    return made(given, goal, "arithmetic", *parents)


def _check(goal: Formula, pairs: list[tuple[Theorem, Term]], signs: tuple[Theorem, ...]) -> str:
    """Why the goal does not follow; empty if it does."""
    formulas = [goal, *(fact.conclusion for fact, _ in pairs), *(sign.conclusion for sign in signs)]
    for one in formulas:
        if one.op not in _RELATIONS:
            return f"{one} is no relation of numbers"
    field = _Field([*(side for one in formulas for side in one.args), *(term for _, term in pairs)])
    for sign in signs:
        field.learn(sign.conclusion)
    rest = field.margin(goal)
    strict = False
    for fact, multiplier in pairs:
        weight = field.ratio(multiplier)
        op = fact.conclusion.op
        if op != "==":
            if goal.op == "==":
                return f"{fact.conclusion} is no equation"
            if not weight.not_negative():
                return f"the multiplier {multiplier} may be negative"
            strict = strict or (op == "<" and weight.positive())
        rest = rest - weight * field.margin(fact.conclusion)
    if goal.op == "==":
        return "" if rest.is_zero() else f"the rest {rest} is not zero"
    if goal.op == "<" and not strict:
        return "" if rest.positive() else f"the rest {rest} may be zero or negative"
    return "" if rest.not_negative() else f"the rest {rest} may be negative"


_PLAIN = ("+", "*", "const")


class _Field:
    """Terms as quotients of polynomials in variables and in what is no arithmetic."""

    def __init__(self, terms: Iterable[Term]) -> None:
        # A term can need two: before and after a sign below it is known.
        count = 2 * len({one for term in terms for one in _opaque(term)})
        self._names = [f"u{i}" for i in range(count)]
        self._symbols = Symbols(tuple(self._names), frozenset(), frozenset(self._names))
        self._known: dict[Any, Ratio] = {}

    def learn(self, sign: Formula) -> None:
        """0 < x or 0 <= x."""
        if sign.left != const(0) or sign.op == "==":
            raise Unclear(f"{sign} does not say that something is positive")
        value = self.ratio(sign.right)
        if not self._symbols.settle(value, positive=sign.op == "<"):
            raise Unclear(f"{sign.right} is no variable, so that its sign cannot be noted")

    def margin(self, one: Formula) -> Ratio:
        """Right minus left."""
        return self.ratio(one.right) - self.ratio(one.left)

    def ratio(self, term: Term) -> Ratio:
        """The term as a quotient; what cannot be computed is a variable."""
        op, args = term.op, term.args
        if op == "const":
            return self._symbols.constant(args[0])
        if op == "+":
            return self.ratio(args[0]) + self.ratio(args[1])
        if op == "*":
            return self.ratio(args[0]) * self.ratio(args[1])
        try:
            if op == "/":
                return self.ratio(args[0]) / self.ratio(args[1])
            if op == "^" and (exponent := self.ratio(args[1]).whole()) is not None and exponent >= 0:
                return self.ratio(args[0]) ** exponent
            if op in ("sqrt", "log", "exp"):
                return getattr(self._symbols, op)(self.ratio(args[0]))  # type: ignore[no-any-return]
        except Unclear:
            pass
        return self._variable(term)

    def _variable(self, term: Term) -> Ratio:
        key = (term.op, *self._keys(term))
        if key not in self._known:
            if len(self._known) == len(self._names):
                raise Unclear(f"there is no variable left for {term}")
            self._known[key] = self._symbols.variables[self._names[len(self._known)]]
        return self._known[key]

    def _keys(self, term: Term) -> Iterator[Any]:
        """Arguments are compared as quotients, so that f(t + 1 - 1) is f(t); where a name is bound, as written.

        What is known of the sign of a variable i says nothing about an i that is bound.
        """
        scope = {"sum": 3, "most": 3, "rec": 2}.get(term.op)
        for place, argument in enumerate(term.args):
            plain = isinstance(argument, Term) and place != scope
            yield str(self.ratio(argument)) if plain else argument


def _opaque(term: Term) -> Iterator[Term]:
    """Everything below a term that may need a variable of its own."""
    if term.op not in _PLAIN:
        yield term
    for argument in term.args:
        if isinstance(argument, Term):
            yield from _opaque(argument)
