"""Proofs about the identification conditions: empty at the launch budget as printed, informative as corrected."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from theory.proofs.balls import ball
from theory.proofs.formulas import c, log_q, slope, theta_of
from theory.proofs.margins import L16, log_fail_at, log_q_at
from theory.proofs.statement import Cell, Orthant, Part, Proof

__all__ = ["PROOFS"]

F = Fraction
# The first whole number above x = 16 c^2 r^2 / Delta^2, or the second if the floor was rounded: its root is sqrt x + e
# with e (2 sqrt x + e) <= 2.
_TOO_FAR = Orthant(
    ("d", "k"),
    lambda m, d, k: {"e": m.q(1, 4) + d, "start": 4 + k},
    "sqrt x >= 4 and e > 1/4",
    frozenset(("k",)),
)


FIRST_ROW = (
    Part(
        "Delta <= r and c >= 1 give sqrt x = 4 c r / Delta >= 4",
        Orthant(
            ("b", "gap", "p"),
            lambda m, b, gap, p: {"theta": theta_of(b), "gap": gap, "r": gap + p},
            "0 < Delta <= r",
            frozenset(("p",)),
        ),
        lambda m, theta, gap, r: 4 * c(theta) * r / gap,
        ">=",
        lambda m, **_: m.q(4),
    ),
    Part(
        "n <= x + 2 is e (2 sqrt x + e) <= 2, which excludes e > 1/4",
        _TOO_FAR,
        lambda m, e, start: e * (2 * start + e),
        ">",
        lambda m, **_: m.q(2),
    ),
    Part(
        "the exponent is Delta^2 e^2 / 18, e = sqrt n - sqrt x",
        L16,
        log_q_at,
        "==",
        lambda m, n, gap, theta, r: -(gap**2) * (m.sqrt(n) - 4 * c(theta) * r / gap) ** 2 / 18,
    ),
)
_SMALL_STEP = Cell((("e", F(0), F(1, 4)), ("gap", F(0), F(1))), "0 <= e <= 1/4, Delta <= 1")
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


def _launched(K: int, gap: float, theta: float, r: float) -> dict[str, Any]:
    # As in the ledger, with floats: near a whole number the next one is taken.
    rows = math.floor(16 * (c(theta) * r / gap) ** 2) + 1
    return {"n": rows, "gap": gap, "theta": theta, "r": r, "K": K}


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
        "At the first whole n above x = 16 c^2 r^2 / Delta^2 (and at the next) the exponent is at most 1/288, because "
        "Delta <= 1 - inf loss <= min(r, 1) (Lemma C); so delta_fail >= 4 exp(-1/288) > 1.",
        (
            *FIRST_ROW,
            Part(
                "log(4 (K - 1)) >= log 4",
                Orthant(("k",), lambda m, k: {"K": 2 + k}, "K >= 2", frozenset(("k",))),
                lambda m, K: m.log(4 * (K - 1)),
                ">=",
                lambda m, K: m.log(4),
            ),
            Part(
                "log 4 exceeds the exponent",
                _SMALL_STEP,
                lambda m, e, gap: m.log(m.q(4)) - gap**2 * e**2 / 18,
                ">",
                lambda m, **_: m.q(0),
            ),
        ),
        says="vacuous",
        adapt=_launched,
        sides=(_nothing, _fail_uniform),
    ),
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
        "The rows of the first round are n again, since K log2 K >= 2. The exponent is at most 1/288, so q > 1/9 and "
        "8 q / (1 - q) > 1.",
        (
            *FIRST_ROW,
            Part(
                "floor((n L + f) / L) = n for 0 <= f < 1 and L = K log2 K >= 2: the quotient is below n + 1",
                Orthant(
                    ("n", "f", "rest", "k"),
                    lambda m, n, f, rest, k: {"n": n, "f": f / (f + rest), "L": 2 + k},
                    "n > 0, 0 <= f < 1, L >= 2",
                    frozenset(("f", "k")),
                ),
                lambda m, n, f, L: (n * L + f) / L,
                "<",
                lambda m, n, **_: n + 1,
            ),
            Part(
                "q > 1/9",
                _SMALL_STEP,
                lambda m, e, gap: m.exp(-(gap**2) * e**2 / 18),
                ">",
                lambda m, **_: m.q(1, 9),
            ),
            Part(
                "8 q / (1 - q) > 1 for 1/9 < q < 1",
                Orthant(("x", "y"), lambda m, x, y: {"q": (x / 9 + y) / (x + y)}, "1/9 < q < 1"),
                lambda m, q: 8 * q / (1 - q),
                ">",
                lambda m, **_: m.q(1),
            ),
        ),
        says="vacuous",
        adapt=_launched,
        sides=(_nothing, _geometric),
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
