"""Sequential verdicts, checked by dynamic programming over all paths of counts: no simulation, no luck."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from exml_sim.engine.intervals import confidence_sequence
from theory.verdicts import EProcess, anytime_limits, judge, judge_sequential, log_evidence
from theory.verdicts.sequential import FACTORS, WEIGHTS, critical_sequential, log_evidence_below


def crossing(refutes, trials, rate, looks=1):
    """P(refutes(count, n) at some look n <= trials), exactly: mass that has not crossed, trial by trial.

    The counts that refute are those from some number on, and that number never falls with n.
    """
    alive, crossed, limit = np.array([1.0]), 0.0, 0
    for n in range(1, trials + 1):
        following = np.zeros(n + 1)
        following[:-1] += alive * (1 - rate)
        following[1:] += alive * rate
        if n % looks == 0:
            while limit <= n and not refutes(limit, n):
                limit += 1
            crossed += following[limit:].sum()
            following[limit:] = 0.0
        alive = following
    return crossed


def sequential(bound, alarm):
    return lambda k, n: EProcess(bound, alarm).add(k, n).refuted


@pytest.mark.parametrize("bound", [0.002, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("alarm", [0.2, 0.01, 1e-6])
def test_all_looks_together_raise_a_false_alarm_at_most_as_often_as_allowed(bound, alarm):
    refutes = lru_cache(None)(sequential(bound, alarm))
    for rate in (bound, 0.8 * bound, 0.1 * bound):
        assert crossing(refutes, 400, rate) <= alarm
    # The promise is not kept by never refuting: a violation is found along the way.
    assert crossing(refutes, 400, min(1.0, 40 * bound)) > 0.5


def test_the_false_alarm_rate_is_used_and_not_wasted():
    assert 0.2 * 0.2 < crossing(sequential(0.3, 0.2), 1000, 0.3) <= 0.2


def test_looking_at_a_fixed_test_after_every_trial_would_break_the_promise():
    # The planted error that the first test would catch: the exact test for a fixed number of trials, repeated.
    assert crossing(lambda k, n: judge(k, n, 0.3, alarm=0.01).outcome == "refuted", 400, 0.3) > 0.02


@pytest.mark.parametrize(("bound", "alarm"), [(0.05, 0.05), (0.5, 0.01)])
def test_even_an_adversary_who_sees_the_past_cannot_raise_more_false_alarms(bound, alarm):
    """Backwards induction: the largest crossing probability over all rules p_n(past) <= bound."""
    trials = 200
    value = np.zeros(trials + 1)
    for n in range(trials, 0, -1):
        value[critical_sequential(n, bound, alarm) :] = 1.0
        # What is optimal before trial n is linear in p, so p is 0 or the bound.
        stay, move = value[:n], value[1 : n + 1]
        value[:n] = np.maximum(stay, (1 - bound) * stay + bound * move)
    assert 0 < value[0] <= alarm


@pytest.mark.parametrize(("bound", "trials"), [(0.02, 2000), (0.2, 500), (0.6, 300)])
@pytest.mark.parametrize("looks", [1, 50])
def test_power_is_at_least_what_is_claimed(bound, trials, looks):
    verdict = EProcess(bound).add(0, trials).verdict()
    rate = bound * verdict.detectable_factor
    assert rate < 1
    found = crossing(sequential(bound, 1e-6), trials, rate, looks)
    assert 0.95 - 1e-9 <= found <= 0.99
    # The last look alone has exactly this power.
    critical = critical_sequential(trials, bound, 1e-6)
    assert stats.binom.sf(critical - 1, trials, rate) == pytest.approx(0.95, abs=1e-9)


def mean_over_samples(k, n, rate, evidence):
    law = stats.binom.pmf(np.arange(n + 1), n, rate)
    return law @ np.exp([evidence(int(i), n, k) for i in range(n + 1)])


@pytest.mark.parametrize("bound", [0.01, 0.4, 0.9])
def test_the_evidence_has_mean_one_at_the_bound_and_less_below(bound):
    assert mean_over_samples(bound, 60, bound, log_evidence) == pytest.approx(1.0, rel=1e-9)
    assert mean_over_samples(bound, 60, 0.5 * bound, log_evidence) < 1
    assert mean_over_samples(bound, 60, bound, log_evidence_below) == pytest.approx(1.0, rel=1e-9)
    assert mean_over_samples(bound, 60, 0.5 * (1 + bound), log_evidence_below) < 1


@given(trials=st.integers(1, 10**6), share=st.floats(0, 1), bound=st.floats(1e-9, 0.99), step=st.floats(1.001, 3))
def test_the_evidence_grows_with_failures_and_falls_with_the_bound(trials, share, bound, step):
    failures = round(share * trials)
    larger = min(0.999, bound * step)
    here = log_evidence(failures, trials, bound)
    assert log_evidence(failures, trials, larger) <= here + 1e-9 * max(1.0, abs(here))
    if failures < trials:
        assert log_evidence(failures + 1, trials, bound) >= here


@given(trials=st.integers(1, 10**5), share=st.floats(0, 1), bound=st.floats(1e-6, 0.99))
def test_a_bound_is_refuted_exactly_when_it_lies_below_the_lower_limit(trials, share, bound):
    failures = round(share * trials)
    lower, upper = anytime_limits(failures, trials, 1e-3)
    assert 0 <= lower <= failures / trials <= upper <= 1
    if abs(lower - bound) > 1e-9 * bound:
        assert (bound < lower) == EProcess(bound, 1e-3).add(failures, trials).refuted


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_limits_are_wrong_at_some_look_with_probability_at_most_alarm(rate):
    alarm = 0.05

    assert 0 < crossing(lambda k, n: anytime_limits(k, n, alarm)[0] > rate, 60, rate) <= alarm
    # The mirror image, in terms of successes.
    assert 0 < crossing(lambda k, n: anytime_limits(n - k, n, alarm)[1] < rate, 60, 1 - rate) <= alarm


def test_small_bounds_are_refuted_with_fewer_trials_than_by_the_two_sided_sequence_of_the_engine():
    """At twice the bound of 0.001, with the expected counts: 37,251 trials against 55,750."""
    at = [(round(0.002 * n), n) for n in (37_250, 37_251, 55_749, 55_750)]
    assert [EProcess(1e-3).add(k, n).refuted for k, n in at] == [False, True, True, True]
    assert [confidence_sequence(k, n, 1e-6)[0] > 1e-3 for k, n in at] == [False, False, False, True]


def test_batches_are_read_only_until_the_verdict():
    read = []

    def batches(failures):
        for number in range(10**4):
            read.append(number)
            yield failures, 1000

    assert judge_sequential(batches(50), 0.01).outcome == "refuted"
    assert len(read) == 1
    read.clear()
    verdict = judge_sequential(batches(3), 0.01)
    assert verdict.outcome == "consistent"
    assert verdict.detectable_factor <= 2 < EProcess(0.01).add(3, verdict.trials - 1000).verdict().detectable_factor
    assert verdict.trials == 1000 * len(read)
    # The price of looking: a test with a fixed number of trials needs 5,580, and this one 6,870 at a single look.
    assert judge(0, 5580, 0.01).outcome == EProcess(0.01).add(0, 6870).verdict().outcome == "consistent"
    assert judge(0, 5500, 0.01).outcome == EProcess(0.01).add(0, 6700).verdict().outcome == "undecided"
    read.clear()
    assert judge_sequential(batches(50), 1.2).outcome == "vacuous"
    assert not read


def test_a_refutation_stays():
    process = EProcess(0.01).add(100, 500)
    assert process.verdict().outcome == "refuted"
    later = process.add(0, 10**5)
    assert later.failures / later.trials < 0.01
    assert later.verdict().outcome == "refuted"
    assert "earlier look" in later.verdict().sentence


def test_fields_and_sentences():
    verdict = EProcess(0.1, 1e-3).add(0, 100).add(0, 1100).verdict()
    assert verdict.outcome == "consistent"
    assert (verdict.failures, verdict.trials, verdict.bound, verdict.rate) == (0, 1200, 0.1, 0.0)
    assert verdict.alarm == verdict.false_alarm == 1e-3
    assert verdict.lower == 0.0 < verdict.upper < 0.1
    assert verdict.sentence.startswith("No failure in 1200 trials (rate at most 0.00611 at level 1e-03)")
    assert EProcess(0.0).add(0, 5).verdict().outcome == "undecided"
    assert EProcess(0.0).add(1, 5).verdict().outcome == "refuted"
    assert EProcess(1e-30).add(1, 5).verdict().outcome == "refuted"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: EProcess(1.0), "bound must be below 1"),
        (lambda: EProcess(math.nan), "bound must be below 1"),
        (lambda: EProcess(-0.1), "bound must not be negative"),
        (lambda: EProcess(0.1, alarm=0), "alarm must lie in"),
        (lambda: EProcess(0.1).add(3, 2), "failures must lie in"),
        (lambda: EProcess(0.1).verdict(), "at least one batch"),
        (lambda: EProcess(0.1).add(0, 1).verdict(factor=1), "factor must be above 1"),
        (lambda: judge_sequential([], 0.1), "at least one pair"),
        (lambda: judge_sequential([(0, 1)], -1), "bound must not be negative"),
    ],
)
def test_bad_input(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def exact_evidence(failures, trials, bound):
    """The mixture of the module's docstring in rational arithmetic, from the bound as the fraction that it is."""
    b, total = Fraction(bound), Fraction(0)
    for factor, weight in zip(FACTORS, WEIGHTS, strict=True):
        s = min(Fraction(factor), 1 / b)
        total += Fraction(weight) * s**failures * ((1 - b * s) / (1 - b)) ** (trials - failures)
    return total


@pytest.mark.parametrize("bound", [0.3, 0.7, 0.55, 0.93, 0.97, 0.9995, 1 - 2**-20])
@pytest.mark.parametrize(("failures", "trials"), [(300, 300), (300, 301), (300, 304), (40, 41), (1, 2), (0, 3)])
def test_the_evidence_is_that_of_the_formula_also_where_factors_are_cut(bound, failures, trials):
    exact = exact_evidence(failures, trials, bound)
    found = log_evidence(failures, trials, bound)
    if exact == 0:
        assert found == -math.inf
    else:
        # The logarithm of a large fraction, without passing through floats that overflow.
        assert found == pytest.approx(math.log(exact.numerator) - math.log(exact.denominator), rel=1e-9, abs=1e-9)


def test_a_rounding_error_in_a_cut_factor_is_no_evidence():
    """One success in 1001 trials: what is impossible at rate 1 once counted as 1e-16, times 0.7^-1000."""
    assert log_evidence(1000, 1001, 0.7) < 300


@pytest.mark.parametrize("case", [(1999, 2000, 0.5), (1099, 1100, 0.9), (10**9 - 1, 10**9, 0.99)])
def test_almost_only_failures_are_judged(case):
    failures, trials, bound = case
    verdict = judge_sequential([(failures, trials)], bound)
    assert verdict.outcome == "refuted"
    assert bound < verdict.lower <= failures / trials <= verdict.upper <= 1


@given(
    trials=st.one_of(st.integers(1, 10**4), st.integers(1, 10**17)),
    missing=st.integers(0, 3),
    few=st.booleans(),
    alarm=st.one_of(st.floats(1e-300, 0.999999999), st.sampled_from([1e-6, 0.999999])),
)
@example(trials=1099, missing=1, few=False, alarm=1e-6)
@example(trials=5331329090, missing=0, few=False, alarm=0.999999)
@example(trials=10**17, missing=0, few=False, alarm=0.999999)
@settings(max_examples=300)
def test_limits_exist_at_both_ends(trials, missing, few, alarm):
    """All trials fail but a few, or none do; what lies outside the limits is refuted, what lies inside is not."""
    missing = min(missing, trials)
    failures = missing if few else trials - missing
    lower, upper = anytime_limits(failures, trials, alarm)
    threshold = -math.log(alarm)
    assert 0 <= lower <= failures / trials <= upper <= 1
    if lower > 0:
        assert log_evidence(failures, trials, lower * (1 - 1e-9)) >= threshold * (1 - 1e-6)
    # Nearer to 1 the floats themselves are too coarse to tell a limit from its neighbours.
    if upper < 1 - 1e-6:
        above = upper + 1e-9 * min(upper, 1 - upper)
        assert log_evidence_below(failures, trials, above) >= threshold * (1 - 1e-6)
    if trials <= 10**4 and 1e-290 < lower < 0.999:
        assert log_evidence(failures, trials, lower + 1e-9 * min(lower, 1 - lower)) <= threshold * (1 + 1e-6)
