"""Evidence that a probability is below a bound: its mean by exact enumeration, its limits, and planted errors."""

from __future__ import annotations

import math
from functools import partial

import pytest
from scipy import special

from theory.verdicts import log_evidence_below

BOUNDS = (0.01, 0.05, 0.3, 0.5, 0.9)


def mean_evidence(log_evidence, rate: float, trials: int) -> float:
    """Mean of the evidence after some trials, by the binomial distribution."""
    return math.fsum(
        math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) * math.exp(log_evidence(k, trials))
        for k in range(trials + 1)
    )


def step(log_evidence, rate: float, failures: int, trials: int) -> float:
    """Conditional mean of the next evidence over the present one."""
    up = rate * math.exp(log_evidence(failures + 1, trials + 1)) + (1 - rate) * math.exp(
        log_evidence(failures, trials + 1)
    )
    return up / math.exp(log_evidence(failures, trials))


def unrestricted(failures: int, trials: int, bound: float) -> float:
    """The planted error: a mixture over all rates, which also gains from many failures."""
    mixed = special.betaln(failures + 0.5, trials - failures + 0.5) - special.betaln(0.5, 0.5)
    return float(mixed - failures * math.log(bound) - (trials - failures) * math.log1p(-bound))


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_mean_is_at_most_1_whatever_the_rate_above_the_bound(bound: float) -> None:
    evidence = partial(log_evidence_below, bound=bound)
    for trials in (1, 2, 7, 40):
        assert mean_evidence(evidence, bound, trials) == pytest.approx(1.0, abs=1e-10)
        for rate in (bound, (1 + bound) / 2, 1.0):
            assert mean_evidence(evidence, rate, trials) <= 1.0 + 1e-10
        assert mean_evidence(evidence, bound / 2, trials) > 1.0


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_step_is_fair_or_unfavourable(bound: float) -> None:
    """A supermartingale: also if rates vary with the past, as long as none is below the bound."""
    for trials in (1, 5, 30):
        for failures in range(trials + 1):
            for rate in (bound, 1.0):
                assert step(partial(log_evidence_below, bound=bound), rate, failures, trials) <= 1.0 + 1e-9


def test_a_mixture_over_all_rates_is_caught() -> None:
    assert mean_evidence(partial(unrestricted, bound=0.05), 0.5, 7) > 1.0 + 1e-3


def test_large_counts_agree_with_the_sum_of_logarithms() -> None:
    """The mixture lies between its best rate and that rate's share of it."""
    failures, trials, bound = 4_370, 100_000, 0.05
    rate = failures / trials
    best = failures * math.log(rate / bound) + (trials - failures) * math.log((1 - rate) / (1 - bound))
    assert best - 6.0 < log_evidence_below(failures, trials, bound) < best


@pytest.mark.parametrize("bound", [0.0, 1.0, -1.0, math.nan])
def test_bounds_outside_of_0_and_1_are_refused(bound: float) -> None:
    with pytest.raises(ValueError, match="bound must"):
        log_evidence_below(1, 2, bound)
