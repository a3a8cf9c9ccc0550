"""Instances on which a bound is tested.

Feature arms have closed forms; Bernoulli and Gaussian arms are enumerated or counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import BernoulliArm, ParametricPool
from exml_sim.bandit.trial_batch import check_strategy, smallest_budget
from exml_sim.engine.bound_context import BoundContext
from exml_sim.engine.modes._exact import enumerate_distribution
from exml_sim.engine.pools import FAMILIES, FamilyPool
from exml_sim.strategies import Strategy, by_name
from theory import BoundProblem
from theory.claims import _near_tight as near_tight
from theory.claims._near_tight import NearTight

Bound = Callable[[int, BoundContext], Any]


@dataclass(frozen=True)
class Assumes:
    """Strategy and distribution of a bound.

    Attributes
    ----------
    strategy, options
        Name of the strategy (also a plug-in's "module:BaseStrategy") and its options.
    distribution
        "features" (scored over the ball: the instances of this project), "bernoulli" or "gaussian".
    rule
        The strategy itself, in place of its name.
    costs
        "unit" (one pull of every arm costs 1), or "any" if the bound reads ``context.costs``: Bernoulli arms with
        unequal costs are asked, too.
    """

    strategy: str = "uniform_allocation"
    options: Mapping[str, Any] = field(default_factory=dict)
    distribution: str = "features"
    rule: Strategy | None = None
    costs: str = "unit"

    def __post_init__(self) -> None:
        if self.rule is not None:
            check_strategy(self.rule)
        if self.distribution not in ("features", "bernoulli", "gaussian"):
            raise ValueError(f"distribution must be features, bernoulli or gaussian, got {self.distribution!r}")
        if self.costs not in ("unit", "any"):
            raise ValueError(f"costs must be unit or any, got {self.costs!r}")
        if self.costs == "any" and self.distribution != "bernoulli":
            raise ValueError(f"instances with unequal costs are of distribution bernoulli, got {self.distribution}")

    def build(self) -> Strategy:
        """Build the strategy; of a named one the bound must cover the worst ties."""
        return (
            self.rule if self.rule is not None else by_name(self.strategy, **{"ties": "lowest", **dict(self.options)})
        )


@dataclass(frozen=True)
class BoundInstance:
    """An instance on which a bound is tested, with limits of the failure probability.

    Attributes
    ----------
    name, context, budget
        The arms, and what the bound may know of them.
    least, most
        Limits of the failure probability; equal where it is known exactly.
    kind
        How it is known.
    counts
        Failures and trials, where it was counted.
    """

    name: str
    context: BoundContext
    budget: int
    least: float
    most: float
    kind: str
    counts: tuple[int, int] | None = None


def _kind(about: Assumes) -> near_tight.Strategy:
    if about.strategy == "uniform_allocation":
        return "uniform"
    if about.strategy != "median_elimination":
        raise ValueError(
            "near-tight instances of feature arms are for uniform_allocation and median_elimination, "
            f"got {about.strategy}"
        )
    return "median-accumulated" if about.options.get("accumulate", True) else "median-fresh"


@lru_cache(maxsize=8)
def _places(kind: near_tight.Strategy) -> tuple[tuple[NearTight, float], ...]:
    """Near-tight instances with kappa; at K = 2 all strategies compare once."""
    pairs = [
        *((near_tight.opposed(n, 0.02, kind), 1.0) for n in (2_500, 10_000, 40_000, 160_000)),
        *((near_tight.opposed(n, 0.1, kind), 1.0) for n in (25, 100, 400, 1_600)),
        *((near_tight.overfit(25, 900, kind), kappa) for kappa in (1.0, 0.25)),
        (near_tight.overfit(100, 2_500, kind), 1.0),
    ]
    if kind == "uniform":
        pairs += [(near_tight.crowd(arms, 36, 1 / 3), 1.0) for arms in (8, 64)]
    for arms, first in ((4, 10_000), (8, 10_000), (8, 22_500)):
        pairs.append((near_tight.one_rival(arms, first, 0.02, kind), 1.0))
        if kind != "uniform":
            pairs.append((near_tight.duplicates(arms, first, 0.02, kind), 1.0))
    return tuple(pairs)


def near_tight_instances(about: Assumes) -> Iterator[BoundInstance]:
    """Yield near-tight instances of the strategy."""
    for near, kappa in _places(_kind(about)):
        context = BoundContext(
            about.strategy,
            near.problem.K,
            (0.0, *(near.problem.gaps or ())),
            about.options,
            costs=(1.0,) * near.problem.K,
            pairing=near.problem.pairing,
            distribution="features",
            theta=near.problem.theta,
            kappa_lambda=near.problem.kappa_lambda,
            kappa=kappa,
        )
        yield BoundInstance(near.name, context, near.budget, near.least, near.most, "by a closed form")


def point_of(context: BoundContext) -> BoundProblem:
    """A context of feature arms as our bounds take it."""
    rows: Any = "accumulated" if context.options.get("accumulate", True) else "fresh"
    pairing: Any = context.pairing
    return BoundProblem(
        context.K, None, context.theta, context.kappa_lambda, gaps=context.ordered, rows=rows, pairing=pairing
    )


#: Outcomes of one exact distribution, and trials of one count.
OUTCOMES, TRIALS = 30_000, 4_000
#: Means of small pools, lower is better: near 1/2, where variances are largest, at the ends, and one close rival.
SMALL = (
    (0.45, 0.55), (0.4, 0.6), (0.3, 0.7), (0.0, 0.3), (0.7, 1.0), (0.05, 0.15), (0.2, 0.8),
    (0.4, 0.6, 0.6), (0.3, 0.6, 0.6), (0.2, 0.4, 0.9), (0.35, 0.65, 1.0),
    (0.25, 0.75, 0.75, 0.75), (0.2, 0.8, 0.8, 1.0),
    (0.3, 0.7, 1.0, 1.0, 1.0), (0.35, 0.65, 1.0, 1.0, 1.0, 1.0),
)  # fmt: skip
#: Pulls per arm of exact distributions; for those in `UNEVEN` also budgets that leave 1 and K - 1 over.
PER_ARM, UNEVEN = (2, 5, 10, 20, 40, 80, 160), (5, 10, 20)
#: Pools with unequal costs (means, costs), for bounds that are about costs: the best arm is expensive, or cheap.
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


def exact_instance(
    about: Assumes, means: Sequence[float], budget: int, outcomes: int = OUTCOMES
) -> BoundInstance | None:
    """The exact failure probability of Bernoulli arms; None if there is too much to enumerate or too little money."""
    # The best arm comes last and loses ties.
    return _exact(about, sorted(means, reverse=True), (1,) * len(means), budget, outcomes)


def _exact(
    about: Assumes, means: Sequence[float], costs: Sequence[int], budget: int, outcomes: int = OUTCOMES
) -> BoundInstance | None:
    """The same with costs, the arms in the order that is given."""
    arms = [BernoulliArm(mean, cost) for mean, cost in zip(means, costs, strict=True)]
    pool = ParametricPool(arms, direction="minimise")
    rule = about.build()
    if budget < smallest_budget(rule, pool.prices):
        return None
    try:
        outcome = enumerate_distribution(pool, rule, Fraction(budget), outcomes)
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        return None
    p = min(max(sum(outcome.failure), 0.0), 1.0)
    even = set(costs) == {1}
    shown = ", ".join(f"{mean:g}" for mean in (sorted(means) if even else means))
    name = f"means {shown}" if even else f"means {shown} at costs {', '.join(map(str, costs))}"
    return BoundInstance(name, context_for(about, means, costs=costs), budget, p, p, "exactly")


def enumerate_instances(about: Assumes) -> Iterator[BoundInstance]:
    """Small pools at budgets that are multiples of K and some that are not; unequal costs if the bound knows them."""
    for means in SMALL:
        K = len(means)
        budgets = (n * K + over for n in PER_ARM for over in (sorted({0, 1, K - 1}) if n in UNEVEN else (0,)))
        yield from _until_too_large(exact_instance(about, means, budget) for budget in budgets)
    if about.costs == "any":
        for means, costs in COSTLY:
            budgets = (n * sum(costs) + over for n in PER_ARM for over in (0, 1))
            yield from _until_too_large(_exact(about, means, costs, budget) for budget in budgets)


def _until_too_large(instances: Iterator[BoundInstance | None]) -> Iterator[BoundInstance]:
    """Instances of ascending budgets, until one cannot be enumerated."""
    for instance in instances:
        if instance is None:
            return
        yield instance


def count_instances(about: Assumes, alpha: float, seed: int) -> Iterator[BoundInstance]:
    """Families of the literature, by trials; the lower limits share one alpha."""
    rule, distribution = about.build(), about.distribution
    places = [(K, gap, n * K) for K, gap in ((2, 0.3), (8, 0.08)) for n in (20, 100)]
    # Budgets that are no multiples of K.
    places += [(5, 0.08, 20 * 5 + 4), (6, 0.08, 20 * 6 + 1)]
    points = [(family, *place) for family in FAMILIES for place in places]
    for family, K, gap, budget in points:
        spec = FamilyPool(family, K, gap, distribution, best=0.3 if K > 2 else 0.35, direction="minimise")
        pool = spec.pool()
        if budget < smallest_budget(rule, pool.prices):
            continue
        result = pool.explore_many(rule, budget, TRIALS, seed=seed)
        failures = int(result.failures(pool.best_arms()).sum())
        low, high = clopper_pearson(failures, TRIALS, 1.0 - 2.0 * alpha / len(points))
        context = context_for(about, spec.means, distribution=distribution, sd=spec.sd)
        name = f"{family} of {K} arms, gap {gap:g}"
        yield BoundInstance(name, context, budget, low, high, f"counted: {failures} of {TRIALS}", (failures, TRIALS))
