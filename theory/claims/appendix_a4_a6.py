"""Appendices A.4 and A.6: the proofs of Lemmas 1 and 4, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from theory import paper
from theory.claims._assumptions import FIRST_ARM_BEST, LAUNCH_16, ONE_ROW_OR_AFFINE, SMALLEST_GAP, THETA
from theory.claims._exact_losses import best_surrogate, surrogate_risk
from theory.claims._instances import (
    log_tail_unit_range,
    mean_over_samples,
    outlier_optimism,
    outlier_pessimism,
    pairwise,
    pool,
    sum_of_pairs,
    walk_bound,
)
from theory.claims.appendix_a1 import LEMMA_4, LEMMA_4_PREMISES, case_parameters, rademacher_term
from theory.claims.claim import Assumption, Check, grid
from theory.claims.theorem_1 import (
    RADEMACHER_CASES,
    WALK_STEP_3,
    build_walk_check,
    rademacher,
    walk_hoeffding,
    walk_lemma_3,
)
from theory.formulas import (
    launch_rows,
    log_failure_pair,
    log_tail_paper,
    log_tail_simplified,
    loss_range,
    regret_paper,
)

F = Fraction
SCORES = grid(scores=product((0, 1, 2), repeat=3))


def _returns_another(scores: tuple[int, ...], **_: Any) -> bool:
    """Return whether the smallest score may be attributed to another arm than the first (no tie rule is printed)."""
    return min(scores[1:]) <= scores[0]


def _largest(name: str, n: int) -> float:
    return float(max(pairwise(name, rival, n) for rival in range(1, pool(name).arms)))


def _beaten(name: str, n: int) -> float:
    """Return exact P(some arm scores strictly better than the first)."""
    return float(mean_over_samples(name, n, lambda scores, _: min(scores) < scores[0]))


def _bounds(gaps: tuple[float, ...], n: int, theta: float, r: float) -> float:
    return sum(math.exp(log_failure_pair(n, gap, theta, r)) for gap in gaps)


def _min_gap_bound(ties: bool) -> Any:
    """Return 4·count·exp(… Δ …) where count is K − 1, or the number of positive gaps."""

    def bound(gaps: tuple[float, ...], n: int, theta: float, r: float) -> float:
        smallest = min(g for g in gaps if g > 0)
        count = len(gaps) if ties else sum(g > 0 for g in gaps)
        return count * _bounds((smallest,), n, theta, r)

    return bound


def _smallest_launches(gaps: tuple[float, ...], n: int, theta: float, r: float) -> bool:
    positive = [gap for gap in gaps if gap > 0]
    return min(gaps) >= 0 and bool(positive) and n > launch_rows(16, min(positive), theta, r)


_SMALLEST_LAUNCHES = Assumption(
    "identification condition with the factor 16 at the smallest positive gap", _smallest_launches
)
_GAPS = grid(gaps=((0.2, 0.4), (0.0, 0.3), (0.3, 0.3, 0.45)), n=(4000, 10000), theta=(0.1,), r=(0.5,))


def split(sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> tuple[Fraction, ...]:
    """Return V, R_tr(f̂), R_tr(f̂*) and the score of f̂*, at one point, f̂ learned from ``sampled``."""
    value, h, g = best_surrogate(sampled, theta, radius)
    best, h_star, g_star = best_surrogate(train, theta, radius)
    return value, F(surrogate_risk(h, g, train, theta)), best, F(surrogate_risk(h_star, g_star, sampled, theta))


def _regret(**case: Fraction) -> Fraction:
    _, learned, best, _ = split(**case)
    return learned - best


def _three_terms(**case: Fraction) -> Fraction:
    value, learned, best, score = split(**case)
    return (learned - value) + (value - score) + (score - best)


def generalisation_error(**case: Fraction) -> Fraction:
    """Return R_tr(f̂) − V, term (a)."""
    value, learned, _, _ = split(**case)
    return learned - value


SPLITS = grid(
    sampled=(F(1, 2), F(4, 5), F(1)), train=(F(2, 5), F(9, 10)), theta=(F(1, 10), F(3, 10)), radius=(F(1, 2), F(3))
)


def _score_difference(learned: Any) -> Any:
    """Return score of the learned model minus score of f̂* on rows with x = 1, y = +1; both are constants."""

    def difference(theta: Fraction, radius: Fraction, C: Fraction) -> Fraction:
        h = learned(radius, C)
        return F(surrogate_risk(h, -h, F(1), theta)) - best_surrogate(F(1), theta, radius)[0]

    return difference


_ON_THE_BALL = Assumption(
    "Lambda and 1/(4C) are at most 1 - 2 theta, where both fits are known",
    lambda theta, radius, C: C > 0 and radius > 0 and max(radius, 1 / (4 * C)) <= 1 - 2 * theta,
    instance=True,
)


def walk_half(n: int, theta: float, delta: float) -> float:
    """Return Lemma 3 at delta/2 and r = 1 − 2θ: the bound of terms (a) and (c) of A.4."""
    return walk_lemma_3(n, theta, delta / 2)


def _walk_half_corrected(n: int, theta: float, delta: float) -> float:
    """Return 2cr/√n + M√(log(2/δ)/2n) at r = 1 − 2θ, M = 2r."""
    return rademacher_term(n, theta, 1 - 2 * theta) + walk_hoeffding(n, theta, delta / 2)


def _walk_regret(n: int, theta: float, delta: float) -> float:
    return float(regret_paper(n, theta, 1 - 2 * theta, delta))


# The level of one term is delta/2; so delta is twice that of term (d) in A.2.
WALK_HALF = (30, F(16, 25), F(1, 1000), F(128, 10**7))


def _selection(name: str, n: int, good_rows: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return (P(bad and i_s = 1), P(bad), P(i_s = 1)); bad: the first arm is right on ``good_rows`` rows or more."""

    def bad(scores: Any, counts: tuple[int, ...]) -> bool:
        return n - counts[1] >= good_rows

    def first(scores: list[Fraction], counts: Any) -> bool:
        return scores[0] == min(scores)

    joint = mean_over_samples(name, n, lambda *sample: bad(*sample) and first(*sample))
    return joint, mean_over_samples(name, n, bad), mean_over_samples(name, n, first)


def _conditional(name: str, n: int, good_rows: int) -> Fraction:
    joint, _, chosen = _selection(name, n, good_rows)
    return joint / chosen


_CONDITIONED = ({"name": "star-3", "n": 8, "good_rows": 8}, {"name": "star-4", "n": 5, "good_rows": 5})

_VALUES = tuple(F(i, 4) for i in range(5))
_SCORES = tuple({"score": s, "first": f, "risk": r, "best": b} for s, f, r, b in product(_VALUES, repeat=4) if r > b)


def _either(half: Fraction) -> Any:
    """Return V_i < R_i − Δ·half or V_1 > R_1 + Δ·half."""

    def event(score: Fraction, first: Fraction, risk: Fraction, best: Fraction) -> bool:
        shift = (risk - best) * half
        return score < risk - shift or first > best + shift

    return event


def _events(name: str, n: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return exact (P(A or B), P(A), P(B)) for the two events of A.6 and the second arm."""
    risks, half = pool(name).risks(), pool(name).gaps()[1] / 2

    def low(scores: list[Fraction], _: Any) -> bool:
        return scores[1] < risks[1] - half

    def high(scores: list[Fraction], _: Any) -> bool:
        return scores[0] > risks[0] + half

    either = mean_over_samples(name, n, lambda *sample: low(*sample) or high(*sample))
    return either, mean_over_samples(name, n, low), mean_over_samples(name, n, high)


def _optimism(**case: Fraction) -> Fraction:
    """Return R_tr(f̂*) − V."""
    value, _, best, _ = split(**case)
    return best - value


def _two_parts(**case: Fraction) -> Fraction:
    value, learned, best, _ = split(**case)
    return (best - learned) + (learned - value)


def _tail_printed(**case: Any) -> float:
    """Return log(2 exp(−(2/9) n x²)) on the outlier instance."""
    return math.log(2) + float(log_tail_paper(*case_parameters(**case)))


def _tail_corrected(**case: Any) -> float:
    """Return log exp(−2 n x²/M²)."""
    return log_tail_unit_range(*case_parameters(**case)) / float(loss_range(case["theta"], case["r"])) ** 2


def _fixed_model(**case: Any) -> float:
    """Return log exp(−nΔ²/(2M²)): Hoeffding for the best model of the training set, which is fixed."""
    n, gap, theta, r = case_parameters(**case)
    return float(log_tail_simplified(n, gap, 2 * loss_range(theta, r) ** 2))


OPTIMISTIC = (
    {"r": 20.0, "theta": 1e-6, "n": 5626138, "count": 260796, "p": 0.04509031198686371, "q": 1 / 21},
    {"r": 6.0, "theta": 1e-6, "n": 830217, "count": 114082, "p": 0.1319704433497537, "q": 1 / 7},
)
PESSIMISTIC = (
    {"r": 20.0, "theta": 1e-6, "n": 17629440, "count": 826909, "p": 0.97 / 21, "q": 1 / 21},
    {"r": 6.0, "theta": 1e-6, "n": 5357630, "count": 753899, "p": 0.97 / 7, "q": 1 / 7},
)
_CONDITIONS = tuple(
    {
        "n": math.floor(launch_rows(16, gap, theta, r)) + 1,
        "gap": gap,
        "gap_i": gap * ratio,
        "theta": theta,
        "r": r,
    }
    for gap, ratio, theta, r in product((0.1, 0.3), (1.0, 2.0), (0.1, 0.4), (0.5, 3.0))
)

_TAIL = Check(
    cases=OPTIMISTIC,
    printed=(outlier_optimism, _tail_printed),
    corrected=_tail_corrected,
    assumptions=LEMMA_4_PREMISES,
)


CHECKS = {
    "a4-step-1": Check(
        cases=SCORES,
        printed=(_returns_another, lambda scores: any(s < scores[0] for s in scores[1:])),
        corrected=lambda scores: any(s <= scores[0] for s in scores[1:]),
    ),
    "a4-union": Check(
        cases=({"name": "star-3", "n": 8}, {"name": "star-4-close", "n": 6}),
        printed=(_beaten, sum_of_pairs),
        mutant=_largest,
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a4-lemma-4": LEMMA_4,
    "a4-min-gap": Check(
        cases=_GAPS,
        printed=(_bounds, _min_gap_bound(True)),
        corrected=(lambda gaps, **k: _bounds(tuple(g for g in gaps if g > 0), **k), _min_gap_bound(False)),
        assumptions=(THETA, _SMALLEST_LAUNCHES),
    ),
    "a4-identity": Check(
        cases=SPLITS, printed=(_regret, _three_terms), mutant=generalisation_error, assumptions=(THETA,)
    ),
    "a4-term-b": Check(
        cases=grid(theta=(F(1, 10), F(1, 5)), radius=(F(1, 2),), C=(F(1),)),
        # On x = 1, y = +1 Eq. 3 gives h = -g = 1/(4C), the ball h = -g = Lambda.
        printed=(_score_difference(lambda radius, C: 1 / (4 * C)), lambda **_: 0),
        corrected=(_score_difference(lambda radius, C: radius), lambda **_: 0),
        assumptions=(THETA, _ON_THE_BALL),
    ),
    "a4-term-a": build_walk_check(WALK_HALF, walk_half, _walk_half_corrected, learned=True, share=2),
    "a4-term-c": build_walk_check(
        WALK_HALF, walk_half, lambda n, theta, delta: walk_hoeffding(n, theta, delta / 2), share=2
    ),
    "a4-conditioning": Check(
        cases=_CONDITIONED,
        printed=(_conditional, lambda **k: _selection(**k)[1]),
        corrected=(lambda **k: _selection(**k)[0], lambda **k: _selection(**k)[1]),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a4-sum": Check(
        cases=grid(n=(10, 1000), theta=(0.1, 0.4), delta=(0.05,)),
        printed=(lambda **case: 2 * walk_half(**case), _walk_regret),
        mutant=(walk_half, _walk_regret),
        assumptions=(THETA,),
    ),
    "a4-conclusion": Check(
        cases=_CONDITIONED,
        printed=(
            lambda **k: 1 - _selection(**k)[2] + _selection(**k)[0],
            lambda **k: _selection(**k)[1] + 1 - _selection(**k)[2],
        ),
        mutant=lambda **k: _selection(**k)[1],
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a6-inclusion": Check(
        cases=_SCORES,
        printed=(lambda score, first, **_: score < first, _either(F(1, 2))),
        mutant=_either(F(3, 4)),
    ),
    "a6-union": Check(
        cases=({"name": "opposed", "n": 6}, {"name": "star-3", "n": 6}),
        printed=(lambda **k: _events(**k)[0], lambda **k: sum(_events(**k)[1:], F(0))),
        mutant=lambda **k: max(_events(**k)[1:]),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a6-gap": Check(
        cases=grid(name=("opposed", "tied-3", "star-4")),
        printed=(
            lambda name: tuple(risk - pool(name).risks()[0] for risk in pool(name).risks()),
            lambda name: pool(name).gaps(),
        ),
        mutant=(
            lambda name: tuple(risk - pool(name).risks()[-1] for risk in pool(name).risks()),
            lambda name: pool(name).gaps(),
        ),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a6-split": Check(cases=SPLITS, printed=(_optimism, _two_parts), mutant=generalisation_error, assumptions=(THETA,)),
    "a6-drop": Check(
        cases=SPLITS,
        printed=(_optimism, generalisation_error),
        mutant=(generalisation_error, _optimism),
        assumptions=(THETA,),
    ),
    "a6-generalisation": build_walk_check(WALK_STEP_3, walk_bound(), walk_bound(width=True), learned=True),
    "a6-index": build_walk_check(
        (10, F(3, 5), F(1, 10), F(1, 10)), walk_bound(10**4), walk_bound(width=True), learned=True
    ),
    "a6-rademacher": Check(
        cases=RADEMACHER_CASES,
        printed=(lambda **k: 2 * rademacher(**k), rademacher_term),
        mutant=lambda **k: rademacher_term(**k) / 2,
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
    ),
    "a6-condition": Check(
        cases=_CONDITIONS,
        printed=(lambda gap, gap_i, **_: min(gap, gap_i) / 2, lambda n, theta, r, **_: rademacher_term(n, theta, r)),
        mutant=lambda n, theta, r, **_: 1.1 * rademacher_term(n, theta, r),
        assumptions=(THETA, LAUNCH_16, SMALLEST_GAP),
    ),
    "a6-tail": _TAIL,
    "a6-term-a": replace(_TAIL),
    "a6-term-b": Check(
        cases=PESSIMISTIC,
        printed=(outlier_pessimism, _tail_printed),
        corrected=_fixed_model,
        assumptions=LEMMA_4_PREMISES,
    ),
    "a6-conclusion": Check(
        cases=grid(n=(5000,), gap=(0.1, 0.3, 0.5), theta=(0.1,), r=(0.5,)),
        printed=(
            lambda **case: 2 * (2 * math.exp(log_tail_paper(**case))),
            lambda n, gap, theta, r: float(paper.lemma_4(n, gap, theta, r)),
        ),
        mutant=(
            lambda **case: 2 * math.exp(log_tail_paper(**case)),
            lambda n, gap, theta, r: float(paper.lemma_4(n, gap, theta, r)),
        ),
        assumptions=(THETA, LAUNCH_16),
    ),
}
