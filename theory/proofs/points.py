"""The search for a point at which a part fails: simple numbers first, then a descent, then fewer digits."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theory.proofs.balls import Balls, ball
from theory.proofs.symbols import Unclear

if TYPE_CHECKING:
    from theory.proofs.statement import Orthant, Part, Relation

F = Fraction
SIMPLE = (F(1), F(1, 2), F(2), F(1, 10), F(10), F(1, 100), F(100), F(1, 1000), F(1000), F(10**6), F(1, 10**6))
TRIES = 4000
GLANCE = 40
STARTS = 8
SWEEPS = 50


def largest(m: Balls, value: Any) -> Any:
    if isinstance(value, tuple):
        if not value:
            raise Unclear("there is no largest of no values")
        return m.max(*value)
    return value


@dataclass(frozen=True, slots=True)
class Sampled:
    """The least margin among the points that were tried, where it is, and whether the part is surely violated there."""

    margin: float
    words: str
    violated: bool
    count: int


def search(part: Part, region: Orthant, tries: int) -> Sampled:
    """The least relative margin found, where it is, and whether the part is surely violated there.

    Simple points first; if the part has no certificate, a descent from the best of them, and then fewer digits.
    """
    points = itertools.islice(_simple_points(region), tries)
    seen = [(one.relative, index, one) for index, one in enumerate(_try(part, region, point) for point in points)]
    count = sum(math.isfinite(relative) for relative, _, _ in seen)
    if not count:
        return Sampled(math.nan, "", False, 0)
    best = min(seen, key=lambda one: one[:2])[2]
    if tries > GLANCE and not best.violated:
        starts = [one for _, _, one in heapq.nsmallest(STARTS, seen)]
        best = min((_descend(part, region, one) for one in starts), key=lambda one: one.relative)
    if best.violated:
        best = _simplify(part, region, min((one for _, _, one in seen if one.violated), key=_size, default=best))
    return Sampled(best.margin if best.violated else best.relative, best.words, best.violated, count)


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
    left, right = (ball(largest(m, side(m, **point))) for side in (part.left, part.right))
    margin = left - right if part.relation in (">=", ">") else right - left
    if not margin.is_finite():
        return _Tried(variables, math.inf, math.nan, False, "")
    size = abs(left).max(abs(right)).max(ball(F(1, 10**30)))
    relative = float((margin / size).mid())
    violated = _violates(part.relation, margin)
    if part.relation == "==":
        relative = -abs(relative) if violated else 0.0
    return _Tried(variables, relative, float(margin.mid()), violated, words_at(point, left, part.relation, right))


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


def words_at(point: Mapping[str, Any], left: Any, relation: str, right: Any) -> str:
    numbers = ", ".join(f"{name} = {_short(value)}" for name, value in point.items())
    return f"{numbers}: {_short(left)} against {relation} {_short(right)}"


def _short(value: Any) -> str:
    number = float(ball(value).mid())
    return f"{number:.6g}"
