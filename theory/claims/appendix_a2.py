"""Appendix A.2: the proof of Theorem 1, step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import corrected, paper
from theory.claims import section_4_1
from theory.claims._assumptions import (
    ARMS,
    FEASIBLE_GAP,
    LARGEST_GAP,
    LAUNCH_64,
    ONE_ROW_OR_AFFINE,
    THETA,
    WALK,
)
from theory.claims._instances import mean_absolute_walk, walk_bound, walk_violation
from theory.claims.appendix_a1 import LEMMA_3
from theory.claims.claim import Check, grid
from theory.claims.section_4_2_2 import LEMMA_1_II, SIZES, log_fail
from theory.formulas import (
    complexity,
    hoeffding_deviation,
    identification_margin,
    loss_range,
    rademacher_constant,
    regret_paper,
    tight_rademacher_constant,
)

F = Fraction


def rademacher(m: int, theta: float, r: float) -> float:
    """Return R_m(ℓ∘F), exactly: half the range for one row, r·E|S_m|/m for the walk in the affine regime."""
    if m == 1:
        return float(loss_range(theta, r)) / 2
    return r * float(mean_absolute_walk(m))


RADEMACHER_CASES = tuple(
    {"m": m, "theta": theta, "r": r}
    for theta in (0.001, 0.1, 0.25, 0.4)
    for m, r in ((1, 0.1), (1, 1 - 2 * theta), (1, 3.0), (1, 30.0), (2, 1 - 2 * theta), (100, 1 - 2 * theta))
)


def _walk_term_d(n: int, theta: float, delta: float) -> float:
    """Return 2cr/√m + √(log(1/δ)/2m) at r = 1 − 2θ."""
    return float(paper.lemma_3(n, theta, 1 - 2 * theta, delta))


def walk_hoeffding(n: int, theta: float, delta: float) -> float:
    """Return M√(log(1/δ)/2m), Hoeffding for one fixed model; the range of the walk's loss is 2r."""
    return float(corrected.term_d(n, theta, 1 - 2 * theta, delta))


def _delta(delta: Fraction, **_: Any) -> Fraction:
    return delta


WALK_TERM_D = ({"n": 30, "p": F(16, 25), "theta": F(1, 1000), "delta": F(64, 10**7)},)
WALK_STEP_3 = ({"n": 10, "p": F(33, 50), "theta": F(1, 1000), "delta": F(1, 2500)},)


def _opened(n: int, m: int, theta: float, r: float, delta: float) -> float:
    """Return the four terms without R_ap, K = 2, at the largest gap r of the affine regime."""
    return float(paper.excess_risk_uniform(2 * n, 2, r, theta, r, m, delta))


def _order(rows: Any) -> Any:
    def bound(n: int, m: int, theta: float, r: float, delta: float) -> float:
        n = rows(n, m)
        return float(8 * rademacher_constant(theta) * (complexity(n, 1, r, 1) + hoeffding_deviation(n, 6 / delta)))

    return bound


def _parts(share: int) -> Any:
    """Return term (a) + term (d) + the bound of term (b), each at δ/share."""

    def total(n: int, m: int, theta: float, r: float, delta: float) -> float:
        part = delta / share
        return float(2 * paper.lemma_3(m, theta, r, part) + regret_paper(n, theta, r, part))

    return total


_OPENED_CASES = tuple(
    {"n": n, "m": m, "theta": theta, "r": r, "delta": 0.05}
    for (n, m), theta, r in product(((10**6, 10), (1000, 1000), (1000, 10**5)), (0.1, 0.2), (0.3, 0.6))
)


def margin(n: int, gap: float, theta: float, r: float, **_: Any) -> float:
    """Return Δ/2 − 2cr/√n."""
    return float(identification_margin(n, gap, theta, r))


def _simplified(n: int, K: int, gap: float, theta: float, r: float) -> float:
    return float(paper.delta_fail_uniform_simplified(K * n, K, gap, theta, r, log=True))


def _appendix(n: int, K: int, gap: float, theta: float, r: float) -> float:
    return float(paper.delta_fail_uniform_appendix(K * n, K, gap, theta, r, log=True))


def _retyped(n: int, K: int, gap: float, theta: float, r: float) -> float:
    rate = gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * math.sqrt(r**2 / n)
    return math.log(4) + math.log(K - 1) - 2 / 9 * n * rate**2


BARELY = (
    {"n": 226, "K": 2, "gap": 0.3, "theta": 0.1, "r": 0.5},
    {"n": 1500, "K": 5, "gap": 0.3, "theta": 0.1, "r": 0.5},
    *SIZES,
)
_SMALL_GAPS = grid(n=(10**9,), K=(2,), gap=(0.5, 0.1, 0.01), theta=(0.1,), r=(0.5,), constant=(0.01,))

CHECKS = {
    "a2-step-1": section_4_1.DECOMPOSITION,
    "a2-term-c": Check(
        cases=section_4_1.DECOMPOSITIONS,
        printed=(section_4_1.term_c, lambda **_: 0),
        mutant=(section_4_1.term_c, lambda **_: F(-1, 1000)),
        assumptions=(THETA,),
    ),
    "term-a": LEMMA_3,
    "a2-step-3": Check(
        cases=WALK_STEP_3,
        printed=(walk_violation(walk_bound()), _delta),
        corrected=(walk_violation(walk_hoeffding), _delta),
        assumptions=(THETA, WALK),
    ),
    "a2-step-4": Check(
        cases=RADEMACHER_CASES,
        printed=(rademacher, lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 1)),
        corrected=(rademacher, lambda m, theta, r: complexity(m, tight_rademacher_constant(theta), r, 1)),
        mutant=(rademacher, lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 0.9)),
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
    ),
    "term-d": Check(
        cases=WALK_TERM_D,
        printed=(walk_violation(_walk_term_d), _delta),
        corrected=(walk_violation(walk_hoeffding), _delta),
        assumptions=(THETA, WALK),
    ),
    "a2-term-b": LEMMA_1_II,
    "a2-sum": Check(
        cases=_OPENED_CASES, printed=(_parts(3), _opened), mutant=(_parts(2), _opened), assumptions=(THETA, LARGEST_GAP)
    ),
    "a2-order": Check(
        cases=_OPENED_CASES,
        printed=(_opened, _order(lambda n, m: n)),
        corrected=(_opened, _order(min)),
        assumptions=(THETA, LARGEST_GAP),
    ),
    "a2-quarter": Check(
        cases=BARELY,
        printed=(margin, lambda gap, **_: gap / 4),
        mutant=(margin, lambda gap, **_: gap / 3),
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    "a2-absolute-constant": Check(
        cases=_SMALL_GAPS,
        printed=(margin, lambda constant, **_: constant),
        corrected=(margin, lambda gap, **_: gap / 4),
        assumptions=(THETA, LAUNCH_64),
    ),
    "a2-delta-line-1": Check(
        cases=BARELY,
        printed=(log_fail, _appendix),
        corrected=(log_fail, _retyped),
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
    ),
    "a2-delta-line-2": Check(
        cases=BARELY,
        printed=(_appendix, _simplified),
        corrected=(log_fail, _simplified),
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
    ),
    "a2-delta-line-3": Check(
        cases=({"gap": F(3, 10), "n": 226},),
        printed=(lambda gap, n: F(2, 9) * n * (gap / 4) ** 2, lambda gap, n: gap**2 * n / 72),
        mutant=(lambda gap, n: F(2, 9) * n * (gap / 4) ** 2, lambda gap, n: gap**2 * n / 36),
    ),
    "a2-delta-line-4": Check(
        cases=SIZES,
        printed=(_simplified, lambda n, **_: 200.0 - n),
        corrected=(_simplified, lambda n, K, gap, **_: math.log(4 * K) - gap**2 * n / 72),
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
    ),
}
