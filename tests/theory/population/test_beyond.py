"""Beyond the affine regime: certificates against the solver, bounds against enumeration; the rate."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from exml_sim.rejection import solve_batch
from tests.theory.population.small_pools import Small, build_model, compute_ratio, generated, samples
from theory.errors import AssumptionError
from theory.formulas import surrogate_loss
from theory.population import (
    PopulationModel,
    delta_fail_median,
    delta_fail_uniform,
    large_deviation_rate,
)
from theory.population import _events as events
from theory.population._certificates import DualPoint, best_dual, best_model, dual_value, risk_intervals
from theory.population.planning import _crossing, nearest_failure


def wide(pool: Small, factor: float) -> Small:
    """The same rows with a larger ball: kappa Lambda is ``factor`` times 1 - 2 theta."""
    kappa = float(np.sqrt(np.diagonal(pool.grams, axis1=1, axis2=2).max()))
    return Small(pool.kind, pool.grams, pool.y, pool.p, pool.theta, factor * (1 - 2 * pool.theta) / kappa)


def scores(pool: Small, weights: np.ndarray) -> np.ndarray:
    """V of every arm for every line of weights, by the solver of the other package."""
    risks = [
        solve_batch(gram, pool.y.astype(np.int64), pool.theta, weights, ball=pool.ball, tol=1e-7).risk
        for gram in pool.grams
    ]
    return np.stack(risks, axis=1)


@cache
def wide_cases() -> list[tuple[PopulationModel, int, float]]:
    """Pools beyond the affine regime, rows per arm, exact probability that a rival is at most the best arm."""
    cases = []
    for i, small in enumerate(generated(18, seed=21, arms=3, rows=3)):
        pool = wide(small, (1.3, 2.5, 5.0)[i % 3])
        risks = scores(pool, pool.p[None])[0]
        best = int(np.argmin(risks))
        rest = np.delete(risks, best)
        if rest.min() - risks[best] < 1e-3:
            continue
        n = (2, 5, 9)[i % 3]
        counts, chance = samples(pool.p, n)
        values = scores(pool, counts.astype(np.float64) / n)
        fails = np.delete(values, best, axis=1).min(axis=1) <= values[:, best] + 1e-7
        cases.append((build_model(pool, best=[best], resolution=1e-6), n, float(chance[fails].sum())))
    return cases


def wide_ratios(chosen: slice = slice(None)) -> np.ndarray:
    cases = wide_cases()[chosen]
    return np.array(
        [compute_ratio(delta_fail_uniform(pool, n * pool.n_arms, effort="sharp"), p) for pool, n, p in cases]
    )


def test_bounds_beyond_the_affine_regime_are_never_below_the_exact_probability() -> None:
    assert len(wide_cases()) >= 12
    assert wide_ratios().min() >= 1.0
    bounds = [delta_fail_uniform(pool, 60 * pool.n_arms, effort="sharp") for pool, _, _ in wide_cases()]
    assert np.sum(np.array(bounds) < 0.5) >= 4


def test_a_dual_point_outside_the_triangle_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = events.best_dual

    def wrong(pool: PopulationModel, arm: int, n: float) -> DualPoint:
        return DualPoint(true(pool, arm, n).first * 1.6, true(pool, arm, n).second * 1.6)

    monkeypatch.setattr(events, "best_dual", wrong)
    few = slice(6)
    for pool, _, _ in wide_cases()[few]:
        pool.cache.clear()
    ratios = wide_ratios(few)
    for pool, _, _ in wide_cases()[few]:
        pool.cache.clear()
    assert ratios.min() < 1.0


def test_certificates_enclose_the_risk() -> None:
    for pool, _, _ in wide_cases()[:4]:
        low, high = risk_intervals(pool)
        y = pool.labels.astype(np.int64)
        exact = [
            float(solve_batch(pool.gram(i), y, pool.theta, pool.p[None], ball=pool.ball, tol=1e-7).risk[0])
            for i in range(pool.n_arms)
        ]
        assert np.all(low <= np.array(exact) + 1e-7)
        assert np.all(np.array(exact) <= high + 1e-7)
        assert np.all(high - low < 0.02)


def test_the_dual_value_for_n_rows_is_below_the_mean_score() -> None:
    small = wide(generated(1, seed=4, arms=3, rows=3)[0], 2.0)
    pool = build_model(small, best=[0])
    counts, chance = samples(small.p, 4)
    mean = chance @ scores(small, counts.astype(np.float64) / 4)
    for arm in range(3):
        K = pool.gram(arm)
        blurred = 0.75 * K + np.diag(np.diagonal(K) / (4 * pool.p))
        copy = PopulationModel([blurred, K], small.y, small.ball, small.theta, weights=small.p, best=[0])
        assert dual_value(copy, 0, best_dual(pool, arm, 4)) <= mean[arm] + 1e-7


def test_a_model_of_the_best_arm_is_in_the_ball() -> None:
    pool, _, _ = wide_cases()[0]
    model = best_model(pool, 0)
    for values in (model.h, model.g):
        c = np.linalg.lstsq(pool.gram(0), values, rcond=1e-9)[0]
        assert c @ pool.gram(0) @ c <= pool.ball**2 * (1 + 1e-6)
    assert np.all(surrogate_loss(pool.labels * model.h, model.g, pool.theta) >= 0)


def test_what_needs_the_affine_regime_says_so() -> None:
    pool, _, _ = wide_cases()[0]
    for ask in (lambda: large_deviation_rate(pool), lambda: pool.risks):
        with pytest.raises(AssumptionError, match="kappa Lambda <= 1 - 2 theta"):
            ask()
    assert 0.0 <= delta_fail_median(pool, 400) <= 1.0


def test_the_rate_is_that_of_two_atoms() -> None:
    # One class; arm 0 has the constant 1/2, arm 1 is 1 on one row of probability 1/4 and 0 on the other, so arm 1
    # wins iff at least half of the rows are that one: the rate is kl(1/2, 1/4).
    grams = [np.full((2, 2), 0.25), np.array([[1.0, 0.0], [0.0, 0.0]])]
    pool = PopulationModel(grams, [1, 1], 0.5, 0.1, weights=[0.25, 0.75])
    expected = 0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75)
    assert large_deviation_rate(pool) == pytest.approx(expected, rel=1e-5)
    # No bound falls faster than the rate allows, and failures do fall at it.
    exact = {n: sum(float(c) for c in binomial_tail(n)) for n in (100, 200)}
    assert np.log(exact[100] / exact[200]) / 100 == pytest.approx(expected, rel=0.05)


def two_rows() -> PopulationModel:
    """The tilts from the population lead to the farther of two sets of failures: arm 1 has |1.25 q - 0.25|."""
    f, d = np.array([1.0, -0.25]), 0.2375
    return PopulationModel([np.full((2, 2), d * d), np.outer(f, f)], [1, 1], 0.8, 0.1, weights=[0.199, 0.801])


def test_the_rate_finds_the_nearer_of_two_sets_of_failures() -> None:
    # |1.25 q - 0.25| >= 0.2375 iff q <= 0.01 or q >= 0.39.
    expected = 0.39 * np.log(0.39 / 0.199) + 0.61 * np.log(0.61 / 0.801)
    assert large_deviation_rate(two_rows()) == pytest.approx(expected, rel=1e-5)


def test_a_tie_at_a_single_row_has_a_finite_rate() -> None:
    # Arm 1 is 1/2 on one row and 0 on the other, arm 0 is 1/2 on both: they tie iff all rows are the first.
    grams = [np.full((2, 2), 0.25), np.array([[0.25, 0.0], [0.0, 0.0]])]
    pool = PopulationModel(grams, [1, 1], 0.5, 0.1, weights=[0.25, 0.75])
    assert large_deviation_rate(pool) == pytest.approx(np.log(4.0), rel=1e-5)


def test_every_best_arm_must_be_beaten() -> None:
    # Two best arms, +-1/2 and 1/2 on both rows; the rival is 1 on the first row and 0 on the other. At q it beats both
    # iff q >= 1/2; against the first alone it would be nearer, q >= |q - 1/2|, which p satisfies already.
    grams = [np.array([[0.25, -0.25], [-0.25, 0.25]]), np.full((2, 2), 0.25), np.array([[1.0, 0.0], [0.0, 0.0]])]
    pool = PopulationModel(grams, [1, 1], 0.5, 0.1, weights=[0.3, 0.7], best=[0, 1])
    expected = 0.5 * np.log(0.5 / 0.3) + 0.5 * np.log(0.5 / 0.7)
    assert large_deviation_rate(pool) == pytest.approx(expected, rel=1e-5)


def on_grid(m: int, parts: int) -> np.ndarray:
    counts = [c for c in product(range(parts + 1), repeat=m - 1) if sum(c) <= parts]
    return np.array([(*c, parts - sum(c)) for c in counts]) / parts


@pytest.mark.parametrize(("m", "arms", "parts"), [(2, 2, 2000), (3, 3, 90), (4, 3, 30)])
def test_no_distribution_of_a_grid_is_nearer_than_the_result(m: int, arms: int, parts: int) -> None:
    distributions, finite = on_grid(m, parts), 0
    for small in generated(8, seed=40 + m, arms=arms, rows=m):
        nearest = nearest_failure(build_model(small))
        strengths = small.strengths(np.vstack([nearest.distribution, distributions]))
        ahead = strengths[:, ~small.best].max(axis=1) - strengths[:, small.best].max(axis=1)
        distances = np.sum(distributions * np.log(np.maximum(distributions, 1e-300) / small.p), axis=1)
        assert nearest.rate <= distances[ahead[1:] >= -1e-9].min(initial=np.inf) + 1e-7
        if np.isfinite(nearest.rate):
            assert ahead[0] >= -2.1e-8 / small.ball
            finite += 1
    assert finite >= 2


def binomial_tail(n: int) -> list[float]:
    from math import comb

    return [comb(n, k) * 0.25**k * 0.75 ** (n - k) for k in range((n + 1) // 2, n + 1)]


@pytest.mark.parametrize("lead", [lambda x: x - 0.6, lambda x: (x - 0.6) ** 9, lambda x: -1.0 if x < 0.6 else 1.0])
def test_a_crossing_is_where_the_lead_ceases_to_be_negative(lead) -> None:
    place = _crossing(lead, 1.0)
    assert lead(place) >= 0.0
    assert place == pytest.approx(0.6, abs=1e-10)
    assert _crossing(lambda x: 1.0 + x, 2.0) == 0.0
