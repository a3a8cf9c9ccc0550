"""Instances with exact failure probabilities, on which claims are checked, and rounds of median elimination on them.

Three families carry the counterexamples about constants:

* the *walk*: φ = ±1, y = +1, κΛ = 1 − 2θ.  Losses are 1 ∓ r, so deviations are binomial and the range of the
  loss is 2r, up to 2, where the paper's Hoeffding and McDiarmid steps use 1;
* the *corner*: rows A = (1, 0), B = (−1, 0), C = (0, 1), all labelled +1, Λ = √2(1 − 2θ), against an arm
  without any feature.  C is fitted in full by its own coordinate, so the sign of the first coordinate follows
  the majority of A and B while C keeps the gap large;
* the *outliers*: φ = −1 with small probability, 1/r otherwise, y = +1, Λ = r large.  Then V = p̂(1 + r) up to
  O(θ), whose range 1 + r exceeds the 3 that the factor 2/9 can absorb.

Functions of these families take floats, or fractions for rigorous replays: there ``xp`` is
:data:`theory.evidence._balls.BALLS` and probabilities are balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from theory import exact
from theory.exact import AffinePool, make_pool
from theory.formulas import (
    FLOATS,
    halving_schedule,
    hoeffding_deviation,
    identification_margin,
    rejection_slope,
)

F = Fraction
TINY = F(1, 10**6)


def star_pool(arms: int, best: Fraction, rival: Fraction) -> AffinePool:
    """Build a pool in which arm i is wrong (φ = −1) on its own atom; the first arm's atom is rarer."""
    weights = [1 - best - rival * (arms - 1), best, *[rival] * (arms - 1)]
    features = [[1, *[-1 if atom == arm else 1 for atom in range(arms)]] for arm in range(arms)]
    return make_pool(weights, features, radius=F(4, 5), theta=F(1, 10))


def tied_pool(arms: int) -> AffinePool:
    """Build a pool of two equally good arms that see different rows, and arms without any feature."""
    features = [[1, 0, 1], [1, 1, 0], *[[0, 0, 0]] * (arms - 2)]
    return make_pool([F(1, 2), F(1, 4), F(1, 4)], features, radius=1 - 2 * TINY, theta=TINY)


def opposed_pool() -> AffinePool:
    """Build a pool of two arms whose scores err in opposite directions on the same rows."""
    return make_pool([F(1, 2), F(1, 10), F(2, 5)], [[1, -1, 1], [-1, 1, 1]], radius=1 - 2 * TINY, theta=TINY)


def one_rival_pool(arms: int, right: Fraction, wrong: Fraction) -> AffinePool:
    """Build a pool of two arms that err in opposite directions and arms without any feature.

    Halving drops the empty arms early and gives their share of the budget to the two that matter.
    """
    features = [[1, -1, 1], [-1, 1, 1], *[[0, 0, 0]] * (arms - 2)]
    return make_pool([right, wrong, 1 - right - wrong], features, radius=F(4, 5), theta=F(1, 10))


def sparse_pool() -> AffinePool:
    """Build a pool of five rows; four distinct rows fail more often than four with replacement."""
    return make_pool([F(1, 5), F(1, 5), F(3, 5)], [[-2, 0, 1], [1, 2, -1]], radius=F(2, 5), theta=F(1, 10))


POOLS: dict[str, Callable[[], AffinePool]] = {
    "opposed": opposed_pool,
    "sparse": sparse_pool,
    "twins": lambda: make_pool([F(1, 2), F(1, 2)], [[1, 0], [1, 0]], radius=F(4, 5), theta=F(1, 10)),
    "one-rival-8": lambda: one_rival_pool(8, F(2, 5), F(1, 5)),
    "one-clear-rival-8": lambda: one_rival_pool(8, F(1, 2), F(1, 10)),
    "tied-3": lambda: tied_pool(3),
    "tied-4": lambda: tied_pool(4),
    "star-3": lambda: star_pool(3, F(1, 20), F(1, 4)),
    "star-4": lambda: star_pool(4, F(1, 20), F(1, 5)),
    "star-4-close": lambda: star_pool(4, F(1, 10), F(1, 5)),
    "star-4-rare": lambda: star_pool(4, F(1, 20), F(1, 10)),
    "best-last": lambda: make_pool([F(1, 2), F(1, 2)], [[0, 0], [1, 0]], radius=F(4, 5), theta=F(1, 10)),
}


def pool(name: str) -> AffinePool:
    """Build the pool of that name."""
    return POOLS[name]()


@lru_cache(maxsize=256)
def failure_uniform(name: str, B: int, *, target: int | None = None) -> float:
    """Return the exact failure probability of uniform allocation on a named pool."""
    built = pool(name)
    selection = exact.uniform_selection(built, B, exact=False)
    return float(exact.failure(built, selection, target=target))


def move_best_last(built: AffinePool) -> AffinePool:
    """Return the pool with its first arm last, so that it loses every tie."""
    return replace(built, features=(*built.features[1:], built.features[0]))


@lru_cache(maxsize=256)
def failure_median(
    name: str, B: int, *, target: int | None = None, accumulate: bool = True, best_last: bool = False
) -> float:
    """Return the exact failure probability of median elimination on a named pool."""
    built = move_best_last(pool(name)) if best_last else pool(name)
    selection = exact.median_selection(built, B, accumulate=accumulate, exact=False)
    return float(exact.failure(built, selection, target=target))


@lru_cache(maxsize=256)
def pairwise(name: str, rival: int, n: int, *, rational: bool = False) -> Any:
    """Return P[V_rival < V_1] on n shared rows (ties favour the first arm), as a float or a fraction."""
    built = pool(name)
    pair = AffinePool(
        built.weights, built.labels, (built.features[0], built.features[rival]), built.radius, built.theta
    )
    return exact.uniform_selection(pair, 2 * n, exact=rational)[1]


def parameters(name: str) -> tuple[int, float, float, float]:
    """Return (K, Δ, θ, κΛ) of a named pool, as floats for the bounds."""
    built = pool(name)
    return built.arms, float(built.gap()), float(built.theta), float(built.kappa_lambda)


def log_counts(n: int, counts: tuple[int, ...], chances: tuple[Any, ...], xp: Any = FLOATS) -> Any:
    """Return log P(these counts of disjoint kinds among n rows), one chance per kind."""
    rest, other = n - sum(counts), 1 - sum(chances)
    log_factorials = [_log_factorial(count, xp) for count in (n, *counts, rest)]
    logs = sum(count * xp.log(chance) for count, chance in zip(counts, chances, strict=True))
    return log_factorials[0] - sum(log_factorials[1:]) + logs + rest * xp.log(other)


def _log_factorial(count: int, xp: Any) -> Any:
    return float(special.gammaln(count + 1)) if xp is FLOATS else xp.lgamma(count + 1)


# --- the walk ---------------------------------------------------------------------------------------------


def fixed_deviation(n: int, p: Fraction, k: int, theta: Fraction) -> Fraction:
    """Return R̂_n(f*) − R(f*) = 2r(p − k/n) for the best model f* when k of n rows are +1, r = 1 − 2θ, p > 1/2."""
    return 2 * (1 - 2 * theta) * (p - F(k, n))


def learned_deviation(n: int, p: Fraction, k: int, theta: Fraction) -> Fraction:
    """Return R(f̂) − R̂_n(f̂) for the empirical minimiser f̂, whose sign is that of the majority of the rows.

    V = 1 − r|2k/n − 1|, and on the population f̂ has the risk 1 ∓ r(2p − 1).  A tie goes to the wrong sign.
    """
    sign = 1 if 2 * k > n else -1
    return (1 - 2 * theta) * (abs(F(2 * k, n) - 1) - sign * (2 * p - 1))


def walk_violation(
    bound: Callable[..., Any], *, learned: bool = False, number: Callable[[Any], Any] = float
) -> Callable[..., Fraction]:
    """Return P(deviation > bound) of the fixed best model, or of the learned one, as a function of the case.

    ``number`` turns fractions into what the bound computes with. On balls only outcomes beyond the whole ball count.
    """
    deviation = learned_deviation if learned else fixed_deviation

    def probability(n: int, p: Fraction, theta: Fraction, delta: Fraction) -> Fraction:
        limit = bound(n=n, theta=number(theta), delta=number(delta))
        broken = (k for k in range(n + 1) if number(deviation(n, p, k, theta)) > limit)
        return sum((math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in broken), F(0))

    return probability


def level(share: int = 1) -> Callable[..., Any]:
    """Return delta / share as a function of the case."""
    return lambda delta, **_: delta / share


@lru_cache(maxsize=64)
def mean_absolute_walk(n: int) -> Fraction:
    """Return E|σ_1 + … + σ_n|/n for fair signs: the Rademacher complexity of the walk divided by r.

    E|S_2k| = 2k C(2k, k)/4^k, and E|S_(2k-1)| is the same.
    """
    even = n + n % 2
    return F(even * math.comb(even, even // 2), n * 2**even)


def walk_bound(rows: int | None = None, share: int = 1, *, width: bool = False, xp: Any = FLOATS) -> Callable[..., Any]:
    """Return 2R + √(log(share/δ)/2n) as a function of n, θ, δ, R the exact Rademacher complexity of the walk.

    R is that of n rows, or of ``rows``. With ``width`` the deviation is multiplied by the range 2r of the loss.
    """

    def bound(n: int, theta: Any, delta: Any) -> Any:
        r, mean = 1 - 2 * theta, mean_absolute_walk(rows or n)
        deviation = hoeffding_deviation(xp.q(n), share / delta, xp)
        return 2 * r * xp.q(mean.numerator, mean.denominator) + (2 * r * deviation if width else deviation)

    return bound


# --- the corner -------------------------------------------------------------------------------------------

CORNER_THETA = 1e-12
CORNER_R = math.sqrt(2) * (1 - 2 * CORNER_THETA)


@lru_cache(maxsize=64)
def corner_flip(n: int, tilt: float, third: float) -> float:
    """Return P(N_A > N_B) in n rows, with P(B) − P(A) = tilt > 0 and P(C) = third.

    N_A + N_B is binomial and N_A given it too.  The sum runs over ten standard deviations of N_A + N_B;
    what is left out only makes the probability larger.
    """
    share = 1 - third
    width = 10 * math.sqrt(n * share * third) + 2
    total = np.arange(max(0, int(n * share - width)), min(n, int(n * share + width)) + 1)
    least = total // 2 + 1
    wins = special.betainc(least, total - least + 1, (share - tilt) / 2 / share)
    logs = exact.log_probabilities(np.stack([total, n - total], axis=1), (share, third))
    return float(np.sum(np.exp(logs) * wins))


def corner_regret(n: int, tilt: Any, third: Any, theta: Any = CORNER_THETA) -> Any:
    """Return a lower bound on R_tr(f̂) − R_tr(f*) whenever A is the majority among the sampled A and B.

    Write a and a' for the first coordinates of h and g.  Rows A and B lose at least 1 ∓ (a − a')/2 and row C
    at least 0; the point a = −a' = ±(1 − 2θ), c = −c' = 1 − 2θ is feasible and loses 2θ at C.  That f̂ is
    optimal on the sample therefore forces (a − a')/2 ≥ 1 − 2θ − 2θ·N_C/(N_A − N_B) ≥ 1 − 2θ − 2θn, and on the
    population f̂ loses at least tilt·((a − a')/2 + 1 − 2θ) − 2θ·third more than the feasible point with the
    right sign.
    """
    return tilt * (2 * (1 - 2 * theta) - 2 * theta * n) - 2 * theta * third


def corner_gap(tilt: Any, third: Any, theta: Any = CORNER_THETA) -> Any:
    """Return a lower bound on Δ: the rival scores 1, the first arm at most 1 − (tilt + third)(1 − 2θ)."""
    return (tilt + third) * (1 - 2 * theta)


def corner_violation(bound: Callable[..., float]) -> Callable[..., float]:
    """Return P(regret > bound) on the corner instance, or 0 when the flip does not break the bound.

    ``bound(n=, r=, theta=, delta=)`` is the right-hand side for the first arm with n rows.
    """

    def probability(n: int, tilt: float, third: float, delta: float) -> float:
        limit = bound(n=n, r=CORNER_R, theta=CORNER_THETA, delta=delta)
        return corner_flip(n, tilt, third) if corner_regret(n, tilt, third) > limit else 0.0

    return probability


# --- the outliers -----------------------------------------------------------------------------------------

OUTLIER_PREMISE = "0 < p < q <= 1/(1 + kappa*Lambda) and kappa*Lambda >= 1: the first arm has fewer outliers"


def is_outlier_instance(r: Any, theta: Any, p: Any, q: Any, **_: object) -> bool:
    """Return whether the risks are those of `outlier_gap`; below r = 1 the value 1/r exceeds κ = 1."""
    return bool(0 < theta < 0.5 and r >= 1 and 0 < p < q <= 1 / (1 + r))


def outlier_slack(theta: Any) -> Any:
    """Return θ + b: what the fit (h, g) = (r, −r) loses on a row that is no outlier."""
    return theta + rejection_slope(theta)


def outlier_gap(r: Any, theta: Any, p: Any, q: Any) -> Any:
    """Return a lower bound on Δ = R°_2 − R°_1: the risks lie within θ + b above p(1 + r) and q(1 + r)."""
    return (q - p) * (1 + r) - outlier_slack(theta)


def outlier_beats(r: Any, theta: Any, n: int, first: int, second: int, p: Any, q: Any, xp: Any = FLOATS) -> Any:
    """Return log P[V_2 < V_1] from below on the outlier instance, by one point of the sample space.

    With N_1 = first and N_2 = second outliers among n rows, V_2 ≤ (second/n)(1 + r) + θ + b (fit r, −r) and
    V_1 ≥ (first/n)(1 + r) as long as first/n ≤ 1/(1 + r).  Returns −inf when this does not prove V_2 < V_1.
    """
    beaten = second * (1 + r) / n + outlier_slack(theta) < first * (1 + r) / n <= 1
    return log_counts(n, (first, second), (p, q), xp) if beaten else -math.inf


def outlier_optimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any, xp: Any = FLOATS) -> Any:
    """Return log P[V_2 < R°_2 − Δ/2] from below: the worse arm shows only ``count`` outliers."""
    proved = count * (1 + r) / n + outlier_slack(theta) < q * (1 + r) - _largest_outlier_gap(r, theta, p, q) / 2
    return log_counts(n, (count,), (q,), xp) if proved else -math.inf


def outlier_pessimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any, xp: Any = FLOATS) -> Any:
    """Return log P[V_1 > R°_1 + Δ/2] from below: the better arm shows ``count`` outliers."""
    threshold = p * (1 + r) + outlier_slack(theta) + _largest_outlier_gap(r, theta, p, q) / 2
    return log_counts(n, (count,), (p,), xp) if threshold < count * (1 + r) / n <= 1 else -math.inf


def _largest_outlier_gap(r: Any, theta: Any, p: Any, q: Any) -> Any:
    return (q - p) * (1 + r) + outlier_slack(theta)


# The largest probability found, and the smallest κΛ (the construction needs 1 + κΛ > 4.5).
OUTLIERS = {
    "r": 20.0,
    "theta": 1e-6,
    "n": 10046155,
    "first": 466290,
    "second": 466289,
    "p": 19 / 420,
    "q": 1 / 21,
}
OUTLIERS_SMALL_BALL = {
    "r": 4.0,
    "theta": 1e-9,
    "n": 284444483,
    "first": 56031626,
    "second": 56031625,
    "p": 0.194,
    "q": 0.2,
}


# --- rounds of median elimination on small pools -----------------------------------------------------------


def pulls(B: int, K: int) -> list[int]:
    """Return the rows n_t of each round."""
    return [int(n) for n in halving_schedule(B, K).pulls]


def total_pulls(B: int, K: int) -> int:
    """Return the sum of the n_t, the rows of the arm that is left."""
    return sum(pulls(B, K))


def active(B: int, K: int) -> list[int]:
    """Return the active arms |A_t| of each round."""
    return [int(a) for a in halving_schedule(B, K).active]


@cache
def _possible_discards(scores: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return all halves that Algorithm 1 may discard: no kept score is larger than a discarded one."""
    arms = range(len(scores))
    halves = combinations(arms, len(scores) // 2)
    return tuple(out for out in halves if max(scores[i] for i in arms if i not in out) <= min(scores[i] for i in out))


def fewest_better(strictly: bool) -> Any:
    """Return the number of rivals that beat the first arm, wherever it may be discarded; enough otherwise."""

    def count(scores: tuple[int, ...]) -> int:
        if not any(0 in out for out in _possible_discards(scores)):
            return len(scores)
        return sum(s < scores[0] if strictly else s <= scores[0] for s in scores[1:])

    return count


@lru_cache(maxsize=32)
def two_rounds(name: str, B: int, accumulate: bool) -> tuple[Fraction, Fraction, Fraction]:
    """Return the exact (P(1 discarded in round 1), P(1 discarded in round 2 | survived), E[X_2 | 1 and 2 in A_2]).

    X_2 counts the rivals in A_2 that score strictly better than the first arm in round 2; the last entry
    is given that the second arm is the one that survived with the first.  Ties to the lowest index.
    """
    built = pool(name)
    n_1, n_2 = pulls(B, built.arms)
    # Few counts are different ones among the pairs of two rounds.
    score = cache(partial(exact.score, built))
    second_round = exact.sample_distribution(built, n_2)
    out_1 = out_2 = with_second = beaten = F(0)
    for counts, p in exact.sample_distribution(built, n_1):
        order = sorted(range(built.arms), key=lambda arm: (score(arm, counts), arm))
        kept = sorted(order[: -(-built.arms // 2)])
        if 0 not in kept:
            out_1 += p
            continue
        rival = kept[1]
        lost = F(0)
        for fresh, q in second_round:
            total = tuple(a + b for a, b in zip(counts, fresh, strict=True)) if accumulate else fresh
            lost += q * (score(rival, total) < score(0, total))
        out_2 += p * lost
        if rival == 1:
            with_second += p
            beaten += p * lost
    return out_1, out_2 / (1 - out_1), beaten / with_second


@lru_cache(maxsize=32)
def _scored_samples(name: str, n: int) -> list[tuple[tuple[int, ...], list[Fraction], Fraction]]:
    """Return counts, scores of all arms and probability of every sample of n rows that the arms share."""
    built = pool(name)
    return [
        (counts, [exact.score(built, arm, counts) for arm in range(built.arms)], p)
        for counts, p in exact.sample_distribution(built, n)
    ]


def mean_over_samples(name: str, n: int, value: Callable[[list[Fraction], tuple[int, ...]], int]) -> Fraction:
    """Return the exact mean of a function of scores and counts, such as an event, on n rows that all arms share."""
    return sum((p * value(scores, counts) for counts, scores, p in _scored_samples(name, n)), F(0))


def count_better(scores: list[Fraction], _: Any = None) -> int:
    """Return X, the number of rivals that score strictly better than the first arm."""
    return sum(score < scores[0] for score in scores[1:])


def half_beaten(name: str, n: int) -> Fraction:
    """Return the exact probability that at least half of the arms score strictly better than the first arm."""
    return mean_over_samples(name, n, lambda scores, _: count_better(scores) >= len(scores) // 2)


def markov(divisor: int) -> Any:
    """Return Markov's bound of that probability: E[X] over the number of arms divided by `divisor`."""
    return lambda name, n: mean_over_samples(name, n, count_better) / F(pool(name).arms, divisor)


def sum_of_pairs(name: str, n: int) -> float:
    """Return the sum over rivals of the probability that a rival scores better than the first arm."""
    return float(sum(pairwise(name, rival, n) for rival in range(1, pool(name).arms)))


def log_tail_unit_range(n: int, gap: float, theta: float, r: float) -> float:
    """Return -2 n x², x the identification margin: the exponent if the range of the loss were one."""
    return float(-2 * n * identification_margin(n, gap, theta, r) ** 2)


def expectation_bound(log_tail: Any) -> Any:
    """Return the bound 4 K exp(log_tail) of E[X]."""

    def bound(name: str, n: int) -> float:
        arms, *point = parameters(name)
        return 4 * arms * math.exp(log_tail(n, *point))

    return bound
