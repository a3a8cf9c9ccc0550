"""The printed statements against mpmath, with the formulas retyped from the paper."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from mpmath import mpf

from tests.theory.points import BoundProblem, points
from theory import AssumptionError, formulas, paper

mpmath.mp.dps = 60

# B, K, gap, theta, kappa_lambda; all above the launch budget of the lemmas.
TABLE = [
    (2000, 2, 0.1, 0.1, 0.1),
    (33400, 8, 0.2, 0.1, 0.5),
    (64000, 16, 0.5, 0.4, 1.0),
    (400000, 8, 0.5, 0.1, 5.0),
    (540001, 9, 0.25, 0.25, 0.9),
    (3000, 3, 0.19, 0.02, 0.2),
    (10**7, 33, 0.7, 0.45, 4.0),
    (10**9, 100, 0.9, 0.2, 8.0),
    (10**10, 17, 1.0, 0.33, 12.0),
    (10**10, 4, 0.3, 0.49, 0.6),
    (10**12, 1000, 0.5, 0.1, 1.0),
    (123456789, 11, 0.123, 0.234, 0.345),
    (4 * 10**4, 8, 0.45, 0.125, 0.75),
    (10**15, 2, 0.1, 0.1, 0.5),
]


def floor_rows(B: int, K: int, *, kind: str) -> int:
    log2 = mpmath.log(K, 2)
    if K & (K - 1) == 0:
        log2 = mpf(K.bit_length() - 1)
    divisor = {"uniform": mpf(K), "first": K * log2, "total": log2}[kind]
    return int(mpmath.floor(mpf(B) / divisor))


def exponent(n: int, gap: float, theta: float, r: float) -> mpf:
    """-(2/9) n (Delta/2 - ((2 - 2 theta)/(1 - 2 theta)) sqrt((kappa Lambda)^2 / n))^2"""
    gap, theta, r = mpf(gap), mpf(theta), mpf(r)
    inner = gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * mpmath.sqrt(r**2 / n)
    return -mpf(2) / 9 * n * inner**2


def close(value: float, expected: mpf, *, relative: float = 1e-11) -> bool:
    return abs(mpf(value) - expected) <= relative * max(1, abs(expected))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_failure_probability_of_uniform_allocation(row: tuple[int, int, float, float, float]) -> None:
    B, K, gap, theta, r = row
    expected = mpmath.log(4 * (K - 1)) + exponent(floor_rows(B, K, kind="uniform"), gap, theta, r)
    assert close(paper.delta_fail_uniform(*row, log=True), expected)
    linear = paper.delta_fail_uniform(*row)
    assert linear == pytest.approx(float(mpmath.exp(expected)), rel=1e-9, abs=5e-324)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_failure_probability_of_median_elimination(row: tuple[int, int, float, float, float]) -> None:
    B, K, gap, theta, r = row
    n = floor_rows(B, K, kind="first")
    if n <= 16 * ((1 - theta) * r / ((1 - 2 * theta) * gap)) ** 2:
        with pytest.raises(AssumptionError, match="identification condition"):
            paper.delta_fail_median(*row)
        return
    q = mpmath.exp(exponent(n, gap, theta, r))
    assert close(paper.delta_fail_median(*row, log=True), mpmath.log(8 * q / (1 - q)))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_regrets_and_excess_risks(row: tuple[int, int, float, float, float]) -> None:
    B, K, gap, theta, r = row
    delta, m = 0.05, 5 * 10**4
    steep = (4 - 4 * mpf(theta)) / (1 - 2 * mpf(theta)) * mpf(r)
    for kind, regret, risk in (
        ("uniform", paper.exploratory_regret_uniform, paper.excess_risk_uniform),
        ("total", paper.exploratory_regret_median, paper.excess_risk_median),
    ):
        n = floor_rows(B, K, kind=kind)
        first_rows = floor_rows(B, K, kind="uniform" if kind == "uniform" else "first")
        threshold = (mpf(r) * (1 - theta) / ((1 - 2 * mpf(theta)) * gap)) ** 2
        if first_rows > 16 * threshold:
            expected = steep / mpmath.sqrt(n) + 2 * mpmath.sqrt(mpmath.log(2 / mpf(delta)) / (2 * n))
            assert close(regret(*row, delta), expected)
        if first_rows > 64 * threshold:
            four = (
                steep / mpmath.sqrt(m)
                + steep / mpmath.sqrt(n)
                + 2 * mpmath.sqrt(mpmath.log(3 / mpf(delta)) / (2 * m))
                + 2 * mpmath.sqrt(mpmath.log(6 / mpf(delta)) / (2 * n))
            )
            assert close(risk(*row, m, delta), four)
            assert close(risk(*row, m, delta, approximation_error=0.25), four + 0.25)
        else:
            with pytest.raises(AssumptionError, match="64"):
                risk(*row, m, delta)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_lemmas_and_terms(row: tuple[int, int, float, float, float]) -> None:
    B, K, gap, theta, r = row
    n, delta = B // K, mpf("0.01")
    assert close(paper.lemma_4(n, gap, theta, r, log=True), mpmath.log(4) + exponent(n, gap, theta, r))
    steep = (2 - 2 * mpf(theta)) / (1 - 2 * mpf(theta)) * mpf(r) / mpmath.sqrt(n)
    deviation = mpmath.sqrt(mpmath.log(1 / delta) / (2 * n))
    assert close(paper.lemma_3(n, theta, r, 0.01), steep + deviation)
    opened = 2 * steep + 2 * mpmath.sqrt(mpmath.log(2 / delta) / (2 * n))
    assert close(paper.excess_risk_supervised(n, theta, r, 0.01), opened)


def test_appendix_displays() -> None:
    theta, r, gap, n = 0.1, 0.5, 0.3, 226
    # E11: the display of A.2 with (4 - 4 theta) is not at most the line below it.
    printed = paper.delta_fail_uniform_appendix(2 * n, 2, gap, theta, r)
    below = paper.delta_fail_uniform_simplified(2 * n, 2, gap, theta, r)
    inner = mpf(gap) / 2 - (4 - 4 * mpf(theta)) / (1 - 2 * mpf(theta)) * mpf(r) / mpmath.sqrt(n)
    assert close(printed, 4 * mpmath.exp(-mpf(2) / 9 * n * inner**2))
    assert close(below, 4 * mpmath.exp(-(mpf(gap) ** 2) * n / 72))
    assert printed > below
    median = paper.delta_fail_median_simplified(10**5, 8, gap, theta, r)
    n_1 = 10**5 // 24
    expected = 8 * mpmath.exp(-(mpf(gap) ** 2) * n_1 / 72) / (1 - mpmath.exp(-mpf(8) / 9 * (mpf("1.125") * r) ** 2))
    assert close(median, expected)


@given(points(launched=False))
def test_condition_and_bound_agree_on_the_domain(p: BoundProblem) -> None:
    holds = p.n > formulas.launch_rows(16, p.gap, p.theta, p.r)
    assert holds == (not np.isnan(paper.delta_fail_uniform(p.budget, *p.rest, strict=False)))
    if not holds:
        with pytest.raises(AssumptionError, match="identification condition") as caught:
            paper.delta_fail_uniform(p.budget, *p.rest)
        launch_rows = 16 * ((1 - p.theta) * p.r / ((1 - 2 * p.theta) * p.gap)) ** 2
        assert caught.value.missed_by == pytest.approx(launch_rows - p.n, rel=1e-9, abs=1e-9)


def test_exponents_of_a_million_and_tiny_probabilities() -> None:
    B, K, gap, theta, r = 10**15, 2, 0.1, 0.1, 0.5
    log = paper.delta_fail_uniform(B, K, gap, theta, r, log=True)
    assert log < -1e6
    assert close(log, mpmath.log(4) + exponent(B // 2, gap, theta, r), relative=1e-13)
    assert paper.delta_fail_uniform(B, K, gap, theta, r) == 0.0
    tiny = paper.delta_fail_uniform(2 * 1_300_000, 2, 0.1, 0.1, 0.5)
    expected = mpmath.exp(mpmath.log(4) + exponent(1_300_000, 0.1, 0.1, 0.5))
    assert 1e-310 < expected < 1e-290
    assert tiny == pytest.approx(float(expected), rel=1e-9)


def test_lemma_4_uses_the_smallest_gap_in_its_condition() -> None:
    assert paper.lemma_4(1000, 0.4, 0.1, 0.5, min_gap=0.2) == paper.lemma_4(1000, 0.4, 0.1, 0.5)
    with pytest.raises(AssumptionError, match="identification"):
        paper.lemma_4(1000, 0.4, 0.1, 0.5, min_gap=0.05)
    with pytest.raises(AssumptionError, match="min_gap <= gap"):
        paper.lemma_4(1000, 0.2, 0.1, 0.5, min_gap=0.4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, 1, 0.2, 0.1, 0.5), "K must be at least 2, got 1"),
        ((100.5, 2, 0.2, 0.1, 0.5), "B must be a whole number, got 100.5"),
        ((10**20, 2, 0.2, 0.1, 0.5), r"B is too large: it must be below 2\^63, got 1e\+20"),
        ((10**19, 2, 0.2, 0.1, 0.5), r"B is too large: it must be below 2\^63, got 1e\+19"),
        ((-4, 2, 0.2, 0.1, 0.5), "B must be at least 0, got -4"),
        ((100, 2, float("nan"), 0.1, 0.5), "gap must be finite, got nan"),
        ((100, 2, 0.2, 0.1, -0.5), "kappa_lambda must not be negative, got -0.5"),
        ((1000, 2, 0.2, 0.6, 0.5), "theta < 1/2; missed by 0.1"),
        ((1000, 2, 0.7, 0.1, 0.5), "Delta_max .*; missed by 0.2"),
        ((1000, 2, 0.0, 0.1, 0.5), "gap > 0"),
        ((1000, 2, -0.1, 0.1, 0.5), "gap > 0; missed by 0.1"),
        ((1, 2, 0.2, 0.1, 0.5), "identification condition"),
    ],
)
def test_bad_input_in_one_line(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        paper.delta_fail_uniform(*arguments)
    assert "\n" not in str(caught.value)


def test_an_assumption_error_survives_pickling() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(AssumptionError("theta < 1/2", 0.25, "theta=0.75")))
    assert isinstance(error, ValueError)
    assert (error.assumption, error.missed_by, error.given) == ("theta < 1/2", 0.25, "theta=0.75")


def test_floors_at_every_convergent() -> None:
    """All convergents p/q of K log2 K with p < 2^62, and their neighbours, against 80 digits."""
    with mpmath.workdps(80):
        for K in (3, 5, 6, 7, 9, 10, 100):
            number = K * mpmath.log(K) / mpmath.log(2)
            rest, (p, before) = number, (1, 0)
            while p < 2**62:
                for B in (p - 1, p, p + 1):
                    assert paper.first_round_pulls(max(B, 0), K) == int(mpmath.floor(max(B, 0) / number))
                    assert paper.total_pulls_median(max(B, 0), K) == int(mpmath.floor(max(B, 0) / (number / K)))
                whole = int(mpmath.floor(rest))
                p, before = whole * p + before, p
                rest = 1 / (rest - whole)
    assert paper.first_round_pulls([[255412743], [100]], [3, 8]).tolist() == [[53715832, 10642197], [21, 4]]
