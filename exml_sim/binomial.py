"""Exact intervals of binomial proportions."""

from __future__ import annotations

from scipy.special import betaincinv


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a proportion from `k` successes of `n` trials.

    It is that of ``scipy.stats.binomtest(k, n).proportion_ci(level, "exact")``, without the import of scipy.stats.
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1.0 - tail))
    return low, high
