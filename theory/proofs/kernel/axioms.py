"""What the functions of the language are: floors, roots, exponentials, largest values, sums, sequences."""

from __future__ import annotations

from typing import Any

from theory.proofs.kernel.language import (
    Formula,
    Refused,
    Term,
    binomial,
    const,
    exp,
    floor,
    free,
    integer,
    largest,
    largest_of,
    log,
    power,
    recursive,
    same,
    sqrt,
    substitute,
    total,
)
from theory.proofs.kernel.theorem import Theorem, made, negation, outside, union

__all__ = [
    "binomial_none",
    "binomial_pascal",
    "binomial_sign",
    "binomial_zero",
    "entry_is_largest",
    "exp_log",
    "exp_positive",
    "exp_sum",
    "exp_tangent",
    "exp_zero",
    "floor_above",
    "floor_below",
    "floor_integer",
    "increasing",
    "integer_gap",
    "integer_term",
    "largest_above",
    "largest_least",
    "largest_of_above",
    "largest_of_least",
    "log_exp",
    "log_product",
    "power_next",
    "recursive_first",
    "recursive_next",
    "sqrt_square",
    "total_compare",
    "total_next",
    "total_none",
    "where_no",
    "where_yes",
]


def _index(*terms: Term) -> list[Formula]:
    return [integer(term) for term in terms if not _whole(term)]


def _whole(term: Term) -> bool:
    return term.op == "const" and term.args[0].denominator == 1


# --- floors and whole numbers ---------------------------------------------------------------------------------------


def floor_below(x: Any) -> Theorem:
    """floor(x) <= x."""
    return made([], floor(x) <= const(x), "floor")


def floor_above(x: Any) -> Theorem:
    """x < floor(x) + 1."""
    return made([], const(x) < floor(x) + 1, "floor")


def floor_integer(x: Any) -> Theorem:
    """floor(x) is a whole number."""
    return made([], integer(floor(x)), "floor")


def integer_term(term: Any, *known: Theorem) -> Theorem:
    """The term is a whole number, because it is made of such by +, * and powers."""
    term = const(term)
    facts = {one.conclusion: one for one in known}
    used: list[Theorem] = []

    def look(one: Term) -> None:
        if integer(one) in facts:
            used.append(facts[integer(one)])
        elif one.op in ("+", "*"):
            for argument in one.args:
                look(argument)
        elif one.op == "^":
            base, exponent = one.args
            look(base)
            look(exponent)
            if exponent.op == "const" and exponent.args[0] >= 0:
                return
            if (const(0) <= exponent) not in facts:
                raise Refused(f"the exponent of {one} is not seen to be at least 0.")
            used.append(facts[const(0) <= exponent])
        elif one.op not in ("floor", "binomial") and not _whole(one):
            raise Refused(f"{one} is not seen to be a whole number.")

    look(term)
    return made(union(*used) if used else [], integer(term), "whole number", *used)


def integer_gap(comparison: Theorem, left: Theorem, right: Theorem) -> Theorem:
    """a + 1 <= b, from a < b for whole numbers."""
    if comparison.conclusion.op != "<":
        raise Refused(f"{comparison.conclusion} is not strict.")
    a, b = comparison.conclusion.args
    if left.conclusion != integer(a) or right.conclusion != integer(b):
        raise Refused(f"both sides of {comparison.conclusion} must be whole numbers.")
    return made(union(comparison, left, right), a + 1 <= b, "whole numbers", comparison, left, right)


# --- roots, exponentials, logarithms --------------------------------------------------------------------------------


def sqrt_square(x: Any) -> Theorem:
    """sqrt(x) sqrt(x) == x for x >= 0."""
    return made([const(0) <= const(x)], same(sqrt(x) * sqrt(x), x), "root")


def exp_positive(x: Any) -> Theorem:
    """0 < exp(x)."""
    return made([], const(0) < exp(x), "exponential")


def exp_tangent(x: Any) -> Theorem:
    """1 + x <= exp(x)."""
    return made([], 1 + const(x) <= exp(x), "exponential")


def exp_sum(x: Any, y: Any) -> Theorem:
    """exp(x + y) == exp(x) exp(y)."""
    return made([], same(exp(const(x) + y), exp(x) * exp(y)), "exponential")


def exp_zero() -> Theorem:
    """exp(0) == 1."""
    return made([], same(exp(0), 1), "exponential")


def log_product(x: Any, y: Any) -> Theorem:
    """log(x y) == log(x) + log(y) for x, y > 0."""
    x, y = const(x), const(y)
    return made([const(0) < x, const(0) < y], same(log(x * y), log(x) + log(y)), "logarithm")


def log_exp(x: Any) -> Theorem:
    """log(exp(x)) == x."""
    return made([], same(log(exp(x)), x), "logarithm")


def exp_log(x: Any) -> Theorem:
    """exp(log(x)) == x for x > 0."""
    return made([const(0) < const(x)], same(exp(log(x)), x), "logarithm")


def increasing(function: str, comparison: Theorem, domain: Theorem | None = None) -> Theorem:
    """f(a) <= f(b) from a <= b (or <), for exp; with a > 0 for log, and with a >= 0 for sqrt."""
    if comparison.conclusion.op not in ("<=", "<"):
        raise Refused(f"{comparison.conclusion} is no comparison.")
    a, b = comparison.conclusion.args
    needed = {"exp": (), "log": (const(0) < a,), "sqrt": (const(0) <= a, const(0) < a)}.get(function)
    if needed is None:
        raise Refused(f"the increasing functions are exp, log and sqrt; got {function!r}.")
    if needed and (domain is None or domain.conclusion not in needed):
        raise Refused(f"{function} needs {needed[0]}.")
    parents = (comparison,) if domain is None else (comparison, domain)
    sides = Term(function, (a,)), Term(function, (b,))
    return made(union(*parents), Formula(comparison.conclusion.op, sides), f"{function} is increasing", *parents)


# --- largest values and cases ---------------------------------------------------------------------------------------


def largest_above(values: Term, place: int) -> Theorem:
    """An entry is not above the largest."""
    if values.op != "max":
        raise Refused(f"{values} is no largest value.")
    return made([], values.args[place] <= values, "largest")


def largest_least(values: Term, *bounds: Theorem) -> Theorem:
    """The largest is not above c, if no entry is; one theorem per entry."""
    if values.op != "max" or len(bounds) != len(values.args):
        raise Refused(f"{values} needs one bound per entry.")
    c = bounds[0].conclusion.args[-1]
    for one, bound in zip(values.args, bounds, strict=True):
        if bound.conclusion not in (one <= c, one < c, Formula("==", (one, c))):
            raise Refused(f"{bound.conclusion} does not bound {one} by {c}.")
    return made(union(*bounds), values <= c, "largest", *bounds)


def _case(term: Term, wanted: Formula, known: Theorem) -> None:
    if term.op != "where":
        raise Refused(f"{term} has no condition.")
    if known.conclusion != wanted:
        raise Refused(f"{known.conclusion} does not decide {wanted}.")


def where_yes(term: Term, known: Theorem) -> Theorem:
    """The first value, where the condition holds."""
    _case(term, term.args[0], known)
    return made(union(known), same(term, term.args[1]), "condition", known)


def where_no(term: Term, known: Theorem) -> Theorem:
    """The second value, where the opposite of the condition holds."""
    _case(term, negation(term.args[0]), known)
    return made(union(known), same(term, term.args[2]), "condition", known)


def largest_of_above(name: str, low: Any, high: Any, body: Any, index: Any) -> Theorem:
    """An entry is not above the largest."""
    low, high, i = const(low), const(high), const(index)
    entry = substitute(const(body), {name: i})
    return made([integer(i), low <= i, i <= high], entry <= largest_of(name, low, high, body), "largest")


def largest_of_least(name: str, low: Any, high: Any, theorem: Theorem) -> Theorem:
    """The largest is not above c, if no entry is; the range must not be empty."""
    low, high = const(low), const(high)
    rest = outside(name, low, high, theorem)
    if theorem.conclusion.op not in ("<=", "<"):
        raise Refused(f"{theorem.conclusion} is no bound.")
    body, c = theorem.conclusion.args
    if name in free(c):
        raise Refused(f"the bound {c} depends on {name}.")
    given = [*_index(low, high), low <= high]
    return made({*rest, *given}, largest_of(name, low, high, body) <= c, "largest", theorem)


# --- sums, powers, sequences ----------------------------------------------------------------------------------------


def total_none(name: str, low: Any, body: Any) -> Theorem:
    """A sum over nothing is 0."""
    low = const(low)
    high = const(low.args[0] - 1) if low.op == "const" else low - 1
    return made(_index(low), same(total(name, low, high, body), 0), "sum")


def total_next(name: str, low: Any, high: Any, body: Any) -> Theorem:
    """One more term."""
    low, high, body = const(low), const(high), const(body)
    more = total(name, low, high, body) + substitute(body, {name: high + 1})
    given = [*_index(low, high), low <= high + 1]
    return made(given, same(total(name, low, high + 1, body), more), "sum")


def total_compare(name: str, low: Any, high: Any, theorem: Theorem) -> Theorem:
    """Sums compare as their terms do."""
    low, high = const(low), const(high)
    rest = outside(name, low, high, theorem)
    op = {"==": "==", "<=": "<=", "<": "<="}.get(theorem.conclusion.op)
    if op is None:
        raise Refused(f"{theorem.conclusion} compares nothing.")
    sides = tuple(total(name, low, high, side) for side in theorem.conclusion.args)
    return made({*rest, *_index(low, high)}, Formula(op, sides), "sum", theorem)


def power_next(base: Any, exponent: Any) -> Theorem:
    """a^(n + 1) == a a^n for whole n >= 0."""
    n = const(exponent)
    given = [*_index(n), const(0) <= n]
    return made(given, same(power(base, n + 1), const(base) * power(base, n)), "power")


def recursive_first(name: str, first: Any, step: Any) -> Theorem:
    """a(1) == first."""
    return made([], same(recursive(name, first, step, 1), first), "sequence")


def recursive_next(name: str, first: Any, step: Any, index: Any) -> Theorem:
    """a(t + 1) == step at a(t)."""
    t = const(index)
    now = recursive(name, first, step, t)
    given = [*_index(t), const(1) <= t]
    return made(given, same(recursive(name, first, step, t + 1), substitute(const(step), {name: now})), "sequence")


def binomial_zero(n: Any) -> Theorem:
    """C(n, 0) == 1."""
    return made([*_index(const(n)), const(0) <= const(n)], same(binomial(n, 0), 1), "binomial")


def binomial_pascal(n: Any, k: Any) -> Theorem:
    """C(n + 1, k + 1) == C(n, k) + C(n, k + 1)."""
    n, k = const(n), const(k)
    given = [*_index(n, k), const(0) <= n, const(0) <= k]
    return made(given, same(binomial(n + 1, k + 1), binomial(n, k) + binomial(n, k + 1)), "binomial")


def binomial_none(n: Any, k: Any) -> Theorem:
    """C(n, k) == 0 for k > n."""
    n, k = const(n), const(k)
    return made([*_index(n, k), const(0) <= n, n < k], same(binomial(n, k), 0), "binomial")


def binomial_sign(n: Any, k: Any) -> Theorem:
    """0 <= C(n, k)."""
    return made([], const(0) <= binomial(n, k), "binomial")


def entry_is_largest(values: Term, place: int, *bounds: Theorem) -> Theorem:
    """The largest is this entry, if no other is above it."""
    least = largest_least(values, *bounds)
    entry = values.args[place]
    if least.conclusion != (values <= entry):
        raise Refused(f"the bounds are not by the entry {entry}.")
    return made(union(least), same(values, entry), "largest", least, largest_above(largest(*values.args), place))
