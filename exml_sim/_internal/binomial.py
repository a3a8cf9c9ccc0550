"""Exact intervals of binomial proportions."""

from __future__ import annotations

from scipy.special import betainccinv, betaincinv


def clopper_pearson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a proportion from `k` successes of `n` trials.

    It covers with probability at least `level`, whatever the proportion is. It is that of
    ``scipy.stats.binomtest(k, n).proportion_ci(level, "exact")``, without the import of scipy.stats.

    Raises
    ------
    ValueError
        Unless 0 <= k <= n and the level is in (0, 1). Without trials the interval is [0, 1].
    """
    if not 0 <= k <= n or not 0.0 < level < 1.0:
        raise ValueError(f"an interval needs 0 <= k <= n and a level in (0, 1), got {k} of {n} at {level}")
    tail = (1.0 - level) / 2.0
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betainccinv(k + 1, n - k, tail))
    return low, high
