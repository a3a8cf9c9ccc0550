"""The instances on which claims are held against exact probabilities, and their laws.

Three families carry the counterexamples about constants:

* the *walk*: φ = ±1, y = +1, κΛ = 1 − 2θ.  Losses are 1 ∓ r, so deviations are binomial and the range of the
  loss is 2r, up to 2, where the paper's Hoeffding and McDiarmid steps use 1;
* the *corner*: rows A = (1, 0), B = (−1, 0), C = (0, 1), all labelled +1, Λ = √2(1 − 2θ), against an arm
  without any feature.  C is fitted in full by its own coordinate, so the sign of the first coordinate follows
  the majority of A and B while C keeps the gap large;
* the *outliers*: φ = −1 with small probability, 1/r otherwise, y = +1, Λ = r large.  Then V = p̂(1 + r) up to
  O(θ), whose range 1 + r exceeds the 3 that the factor 2/9 can absorb.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import special

from theory import exact
from theory._inputs import Floats, Ints
from theory.exact import AffinePool, make_pool

F = Fraction
TINY = F(1, 10**6)


def star_pool(arms: int, best: Fraction, rival: Fraction) -> AffinePool:
    """Arm i is wrong (φ = −1) on its own atom and right elsewhere; the first arm's atom is rarer."""
    weights = [1 - best - rival * (arms - 1), best, *[rival] * (arms - 1)]
    features = [[1, *[-1 if atom == arm else 1 for atom in range(arms)]] for arm in range(arms)]
    return make_pool(weights, features, radius=F(4, 5), theta=F(1, 10))


def tied_pool(arms: int) -> AffinePool:
    """Two equally good arms that see different rows, and arms without any feature."""
    features = [[1, 0, 1], [1, 1, 0], *[[0, 0, 0]] * (arms - 2)]
    return make_pool([F(1, 2), F(1, 4), F(1, 4)], features, radius=1 - 2 * TINY, theta=TINY)


def opposed_pool() -> AffinePool:
    """Two arms whose scores err in opposite directions on the same rows."""
    return make_pool([F(1, 2), F(1, 10), F(2, 5)], [[1, -1, 1], [-1, 1, 1]], radius=1 - 2 * TINY, theta=TINY)


def one_rival_pool(arms: int, right: Fraction, wrong: Fraction) -> AffinePool:
    """Two arms that err in opposite directions and arms without any feature.

    Halving drops the empty arms early and gives their share of the budget to the two that matter.
    """
    features = [[1, -1, 1], [-1, 1, 1], *[[0, 0, 0]] * (arms - 2)]
    return make_pool([right, wrong, 1 - right - wrong], features, radius=F(4, 5), theta=F(1, 10))


def sparse_pool() -> AffinePool:
    """Five rows on which drawing four distinct rows fails more often than drawing four with replacement."""
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
def failure_uniform(name: str, budget: int, *, target: int | None = None, population: int | None = None) -> float:
    """Exact failure probability of uniform allocation on a named pool."""
    built = pool(name)
    law = exact.uniform_selection(built, budget, exact=False, population=population)
    return float(exact.failure(built, law, target=target))


@lru_cache(maxsize=256)
def failure_median(name: str, budget: int, *, target: int | None = None, accumulate: bool = True) -> float:
    """Exact failure probability of median elimination on a named pool."""
    built = pool(name)
    law = exact.median_selection(built, budget, accumulate=accumulate, exact=False)
    return float(exact.failure(built, law, target=target))


@lru_cache(maxsize=256)
def pairwise(name: str, rival: int, n: int) -> float:
    """Exact P[V_rival < V_1] on n shared rows (ties favour the first arm)."""
    built = pool(name)
    pair = AffinePool(
        built.weights, built.labels, (built.features[0], built.features[rival]), built.radius, built.theta
    )
    return float(exact.uniform_selection(pair, 2 * n, exact=False)[1])


def log_binomial(n: int, k: Ints, p: float) -> Floats:
    """log P(Bin(n, p) = k)."""
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(ways + k * math.log(p) + (n - k) * math.log1p(-p))


# --- the walk ---------------------------------------------------------------------------------------------


def fixed_deviation(n: int, p: Fraction, k: int, theta: Fraction) -> float:
    """R̂_n(f*) − R(f*) = 2r(p − k/n) for the best model f* when k of n rows are +1, r = 1 − 2θ, p > 1/2."""
    return float(2 * (1 - 2 * theta) * (p - F(k, n)))


def learned_deviation(n: int, p: Fraction, k: int, theta: Fraction) -> float:
    """R(f̂) − R̂_n(f̂) for the empirical minimiser f̂, whose sign is that of the majority of the rows.

    V = 1 − r|2k/n − 1|, and on the population f̂ has the risk 1 ∓ r(2p − 1).  A tie goes to the wrong sign.
    """
    sign = 1 if 2 * k > n else -1
    return float((1 - 2 * theta) * (abs(F(2 * k, n) - 1) - sign * (2 * p - 1)))


def walk_violation(bound: Callable[..., float], *, learned: bool = False) -> Callable[..., Fraction]:
    """Exact P(deviation > bound) of the fixed best model, or of the learned one."""
    deviation = learned_deviation if learned else fixed_deviation

    def probability(n: int, p: Fraction, theta: Fraction, delta: Fraction) -> Fraction:
        limit = bound(n=n, theta=float(theta), delta=float(delta))
        broken = (k for k in range(n + 1) if deviation(n, p, k, theta) > limit)
        return sum((math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in broken), F(0))

    return probability


@lru_cache(maxsize=64)
def mean_absolute_walk(n: int) -> float:
    """E|σ_1 + … + σ_n|/n for fair signs: the Rademacher complexity of the walk divided by r."""
    k = np.arange(n + 1)
    return float(np.sum(np.exp(log_binomial(n, k, 0.5)) * np.abs(2 * k - n)) / n)


# --- the corner -------------------------------------------------------------------------------------------

CORNER_THETA = 1e-12


@lru_cache(maxsize=64)
def corner_flip(n: int, tilt: float, third: float) -> float:
    """P(N_A > N_B) in n rows, with P(B) − P(A) = tilt > 0 and P(C) = third.

    N_A + N_B is binomial and N_A given it too.  The sum runs over ten standard deviations of N_A + N_B;
    what is left out only makes the probability larger.
    """
    share = 1 - third
    width = 10 * math.sqrt(n * share * third) + 2
    total = np.arange(max(0, int(n * share - width)), min(n, int(n * share + width)) + 1)
    least = total // 2 + 1
    wins = special.betainc(least, total - least + 1, (share - tilt) / 2 / share)
    return float(np.sum(np.exp(log_binomial(n, total, share)) * wins))


def corner_regret(n: int, tilt: float, third: float, theta: float = CORNER_THETA) -> float:
    """A lower bound on R_tr(f̂) − R_tr(f*) whenever A is the majority among the sampled A and B.

    Write a and a' for the first coordinates of h and g.  Rows A and B lose at least 1 ∓ (a − a')/2 and row C
    at least 0; the point a = −a' = ±(1 − 2θ), c = −c' = 1 − 2θ is feasible and loses 2θ at C.  That f̂ is
    optimal on the sample therefore forces (a − a')/2 ≥ 1 − 2θ − 2θ·N_C/(N_A − N_B) ≥ 1 − 2θ − 2θn, and on the
    population f̂ loses at least tilt·((a − a')/2 + 1 − 2θ) − 2θ·third more than the feasible point with the
    right sign.
    """
    return tilt * (2 * (1 - 2 * theta) - 2 * theta * n) - 2 * theta * third


def corner_gap(tilt: float, third: float) -> float:
    """A lower bound on Δ: the rival scores 1, the first arm at most 1 − (tilt + third)(1 − 2θ)."""
    return (tilt + third) * (1 - 2 * CORNER_THETA)


CORNER_R = math.sqrt(2) * (1 - 2 * CORNER_THETA)


# --- the outliers -----------------------------------------------------------------------------------------


def outlier_slack(theta: float) -> float:
    """θ + b: what the fit (h, g) = (r, −r) loses on a row that is no outlier."""
    return theta + theta / (1 - 2 * theta)


OUTLIER_LAW = "0 < p < q <= 1/(1 + kappa*Lambda) and kappa*Lambda >= 1: the first arm has fewer outliers"


def outlier_law(r: float, theta: float, p: float, q: float, **_: object) -> bool:
    """Whether the risks of the outlier instance are those of `outlier_gap`; below r = 1 the value 1/r exceeds κ = 1."""
    return 0 < theta < 0.5 and r >= 1 and 0 < p < q <= 1 / (1 + r)


def log_two_counts(n: int, first: int, second: int, p: float, q: float) -> float:
    """log P(N_1 = first, N_2 = second) for two disjoint kinds of outliers among n shared rows."""
    rest = n - first - second
    ways = special.gammaln([n + 1, first + 1, second + 1, rest + 1])
    return float(ways[0] - ways[1:].sum() + first * math.log(p) + second * math.log(q) + rest * math.log1p(-p - q))


def log_one_count(n: int, count: int, p: float) -> float:
    """log P(Bin(n, p) = count)."""
    return float(log_binomial(n, np.array(count), p))


# --- shared parameters ------------------------------------------------------------------------------------


def parameters(name: str) -> tuple[int, float, float, float]:
    """(K, Δ, θ, κΛ) of a named pool, as floats for the bounds."""
    built = pool(name)
    return built.arms, float(built.gap()), float(built.theta), float(built.kappa_lambda)


def corner_violation(bound: Callable[..., float]) -> Callable[..., float]:
    """P(regret > bound) on the corner instance, or 0 when the flip does not break the bound.

    ``bound(n=, r=, theta=, delta=)`` is the right-hand side for the first arm with n rows.
    """

    def probability(n: int, tilt: float, third: float, delta: float) -> float:
        limit = bound(n=n, r=CORNER_R, theta=CORNER_THETA, delta=delta)
        return corner_flip(n, tilt, third) if corner_regret(n, tilt, third) > limit else 0.0

    return probability


def outlier_beats(r: float, theta: float, n: int, first: int, second: int, p: float, q: float) -> float:
    """log P[V_2 < V_1] from below on the outlier instance, by one point of the sample space.

    With N_1 = first and N_2 = second outliers among n rows, V_2 ≤ (second/n)(1 + r) + θ + b (fit r, −r) and
    V_1 ≥ (first/n)(1 + r) as long as first/n ≤ 1/(1 + r).  Returns −inf when this does not prove V_2 < V_1.
    """
    beaten = second * (1 + r) / n + outlier_slack(theta) < first * (1 + r) / n <= 1
    return log_two_counts(n, first, second, p, q) if beaten else -math.inf


def outlier_gap(r: float, theta: float, p: float, q: float) -> float:
    """A lower bound on Δ = R°_2 − R°_1: the risks lie within θ + b above p(1 + r) and q(1 + r)."""
    return (q - p) * (1 + r) - outlier_slack(theta)


def outlier_optimism(r: float, theta: float, n: int, count: int, p: float, q: float) -> float:
    """log P[V_2 < R°_2 − Δ/2] from below: the worse arm shows only ``count`` outliers."""
    largest_gap = (q - p) * (1 + r) + outlier_slack(theta)
    proved = count * (1 + r) / n + outlier_slack(theta) < q * (1 + r) - largest_gap / 2
    return log_one_count(n, count, q) if proved else -math.inf


def outlier_pessimism(r: float, theta: float, n: int, count: int, p: float, q: float) -> float:
    """log P[V_1 > R°_1 + Δ/2] from below: the better arm shows ``count`` outliers."""
    largest_gap = (q - p) * (1 + r) + outlier_slack(theta)
    proved = p * (1 + r) + outlier_slack(theta) + largest_gap / 2 < count * (1 + r) / n <= 1
    return log_one_count(n, count, p) if proved else -math.inf


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
