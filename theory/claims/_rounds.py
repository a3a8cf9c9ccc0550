"""Rounds of median elimination on small pools, followed exactly, for the steps of Appendix A.5."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import combinations
from typing import Any

from theory import exact
from theory.claims._instances import pairwise, parameters, pool
from theory.formulas import halving_schedule, identification_margin

F = Fraction


def pulls(B: int, K: int) -> list[int]:
    """Return the rows n_t of each round."""
    return [int(n) for n in halving_schedule(B, K).pulls]


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
def better_counts(name: str, n: int) -> tuple[Fraction, ...]:
    """Return the distribution of X, the number of rivals that score strictly better than the first arm."""
    built = pool(name)
    chances = [F(0)] * built.arms
    for counts, p in exact.sample_distribution(built, n):
        scores = [exact.score(built, arm, counts) for arm in range(built.arms)]
        chances[sum(s < scores[0] for s in scores[1:])] += p
    return tuple(chances)


def half_beaten(name: str, n: int) -> Fraction:
    """Return the exact probability that at least half of the arms score strictly better than the first arm."""
    return sum(better_counts(name, n)[pool(name).arms // 2 :], F(0))


def markov(divisor: int) -> Any:
    """Return Markov\'s bound of that probability: E[X] over the number of arms divided by `divisor`."""

    def bound(name: str, n: int) -> Fraction:
        mean = sum((k * p for k, p in enumerate(better_counts(name, n))), F(0))
        return mean / F(pool(name).arms, divisor)

    return bound


def sum_of_pairs(name: str, n: int) -> float:
    """Return the sum over rivals of the probability that a rival scores better than the first arm."""
    return float(sum(pairwise(name, rival, n) for rival in range(1, pool(name).arms)))


def expectation_bound(exponent: float) -> Any:
    """Return the bound 4 K exp(-exponent n x²) of E[X], with the identification margin x."""

    def bound(name: str, n: int) -> float:
        arms, gap, theta, r = parameters(name)
        return 4 * arms * math.exp(-exponent * n * identification_margin(n, gap, theta, r) ** 2)

    return bound
