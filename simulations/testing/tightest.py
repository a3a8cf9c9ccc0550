"""A hunt for the instance on which a bound is nearest to the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulations.testing.assumptions import Assumes, Bound
from simulations.testing.known_arms import SMALL, exact_instance


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


def hunt_tightest(
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
        starts = [np.array(one) for one in SMALL if len(one) == K] + [rng.uniform(0.1, 0.9, K).round(4)]
        judged = [(found.slack, i) for i, one in enumerate(starts) if (found := _slack(bound, about, one, budget))]
        means = starts[min(judged, default=(0.0, -1))[1]]
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
    one = exact_instance(about, means.tolist(), budget)
    if one is None:
        return None
    value = float(bound(budget, one.context))
    # Where a bound says nothing there is nothing to be tight about.
    return Tightest(tuple(means.tolist()), budget, one.least, value, 1) if 0 < value < 1 and one.least > 0 else None
