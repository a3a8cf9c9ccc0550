"""Choosing theta: counts by a slow path, the rules, and the estimate of true errors against the truth."""

import numpy as np
import pytest

from exml_sim.classifier._rejection_model import (
    CrossValidatedVotes,
    ModelOptions,
    ThetaResult,
    choose_augmented,
    choose_fewest_errors,
    choose_initial,
    fit_rejection_model,
)
from exml_sim.datasets.synthetic import HIDDEN, draw_rows
from exml_sim.rejection import RejectionClassifier


def vote(X, y, folds=5, seed=0, **options):
    """Cross-validate rejection models of two classes."""
    options = ModelOptions(**{"C_h": 0.1, "C_g": 0.1, **options})
    return CrossValidatedVotes.of_features(X, y, 2, options, folds=folds, rng=np.random.default_rng(seed))


def test_cross_validation_by_refitting_the_estimator():
    """The shared Gram matrix gives what fitting a classifier anew for every fold gives."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + y[:, None]
    result = vote(X, y, folds=4, seed=5, gamma=2.0, scaling="none").count(0.3)
    order = np.random.default_rng(5).permutation(40)
    order = np.concatenate([order[y[order] == 0], order[y[order] == 1]])
    fold = np.empty(40, int)
    fold[order] = np.tile(np.arange(4), 10)
    right = accepted = 0
    for k in range(4):
        peer = RejectionClassifier(0.3, gamma=2.0, C_h=0.1, C_g=0.1).fit(X[fold != k], y[fold != k])
        kept = ~peer.predict_reject(X[fold == k])
        accepted += kept.sum()
        right += (kept & (peer.predict(X[fold == k]) == y[fold == k])).sum()
    assert (result.accepted, result.right_accepted) == (accepted, right)
    assert 0 < accepted < 40


def test_initial_rule():
    tried = [ThetaResult(0.1, 100, 10, 10, 50), ThetaResult(0.2, 100, 60, 58, 20), ThetaResult(0.3, 100, 90, 80, 5)]
    choice = choose_initial(tried, 0.95)
    assert (choice.theta, choice.chosen.accepted) == (0.2, 60)
    assert "accepts 60 of 100" in choice.reason
    choice = choose_initial(tried[2:], 0.95)
    assert choice.theta == 0.3
    assert "88.9%" in choice.reason
    assert "accepting none" in choose_initial([ThetaResult(0.1, 100, 0, 0, 50)], 0.95).reason


def test_prices_are_tried_from_the_highest_down():
    rows = draw_rows(40, rng=0)
    known = rows.classes != HIDDEN
    X, y = rows.points[known], (rows.y[known] > 0).astype(int)
    votes = vote(X, y)
    tried = votes.count_down_to((0.1, 0.2, 0.3, 0.4), 0.9)
    assert [entry.theta for entry in tried] == [0.4]
    assert [entry.theta for entry in votes.count_down_to((0.1, 0.2, 0.3), 1.01)] == [0.1, 0.2, 0.3]
    # Skipping changes nothing: the rule takes the same price when it sees all of them.
    everything = [votes.count(theta) for theta in (0.1, 0.2, 0.3, 0.4)]
    assert choose_initial(everything, 0.9).theta == choose_initial(tried, 0.9).theta == 0.4


def test_estimated_errors_of_two_classes_are_the_rejection_loss_at_one_quarter():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, accepted = 100, int(rng.integers(0, 101))
        theta_result = ThetaResult(
            0.2, n, accepted, int(rng.integers(0, accepted + 1)), int(rng.integers(0, n - accepted + 1))
        )
        wrong_accepted = theta_result.accepted - theta_result.right_accepted
        wrong = wrong_accepted + (n - accepted) - theta_result.right_rejected
        loss = wrong_accepted + 0.25 * (n - accepted)
        assert theta_result.estimated_errors(2) == pytest.approx(4 * loss - 2 * wrong)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_estimated_errors_against_the_truth(n_classes):
    """On rows whose known labels are clean the estimate is unbiased: within 6 standard errors (false alarm below 1e-8).

    A model that confuses no known classes but accepts some hidden and rejects some known rows; only the die is random.
    """
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(n_classes + 1), 200)
    winner = np.where(truth < n_classes, truth, rng.integers(0, n_classes, truth.size))
    accepted = np.where(truth < n_classes, rng.random(truth.size) < 0.8, rng.random(truth.size) < 0.3)
    true_errors = int(np.sum(accepted == (truth == n_classes)))
    draws = []
    for _ in range(400):
        y = np.where(truth == n_classes, rng.integers(0, n_classes, truth.size), truth)
        draws.append(ThetaResult.count(0.2, winner, accepted, y).estimated_errors(n_classes))
    assert abs(np.mean(draws) - true_errors) < 6 * np.std(draws) / 20
    # The naive factor 1 (every disagreement is one error) would be caught.
    naive = [(1 - 1 / n_classes) * d + (1 / n_classes) * np.sum(~accepted) for d in draws]
    assert abs(np.mean(naive) - true_errors) > 6 * np.std(naive) / 20


def test_the_chosen_price_is_near_the_best_one_by_the_truth():
    """On Section 5.1 with the best candidate the rule loses at most 3 points to the price that test labels choose."""
    rows, test = draw_rows(100, rng=2), draw_rows(500, rng=3)
    X, y = rows.points, (rows.y > 0).astype(int)
    options = ModelOptions(C_h=0.1, C_g=0.1)
    votes = vote(X, y)
    thetas = (0.1, 0.2, 0.3, 0.4)
    choice = choose_fewest_errors([votes.count(theta) for theta in thetas], 2, "all rows")
    accuracy = {}
    for theta in thetas:
        winner, accepted, _ = fit_rejection_model(X, y, 2, theta, options).evaluate(test.points)
        accuracy[theta] = np.mean(np.where(accepted, winner + 1, HIDDEN) == test.classes)
    assert accuracy[choice.theta] > max(accuracy.values()) - 0.03
    assert min(accuracy.values()) < max(accuracy.values()) - 0.05


def test_folds():
    with pytest.raises(ValueError, match="folds must be between 2"):
        vote(np.zeros((3, 1)), np.zeros(3, int), folds=4)


def vote_on_noisy_labels():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    return vote(X, (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(int), seed=1), X


def test_counts_among_some_rows_and_among_the_others_add_up():
    votes, X = vote_on_noisy_labels()
    result = X[:, 1] > 0
    whole, entry, other = votes.count(0.3), votes.count(0.3, result), votes.count(0.3, ~result)
    for field in ("rows", "accepted", "right_accepted", "right_rejected"):
        assert getattr(whole, field) == getattr(entry, field) + getattr(other, field)


def test_a_layer_behind_another_is_judged_on_the_rows_that_reach_it():
    """Judged on all rows, those that never reach the layer decide: what made cascades worse than their first layer."""
    votes, _ = vote_on_noisy_labels()
    thetas = (0.1, 0.2, 0.3, 0.4)
    none, every = np.zeros(80, dtype=bool), np.ones(80, dtype=bool)
    alone = choose_augmented(votes, thetas, 2, None)
    assert alone == choose_fewest_errors([votes.count(theta) for theta in thetas], 2, "80 bought rows, cross-validated")
    assert choose_augmented(votes, thetas, 2, none) == alone
    assert choose_augmented(votes, thetas, 2, every).theta == alone.theta
    # Rows that the generous price gets wrong: among them only, a lower price is better.
    winner, accepted = votes.vote(0.4)
    wrong = accepted & (winner != votes.y)
    behind = choose_augmented(votes, thetas, 2, wrong)
    assert behind.theta == min(thetas) < alone.theta
    assert f"{int(wrong.sum())} of 80 bought rows, those that the layers before reject" in behind.reason
