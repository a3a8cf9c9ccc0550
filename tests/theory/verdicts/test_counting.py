"""The statistics of verdicts, checked by exact binomial sums that do not use the code under test."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from theory.verdicts import (
    Verdict,
    clopper_pearson,
    consistent,
    critical_count,
    detectable_rate,
    judge,
    judge_exact,
    refuted,
)


def chance(trials: int, rate: Fraction, counts: range) -> Fraction:
    """P(count in counts), exactly."""
    return sum((math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in counts), Fraction(0))


def refutations(trials: int, bound: float, alpha: float) -> range:
    """All counts that judge refutes, found by asking it for every count."""
    refuting = [k for k in range(trials + 1) if judge(k, trials, bound, alpha=alpha).outcome == "refuted"]
    assert refuting == list(range(refuting[0], trials + 1)) if refuting else True
    return range(refuting[0], trials + 1) if refuting else range(0)


@pytest.mark.parametrize("trials", [1, 10, 60, 200])
@pytest.mark.parametrize("bound", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize("alpha", [1e-6, 1e-2])
def test_false_alarm_rate_is_at_most_alpha_when_the_truth_is_at_the_bound(trials, bound, alpha):
    counts = refutations(trials, float(bound), alpha)
    exact = chance(trials, bound, counts)
    assert exact <= alpha
    # The test is not needlessly weak: one count fewer would break the promise.
    if counts and counts.start > 0:
        assert chance(trials, bound, range(counts.start - 1, trials + 1)) > alpha
    claimed = judge(0, trials, float(bound), alpha=alpha).false_alarm
    assert claimed == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@given(
    trials=st.integers(1, 5000),
    bound=st.floats(1e-4, 0.9),
    below=st.floats(0.01, 1),
    alpha=st.sampled_from([1e-6, 1e-3]),
)
def test_false_alarm_rate_below_the_bound(trials, bound, below, alpha):
    critical = critical_count(trials, bound, alpha)
    assert stats.binom.sf(critical - 1, trials, bound * below) <= alpha * (1 + 1e-9)


@given(trials=st.integers(50, 20000), bound=st.floats(1e-3, 0.5))
def test_power_is_what_is_claimed(trials, bound):
    verdict = judge(0, trials, bound, alpha=1e-6)
    critical = critical_count(trials, bound, 1e-6)
    if verdict.detectable_factor == math.inf:
        assert bound**trials > 1e-6
        return
    rate = bound * verdict.detectable_factor
    assert stats.binom.sf(critical - 1, trials, rate) == pytest.approx(0.95, abs=1e-6)
    assert verdict.detectable_factor > 1


@pytest.mark.parametrize("trials", [1, 5, 30])
@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10)])
def test_clopper_pearson_limits_are_wrong_with_probability_at_most_alpha(trials, rate):
    alpha = 0.01
    limits = [clopper_pearson(k, trials, alpha) for k in range(trials + 1)]
    too_high = sum((chance(trials, rate, range(k, k + 1)) for k, (low, _) in enumerate(limits) if low > rate), 0)
    too_low = sum((chance(trials, rate, range(k, k + 1)) for k, (_, up) in enumerate(limits) if up < rate), 0)
    assert too_high <= alpha
    assert too_low <= alpha
    for k, (low, up) in enumerate(limits):
        if k > 0:
            assert float(chance(trials, Fraction(low), range(k, trials + 1))) == pytest.approx(alpha)
        if k < trials:
            assert float(chance(trials, Fraction(up), range(k + 1))) == pytest.approx(alpha)


def test_a_normal_approximation_would_break_the_promise():
    # The planted error that the first test would catch: a z-test at the same level.
    trials, bound, alpha = 200, Fraction(1, 1000), 1e-6
    z = stats.norm.isf(alpha)
    sigma = math.sqrt(float(bound * (1 - bound)) / trials)
    counts = [k for k in range(trials + 1) if (k / trials - float(bound)) / sigma > z]
    assert chance(trials, bound, range(counts[0], trials + 1)) > alpha


@pytest.mark.parametrize(
    ("failures", "trials", "bound", "outcome"),
    [
        (0, 10**6, 1e-3, "consistent"),
        (900, 10**6, 1e-3, "consistent"),
        (1300, 10**6, 1e-3, "refuted"),
        (0, 100, 1e-3, "undecided"),
        (3, 100, 1.0, "vacuous"),
        (3, 100, 7.5, "vacuous"),
        (3, 100, math.nan, "vacuous"),
        (1, 100, 0.0, "refuted"),
        (0, 100, 0.0, "undecided"),
        (0, 10**6, 1e-30, "undecided"),
        (2, 10**6, 1e-30, "refuted"),
    ],
)
def test_outcomes(failures, trials, bound, outcome):
    assert judge(failures, trials, bound).outcome == outcome


def test_the_factor_decides_between_consistent_and_undecided():
    strict = judge(0, 3000, 0.01, factor=1.2)
    lenient = judge(0, 3000, 0.01, factor=3.0)
    assert strict.outcome == "undecided"
    assert lenient.outcome == "consistent"
    assert 1.2 < strict.detectable_factor == lenient.detectable_factor <= 3.0
    assert not strict.decided
    assert lenient.decided


def test_detectable_rate_without_a_refuting_count():
    assert detectable_rate(11, 10) == math.inf


def test_exact_probabilities():
    assert judge_exact(Fraction(1, 3), Fraction(1, 2)).outcome == "consistent"
    assert judge_exact(Fraction(1, 2), Fraction(1, 3)).outcome == "refuted"
    assert judge_exact(Fraction(1, 2), Fraction(1, 2)).outcome == "consistent"
    assert judge_exact(0.2, 4.0).outcome == "vacuous"
    assert judge_exact(0.2, math.nan, where="at n = 3").sentence == "The bound nan at n = 3 excludes nothing."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 10, 0.1), "failures must lie in 0..10"),
        ((11, 10, 0.1), "failures must lie in 0..10"),
        ((0, 0, 0.1), "trials must be at least 1"),
        ((0, 10, -0.1), "bound must not be negative"),
    ],
)
def test_bad_counts(arguments, words):
    with pytest.raises(ValueError, match=words):
        judge(*arguments)


@pytest.mark.parametrize(("options", "words"), [({"alpha": 0}, "alpha"), ({"factor": 1}, "factor")])
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        judge(1, 10, 0.1, **options)


def test_a_verdict_is_a_known_outcome_and_a_sentence():
    with pytest.raises(ValueError, match="outcome must be one of"):
        Verdict("maybe", "A sentence.")
    with pytest.raises(ValueError, match="full sentence"):
        consistent("no full stop")
    with pytest.raises(ValueError, match="probability must lie in"):
        judge_exact(1.5, 0.1)
    assert refuted("It fails.", n=3).evidence == (("n", 3),)
