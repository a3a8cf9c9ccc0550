"""Bounds of a known population against the exact failure probability of small ones, and planted errors."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.theory.population.small_pools import (
    KINDS,
    Small,
    build_model,
    compute_ratio,
    evaluate_form,
    exact_median,
    exact_uniform,
    generated,
    random_form,
    random_weights,
    samples,
)
from theory.population import PopulationModel, delta_fail_median, delta_fail_uniform, required_budget
from theory.population import _affine as affine
from theory.population import _probability as probability
from theory.population._affine import AffineEvents
from theory.population._certificates import certified_slack, psd_majorant
from theory.population._probability import event_probability

POOLS = 312


def rows_of(index: int) -> int:
    return (1, 2, 4, 6, 9, 13)[index % 6]


@cache
def cases() -> list[tuple[Small, int, float]]:
    """Pools, rows per arm, exact failure probabilities."""
    pools = [*generated(POOLS // 2, seed=1, arms=2, rows=3), *generated(POOLS // 2, seed=2, arms=3, rows=4)]
    return [(pool, rows_of(i), exact_uniform(pool, rows_of(i))) for i, pool in enumerate(pools)]


def ratios(effort: str, chosen: slice = slice(None)) -> np.ndarray:
    pairs = [(pool, n * len(pool.grams), exact) for pool, n, exact in cases()[chosen]]
    return np.array(
        [compute_ratio(delta_fail_uniform(build_model(pool), B, effort=effort), exact) for pool, B, exact in pairs]
    )


def test_the_sharp_bound_is_never_below_the_exact_failure_probability() -> None:
    sharp = ratios("sharp")
    assert len(sharp) >= 300
    assert sharp.min() >= 1.0
    # The cases are able to refute: many bounds are below 1, and many failures are likely enough to see.
    exact = np.array([case[2] for case in cases()])
    seen = exact > 1e-6
    assert np.sum(sharp[seen] * exact[seen] < 0.999) >= 40
    assert {pool.kind for pool, _, _ in cases()} == set(KINDS)


def test_the_quick_bound_is_never_below_the_exact_failure_probability() -> None:
    assert ratios("quick", slice(None, None, 3)).min() >= 1.0


def form_ratios(order: int, count: int = 150) -> np.ndarray:
    """Bound over exact probability of {p^' S p^ >= 0} for random S."""
    rng = np.random.default_rng(7)
    result = []
    for _ in range(count):
        m, n = int(rng.integers(2, 5)), int(rng.integers(1, 9))
        S, p = random_form(rng, m), random_weights(rng, m)
        counts, chance = samples(p, n)
        exact = float(chance[evaluate_form(S, counts) >= 0].sum())
        result.append(compute_ratio(event_probability(S, p, n, order=order), exact))
    return np.array(result)


@pytest.mark.parametrize("order", [2, 4])
def test_the_probability_of_a_form_is_never_below_the_exact_one(order: int) -> None:
    result = form_ratios(order)
    assert result.min() >= 1.0
    assert np.median(result[np.isfinite(result)]) < 6.0


def without_diagonal(true):
    return lambda S, p, n, **options: true(S - np.diag(np.diagonal(S)), p, n, **options)


def half_of_the_lattice(true):
    def wrong(bound: np.ndarray, *rest: object) -> np.ndarray:
        values = np.array(true(bound, *rest))
        values[len(values) // 2 :] = 0.0
        return values

    return wrong


def small_variance(true):
    def wrong(*given: object, **options: object) -> object:
        conditional = true(*given, **options)
        centre = conditional.moments[0] ** 2 / np.maximum(conditional.mass, 1e-300)
        conditional.moments[1] = centre + 0.1 * (conditional.moments[1] - centre)
        return conditional

    return wrong


@pytest.mark.parametrize(
    ("name", "wrong", "order"),
    [
        ("conditional_moments", without_diagonal, 4),
        ("_better", half_of_the_lattice, 4),
        ("conditional_moments", small_variance, 2),
    ],
)
def test_a_wrong_step_is_caught(monkeypatch: pytest.MonkeyPatch, name: str, wrong: object, order: int) -> None:
    monkeypatch.setattr(probability, name, wrong(getattr(probability, name)))
    assert form_ratios(order).min() < 1.0


def test_leaving_out_a_window_or_a_rival_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    windows, beaten = affine.choose_windows, AffineEvents.beaten
    with monkeypatch.context() as patch:
        patch.setattr(affine, "choose_windows", lambda *given: windows(*given)[1:])
        assert ratios("sharp", slice(60)).min() < 1.0
    monkeypatch.setattr(AffineEvents, "beaten", lambda self, rivals, n, order: beaten(self, rivals[1:], n, order))
    assert ratios("sharp", slice(60)).min() < 1.0


@pytest.mark.parametrize("fresh_rows", [False, True])
def test_median_elimination_never_fails_more_often_than_its_bound(fresh_rows: bool) -> None:
    informative = 0
    for i, pool in enumerate(generated(16, seed=5 + fresh_rows, arms=4, rows=3)):
        budget = 8 * (2, 4, 6)[i % 3]
        rows = "fresh" if fresh_rows else "accumulated"
        bound = delta_fail_median(build_model(pool), budget, rows=rows, effort="sharp")
        exact = exact_median(pool, budget, fresh_rows=fresh_rows)
        assert exact <= bound
        informative += bound < 0.999
    assert informative >= 5


def test_ties_of_the_best_arms_are_no_failures() -> None:
    pool = next(pool for pool in generated(8, seed=3, arms=3, rows=4) if pool.kind == "ties")
    assert build_model(pool).best_arms == (0, 2)
    assert build_model(pool, best=[0]).rivals == (1, 2)
    # As two of three arms are best, a failure is rarer than one of a single best arm.
    assert delta_fail_uniform(build_model(pool), 180, effort="sharp") < delta_fail_uniform(
        build_model(pool, best=[0]), 180
    )


def test_the_form_of_many_rivals_is_above_each() -> None:
    rng = np.random.default_rng(0)
    for m in (3, 12):
        forms = [random_form(rng, m) for _ in range(5)]
        p = rng.dirichlet(np.ones(m))
        M, slack = psd_majorant([lambda C=C: C for C in forms], p)
        distributions = rng.dirichlet(np.full(m, 0.3), size=400)
        for C in forms:
            assert np.einsum("sx,xy,sy->s", distributions, M - C, distributions).min() >= -slack
        assert slack < 1e-9


def test_the_certificate_sees_a_negative_direction() -> None:
    v = np.array([0.2, 0.8])
    R = np.array([[0.0, -1.0], [-1.0, 0.0]])
    assert v @ R @ v >= -certified_slack(R)
    assert certified_slack(R) >= 1.0


def test_the_required_budget_is_where_the_bound_reaches_delta() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0])
    for effort in ("quick", "sharp"):
        budget = required_budget(pool, 0.05, effort=effort)
        assert delta_fail_uniform(pool, budget, effort=effort) <= 0.05
        assert delta_fail_uniform(pool, budget - 2, effort=effort) > 0.05
    assert budget <= required_budget(pool, 0.05, effort="quick")
    median = required_budget(pool, 0.05, "median", effort="sharp")
    assert delta_fail_median(pool, median, effort="sharp") <= 0.05


def test_matrices_may_be_made_on_demand() -> None:
    class Lazy:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, arm: int) -> np.ndarray:
            return generated(1, seed=11, arms=2, rows=4)[0].grams[arm]

    small = generated(1, seed=11, arms=2, rows=4)[0]
    pool = PopulationModel(Lazy(), small.y, small.ball, small.theta, weights=small.p)
    assert delta_fail_uniform(pool, 60) == delta_fail_uniform(build_model(small), 60)


GOOD = {"grams": [np.eye(2), np.ones((2, 2))], "y": [1, -1], "ball": 0.5, "theta": 0.1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grams": [np.eye(2)]}, "at least 2 Gram matrices"),
        ({"grams": [np.eye(2), np.eye(3)]}, r"arm 1 must have shape \(2, 2\)"),
        ({"grams": [np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])]}, "arm 1 is indefinite"),
        ({"grams": [np.eye(2), np.array([[1.0, 0.5], [0.2, 1.0]])]}, "not symmetric"),
        ({"grams": [np.eye(2), np.full((2, 2), np.nan)]}, "finite"),
        ({"y": [1, 0]}, "labels must be"),
        ({"y": [1, -1, 1]}, "shape"),
        ({"theta": 0.5}, "theta"),
        ({"ball": 0.0}, "ball"),
        ({"weights": [0.5, 0.6]}, "weights"),
        ({"resolution": -1.0}, "resolution"),
        ({"best": [2]}, "best must name"),
        ({"best": [0, 1]}, "no positive gap"),
        ({"grams": [np.eye(2), np.eye(2)]}, "no positive gap"),
    ],
)
def test_a_population_that_does_not_fit_is_refused_in_one_line(change: dict[str, object], message: str) -> None:
    PopulationModel(**GOOD)
    with pytest.raises(ValueError, match=message) as caught:
        PopulationModel(**{**GOOD, **change})
    assert "\n" not in str(caught.value)


def test_what_is_not_covered_is_said_and_gets_no_number() -> None:
    pool = PopulationModel(**GOOD)
    for message, call in (
        ("one row per arm and round", lambda: delta_fail_uniform(pool, 1)),
        ("whole number", lambda: delta_fail_uniform(pool, 2.5)),
        ("effort", lambda: delta_fail_uniform(pool, 10, effort="lazy")),
        ("rows", lambda: delta_fail_median(pool, 10, rows="some")),
        ("strategy", lambda: required_budget(pool, 0.05, "greedy")),
        ("delta", lambda: required_budget(pool, 1.0)),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_bound_does_not_depend_on_which_budgets_were_asked_before() -> None:
    for small in generated(3, seed=3, arms=3, rows=4):
        first, second = build_model(small), build_model(small)
        budgets = list(range(6, 220, 18))
        upwards = [delta_fail_median(first, budget) for budget in budgets]
        assert upwards == [delta_fail_median(second, budget) for budget in reversed(budgets)][::-1]
