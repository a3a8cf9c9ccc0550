"""Branch and bound: is a function positive on a box? Every step holds for all points of a box, rounding included."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from theory.proofs.balls import Jet, Jets, ball, interval

__all__ = ["Answer", "Box", "bound_below"]

Box = Mapping[str, tuple[Fraction, Fraction]]
LARGEST = 20_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What the search found.

    Attributes
    ----------
    outcome : {"proved", "refuted", "not decided"}
    boxes : int
        How many boxes were looked at.
    least : float
        A lower bound of the function on the box (proved), or its value at the counterexample.
    where : Box
        The box of the least bound, the counterexample, or the smallest box that is not decided.
    """

    outcome: str
    boxes: int
    least: float
    where: Box


def bound_below(
    value: Callable[..., Any], box: Box, *, strict: bool, most: int = LARGEST, level: Fraction = Fraction(0)
) -> Answer:
    """Prove ``value(m, **point) > level`` (or >=) for all points of the closed box, or find a point where it is not.

    A box is settled when the natural enclosure or the mean value form is above the level. A variable in which the
    function is monotone on the box is fixed at the end where the function is smaller. Else the box is halved.
    """
    for name, (low, high) in box.items():
        if not low <= high:
            raise ValueError(f"the region is empty: {name} has no value from {low} to {high}.")
    names = tuple(box)
    queue: list[tuple[float, int, dict[str, tuple[Fraction, Fraction]]]] = [(0.0, 0, dict(box))]
    least, where, seen = float("inf"), box, 0
    smallest = dict(box)
    while queue:
        _, _, one = heapq.heappop(queue)
        seen += 1
        jet = _on(value, one, names)
        middle = {name: (low + high) / 2 for name, (low, high) in one.items()}
        centre = _at(value, middle)
        if centre < ball(level) or (strict and centre <= ball(level)):
            return Answer("refuted", seen, float(centre), {name: (x, x) for name, x in middle.items()})
        low_end = _lower(jet, centre, one, names)
        if low_end is not None and (low_end > level if strict else low_end >= level):
            if low_end < least:
                least, where = float(low_end), one
            continue
        smallest = _smaller(one, smallest)
        if seen + len(queue) >= most:
            return Answer("not decided", seen, float("nan"), smallest)
        parts = _split(one, jet, names)
        if parts is None:
            return Answer("not decided", seen, float("nan"), one)
        key = float(low_end) if low_end is not None else float("-inf")
        for index, part in enumerate(parts):
            heapq.heappush(queue, (key, 2 * seen + index, part))
    return Answer("proved", seen, least, where)


def _at(value: Callable[..., Any], point: Mapping[str, Fraction]) -> Any:
    m = Jets(0)
    return m.lift(value(m, **{name: m.lift(ball(x)) for name, x in point.items()})).value


def _on(value: Callable[..., Any], box: Box, names: tuple[str, ...]) -> Jet:
    jets = {
        name: Jet(interval(*box[name]), tuple(arb(int(i == j)) for j in range(len(names))))
        for i, name in enumerate(names)
    }
    m = Jets(len(names))
    return m.lift(value(m, **jets))


def _lower(jet: Jet, centre: Any, box: Box, names: tuple[str, ...]) -> Fraction | None:
    """The better of the natural enclosure and the mean value form, from below.

    None if the natural enclosure is not finite: then the formula may be undefined somewhere on the box.
    """
    if not jet.value.is_finite():
        return None
    ends = [jet.value]
    form = centre
    for name, slope in zip(names, jet.slopes, strict=True):
        low, high = box[name]
        form = form + slope * interval((low - high) / 2, (high - low) / 2)
    ends.append(form)
    return max(_down(end) for end in ends if end.is_finite())


def _down(end: Any) -> Fraction:
    """A rational number that is not above the ball."""
    mantissa, exponent = end.lower().mid().man_exp()
    low = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    # lower() is itself a ball; step below its radius too.
    radius_m, radius_e = end.lower().rad().man_exp()
    return low - Fraction(int(radius_m)) * Fraction(2) ** int(radius_e)


def _split(box: Box, jet: Jet, names: tuple[str, ...]) -> list[dict[str, tuple[Fraction, Fraction]]] | None:
    """Fix what is monotone, else halve the side along which the function changes most."""
    fixed = dict(box)
    for name, slope in zip(names, jet.slopes, strict=True):
        low, high = box[name]
        if low < high and jet.value.is_finite() and slope.is_finite() and (slope >= 0 or slope <= 0):
            end = low if slope >= 0 else high
            fixed[name] = (end, end)
    if fixed != dict(box):
        return [fixed]

    def change(index: int) -> float:
        low, high = box[names[index]]
        slope = jet.slopes[index]
        steep = float(abs(slope).upper()) if slope.is_finite() else 1e9
        return float(high - low) * (steep if steep > 0 else 1e-30) if high > low else -1.0

    if not names:
        return None
    index = max(range(len(names)), key=change)
    low, high = box[names[index]]
    if low == high:
        return None
    middle = (low + high) / 2
    return [{**fixed, names[index]: (low, middle)}, {**fixed, names[index]: (middle, high)}]


def _smaller(one: Box, other: Box) -> dict[str, tuple[Fraction, Fraction]]:
    def size(box: Box) -> float:
        return max((float(high - low) for low, high in box.values()), default=0.0)

    return dict(one) if size(one) <= size(other) else dict(other)
