"""The smallest risk among candidates: it is not above that of any other candidate, however many there are.

The ledger takes its minimisers from a finite list of models (`corner_points`); so do these theorems, for every list.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.claims.exact_losses import best_surrogate, corner_points
from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.tools import F, theta_facts, zero
from theory.proofs.kernel.axioms import largest_of_above
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Term, at, const, integer, largest, largest_of, variables
from theory.proofs.kernel.theorem import Theorem, assume, weaken

__all__ = ["DERIVATIONS"]

Built = tuple[Theorem, tuple[Theorem, ...]]
A, K, S, THETA, TRAIN, SAMPLED = variables("A k s theta train sampled")


def _loss(k: Term, label: int) -> Term:
    h, g = at("h", k), at("g", k)
    return largest(1 + const(F(1, 2)) * (g - label * h), THETA * (1 - g / (1 - 2 * THETA)), zero)


def _risk(k: Term, eta: Term) -> Term:
    """The expected surrogate of candidate k, with P(y = 1) = eta."""
    return eta * _loss(k, 1) + (1 - eta) * _loss(k, -1)


def _least(eta: Term) -> Term:
    return -largest_of("k", 1, A, -_risk(K, eta))


def _not_above() -> Theorem:
    """min_k R(k) <= R(s)."""
    found = largest_of_above("k", 1, A, -_risk(K, TRAIN), S)
    return combine(_least(TRAIN) <= _risk(S, TRAIN), found)


def _facts() -> tuple[Theorem, ...]:
    some = combine(const(1) <= A, assume(const(1) <= S), assume(S <= A))
    return theta_facts(THETA)[0], some


def _known(theorem: Theorem) -> Theorem:
    return weaken(theorem, integer(A), const(F(1, 2)) > THETA)


def _term_c() -> Built:
    return _known(combine(_least(TRAIN) - _risk(S, TRAIN) <= zero, _not_above())), _facts()


def _drop() -> Built:
    value = _least(SAMPLED)
    return _known(combine(_least(TRAIN) - value <= _risk(S, TRAIN) - value, _not_above())), _facts()


def _candidates(theta: Fraction, radius: Fraction, eta: Fraction) -> Point:
    """The list of the ledger, and the place of the minimiser at eta."""
    points = corner_points(theta, radius)
    _, h, g = best_surrogate(eta, theta, radius)
    h_all, g_all = zip(*points, strict=True)
    return {"theta": theta, "h": h_all, "g": g_all, "A": len(points), "s": points.index((h, g)) + 1}


def _star(eta: Fraction, train: Fraction, theta: Fraction, radius: Fraction, **_: Any) -> list[Point]:
    return [{**_candidates(theta, radius, eta), "train": train}]


def _learned(sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> list[Point]:
    return [{**_candidates(theta, radius, sampled), "train": train, "sampled": sampled}]


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "a2-term-c",
        "The smallest of a list is not above any entry; for every list of candidates, and every candidate as f*.",
        _term_c,
        reads=_star,
        entry="s",
        takes="that the minimum over the ball is attained at a point of the list",
    ),
    Derivation(
        "a6-drop",
        "The smallest of a list is not above any entry; for every list of candidates, and every candidate as the "
        "learned model.",
        _drop,
        reads=_learned,
        entry="s",
        takes="that the minimum over the ball is attained at a point of the list",
    ),
)
