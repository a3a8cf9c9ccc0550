"""Appendix A.6: the proof of Lemma 4, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from theory import exact, paper
from theory.claims._assumptions import FIRST_ARM_BEST, LAUNCH_16, ONE_ROW_OR_AFFINE, SMALLEST_GAP, THETA, WALK
from theory.claims._instances import (
    OUTLIER_PREMISE,
    is_outlier_instance,
    outlier_gap,
    outlier_optimism,
    outlier_pessimism,
    pool,
    walk_bound,
    walk_violation,
)
from theory.claims.appendix_a1 import rademacher_term
from theory.claims.appendix_a2 import RADEMACHER_CASES, WALK_STEP_3, rademacher
from theory.claims.appendix_a4 import SPLITS, generalisation_error, split
from theory.claims.claim import Assumption, Check, grid
from theory.formulas import identification_margin, launch_rows, log_tail_paper, loss_range

F = Fraction
_VALUES = tuple(F(i, 4) for i in range(5))
_SCORES = tuple({"score": s, "first": f, "risk": r, "best": b} for s, f, r, b in product(_VALUES, repeat=4) if r > b)


def _either(half: Fraction) -> Any:
    """Return V_i < R_i − Δ·half or V_1 > R_1 + Δ·half."""

    def event(score: Fraction, first: Fraction, risk: Fraction, best: Fraction) -> bool:
        shift = (risk - best) * half
        return score < risk - shift or first > best + shift

    return event


@lru_cache(maxsize=16)
def _events(name: str, n: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return exact (P(A or B), P(A), P(B)) for the two events of A.6 and the second arm."""
    built = pool(name)
    risks, gap = built.risks(), built.gaps()[1]
    either = first = second = F(0)
    for counts, p in exact.sample_distribution(built, n):
        a = exact.score(built, 1, counts) < risks[1] - gap / 2
        b = exact.score(built, 0, counts) > risks[0] + gap / 2
        either, first, second = either + p * (a or b), first + p * a, second + p * b
    return either, first, second


def _optimism(**case: Fraction) -> Fraction:
    """Return R_tr(f̂*) − V."""
    value, _, best, _ = split(**case)
    return best - value


def _two_parts(**case: Fraction) -> Fraction:
    value, learned, best, _ = split(**case)
    return (best - learned) + (learned - value)


_INDEX = ({"n": 10, "p": F(3, 5), "theta": F(1, 10), "delta": F(1, 10)},)


def _tail(prefactor: int, exponent: Any) -> Any:
    """Return log(prefactor · exp(−exponent·n·x²)) on the outlier instance."""

    def bound(r: float, theta: float, n: int, count: int, p: float, q: float) -> float:
        margin = identification_margin(n, outlier_gap(r, theta, p, q), theta, r)
        return float(math.log(prefactor) - float(exponent(theta, r)) * n * margin**2)

    return bound


def _meets_launch_condition(r: float, theta: float, n: int, count: int, p: float, q: float) -> bool:
    gap = outlier_gap(r, theta, p, q)
    return bool(gap > 0 and n > launch_rows(16, gap, theta, r))


_PREMISES = (
    Assumption(OUTLIER_PREMISE, is_outlier_instance, instance=True),
    Assumption("identification condition with the factor 16", _meets_launch_condition),
)
_PRINTED = _tail(2, lambda theta, r: 2 / 9)
_CORRECTED = _tail(1, lambda theta, r: 2 / float(loss_range(theta, r)) ** 2)


def _fixed_model(r: float, theta: float, n: int, count: int, p: float, q: float) -> float:
    """Return log exp(−nΔ²/(2M²)): Hoeffding for the best model of the training set, which is fixed."""
    return float(-n * outlier_gap(r, theta, p, q) ** 2 / (2 * loss_range(theta, r) ** 2))


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
    printed=(outlier_optimism, _PRINTED),
    corrected=(outlier_optimism, _CORRECTED),
    assumptions=_PREMISES,
)


CHECKS = {
    "a6-inclusion": Check(
        cases=_SCORES,
        printed=(lambda score, first, **_: score < first, _either(F(1, 2))),
        mutant=(lambda score, first, **_: score < first, _either(F(3, 4))),
    ),
    "a6-union": Check(
        cases=({"name": "opposed", "n": 6}, {"name": "star-3", "n": 6}),
        printed=(lambda **k: _events(**k)[0], lambda **k: sum(_events(**k)[1:], F(0))),
        mutant=(lambda **k: _events(**k)[0], lambda **k: max(_events(**k)[1:])),
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
    "a6-split": Check(
        cases=SPLITS, printed=(_optimism, _two_parts), mutant=(_optimism, generalisation_error), assumptions=(THETA,)
    ),
    "a6-drop": Check(
        cases=SPLITS,
        printed=(_optimism, generalisation_error),
        mutant=(generalisation_error, _optimism),
        assumptions=(THETA,),
    ),
    "a6-generalisation": Check(
        cases=WALK_STEP_3,
        printed=(walk_violation(walk_bound(), learned=True), lambda delta, **_: delta),
        corrected=(walk_violation(walk_bound(width=True), learned=True), lambda delta, **_: delta),
        assumptions=(THETA, WALK),
    ),
    "a6-index": Check(
        cases=_INDEX,
        printed=(walk_violation(walk_bound(10**4), learned=True), lambda delta, **_: delta),
        corrected=(walk_violation(walk_bound(width=True), learned=True), lambda delta, **_: delta),
        assumptions=(THETA, WALK),
    ),
    "a6-rademacher": Check(
        cases=RADEMACHER_CASES,
        printed=(lambda **k: 2 * rademacher(**k), rademacher_term),
        mutant=(lambda **k: 2 * rademacher(**k), lambda **k: rademacher_term(**k) / 2),
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
    ),
    "a6-condition": Check(
        cases=_CONDITIONS,
        printed=(lambda gap, gap_i, **_: min(gap, gap_i) / 2, lambda n, theta, r, **_: rademacher_term(n, theta, r)),
        mutant=(
            lambda gap, gap_i, **_: min(gap, gap_i) / 2,
            lambda n, theta, r, **_: 1.1 * rademacher_term(n, theta, r),
        ),
        assumptions=(THETA, LAUNCH_16, SMALLEST_GAP),
    ),
    "a6-tail": _TAIL,
    "a6-term-a": replace(_TAIL),
    "a6-term-b": Check(
        cases=PESSIMISTIC,
        printed=(outlier_pessimism, _PRINTED),
        corrected=(outlier_pessimism, _fixed_model),
        assumptions=_PREMISES,
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
