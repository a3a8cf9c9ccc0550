"""Soft models: held-out predictions against fitting without the row, plain arrays against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron

from exml_sim.classifier._probability_models import (
    check_estimator,
    make_estimator_fitter,
    make_forest_fitter,
    make_mean_fitter,
    normalise,
)
from exml_sim.classifier._regression import KernelFitter
from tests.classifier.tasks import soft_rows


def test_forest_judges_rows_by_the_trees_that_did_not_draw_them():
    X, T = soft_rows()
    packed, out_of_bag = make_forest_fitter(3, trees=7)(X, T)
    assert np.isfinite(out_of_bag).all()
    # Held-out errors are larger than training errors.
    assert ((out_of_bag - T) ** 2).mean() > 2 * ((packed.predict(X) - T) ** 2).mean()
    slow = np.mean([_walked(packed, root, X) for root in packed.roots], axis=0)
    np.testing.assert_allclose(packed.predict(X), slow, atol=1e-12)


def _walked(packed, root, X):
    """Targets by one tree, row by row."""
    out = []
    for row in X.astype(np.float32):
        node = root
        while packed.feature[node] >= 0:
            below = row[packed.feature[node]] <= packed.threshold[node]
            node = packed.left[node] if below else packed.right[node]
        out.append(packed.value[node])
    return np.array(out)


def test_trees_of_large_tables_draw_some_rows_only():
    X, T = soft_rows(80)
    packed, out_of_bag = make_forest_fitter(3, trees=7, max_drawn=15)(X, T)
    assert len(packed.feature) <= 7 * (2 * 15 - 1)
    # The root's targets are a mean of fifteen rows.
    counts = packed.value[packed.roots] * 15
    assert out_of_bag.shape == T.shape
    np.testing.assert_allclose(counts.sum(axis=1), 15)


def test_mean_and_estimators():
    X, T = soft_rows(90)
    model, out_of_fold = make_mean_fitter([make_forest_fitter(0, trees=9), KernelFitter()])(X, T)
    np.testing.assert_allclose(normalise(model.predict(X)).sum(axis=1), 1.0)
    np.testing.assert_allclose(out_of_fold.sum(axis=1), 1.0)
    own, out_of_fold = make_estimator_fitter(LogisticRegression(), 5, np.random.default_rng(0))(X, T)
    assert np.mean(out_of_fold.argmax(axis=1) == T.argmax(axis=1)) > 0.5
    assert own.predict(X).shape == (90, 3)


def test_an_estimator_that_saw_one_class_says_so_for_the_others():
    X, T = soft_rows(12)
    T = np.eye(3)[np.r_[np.zeros(11, dtype=int), 1]]
    _, out_of_fold = make_estimator_fitter(LogisticRegression(), 3, np.random.default_rng(0))(X, T)
    assert (out_of_fold[:, 2] == 0.0).all()


@pytest.mark.parametrize(("said", "words"), [("nan", "NaN or infinite"), ("narrow", "shape")])
def test_probabilities_that_are_none_are_refused(said, words):
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 1 if said == "narrow" else len(self.classes_)), np.nan if said == "nan" else 1.0)

    with pytest.raises(ValueError, match=words):
        make_estimator_fitter(Broken(), 3, np.random.default_rng(0))(*soft_rows(40))


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="must be a classifier with predict_proba; Perceptron has no predict_proba"):
        check_estimator(Perceptron())
    with pytest.raises(ValueError, match="int has no fit"):
        check_estimator(3)
