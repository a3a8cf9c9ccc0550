"""Textbook rules on Bernoulli arms, one pull after the other: the peers of exml_sim.strategies.

Written from the papers and sharing no code with the package. Lower means are better. Rules with a confidence take one
generator and return (selected arm, pulls); rules with a fixed budget return the selected arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

#: A rule with a fixed budget.
Loop = Callable[[list[float], int, np.random.Generator], int]


def divergence(p: float, q: float) -> float:
    """kl(p, q) of Bernoulli distributions."""
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


class Arms:
    """Bernoulli arms that are asked for one pull at a time, and what they answered."""

    def __init__(self, means: list[float], rng: np.random.Generator) -> None:
        self.means, self.rng = means, rng
        self.ones, self.pulls = [0] * len(means), [0] * len(means)

    def pull(self, arm: int, times: int) -> None:
        """Pull an arm, one call of the generator per pull."""
        for _ in range(times):
            self.ones[arm] += self.rng.random() < self.means[arm]
            self.pulls[arm] += 1

    def mean(self, arm: int) -> float:
        """The mean of the pulls of an arm."""
        return self.ones[arm] / self.pulls[arm]

    def rank(self, arm: int) -> tuple[float, float]:
        """The mean of the pulls of an arm, ties broken at random."""
        return self.mean(arm), self.rng.random()

    def pick(self, values: list[float]) -> int:
        """An arm with the lowest value, ties broken at random."""
        return min(range(len(values)), key=lambda arm: (values[arm], self.rng.random()))

    def forget(self) -> None:
        """Begin anew."""
        self.ones, self.pulls = [0] * len(self.means), [0] * len(self.means)


def uniform(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """Every arm as often as any other."""
    arms = Arms(means, rng)
    for arm in range(len(means)):
        arms.pull(arm, budget // len(means))
    return min(range(len(means)), key=arms.rank)


def median_elimination(means: list[float], budget: int, rng: np.random.Generator, *, fresh_rows: bool = False) -> int:
    """Keep the better half after each of ceil(log2 K) rounds of equal money, on all pulls so far."""
    arms, left = Arms(means, rng), list(range(len(means)))
    rounds = math.ceil(math.log2(len(means)))
    for _ in range(rounds):
        if fresh_rows:
            arms.forget()
        for arm in left:
            arms.pull(arm, budget // (rounds * len(left)))
        left = sorted(sorted(left, key=arms.rank)[: math.ceil(len(left) / 2)])
    return left[0]


def sequential_halving(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """Karnin, Koren and Somekh (2013): the same, every round on its own pulls."""
    return median_elimination(means, budget, rng, fresh_rows=True)


def successive_rejects(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """Audibert, Bubeck and Munos (2010): drop the worst arm after each of K - 1 phases."""
    arms, left, number = Arms(means, rng), list(range(len(means))), len(means)
    scale, had = 0.5 + sum(1.0 / i for i in range(2, number + 1)), 0
    for phase in range(1, number):
        total = math.ceil((budget - number) / (scale * (number + 1 - phase)))
        for arm in left:
            arms.pull(arm, total - had)
        had = total
        left.remove(max(left, key=arms.rank))
    return left[0]


def top_two(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """EB-TC (Jourdan et al., 2022): a quarter for everyone, then 24 rounds for the leader and its challenger."""
    arms, number = Arms(means, rng), len(means)
    for arm in range(number):
        arms.pull(arm, budget // 4 // number)
    left = budget - sum(arms.pulls)
    for rounds in range(24, 0, -1):
        leader = min(range(number), key=arms.rank)

        def cost(arm: int, leader: int = leader) -> float:
            spread = 1.0 / arms.pulls[leader] + 1.0 / arms.pulls[arm]
            return (arms.mean(arm) - arms.mean(leader)) / math.sqrt(spread)

        rival = arms.pick([math.inf if arm == leader else cost(arm) for arm in range(number)])
        each = left // rounds // 2
        for arm in (leader, rival):
            arms.pull(arm, each)
        left -= 2 * each
    return min(range(number), key=arms.rank)


def ocba(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """OCBA (Chen et al., 2000) with equal variances: 48 batches for the arm that is furthest behind its share."""
    arms, number = Arms(means, rng), len(means)
    for arm in range(number):
        arms.pull(arm, budget // 4 // number)
    left = budget - sum(arms.pulls)
    for rounds in range(48, 0, -1):
        score = [arms.mean(arm) for arm in range(number)]
        leader = arms.pick(score)
        gaps = [value - score[leader] for value in score]
        least = max(max(gaps), 1e-12) * 1e-4
        share = [0.0 if arm == leader else 1.0 / max(gap, least) ** 2 for arm, gap in enumerate(gaps)]
        share[leader] = math.sqrt(sum(entry**2 for entry in share))
        behind = [entry / n for entry, n in zip(share, arms.pulls, strict=True)]
        arms.pull(arms.pick([-entry for entry in behind]), left // rounds)
        left -= left // rounds
    return min(range(number), key=arms.rank)


def ugape_budget(means: list[float], budget: int, rng: np.random.Generator) -> int:
    """UGapEb (Gabillon et al., 2012) in 48 batches, its exploration by the gaps as they are seen, e = 0.01."""
    arms, number, e = Arms(means, rng), len(means), 0.01
    for arm in range(number):
        arms.pull(arm, budget // 4 // number)
    left = budget - sum(arms.pulls)
    for rounds in range(48, -1, -1):
        score = [arms.mean(arm) for arm in range(number)]
        first, second = sorted(score)[:2]
        gaps = [second - value if value == first else value - first for value in score]
        hardness = sum(1.0 / max((gap + e) / 2.0, e) ** 2 for gap in gaps)
        width = [math.sqrt((budget - number) / (4.0 * hardness * n)) for n in arms.pulls]
        lower = [value - w for value, w in zip(score, width, strict=True)]
        index = [score[k] + width[k] - min(lower[:k] + lower[k + 1 :]) for k in range(number)]
        leader = arms.pick(index)
        if rounds == 0:
            break
        rival = arms.pick([math.inf if arm == leader else lower[arm] for arm in range(number)])
        arm = rival if arms.pulls[rival] < arms.pulls[leader] else leader
        arms.pull(arm, left // rounds)
        left -= left // rounds
    return leader
