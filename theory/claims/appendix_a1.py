"""Appendix A.1: Lemma 3 (generalisation) and Lemma 4 (one comparison)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from theory import corrected, paper
from theory.claims._assumptions import DEFINED, THETA, UNIT_THETA
from theory.claims._exact_losses import largest_gap, surrogate
from theory.claims._instances import (
    OUTLIER_PREMISE,
    OUTLIERS,
    OUTLIERS_SMALL_BALL,
    is_outlier_instance,
    log_tail_unit_range,
    outlier_beats,
    outlier_gap,
    pairwise,
    parameters,
)
from theory.claims.claim import Assumption, Check, grid
from theory.formulas import complexity, launch_rows, rademacher_constant, uniform_risk_deviation

F = Fraction


@lru_cache(maxsize=512)
def uniform_deviation(eta: Fraction, m: int, k: int, theta: Fraction, radius: Fraction) -> float:
    """Return P(sup_f R(f) − R̂(f) ≥ v), v its value when k of m labels are +1, at one point x."""
    level = largest_gap(eta, F(k, m), theta, radius)
    mass = (
        math.comb(m, j) * eta**j * (1 - eta) ** (m - j)
        for j in range(m + 1)
        if largest_gap(eta, F(j, m), theta, radius) >= level
    )
    return float(sum(mass, F(0)))


def deviation_level(term: Any) -> Any:
    """Return the δ at which Lemma 3 puts its bound at v: exp(−2m(v − complexity)²), 1 below the complexity."""

    def delta(eta: Fraction, m: int, k: int, theta: Fraction, radius: Fraction) -> float:
        level = float(largest_gap(eta, F(k, m), theta, radius))
        margin = level - term(m, float(theta), float(radius))
        return math.exp(-2 * m * margin**2) if margin > 0 else 1.0

    return delta


def rademacher_term(m: int, theta: float, r: float) -> float:
    """Return 2cr/√m."""
    return float(complexity(m, rademacher_constant(theta), r, 2))


LEMMA_3 = Check(
    cases=tuple(
        {"eta": eta, "m": m, "k": k, "theta": F(1, 10), "radius": radius}
        for eta, radius, (m, k) in product(
            (F(1, 50), F(1, 2)), (F(1, 5), F(14, 5)), ((1, 1), (2, 1), (2, 2), (60, 60), (60, 40))
        )
    ),
    printed=(uniform_deviation, deviation_level(rademacher_term)),
    mutant=deviation_level(lambda m, theta, r: 0.0),
    assumptions=(THETA,),
)


def _rejecting_pair(theta: Fraction, m: int, delta: float) -> float:
    """Return R(f) − R̂(f) for h = 0, g = −2 at x = 1: it does not depend on the sample."""
    return float(theta - surrogate(F(0), F(-2), 1, theta))


def _lemma_3_everywhere(theta: Fraction, m: int, delta: float) -> float:
    return float(uniform_risk_deviation(m, float(theta), 2.0, float(delta)))


def comparison(**case: Any) -> float:
    """Return log P[V_i < V_1], exactly on a pool or from below on the outliers."""
    if "name" in case:
        return math.log(pairwise(case["name"], 1, case["n"]))
    return float(outlier_beats(**case))


def case_parameters(**case: Any) -> tuple[int, float, float, float]:
    """Return (n, Δ, θ, κΛ) of a case of Lemma 4."""
    if "name" in case:
        return (case["n"], *parameters(case["name"])[1:])
    gap = outlier_gap(case["r"], case["theta"], case["p"], case["q"])
    return case["n"], gap, case["theta"], case["r"]


def _lemma_4_printed(**case: Any) -> float:
    """Return log of the right side of Lemma 4."""
    return float(paper.lemma_4(*case_parameters(**case), log=True))


def _lemma_4_corrected(**case: Any) -> float:
    """Return log(2 exp(−2n x²/M²))."""
    return float(corrected.lemma_4(*case_parameters(**case), log=True))


def _lemma_4_without_nine(**case: Any) -> float:
    """Plant an error: the range of the loss taken as one, log(2 exp(−2n x²))."""
    return math.log(2) + log_tail_unit_range(*case_parameters(**case))


def _meets_launch_condition(**case: Any) -> bool:
    n, *rest = case_parameters(**case)
    return rest[0] > 0 and n > launch_rows(16, *rest)


LEMMA_4_PREMISES = (
    Assumption(OUTLIER_PREMISE, lambda **case: "name" in case or is_outlier_instance(**case), instance=True),
    Assumption("identification condition with the factor 16", _meets_launch_condition),
)
LEMMA_4 = Check(
    cases=({"name": "opposed", "n": 500}, OUTLIERS, OUTLIERS_SMALL_BALL),
    printed=(comparison, _lemma_4_printed),
    corrected=_lemma_4_corrected,
    assumptions=LEMMA_4_PREMISES,
)


def _orthogonal_rows(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> float:
    """Return P[V_2 < V_1] when every row of arm 2 has its own direction of length κ and arm 1 is constant.

    By symmetry arm 2 fits all n rows to the same margin t = Λκ/√n: V_2 = 1 − t for t ≤ 1 − 2θ and 0 for
    t ≥ 3 − 2θ (θ = 1/10).  Arm 1 has V_1 = 1 − Λ·first in every sample.
    """
    margin = float(radius * kappa) / math.sqrt(n)
    if not (margin <= 0.8 or margin >= 2.8):
        raise ValueError(f"the margin {margin} lies between the two closed forms.")
    rival = 1 - margin if margin <= 0.8 else 0.0
    return 1.0 if rival < 1 - float(radius * first) else 0.0


def _orthogonal_bound(power: int) -> Any:
    """Return Lemma 4 with κ read as (sup K)^(power/2): power 2 as printed, 1 as meant."""

    def bound(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> float:
        gap = float(radius * first) - float(radius * kappa) / math.sqrt(m)
        return float(paper.lemma_4(n, gap, 0.1, float(kappa**power * radius), strict=False))

    return bound


def _closed_forms(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> bool:
    margin = float(radius * kappa) / math.sqrt(n)
    small = float(radius * first) <= 0.8 and float(radius * kappa) / math.sqrt(m) <= 0.8
    return n <= m and small and (margin <= 0.8 or margin >= 2.8)


_CLOSED_FORMS = Assumption(
    "rows, scores and risks at which the closed forms hold (theta = 1/10)", _closed_forms, instance=True
)


CHECKS = {
    "lemma-3": LEMMA_3,
    "lemma-3-theta": Check(
        cases=grid(theta=(F(3, 4), F(1, 10), F(2, 5)), m=(1000,), delta=(0.05,)),
        printed=(_rejecting_pair, _lemma_3_everywhere),
        corrected=lambda theta, **k: _lemma_3_everywhere(theta, **k) if theta < F(1, 2) else math.inf,
        assumptions=(UNIT_THETA, DEFINED),
    ),
    "lemma-4": replace(LEMMA_4, mutant=(comparison, _lemma_4_without_nine)),
    "lemma-4-kappa": Check(
        cases=(
            {"kappa": F(1, 1000), "radius": F(300000), "n": 10**4, "m": 10**6, "first": F(1, 600000)},
            {"kappa": F(1), "radius": F(3, 10), "n": 10**4, "m": 10**6, "first": F(1)},
        ),
        printed=(_orthogonal_rows, _orthogonal_bound(2)),
        corrected=_orthogonal_bound(1),
        assumptions=(_CLOSED_FORMS,),
    ),
}
