"""Proofs of corrected statements that need a line or two each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from theory.proofs.corrections import BAYES
from theory.proofs.counts import DOUBLE, GEOMETRIC, HALVING, schedule
from theory.proofs.formulas import theta_of
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]

_THETA = Orthant(("b",), lambda m, b: {"theta": theta_of(b)}, "0 < theta < 1/2")
_FLAT = Part(
    "the smallest of theta and the risks 1/2, 1/2, 1 of a coin is theta, and a perfect feature has the risk 0",
    _THETA,
    lambda m, theta: m.min(theta, m.q(1, 2), m.q(1)) - 0,
    ">",
    lambda m, theta: 0 * theta,
    "both",
)


def _last_round(B: int, K: int) -> dict[str, Any]:
    rounds = (K - 1).bit_length()
    total = sum(n for _, n in schedule(B, K))
    exact = 2**rounds == K and B % (K * rounds) == 0
    return {"total": total, "counted": (K - 1) * (B // (K * rounds)) if exact else total}


_DRAW = (
    Part(
        "q <= m gives B = 2 T q + rest < 2 T (m + 1)",
        Orthant(
            ("T", "q", "d", "rest"),
            lambda m, T, q, d, rest: {"step": T + rest, "B": (T + rest) * q + rest, "rows": q + d},
            "rest < 2 T, q <= m",
            frozenset(("q", "d", "rest")),
        ),
        lambda m, B, **_: B,
        "<",
        lambda m, step, rows, **_: step * (rows + 1),
    ),
    Part(
        "q >= m + 1 gives B >= 2 T (m + 1)",
        Orthant(
            ("T", "m_", "d", "rest"),
            lambda m, T, m_, d, rest: {"step": T, "B": T * (m_ + 1 + d) + rest, "rows": m_},
            "q >= m + 1",
            frozenset(("m_", "d", "rest")),
        ),
        lambda m, B, **_: B,
        ">=",
        lambda m, step, rows, **_: step * (rows + 1),
    ),
)

PROOFS: tuple[Proof, ...] = (
    Proof("eq-4", "The Bayes risks of eq-4-value.", (_FLAT, *BAYES), corrected=True),
    Proof(
        "quality-order",
        "Under the repaired loss the qualities 0 and 1/2 have the Bayes risks 0 and theta; all others lie between.",
        (replace(_FLAT, reads=""), *BAYES),
        corrected=True,
        sides=(lambda m, theta: m.q(0), lambda m, theta: 1 - theta),
    ),
    Proof(
        "me-draw",
        "n_T = floor(B/(2 T)) because two arms are active in the last round (halving); quotient and remainder.",
        (*HALVING, *_DRAW),
        corrected=True,
    ),
    Proof(
        "me-sample-count",
        "The sum of the floors by definition; without rounding it is (K - 1) q = (1 - 1/K) B/T for B = K T q.",
        (
            *DOUBLE,
            *GEOMETRIC,
            Part(
                "(K - 1) q = (1 - 1/K) K T q / T",
                Orthant(("K", "T", "q"), lambda m, **p: p, "K, T > 0", frozenset("q")),
                lambda m, K, T, q: (K - 1) * q,
                "==",
                lambda m, K, T, q: (1 - 1 / K) * (K * T * q) / T,
            ),
        ),
        corrected=True,
        adapt=_last_round,
        sides=(lambda m, total, **_: total, lambda m, counted, **_: counted),
    ),
    Proof(
        "eq-7-optimality-gap",
        "A minimum of positive numbers is one of them; over none it is infinite.",
        (
            Part(
                "min(x, y) > 0 for positive x <= y",
                Orthant(("x", "d"), lambda m, x, d: {"x": x, "y": x + d}, "0 < x <= y", frozenset("d")),
                lambda m, x, y: m.min(x, y),
                ">",
                lambda m, x, y: 0 * x,
            ),
        ),
        corrected=True,
    ),
)
