"""Section 4.2.2: Lemma 1, Theorem 1 and their remarks (uniform allocation)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import corrected, paper
from theory.claims._assumptions import ARMS, FEASIBLE_GAP, FIRST_ARM_BEST, LAUNCH_16_POOL, LAUNCH_64, THETA
from theory.claims._exact_losses import launch_row
from theory.claims._instances import (
    CORNER_R,
    CORNER_THETA,
    corner_gap,
    corner_violation,
    failure_uniform,
    parameters,
    pool,
)
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


def _boundary(factor: int) -> Any:
    """Return δ_fail at the smallest n allowed by n > factor·c²r²/Δ²."""

    def bound(K: int, gap: float, theta: float, r: float) -> float:
        n = launch_row(factor, gap, theta, r)
        return float(paper.delta_fail_uniform(K * n, K, gap, theta, r))

    return bound


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
        printed=(lambda **_: 0.0, _boundary(16)),
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
}
