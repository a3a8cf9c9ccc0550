"""Nested cross-validation: no row predicts itself, copies stay together, and both readings are stated."""

from dataclasses import replace

import numpy as np
import pytest

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.classifier import ExMLClassifier, _layers, evaluation
from exml_sim.classifier._latent_class import LabelNoise, LatentFit, LatentModel
from exml_sim.classifier._probability_models import draw_folds, group_duplicates, join_groups
from exml_sim.classifier.evaluation import NestedPredictions, _read_both_ways, cross_validate, design_effect
from exml_sim.oracle import ArrayOracle
from tests.classifier.tasks import synthetic


def fit_noise(copies, **options):
    """Fit labels that nothing predicts, every row several times."""
    rng = np.random.default_rng(0)
    X, y, a = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.normal(size=(60, 1))
    X, y, a = (np.repeat(part, copies, axis=0) for part in (X, y, a))
    model = ExMLClassifier(budget_ratio=1, explore="always", model="forest", hidden="never", **options)
    return model.fit(X, y, ArrayOracle({"a": a})), y


def test_copies_of_rows_do_not_predict_each_other(monkeypatch):
    """Three copies of every row and labels by chance: all figures are chance, but not with copies apart.

    The false-alarm rate is 1e-6 for each of the figures.
    """
    model, _ = fit_noise(3)
    for metric in model.evaluation_.metrics[1:3]:
        low, high = clopper_pearson(60 * metric.accuracy, 60, 1 - 1e-6)
        assert low <= 0.5 <= high, metric.name
    monkeypatch.setattr(_layers, "keep_together", lambda fit, groups: fit)
    planted, _ = fit_noise(3)
    assert min(metric.accuracy for metric in planted.evaluation_.metrics[1:3]) > 0.85


def test_groups_that_are_given_stay_together():
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(40), 3)
    centre, label = 5.0 * rng.normal(size=(40, 4)), rng.integers(0, 2, 40)
    X = centre[person] + 0.01 * rng.normal(size=(120, 4))
    oracle = ArrayOracle({"a": rng.normal(size=(120, 1))})
    options = {"budget_ratio": 1, "explore": "always", "model": "kernel", "hidden": "never"}
    apart = ExMLClassifier(**options).fit(X, label[person], oracle, groups=person).evaluation_.metrics[1]
    mixed = ExMLClassifier(**options).fit(X, label[person], oracle).evaluation_.metrics[1]
    assert mixed.accuracy > 0.9
    assert clopper_pearson(40 * apart.accuracy, 40, 1 - 1e-6)[0] <= 0.5


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(150), "at least 2 groups, got only 0.0"),
        (["site1"] * 150, "at least 2 groups, got only 'site1': leave groups out"),
        (np.arange(3), r"groups must have shape \(150,\)"),
        (["a", None, float("nan")] * 50, "groups must name the group of every row, got 100 rows without one"),
        (np.array([0.0, 1.0, np.nan] * 50), "got 50 rows without one: give such a row a group of its own"),
        (["a", 1, 2] * 50, "groups must be all texts or all numbers, got int and str: write all as texts"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, message):
    rows, oracle, *_ = synthetic(per_class=50, angles=[20, 90])
    with pytest.raises(ValueError, match=message):
        ExMLClassifier(budget=60).fit(rows.X, rows.y, oracle, groups=groups)


def test_folds_keep_groups_whole_and_spread_classes():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 30, 200), rng.integers(0, 3, 200)
    fold = draw_folds(y, groups, 5, rng)
    assert set(fold) == set(range(5))
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups))
    single = draw_folds(y, None, 5, rng)
    counts = np.array([[np.sum((single == k) & (y == c)) for c in range(3)] for k in range(5)])
    assert np.ptp(counts, axis=0).max() <= 1


def test_duplicates_and_given_groups_are_joined():
    rng = np.random.default_rng(0)
    y, wide = rng.integers(0, 2, 200), rng.normal(size=(200, 10))
    wide[100:120], y[100:120] = wide[:20], y[:20]
    group = group_duplicates(wide, y)
    assert len(set(group)) == 180
    assert (group[100:120] == group[:20]).all()
    joined = join_groups(np.array([0, 0, 1, 2, 3]), np.array([4, 5, 5, 6, 7]))
    assert joined[0] == joined[1] == joined[2]
    assert len(set(joined)) == 3


def test_figures_are_counts_of_nested_predictions():
    """Right and accepted rows are recounted, and intervals are wider than those of independent rows."""
    rows, oracle, *_ = synthetic(per_class=40, angles=[20, 90])
    model = ExMLClassifier(budget=120, explore="always", model="kernel", label_noise="uniform").fit(
        rows.X, rows.y, oracle
    )
    y = np.searchsorted(model.classes_, rows.y)
    parameters = model.resolve()
    before = cross_validate(model.records_, y, 2, parameters)
    own = model.evaluation_.metrics[0]
    labels = y[model.records_[-1].rows]
    assert own.right == int(((before.winner == labels) & before.accepted).sum())
    assert own.rows == int(before.accepted.sum())
    low, high = own.interval
    narrow = clopper_pearson(own.right, own.rows)
    assert low < narrow[0] < own.accuracy <= narrow[1] <= high


def test_rows_of_a_group_count_as_one_where_they_are_right_together():
    right, groups = np.repeat(np.arange(40) % 3 > 0, 8), np.repeat(np.arange(40), 8)
    assert design_effect(right, groups) == pytest.approx(8.0)
    assert design_effect(right, None) == 1.0
    assert design_effect(right, np.arange(320)) == pytest.approx(1.0)
    assert design_effect(np.ones(320, dtype=bool), groups) == pytest.approx(8.0)
    # The slow path: the variance of the mean over resampled groups, relative to that of independent rows.
    rng = np.random.default_rng(0)
    right = np.where(rng.random(320) < 0.7, right, rng.random(320) < 0.5)
    drawn = rng.integers(0, 40, (40_000, 40))
    means = right.reshape(40, 8).mean(axis=1)[drawn].mean(axis=1)
    assert means.var() / (right.var() / 320) == pytest.approx(design_effect(right, groups), rel=0.05)


def test_intervals_of_grouped_rows_contain_the_accuracy_on_new_groups(monkeypatch):
    """20 persons with 20 rows each; more than 10 of 30 intervals of 95 % miss with probability 2e-7."""

    def misses():
        count = 0
        for seed in range(30):
            rng = np.random.default_rng(seed)
            label = rng.integers(0, 2, 3020)
            X, a = label + 1.2 * rng.normal(size=3020), 1.5 * label + rng.normal(size=3020)
            person = np.repeat(np.arange(20), 20)
            options = {"budget_ratio": 1, "explore": "always", "model": "forest", "hidden": "never"}
            model = ExMLClassifier(random_state=seed, **options)
            noise = 0.05 * rng.normal(size=(2, 400))
            oracle = ArrayOracle({"a": (a[person] + noise[1])[:, None]})
            model.fit((X[person] + noise[0])[:, None], label[person], oracle, groups=person)
            decided = model.decide(X[20:, None], {"a": a[20:, None]})
            low, high = model.evaluation_.metrics[1].interval
            count += not low <= (decided.winner == label[20:]).mean() <= high
        return count

    assert misses() <= 10
    monkeypatch.setattr(evaluation, "design_effect", lambda right, groups: 1.0)
    planted = misses()
    assert planted > 10, planted


def test_the_share_called_hidden_of_groups_has_a_wide_interval():
    """Six of twenty groups of ten rows are called hidden as a whole: a group counts as one row."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(20, 1)), 10, axis=0), rng.integers(0, 2, 200)
    groups = np.repeat(np.arange(20), 10)
    model = ExMLClassifier(budget="50%", explore="always", model="forest")
    model.fit(X, y, ArrayOracle({"a": rng.normal(size=200)}), groups=groups)
    rows = model.records_[-1].rows
    nested = NestedPredictions(y[rows], groups[rows] >= 6, np.zeros(len(rows)), groups[rows])
    figures = evaluation.evaluate(model.records_, y, model.classes_, True, nested)
    wide = 2.0 * design_effect(groups[rows] < 6, groups[rows])
    assert wide > 6.0
    assert figures.hidden_rows_per_row == wide
    assert figures.hidden_interval == clopper_pearson(figures.hidden / wide, figures.rows / wide)


def test_both_readings_by_hand():
    """Ten rows: eight accepted, seven of them right, and half a row of them is expected to be hidden."""
    winner, labels = np.zeros(10, dtype=np.int64), np.array([0] * 7 + [1, 0, 1])
    accepted = np.arange(10) < 8
    rate = np.where(accepted, 0.5 / 8, 0.4)
    noise = np.array([0.5, 0.3, 0.2])
    latent = LatentFit(LatentModel(None, noise), np.zeros((10, 4)), np.zeros((10, 3)))
    readings = _read_both_ways(NestedPredictions(winner, accepted, rate), labels, latent)
    assert readings.if_hidden[0] == clopper_pearson(6.5 / 2, 8 / 2)[0]
    assert readings.if_hidden[1] == clopper_pearson(7 / 2, 8 / 2)[1]
    assert readings.if_none[0] == 0.8
    # Two of ten labels are no winner; hidden rows carry the commonest label with probability 1/2 as given, or 1/3.
    most = clopper_pearson(2 / 2, 10 / 2)[1]
    assert readings.share_limit == min(1.0, most / 0.5)
    estimated = replace(latent, label_noise=LabelNoise(np.eye(3), np.zeros(3), 10))
    assert _read_both_ways(NestedPredictions(winner, accepted, rate), labels, estimated).share_limit == min(
        1.0, most / (2 / 3)
    )
    assert not readings.excludes_large
    text = " ".join(readings.sentences())
    assert "cannot decide whether a hidden class exists" in text
    assert "there is a hidden class" not in text


def test_the_report_states_both_readings_and_flags_keep_known_labels():
    rows, oracle, test, _, values = synthetic(per_class=50, angles=[20, 90])
    model = ExMLClassifier(budget=150, explore="always", model="kernel").fit(rows.X, rows.y, oracle)
    text = model.report()
    assert "If nothing is hidden, the best known label is right for" in text
    assert "If a class is hidden whose labels do not follow the columns," in text
    flagged = ExMLClassifier(budget=150, explore="always", model="kernel", hidden="flag").fit(rows.X, rows.y, oracle)
    assert set(flagged.predict(test.X, values)) <= set(flagged.classes_)
    np.testing.assert_array_equal(flagged.decide(test.X, values).hidden, model.decide(test.X, values).hidden)
    assert flagged.decide(test.X, values).hidden.any()
    never = ExMLClassifier(budget=150, explore="always", model="kernel", hidden="never").fit(rows.X, rows.y, oracle)
    assert not never.decide(test.X, values).hidden.any()
