"""Hypothesis strategies for pools, budgets, costs and gaps; `hypothesis` must be installed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from exml_sim.bandit.parametric import BernoulliArm, ParametricPool
from exml_sim.bandit.strategy import Strategy, smallest_budget
from exml_sim.engine.pools import DISTRIBUTIONS, FAMILIES, FamilyPool
from exml_sim.money import ALIGNMENTS, Prices

#: How a round's money becomes pulls.
alignments = st.sampled_from(list(ALIGNMENTS))


@st.composite
def cost_lists(draw: Any, min_arms: int = 1, max_arms: int = 64) -> list[Fraction]:
    """Rational prices from 1/20 to 5 in up to three denominators (finer lists are refused, by a clear error)."""
    denominators = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=3))
    cost = st.sampled_from(denominators).flatmap(
        lambda d: st.integers(-(-d // 20), 5 * d).map(lambda k: Fraction(k, d))
    )
    costs: list[Fraction] = draw(st.lists(cost, min_size=min_arms, max_size=max_arms))
    return costs


@st.composite
def budgets(draw: Any, rule: Strategy, costs: list[Fraction], most: int = 5) -> Fraction:
    """Return a budget that pays for the first round: the smallest, or up to `1 + most` times that."""
    need = smallest_budget(rule, Prices.of(costs))
    extra: Fraction = draw(st.fractions(0, most, max_denominator=30))
    return need * (1 + extra)


@st.composite
def gap_lists(draw: Any, rivals: int, smallest: float = 0.02, largest: float = 0.4) -> list[float]:
    """Gaps of the other arms in thousandths, ties with the best among them."""
    steps = st.integers(int(1000 * smallest), int(1000 * largest)).map(lambda k: k / 1000)
    gaps: list[float] = draw(st.lists(st.one_of(steps, steps, st.just(0.0)), min_size=rivals, max_size=rivals))
    return gaps


@st.composite
def bernoulli_pools(draw: Any, min_arms: int = 1, max_arms: int = 8, costs: bool = False) -> ParametricPool:
    """Bernoulli arms, the best anywhere in the list, ties and the means 0 and 1 among them."""
    K = draw(st.integers(min_arms, max_arms))
    best = draw(st.sampled_from([1.0, 0.9, 0.7, 0.5, 0.4]))
    means = [max(0.0, round(best - gap, 3)) for gap in draw(gap_lists(K - 1))]
    means.insert(draw(st.integers(0, K - 1)), best)
    prices = draw(cost_lists(K, K)) if costs else [Fraction(1)] * K
    return ParametricPool([BernoulliArm(mean, price) for mean, price in zip(means, prices, strict=True)])


@st.composite
def family_pools(draw: Any, max_arms: int = 32) -> ParametricPool:
    """Arms of the literature's families."""
    family, distribution = draw(st.sampled_from(sorted(FAMILIES))), draw(st.sampled_from(DISTRIBUTIONS))
    gap = draw(st.sampled_from([0.02, 0.05, 0.08]))
    return FamilyPool(family, draw(st.integers(2, max_arms)), gap, distribution).pool()
