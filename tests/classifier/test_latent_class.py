"""The hidden class as a class: exact small cases, the meaning of the loss, and real gains over a threshold."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exml_sim import ExMLClassifier
from exml_sim.classifier._cascade import Cascade, Layer
from exml_sim.classifier._latent_class import (
    decide,
    estimate_row_losses,
    fit_em,
    hidden_parts,
    mix_labels,
    uniform_noise,
)
from exml_sim.classifier._probability_models import make_fitter, normalise, one_hot
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier._saved_model import SavedModel, load, save
from exml_sim.classifier.constants import MIN_SIZE_DEVIATIONS, SMALL_HIDDEN_SIZE
from tests.classifier.tasks import mfeat, synthetic


def blobs(n=300, seed=0, first=0.5):
    """Two known classes and a hidden one, far apart; hidden rows carry label 0 with probability `first`."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 6.0]])[truth]
    return X, np.where(truth == 2, (rng.random(n) >= first).astype(int), truth), truth


@pytest.mark.parametrize("noise", [(0.5, 0.5), (0.8, 0.2)])
def test_the_hidden_share_is_exact_where_one_known_class_is_possible(noise):
    q = np.array(noise)
    shares = np.linspace(0.0, 0.99, 12)
    for c in range(2):
        p = (1 - shares)[:, None] * np.eye(2)[c] + shares[:, None] * q
        hidden = hidden_parts(p, q)
        best = ((1 - p) / (1 - q)).argmin(axis=1)
        assert (best[shares < 0.5] == c).all()
        np.testing.assert_allclose(hidden[best == c], shares[best == c], atol=1e-12)


def test_a_hidden_class_larger_than_assumed_is_found():
    """Two thirds of the rows are hidden and far from the others: more rows than the assumed share are predicted."""
    rng = np.random.default_rng(1)
    truth = rng.choice(3, 400, p=[1 / 6, 1 / 6, 2 / 3])
    X = rng.normal(size=(400, 2)) + np.array([[0.0, 0.0], [9.0, 0.0], [4.5, 9.0]])[truth]
    y = np.where(truth == 2, rng.integers(0, 2, 400), truth)
    fitted = fit_em(KernelFitter(), X, y, 2)
    winner, accepted = decide(fitted.out_of_fold, fitted.model.noise, None)
    assert fitted.size is None
    assert np.mean(np.where(accepted, winner, 2) == truth) > 0.95
    # Planted: a given small share finds less of it.
    winner, accepted = decide(fit_em(KernelFitter(), X, y, 2, hidden_share=0.05).out_of_fold, uniform_noise(2), None)
    assert np.mean(np.where(accepted, winner, 2) == truth) < 0.8


def test_without_a_hidden_class_the_size_is_small_and_zero_is_the_plain_model():
    """Two separate known classes: held-out labels decide for the small size, and no share loses no row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    chosen = fit_em(KernelFitter(), X, y, 2)
    assert chosen.gain_deviations < MIN_SIZE_DEVIATIONS
    assert chosen.size == SMALL_HIDDEN_SIZE
    plain = fit_em(KernelFitter(), X, y, 2, hidden_share=0.0)
    winner, accepted, _ = plain.model.evaluate(X)
    assert accepted.all()
    slow = normalise(KernelFitter()(X, one_hot(y, 2))[0].predict(X)).argmax(axis=1)
    np.testing.assert_array_equal(winner, slow)
    assert (plain.model.outputs(X)[:, -1] < 0.01).all()
    # Planted: with a hidden class between them the large size is kept.
    X, y, _ = blobs()
    assert fit_em(KernelFitter(), X, y, 2).size is None


def test_a_resized_fit_has_the_wanted_share():
    X, y, _ = blobs()
    fitted = fit_em(KernelFitter(), X, y, 2)
    smaller = fitted.resize(0.45)
    assert smaller.out_of_fold[:, -1].mean() == pytest.approx(0.15, abs=1e-3)
    assert fitted.resize(None) is fitted
    f, g = (fit.model.outputs(X) for fit in (fitted, smaller))
    assert (g[:, -1] <= f[:, -1] + 1e-12).all()


def test_the_loss_counts_true_errors():
    """By enumeration of labels: mean loss less the hidden share is the number of true errors, confusions aside."""
    noise = np.array([0.7, 0.2, 0.1])
    truth = np.array([0, 1, 2, 3, 3, 3, 0])
    winner, accepted = np.array([0, 1, 2, 0, 1, 2, 0]), np.array([1, 0, 1, 1, 1, 0, 1], dtype=bool)
    expected = 0.0
    for i, t in enumerate(truth):
        labels = [(t, 1.0)] if t < 3 else list(enumerate(noise))
        expected += sum(
            w * estimate_row_losses(np.array([c]), winner[i : i + 1], accepted[i : i + 1], noise)[0] for c, w in labels
        )
    errors = np.sum(np.where(accepted, winner, 3) != truth)
    assert expected - np.sum(truth == 3) == pytest.approx(errors)


def test_decisions():
    f = np.array([[0.5, 0.1, 0.4], [0.3, 0.2, 0.5], [0.05, 0.9, 0.05]])
    winner, accepted = decide(f, uniform_noise(2), None)
    assert winner.tolist() == [0, 0, 1]
    assert accepted.tolist() == [True, False, True]
    assert decide(f, uniform_noise(2), 0.1)[1].tolist() == [False, False, True]
    np.testing.assert_allclose(mix_labels(f, np.array([0.9, 0.1]))[0], [0.86, 0.14])


@pytest.mark.parametrize("name", ["kernel", "forest", "mean"])
def test_the_hidden_class_is_found_where_a_threshold_loses_much_of_it(name):
    X, y, _ = blobs()
    new, _, truth = blobs(600, seed=1)
    fit = fit_em(make_fitter(name, len(y), 0), X, y, 2)
    winner, accepted, _ = fit.model.evaluate(new)
    accuracy = np.mean(np.where(accepted, winner, 2) == truth)
    likely = RandomForestClassifier(60, random_state=0).fit(X, y).predict_proba(new)
    threshold = np.mean(np.where(likely.max(axis=1) >= 0.75, likely.argmax(axis=1), 2) == truth)
    assert accuracy > 0.9
    assert accuracy > threshold


def test_lopsided_label_noise_is_noticed():
    """80 to 20: with the fair die the hidden class is lost, with the estimated label noise most of it is found."""
    X, y, _ = blobs(400, first=0.8)
    new, _, truth = blobs(600, seed=1)
    share = {}
    for noise in (uniform_noise(2), None):
        fit = fit_em(KernelFitter(), X, y, 2, noise)
        winner, accepted, _ = fit.model.evaluate(new)
        share[noise is None] = np.mean(np.where(accepted, winner, 2)[truth == 2] == 2)
    assert share[True] > 0.9
    assert share[True] >= share[False]


def test_a_small_hidden_class_is_found_when_its_size_is_known():
    """One row in twelve is hidden and classes overlap: guessed to be as large as a known one, it takes known rows."""
    rng = np.random.default_rng(3)

    def drawn(n):
        truth = rng.choice(3, size=n, p=[0.46, 0.46, 0.08])
        X = rng.normal(size=(n, 2)) + np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 3.0]])[truth]
        return X, np.where(truth < 2, truth, rng.integers(2, size=n)), truth

    (X, y, _), (new, _, truth) = drawn(300), drawn(2000)
    accuracy, called = {}, {}
    for size in (None, 0.08):
        winner, accepted, _ = fit_em(KernelFitter(), X, y, 2, hidden_share=size).model.evaluate(new)
        accuracy[size], called[size] = np.mean(np.where(accepted, winner, 2) == truth), np.mean(~accepted)
    assert called[0.08] < 0.12 < called[None]
    assert accuracy[0.08] > accuracy[None] + 0.1


def test_a_known_size_does_not_forbid_to_call_a_mixed_region_hidden():
    """Known rows among hidden ones: all of the region is best called hidden, which is more than the hidden rows are."""
    rng = np.random.default_rng(0)

    def drawn(n, hidden=0.2, among=0.15):
        truth = np.where(rng.random(n) < hidden, 2, rng.integers(0, 2, n))
        middle = (truth == 2) | (rng.random(n) < among / (1.0 - hidden))
        X = np.where(middle, 0.0, 16.0 * truth - 8.0)[:, None] + rng.normal(size=(n, 2))
        return X, np.where(truth < 2, truth, rng.integers(2, size=n)), truth

    (X, y, _), (new, _, truth) = drawn(300), drawn(2000)
    accuracy = {}
    for size in (None, 0.2):
        winner, accepted, _ = fit_em(KernelFitter(), X, y, 2, hidden_share=size).model.evaluate(new)
        accuracy[size] = np.mean(np.where(accepted, winner, 2) == truth)
    assert accuracy[0.2] > accuracy[None] - 0.02


def test_any_classifier_can_be_a_layer_but_it_cannot_be_saved(tmp_path):
    (X, y, oracle), (Xt, truth, values) = mfeat("mor", 2, train=120)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    model = ExMLClassifier(budget_ratio=0.2, hidden_label=2, model=logistic)
    model.fit(X, y, oracle)
    assert model.score(Xt, truth, values) > 0.6
    assert "Pipeline" in model.report()
    with pytest.raises(ValueError, match="pickle a classifier of your own"):
        save(SavedModel.of(model), tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_bad_models_and_label_noise_are_refused_before_anything_is_spent():
    rows, oracle, *_ = synthetic(per_class=20, angles=[10, 90])
    for change, message in (
        ({"model": Perceptron()}, "Perceptron has no predict_proba"),
        ({"model": "magic"}, "unknown model 'magic'"),
        ({"label_noise": "guess"}, "label_noise must be .* got 'guess'"),
        ({"label_noise": [0.5, 0.6]}, "2 probabilities below 1 of sum 1"),
        ({"label_noise": [1.0, 0.0]}, "2 probabilities below 1 of sum 1"),
        ({"label_noise": [0.5, 0.3, 0.2]}, "2 probabilities below 1 of sum 1"),
        ({"label_noise": [0.5, float("nan")]}, "2 probabilities below 1 of sum 1"),
        ({"hidden_share": -0.1}, r"hidden_share must be None or a number in \[0, 1\), got -0.1"),
        ({"hidden": "maybe"}, "unknown hidden 'maybe'"),
        ({"hidden": "never", "hidden_share": 0.2}, "contradict each other"),
        ({"hidden": "never", "model": "rejection"}, "not model='rejection'"),
        ({"hidden_share": 10}, r"a number in \[0, 1\), got 10"),
        ({"hidden_share": float("nan")}, r"a number in \[0, 1\), got nan"),
        ({"hidden_share": "10%"}, r"a number in \[0, 1\), got '10%'"),
        ({"hidden_share": True}, r"a number in \[0, 1\), got True"),
        ({"hidden_share": 0.2, "model": "rejection"}, "not model='rejection'"),
    ):
        with pytest.raises(ValueError, match=message):
            ExMLClassifier(budget=60, **change).fit(rows.X, rows.y, oracle)
    y = rows.y.copy()
    y[:] = -1
    y[:2] = 1
    with pytest.raises(ValueError, match="LogisticRegression needs at least 3 rows of every class, got 2"):
        ExMLClassifier(budget=60, model=LogisticRegression()).fit(rows.X, y, oracle)


def test_damaged_forests_are_refused(tmp_path):
    """Planted errors: a way down that never ends, a feature that is not there, targets that do not fit."""
    (X, y, oracle), _ = mfeat("fou", 2, train=100)
    fitted = ExMLClassifier(budget_ratio=0.2, hidden_label=2, model="forest", cascade=False).fit(X, y, oracle)
    model = fitted.cascade_.layers[0].model
    forest = model.probabilities.second if hasattr(model.probabilities, "second") else model.probabilities
    saved = SavedModel.of(fitted)
    for number, change in enumerate(
        (
            {"left": np.zeros_like(forest.left)},
            {"feature": np.where(forest.feature >= 0, 10_000, forest.feature)},
            {"value": forest.value[:, :1]},
            {"threshold": forest.threshold * np.nan},
        )
    ):
        layer = Layer(replace(model, probabilities=replace(forest, **change)), fitted.cascade_.layers[0].candidates)
        path = tmp_path / f"{number}.npz"
        save(replace(saved, cascade=Cascade((layer,))), path)
        with pytest.raises(ValueError, match="is not a model that exml explore saved"):
            load(path)
