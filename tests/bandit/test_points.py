"""Pools of more rows than a kernel matrix can hold: the same scores as from the matrix, which is never made."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from exml_sim.bandit import _points as points
from exml_sim.bandit._sampling import RangeSampler
from exml_sim.bandit.rows import FeatureArm, FeaturePool
from exml_sim.engine import run, study
from exml_sim.population import Population
from exml_sim.seeds import Seeds
from tests.engine.studies import features

SCORES = {
    "ball": {"ball": 0.3},
    "objective": {"score": "objective", "penalty": (0.5, 2.0)},
    "risk": {"score": "risk", "penalty": (1.0, 1.0)},
    "mean": {"score": "objective", "penalty": (0.01, 0.02), "loss": "mean"},
}


def cauchy(X, Z):
    """A kernel that only its owner knows."""
    return 1.0 / (1.0 + ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def population(rows=90):
    """Three candidates, the third the best; short rows, so that the linear kernel is in the affine regime, too."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(rows) < 0.5, 1, -1)
    values = {name: 0.3 * (share * y + rng.normal(size=rows)) for name, share in (("a", 0.0), ("b", 1.0), ("c", 3.0))}
    X = 0.2 * rng.normal(size=(rows, 2))
    return Population(X, y, {name: np.clip(column, -1, 1) for name, column in values.items()})


#: A pool whose matrices end at fewer rows than it has.
LargePool = partial(FeaturePool, matrix_rows=40)


@pytest.fixture
def without_matrices(monkeypatch):
    """Fail where a matrix of all rows is made."""
    monkeypatch.setattr(FeatureArm, "gram", property(lambda arm: pytest.fail("a matrix of all rows was made")))


CASES = [(kernel, score) for kernel in ("gaussian", "linear") for score in SCORES] + [(cauchy, "ball")]


@pytest.mark.parametrize(("kernel", "score"), CASES)
def test_the_same_scores_as_from_the_matrix(monkeypatch, kernel, score):
    """The whole population and what trials select; bounds for the full kernel hold the exact minimum."""
    options = {"theta": 0.3, "kernel": kernel, **SCORES[score]}
    exact = FeaturePool(population(), **options)
    truth, best, kappa = exact.population_scores, exact.best_arms(), exact.kappa
    trials = exact.explore_many("median_elimination", 60, 20)
    monkeypatch.setattr(FeatureArm, "gram", property(lambda arm: pytest.fail("a matrix of all rows was made")))
    pool = LargePool(population(), **options)
    result = pool.population_scores
    assert pool.best_arms() == best
    assert pool.kappa == pytest.approx(kappa, rel=1e-14)
    assert result.value == pytest.approx(truth.value, abs=1e-12 if score == "ball" else 1e-6)
    assert np.all(result.lower <= truth.upper)
    assert np.all(result.upper >= truth.lower)
    again = pool.explore_many("median_elimination", 60, 20)
    assert np.array_equal(again.selected, trials.selected)
    assert np.array_equal(again.pulls, trials.pulls)


def test_norms_in_blocks_are_norms():
    """Blocks that do not divide the rows, against one product with the matrix."""
    rows = points.Points(population(90).augmented(1), "gaussian", 0.7)
    weights = np.random.default_rng(1).normal(size=(3, 90))
    gram = rows.gram(np.arange(90))
    for size in (1, 32, 89, 90, 500):
        assert rows.squared_norms(weights, size) == pytest.approx(np.diag(weights @ gram @ weights.T), rel=1e-12)


@pytest.mark.usefixtures("without_matrices")
def test_bounds_that_do_not_tell_the_best_arm_are_refused():
    """The second candidate is nearly the first: the truth that trials are held against would be a guess."""
    rng = np.random.default_rng(0)
    X, values = rng.normal(size=(450, 2)), rng.uniform(-1, 1, 450)
    pair = {"a": values, "nearly a": np.clip(values + 1e-3 * rng.normal(size=450), -1, 1)}
    whole = Population(X, np.where(X[:, 0] > 0, 1, -1), pair)
    pool = LargePool(whole, theta=0.3, gamma=0.01, **SCORES["objective"])
    with pytest.raises(ValueError, match=r"^the low-rank bounds of 450 rows do not separate the best arm"):
        pool.best_arms()


@pytest.mark.parametrize(
    "options",
    [{"ball": 5.0}, {"kernel": cauchy, **SCORES["objective"]}],
    ids=["beyond the affine regime", "own kernel"],
)
def test_what_needs_the_matrix_says_how_much_memory(monkeypatch, options):
    with monkeypatch.context() as small:
        small.setattr(points, "free_memory", lambda: 2**17)
        with pytest.raises(ValueError, match=r"needs the kernel matrix of all 90 rows, 253\.1 KiB .* and 128\.0 KiB"):
            LargePool(population(), theta=0.3, **options).best_arms()
    assert LargePool(population(), theta=0.3, **options).best_arms() == (2,)


def test_studies(monkeypatch):
    """Counted trials run; tilts and confidences, which need the matrix, are refused in one line."""
    monkeypatch.setattr("exml_sim.bandit.rows.FeaturePool", LargePool)
    monkeypatch.setattr(points, "free_memory", lambda: 2**10)
    # Pools that other tests have built have their matrices.
    monkeypatch.setattr(study, "_build_once", study._build_once.__wrapped__)
    with run(features(trials=5), n_jobs=1, progress=False) as result:
        assert sum(entry.trials for entry in result.summary()) == 20
    with pytest.raises(ValueError, match=r"needs the kernel matrix of all 60 rows.*nothing was run"):
        run(features(trials=5, mode="importance_sampling"), n_jobs=1, progress=False)
    pool = LargePool(population(), theta=0.3, ball=0.3)
    with pytest.raises(ValueError, match="and at most 6,000 rows"):
        pool.open(pool.explore_many("uniform_allocation", 30, 1).seeds).evidence(*([None] * 5))


def test_a_large_pool_keeps_no_counts(monkeypatch):
    """Large arms on rows drawn with replacement choose ranges by themselves, and a trial's counts are the same."""
    monkeypatch.setattr(FeatureArm, "gram", property(lambda arm: pytest.fail("a matrix of all rows was made")))
    pool = LargePool(population(), theta=0.3, **SCORES["ball"])
    assert pool.sparse
    assert isinstance(pool.open(Seeds.of(0))._sampler, RangeSampler)
    assert not LargePool(population(), theta=0.3, replacement="never", **SCORES["ball"]).sparse
    alone = pool.explore("median_elimination", 60, rng=3)
    monkeypatch.undo()
    exact = FeaturePool(population(), theta=0.3, **SCORES["ball"]).explore("median_elimination", 60, rng=3)
    assert np.array_equal(alone.counts, exact.counts)
