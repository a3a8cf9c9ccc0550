"""Textbook rules with a confidence on Bernoulli arms, one pull after the other: the peers of exml_sim.strategies.

Written from the papers and sharing no code with the package. Lower means are better. Each takes one
generator and returns (selected arm, pulls).
"""

from __future__ import annotations

import math

import numpy as np


def divergence(p: float, q: float) -> float:
    """kl(p, q) of Bernoulli laws."""
    q = min(max(q, 1e-15), 1.0 - 1e-15)
    first = p * math.log(p / q) if p > 0.0 else 0.0
    return first + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


def limit(mean: float, pulls: int, rate: float, end: float) -> float:
    """The x between the mean and an end of [0, 1] with pulls * kl(mean, x) = rate."""
    inner, outer = mean, end
    for _ in range(18):
        middle = 0.5 * (inner + outer)
        inner, outer = (middle, outer) if pulls * divergence(mean, middle) <= rate else (inner, middle)
    return inner


def kl_lucb(means: list[float], delta: float, rng: np.random.Generator) -> tuple[int, int]:
    """KL-LUCB, Kaufmann and Kalyanakrishnan (2013), with beta(t) = x + log x, x = log(k1 K t^alpha / delta).

    alpha = 1.1 and k1 = 11.1 > 1 + 1 / (alpha - 1), the smallest constants of their theorem for this alpha.
    """
    arms = len(means)
    pulls, ones = [1] * arms, [float(rng.random() < mean) for mean in means]
    t = 1
    while True:
        x = math.log(11.1 * arms * t**1.1 / delta)
        rate = x + math.log(x)
        average = [s / n for s, n in zip(ones, pulls, strict=True)]
        leader = min(range(arms), key=average.__getitem__)
        lower = {v: limit(average[v], pulls[v], rate, 0.0) for v in range(arms) if v != leader}
        rival = min(lower, key=lower.__getitem__)
        if limit(average[leader], pulls[leader], rate, 1.0) <= lower[rival]:
            return leader, sum(pulls)
        for arm in (leader, rival):
            pulls[arm] += 1
            ones[arm] += rng.random() < means[arm]
        t += 1


def top_two_thompson(
    means: list[float], delta: float, rng: np.random.Generator, *, proven: bool = True
) -> tuple[int, int]:
    """TTTS (Russo, 2016) with the generalised likelihood ratio of Garivier and Kaufmann (2016) as stopping rule.

    The threshold is log(2 t (K - 1) / delta), which is proven for Bernoulli arms, or log((1 + log t) / delta), which is
    often used and is not.
    """
    arms = len(means)
    pulls = np.ones(arms)
    ones = np.array([float(rng.random() < mean) for mean in means])
    t = arms
    while True:
        average = ones / pulls
        leader = int(average.argmin())
        bar = math.log(2.0 * t * (arms - 1) / delta) if proven else math.log((1.0 + math.log(t)) / delta)
        if min(_ratio(average, pulls, leader, v) for v in range(arms) if v != leader) >= bar:
            return leader, t
        first = arm = int(rng.beta(1.0 + ones, 1.0 + pulls - ones).argmin())
        if rng.random() < 0.5:
            # Until another arm is the best one of a sample; where a hundred samples have none, the likeliest other arm.
            samples = rng.beta(1.0 + ones, 1.0 + pulls - ones, size=(100, arms)).argmin(axis=1)
            rivals = samples[samples != first]
            other = min((v for v in range(arms) if v != first), key=lambda v: _ratio(average, pulls, first, v))
            arm = int(rivals[0]) if rivals.size else other
        pulls[arm] += 1.0
        ones[arm] += rng.random() < means[arm]
        t += 1


def _ratio(average: np.ndarray, pulls: np.ndarray, u: int, v: int) -> float:
    """Z_{u,v} = n_u kl(u, pooled) + n_v kl(v, pooled)."""
    if average[v] <= average[u]:
        return 0.0
    pooled = float((pulls[u] * average[u] + pulls[v] * average[v]) / (pulls[u] + pulls[v]))
    ends = ((float(pulls[k]), float(average[k])) for k in (u, v))
    return sum(n * divergence(mean, pooled) for n, mean in ends)
