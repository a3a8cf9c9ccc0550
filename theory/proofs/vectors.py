"""Proofs of the claims about vectors: the objective of Eq. 3, the ball, the Rademacher complexity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from theory.proofs.formulas import c, slope, theta_of
from theory.proofs.losses import AFFINE, ball_points, fall_of
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["ATTAINED", "CAUCHY", "PROOFS", "RADEMACHER_ONE", "ball_region"]

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
_SQUARE = Part(
    "completing the square: the first piece plus the penalties is its minimum plus C |w - A/4C|^2 + C |v + B/4C|^2",
    Orthant(
        ("C", "ww", "wA", "AA", "vv", "vB", "BB"),
        lambda m, **p: p,
        "Gram entries of w, v, A = mean y Phi, B = mean Phi; C > 0",
        frozenset(("ww", "AA", "vv", "BB")),
        frozenset(("wA", "vB")),
    ),
    lambda m, C, ww, wA, AA, vv, vB, BB: (1 + (vB - wA) / 2 + C * (ww + vv)) - (1 - (AA + BB) / (16 * C)),
    "==",
    lambda m, C, ww, wA, AA, vv, vB, BB: (
        C * (ww - wA / (2 * C) + AA / (16 * C**2)) + C * (vv + vB / (2 * C) + BB / (16 * C**2))
    ),
)
_VALUE = Part(
    "at w = A/4C, v = -B/4C the first piece plus the penalties is 1 - (|A|^2 + |B|^2)/16C",
    Orthant(("C", "AA", "BB"), lambda m, **p: p, "C > 0", frozenset(("AA", "BB"))),
    lambda m, C, AA, BB: 1 + (-BB / (4 * C) - AA / (4 * C)) / 2 + C * (AA + BB) / (16 * C**2),
    "==",
    lambda m, C, AA, BB: 1 - (AA + BB) / (16 * C),
)
_MEAN = Part(
    "a mean of vectors of length at most kappa is not longer: by induction from m to m + 1 rows (<u,x> <= kappa^2)",
    Orthant(
        ("k2", "i", "j", "d", "rows"),
        lambda m, k2, i, j, d, rows: {"k2": k2, "uu": k2 - j, "ux": k2 - d, "xx": k2 - i, "rows": rows},
        "<u,u>, <u,x>, <x,x> <= kappa^2",
        frozenset(("i", "j", "d")),
    ),
    lambda m, k2, uu, ux, xx, rows: (rows**2 * uu + 2 * rows * ux + xx) / (rows + 1) ** 2,
    "<=",
    lambda m, k2, **_: k2,
)
_INSIDE = Part(
    "kappa^2/(4C) <= 1 - 2 theta puts |<A/4C, Phi>| <= kappa^2/(4C) into the affine regime",
    Orthant(
        ("b", "kappa2", "d"),
        lambda m, b, kappa2, d: {
            "w": 1 - 2 * theta_of(b),
            "C": (kappa2 + d) / (4 * (1 - 2 * theta_of(b))),
            "k2": kappa2,
        },
        "C >= kappa^2 / (4 (1 - 2 theta))",
        frozenset("d"),
    ),
    lambda m, w, C, k2: k2 / (4 * C),
    "<=",
    lambda m, w, **_: w,
)
_ORTHOGONAL = Part(
    "a component u orthogonal to all rows adds C |u|^2 > 0 and changes no loss",
    Orthant(("J", "C", "lift"), lambda m, **p: p, "C > 0, |u| > 0", free=frozenset("J")),
    lambda m, J, C, lift: J,
    "<",
    lambda m, J, C, lift: J + C * lift**2,
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

PROOFS: tuple[Proof, ...] = (
    Proof(
        "eq-3",
        "The objective is at least its first piece with the penalties, which is a constant plus C times squared "
        "distances from the closed form; there the two agree, by the affine regime. For C_h = C_g only.",
        (_SQUARE, _VALUE, CAUCHY, _MEAN, _INSIDE, *(replace(part, reads="") for part in AFFINE)),
    ),
    Proof("eq-3-representer", "Pythagoras.", (_ORTHOGONAL,)),
    Proof(
        "hypothesis-ball",
        "Cauchy-Schwarz from the Gram entries (for w = 0 both sides are 0), and the vector that attains it.",
        (CAUCHY, ATTAINED),
    ),
)
