"""Section 4.2.3 and Appendix A.3: median elimination, Theorem 2 and its proof, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from theory import corrected, paper, tighter
from theory.claims import section_4_1
from theory.claims._assumptions import (
    ARMS,
    DIVISIBLE,
    FEASIBLE_GAP,
    FIRST_ARM_BEST,
    FIRST_EPISODE,
    LARGEST_GAP,
    LAUNCH_16,
    LAUNCH_16_FIRST_ROUND,
    LAUNCH_64,
    POWER_OF_TWO,
    THETA,
)
from theory.claims._instances import failure_median, pulls
from theory.claims._strategies import (
    build_condition_check,
    build_corner_check,
    build_one_row_check,
    opened_risk,
    pool_bound,
    pool_bound_unit_range,
    smallest_budget,
    sum_of_parts,
)
from theory.claims.claim import Assumption, Check, cases, cross, grid
from theory.claims.theorem_1 import POINTS
from theory.claims.theorem_1 import log_fail as log_fail_uniform
from theory.formulas import (
    ceil_log2,
    gap_ceiling,
    identification_margin,
    launch_rows,
    log_failure_median,
    log_failure_median_simplified,
    log_tail_paper,
    log_tail_simplified,
    rademacher_constant,
    regret_paper,
)

RADII = np.geomspace(0.01, 50, 400)


def log_fail(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return log δ_fail of Eq. 11 with n rows in the first round, K a power of two."""
    return float(paper.delta_fail_median(n * K * (K.bit_length() - 1), K, gap, theta, r, log=True))


def _failure(**options: Any) -> Any:
    return lambda name, B: failure_median(name, B, accumulate=False, **options)


def regret_with_twice_the_rows(n: int, r: float, theta: float, delta: float) -> float:
    """Return Lemma 2 (ii) at K = 2: it prints B = 2n rows where the selected arm has n."""
    return float(regret_paper(2 * n, theta, r, delta))


LEMMA_2_II = build_corner_check(
    "median",
    (
        {"n": 10**5, "tilt": 3.6 / math.sqrt(10**5), "third": 18 / math.sqrt(10**5), "delta": 7.3e-5},
        {"n": 10**6, "tilt": 3.55e-3, "third": 0.018, "delta": 1.36e-4},
    ),
    regret_with_twice_the_rows,
)


def _log_fail_uniform(n: int, K: int, **others: float) -> float:
    """Return log δ_fail of Eq. 9 with the budget of `log_fail`."""
    return log_fail_uniform(n * ceil_log2(K), K, **others)


def _regret_median(B: int, K: int, theta: float, r: float, delta: float) -> float:
    """Return the bound of Lemma 2 (ii) at the rows that the selected arm has."""
    return float(paper.exploratory_regret_median(sum(pulls(B, K)) * ceil_log2(K), K, 0.3, theta, r, delta))


def _times_supervised(factor: Any) -> Any:
    return lambda B, K, theta, r, delta: math.sqrt(factor(K)) * float(paper.excess_risk_supervised(B, theta, r, delta))


def _launch_budget(strategy: Any) -> Any:
    """Return the smallest budget that meets the identification condition with the factor 16."""
    return lambda K, **point: smallest_budget(strategy, int(launch_rows(16, **point)) + 1, K)


def _best_case(strategy: str, B: int, K: int, theta: float, **_: Any) -> float:
    """Return the smallest printed δ_fail over all κΛ, at the largest gap that balanced labels allow."""
    bound = getattr(paper, f"delta_fail_{strategy}")
    values = np.asarray(bound(B, K, gap_ceiling(theta, RADII, 0.5), theta, RADII, strict=False))
    return float(np.nanmin(values, initial=math.inf))


def _best_case_tight(strategy: str, B: int, K: int, theta: float, **_: Any) -> float:
    """Return the same for the sum of our pairwise bounds without their duality, on ⌊B/K⌋ rows."""
    gaps = gap_ceiling(theta, RADII, 0.5)
    values = tighter.lemma_4(B // K, gaps, theta, RADII, optimism="rademacher", strict=False)
    return float((K - 1) * np.nanmin(values, initial=1.0))


EXPERIMENTS = cross(
    cases(
        "data B K",
        ("Mfeat", 300, 5),
        ("Mfeat", 600, 5),
        ("Mfeat", 900, 5),
        ("RealDisp", 1440, 8),
        ("synthetic", 540, 9),
    ),
    grid(theta=(0.1, 0.2, 0.3, 0.4), strategy=("uniform", "median")),
)
_CONDITIONS = grid(K=(2, 3, 8), gap=(0.1, 0.3), theta=(0.1, 0.3), r=(0.3, 1.0))
ORDER = Check(
    cases=cross(grid(n=(2000, 50000), K=(2, 8, 16)), POINTS),
    printed=(log_fail, lambda n, **_: 200.0 - n),
    corrected=lambda n, gap, theta, r, **_: log_failure_median_simplified(n, gap, theta, r),
    assumptions=(THETA, POWER_OF_TWO, LAUNCH_64, FEASIBLE_GAP),
)
SIZES = cross(grid(n=(230, 2000, 50000), K=(2, 8, 16)), (*POINTS, {"gap": 0.3, "theta": 0.1, "r": 0.4}))
# Just above the identification condition, with ever smaller balls: n is 82 throughout.
SMALL_BALLS = tuple({"n": 82, "K": 4, "gap": r, "theta": 0.1, "r": r} for r in (0.5, 0.1, 0.01))


def _log_q(n: int, gap: float, theta: float, r: float, **_: Any) -> float:
    return float(log_tail_paper(n, gap, theta, r))


def _margin_at_uniform_rows(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return Δ/2 − 2cr/√⌊B/K⌋ with the budget B = n K log2 K."""
    return float(identification_margin(n * ceil_log2(K), gap, theta, r))


def _denominator(**case: Any) -> float:
    return -math.expm1(_log_q(**case))


def _from_gap(divisor: int) -> Any:
    return lambda n, gap, **_: -math.expm1(log_tail_simplified(n, gap, divisor))


def _from_ball(factor: float) -> Any:
    return lambda theta, r, **_: -math.expm1(-factor * (rademacher_constant(theta) * r) ** 2)


def _launch_constant(pool: str, smallest: Any = min) -> Any:
    """Return C = 64c²r²/Δ² of one of the two pools, Δ its smallest positive gap."""
    return lambda theta, r, **gaps: float(launch_rows(64, smallest(g for g in gaps[pool] if g > 0), theta, r))


def _same_smallest_gap(gaps: tuple[float, ...], more: tuple[float, ...], **_: Any) -> bool:
    smallest = [min((gap for gap in pool if gap > 0), default=0.0) for pool in (gaps, more)]
    return smallest[0] == smallest[1] > 0


_BALLS = (THETA, ARMS, LAUNCH_64)
CHECKS = {
    "lemma-2-i": Check(
        cases=cases("name B", ("opposed", 1000), ("tied-4", 2400)),
        printed=(_failure(target=0), pool_bound(paper, "median")),
        corrected=(_failure(), pool_bound(corrected, "median", rows="fresh")),
        mutant=(_failure(), pool_bound_unit_range("median")),
        assumptions=(FIRST_ARM_BEST, LAUNCH_16_FIRST_ROUND),
    ),
    "lemma-2-first-round": Check(
        cases=cases("B K", (540, 9), (1161, 5), (900, 5), (1440, 8), (4800, 16)),
        printed=(lambda B, K: pulls(B, K)[0], lambda B, K: int(paper.first_round_pulls(B, K))),
        corrected=lambda B, K: B // (K * ceil_log2(K)),
        assumptions=(ARMS, FIRST_EPISODE),
    ),
    "lemma-2-condition": build_condition_check("median", lambda K: 9, _CONDITIONS),
    "lemma-2-ii": LEMMA_2_II,
    "thm-2": build_one_row_check("median", 2),
    "thm-2-delta-order": ORDER,
    "remark-7-sqrt-log": Check(
        cases=tuple(
            {"B": 240000 * K, "K": K, "theta": theta, "r": 0.5, "delta": 0.05}
            for K in (2, 4, 8, 16)
            for theta in (0.1, 0.2)
        ),
        printed=(_regret_median, _times_supervised(math.log2)),
        corrected=_times_supervised(lambda K: math.log2(K) * K / (K - 1)),
        mutant=_times_supervised(lambda K: K),
        assumptions=(THETA, POWER_OF_TWO, DIVISIBLE),
    ),
    "remark-7-launch-budget": Check(
        cases=_CONDITIONS,
        printed=(_launch_budget("median"), _launch_budget("uniform")),
        corrected=lambda K, **k: _launch_budget("uniform")(K=K, **k) + (K > 2),
        assumptions=(THETA, ARMS, FEASIBLE_GAP),
    ),
    "remark-7-failure-bounds": Check(
        cases=cross(grid(n=(900, 2000, 20000), K=(2, 4, 8, 64, 1024)), POINTS),
        printed=(log_fail, _log_fail_uniform),
        mutant=lambda **k: _log_fail_uniform(**k) + math.log(2.5),
        assumptions=(
            THETA,
            POWER_OF_TWO,
            LAUNCH_16,
            Assumption("the bound of median elimination is below 1", lambda **case: log_fail(**case) < 0),
        ),
    ),
    "remark-7-low-order": Check(
        cases=EXPERIMENTS,
        printed=(lambda **_: 0.0, _best_case),
        corrected=_best_case_tight,
        assumptions=(THETA, ARMS),
    ),
    "a3-step-1": section_4_1.DECOMPOSITION,
    "a3-term-b": LEMMA_2_II,
    "a3-delta": Check(
        cases=SIZES,
        printed=(log_fail, lambda K, **point: log_failure_median(**point)),
        mutant=lambda K, **point: log_failure_median(**point) + math.log(0.999),
        assumptions=(THETA, POWER_OF_TWO, LAUNCH_64, FEASIBLE_GAP),
    ),
    "a3-quarter": Check(
        cases=SIZES,
        printed=(_margin_at_uniform_rows, lambda gap, **_: gap / 4),
        mutant=lambda gap, **_: gap / 2.5,
        assumptions=(THETA, POWER_OF_TWO, LAUNCH_64),
    ),
    "a3-numerator": Check(
        cases=SIZES,
        printed=(_log_q, lambda n, gap, **_: log_tail_simplified(n, gap)),
        mutant=lambda n, gap, **_: log_tail_simplified(n, gap, 17),
        assumptions=(THETA, LAUNCH_64),
    ),
    "a3-constant": Check(
        cases=(
            *grid(theta=(0.1, 0.4), r=(0.5, 3.0), gaps=((0.0, 0.4),), more=((0.0, 0.4, 0.4), (0.0, 0.0, 0.9, 0.4))),
            {"theta": 0.1, "r": 0.5, "gaps": (0.0, 0.4), "more": (0.0, 0.4, 0.45)},
        ),
        printed=(_launch_constant("gaps"), _launch_constant("more")),
        mutant=(_launch_constant("gaps", max), _launch_constant("more", max)),
        assumptions=(THETA, Assumption("both pools have the same smallest positive gap", _same_smallest_gap)),
    ),
    "a3-denominator-1": Check(
        cases=SMALL_BALLS, printed=(_denominator, _from_gap(72)), mutant=_from_gap(17), assumptions=_BALLS
    ),
    "a3-denominator-2": Check(
        cases=SMALL_BALLS, printed=(_from_gap(72), _from_ball(8 / 9)), mutant=_from_ball(1.0), assumptions=_BALLS
    ),
    "a3-absolute-constant": Check(
        cases=grid(n=(82, 1000, 10**6), K=(4,), gap=(0.5,), theta=(0.1,), r=(0.5,)),
        printed=(_denominator, _from_ball(8 / 9)),
        mutant=_from_ball(2.0),
        assumptions=_BALLS,
    ),
    "a3-order": replace(ORDER, cases=SIZES),
    "a3-sum": Check(
        cases=grid(n=(500,), m=(100, 10**5), K=(2, 8), theta=(0.1, 0.2), r=(0.5,), delta=(0.05,)),
        printed=(sum_of_parts("median", 3), opened_risk("median")),
        mutant=(sum_of_parts("median", 2), opened_risk("median")),
        assumptions=(THETA, POWER_OF_TWO, LARGEST_GAP),
    ),
}
