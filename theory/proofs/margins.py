"""Proofs of the claims about margins, exponents and failure probabilities under the identification condition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from theory.proofs.balls import ball
from theory.proofs.formulas import c, launch, log_q, margin
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["L16", "PROOFS", "log_fail_at", "log_q_at"]

L16, L64 = launch(4), launch(8)
L64_ARMS = launch(8, arms=True)


def _quarter(m: Any, gap: Any, **_: Any) -> Any:
    return gap / 4


def _margin(m: Any, n: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    return margin(m, n, gap, theta, r)


def log_q_at(m: Any, n: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    return log_q(m, n, gap, theta, r)


def _seventy_second(m: Any, n: Any, gap: Any, **_: Any) -> Any:
    return -(gap**2) * n / 72


def log_fail_at(m: Any, n: Any, K: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    """log of Eq. 9."""
    return m.log(4 * (K - 1)) + log_q(m, n, gap, theta, r)


QUARTER = Part("the margin is at least Delta/4", L64, _margin, ">=", _quarter, "both")
NUMERATOR = Part("log q <= -Delta^2 n / 72", L64, log_q_at, "<=", _seventy_second, "both")
STEP = replace(NUMERATOR, reads="")
ENOUGH = Part(
    "Delta^2 n / 72 >= (8/9) c^2 r^2",
    L64,
    lambda m, n, gap, **_: gap**2 * n / 72,
    ">=",
    lambda m, theta, r, **_: m.q(8, 9) * (c(theta) * r) ** 2,
)


def _one_minus_q(m: Any, n: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    return 1 - m.exp(log_q(m, n, gap, theta, r))


def _constant_denominator(m: Any, theta: Any, r: Any, **_: Any) -> Any:
    return 1 - m.exp(m.q(-8, 9) * (c(theta) * r) ** 2)


def _log_fail_median(m: Any, n: Any, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    """log of Eq. 11."""
    of_q = log_q(m, n, gap, theta, r)
    return m.log(8) + of_q - m.log(1 - m.exp(of_q))


_ORDER_SIDES = (
    _log_fail_median,
    lambda m, n, gap, theta, r, **_: m.log(8) - gap**2 * n / 72 - m.log(_constant_denominator(m, theta, r)),
)


def _rounds(**case: Any) -> dict[str, Any]:
    return {**case, "w": ball(case["K"].bit_length() - 1).sqrt()}


# Rows w^2 n with w >= 1: twice the rows is w = sqrt 2, the rows of uniform allocation are w = sqrt(log2 K).
MORE = Orthant(
    ("b", "r", "gap", "e", "k", "v"),
    lambda m, v, **others: {**launch(8, arms=True).point(m, **others), "w": 1 + v},
    "the region of Theorem 1, and w >= 1",
    frozenset(("k", "v")),
    coordinates=lambda m, w, **others: {
        **launch(8, arms=True).coordinates(m, **others),  # type: ignore[misc]
        "v": w - 1,
    },
)


def _at_more_rows(m: Any, n: Any, gap: Any, theta: Any, r: Any, w: Any, **_: Any) -> Any:
    return log_q(m, w**2 * n, gap, theta, r)


def _more_times(m: Any, n: Any, gap: Any, theta: Any, r: Any, w: Any, **_: Any) -> Any:
    return w**2 * log_q(m, n, gap, theta, r)


_ORDER = (
    STEP,
    ENOUGH,
    Part(
        "8 q / (1 - q) grows with q: from q <= Q < 1",
        Orthant(
            ("q", "d", "rest"),
            lambda m, q, d, rest: {"q": q / (q + d + rest), "Q": (q + d) / (q + d + rest)},
            "0 < q <= Q < 1",
            frozenset(("d",)),
        ),
        lambda m, q, Q: 8 * q / (1 - q),
        "<=",
        lambda m, q, Q: 8 * Q / (1 - Q),
    ),
    Part(
        "a smaller denominator: 1 - Q >= 1 - P for Q <= P",
        Orthant(
            ("Q", "d", "rest"),
            lambda m, Q, d, rest: {"Q": Q / (Q + d + rest), "P": (Q + d) / (Q + d + rest)},
            "0 < Q <= P < 1",
            frozenset(("d",)),
        ),
        lambda m, Q, P: 8 * Q / (1 - Q),
        "<=",
        lambda m, Q, P: 8 * Q / (1 - P),
    ),
)

PROOFS: tuple[Proof, ...] = (
    Proof("a2-quarter", "A substitution: sqrt n = 8 c r / Delta + e.", (QUARTER,)),
    Proof("a2-absolute-constant", "The corrected statement is a2-quarter.", (QUARTER,), corrected=True),
    Proof(
        "a3-quarter",
        "The rows of uniform allocation are w^2 n with w^2 = log2 K >= 1.",
        (
            Part(
                "the margin at w^2 n rows is at least Delta/4",
                MORE,
                lambda m, n, gap, theta, r, w, **_: margin(m, w**2 * n, gap, theta, r),
                ">=",
                _quarter,
                "both",
            ),
        ),
        adapt=_rounds,
    ),
    Proof("a3-numerator", "A substitution, and the square of a positive number.", (NUMERATOR,)),
    Proof(
        "a3-absolute-constant",
        "The corrected statement: 1 - exp(log q) >= 1 - exp(-(8/9) c^2 r^2), from the two lines of a3-denominator.",
        (STEP, ENOUGH),
        corrected=True,
        sides=(_one_minus_q, _constant_denominator),
    ),
    Proof(
        "thm-1-delta-order",
        "The quarter of the gap in the exponent of Eq. 9.",
        (
            Part(
                "log delta_fail <= log 4(K-1) - Delta^2 n / 72",
                L64_ARMS,
                log_fail_at,
                "<=",
                lambda m, n, K, gap, **_: m.log(4 * (K - 1)) - gap**2 * n / 72,
                "both",
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a2-delta-line-2",
        "The same with the constant of Eq. 9.",
        (
            Part(
                "log delta_fail <= log of the second line",
                L64_ARMS,
                log_fail_at,
                "<=",
                lambda m, n, K, gap, **_: m.log(4 * (K - 1)) - gap**2 * n / 72,
                "both",
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a2-delta-line-4",
        "4 (K - 1) <= 4 K.",
        (
            Part(
                "log 4(K-1) - Delta^2 n/72 <= log 4K - Delta^2 n/72: the difference is log((K-1)/K)",
                Orthant(("k",), lambda m, k: {"K": 2 + k}, "K >= 2", frozenset(("k",))),
                lambda m, K: 4 * (K - 1),
                "<=",
                lambda m, K: 4 * K,
            ),
        ),
        corrected=True,
        sides=(
            lambda m, n, K, gap, **_: m.log(4 * (K - 1)) - gap**2 * n / 72,
            lambda m, n, K, gap, **_: m.log(4 * K) - gap**2 * n / 72,
        ),
    ),
    Proof(
        "thm-1-decay",
        "For every w >= 1, w^2 times the rows give at least w^2 times the exponent; twice the rows is w = sqrt 2.",
        (Part("log q(w^2 n) <= w^2 log q(n)", MORE, _at_more_rows, "<=", _more_times, "both"),),
        adapt=lambda **case: {**case, "w": ball(2).sqrt()},
    ),
    Proof("a3-order", "As thm-2-delta-order.", _ORDER, corrected=True, sides=_ORDER_SIDES),
    Proof(
        "a5-pairs-line-2",
        "Both margins are positive; the one on the left is larger, in the gap and in the rows.",
        (
            Part(
                "the exponent of the pair is at least that of the smallest gap and the first round",
                Orthant(
                    ("b", "r", "gap", "e", "d", "v"),
                    lambda m, b, r, gap, e, d, v: {
                        **L16.point(m, b=b, r=r, gap=gap, e=e),
                        "gap_i": gap + d,
                        "rows": L16.point(m, b=b, r=r, gap=gap, e=e)["n"] * (1 + v) ** 2,
                    },
                    "n_1 > 16 c^2 r^2 / Delta^2, Delta_i >= Delta, n_t >= n_1",
                    frozenset(("d", "v")),
                    coordinates=lambda m, n, gap, gap_i, theta, r, rows: {
                        **L16.coordinates(m, n=n, gap=gap, theta=theta, r=r),  # type: ignore[misc]
                        "d": gap_i - gap,
                        "v": m.sqrt(rows / n) - 1,
                    },
                ),
                lambda m, rows, gap_i, theta, r, **_: log_q(m, rows, gap_i, theta, r),
                "<=",
                lambda m, n, rows, gap, theta, r, **_: m.q(-2, 9) * rows * margin(m, n, gap, theta, r) ** 2,
                "both",
            ),
        ),
    ),
    Proof(
        "a6-condition",
        "sqrt n = 4 c r / Delta + e.",
        (
            Part(
                "min(Delta, Delta_i)/2 exceeds the Rademacher term",
                Orthant(
                    ("b", "r", "gap", "e", "d"),
                    lambda m, d, **others: {**L16.point(m, **others), "gap_i": others["gap"] + d},
                    "n > 16 c^2 r^2 / Delta^2, Delta_i >= Delta",
                    frozenset(("d",)),
                    coordinates=lambda m, gap_i, **others: {
                        **L16.coordinates(m, **others),  # type: ignore[misc]
                        "d": gap_i - others["gap"],
                    },
                ),
                lambda m, gap, gap_i, **_: m.min(gap, gap_i) / 2,
                ">",
                lambda m, n, theta, r, **_: 2 * c(theta) * r / m.sqrt(n),
                "both",
            ),
        ),
    ),
)
