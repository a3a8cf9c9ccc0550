"""Family-wise control, checked by summing over all counts of all cells of small grids."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from theory.verdicts import judge, judge_family


def family_error(bounds, truths, trials, alpha, refuted):
    """P(some cell with truth <= bound is refuted), over the product of all counts of independent cells."""
    holds = [truth <= bound for truth, bound in zip(truths, bounds, strict=True)]
    distributions = [stats.binom.pmf(range(n + 1), n, truth) for n, truth in zip(trials, truths, strict=True)]
    total = 0.0
    for counts in itertools.product(*(range(n + 1) for n in trials)):
        cells = list(zip(counts, trials, bounds, strict=True))
        if any(wrong and true for wrong, true in zip(refuted(cells, alpha), holds, strict=True)):
            total += math.prod(distribution[k] for distribution, k in zip(distributions, counts, strict=True))
    return total


def by_family(cells, alpha):
    return [verdict.outcome == "refuted" for verdict in judge_family(cells, alpha=alpha)]


def one_by_one(cells, alpha):
    return [judge(*cell, alpha=alpha).outcome == "refuted" for cell in cells]


BOUNDS = (0.2, 0.1, 0.4)
TRIALS = (9, 8, 7)


@pytest.mark.parametrize(
    "truths",
    [(0.2, 0.1, 0.4), (0.1, 0.1, 0.4), (0.2, 0.9, 0.4), (0.95, 0.9, 0.4), (0.2, 0.1, 0.99), (0.05, 0.02, 0.1)],
)
@pytest.mark.parametrize("alpha", [0.1, 0.02])
def test_some_true_bound_is_refuted_at_most_as_often_as_allowed(truths, alpha):
    """All bounds true, some of them, or only one: Holm's levels grow as false bounds are refuted."""
    assert family_error(BOUNDS, truths, TRIALS, alpha, by_family) <= alpha


def test_cells_that_share_their_trials_are_covered_too():
    """The union bound needs no independence: the worst case, one count for all cells."""
    trials, alpha = 30, 0.05
    for bounds in [(0.2, 0.2, 0.2), (0.1, 0.2, 0.3)]:
        for truth in (0.1, 0.2, 0.3):
            distribution = stats.binom.pmf(range(trials + 1), trials, truth)
            wrong = 0.0
            for count, mass in enumerate(distribution):
                verdicts = judge_family([(count, trials, bound) for bound in bounds], alpha=alpha)
                pairs = zip(verdicts, bounds, strict=True)
                wrong += mass * any(v.outcome == "refuted" and truth <= bound for v, bound in pairs)
            assert wrong <= alpha


def test_judging_cells_one_by_one_would_break_the_promise():
    # The planted error that the first test would catch.
    assert family_error(BOUNDS, BOUNDS, TRIALS, 0.1, one_by_one) > 0.1


@given(
    cells=st.lists(st.tuples(st.integers(0, 60), st.just(60), st.floats(0.01, 1.5)), min_size=1, max_size=8),
    alpha=st.sampled_from([0.2, 0.01]),
)
def test_holm_refutes_whatever_bonferroni_refutes(cells, alpha):
    verdicts = judge_family(cells, alpha=alpha)
    speaking = sum(bound < 1 for _, _, bound in cells)
    for cell, verdict in zip(cells, verdicts, strict=True):
        plain = judge(*cell, alpha=alpha / max(1, speaking))
        assert (verdict.outcome == "vacuous") == (cell[2] >= 1)
        if plain.outcome == "refuted" or verdict.outcome != "refuted":
            assert verdict == plain


def reference_holm(p_values, alpha):
    """Holm's test, written down from its definition."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    refuted = set()
    for rank, i in enumerate(order):
        if p_values[i] > alpha / (len(order) - rank):
            break
        refuted.add(i)
    return refuted


@given(cells=st.lists(st.tuples(st.integers(0, 40), st.just(40), st.floats(0.05, 0.6)), min_size=1, max_size=6))
def test_the_test_is_holms(cells):
    p_values = [stats.binom.sf(k - 1, n, bound) for k, n, bound in cells]
    levels = [0.1 / m for m in range(1, 7)]
    if any(abs(p - level) < 1e-9 for p in p_values for level in levels):
        return
    assert {i for i, entry in enumerate(by_family(cells, 0.1)) if entry} == reference_holm(p_values, 0.1)


def test_a_cell_that_only_holm_refutes():
    # p-values 1e-9, 0.008 and 1 at alpha 0.02: Bonferroni's level is 0.0067, Holm's second one is 0.01.
    cells = [(18, 20, 0.2), (5, 10, 0.143), (0, 20, 0.5)]
    assert stats.binom.sf(4, 10, 0.143) == pytest.approx(0.008, abs=5e-4)
    assert [v.outcome == "refuted" for v in judge_family(cells, alpha=0.02)] == [True, True, False]
    assert judge_family(cells, alpha=0.02)[1].alpha == pytest.approx(0.01)
    assert judge(*cells[1], alpha=0.02 / 3).outcome != "refuted"


def test_vacuous_cells_cost_nothing_and_an_empty_family_is_fine():
    alone = judge_family([(0, 5000, 0.01)])[0]
    assert judge_family([(0, 5000, 0.01), (3, 5, 2.0), (3, 5, math.nan)])[0] == alone
    assert judge_family([]) == []
