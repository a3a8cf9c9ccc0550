"""Excess risk and the five terms of Eq. 8, with every population drawn afresh."""

from __future__ import annotations

import csv
import gc
import weakref
from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

from exml_sim.engine import Score, Study, SyntheticPool, merge, run
from exml_sim.engine._fields import to_plain
from exml_sim.engine._statistics import mean_interval
from exml_sim.engine.modes import _excess_risk as module
from exml_sim.engine.modes._excess_risk import TERMS, draw, expected, features, fitted, label_probability
from exml_sim.engine.result import excess_lines
from exml_sim.losses import rejection_loss, surrogate_loss

SPEC = SyntheticPool(per_class=15, angles=(10, 50, 90), gamma=20.0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Smaller samples than the real ones."""
    monkeypatch.setattr(module, "truth", partial(module.truth, points=1500, rows=120))


def study(trials: int = 8, pool: dict | None = None, **options) -> Study:
    table = {
        "pools": [{**to_plain(SPEC), **(pool or {})}],
        "scores": [{"ball": 4.0, "theta": 0.3}],
        "strategies": ["uniform_allocation", "median_elimination"],
        "budgets": {"per_arm": [10]},
        "trials": trials,
        "mode": "excess_risk",
    }
    return Study.from_table(table | options)


@pytest.mark.parametrize("ball", [0.4, 4.0])
def test_the_terms_add_up_and_have_their_signs(ball):
    result = run(study(scores=[{"ball": ball, "theta": 0.3}]), n_jobs=1)
    lines = np.array(list(result.store.rows(f"SELECT {', '.join(TERMS)} FROM terms")))
    assert lines.shape == (16, 6)
    np.testing.assert_allclose(lines[:, 0], lines[:, 1:].sum(axis=1), atol=1e-12)
    # (c) compares a minimiser on the rows with another model of the same ball; the solver's accuracy is 1e-8.
    assert lines[:, 3].max() <= 1e-7
    # The surrogate risk is above the risk, so the approximation error is not negative; nor can Bayes be beaten.
    assert lines[:, 5].min() >= 0
    assert lines[:, 0].min() >= -1e-12
    assert np.ptp(lines[:, 5]) == 0
    means = result.excess()[0]
    assert means["excess"] == pytest.approx(lines[:8, 0].mean())
    assert means["b_lower"] <= means["b"] <= means["b_upper"]


def test_label_probability_is_bayes_rule():
    points = draw(SPEC, 200, np.random.default_rng(0)).points
    distributions = [((-1, 0, -5), 3.0), ((1, 0, 5), 3.0), ((0, 0, 0), 1.5)]
    p = [multivariate_normal.pdf(points, mean, variance * np.eye(3)) for mean, variance in distributions]
    np.testing.assert_allclose(label_probability(SPEC, points), (p[1] + p[2] / 2) / (p[0] + p[1] + p[2]), rtol=1e-10)


def test_expected_risk_is_the_mean_over_drawn_labels():
    """Within 5.5 standard errors of the risk on 20,000 labelled rows; a wrong label probability is caught."""
    score = Score(ball=4.0, theta=0.3)
    sample = draw(SPEC, 20_000, np.random.default_rng(1))
    model, _ = fitted(SPEC, score, 2, sample.points[:60], sample.y[:60])
    values = model.at(SPEC, features(SPEC, 2, sample.points))
    for loss in (rejection_loss, surrogate_loss):
        drawn = np.asarray(loss(*values, sample.y, 0.3))
        error = drawn.std() / np.sqrt(drawn.size)
        assert abs(expected(loss, values, sample.eta, 0.3) - drawn.mean()) < 5.5 * error
        assert abs(expected(loss, values, 1 - sample.eta, 0.3) - drawn.mean()) > 5.5 * error


def test_rows_are_independent():
    """Classes are drawn, not balanced: their numbers vary from population to population."""
    rng = np.random.default_rng(2)
    positive = [float(draw(SPEC, 90, rng).y.mean()) for _ in range(50)]
    assert np.std(positive) > 0.05


def test_the_returned_model_is_the_minimiser_on_the_bought_rows():
    score = Score(ball=4.0, theta=0.3)
    sample = draw(SPEC, 40, np.random.default_rng(3))
    counts = np.random.default_rng(4).multinomial(25, np.full(40, 1 / 40))
    model, risk = fitted(SPEC, score, 1, sample.points, sample.y, counts)
    repeated = np.repeat(np.arange(40), counts)
    again = fitted(SPEC, score, 1, sample.points[repeated], sample.y[repeated])
    assert risk == pytest.approx(again[1], abs=1e-7)
    values = model.at(SPEC, features(SPEC, 1, sample.points[repeated]))
    assert np.mean(surrogate_loss(*values, sample.y[repeated], 0.3)) == pytest.approx(risk, abs=1e-9)


def test_the_best_arm_is_the_upright_one():
    assert module.truth(SPEC, Score(ball=4.0, theta=0.3), 0).best == 2


def test_blocks_workers_resume_and_shards_change_nothing(tmp_path):
    digest = run(study(), n_jobs=1).store.digest()
    assert run(study(), n_jobs=2, block=3).store.digest() == digest
    paths = [tmp_path / f"{i}.sqlite" for i in (1, 2)]
    for i, path in enumerate(paths, 1):
        run(study(), store=path, shard=(i, 2), n_jobs=1).close()
    with merge(paths, tmp_path / "all.sqlite") as result:
        assert result.store.digest() == digest
        assert result.summary()[0].trials == 8
        assert result.compare(0, 1).trials == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": {"gamma": "median"}}, "needs a fixed gamma"),
        ({"pool": {"angles": [0, 90]}}, "no multiple of 180"),
        ({"scores": [{"score": "risk"}]}, "needs the score 'ball'"),
        (
            {"pools": [{"kind": "parametric", "direction": "minimise", "means": [0.1, 0.2]}], "scores": []},
            "needs a known distribution",
        ),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        run(study(**options))


def test_intervals_know_the_error_of_the_shared_sample():
    """Risks of the same models on another, far larger sample lie within the intervals at 1 - 1e-6.

    Before, term (e) had no width at all, and its value moves by more than 1e-4 from sample to sample.
    """
    result = run(study(trials=6, strategies=["uniform_allocation"]), n_jobs=1)
    (line,) = result.excess(1 - 1e-6)
    known = module.truth(SPEC, Score(ball=4.0, theta=0.3), 0)
    large = draw(SPEC, 60_000, np.random.default_rng(9))
    values = known.model.at(SPEC, features(SPEC, known.best, large.points))
    surrogate = expected(surrogate_loss, values, large.eta, 0.3)
    bayes = float(np.mean(np.minimum(np.minimum(large.eta, 1 - large.eta), 0.3)))
    assert abs(surrogate - bayes - line["e"]) > 1e-4
    assert line["e_lower"] < surrogate - bayes < line["e_upper"]
    # Twice the noise's root, at least, is there in every term that is measured on the sample; none in the others.
    stored = np.array(list(result.store.rows("SELECT excess_noise, a_noise, d_noise, e_noise FROM terms")))
    assert (stored > 0).all()
    for term, noise in zip(("excess", "a", "d", "e"), stored.mean(axis=0), strict=True):
        assert line[f"{term}_upper"] - line[f"{term}_lower"] > 2 * np.sqrt(noise)
    (loose,) = result.excess(0.95)
    b = np.array([value for (value,) in list(result.store.rows("SELECT b FROM terms"))])
    assert (loose["b_lower"], loose["b_upper"]) == pytest.approx(mean_interval(b.mean(), b.std(ddof=1), 6))


def test_the_noise_is_the_variance_of_the_shared_mean():
    """40 fresh samples: their spread of term (e) agrees with the noise of one (a chi-square at 1e-6 in all)."""
    score = Score(ball=4.0, theta=0.3)
    known = module.truth(SPEC, score, 0)
    rng, result = np.random.default_rng(11), []
    for _ in range(40):
        sample = draw(SPEC, 1500, rng)
        values = known.model.at(SPEC, features(SPEC, known.best, sample.points))
        bayes = np.minimum(np.minimum(sample.eta, 1 - sample.eta), 0.3)
        result.append(float(np.mean(module.expected_at(surrogate_loss, values, sample.eta, 0.3) - bayes)))
    ratio = 39 * np.var(result, ddof=1) / module.noise(known.surrogate_at - known.bayes_at)
    assert chi2.ppf(5e-7, 39) < ratio < chi2.isf(5e-7, 39)


def test_terms_in_the_files_and_in_words(tmp_path):
    result = run(study(trials=3, strategies=["uniform_allocation"]), n_jobs=1)
    (line,) = result.excess()
    result.to_csv(tmp_path / "cells.csv")
    result.to_csv(tmp_path / "trials.csv", trials=True)
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        (cell,) = csv.DictReader(file)
    with (tmp_path / "trials.csv").open(encoding="utf-8") as file:
        trials = list(csv.DictReader(file))
    assert float(cell["excess"]) == line["excess"]
    assert float(cell["e_upper"]) == line["e_upper"]
    assert np.mean([float(trial["excess"]) for trial in trials]) == pytest.approx(line["excess"])
    assert sum(float(trials[0][term]) for term in "abcde") == pytest.approx(float(trials[0]["excess"]))
    (text,) = excess_lines(result)
    assert f"excess risk {line['excess']:.4g} in [" in text
    assert text.count("(a)") == text.count("(e)") == 1


def test_replay_is_the_stored_trial():
    result = run(study(trials=3), n_jobs=1)
    for row in result.rows():
        again = result.replay(row["cell"], row["trial"])
        assert again.selected_name == row["selected"]
        assert str(again.ledger.spent) == row["spent"]


def test_blocks_keep_no_populations():
    """Trials are measured one by one: a block of four holds one pool at a time."""
    alive = []
    for trial in module.measured_trials(study(trials=4), study().cells()[0], range(4)):
        alive.append(weakref.ref(trial.pool))
        del trial
        gc.collect()
        assert sum(pool() is not None for pool in alive) <= 1
    assert len(alive) == 4


def test_other_modes_have_no_excess():
    with pytest.raises(ValueError, match="measured in mode 'excess_risk'"):
        run(study(mode="monte_carlo")).excess()
