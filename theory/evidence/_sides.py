"""Both sides of refuted claims on balls and fractions, where the registry computes with floats.

Formulas and instances are those of the registry; a probability that has no short exact form is bounded from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from theory import exact
from theory.claims._instances import (
    CORNER_THETA,
    corner_gap,
    corner_regret,
    move_best_last,
    outlier_beats,
    outlier_gap,
    outlier_optimism,
    outlier_pessimism,
    pool,
    pulls,
    walk_bound,
    walk_violation,
)
from theory.claims._strategies import one_row_violation
from theory.evidence._balls import BALLS, ball, enclose
from theory.formulas import (
    complexity,
    excess_risk_terms_paper,
    identification_margin,
    launch_rows,
    log_failure_median,
    log_failure_pair,
    log_failure_uniform,
    log_tail_paper,
    order_of_risk,
    rademacher_constant,
    regret_paper,
    uniform_risk_deviation,
)

F = Fraction
_THETA = F(CORNER_THETA)

# --- failure probabilities ------------------------------------------------------------------------------------


def log_fail(n: int, K: int, gap: Any, theta: Any, r: Any, factor: int = 2) -> Any:
    """Return the logarithm of Eq. 9; the factor is 4 in the first line of A.2."""
    return enclose(log_failure_uniform, n, K, gap, theta, r, factor)


def log_fail_median(n: int, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    """Return the logarithm of Eq. 11."""
    return enclose(log_failure_median, n, gap, theta, r)


def fail_uniform(n: int, gap: Any, theta: Any, r: Any, K: int = 2) -> Any:
    """Return Eq. 9."""
    return log_fail(n, K, gap, theta, r).exp()


def fail_median(n: int, gap: Any, theta: Any, r: Any) -> Any:
    """Return Eq. 11."""
    return log_fail_median(n, gap, theta, r).exp()


def margin(n: int, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    """Return Delta/2 - 2 c r / sqrt n."""
    return enclose(identification_margin, n, gap, theta, r)


def pool_parameters(name: str) -> dict[str, Fraction]:
    """Return gap, theta and kappa*Lambda of a named pool, exactly."""
    built = pool(name)
    return {"gap": built.gap(), "theta": built.theta, "r": built.kappa_lambda}


def selected(name: str, B: int, *, median: bool, best_last: bool = False) -> Fraction:
    """Return the exact failure probability on a named pool; ties go to the best arm, or to the others."""
    built = move_best_last(pool(name)) if best_last else pool(name)
    select = exact.median_selection if median else exact.uniform_selection
    return F(exact.failure(built, select(built, B)))


def tie_lost(n: int) -> Fraction:
    """Return P(N_B > N_C) on n rows with P(B) = P(C) = 1/4: N_B - N_C is half of a walk of 2n fair steps."""
    return (1 - F(math.comb(2 * n, n), 4**n)) / 2


def sum_of_tails(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    """Return the sum of Lemma 4 over the gaps."""
    return sum(enclose(log_failure_pair, n, gap, theta, r).exp() for gap in gaps)


def smallest_gap(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    """Return Lemma 4 at the smallest positive gap, once per rival."""
    return len(gaps) * sum_of_tails((min(gap for gap in gaps if gap > 0),), n, theta, r)


def chain(B: int, K: int, q: Fraction) -> Any:
    """Return 8 times the sum over rounds of q^(n_t / n_1)."""
    rows = pulls(B, K)
    return 8 * sum((ball(q).log() * ball(F(n, rows[0]))).exp() for n in rows)


# --- the walk and the corner ----------------------------------------------------------------------------------


def walk(bound: Callable[..., Any], *, learned: bool = False) -> Callable[..., Fraction]:
    """Return P(deviation > bound) on the walk, counting outcomes beyond the whole ball."""
    return walk_violation(bound, learned=learned, number=ball)


def walk_complexity(rows: int | None = None) -> Callable[..., Any]:
    """Return the bound with the exact Rademacher complexity of the walk."""
    return walk_bound(rows, xp=BALLS)


def walk_printed(share: int) -> Callable[..., Any]:
    """Return Lemma 3 at r = 1 - 2 theta and delta / share."""
    return lambda n, theta, delta: enclose(uniform_risk_deviation, n, theta, 1 - 2 * theta, delta / share)


def _tail(t: int, p: Any, terms: int = 4000) -> Any:
    """Return a lower bound of P(Bin(t, p) > t/2): the first terms of the tail, by their ratios."""
    k = t // 2 + 1
    ways = arb(t + 1).lgamma() - arb(k + 1).lgamma() - arb(t - k + 1).lgamma()
    term = (ways + k * p.log() + (t - k) * (1 - p).log()).exp()
    total, odds = arb(0), p / (1 - p)
    for _ in range(min(terms, t - k + 1)):
        total += term
        term = term * (t - k) / (k + 1) * odds
        k += 1
    return total


def corner_flip(n: int, tilt: Fraction, third: Fraction) -> Any:
    """Return a lower bound of P(N_A > N_B), with P(B) - P(A) = tilt and P(C) = third.

    Given N_A + N_B = t, N_A is Bin(t, p) with p < 1/2. P(Bin(t, p) > t/2) falls from t to t + 2 as long as
    p/(1-p) < k/(k+1), k = t/2 rounded down (the difference is a binomial term times p - (1-p) k/(k+1)). So t up to its
    mean plus 2 sqrt n costs the tail at the upper end; t leaves that range, or is below half of its mean, with
    probability at most 2 exp(-8) (Hoeffding).
    """
    p = ball((1 - third - tilt) / 2 / (1 - third))
    mean = math.floor(n * (1 - third))
    upper, lower = mean + 2 * math.isqrt(n) + 2, mean // 2
    if not p / (1 - p) < ball(F(lower // 2, lower // 2 + 1)):
        raise ValueError("the tail does not fall with the number of rows here.")
    return (1 - 2 * arb(-8).exp()) * _tail(upper, p).min(_tail(upper - 1, p))


def _corner_radius() -> Any:
    return ball(2).sqrt() * ball(1 - 2 * _THETA)


def corner(rows: int) -> Callable[..., Any]:
    """Return P(regret > bound at ``rows`` times n rows) from below, as a function of the case."""

    def probability(n: int, tilt: Fraction, third: Fraction, delta: Fraction) -> Any:
        limit = enclose(regret_paper, rows * n, _THETA, _corner_radius(), delta)
        broken = ball(corner_regret(n, tilt, third, _THETA)) > limit
        return corner_flip(n, tilt, third) if broken else arb(0)

    return probability


def corner_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    """Return delta + delta_fail on the corner, as a function of the case."""
    return lambda n, tilt, third, delta: (
        ball(delta) + fail(n, corner_gap(tilt, third, _THETA), _THETA, _corner_radius())
    )


# --- the outliers, one row, orthogonal rows -------------------------------------------------------------------

beats = partial(outlier_beats, xp=BALLS)
optimism = partial(outlier_optimism, xp=BALLS)
pessimism = partial(outlier_pessimism, xp=BALLS)


def outlier_lemma_4(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    """Return the logarithm of Lemma 4 on the outliers."""
    return enclose(log_failure_pair, n, outlier_gap(r, theta, p, q), theta, r)


def outlier_tail(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    """Return log(2 q) on the outliers, the tails of A.6."""
    return ball(2).log() + enclose(log_tail_paper, n, outlier_gap(r, theta, p, q), theta, r)


_order = partial(enclose, order_of_risk)


def one_row(rows: int) -> Callable[..., Fraction]:
    """Return P(excess > constant times the O() + R_ap) with one training row, as a function of the case."""
    return one_row_violation(lambda n, r, theta, delta, constant: _order(rows * n, r, 6 / delta, constant), number=ball)


def one_row_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    """Return delta + delta_fail at K = 2 and Delta = 1, as a function of the case."""
    return lambda n, theta, delta, **_: ball(delta) + fail(n, F(1), theta, 3 - 2 * theta)


def supervised(B: int, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
    """Return P(excess > constant times the O() of Eq. 6) on two separable clusters, where R_ap is 0."""
    bound = _order(B, ball(2).sqrt() * ball(3 - 2 * theta), 1 / delta, constant)
    return F(1) if ball(theta) > bound else F(0)


def opened(n: int, m: int, theta: Any, r: Any, delta: Any) -> Any:
    """Return the four terms of A.2."""
    return sum(enclose(excess_risk_terms_paper, m, n, theta, r, delta))


def order_of_terms(n: int, theta: Any, r: Any, delta: Any, **_: Any) -> Any:
    """Return 8 c times the terms with n."""
    return _order(n, r, 6 / delta, 8 * rademacher_constant(ball(theta)))


def orthogonal(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Fraction:
    """Return P[V_2 < V_1]: V_2 = 1 - t for t = radius kappa / sqrt n <= 4/5, V_1 = 1 - radius first."""
    fit = enclose(complexity, n, 1, radius * kappa, 1)
    rival = 1 - fit if fit <= ball(F(4, 5)) else arb(0) if fit >= ball(F(14, 5)) else arb(2)
    return F(1) if rival < ball(1 - radius * first) else F(0)


def orthogonal_bound(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Any:
    """Return Lemma 4 with kappa the supremum of the kernel."""
    gap = ball(radius * first) - enclose(complexity, m, 1, radius * kappa, 1)
    return enclose(log_failure_pair, n, gap, F(1, 10), kappa**2 * radius).exp()


# --- budgets and levels ---------------------------------------------------------------------------------------


def launch_budget(gap: Fraction, theta: Fraction, r: Fraction, K: int = 2) -> int:
    """Return the launch budget, which is the same for both strategies at K = 2."""
    return K * (int(launch_rows(16, gap, theta, r)) + 1)


def real_log_rows(B: int, K: int) -> int:
    """Return floor(B/(K log2 K)) with the real logarithm."""
    return int((ball(B) / (K * (ball(K).log() / ball(2).log()))).floor().unique_fmpz())
