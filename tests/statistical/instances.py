"""Instances on which bounds are nearly tight, with failure probabilities in closed form.

* *opposed*: two arms that err in opposite directions on the same rows. Rows A, B, C with features (-1, 1), (1, -1) and
  (1, 1) for the rival and the best arm. With a, b, c of them among n rows the rival's feature has the mean
  (b - a + c)/n and the best arm's (a - b + c)/n, so the rival scores at most the best arm iff (b - a) c >= 0. With
  P(A) - P(B) = tilt and P(C) = third >= tilt the gap is 2 r tilt. One row moves the difference of the scores by
  4 r / n, all that is possible, and the probability is that of a random walk: for small `third` McDiarmid's inequality
  has the right exponent here.
* *overfit*: the rival's features are orthogonal, one direction per row, so that it fits any n rows by r / sqrt n and
  the population hardly at all: the optimism of Theorem 1 is attained. The best arm has one constant feature.
* *crowd*: many rivals whose features are fair signs on rows of their own, and a best arm that does not fluctuate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from exml_sim.pool import FeaturePool
from exml_sim.population import Candidate, Population
from tests.statistical.worlds import Facts, World
from theory.exact import AffinePool, make_pool

THETA = 0.01
RADIUS = 0.98

RIVAL, BEST, EMPTY = (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.0, 0.0, 0.0)


def passed(n: int, tilt: float, third: float) -> float:
    """P[the opposed rival scores at most the best arm] on n rows: P[(N_B - N_A) N_C >= 0]."""
    thirds = np.arange(n + 1)
    rest = n - thirds
    lost = stats.binom.sf((rest + 1) // 2 - 1, rest, (1 - third - tilt) / 2 / (1 - third))
    lost[0] = 1.0
    return float(stats.binom.pmf(thirds, n, third) @ lost)


@dataclass(frozen=True)
class Instance:
    """Facts, a strategy, a budget, and what is known of the failure probability: it lies between two numbers."""

    name: str
    facts: Facts
    strategy: str
    budget: int
    least: float
    most: float

    def holds(self, bound: float) -> bool | None:
        """Whether a bound is proved right or wrong here; None if it says nothing."""
        if not bound < 1:
            return None
        return self.most <= bound * (1 + 1e-9) if self.least <= bound else False


def opposed_world(tilt: Fraction, third: Fraction, arms: tuple[tuple[float, ...], ...] = (RIVAL, BEST)) -> World:
    """The rows A, B, C with P(A) - P(B) = tilt and P(C) = third."""
    shares = [(1 - third + tilt) / 2, (1 - third - tilt) / 2, third]
    least = int(np.lcm.reduce([share.denominator for share in shares]))
    return World(arms, tuple(int(share * least) for share in shares), THETA, RADIUS)


def _facts(arms: int, gaps: tuple[float, ...]) -> Facts:
    return Facts(arms, tuple(sorted(gaps)), THETA, 1.0, RADIUS)


def opposed(n: int, tilt: float) -> Instance:
    """Uniform allocation, K = 2, third = tilt; the rival comes first, so it wins ties."""
    p = passed(n, tilt, tilt)
    return Instance(f"opposed pair, n = {n}", _facts(2, (2 * RADIUS * tilt,)), "uniform", 2 * n, p, p)


def halving_rows(arms: int, budget: int) -> list[int]:
    """n_t for K = 2^c."""
    rounds = arms.bit_length() - 1
    return [budget // (rounds * (arms >> t)) for t in range(rounds)]


def duplicates(arms: int, first: int, tilt: float, strategy: str) -> Instance:
    """K - 1 copies of the opposed rival before the best arm: once they pass it, it is gone.

    On fresh rows the rounds are independent. On accumulated rows the probability lies between that of the first round
    and the sum over all rounds.
    """
    budget = arms * (arms.bit_length() - 1) * first
    rows = halving_rows(arms, budget)
    if strategy == "fresh":
        least = most = float(-np.expm1(np.sum(np.log1p([-passed(n, tilt, tilt) for n in rows]))))
    else:
        least, most = passed(rows[0], tilt, tilt), float(np.sum([passed(n, tilt, tilt) for n in np.cumsum(rows)]))
    gaps = (2 * RADIUS * tilt,) * (arms - 1)
    return Instance(f"{arms - 1} copies of the opposed rival", _facts(arms, gaps), strategy, budget, least, most)


def one_rival(arms: int, first: int, tilt: float, strategy: str) -> Instance:
    """The opposed rival, the best arm, and arms without any feature, in this order; third = 7 tilt.

    An empty arm scores 1, which no other arm exceeds, and loses ties: the two reach the last round, which decides. The
    best arm's feature has the mean 8 tilt, so that the empty arms have four times the gap of the rival.
    """
    rounds = arms.bit_length() - 1
    budget = arms * first * (1 if strategy == "uniform" else rounds)
    rows = [first] if strategy == "uniform" else halving_rows(arms, budget)
    p = passed(rows[-1] if strategy == "fresh" else sum(rows), tilt, 7 * tilt)
    gaps = (2 * RADIUS * tilt, *(8 * RADIUS * tilt,) * (arms - 2))
    return Instance(f"one close rival among {arms}", _facts(arms, gaps), strategy, budget, p, p)


def overfit_pool(n: int, rows: int, scale: float = 1.0) -> FeaturePool:
    """Rival: one direction per row. Best: a feature that is everywhere 0.999 / sqrt n. Both times `scale` = kappa."""
    rival = scale * np.eye(rows)
    best = np.full((rows, 1), scale * 0.999 / np.sqrt(n))
    population = Population(np.zeros((rows, 1)), np.ones(rows), [Candidate("rival", rival), Candidate("best", best)])
    return FeaturePool(population, theta=THETA, ball=RADIUS / scale, kernel="linear")


def overfit(n: int, rows: int, scale: float = 1.0) -> Instance:
    """The best arm scores a little more than 1 - r / sqrt n, the rival that or less: it always wins."""
    level = 0.999 / np.sqrt(n)
    gap = RADIUS * (level - 1 / np.sqrt(rows))
    facts = Facts(2, (float(gap),), THETA, scale, RADIUS / scale)
    return Instance(f"{rows} orthogonal features, n = {n}", facts, "uniform", 2 * n, 1.0, 1.0)


def crowd(arms: int, n: int, level: float) -> Instance:
    """P[some of K - 1 walks of n fair steps ends at level n or beyond, in either direction]."""
    ends = np.abs(2 * np.arange(n + 1) - n) >= level * n - 1e-9
    alone = float(stats.binom.pmf(np.arange(n + 1), n, 0.5) @ ends)
    p = float(-np.expm1((arms - 1) * np.log1p(-alone)))
    facts = Facts(arms, (RADIUS * level,) * (arms - 1), THETA, 1.0, RADIUS, rows="independent")
    return Instance(f"{arms - 1} independent walks, n = {n}", facts, "uniform", arms * n, p, p)


def crowd_world(arms: int, level: float) -> World:
    """The crowd as rows."""
    return World(((1.0, -1.0),) * (arms - 1) + ((level, level),), (1, 1), THETA, RADIUS, rows="independent")


def as_affine(world: World) -> AffinePool:
    """A world for `theory.exact`, which computes laws independently of the engine."""
    total = sum(world.copies)
    return make_pool(
        [Fraction(size, total) for size in world.copies],
        world.values,
        labels=world.y or None,
        radius=Fraction(world.ball),
        theta=Fraction(world.theta),
    )
