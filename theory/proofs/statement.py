"""What a machine proof is made of, and how a part of it is decided.

A `Part` says ``left relation right`` for all points of a region. There are two kinds of regions:

* `Orthant`: the parameters are rational functions of variables that are not negative; the region may be unbounded.
  The part is proved by the signs of the coefficients (`theory.proofs.symbols`), and an identity by exact algebra;
* `Cell`: a closed box, for formulas with logarithms and exponentials. It is proved by branch and bound over balls.

A part that is not proved is searched for a counterexample, simple numbers first. What is neither is "not decided".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from flint.utils.flint_exceptions import DomainError

from theory.proofs.balls import Balls, ball, digits
from theory.proofs.boxes import bound_below
from theory.proofs.points import GLANCE, TRIES, largest, search, words_at
from theory.proofs.symbols import Ratio, Symbols, Unclear

__all__ = ["Cell", "Finding", "Orthant", "Part", "Proof", "Result", "Side", "decide", "prove"]

Relation = Literal["==", "<=", "<", ">=", ">"]
RELATIONS = get_args(Relation)
Side = Callable[..., Any]
F = Fraction
BITS = 160


@dataclass(frozen=True, slots=True)
class Orthant:
    """A region whose points are ``point(m, **variables)``, all variables >= 0.

    Attributes
    ----------
    variables : names; > 0 unless listed in ``closed``
    point : the parameters as a function of the variables
    closed : variables that may be 0
    free : variables that may have any sign
    coordinates : the variables as a function of the parameters, so that a test can see that the region is covered
    plain : the variables are the parameters themselves, so that they are their own coordinates
    words : the region in a sentence
    """

    variables: tuple[str, ...]
    point: Side
    words: str
    closed: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    coordinates: Side | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        """Names must be distinct, and the variables that may vanish or have any sign must be variables."""
        _distinct(self.variables)
        unknown = sorted((self.closed | self.free) - set(self.variables))
        if unknown:
            raise ValueError(
                f"{unknown[0]} is no variable of the region; its variables are {', '.join(self.variables)}."
            )


def _distinct(names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"the names of a region must be distinct; got {', '.join(names)}.")


@dataclass(frozen=True, slots=True)
class Cell:
    """A closed box of parameters."""

    sides: tuple[tuple[str, Fraction, Fraction], ...]
    words: str

    def __post_init__(self) -> None:
        """No name may stand for two sides."""
        _distinct(tuple(name for name, _, _ in self.sides))

    def box(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The sides by name; an empty one is refused."""
        for name, low, high in self.sides:
            if not low <= high:
                raise ValueError(f"the region is empty: {name} has no value from {low} to {high}.")
        return {name: (low, high) for name, low, high in self.sides}


@dataclass(frozen=True, slots=True)
class Part:
    """``left(m, **point) relation right(m, **point)`` on a region.

    Attributes
    ----------
    reads : {"", "both", "left", "right"}
        Which sides are those of the claim's reading. A test holds them against the ledger's own functions.
    weights : optional
        A side may be a tuple of expressions, which stands for the largest of them. The smaller side is then proved for
        each of them. On the larger side any mixture will do: the weights must not be negative and must add up to 1
        (duality; without weights the first entry is taken).
    """

    words: str
    region: Orthant | Cell
    left: Side
    relation: Relation
    right: Side
    reads: Literal["", "both", "left", "right"] = ""
    weights: Side | None = None

    def __post_init__(self) -> None:
        """Only the five relations have a meaning."""
        if self.relation not in RELATIONS:
            raise ValueError(f"relation must be one of {' '.join(RELATIONS)}; got {self.relation!r}.")


@dataclass(frozen=True, slots=True)
class Proof:
    """The parts that together prove a statement.

    Attributes
    ----------
    of : str
        The claim's id, or the name of a lemma.
    argument : str
        Why the parts prove the statement: cases that cover the region, an induction, a chain.
    corrected : bool
        Whether it is the corrected statement that is proved.
    says : {"holds", "vacuous"}
        What is proved of the statement.
    adapt : turns a case of the ledger into the parameters of the parts that ``reads``, and of the sides
    sides : the two sides of the statement, where no part is the statement itself
    takes : what the proof takes for granted beyond the premises; such a proof is joined on paper
    """

    of: str
    argument: str
    parts: tuple[Part, ...]
    corrected: bool = False
    says: Literal["holds", "vacuous"] = "holds"
    adapt: Callable[..., dict[str, Any]] = field(default=lambda **case: dict(case))
    sides: tuple[Side, Side] | None = None
    takes: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer for one part.

    Attributes
    ----------
    pieces : boxes of branch and bound, 0 for algebra
    margin : a lower bound on all boxes; for algebra the smallest relative margin among ``points`` sampled points
    where : the box or the point of the margin, or the counterexample
    """

    part: Part
    outcome: Literal["proved", "refuted", "not decided"]
    method: str
    pieces: int
    margin: float
    where: str
    points: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """The answer for a whole proof: proved only if every part is."""

    proof: Proof
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> str:
        """The worst of the parts."""
        outcomes = {finding.outcome for finding in self.findings}
        if not outcomes:
            return "not decided"
        return next(one for one in ("refuted", "not decided", "proved") if one in outcomes)

    @property
    def pieces(self) -> int:
        """The boxes of branch and bound; algebra has none."""
        return sum(finding.pieces for finding in self.findings)

    @property
    def size(self) -> str:
        """Parts and boxes in words."""
        parts = counted(len(self.findings), "part", "parts")
        return f"{parts}, {counted(self.pieces, 'box', 'boxes')}" if self.pieces else parts


def counted(number: int, one: str, many: str) -> str:
    """The number with the right form of the noun."""
    return f"{number} {one if number == 1 else many}"


def prove(proof: Proof) -> Result:
    """Decide every part."""
    with digits(BITS):
        return Result(proof, tuple(decide(part) for part in proof.parts))


def decide(part: Part) -> Finding:
    """Proved, refuted with a counterexample, or not decided."""
    return _decide_cell(part, part.region) if isinstance(part.region, Cell) else _decide_orthant(part, part.region)


# --- regions without bounds: algebra ------------------------------------------------------------------------


def _decide_orthant(part: Part, region: Orthant) -> Finding:
    try:
        certificate = _certificate(part, region)
    except (Unclear, ArithmeticError, DomainError):
        certificate = None
    tries = TRIES if certificate is None else GLANCE
    try:
        found = search(part, region, tries)
    except (Unclear, ArithmeticError):
        return Finding(part, "not decided", "no value", 0, math.nan, region.words)
    if found.violated:
        return Finding(part, "refuted", "a point", 0, found.margin, found.words, found.count)
    if certificate is not None:
        return Finding(part, "proved", certificate, 0, found.margin, found.words, found.count)
    return Finding(part, "not decided", "no certificate", 0, found.margin, region.words, found.count)


def _certificate(part: Part, region: Orthant) -> str | None:
    """How the coefficients prove the part, or None."""
    m = Symbols(region.variables, region.closed, region.free)
    point = region.point(m, **m.variables)
    rises = part.relation in (">=", ">")
    small, large = (part.right, part.left) if rises else (part.left, part.right)
    low, high = _ratios(m, small(m, **point)), _ratios(m, large(m, **point))
    if part.relation == "==":
        low, high = [m.max(*low)], [m.max(*high)]
    above = _mixture(m, high, part.weights(m, **point) if part.weights else None)
    margins = [above - one for one in low] if above is not None else []
    if not margins:
        return None
    if part.relation == "==":
        return "identity of rational functions" if all(margin.is_zero() for margin in margins) else None
    strict = part.relation in ("<", ">")
    if not all(margin.positive() if strict else margin.not_negative() for margin in margins):
        return None
    return f"no negative coefficient among {sum(len(margin.num.to_dict()) for margin in margins)}"


def _ratios(m: Symbols, value: Any) -> list[Ratio]:
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise Unclear("there is no largest of no values")
    return [one if isinstance(one, Ratio) else m.constant(one) for one in values]


def _mixture(m: Symbols, values: list[Ratio], weights: Any) -> Ratio | None:
    """A convex combination, which the largest value is never below; None if it is not convex."""
    if weights is None:
        return values[0]
    mix = _ratios(m, tuple(weights))
    if len(mix) != len(values) or not all(one.not_negative() for one in mix):
        return None
    total, above = m.constant(0), m.constant(0)
    for weight, value in zip(mix, values, strict=True):
        total, above = total + weight, above + weight * value
    return above if (total - 1).is_zero() else None


# --- boxes: ball arithmetic ---------------------------------------------------------------------------------


def _decide_cell(part: Part, cell: Cell) -> Finding:
    if part.relation == "==":
        raise ValueError(f"an identity is proved by algebra, not on a box: {part.words}.")

    def margin(m: Balls, **point: Any) -> Any:
        left, right = (largest(m, side(m, **point)) for side in (part.left, part.right))
        return left - right if part.relation in (">=", ">") else right - left

    try:
        answer = bound_below(margin, cell.box(), strict=part.relation in ("<", ">"))
    except (Unclear, ArithmeticError):
        return Finding(part, "not decided", "no value", 0, math.nan, cell.words)
    where = ", ".join(
        f"{name} = {float(low):.6g}" if low == high else f"{name} in [{float(low):.6g}, {float(high):.6g}]"
        for name, (low, high) in answer.where.items()
    )
    if answer.outcome == "refuted":
        balls = {name: ball(low) for name, (low, _) in answer.where.items()}
        left, right = (ball(largest(Balls(), side(Balls(), **balls))) for side in (part.left, part.right))
        where = words_at(balls, left, part.relation, right)
    if answer.outcome == "not decided":
        where = f"smallest box: {where}"
    return Finding(part, answer.outcome, "branch and bound", answer.boxes, answer.least, where)  # type: ignore[arg-type]
