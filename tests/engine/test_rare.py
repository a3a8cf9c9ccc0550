"""Rare failures: weights without bias, and intervals that cover exact probabilities down to 1e-12."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from scipy.stats import binom

from exml_sim.engine import Study, run
from exml_sim.engine import rare as rare_module
from exml_sim.engine.rare import tilted_trials
from exml_sim.engine.tilting import PLAIN
from tests.engine.studies import features, known
from tests.engine.test_enumeration import RULES, atoms

#: One arm is clearly better on the frequent atom.
VALUES = [[1, 0.75, 0.5], [0.5, 1, 0.75], [0.25, 0.5, 1]]


def curve(mode: str, trials: int = 4000, **options) -> Study:
    """Failure probabilities from 1e-1 to 1e-5, under all strategies."""
    given = {"budgets": {"per_arm": [6, 24]}} | options
    return atoms(VALUES, (1, 1, 1), (30, 6, 6), mode=mode, trials=trials, **given)


def deep(mode: str, trials: int = 4000, **options) -> Study:
    """Failure probabilities down to 1e-12 and far beyond, with independent rows and with the same rows."""
    given = {"strategies": RULES[:2], "budgets": {"per_arm": [6, 20, 40]}} | options
    return atoms([[1, 0.5], [0.25, 0.75]], (1, 1), (30, 10), mode=mode, trials=trials, **given)


def distance(study: Study, truth: Study) -> list[tuple[float, float, float]]:
    """Exact probability, distance in standard errors, and relative standard error of every cell."""
    found = []
    for one, exact in zip(run(study).summary(0.6826894921), run(truth).summary(), strict=True):
        error = (one.upper - one.lower) / 2
        found.append((exact.failure_rate, abs(one.failure_rate - exact.failure_rate) / error, error / one.failure_rate))
    return found


@pytest.mark.parametrize("rows", ["same", "independent"])
def test_against_exact_probabilities_down_to_1e_12(rows):
    """At most 5.5 standard errors off, each: false alarm below 1e-6 in all. The weight of 4000 trials is enough."""
    options = {"sampling": {"rows": rows}}
    if rows == "same":
        options["budgets"] = {"per_arm": [12, 40, 100]}
    found = distance(deep("rare", **options), deep("exact", **options))
    assert min(p for p, _, _ in found) < 1e-12 < 1e-6 < max(p for p, _, _ in found)
    for _, z, relative in found:
        assert z < 5.5
        assert relative < 0.1


def test_strategies_with_rounds_against_exact_probabilities():
    for _, z, relative in distance(curve("rare"), curve("exact")):
        assert z < 5.5
        assert relative < 0.06


def test_weights_have_mean_one_and_are_bounded():
    """The weights are a likelihood ratio: within 5.5 standard errors of mean 1 in each of six cells."""
    study = curve("rare", trials=4000)
    for cell in study.cells():
        _, weights = tilted_trials(study, cell, range(4000))
        assert weights.max() <= 1 / PLAIN + 1e-9
        assert abs(weights.mean() - 1) < 5.5 * weights.std() / np.sqrt(4000)


def test_a_wrong_likelihood_ratio_is_caught(monkeypatch):
    """Ratios that are off by two parts in a hundred fail the comparison with exact probabilities."""
    original = rare_module.Tables

    def wrong(mixture):
        tables = original(mixture)
        tables.log_ratio *= 1.02
        return tables

    monkeypatch.setattr(rare_module, "Tables", wrong)
    monkeypatch.setattr(rare_module, "_KEPT", OrderedDict())
    options = {"sampling": {"rows": "independent"}}
    assert max(z for _, z, _ in distance(deep("rare", **options), deep("exact", **options))) > 5.5


def test_intervals_cover():
    """Of 100 intervals at 95 % at least 80 cover; fewer have probability below 1e-7."""
    assert binom.cdf(79, 100, 0.95) < 1e-7
    options = {"strategies": RULES[:1], "budgets": {"per_arm": [40]}, "sampling": {"rows": "independent"}}
    (truth,) = run(deep("exact", **options)).summary()
    hits = 0
    for seed in range(100):
        (one,) = run(deep("rare", trials=500, seed=seed, **options), n_jobs=1).summary()
        hits += one.lower <= truth.failure_rate <= one.upper
    assert hits >= 80


def test_results_do_not_depend_on_blocks_or_workers():
    study = curve("rare", trials=300)
    digests = {run(study, n_jobs=n, block=b).store.digest() for n, b in ((1, None), (2, 40), (2, 7))}
    assert len(digests) == 1
    assert run(study, backend="processes", n_jobs=2, block=100).store.digest() in digests


@pytest.mark.parametrize(
    "score",
    [{"score": "ball", "theta": 0.3, "ball": 3.0}, {"score": "objective", "theta": 0.3, "penalty": [1, 1]}],
    ids=str,
)
def test_features_beyond_the_affine_regime(score):
    """Counting and weighting agree within 5.5 standard errors of their difference."""
    options = {"scores": [score], "budgets": {"per_arm": [10]}, "strategies": RULES[:1]}
    (counted,) = run(features(trials=200, **options)).summary()
    (weighted,) = run(features(trials=200, mode="rare", **options)).summary(0.6826894921)
    variance = counted.failure_rate * (1 - counted.failure_rate) / 200 + ((weighted.upper - weighted.lower) / 2) ** 2
    assert abs(counted.failure_rate - weighted.failure_rate) < 5.5 * np.sqrt(variance)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (known(mode="rare"), "tilts the rows of a feature pool"),
        (curve("rare", sampling={"replacement": "never"}), "needs independent draws"),
        (atoms([[1, 1], [1, 1]], (1, 1), (3, 3), mode="rare"), "equally good"),
        (curve("rare", strategies=[{"name": "uniform_allocation", "objective": "risk_per_cost"}]), "select by risk"),
    ],
)
def test_bad_input(study, message):
    with pytest.raises(ValueError, match=message):
        run(study)
