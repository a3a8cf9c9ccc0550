"""Money and elimination for any number of arms, any budget, any rational costs, both alignments."""

from fractions import Fraction
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial import read_trial
from exml_sim.bandit.trial_batch import ArmState, smallest_budget
from exml_sim.money import ALIGNMENTS, Prices
from exml_sim.seeds import Seeds
from exml_sim.strategies import (
    MedianElimination,
    SuccessiveAcceptsRejects,
    SuccessiveRejects,
    TopTwo,
    UniformAllocation,
)

#: How a round's money becomes pulls.
alignments = st.sampled_from(list(ALIGNMENTS))


@st.composite
def cost_lists(draw, min_arms=1, max_arms=64):
    """Rational prices from 1/20 to 5 in up to three denominators (finer lists are refused, by a clear error)."""
    denominators = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=3))
    cost = st.sampled_from(denominators).flatmap(
        lambda d: st.integers(-(-d // 20), 5 * d).map(lambda k: Fraction(k, d))
    )
    return draw(st.lists(cost, min_size=min_arms, max_size=max_arms))


class PaperSession(ArmState):
    """Arms that exist on paper: scores are random numbers, drawn anew whenever something was bought."""

    levels = 1
    has_exact_scores = True

    def __init__(self, seeds, n_arms):
        self.rng = np.random.default_rng(int(seeds.key[0] % 2**32))
        self.shape = (len(seeds), n_arms)

    def pull(self, pulls, fresh_rows, pay):
        pay(pulls, pulls)
        return pulls

    def score(self, wanted, fresh_rows, level):
        # Few different values, so that ties are common.
        value = np.where(wanted, self.rng.integers(0, 6, self.shape) / 8, np.inf)
        return Scores(value, value, value)

    def counts(self):
        return None


class PaperPool(Pool):
    def __init__(self, costs):
        self._costs = costs

    @property
    def names(self):
        return tuple(f"a{i}" for i in range(len(self._costs)))

    @property
    def costs(self):
        return self._costs

    def open(self, seeds):
        return PaperSession(seeds, len(self._costs))


surplus = st.fractions(0, 5, max_denominator=30)


def affordable(rule, costs, extra):
    """A budget that works: the smallest one, plus some."""
    need = smallest_budget(rule, Prices.of(costs))
    return need * (1 + extra)


def run(rule, costs, budget, trials=3):
    pool = PaperPool(costs)
    done, selected = pool.run(rule, budget, Seeds.of(len(costs), range(trials)), record=True)
    return [read_trial(done, selected, i) for i in range(trials)]


rules = st.one_of(
    st.builds(UniformAllocation, alignment=alignments),
    st.builds(MedianElimination, alignment=alignments, accumulate=st.booleans()),
    st.builds(SuccessiveRejects, alignment=alignments),
    st.builds(SuccessiveAcceptsRejects, alignment=alignments, k=st.integers(1, 64)),
    st.builds(TopTwo, alignment=alignments),
)


@given(cost_lists(), surplus, rules)
def test_money_and_elimination(costs, extra, rule):
    """What is bought is paid and affordable, and arms leave by the schedule; pulls of equal shares are floors."""
    size = len(costs)
    assume(rule.selects <= size)
    budget = affordable(rule, costs, extra)
    rounds = {UniformAllocation: 1, MedianElimination: ceil(log2(size))}.get(type(rule), size - 1)
    for result in run(rule, costs, budget):
        spent = sum(entry.pulls * costs[result.names.index(entry.arm)] for entry in result.ledger.entries())
        assert spent == result.ledger.spent <= budget
        assert len(set(result.accepted)) == len(result.accepted) == rule.selects
        assert set(result.accepted) <= set(range(size))
        if isinstance(rule, TopTwo):
            continue
        assert len(result.rounds) == rounds
        active = set(range(size))
        for item in result.rounds:
            assert set(item.active) == active
            pulls = [int(item.pulls[arm]) for arm in sorted(active)]
            assert sum(pulls) == item.pulls.sum()
            if isinstance(rule, UniformAllocation | MedianElimination):
                assert pulls == share_equally(budget / rounds, [costs[arm] for arm in sorted(active)], rule.alignment)
                left = 1 if isinstance(rule, UniformAllocation) else ceil(len(active) / 2)
            else:
                assert rule.alignment == "budget" or len(set(pulls)) == 1
                left = len(active) - 1
            assert len(item.survivors) == left
            active = set(item.survivors)
        if isinstance(rule, MedianElimination):
            assert active == {result.selected}
            left_over = sum(entry.left_over for entry in result.ledger.entries())
            assert left_over == (budget - spent if rounds else 0)


def share_equally(money, costs, alignment):
    """Pulls of every arm: the same number for all, or the same money for all."""
    if alignment == "sample":
        return [money // sum(costs)] * len(costs)
    return [money // (len(costs) * cost) for cost in costs]


@pytest.mark.parametrize("rule", [UniformAllocation, MedianElimination, SuccessiveRejects, TopTwo])
@given(costs=cost_lists(), alignment=alignments)
def test_the_smallest_budget_is_the_smallest(rule, costs, alignment):
    strategy = rule(alignment=alignment)
    prices = Prices.of(costs)
    need = smallest_budget(strategy, prices)
    pool = PaperPool(costs)
    pool.explore(strategy, need)
    with pytest.raises(ValueError, match="the smallest budget that works, in steps of"):
        pool.explore(strategy, need - prices.unit / prices.size)
    if rule is MedianElimination and alignment == "sample":
        assert need == max(1, ceil(log2(len(costs)))) * sum(costs)
    if rule is UniformAllocation and alignment == "budget":
        assert need == len(costs) * max(costs)
