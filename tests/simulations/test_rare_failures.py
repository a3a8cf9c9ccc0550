"""Rare failures: exact probabilities, slow paths of drawing, screening and weights, planted errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from exml_sim.engine import Study
from simulations import _rare_failures as rare_failures
from simulations import certificates as certification
from simulations._pool_bounds import known_pool
from simulations._rare_failures import BLOCK, RareFailures, find_obstacle, log_evidence
from simulations.certificates import replay
from tests.simulations.test_certificates import certify
from theory.verdicts import critical_count

#: The main study's candidates with fewer rows, and a pool of three rows whose samples can be enumerated.
SYNTHETIC = {"kind": "synthetic", "per_class": 12, "angles": [0, 10, 40, 90]}
SMALL = {"kind": "finite_support", "values": [[1.0, 0.4, -0.8], [0.5, 0.6, 0.7]], "y": [1, 1, -1]}
#: Probability of a false alarm of a statistical assertion.
ALPHA = 1e-6
BALL = {"score": "ball", "theta": 0.1, "ball": 0.7}


def only_cell(pool: dict[str, object], rows: int = 10, **parts: object) -> Study:
    table = {"pools": [pool], "strategies": ["uniform_allocation"], "budgets": {"per_arm": [rows]}, "scores": [BALL]}
    study = Study.from_table(table | parts)
    return certification._only(study, study.cells()[0])


def find_failures(only: Study, sample: np.ndarray) -> np.ndarray:
    """Score all arms on every sample by the closed form of the affine regime, and find where a rival is no worse."""
    model = known_pool(only.pool(only.cells()[0]))
    counts = np.stack([np.bincount(rows, minlength=model.n_rows) for rows in sample]) / sample.shape[1]
    sizes = []
    for arm in range(model.n_arms):
        forms = [np.einsum("ti,ij,tj->t", part, model.gram(arm), part) for part in (counts, counts * model.labels)]
        sizes.append(sum(np.sqrt(np.maximum(form, 0.0)) for form in forms))
    return np.max([sizes[arm] for arm in model.rivals], axis=0) >= sizes[model.best_arms[0]] - 1e-7


@pytest.mark.parametrize(("pool", "rows"), [(SYNTHETIC, 3), (SYNTHETIC, 24), (SMALL, 7)])
def test_screening_and_weights_agree_with_the_slow_path(pool, rows) -> None:
    only = only_cell(pool)
    rare = RareFailures(only, plain=0.7)
    sample, component = rare.draw(rows, 77, 3)
    failed = find_failures(only, sample)
    assert 0 < failed[component == 0].sum() < (component == 0).sum()
    densities = np.exp(rare._log_ratio[:, sample].sum(axis=2))
    slow = 1.0 / (np.exp(rare._log_share) @ densities)
    np.testing.assert_allclose(rare._run(rows, 77, 3), slow[failed], rtol=1e-8)
    assert float(slow.max()) <= rare.largest_weight(rows)


def test_rows_are_drawn_from_the_rounded_probabilities() -> None:
    """Places of words by a search in all components, and their ranges as the densities of the weights."""
    rare = RareFailures(only_cell(SYNTHETIC), plain=0.5)
    raw = np.random.Philox(key=5, counter=9 << 128).random_raw(BLOCK * 4)
    words = np.asarray(raw, dtype="<u8").view("<u4").reshape(BLOCK, 8)
    sample, component = rare.draw(7, 5, 9)
    for trial in range(0, BLOCK, 37):
        assert component[trial] == np.searchsorted(rare._chosen, words[trial, 0], side="right")
        ends = rare._edges[component[trial]]
        assert sample[trial].tolist() == [int((ends <= word).sum()) for word in words[trial, 1:]]
    ends = np.concatenate([[0], rare._edges[1].astype(np.int64), [2**32]])
    np.testing.assert_allclose(np.exp(rare._log_ratio[1]) / rare.size, np.diff(ends) / 2**32, rtol=1e-12)


def exact_probability(only: Study, rows: int) -> float:
    size = known_pool(only.pool(only.cells()[0])).n_rows
    samples = np.array(list(itertools.product(range(size), repeat=rows)))
    return float(find_failures(only, samples).mean())


def test_the_mean_weight_is_the_failure_probability() -> None:
    """Hoeffding's inequality for weights that are at most 1 / 0.4."""
    only, trials = only_cell(SMALL), 200 * BLOCK
    rare = RareFailures(only, plain=0.4)
    weights = rare.find_weights(8, 16 * "1f", range(trials))
    exact = exact_probability(only, 8)
    assert 0.001 < exact < 0.3
    assert abs(weights.sum() / trials - exact) < 2.5 * math.sqrt(math.log(2 / ALPHA) / (2 * trials))
    assert np.array_equal(weights, rare.find_weights(8, 16 * "1f", range(trials), n_jobs=2))


def count_certified(draw: Callable[[np.random.Generator, int], np.ndarray], bound: float, largest: float) -> int:
    """Count certificates at alpha = 1e-2 among 500 sequences of weights, analysed after every 500 trials."""
    rng, certified = np.random.default_rng(1), 0
    for _ in range(500):
        weights = np.zeros(0)
        for done in range(500, 5001, 500):
            weights = np.append(weights, draw(rng, 500))
            if log_evidence(weights, done, bound, largest) >= math.log(100):
                certified += 1
                break
    return certified


def test_bounded_weights_certify_no_more_than_alpha_and_unbounded_ones_do() -> None:
    """Planted error: a rare large weight that the limit of the weights does not know."""

    def draw(rng: np.random.Generator, trials: int) -> np.ndarray:
        # The mean of a trial's weight is exactly 0.01: half of it is one failure in 2,000 trials with weight 10.
        many = rng.binomial(trials, 0.05)
        return np.append(np.full(many, 0.1), np.full(rng.binomial(trials, 0.0005), 10.0))

    most = critical_count(500, 1e-2, ALPHA)
    assert count_certified(draw, 0.01, 10.0) < most
    cut = lambda rng, trials: np.minimum(draw(rng, trials), 0.1)  # noqa: E731
    assert count_certified(cut, 0.01, 0.1) > most
    assert count_certified(draw, 0.05, 10.0) > most
    with pytest.raises(ValueError, match=r"weights must be between 0 and 0.1, got 10 to 10"):
        log_evidence([10.0], 500, 0.01, 0.1)


def test_certificates_of_small_probabilities_agree_with_enumeration(monkeypatch) -> None:
    """Twice the exact probability is certified, and a level just below it is not."""
    monkeypatch.setattr(certification, "_is_weighted", partial(certification._is_weighted, rare=0.5))
    exact = exact_probability(only_cell(SMALL), 8)
    parts = {"scores": [BALL]}
    high = certify(SMALL, "uniform_allocation", 16, 2 * exact, **parts)
    assert high.budget == 16
    assert abs(high.attempts[0].estimate / exact - 1) < 0.5
    assert replay(high) == []
    low = certify(SMALL, "uniform_allocation", 16, 0.99 * exact, max_trials=200 * BLOCK, **parts)
    assert low.budget is None


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        # The screening forgets what the majorant's leading eigenvectors leave, or clears trials too early.
        ("_factor", lambda gram, rank: (np.zeros((len(gram), rank)), np.zeros(len(gram)))),
        ("psd_majorant", lambda makers, p: (0.0 * makers[0](), 0.0)),
    ],
)
def test_planted_errors_of_the_screening_lose_failures(monkeypatch, name, wrong) -> None:
    only = only_cell(SYNTHETIC)
    right = RareFailures(only, plain=0.9).find_weights(6, "ab", range(BLOCK))
    if name == "_factor":
        kept = rare_failures._factor
        wrong = lambda gram, rank: kept(gram, rank) if rank == rare_failures.BEST_RANK else (  # noqa: E731
            np.zeros((len(gram), rank)), np.zeros(len(gram)))  # fmt: skip
    monkeypatch.setattr(rare_failures, name, wrong)
    assert RareFailures(only, plain=0.9).find_weights(6, "ab", range(BLOCK)).size < right.size


@pytest.mark.parametrize(
    ("parts", "obstacle"),
    [
        ({"scores": [{"score": "ball", "theta": 0.1, "ball": 2.0}]}, "kappa Lambda at most 1 - 2 theta"),
        ({"strategies": ["median_elimination"]}, "uniform allocation"),
        ({"sampling": {"rows": "independent"}}, "same rows for all arms"),
        ({"strategies": [{"name": "uniform_allocation", "alignment": "budget"}]}, "the same number of rows"),
    ],
)
def test_other_cells_say_why_not(parts, obstacle) -> None:
    pool = {**SYNTHETIC, "costs": [1, 2, 2, 1]} if "number" in obstacle else SYNTHETIC
    assert obstacle in find_obstacle(only_cell(pool, **parts))
    assert find_obstacle(only_cell(SYNTHETIC)) == ""
