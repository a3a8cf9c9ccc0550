"""Losses of Section 3.1 in exact arithmetic, and their risks at a single point x.

All functions take and return `Fraction` when given fractions, so that comparisons are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from theory.formulas import launch_rows, rejection_slope, surrogate_pieces

HALF = Fraction(1, 2)
Loss = Callable[..., Any]


def strict_loss(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Return Eq. 1 as printed: an error is y·h < 0, a rejection is g ≤ 0."""
    return (1 if y * h < 0 and g > 0 else 0) + (theta if g <= 0 else 0)


def repaired_loss(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Return Eq. 1 with erratum E1 repaired: an error is y·h ≤ 0."""
    return (1 if y * h <= 0 and g > 0 else 0) + (theta if g <= 0 else 0)


def pointwise_risk(eta: Fraction, theta: Fraction) -> Fraction:
    """Return the Bayes risk min(eta, 1 - eta, theta) at one point with P(y = +1) = eta."""
    return min(eta, 1 - eta, theta)


def surrogate(h: Any, g: Any, y: int, theta: Any) -> Any:
    """Return the surrogate of Eq. 2."""
    return max(surrogate_pieces(y * h, g, theta))


def launch_row(factor: int, gap: float, theta: float, r: float) -> int:
    """Return the first whole number above factor c^2 r^2 / Delta^2, exactly: 0.1 is meant as 1/10."""
    rows: Fraction = launch_rows(factor, *(Fraction(f"{number:.12g}") for number in (gap, theta, r)))
    return math.floor(rows) + 1


def bayes_risk(loss: Loss, atoms: Iterable[tuple[Fraction, Fraction]], theta: Fraction) -> Fraction:
    """Return min_f E loss over all functions, for atoms given as (weight, P(y = +1)).

    The 0/1 loss sees only the signs of h and g, so each atom minimises over nine sign patterns.
    """
    return sum(
        (
            weight
            * min(
                eta * loss(h, g, 1, theta) + (1 - eta) * loss(h, g, -1, theta) for h, g in product((-1, 0, 1), repeat=2)
            )
            for weight, eta in atoms
        ),
        Fraction(0),
    )


@lru_cache(maxsize=4096)
def corner_points(theta: Fraction, radius: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the vertices (h, g) in [−r, r]² of the pieces of Eq. 2 at one point, cut at h = 0 and g = 0.

    The expected surrogate at one point is piecewise linear in (h, g), so its minimum over the box, or
    over a part of the box cut along h = 0 or g = 0, is attained at one of these points.
    """
    b = rejection_slope(theta)
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
    """Return the expected surrogate at one point with P(y = +1) = η."""
    return eta * surrogate(h, g, 1, theta) + (1 - eta) * surrogate(h, g, -1, theta)


def true_risk(h: Any, g: Any, eta: Any, theta: Any) -> Any:
    """Return the expected loss of Eq. 1, repaired, at one point with P(y = +1) = η."""
    return eta * repaired_loss(h, g, 1, theta) + (1 - eta) * repaired_loss(h, g, -1, theta)


@lru_cache(maxsize=4096)
def best_surrogate(eta: Fraction, theta: Fraction, radius: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return (risk, h, g) of the smallest expected surrogate at one point over the box [−r, r]²."""
    return min((surrogate_risk(h, g, eta, theta), h, g) for h, g in corner_points(theta, radius))


@lru_cache(maxsize=4096)
def largest_gap(eta: Fraction, sampled: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    """Return the supremum over the box of R(f) − R̂_surr(f) at one point, for the repaired loss.

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
