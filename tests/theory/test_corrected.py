"""The repaired statements: values, order against the printed ones, and truth on exact instances."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from mpmath import mpf

from tests.theory.affine_world import compositions, multinomial, random_world
from tests.theory.points import TABLE, BoundProblem, points, range_of_loss
from theory import AssumptionError, corrected, formulas, paper
from theory.claims import get

mpmath.mp.dps = 40

BUDGETS = [(n * K, K, *rest) for n, K, *rest in TABLE]


def log_tail(n: int, gap: float, theta: float, r: float) -> mpf:
    """-2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2"""
    c = (1 - mpf(theta)) / (1 - 2 * mpf(theta))
    return -2 * n * (mpf(gap) / 2 - 2 * c * mpf(r) / mpmath.sqrt(n)) ** 2 / range_of_loss(theta, r) ** 2


@pytest.mark.parametrize("row", BUDGETS, ids=str)
def test_values(row: tuple[int, int, float, float, float]) -> None:
    B, K, gap, theta, r = row
    tail = log_tail(B // K, gap, theta, r)
    assert corrected.delta_fail_uniform(*row, log=True) == pytest.approx(
        float(mpmath.log(2 * (K - 1)) + tail), rel=1e-11
    )
    assert corrected.delta_fail_uniform(*row, best_count=K - 1, log=True) == pytest.approx(
        float(mpmath.log(2) + tail), rel=1e-11
    )
    assert corrected.lemma_4(B // K, gap, theta, r, log=True) == pytest.approx(float(mpmath.log(2) + tail), rel=1e-11)


@pytest.mark.parametrize("row", BUDGETS, ids=str)
@pytest.mark.parametrize("rows", ["fresh", "accumulated"])
def test_median_elimination_round_by_round(row: tuple[int, int, float, float, float], rows: str) -> None:
    B, K, gap, theta, r = row
    B *= 12
    rounds, active, total_rows, total = (K - 1).bit_length(), K, 0, mpf(0)
    for _ in range(rounds):
        n = B // (rounds * active)
        total_rows += n
        kept = (active + 1) // 2
        if rows == "fresh":
            total += 2 * mpf(active - 1) / kept * mpmath.exp(log_tail(n, gap, theta, r))
        else:
            total += 2 * mpf(K - 1) / kept * mpmath.exp(log_tail(total_rows, gap, theta, r))
        active = kept
    value = corrected.delta_fail_median(B, K, gap, theta, r, rows=rows, log=True)
    assert value == pytest.approx(float(mpmath.log(total)), rel=1e-10)


@given(points())
def test_regret_against_the_print(p: BoundProblem) -> None:
    printed = paper.exploratory_regret_uniform(p.budget, *p.rest, 0.05)
    ours = corrected.exploratory_regret_uniform(p.budget, *p.rest, 0.05)
    if formulas.loss_range(p.theta, p.r) <= 1:
        assert ours <= printed
    assert corrected.exploratory_regret_uniform(p.budget, *p.rest, 0.05, best_count=1) == ours


def test_ties() -> None:
    delta_fail_uniform = corrected.delta_fail_uniform(16000, 8, 0.2, 0.1, 0.5)
    assert corrected.delta_fail_uniform(16000, 8, 0.2, 0.1, 0.5, best_count=3) == pytest.approx(
        delta_fail_uniform * 5 / 7
    )
    # With seven of eight arms best, a round that keeps two or more cannot lose them all.
    schedule = formulas.halving_schedule(48000, 8)
    last = corrected.lemma_4(int(schedule.pulls[-1]), 0.2, 0.1, 0.5)
    many = corrected.delta_fail_median(48000, 8, 0.2, 0.1, 0.5, best_count=7, rows="fresh")
    assert many == pytest.approx(last)
    for bad in (0, 8):
        with pytest.raises(ValueError, match="best_count"):
            corrected.delta_fail_uniform(16000, 8, 0.2, 0.1, 0.5, best_count=bad)


def test_risks_and_terms() -> None:
    m, delta = 8000, 0.05
    big = float(range_of_loss(0.1, 0.5))
    c, n = 1.125, 1000

    def root(k: float, rows: int) -> float:
        return float(np.sqrt(np.log(k / delta) / (2 * rows)))

    by_hand = 2 * c * 0.5 / np.sqrt(m) + root(3, m) + big * root(3, m) + 2 * c * 0.5 / np.sqrt(n) + 2 * big * root(6, n)
    assert corrected.excess_risk_uniform(8 * n, 8, 0.5, 0.1, 0.5, m, delta) == pytest.approx(by_hand)
    assert corrected.term_d(m, 0.1, 2.0, delta) == pytest.approx(float(range_of_loss(0.1, 2.0)) * root(1, m))
    assert corrected.term_a(m, 0.1, 2.0, delta) == paper.lemma_3(m, 0.1, 2.0, delta)
    assert corrected.term_a(m, 0.1, 2.0, delta, arms=4) == paper.lemma_3(m, 0.1, 2.0, delta / 4)
    supervised = 2 * c * 0.5 / np.sqrt(m) + (1 + big) * root(2, m)
    assert corrected.excess_risk_supervised(m, 0.1, 0.5, delta) == pytest.approx(supervised)
    median = corrected.excess_risk_median(24 * 1000, 8, 0.5, 0.1, 0.5, m, delta)
    uniform_with_those_rows = corrected.excess_risk_uniform(8 * 7000, 8, 0.5, 0.1, 0.5, m, delta)
    assert median == pytest.approx(uniform_with_those_rows)
    tied = corrected.exploratory_regret_median(24 * 1000, 8, 0.5, 0.1, 0.5, delta, best_count=3)
    assert tied == pytest.approx(2 * c * 0.5 / np.sqrt(7000) + 2 * big * root(6, 7000))
    regret = corrected.exploratory_regret_median(24 * 1000, 8, 0.5, 0.1, 0.5, delta)
    assert regret == pytest.approx(corrected.exploratory_regret_uniform(8 * 7000, 8, 0.5, 0.1, 0.5, delta))


@pytest.mark.parametrize("best", [2, 5])
def test_with_ties_lemma_3_is_needed_for_all_arms(best: int) -> None:
    """S* depends on the training set, so that a union over S* alone proves nothing: K, not |S*|."""
    m, K, theta, r, delta = 8000, 8, 0.1, 0.5, 0.06
    more = np.sqrt(np.log(3 * K / delta) / (2 * m)) - np.sqrt(np.log(3 / delta) / (2 * m))
    point = (8 * 7000, K, 0.5, theta, r)
    tied = corrected.excess_risk_uniform(*point, m, delta, best_count=best)
    regret = corrected.exploratory_regret_uniform(*point, delta / 3, best_count=best)
    alone = corrected.excess_risk_uniform(*point, m, delta)
    assert tied - regret == pytest.approx(alone - corrected.exploratory_regret_uniform(*point, delta / 3) + more)
    median = corrected.excess_risk_median(24 * 1000, *point[1:], m, delta, best_count=best)
    regret_median = corrected.exploratory_regret_median(24 * 1000, *point[1:], delta / 3, best_count=best)
    assert median - regret_median == pytest.approx(tied - regret)


def test_conditions() -> None:
    # K = 5: the printed first round has more rows than Algorithm 1 buys.
    launch_rows = 16 * (1.125 * 0.5 / 0.2) ** 2
    budget = int(np.ceil((int(launch_rows) + 1) * 5 * np.log2(5)))
    assert paper.delta_fail_median(budget, 5, 0.2, 0.1, 0.5) > 0
    with pytest.raises(AssumptionError, match="identification"):
        corrected.delta_fail_median(budget, 5, 0.2, 0.1, 0.5)
    with pytest.raises(ValueError, match="rows must be"):
        corrected.delta_fail_median(10**6, 5, 0.2, 0.1, 0.5, rows="stale")  # type: ignore[arg-type]


def printed_series(n_1: int, gap: float, theta: float, r: float) -> mpf:
    """8 q / (1 - q) with the printed q on n_1 rows."""
    q = mpmath.exp(log_tail(n_1, gap, theta, r) * range_of_loss(theta, r) ** 2 / 9)
    return 8 * q / (1 - q)


@pytest.mark.parametrize("K", [2, 3, 4, 5, 7, 8, 9, 11, 16, 17, 31, 33, 64])
@pytest.mark.parametrize("point", [(0.3, 0.1, 0.5), (0.2, 0.05, 2.04), (0.5, 0.3, 1.0)], ids=str)
def test_where_the_printed_series_survives(K: int, point: tuple[float, float, float]) -> None:
    """Fresh rows: for every K and |S*|. Accumulated rows: for |S*| = 1 and K = 2^c."""
    assert range_of_loss(*point[1:]) <= 3
    gap, theta, r = point
    launch_rows = int(formulas.launch_rows(16, gap, theta, r)) + 1
    for scale, spare in ((1.001, 0), (1.3, 7), (2, 1), (5, 3)):
        n_1 = int(launch_rows * scale) + 1
        budget = n_1 * K * (K - 1).bit_length() + spare
        series = float(mpmath.log(printed_series(n_1, *point))) + 1e-9
        for best in {1, 2, K // 2, K - 1} & set(range(1, K)):
            failure = corrected.delta_fail_median(budget, K, *point, best_count=best, rows="fresh", log=True)
            assert failure <= series
        if K & (K - 1) == 0:
            assert corrected.delta_fail_median(budget, K, *point, log=True) <= series


def test_where_the_printed_series_does_not_follow() -> None:
    point, budget = (16, 0.2, 0.05, 2.04), 16 * 4 * 60000
    assert range_of_loss(0.05, 2.04) <= 3
    series = printed_series(60000, *point[1:])
    assert float(series) == pytest.approx(3.71e-39, rel=2e-3)
    tied = corrected.delta_fail_median(budget, *point, best_count=8)
    assert tied == pytest.approx(6.18e-39, rel=2e-3)
    assert tied > series
    # The ledger must therefore not state the series for accumulated rows with ties.
    statement = get("lemma-2-i").corrected
    assert "fresh rows" in statement
    assert "2|S^*|(K-|S^*|)" in statement
    for claim_id in ("lemma-1-ii", "lemma-2-ii", "a5-regret"):
        assert r"\log(2|S^*|/\delta" in get(claim_id).corrected


def test_exact_regrets_stay_below() -> None:
    """Lemma 1 (ii) repaired on 120 worlds: exact probability of a larger regret, at four levels."""
    rng = np.random.default_rng(22)
    checked = 0
    while checked < 120:
        atoms = int(rng.integers(2, 4))
        world = random_world(rng, arms=int(rng.integers(2, 5)), atoms=atoms, dimension=2)
        gap = world.gaps()[0]
        if gap < 1e-6:
            continue
        n = int(16 * (formulas.rademacher_constant(world.theta) * world.r / gap) ** 2 * rng.uniform(1.01, 2)) + 1
        if n > (1000 if atoms == 2 else 120):
            continue
        counts = compositions(n, atoms)
        mass = multinomial(counts, world.probabilities)
        chosen = np.argmin(np.round(world.scores(counts / n), 11), axis=1)
        regret = world.learned_risks(counts / n, chosen)[0] - world.risks()[0]
        point = (n * world.arms, world.arms, gap, world.theta, world.r)
        fail = corrected.delta_fail_uniform(*point)
        for delta in (0.5, 0.1, 0.01, 1e-4):
            bound = corrected.exploratory_regret_uniform(*point, delta)
            assert mass[regret > bound + 1e-12].sum() <= delta + fail
            # On the event that arm 0 is selected no failure probability is needed.
            own = mass[(regret > bound + 1e-12) & (chosen == 0)].sum()
            assert own <= delta
        checked += 1
