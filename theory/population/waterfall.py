"""Where the distance between a bound and practice goes: one cause of loss taken away at a time.

Uniform allocation in the affine regime. From the bound that knows the gaps only (Theorem 3) to the exponential rate of
the population: first without the optimism of the arms, then for the nearest rival alone instead of a union over all,
then with the population's own large-deviation rate, as far as a search finds it, instead of that of the worst law with
the same gap and range. The steps are computed in this order, and another order would share the whole out differently.
Only the first is a bound.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from theory import tighter
from theory.budgets import required_budget
from theory.population.model import PopulationModel, require_level
from theory.population.rate import large_deviation_rate

__all__ = ["Step", "chernoff", "waterfall"]

#: In place of kappa Lambda in the optimism: none.
_NO_OPTIMISM = 1e-12


class Step(NamedTuple):
    """A budget, and what was taken away from the one before it."""

    name: str
    budget: float


def waterfall(pool: PopulationModel, delta: float) -> tuple[Step, ...]:
    """Budgets of uniform allocation for failure probability delta, from the bound of the gaps to the rate found.

    The last is K ln(1/delta) / I with the rate I of `large_deviation_rate`: where exp(-n I) reaches delta. The failure
    probability has a factor before the exponential, so practice may need less than this, or more.
    """
    require_level(delta)
    pool.require_affine("the waterfall")
    gaps = np.sort(pool.risks[list(pool.rivals)] - float(pool.risks.min()))
    ties = [0.0] * (len(pool.best_arms) - 1)
    given: dict[str, Any] = {"gap": None, "theta": pool.theta, "kappa_lambda": pool.kappa * pool.radius}
    given |= {"kernel": "nonnegative" if pool.nonnegative else "any"}
    bound, K = tighter.delta_fail_uniform, pool.n_arms
    every = {**given, "K": K, "gaps": np.array([*ties, *gaps])}
    nearest = {**given, "K": 2, "gaps": gaps[:1], "mean_kappa_lambda": _NO_OPTIMISM}
    return (
        Step("gaps only", required_budget(bound, delta, **every)),
        Step("optimism", required_budget(bound, delta, **every, mean_kappa_lambda=_NO_OPTIMISM)),
        Step("union over arms", required_budget(bound, delta, **nearest) / 2 * K),
        Step("worst-case law", K * math.log(1.0 / delta) / rate_of(pool)),
    )


def chernoff(pool: PopulationModel, budget: float) -> float:
    """exp(-n I), n = B/K rows per arm at unit prices, I the rate found by `large_deviation_rate`; no bound."""
    return math.exp(-budget / pool.n_arms * rate_of(pool))


def rate_of(pool: PopulationModel) -> float:
    """`large_deviation_rate`, computed once per pool."""
    if "rate" not in pool.cache:
        pool.cache["rate"] = large_deviation_rate(pool)
    found: float = pool.cache["rate"]
    return found
