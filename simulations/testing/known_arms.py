"""Instances of Bernoulli and Gaussian arms: small pools whose law is enumerated, families by trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from exml_sim.bandit.parametric import BernoulliArm, ParametricPool
from exml_sim.bandit.strategy import smallest_budget
from exml_sim.engine.bound_context import BoundContext
from exml_sim.engine.families import FAMILIES, FamilyPool
from exml_sim.engine.intervals import clopper_pearson
from exml_sim.engine.modes.exact import law_of
from simulations.testing.assumptions import Assumes, Instance

#: Outcomes of one exact law, and trials of one count.
OUTCOMES, TRIALS = 30_000, 4_000
#: Means of small pools, lower is better: near 1/2, where variances are largest, at the ends, and one close rival.
SMALL = (
    (0.45, 0.55), (0.4, 0.6), (0.3, 0.7), (0.0, 0.3), (0.7, 1.0), (0.05, 0.15), (0.2, 0.8),
    (0.4, 0.6, 0.6), (0.3, 0.6, 0.6), (0.2, 0.4, 0.9), (0.35, 0.65, 1.0),
    (0.25, 0.75, 0.75, 0.75), (0.2, 0.8, 0.8, 1.0),
    (0.3, 0.7, 1.0, 1.0, 1.0), (0.35, 0.65, 1.0, 1.0, 1.0, 1.0),
)  # fmt: skip
#: Pulls per arm of exact laws; for those in `UNEVEN` also budgets that leave 1 and K - 1 over.
PER_ARM, UNEVEN = (2, 5, 10, 20, 40, 80, 160), (5, 10, 20)
#: Pools with unequal costs (means, costs), for bounds that are about costs: the best arm is dear, or cheap.
COSTLY = (((0.7, 0.3), (1, 3)), ((0.7, 0.3), (3, 1)), ((1.0, 0.65, 0.35), (2, 1, 3)))


def context_for(
    about: Assumes,
    means: Sequence[float],
    *,
    distribution: str = "bernoulli",
    sd: float = math.nan,
    costs: Sequence[int] | None = None,
) -> BoundContext:
    """The context of known arms, at unit cost unless costs are given."""
    prices = tuple(map(float, costs or (1,) * len(means)))
    gaps = tuple(round(mean - min(means), 12) for mean in means)
    ends: dict[str, Any] = {"low": 0.0, "high": 1.0} if distribution == "bernoulli" else {"sd": sd}
    return BoundContext(about.strategy, len(means), gaps, about.options, tuple(means), prices, distribution, **ends)


def exact_instance(about: Assumes, means: Sequence[float], budget: int, outcomes: int = OUTCOMES) -> Instance | None:
    """The exact failure probability of Bernoulli arms; None if there is too much to enumerate or too little money."""
    # The best arm comes last and loses ties.
    return _exact(about, sorted(means, reverse=True), (1,) * len(means), budget, outcomes)


def _exact(
    about: Assumes, means: Sequence[float], costs: Sequence[int], budget: int, outcomes: int = OUTCOMES
) -> Instance | None:
    """The same with costs, the arms in the order that is given."""
    pool = ParametricPool([BernoulliArm(mean, cost) for mean, cost in zip(means, costs, strict=True)])
    rule = about.build()
    if budget < smallest_budget(rule, pool.prices):
        return None
    try:
        law = law_of(pool, rule, Fraction(budget), outcomes)
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        return None
    p = min(max(sum(law.failure), 0.0), 1.0)
    even = set(costs) == {1}
    shown = ", ".join(f"{mean:g}" for mean in (sorted(means) if even else means))
    name = f"means {shown}" if even else f"means {shown} at costs {', '.join(map(str, costs))}"
    return Instance(name, context_for(about, means, costs=costs), budget, p, p, "exactly")


def enumerated(about: Assumes) -> Iterator[Instance]:
    """Small pools at budgets that are multiples of K and some that are not; unequal costs if the bound knows them."""
    for means in SMALL:
        K = len(means)
        budgets = (n * K + over for n in PER_ARM for over in (sorted({0, 1, K - 1}) if n in UNEVEN else (0,)))
        yield from _until_too_large(exact_instance(about, means, budget) for budget in budgets)
    if about.costs == "any":
        for means, costs in COSTLY:
            budgets = (n * sum(costs) + over for n in PER_ARM for over in (0, 1))
            yield from _until_too_large(_exact(about, means, costs, budget) for budget in budgets)


def _until_too_large(found: Iterator[Instance | None]) -> Iterator[Instance]:
    """Instances of ascending budgets, until one cannot be enumerated."""
    for one in found:
        if one is None:
            return
        yield one


def counted(about: Assumes, alarm: float, seed: int) -> Iterator[Instance]:
    """Families of the literature, by trials; the lower limits share one alarm."""
    rule, distribution = about.build(), about.distribution
    places = [(K, gap, n * K) for K, gap in ((2, 0.3), (8, 0.08)) for n in (20, 100)]
    # Budgets that are no multiples of K.
    places += [(5, 0.08, 20 * 5 + 4), (6, 0.08, 20 * 6 + 1)]
    points = [(family, *place) for family in FAMILIES for place in places]
    for family, K, gap, budget in points:
        spec = FamilyPool(family, K, gap, distribution, best=0.3 if K > 2 else 0.35)
        pool = spec.pool()
        if budget < smallest_budget(rule, pool.prices):
            continue
        found = pool.explore_many(rule, budget, TRIALS, seed=seed)
        failures = int(found.failures(pool.best_arms()).sum())
        low, high = clopper_pearson(failures, TRIALS, 1.0 - 2.0 * alarm / len(points))
        context = context_for(about, spec.means, distribution=distribution, sd=spec.sd)
        name = f"{family} of {K} arms, gap {gap:g}"
        yield Instance(name, context, budget, low, high, f"counted: {failures} of {TRIALS}")
