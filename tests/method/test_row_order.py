"""The order in which rows are bought: every beginning is balanced, every row may come first, bets stay fair."""

from collections import Counter
from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from exml_sim import ExMLClassifier
from exml_sim.exploration.paired import CYCLE, later_rows
from exml_sim.method.row_order import balanced_order
from tests.method.tasks import synthetic


def test_every_cycle_has_one_row_of_every_stratum():
    rng = np.random.default_rng(0)
    y, own = rng.integers(3, size=160), rng.random(160)
    order = balanced_order(y, own, np.random.default_rng(1))
    assert sorted(order) == list(range(160))
    stratum = np.empty(160, dtype=int)
    stratum[np.lexsort((own, y))] = np.arange(160) // 10
    for cycle in order.reshape(10, CYCLE):
        assert sorted(stratum[cycle]) == list(range(CYCLE))
    for end in (CYCLE, 5 * CYCLE):
        shares = np.bincount(y[order[:end]], minlength=3) / end
        np.testing.assert_allclose(shares, np.bincount(y) / 160, atol=2.0 / CYCLE)


@pytest.mark.parametrize("strata", [6, 7])
def test_every_row_may_come_first_and_last(strata):
    """Chi-square of 30 rows and 6,000 orders; the limit has a false-alarm rate below 1e-6."""
    y, own = np.arange(30) % 2, np.linspace(0, 1, 30)
    rng = np.random.default_rng(2)
    drawn = np.array([balanced_order(y, own, rng, strata=strata) for _ in range(6000)])
    for place in (0, -1):
        seen = np.bincount(drawn[:, place], minlength=30)
        assert ((seen - 200.0) ** 2 / 200.0).sum() < 85.0


def test_what_does_not_fill_the_strata_comes_last():
    y, own = np.repeat([0, 1], 20), np.linspace(0, 1, 40)
    order = balanced_order(y, own, np.random.default_rng(0))
    assert np.bincount(y[order[:CYCLE]]).tolist() == np.bincount(y[order[CYCLE : 2 * CYCLE]]).tolist()
    assert sorted(order) == list(range(40))


@pytest.mark.parametrize("rows", [1, 5, 15, 16, 17, 40])
def test_any_number_of_rows(rows):
    order = balanced_order(np.zeros(rows, dtype=int), np.full(rows, 0.5), np.random.default_rng(0))
    assert sorted(order) == list(range(rows))


def cycle_mean(strata):
    """E of the product of one cycle, by enumeration of which rows it takes."""
    return float(np.mean([prod(rows) for rows in product(*strata)]))


@pytest.mark.parametrize("count", [2, 3])
def test_a_cycle_is_a_fair_bet(count):
    """Hostile factors: at most the power of the mean of all rows left, however they are spread over strata."""
    for factors in product([0.05, 1.0, 1.9], repeat=2 * count):
        strata = np.reshape(factors, (count, 2))
        assert cycle_mean(strata) <= np.mean(factors) ** count * (1 + 1e-12)


def test_wealth_at_the_end_of_any_cycle_is_fair():
    """All orders of four rows in two strata; the one who stops after a cycle with a gain gets no more than 1."""
    factors = np.array([1.6, 1.2, 0.9, 0.3])  # mean 1
    stopped = []
    for one, two, *coins in product(range(2), range(2), range(2), range(2)):
        first = [one, 2 + two]
        second = [1 - one, 2 + (1 - two)]
        order = [*first[:: 1 - 2 * coins[0]], *second[:: 1 - 2 * coins[1]]]
        wealth = np.cumprod(factors[order])
        stopped.append(wealth[1] if wealth[1] > 1 else wealth[3])
    assert np.mean(stopped) <= 1.0


def test_inside_a_cycle_bets_would_be_unfair():
    """The planted error: stop after the first gain, with strata of factors 1.5 and 0.5."""
    stopped = [wealth if (wealth := first) > 1 else first * second for first, second in ((1.5, 0.5), (0.5, 1.5))]
    assert np.mean(stopped) == pytest.approx(1.125)


def test_the_enumeration_is_that_of_the_code():
    """All orders of four rows in two strata, equally often: 16 cells, chi-square below 1e-6."""
    y, own, rng = np.zeros(4, dtype=int), np.arange(4.0), np.random.default_rng(3)
    drawn = Counter(tuple(balanced_order(y, own, rng, strata=2).tolist()) for _ in range(4000))
    assert set(drawn) == {p for p in permutations(range(4)) if {p[0] // 2, p[1] // 2} == {0, 1}}
    assert sum((seen - 250.0) ** 2 / 250.0 for seen in drawn.values()) < 58.0


def test_parts_of_bets_begin_with_a_cycle():
    for n in (80, 100, 357):
        assert all(new[0] % CYCLE == 0 and len(known) == new[0] for known, new in later_rows(n))
        assert later_rows(n)[-1][1][-1] + 1 == n // CYCLE * CYCLE
    assert [len(new) for _, new in later_rows(20)] == [5, 5, 5]


def test_a_race_buys_in_balanced_order_and_the_paper_does_not():
    rows, oracle, *_ = synthetic(per_class=80)
    codes = np.searchsorted(np.unique(rows.y), rows.y)

    def strata_of_first_cycle(make):
        model = make(budget_ratio="0.3", explore="always").fit(rows.X, rows.y, oracle)
        first = model.records_[0].discovered
        own = np.zeros(len(codes)) if first is None else first.perceived[np.arange(len(codes)), codes]
        stratum = np.empty(len(codes), dtype=int)
        stratum[np.lexsort((own, codes))] = np.arange(len(codes)) // (len(codes) // CYCLE)
        return sorted(stratum[model.purchases_[0].rows[:CYCLE]])

    assert strata_of_first_cycle(ExMLClassifier) == list(range(CYCLE))
    assert strata_of_first_cycle(ExMLClassifier.paper) != list(range(CYCLE))
