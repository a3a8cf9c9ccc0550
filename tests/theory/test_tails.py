"""The splits of `Tails.log_crowd`, computed side by side, against one after the other in plain numbers."""

from __future__ import annotations

from math import exp, inf, isinf, log

import numpy as np
import pytest

from theory._tails import Tails

#: Points at which the two are compared, the first ones.
POINTS = 6


def entropy(epsilon: float, ceiling: float) -> float:
    """The least kl(p + epsilon || p) over p up to the ceiling, where it falls all the way; else nothing."""
    if epsilon <= 0.0 or ceiling > (1.0 - epsilon) / 2.0:
        return 0.0
    if ceiling == 0.0:
        return inf
    q = ceiling + epsilon
    return q * log(q / ceiling) + (1.0 - q) * log((1.0 - q) / (1.0 - ceiling))


def one_by_one(tails: Tails, at: int, margins: list[float], log_weight: float, gap: float, best_count: int) -> float:
    """The bound at one point: every split in turn, every rival in turn."""
    nu, rows, spread, fall = (float(part[at]) for part in (tails.stiffness, tails.rows, tails.spread, tails.fall))
    x, smallest = min(margins), inf
    if isinf(x):
        return -inf
    for rivals in range(1, len(margins) + 1):
        log_count = max(log_weight + log(rivals) - log(best_count), 0.0)
        shift = min(max(x / 2.0 - log_count / (4.0 * nu * x), 0.0), x) if x > 0.0 else 0.0
        low = 0.0
        for margin in margins:
            low += exp(-2.0 * nu * max(margin - shift, 0.0) ** 2)
        ceiling = min(max((fall - gap) / spread, 0.0), 1.0)
        exponent = max(2.0 * nu * shift**2, rows * entropy(min(shift / spread, 1.0), ceiling))
        smallest = min(smallest, exp(log_weight) * low + best_count * exp(-exponent))
    return log(smallest)


def disagreement(kind: type[Tails], seed: int, points: int = POINTS) -> float:
    """The largest difference between the two at random points; two points have no rival, one has a margin of 0."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(20, 400, points).astype(float)
    spread, fall = rng.uniform(1.0, 3.0, points), rng.uniform(0.5, 1.0, points)
    tails = kind(np.zeros(points), rows / spread**2, rows, spread, fall, "same")
    rivals = int(rng.integers(2, 40))
    margins = rng.uniform(0.05, 0.6, (points, rivals))
    margins[rng.uniform(size=margins.shape) < 0.2] = np.inf
    margins[:2] = np.inf
    margins[2, 0] = 0.0
    log_weight = rng.choice([0.0, -log(rivals), 0.7], points)
    gaps = rng.uniform(0.1, 0.5, points)
    best = rng.integers(1, 5, points)
    together = tails.log_crowd(margins, log_weight, gaps, best)
    worst = 0.0
    for at in range(POINTS):
        alone = one_by_one(tails, at, margins[at].tolist(), float(log_weight[at]), float(gaps[at]), int(best[at]))
        if not (isinf(alone) and together[at] == alone):
            worst = max(worst, abs(alone - together[at]))
    return worst


@pytest.mark.parametrize("points", [POINTS, 300, 12_000])
def test_side_by_side_is_one_by_one(points: int) -> None:
    """All splits, a few and one at a time: the more points, the fewer."""
    for seed in range(20 if points == POINTS else 3):
        assert disagreement(Tails, seed, points) < 1e-9, seed


class OneSplit(Tails):
    """An error to be found: the split in the middle, whatever the number of rivals."""

    def _shift(self, smallest: np.ndarray, log_count: np.ndarray) -> np.ndarray:
        return Tails._shift(self, smallest, 0.0 * log_count)


class Shuffled(Tails):
    """Another: what one point's best arm may do is taken from its neighbour."""

    def log_best_high(self, shift: np.ndarray, largest_gap: np.ndarray) -> np.ndarray:
        return Tails.log_best_high(self, shift, np.roll(largest_gap, 1))


@pytest.mark.parametrize("wrong", [OneSplit, Shuffled])
def test_an_error_among_the_splits_is_found(wrong: type[Tails]) -> None:
    assert max(disagreement(wrong, seed) for seed in range(20)) > 1e-4
