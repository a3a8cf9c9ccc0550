"""Appendix A.5: the proof of Lemma 2, step by step."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from theory import exact
from theory.claims._assumptions import (
    ARMS,
    DIVISIBLE,
    FIRST_ARM_BEST,
    LATER_ROUND,
    LAUNCH_16,
    POWER_OF_TWO,
    RATIO,
    SMALLEST_GAP,
    THETA,
)
from theory.claims._instances import (
    active,
    expectation_bound,
    fewest_better,
    half_beaten,
    log_tail_unit_range,
    markov,
    pairwise,
    pool,
    pulls,
    sum_of_pairs,
    total_pulls,
    two_rounds,
)
from theory.claims._strategies import build_corner_check
from theory.claims.appendix_a1 import LEMMA_4
from theory.claims.claim import Assumption, Check, grid
from theory.claims.theorem_1 import LEMMA_1_II
from theory.formulas import ceil_log2, log_tail_paper

F = Fraction


def _chain(factor: Any) -> Any:
    """Return Σ_t factor(|A_t|)·q^(n_t/n_1)."""

    def total(B: int, K: int, q: float) -> float:
        rows = pulls(B, K)
        terms = zip(active(B, K), rows, strict=True)
        return float(sum(factor(a) * q ** (n / rows[0]) for a, n in terms))

    return total


def _log_q(rows: int, first: int, gap: float, theta: float, r: float) -> float:
    return float(rows / first * log_tail_paper(first, gap, theta, r))


_ROUNDS = tuple(
    {"n": n, "rows": n * 2**t, "gap": gap, "gap_i": gap * ratio, "theta": 0.1, "r": 0.5}
    for n, t, gap, ratio in product((200, 1000), (0, 1, 3), (0.3, 0.5), (1.0, 1.5))
)


_ENOUGH_ROWS = Assumption(
    "the first round has at least K rows, and K <= 400",
    lambda B, K, **_: K <= 400 and _first(B, K) >= K,
)
_DIVISIBLE = tuple({"B": 960 * K * (K.bit_length() - 1), "K": K} for K in (2, 4, 8, 16, 32))
_SERIES = grid(T=(1, 2, 5, 10), q=(0.01, 0.11, 0.5, 0.9))
_ALL_K = grid(B=(10**6,), K=(2, 3, 4, 5, 7, 8, 9, 17, 33), q=(0.01, 0.1))
_TWO_ROUNDS = ({"name": "star-4", "B": 24}, {"name": "star-4-close", "B": 32})


def _series(exponent: Any) -> Any:
    return lambda T, q: 8 * sum(q ** exponent(t) for t in range(1, T + 1))


def _second_beats(name: str, n: int) -> Any:
    """Return the exact P[V_2 < V_1] on n shared rows."""
    return pairwise(name, 1, n, rational=True)


_LOST = (
    lambda name, B: exact.failure(pool(name), exact.median_selection(pool(name), B, accumulate=False), target=0),
    lambda name, B: sum(two_rounds(name, B, False)[:2], F(0)),
)


def _first(B: int, K: int) -> int:
    return B // (K * ceil_log2(K))


CHECKS = {
    "a5-wlog": Check(
        cases=_ALL_K,
        printed=(_chain(lambda a: 8), lambda B, K, q: 8 * q / (1 - q)),
        corrected=(_chain(lambda a: 4 * (a - 1) / -(-a // 2)), lambda B, K, q: 8 * q / (1 - q)),
        assumptions=(ARMS, RATIO, _ENOUGH_ROWS),
    ),
    "a5-pairs-line-1": LEMMA_4,
    "a5-pairs-line-2": Check(
        cases=_ROUNDS,
        printed=(
            lambda n, rows, gap, gap_i, theta, r: _log_q(rows, rows, gap_i, theta, r),
            lambda n, rows, gap, gap_i, theta, r: _log_q(rows, n, gap, theta, r),
        ),
        mutant=lambda n, rows, gap, gap_i, theta, r: _log_q(rows, 4 * n, gap, theta, r),
        assumptions=(THETA, LAUNCH_16, SMALLEST_GAP, LATER_ROUND),
    ),
    "a5-half": Check(
        cases=tuple({"scores": scores} for arms in (4, 2, 3) for scores in product((0, 1, 2), repeat=arms)),
        printed=(fewest_better(True), lambda scores: len(scores) // 2),
        corrected=(fewest_better(False), lambda scores: -(-len(scores) // 2)),
    ),
    "a5-expectation": Check(
        cases=_TWO_ROUNDS,
        printed=(lambda name, B: two_rounds(name, B, True)[2], lambda name, B: _second_beats(name, sum(pulls(B, 4)))),
        corrected=(lambda name, B: two_rounds(name, B, False)[2], lambda name, B: _second_beats(name, pulls(B, 4)[1])),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a5-expectation-bound": Check(
        cases=({"name": "opposed", "n": 300}, {"name": "opposed", "n": 500}),
        printed=(sum_of_pairs, expectation_bound(log_tail_paper)),
        mutant=expectation_bound(log_tail_unit_range),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a5-markov": Check(
        cases=({"name": "star-4", "n": 3}, {"name": "star-4-close", "n": 6}),
        printed=(half_beaten, markov(2)),
        mutant=markov(1),
        assumptions=(FIRST_ARM_BEST,),
    ),
    "a5-sum": Check(cases=_TWO_ROUNDS, printed=_LOST, corrected=_LOST, assumptions=(FIRST_ARM_BEST,)),
    "a5-doubling": Check(
        cases=_DIVISIBLE,
        printed=(
            lambda B, K: tuple(pulls(B, K)),
            lambda B, K: tuple(2**t * _first(B, K) for t in range(ceil_log2(K))),
        ),
        mutant=lambda B, K: tuple(2 ** (t + 1) * _first(B, K) for t in range(ceil_log2(K))),
        assumptions=(POWER_OF_TWO, DIVISIBLE),
    ),
    "a5-series-1": Check(
        cases=_SERIES,
        printed=(_series(lambda t: 2 ** (t - 1)), _series(lambda t: t)),
        mutant=_series(lambda t: t * t),
        assumptions=(RATIO,),
    ),
    "a5-series-2": Check(
        cases=_SERIES,
        printed=(_series(lambda t: t), lambda T, q: 8 * q / (1 - q)),
        mutant=lambda T, q: 8 * q,
        assumptions=(RATIO,),
    ),
    "a5-series-3": Check(
        cases=grid(T=(1, 5, 40), q=(F(1, 100), F(1, 9), F(9, 10))),
        printed=(
            lambda T, q: 8 * sum(q**t for t in range(1, T + 1)) + 8 * q ** (T + 1) / (1 - q),
            lambda T, q: 8 * q / (1 - q),
        ),
        mutant=lambda T, q: 8 / (1 - q),
        assumptions=(RATIO,),
    ),
    "a5-regret": build_corner_check("median", LEMMA_1_II.cases),
    "a5-count-1": Check(
        cases=_DIVISIBLE,
        printed=(total_pulls, lambda B, K: pulls(B, K)[0] * sum(2**t for t in range(1, K.bit_length()))),
        corrected=lambda B, K: pulls(B, K)[0] * sum(2 ** (t - 1) for t in range(1, K.bit_length())),
        assumptions=(POWER_OF_TWO, DIVISIBLE),
    ),
    "a5-count-2": Check(
        cases=_DIVISIBLE,
        printed=(lambda B, K: sum(2**t for t in range(1, K.bit_length())), lambda B, K: 2 ** (K.bit_length()) - 1),
        corrected=(total_pulls, lambda B, K: (K - 1) * _first(B, K)),
        assumptions=(POWER_OF_TWO, DIVISIBLE),
    ),
    "a5-count-3": Check(
        cases=_DIVISIBLE,
        printed=(total_pulls, lambda B, K: K * _first(B, K)),
        corrected=lambda B, K: (K - 1) * _first(B, K),
        assumptions=(POWER_OF_TWO,),
    ),
    "a5-count-4": Check(
        cases=({"B": 9, "K": 2}, *_DIVISIBLE),
        printed=(total_pulls, lambda B, K: B // ceil_log2(K)),
        corrected=lambda B, K: B // ceil_log2(K) // 2,
        mutant=lambda B, K: F(1, 2) * (B // ceil_log2(K)),
        assumptions=(POWER_OF_TWO,),
    ),
}
