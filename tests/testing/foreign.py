"""Two rules that the project does not have, and their plain loops: written after their papers, for the kit to check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.strategies import BaseStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStage(BaseStrategy):
    """Half of the money for everyone, the other half for the better half of the arms."""

    def first_round_cost(self, budget: Fraction, prices: Any) -> Fraction:
        return budget / 2

    def explore(self, batch: Any) -> Any:
        batch.buy(batch.budget / 2)
        batch.keep_best((batch.n_arms + 1) // 2)
        batch.buy(batch.budget / 2)
        return batch.keep_best(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualRounds(BaseStrategy):
    """Drop the worst arm after each of K - 1 equal rounds, on the pulls of the round alone."""

    def first_round_cost(self, budget: Fraction, prices: Any) -> Fraction:
        return budget / max(1, prices.size - 1)

    def explore(self, batch: Any) -> Any:
        rounds = batch.n_arms - 1
        for left in range(rounds, 0, -1):
            batch.buy(batch.budget / rounds, fresh=True)
            batch.keep_best(left, fresh=True)
        return batch.active.argmax(axis=1)[:, None]


def two_stage(means: Sequence[float], budget: int, rng: np.random.Generator) -> int:
    """One trial of the first rule."""
    K = len(means)
    n = budget // 2 // K
    wins = rng.binomial(n, means)
    kept = sorted(range(K), key=lambda arm: (-wins[arm], rng.random()))[: (K + 1) // 2]
    more = budget // 2 // len(kept)
    score = {arm: (wins[arm] + rng.binomial(more, means[arm])) / (n + more) for arm in kept}
    return max(kept, key=lambda arm: (score[arm], rng.random()))


def equal_rounds(means: Sequence[float], budget: int, rng: np.random.Generator) -> int:
    """One trial of the second rule."""
    left, rounds = list(range(len(means))), len(means) - 1
    for _ in range(rounds):
        n = budget // rounds // len(left)
        score = {arm: rng.binomial(n, means[arm]) / n for arm in left}
        left.remove(min(left, key=lambda arm: (score[arm], rng.random())))
    return left[0]
