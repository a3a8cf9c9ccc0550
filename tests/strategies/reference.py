"""The strategies once more, one trial at a time, in plain Python: the slow path for the lock-step.

`mean(arm, n)` must return the score of an arm after its first n pulls. All functions are for unit costs.
"""

from fractions import Fraction
from math import ceil, log2, sqrt


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


def successive_rejects(mean, n_arms, budget):
    active = list(range(n_arms))
    for had in phases(n_arms, budget):
        active.remove(ranked(active, {arm: mean(arm, had) for arm in active})[-1])
    return active


def accepts_rejects(mean, n_arms, budget, k):
    active, accepted = list(range(n_arms)), []
    for had in phases(n_arms, budget):
        score = {arm: mean(arm, had) for arm in active}
        order = ranked(active, score)
        slots = k - len(accepted)
        gaps = {}
        for place, arm in enumerate(order):
            if slots == 0 or place >= slots:
                border = order[slots - 1] if slots > 0 else order[0]
                gaps[arm] = score[arm] - score[border]
            else:
                border = order[slots] if slots < len(order) else None
                gaps[arm] = score[border] - score[arm] if border is not None else float("inf")
        above = gaps[order[0]] if slots > 0 else -1.0
        below = gaps[order[-1]] if slots < len(order) else -1.0
        if above > below:
            accepted.append(order[0])
            active.remove(order[0])
        else:
            active.remove(order[-1])
    return accepted + (active if len(accepted) < k else [])


def top_two(mean, n_arms, budget, share, rounds):
    had = [int(budget * share) // n_arms] * n_arms
    left = budget - sum(had)
    for remaining in range(rounds, 0, -1):
        score = [mean(arm, had[arm]) for arm in range(n_arms)]
        leader = ranked(range(n_arms), score)[0]
        distance = {
            arm: (score[arm] - score[leader]) / sqrt(1 / had[leader] + 1 / had[arm])
            for arm in range(n_arms)
            if arm != leader
        }
        rival = ranked(distance, distance)[0]
        pulls = left // remaining // 2
        for arm in (leader, rival):
            had[arm] += pulls
        left -= 2 * pulls
    return ranked(range(n_arms), [mean(arm, had[arm]) for arm in range(n_arms)])[:1]
