"""One layer: the binary model is the rejection classifier, the reject option over many classes reduces to it."""

import numpy as np
import pytest

from exml_sim.classifier._rejection_model import (
    Frame,
    ModelOptions,
    apply_rejector,
    binary_labels,
    fit_coefficients,
    fit_rejection_model,
)
from exml_sim.rejection import RejectionClassifier, solve


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    return rng.normal(size=(60, 2)) + 1.5 * y[:, None], y


@pytest.mark.parametrize(("loss", "C"), [("sum", 0.1), ("mean", 0.01)])
def test_two_classes_are_the_rejection_classifier(rows, loss, C):
    X, y = rows
    options = ModelOptions(loss=loss, C_h=C, C_g=C, scaling="none")
    winner, accepted, _ = fit_rejection_model(X, y, 2, 0.3, options).evaluate(X)
    peer = RejectionClassifier(0.3, loss=loss, C_h=C, C_g=C).fit(X, y)
    np.testing.assert_array_equal(accepted, ~peer.predict_reject(X))
    np.testing.assert_array_equal(winner, peer.predict(X))
    assert 0 < accepted.sum() < len(y)


def test_one_against_the_rest_of_two_classes_is_the_binary_model(rows):
    """The claim in the module: both problems of two classes are mirror images, and the reject option is g alone."""
    X, y = rows
    options = ModelOptions()
    frame = Frame.of(X, options)
    gram = frame.cross(frame.points(X))
    both = [solve(gram, np.where(y == c, 1, -1), 0.3, penalty=(0.1, 0.1)) for c in (0, 1)]
    h = gram @ np.column_stack([s.u for s in both])
    g = gram @ np.column_stack([s.w for s in both])
    np.testing.assert_allclose(h[:, 0], -h[:, 1], atol=1e-4)
    options = ModelOptions(C_h=0.1, C_g=0.1)
    u, w = fit_coefficients(gram, y, 2, 0.3, options, 1e-8)
    _, accepted = apply_rejector(gram @ u, gram @ w)
    clear = np.abs(g[:, 0]) > 1e-3
    np.testing.assert_array_equal(accepted[clear], g[clear, 0] >= 0)
    np.testing.assert_array_equal(apply_rejector(h, g)[1][clear], accepted[clear])
    assert clear.sum() > 40


def test_the_reject_option_needs_a_claim_and_confidence():
    h = np.array([[1.0, 0.5, -2.0], [1.0, 0.5, -2.0], [-0.1, -0.5, -2.0]])
    g = np.array([[0.2, -1.0, -1.0], [-0.2, 1.0, 1.0], [0.2, 1.0, 1.0]])
    winner, accepted = apply_rejector(h, g)
    assert winner.tolist() == [0, 0, 0]
    assert accepted.tolist() == [True, False, False]


def test_signs():
    y = np.array([0, 1, 2])
    assert [s.tolist() for s in binary_labels(y, 3)] == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    assert [s.tolist() for s in binary_labels(np.array([0, 1]), 2)] == [[-1, 1]]


def test_unit_scaling_makes_units_irrelevant(rows):
    X, y = rows
    options = ModelOptions(C_h=0.1, C_g=0.1)
    other = X * [1000.0, 0.001] + [5.0, -3.0]
    for first, second in zip(
        fit_rejection_model(X, y, 2, 0.3, options).evaluate(X),
        fit_rejection_model(other, y, 2, 0.3, options).evaluate(other),
        strict=True,
    ):
        np.testing.assert_allclose(first, second, rtol=1e-9)
    constant = np.ones((4, 1))
    np.testing.assert_array_equal(Frame.of(constant, options).points(constant), np.zeros((4, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": "log"}, "unknown scaling 'log'"),
        ({"loss": "max"}, "unknown loss 'max'"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": "mean"}, "gamma must be"),
        ({"C_h": 0.0}, "penalty"),
    ],
)
def test_bad_options(change, message):
    with pytest.raises(ValueError, match=message):
        ModelOptions(**change)


def test_wrong_number_of_columns(rows):
    X, y = rows
    with pytest.raises(ValueError, match="trained on 2 columns, got 1"):
        fit_rejection_model(X, y, 2, 0.3, ModelOptions()).evaluate(X[:, :1])
