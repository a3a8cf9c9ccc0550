"""Section 4.2.2 and Appendix A.2: uniform allocation, Theorem 1 and its proof, step by step."""

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
    FIRST_ARM_BEST,
    LARGEST_GAP,
    LAUNCH_16_POOL,
    LAUNCH_64,
    ONE_ROW_OR_AFFINE,
    THETA,
    WALK,
)
from theory.claims._exact_losses import launch_row
from theory.claims._instances import (
    CORNER_R,
    CORNER_THETA,
    corner_gap,
    corner_violation,
    failure_uniform,
    level,
    mean_absolute_walk,
    parameters,
    pool,
    walk_bound,
    walk_violation,
)
from theory.claims.appendix_a1 import LEMMA_3
from theory.claims.claim import Assumption, Check, grid
from theory.formulas import (
    complexity,
    hoeffding_deviation,
    identification_margin,
    launch_rows,
    log_failure_uniform_simplified,
    loss_range,
    rademacher_constant,
    regret_paper,
    regret_terms_corrected,
    tight_rademacher_constant,
)

F = Fraction


def _printed_bound(name: str, B: int) -> float:
    return float(paper.delta_fail_uniform(B, *parameters(name), strict=False))


def _corrected_bound(name: str, B: int) -> float:
    best = len(pool(name).best())
    return float(corrected.delta_fail_uniform(B, *parameters(name), best_count=best, strict=False))


def _without_nine(name: str, B: int) -> float:
    """Plant an error: the exponent -2 n x² that a range of one would give."""
    arms, gap, theta, r = parameters(name)
    n = B // arms
    return 4 * (arms - 1) * math.exp(-2 * n * identification_margin(n, gap, theta, r) ** 2)


def _tight_bound(name: str, B: int) -> float:
    """Return Σ_i exp(−n(Δ − 2c*r/√n)²/(2M²)), our pairwise bound at the smallest gap."""
    arms, gap, theta, r = parameters(name)
    n = B // arms
    margin = max(0.0, gap - 2 * float(tight_rademacher_constant(theta)) * r / math.sqrt(n))
    return (arms - 1) * math.exp(-n * margin**2 / (2 * float(loss_range(theta, r)) ** 2))


def regret_corrected(n: int, r: float, theta: float, delta: float) -> float:
    """Return 2cr/√n + 2M√(log(2/δ)/2n), M the range of the loss: `corrected.exploratory_regret_uniform`."""
    return float(sum(regret_terms_corrected(n, theta, r, delta, 1, 1, loss_range(theta, r))))


def corner_allowance(fail: Any) -> Any:
    """Return δ + δ_fail on the corner instance, K = 2 and n rows per arm, for a bound of :mod:`theory`."""
    return lambda n, tilt, third, delta: delta + float(fail(2 * n, 2, corner_gap(tilt, third), CORNER_THETA, CORNER_R))


CORNER_PREMISES = (
    Assumption(
        "tilt and third are positive and add up to at most 1; delta lies in (0, 1)",
        lambda tilt, third, delta, **_: tilt > 0 and third > 0 and tilt + third <= 1 and 0 < delta < 1,
        instance=True,
    ),
    Assumption(
        "identification condition with the factor 16",
        lambda n, tilt, third, **_: n > launch_rows(16, corner_gap(tilt, third), CORNER_THETA, CORNER_R),
    ),
)
LEMMA_1_II = Check(
    cases=(
        {"n": 10**6, "tilt": 6.4e-3, "third": 0.025, "delta": 1.8e-11},
        {"n": 4 * 10**6, "tilt": 3.5e-3, "third": 0.015, "delta": 3e-13},
    ),
    printed=(corner_violation(regret_paper), corner_allowance(paper.delta_fail_uniform)),
    corrected=(corner_violation(regret_corrected), corner_allowance(corrected.delta_fail_uniform)),
    assumptions=CORNER_PREMISES,
)


def _boundary(K: int, gap: float, theta: float, r: float) -> float:
    """Return δ_fail at the smallest n allowed by n > 16·c²r²/Δ²."""
    return float(paper.delta_fail_uniform(K * launch_row(16, gap, theta, r), K, gap, theta, r))


def _informative(K: int, gap: float, theta: float, r: float) -> float:
    """Return δ_fail at the smallest n with n > (4/Δ²)(2cr + √(4.5 log 4(K−1)))²."""
    root = 2 * rademacher_constant(theta) * r + math.sqrt(4.5 * math.log(4 * (K - 1)))
    n = math.floor(4 / gap**2 * root**2) + 1
    return float(paper.delta_fail_uniform(K * n, K, gap, theta, r))


def one_row_violation(bound: Any) -> Any:
    """Return P(excess risk > bound) when the training set is one row and n rows are bought from it.

    x = 1 always, P(y = −1) = ``noise``, Λ = 3 − 2θ, and a rival without any feature.  If the one row is
    labelled −1, the learned model fits it (h = −(3 − 2θ), g = 1 − 2θ, unique) and errs on every +1.
    """

    def probability(n: int, noise: Fraction, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
        approximation = (2 - 2 * theta) * noise
        excess = (1 - noise) - noise
        limit = bound(n, float(3 - 2 * theta), float(theta), float(delta), constant) + float(approximation)
        return noise if float(excess) > limit else F(0)

    return probability


def order_bound(n: int, r: float, theta: float, delta: float, constant: int) -> float:
    """Return constant times the O() of Theorem 1."""
    return float(constant * (complexity(n, 1, r, 1) + hoeffding_deviation(n, 6 / delta)))


def _opened_bound(n: int, r: float, theta: float, delta: float, constant: int) -> float:
    """Return all terms of the corrected Theorem 1 with m = 1 row in the training set."""
    return float(corrected.excess_risk_uniform(2 * n, 2, 1.0, theta, r, 1, delta))


def one_row_allowance(fail: Any) -> Any:
    """Return δ + δ_fail with K = 2 and Δ = 1, for a bound of :mod:`theory`."""
    return lambda n, theta, delta, **_: float(delta) + float(fail(2 * n, 2, 1.0, float(theta), float(3 - 2 * theta)))


ONE_ROW_PREMISES = (
    Assumption(
        "identification condition with the factor 64",
        lambda n, theta, **_: n > launch_rows(64, 1, float(theta), float(3 - 2 * theta)),
    ),
    Assumption(
        "0 < noise <= theta, Delta = 1 and delta in (0, 1)",
        lambda noise, theta, delta, **_: 0 < noise <= theta and 0 < delta < 1,
        instance=True,
    ),
)
ONE_ROW = grid(n=(10**12,), noise=(F(1, 100),), theta=(F(1, 10), F(3, 10)), delta=(F(1, 200),), constant=(1000,))


def log_fail(n: int, K: int, gap: float, theta: float, r: float) -> float:
    """Return log δ_fail of Eq. 9 as the library computes it."""
    return float(paper.delta_fail_uniform(K * n, K, gap, theta, r, log=True))


def _regret_uniform(B: int, K: int, gap: float, theta: float, r: float, delta: float) -> float:
    return float(paper.exploratory_regret_uniform(B, K, gap, theta, r, delta))


SIZES = tuple(
    {"n": n, "K": K, "gap": gap, "theta": theta, "r": r}
    for n, K, (gap, theta, r) in product((2000, 50000), (2, 9), ((0.5, 0.1, 0.5), (0.6, 0.2, 0.6), (0.3, 0.3, 0.4)))
)
_BOUNDARY_CASES = grid(K=(2, 8), gap=(0.1, 0.3), theta=(0.1, 0.3), r=(0.3, 1.0))


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


def build_walk_check(cases: Any, printed: Any, corrected: Any, *, learned: bool = False, share: int = 1) -> Check:
    """Build the check that a deviation of the walk exceeds a bound with probability at most delta / share."""
    return Check(
        cases=cases,
        printed=(walk_violation(printed, learned=learned), level(share)),
        corrected=(walk_violation(corrected, learned=learned), level(share)),
        assumptions=(THETA, WALK),
    )


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
    "lemma-1-i": Check(
        cases=({"name": "opposed", "B": 1000}, {"name": "tied-3", "B": 900}),
        printed=(lambda name, B: failure_uniform(name, B, target=0), _printed_bound),
        corrected=(failure_uniform, _corrected_bound),
        mutant=(failure_uniform, _without_nine),
        assumptions=(FIRST_ARM_BEST, LAUNCH_16_POOL),
    ),
    "lemma-1-condition": Check(
        cases=_BOUNDARY_CASES,
        printed=(lambda **_: 0.0, _boundary),
        corrected=(lambda **_: 0.0, _informative),
        assumptions=(THETA, ARMS, FEASIBLE_GAP),
    ),
    "lemma-1-ii": LEMMA_1_II,
    "remark-5-launch-budget": Check(
        cases=({"name": "opposed", "B": 40}, {"name": "opposed", "B": 48}),
        printed=(failure_uniform, lambda name, B: 0.05),
        corrected=(failure_uniform, _tight_bound),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "thm-1": Check(
        cases=ONE_ROW,
        printed=(one_row_violation(order_bound), one_row_allowance(paper.delta_fail_uniform)),
        corrected=(one_row_violation(_opened_bound), one_row_allowance(paper.delta_fail_uniform)),
        assumptions=(THETA, *ONE_ROW_PREMISES),
    ),
    "thm-1-delta-order": Check(
        cases=SIZES,
        printed=(log_fail, lambda n, **_: 200.0 - n),
        corrected=(log_fail, lambda n, K, gap, **_: log_failure_uniform_simplified(n, K, gap)),
        mutant=(log_fail, lambda n, K, gap, **_: math.log(4 * (K - 1)) - gap**2 * n / 17),
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
    ),
    "thm-1-decay": Check(
        cases=SIZES,
        printed=(
            lambda n, K, **k: log_fail(2 * n, K, **k) - math.log(4 * (K - 1)),
            lambda n, K, **k: 2 * (log_fail(n, K, **k) - math.log(4 * (K - 1))),
        ),
        mutant=(
            lambda n, K, **k: log_fail(2 * n, K, **k) - math.log(4 * (K - 1)),
            lambda n, K, **k: 3 * (log_fail(n, K, **k) - math.log(4 * (K - 1))),
        ),
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
    ),
    "remark-6-sqrt-k": Check(
        cases=tuple(
            {"B": 20000 * K, "K": K, "gap": 0.3, "theta": theta, "r": 0.5, "delta": 0.05}
            for K, theta in product((2, 5, 9, 16), (0.1, 0.2))
        ),
        printed=(
            _regret_uniform,
            lambda B, K, theta, r, delta, **_: math.sqrt(K) * paper.excess_risk_supervised(B, theta, r, delta),
        ),
        mutant=(
            _regret_uniform,
            lambda B, K, theta, r, delta, **_: K * paper.excess_risk_supervised(B, theta, r, delta),
        ),
        assumptions=(THETA, ARMS, Assumption("K divides B", lambda B, K, **_: B % K == 0)),
    ),
    "a2-step-1": section_4_1.DECOMPOSITION,
    "a2-term-c": Check(
        cases=section_4_1.DECOMPOSITIONS,
        printed=(section_4_1.term_c, lambda **_: 0),
        mutant=(section_4_1.term_c, lambda **_: F(-1, 1000)),
        assumptions=(THETA,),
    ),
    "term-a": LEMMA_3,
    "a2-step-3": build_walk_check(WALK_STEP_3, walk_bound(), walk_hoeffding),
    "a2-step-4": Check(
        cases=RADEMACHER_CASES,
        printed=(rademacher, lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 1)),
        corrected=(rademacher, lambda m, theta, r: complexity(m, tight_rademacher_constant(theta), r, 1)),
        mutant=(rademacher, lambda m, theta, r: complexity(m, rademacher_constant(theta), r, 0.9)),
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
    ),
    "term-d": build_walk_check(WALK_TERM_D, walk_lemma_3, walk_hoeffding),
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
