"""Instances on which bounds are nearly attained, with failure probabilities in closed form.

The named pools of `theory.claims._instances` are for refuting what is printed; on most of them failures are far rarer
than any bound says, so a bound that is moderately wrong passes there. Here it does not:

* *opposed*: two arms that err in opposite directions on the same rows. Rows A, B, C with features (-1, 1), (1, -1) and
  (1, 1) for the rival and the best arm. With a, b, c of them among n rows the rival's feature has the mean
  (b - a + c)/n and the best arm's (a - b + c)/n, so the rival scores at most the best arm iff (b - a) c >= 0. With
  P(A) - P(B) = tilt and P(C) = third >= tilt the gap is 2 r tilt. One row moves the difference of the scores by
  4 r / n, all that is possible, and the probability is that of a random walk: for small `third` McDiarmid's inequality
  has the right exponent here.
* *overfit*: the rival's features are orthogonal, one direction per row, so that it fits any n rows by r / sqrt n and
  the population hardly at all: the optimism of Theorem 1 is attained. The best arm has one constant feature.
* *crowd*: many rivals whose features are fair signs on rows of their own, and a best arm that does not fluctuate.

The rival comes first and wins ties, which the corrected statements and our theorems allow for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from theory._bound import Pairing, Rows
from theory.bound_problem import BoundProblem
from theory.claims._instances import pulls

THETA = 0.01
#: kappa Lambda, at the edge of the affine regime 1 - 2 theta.
RADIUS = 0.98
#: The best arm of the overfit instance keeps this much below what the rival fits.
SHY = 0.999

Strategy = Literal["uniform", "median-fresh", "median-accumulated"]


@dataclass(frozen=True, slots=True)
class NearTight:
    """What bounds may use of an instance, and its failure probability.

    Attributes
    ----------
    name : str
    problem : BoundProblem
        Its gaps are those of the K - 1 other arms, the smallest first.
    strategy : Strategy
    budget : int
    least, most : float
        The failure probability lies between these; they are equal where it is known.
    """

    name: str
    problem: BoundProblem
    strategy: Strategy
    budget: int
    least: float
    most: float


def _pose(gaps: tuple[float, ...], strategy: Strategy, pairing: Pairing = "same") -> BoundProblem:
    rows: Rows = "fresh" if strategy == "median-fresh" else "accumulated"
    return BoundProblem(len(gaps) + 1, None, THETA, RADIUS, gaps=gaps, rows=rows, pairing=pairing)


@lru_cache(maxsize=256)
def passed(n: int, tilt: float, third: float) -> float:
    """Return P[the opposed rival scores at most the best arm] on n rows: P[(N_B - N_A) N_C >= 0]."""
    from scipy import stats

    thirds = np.arange(n + 1)
    rest = n - thirds
    lost = stats.binom.sf((rest + 1) // 2 - 1, rest, (1 - third - tilt) / 2 / (1 - third))
    lost[0] = 1.0
    return float(stats.binom.pmf(thirds, n, third) @ lost)


def opposed(n: int, tilt: float, strategy: Strategy = "uniform") -> NearTight:
    """Build two opposed arms, third = tilt; for two arms all strategies buy n = B/2 rows and compare once."""
    p = passed(n, tilt, tilt)
    return NearTight(f"opposed pair, n = {n}", _pose((2 * RADIUS * tilt,), strategy), strategy, 2 * n, p, p)


def duplicates(arms: int, first: int, tilt: float, strategy: Strategy) -> NearTight:
    """Build K - 1 copies of the opposed rival before the best arm; once they pass it, it is gone.

    On fresh rows the rounds are independent. On accumulated rows the probability lies between that of the first round
    and the sum over all rounds.
    """
    budget = arms * (arms.bit_length() - 1) * first
    rows = pulls(budget, arms)
    if strategy == "median-fresh":
        least = most = float(-np.expm1(np.sum(np.log1p([-passed(n, tilt, tilt) for n in rows]))))
    else:
        least, most = passed(rows[0], tilt, tilt), float(np.sum([passed(n, tilt, tilt) for n in np.cumsum(rows)]))
    problem = _pose((2 * RADIUS * tilt,) * (arms - 1), strategy)
    return NearTight(f"{arms - 1} copies of the opposed rival", problem, strategy, budget, least, most)


def one_rival(arms: int, first: int, tilt: float, strategy: Strategy) -> NearTight:
    """Build the opposed rival, the best arm, and arms without any feature, in this order; third = 7 tilt.

    An empty arm scores 1, which no other arm exceeds, and loses ties: the two reach the last round, which decides. The
    best arm's feature has the mean 8 tilt, so that the empty arms have four times the gap of the rival.
    """
    rounds = arms.bit_length() - 1
    budget = arms * first * (1 if strategy == "uniform" else rounds)
    rows = [first] if strategy == "uniform" else pulls(budget, arms)
    p = passed(rows[-1] if strategy == "median-fresh" else sum(rows), tilt, 7 * tilt)
    problem = _pose((2 * RADIUS * tilt, *(8 * RADIUS * tilt,) * (arms - 2)), strategy)
    return NearTight(f"one close rival among {arms}", problem, strategy, budget, p, p)


def overfit(n: int, rows: int, strategy: Strategy = "uniform") -> NearTight:
    """Build a rival that always wins: it scores at most 1 - r / sqrt n, the best arm a little more.

    With counts k of n rows the rival scores 1 - r |k| / n, and |k| >= sqrt n for whole numbers with the sum n.
    """
    gap = RADIUS * (SHY / np.sqrt(n) - 1 / np.sqrt(rows))
    return NearTight(f"{rows} orthogonal features, n = {n}", _pose((float(gap),), strategy), strategy, 2 * n, 1.0, 1.0)


def crowd(arms: int, n: int, level: float) -> NearTight:
    """Build K - 1 rivals that pass if a walk of n fair steps ends at level n or beyond, in either direction."""
    from scipy import stats

    ends = np.abs(2 * np.arange(n + 1) - n) >= level * n - 1e-9
    alone = float(stats.binom.pmf(np.arange(n + 1), n, 0.5) @ ends)
    p = float(-np.expm1((arms - 1) * np.log1p(-alone)))
    problem = _pose((RADIUS * level,) * (arms - 1), "uniform", "independent")
    return NearTight(f"{arms - 1} independent walks, n = {n}", problem, "uniform", arms * n, p, p)
