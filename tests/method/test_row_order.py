"""The order in which rows are bought: every beginning is balanced, every row may come first, bets stay fair."""

from itertools import combinations, permutations, product
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


def test_every_row_may_come_first():
    """Chi-square of 30 rows and 6,000 orders; the limit has a false-alarm rate below 1e-6."""
    y, own = np.arange(30) % 2, np.linspace(0, 1, 30)
    rng = np.random.default_rng(2)
    seen = np.bincount([balanced_order(y, own, rng, strata=6)[0] for _ in range(6000)], minlength=30)
    assert ((seen - 200.0) ** 2 / 200.0).sum() < 85.0


@pytest.mark.parametrize("rows", [1, 5, 15, 16, 17, 40])
def test_any_number_of_rows(rows):
    order = balanced_order(np.zeros(rows, dtype=int), np.full(rows, 0.5), np.random.default_rng(0))
    assert sorted(order) == list(range(rows))


def expected(factors, n, strata, at_random=True):
    """E of the product of the first n factors, by enumeration of which rows each stratum gives, and which are ahead."""
    size = len(factors) // strata
    parts = [factors[j * size : (j + 1) * size] for j in range(strata)]
    full, more = divmod(n, strata)
    ahead = list(combinations(range(strata), more)) if at_random else [tuple(range(more))]
    total = 0.0
    for some in ahead:
        means = []
        for j, part in enumerate(parts):
            drawn = list(combinations(part, full + (j in some)))
            means.append(sum(prod(one) for one in drawn) / len(drawn))
        total += prod(means) / len(ahead)
    return total


@pytest.mark.parametrize("n", range(1, 9))
def test_bets_are_fair_in_balanced_order(n):
    """Maclaurin, inside strata and over them: against the mean of all factors to the power n, for hostile values."""
    for factors in product([0.05, 1.0, 1.9], repeat=8):
        if list(factors) == sorted(factors):
            for strata in (2, 4):
                assert expected(factors, n, strata) <= np.mean(factors) ** n * (1 + 1e-12)


def test_the_enumeration_is_that_of_the_code():
    """All orders of four rows in two strata, and their shares."""
    y, own, rng = np.zeros(4, dtype=int), np.arange(4.0), np.random.default_rng(3)
    drawn = [tuple(balanced_order(y, own, rng, strata=2)) for _ in range(4000)]
    possible = [p for p in permutations(range(4)) if {p[0] // 2, p[1] // 2} == {0, 1}]
    assert set(drawn) == set(possible)
    factors = [0.1, 0.4, 1.2, 1.9]
    for n in (1, 2, 3):
        mean = np.mean([prod(factors[i] for i in one[:n]) for one in drawn])
        # Products are in [0, 2.28]: Hoeffding at 1e-6.
        assert abs(mean - expected(factors, n, 2)) < 2.28 * np.sqrt(np.log(2e6) / 2 / 4000)


def test_strata_in_a_fixed_order_would_be_unfair():
    assert expected([1.9, 1.9, 0.1, 0.1], 1, 2, at_random=False) > 1.0


def test_parts_of_bets_begin_with_a_cycle():
    for n in (80, 100, 357):
        assert all(new[0] % CYCLE == 0 and len(known) == new[0] for known, new in later_rows(n))
        assert later_rows(n)[-1][1][-1] == n - 1
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
