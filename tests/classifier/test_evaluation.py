"""The report is true: held-out figures are what a slow recount finds, intervals cover, and diagnostics are given."""

import numpy as np
import pytest

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._latent_class import LabelNoise
from exml_sim.classifier.evaluation import (
    ClassMetric,
    diagnose_noise,
)
from exml_sim.oracle import ArrayOracle
from tests.classifier.tasks import clean, synthetic


def recount(model, y):
    """The same figures row by row."""
    last, first = model.records_[-1], model.records_[0]
    out = {"accepted": 0, "right": 0, "full": 0, "plain": 0}
    for place, row in enumerate(last.rows):
        decision = None
        for record in model.records_ if model.cascade else [last]:
            if not record.rejected[row]:
                at = int(np.flatnonzero(record.rows == row)[0])
                decision = record.fitted.decided.winner[at]
                break
        out["accepted"] += decision is not None
        out["right"] += decision == y[row]
        out["full"] += last.fitted.decided.winner[place] == y[row]
        latent = first.fitted.latent
        plain = first.fitted.decided.winner if latent is None else latent.label_probabilities.argmax(axis=1)
        out["plain"] += plain[row] == y[row]
    return out


@pytest.mark.parametrize("options", [{"model": "rejection"}, {"model": "rejection", "max_stages": 3}], ids=str)
def test_figures_are_those_of_a_recount(options):
    rows, oracle, *_ = synthetic(per_class=40, angles=[20, 90])
    model = ExMLClassifier(budget=120, explore="always", **{"model": "kernel", **options}).fit(rows.X, rows.y, oracle)
    y = np.searchsorted(model.classes_, rows.y)
    evaluation, slow = model.evaluation_, recount(model, y)
    own, full, plain, most = evaluation.metrics
    assert (own.right, own.rows) == (slow["right"], slow["accepted"])
    assert (full.right, plain.right) == (slow["full"], slow["plain"])
    assert evaluation.rows == len(model.records_[-1].rows) == full.rows == own.rows + evaluation.hidden
    truth = y[model.records_[-1].rows]
    assert most.right == np.bincount(truth).max()
    assert most.balanced == 0.5
    assert full.right - plain.right == evaluation.gained - evaluation.lost
    assert [(metric.name, metric.rows) for metric in evaluation.classes] == [
        (-1, int((truth == 0).sum())),
        (1, int(truth.sum())),
    ]
    assert sum(metric.recognised for metric in evaluation.classes) == own.right
    assert f"| this model, on the rows that it accepts | {own.right} of {own.rows} |" in model.report()


def test_held_out_accuracy_is_that_of_new_rows():
    for seed in range(4):
        rows, oracle, test, _, values = synthetic(seed, per_class=50, angles=[20, 90])
        model = ExMLClassifier(budget=150, explore="always", model="kernel").fit(rows.X, rows.y, oracle)
        own = model.evaluation_.metrics[0]
        decided = model.decide(test.X, values)
        accepted = decided.layer > 0
        new = np.mean(model.classes_[decided.winner[accepted]] == test.y[accepted])
        low, high = clopper_pearson(own.right, own.rows, 1 - 1e-6)
        assert low <= new <= high


def test_a_rare_class_is_not_forgotten():
    """Accuracy is 95 % and little is rejected, but one class is never said: exploration is needed all the same."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) % 20 == 0, "rare", "common")
    X, marker = rng.normal(size=(300, 2)), (y == "rare") + 0.1 * rng.normal(size=300)
    oracle = ArrayOracle({"marker": marker, "noise": rng.normal(size=300)})
    for kind in ("rejection", "kernel"):
        options = {"budget": 300, "model": kind, "target": 0.9, "tolerated_rejection": 0.4}
        calm = ExMLClassifier(explore="never", **options).fit(X, y, oracle)
        assert calm.assessment_.needed
        assert "but class 'rare' is recognised in 0 of" in calm.assessment_.reason
        assert "class 'rare' is recognised in 0 of" in calm.report()
        model = ExMLClassifier(**options).fit(X, y, oracle)
        assert model.explored_
        assert "marker" in model.selected_
    easy = ExMLClassifier(budget=50).fit(*clean())
    assert not easy.explored_


def test_lopsided_label_noise_that_the_data_cannot_show_is_reported():
    """95 to 5: the hidden rows look like one class, nothing needs exploring; the report says what it cannot know."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [100, 100, 40])
    y = np.where(truth == 2, (rng.random(240) < 0.05).astype(int), truth)
    X = rng.normal(size=(240, 2)) + 8.0 * (truth == 1)[:, None] - 1.0 * (truth == 2)[:, None]
    model = ExMLClassifier(budget=50, model="kernel").fit(X, y, ArrayOracle({"a": rng.normal(size=240)}))
    assert not model.explored_
    # The limit holds for equal shares of the labels only, and says so.
    limit = model.evaluation_.hidden_class.share_limit
    assert f"At most {limit:.0%} of the rows are hidden, if all known labels are equally frequent" in model.report()
    noise = [0.95, 0.05]
    given = ExMLClassifier(budget=50, model="kernel", label_noise=noise).fit(
        X, y, ArrayOracle({"a": rng.normal(size=240)})
    )
    known = given.evaluation_.hidden_class.share_limit
    assert limit < 40 / 240 < known
    assert f"At most {known:.0%} of the rows are hidden." in given.report()


def test_label_noise_that_hardly_separates_hidden_rows_is_reported():
    noises = np.array([[0.9, 0.1], [0.5, 0.5]])
    (warning,) = diagnose_noise(LabelNoise(noises, np.array([400.0, 0.0]), 50), ["one", "two"])
    assert (warning.code, warning.subject) == ("one_sided_noise_estimated", "one")
    assert "(90% to 100% possible)" in warning.message
    assert diagnose_noise(LabelNoise(noises, np.array([0.0, 400.0]), 50), ["one", "two"]) == []
    assert diagnose_noise(None, ["one", "two"]) == []


def test_candidates_that_do_not_help_are_said_not_to():
    """A test at 5 %: of six tables it may be wrong about one."""
    code = "candidates_do_not_help"
    options = {"budget": 150, "explore": "always", "model": "kernel"}
    warned = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows, good, *_ = synthetic(seed, per_class=50, angles=[90, 80])
        noise = ArrayOracle({"a": rng.normal(size=150), "b": rng.normal(size=150)})
        bad, fine = (ExMLClassifier(**options).fit(rows.X, rows.y, source).evaluation_ for source in (noise, good))
        warned.append(code in [diagnostic.code for diagnostic in bad.diagnostics])
        assert code not in [diagnostic.code for diagnostic in fine.diagnostics]
    assert sum(warned) >= 5


def test_a_given_theta_has_no_figures():
    rows, oracle, *_ = synthetic(per_class=40, angles=[20, 90])
    model = ExMLClassifier.paper(budget=80, theta=0.3, explore="always").fit(rows.X, rows.y, oracle)
    assert model.evaluation_ is None
    assert "there are no out-of-fold metrics" in model.report()


def test_a_class_that_is_mostly_given_up_does_not_escape():
    assert ClassMetric("rare", rows=5, accepted=2, recognised=0).has_poor_recall
    assert not ClassMetric("rare", rows=5, accepted=0, recognised=0).has_poor_recall
    assert not ClassMetric("tiny", rows=4, accepted=2, recognised=0).has_poor_recall
    assert not ClassMetric("known", rows=5, accepted=2, recognised=1).has_poor_recall
