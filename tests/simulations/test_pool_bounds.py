"""Which bounds apply to which cell, and why none does."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.engine import Study
from simulations.pool_bounds import LEVELS, PointBounds, PoolBounds, bounds_of
from tests.engine.studies import FEATURES, features, known
from theory import corrected, paper, tighter


def of(study: Study, cell: int = 0):
    return bounds_of(study, study.cells()[cell])


def test_a_feature_pool_over_the_ball() -> None:
    study = features()
    uniform, median = of(study, 0), of(study, 1)
    pool = study.pool(study.cells()[0])
    assert (uniform.strategy, median.strategy, median.rows) == ("uniform", "median", "accumulated")
    assert uniform.gaps == tuple(sorted(pool.gaps.tolist())[1:])
    assert (uniform.K, uniform.gap, uniform.best_count) == (5, pool.gap, 1)
    assert (uniform.theta, uniform.kappa_lambda, uniform.kernel) == (0.3, pytest.approx(0.4), "nonnegative")


def test_bounds_are_those_of_the_theory() -> None:
    one = PoolBounds("median", (0.0, 0.1, 0.2), 0.1, 0.5, kernel="nonnegative", rows="fresh", pairing="independent")
    B = np.array([400, 40_000])
    point = {"K": 4, "theta": 0.1, "kappa_lambda": 0.5}
    wanted = {
        "paper": paper.delta_fail_median(B, gap=0.1, **point, strict=False),
        "corrected": corrected.delta_fail_median(B, gap=0.1, best_count=2, rows="fresh", **point, strict=False),
        "tighter": tighter.delta_fail_median(
            B, gap=None, gaps=[0.0, 0.1, 0.2], rows="fresh", pairing="independent", kernel="nonnegative", **point
        ),
    }
    for level in LEVELS:
        np.testing.assert_array_equal(one.bound(level, B), wanted[level])
        launch = one.launch(level)
        assert np.isfinite(one.bound(level, launch)[0])
    assert [float(rung.value) for rung in one.ladder(40_000)][-1] == wanted["tighter"][1]
    assert np.isnan(one.bound("paper", one.launch("paper") - 1)[0])


def test_no_bound_is_about_a_pool_that_cannot_exist() -> None:
    """The smallest gap is below the ceiling 0.06, the largest is not: the first two levels see only the former."""
    one = PoolBounds("uniform", (0.054, 0.08), 0.1, 0.06)
    assert not one.possible
    assert corrected.delta_fail_uniform(50_000, 3, 0.054, 0.1, 0.06) < 1e-100
    for level in LEVELS:
        assert np.isnan(one.bound(level, [50_000])).all()
        assert (one.required(level, 0.05), one.launch(level), one.informative(level)) == (None, None, None)
    assert PoolBounds("uniform", (0.054, 0.06), 0.1, 0.06).required("corrected", 0.05) is not None


def test_one_gap_for_all_is_the_same_gap_for_each() -> None:
    for strategy in ("uniform", "median"):
        each = PoolBounds(strategy, (0.2,) * 7, 0.1, 0.5, population=2000)
        same = PointBounds(strategy, 8, 0.2, 0.1, 0.5, population=2000)
        for level in LEVELS:
            assert same.launch(level) == each.launch(level)
            assert same.required(level, 0.05) == each.required(level, 0.05)
            np.testing.assert_allclose(same.bound(level, [9000]), each.bound(level, [9000]), rtol=1e-9)


def test_without_replacement_the_population_ends_the_bounds() -> None:
    study = features(sampling={"replacement": "never"}, budgets={"per_arm": [8]}, strategies=["uniform_allocation"])
    found = of(study)
    assert found.population == 60
    assert np.isfinite(found.bound("tighter", 60 * 5)[0])
    assert np.isnan(found.bound("tighter", 61 * 5)[0])


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        (known(), "known distributions"),
        (features(mode="excess", pools=[FEATURES["pools"][0] | {"gamma": 1.0}]), "redrawn"),
        (features(scores=[{"score": "risk", "theta": 0.3}]), "norm ball"),
        (features(pools=[FEATURES["pools"][0] | {"costs": ["1", "1", "1", "1", "2"]}]), "costs 1"),
        (features(strategies=["successive_rejects"]), "no bound for successive_rejects"),
        (features(strategies=[{"name": "uniform_allocation", "top": 2}]), "no bound"),
        (
            features(strategies=[{"name": "median_elimination", "reuse": False}], sampling={"replacement": "never"}),
            "no theorem covers fresh rows",
        ),
        (
            features(strategies=["median_elimination"], sampling={"replacement": "across"}),
            "no theorem covers accumulated rows",
        ),
    ],
)
def test_reasons(study, reason) -> None:
    assert reason in of(study)


def test_equal_arms_have_no_gap() -> None:
    table = {"kind": "atoms", "values": [[1, 0.5], [1, 0.5]], "y": [1, -1]}
    study = Study(pools=[table], scores=[{"ball": 0.3}], strategies=["uniform_allocation"], budgets={"per_arm": [4]})
    assert "no gap" in of(study)
