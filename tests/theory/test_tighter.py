"""Our theorems: values, order, options, limits.

``test_tighter_exact.py`` compares them with exact enumeration.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from tests.theory.points import TABLE, BoundProblem, points, range_of_loss
from theory import AssumptionError, corrected, formulas, tighter

mpmath.mp.dps = 40


def dual_constant(theta: float) -> mpf:
    b = mpf(theta) / (1 - 2 * mpf(theta))
    return mpf(1) if b**2 <= mpf(1) / 2 else 2 * b**2 / mpmath.sqrt(4 * b**2 - 1)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_values_of_the_pairwise_sum_and_of_the_split(row: tuple[int, int, float, float, float]) -> None:
    """Theorem 3 retyped: the value is the smaller of the sum and a split; no split beats it by much."""
    n, K, gap, theta, r = row
    big = range_of_loss(theta, r)
    x = mpf(gap) - dual_constant(theta) * mpf(r) / mpmath.sqrt(n)
    pairwise = mpmath.log(K - 1) - n * x**2 / (2 * big**2)
    floor = 1 - mpf(r) if r <= 1 - 2 * theta else max(mpf(theta) * (3 - 2 * mpf(theta) - mpf(r)), mpf(0))

    def split(a: mpf) -> mpf:
        e = a / big
        p = (1 - mpf(gap) - floor) / big
        kl = (p + e) * mpmath.log((p + e) / p) + (1 - p - e) * mpmath.log((1 - p - e) / (1 - p))
        head = max(2 * e**2, kl)
        return mpmath.log(mpmath.exp(-n * head) + (K - 1) * mpmath.exp(-2 * n * (x - a) ** 2 / big**2))

    log_count = mpmath.log(K - 1)
    a = min(max(x / 2 - log_count * big**2 / (4 * n * x), mpf(0)), x)
    expected = min(pairwise, split(a) if a > 0 else mpf("inf"))
    value = tighter.delta_fail_uniform(n * K, K, gap, theta, r, log=True)
    assert value == pytest.approx(float(expected), rel=1e-9)
    best_split = min(split(x * k / 200) for k in range(1, 200))
    assert value >= float(min(best_split, pairwise)) - 0.05 * abs(value) - 1e-9


@given(points())
def test_below_the_correction_on_its_whole_domain(p: BoundProblem) -> None:
    slack = 1e-9
    ours = tighter.delta_fail_uniform(p.budget, *p.rest, log=True)
    theirs = corrected.delta_fail_uniform(p.budget, *p.rest, log=True)
    assert ours <= theirs + slack
    for pairing in ("independent", "arbitrary"):
        assert tighter.delta_fail_uniform(p.budget, *p.rest, pairing=pairing, log=True) <= theirs + slack
    assert tighter.lemma_4(p.n, *p.rest[1:], log=True) <= corrected.lemma_4(p.n, *p.rest[1:], log=True) + slack
    budget = p.budget * (p.K - 1).bit_length()
    for rows in ("fresh", "accumulated"):
        for best in (1, p.K - 1, (p.K + 1) // 2):
            ours = tighter.delta_fail_median(budget, *p.rest, rows=rows, best_count=best, log=True)
            theirs = corrected.delta_fail_median(budget, *p.rest, rows=rows, best_count=best, log=True)
            assert ours <= theirs + slack


@given(points(launched=False), st.integers(1, 10**6))
def test_order_of_the_options(p: BoundProblem, more: int) -> None:
    for bound, budget in (
        (tighter.delta_fail_uniform, p.budget),
        (tighter.delta_fail_median, p.budget * (p.K - 1).bit_length()),
    ):
        plain = bound(budget, *p.rest, strict=False, log=True)
        symmetrised = bound(budget, *p.rest, optimism="rademacher", strict=False, log=True)
        assert np.isnan(symmetrised) or plain <= symmetrised + 1e-9
        if np.isnan(plain):
            continue
        slack = 1e-9 * max(1.0, abs(plain))
        assert bound(budget, *p.rest, kernel="nonnegative", log=True) <= plain + slack
        assert bound(budget, *p.rest, pairing="independent", log=True) <= plain + slack
        assert bound(budget, *p.rest, pairing="arbitrary", log=True) >= plain - slack
        population = 2 * budget + more
        assert bound(budget, *p.rest, population=population, log=True) <= plain + slack
        assert bound(budget, *p.rest, mean_kappa_lambda=0.5 * p.r, log=True) <= plain + slack


@given(points(launched=False), st.integers(0, 2**32))
def test_per_arm_gaps_never_cost(p: BoundProblem, seed: int) -> None:
    ceiling = float(formulas.gap_ceiling(p.theta, p.r))
    rng = np.random.default_rng(seed)
    K = min(p.K, 9)
    gaps = rng.uniform(p.gap, ceiling, K - 1)
    gaps[0] = p.gap
    for bound, budget, rows in (
        (tighter.delta_fail_uniform, p.n * K, {}),
        (tighter.delta_fail_median, 4 * p.n * K, {"rows": "fresh"}),
        (tighter.delta_fail_median, 4 * p.n * K, {"rows": "accumulated"}),
    ):
        single = bound(budget, K, p.gap, p.theta, p.r, strict=False, log=True, **rows)
        if np.isnan(single):
            continue
        same = bound(budget, K, None, p.theta, p.r, gaps=np.full(K - 1, p.gap), log=True, **rows)
        # Above 1 the bound is vacuous, and the sum over arms may count each arm at most once.
        assert same == pytest.approx(single, rel=1e-9, abs=1e-9) or 0.0 < single > same
        many = bound(budget, K, None, p.theta, p.r, gaps=gaps, log=True, **rows)
        assert many <= single + 1e-9 * max(1.0, abs(single))


@pytest.mark.parametrize("K", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("rows", ["fresh", "accumulated"])
def test_ties_given_as_zero_gaps_or_as_a_count(K: int, rows: str) -> None:
    budget = 600 * K * (K - 1).bit_length()
    for best in range(1, K):
        gaps = [0.0] * (best - 1) + [0.3] * (K - best)
        listed = tighter.delta_fail_median(budget, K, None, 0.1, 0.5, gaps=gaps, rows=rows, log=True)
        counted = tighter.delta_fail_median(budget, K, 0.3, 0.1, 0.5, best_count=best, rows=rows, log=True)
        # Listed gaps are tried with more splits, which can only help, and hardly does for equal ones.
        assert counted - 1.5 <= listed <= counted + 1e-12
        uniform = tighter.delta_fail_uniform(budget, K, None, 0.1, 0.5, gaps=gaps, log=True)
        expected = tighter.delta_fail_uniform(budget, K, 0.3, 0.1, 0.5, best_count=best, log=True)
        assert expected - 1.5 <= uniform <= expected + 1e-12
    # Theorem 4 (a) by hand where it is the smaller form: two best arms of three, rows kept.
    schedule = formulas.halving_schedule(3 * 2 * 600, 3)
    pairs = [
        2 * 1 / 1 * tighter.lemma_4(int(n), 0.3, 0.1, 0.5)
        for n, kept in zip(schedule.accumulated, schedule.kept, strict=True)
        if kept == 1
    ]
    value = tighter.delta_fail_median(3 * 2 * 600, 3, 0.3, 0.1, 0.5, best_count=2)
    assert 0.5 * sum(pairs) < value <= sum(pairs) * (1 + 1e-12)


def test_without_replacement_limits() -> None:
    point = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    plain = tighter.delta_fail_uniform(8 * 400, **point, log=True)
    vast = tighter.delta_fail_uniform(8 * 400, **point, population=10**12, log=True)
    assert vast == pytest.approx(plain, rel=1e-6)
    logs = tighter.delta_fail_uniform(8 * 400, **point, population=np.array([400, 401, 500, 800, 4000]), log=True)
    assert logs[0] == -np.inf
    assert np.all(np.diff(logs) > 0)
    with pytest.raises(AssumptionError, match="population holds; missed by 1 "):
        tighter.delta_fail_uniform(8 * 400, **point, population=399)


def test_gaps_and_options_are_checked() -> None:
    for error, message, budget, gap, gaps in (
        (ValueError, "either gap", 100, 0.1, [0.1, 0.2]),
        (ValueError, "either gap", 100, None, None),
        (ValueError, "K - 1 numbers", 100, None, [0.1]),
        (AssumptionError, "gap > 0", 100, None, [0.0, 0.0]),
        (AssumptionError, "Delta_max", 100, None, [0.1, 0.6]),
        (AssumptionError, "launch condition", 12, 0.1, None),
        (AssumptionError, "at least one row", 2, 0.1, None),
    ):
        with pytest.raises(error, match=message):
            tighter.delta_fail_uniform(budget, 3, gap, 0.1, 0.5, gaps=gaps)
    for option in ({"pairing": "none"}, {"kernel": "odd"}, {"optimism": "hope"}):
        with pytest.raises(ValueError, match=f"{next(iter(option))} must be one of"):
            tighter.delta_fail_uniform(10**4, 3, 0.1, 0.1, 0.5, **option)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rows must be"):
        tighter.delta_fail_median(10**4, 3, 0.1, 0.1, 0.5, rows="old")  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [tighter.delta_fail_uniform, tighter.delta_fail_median, corrected.delta_fail_median])
def test_large_grids_are_evaluated_in_blocks_with_identical_results(bound: Any) -> None:
    rng = np.random.default_rng(60)
    theta, r = rng.uniform(0.05, 0.45, 70_001), rng.uniform(0.1, 2.0, 70_001)
    gap = np.asarray(formulas.gap_ceiling(theta, r)) * rng.uniform(0.2, 1.0, 70_001)
    budgets = np.array([[10**6], [10**7]])
    table = bound(budgets, 8, gap, theta, r, strict=False, log=True)
    assert table.shape == (2, 70_001)
    for column in rng.integers(0, 70_001, 20):
        for row in (0, 1):
            alone = bound(int(budgets[row, 0]), 8, gap[column], theta[column], r[column], strict=False, log=True)
            assert np.isnan(alone) == np.isnan(table[row, column])
            assert np.isnan(alone) or alone == pytest.approx(table[row, column], rel=1e-13)
    gap[40_000], gap[69_000] = 2.0, 3.0
    with pytest.raises(AssumptionError, match="gap=3") as caught:
        bound(10**9, 8, gap, theta, r)
    assert caught.value.missed_by == pytest.approx(3 - formulas.gap_ceiling(theta[69_000], r[69_000]))


def test_messages_never_round_a_number_to_another_one() -> None:
    with pytest.raises(AssumptionError, match=r"gap=1e-08, n=250, theta=0\.4999999, kappa_lambda=1e-07$"):
        tighter.lemma_4(250, 1e-8, 0.4999999, 1e-7)
