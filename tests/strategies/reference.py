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


def fresh_halving(mean, n_arms, budget):
    """Sequential halving: every round is scored on its own pulls; `mean` is of whole numbers."""
    active, had = list(range(n_arms)), 0
    rounds = ceil(log2(n_arms))
    for _ in range(rounds):
        new = had + budget // (rounds * len(active))
        own = {arm: round(mean(arm, new) * new) - (round(mean(arm, had) * had) if had else 0) for arm in active}
        active, had = ranked(active, own)[: ceil(len(active) / 2)], new
    return active


def ocba(mean, n_arms, budget, share, rounds):
    had = [int(budget * share) // n_arms] * n_arms
    left = budget - sum(had)
    for remaining in range(rounds, 0, -1):
        score = [mean(arm, had[arm]) for arm in range(n_arms)]
        leader = ranked(range(n_arms), score)[0]
        gaps = [value - score[leader] for value in score]
        floor = max(*gaps, 1e-12) * 1e-4
        weight = [1.0 / (max(gap, floor) * max(gap, floor)) for gap in gaps]
        weight[leader] = 0.0
        weight[leader] = sqrt(sum(entry * entry for entry in weight))
        behind = [entry / n for entry, n in zip(weight, had, strict=True)]
        arm = behind.index(max(behind))
        had[arm] += left // remaining
        left -= left // remaining
    return ranked(range(n_arms), [mean(arm, had[arm]) for arm in range(n_arms)])[:1]


def ugape_budget(mean, n_arms, budget, share, rounds, e):
    had = [int(budget * share) // n_arms] * n_arms
    left = budget - sum(had)
    remaining = rounds
    while True:
        score = [mean(arm, had[arm]) for arm in range(n_arms)]
        second = sorted(score)[1]
        gaps = [value - min(score) or second - value for value in score]
        hardness = sum(1.0 / max((gap + e) / 2.0, e) ** 2 for gap in gaps)
        width = [sqrt(max(budget - n_arms, 1.0) / (4.0 * hardness * n)) for n in had]
        lower = [value - w for value, w in zip(score, width, strict=True)]
        index = [score[k] + width[k] - min(low for arm, low in enumerate(lower) if arm != k) for k in range(n_arms)]
        leader = index.index(min(index))
        if remaining == 0:
            return [leader]
        rival = min((arm for arm in range(n_arms) if arm != leader), key=lambda arm: (lower[arm], arm))
        arm = rival if had[rival] < had[leader] else leader
        had[arm] += left // remaining
        left -= left // remaining
        remaining -= 1


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
