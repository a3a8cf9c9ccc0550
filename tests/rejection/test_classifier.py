"""The scikit-learn estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from exml_sim import ParametricPool, kernels
from exml_sim.datasets.synthetic import draw_rows
from exml_sim.rejection import RejectionClassifier, solve
from theory import paper


# No check is excused. scikit-learn itself skips check_array_api_input unless SCIPY_ARRAY_API is set.
@parametrize_with_checks(
    [RejectionClassifier(), RejectionClassifier(kernel="linear", loss="mean"), RejectionClassifier(theta=0.1, C_h=0.1)]
)
def test_scikit_learn_conventions(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    return draw_rows(40, rng=0)


def test_agrees_with_solve(rows) -> None:
    model = RejectionClassifier(theta=0.2, C_h=0.5, C_g=2.0).fit(rows.points, rows.y)
    K = kernels.gram(rows.points)
    direct = solve(K, rows.y, 0.2, penalty=(0.5, 2.0))
    np.testing.assert_allclose(model.decision_function(rows.points), direct.h, atol=1e-12)
    np.testing.assert_allclose(model.rejection_function(rows.points), direct.g, atol=1e-12)
    np.testing.assert_array_equal(model.predict_reject(rows.points), direct.g < 0)


def test_mean_loss_is_the_sum_with_scaled_penalty(rows) -> None:
    mean = RejectionClassifier(loss="mean", C_h=0.01, C_g=0.02).fit(rows.points, rows.y)
    total = RejectionClassifier(loss="sum", C_h=1.2, C_g=2.4).fit(rows.points, rows.y)
    np.testing.assert_allclose(mean.rejection_function(rows.points), total.rejection_function(rows.points), atol=1e-9)


def test_the_printed_objective_rejects_everything_and_the_sum_does_not(rows) -> None:
    printed = RejectionClassifier(theta=0.3, loss="mean").fit(rows.points, rows.y)
    assert printed.predict_reject(rows.points).all()
    default = RejectionClassifier(theta=0.3).fit(rows.points, rows.y)
    assert 0 < default.predict_reject(rows.points).mean() < 1


@pytest.mark.parametrize("labels", [("no", "a much longer yes"), (7, 3), (False, True), (0.0, 2.0)])
def test_any_two_labels(rows, labels: tuple) -> None:
    y = np.where(rows.y > 0, labels[1], labels[0])
    model = RejectionClassifier(theta=0.2, C_h=0.1, C_g=0.1).fit(rows.points, y)
    assert set(model.predict(rows.points)) <= set(labels)
    assert model.score(rows.points, y) > 0.6


@pytest.mark.parametrize("hidden", ["hidden class", -9, None])
def test_hidden_label(rows, hidden) -> None:
    y = np.where(rows.y > 0, "b", "a")
    model = RejectionClassifier(theta=0.3, hidden_label=hidden).fit(rows.points, y)
    predicted, rejected = model.predict(rows.points), model.predict_reject(rows.points)
    assert rejected.any()
    if hidden is None:
        assert set(predicted) == {"a", "b"}
    else:
        assert all(p == hidden for p in predicted[rejected])
        assert set(predicted[~rejected]) == {"a", "b"}
        truth = np.array(predicted, dtype=object)
        truth[0] = "a" if truth[0] != "a" else "b"
        assert np.mean(np.array(predicted, dtype=object) == truth) == pytest.approx(119 / 120)


def test_precomputed_kernel_equals_the_kernel(rows) -> None:
    gamma = kernels.median_gamma(rows.points)
    plain = RejectionClassifier(theta=0.2).fit(rows.points, rows.y)
    K = kernels.gaussian(rows.points, gamma=gamma)
    given = RejectionClassifier(theta=0.2, kernel="precomputed").fit(K, rows.y)
    new = draw_rows(5, rng=1).points
    cross = kernels.gaussian(new, rows.points, gamma=gamma)
    np.testing.assert_allclose(given.decision_function(cross), plain.decision_function(new), atol=1e-12)


def test_callable_kernel(rows) -> None:
    own = RejectionClassifier(kernel=lambda A, B: A @ B.T).fit(rows.points, rows.y)
    linear = RejectionClassifier(kernel="linear").fit(rows.points, rows.y)
    np.testing.assert_allclose(own.rejection_function(rows.points), linear.rejection_function(rows.points), atol=1e-6)


def test_clones_and_pickles(rows) -> None:
    model = RejectionClassifier(theta=0.2, C_h=0.3).fit(rows.points, rows.y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.rejection_function(rows.points), model.rejection_function(rows.points))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"theta": 0.6}, "theta must lie in"),
        ({"C_h": 0.0}, "C_h must be a finite number above 0"),
        ({"loss": "median"}, "unknown loss 'median': allowed are 'sum', 'mean'"),
        ({"kernel": "cubic"}, "unknown kernel 'cubic': allowed are 'gaussian', 'linear', 'precomputed'"),
        ({"gamma": -1.0}, "gamma must be a finite number above 0"),
    ],
)
def test_bad_parameters(rows, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RejectionClassifier(**change).fit(rows.points, rows.y)


def test_one_or_three_classes(rows) -> None:
    with pytest.raises(ValueError, match="y must have 2 classes; got 1 class"):
        RejectionClassifier().fit(rows.points, np.ones(120))
    with pytest.raises(ValueError, match="y must have 2 classes; got 3 classes"):
        RejectionClassifier().fit(rows.points, rows.classes)


@pytest.mark.parametrize("rank", [None, 50])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.filterwarnings("error")
def test_points_whose_squares_overflow_are_refused(rows, kernel: str, rank: int | None) -> None:
    with pytest.raises(ValueError, match=r"^X must be numbers of at most 1e\+100 in size; got -?\d\.\d+e\+20\d$"):
        RejectionClassifier(kernel=kernel, rank=rank).fit(1e200 * rows.points / np.abs(rows.points).min(), rows.y)


def test_texts_and_numbers_as_labels(rows) -> None:
    mixed = np.array(["left", 1], dtype=object)[(rows.y > 0).astype(int)]
    for labels in (mixed, mixed.tolist()):
        with pytest.raises(ValueError, match="labels must be all texts or all numbers, got both: 'left' and 1"):
            RejectionClassifier().fit(rows.points, labels)


@pytest.mark.parametrize("options", [{"C_g": 10**4000}, {"theta": 10**4000}])
def test_a_number_that_is_no_float_gets_a_message_of_one_short_line(options):
    X, y = np.arange(8.0)[:, None], np.repeat([-1, 1], 4)
    for act in (
        lambda: RejectionClassifier(**options).fit(X, y),
        lambda: RejectionClassifier().fit([[10**4000]] * 8, y),
        lambda: ParametricPool.bernoulli([0.4, 0.6]).explore("uniform_allocation", 10**4000),
        lambda: paper.delta_fail_uniform(10**4000, 8, 0.2, 0.1, 0.5),
    ):
        with pytest.raises(ValueError, match=r"\A.{10,300}\Z"):
            act()
