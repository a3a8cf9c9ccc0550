"""Paired held-out losses: slow paths, an exact attack on the bets, planted errors, and the words."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student

from exml_sim.bandit.selection_report import (
    FEWEST_ROWS,
    LARGEST_LOSS,
    ROWS_FOR_BETS,
    STAKES,
    Pair,
    error_of,
    evidence_of,
    interval_of,
    is_worth_betting,
    later_losses,
    later_rows,
    log_row_wealth,
    proven_limit,
    report_selection,
    rows_to_settle,
    sign_test,
)

RNG = np.random.default_rng(0)


def losses(n: int, mean: float) -> np.ndarray:
    """Losses in [0, 2]."""
    return np.clip(RNG.normal(mean, 0.3, n), 0.0, LARGEST_LOSS)


def test_the_error_is_that_of_the_module() -> None:
    mine, theirs = losses(30, 0.3), losses(30, 0.5)
    d = [b - a for a, b in zip(mine, theirs, strict=True)]
    mean = sum(d) / 30

    def variance(x: list[float]) -> float:
        return sum((entry - sum(x) / 30) ** 2 for entry in x) / 29

    slow = math.sqrt((2.5 * variance(d) + 0.04 * (variance(list(mine)) + variance(list(theirs))) + 4.0 / 30) / 30)
    assert error_of(mine, theirs) == pytest.approx((mean, slow))
    assert error_of(mine[:1], theirs[:1])[1] == math.inf


def test_the_limit_is_students_with_the_level_shared_among_candidates_and_analyses() -> None:
    mine, theirs = losses(50, 0.3), losses(50, 0.5)
    report = report_selection("a", [Pair("b", mine, theirs), Pair("c", mine, theirs)], 0.95, analyses=2)
    value, error = error_of(mine, theirs)
    assert report.comparisons[0].at_least == pytest.approx(value - student.ppf(1 - 0.05 / 2 / 3, 49) * error)
    low, high = interval_of(mine)
    half = student.ppf(0.975, 49) * math.sqrt(2.5 * mine.var(ddof=1) / 50)
    assert (low, high) == pytest.approx((mine.mean() - half, mine.mean() + half))


def test_rows_that_were_never_met_leave_room() -> None:
    """The chosen one is sharp and wrong in 3 % of all rows; 40 rows have none of them with probability 0.3."""
    mine, theirs = np.zeros(40), np.full(40, 0.05)
    report = report_selection("sharp", [Pair("modest", mine, theirs)])
    assert report.comparisons[0].at_least <= 0.05 - 0.03 * LARGEST_LOSS
    plain = student.ppf(0.975, 39) * math.sqrt(1.56 * (theirs - mine).var(ddof=1) / 40)
    assert 0.05 - plain > 0.05 - 0.03 * LARGEST_LOSS


def test_so_many_rows_would_settle_it() -> None:
    mine, theirs = losses(50, 0.3), losses(50, 0.35)
    value, error = error_of(mine, theirs)
    rows = rows_to_settle(0.05, error, 2.0 * error, 50)
    left = (error**2 * 50 - LARGEST_LOSS**2 / 50) / rows + (LARGEST_LOSS / rows) ** 2
    assert 2.0 * math.sqrt(left) == pytest.approx(0.05)
    assert rows_to_settle(2.0 * error, error, 2.0 * error, 50) == pytest.approx(50.0)
    assert value < 2.0 * error


def test_bets_are_left_out_only_where_they_could_prove_nothing() -> None:
    """Losses on later rows like the held-out ones: whatever is proven among two candidates was worth a bet."""
    rng, proofs, spared = np.random.default_rng(5), 0, 0
    for _ in range(400):
        mine = np.clip(rng.normal(0.4, 0.3, 96), 0.0, LARGEST_LOSS)
        theirs = np.clip(mine + rng.normal(rng.uniform(-0.05, 0.3), 0.3, 96), 0.0, LARGEST_LOSS)
        proven = proven_limit(theirs - mine, math.log(1 / 0.05)) is not None
        proofs, spared = proofs + proven, spared + (not is_worth_betting(mine, theirs))
        assert is_worth_betting(mine, theirs) or not proven
    assert proofs > 100
    assert spared > 50
    few = ROWS_FOR_BETS - 1
    assert not is_worth_betting(np.zeros(few), np.ones(few))
    assert is_worth_betting(np.zeros(few + 1), np.ones(few + 1))


def test_few_rows_say_nothing() -> None:
    n = FEWEST_ROWS - 1
    report = report_selection("a", [Pair("b", np.zeros(n), np.ones(n))])
    assert not report.comparisons[0].excluded
    assert report.to_dict()["comparisons"][0]["at_least"] is None
    assert report.comparisons[0].proven_at_least is None
    assert evidence_of([None, Pair("b", np.zeros(n), np.ones(n))], 3.0, 0.0).against[0, 1] == -math.inf


def mean_wealth(up: float, low: float, shift: float) -> float:
    """Expected wealth after 8 rows that are the largest loss with probability up, else low."""
    total = 0.0
    for ups in range(9):
        apart = np.array([LARGEST_LOSS] * ups + [low] * (8 - ups))
        total += math.comb(8, ups) * up**ups * (1 - up) ** (8 - ups) * math.exp(log_row_wealth(apart, shift))
    return total


@pytest.mark.parametrize(("up", "shift"), [(0.05, 0.0), (0.3, 0.0), (0.5, 0.0), (0.05, 0.2), (0.3, 0.2), (0.5, 0.2)])
def test_bets_are_an_e_value_at_every_edge_of_the_null(up: float, shift: float) -> None:
    """Exact: all outcomes of 8 rows of a two-point distribution whose mean is the shift; the expectation is 1."""
    low = (shift - up * LARGEST_LOSS) / (1.0 - up)
    assert low >= -LARGEST_LOSS
    assert mean_wealth(up, low, shift) == pytest.approx(1.0)
    # A planted error, a bet on rows whose mean is above the shift, does gain.
    assert mean_wealth(up + 0.05, low, shift) > 1.01


def test_the_mixture_is_the_mean_of_products_and_falls_with_the_shift() -> None:
    apart = losses(12, 0.8) - losses(12, 0.3)
    slow = np.mean([np.prod([1 + k * (d / 2 - 0.05) / 1.05 for d in apart]) for k in STAKES])
    assert math.exp(log_row_wealth(apart, 0.1)) == pytest.approx(slow)
    wealths = [log_row_wealth(apart, shift) for shift in np.linspace(0, 1.9, 12)]
    assert all(a > b for a, b in itertools.pairwise(wealths))


def test_the_proven_limit_is_where_the_wealth_meets_the_bar() -> None:
    apart = np.full(100, 0.5)
    limit = proven_limit(apart, 3.0)
    assert limit is not None
    assert 0.0 < limit < 0.5
    assert log_row_wealth(apart, limit) >= 3.0 > log_row_wealth(apart, limit + 1e-6)
    assert proven_limit(np.zeros(100), 3.0) is None
    report = report_selection("a", [Pair("b", losses(100, 0.2), losses(100, 0.7), apart)])
    assert report.proven_worse == ("b",)
    assert "bets on 100 rows" in report.proof


def test_later_rows_are_predicted_by_earlier_ones_only() -> None:
    seen = []
    result = later_losses(81, lambda known, new: (seen.append((known, new)), new.astype(float))[1])
    assert result.tolist() == list(range(16, 80))
    assert all(known.max() < new.min() for known, new in seen)
    assert [len(new) for _, new in later_rows(80)] == [16, 16, 32]


def test_a_rival_may_be_significantly_better_and_rows_may_end() -> None:
    many = report_selection("a", [Pair("c", np.full(200, 1.5) + losses(200, 0.1), losses(200, 0.1))])
    assert many.comparisons[0].is_significantly_better
    mine = losses(60, 0.3)
    report = report_selection("a", [Pair("b", mine, mine + 0.05)])
    assert not report.comparisons[0].is_significantly_better
    assert report.more_rows > 10
    assert "too few rows left to settle it" in replace(report, rows_left=10).sentence()
    assert replace(report, rows_left=100_000).sentence() == report.sentence()
    same = report_selection("a", [Pair("b", mine, mine - 1e-17)])
    assert "do not differ" in same.sentence()


def test_the_sign_test_is_that_of_scipy() -> None:
    assert sign_test(0, 0) == 1.0
    for first, second in itertools.product(range(12), repeat=2):
        if first + second:
            expected = binomtest(first, first + second).pvalue
            assert sign_test(first, second) == pytest.approx(expected, rel=1e-12), (first, second)
