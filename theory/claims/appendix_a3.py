"""Appendix A.3: the proof of Theorem 2, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

from theory import paper
from theory.claims import section_4_1
from theory.claims._assumptions import ARMS, FEASIBLE_GAP, LARGEST_GAP, LAUNCH_64, POWER_OF_TWO, THETA
from theory.claims.claim import Assumption, Check, grid
from theory.claims.section_4_2_3 import LEMMA_2_II, ORDER, log_fail
from theory.formulas import identification_margin, launch_rows, log_tail_paper, rademacher_constant, regret_paper

SIZES = tuple(
    {"n": n, "K": K, "gap": gap, "theta": theta, "r": r}
    for n, K, (gap, theta, r) in product(
        (230, 2000, 50000), (2, 8, 16), ((0.5, 0.1, 0.5), (0.6, 0.2, 0.6), (0.3, 0.1, 0.4))
    )
)
# Just above the identification condition, with ever smaller balls: n is 82 throughout.
SMALL_BALLS = tuple({"n": 82, "K": 4, "gap": r, "theta": 0.1, "r": r} for r in (0.5, 0.1, 0.01))


def _log_q(n: int, gap: float, theta: float, r: float, **_: Any) -> float:
    return float(log_tail_paper(n, gap, theta, r))


def _retyped(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return log of Eq. 11, typed again from the display of A.3."""
    exponent = 2 / 9 * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * math.sqrt(r**2 / n)) ** 2
    return math.log(8) - exponent - math.log1p(-math.exp(-exponent))


def _margin_at_uniform_rows(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return Δ/2 − 2cr/√⌊B/K⌋ with the budget B = n K log2 K."""
    return float(identification_margin(n * (K.bit_length() - 1), gap, theta, r))


def _denominator(**case: Any) -> float:
    return -math.expm1(_log_q(**case))


def _from_gap(divisor: int) -> Any:
    return lambda n, gap, **_: -math.expm1(-(gap**2) * n / divisor)


def _from_ball(factor: float) -> Any:
    return lambda theta, r, **_: -math.expm1(-factor * (rademacher_constant(theta) * r) ** 2)


def _launch_constant(gaps: tuple[float, ...], theta: float, r: float) -> float:
    """Return C = 64c²r²/Δ² of a pool with these gaps."""
    return float(launch_rows(64, min(g for g in gaps if g > 0), theta, r))


def _same_smallest_gap(gaps: tuple[float, ...], more: tuple[float, ...], **_: Any) -> bool:
    smallest = [min((gap for gap in pool if gap > 0), default=0.0) for pool in (gaps, more)]
    return smallest[0] == smallest[1] > 0


_SAME_SMALLEST_GAP = Assumption("both pools have the same smallest positive gap", _same_smallest_gap)


def _parts(share: int) -> Any:
    def total(n: int, m: int, K: int, theta: float, r: float, delta: float) -> float:
        part = delta / share
        return float(2 * paper.lemma_3(m, theta, r, part) + regret_paper(n * K, theta, r, part))

    return total


def _opened(n: int, m: int, K: int, theta: float, r: float, delta: float) -> float:
    return float(paper.excess_risk_median(n * K * (K.bit_length() - 1), K, r, theta, r, m, delta))


_SUMS = grid(n=(500,), m=(100, 10**5), K=(2, 8), theta=(0.1, 0.2), r=(0.5,), delta=(0.05,))

CHECKS = {
    "a3-step-1": section_4_1.DECOMPOSITION,
    "a3-term-b": LEMMA_2_II,
    "a3-delta": Check(
        cases=SIZES,
        printed=(log_fail, _retyped),
        mutant=(log_fail, lambda **k: _retyped(**k) + math.log(0.999)),
        assumptions=(THETA, POWER_OF_TWO, LAUNCH_64, FEASIBLE_GAP),
    ),
    "a3-quarter": Check(
        cases=SIZES,
        printed=(_margin_at_uniform_rows, lambda gap, **_: gap / 4),
        mutant=(_margin_at_uniform_rows, lambda gap, **_: gap / 2.5),
        assumptions=(THETA, POWER_OF_TWO, LAUNCH_64),
    ),
    "a3-numerator": Check(
        cases=SIZES,
        printed=(_log_q, lambda n, gap, **_: -(gap**2) * n / 72),
        mutant=(_log_q, lambda n, gap, **_: -(gap**2) * n / 17),
        assumptions=(THETA, LAUNCH_64),
    ),
    "a3-constant": Check(
        cases=(
            *grid(theta=(0.1, 0.4), r=(0.5, 3.0), gaps=((0.0, 0.4),), more=((0.0, 0.4, 0.4), (0.0, 0.0, 0.9, 0.4))),
            {"theta": 0.1, "r": 0.5, "gaps": (0.0, 0.4), "more": (0.0, 0.4, 0.45)},
        ),
        printed=(
            lambda gaps, more, **k: _launch_constant(gaps, **k),
            lambda gaps, more, **k: _launch_constant(more, **k),
        ),
        mutant=(
            lambda gaps, more, theta, r: launch_rows(64, max(gaps), theta, r),
            lambda gaps, more, theta, r: launch_rows(64, max(more), theta, r),
        ),
        assumptions=(THETA, _SAME_SMALLEST_GAP),
    ),
    "a3-denominator-1": Check(
        cases=SMALL_BALLS,
        printed=(_denominator, _from_gap(72)),
        mutant=(_denominator, _from_gap(17)),
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    "a3-denominator-2": Check(
        cases=SMALL_BALLS,
        printed=(_from_gap(72), _from_ball(8 / 9)),
        mutant=(_from_gap(72), _from_ball(1.0)),
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    "a3-absolute-constant": Check(
        cases=grid(n=(82, 1000, 10**6), K=(4,), gap=(0.5,), theta=(0.1,), r=(0.5,)),
        printed=(_denominator, _from_ball(8 / 9)),
        mutant=(_denominator, _from_ball(2.0)),
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    "a3-order": replace(ORDER, cases=SIZES),
    "a3-sum": Check(
        cases=_SUMS,
        printed=(_parts(3), _opened),
        mutant=(_parts(2), _opened),
        assumptions=(THETA, POWER_OF_TWO, LARGEST_GAP),
    ),
}
