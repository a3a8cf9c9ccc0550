"""Proofs of the claims about vectors: the objective of Eq. 3, the ball, the Rademacher complexity."""

from __future__ import annotations

from typing import Any

from theory.proofs.formulas import c, slope
from theory.proofs.losses import ball_points, fall_of
from theory.proofs.statement import Orthant, Part

__all__ = ["ATTAINED", "CAUCHY", "RADEMACHER_ONE", "ball_region"]

# --- inner products: Gram entries as variables ----------------------------------------------------------------

CAUCHY = Part(
    "|ax - bw|^2 = a (ac - b^2) with a = <w,w>, b = <w,x>, c = <x,x>, so b^2 <= ac",
    Orthant(("a", "b", "c"), lambda m, **p: p, "Gram entries", frozenset("ac"), frozenset("b")),
    lambda m, a, b, c: a**2 * c - 2 * a * b * b + b**2 * a,
    "==",
    lambda m, a, b, c: a * (a * c - b**2),
)
ATTAINED = Part(
    "w = L x / |x| has <w, x> = L |x| and norm L",
    Orthant(("L", "norm"), lambda m, **p: p, "L, |x| > 0"),
    lambda m, L, norm: (L / norm) * norm**2,
    "==",
    lambda m, L, norm: L * norm,
)


# --- the Rademacher complexity ----------------------------------------------------------------------------------


def _half_range(m: Any, kind: str, theta: Any, r: Any) -> tuple[Any, Any]:
    """(sup l - inf l)/2 as the larger of its two candidates."""
    fall = fall_of(kind)(m, theta=theta, r=r)
    return (r + fall) / 2, (theta - 1 + slope(theta) * r + fall) / 2


def ball_region(kind: str) -> Orthant:
    """theta and r of a small, middle or large ball."""
    inner = ball_points(kind)
    return Orthant(
        ("b", "k", "rest"),
        lambda m, b, k, rest: {
            name: value
            for name, value in inner.point(m, b=b, k=k, rest=rest, x=0 * b, z=0 * b).items()
            if name in ("theta", "r")
        },
        inner.words,
        inner.closed - frozenset("xz"),
    )


RADEMACHER_ONE = tuple(
    Part(
        f"one row: half the range is at most c r ({kind} ball)",
        ball_region(kind),
        lambda m, theta, r, kind=kind: _half_range(m, kind, theta, r),
        "<=",
        lambda m, theta, r: c(theta) * r,
    )
    for kind in ("small", "middle", "large")
)
