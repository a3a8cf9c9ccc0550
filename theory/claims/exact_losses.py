"""The two losses of Section 3.1 in exact arithmetic, and what follows from them at a single point x.

All functions take and return `Fraction` when given fractions, so that comparisons are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

HALF = Fraction(1, 2)
Loss = Callable[..., Any]


def strict_loss(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Eq. 1 as printed: an error is y·h < 0, a rejection is g ≤ 0."""
    return (1 if y * h < 0 and g > 0 else 0) + (theta if g <= 0 else 0)


def repaired_loss(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Eq. 1 with erratum E1 repaired: an error is y·h ≤ 0."""
    return (1 if y * h <= 0 and g > 0 else 0) + (theta if g <= 0 else 0)


def surrogate(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Eq. 2: max{1 + (g − yh)/2, θ(1 − g/(1 − 2θ)), 0}."""
    return max(1 + HALF * (g - y * h), theta * (1 - g / (1 - 2 * theta)), Fraction(0))


def c(theta: float) -> float:
    """The paper's Rademacher constant (1 − θ)/(1 − 2θ)."""
    return (1 - theta) / (1 - 2 * theta)


def launch_row(factor: int, gap: float, theta: float, r: float) -> int:
    """The first whole number above factor·c²r²/Δ², exactly: 0.1 is meant as 1/10, and no float decides the floor."""
    gap_, theta_, r_ = (Fraction(f"{number:.12g}") for number in (gap, theta, r))
    return math.floor(factor * ((1 - theta_) / (1 - 2 * theta_) * r_ / gap_) ** 2) + 1


def slope(theta: Any) -> Any:
    """b = θ/(1 − 2θ), the slope of the second piece of Eq. 2."""
    return theta / (1 - 2 * theta)


def bayes_risk(loss: Loss, law: Iterable[tuple[Fraction, Fraction]], theta: Fraction) -> Fraction:
    """min_f E loss over all functions, for atoms given as (weight, P(y = +1)).

    The 0/1 loss sees only the signs of h and g, so each atom minimises over nine sign patterns.
    """
    return sum(
        (
            weight
            * min(
                eta * loss(h, g, 1, theta) + (1 - eta) * loss(h, g, -1, theta) for h, g in product((-1, 0, 1), repeat=2)
            )
            for weight, eta in law
        ),
        Fraction(0),
    )


@lru_cache(maxsize=4096)
def corner_points(theta: Fraction, radius: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """Vertices (h, g) in [−r, r]² of the pieces of Eq. 2 at one point x, both labels, cut at h = 0 and g = 0.

    The expected surrogate at one point is piecewise linear in (h, g), so its minimum over the box, or
    over a part of the box cut along h = 0 or g = 0, is attained at one of these points.
    """
    b = slope(theta)
    # Lines A·h + B·g = C: box, axes, and where two pieces of the loss cross.
    lines: list[tuple[Any, Any, Any]] = [(1, 0, s * radius) for s in (-1, 0, 1)] + [
        (0, 1, s * radius) for s in (-1, 0, 1)
    ]
    lines += [(0, 1, 1 - 2 * theta)]
    for y in (-1, 1):
        lines += [(-y * HALF, HALF, Fraction(-1)), (-y * HALF, HALF + b, theta - 1)]
    points = set()
    for (a1, b1, c1), (a2, b2, c2) in combinations(lines, 2):
        det = Fraction(a1 * b2 - a2 * b1)
        if det == 0:
            continue
        h, g = (c1 * b2 - c2 * b1) / det, (a1 * c2 - a2 * c1) / det
        if abs(h) <= radius and abs(g) <= radius:
            points.add((h, g))
    return tuple(sorted(points))


def surrogate_risk(h: Any, g: Any, eta: Any, theta: Any) -> Any:
    """Expected surrogate at one point with P(y = +1) = η."""
    return eta * surrogate(h, g, 1, theta) + (1 - eta) * surrogate(h, g, -1, theta)


@lru_cache(maxsize=4096)
def best_surrogate(eta: Fraction, theta: Fraction, radius: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """(risk, h, g) of the smallest expected surrogate at one point over the box [−r, r]²."""
    return min((surrogate_risk(h, g, eta, theta), h, g) for h, g in corner_points(theta, radius))


@lru_cache(maxsize=4096)
def largest_gap(eta: Fraction, sampled: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    """sup over the box of R(f) − R̂_surr(f) at one point, for the repaired loss.

    ``eta`` is the true and ``sampled`` the empirical fraction of y = +1.  The 0/1 risk is constant on each
    part of the box (reject; accept and predict +1; accept and predict −1), the surrogate is minimised over
    the closure of the part.
    """
    parts: list[tuple[Fraction, Callable[[Fraction, Fraction], bool]]] = [
        (theta, lambda h, g: g <= 0),
        (1 - eta, lambda h, g: g >= 0 and h >= 0),
        (eta, lambda h, g: g >= 0 and h <= 0),
        (Fraction(1), lambda h, g: g >= 0 and h == 0),
    ]
    corners = [(surrogate_risk(h, g, sampled, theta), h, g) for h, g in corner_points(theta, radius)]
    return max(risk - Fraction(min(loss for loss, h, g in corners if part(h, g))) for risk, part in parts)
