"""The strategies once more, one trial at a time, in plain Python: the slow path for the lock-step.

`mean(arm, n)` must return the score of an arm after its first n pulls. All functions are for unit costs.
"""

from fractions import Fraction
from math import ceil, log2

import numpy as np

from exml_sim.seeds import Seeds


def running_means(pool, trials, longest):
    """Mean of the first n pulls for every trial of seed 21, arm and n, shape (trials, K, longest + 1)."""
    arms = pool.open(Seeds.of(21, range(trials)))
    ones = np.ones((trials, pool.n_arms), dtype=np.int64)
    means = np.full((trials, pool.n_arms, longest + 1), np.nan)
    for n in range(1, longest + 1):
        arms.pull(ones, False, lambda pulled, due: None)
        means[:, :, n] = arms.score(ones.astype(bool), False, 0).value
    return means


def ranked(arms, score):
    return sorted(arms, key=lambda arm: (score[arm], arm))


def median_elimination(mean, n_arms, budget):
    active, had = list(range(n_arms)), 0
    rounds = ceil(log2(n_arms))
    for _ in range(rounds):
        had += budget // (rounds * len(active))
        active = ranked(active, {arm: mean(arm, had) for arm in active})[: ceil(len(active) / 2)]
    return active


def phases(n_arms, budget):
    scale = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    return [ceil((budget - n_arms) / (scale * (n_arms + 1 - k))) for k in range(1, n_arms)]


def fresh_halving(mean, n_arms, budget):
    """Sequential halving: every round is scored on its own pulls; `mean` is of whole numbers."""
    active, had = list(range(n_arms)), 0
    rounds = ceil(log2(n_arms))
    for _ in range(rounds):
        new = had + budget // (rounds * len(active))
        own = {arm: round(mean(arm, new) * new) - (round(mean(arm, had) * had) if had else 0) for arm in active}
        active, had = ranked(active, own)[: ceil(len(active) / 2)], new
    return active
