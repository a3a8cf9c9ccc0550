"""Both sides of refuted claims on balls and fractions, where the registry computes with floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from theory import exact
from theory.claims.instances import CORNER_THETA, pool
from theory.evidence.balls import ball
from theory.evidence.distributions import (
    corner_flip,
    corner_gap,
    corner_regret,
    log_count,
    log_two_counts,
    mean_absolute_walk,
    slack,
    walk_probability,
)
from theory.evidence.formulas import c, hoeffding, log_q

F = Fraction

# --- formulas of the paper on balls ---------------------------------------------------------------------------


def log_fail(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    return log_q(n, gap, theta, r, 4 * (K - 1))


def log_fail_median(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    return fail_median(n, gap, theta, r).log()


def fail_uniform(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    return log_fail(n, K, gap, theta, r).exp()


def fail_median(n: int, gap: Any, theta: Any, r: Any) -> Any:
    q = log_q(n, gap, theta, r).exp()
    return 8 * q / (1 - q)


def appendix(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    margin = ball(gap) / 2 - 4 * c(ball(theta)) * ball(r) / ball(n).sqrt()
    return ball(4 * (K - 1)).log() - ball(F(2, 9)) * n * margin**2


def simplified(n: int, K: int, gap: Any, **_: Any) -> Any:
    return ball(4 * (K - 1)).log() - ball(gap) ** 2 * n / 72


def margin(n: int, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    return ball(gap) / 2 - 2 * c(ball(theta)) * ball(r) / ball(n).sqrt()


def regret(n: int, r: Any, theta: Any, delta: Any) -> Any:
    return 4 * c(ball(theta)) * ball(r) / ball(n).sqrt() + 2 * hoeffding(ball(n), 2 / ball(delta))


def opened(n: int, m_: int, theta: Any, r: Any, delta: Any) -> Any:
    radius = 4 * c(ball(theta)) * ball(r)
    rows = radius / ball(m_).sqrt() + 2 * hoeffding(ball(m_), 3 / ball(delta))
    return rows + radius / ball(n).sqrt() + 2 * hoeffding(ball(n), 6 / ball(delta))


def pool_parameters(name: str) -> dict[str, Fraction]:
    built = pool(name)
    return {"gap": built.gap(), "theta": built.theta, "r": built.kappa_lambda}


# --- the walk, the corner, the outliers, one row --------------------------------------------------------------


def walk(limit: Callable[..., Any], *, learned: bool) -> Callable[..., Fraction]:
    def probability(n: int, p: Fraction, theta: Fraction, delta: Fraction) -> Fraction:
        return walk_probability(n, p, theta, limit(n, theta, delta), learned=learned)

    return probability


def deviation(n: int, level: Fraction) -> Any:
    return hoeffding(ball(n), ball(level))


def walk_complexity(rows: int | None) -> Callable[..., Any]:
    def limit(n: int, theta: Fraction, delta: Fraction) -> Any:
        return ball(2 * (1 - 2 * theta) * mean_absolute_walk(rows or n)) + deviation(n, 1 / delta)

    return limit


def walk_printed(share: int) -> Callable[..., Any]:
    def limit(n: int, theta: Fraction, delta: Fraction) -> Any:
        return 2 * ball(1 - theta) / ball(n).sqrt() + deviation(n, share / delta)

    return limit


def corner(rows: int) -> Callable[..., Any]:
    """P(regret > bound at ``rows`` times n rows) from below."""

    def probability(n: int, tilt: Fraction, third: Fraction, delta: Fraction) -> Any:
        theta = F(CORNER_THETA)
        limit = regret(rows * n, ball(2).sqrt() * ball(1 - 2 * theta), theta, delta)
        broken = ball(corner_regret(n, tilt, third)) > limit
        return corner_flip(n, tilt, third) if broken else arb(0)

    return probability


def corner_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    def allowance(n: int, tilt: Fraction, third: Fraction, delta: Fraction) -> Any:
        theta = F(CORNER_THETA)
        return ball(delta) + fail(n, corner_gap(tilt, third), theta, ball(2).sqrt() * ball(1 - 2 * theta))

    return allowance


by_uniform = corner_allowance(lambda n, gap, theta, r: fail_uniform(n, 2, gap, theta, r))
by_median = corner_allowance(fail_median)


def outlier_gap(r: Fraction, theta: Fraction, p: Fraction, q: Fraction) -> Fraction:
    return (q - p) * (1 + r) - slack(theta)


def outlier_beats(r: Any, theta: Any, n: int, first: int, second: int, p: Any, q: Any) -> Any:
    beaten = F(second) * (1 + r) / n + slack(theta) < F(first) * (1 + r) / n <= 1
    return log_two_counts(n, first, second, p, q) if beaten else arb.neg_inf()


def outlier_lemma_4(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    return log_q(n, outlier_gap(r, theta, p, q), theta, r, 4)


def optimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any) -> Any:
    largest = (q - p) * (1 + r) + slack(theta)
    proved = F(count) * (1 + r) / n + slack(theta) < q * (1 + r) - largest / 2
    return log_count(n, count, q) if proved else arb.neg_inf()


def pessimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any) -> Any:
    largest = (q - p) * (1 + r) + slack(theta)
    proved = p * (1 + r) + slack(theta) + largest / 2 < F(count) * (1 + r) / n <= 1
    return log_count(n, count, p) if proved else arb.neg_inf()


def outlier_tail(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    return log_q(n, outlier_gap(r, theta, p, q), theta, r, 2)


def one_row(rows: int) -> Callable[..., Fraction]:
    """P(excess > constant times the O() + R_ap) with one training row."""

    def probability(n: int, noise: Fraction, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
        r = 3 - 2 * theta
        bound = constant * (ball(r) / ball(rows * n).sqrt() + hoeffding(ball(rows * n), 6 / ball(delta)))
        limit = bound + ball((2 - 2 * theta) * noise)
        return noise if ball(1 - 2 * noise) > limit else F(0)

    return probability


def one_row_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n, theta, delta, **_: ball(delta) + fail(n, F(1), theta, 3 - 2 * theta)


def supervised(B: int, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
    radius = ball(2).sqrt() * ball(3 - 2 * theta)
    bound = constant * (radius / ball(B).sqrt() + hoeffding(ball(B), 1 / ball(delta)))
    return F(1) if ball(theta) > bound else F(0)


def orthogonal(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Fraction:
    """V_2 < V_1 surely: V_2 = 1 - t for t = radius kappa/sqrt n <= 4/5, V_1 = 1 - radius first."""
    margin = ball(radius * kappa) / ball(n).sqrt()
    rival = 1 - margin if margin <= ball(F(4, 5)) else arb(0) if margin >= ball(F(14, 5)) else arb(2)
    return F(1) if rival < ball(1 - radius * first) else F(0)


def orthogonal_bound(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Any:
    gap = ball(radius * first) - ball(radius * kappa) / ball(m).sqrt()
    return log_q(n, gap, F(1, 10), kappa**2 * radius, 4).exp()


def chain(B: int, K: int, q: Fraction) -> Any:
    rounds, active, rows = (K - 1).bit_length(), K, []
    for _ in range(rounds):
        rows.append(B // (rounds * active))
        active = -(-active // 2)
    return 8 * sum((ball(q).log() * ball(F(n, rows[0]))).exp() for n in rows)


def launch(K: int, gap: Fraction, theta: Fraction, r: Fraction) -> tuple[int, int]:
    """The two launch budgets for K = 2, where log2 K = 1."""
    rows = int(16 * (c(theta) * r / gap) ** 2) + 1
    return rows * K, rows * K * (K.bit_length() - 1)


def selected(name: str, B: int, *, median: bool) -> Fraction:
    built = pool(name)
    select = exact.median_selection if median else exact.uniform_selection
    return F(exact.failure(built, select(built, B)))


def constant(gaps: tuple[Fraction, ...], theta: Fraction, r: Fraction) -> Fraction:
    return F(64 * (c(theta) * r / min(gap for gap in gaps if gap > 0)) ** 2)


def sum_of_tails(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    return 4 * sum(log_q(n, gap, theta, r).exp() for gap in gaps)


def smallest_gap(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    return len(gaps) * sum_of_tails((min(gap for gap in gaps if gap > 0),), n, theta, r)


def plain_delta(delta: Fraction, **_: Any) -> Fraction:
    return delta


def half_delta(delta: Fraction, **_: Any) -> Fraction:
    return delta / 2


def real_log_rows(B: int, K: int) -> int:
    """floor(B/(K log2 K)) with the real logarithm."""
    return int((ball(B) / (K * (ball(K).log() / ball(2).log()))).floor().unique_fmpz())
