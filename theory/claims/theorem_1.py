"""Section 4.2.2 and Appendix A.2: uniform allocation, Theorem 1 and its proof, step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

from theory import corrected, paper, tighter
from theory.claims import section_4_1
from theory.claims._assumptions import (
    ARMS,
    FEASIBLE_GAP,
    FIRST_ARM_BEST,
    LARGEST_GAP,
    LAUNCH_16_POOL,
    LAUNCH_64,
    ONE_ROW_OR_AFFINE,
    THETA,
    WALK,
)
from theory.claims._instances import failure_uniform, level, mean_absolute_walk, parameters, walk_bound, walk_violation
from theory.claims._strategies import (
    bound_of,
    build_condition_check,
    build_corner_check,
    build_one_row_check,
    failure_at,
    opened_risk,
    pool_bound,
    pool_bound_unit_range,
    sum_of_parts,
)
from theory.claims.appendix_a1 import LEMMA_3
from theory.claims.claim import Assumption, Check, cases, cross, grid
from theory.formulas import (
    complexity,
    identification_margin,
    log_failure_uniform,
    log_failure_uniform_simplified,
    log_tail_simplified,
    loss_range,
    order_of_risk,
    rademacher_constant,
    tight_rademacher_constant,
)

F = Fraction
#: log δ_fail of Eq. 9 as the library computes it.
log_fail = partial(failure_at, "uniform", log=True)
POINTS = cases("gap theta r", (0.5, 0.1, 0.5), (0.6, 0.2, 0.6))
LEMMA_1_II = build_corner_check(
    "uniform",
    cases("n tilt third delta", (10**6, 6.4e-3, 0.025, 1.8e-11), (4 * 10**6, 3.5e-3, 0.015, 3e-13)),
)
SIZES = cross(grid(n=(2000, 50000), K=(2, 9)), (*POINTS, {"gap": 0.3, "theta": 0.3, "r": 0.4}))
BARELY = (*cases("n K gap theta r", (226, 2, 0.3, 0.1, 0.5), (1500, 5, 0.3, 0.1, 0.5)), *SIZES)


def _tight_bound(name: str, B: int) -> float:
    """Return the sum over rivals of our pairwise bound at the smallest gap, without its duality."""
    arms, *point = parameters(name)
    return (arms - 1) * float(tighter.lemma_4(B // arms, *point, optimism="rademacher", strict=False))


def _order(rows: Any) -> Any:
    def bound(n: int, m: int, theta: float, r: float, delta: float) -> float:
        return float(order_of_risk(rows(n, m), r, 6 / delta, 8 * rademacher_constant(theta)))

    return bound


def margin(n: int, gap: float, theta: float, r: float, **_: Any) -> float:
    """Return Δ/2 − 2cr/√n."""
    return float(identification_margin(n, gap, theta, r))


def _display(name: str) -> Any:
    """Return the logarithm of a display of A.2 as a function of the case."""
    fail = bound_of(paper, f"delta_fail_uniform_{name}")
    return lambda n, K, gap, theta, r: fail(K * n, K, gap, theta, r, log=True)


_appendix, _simplified = _display("appendix"), _display("simplified")


def _without_arms(n: int, K: int, **point: float) -> float:
    """Return log(δ_fail/(4 (K − 1)))."""
    return log_fail(n, K, **point) - math.log(4 * (K - 1))


# --- deviations of the walk -----------------------------------------------------------------------------------


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


def walk_lemma_3(n: int, theta: float, delta: float) -> float:
    """Return 2cr/√m + √(log(1/δ)/2m) at r = 1 − 2θ."""
    return float(paper.lemma_3(n, theta, 1 - 2 * theta, delta))


def walk_hoeffding(n: int, theta: float, delta: float) -> float:
    """Return M√(log(1/δ)/2m), Hoeffding for one fixed model; the range of the walk's loss is 2r."""
    return float(corrected.term_d(n, theta, 1 - 2 * theta, delta))


def build_walk_check(case: Any, printed: Any, corrected: Any, *, learned: bool = False, share: int = 1) -> Check:
    """Build the check that a deviation of the walk exceeds a bound with probability at most delta / share."""
    return Check(
        cases=cases("n p theta delta", case),
        printed=(walk_violation(printed, learned=learned), level(share)),
        corrected=(walk_violation(corrected, learned=learned), level(share)),
        assumptions=(THETA, WALK),
    )


WALK_STEP_3 = (10, F(33, 50), F(1, 1000), F(1, 2500))
_OPENED_CASES = cross(
    cases("n m", (10**6, 10), (1000, 1000), (1000, 10**5)), grid(theta=(0.1, 0.2), r=(0.3, 0.6), delta=(0.05,))
)
_LAUNCHED = (THETA, ARMS, LAUNCH_64, FEASIBLE_GAP)


def _supervised(factor: Any) -> Any:
    """Return a function of K times the bound of Eq. 6 with the whole budget."""
    return lambda B, K, theta, r, delta, **_: factor(K) * paper.excess_risk_supervised(B, theta, r, delta)


CHECKS = {
    "lemma-1-i": Check(
        cases=cases("name B", ("opposed", 1000), ("tied-3", 900)),
        printed=(lambda name, B: failure_uniform(name, B, target=0), pool_bound(paper, "uniform")),
        corrected=(failure_uniform, pool_bound(corrected, "uniform")),
        mutant=(failure_uniform, pool_bound_unit_range("uniform")),
        assumptions=(FIRST_ARM_BEST, LAUNCH_16_POOL),
    ),
    "lemma-1-condition": build_condition_check(
        "uniform", lambda K: 4 * (K - 1), grid(K=(2, 8), gap=(0.1, 0.3), theta=(0.1, 0.3), r=(0.3, 1.0))
    ),
    "lemma-1-ii": LEMMA_1_II,
    "remark-5-launch-budget": Check(
        cases=grid(name=("opposed",), B=(40, 48)),
        printed=(failure_uniform, lambda name, B: 0.05),
        corrected=_tight_bound,
        assumptions=(FIRST_ARM_BEST,),
    ),
    "thm-1": build_one_row_check("uniform", 1),
    "thm-1-delta-order": Check(
        cases=SIZES,
        printed=(log_fail, lambda n, **_: 200.0 - n),
        corrected=lambda n, K, gap, **_: log_failure_uniform_simplified(n, K, gap),
        mutant=lambda n, K, gap, **_: math.log(4 * (K - 1)) + log_tail_simplified(n, gap, 17),
        assumptions=_LAUNCHED,
    ),
    "thm-1-decay": Check(
        cases=SIZES,
        printed=(lambda n, **k: _without_arms(2 * n, **k), lambda **k: 2 * _without_arms(**k)),
        mutant=lambda **k: 3 * _without_arms(**k),
        assumptions=_LAUNCHED,
    ),
    "remark-6-sqrt-k": Check(
        cases=tuple(
            {"B": 20000 * K, "K": K, "gap": 0.3, "theta": theta, "r": 0.5, "delta": 0.05}
            for K in (2, 5, 9, 16)
            for theta in (0.1, 0.2)
        ),
        printed=(
            lambda B, K, gap, theta, r, delta: paper.exploratory_regret_uniform(B, K, gap, theta, r, delta),
            _supervised(math.sqrt),
        ),
        mutant=_supervised(lambda K: K),
        assumptions=(THETA, ARMS, Assumption("K divides B", lambda B, K, **_: B % K == 0)),
    ),
    "a2-step-1": section_4_1.DECOMPOSITION,
    "a2-term-c": Check(
        cases=section_4_1.DECOMPOSITIONS,
        printed=(section_4_1.term_c, lambda **_: 0),
        mutant=lambda **_: F(-1, 1000),
        assumptions=(THETA,),
    ),
    "term-a": LEMMA_3,
    "a2-step-3": build_walk_check(WALK_STEP_3, walk_bound(), walk_hoeffding),
    "a2-step-4": Check(
        cases=RADEMACHER_CASES,
        printed=(rademacher, lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 1)),
        corrected=lambda m, theta, r: complexity(m, tight_rademacher_constant(theta), r, 1),
        mutant=lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 0.9),
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
    ),
    "term-d": build_walk_check((30, F(16, 25), F(1, 1000), F(64, 10**7)), walk_lemma_3, walk_hoeffding),
    "a2-term-b": LEMMA_1_II,
    "a2-sum": Check(
        cases=_OPENED_CASES,
        printed=(sum_of_parts("uniform", 3), opened_risk("uniform")),
        mutant=(sum_of_parts("uniform", 2), opened_risk("uniform")),
        assumptions=(THETA, LARGEST_GAP),
    ),
    "a2-order": Check(
        cases=_OPENED_CASES,
        printed=(opened_risk("uniform"), _order(lambda n, m: n)),
        corrected=_order(min),
        assumptions=(THETA, LARGEST_GAP),
    ),
    "a2-quarter": Check(
        cases=BARELY,
        printed=(margin, lambda gap, **_: gap / 4),
        mutant=lambda gap, **_: gap / 3,
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    "a2-absolute-constant": Check(
        cases=grid(n=(10**9,), K=(2,), gap=(0.5, 0.1, 0.01), theta=(0.1,), r=(0.5,), constant=(0.01,)),
        printed=(margin, lambda constant, **_: constant),
        corrected=lambda gap, **_: gap / 4,
        assumptions=(THETA, LAUNCH_64),
    ),
    "a2-delta-line-1": Check(
        cases=BARELY,
        printed=(log_fail, _appendix),
        corrected=lambda **point: log_failure_uniform(**point),
        assumptions=_LAUNCHED,
    ),
    "a2-delta-line-2": Check(
        cases=BARELY,
        printed=(_appendix, _simplified),
        corrected=(log_fail, _simplified),
        assumptions=_LAUNCHED,
    ),
    "a2-delta-line-3": Check(
        cases=({"gap": F(3, 10), "n": 226},),
        printed=(lambda gap, n: F(2, 9) * n * (gap / 4) ** 2, lambda gap, n: -log_tail_simplified(n, gap)),
        mutant=lambda gap, n: -log_tail_simplified(n, gap, 36),
    ),
    "a2-delta-line-4": Check(
        cases=SIZES,
        printed=(_simplified, lambda n, **_: 200.0 - n),
        corrected=lambda n, K, gap, **_: math.log(4 * K) + log_tail_simplified(n, gap),
        assumptions=_LAUNCHED,
    ),
}
