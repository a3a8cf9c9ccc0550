"""Proofs of the claims that use nothing about a law but that probabilities are not negative and add up."""

from __future__ import annotations

from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]

_TWO = Orthant(
    ("both", "only_a", "only_b"),
    lambda m, **p: p,
    "the probabilities of A and B, of A alone, of B alone",
    frozenset(("both", "only_a", "only_b")),
)
UNION = Part(
    "P(A or B) <= P(A) + P(B)",
    _TWO,
    lambda m, both, only_a, only_b: both + only_a + only_b,
    "<=",
    lambda m, both, only_a, only_b: (both + only_a) + (both + only_b),
)
_MANY = "Two events at a time: induction on their number."

PROOFS: tuple[Proof, ...] = (
    Proof("a4-union", f"{_MANY} Holds for every law of the scores.", (UNION,)),
    Proof("a6-union", "Holds for every law of the scores.", (UNION,)),
    Proof(
        "a4-conclusion",
        "Failure, or success and a deviation: at most the probability of failure plus that of the deviation.",
        (
            UNION,
            Part(
                "P(A and B) <= P(A)",
                _TWO,
                lambda m, both, **_: both,
                "<=",
                lambda m, both, only_a, **_: both + only_a,
            ),
        ),
    ),
    Proof(
        "a4-conditioning",
        "The corrected statement is about the intersection.",
        (
            Part(
                "P(A and B) <= P(A)",
                _TWO,
                lambda m, both, **_: both,
                "<=",
                lambda m, both, only_a, **_: both + only_a,
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a5-markov",
        "Value by value: a value j >= k with probability p contributes j p to the mean and at most p to the event; a "
        "value below k contributes to the mean only.",
        (
            Part(
                "k p <= j p for j >= k",
                Orthant(
                    ("k", "i", "p"),
                    lambda m, k, i, p: {"k": k, "j": k + i, "p": p},
                    "j >= k > 0, p >= 0",
                    frozenset(("i", "p")),
                ),
                lambda m, k, p, **_: k * p,
                "<=",
                lambda m, j, p, **_: j * p,
            ),
            Part(
                "0 <= j p for j < k",
                Orthant(("j", "p"), lambda m, **q: q, "j, p >= 0", frozenset(("j", "p"))),
                lambda m, **_: m.q(0),
                "<=",
                lambda m, j, p: j * p,
            ),
        ),
    ),
    Proof(
        "a5-sum",
        "P(out in round 1) + P(out in round 2, survived) <= P(out in round 1) + P(out in round 2 | survived), as the "
        "probability of survival is at most 1; induction on the rounds.",
        (
            Part(
                "a + (1 - a) b <= a + b",
                Orthant(
                    ("x", "y", "b"),
                    lambda m, x, y, b: {"a": x / (x + y), "b": b},
                    "0 <= a < 1, b >= 0",
                    frozenset(("x", "b")),
                ),
                lambda m, a, b: a + (1 - a) * b,
                "<=",
                lambda m, a, b: a + b,
            ),
        ),
        corrected=True,
    ),
)
