"""Proofs about the identification conditions: empty at the launch budget as printed, informative as corrected."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.proofs.balls import ball
from theory.proofs.formulas import c, log_q, slope, theta_of
from theory.proofs.margins import log_fail_at
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]

F = Fraction


_WIDE = Orthant(
    ("b", "r", "gap", "v", "e"),
    lambda m, b, r, gap, v, e: {
        "n": ((2 * c(theta_of(b)) * r + v + e) * 2 / gap) ** 2,
        "gap": gap,
        "theta": theta_of(b),
        "r": r,
        "v": v,
    },
    "n > (4 / Delta^2) (2 c r + v)^2",
    coordinates=lambda m, n, gap, theta, r, v, **_: {
        "b": slope(theta),
        "r": r,
        "gap": gap,
        "v": v,
        "e": m.sqrt(n) * gap / 2 - 2 * c(theta) * r - v,
    },
)


def _informative(level: Any) -> Any:
    """A case of the ledger with v = sqrt(4.5 log(level)) and the smallest n that the corrected condition allows."""

    def adapt(K: int, gap: float, theta: float, r: float) -> dict[str, Any]:
        v = (ball(F(9, 2)) * ball(level(K)).log()).sqrt()
        root = 2 * c(ball(theta)) * ball(r) + v
        n = int((4 / ball(gap) ** 2 * root**2).floor().unique_fmpz()) + 1
        return {"n": n, "gap": gap, "theta": theta, "r": r, "v": v, "K": K}

    return adapt


def _geometric(m: Any, n: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    """Eq. 11."""
    q = m.exp(log_q(m, n, gap, theta, r))
    return 8 * q / (1 - q)


def _fail_uniform(m: Any, **p: Any) -> Any:
    """Eq. 9."""
    return m.exp(log_fail_at(m, **p))


def _nothing(m: Any, **_: Any) -> Any:
    return m.q(0)


PROOFS: tuple[Proof, ...] = (
    Proof(
        "lemma-1-condition",
        "With v^2 = 4.5 log 4(K-1) the exponent exceeds (2/9) v^2 = log 4(K-1), so delta_fail < 1.",
        (
            Part(
                "(2/9) n margin^2 > (2/9) v^2",
                _WIDE,
                lambda m, n, gap, theta, r, **_: -log_q(m, n, gap, theta, r),
                ">",
                lambda m, v, **_: m.q(2, 9) * v**2,
            ),
        ),
        corrected=True,
        adapt=_informative(lambda K: 4 * (K - 1)),
        sides=(_nothing, _fail_uniform),
    ),
    Proof(
        "lemma-2-condition",
        "With v^2 = 4.5 log 9 the exponent exceeds log 9, so q < 1/9 and 8 q / (1 - q) < 1.",
        (
            Part(
                "(2/9) n margin^2 > (2/9) v^2",
                _WIDE,
                lambda m, n, gap, theta, r, **_: -log_q(m, n, gap, theta, r),
                ">",
                lambda m, v, **_: m.q(2, 9) * v**2,
            ),
            Part(
                "8 q / (1 - q) < 1 for q < 1/9",
                Orthant(("k",), lambda m, k: {"q": 1 / (9 + k)}, "0 < q < 1/9"),
                lambda m, q: 8 * q / (1 - q),
                "<",
                lambda m, **_: m.q(1),
            ),
        ),
        corrected=True,
        adapt=_informative(lambda K: 9),
        sides=(_nothing, _geometric),
    ),
)
