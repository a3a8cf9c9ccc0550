"""The numbers of the counterexamples, recomputed with formulas typed again from the paper."""

import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from exml_sim.datasets.synthetic import draw_rows
from theory.claims import get


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(50):
        yield


def evidence(entries, claim_id):
    return dict(entries[claim_id].verdict.evidence)


def constant(theta):
    return (1 - theta) / (1 - 2 * theta)


def test_e5_lemma_4(entries):
    numbers = evidence(entries, "lemma-4")
    n, a, b = numbers["n"], numbers["first"], numbers["second"]
    r, theta, p, q = mp.mpf(20), mp.mpf("1e-6"), mp.mpf(19) / 420, mp.mpf(1) / 21
    slack = theta + theta / (1 - 2 * theta)
    gap = (q - p) * (1 + r) - slack
    ways = mp.loggamma(n + 1) - mp.loggamma(a + 1) - mp.loggamma(b + 1) - mp.loggamma(n - a - b + 1)
    probability = ways + a * mp.log(p) + b * mp.log(q) + (n - a - b) * mp.log(1 - p - q)
    bound = mp.log(4) - mp.mpf(2) / 9 * n * (gap / 2 - 2 * constant(theta) * r / mp.sqrt(n)) ** 2
    assert n > 16 * (constant(theta) * r / gap) ** 2
    assert b * (1 + r) / n + slack < a * (1 + r) / n <= 1
    assert numbers["left"] == pytest.approx(float(probability), abs=1e-3)
    assert numbers["right"] == pytest.approx(float(bound), abs=1e-3)
    assert probability > bound + 19


def test_e5_every_outlier_instance_refutes_on_its_own():
    claim = get("lemma-4")
    outliers = [case for case in claim.cases if "first" in case]
    assert sorted(case["r"] for case in outliers) == [4.0, 20.0]
    for case in outliers:
        alone = dataclasses.replace(claim, cases=(case,))
        assert alone.check().outcome == "refuted"
        assert alone.check_corrected().outcome == "consistent"


def test_the_bounds_are_empty_on_the_example_of_the_paper():
    """R_1* of Section 5.1 by densities, with the missing feature, against the threshold of r-ap-trivial."""
    points = draw_rows(70_000, rng=1).points
    known = [stats.multivariate_normal(mean, 3.0 * np.eye(3)).pdf(points) for mean in ((-1, 0, -5), (1, 0, 5))]
    hidden = stats.multivariate_normal((0, 0, 0), 1.5 * np.eye(3)).pdf(points)
    eta = (known[1] + hidden / 2) / (known[0] + known[1] + hidden)
    for theta, risk, empty in ((0.1, 0.0419, True), (0.2, 0.0788, True), (0.3, 0.1132, False), (0.4, 0.1447, False)):
        values = np.minimum(np.minimum(eta, 1 - eta), theta)
        error = values.std() / math.sqrt(len(values))
        assert values.mean() == pytest.approx(risk, abs=5 * error)
        distance = values.mean() - theta / (3 - 2 * theta)
        assert abs(distance) > 5 * error
        assert (distance > 0) == empty
