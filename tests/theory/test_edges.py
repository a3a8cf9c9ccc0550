"""Formulas, assumptions and searches at their boundaries: equalities, whole samples, the first and last budget."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, inf, log, sqrt
from typing import Any

import mpmath
import numpy as np
import pytest

from theory import AssumptionError, budgets, corrected, exact, formulas, paper, tighter
from theory._bound import POPULATION_EXHAUSTED, BoundArguments
from theory._tails import Tails, _least_entropy, tails_on
from theory.exact import compositions, failure, make_pool, median_selection, sample_distribution, uniform_selection

F = Fraction


# Formulas.


def test_constants_at_the_end_of_the_affine_regime() -> None:
    """At r = 1 - 2 theta the loss is still affine."""
    assert formulas.deviation_constant(0.25, 0.5) == 1
    assert formulas.deviation_constant(0.25, np.nextafter(0.5, 1)) == 2
    # Beyond theta = 1/4 the slope b counts: 2 c* = 1 + 2 b = 1 / (1 - 2 theta).
    assert formulas.deviation_constant(0.375, 1.0) == 4
    assert formulas.optimism_constant(0.375, "rademacher") == 4
    assert formulas.optimism_constant(0.375, "dual") == formulas.dual_constant(0.375) < 4


def test_gain_of_drawing_without_replacement() -> None:
    for n, m in ((1, 10), (4, 10), (5, 10), (6, 10), (9, 10), (1, 2), (70, 71)):
        expected = max((m - 0.5) / (m - n) * (1 - 1 / (2 * max(n, m - n))), 1.0)
        assert formulas.permutation_gain(float(n), float(m)) == pytest.approx(expected, rel=1e-14)
    assert formulas.permutation_gain(1.0, 2.0) == 1


def test_tails_with_variances_say_nothing_without_a_shift() -> None:
    shifts = np.array([-1.0, 0.0, 0.25])
    assert formulas.log_tail_bernstein(100, shifts, 2.0, 0.5)[:2].tolist() == [0, 0]
    assert formulas.log_tail_bernstein(100, 0.25, 2.0, 0.5) == pytest.approx(-100 / 16 / (2 * (0.5 + 0.5 / 3)))
    # theta = 1/4, r = 1/2: affine, beta = r / sqrt n = 1/20, M = 1.
    logs = formulas.log_tail_bousquet(100, np.array([0.0, 0.05, 0.25]), 0.25, 0.5, 0.5)
    assert logs[:2].tolist() == [0, 0]
    x = -logs[2]
    assert 0.05 + sqrt(2 * x * (0.5 + 2 * 0.05) / 100) + x / 300 == pytest.approx(0.25)


def test_schedules_are_those_of_a_plain_loop() -> None:
    for K in (*range(2, 34), 64, 65, 1000):
        rounds = (K - 1).bit_length()
        for B in (0, K, rounds * K - 1, rounds * K, rounds * K + 1, 1000, 12345):
            plan = formulas.halving_schedule(B, K)
            active, had = K, 0
            assert plan.active.shape == (rounds,)
            for t in range(rounds):
                had += B // (rounds * active)
                row = [int(x[t]) for x in (plan.active, plan.kept, plan.pulls, plan.accumulated)]
                assert row == [active, -(-active // 2), B // (rounds * active), had]
                active = -(-active // 2)
            assert active == 1
            assert plan.spent == sum(int(n) * int(a) for n, a in zip(plan.pulls, plan.active, strict=True)) <= B
    both = formulas.halving_schedule([40, 400], [2, 9])
    assert both.active.tolist() == [[2, 9], [1, 5], [1, 3], [1, 2]]
    assert both.pulls.tolist() == [[20, 11], [0, 20], [0, 33], [0, 50]]
    assert both.rows("fresh").tolist() == both.pulls.tolist()
    assert both.rows("accumulated")[-1].tolist() == [20, 114]


# Assumptions.


@pytest.mark.parametrize(
    ("call", "holds", "fails", "name"),
    [
        # n > 16 (c r / gap)^2 = 36 at theta = 1/4, r = gap = 1/2.
        (lambda n: paper.lemma_4(n, 0.5, 0.25, 0.5), 37, 36, "identification condition"),
        (lambda B: paper.delta_fail_uniform(B, 2, 0.5, 0.25, 0.5), 74, 73, "identification condition"),
        (lambda B: corrected.delta_fail_median(B, 4, 0.5, 0.25, 0.5), 4 * 37 * 2, 4 * 37 * 2 - 1, "identification"),
        # gap > r / sqrt n at theta = 1/4.
        (lambda n: tighter.lemma_4(n, 0.125, 0.25, 0.5), 17, 16, "launch condition"),
        (lambda B: tighter.delta_fail_uniform(B, 2, 0.125, 0.25, 0.5), 34, 33, "launch condition"),
        (lambda B: tighter.delta_fail_median(B, 2, 0.125, 0.25, 0.5), 34, 33, "launch condition"),
        # gap + r / sqrt m <= min(r, 1 - 2 theta).
        (lambda gap: tighter.impossible_rows(gap, 0.25, 0.5, 16), 0.375, 0.3751, "gap \\+ r / sqrt m"),
        (lambda gap: tighter.impossible_rows(gap, 0.25, 0.25, 16), 0.1875, 0.1876, "gap \\+ r / sqrt m"),
        (lambda gap: tighter.impossible_rows(gap, 0.375, 0.5, 16), 0.125, 0.1251, "gap \\+ r / sqrt m"),
        # gap <= 1 - inf loss.
        (lambda gap: tighter.lemma_4(1000, gap, 0.25, 0.5), 0.5, 0.500001, "Delta_max"),
        # gap <= min(1, kappa^2 (1/C_h + 1/C_g) / 16).
        (
            lambda gap: tighter.lemma_4_regularised(1000, gap, 0.25, 1.0, C_h=0.25, C_g=0.25),
            0.5,
            0.500001,
            "gap <= min",
        ),
        (lambda gap: tighter.lemma_4_regularised(1000, gap, 0.25, 9.0, C_h=1.0, C_g=1.0), 1.0, 1.000001, "gap <= min"),
        # gap > optimism = kappa^2 / 8 n.
        (lambda n: tighter.lemma_4_regularised(n, 0.0625, 0.25, 1.0, C_h=1.0, C_g=1.0), 3, 2, "launch condition"),
        # At least one row, and no more than there are.
        (lambda B: tighter.exploratory_regret_uniform(B, 4, 0.25, 0.5, 0.1), 4, 3, "at least one row"),
        (lambda B: tighter.selection_regret_uniform(B, 4, 0.25, 0.5, 0.1), 4, 3, "at least one row"),
        (lambda B: tighter.selection_regret_median(B, 4, 0.25, 0.5, 0.1), 8, 7, "at least one row"),
        (lambda B: tighter.excess_risk_median(B, 4, 0.25, 0.5, 0.1), 8, 7, "at least one row"),
        (lambda n: tighter.lemma_4(n, 0.25, 0.25, 0.5, population=50), 50, 51, "rows"),
        (lambda B: tighter.delta_fail_median(B, 4, 0.25, 0.25, 0.5, population=60), 163, 164, "rows"),
        (lambda r: tighter.lemma_4(90, 0.25, 0.25, 0.5, mean_kappa_lambda=r), 0.5, 0.5001, "mean_kappa_lambda"),
        # A share of the failure probability, of the kernel and of theta.
        (lambda theta: tighter.launch_rows(0.1, theta, 0.5), 0.4999, 0.5, "theta < 1/2"),
        (lambda theta: tighter.launch_rows(0.1, theta, 0.5), 0.0001, 0.0, "theta > 0"),
    ],
)
def test_assumptions_at_equality(call: Any, holds: Any, fails: Any, name: str) -> None:
    assert np.isfinite(call(holds))
    with pytest.raises((AssumptionError, ValueError), match=name):
        call(fails)


@pytest.mark.parametrize(
    ("bound", "arguments"),
    [
        (paper.excess_risk_uniform, (20_000, 8, 0.3, 0.1, 0.3, 5000, 0.05)),
        (paper.excess_risk_median, (60_000, 8, 0.3, 0.1, 0.3, 5000, 0.05)),
        (paper.excess_risk_supervised, (20_000, 0.1, 0.3, 0.05)),
        (corrected.excess_risk_uniform, (20_000, 8, 0.3, 0.1, 0.3, 5000, 0.05)),
        (corrected.excess_risk_median, (60_000, 8, 0.3, 0.1, 0.3, 5000, 0.05)),
        (corrected.excess_risk_supervised, (20_000, 0.1, 0.3, 0.05)),
        (tighter.excess_risk_uniform, (20_000, 8, 0.1, 0.3, 0.05)),
        (tighter.excess_risk_median, (20_000, 8, 0.1, 0.3, 0.05)),
    ],
    ids=lambda value: f"{value.__module__}.{value.__name__}" if callable(value) else "",
)
def test_the_approximation_error_is_added(bound: Any, arguments: tuple[float, ...]) -> None:
    assert bound(*arguments, approximation_error=0.25) == pytest.approx(bound(*arguments) + 0.25, rel=1e-14)


def test_the_calibrated_risk_from_the_regret() -> None:
    regret = tighter.exploratory_regret_uniform(20_000, 8, 0.125, 0.3, 0.05)
    calibrated = tighter.excess_risk_calibrated(20_000, 8, 0.125, 0.3, 0.05, approximation_error=0.25)
    assert calibrated == pytest.approx((regret + 0.25) / 0.875, rel=1e-14)


@pytest.mark.parametrize(("theta", "r"), [(0.125, 0.5), (0.25, 0.5), (0.375, 1.5), (0.125, 4.0)])
@pytest.mark.parametrize("kernel", ["any", "nonnegative"])
def test_theorem_6_retyped(theta: float, r: float, kernel: str) -> None:
    B, K, delta = 5000, 6, 0.1
    n, T = B // K, 3
    b = theta / (1 - 2 * theta)
    c_star = 0.5 + max(0.5, b)
    d = 1.0 if r <= 1 - 2 * theta else 2 * c_star
    D = float(formulas.replacement_range(theta, r, kernel))
    c_d = float(formulas.dual_constant(theta))

    def deviation(argument: float, rows: float) -> float:
        return sqrt(log(argument) / (2 * rows))

    regret = d * r / sqrt(n) + D * (deviation(2 * K / delta, n) + deviation(2 / delta, n))
    fall = float(formulas.loss_fall(theta, r, r))
    clipped = 2 * c_star * r / sqrt(n) + min(fall, D) * deviation(2 * K / delta, n) + D * deviation(2 / delta, n)
    options = {"kernel": kernel}
    arguments = (B, K, theta, r, delta)
    assert tighter.exploratory_regret_uniform(*arguments, **options) == pytest.approx(regret, rel=1e-12)
    assert tighter.excess_risk_uniform(*arguments, **options) == pytest.approx(min(regret, clipped), rel=1e-12)
    uniform = c_d * r / sqrt(n) + D * sqrt(2 * log((K - 1) / delta) / n)
    assert tighter.selection_regret_uniform(*arguments, **options) == pytest.approx(uniform, rel=1e-12)
    selection = excess = 0.0
    active, had = K, 0
    for _ in range(T):
        rows, kept = B // (T * active), -(-active // 2)
        had += rows
        selection += c_d * r / sqrt(rows) + D * sqrt(2 * log(T * (active - 1) / (kept * delta)) / rows)
        excess += d * r / sqrt(had) + 2 * D * deviation(2 * K * T / delta, had)
        active = kept
    assert tighter.selection_regret_median(*arguments, **options) == pytest.approx(selection, rel=1e-12)
    assert tighter.excess_risk_median(*arguments, **options) == pytest.approx(excess, rel=1e-12)


# Tails.


def make_tails(pairing: Any, optimism: float = 0.0) -> Tails:
    return Tails(np.array(optimism), np.array(8.0), np.array(32.0), np.array(2.0), np.array(1.0), pairing)


def test_margins_and_pairs() -> None:
    gaps = np.array([0.0, 0.125, 0.25, 0.5])
    assert make_tails("same", 0.25).margins(gaps).tolist() == [inf, 0.0, 0.0, 0.25]
    margins = np.array([0.0, 0.25, 1.0, inf])
    for pairing, rate, factor in (("same", 0.5, 1), ("independent", 1.0, 1), ("arbitrary", 0.5, 2)):
        expected = [min(log(factor) - rate * 8 * x**2, 0.0) for x in margins]
        tails = make_tails(pairing)
        assert tails.log_beaten(margins).tolist() == pytest.approx(expected)
        assert tails.log_beaten_by_any(margins) == pytest.approx(log(sum(map(exp, expected))))
        assert tails.log_beaten_by_any(margins[1:2]) == pytest.approx(expected[1])
        assert tails.log_beaten_by_any(margins[3:]) == -inf


def test_least_entropy_at_its_ends() -> None:
    # At ceiling = (1 - epsilon) / 2 the slope is zero, and the value still that of the ceiling.
    assert _least_entropy(np.array(0.5), np.array(0.25)) == pytest.approx(0.75 * log(3) - 0.25 * log(3), rel=1e-12)
    ends = {(0.5, 0.2500001): 0, (0.0, 0.25): 0, (0.5, 0.0): inf, (0.0, 0.0): 0}
    for (epsilon, ceiling), value in ends.items():
        assert _least_entropy(np.array(epsilon), np.array(ceiling)) == value


def test_the_least_entropy_is_never_rounded_up() -> None:
    """Two numbers of size epsilon cancel to one of size epsilon squared; their rounding is taken off."""
    rng = np.random.default_rng(0)
    with mpmath.workdps(60):
        for _ in range(300):
            epsilon, p = float(10 ** rng.uniform(-9, -3)), float(rng.uniform(0.01, 0.45))
            # The sum is rounded as well; what is bounded is the entropy at the rounded number.
            q = mpmath.mpf(p + epsilon)
            value = float(_least_entropy(np.array(epsilon), np.array(p)))
            up, down = q * mpmath.log1p(epsilon / mpmath.mpf(p)), (1 - q) * mpmath.log1p(-epsilon / (1 - mpmath.mpf(p)))
            assert value <= up + down
            assert value >= up + down - 2e-15 * (up - down)


def test_rounds_count_for_no_more_than_one() -> None:
    """Just above the launch condition every round of median elimination is bounded by 1."""
    for rows in ("fresh", "accumulated"):
        for options in ({"gap": 0.1001}, {"gap": None, "gaps": [0.1001] * 7}):
            value = tighter.delta_fail_median(8 * 3 * 25, 8, theta=0.25, kappa_lambda=0.5, rows=rows, **options)
            assert 0.5 < value <= 3 + 1e-12
    assert tighter.lemma_4_variance(1, 0.4, 0.25, 0.5, variance_rival=0.3) == 1
    assert tighter.lemma_4(26, 0.1, 0.25, 0.5, pairing="arbitrary") == 1


def test_tails_of_draws_without_replacement() -> None:
    """Theorem 5: nu = n w / D^2, and the variance of a mean shrinks by (m - n) / (m - 1)."""
    theta, r = np.array(0.125), np.array(0.5)
    moved = float(formulas.replacement_range(0.125, 0.5, "nonnegative"))
    for mean in (None, np.array(0.125)):
        for optimism in ("dual", "rademacher"):
            for n, m in ((10, None), (10, 40), (30, 40), (39, 40), (40, 40), (1, 1)):
                point = BoundArguments(theta=theta, r=r, kernel="nonnegative", pairing="same", optimism=optimism)
                point.mean_kappa_lambda, point.population = mean, None if m is None else np.array(m)
                tails = tails_on(point, np.array(n))
                share = (m - n) / max(m - 1, 1) if optimism == "dual" and m else 1.0
                radius = float(formulas.optimism_constant(0.125, optimism)) * (0.5 if mean is None else 0.125)
                assert float(tails.optimism) == pytest.approx(radius * sqrt(share / n), rel=1e-14)
                if m != n:
                    gain = formulas.permutation_gain(float(n), float(m)) if m else 1.0
                    assert float(tails.stiffness) == pytest.approx(n * gain / moved**2, rel=1e-14)
                else:
                    assert float(tails.stiffness) == inf
                assert (float(tails.rows), float(tails.spread), float(tails.fall)) == (n, 1.0, 0.5)


def test_numbers_of_arms_side_by_side() -> None:
    """Rounds that only larger K have count for nothing, and one bad element is enough to refuse."""
    K, options = np.array([2, 9, 5, 16]), {"gap": 0.45, "theta": 0.25, "kappa_lambda": 0.5, "log": True}
    for bound in (corrected.delta_fail_median, tighter.delta_fail_median):
        for rows in ("fresh", "accumulated"):
            together = bound(40_000, K, **options, rows=rows)
            alone = [bound(40_000, int(k), **options, rows=rows) for k in K]
            assert together.tolist() == pytest.approx(alone, rel=1e-12)
    for bound in (tighter.selection_regret_median, tighter.excess_risk_median):
        together = bound(40_000, K, 0.25, 0.5, 0.1)
        assert together.tolist() == pytest.approx([bound(40_000, int(k), 0.25, 0.5, 0.1) for k in K], rel=1e-12)
    with pytest.raises(ValueError, match="mean_kappa_lambda must not exceed"):
        tighter.lemma_4(90, 0.25, 0.25, 0.5, mean_kappa_lambda=[0.4, 0.6])


# Searches.


@pytest.mark.parametrize("parts", [2, 3, 48])
def test_the_smallest_budget_by_trying_all(parts: int) -> None:
    for limit in (*range(1, 35), 63, 64, 65):
        for answer in range(1, limit + 1):
            low = budgets.smallest_budget(lambda values, a=answer: np.asarray(values) >= a, limit, "none", parts)
            assert low == answer
        with pytest.raises(ValueError, match="none"):
            budgets.smallest_budget(lambda values, a=limit + 1: np.asarray(values) >= a, limit, "none", parts)


def test_every_value_is_tried_up_to_the_first_that_works() -> None:
    tried: list[int] = []

    def holds(value: int) -> bool:
        tried.append(value)
        return value >= 5

    assert budgets.one_by_one(holds)(np.array([1, 4, 5, 6, 9])).tolist() == [False, False, True, True, True]
    assert tried == [1, 4, 5]


def test_the_limit_is_part_of_the_search() -> None:
    assert budgets.LARGEST_BUDGET == 2**52, "the last whole number of pulls whose double is exact"
    assert budgets.required_budget(paper.lemma_3, 1e6, theta=0.25, kappa_lambda=0.5, delta=0.5) == 1
    point = {"K": 2, "gap": 0.5, "theta": 0.25, "kappa_lambda": 0.5}
    assert budgets.launch_budget(paper.delta_fail_uniform, **point) == 74
    assert budgets.launch_budget(paper.delta_fail_uniform, **point, limit=74) == 74
    with pytest.raises(ValueError, match="applies to no budget up to 73"):
        budgets.launch_budget(paper.delta_fail_uniform, **point, limit=73)
    answer = budgets.required_budget(tighter.delta_fail_uniform, 0.05, **point)
    assert budgets.required_budget(tighter.delta_fail_uniform, 0.05, **point, limit=answer) == answer
    with pytest.raises(ValueError, match=f"no budget up to {answer - 1} brings"):
        budgets.required_budget(tighter.delta_fail_uniform, 0.05, **point, limit=answer - 1)
    # Draws without replacement end with the population: the last budget that does not exhaust it is still allowed.
    for last in (1, 2, 37):

        def exhausted(budget: Any, population: int, strict: bool = True, last: int = last) -> Any:
            if strict and budget > last:
                raise AssumptionError(POPULATION_EXHAUSTED, 1.0)
            return np.where(np.asarray(budget) < last, 1.0, 0.01)

        assert budgets.required_budget(exhausted, 0.05, population=9) == last
    # A target of at most 1 keeps its meaning: the bound itself, not its logarithm.
    assert budgets.required_budget(tighter.delta_fail_uniform, 1.0, **point) <= answer


# Exact distributions.


def test_pools_at_the_borders_of_what_is_allowed() -> None:
    third = F(1, 3)
    regime = make_pool([third, 2 * third], [[1, -2], [0, 1]], radius=F(1, 4), theta=F(1, 4))
    assert (regime.arms, regime.kappa_lambda) == (2, F(1, 2))
    assert make_pool([1], [[1]], radius=F(1, 2)).theta == F(1, 10**6)
    assert make_pool([1], [[1]], radius=F(1, 2)).labels == (1,)
    bad: list[tuple[str, dict[str, Any]]] = [
        ("affine regime", {"radius": F(26, 100)}),
        ("theta must lie", {"theta": 0}),
        ("theta must lie", {"theta": F(1, 2)}),
        ("labels must be", {"labels": (1, 0)}),
        ("labels must be", {"labels": (2, 1)}),
        ("labels must be", {"labels": (1, -2)}),
        ("one entry per atom", {"labels": (1,)}),
        ("one entry per atom", {"features": [[1, -2], [0]]}),
        ("at least one arm", {"features": []}),
        ("positive and sum to 1", {"weights": [0, 1]}),
        ("positive and sum to 1", {"weights": [third, third]}),
    ]
    good = {"weights": [third, 2 * third], "features": [[1, -2], [0, 1]], "radius": F(1, 4), "theta": F(1, 4)}
    for message, change in bad:
        arguments = {**good, **change}
        with pytest.raises(ValueError, match=message):
            make_pool(arguments.pop("weights"), arguments.pop("features"), **arguments)


def test_risks_and_gaps_by_hand() -> None:
    pool = make_pool(
        [F(1, 4)] * 4, [[1, -1, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], labels=(1, 1, -1, -1), radius=F(1, 2)
    )
    assert pool.risks() == (F(3, 4), F(3, 4), F(3, 4), 1)
    assert (pool.gaps(), pool.gap(), pool.best()) == ((0, 0, 0, F(1, 4)), F(1, 4), (0, 1, 2))
    assert failure(pool, (F(1, 2), F(1, 4), F(1, 8), F(1, 8))) == F(1, 8)
    assert failure(pool, (F(1, 2), F(1, 4), F(1, 8), F(1, 8)), target=0) == F(1, 2)
    alone = make_pool([1], [[1], [1]], radius=F(1, 2))
    with pytest.raises(ValueError, match="minimum over nothing"):
        alone.gap()


def test_samples_of_one_row_and_of_all_rows() -> None:
    pool = make_pool([F(1, 2), F(1, 2)], [[1, 0], [0, 1], [1, 1]], radius=F(1, 2))
    assert uniform_selection(pool, 3) == uniform_selection(pool, 5) == (F(1, 2), F(1, 2), 0)
    assert sum(median_selection(pool, 6)) == 1
    for call, budget in ((uniform_selection, 2), (median_selection, 5)):
        with pytest.raises(ValueError, match="one row per arm"):
            call(pool, budget)
    assert uniform_selection(pool, 12, population=4) == (0, 0, 1)
    assert exact.score(pool, 0, (1, 3)) == 1 - F(1, 2) * F(1, 4)
    with pytest.raises(ValueError, match="argument 2 is longer"):
        exact.score(pool, 0, (4,))
    assert sample_distribution(pool, 4, population=4) == [((2, 2), 1)]
    assert sample_distribution(pool, 1) == [((0, 1), F(1, 2)), ((1, 0), F(1, 2))]
    with pytest.raises(ValueError, match="cannot draw 5 distinct rows"):
        uniform_selection(pool, 15, population=4)
    with pytest.raises(ValueError, match="whole number of rows"):
        uniform_selection(pool, 3, population=3)
    with pytest.raises(ValueError, match="'shared' or 'independent'"):
        uniform_selection(pool, 3, rows="other")  # type: ignore[arg-type]


def test_compositions_are_all_of_them_and_not_too_many() -> None:
    for total in range(5):
        for parts in (1, 2, 3, 4):
            rows = compositions(total, parts).tolist()
            assert len(rows) == len({tuple(row) for row in rows}) == comb(total + parts - 1, parts - 1)
            assert all(sum(row) == total and min(row) >= 0 for row in rows)
    assert len(compositions(exact.MAX_STATES - 1, 2)) == exact.MAX_STATES
    with pytest.raises(ValueError, match="4000001 samples to enumerate, at most 4000000"):
        compositions(exact.MAX_STATES, 2)
    pool = make_pool([F(1, 2), F(1, 2)], [[1, 0], [0, 1]], radius=F(1, 2))
    assert sum(uniform_selection(pool, 4, rows="independent")) == 1
    with pytest.raises(ValueError, match="4004001 states to follow, at most 4000000"):
        uniform_selection(pool, 4000, rows="independent")
