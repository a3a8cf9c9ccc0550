"""Proofs of corrected statements whose printed form has a counterexample."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from theory.proofs.calibration import CALIBRATION
from theory.proofs.counts import FLOOR, HALVING, schedule
from theory.proofs.formulas import c, hoeffding, launch, log_q, theta_of
from theory.proofs.losses import DOMINATED, MINIMUM
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["BAYES", "PROOFS"]

F = Fraction


def _any(words: str, names: str, closed: str = "", free: str = "") -> Orthant:
    return Orthant(tuple(names.split()), lambda m, **p: p, words, frozenset(closed.split()), frozenset(free.split()))


# --- the repaired 0-1 loss ------------------------------------------------------------------------------------------

_COIN = Part(
    "h = 0, g = 1 errs on both labels: the risk is 1, and theta < 1",
    Orthant(("x", "y"), lambda m, x, y: {"theta": x / (x + y)}, "0 < theta < 1"),
    lambda m, **_: m.q(1, 2) + m.q(1, 2),
    ">=",
    lambda m, theta, **_: theta,
    "both",
)


def _bayes(kind: str) -> Part:
    """The nine sign patterns cost theta (g <= 0), 1 - eta (h > 0), eta (h < 0) and 1 (h = 0)."""

    def point(m: Any, b: Any, k: Any, rest: Any) -> dict[str, Any]:
        theta = theta_of(b)
        small = theta * rest / (k + rest) if kind != "middle" else (theta * rest + k / 2) / (k + rest)
        return {"eta": 1 - small if kind == "large" else small, "theta": theta}

    least = {"small": "eta", "large": "1 - eta", "middle": "theta"}[kind]

    def right(m: Any, eta: Any, theta: Any) -> Any:
        return {"eta": eta, "1 - eta": 1 - eta, "theta": theta}[least]

    return Part(
        f"the smallest of theta, eta, 1 - eta and 1 is {least} ({kind})",
        Orthant(("b", "k", "rest"), point, f"{least} is the smallest", frozenset("k")),
        lambda m, eta, theta: m.min(theta, eta, 1 - eta, m.q(1)),
        "==",
        right,
    )


BAYES = (_bayes("small"), _bayes("large"), _bayes("middle"))

# --- budgets ---------------------------------------------------------------------------------------------------------


def _gain_parts() -> tuple[Part, ...]:
    """The infinite part of me-budget-gain, in the notation of its docstring."""
    return (
        Part(
            "floor(X/a) >= (X + 1)/a - 1: X = a q + rest with rest <= a - 1",
            Orthant(
                ("a", "q", "rest"),
                lambda m, a, q, rest: {"a": a + rest + 1, "q": q, "X": (a + rest + 1) * q + rest},
                "0 <= rest < a",
                frozenset(("a", "q", "rest")),
            ),
            lambda m, q, **_: q,
            ">=",
            lambda m, a, X, **_: (X + 1) / a - 1,
        ),
        Part(
            "the active arms are at most 2, 4, 8, ... from the last round backwards, so H >= 1/K + 1/2 + ... + "
            "2^(1-T); the sum of the powers is 1 - 2^(1-T), by induction with x = 2^(1-T)",
            _any("x > 0", "x"),
            lambda m, x: (1 - x) + x / 2,
            "==",
            lambda m, x: 1 - x / 2,
        ),
        Part(
            "H - T/K >= 1 - 2^(1-T) - (T-1)/K >= 1 - T 2^(1-T), as K > P = 2^(T-1)",
            Orthant(("t", "P", "d"), lambda m, t, P, d: {"T": 1 + t, "P": P, "K": P + d}, "K > P", frozenset("t")),
            lambda m, T, P, K: 1 - 1 / P - (T - 1) / K,
            ">=",
            lambda m, T, P, K: 1 - T / P,
        ),
        Part(
            "floor(B/K) <= (T (X + 1) - 1)/K: B = T X + rest with rest <= T - 1",
            Orthant(
                ("T", "X", "rest", "K"),
                lambda m, T, X, rest, K: {"T": T + rest + 1, "X": X, "B": (T + rest + 1) * X + rest, "K": K},
                "0 <= rest < T",
                frozenset(("T", "X", "rest")),
            ),
            lambda m, B, K, **_: B / K,
            "<=",
            lambda m, T, X, K, **_: (T * (X + 1) - 1) / K,
        ),
        Part(
            "T 2^(1-T) <= 1/2 from T = 4 on: T + 1 <= 2 T, so each step halves at least as fast",
            Orthant(("t",), lambda m, t: {"T": 4 + t}, "T >= 4", frozenset("t")),
            lambda m, T: T + 1,
            "<=",
            lambda m, T: 2 * T,
        ),
        Part(
            "T = 4: 4/8 <= 1/2",
            _any("T = 4", "one"),
            lambda m, one: m.q(4, 8) * one / one,
            "<=",
            lambda m, one: m.q(1, 2),
        ),
        Part(
            "2^(T-1) + 2 > 2 T from T = 4 on: P > 2 T - 2 gives 2 P > 2 T",
            Orthant(("t", "d"), lambda m, t, d: {"T": 4 + t, "P": 2 * (4 + t) - 2 + d}, "P > 2T - 2", frozenset("t")),
            lambda m, T, P: 2 * P,
            ">",
            lambda m, T, P: 2 * T,
        ),
    )


def _finite_rest() -> Part:
    """All budgets that the inequalities do not settle: K <= 8, B < 36 (T = 3: X < 11; K = 3, 4: X < 11, 7)."""
    worst = min(
        sum(n for _, n in schedule(B, K)) - B // K - (1 if K >= 4 or (K == 3 and B >= 16) else 0)
        for K in range(2, 9)
        for B in range(K * (K - 1).bit_length(), 36)
    )
    return Part(
        "the rest, budget by budget: K <= 8 and B < 36",
        _any("finitely many cases", "one"),
        lambda m, one: m.q(worst) * one / one,
        ">=",
        lambda m, one: m.q(0),
    )


_FROM_HERE = tuple(
    Part(
        f"K = {K}: (X + 1)(H - T/K) >= T from X = {start} on, H = {H}",
        Orthant(("x",), lambda m, x, start=start: {"X": start + x}, f"X >= {start}", frozenset("x")),
        lambda m, X, H=H, K=K, T=T: (X + 1) * m.q((H - F(T, K)).numerator, (H - F(T, K)).denominator),
        ">=",
        lambda m, X, T=T: m.q(T),
    )
    for K, T, H, start in ((3, 2, F(5, 6), 11), (4, 2, F(3, 4), 7))
)
_THREE_ROUNDS = Part(
    "T = 3: H - T/K >= 1 - T 2^(1-T) = 1/4, which settles X >= 11",
    Orthant(("x",), lambda m, x: {"X": 11 + x}, "X >= 11", frozenset("x")),
    lambda m, X: (X + 1) / 4,
    ">=",
    lambda m, X: m.q(3),
)


def _rows(B: int, K: int) -> dict[str, Any]:
    return {"total": sum(n for _, n in schedule(B, K)), "B": B, "K": K, "share": B // K}


# --- sums of terms --------------------------------------------------------------------------------------------------


def _order_region(smaller: str) -> Orthant:
    def point(m: Any, b: Any, r: Any, s: Any, d: Any, x: Any) -> dict[str, Any]:
        few, many = s, s + d
        roots = {"n": few, "m_": many} if smaller == "n" else {"n": many, "m_": few}
        return {name: root**2 for name, root in roots.items()} | {
            "few": few,
            "theta": theta_of(b),
            "r": r,
            "delta": 1 / (1 + x),
        }

    return Orthant(("b", "r", "s", "d", "x"), point, f"{smaller} is the smaller number of rows", frozenset("d"))


def _order_parts(smaller: str) -> tuple[Part, ...]:
    region = _order_region(smaller)
    return (
        Part(
            "4 c r (1/sqrt m + 1/sqrt n) <= 8 c r/sqrt(min)",
            region,
            lambda m, n, m_, theta, r, **_: 4 * c(theta) * r * (1 / m.sqrt(m_) + 1 / m.sqrt(n)),
            "<=",
            lambda m, few, theta, r, **_: 8 * c(theta) * r / few,
        ),
        Part(
            "2 L_3/sqrt m + 2 L_6/sqrt n <= 8 c L_6/sqrt(min), with L_3 <= L_6 and c >= 1",
            Orthant(
                ("b", "L", "e", "s", "d"),
                lambda m, b, L, e, s, d: {"c": 1 + b, "L3": L, "L6": L + e, "few": s, "many": s + d},
                "L_3 <= L_6",
                frozenset(("e", "d")),
            ),
            lambda m, L3, L6, few, many, **_: (
                (2 * L3 / few + 2 * L6 / many) if smaller != "n" else (2 * L3 / many + 2 * L6 / few)
            ),
            "<=",
            lambda m, c, L6, few, **_: 8 * c * L6 / few,
        ),
    )


def _order_sides() -> tuple[Any, Any]:
    def opened(m: Any, n: Any, m_: Any, theta: Any, r: Any, delta: Any) -> Any:
        rows = 4 * c(theta) * r / m.sqrt(m_) + 2 * hoeffding(m, m_, 3 / delta)
        return rows + 4 * c(theta) * r / m.sqrt(n) + 2 * hoeffding(m, n, 6 / delta)

    def order(m: Any, n: Any, m_: Any, theta: Any, r: Any, delta: Any) -> Any:
        least = m.min(n, m_)
        return 8 * c(theta) * (r / m.sqrt(least) + hoeffding(m, least, 6 / delta))

    return opened, order


_GAPS = Part(
    "each tail at Delta_i >= Delta is at most the one at Delta (log q falls with the gap); sum over the positive gaps",
    Orthant(
        ("b", "r", "gap", "e", "d"),
        lambda m, d, **others: {**launch(4).point(m, **others), "larger": others["gap"] + d},
        "the smallest positive gap launches",
        frozenset("d"),
    ),
    lambda m, n, larger, theta, r, **_: log_q(m, n, larger, theta, r),
    "<=",
    lambda m, n, gap, theta, r, **_: log_q(m, n, gap, theta, r),
)

PROOFS: tuple[Proof, ...] = (
    Proof("eq-1", "One pair of numbers.", (_COIN,), corrected=True),
    Proof(
        "eq-2",
        "The printed loss is at most the repaired one, and that is eq-2-upper-bound.",
        tuple(replace(part, reads="") for part in DOMINATED),
        corrected=True,
    ),
    Proof("eq-4-value", "The 0-1 loss sees two signs only.", BAYES, corrected=True),
    Proof(
        "surrogate-does-no-harm",
        "The minimum of Lemma F, and the points that attain it.",
        (*(replace(part, reads="") for part in MINIMUM), *CALIBRATION[-3:-1]),
        corrected=True,
    ),
    Proof(
        "sample-alignment",
        "c_i times floor(b/P) <= b/P.",
        (
            Part(
                "c floor(b/P) <= c b/P",
                Orthant(
                    ("c", "P", "q", "rest"),
                    lambda m, c, P, q, rest: {"c": c, "P": P, "q": q, "b": q * P + rest},
                    "prices > 0",
                    frozenset(("q", "rest")),
                ),
                lambda m, c, q, **_: c * q,
                "<=",
                lambda m, c, P, b, **_: c * b / P,
            ),
            replace(FLOOR, reads=""),
        ),
        corrected=True,
    ),
    Proof(
        "budget-alignment",
        "Without the inner floor both sides are the floor of the same number.",
        (
            Part(
                "(b/A)/c = b/(A c)",
                _any("A, c > 0", "b A c", "b"),
                lambda m, b, A, c: (b / A) / c,
                "==",
                lambda m, b, A, c: b / (A * c),
            ),
        ),
        corrected=True,
    ),
    Proof(
        "me-budget-gain",
        "Median elimination buys more if (X + 1)(H - T/K) >= T, X = floor(B/T), H = sum_t 1/a_t. That settles all but "
        "finitely many (B, K), and the rest is enumerated. For K = 2 both buy floor(B/2).",
        (*HALVING, *_gain_parts(), *_FROM_HERE, _THREE_ROUNDS, _finite_rest()),
        corrected=True,
        adapt=_rows,
        sides=(
            lambda m, total, **_: total,
            lambda m, share, B, K, **_: share + (1 if K >= 4 or (K == 3 and B >= 16) else 0),
        ),
    ),
    Proof(
        "remark-7-launch-budget",
        "ceil(n K log2 K) >= n K, with equality for K = 2; for K >= 3, n K log2 K >= 1.5 n K >= n K + 1.",
        (
            Part(
                "n K L >= n K for L >= 1",
                Orthant(
                    ("n", "k", "d"), lambda m, n, k, d: {"n": n, "K": 2 + k, "L": 1 + d}, "L >= 1", frozenset("kd")
                ),
                lambda m, n, K, L: n * K * L,
                ">=",
                lambda m, n, K, L: n * K,
            ),
            Part(
                "n K L >= n K + 1 for n >= 1, K >= 3, L >= 3/2 (log2 3 > 3/2 as 9 > 8)",
                Orthant(
                    ("n", "k", "d"),
                    lambda m, n, k, d: {"n": 1 + n, "K": 3 + k, "L": m.q(3, 2) + d},
                    "n >= 1, K >= 3, L >= 3/2",
                    frozenset("nkd"),
                ),
                lambda m, n, K, L: n * K * L,
                ">=",
                lambda m, n, K, L: n * K + 1,
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a2-order",
        "Term by term, for either order of n and m; log(3/delta) <= log(6/delta).",
        (*_order_parts("n"), *_order_parts("m")),
        corrected=True,
        adapt=lambda m, **case: {**case, "m_": m},
        sides=_order_sides(),
    ),
    Proof(
        "a3-constant",
        "C Delta^2 = 64 c^2 r^2, whatever the gap.",
        (
            Part(
                "64 (c r/Delta)^2 Delta^2 does not depend on Delta",
                _any("gaps > 0", "c r gap more"),
                lambda m, c, r, gap, more: 64 * (c * r / gap) ** 2 * gap**2,
                "==",
                lambda m, c, r, gap, more: 64 * (c * r / more) ** 2 * more**2,
            ),
        ),
        corrected=True,
    ),
    Proof("a4-min-gap", "Tail by tail.", (_GAPS,), corrected=True),
    Proof(
        "a5-count-4",
        "With X = floor(B/log2 K) the last round alone has floor(X/2) rows: a_T = 2, and floor(B/(2 T)) = "
        "floor(floor(B/T)/2), for B = 2 T q + rest gives q on both sides.",
        (
            *HALVING,
            Part(
                "n_T = floor(X/2) is one of the terms, and the others are not negative",
                _any("rows", "last others", "last others"),
                lambda m, last, others: last + others,
                ">=",
                lambda m, last, others: last,
            ),
        ),
        corrected=True,
        adapt=lambda B, K: {"total": sum(n for _, n in schedule(B, K)), "half": B // (K.bit_length() - 1) // 2},
        sides=(lambda m, total, **_: total, lambda m, half, **_: half),
    ),
)
