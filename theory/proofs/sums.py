"""Proofs of the identities: decompositions that telescope, and displays that repeat or add up others."""

from __future__ import annotations

from typing import Any

from theory.claims import section_4_1
from theory.claims.exact_losses import best_surrogate, repaired_loss, surrogate_risk
from theory.claims.instances import pool
from theory.proofs.balls import ball
from theory.proofs.formulas import c, hoeffding, launch, log_q, theta_of
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]


def _free(*names: str) -> Orthant:
    """Any real numbers."""
    return Orthant(names, lambda m, **p: p, "all real numbers", free=frozenset(names))


# --- decompositions -------------------------------------------------------------------------------------------

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


_DECOMPOSITIONS = (
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

# --- displays -------------------------------------------------------------------------------------------------


def _display(words: str, names: tuple[str, ...], point: Any) -> Orthant:
    return Orthant(("b", "x", *names), point, words)


def _delta(m: Any, x: Any) -> Any:
    return 1 / (1 + x)


def _rows(**roots: str) -> Any:
    """theta, r, delta and numbers of rows that are squares of the variables."""

    def point(m: Any, b: Any, x: Any, r: Any = None, **others: Any) -> dict[str, Any]:
        found = {"theta": theta_of(b), "delta": _delta(m, x)}
        if r is not None:
            found["r"] = r
        return found | {name: others[root] ** 2 for name, root in roots.items()}

    return point


def _regret_bound(m: Any, n: Any, r: Any, theta: Any, delta: Any) -> Any:
    """4 c r / sqrt n + 2 sqrt(log(2/delta) / 2n): Lemma 1 (ii), and Eq. 6 opened."""
    return 4 * c(theta) * r / m.sqrt(n) + 2 * hoeffding(m, n, 2 / delta)


def _lemma_3(m: Any, rows: Any, r: Any, theta: Any, delta: Any) -> Any:
    return 2 * c(theta) * r / m.sqrt(rows) + hoeffding(m, rows, 1 / delta)


def _opened(m: Any, n: Any, rows: Any, r: Any, theta: Any, delta: Any) -> Any:
    """The four terms of Theorem 1."""
    over_rows = 4 * c(theta) * r / m.sqrt(rows) + 2 * hoeffding(m, rows, 3 / delta)
    return over_rows + 4 * c(theta) * r / m.sqrt(n) + 2 * hoeffding(m, n, 6 / delta)


_ANY = "0 < theta < 1/2, 0 < delta < 1, r > 0, any numbers of rows"
_L64 = launch(8, arms=True)


def _retyped(m: Any, n: Any, K: Any, gap: Any, theta: Any, r: Any) -> Any:
    rate = gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * m.sqrt(r**2 / n)
    return m.log(4) + m.log(K - 1) - m.q(2, 9) * n * rate**2


def _eq_11(m: Any, log_of_q: Any) -> Any:
    """8 q / (1 - q), from log q."""
    q = m.exp(log_of_q)
    return 8 * q / (1 - q)


_DISPLAYS = (
    Proof(
        "sl-rate",
        "sqrt(4B) = 2 sqrt B.",
        (
            Part(
                "four times the rows halve the bound",
                _display(_ANY, ("r", "s"), _rows(B="s")),
                lambda m, B, theta, r, delta: _regret_bound(m, 4 * B, r, theta, delta),
                "==",
                lambda m, B, theta, r, delta: _regret_bound(m, B, r, theta, delta) / 2,
                "both",
            ),
        ),
    ),
    Proof(
        "remark-6-sqrt-k",
        "K divides B, so the rows per arm are B/K without a floor.",
        (
            Part(
                "the regret at B/K rows is sqrt K times that at B rows",
                _display(_ANY, ("r", "s", "k"), _rows(B="s", K="k")),
                lambda m, B, K, theta, r, delta, **_: _regret_bound(m, B / K, r, theta, delta),
                "==",
                lambda m, B, K, theta, r, delta, **_: m.sqrt(K) * _regret_bound(m, B, r, theta, delta),
                "both",
            ),
        ),
    ),
    Proof(
        "remark-7-sqrt-log",
        "log2 K divides B, so the printed rows are B/log2 K without a floor.",
        (
            Part(
                "the regret at B/T rows is sqrt T times that at B rows, T = log2 K",
                _display(_ANY, ("r", "s", "k"), _rows(B="s", T="k")),
                lambda m, B, T, theta, r, delta, **_: _regret_bound(m, B / T, r, theta, delta),
                "==",
                lambda m, B, T, theta, r, delta, **_: m.sqrt(T) * _regret_bound(m, B, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda K, **case: {**case, "T": K.bit_length() - 1},
    ),
    Proof(
        "a2-sum",
        "The same functions at the same arguments: 1/(delta/3) = 3/delta and 2/(delta/3) = 6/delta.",
        (
            Part(
                "terms (a), (d) and (b) at delta/3 are the four terms",
                _display(_ANY, ("r", "s", "k"), _rows(n="s", m_="k")),
                lambda m, n, m_, theta, r, delta: (
                    2 * _lemma_3(m, m_, r, theta, delta / 3) + _regret_bound(m, n, r, theta, delta / 3)
                ),
                "==",
                lambda m, n, m_, theta, r, delta: _opened(m, n, m_, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda m, **case: {**case, "m_": m},
    ),
    Proof(
        "a3-sum",
        "The same with n K rows: floor(B/log2 K) = n K for B = n K log2 K.",
        (
            Part(
                "terms (a), (d) and (b) at delta/3 are the four terms",
                _display(_ANY, ("r", "s", "k", "l"), _rows(n="s", m_="k", K="l")),
                lambda m, n, m_, K, theta, r, delta: (
                    2 * _lemma_3(m, m_, r, theta, delta / 3) + _regret_bound(m, n * K, r, theta, delta / 3)
                ),
                "==",
                lambda m, n, m_, K, theta, r, delta: _opened(m, n * K, m_, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda m, **case: {**case, "m_": m},
    ),
    Proof(
        "a4-sum",
        "Twice the bound of one term, at r = 1 - 2 theta as in the ledger and at every other r.",
        (
            Part(
                "2 (2 c r/sqrt n + sqrt(log(2/delta)/2n)) is the display",
                _display(_ANY, ("r", "s"), _rows(n="s")),
                lambda m, n, theta, r, delta: 2 * (2 * c(theta) * r / m.sqrt(n) + hoeffding(m, n, 2 / delta)),
                "==",
                lambda m, n, theta, r, delta: _regret_bound(m, n, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda theta, **case: {**case, "theta": theta, "r": 1 - 2 * ball(theta)},
    ),
    Proof(
        "a2-delta-line-1",
        "With 2 - 2 theta, sqrt(r^2/n) = r/sqrt n and log 4(K-1) = log 4 + log(K-1).",
        (
            Part(
                "Eq. 9 and the retyped display",
                _L64,
                lambda m, n, K, gap, theta, r: m.log(4 * (K - 1)) + log_q(m, n, gap, theta, r),
                "==",
                _retyped,
                "both",
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a2-delta-line-3",
        "2/(9 * 16) = 1/72.",
        (
            Part(
                "the constants of the exponent",
                Orthant(("gap", "n"), lambda m, **p: p, "Delta, n >= 0", frozenset(("gap", "n"))),
                lambda m, gap, n: m.q(2, 9) * n * (gap / 4) ** 2,
                "==",
                lambda m, gap, n: gap**2 * n / 72,
                "both",
            ),
        ),
    ),
    Proof(
        "a3-delta",
        "Eq. 11 and the display of A.3 have the same q.",
        (
            Part(
                "8 q/(1-q) with q from 2 c r/sqrt n and from (2 - 2 theta)/(1 - 2 theta) sqrt(r^2/n)",
                _L64,
                lambda m, n, K, gap, theta, r: _eq_11(m, log_q(m, n, gap, theta, r)),
                "==",
                lambda m, n, K, gap, theta, r: _eq_11(
                    m,
                    m.q(-2, 9) * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * m.sqrt(r**2 / n)) ** 2,
                ),
            ),
        ),
        sides=(
            lambda m, n, K, gap, theta, r: m.log(_eq_11(m, log_q(m, n, gap, theta, r))),
            lambda m, n, K, gap, theta, r: m.log(_eq_11(m, log_q(m, n, gap, theta, r))),
        ),
    ),
    Proof(
        "a6-conclusion",
        "2 + 2 = 4.",
        (
            Part(
                "two equal tails add up to Lemma 4",
                launch(4),
                lambda m, n, gap, theta, r: 2 * (2 * m.exp(log_q(m, n, gap, theta, r))),
                "==",
                lambda m, n, gap, theta, r: 4 * m.exp(log_q(m, n, gap, theta, r)),
                "both",
            ),
        ),
    ),
)

PROOFS: tuple[Proof, ...] = (*_DECOMPOSITIONS, *_DISPLAYS)
