"""Soft models: held-out predictions against fitting without the row, plain arrays against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron

from exml_sim.method.soft import (
    BANDWIDTHS,
    PENALTIES,
    KernelFitter,
    check_estimator,
    estimator_fitter,
    forest_fitter,
    mean_fitter,
    normalised,
)


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + y[:, None], np.eye(3)[y]


def test_kernel_leaves_every_row_out_exactly(monkeypatch):
    """The closed form is what refitting without the row gives, at fixed bandwidth, penalty and scale."""
    monkeypatch.setattr("exml_sim.method.soft.BANDWIDTHS", BANDWIDTHS[1:2])
    monkeypatch.setattr("exml_sim.method.soft.PENALTIES", PENALTIES[4:5])
    X, T = rows()
    model, held = KernelFitter()(X, T)
    K = np.exp(-model.gamma * ((model.anchors[:, None] - model.anchors[None]) ** 2).sum(axis=2))
    rest = T - model.base
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        fitted = np.linalg.solve(K[np.ix_(others, others)] + PENALTIES[4] * np.eye(others.sum()), rest[others])
        np.testing.assert_allclose(held[i], K[i, others] @ fitted + model.base, atol=1e-8)


def test_the_chosen_pair_has_the_smallest_held_out_error_of_all():
    """By inverses is the slow way."""
    X, T = rows(30)
    model, held = KernelFitter()(X, T)
    rest = T - T.mean(axis=0)
    points = model.anchors
    d = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    errors = {}
    for g in [factor / np.median(d[np.triu_indices(30, 1)]) for factor in BANDWIDTHS]:
        for p in PENALTIES:
            inverse = np.linalg.inv(np.exp(-g * d) + p * np.eye(30))
            errors[g, p] = (((inverse @ rest) / np.diagonal(inverse)[:, None]) ** 2).mean()
    (gamma, _), least = min(errors.items(), key=lambda one: one[1])
    assert model.gamma == pytest.approx(gamma)
    assert ((held - T) ** 2).mean() == pytest.approx(least, rel=1e-9)
    assert sorted(errors.values())[1] > least * (1.0 + 1e-6)


def test_kernel_of_many_rows_is_chosen_on_some_and_leaves_every_row_out_exactly():
    """Above so many rows one pair of bandwidth and penalty is solved for all of them; refitting is the slow way."""
    X, T = rows(50)
    model, held = KernelFitter(choosing=20)(X, T)
    assert len(model.anchors) == 50
    K = np.exp(-model.gamma * ((model.anchors[:, None] - model.anchors[None]) ** 2).sum(axis=2))
    rest = T - model.base
    errors = {p: np.abs((K + p * np.eye(50)) @ model.coefficients - rest).max() for p in PENALTIES}
    penalty = min(errors, key=errors.get)
    assert errors[penalty] < 1e-8 < min(error for p, error in errors.items() if p != penalty)
    for i in range(50):
        others = np.arange(50) != i
        fitted = np.linalg.solve(K[np.ix_(others, others)] + penalty * np.eye(49), rest[others])
        np.testing.assert_allclose(held[i], K[i, others] @ fitted + model.base, atol=1e-8)
    # The pair is the one that the spread rows choose by themselves.
    some = np.linspace(0, 49, 20).round().astype(int)
    points = model.anchors[some]
    best = min(
        (
            (np.linalg.inv(np.exp(-g * d) + p * np.eye(20)), g, p)
            for d in [((points[:, None] - points[None]) ** 2).sum(axis=2)]
            for g in [factor / np.median(d[np.triu_indices(20, 1)]) for factor in BANDWIDTHS]
            for p in PENALTIES
        ),
        key=lambda one: (((one[0] @ rest[some]) / np.diagonal(one[0])[:, None]) ** 2).mean(),
    )
    assert best[1:] == (pytest.approx(model.gamma), penalty)
    # Other targets of the same rows choose anew.
    again = KernelFitter(choosing=20)
    again(X, T[::-1].copy())
    np.testing.assert_array_equal(again(X, T)[1], held)


def test_kernel_keeps_its_decomposition_only_for_the_same_rows():
    fit = KernelFitter()
    X, T = rows()
    first = fit(X, T)[1]
    np.testing.assert_array_equal(fit(X, T)[1], first)
    other = rows(seed=1)
    np.testing.assert_array_equal(fit(*other)[1], KernelFitter()(*other)[1])


def test_forest_judges_rows_by_the_trees_that_did_not_draw_them():
    X, T = rows()
    packed, held = forest_fitter(3, trees=7)(X, T)
    assert np.isfinite(held).all()
    # Held-out errors are larger than training errors.
    assert ((held - T) ** 2).mean() > 2 * ((packed.predict(X) - T) ** 2).mean()
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


def test_trees_of_large_tables_draw_some_rows_only(monkeypatch):
    X, T = rows(80)
    monkeypatch.setattr("exml_sim.method.soft.MOST_DRAWN", 15)
    packed, held = forest_fitter(3, trees=7)(X, T)
    assert len(packed.feature) <= 7 * (2 * 15 - 1)
    # The root's targets are a mean of fifteen rows.
    counts = packed.value[packed.roots] * 15
    assert held.shape == T.shape
    np.testing.assert_allclose(counts.sum(axis=1), 15)


def test_mean_and_estimators():
    X, T = rows(90)
    model, held = mean_fitter([forest_fitter(0, trees=9), KernelFitter()])(X, T)
    np.testing.assert_allclose(normalised(model.predict(X)).sum(axis=1), 1.0)
    np.testing.assert_allclose(held.sum(axis=1), 1.0)
    own, held = estimator_fitter(LogisticRegression(), 5, np.random.default_rng(0))(X, T)
    assert np.mean(held.argmax(axis=1) == T.argmax(axis=1)) > 0.5
    assert own.predict(X).shape == (90, 3)


def test_an_estimator_that_saw_one_class_says_so_for_the_others():
    X, T = rows(12)
    T = np.eye(3)[np.r_[np.zeros(11, dtype=int), 1]]
    _, held = estimator_fitter(LogisticRegression(), 3, np.random.default_rng(0))(X, T)
    assert (held[:, 2] == 0.0).all()


@pytest.mark.parametrize(("said", "words"), [("nan", "NaN or infinite"), ("narrow", "shape")])
def test_probabilities_that_are_none_are_refused(said, words):
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 1 if said == "narrow" else len(self.classes_)), np.nan if said == "nan" else 1.0)

    with pytest.raises(ValueError, match=words):
        estimator_fitter(Broken(), 3, np.random.default_rng(0))(*rows(40))


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="must be a classifier with predict_proba; Perceptron has no predict_proba"):
        check_estimator(Perceptron())
    with pytest.raises(ValueError, match="int has no fit"):
        check_estimator(3)
