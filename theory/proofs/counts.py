"""Proofs of the claims about whole numbers: allocations, rounds, prices, series. No cut-off: floors are written with
quotient and remainder, halves with the two residues, and what goes on for ever is an induction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.claims.algorithms import COSTS
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
_QUOTIENT = _orthant("0 < q < 1", "x y", lambda m, x, y: {"q": x / (x + y)})
_POWER = _orthant("0 < q < 1, p = q^(T+1) > 0", "x y p", lambda m, x, y, p: {"q": x / (x + y), "p": p})
SERIES = (
    Part(
        "T = 1: q + q^2/(1-q) = q/(1-q)",
        _QUOTIENT,
        lambda m, q: 8 * q + 8 * q**2 / (1 - q),
        "==",
        lambda m, q: 8 * q / (1 - q),
    ),
    Part(
        "from T to T + 1: the new term and the new rest are the old rest",
        _POWER,
        lambda m, q, p: 8 * p + 8 * p * q / (1 - q),
        "==",
        lambda m, q, p: 8 * p / (1 - q),
    ),
)
_REST = Part(
    "the rest 8 q^(T+1)/(1-q) is positive", _POWER, lambda m, q, p: 8 * p / (1 - q), ">", lambda m, **_: m.q(0)
)
_FLOOR = "that a floor leaves no negative remainder, which is the statement itself"
_COUNT = "Induction on the rounds: n_1 (1 + 2 + ... + 2^(T-1)) = (2^T - 1) n_1."


def _price(original: str) -> Fraction:
    """What one sample of every active feature costs."""
    return sum((cost for name, cost in COSTS.items() if name != original), F(0))


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


def _powers(exponent: Any) -> Any:
    """8 sum_t q^(exponent of t), for whole T."""
    return lambda m, T, q: 8 * sum((q ** exponent(t) for t in range(1, int(T.unique_fmpz()) + 1)), m.q(0))


PROOFS: tuple[Proof, ...] = (
    Proof(
        "ua-allocation",
        "Quotient and remainder with p = K.",
        (FLOOR,),
        adapt=lambda B, K: {"p": K, "bought": B // K, "b": B},
        takes=_FLOOR,
    ),
    Proof(
        "sample-alignment-spend",
        "Quotient and remainder with p the sum of the prices.",
        (FLOOR,),
        adapt=lambda b, original, **_: {"p": _price(original), "bought": b // _price(original), "b": b},
        takes=_FLOOR,
    ),
    Proof(
        "budget-alignment-spend",
        "Each feature spends at most b/|A| (quotient and remainder with p = |A| c_i), and there are |A| of them.",
        (
            Part(
                "c_i floor(b/(|A| c_i)) <= b/|A|",
                _orthant(
                    "A, c > 0",
                    "A c q rest",
                    lambda m, A, c, q, rest: {"A": A, "c": c, "q": q, "b": A * c * q + rest},
                    "q rest",
                ),
                lambda m, c, q, **_: c * q,
                "<=",
                lambda m, A, b, **_: b / A,
            ),
            SUM,
        ),
        adapt=lambda b, original, **_: {
            "spent": sum(cost * (b // (5 * cost)) for name, cost in COSTS.items() if name != original),
            "b": b,
        },
        sides=(lambda m, spent, **_: spent, lambda m, b, **_: b),
    ),
    Proof(
        "me-spend",
        "Each of the T rounds spends at most B/T.",
        (SHARE, SUM),
        adapt=lambda B, K: {"spent": sum(a * n for a, n in schedule(B, K)), "B": B},
        sides=(lambda m, spent, **_: spent, lambda m, B, **_: B),
    ),
    Proof(
        "me-largest-sample",
        f"{_ROUNDS}; so the runner-up plays all T rounds, as the winner does, and both have the sum of all n_t.",
        HALVING,
        adapt=lambda B, K: {"rows": sum(n for _, n in schedule(B, K))},
        sides=(lambda m, rows: rows, lambda m, rows: rows),
    ),
    Proof("me-one-left", f"{_ROUNDS}.", HALVING, corrected=True),
    Proof("a5-doubling", "K = 2^c; the active arms halve without rounding, and the floors are exact.", DOUBLE),
    Proof(
        "a5-count-1",
        f"{_COUNT} By a5-doubling n_t = 2^(t-1) n_1.",
        (*DOUBLE, *GEOMETRIC),
        corrected=True,
        adapt=_total,
        sides=_TOTAL,
    ),
    Proof(
        "a5-count-2",
        f"{_COUNT} By a5-doubling n_t = 2^(t-1) n_1.",
        (*DOUBLE, *GEOMETRIC),
        corrected=True,
        adapt=_total,
        sides=_TOTAL,
    ),
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
    Proof(
        "a5-series-1",
        "2^(t-1) >= t by induction, and q^(t+d) <= q^t for d >= 0, because a power of q is at most 1.",
        (
            Part(
                "t = 1: 1 >= 1",
                _plain("", "one"),
                lambda m, one: one / one,
                ">=",
                lambda m, one: one / one,
            ),
            Part(
                "2^(t-1) >= t gives 2^t >= t + 1",
                _orthant("P >= t >= 1", "t d", lambda m, t, d: {"t": 1 + t, "P": 1 + t + d}, "t d"),
                lambda m, P, **_: 2 * P,
                ">=",
                lambda m, t, **_: t + 1,
            ),
            Part(
                "8 p u <= 8 p for p = q^t > 0 and u = q^d in (0, 1]",
                _orthant("0 < u <= 1", "p x y", lambda m, p, x, y: {"p": p, "u": x / (x + y)}, "y"),
                lambda m, p, u: 8 * p * u,
                "<=",
                lambda m, p, **_: 8 * p,
            ),
        ),
        sides=(_powers(lambda t: 2 ** (t - 1)), _powers(lambda t: t)),
    ),
    Proof(
        "a5-series-2",
        "The difference is the rest of the geometric series.",
        (*SERIES, _REST),
        sides=(_powers(lambda t: t), lambda m, q, **_: 8 * q / (1 - q)),
    ),
    Proof(
        "a5-series-3",
        "Induction on T.",
        SERIES,
        sides=(
            lambda m, T, q: _powers(lambda t: t)(m, T, q) + 8 * q ** (T + 1) / (1 - q),
            lambda m, q, **_: 8 * q / (1 - q),
        ),
    ),
)
