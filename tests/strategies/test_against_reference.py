"""Strategies in lock-step buy and select what plain loops over one trial do, for equal and unequal costs.

Money is shared in proportion to costs or equally. A benchmark of strategies is compared with loops of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import erfc, exp, floor, pi, sqrt
from typing import Any

import numpy as np
import pytest

from benchmarks.rules import PAIRS
from exml_sim._internal.binomial import clopper_pearson
from exml_sim.engine import StrategySpec
from exml_sim.strategies import (
    BaseStrategy,
    MedianElimination,
    SuccessiveAcceptsRejects,
    SuccessiveRejects,
    TopTwo,
    UniformAllocation,
    ValueOfInformationCommit,
)
from exml_sim.strategies.ocba import Ocba
from exml_sim.strategies.ugap import UGapEb
from exml_sim.strategies.value_of_information import HALF
from simulations.bench import RULES
from tests.bandit.losses import LossPool
from tests.strategies.reference import (
    Trial,
    coins,
    fresh_halving,
    list_phases,
    median_elimination,
    running_means,
    successive_rejects,
)

TRIALS = 40
#: False-alarm probability of one comparison of counts.
ALPHA = 1e-7


def uniform(t: Trial) -> list[int]:
    t.buy(t.budget, range(t.n_arms))
    return t.order(range(t.n_arms))[:1]


def accepts_rejects(t: Trial, k: int) -> list[int]:
    active, accepted = list(range(t.n_arms)), []
    for money in list_phases(t, t.budget):
        t.buy(floor(money), active)
        order, slots = t.order(active), k - len(accepted)
        best, worst = t.score(order[0]), t.score(order[-1])
        if slots == 0:
            is_accepted = False
        elif slots == len(order):
            is_accepted = True
        else:
            is_accepted = t.score(order[slots]) - best > worst - t.score(order[slots - 1])
        decided = order[0] if is_accepted else order[-1]
        active.remove(decided)
        if is_accepted:
            accepted.append(decided)
    return accepted + (active if len(accepted) < k else [])


def ocba(t: Trial, share: Fraction, rounds: int) -> list[int]:
    everyone = range(t.n_arms)
    t.buy(floor(t.budget * share), everyone)
    for remaining in range(rounds, 0, -1):
        leader = t.order(everyone)[0]
        gaps = [t.score(arm) - t.score(leader) for arm in everyone]
        smallest = max(*gaps, 1e-12) * 1e-4
        weights = [1.0 / max(gap, smallest) ** 2 for gap in gaps]
        weights[leader] = 0.0
        weights[leader] = sqrt(sum(weight**2 for weight in weights))
        t.buy(t.left // remaining, [max(everyone, key=lambda arm: (weights[arm] / t.had[arm], -arm))])
    return t.order(everyone)[:1]


def top_two(t: Trial, share: Fraction, rounds: int) -> list[int]:
    everyone = range(t.n_arms)
    t.buy(floor(t.budget * share), everyone)
    for remaining in range(rounds, 0, -1):
        leader = t.order(everyone)[0]
        distance = {
            arm: (t.score(arm) - t.score(leader)) / sqrt(1 / t.had[leader] + 1 / t.had[arm])
            for arm in everyone
            if arm != leader
        }
        t.buy(t.left // remaining, [leader, min(distance, key=lambda arm: (distance[arm], arm))])
    return t.order(everyone)[:1]


def ugap(t: Trial, share: Fraction, rounds: int, e: float) -> list[int]:
    everyone = range(t.n_arms)
    t.buy(floor(t.budget * share), everyone)
    total = t.budget * t.n_arms / sum(t.costs)
    for remaining in range(rounds, -1, -1):
        values = [t.score(arm) for arm in everyone]
        gaps = [value - min(values) or sorted(values)[1] - value for value in values]
        hardness = sum(1.0 / max((gap + e) / 2.0, e) ** 2 for gap in gaps)
        widths = [sqrt(max(total - t.n_arms, 1.0) / (4.0 * hardness * n)) for n in t.had]
        lower = [value - width for value, width in zip(values, widths, strict=True)]
        index = [values[k] + widths[k] - min(lower[arm] for arm in everyone if arm != k) for k in everyone]
        leader = index.index(min(index))
        if remaining:
            rival = min((arm for arm in everyone if arm != leader), key=lambda arm: (lower[arm], arm))
            t.buy(t.left // remaining, [rival if t.had[rival] < t.had[leader] else leader])
    return [leader]


def is_worth_it(t: Trial, arm: int, leader: int, deviation: float, half: float) -> bool:
    """Whether the expected gain of as many further rows of a challenger is above what the leader loses by them."""
    own, rows, cost = t.had[leader], t.had[arm], t.costs[leader]
    moved = deviation * sqrt(1 / rows + 1 / own) * sqrt(1 / 2)
    u = min((t.score(arm) - t.score(leader)) / moved, 40.0)
    gain = moved * (exp(-u * u / 2) / sqrt(2 * pi) - u * erfc(u / sqrt(2)) / 2)

    def explained(final: float) -> float:
        return final / (final + half) * (own + half) / own

    rich = own + t.left // cost
    poor = own + min(t.left // cost, max(t.left - rows * t.costs[arm], 0) / cost)
    return gain > max(1.0 - t.score(leader), 0.0) * (explained(rich) - explained(poor))


def value_of_information(t: Trial, share: Fraction, rounds: int, deviation: float, half: float) -> list[int]:
    one_each = sum(t.costs) if t.alignment == "sample" else t.n_arms * max(t.costs)
    t.buy(floor(max(t.budget * share, min(t.budget, one_each))), range(t.n_arms))
    active = list(range(t.n_arms))
    for _ in range(rounds):
        leader = t.order(active)[0]
        active = [arm for arm in active if arm == leader or is_worth_it(t, arm, leader, deviation, half)]
        if len(active) == 1:
            break
        t.buy(min(sum(t.had[arm] * t.costs[arm] for arm in active), t.left // 2), active)
    leader = t.order(active)[0]
    t.buy(t.left, [leader])
    return [leader]


QUARTER, FIFTH = Fraction(1, 4), Fraction(1, 5)
CASES: list[tuple[BaseStrategy, Callable[[Trial], list[int]]]] = [
    (UniformAllocation(), uniform),
    (MedianElimination(), median_elimination),
    (MedianElimination(accumulate=False), fresh_halving),
    (SuccessiveRejects(), successive_rejects),
    (SuccessiveAcceptsRejects(k=1), lambda t: accepts_rejects(t, 1)),
    (SuccessiveAcceptsRejects(k=2), lambda t: accepts_rejects(t, 2)),
    (SuccessiveAcceptsRejects(k=3), lambda t: accepts_rejects(t, 3)),
    (Ocba(), lambda t: ocba(t, QUARTER, 48)),
    (Ocba(rounds=9), lambda t: ocba(t, QUARTER, 9)),
    (TopTwo(), lambda t: top_two(t, QUARTER, 24)),
    (UGapEb(), lambda t: ugap(t, QUARTER, 48, 0.01)),
    (UGapEb(rounds=5, epsilon=0.3), lambda t: ugap(t, QUARTER, 5, 0.3)),
    (ValueOfInformationCommit(), lambda t: value_of_information(t, FIFTH, 4, 0.5, HALF)),
    (
        ValueOfInformationCommit(first_round_share=Fraction(1, 20), rounds=7, deviation=0.1, half=200.0),
        lambda t: value_of_information(t, Fraction(1, 20), 7, 0.1, 200.0),
    ),
    (
        ValueOfInformationCommit(rounds=6, deviation=2.0, half=3.0),
        lambda t: value_of_information(t, FIFTH, 6, 2.0, 3.0),
    ),
]
#: Means, costs and budget: equal, mild and extreme costs, the best arm cheap or expensive, means that tie.
POOLS = [
    ([0.3, 0.5, 0.4, 0.5, 0.35, 0.45, 0.5], [1] * 7, 210),
    ([0.4, 0.4, 0.4], [1] * 3, 210),
    ([0.3, 0.5, 0.4, 0.45], [2, 5, 3, 7], 601),
    ([0.5, 0.35, 0.5], [1, 40, 3], 900),
    ([0.2, 0.3, 0.8, 0.25, 0.9], [9, 1, 1, 2, 30], 800),
    ([0.9, 0.9], [3, 4], 333),
]


@pytest.fixture(scope="module")
def tables() -> dict[int, np.ndarray]:
    return {
        place: running_means(coins(means, costs), TRIALS, budget // min(costs))
        for place, (means, costs, budget) in enumerate(POOLS)
    }


@pytest.mark.parametrize("alignment", ["sample", "budget"])
@pytest.mark.parametrize("place", range(len(POOLS)))
@pytest.mark.parametrize(("strategy", "loop"), CASES, ids=[f"{type(s).__name__}{n}" for n, (s, _) in enumerate(CASES)])
def test_purchases_and_selections_are_those_of_the_plain_loop(
    tables: dict[int, np.ndarray],
    strategy: BaseStrategy,
    loop: Callable[[Trial], list[int]],
    place: int,
    alignment: str,
) -> None:
    means, costs, budget = POOLS[place]
    if strategy.selects > len(means):
        pytest.skip("more slots than arms")
    pool = coins(means, costs)
    batch = pool.explore_many(replace(strategy, alignment=alignment, ties="lowest"), budget, TRIALS, seed=21)
    for trial in range(TRIALS):
        plain = Trial(tables[place][trial], costs, budget, alignment)
        selected = loop(plain)
        assert batch.pulls[trial].tolist() == plain.had, f"trial {trial}"
        assert batch.selected[trial].tolist() == selected, f"trial {trial}"
        assert budget - batch.spent_units[trial] == plain.left >= 0


def test_money_of_first_rounds() -> None:
    """The most expensive arm decides where money is shared equally; the budget bounds what is asked for."""
    for alignment, one_each in (("sample", 6), ("budget", 12)):
        strategy = ValueOfInformationCommit(alignment=alignment)
        pool = coins([0.5] * 3, [1, 1, 4])
        for budget, money in ((5, 5), (one_each, one_each), (20, one_each), (100, 20)):
            assert strategy.first_round_cost(Fraction(budget), pool.prices) == money
    for strategy in (SuccessiveRejects(), SuccessiveAcceptsRejects(k=1)):
        # Below one pull of each arm at the mean cost the schedule is negative: nothing is bought.
        assert strategy.first_round_cost(Fraction(3), pool.prices) == 0
        phases = list_phases(Trial(None, [1, 1, 4], 60), 60)
        assert strategy.first_round_cost(Fraction(60), pool.prices) == phases[0]


def test_every_rule_of_the_bench_has_a_plain_loop() -> None:
    bench = {StrategySpec.read(rule).label for rule in RULES.values()}
    assert bench <= {StrategySpec.read(strategy).label for strategy, _ in CASES}
    assert bench == {StrategySpec.read(pair.rule).label for pair in PAIRS}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_loops_of_the_benchmark_fail_as_often(pair: Any) -> None:
    """Counts of two independent ways."""
    means, budget, looped = [0.4, 0.5, 0.55, 0.6, 0.65], 120, 1_500
    ours = LossPool.bernoulli(means).explore_many(pair.rule, budget, 20_000, seed=5).selected[:, 0]
    rng = np.random.default_rng(6)
    theirs = sum(pair.loop(means, budget, rng) != 0 for _ in range(looped))
    batched = clopper_pearson(int((ours != 0).sum()), ours.size, 1 - ALPHA / 2)
    plain = clopper_pearson(theirs, looped, 1 - ALPHA / 2)
    assert batched[0] <= plain[1]
    assert plain[0] <= batched[1]
