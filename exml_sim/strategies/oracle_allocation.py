r"""The best static allocation for a pool that is known (Glynn and Juneja, WSC 2004): a reference, not a competitor.

With shares w of the pulls the probability that arm i looks better than the best arm b falls as exp(-T G_i),

.. math:: G_i = \min_x w_b\,d(x, \mu_b) + w_i\,d(x, \mu_i),

with the divergence d of the arms' family. The shares maximise the smallest G_i: all G_i are equal, and the ratios
d(x_i, mu_b) / d(x_i, mu_i) sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.strategies.base import BaseStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleAllocation(BaseStrategy):
    """Pull Bernoulli or Gaussian arms in the shares that are optimal for their true distributions.

    The strategy reads the pool, so it is no competitor: no static allocation has a better exponential rate. At small
    budgets it can fail more often than uniform allocation. Every arm gets at least one pull. Only for equal costs and
    a unique best arm. Checked: equal rates, the sum of ratios, and no better rate on a grid of allocations.
    """

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the whole budget."""
        if len(set(prices.exact_costs)) != 1:
            raise ValueError("oracle_allocation needs equal costs")
        return budget

    def explore(self, batch: TrialBatch) -> IntArray:
        """Pull in the optimal shares and select the best score."""
        shares = find_shares(*batch.arms.reveal())
        total = batch.prices.units(batch.budget) // int(batch.prices.costs[0])
        pulls = np.broadcast_to(round_shares(shares, total), batch.active.shape)
        batch.buy_pulls(np.ascontiguousarray(pulls))
        return batch.keep_best(1)


def round_shares(shares: FloatArray, total: int) -> IntArray:
    """Round shares to whole pulls, at least one each; what is left goes to the arms furthest behind their share."""
    pulls = np.maximum(np.floor(shares * total), 1.0).astype(np.int64)
    while pulls.sum() > total:
        pulls[np.argmax(pulls - shares * total)] -= 1
    while pulls.sum() < total:
        pulls[np.argmax(shares * total - pulls)] += 1
    return pulls


def find_shares(means: Sequence[float], deviations: Sequence[float] | None) -> FloatArray:
    """Compute the shares of Bernoulli arms, or of Gaussian arms with the given deviations; the lowest mean is best.

    Raises
    ------
    ValueError
        If two arms share the best mean, or a Bernoulli mean is 0 or 1.
    """
    mu = np.array(means, dtype=np.float64)
    if mu.size == 1:
        return np.ones(1)
    best = int(mu.argmin())
    others = np.array([i for i in range(mu.size) if i != best])
    if mu[others].min() == mu[best] or (deviations is None and not ((mu > 0.0) & (mu < 1.0)).all()):
        raise ValueError("the optimal allocation needs a unique best arm, and Bernoulli means between 0 and 1")
    pair = _pair_gaussian if deviations is not None else _pair_bernoulli
    sd = np.ones_like(mu) if deviations is None else np.array(deviations, dtype=np.float64)

    def solve(level: float) -> tuple[FloatArray, float]:
        """Find w_i / w_b at which all rates are `level` w_b, and the sum of the ratios of divergences."""
        low, high = np.zeros(others.size), np.full(others.size, 1e12)
        for _ in range(200):
            middle = np.sqrt(np.maximum(low, 1e-12) * high)
            first, second = pair(mu[best], mu[others], sd[best], sd[others], middle)
            above = first + middle * second >= level
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        first, second = pair(mu[best], mu[others], sd[best], sd[others], high)
        return high, float((first / second).sum())

    limit = pair(mu[best], mu[others], sd[best], sd[others], np.full(others.size, 1e12))[0].min()
    low, high = 0.0, float(limit)
    for _ in range(100):
        level = 0.5 * (low + high)
        low, high = (level, high) if solve(level)[1] < 1.0 else (low, level)
    shares = np.ones_like(mu)
    shares[others] = solve(0.5 * (low + high))[0]
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _pair_gaussian(
    best: float, other: FloatArray, sd: float, sds: FloatArray, ratio: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute d(x, mu_b) and d(x, mu_i) at the least favourable x, w_i / w_b being `ratio`."""
    own, theirs = 1.0 / sd**2, ratio / sds**2
    x = (own * best + theirs * other) / (own + theirs)
    return (x - best) ** 2 / (2.0 * sd**2), (x - other) ** 2 / (2.0 * sds**2)


def _pair_bernoulli(
    best: float, other: FloatArray, sd: float, sds: FloatArray, ratio: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute the same for Bernoulli arms, whose natural parameters average."""
    odds = (np.log(best / (1.0 - best)) + ratio * np.log(other / (1.0 - other))) / (1.0 + ratio)
    x = 1.0 / (1.0 + np.exp(-odds))
    return _divergence(x, np.full(other.shape, best)), _divergence(x, other)


def _divergence(x: FloatArray, mean: FloatArray) -> FloatArray:
    return np.asarray(x * np.log(x / mean) + (1.0 - x) * np.log((1.0 - x) / (1.0 - mean)), dtype=np.float64)
