"""The numbers of the counterexamples, recomputed with formulas typed again from the paper."""

import dataclasses
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from exml_sim.datasets.synthetic import draw_rows
from theory.claims import get

F = Fraction


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(50):
        yield


def evidence(entries, claim_id):
    return dict(entries[claim_id].verdict.evidence)


def constant(theta):
    return (1 - theta) / (1 - 2 * theta)


def test_e4_term_d(entries):
    theta, m, p, delta = mp.mpf(1) / 1000, 30, F(16, 25), F(64, 10**7)
    r = 1 - 2 * theta
    bound = 2 * constant(theta) * r / mp.sqrt(m) + mp.sqrt(mp.log(1 / mp.mpf(64) * 10**7) / (2 * m))
    worst = max(k for k in range(m) if 2 * r * (mp.mpf(16) / 25 - mp.mpf(k) / m) > bound)
    tail = sum(math.comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(worst + 1))
    assert tail > delta
    assert evidence(entries, "term-d")["left"] == tail


def test_e4_lemma_1_ii(entries):
    case = get("lemma-1-ii").cases[0]
    n, theta = case["n"], mp.mpf("1e-12")
    r = mp.sqrt(2) * (1 - 2 * theta)
    tilt, third, delta = (mp.mpf(str(case[key])) for key in ("tilt", "third", "delta"))
    gap = (tilt + third) * (1 - 2 * theta)
    bound = 4 * constant(theta) * r / mp.sqrt(n) + 2 * mp.sqrt(mp.log(2 / delta) / (2 * n))
    fail = 4 * mp.exp(-mp.mpf(2) / 9 * n * (gap / 2 - 2 * constant(theta) * r / mp.sqrt(n)) ** 2)
    regret = tilt * (2 * (1 - 2 * theta) - 2 * theta * n) - 2 * theta * third
    assert n > 16 * (constant(theta) * r / gap) ** 2
    assert regret > bound
    # P(N_A > N_B) again, by the normal distribution with the exact variance, up to ten per cent.
    sigma = math.sqrt(n * (1 - case["third"] - case["tilt"] ** 2))
    normal = stats.norm.sf((n * case["tilt"] + 0.5) / sigma)
    probability = evidence(entries, "lemma-1-ii")["left"]
    assert probability == pytest.approx(normal, rel=0.1)
    assert probability > 2 * (delta + fail)


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


def test_e6_kappa(entries):
    kappa, radius, n, m, theta = mp.mpf("1e-3"), mp.mpf("3e5"), 10**4, 10**6, mp.mpf("0.1")
    assert (3 - 2 * theta) * mp.sqrt(n) / kappa <= radius  # zero loss on every sample of arm 2
    risk = 1 - radius * kappa / mp.sqrt(m)
    gap = risk - mp.mpf("0.5")
    literal = kappa**2 * radius
    assert n > 16 * (constant(theta) * literal / gap) ** 2
    bound = 4 * mp.exp(-mp.mpf(2) / 9 * n * (gap / 2 - 2 * constant(theta) * literal / mp.sqrt(n)) ** 2)
    assert evidence(entries, "lemma-4-kappa")["right"] == pytest.approx(float(bound), rel=1e-9)
    assert bound < 1.7e-8


def test_e7_ties(entries):
    n = 300
    half = stats.binom(n, 0.5)
    # The loser of the tie needs strictly fewer rows of its bad atom; those rows are split by fair coins.
    other = sum(half.pmf(k) * stats.binom.sf(k // 2, k, 0.5) for k in range(1, n + 1))
    assert evidence(entries, "lemma-1-i")["left"] == pytest.approx(other, rel=1e-9)
    assert other > 0.48


def test_e8_counts(entries):
    numbers = evidence(entries, "a5-count-1")
    assert (numbers["left"], numbers["right"]) == (960, 1920)


def test_e8_lemma_2_ii(entries):
    case = get("lemma-2-ii").cases[0]
    n, theta = case["n"], mp.mpf("1e-12")
    r = mp.sqrt(2) * (1 - 2 * theta)
    tilt, third, delta = (mp.mpf(case[key]) for key in ("tilt", "third", "delta"))
    gap = (tilt + third) * (1 - 2 * theta)
    rows = 2 * n  # floor(B / log2 2) with B = 2n
    bound = 4 * constant(theta) * r / mp.sqrt(rows) + 2 * mp.sqrt(mp.log(2 / delta) / (2 * rows))
    q = mp.exp(-mp.mpf(2) / 9 * n * (gap / 2 - 2 * constant(theta) * r / mp.sqrt(n)) ** 2)
    assert 2 * tilt * (1 - 1e-6) > bound
    assert evidence(entries, "lemma-2-ii")["left"] > delta + 8 * q / (1 - q)


def test_e9_chain(entries):
    q = F(1, 100)
    assert evidence(entries, "a5-wlog")["left"] == pytest.approx(float(8 * (q + F(1, 1000))), rel=1e-4)
    assert evidence(entries, "a5-wlog")["right"] == pytest.approx(float(8 * q / (1 - q)))


def test_e9_rows_of_the_first_round():
    claim = get("lemma-2-first-round")
    pairs = {(case["B"], case["K"]): (claim.reading.left(**case), claim.reading.right(**case)) for case in claim.cases}
    assert pairs[540, 9] == (15, 18)
    assert pairs[1161, 5] == (77, 100)
    assert pairs[1440, 8] == (60, 60)


def test_e11_misprint(entries):
    theta, r, gap, n = mp.mpf("0.1"), mp.mpf("0.5"), mp.mpf("0.3"), 226
    x = gap / 2 - (4 - 4 * theta) / (1 - 2 * theta) * r / mp.sqrt(n)
    left, right = 4 * mp.exp(-mp.mpf(2) / 9 * n * x**2), 4 * mp.exp(-(gap**2) * n / 72)
    numbers = evidence(entries, "a2-delta-line-2")
    assert math.exp(numbers["left"]) == pytest.approx(float(left)) == pytest.approx(4.0, abs=1e-4)
    assert math.exp(numbers["right"]) == pytest.approx(float(right)) == pytest.approx(3.0156, abs=1e-4)


def test_e16_distinct_rows_fail_more_often(entries):
    numbers = evidence(entries, "me-draw-replacement")
    assert (numbers["left"], numbers["right"]) == (F(4, 5), F(11, 25))


def test_e18_uniform_allocation_fails_more_often(entries):
    numbers = evidence(entries, "me-fails-more")
    assert numbers["name"] == "one-rival-8"
    # Again, from the distribution of the signs alone: with B = 144 the arms have 18 rows, or 6 + 12 + 24 accumulated.
    for rows, value in ((18, numbers["right"]), (42, numbers["left"])):
        lost = sum(
            math.comb(rows, a) * math.comb(rows - a, b) * F(2, 5) ** (rows - b) * F(1, 5) ** b
            for a in range(rows + 1)
            for b in range(rows - a + 1)
            if abs(b - a + (rows - a - b)) > abs(a - b + (rows - a - b))
        )
        assert value == pytest.approx(float(lost), rel=0.05)
    assert numbers["right"] > 2.8 * numbers["left"]


def test_e19_alignment(entries):
    numbers = evidence(entries, "sample-alignment")
    assert (numbers["feature"], numbers["left"], numbers["right"]) == ("Pix", F(6, 5), 1)


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
