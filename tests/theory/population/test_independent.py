"""Rows of its own for every arm: bounds against enumeration of both samples, and planted errors."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from tests.theory.population.small_pools import (
    TIE,
    Small,
    build_model,
    compute_ratio,
    evaluate_form,
    generated,
    random_weights,
    samples,
)
from theory.population import _probability as probability
from theory.population import delta_fail_median, delta_fail_rows, delta_fail_uniform, required_budget
from theory.population._moments import conditional_moments
from theory.population._probability import add_independent, two_samples


def exact(pool: Small, rows: tuple[int, ...]) -> float:
    """P[the arm with the largest strength is no best arm], every arm on its own rows; ties count as failures."""
    distributions = []
    for arm, n in enumerate(rows):
        counts, chance = samples(pool.p, n)
        distributions.append((pool.strengths(counts / n)[:, arm], chance))
    good, bad = (
        _largest([pair for pair, is_best in zip(distributions, pool.best, strict=True) if is_best == side])
        for side in (True, False)
    )
    below = np.concatenate([[0.0], np.cumsum(good[1])])
    return float(bad[1] @ below[np.searchsorted(good[0], bad[0] + TIE, side="right")])


def _largest(distributions: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of the largest of independent numbers, sorted."""
    values, chance = distributions[0]
    for more, weight in distributions[1:]:
        values = np.maximum.outer(values, more).ravel()
        chance = np.multiply.outer(chance, weight).ravel()
    order = np.argsort(values)
    return values[order], chance[order]


def cases() -> list[tuple[Small, tuple[int, ...]]]:
    sizes = ((3, 3), (6, 6), (9, 5), (4, 12), (14, 14))
    return [(pool, sizes[i % 5]) for i, pool in enumerate(generated(40, seed=40, arms=2, rows=3))]


def ratios(effort: str) -> np.ndarray:
    seen = []
    for pool, rows in cases():
        seen.append(compute_ratio(delta_fail_rows(build_model(pool), rows, effort=effort), exact(pool, rows)))
    return np.array(seen)


@pytest.mark.parametrize("effort", ["quick", "sharp"])
def test_bounds_for_independent_rows_are_never_below_the_exact_probability(effort: str) -> None:
    result = ratios(effort)
    assert result.min() >= 1.0
    assert np.sum(np.isfinite(result) & (result > 1.0)) >= 20


def form_ratios(order: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    seen = []
    for _ in range(60):
        m, n, k = int(rng.integers(2, 4)), int(rng.integers(2, 7)), int(rng.integers(2, 7))
        S, T = (0.5 * (M + M.T) - rng.uniform(0.0, 1.0) for M in rng.normal(size=(2, m, m)))
        p = random_weights(rng, m)
        (a, u), (b, v) = samples(p, n), samples(p, k)
        sums = np.add.outer(evaluate_form(S, a) / n**2, evaluate_form(T, b) / k**2)
        truth = float(np.multiply.outer(u, v)[sums >= 0].sum())
        seen.append(compute_ratio(two_samples(S, n, T, k, p, order=order), truth))
    return np.array(seen)


@pytest.mark.parametrize("order", [2, 4])
def test_forms_of_two_samples_are_never_below_the_exact_probability(order: int) -> None:
    assert form_ratios(order).min() >= 1.0


def moments_of_a_sum() -> tuple[np.ndarray, np.ndarray]:
    """E (U + U')^r for r = 1, ..., 4: from the joint distribution, and from the moments of the two."""
    rng = np.random.default_rng(9)
    p, step = np.array([0.2, 0.3, 0.5]), 0.05
    forms = rng.normal(size=(2, 3, 3))
    entry, two = (conditional_moments(M + M.T, p, n, order=4, step=step) for M, n in zip(forms, (4, 6), strict=True))
    joint = add_independent(entry, two, step)
    a, b = ([1.0, *(part.moments[r].sum() * part.unit ** (r + 1) for r in range(4))] for part in (entry, two))
    wanted = [sum(comb(r, j) * a[j] * b[r - j] for j in range(r + 1)) for r in range(1, 5)]
    return np.array([joint.moments[r].sum() * joint.unit ** (r + 1) for r in range(4)]), np.array(wanted)


def test_moments_of_a_sum_are_binomial_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(*moments_of_a_sum(), rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(probability, "comb", lambda r, j: 1.0)
    result, wanted = moments_of_a_sum()
    assert abs(result[3] / wanted[3] - 1.0) > 0.01


def test_both_strategies_take_independent_rows() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0])
    budget = required_budget(pool, 0.05, effort="sharp", pairing="independent")
    assert delta_fail_uniform(pool, budget, effort="sharp", pairing="independent") <= 0.05
    assert delta_fail_median(pool, budget, effort="sharp", pairing="independent") <= 0.05
    assert delta_fail_rows(pool, (budget // 2, budget // 2), effort="sharp") <= 0.05


def test_bad_rows_are_refused() -> None:
    pool = build_model(generated(1, seed=11, arms=2, rows=4)[0])
    for rows in ((3,), (3, 0), (3, 2.5)):
        with pytest.raises(ValueError, match="whole number"):
            delta_fail_rows(pool, rows)
    with pytest.raises(ValueError, match="pairing"):
        delta_fail_uniform(pool, 8, pairing="some")
