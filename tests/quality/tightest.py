"""Search the instance on which a bound is nearest to the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulations.testing._bound_instances import SMALL, Assumes, Bound, exact_instance


@dataclass(frozen=True)
class Tightest:
    """The instance on which a bound is nearest to the truth, of those that a search has tried."""

    means: tuple[float, ...]
    budget: int
    probability: float
    bound: float
    tried: int

    @property
    def slack(self) -> float:
        """bound / probability."""
        return self.bound / self.probability if self.probability > 0 else math.inf


def find_tightest(
    bound: Bound,
    about: Assumes,
    *,
    K: int = 2,
    budgets: Sequence[int] = (20, 40, 80, 160),
    seed: int = 0,
    steps: int = 60,
) -> Tightest:
    """Search means of K Bernoulli arms and budgets for the smallest bound / probability, both exact.

    The best of the small pools and of a random one is the start at every budget; then means move by steps that shrink
    when nothing gets better.
    """
    rng = np.random.default_rng(seed)
    best, tried = Tightest((), 0, 0.0, 1.0, 0), 0
    for budget in budgets:
        starts = [np.array(means) for means in SMALL if len(means) == K] + [rng.uniform(0.1, 0.9, K).round(4)]
        slacks = [(tight.slack, i) for i, means in enumerate(starts) if (tight := _slack(bound, about, means, budget))]
        means = starts[min(slacks, default=(0.0, -1))[1]]
        now, step = _slack(bound, about, means, budget), 0.1
        for _ in range(steps):
            tried += 1
            move = np.clip(means + step * rng.standard_normal(K), 0.0, 1.0).round(4)
            then = _slack(bound, about, move, budget)
            if then is not None and (now is None or then.slack < now.slack):
                means, now = move, then
            else:
                step = max(step * 0.93, 0.005)
        if now is not None and now.slack < best.slack:
            best = now
    return replace(best, tried=tried)


def _slack(bound: Bound, about: Assumes, means: Any, budget: int) -> Tightest | None:
    if len(set(means.tolist())) < len(means):
        return None
    instance = exact_instance(about, means.tolist(), budget)
    if instance is None:
        return None
    value = float(bound(budget, instance.context))
    # A vacuous bound is not tight.
    if not 0 < value < 1 or instance.least <= 0:
        return None
    return Tightest(tuple(means.tolist()), budget, instance.least, value, 1)
