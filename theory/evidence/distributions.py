"""Failure probabilities of the registry's instances, exact or as lower bounds on balls.

The constructions are those of `theory.claims.instances`, which computes the same sums in floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from flint import arb

from theory.claims.instances import CORNER_THETA
from theory.evidence.balls import ball

__all__ = [
    "corner_flip",
    "corner_gap",
    "corner_regret",
    "log_count",
    "log_two_counts",
    "mean_absolute_walk",
    "slack",
    "tie_lost",
    "walk_probability",
]

F = Fraction


def mean_absolute_walk(n: int) -> Fraction:
    """Return E|S_n|/n for fair signs: C(2k, k)/4^k with k = n/2 for n even, and the value at n + 1 for n odd."""
    even = n if n % 2 == 0 else n + 1
    return F(math.comb(even, even // 2), 2**even)


def walk_probability(n: int, p: Fraction, theta: Fraction, limit: Any, *, learned: bool) -> Fraction:
    """Return a lower bound of P(deviation > limit): count outcomes whose deviation exceeds the whole ball."""
    total = F(0)
    for k in range(n + 1):
        if learned:
            sign = 1 if 2 * k > n else -1
            deviation = (1 - 2 * theta) * (abs(F(2 * k, n) - 1) - sign * (2 * p - 1))
        else:
            deviation = 2 * (1 - 2 * theta) * (p - F(k, n))
        if ball(deviation) > limit:
            total += math.comb(n, k) * p**k * (1 - p) ** (n - k)
    return total


def tie_lost(n: int) -> Fraction:
    """Return P(N_B > N_C) on n rows with P(B) = P(C) = 1/4, exactly: N_B - N_C is half of a walk of 2n fair steps."""
    return (1 - F(math.comb(2 * n, n), 4**n)) / 2


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
    first, second = _tail(upper, p), _tail(upper - 1, p)
    return (1 - 2 * arb(-8).exp()) * first.min(second)


def corner_regret(n: int, tilt: Fraction, third: Fraction) -> Fraction:
    """Return `theory.claims.instances.corner_regret` as a fraction."""
    theta = F(CORNER_THETA)
    return tilt * (2 * (1 - 2 * theta) - 2 * theta * n) - 2 * theta * third


def corner_gap(tilt: Fraction, third: Fraction) -> Fraction:
    """Return `theory.claims.instances.corner_gap` as a fraction."""
    return (tilt + third) * (1 - 2 * F(CORNER_THETA))


def slack(theta: Fraction) -> Fraction:
    """Return theta + b."""
    return theta + theta / (1 - 2 * theta)


def log_count(n: int, count: int, p: Fraction) -> Any:
    """Return log P(Bin(n, p) = count) as a ball."""
    ways = arb(n + 1).lgamma() - arb(count + 1).lgamma() - arb(n - count + 1).lgamma()
    return ways + count * ball(p).log() + (n - count) * ball(1 - p).log()


def log_two_counts(n: int, first: int, second: int, p: Fraction, q: Fraction) -> Any:
    """Return log P(N_1 = first, N_2 = second) as a ball."""
    rest = n - first - second
    ways = arb(n + 1).lgamma() - arb(first + 1).lgamma() - arb(second + 1).lgamma() - arb(rest + 1).lgamma()
    return ways + first * ball(p).log() + second * ball(q).log() + rest * ball(1 - p - q).log()
