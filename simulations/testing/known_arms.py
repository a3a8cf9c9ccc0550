"""Instances of Bernoulli and Gaussian arms: small pools whose law is enumerated, families by trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from exml_sim.engine.families import FAMILIES, FamilyPool
from exml_sim.engine.intervals import clopper_pearson
from exml_sim.engine.modes.exact import law_of
from exml_sim.engine.setting import Setting
from exml_sim.exploration.known import KnownPool
from exml_sim.exploration.strategy import smallest_budget
from simulations.testing.assumptions import Assumes, Instance

#: Outcomes of one exact law, and trials of one count.
OUTCOMES, TRIALS = 30_000, 4_000
#: Means of small pools, lower is better: near 1/2, where variances are largest, at the ends, and one close rival.
SMALL = (
    (0.45, 0.55), (0.4, 0.6), (0.3, 0.7), (0.0, 0.3), (0.7, 1.0), (0.05, 0.15), (0.2, 0.8),
    (0.4, 0.6, 0.6), (0.3, 0.6, 0.6), (0.2, 0.4, 0.9), (0.35, 0.65, 1.0),
    (0.25, 0.75, 0.75, 0.75), (0.2, 0.8, 0.8, 1.0),
)  # fmt: skip


def setting_for(about: Assumes, means: Sequence[float], *, law: str = "bernoulli", sd: float = math.nan) -> Setting:
    """The setting of known arms at unit cost."""
    gaps = tuple(round(mean - min(means), 12) for mean in means)
    ends: dict[str, Any] = {"low": 0.0, "high": 1.0} if law == "bernoulli" else {"sd": sd}
    return Setting(about.strategy, len(means), gaps, about.options, tuple(means), (1.0,) * len(means), law, **ends)


def exact_instance(about: Assumes, means: Sequence[float], budget: int, outcomes: int = OUTCOMES) -> Instance | None:
    """The exact failure probability of Bernoulli arms; None if there is too much to enumerate or too little money."""
    # The best arm comes last and loses ties.
    pool = KnownPool.bernoulli(sorted(means, reverse=True))
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
    shown = ", ".join(f"{mean:g}" for mean in means)
    return Instance(f"means {shown}", setting_for(about, sorted(means, reverse=True)), budget, p, p, "exactly")


def enumerated(about: Assumes) -> Iterator[Instance]:
    for means in SMALL:
        for per_arm in (2, 5, 10, 20, 40, 80, 160):
            found = exact_instance(about, means, per_arm * len(means))
            if found is None:
                break
            yield found


def counted(about: Assumes, alarm: float, seed: int) -> Iterator[Instance]:
    """Families of the literature, by trials; the lower limits share one alarm."""
    rule, law = about.build(), about.law
    points = [(f, K, gap, n) for f in FAMILIES for K, gap in ((2, 0.3), (8, 0.08)) for n in (20, 100)]
    for family, K, gap, per_arm in points:
        spec = FamilyPool(family, K, gap, law, best=0.3 if K > 2 else 0.35)
        pool, budget = spec.pool(), per_arm * K
        if budget < smallest_budget(rule, pool.prices):
            continue
        found = pool.explore_many(rule, budget, TRIALS, seed=seed)
        failures = int(found.failures(pool.best_set()).sum())
        low, high = clopper_pearson(failures, TRIALS, 1.0 - 2.0 * alarm / len(points))
        setting = setting_for(about, spec.means, law=law, sd=spec.sd)
        name = f"{family} of {K} arms, gap {gap:g}"
        yield Instance(name, setting, budget, low, high, f"counted: {failures} of {TRIALS}")
