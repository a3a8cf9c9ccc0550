"""Appendix A.4: the proof of Lemma 1, step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from theory import exact
from theory.claims.appendix_a1 import LEMMA_4, LEMMA_4_CASES, LEMMA_4_PREMISES, LEMMA_4_REPAIRED
from theory.claims.appendix_a2 import walk_hoeffding
from theory.claims.assumptions import FIRST_ARM_BEST, THETA, WALK
from theory.claims.claim import Assumption, Claim, Place, Reading
from theory.claims.exact_losses import best_surrogate, c, surrogate_risk
from theory.claims.instances import pairwise, pool, walk_violation
from theory.claims.uniform import regret_printed

F = Fraction
SCORES = tuple({"scores": scores} for scores in product((0, 1, 2), repeat=3))


def _returns_another(scores: tuple[int, ...], **_: Any) -> bool:
    """Whether the smallest score may be attributed to another arm than the first (no tie rule is printed)."""
    return min(scores[1:]) <= scores[0]


def _union(name: str, n: int) -> float:
    return sum(pairwise(name, rival, n) for rival in range(1, pool(name).arms))


def _largest(name: str, n: int) -> float:
    return max(pairwise(name, rival, n) for rival in range(1, pool(name).arms))


@lru_cache(maxsize=64)
def _beaten(name: str, n: int) -> float:
    """Exact P(some arm scores strictly better than the first)."""
    built = pool(name)
    return float(1 - exact.uniform_selection(built, built.arms * n)[0])


def _bounds(gaps: tuple[float, ...], n: int, theta: float, r: float) -> float:
    rates = (gap / 2 - 2 * c(theta) * r / math.sqrt(n) for gap in gaps)
    return 4 * sum(math.exp(-2 / 9 * n * rate**2) for rate in rates)


def _min_gap_bound(ties: bool) -> Any:
    """4·count·exp(… Δ …) where count is K − 1, or the number of positive gaps."""

    def bound(gaps: tuple[float, ...], n: int, theta: float, r: float) -> float:
        smallest = min(g for g in gaps if g > 0)
        count = len(gaps) if ties else sum(g > 0 for g in gaps)
        return count * _bounds((smallest,), n, theta, r)

    return bound


def _smallest_launches(gaps: tuple[float, ...], n: int, theta: float, r: float) -> bool:
    positive = [gap for gap in gaps if gap > 0]
    return min(gaps) >= 0 and bool(positive) and n > 16 * (c(theta) * r / min(positive)) ** 2


_SMALLEST_LAUNCHES = Assumption(
    "identification condition with the factor 16 at the smallest positive gap", _smallest_launches
)
_GAPS = tuple(
    {"gaps": gaps, "n": n, "theta": 0.1, "r": 0.5}
    for gaps, n in product(((0.2, 0.4), (0.0, 0.3), (0.3, 0.3, 0.45)), (4000, 10000))
)


def _regret(sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    _, h, g = best_surrogate(sampled, theta, radius)
    return F(surrogate_risk(h, g, train, theta)) - best_surrogate(train, theta, radius)[0]


def _three_terms(sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    value, h, g = best_surrogate(sampled, theta, radius)
    best, h_star, g_star = best_surrogate(train, theta, radius)
    term_a = surrogate_risk(h, g, train, theta) - value
    term_b = value - surrogate_risk(h_star, g_star, sampled, theta)
    term_c = surrogate_risk(h_star, g_star, sampled, theta) - best
    return F(term_a + term_b + term_c)


def _without_term_c(sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    value, h, g = best_surrogate(sampled, theta, radius)
    return F(surrogate_risk(h, g, train, theta) - value)


SPLITS = tuple(
    {"sampled": sampled, "train": train, "theta": theta, "radius": radius}
    for sampled, train, theta, radius in product(
        (F(1, 2), F(4, 5), F(1)), (F(2, 5), F(9, 10)), (F(1, 10), F(3, 10)), (F(1, 2), F(3))
    )
)


def _score_difference(learned: Any) -> Any:
    """Score of the learned model minus score of f̂* on rows with x = 1, y = +1; both are constants."""

    def difference(theta: Fraction, radius: Fraction, C: Fraction) -> Fraction:
        h = learned(radius, C)
        return F(surrogate_risk(h, -h, F(1), theta)) - best_surrogate(F(1), theta, radius)[0]

    return difference


def _on_the_ball(theta: Fraction, radius: Fraction, C: Fraction) -> bool:
    return C > 0 and radius > 0 and max(radius, 1 / (4 * C)) <= 1 - 2 * theta


_ON_THE_BALL = Assumption("Lambda and 1/(4C) are at most 1 - 2 theta, where both fits are known", _on_the_ball)


def walk_half(n: int, theta: float, delta: float) -> float:
    """2cr/√n + √(log(2/δ)/2n) at r = 1 − 2θ: the bound of terms (a) and (c) of A.4."""
    r = 1 - 2 * theta
    return 2 * c(theta) * r / math.sqrt(n) + math.sqrt(math.log(2 / delta) / (2 * n))


def walk_half_corrected(n: int, theta: float, delta: float) -> float:
    """2cr/√n + M√(log(2/δ)/2n) at r = 1 − 2θ, M = 2r."""
    return 2 * c(theta) * (1 - 2 * theta) / math.sqrt(n) + walk_hoeffding(n, theta, delta / 2)


# The level of one term is delta/2; so delta is twice that of term (d) in A.2.
WALK_HALF = ({"n": 30, "p": F(16, 25), "theta": F(1, 1000), "delta": F(128, 10**7)},)


@lru_cache(maxsize=16)
def _optimism(name: str, n: int, good_rows: int) -> tuple[Fraction, Fraction, Fraction]:
    """(P(bad and i_s = 1), P(bad), P(i_s = 1)); bad: the first arm is right on ``good_rows`` rows or more."""
    built = pool(name)
    joint = bad = chosen = F(0)
    for counts, p in exact.sample_distribution(built, n):
        scores = [exact.score(built, arm, counts) for arm in range(built.arms)]
        is_bad = n - counts[1] >= good_rows
        is_first = scores[0] == min(scores)
        joint += p * (is_bad and is_first)
        bad += p * is_bad
        chosen += p * is_first
    return joint, bad, chosen


def _conditional(name: str, n: int, good_rows: int) -> Fraction:
    joint, _, chosen = _optimism(name, n, good_rows)
    return joint / chosen


_CONDITIONED = ({"name": "star-3", "n": 8, "good_rows": 8}, {"name": "star-4", "n": 5, "good_rows": 5})

CLAIMS = (
    Claim(
        id="a4-step-1",
        where=Place("A.4", "failure implies a better score", 793),
        statement=r"i_s\ne1\Rightarrow\exists i:\hat R_i^{surr}(\hat f_i)<\hat R_1^{surr}(\hat f_1)",
        plain=(
            "If another feature is returned, some feature scores strictly better. Not so with equal scores, "
            "for which the paper gives no rule."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=SCORES,
        reading=Reading(_returns_another, "<=", lambda scores: any(s < scores[0] for s in scores[1:])),
        repaired=Reading(_returns_another, "<=", lambda scores: any(s <= scores[0] for s in scores[1:])),
        corrected=(
            r"\exists i\ne1:\hat R_i^{surr}(\hat f_i)\le\hat R_1^{surr}(\hat f_1)\text{, or ties t"
            r"o the lowest index}"
        ),
        errata=("E7",),
    ),
    Claim(
        id="a4-union",
        where=Place("A.4", "union bound", 796),
        statement=r"\Pr[\exists i\ne1:V_i<V_1]\le\sum_{i\ne1}\Pr[V_i<V_1]",
        plain="The union bound over the rivals.",
        printed="holds",
        kind="exact-probability",
        cases=({"name": "star-3", "n": 8}, {"name": "star-4-close", "n": 6}),
        reading=Reading(_beaten, "<=", _union),
        mutant=Reading(_beaten, "<=", _largest),
        assumptions=(FIRST_ARM_BEST,),
    ),
    Claim(
        id="a4-lemma-4",
        where=Place("A.4", "Lemma 4 for each rival", 797),
        statement=(
            r"\sum_{i\ne1}\Pr[V_i<V_1]\le4\sum_{i\ne1}\exp\Big(-\tfrac29n\Big(\tfrac{\Delta_i}2-\cdots\Big"
            r")^2\Big)"
        ),
        plain="Each term by Lemma 4 (K = 2 here); it inherits the range constant for large kappa*Lambda.",
        printed="holds-corrected",
        kind="exact-probability",
        cases=LEMMA_4_CASES,
        reading=LEMMA_4,
        repaired=LEMMA_4_REPAIRED,
        corrected=r"\text{for }\Delta_i>0\text{ and with the corrected Lemma 4}",
        assumptions=LEMMA_4_PREMISES,
        errata=("E5",),
    ),
    Claim(
        id="a4-min-gap",
        where=Place("A.4", "smallest gap for every rival", 798),
        statement=r"4\sum_{i\ne1}\exp(\cdots\Delta_i\cdots)\le4(K-1)\exp(\cdots\Delta\cdots)",
        plain="Replacing each gap by the smallest positive one. A rival with gap zero breaks it.",
        printed="holds-corrected",
        kind="counterexample",
        cases=_GAPS,
        reading=Reading(_bounds, "<=", _min_gap_bound(True)),
        repaired=Reading(lambda gaps, **k: _bounds(tuple(g for g in gaps if g > 0), **k), "<=", _min_gap_bound(False)),
        corrected=r"\sum_{i:\Delta_i>0}",
        assumptions=(THETA, _SMALLEST_LAUNCHES),
        errata=("E7",),
    ),
    Claim(
        id="a4-identity",
        where=Place("A.4", "regret in three terms", 804),
        statement=r"\hat R_{tr,1}(\hat f_1)-\hat R_{tr,1}(\hat f_1^*)=(a)+(b)+(c)",
        plain="The regret is the sum of three differences.",
        printed="holds",
        kind="identity",
        cases=SPLITS,
        reading=Reading(_regret, "==", _three_terms),
        mutant=Reading(_regret, "==", _without_term_c),
        assumptions=(THETA,),
    ),
    Claim(
        id="a4-term-b",
        where=Place("A.4", "term (b) <= 0", 807),
        statement=r"\hat R_1^{surr}(\hat f_1)\le\hat R_1^{surr}(\hat f_1^*)",
        plain=(
            "Term (b) is not positive because the learned model minimises the empirical risk. The model of "
            "Eq. 3 does not: it minimises the regularised risk."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=tuple({"theta": theta, "radius": F(1, 2), "C": F(1)} for theta in (F(1, 10), F(1, 5))),
        # On x = 1, y = +1 Eq. 3 gives h = -g = 1/(4C), the ball h = -g = Lambda.
        reading=Reading(_score_difference(lambda radius, C: 1 / (4 * C)), "<=", lambda **_: 0),
        repaired=Reading(_score_difference(lambda radius, C: radius), "<=", lambda **_: 0),
        corrected=r"\text{the same for the minimiser over the ball}",
        assumptions=(THETA, _ON_THE_BALL),
        errata=("E21",),
    ),
    Claim(
        id="a4-term-a",
        where=Place("A.4", "term (a)", 809),
        statement=(
            r"\mathtt{term(a)}\le\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}+\sqrt{\tfrac{"
            r"\log(2/\delta)}{2n}}"
        ),
        plain="Generalisation error of the learned model at level delta/2, without the range of the loss.",
        printed="holds-corrected",
        kind="exact-probability",
        cases=WALK_HALF,
        reading=Reading(walk_violation(walk_half, learned=True), "<=", lambda delta, **_: delta / 2),
        repaired=Reading(
            walk_violation(walk_half_corrected, learned=True),
            "<=",
            lambda delta, **_: delta / 2,
        ),
        corrected=r"\cdots+M\sqrt{\log(2/\delta)/2n}",
        assumptions=(THETA, WALK),
        errata=("E4",),
    ),
    Claim(
        id="a4-term-c",
        where=Place("A.4", "term (c)", 812),
        statement=(
            r"\mathtt{term(c)}\le\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}+\sqrt{\tfrac{"
            r"\log(2/\delta)}{2n}}"
        ),
        plain=(
            "Deviation of a fixed model at level delta/2: Hoeffding needs the range of the loss, and no "
            "Rademacher term."
        ),
        printed="holds-corrected",
        kind="exact-probability",
        cases=WALK_HALF,
        reading=Reading(walk_violation(walk_half), "<=", lambda delta, **_: delta / 2),
        repaired=Reading(
            walk_violation(lambda n, theta, delta: walk_hoeffding(n, theta, delta / 2)),
            "<=",
            lambda delta, **_: delta / 2,
        ),
        corrected=r"\le M\sqrt{\log(2/\delta)/2n}",
        assumptions=(THETA, WALK),
        errata=("E4",),
    ),
    Claim(
        id="a4-conditioning",
        where=Place("A.4", "conditioning on success", 813),
        statement=r"\Pr[\mathtt{term(a)}>t]\le\delta\Rightarrow\Pr[\mathtt{term(a)}>t\mid i_s=1]\le\delta",
        plain=(
            "Given that the first feature was returned, a deviation of probability delta still has "
            "probability at most delta. A sample that flatters the first feature is more likely then; only "
            "the intersection is bounded by delta."
        ),
        printed="refuted",
        kind="exact-probability",
        cases=_CONDITIONED,
        reading=Reading(_conditional, "<=", lambda **k: _optimism(**k)[1]),
        repaired=Reading(lambda **k: _optimism(**k)[0], "<=", lambda **k: _optimism(**k)[1]),
        corrected=r"\Pr[\mathtt{term(a)}>t,\ i_s=1]\le\delta",
        assumptions=(FIRST_ARM_BEST,),
        errata=("E15",),
    ),
    Claim(
        id="a4-sum",
        where=Place("A.4", "sum of terms (a) and (c)", 814),
        statement=(
            r"(a)+(c)\le\tfrac{4-4\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}+2\sqrt{\tfrac{\log(2/"
            r"\delta)}{2n}}"
        ),
        plain="The bounds of terms (a) and (c) add up to the display.",
        printed="holds",
        kind="identity",
        cases=tuple({"n": n, "theta": theta, "delta": 0.05} for n, theta in product((10, 1000), (0.1, 0.4))),
        reading=Reading(
            lambda n, theta, delta: 2 * walk_half(n, theta, delta),
            "==",
            lambda n, theta, delta: regret_printed(n, 1 - 2 * theta, theta, delta),
        ),
        mutant=Reading(
            lambda n, theta, delta: walk_half(n, theta, delta),
            "==",
            lambda n, theta, delta: regret_printed(n, 1 - 2 * theta, theta, delta),
        ),
        assumptions=(THETA,),
    ),
    Claim(
        id="a4-conclusion",
        where=Place("A.4", "union of failure and deviation", 815),
        statement=r"\Pr[\text{bad or }i_s\ne1]\le\delta+\delta_{fail}",
        plain="Deviation and failure together have probability at most the sum of the two.",
        printed="holds",
        kind="exact-probability",
        cases=_CONDITIONED,
        reading=Reading(
            lambda **k: 1 - _optimism(**k)[2] + _optimism(**k)[0],
            "<=",
            lambda **k: _optimism(**k)[1] + 1 - _optimism(**k)[2],
        ),
        mutant=Reading(lambda **k: 1 - _optimism(**k)[2] + _optimism(**k)[0], "<=", lambda **k: _optimism(**k)[1]),
        assumptions=(FIRST_ARM_BEST,),
    ),
)
