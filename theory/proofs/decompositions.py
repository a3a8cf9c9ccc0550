"""Proofs of the decompositions of risks: sums that telescope, and what a minimiser does by definition."""

from __future__ import annotations

from typing import Any

from theory.claims import section_4_1
from theory.claims.exact_losses import best_surrogate, repaired_loss, surrogate_risk
from theory.claims.instances import pool
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
        "a2-term-c",
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
        adapt=_term_c,
        takes="that the first model minimises the risk, which is the statement itself",
    ),
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
    Proof(
        "a6-drop",
        "By the definition of the minimiser of the training set.",
        (
            Part(
                "R° - V <= R_tr(f) - V",
                Orthant(
                    ("best", "d", "value"),
                    lambda m, best, d, value: {"best": best, "learned": best + d, "value": value},
                    "R° is the smallest risk on the training set",
                    frozenset("d"),
                    frozenset(("best", "value")),
                    coordinates=lambda m, best, learned, value, **_: {
                        "best": best,
                        "d": learned - best,
                        "value": value,
                    },
                ),
                lambda m, best, value, **_: best - value,
                "<=",
                lambda m, learned, value, **_: learned - value,
                "both",
            ),
        ),
        adapt=_regret,
        takes="that R° is the smallest risk, which is the statement itself",
    ),
    Proof(
        "a6-inclusion",
        "If neither event happens, V_i >= R_i - Delta/2 = R_1 + Delta/2 >= V_1, which excludes V_i < V_1.",
        (
            Part(
                "V_i = R_i - Delta/2 + d and V_1 = R_1 + Delta/2 - e give V_i >= V_1",
                Orthant(
                    ("best", "gap", "d", "e"),
                    lambda m, best, gap, d, e: {"score": best + gap - gap / 2 + d, "first": best + gap / 2 - e},
                    "neither event",
                    frozenset("de"),
                    frozenset(("best",)),
                ),
                lambda m, score, **_: score,
                ">=",
                lambda m, first, **_: first,
            ),
        ),
    ),
    Proof(
        "a6-gap",
        "The minimum of a list whose first entry is not above any other is the first entry (induction on its length).",
        (
            Part(
                "min(first, next) = first for next >= first, so the gaps to the minimum are those to the first",
                Orthant(
                    ("first", "d", "risk"),
                    lambda m, first, d, risk: {"first": first, "next": first + d, "risk": risk},
                    "the first arm is best",
                    frozenset("d"),
                    frozenset(("first", "risk")),
                    coordinates=lambda m, first, risk, **p: {"first": first, "d": p["next"] - first, "risk": risk},
                ),
                lambda m, first, risk, **_: risk - first,
                "==",
                lambda m, first, risk, **p: risk - m.min(first, p["next"]),
            ),
        ),
        adapt=lambda name: {
            "first": pool(name).risks()[0],
            "next": min(pool(name).risks()[1:]),
            "risk": pool(name).risks()[1],
        },
    ),
)
