"""What a machine proof is made of, and how a part of it is decided.

A `Part` says ``left relation right`` for all points of a region. There are two kinds of regions:

* `Orthant`: the parameters are rational functions of variables that are not negative; the region may be unbounded.
  The part is proved by the signs of the coefficients (`theory.proofs.symbols`), and an identity by exact algebra;
* `Cell`: a closed box, for formulas with logarithms and exponentials. It is proved by branch and bound over balls.

A part that is not proved is searched for a counterexample, simple numbers first. What is neither is "not decided".
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from flint.utils.flint_exceptions import DomainError

from theory.proofs.balls import Balls, ball, digits
from theory.proofs.boxes import bound_below
from theory.proofs.symbols import Ratio, Symbols, Unclear

__all__ = ["Cell", "Finding", "Orthant", "Part", "Proof", "Result", "Side", "decide", "prove"]

Relation = Literal["==", "<=", "<", ">=", ">"]
RELATIONS = get_args(Relation)
Side = Callable[..., Any]
F = Fraction
SIMPLE = (F(1), F(1, 2), F(2), F(1, 10), F(10), F(1, 100), F(100), F(1, 1000), F(1000), F(10**6), F(1, 10**6))
TRIES = 4000
GLANCE = 40
STARTS = 8
SWEEPS = 50
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
        found = _search(part, region, tries)
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


def _largest(m: Balls, value: Any) -> Any:
    if isinstance(value, tuple):
        if not value:
            raise Unclear("there is no largest of no values")
        return m.max(*value)
    return value


@dataclass(frozen=True, slots=True)
class _Sampled:
    """The least margin among the points that were tried, where it is, and whether the part is surely violated there."""

    margin: float
    words: str
    violated: bool
    count: int


def _search(part: Part, region: Orthant, tries: int) -> _Sampled:
    """The least relative margin found, where it is, and whether the part is surely violated there.

    Simple points first; if the part has no certificate, a descent from the best of them, and then fewer digits.
    """
    points = itertools.islice(_simple_points(region), tries)
    seen = [(one.relative, index, one) for index, one in enumerate(_try(part, region, point) for point in points)]
    count = sum(math.isfinite(relative) for relative, _, _ in seen)
    if not count:
        return _Sampled(math.nan, "", False, 0)
    best = min(seen, key=lambda one: one[:2])[2]
    if tries > GLANCE and not best.violated:
        starts = [one for _, _, one in heapq.nsmallest(STARTS, seen)]
        best = min((_descend(part, region, one) for one in starts), key=lambda one: one.relative)
    if best.violated:
        best = _simplify(part, region, min((one for _, _, one in seen if one.violated), key=_size, default=best))
    return _Sampled(best.margin if best.violated else best.relative, best.words, best.violated, count)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A point, its margin, and the margin relative to the larger side."""

    variables: dict[str, Fraction]
    relative: float
    margin: float
    violated: bool
    words: str


def _try(part: Part, region: Orthant, variables: dict[str, Fraction]) -> _Tried:
    m = Balls()
    point = region.point(m, **{name: ball(value) for name, value in variables.items()})
    left, right = (ball(_largest(m, side(m, **point))) for side in (part.left, part.right))
    margin = left - right if part.relation in (">=", ">") else right - left
    if not margin.is_finite():
        return _Tried(variables, math.inf, math.nan, False, "")
    size = abs(left).max(abs(right)).max(ball(F(1, 10**30)))
    relative = float((margin / size).mid())
    violated = _violates(part.relation, margin)
    if part.relation == "==":
        relative = -abs(relative) if violated else 0.0
    return _Tried(variables, relative, float(margin.mid()), violated, _words(point, left, part.relation, right))


def _descend(part: Part, region: Orthant, start: _Tried) -> _Tried:
    """Change one variable at a time, by smaller and smaller factors and steps, as long as the margin falls."""
    best = start
    for step in (F(1), F(1, 2), F(1, 4), F(1, 10), F(1, 30), F(1, 100), F(1, 1000)):
        moved = True
        for _ in range(SWEEPS):  # a margin may fall for ever
            if not moved or best.violated:
                break
            moved = False
            for name in region.variables:
                for other in _neighbours(best.variables[name], step, name, region):
                    found = _try(part, region, {**best.variables, name: other})
                    if found.relative < best.relative - 1e-9 * abs(best.relative):
                        best, moved = found, True
    return best


def _neighbours(value: Fraction, step: Fraction, name: str, region: Orthant) -> Iterator[Fraction]:
    candidates = {value * (1 + step), value / (1 + step)}
    if name in region.free:
        candidates |= {value + step, value - step}
    yield from sorted(one.limit_denominator(10**6) for one in candidates if name in region.free or one > 0)


def _simplify(part: Part, region: Orthant, one: _Tried) -> _Tried:
    """The same violation with fewer digits, variable by variable."""
    for name in region.variables:
        for digits_ in (1, 2, 5, 10, 100, 1000):
            rounded = one.variables[name].limit_denominator(digits_)
            if rounded == 0 and name not in region.closed | region.free:
                continue
            found = _try(part, region, {**one.variables, name: rounded})
            if found.violated:
                one = found
                break
    return one


def _size(one: _Tried) -> int:
    return sum(abs(value.numerator) + value.denominator for value in one.variables.values())


def _violates(relation: Relation, margin: Any) -> bool:
    if relation == "==":
        return bool(margin < 0 or margin > 0)
    return bool(margin < 0 or (relation in ("<", ">") and margin.is_exact() and margin.is_zero()))


def _simple_points(region: Orthant) -> Iterator[dict[str, Fraction]]:
    """Points with simple coordinates, the simplest first, spread over the whole range of sizes."""
    choices = []
    for name in region.variables:
        values = [F(0), *SIMPLE] if name in region.closed else list(SIMPLE)
        if name in region.free:
            values = [F(0), *(sign * value for value in SIMPLE for sign in (1, -1))]
        choices.append(values)
    total = 1
    for values in choices:
        total *= len(values)
    everything: Iterator[tuple[Fraction, ...]] = itertools.product(*choices)
    for combination in everything if total <= TRIES else _spread(choices):
        yield dict(zip(region.variables, combination, strict=True))


def _spread(choices: list[list[Fraction]]) -> Iterator[tuple[Fraction, ...]]:
    """All pairs of coordinates away from 1, then a fixed stride through the product."""
    for i, j in itertools.combinations(range(len(choices)), 2):
        for x, y in itertools.product(choices[i], choices[j]):
            yield tuple(x if k == i else y if k == j else F(1) for k in range(len(choices)))
    state = 12345
    for _ in range(TRIES):
        picked = []
        for values in choices:
            state = (1103515245 * state + 12345) % 2**31
            picked.append(values[(state >> 8) % len(values)])
        yield tuple(picked)


def _words(point: Mapping[str, Any], left: Any, relation: str, right: Any) -> str:
    numbers = ", ".join(f"{name} = {_short(value)}" for name, value in point.items())
    return f"{numbers}: {_short(left)} against {relation} {_short(right)}"


def _short(value: Any) -> str:
    number = float(ball(value).mid())
    return f"{number:.6g}"


# --- boxes: ball arithmetic ---------------------------------------------------------------------------------


def _decide_cell(part: Part, cell: Cell) -> Finding:
    if part.relation == "==":
        raise ValueError(f"an identity is proved by algebra, not on a box: {part.words}.")

    def margin(m: Balls, **point: Any) -> Any:
        left, right = (_largest(m, side(m, **point)) for side in (part.left, part.right))
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
        left, right = (ball(_largest(Balls(), side(Balls(), **balls))) for side in (part.left, part.right))
        where = _words(balls, left, part.relation, right)
    if answer.outcome == "not decided":
        where = f"smallest box: {where}"
    return Finding(part, answer.outcome, "branch and bound", answer.boxes, answer.least, where)  # type: ignore[arg-type]
