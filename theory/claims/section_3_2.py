"""Section 3.2: uniform allocation, median elimination (Algorithm 1) and non-uniform query cost."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import exact
from theory.claims._assumptions import ARMS, BUDGET_PER_ARM, FIRST_ARM_BEST, FIRST_EPISODE
from theory.claims._instances import active, failure_median, failure_uniform, pool, pulls, total_pulls
from theory.claims.claim import Check, grid
from theory.formulas import ceil_log2, halving_schedule

F = Fraction
COSTS = {"Fac": F(5), "Pix": F(6, 5), "Kar": F(1), "Zer": F(19, 20), "Fou": F(3, 2), "Mor": F(9, 10)}
_BUDGETS = grid(B=(16, 97, 540, 4800), K=(2, 3, 4, 5, 8, 9, 16))
_LARGE = grid(B=(2400, 10**4, 10**6), K=(2, 3, 4, 5, 8, 9, 16, 17))
# Budgets around the smallest that buys a row in the first episode, where the floors matter most.
_SMALL = tuple({"B": B, "K": K} for K in (2, 3, 4, 5, 6, 7, 8, 9) for B in range(K * ceil_log2(K), 50))
_PRICES = tuple(
    {"b": b, "feature": feature, "original": original}
    for b, original, feature in product((6, 60, 101), COSTS, COSTS)
    if feature != original
)


def _arms_left(K: int, half: Any) -> int:
    for _ in range(ceil_log2(K)):
        K = half(K)
    return K


def _spent(B: int, K: int) -> int:
    return int(halving_schedule(B, K).spent)


def _winner_rows_counted(B: int, K: int) -> int | Fraction:
    """Return the sum of the floors, and (1 - 1/K) B/T where each floor is exact: K = 2^T and K T | B."""
    T = ceil_log2(K)
    if 2**T == K and B % (K * T) == 0:
        return (1 - F(1, K)) * F(B, T)
    return sum(B // (T * -(-K // (1 << t))) for t in range(T))


def _gain(B: int, K: int) -> int:
    r"""Return how many rows median elimination surely adds to the floor(B/K) of uniform allocation, if B >= K T.

    Let X = floor(B/T) >= K and H = sum_t 1/a_t over the active arms a_t.  Then floor(B/(T a_t)) = floor(X/a_t) >=
    (X + 1)/a_t - 1 and floor(B/K) <= (T (X + 1) - 1)/K, so median elimination buys more rows if

    .. math:: (X + 1)(H - T/K) \ge T.

    From the last episode backwards a_t <= 2, 4, 8, ..., so H >= 1 - 2^(1-T) + 1/K; with K > 2^(T-1) this makes
    H - T/K >= 1 - T 2^(1-T).  For T >= 4 that is at least 1/2, and X + 1 >= 2^(T-1) + 2 > 2 T.  For T = 3 it is 1/4,
    which settles X >= 11; for K = 4 and K = 3, H - T/K is 1/4 and 1/6, which settles X >= 7 and X >= 11.  All budgets
    that are left lie below 36 and are among the cases.  For K = 3 they show equality at B = 6, 7, 9, 10, 11 and 15.
    """
    return 1 if K >= 4 or (K == 3 and B >= 16) else 0


def _rows_of_discarded(B: int, K: int) -> int:
    """Return the most rows that an arm other than the winner ends with: it plays every round with it."""
    return sum(n for a, n in zip(active(B, K), pulls(B, K), strict=True) if a >= 2)


def _pool_price(original: str) -> Fraction:
    return sum((cost for name, cost in COSTS.items() if name != original), F(0))


def _sample_aligned(b: int, original: str, **_: Any) -> int:
    return math.floor(b / _pool_price(original))


def _budget_share(b: int, feature: str, original: str) -> Fraction:
    return COSTS[feature] * b / _pool_price(original)


def _total_sample_aligned(b: int, feature: str, original: str) -> Fraction:
    return _pool_price(original) * _sample_aligned(b, original)


def _total_budget_aligned(b: int, feature: str, original: str) -> Fraction:
    others = [cost for name, cost in COSTS.items() if name != original]
    return sum((cost * math.floor(b / (len(others) * cost)) for cost in others), F(0))


def _last_round_rows(K: int, m: int, ratio: Fraction) -> int:
    return pulls(int(ratio * m * K), K)[-1]


def _distinct(population: bool) -> Any:
    def probability(name: str, n: int, m: int) -> Any:
        built = pool(name)
        selection = exact.uniform_selection(built, built.arms * n, population=m if population else None)
        return exact.failure(built, selection)

    return probability


def _fourth_moment(population: bool) -> Any:
    """Return fourth central moment of the first feature's sample mean, rows distinct or i.i.d."""

    def moment(name: str, n: int, m: int) -> Fraction:
        built = pool(name)
        mean = sum((w * x for w, x in zip(built.weights, built.features[0], strict=True)), F(0))
        total = F(0)
        for counts, p in exact.sample_distribution(built, n, population=m if population else None):
            sampled = sum((k * x for k, x in zip(counts, built.features[0], strict=True)), F(0)) / n
            total += p * (sampled - mean) ** 4
        return total

    return moment


def _order(**_: Any) -> float:
    """Return smallest times largest difference of the two failure probabilities: negative if both orders occur."""
    pairs = [("star-4", 80), ("star-4-close", 80), ("star-4-rare", 32)]
    differences = [failure_median(name, B) - failure_uniform(name, B) for name, B in pairs]
    return min(differences) * max(differences)


_COMPARED: tuple[dict[str, Any], ...] = (
    *grid(name=("one-rival-8",), B=(80, 216, 240)),
    *grid(name=("one-clear-rival-8",), B=(80, 216)),
)

CHECKS = {
    "ua-allocation": Check(
        cases=_BUDGETS,
        printed=(lambda B, K: K * (B // K), lambda B, K: B),
        mutant=(lambda B, K: K * -(-B // K), lambda B, K: B),
        assumptions=(ARMS,),
    ),
    "me-one-left": Check(
        cases=grid(K=range(2, 129)),
        printed=(lambda K: _arms_left(K, lambda a: a // 2), lambda K: 1),
        corrected=(lambda K: _arms_left(K, lambda a: -(-a // 2)), lambda K: 1),
        assumptions=(ARMS,),
    ),
    "me-spend": Check(
        cases=_BUDGETS,
        printed=(_spent, lambda B, K: B),
        mutant=(lambda B, K: sum(-(-B // (ceil_log2(K) * a)) * a for a in active(B, K)), lambda B, K: B),
        assumptions=(ARMS,),
    ),
    "me-draw": Check(
        cases=grid(K=(2, 5, 8, 9), m=(100, 600), ratio=(F(1, 5), F(4, 5))),
        printed=(_last_round_rows, lambda m, **_: m),
        corrected=(
            lambda m, **k: _last_round_rows(m=m, **k) <= m,
            lambda K, m, ratio: math.floor(ratio * m * K) < 2 * ceil_log2(K) * (m + 1),
        ),
        assumptions=(ARMS,),
    ),
    "me-draw-replacement": Check(
        cases=({"name": "sparse", "n": 4, "m": 5}, {"name": "star-3", "n": 10, "m": 20}),
        printed=(_distinct(True), _distinct(False)),
        corrected=(_fourth_moment(True), _fourth_moment(False)),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "me-sample-count": Check(
        cases=(*_LARGE, *_SMALL),
        printed=(total_pulls, lambda B, K: 0.9 * math.floor(B / math.log2(K))),
        corrected=_winner_rows_counted,
        assumptions=(ARMS, BUDGET_PER_ARM),
    ),
    "me-largest-sample": Check(
        cases=_BUDGETS,
        printed=(total_pulls, _rows_of_discarded),
        mutant=_rows_of_discarded,
        assumptions=(ARMS,),
    ),
    "me-budget-gain": Check(
        cases=(*_LARGE, *_SMALL),
        printed=(total_pulls, lambda B, K: B // K),
        corrected=lambda B, K: B // K + _gain(B, K),
        assumptions=(ARMS, FIRST_EPISODE),
    ),
    "me-fails-more": Check(
        cases=_COMPARED,
        # Ties count against median elimination and for uniform allocation: the violation holds for every rule for ties.
        printed=(lambda name, B: failure_median(name, B, best_last=True), failure_uniform),
        corrected=(_order, lambda **_: 0),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "sample-alignment": Check(
        cases=_PRICES,
        printed=(
            lambda b, feature, original: COSTS[feature] * _sample_aligned(b, original),
            lambda **case: math.floor(_budget_share(**case)),
        ),
        corrected=_budget_share,
    ),
    "sample-alignment-spend": Check(
        cases=_PRICES,
        printed=(_total_sample_aligned, lambda b, **_: b),
        mutant=(lambda b, original, **_: _pool_price(original) * (_sample_aligned(b, original) + 1), lambda b, **_: b),
    ),
    "budget-alignment": Check(
        cases=_PRICES,
        printed=(
            lambda b, feature, **_: math.floor(b // 5 / COSTS[feature]),
            lambda b, feature, **_: math.floor(F(b) / (5 * COSTS[feature])),
        ),
        corrected=(
            lambda b, feature, **_: math.floor(F(b, 5) / COSTS[feature]),
            lambda b, feature, **_: math.floor(F(b) / (5 * COSTS[feature])),
        ),
    ),
    "budget-alignment-spend": Check(
        cases=_PRICES,
        printed=(_total_budget_aligned, lambda b, **_: b),
        mutant=(lambda b, **k: _total_budget_aligned(b, **k) + max(COSTS.values()), lambda b, **_: b),
    ),
}
