"""Short ways through the kernel: each is made of its rules, and could not prove more than they do."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from theory.proofs.kernel.axioms import (
    floor_above,
    floor_below,
    floor_integer,
    increasing,
    integer_gap,
    integer_term,
    total_next,
    total_none,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Formula, Refused, Term, const, floor, integer, same, sqrt, total, variables
from theory.proofs.kernel.theorem import Theorem, absurd, antisymmetric, assume, by_cases, by_induction, cut, instance

__all__ = [
    "F",
    "chain",
    "constant_c",
    "counted",
    "discharge",
    "equal",
    "floor_nonnegative",
    "floor_of_whole",
    "nonnegative",
    "positive",
    "root_positive",
    "settle",
    "square_grows",
    "theta_facts",
    "total_constant",
    "total_linear",
    "zero",
]

F = Fraction
zero = const(0)


def positive(*terms: Term) -> list[Theorem]:
    """0 < x as hypotheses."""
    return [assume(zero < term) for term in terms]


def nonnegative(*terms: Term) -> list[Theorem]:
    """0 <= x as hypotheses."""
    return [assume(zero <= term) for term in terms]


def discharge(theorem: Theorem, *proofs: Theorem) -> Theorem:
    """Cut those hypotheses that are proved, and leave out proofs that are not needed."""
    needed = {proof.conclusion: proof for proof in proofs if proof.conclusion in theorem.hypotheses}
    return cut(theorem, *needed.values()) if needed else theorem


def settle(theorem: Theorem, *known: Theorem) -> Theorem:
    """Cut every hypothesis that is known, is a whole number by its form, or is a sum of at most two comparisons."""
    proofs = []
    for wanted in sorted(theorem.hypotheses, key=str):
        if any(assume(wanted).hypotheses == one.hypotheses for one in known if one.conclusion == wanted):
            continue
        found = _find(wanted, known)
        if found is not None:
            proofs.append(found)
    return cut(theorem, *proofs) if proofs else theorem


def _find(wanted: Formula, known: tuple[Theorem, ...]) -> Theorem | None:
    for one in known:
        if one.conclusion == wanted:
            return one
    if wanted.op == "integer":
        try:
            return integer_term(wanted.args[0], *known)
        except Refused:
            return None
    comparisons = [one for one in known if one.conclusion.op in ("<=", "<", "==")]
    signs = [one for one in comparisons if one.conclusion.left == zero and one.conclusion.right.op == "var"]
    for size in (0, 1, 2):
        for some in combinations(comparisons, size):
            for sign in ((), signs):
                try:
                    return combine(wanted, *some, signs=sign)
                except Refused:
                    continue
    return None


def chain(goal: Formula, *theorems: Theorem, signs: Iterable[Theorem] = ()) -> Theorem:
    """The goal as a sum of comparisons and equations, the latter read in either direction."""
    known = tuple(signs)
    equations = [place for place, one in enumerate(theorems) if one.conclusion.op == "=="]
    problem: Refused | None = None
    for directions in product((1, -1), repeat=len(equations)):
        multipliers = dict(zip(equations, directions, strict=True))
        try:
            return combine(goal, *((one, multipliers.get(i, 1)) for i, one in enumerate(theorems)), signs=known)
        except Refused as refusal:
            problem = problem or refusal
    raise problem or Refused(f"nothing proves {goal}")


def equal(left: Any, right: Any, *uses: Theorem, signs: Iterable[Theorem] = ()) -> Theorem:
    """left == right as a sum of equations, each read in either direction."""
    return chain(same(left, right), *uses, signs=signs)


def counted(n: Term, least: int) -> Theorem:
    """0 < n from least <= n (least >= 1)."""
    return combine(zero < n, assume(const(least) <= n))


def square_grows(smaller: Theorem, sign: Theorem) -> Theorem:
    """a^2 <= b^2 from 0 <= a and a <= b (for whatever terms these are)."""
    a, b = variables("a_ b_")
    up = combine(zero <= b, assume(a <= b), assume(zero <= a))
    lemma = combine(a * a <= b * b, (assume(a <= b), a + b), signs=[assume(zero <= a), up])
    found = instance(lemma, a_=smaller.conclusion.left, b_=smaller.conclusion.right)
    return discharge(found, smaller, sign)


def root_positive(x: Term, sign: Theorem) -> Theorem:
    """0 < sqrt(x) from 0 < x."""
    at_zero = combine(zero <= zero)
    return combine(zero < sqrt(x), increasing("sqrt", sign, at_zero))


def constant_c(theta: Term) -> Term:
    """The paper's constant (1 - theta)/(1 - 2 theta)."""
    return (1 - theta) / (1 - 2 * theta)


def theta_facts(theta: Term) -> tuple[Theorem, Theorem, Theorem, Theorem]:
    """0 < 1 - 2 theta, 0 < 1 - theta, 0 < c and 1 <= c, for theta in (0, 1/2)."""
    low, high = assume(zero < theta), assume(theta < const(F(1, 2)))
    width = combine(zero < 1 - 2 * theta, (high, 2))
    upper = combine(zero < 1 - theta, high)
    t, w = variables("t_ w_")
    whole = combine(zero < t / w, signs=positive(t, w))
    above = combine(const(1) <= t / w, (assume(w <= t), 1 / w), signs=positive(w))
    more = combine(1 - 2 * theta <= 1 - theta, low)
    terms = {"t_": 1 - theta, "w_": 1 - 2 * theta}
    return (
        width,
        upper,
        discharge(instance(whole, **terms), upper, width),
        discharge(instance(above, **terms), more, width),
    )


def floor_nonnegative(x: Term, sign: Theorem) -> Theorem:
    """0 <= floor(x) from 0 <= x."""
    above = combine(zero < floor(x) + 1, floor_above(x), sign)
    whole = integer_term(floor(x) + 1)
    step = integer_gap(above, integer_term(zero), whole)
    return combine(zero <= floor(x), step)


def floor_of_whole(x: Term, whole: Theorem) -> Theorem:
    """floor(x) == x for a whole number x."""
    goal = x <= floor(x)
    smaller = assume(floor(x) < x)
    step = integer_gap(smaller, floor_integer(x), whole)
    nonsense = combine(zero < zero, step, floor_above(x))
    up = by_cases(goal, assume(goal), absurd(nonsense, goal))
    return antisymmetric(floor_below(x), up)


def total_constant(name: str, high: Term, k: Term) -> Theorem:
    """The sum of k over 1, ..., n is n k, for whole n >= 0."""
    n, each = variables("n_ k_")
    claim = same(total(name, 1, n, each), n * each)
    base = equal(total(name, 1, 0, each), 0 * each, total_none(name, 1, each))
    more = settle(total_next(name, 1, n, each), assume(integer(n)), assume(zero <= n))
    step = equal(total(name, 1, n + 1, each), (n + 1) * each, more, assume(claim))
    found = by_induction("n_", 0, claim, base, step)
    return instance(found, n_=high, k_=k)


def total_linear(
    name: str, low: int, high: Term, body: Term, *terms: tuple[Any, Term], signs: Iterable[Theorem] = ()
) -> Theorem:
    """The sum of ``body`` is that of multiples of other sums, if each of its terms is: by induction on the end."""
    (n,) = variables("n_")

    def claim_at(end: Any) -> Formula:
        right: Term = zero
        for factor, one in terms:
            right = right + const(factor) * total(name, low, end, one)
        return same(total(name, low, end, body), right)

    claim = claim_at(n)
    uses = [(total_none(name, low, body), -1), *((total_none(name, low, one), factor) for factor, one in terms)]
    base = combine(claim_at(const(low - 1)), *((fact, _minus(factor)) for fact, factor in uses))
    known = (assume(integer(n)), assume(const(low - 1) <= n))
    more = settle(total_next(name, low, n, body), *known)
    others = [(settle(total_next(name, low, n, one), *known), _minus(factor)) for factor, one in terms]
    step = combine(claim_at(n + 1), more, *others, assume(claim), signs=tuple(signs))
    return instance(by_induction("n_", low - 1, claim, base, step), n_=high)


def _minus(factor: Any) -> Term:
    return -const(factor)
