"""Proofs of the decompositions of risks: sums that telescope, and what a minimiser does by definition."""

from __future__ import annotations

from typing import Any

from theory.claims import section_4_1
from theory.claims.exact_losses import best_surrogate, repaired_loss, surrogate_risk
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]


def _free(*names: str) -> Orthant:
    """Any real numbers."""
    return Orthant(names, lambda m, **p: p, "all real numbers", free=frozenset(names), plain=True)


_FIVE = Part(
    "the five terms telescope",
    _free("risk", "bayes", "learned", "empirical", "star_train", "star"),
    lambda m, risk, bayes, **_: risk - bayes,
    "==",
    lambda m, risk, bayes, learned, empirical, star_train, star: (
        (risk - learned) + (learned - empirical) + (empirical - star_train) + (star_train - star) + (star - bayes)
    ),
    "both",
)


def _five(eta: Any, sampled: Any, train: Any, theta: Any, radius: Any) -> dict[str, Any]:
    """The six numbers behind Eq. 8 at a case of the ledger."""
    learned = section_4_1._surrogate_pair(sampled, theta, radius)
    star = section_4_1._surrogate_pair(eta, theta, radius)
    return {
        "risk": eta * repaired_loss(*learned, 1, theta) + (1 - eta) * repaired_loss(*learned, -1, theta),
        "bayes": min(eta, 1 - eta, theta),
        "learned": surrogate_risk(*learned, train, theta),
        "empirical": best_surrogate(train, theta, radius)[0],
        "star_train": surrogate_risk(*star, train, theta),
        "star": best_surrogate(eta, theta, radius)[0],
    }


_MINIMISER = Orthant(
    ("best", "d"),
    lambda m, best, d: {"best": best, "other": best + d},
    "the first model minimises a risk over a class that holds the second",
    frozenset("d"),
    frozenset(("best",)),
    coordinates=lambda m, best, other, **_: {"best": best, "d": other - best},
)


def _term_c(eta: Any, train: Any, theta: Any, radius: Any, **_: Any) -> dict[str, Any]:
    values = _five(eta=eta, sampled=train, train=train, theta=theta, radius=radius)
    return {"best": values["empirical"], "other": values["star_train"]}


def _regret(sampled: Any, train: Any, theta: Any, radius: Any) -> dict[str, Any]:
    """Scores and risks behind A.4 and A.6 at a case of the ledger."""
    value, h, g = best_surrogate(sampled, theta, radius)
    best, h_star, g_star = best_surrogate(train, theta, radius)
    return {
        "value": value,
        "best": best,
        "learned": surrogate_risk(h, g, train, theta),
        "star_sample": surrogate_risk(h_star, g_star, sampled, theta),
    }


PROOFS: tuple[Proof, ...] = (
    Proof("a2-step-1", "Free numbers in place of the risks.", (_FIVE,), adapt=_five),
    Proof("a3-step-1", "Free numbers in place of the risks.", (_FIVE,), adapt=_five),
    Proof("eq-8", "Free numbers in place of the risks.", (_FIVE,), corrected=True, adapt=_five),
    Proof(
        "eq-8-term-c",
        "By the definition of the minimiser.",
        (
            Part(
                "the smallest risk minus another is not positive",
                _MINIMISER,
                lambda m, best, other: best - other,
                "<=",
                lambda m, **_: m.q(0),
                "both",
            ),
        ),
        corrected=True,
        adapt=_term_c,
        takes="that the first model minimises the risk, which is the statement itself",
    ),
    Proof(
        "a4-identity",
        "Free numbers in place of the risks.",
        (
            Part(
                "three terms telescope",
                _free("value", "best", "learned", "star_sample"),
                lambda m, learned, best, **_: learned - best,
                "==",
                lambda m, value, best, learned, star_sample: (
                    (learned - value) + (value - star_sample) + (star_sample - best)
                ),
                "both",
            ),
        ),
        adapt=_regret,
    ),
    Proof(
        "a6-split",
        "Free numbers in place of the risks.",
        (
            Part(
                "two terms telescope",
                _free("value", "best", "learned", "star_sample"),
                lambda m, value, best, **_: best - value,
                "==",
                lambda m, value, best, learned, **_: (best - learned) + (learned - value),
                "both",
            ),
        ),
        adapt=_regret,
    ),
)
