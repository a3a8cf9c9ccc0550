"""Proofs of the claims about whole numbers: allocations, rounds, prices, series. No cut-off: floors are written with
quotient and remainder, halves with the two residues, and what goes on for ever is an induction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["DOUBLE", "FLOOR", "GEOMETRIC", "HALVING", "PROOFS", "schedule"]

F = Fraction


def _orthant(words: str, names: str, point: Any, closed: str = "") -> Orthant:
    return Orthant(tuple(names.split()), point, words, frozenset(closed.split()))


def _plain(words: str, names: str, closed: str = "") -> Orthant:
    return _orthant(words, names, lambda m, **p: p, closed)


FLOOR = Part(
    "p floor(b/p) <= b for a price p > 0: b = q p + rest",
    Orthant(
        ("p", "q", "rest"),
        lambda m, p, q, rest: {"p": p, "bought": q, "b": q * p + rest},
        "p > 0, 0 <= rest < p",
        frozenset(("q", "rest")),
        coordinates=lambda m, p, bought, b: {"p": p, "q": bought, "rest": b - p * bought},
    ),
    lambda m, p, bought, **_: p * bought,
    "<=",
    lambda m, b, **_: b,
    "both",
)
SHARE = Part(
    "a floor(B/(T a)) <= B/T: B = T a q + rest",
    _orthant(
        "T, a > 0",
        "T a q rest",
        lambda m, T, a, q, rest: {"T": T, "a": a, "q": q, "B": T * a * q + rest},
        "q rest",
    ),
    lambda m, a, q, **_: a * q,
    "<=",
    lambda m, B, T, **_: B / T,
)
SUM = Part(
    "T shares of at most B/T make at most B: induction, S <= t x and one share <= x give S + share <= (t + 1) x",
    _orthant(
        "S <= t x, share <= x",
        "t x d e",
        lambda m, t, x, d, e: {"S": t * x - d, "share": x - e, "t": t, "x": x},
        "t d e",
    ),
    lambda m, S, share, **_: S + share,
    "<=",
    lambda m, t, x, **_: (t + 1) * x,
)
# a in (2^(j-1), 2^j] has ceil(a/2) in (2^(j-2), 2^(j-1)]; P stands for 2^(j-2) >= 1.
HALVING = (
    Part(
        "even a = 2k in (2P, 4P]: the half k is in (P, 2P]: lower end",
        _orthant("k > P", "P d", lambda m, P, d: {"P": P, "a": 2 * (P + d), "half": P + d}),
        lambda m, half, **_: half,
        ">",
        lambda m, P, **_: P,
    ),
    Part(
        "even a: upper end",
        _orthant("k <= 2P", "k d", lambda m, k, d: {"P": (k + d) / 2, "half": k}, "d"),
        lambda m, half, **_: half,
        "<=",
        lambda m, P, **_: 2 * P,
    ),
    Part(
        "odd a = 2k + 1 > 2P, so k >= P (whole numbers): the half k + 1 exceeds P",
        _orthant("k >= P", "P d", lambda m, P, d: {"P": P, "half": P + d + 1}, "d"),
        lambda m, half, **_: half,
        ">",
        lambda m, P, **_: P,
    ),
    Part(
        "odd a = 2k + 1 <= 4P, so 2k + 2 <= 4P: the half k + 1 is at most 2P",
        _orthant("2k + 2 + 2d = 4P", "k d", lambda m, k, d: {"P": (2 * k + 2 + 2 * d) / 4, "half": k + 1}, "k d"),
        lambda m, half, **_: half,
        "<=",
        lambda m, P, **_: 2 * P,
    ),
)
_ROUNDS = (
    "With T = ceil(log2 K), 2^(T-1) < K <= 2^T. Each round halves both ends, so a_t > 2^(T-t) >= 1 in rounds 1 to T "
    "and one arm is left after them"
)
DOUBLE = (
    Part(
        "an even number 2Q has the half Q: a_t = 2^(c-t+1)",
        _plain("Q > 0", "Q"),
        lambda m, Q: 2 * Q / 2,
        "==",
        lambda m, Q: Q,
    ),
    Part(
        "B = c P Q q with K = P Q, P = 2^(t-1), a_t = Q: B/(c a_t) = P q without remainder",
        _plain("P, Q, c, q > 0", "P Q c q", "q"),
        lambda m, P, Q, c, q: c * P * Q * q / (c * Q),
        "==",
        lambda m, P, q, **_: P * q,
    ),
)
GEOMETRIC = (
    Part(
        "one term: 1 = 2^1 - 1",
        _plain("", "n"),
        lambda m, n: n,
        "==",
        lambda m, n: n * (2 - 1),
    ),
    Part(
        "one more term: (P - 1) n + P n = (2P - 1) n with P = 2^t",
        _plain("P, n > 0", "P n"),
        lambda m, P, n: (P - 1) * n + P * n,
        "==",
        lambda m, P, n: (2 * P - 1) * n,
    ),
)
_COUNT = "Induction on the rounds: n_1 (1 + 2 + ... + 2^(T-1)) = (2^T - 1) n_1."


def schedule(B: int, K: int) -> list[tuple[int, int]]:
    """(a_t, n_t) of Algorithm 1, in whole numbers."""
    rounds, arms, plan = (K - 1).bit_length(), K, []
    for _ in range(rounds):
        plan.append((arms, B // (rounds * arms)))
        arms = -(-arms // 2)
    return plan


def _total(B: int, K: int) -> dict[str, int]:
    return {"total": sum(n for _, n in schedule(B, K)), "first": B // (K * (K.bit_length() - 1)), "K": K}


_TOTAL = (lambda m, total, **_: total, lambda m, first, K, **_: (K - 1) * first)


PROOFS: tuple[Proof, ...] = (
    Proof("me-one-left", f"{_ROUNDS}.", HALVING, corrected=True),
    Proof(
        "a5-count-3",
        f"{_COUNT} Without divisibility n_t = floor(2^(t-1) x) >= 2^(t-1) floor(x), x = B/(K T).",
        (
            *GEOMETRIC,
            Part(
                "2^(t-1) floor(x) is a whole number that is not above 2^(t-1) x",
                _orthant("x = q + f", "P q f", lambda m, P, q, f: {"P": P, "q": q, "x": q + f}, "q f"),
                lambda m, P, q, **_: P * q,
                "<=",
                lambda m, P, x, **_: P * x,
            ),
        ),
        corrected=True,
        adapt=_total,
        sides=_TOTAL,
    ),
)
