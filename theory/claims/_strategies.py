"""Sides and checks that the claims about uniform allocation and about median elimination share, by strategy.

Functions of `theory` are looked up when a side is evaluated, so that a test can plant an error in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from theory import corrected, paper
from theory.claims._assumptions import ARMS, FEASIBLE_GAP, THETA
from theory.claims._exact_losses import launch_row
from theory.claims._instances import (
    CORNER_R,
    CORNER_THETA,
    corner_gap,
    corner_violation,
    log_tail_unit_range,
    parameters,
    pool,
)
from theory.claims.claim import Assumption, Case, Check, Side, grid
from theory.formulas import (
    PAPER_GEOMETRIC,
    PAPER_PREFACTOR,
    ceil_log2,
    launch_rows,
    loss_range,
    order_of_risk,
    rademacher_constant,
    regret_paper,
    regret_terms_corrected,
)
from theory.paper import Strategy

F = Fraction


def bound_of(version: Any, name: str) -> Callable[..., float]:
    """Return a function of `theory.paper` or `theory.corrected` by its name."""
    return lambda *arguments, **options: float(getattr(version, name)(*arguments, **options))


def smallest_budget(strategy: Strategy, n: int, K: int) -> int:
    """Return the smallest budget with n rows per arm, in the first round as Lemma 2 counts them."""
    return n * K if strategy == "uniform" else math.ceil(n * K * math.log2(K))


def pool_bound(version: Any, strategy: Strategy, **options: Any) -> Side:
    """Return delta_fail on a named pool, as a function of pool and budget."""

    def bound(name: str, B: int) -> float:
        ties = {} if version is paper else {"best_count": len(pool(name).best())}
        return bound_of(version, f"delta_fail_{strategy}")(B, *parameters(name), strict=False, **ties, **options)

    return bound


def pool_bound_unit_range(strategy: Strategy) -> Side:
    """Plant an error: the printed delta_fail with the exponent -2 n x² that a range of one would give."""

    def bound(name: str, B: int) -> float:
        arms, *point = parameters(name)
        if strategy == "uniform":
            return PAPER_PREFACTOR * (arms - 1) * math.exp(log_tail_unit_range(B // arms, *point))
        q = math.exp(log_tail_unit_range(B // (arms * ceil_log2(arms)), *point))
        return PAPER_GEOMETRIC * q / (1 - q)

    return bound


def failure_at(strategy: Strategy, n: int, K: int, gap: float, theta: float, r: float, **options: Any) -> float:
    """Return the printed delta_fail with n rows per arm, in the first round for median elimination."""
    budget = smallest_budget(strategy, n, K)
    return bound_of(paper, f"delta_fail_{strategy}")(budget, K, gap, theta, r, **options)


def build_condition_check(strategy: Strategy, level: Callable[[int], int], cases: tuple[Case, ...]) -> Check:
    """Build the check that delta_fail is below 1 where the condition n > 16 c²r²/Δ² holds.

    Corrected: where n > (4/Δ²)(2cr + √(4.5 log level(K)))² holds.
    """

    def boundary(K: int, gap: float, theta: float, r: float) -> float:
        return failure_at(strategy, launch_row(16, gap, theta, r), K, gap, theta, r)

    def informative(K: int, gap: float, theta: float, r: float) -> float:
        root = 2 * rademacher_constant(theta) * r + math.sqrt(4.5 * math.log(level(K)))
        return failure_at(strategy, math.floor(4 / gap**2 * root**2) + 1, K, gap, theta, r)

    return Check(
        cases=cases,
        printed=(lambda **_: 0.0, boundary),
        corrected=informative,
        assumptions=(THETA, ARMS, FEASIBLE_GAP),
    )


# --- regrets on the corner ------------------------------------------------------------------------------------

_CORNER_PREMISES = (
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


def _regret_corrected(n: int, r: float, theta: float, delta: float) -> float:
    """Return 2cr/√n + 2M√(log(2/δ)/2n), M the range of the loss: `corrected.exploratory_regret_uniform`."""
    return float(sum(regret_terms_corrected(n, theta, r, delta, 1, 1, loss_range(theta, r))))


def build_corner_check(strategy: Strategy, cases: tuple[Case, ...], printed: Side = regret_paper) -> Check:
    """Build the check that the regret on the corner exceeds its bound with probability at most δ + δ_fail, K = 2."""

    def allowance(version: Any) -> Side:
        fail = bound_of(version, f"delta_fail_{strategy}")
        return lambda n, tilt, third, delta: delta + fail(2 * n, 2, corner_gap(tilt, third), CORNER_THETA, CORNER_R)

    return Check(
        cases=cases,
        printed=(corner_violation(printed), allowance(paper)),
        corrected=(corner_violation(_regret_corrected), allowance(corrected)),
        assumptions=_CORNER_PREMISES,
    )


# --- excess risks with one training row -----------------------------------------------------------------------

_ONE_ROW_PREMISES = (
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


def one_row_violation(bound: Any, *, number: Any = float) -> Side:
    """Return P(excess risk > bound) when the training set is one row and n rows are bought from it.

    x = 1 always, P(y = −1) = ``noise``, Λ = 3 − 2θ, and a rival without any feature.  If the one row is
    labelled −1, the learned model fits it (h = −(3 − 2θ), g = 1 − 2θ, unique) and errs on every +1.
    ``number`` turns fractions into what the bound computes with, such as balls.
    """

    def probability(n: int, noise: Fraction, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
        limit = bound(n, number(3 - 2 * theta), number(theta), number(delta), constant)
        return noise if number(1 - 2 * noise) > limit + number((2 - 2 * theta) * noise) else F(0)

    return probability


def build_one_row_check(strategy: Strategy, selected_rows: int) -> Check:
    """Build the check of the excess risk with K = 2 and Δ = 1; the print gives the selected arm these times n rows.

    Printed: constant times the O() of the theorem. Corrected: all terms, m = 1 row in the training set.
    """

    def order(n: int, r: float, theta: float, delta: float, constant: int) -> float:
        return float(order_of_risk(selected_rows * n, r, 6 / delta, constant))

    def opened(n: int, r: float, theta: float, delta: float, constant: int) -> float:
        return bound_of(corrected, f"excess_risk_{strategy}")(2 * n, 2, 1.0, theta, r, 1, delta)

    def allowance(n: int, theta: Fraction, delta: Fraction, **_: Any) -> float:
        failure = bound_of(paper, f"delta_fail_{strategy}")(2 * n, 2, 1.0, float(theta), float(3 - 2 * theta))
        return float(delta) + failure

    return Check(
        cases=grid(n=(10**12,), noise=(F(1, 100),), theta=(F(1, 10), F(3, 10)), delta=(F(1, 200),), constant=(1000,)),
        printed=(one_row_violation(order), allowance),
        corrected=(one_row_violation(opened), allowance),
        assumptions=(THETA, *_ONE_ROW_PREMISES),
    )


# --- the sum of A.2 and A.3 -----------------------------------------------------------------------------------


def opened_risk(strategy: Strategy) -> Side:
    """Return the four terms without R_ap, at the largest gap r of the affine regime."""

    def risk(n: int, m: int, theta: float, r: float, delta: float, K: int = 2) -> float:
        return bound_of(paper, f"excess_risk_{strategy}")(smallest_budget(strategy, n, K), K, r, theta, r, m, delta)

    return risk


def sum_of_parts(strategy: Strategy, share: int) -> Side:
    """Return term (a) + term (d) + the bound of term (b), each at δ/share."""

    def total(n: int, m: int, theta: float, r: float, delta: float, K: int = 2) -> float:
        part, selected = delta / share, n if strategy == "uniform" else n * K
        return float(2 * paper.lemma_3(m, theta, r, part) + regret_paper(selected, theta, r, part))

    return total
