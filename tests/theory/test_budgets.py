"""Inverse questions: the answer works and the one before it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.points import BoundProblem, points
from theory import corrected, formulas, paper, tighter
from theory.budgets import launch_budget, required_budget

FAILURE_BOUNDS = [
    paper.delta_fail_uniform,
    paper.delta_fail_median,
    corrected.delta_fail_uniform,
    corrected.delta_fail_median,
    tighter.delta_fail_uniform,
    tighter.delta_fail_median,
]


def name(bound: Any) -> str:
    return f"{bound.__module__}.{bound.__name__}"


@pytest.mark.parametrize("bound", FAILURE_BOUNDS, ids=name)
@settings(max_examples=20)
@given(p=points(), log_delta=st.floats(-30, -0.1))
def test_required_budget_is_exact(bound: Any, p: BoundProblem, log_delta: float) -> None:
    parameters = {"K": p.K, "gap": p.gap, "theta": p.theta, "kappa_lambda": p.r}
    delta = float(np.exp(log_delta))
    budget = required_budget(bound, delta, **parameters)
    assert bound(budget, **parameters, log=True) <= np.log(delta)
    before = bound(budget - 1, **parameters, strict=False, log=True)
    assert np.isnan(before) or before > np.log(delta)


@pytest.mark.parametrize("bound", FAILURE_BOUNDS, ids=name)
@settings(max_examples=20)
@given(p=points())
def test_launch_budget_is_exact(bound: Any, p: BoundProblem) -> None:
    parameters = {"K": p.K, "gap": p.gap, "theta": p.theta, "kappa_lambda": p.r}
    budget = launch_budget(bound, **parameters)
    assert not np.isnan(bound(budget, **parameters))
    assert np.isnan(bound(budget - 1, **parameters, strict=False))


def test_the_numbers_of_the_issue() -> None:
    """Rows per arm for delta_fail <= 0.05 at K = 8, theta = 0.1, kappa*Lambda = 0.5, gap = 0.2."""
    point = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    rows = {name(bound): required_budget(bound, 0.05, **point) / 8 for bound in FAILURE_BOUNDS}
    assert rows["theory.paper.delta_fail_uniform"] == 4175
    assert rows["theory.corrected.delta_fail_uniform"] == 786
    assert rows["theory.tighter.delta_fail_uniform"] == 300
    assert rows["theory.tighter.delta_fail_median"] < rows["theory.corrected.delta_fail_median"]


def test_other_bounds_have_inverses_too() -> None:
    with pytest.raises(ValueError, match="the target must be positive"):
        required_budget(paper.delta_fail_uniform, 0.0, K=8)
    n = required_budget(tighter.lemma_4, 0.01, gap=0.2, theta=0.1, kappa_lambda=0.5)
    assert tighter.lemma_4(n, 0.2, 0.1, 0.5) <= 0.01 < tighter.lemma_4(n - 1, 0.2, 0.1, 0.5)
    m = required_budget(paper.lemma_3, 0.1, theta=0.1, kappa_lambda=0.5, delta=0.05)
    assert paper.lemma_3(m, 0.1, 0.5, 0.05) <= 0.1 < paper.lemma_3(m - 1, 0.1, 0.5, 0.05)
    budget = required_budget(tighter.excess_risk_uniform, 0.1, K=8, theta=0.1, kappa_lambda=0.5, delta=0.05)
    assert tighter.excess_risk_uniform(budget, 8, 0.1, 0.5, 0.05) <= 0.1
    assert tighter.excess_risk_uniform(budget - 1, 8, 0.1, 0.5, 0.05) > 0.1
    regret = {"K": 8, "gap": 0.3, "theta": 0.1, "kappa_lambda": 0.5, "delta": 0.05}
    budget = required_budget(paper.exploratory_regret_median, 0.05, **regret)
    assert paper.exploratory_regret_median(budget, **regret) <= 0.05
    assert not paper.exploratory_regret_median(budget - 1, **regret, strict=False) <= 0.05


def test_without_replacement_the_budget_ends_with_the_population() -> None:
    point = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    for population in (150, 206, 600, 10**5):
        budget = required_budget(tighter.delta_fail_uniform, 0.05, **point, population=population)
        assert budget <= 8 * population
        assert tighter.delta_fail_uniform(budget, **point, population=population) <= 0.05
        before = tighter.delta_fail_uniform(budget - 1, **point, population=population, strict=False)
        assert not before <= 0.05
    assert budget <= 2400
    everything = required_budget(tighter.delta_fail_uniform, 1e-300, **point, population=50)
    assert everything == 400
    with pytest.raises(ValueError, match=r"no budget up to \d+ brings delta_fail_median to 1e-12"):
        required_budget(tighter.delta_fail_median, 1e-12, **point, population=5)


def first_and_settled(bound: Any, target: float, limit: int, **point: Any) -> tuple[int, int]:
    """The first budget that works, and the first from which on all up to the limit do, by trying every one."""
    budgets = np.arange(1, limit + 1)
    works = np.asarray(bound(budgets, **point, strict=False, log=True)) <= np.log(target)
    return int(budgets[np.argmax(works)]), int(budgets[-1] - np.argmin(works[::-1]) + 1)


@pytest.mark.parametrize("bound", FAILURE_BOUNDS, ids=name)
@pytest.mark.parametrize("K", [2, 3, 5, 7, 8, 9])
def test_our_bounds_are_monotone(bound: Any, K: int) -> None:
    """Every budget up to past the answer is evaluated: floors never make the bound rise."""
    point = {"K": K, "gap": 0.45, "theta": 0.1, "kappa_lambda": 0.5}
    answer = required_budget(bound, 0.3, **point)
    limit = answer + 500
    assert first_and_settled(bound, 0.3, limit, **point) == (answer, answer)
    values = np.asarray(bound(np.arange(1, limit), **point, strict=False, log=True))
    assert np.all(np.diff(values[~np.isnan(values)]) <= 1e-12)


UNEVEN = [0.12, 0.19, 0.24, 0.24, 0.24, 0.25, 0.3]


@pytest.mark.parametrize("bound", [tighter.delta_fail_uniform, tighter.delta_fail_median], ids=name)
@pytest.mark.parametrize("target", [0.8586, 0.842, 0.5, 0.05])
def test_per_arm_bounds_are_monotone_too(bound: Any, target: float) -> None:
    """A split that followed the number of rows made the bound rise between 24 and 28 rows per arm."""
    point = {"K": 8, "gap": None, "gaps": UNEVEN, "theta": 0.1, "kappa_lambda": 0.3}
    answer = required_budget(bound, target, **point)
    assert first_and_settled(bound, target, answer + 3000, **point) == (answer, answer)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    K=st.integers(3, 9),
    theta=st.floats(0.02, 0.45),
    r=st.floats(0.1, 2.0),
    ties=st.integers(0, 3),
    options=st.sampled_from([{}, {"pairing": "arbitrary"}, {"kernel": "nonnegative"}, {"population": 10**4}]),
)
def test_per_arm_bounds_never_rise(
    seed: int, K: int, theta: float, r: float, ties: int, options: dict[str, Any]
) -> None:
    gaps = np.random.default_rng(seed).uniform(0.05, 1, K - 1) * float(formulas.gap_ceiling(theta, r))
    gaps[: min(ties, K - 2)] = 0.0
    rounds = (K - 1).bit_length()
    budgets = np.unique(np.geomspace(1, 2000, 400).astype(int)) * K * rounds
    calls = [
        (tighter.delta_fail_uniform, {}),
        *((tighter.delta_fail_median, {"rows": x}) for x in ("fresh", "accumulated")),
    ]
    for bound, more in calls:
        values = np.asarray(bound(budgets, K, None, theta, r, gaps=gaps, strict=False, log=True, **more, **options))
        values = values[~np.isnan(values)]
        assert np.all(np.diff(values) <= 1e-9 * np.maximum(1.0, np.abs(values[1:])))
