"""Rules with a confidence: exact attacks on their e-values, failures at the stop, money against textbook rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, xlogy

from benchmarks.textbook import kl_lucb, top_two_thompson
from exml_sim.bandit._evidence import ParametricEvidence
from exml_sim.bandit.parametric import BoundedArm, GaussianArm
from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.runner import run
from exml_sim.engine.study import Study
from exml_sim.seeds import Seeds
from exml_sim.strategies import by_name, fixed_confidence
from tests.bandit.losses import LossPool
from tests.bandit.test_selection_report import feature_pool
from theory.verdicts import judge

FIXED_CONFIDENCE = ("kl_lucb", "successive_elimination", "top_two_stopping", "ugap_ec")


def log_e(s_u: float, n_u: int, s_v: float, n_v: int, epsilon: float = 0.0) -> float:
    """What the kernel gives for two arms with values in [0, 1], the first being the leader."""
    state = ParametricEvidence(0.0, 1.0, np.zeros(2), 1)
    sums, pulls = np.array([[s_u, s_v]]), np.array([[n_u, n_v]])
    result = state.update(sums, pulls, np.array([0]), np.array([True]), 3.0, epsilon, True)
    return float(result.against[0, 1])


def slow_log_e(s_u: float, n_u: int, s_v: float, n_v: int, epsilon: float = 0.0) -> float:
    """Mixtures by beta functions, the least favourable means by trying all."""
    mixture = betaln(s_u + 0.5, n_u - s_u + 0.5) + betaln(s_v + 0.5, n_v - s_v + 0.5) - 2.0 * math.log(math.pi)
    x = np.linspace(0.0, 1.0 - epsilon, 200_001)
    likelihood = xlogy(s_v, x) + xlogy(n_v - s_v, 1.0 - x)
    likelihood += xlogy(s_u, x + epsilon) + xlogy(n_u - s_u, np.maximum(1.0 - x - epsilon, 0.0))
    return float(mixture - likelihood.max())


@pytest.mark.parametrize(("s_u", "n_u", "s_v", "n_v"), [(3, 10, 6, 12), (0, 8, 8, 8), (0, 5, 0, 9), (20, 70, 31, 60)])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
def test_e_values_are_those_of_the_formula(s_u: int, n_u: int, s_v: int, n_v: int, epsilon: float) -> None:
    assert log_e(s_u, n_u, s_v, n_v, epsilon) == pytest.approx(slow_log_e(s_u, n_u, s_v, n_v, epsilon), abs=1e-6)


def crossing(mean_u: float, mean_v: float, bar: float, horizon: int, price: bool = True) -> float:
    """Exact probability that u, not better than v, is ever sure to be: all counts after 1, 2, … pulls of both."""
    alive = np.ones((1, 1))
    crossed = 0.0
    for n in range(1, horizon + 1):
        step = np.outer([1.0 - mean_u, mean_u], [1.0 - mean_v, mean_v])
        grown = np.zeros((n + 1, n + 1))
        for i in range(2):
            for j in range(2):
                grown[i : i + n, j : j + n] += step[i, j] * alive
        for s_u in range(n + 1):
            for s_v in range(s_u, n + 1):
                extra = 0.0 if price else math.log(n) + math.log(math.pi)
                if grown[s_u, s_v] > 0.0 and log_e(s_u, n, s_v, n) + extra >= bar:
                    crossed += grown[s_u, s_v]
                    grown[s_u, s_v] = 0.0
        alive = grown
    return crossed


@pytest.mark.parametrize("means", [(0.5, 0.5), (0.2, 0.2), (0.6, 0.5)])
def test_exactly_no_pair_is_confident_and_wrong_too_often(means: tuple[float, float]) -> None:
    delta = 0.2
    assert crossing(*means, -math.log(delta), 24) <= delta


def test_the_test_sees_a_likelihood_ratio_without_its_price() -> None:
    """A planted error: the bare generalised likelihood ratio at every interim analysis."""
    assert crossing(0.5, 0.5, -math.log(0.2), 24, price=False) > 0.2


@pytest.mark.parametrize("name", FIXED_CONFIDENCE)
@pytest.mark.parametrize("pool", [
    LossPool.bernoulli([0.3, 0.35, 0.5]),
    LossPool([GaussianArm(0.0), GaussianArm(0.2), GaussianArm(1.0, 0.5)]),
    LossPool([BoundedArm((0.0, 0.5, 2.0), (0.4, 0.4, 0.2)), BoundedArm((0.5, 1.0), (0.5, 0.5))]),
], ids=["bernoulli", "gaussian", "bounded"])  # fmt: skip
def test_failures_at_the_stop_stay_below_delta(name: str, pool: LossPool) -> None:
    batch = pool.explore_many(by_name(name, confidence=0.9), 20_000, 400)
    assert batch.confident is not None
    assert batch.confident.mean() > 0.9
    wrong = int((batch.failures(pool.best_arms()) & batch.confident).sum())
    assert judge(wrong, len(batch), 0.1).outcome != "refuted"


def test_a_verdict_catches_a_rule_that_forgets_the_other_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted error: sure as soon as one arm is beaten, not all of them."""

    def one_is_enough(active: Any, leader: Any, against: Any, bar: float) -> Any:
        return np.where(np.isfinite(against), against, -np.inf).max(axis=1) >= bar

    monkeypatch.setattr(fixed_confidence, "_is_decided", one_is_enough)
    pool = LossPool.bernoulli([0.3, 0.35, 0.9])
    batch = pool.explore_many(by_name("successive_elimination"), 20_000, 400)
    assert batch.confident is not None
    assert judge(int((batch.failures([0]) & batch.confident).sum()), 400, 0.05).outcome == "refuted"


@pytest.mark.parametrize(("name", "peer"), [("kl_lucb", kl_lucb), ("top_two_stopping", top_two_thompson)])
def test_money_against_the_textbook(name: str, peer: Any) -> None:
    means = [0.1, 0.7, 0.7]
    rng = np.random.default_rng(0)
    theirs = np.mean([peer(means, 0.05, rng)[1] for _ in range(25)])
    ours = LossPool.bernoulli(means).explore_many(by_name(name), 10_000, 400).spent_units.mean()
    assert ours <= 1.2 * theirs


@pytest.mark.parametrize("name", [*FIXED_CONFIDENCE, "ocba", "ugap_eb"])
def test_many_trials_are_single_trials(name: str) -> None:
    pool = feature_pool((0, 40, 90))
    batch = pool.explore_many(by_name(name), 400, 6, seed=3)
    for i in range(6):
        alone = pool.explore(by_name(name), 400, Seeds.of(3, i))
        assert alone.selected == batch.selected[i, 0]
        assert alone.ledger.spent / pool.prices.unit == batch.spent_units[i]
        assert alone.confident == (None if batch.confident is None else bool(batch.confident[i]))


def test_an_easy_pool_is_cheap_and_a_tie_costs_everything() -> None:
    easy = LossPool.bernoulli([0.1, 0.9]).explore_many("successive_elimination", 1_000, 200)
    tie = LossPool.bernoulli([0.5, 0.5]).explore_many("successive_elimination", 1_000, 200)
    assert easy.confident is not None
    assert easy.confident.all()
    assert easy.spent_units.mean() < 60
    assert tie.confident is not None
    assert tie.confident.mean() < 0.1
    assert np.median(tie.spent_units) >= 990


def test_an_epsilon_ends_a_tie() -> None:
    tie = LossPool.bernoulli([0.5, 0.5, 0.9])
    for name in FIXED_CONFIDENCE:
        batch = tie.explore_many(by_name(name, epsilon=0.2), 20_000, 100)
        assert batch.confident is not None
        assert batch.confident.all()
        assert (batch.selected[:, 0] != 2).all()


def test_one_arm_is_confident_at_once_and_rows_may_run_out() -> None:
    assert LossPool.bernoulli([0.5]).explore("successive_elimination", 100).confident
    pool = FeaturePool(feature_pool((70, 90)).population, theta=0.1, ball=0.8, replacement="never", shortfall="cap")
    result = pool.explore(by_name("successive_elimination", confidence=1 - 1e-12), 10_000)
    assert result.confident is False
    assert result.ledger.spent == 2 * pool.n_rows


def test_a_study_counts_cost_until_confident() -> None:
    study = Study(
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.2, 0.6]}],  # type: ignore[arg-type]
        strategies=["successive_elimination", {"name": "successive_elimination", "confidence": 0.999}],  # type: ignore[arg-type]
        budgets={"absolute": ["2000"]},  # type: ignore[arg-type]
        trials=300,
        mode="fixed_confidence",
    )
    with run(study) as result:
        usual, surer = result.costs()
        assert usual["confident"] == surer["confident"] == 1.0
        assert usual["mean"] < surer["mean"]
        assert usual["quantile 0.1"] <= usual["quantile 0.5"] <= usual["quantile 0.9"]
        assert result.summary()[0].mean_spend == pytest.approx(usual["mean"])
        spent = sorted(float(line["spent"]) for line in result.rows() if line["cell"] == 0)
        assert usual["quantile 0.5"] == spent[149]


def test_no_guarantee_no_rule() -> None:
    population = feature_pool((0, 90)).population
    with pytest.raises(ValueError, match="needs scores over a ball in the affine regime"):
        FeaturePool(population, theta=0.1, ball=5.0).explore("successive_elimination", 100)
    with pytest.raises(ValueError, match="needs replacement 'always' or 'never', got 'across'"):
        FeaturePool(population, theta=0.1, ball=0.8, replacement="across").explore("successive_elimination", 100)
    study = Study(
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.2, 0.6]}],  # type: ignore[arg-type]
        strategies=["top_two"],  # type: ignore[arg-type]
        budgets={"absolute": ["2000"]},  # type: ignore[arg-type]
        mode="fixed_confidence",
    )
    with pytest.raises(
        ValueError,
        match="mode 'fixed_confidence' is for strategies with a confidence, and 'top_two' spends a fixed budget",
    ):
        run(study)
