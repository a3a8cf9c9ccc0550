"""Statements about a selection: slow paths, exact attacks on the bets, coverage, and the words."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from exml_sim._internal.arrays import FloatArray
from exml_sim.bandit._evidence import Pairs, log_wealth, paired_log_wealth
from exml_sim.bandit._jackknife import AffineJackknife
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.selection_report import Comparison, SelectionReport, half_widths
from exml_sim.datasets import make_synthetic
from exml_sim.seeds import Seeds
from tests.bandit.losses import LossPool
from theory.verdicts import judge


def feature_pool(angles: tuple[int, ...], seed: int = 0, **options: object) -> FeaturePool:
    """A small pool of Section 5.1 in the affine regime."""
    return FeaturePool(make_synthetic(100, angles=angles, rng=seed), theta=0.1, ball=0.8, **options)  # type: ignore[arg-type]


def slow_risk_difference(grams: list[FloatArray], y: FloatArray, draws: list[list[int]], radius: float) -> float:
    """R_v - R_u by sums over pairs of different draws."""
    seen = []
    for gram, rows in zip(grams, draws, strict=True):
        n = len(rows)
        pairs = [(i, j) for a, i in enumerate(rows) for b, j in enumerate(rows) if a != b]
        ua = sum(y[i] * y[j] * gram[i, j] for i, j in pairs) / (n * (n - 1))
        ub = sum(gram[i, j] for i, j in pairs) / (n * (n - 1))
        va = math.sqrt(sum(y[i] * y[j] * gram[i, j] for i in rows for j in rows)) / n
        vb = math.sqrt(sum(gram[i, j] for i in rows for j in rows)) / n
        seen.append((ua, ub, va, vb))
    u, v = seen
    return radius / 2.0 * float((u[0] - v[0]) / (u[2] + v[2]) + (u[1] - v[1]) / (u[3] + v[3]))


@pytest.mark.parametrize("shared", [True, False])
def test_the_jackknife_is_leaving_out_one_draw_after_the_other(shared: bool) -> None:
    rng = np.random.default_rng(0)
    pool = feature_pool((30, 90))
    grams, y = [arm.gram for arm in pool.feature_arms], pool.population.y.astype(np.float64)
    rows = rng.integers(0, 40, 12).tolist()
    draws = [rows, rows[:9]] if shared else [rows, rng.integers(0, 40, 9).tolist()]
    counts = np.array([np.bincount(draw, minlength=pool.n_rows) for draw in draws], dtype=np.int32)
    result = AffineJackknife(grams, pool.population.y, 0.8, shared).differences(counts[None], np.array([0]))
    if shared:
        draws = [rows[:9], rows[:9]]
        left = [slow_risk_difference(grams, y, [rows[:9][:i] + rows[:9][i + 1 :]] * 2, 0.8) for i in range(9)]
        variance = 8 / 9 * np.sum((np.array(left) - np.mean(left)) ** 2)
    else:
        differences = [slow_risk_difference(grams, y, [rows[:i] + rows[i + 1 :], draws[1]], 0.8) for i in range(12)]
        two = [slow_risk_difference(grams, y, [rows, draws[1][:i] + draws[1][i + 1 :]], 0.8) for i in range(9)]
        variance = 11 / 12 * np.sum((differences - np.mean(differences)) ** 2) + 8 / 9 * np.sum(
            (two - np.mean(two)) ** 2
        )
    assert result.value[0, 1] == pytest.approx(slow_risk_difference(grams, y, draws, 0.8), abs=1e-12)
    assert result.error[0, 1] == pytest.approx(math.sqrt(variance), abs=1e-12)


def small_populations(number: int) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Gaussian Gram matrices of two candidates on four rows, and labels."""
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(number):
        y = rng.choice([-1.0, 1.0], 4)
        grams = []
        for _ in range(2):
            x = rng.normal(size=4) * rng.choice([0.3, 1.0, 4.0]) + y * rng.choice([0.0, 1.0, 3.0])
            grams.append(np.exp(-(np.subtract.outer(x, x) ** 2)))
        seen.append((grams[0], grams[1], y))
    return seen


def norm_sum(gram: FloatArray, y: FloatArray) -> float:
    """|mean y Phi| + |mean Phi| on the population."""
    return math.sqrt(y @ gram @ y) / y.size + math.sqrt(gram.sum()) / y.size


def test_exactly_no_bet_gains_under_the_null() -> None:
    """All samples of four rows: the mean e-value against a true null is at most 1, with and without a shift."""
    rows = np.array(list(itertools.product(range(4), repeat=4)))
    largest, swapped = 0.0, 0.0
    for first, second, y in small_populations(150):
        u, v = (first, second) if norm_sum(first, y) <= norm_sum(second, y) else (second, first)
        gap = norm_sum(v, y) - norm_sum(u, y)
        largest = max(largest, float(np.exp(log_wealth(Pairs.of(u, v, y, rows))).mean()))
        # The other way round the null is true up to the shift.
        largest = max(largest, float(np.exp(log_wealth(Pairs.of(v, u, y, rows), gap)).mean()))
        swapped = max(swapped, float(np.exp(log_wealth(Pairs.of(v, u, y, rows))).mean()))
    assert largest <= 1.0 + 1e-12
    # A planted error, the arms the wrong way round, does gain.
    assert swapped > 1.01


def test_bets_win_with_many_rows_and_say_by_how_much() -> None:
    pool = feature_pool((0, 90))
    result = pool.explore("uniform_allocation", 2 * 600, 1).report()
    assert result.proven_worse == ("0°",)
    assert result.comparisons[0].proven_at_least is not None
    assert 0.0 <= result.comparisons[0].proven_at_least <= pool.gap
    assert "the best candidate is not 0°" in result.lines()[2]
    few = pool.explore("uniform_allocation", 2 * 16, 1).report()
    assert few.proven_worse == ()
    assert few.lines()[2].startswith("Nothing is proven")
    assert "some hundred" in few.proof


def test_averaging_over_pairings_keeps_the_mean() -> None:
    first, second, y = small_populations(1)[0]
    rows, pairings = np.array([0, 1, 2, 3, 1, 0]), np.array([[0, 1, 2, 3, 4, 5], [5, 2, 0, 1, 3, 4]])
    each = [np.exp(log_wealth(Pairs.of(first, second, y, rows[pairing]))) for pairing in pairings]
    assert paired_log_wealth(first, second, y, rows, pairings) == pytest.approx(float(np.log(np.mean(each))))


@pytest.mark.parametrize("angles", [(0, 2, 4, 6, 8, 10, 12, 90), (70, 90)])
def test_the_limits_cover(angles: tuple[int, ...]) -> None:
    pool = feature_pool(angles)
    rng = np.random.default_rng(0)
    once = np.array([np.bincount(rng.integers(0, 300, 16), minlength=300) for _ in range(1000)], dtype=np.int32)
    leader = np.column_stack([arm.refined(once, 0)[0] for arm in pool.feature_arms]).argmin(axis=1)
    assert pool.judge is not None
    result = pool.judge.differences(np.repeat(once[:, None], pool.n_arms, axis=1), leader)
    truth = pool.risks[None] - pool.risks[leader][:, None]

    def missed(width: float) -> int:
        return int(((result.value - width * half_widths(result, 0.95) > truth + 1e-12).any(axis=1)).sum())

    assert judge(missed(1.0), 1000, 0.06).outcome != "refuted"
    # A planted error: limits of half the width.
    if len(angles) == 2:
        assert judge(missed(0.5), 1000, 0.06).outcome == "refuted"


def test_the_order_is_what_was_bought() -> None:
    pool = feature_pool((0, 90))
    result = pool.explore("successive_elimination", 200, Seeds.of(5, 3))
    assert result.comparison_data is not None
    assert result.comparison_data.order is not None
    assert result.counts is not None
    for counts in result.counts:
        assert np.array_equal(np.bincount(result.comparison_data.order[: counts.sum()], minlength=300), counts)
    # The theorem on bets is about independent rows, so nothing is proven for others.
    for options in ({"rows": "independent"}, {"replacement": "never"}):
        own = feature_pool((0, 90), **options).explore("successive_elimination", 200, 1)
        assert own.comparison_data is not None
        assert own.comparison_data.order is None
        assert "rows='same' and replacement='always'" in own.report().proof
        assert own.report().proven_worse == ()


def test_other_scores_leave_out_groups() -> None:
    pool = FeaturePool(make_synthetic(100, angles=(0, 90), rng=0), theta=0.1, score="risk", penalty=(1.0, 1.0))
    result = pool.explore("uniform_allocation", 80, 2).report()
    assert "16 groups of 40 rows left out" in result.method
    assert result.comparisons[0].at_least < result.comparisons[0].difference
    assert "affine regime" in result.proof


def test_what_cannot_be_excluded_and_how_many_rows_would_settle_it() -> None:
    low, unclear = Comparison("low", 0.08, 0.03, 40, 0.0), Comparison("mid", 0.1, -0.01, 12, 143.2)
    hopeless = replace(unclear, difference=-0.01, at_least=-0.1, more_rows=math.inf)

    def report(*others: Comparison) -> SelectionReport:
        return SelectionReport("high", 0.95, others, "jackknife", "bets")

    assert report(low, unclear).cannot_be_excluded == ("high", "mid")
    for others, part in (
        ((), "only candidate"),
        ((low,), "better than low by 0.08 (at least 0.03 with 95 %)"),
        ((low, unclear), "1 of the 2 other"),
        ((unclear,), "140 more rows"),
        ((replace(unclear, more_rows=1.0),), "1 more row would"),
        ((hopeless,), "not significant"),
    ):
        assert part in report(*others).sentence()
    assert json.loads(json.dumps(report(low, hopeless).to_dict()))["more_rows"] is None


@pytest.mark.parametrize("level", [0.0, 1.0, "sure", True, math.nan])
def test_a_level_is_between_0_and_1(level: object) -> None:
    result = feature_pool((0, 90)).explore("uniform_allocation", 40)
    with pytest.raises(ValueError, match="level must be between 0 and 1, both excluded"):
        result.report(level)  # type: ignore[arg-type]


def test_arms_without_rows_have_no_report() -> None:
    with pytest.raises(ValueError, match="a report needs bought rows"):
        LossPool.bernoulli([0.1, 0.2]).explore("uniform_allocation", 20).report()
