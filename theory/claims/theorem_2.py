"""Section 4.2.3 and Appendix A.3: median elimination, Theorem 2 and its proof, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from theory import corrected, paper
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
from theory.claims._exact_losses import launch_row
from theory.claims._instances import corner_violation, failure_median, parameters, pool, pulls
from theory.claims.claim import Assumption, Check, grid
from theory.claims.theorem_1 import (
    CORNER_PREMISES,
    ONE_ROW,
    ONE_ROW_PREMISES,
    corner_allowance,
    one_row_allowance,
    one_row_violation,
    order_bound,
    regret_corrected,
)
from theory.claims.theorem_1 import log_fail as log_fail_uniform
from theory.formulas import (
    gap_ceiling,
    identification_margin,
    launch_rows,
    log_failure_median_simplified,
    log_tail_paper,
    loss_range,
    rademacher_constant,
    regret_paper,
    tight_rademacher_constant,
)

RADII = np.geomspace(0.01, 50, 400)


def _failure(**options: Any) -> Any:
    return lambda name, B: failure_median(name, B, accumulate=False, **options)


def _printed_bound(name: str, B: int) -> float:
    return float(paper.delta_fail_median(B, *parameters(name), strict=False))


def _corrected_bound(name: str, B: int) -> float:
    best = len(pool(name).best())
    return float(corrected.delta_fail_median(B, *parameters(name), best_count=best, rows="fresh", strict=False))


def _without_nine(name: str, B: int) -> float:
    """Plant an error: the exponent -2 n x² that a range of one would give."""
    arms, gap, theta, r = parameters(name)
    n = B // (arms * (arms - 1).bit_length())
    q = math.exp(-2 * n * identification_margin(n, gap, theta, r) ** 2)
    return 8 * q / (1 - q)


def _first_round(B: int, K: int) -> int:
    return pulls(B, K)[0]


def _boundary(K: int, gap: float, theta: float, r: float) -> float:
    n = launch_row(16, gap, theta, r)
    return float(paper.delta_fail_median(math.ceil(n * K * math.log2(K)), K, gap, theta, r))


def _informative(K: int, gap: float, theta: float, r: float) -> float:
    n = math.floor(4 / gap**2 * (2 * rademacher_constant(theta) * r + math.sqrt(4.5 * math.log(9))) ** 2) + 1
    return float(paper.delta_fail_median(math.ceil(n * K * math.log2(K)), K, gap, theta, r))


def regret_with_twice_the_rows(n: int, r: float, theta: float, delta: float) -> float:
    """Return Lemma 2 (ii) at K = 2: it prints B = 2n rows where the selected arm has n."""
    return float(regret_paper(2 * n, theta, r, delta))


def _opened_bound(n: int, r: float, theta: float, delta: float, constant: int) -> float:
    """Return all terms of the corrected Theorem 2 with K = 2 and m = 1 row in the training set."""
    return float(corrected.excess_risk_median(2 * n, 2, 1.0, theta, r, 1, delta))


MEDIAN_CORNER = (
    {"n": 10**5, "tilt": 3.6 / math.sqrt(10**5), "third": 18 / math.sqrt(10**5), "delta": 7.3e-5},
    {"n": 10**6, "tilt": 3.55e-3, "third": 0.018, "delta": 1.36e-4},
)
LEMMA_2_II = Check(
    cases=MEDIAN_CORNER,
    printed=(corner_violation(regret_with_twice_the_rows), corner_allowance(paper.delta_fail_median)),
    corrected=(corner_violation(regret_corrected), corner_allowance(corrected.delta_fail_median)),
    assumptions=CORNER_PREMISES,
)


def log_fail(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return log δ_fail of Eq. 11 with n rows in the first round, K a power of two."""
    return float(paper.delta_fail_median(n * K * (K.bit_length() - 1), K, gap, theta, r, log=True))


def _log_fail_uniform(n: int, K: int, **others: float) -> float:
    """Return log δ_fail of Eq. 9 with the budget of `log_fail`."""
    return log_fail_uniform(n * (K.bit_length() - 1), K, **others)


def _regret_median(B: int, K: int, theta: float, r: float, delta: float) -> float:
    """Return the bound of Lemma 2 (ii) at the rows that the selected arm has."""
    rows = sum(pulls(B, K))
    return float(paper.exploratory_regret_median(rows * (K.bit_length() - 1), K, 0.3, theta, r, delta))


def _times_supervised(factor: Any) -> Any:
    return lambda B, K, theta, r, delta: math.sqrt(factor(K)) * float(paper.excess_risk_supervised(B, theta, r, delta))


def _launch_budget(strategy: str) -> Any:
    """Return the smallest budget that meets the identification condition with the factor 16."""

    def budget(K: int, gap: float, theta: float, r: float) -> int:
        rows = int(launch_rows(16, gap, theta, r)) + 1
        return rows * K if strategy == "uniform" else math.ceil(rows * K * math.log2(K))

    return budget


def _best_case(strategy: str, B: int, K: int, theta: float, **_: Any) -> float:
    """Return the smallest printed δ_fail over all κΛ, at the largest gap that balanced labels allow."""
    bound = paper.delta_fail_uniform if strategy == "uniform" else paper.delta_fail_median
    values = np.asarray(bound(B, K, gap_ceiling(theta, RADII, 0.5), theta, RADII, strict=False))
    return float(np.nanmin(values, initial=math.inf))


def _best_case_tight(strategy: str, B: int, K: int, theta: float, **_: Any) -> float:
    """Return the same for our pairwise bound with the range M, on ⌊B/K⌋ rows."""
    n = B // K
    margin = gap_ceiling(theta, RADII, 0.5) - 2 * tight_rademacher_constant(theta) * RADII / math.sqrt(n)
    exponent = n * np.maximum(margin, 0) ** 2 / (2 * np.asarray(loss_range(theta, RADII)) ** 2)
    return float(np.min((K - 1) * np.exp(-exponent)))


_ALLOWANCE = one_row_allowance(paper.delta_fail_median)
EXPERIMENTS = tuple(
    {"data": data, "B": B, "K": K, "theta": theta, "strategy": strategy}
    for (data, B, K), theta, strategy in product(
        (("Mfeat", 300, 5), ("Mfeat", 600, 5), ("Mfeat", 900, 5), ("RealDisp", 1440, 8), ("synthetic", 540, 9)),
        (0.1, 0.2, 0.3, 0.4),
        ("uniform", "median"),
    )
)
_SIZES = tuple(
    {"n": n, "K": K, "gap": gap, "theta": theta, "r": r}
    for n, K, (gap, theta, r) in product((2000, 50000), (2, 8, 16), ((0.5, 0.1, 0.5), (0.6, 0.2, 0.6)))
)
_CONDITIONS = grid(K=(2, 3, 8), gap=(0.1, 0.3), theta=(0.1, 0.3), r=(0.3, 1.0))

ORDER = Check(
    cases=_SIZES,
    printed=(log_fail, lambda n, **_: 200.0 - n),
    corrected=(log_fail, lambda n, gap, theta, r, **_: log_failure_median_simplified(n, gap, theta, r)),
    assumptions=(THETA, POWER_OF_TWO, LAUNCH_64, FEASIBLE_GAP),
)


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
    "lemma-2-i": Check(
        cases=({"name": "opposed", "B": 1000}, {"name": "tied-4", "B": 2400}),
        printed=(_failure(target=0), _printed_bound),
        corrected=(_failure(), _corrected_bound),
        mutant=(_failure(), _without_nine),
        assumptions=(FIRST_ARM_BEST, LAUNCH_16_FIRST_ROUND),
    ),
    "lemma-2-first-round": Check(
        cases=tuple({"B": B, "K": K} for B, K in ((540, 9), (1161, 5), (900, 5), (1440, 8), (4800, 16))),
        printed=(_first_round, lambda B, K: int(paper.first_round_pulls(B, K))),
        corrected=(_first_round, lambda B, K: B // (K * (K - 1).bit_length())),
        assumptions=(ARMS, FIRST_EPISODE),
    ),
    "lemma-2-condition": Check(
        cases=_CONDITIONS,
        printed=(lambda **_: 0.0, _boundary),
        corrected=(lambda **_: 0.0, _informative),
        assumptions=(THETA, ARMS, FEASIBLE_GAP),
    ),
    "lemma-2-ii": LEMMA_2_II,
    "thm-2": Check(
        cases=ONE_ROW,
        printed=(one_row_violation(lambda n, *rest: order_bound(2 * n, *rest)), _ALLOWANCE),
        corrected=(one_row_violation(_opened_bound), _ALLOWANCE),
        assumptions=(THETA, *ONE_ROW_PREMISES),
    ),
    "thm-2-delta-order": ORDER,
    "remark-7-sqrt-log": Check(
        cases=tuple(
            {"B": 240000 * K, "K": K, "theta": theta, "r": 0.5, "delta": 0.05}
            for K, theta in product((2, 4, 8, 16), (0.1, 0.2))
        ),
        printed=(_regret_median, _times_supervised(math.log2)),
        corrected=(_regret_median, _times_supervised(lambda K: math.log2(K) * K / (K - 1))),
        mutant=(_regret_median, _times_supervised(lambda K: K)),
        assumptions=(THETA, POWER_OF_TWO, DIVISIBLE),
    ),
    "remark-7-launch-budget": Check(
        cases=_CONDITIONS,
        printed=(_launch_budget("median"), _launch_budget("uniform")),
        corrected=(_launch_budget("median"), lambda K, **k: _launch_budget("uniform")(K=K, **k) + (K > 2)),
        assumptions=(THETA, ARMS, FEASIBLE_GAP),
    ),
    "remark-7-failure-bounds": Check(
        cases=tuple(
            {"n": n, "K": K, "gap": gap, "theta": theta, "r": r}
            for n, K, (gap, theta, r) in product(
                (900, 2000, 20000), (2, 4, 8, 64, 1024), ((0.5, 0.1, 0.5), (0.6, 0.2, 0.6))
            )
        ),
        printed=(log_fail, _log_fail_uniform),
        mutant=(log_fail, lambda **k: _log_fail_uniform(**k) + math.log(2.5)),
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
        corrected=(lambda **_: 0.0, _best_case_tight),
        assumptions=(THETA, ARMS),
    ),
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
