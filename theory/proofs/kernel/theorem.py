"""Theorems and the rules of logic that make them: nothing else does.

A `Theorem` says: wherever its hypotheses hold, its conclusion holds. It is made by the rules of this file, of
`theory.proofs.kernel.axioms` (what the functions of the language are) and of `theory.proofs.kernel.certificate`
(arithmetic) alone. Every rule looks at the expressions that it is given and refuses (`Refused`) where it does not
apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from theory.proofs.kernel.language import Formula, Refused, Term, const, free, integer, substitute

__all__ = [
    "Theorem",
    "absurd",
    "antisymmetric",
    "assume",
    "by_cases",
    "by_induction",
    "cut",
    "instance",
    "negation",
    "replace_equal",
    "specialise",
    "weaken",
]

_KEY = object()


class Theorem:
    """Hypotheses, a conclusion, and how it was found."""

    __slots__ = ("_sealed", "conclusion", "hypotheses", "parents", "rule")

    conclusion: Formula
    hypotheses: frozenset[Formula]
    rule: str
    parents: tuple[Theorem, ...]

    def __init__(
        self, key: object, hypotheses: Iterable[Formula], conclusion: Formula, rule: str, parents: tuple[Theorem, ...]
    ) -> None:
        if key is not _KEY:
            raise Refused("a theorem is made by a rule of the kernel, not by hand.")
        for name, value in (
            ("hypotheses", frozenset(hypotheses)),
            ("conclusion", conclusion),
            ("rule", rule),
            ("parents", parents),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise Refused("a theorem cannot be changed.")

    def __repr__(self) -> str:
        given = ", ".join(sorted(map(str, self.hypotheses)))
        return f"{given} |- {self.conclusion}"

    def steps(self) -> list[Theorem]:
        """All theorems that it was made from, and itself last, each once."""
        found: dict[int, Theorem] = {}
        stack: list[tuple[Theorem, bool]] = [(self, False)]
        while stack:
            one, ready = stack.pop()
            if ready:
                found.setdefault(id(one), one)
            elif id(one) not in found:
                stack.append((one, True))
                stack.extend((parent, False) for parent in one.parents)
        return list(found.values())


def made(hypotheses: Iterable[Formula], conclusion: Formula, rule: str, *parents: Theorem) -> Theorem:
    """What a rule of the kernel returns; for the kernel's own files."""
    given = set(hypotheses)
    for parent in parents:
        _theorem(parent)
    return Theorem(_KEY, given, conclusion, rule, parents)


def _theorem(one: Any) -> Theorem:
    if type(one) is not Theorem:
        raise Refused(f"a rule takes theorems; got {one!r}.")
    return one


def union(*theorems: Theorem) -> frozenset[Formula]:
    """The hypotheses of all of them."""
    return frozenset().union(*(_theorem(one).hypotheses for one in theorems))


def assume(formula: Formula) -> Theorem:
    """A |- A."""
    return made([formula], formula, "hypothesis")


def weaken(theorem: Theorem, *formulas: Formula) -> Theorem:
    """More hypotheses."""
    return made(union(theorem) | set(formulas), theorem.conclusion, "more hypotheses", theorem)


def cut(theorem: Theorem, *proofs: Theorem) -> Theorem:
    """Discharge hypotheses that have been proved; one that is not among the hypotheses is refused."""
    rest = set(union(theorem))
    for proof in proofs:
        if proof.conclusion not in rest:
            raise Refused(f"{proof.conclusion} is no hypothesis of {theorem}.")
        rest.discard(proof.conclusion)
    return made(rest | union(*proofs) if proofs else rest, theorem.conclusion, "cut", theorem, *proofs)


def instance(theorem: Theorem, **values: Any) -> Theorem:
    """Put terms for variables, in the hypotheses too."""
    terms = {name: const(value) for name, value in values.items()}
    unknown = set(terms) - set().union(free(theorem.conclusion), *map(free, union(theorem)))
    if unknown:
        raise Refused(f"{sorted(unknown)[0]} is no variable of {theorem}.")
    given = [substitute(one, terms) for one in union(theorem)]
    return made(given, substitute(theorem.conclusion, terms), "instance", theorem)


def negation(formula: Formula) -> Formula:
    """The opposite of a comparison."""
    if formula.op not in ("<=", "<"):
        raise Refused(f"only a comparison has an opposite here; got {formula}.")
    return Formula("<" if formula.op == "<=" else "<=", (formula.right, formula.left))


def by_cases(case: Formula, yes: Theorem, no: Theorem) -> Theorem:
    """The conclusion if it follows both from ``case`` and from its opposite."""
    if yes.conclusion != no.conclusion:
        raise Refused(f"the cases prove different things: {yes.conclusion} and {no.conclusion}.")
    rest = (union(yes) - {case}) | (union(no) - {negation(case)})
    return made(rest, yes.conclusion, "cases", yes, no)


def by_induction(name: str, start: int, claim: Formula, base: Theorem, step: Theorem, last: Any = None) -> Theorem:
    """The claim for all whole numbers from ``start`` on, or up to ``last``; base and step are made from it.

    The base must be the claim at ``start``, the step the claim at n + 1 from the claim at n, for start <= n (and
    n + 1 <= last).
    """
    n = Term("var", (name,))
    if type(start) is not int:
        raise Refused(f"an induction starts at a whole number; got {start!r}.")
    if base.conclusion != substitute(claim, {name: const(start)}):
        raise Refused(f"the base must be {substitute(claim, {name: const(start)})}; got {base.conclusion}.")
    if step.conclusion != substitute(claim, {name: n + 1}):
        raise Refused(f"the step must be {substitute(claim, {name: n + 1})}; got {step.conclusion}.")
    range_ = {integer(n), const(start) <= n}
    here = {claim, *range_} | (set() if last is None else {n + 1 <= const(last)})
    rest = union(base) | (union(step) - here)
    if any(name in free(one) for one in (*rest, *(() if last is None else (const(last),)))):
        raise Refused(f"a hypothesis or the end speaks of {name}, on which the induction runs.")
    given = rest | range_ | (set() if last is None else {n <= const(last)})
    return made(given, claim, f"induction on {name}", base, step)


def outside(name: str, low: Any, high: Any, theorem: Theorem) -> frozenset[Formula]:
    """The hypotheses without those that say that ``name`` is a whole number from low to high."""
    i = Term("var", (name,))
    rest = union(theorem) - {integer(i), const(low) <= i, i <= const(high)}
    if any(name in free(one) for one in rest):
        raise Refused(f"a hypothesis of {theorem} speaks of {name}.")
    if name in free(const(low)) | free(const(high)):
        raise Refused(f"the range of {name} must not depend on it.")
    return rest


def specialise(formula: Formula, index: Any) -> Theorem:
    """One instance of "for all", under the hypotheses that the index is in the range."""
    if formula.op != "all":
        raise Refused(f'{formula} is not "for all".')
    name, low, high, body = formula.args
    i = const(index)
    return made([formula, integer(i), low <= i, i <= high], substitute(body, {name: i}), "one of all", assume(formula))


def replace_equal(equation: Theorem, theorem: Theorem, pattern: Formula, name: str) -> Theorem:
    """pattern at name = right, from left == right and from the pattern at name = left."""
    if equation.conclusion.op != "==":
        raise Refused(f"{equation.conclusion} is no equation.")
    old, new = equation.conclusion.args
    if substitute(pattern, {name: old}) != theorem.conclusion:
        raise Refused(f"{theorem.conclusion} is not the pattern {pattern} at {name} = {old}.")
    return made(union(equation, theorem), substitute(pattern, {name: new}), "equals for equals", equation, theorem)


def absurd(contradiction: Theorem, goal: Formula) -> Theorem:
    """Anything, from 0 < 0."""
    if contradiction.conclusion != (const(0) < const(0)):
        raise Refused(f"{contradiction.conclusion} is no contradiction; 0 < 0 is.")
    return made(union(contradiction), goal, "contradiction", contradiction)


def antisymmetric(first: Theorem, second: Theorem) -> Theorem:
    """a == b, from a <= b and b <= a."""
    a, b = first.conclusion.args
    if first.conclusion.op != "<=" or second.conclusion != (b <= a):
        raise Refused(f"{first.conclusion} and {second.conclusion} are not opposite.")
    return made(union(first, second), Formula("==", (a, b)), "both ways", first, second)
