"""Does a statement make sense without the convention that every function is total?

`undefined` walks through a statement. Under each quotient there must be a theorem that the divisor is positive (or
negative), under each root that the number is not negative, under each logarithm that it is positive, and so on; the
theorem may use the hypotheses of the statement, and below a sum or a condition also the range and the condition.
"""

from __future__ import annotations

from collections.abc import Iterable

from theory.proofs.kernel.language import Formula, Term, const, free, integer
from theory.proofs.kernel.theorem import Theorem

__all__ = ["undefined"]


def undefined(statement: Theorem, facts: Iterable[Theorem]) -> str:
    """The first expression that is not seen to be defined, in words; empty if all are."""
    known = tuple(facts)
    for formula in (statement.conclusion, *sorted(statement.hypotheses, key=str)):
        for need, given in _needs(formula, frozenset(statement.hypotheses)):
            if not any(_given(one, given, known) for one in need):
                return f"{need[0]} is not shown, which {formula} needs"
    return ""


def _given(wanted: Formula, given: frozenset[Formula], facts: tuple[Theorem, ...]) -> bool:
    if wanted in given or _obvious(wanted):
        return True
    return any(fact.conclusion == wanted and fact.hypotheses <= given for fact in facts)


def _obvious(wanted: Formula) -> bool:
    """About numbers that are written out."""
    if any(argument.op != "const" for argument in wanted.args):
        return False
    values = [argument.args[0] for argument in wanted.args]
    if wanted.op == "integer":
        return bool(values[0].denominator == 1)
    return bool({"<": values[0] < values[-1], "<=": values[0] <= values[-1]}.get(wanted.op, False))


Needs = list[tuple[tuple[Formula, ...], frozenset[Formula]]]


def _needs(one: Term | Formula, given: frozenset[Formula]) -> Needs:
    """What must be known, each as alternatives, with what may be used for it."""
    zero = const(0)
    found: Needs = []
    if one.op in ("sum", "most", "all"):
        name, low, high, body = one.args
        i = Term("var", (name,))
        outer = frozenset(formula for formula in given if name not in free(formula))
        inside = outer | {integer(i), low <= i, i <= high}
        found = [((integer(low),), given), ((integer(high),), given)]
        found += [((low <= high,), given)] if one.op == "most" else []
        return [*found, *_needs(low, given), *_needs(high, given), *_needs(body, inside)]
    if one.op == "where":
        condition, yes, no = one.args
        opposite = Formula("<" if condition.op == "<=" else "<=", (condition.right, condition.left))
        return [*_needs(condition, given), *_needs(yes, given | {condition}), *_needs(no, given | {opposite})]
    if one.op == "rec":
        name, first, step, index = one.args
        outer = frozenset(formula for formula in given if name not in free(formula))
        found = [((integer(index),), given), ((const(1) <= index,), given)]
        return [*found, *_needs(first, given), *_needs(step, outer), *_needs(index, given)]
    if one.op == "/":
        found = [((zero < one.args[1], one.args[1] < zero), given)]
    elif one.op == "sqrt":
        found = [((zero <= one.args[0], zero < one.args[0]), given)]
    elif one.op == "log":
        found = [((zero < one.args[0],), given)]
    elif one.op == "^":
        found = [((integer(one.args[1]),), given), ((zero <= one.args[1], zero < one.args[1]), given)]
    elif one.op == "binomial":
        found = [((form,), given) for arg in one.args for form in (integer(arg), zero <= arg)]
    elif one.op == "at":
        found = [((integer(arg),), given) for arg in one.args[1:]]
    for argument in one.args:
        if isinstance(argument, Term | Formula):
            found += _needs(argument, given)
    return found
