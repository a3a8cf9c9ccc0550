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

    def pull(self, pulls, fresh, pay):
        pay(pulls, pulls)
        return pulls

    def score(self, wanted, fresh, level):
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


@given(cost_lists(), alignments, surplus, st.booleans())
def test_median_elimination(costs, alignment, extra, reuse):
    rule = MedianElimination(alignment=alignment, accumulate=reuse)
    budget = affordable(rule, costs, extra)
    size = len(costs)
    rounds = ceil(log2(size))
    for result in run(rule, costs, budget):
        assert len(result.rounds) == rounds
        active = set(range(size))
        for item in result.rounds:
            assert set(item.active) == active
            assert len(item.survivors) == ceil(len(active) / 2)
            total = sum(costs[i] for i in active)
            for i in range(size):
                if i not in active:
                    expected = 0
                elif alignment == "sample":
                    expected = budget // (rounds * total)
                else:
                    expected = budget // (rounds * len(active) * costs[i])
                assert item.pulls[i] == expected
            active = set(item.survivors)
        assert active == {result.selected} if rounds else result.selected == 0
        spent = sum(entry.pulls * costs[result.names.index(entry.arm)] for entry in result.ledger.entries())
        assert spent == result.ledger.spent <= budget
        left_over = sum(entry.left_over for entry in result.ledger.entries())
        assert left_over == (budget - spent if rounds else 0)


@given(st.integers(1, 64), st.integers(1, 10_000))
def test_winner_of_median_elimination_has_the_corrected_number_of_rows(size, budget):
    """The sum of n_t is the sum of floor(B / (T |A_t|)), not the printed (2^(T+1) - 1) n_1."""
    rounds = ceil(log2(size))
    assume(budget >= rounds * size)
    result = run(MedianElimination(), [Fraction(1)] * size, budget, trials=1)[0]
    widths = [size]
    for _ in range(rounds):
        widths.append(ceil(widths[-1] / 2))
    expected = sum(budget // (rounds * width) for width in widths[:-1])
    pulls = result.ledger.pulls[0]
    assert pulls[result.selected] == expected == pulls.max()
    if rounds:
        first = budget // (rounds * size)
        assert expected >= Fraction(budget, 2 * rounds) - rounds
        if size == 2**rounds:
            # Doubling a floor may gain one row at each step, never two.
            assert (size - 1) * first <= expected <= (size - 1) * (first + 1)
            if budget % (rounds * size) == 0:
                assert expected == (size - 1) * first
                assert expected != (2 ** (rounds + 1) - 1) * first


@given(cost_lists(), alignments, surplus)
def test_uniform_allocation(costs, alignment, extra):
    rule = UniformAllocation(alignment=alignment)
    budget = affordable(rule, costs, extra)
    for entry in run(rule, costs, budget):
        size = len(costs)
        expected = [budget // sum(costs) if alignment == "sample" else budget // (size * cost) for cost in costs]
        assert entry.rounds[0].pulls.tolist() == expected
        assert len(entry.rounds) == len(entry.accepted) == 1
        assert entry.ledger.spent == sum(n * c for n, c in zip(expected, costs, strict=True)) <= budget


@given(st.integers(1, 64), st.integers(64, 10_000))
def test_uniform_allocation_at_unit_cost_is_the_papers_floor(size, budget):
    result = run(UniformAllocation(), [1] * size, budget, trials=1)[0]
    assert result.rounds[0].pulls.tolist() == [budget // size] * size


other_rules = st.sampled_from([SuccessiveRejects, SuccessiveAcceptsRejects, TopTwo])


@given(cost_lists(), alignments, surplus, other_rules, st.data())
def test_other_rules(costs, alignment, extra, kind, data):
    size = len(costs)
    k = data.draw(st.integers(1, size)) if kind is SuccessiveAcceptsRejects else 1
    options = {"k": k} if kind is SuccessiveAcceptsRejects else {}
    rule = kind(alignment=alignment, **options)
    budget = affordable(rule, costs, extra)
    for entry in run(rule, costs, budget):
        assert entry.ledger.spent <= budget
        assert len(set(entry.accepted)) == len(entry.accepted) == k
        assert all(0 <= arm < size for arm in entry.accepted)
        if kind is not TopTwo:
            assert len(entry.rounds) == size - 1
            for item in entry.rounds:
                assert len(item.survivors) == len(item.active) - 1
                active_pulls = item.pulls[list(item.active)]
                assert item.pulls.sum() == active_pulls.sum()
                if alignment == "sample":
                    assert len(set(active_pulls.tolist())) == 1


@given(st.integers(2, 40), st.integers(0, 5000))
def test_successive_rejects_follows_its_schedule_at_unit_cost(size, extra):
    budget = size + 1 + extra
    result = run(SuccessiveRejects(), [1] * size, budget, trials=1)[0]
    scale = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, size + 1))
    totals = [ceil((budget - size) / (scale * (size + 1 - k))) for k in range(1, size)]
    assert sorted(result.ledger.pulls[0].tolist()) == [*totals, totals[-1]]
    assert result.ledger.spent <= budget


rules = [UniformAllocation, MedianElimination, SuccessiveRejects, TopTwo]


@pytest.mark.parametrize("rule", rules)
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
