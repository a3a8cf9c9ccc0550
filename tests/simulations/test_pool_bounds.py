"""Which bounds apply to which cell, and why none does; pools of the theory as pools of the engine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exml_sim.engine import Sampling, Study, build_pool
from simulations._pool_bounds import atom_pool, ball_score, bounds_of
from tests.engine.studies import FEATURES, features, known
from theory.claims._instances import POOLS


def of(study: Study, cell: int = 0):
    return bounds_of(study, study.cells()[cell])


def test_a_feature_pool_over_the_ball() -> None:
    study = features()
    (kind, uniform), (other, median) = of(study, 0), of(study, 1)
    pool = study.pool(study.cells()[0])
    assert (kind, other, median.rows) == ("uniform", "median", "accumulated")
    assert uniform.gaps == tuple(sorted(pool.gaps.tolist())[1:])
    assert (uniform.K, uniform.gap, uniform.best_count) == (5, pool.gap, 1)
    assert (uniform.theta, uniform.kappa_lambda, uniform.kernel) == (0.3, pytest.approx(0.4), "nonnegative")


def test_without_replacement_the_population_ends_the_bounds() -> None:
    study = features(sampling={"replacement": "never"}, budgets={"per_arm": [8]}, strategies=["uniform_allocation"])
    kind, result = of(study)
    assert result.population == 60
    assert np.isfinite(result.bound("tighter", kind, 60 * 5))
    assert np.isnan(result.bound("tighter", kind, 61 * 5))


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        (known(), "known distributions"),
        (features(mode="excess_risk", pools=[FEATURES["pools"][0] | {"gamma": 1.0}]), "redrawn"),
        (features(scores=[{"score": "risk", "theta": 0.3}]), "norm ball"),
        (features(strategies=["successive_rejects"]), "no bound for successive_rejects"),
        (features(strategies=[{"name": "uniform_allocation", "top": 2}]), "no bound"),
        (
            features(
                strategies=[{"name": "median_elimination", "accumulate": False}], sampling={"replacement": "never"}
            ),
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
    table = {"kind": "finite_support", "values": [[1, 0.5], [1, 0.5]], "y": [1, -1]}
    study = Study(pools=[table], scores=[{"ball": 0.3}], strategies=["uniform_allocation"], budgets={"per_arm": [4]})
    assert "no gap" in of(study)


def test_prices_and_penalties_are_for_the_bound_of_the_pool_only() -> None:
    costs = ["1", "1", "1", "1", "2"]
    priced = features(pools=[FEATURES["pools"][0] | {"costs": costs}], budgets={"absolute": [60]})
    kind, point = of(priced)
    assert (kind, point.plain) == ("uniform", False)
    assert "costs 1" in point.declined("tighter", kind)
    assert point.declined("population", kind) == ""
    assert "which arms are left" in point.declined("population", "median")
    # Sixty units of money are ten rows for each of the arms that cost six together.
    even, rows = of(features(budgets={"absolute": [50]}))
    assert float(point.bound("population", kind, 60)) >= float(rows.bound("population", even, 50))
    assert float(point.bound("population", kind, 60)) <= float(rows.bound("population", even, 45))
    penalised = features(scores=[{"score": "objective", "theta": 0.3, "penalty": [2.0, 2.0], "loss": "mean"}])
    kind, point = of(penalised)
    assert "norm ball" in point.declined("corrected", kind)
    assert point.data.quadratic(10)
    assert 0.0 < float(point.bound("population", kind, 4000)) < 1.0


# --- pools of a few kinds of rows, for the theory and for the engine -------------------------------------------------

NAMES = sorted(POOLS)


def risks(spec, pool):
    return [float(risk) for risk in build_pool(spec, ball_score(pool), Sampling()).risks]


@pytest.mark.parametrize("name", NAMES)
def test_gaps_are_those_of_the_exact_pool(name):
    pool = POOLS[name]()
    result = risks(atom_pool(pool, name), pool)
    assert [entry - min(result) for entry in result] == pytest.approx([float(gap) for gap in pool.gaps()], abs=1e-9)
    assert atom_pool(pool, name).label == name


def test_copies_are_in_proportion_to_the_weights():
    pool = next(entry for entry in (POOLS[name]() for name in NAMES) if entry.weights != entry.weights[::-1])
    copies = atom_pool(pool).copies
    assert [Fraction(entry, sum(copies)) for entry in copies] == list(pool.weights)
    doubled = atom_pool(pool, copies=[2 * entry for entry in copies])
    assert risks(doubled, pool) == pytest.approx(risks(atom_pool(pool), pool))
    wrong = replace(atom_pool(pool), copies=copies[::-1])
    assert risks(wrong, pool) != pytest.approx(risks(atom_pool(pool), pool))
