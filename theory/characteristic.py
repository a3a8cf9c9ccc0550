"""The characteristic time: a lower bound on the pulls of every delta-PAC rule (Garivier and Kaufmann, 2016).

E[pulls] >= T kl(delta, 1 - delta), 1/T = max over shares w of min over arms a of inf over x of

    w_b d(mu_b, x) + w_a d(mu_a, x),

b the best arm and d the divergence of the arms' family. Lower means are better; pulls cost 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special
from scipy.optimize import brentq

from theory._inputs import fraction

Divergence = Callable[[float, float], float]


def bernoulli(p: float, q: float) -> float:
    """Return kl(p, q) of Bernoulli distributions, infinite where q excludes what p allows."""
    return float(special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q))


def gaussian(sd: float) -> Divergence:
    """Return the divergence of normal distributions with a common standard deviation."""
    return lambda p, q: (p - q) ** 2 / (2.0 * sd * sd)


def characteristic_time(means: Sequence[float], divergence: Divergence = bernoulli) -> tuple[float, tuple[float, ...]]:
    """Return T, and the shares of the pulls that reach it.

    Parameters
    ----------
    means
        Means of at least two arms, the lowest once.
    divergence
        d of the arms' family.

    Raises
    ------
    ValueError
        If the best arm is not unique: then no rule can identify it.
    """
    order = np.argsort(means, kind="stable")
    best, others = float(means[order[0]]), [float(means[i]) for i in order[1:]]
    if not others or others[0] <= best:
        raise ValueError(f"the lowest of at least two means must be unique, got {list(means)}")
    top = min(divergence(best, other) for other in others)

    def shares_at(y: float) -> list[float]:
        return [_share(best, other, y, divergence) for other in others]

    def slope(y: float) -> float:
        total = 0.0
        for other, x in zip(others, shares_at(y), strict=True):
            middle = (best + x * other) / (1.0 + x)
            # Close to an arm the divergence is below rounding.
            total += divergence(best, middle) / max(divergence(other, middle), 1e-15)
        return total - 1.0

    low, high = top * 1e-6, top * (1.0 - 1e-6)
    y = float(brentq(slope, low, high, xtol=1e-14, rtol=1e-12))
    ratios = shares_at(y)
    whole = 1.0 + sum(ratios)
    shares = np.empty(len(means))
    shares[order] = np.array([1.0, *ratios]) / whole
    return whole / y, tuple(shares.tolist())


def _share(best: float, other: float, y: float, divergence: Divergence) -> float:
    """Return the pulls of an arm per pull of the best arm at which the pair has the information y."""

    def short(x: float) -> float:
        middle = (best + x * other) / (1.0 + x)
        return divergence(best, middle) + x * divergence(other, middle) - y

    high = 1.0
    while short(high) < 0.0:
        high *= 2.0
    return float(brentq(short, 0.0, high, xtol=1e-13, rtol=1e-12))


def least_pulls(means: Sequence[float], delta: float, divergence: Divergence = bernoulli) -> float:
    """Return T kl(delta, 1 - delta), a lower bound on the expected pulls of a delta-PAC rule."""
    level = float(fraction(delta, "delta"))
    return characteristic_time(means, divergence)[0] * bernoulli(level, 1.0 - level) if level < 0.5 else 0.0
