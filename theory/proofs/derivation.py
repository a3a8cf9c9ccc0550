"""Is the theorem that the kernel derived the ledger's statement? What `bridge` is for parts, this is for derivations.

A `Derivation` gives the grade *proved by machine* if `shortfall` finds nothing: the theorem's relation is the ledger's;
its hypotheses are ranges of single variables, or premises that the ledger names (and agree with it where they hold and
where they fail); it is defined wherever its hypotheses hold; and at every case of the ledger, and at points around the
cases that the ledger's premises allow, the hypotheses hold and both sides have the ledger's values.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from theory.claims import Claim, Reading
from theory.claims.instances import POOLS
from theory.proofs.balls import ball, digits
from theory.proofs.kernel.defined import undefined
from theory.proofs.kernel.language import Formula, Refused, Term, const
from theory.proofs.kernel.theorem import Theorem
from theory.proofs.kernel.values import holds, value
from theory.proofs.translation import translated

__all__ = ["Derivation", "around", "built", "closest", "shortfall"]

RELATIVE, ABSOLUTE = 1e-9, 1e-12
#: Far above 1 the floats of an empty bound cancel; they still agree to six digits.
RELATIVE_EMPTY = 1e-6
_BITS = 160
_AROUND = 200
#: A premise must have been seen to hold and to fail this often, together with the ledger's.
_SEEN = 5
#: Ends of ranges: any other number would cut off a part of the statement that no case may show.
_ENDS = tuple(const(number) for number in (-1, 0, Fraction(1, 2), 1, 2))
_IMPLIED_BY = {"==": ("==",), "<=": ("<=", "<", "=="), "<": ("<",)}
_POOLS = tuple(POOLS)
Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How the kernel derives a statement.

    Attributes
    ----------
    of, argument, corrected, says : as in `theory.proofs.statement.Proof`
    build : the theorem, and the theorems that say why it is defined
    reads : a case of the ledger as values of the theorem's variables; one point per entry where the sides are tuples
    premises : hypotheses that are no ranges, each with the name of the ledger's assumption
    entry : the variable that counts the entries of a tuple; it may be compared with other variables
    takes : what the theorem takes for granted of the statement; such a derivation is joined on paper
    """

    of: str
    argument: str
    build: Callable[[], tuple[Theorem, tuple[Theorem, ...]]]
    reads: Callable[..., list[Point]] = field(default=lambda **case: [dict(case)])
    premises: tuple[tuple[Formula, str], ...] = ()
    entry: str = ""
    corrected: bool = False
    says: Literal["holds", "vacuous"] = "holds"
    takes: str = ""


@cache
def built(derivation: Derivation) -> tuple[Theorem, tuple[Theorem, ...]]:
    """The theorem; it is derived once per process."""
    return derivation.build()


def shortfall(claim: Claim, derivation: Derivation) -> str:
    """Why the derivation does not prove the claim, in words; empty if it does."""
    reading = claim.repaired if derivation.corrected else claim.reading
    if reading is None:
        return f"{claim.id} has no corrected statement"
    try:
        statement, facts = built(derivation)
        with digits(_BITS):
            return (
                _relation(reading, derivation, statement)
                or undefined(statement, facts)
                or _strange_premise(claim, derivation, statement)
                or _elsewhere(claim, reading, derivation, statement)
            )
    except Refused as refusal:
        return str(refusal)


def _relation(reading: Reading, derivation: Derivation, statement: Theorem) -> str:
    proved = statement.conclusion
    if derivation.says == "vacuous":
        limit = reading.vacuous_from
        if limit is None or proved.op not in ("<=", "<") or proved.left != const(Fraction(limit)):
            return f"{proved} does not say that the bound is empty"
        return ""
    wanted = {">=": "<=", ">": "<"}.get(reading.relation, reading.relation)
    if proved.op not in _IMPLIED_BY[wanted]:
        return f"the theorem proves {proved.op} where the statement says {reading.relation}"
    return ""


def _sides(reading: Reading, derivation: Derivation, statement: Theorem) -> tuple[Term | None, Term]:
    """The terms that must be the ledger's left and right; an empty bound has no left side."""
    left, right = statement.conclusion.args
    if derivation.says == "vacuous":
        return None, right
    return (right, left) if reading.relation in (">=", ">") else (left, right)


# --- premises -------------------------------------------------------------------------------------------------------


def _strange_premise(claim: Claim, derivation: Derivation, statement: Theorem) -> str:
    named = dict(derivation.premises)
    for formula in sorted(statement.hypotheses, key=str):
        if _is_range(formula, derivation.entry):
            continue
        if formula not in named:
            return f"the hypothesis {formula} is no range, and no premise of the ledger"
        words = _differs_from_ledger(claim, derivation, formula, named[formula])
        if words:
            return words
    return ""


def _is_range(formula: Formula, entry: str) -> bool:
    """One variable against -1, 0, 1/2, 1 or 2, or a whole number; the count of an entry against another variable."""
    if formula.op == "all":
        name, low, high, body = formula.args
        return all(end.op in ("const", "var") for end in (low, high)) and _is_range(body, name)
    sides = sorted(argument.op for argument in formula.args)
    if formula.op == "integer":
        return sides in (["var"], ["at"])
    if formula.op == "==":
        return False
    counts = entry and Term("var", (entry,)) in formula.args and "at" not in sides
    natural = all(argument in _ENDS for argument in formula.args if argument.op == "const")
    return (natural and sides in (["const", "var"], ["at", "const"])) or bool(counts and sides == ["var", "var"])


def _differs_from_ledger(claim: Claim, derivation: Derivation, formula: Formula, name: str) -> str:
    """A premise must hold where the ledger's does and fail where it fails, as far as the other premises hold."""
    found = [one for one in claim.assumptions if one.name == name]
    if not found:
        return f"{claim.id} has no premise {name!r}"
    seen = {True: 0, False: 0}
    for case in (*claim.cases, *around(claim)):
        try:
            if not all(one.holds(**case) for one in claim.assumptions if one is not found[0]):
                continue
            ledger = bool(found[0].holds(**case))
            mine = {holds(formula, point) for point in derivation.reads(**case)}
        except (Refused, ValueError, ArithmeticError, KeyError):
            continue
        if mine != {ledger}:
            return f"at {dict(case)} {formula} is {mine}, the ledger's {name!r} is {ledger}"
        seen[ledger] += 1
    if min(seen.values()) < _SEEN:
        return (
            f"{formula} was seen to hold {seen[True]} times and to fail {seen[False]} times; {_SEEN} of each are needed"
        )
    return ""


# --- cases ----------------------------------------------------------------------------------------------------------


def around(claim: Claim) -> Iterator[dict[str, Any]]:
    """Points near the cases: the numbers are changed, lists are kept, pools are drawn anew."""
    draw = random.Random(claim.id)
    for _ in range(_AROUND):
        case = dict(draw.choice(claim.cases))
        yield {name: draw.choice(_POOLS) if name == "name" else _moved(number, draw) for name, number in case.items()}


def _moved(number: Any, draw: random.Random) -> Any:
    if isinstance(number, bool | str | tuple) or number == 0:
        return number
    if isinstance(number, int):
        return draw.choice(
            (number, number, number + 1, max(number - 1, 1), 2 * number, 3 * number, max(number // 2, 1))
        )
    factor = draw.choice((Fraction(1), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), Fraction(3)))
    return number * factor if isinstance(number, Fraction) else number * float(factor)


def _elsewhere(claim: Claim, reading: Reading, derivation: Derivation, statement: Theorem) -> str:
    for case in claim.cases:
        words = _at(case, reading, derivation, statement)
        if words:
            return f"at {dict(case)} {words}"
    for case in around(claim):
        try:
            if not all(one.holds(**case) for one in claim.assumptions):
                continue
            reading.left(**case), reading.right(**case)
        except (ValueError, ArithmeticError, KeyError):
            continue  # the ledger itself has no value there
        words = _at(case, reading, derivation, statement)
        if words:
            return f"around the cases, at {case}, {words}"
    return ""


def _made_up(case: Any, point: Point) -> str:
    """A number that is not the case's: a side in disguise would make any statement true.

    Allowed are lists, and counts: at most the rounds of K arms, or the length of a list.
    """
    lists = [entry for entry in point.values() if isinstance(entry, tuple)]
    inner = [entry for one in lists for entry in one if isinstance(entry, tuple)]
    rounds = (case["K"] - 1).bit_length() if isinstance(case.get("K"), int) else 0
    most = max((rounds, *map(len, lists), *map(len, inner)))
    for name, number in point.items():
        if isinstance(number, tuple) or (name not in case and isinstance(number, int) and 1 <= number <= most):
            continue
        if name not in case or not math.isclose(float(number), float(case[name]), rel_tol=RELATIVE):
            return name
    return ""


def _at(case: Any, reading: Reading, derivation: Derivation, statement: Theorem) -> str:
    points = translated(reading, derivation.reads, case)
    for point in points:
        made_up = _made_up(case, point)
        if made_up:
            return f"{made_up} is no number of the case"
        for formula in sorted(statement.hypotheses, key=str):
            if not holds(formula, point):
                return f"the hypothesis {formula} fails"
    for name, term, other in zip(
        ("left", "right"),
        _sides(reading, derivation, statement),
        (reading.left(**case), reading.right(**case)),
        strict=True,
    ):
        if term is None:
            continue
        entries = other if isinstance(other, tuple) else (other,)
        if len(entries) != len(points) or not entries:
            return f"the {name} side has {len(entries)} entries in the ledger, and {len(points)} here"
        for point, entry in zip(points, entries, strict=True):
            mine = float(ball(value(term, point)).mid())
            allowed = RELATIVE_EMPTY if derivation.says == "vacuous" else RELATIVE
            if not math.isclose(mine, float(entry), rel_tol=allowed, abs_tol=ABSOLUTE):
                return f"the {name} side is {mine:.12g}, in the ledger {float(entry):.12g}"
    return ""


def closest(claim: Claim, derivation: Derivation) -> str:
    """The least relative margin among the ledger's cases, and where it is attained."""
    statement, _ = built(derivation)
    best = (math.inf, "")
    with digits(_BITS):
        for case in claim.cases:
            for point in derivation.reads(**case):
                left, right = (ball(value(side, point)) for side in statement.conclusion.args)
                size = float(abs(left).max(abs(right)).mid())
                margin = float((right - left).mid()) / size if size else 0.0
                if margin < best[0]:
                    best = margin, ", ".join(f"{name} = {number}" for name, number in case.items())
    return f"least relative margin of the ledger's {len(claim.cases)} cases: {best[0]:.3g} at {best[1]}"
