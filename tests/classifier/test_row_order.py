"""The order in which rows are bought: every beginning is balanced, every row may come first, bets stay fair."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from exml_sim import ExMLClassifier
from exml_sim.bandit.selection_report import CYCLE, later_rows
from exml_sim.classifier._acquisition import balanced_order
from tests.classifier.tasks import synthetic


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


def orders(rows, strata):
    """All orders of rows in two strata that the code draws; they are equally likely (see below)."""
    y, own, rng = np.zeros(rows, dtype=int), np.arange(float(rows)), np.random.default_rng(3)
    return sorted({tuple(balanced_order(y, own, rng, strata=strata).tolist()) for _ in range(2000)})


def test_a_cycle_is_a_fair_bet():
    """Hostile factors: the first cycle's product has a mean of at most the power of the mean of all rows."""
    result = orders(4, 2)
    for factors in product([0.05, 1.0, 1.9], repeat=4):
        mean = np.mean([factors[entry[0]] * factors[entry[1]] for entry in result])
        assert mean <= np.mean(factors) ** 2 * (1 + 1e-12)


def mean_stopped_wealth(factors, checks):
    """Mean wealth of a bettor who stops at the first check that shows a gain."""
    ends = []
    for order in orders(4, 2):
        wealth = np.cumprod([factors[row] for row in order])[checks]
        ends.append(wealth[wealth > 1][0] if (wealth > 1).any() else wealth[-1])
    return float(np.mean(ends))


def test_bets_are_fair_at_the_ends_of_cycles_and_not_inside():
    """Factors of mean 1; the second stop is the planted error."""
    assert mean_stopped_wealth([1.6, 1.2, 0.9, 0.3], [1, 3]) <= 1.0
    assert mean_stopped_wealth([1.5, 1.5, 0.5, 0.5], [1, 3]) <= 1.0
    assert mean_stopped_wealth([1.5, 1.5, 0.5, 0.5], [0, 1]) == pytest.approx(1.125)


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


def test_subset_selection_buys_in_balanced_order_and_the_paper_does_not():
    rows, oracle, *_ = synthetic(per_class=80)
    codes = np.searchsorted(np.unique(rows.y), rows.y)

    def strata_of_first_cycle(make):
        model = make(budget_ratio="0.3", explore="always").fit(rows.X, rows.y, oracle)
        first = model.records_[0].fitted.latent
        own = np.zeros(len(codes)) if first is None else first.label_probabilities[np.arange(len(codes)), codes]
        stratum = np.empty(len(codes), dtype=int)
        stratum[np.lexsort((own, codes))] = np.arange(len(codes)) // (len(codes) // CYCLE)
        return sorted(stratum[model.purchases_[0].rows[:CYCLE]])

    assert strata_of_first_cycle(ExMLClassifier) == list(range(CYCLE))
    assert strata_of_first_cycle(ExMLClassifier.paper) != list(range(CYCLE))
