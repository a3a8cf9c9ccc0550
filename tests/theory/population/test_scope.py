"""Rows without replacement, prices, penalised scores: bounds against enumeration, and planted errors."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from exml_sim.rejection import solve_batch
from tests.theory.population.small_pools import (
    TIE,
    Small,
    build_model,
    compute_ratio,
    evaluate_form,
    generated,
    random_form,
    random_weights,
    samples,
)
from tests.theory.population.test_beyond import scores, wide
from theory import tighter
from theory.errors import AssumptionError
from theory.population import (
    PopulationModel,
    delta_fail_median,
    delta_fail_rows,
    delta_fail_uniform,
    required_budget,
    uniform_at,
)
from theory.population import _probability as probability
from theory.population._moments import ConditionalMoments
from theory.population._probability import distinct_moments, distinct_rows, nested_moments, nested_samples
from theory.population.model import Design


def subsets(m: int, n: int) -> np.ndarray:
    """Counts of all samples of n distinct rows."""
    chosen = np.array(list(combinations(range(m), n)))
    counts = np.zeros((len(chosen), m))
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def even(count: int, seed: int, *, arms: int, rows: int) -> list[Small]:
    """Generated pools whose rows all have the same weight."""
    pools = generated(4 * count, seed=seed, arms=arms, rows=rows)
    return [pool for pool in pools if np.ptp(pool.p) < 1e-12][:count]


def distinct_ratios() -> np.ndarray:
    """Bound over exact probability of {p^' S p^ >= 0} on distinct rows."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(60):
        m = int(rng.integers(4, 11))
        n, S = int(rng.integers(1, m + 1)), random_form(rng, m)
        counts = subsets(m, n)
        ratios.append(compute_ratio(distinct_rows(S, n), float(np.mean(evaluate_form(S, counts) >= 0))))
    return np.array(ratios)


def test_forms_of_distinct_rows_are_never_below_the_exact_probability() -> None:
    ratios = distinct_ratios()
    assert ratios.min() >= 1.0
    assert np.median(ratios[np.isfinite(ratios)]) < 4.0


def test_a_wrong_probability_of_the_sample_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = probability._hit
    monkeypatch.setattr(probability, "_hit", lambda n, m, q: 1.5 * true(n, m, q))
    assert distinct_ratios().min() < 1.0


@pytest.mark.parametrize(("m", "n"), [(9, 4), (10, 5), (8, 7)])
def test_moments_of_distinct_rows_are_exact(m: int, n: int) -> None:
    S = random_form(np.random.default_rng(m), m)
    counts = subsets(m, n)
    values = evaluate_form(S, counts) / n**2
    conditional = distinct_moments(S, n)
    assert conditional is not None
    first, second = conditional.moments[0] * conditional.unit, conditional.moments[1] * conditional.unit**2
    moments = [conditional.mass.sum(), (conditional.value * conditional.mass + first).sum()]
    moments.append((conditional.value**2 * conditional.mass + 2 * conditional.value * first + second).sum())
    np.testing.assert_allclose(moments, [np.mean(values**r) for r in range(3)], rtol=1e-7)
    assert conditional.errors.max() < 1e-8


def test_uniform_allocation_without_replacement() -> None:
    informative = 0
    for i, pool in enumerate(even(18, 60, arms=3, rows=9)):
        n = (3, 5, 7, 8)[i % 4]
        strengths = pool.strengths(subsets(9, n) / n)
        fails = strengths[:, ~pool.best].max(axis=1) >= strengths[:, pool.best].max(axis=1) - TIE
        bound = delta_fail_uniform(build_model(pool, weights=None), 3 * n, replacement=False)
        assert fails.mean() <= bound
        informative += bound < 0.9
    assert informative >= 6


def exact_median_distinct(pool: Small, budget: int) -> float:
    """P[failure] of median elimination with 4 arms on one order without replacement, ties against the best arms."""
    first, second = budget // 8, budget // 4
    m, total = len(pool.y), []
    for counts in subsets(m, first):
        rest = np.flatnonzero(counts == 0)
        strengths = np.round(pool.strengths(counts[None] / first)[0], 9)
        kept = np.lexsort((pool.best, -strengths))[:2]
        more = np.zeros((0, m))
        if second:
            chosen = subsets(len(rest), second)
            more = np.zeros((len(chosen), m))
            more[:, rest] = chosen
        later = np.round(pool.strengths((counts + more) / (first + second))[:, kept], 9)
        good = np.where(pool.best[kept], later, -np.inf).max(axis=1)
        bad = np.where(~pool.best[kept], later, -np.inf).max(axis=1)
        total.append(np.mean(bad >= good))
    return float(np.mean(total))


def test_median_elimination_without_replacement() -> None:
    informative = 0
    for i, pool in enumerate(even(12, 70, arms=4, rows=10)):
        budget = (16, 24)[i % 2]
        bound = delta_fail_median(build_model(pool, weights=None), budget, replacement=False)
        assert exact_median_distinct(pool, budget) <= bound
        informative += bound < 0.999
    assert informative >= 2


def nested_truth(S: np.ndarray, n: int, T: np.ndarray, k: int, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All values of s' S s + t' T t for the first n and the first k rows of one order, and their probabilities."""
    (s, t), chance = beginnings(p, n, k)
    return evaluate_form(S, s) / n**2 + evaluate_form(T, t) / k**2, chance


def beginnings(p: np.ndarray, n: int, k: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Counts of the first n and of the first k rows of one order, and their joint probabilities."""
    (a, u), (b, v) = samples(p, min(n, k)), samples(p, abs(n - k))
    short = np.repeat(a, len(b), axis=0)
    long = short + np.tile(b, (len(a), 1))
    return ((short, long) if n < k else (long, short)), np.multiply.outer(u, v).ravel()


@cache
def nested_cases() -> list[tuple[np.ndarray, int, np.ndarray, int, np.ndarray]]:
    rng = np.random.default_rng(5)
    cases = []
    for _ in range(50):
        m, n, step = int(rng.integers(2, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        p = random_weights(rng, m)
        n, k = (n, n + step) if rng.random() < 0.5 else (n + step, n)
        cases.append((random_form(rng, m) + rng.uniform(0.0, 0.5), n, random_form(rng, m), k, p))
    return cases


def nested_ratios(order: int) -> np.ndarray:
    ratios = []
    for case in nested_cases():
        values, chance = nested_truth(*case)
        ratios.append(compute_ratio(nested_samples(*case, order=order), float(chance[values >= 0].sum())))
    return np.array(ratios)


@pytest.mark.parametrize("order", [2, 4])
def test_two_beginnings_of_one_order_are_never_below_the_exact_probability(order: int) -> None:
    ratios = nested_ratios(order)
    assert ratios.min() >= 1.0
    assert np.sum(ratios[np.isfinite(ratios)] > 1.0 + 1e-9) >= 5


def test_moments_of_two_beginnings_are_exact() -> None:
    for S, n, T, k, p in nested_cases()[:12]:
        values, chance = nested_truth(S, n, T, k, p)
        short, few, long, many = (S, n, T, k) if n < k else (T, k, S, n)
        conditional = nested_moments(short, few, long, many, p, order=4)
        parts = [conditional.mass, *(conditional.moments[r] * conditional.unit ** (r + 1) for r in range(4))]
        third = (
            parts[3]
            + 3 * conditional.value * parts[2]
            + 3 * conditional.value**2 * parts[1]
            + conditional.value**3 * parts[0]
        )
        np.testing.assert_allclose(third.sum(), chance @ values**3, rtol=1e-8, atol=1e-9)


def test_a_variance_of_two_beginnings_that_is_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = probability.tail_sum

    def wrong(conditional: ConditionalMoments) -> float:
        centre = conditional.moments[0] ** 2 / np.maximum(conditional.mass, 1e-300)
        conditional.moments[1] = centre + 0.02 * (conditional.moments[1] - centre)
        return true(conditional)

    monkeypatch.setattr(probability, "tail_sum", wrong)
    assert nested_ratios(2).min() < 1.0


def test_prices_from_one_order() -> None:
    informative = 0
    for i, pool in enumerate(generated(24, seed=80, arms=2, rows=3)):
        costs = ((1, 2), (Fraction(3, 2), 1), (3, "0.5"))[i % 3]
        budget = (24, 36)[i % 2]
        rows = Design.of(2, costs=costs, alignment="budget").rows(Fraction(budget), 2, 2)
        truth = _fails(pool, rows)
        model = build_model(pool)
        bound = delta_fail_uniform(model, budget, effort="sharp", costs=costs, alignment="budget")
        assert truth <= bound
        assert i >= 6 or bound == delta_fail_rows(model, rows, effort="sharp", pairing="same")
        informative += bound < 0.9
    assert informative >= 8


def _fails(pool: Small, rows: tuple[int, ...]) -> float:
    """P[the rival is at least as strong], both arms on beginnings of one order."""
    counts, chance = beginnings(pool.p, *rows)
    shares = [drawn / n for drawn, n in zip(counts, rows, strict=True)]
    strengths = np.stack([pool.strengths(share)[:, i] for i, share in enumerate(shares)], axis=1)
    fails = strengths[:, ~pool.best].max(axis=1) >= strengths[:, pool.best].max(axis=1) - TIE
    return float(chance[fails].sum())


def test_the_same_number_of_rows_for_all_is_the_plain_bound() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0], weights=None)
    plain = delta_fail_uniform(pool, 60)
    assert delta_fail_uniform(pool, 90, costs=[1, 2]) == delta_fail_rows(pool, (30, 30), pairing="same")
    assert plain <= delta_fail_uniform(pool, 90, costs=[1, 2])


def test_independent_rows_beyond_the_affine_regime() -> None:
    informative = 0
    for i, small in enumerate(generated(8, seed=90, arms=2, rows=3)):
        pool = wide(small, (1.3, 2.5)[i % 2])
        risks = scores(pool, pool.p[None])[0]
        if abs(risks[0] - risks[1]) < 1e-3:
            continue
        best, rows = int(np.argmin(risks)), ((6, 6), (4, 9))[i % 2]
        data = build_model(pool, best=[best], resolution=1e-6)
        values = [(samples(pool.p, n), n) for n in rows]
        distributions = [(scores(pool, counts / n)[:, arm], chance) for arm, ((counts, chance), n) in enumerate(values)]
        wins = distributions[1 - best][0][:, None] <= distributions[best][0][None, :] + 1e-7
        truth = float(distributions[1 - best][1] @ wins @ distributions[best][1])
        bound = delta_fail_rows(data, rows, effort="sharp")
        assert truth <= bound
        informative += delta_fail_rows(data, (60, 60), effort="sharp") < 0.9
    assert informative >= 2


def penalised_scores(pool: Small, weights: np.ndarray, penalty: tuple[float, float]) -> np.ndarray:
    """min mean loss + penalties of every arm, by the solver of the other package."""
    scores = []
    for gram in pool.grams:
        solved = solve_batch(gram, pool.y.astype(np.int64), pool.theta, weights, penalty=penalty, tol=1e-8)
        scores.append(solved.objective)
    return np.stack(scores, axis=1)


def penalised_cases(factor: float) -> list[tuple[PopulationModel, Small, tuple[float, float], int]]:
    """Pools whose penalty is ``factor`` times the smallest for which the score is quadratic."""
    cases = []
    for i, pool in enumerate(generated(10, seed=100, arms=3, rows=3)):
        kappa = float(np.diagonal(pool.grams, axis1=1, axis2=2).max())
        b = pool.theta / (1 - 2 * pool.theta)
        least = max(kappa / 4, (kappa / 4) * (1 + b) / (1 - pool.theta))
        penalty = (factor * least, factor * least)
        risks = penalised_scores(pool, pool.p[None], penalty)[0]
        best = int(np.argmin(risks))
        if np.delete(risks, best).min() - risks[best] > 1e-4:
            given = {"weights": pool.p, "penalty": penalty, "best": [best], "resolution": 1e-7}
            cases.append(
                (PopulationModel(pool.grams, pool.y, None, pool.theta, **given), pool, penalty, (3, 6, 9)[i % 3])
            )
    return cases


@pytest.mark.parametrize("factor", [1.01, 0.2])
def test_penalised_scores_fail_no_more_often_than_their_bound(factor: float) -> None:
    cases = penalised_cases(factor)
    assert len(cases) >= 6
    informative = 0
    for known_pool, pool, penalty, n in cases:
        assert known_pool.quadratic(n) == (factor >= 1.0)
        counts, chance = samples(pool.p, n)
        values = penalised_scores(pool, counts / n, penalty)
        best = known_pool.best_arms[0]
        fails = np.delete(values, best, axis=1).min(axis=1) <= values[:, best] + 2e-8
        bound = delta_fail_uniform(known_pool, 3 * n, effort="sharp")
        assert float(chance[fails].sum()) <= bound
        informative += delta_fail_uniform(known_pool, 3 * 80, effort="sharp") < 0.9
    assert informative >= 3


def test_a_penalised_score_is_quadratic_where_it_says_so() -> None:
    for data, pool, penalty, n in penalised_cases(1.01)[:4]:
        counts, _ = samples(pool.p, n)
        shares = counts / n
        signed = np.einsum("sx,kxy,sy->sk", shares * pool.y, pool.grams, shares * pool.y)
        plain = np.einsum("sx,kxy,sy->sk", shares, pool.grams, shares)
        expected = 1.0 - signed / (16 * penalty[0]) - plain / (16 * penalty[1])
        np.testing.assert_allclose(penalised_scores(pool, shares, penalty), expected, atol=1e-6)
        np.testing.assert_allclose(data.risks, penalised_scores(pool, pool.p[None], penalty)[0], atol=1e-6)
    # For the sum of losses the penalty falls with the rows, and so does the regime.
    data = PopulationModel(
        pool.grams, pool.y, None, pool.theta, penalty=(9 * penalty[0], 9 * penalty[1]), best=[0], loss="sum"
    )
    assert data.quadratic(9)
    assert not data.quadratic(10)


def test_no_bound_is_above_that_of_the_gaps() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0], weights=None)
    given = {"gaps": [pool.risks.max() - pool.risks.min()], "theta": pool.theta}
    given |= {"kappa_lambda": pool.kappa * pool.radius}
    budgets = 500 * 2 ** np.arange(8)
    older = np.asarray(tighter.delta_fail_uniform(budgets, 2, None, **given))
    at = int(np.argmax(older < 1e-8))
    assert 0.0 < older[at] < 1e-8
    assert delta_fail_uniform(pool, int(budgets[at])) <= older[at] * 1.01


def test_what_no_theorem_covers_is_named() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0], weights=None)
    skewed = build_model(next(pool for pool in generated(8, seed=3) if pool.kind == "skewed"))
    uneven = {"costs": [1, 2], "alignment": "budget", "replacement": False}
    for message, call in (
        ("the same rows for all arms", lambda: delta_fail_uniform(pool, 8, replacement=False, pairing="independent")),
        ("the same number of rows", lambda: delta_fail_uniform(pool, 8, **uneven)),
        ("which arms are left", lambda: delta_fail_median(pool, 40, costs=[1, 2])),
        ("no more rows than the population", lambda: delta_fail_uniform(pool, 10, replacement=False)),
        ("equal weights", lambda: delta_fail_uniform(skewed, 6, replacement=False)),
    ):
        with pytest.raises(AssumptionError, match=message):
            call()
    for message, costs in (("one per arm", [1]), ("positive", [1, 0]), ("positive", [1, "x"])):
        with pytest.raises(ValueError, match=message):
            delta_fail_uniform(pool, 8, costs=costs)
    with pytest.raises(ValueError, match="alignment"):
        delta_fail_uniform(pool, 8, alignment="some")


def test_bad_input_of_a_known_pool_is_named() -> None:
    small = generated(1, seed=11, arms=2, rows=4)[0]
    pool = build_model(small, weights=None)
    given = {"grams": small.grams, "y": small.y, "ball": small.ball, "theta": small.theta}
    for message, call in (
        ("best must be a list", lambda: PopulationModel(**given, best=0)),
        ("grams must be a sequence", lambda: PopulationModel(**given | {"grams": None})),
        ("theta must be a number", lambda: PopulationModel(**given | {"theta": "a"})),
        ("delta must be strictly", lambda: required_budget(pool, "a")),
        ("missed by 190 ", lambda: delta_fail_uniform(pool, 10, costs=[100, 1], alignment="budget")),
        ("population must be None or the 4 rows", lambda: uniform_at(8, data=pool, population=999)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert uniform_at(90, data=pool, costs=np.array([1, 2])) == delta_fail_uniform(pool, 90, costs=[1, 2])
