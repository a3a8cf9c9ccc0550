"""Estimated label noise: against a plain loop, on drawn mixtures, and on rows with a hidden class."""

import re

import numpy as np
import pytest
from scipy.stats import dirichlet

from exml_sim import ExMLClassifier
from exml_sim.classifier import _latent_class as latent_class
from exml_sim.classifier import constants
from exml_sim.classifier._latent_class import estimate_label_noise, noise_grid
from tests.classifier.tasks import synthetic


def draw_mixture(rng, distribution, n, neighbours=10, noise=0.05, sizes=None):
    """Held-out probabilities of rows of equal classes, the last hidden, and their labels."""
    n_classes = len(distribution)
    corners = np.full((n_classes, n_classes), noise / (n_classes - 1))
    np.fill_diagonal(corners, 1 - noise)
    means = np.vstack([corners, distribution])
    true = rng.choice(n_classes + 1, size=n, p=sizes)
    p = np.array([rng.dirichlet(neighbours * means[c]) for c in true])
    y = np.array([rng.choice(n_classes, p=means[c]) for c in true])
    return p, y


def fit_plainly(p, y, distribution, k, e):
    """Log-likelihood and prior at weights found row by row, density by density."""
    n_classes = p.shape[1]
    means = [[1 - e if a == c else e / (n_classes - 1) for a in range(n_classes)] for c in range(n_classes)]
    dens = []
    for point, label in zip(p, y, strict=True):
        known = [dirichlet.pdf(point, k * np.array(m)) * m[label] for m in means]
        overlap = dirichlet.pdf(point, np.ones(n_classes)) * point[label]
        dens.append([*known, overlap, dirichlet.pdf(point, k * distribution) * distribution[label]])
    prior = [constants.PRIOR_CLASS_ROWS] * n_classes + [constants.PRIOR_OVERLAP_ROWS, constants.PRIOR_HIDDEN_ROWS]
    weights = [1 / (n_classes + 2)] * (n_classes + 2)
    for _ in range(constants.NOISE_EM_ROUNDS):
        shares = [
            [w * d / sum(a * b for a, b in zip(weights, row, strict=True)) for w, d in zip(weights, row, strict=True)]
            for row in dens
        ]
        sums = [sum(row[c] for row in shares) + prior[c] for c in range(n_classes + 2)]
        weights = [entry / sum(sums) for entry in sums]
    return sum(np.log(np.dot(weights, row)) for row in dens) + np.dot(prior, np.log(weights))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_fit_is_that_of_a_plain_loop(n_classes):
    rng = np.random.default_rng(n_classes)
    p, y = draw_mixture(rng, np.full(n_classes, 1 / n_classes), 30)
    p = np.clip(p, constants.MIN_BORDER_DISTANCE, 1 - constants.MIN_BORDER_DISTANCE)
    p /= p.sum(axis=1, keepdims=True)  # scipy refuses points off the simplex
    distributions = noise_grid(n_classes)
    noise_log_likelihoods = latent_class._noise_log_likelihoods(p, y, distributions, 4.0, 0.12)
    for distribution, entry in zip(distributions[::3], noise_log_likelihoods[::3], strict=True):
        assert entry == pytest.approx(fit_plainly(p, y, distribution, 4.0, 0.12), rel=1e-9)


@pytest.mark.parametrize(("share", "sizes"), [(0.5, None), (0.8, None), (0.2, None), (0.8, (0.15, 0.5, 0.35))])
def test_the_distribution_of_a_drawn_mixture_is_found(share, sizes):
    """Also if one known class is rare; the estimate is pulled to the fair die, so it may stop short."""
    distribution = np.array([share, 1 - share])
    for seed in range(5):
        estimate = estimate_label_noise(*draw_mixture(np.random.default_rng(seed), distribution, 400, sizes=sizes))
        assert abs(estimate.estimate[0] - share) < 0.08
        low, high = estimate.range
        assert low[0] <= share + 1e-9
        assert high[0] >= share - 1e-9


def test_more_classes_lean_where_the_distribution_leans():
    distribution = np.array([0.1, 0.1, 0.7, 0.1])
    estimate = estimate_label_noise(*draw_mixture(np.random.default_rng(0), distribution, 400, neighbours=16))
    assert estimate.estimate.argmax() == 2
    assert estimate.estimate[2] > 0.5
    assert estimate.estimate.sum() == pytest.approx(1.0)


def test_relabelled_classes_relabel_the_distribution():
    p, y = draw_mixture(np.random.default_rng(1), np.array([0.6, 0.3, 0.1]), 120)
    turned = estimate_label_noise(p[:, ::-1], 2 - y)
    np.testing.assert_allclose(turned.estimate[::-1], estimate_label_noise(p, y).estimate, rtol=1e-9)


def test_little_data_leaves_the_fair_die_and_nearly_everything_open():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.6, 0.4]])
    estimate = estimate_label_noise(p, np.array([0, 0, 1, 0]))
    np.testing.assert_allclose(estimate.estimate, 0.5, atol=0.03)
    low, high = estimate.range
    assert low.max() == 0.0
    assert high.min() == 1.0


def test_probabilities_at_the_border_are_taken():
    p = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    estimate = estimate_label_noise(p, np.repeat([0, 1], 20))
    assert np.isfinite(estimate.log_likelihoods).all()
    np.testing.assert_allclose(estimate.estimate, 0.5, atol=0.02)


def test_distribution_and_size_may_be_given_and_the_report_says_so():
    rows, oracle, *_ = synthetic(per_class=40)
    options = {"budget_ratio": "0.2", "explore": "always", "model": "kernel"}
    result = ExMLClassifier(**options).fit(rows.X, rows.y, oracle).report()
    assert re.search(r"hidden rows: -1 \d+% \(\d+% to \d+% possible\), 1 \d+% \(\d+% to \d+% possible\)\.", result)
    given = ExMLClassifier(label_noise=[0.8, 0.2], hidden_share=0.25, **options).fit(rows.X, rows.y, oracle).report()
    assert given.count("Hidden rows are about 25 % of all rows, as given.") == 1
    assert "of all rows, as given" not in result
    assert "Assumed label noise of hidden rows: -1 80%, 1 20%, as given." in given
