"""The strategies once more, one trial at a time, in plain Python: the slow path for the trial batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from exml_sim.bandit.parametric import BoundedArm
from exml_sim.seeds import Seeds
from tests.bandit.losses import LossPool


def coins(means: Sequence[float], costs: Sequence[int] | None = None) -> LossPool:
    """Arms with the values 0 and 1, of which every single pull is a fixed number."""
    prices = costs or [1] * len(means)
    return LossPool([BoundedArm((0.0, 1.0), (1.0 - m, m), cost=c) for m, c in zip(means, prices, strict=True)])


def running_means(pool: Any, trials: int, longest: int) -> np.ndarray:
    """Mean of the first n pulls for every trial of seed 21, arm and n, shape (trials, K, longest + 1)."""
    arms = pool.open(Seeds.of(21, range(trials)))
    ones = np.ones((trials, pool.n_arms), dtype=np.int64)
    means = np.full((trials, pool.n_arms, longest + 1), np.nan)
    for n in range(1, longest + 1):
        arms.pull(ones, False, lambda pulled, due: None)
        means[:, :, n] = arms.score(ones.astype(bool), False, 0).value
    return means


class Trial:
    """One trial in plain numbers: pulls, money, and the mean of the first pulls of every arm."""

    def __init__(self, means: Any, costs: Sequence[int], budget: int, alignment: str = "sample") -> None:
        self.means, self.costs, self.budget, self.alignment = means, costs, budget, alignment
        self.n_arms = len(costs)
        self.had = [0] * self.n_arms
        self.left = budget

    def buy(self, money: Fraction | int, arms: Iterable[int]) -> None:
        """Share money among arms."""
        arms = list(arms)
        total = sum(self.costs[arm] for arm in arms)
        for arm in arms:
            share = (
                money * self.costs[arm] / Fraction(total) if self.alignment == "sample" else Fraction(money, len(arms))
            )
            self.pull(arm, floor(share / self.costs[arm]))

    def pull(self, arm: int, times: int = 1) -> None:
        """Buy pulls of one arm."""
        self.had[arm] += times
        self.left -= times * self.costs[arm]

    def score(self, arm: int) -> float:
        """Return the mean of all pulls of an arm."""
        return float(self.means[arm, self.had[arm]])

    def total(self, arm: int) -> int:
        """Return the sum of all pulls of an arm with values 0 and 1."""
        return round(self.score(arm) * self.had[arm]) if self.had[arm] else 0

    def order(self, arms: Iterable[int]) -> list[int]:
        """Order arms by their scores, equal ones by index."""
        return sorted(arms, key=lambda arm: (self.score(arm), arm))


def first_of(arms: Iterable[int], value: Any) -> int:
    """Return the arm with the lowest value, of equal ones the first."""
    return min(arms, key=lambda arm: (value(arm), arm))


def median_elimination(t: Trial, arms: int | None = None) -> list[int]:
    """Halve the first arms on all pulls so far."""
    active = list(range(arms or t.n_arms))
    rounds = (len(active) - 1).bit_length()
    for _ in range(rounds):
        t.buy(Fraction(t.budget, rounds), active)
        active = t.order(active)[: ceil(len(active) / 2)]
    return active


def fresh_halving(t: Trial, budget: int | None = None, arms: int | None = None) -> list[int]:
    """Halve the first arms on the pulls of the round alone."""
    active, money = list(range(arms or t.n_arms)), budget or t.budget
    rounds = (len(active) - 1).bit_length()
    for _ in range(rounds):
        before = {arm: (t.had[arm], t.total(arm)) for arm in active}
        t.buy(Fraction(money, rounds), active)
        own = {arm: (t.total(arm) - total) / (t.had[arm] - n) for arm, (n, total) in before.items()}
        active = sorted(active, key=lambda arm: (own[arm], arm))[: ceil(len(active) / 2)]
    return active


def list_phases(t: Trial, budget: int) -> list[Fraction]:
    """Money of the phases of successive rejects for the mean cost."""
    mean = Fraction(sum(t.costs), t.n_arms)
    scale = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, t.n_arms + 1))
    totals = [0, *(ceil((budget // mean - t.n_arms) / (scale * (t.n_arms + 1 - k))) for k in range(1, t.n_arms))]
    return [mean * (totals[k] - totals[k - 1]) * (t.n_arms + 1 - k) for k in range(1, t.n_arms)]


def successive_rejects(t: Trial, budget: int | None = None) -> list[int]:
    """Reject the worst arm after every phase."""
    active = list(range(t.n_arms))
    for money in list_phases(t, budget or t.budget):
        t.buy(floor(money), active)
        active.remove(t.order(active)[-1])
    return active
