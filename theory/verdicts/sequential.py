r"""Trials that come in batches: look after each, stop whenever you like, and the false-alarm rate still holds.

The e-process of a bound b is a mixture of likelihood ratios of rates that exceed b by a factor s > 1,

.. math:: E_n(b) = \sum_j w_j \, s_j^{k} \Big( \frac{1 - b s_j}{1 - b} \Big)^{n - k},

with k failures in n trials, weights that sum to 1, and every factor cut at 1/b, where the rate b s is 1.

*Ville.*  Whatever happened before, let the next trial fail with probability p <= b.  A term is then multiplied in
expectation by p s + (1 - p)(1 - b s)/(1 - b) = 1 + (p - b)(s - 1)/(1 - b) <= 1.  So E_n is a nonnegative
supermartingale that starts at 1, and by Ville's inequality it ever reaches 1/alarm with probability at most alarm, over
all looks together.  The trials need not be independent: it is enough that each fails with conditional probability at
most b.

*Limits.*  Each term, and with it E_n(b), falls as b grows: the factor min(s, 1/b) does not grow, and (1 - bs)/(1 - b)
falls.  So the bounds that are refuted are those below one number, the lower limit, which is valid at all looks
together.  The upper limit is the mirror image: rates that fall short by a factor s < 1.

`exml_sim.engine` stops cells by a confidence sequence from the same argument with a uniform mixture over all rates.
That one is two-sided and knows no bound; this one spends its weight on violations of the bound by moderate factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from theory.verdicts.counting import check_bound, check_options, detectable_rate, sentence_of
from theory.verdicts.verdict import (
    Outcome,
    Verdict,
    check_counts,
    is_vacuous,
    show_counts,
    show_rate,
    vacuous,
    verb,
    whole,
)

Floats = NDArray[np.float64]
# The ends of the rates that limits are sought among.
_SMALLEST, _LARGEST = 1e-300, 1 - 2.0**-53
# Their log-odds span 728, which so many halvings take below 1e-12.
_HALVINGS = 50

# Excesses s - 1 around 1, the factor 2 that verdicts ask for by default; coarse where a single failure tells much.
_EXPONENTS = np.concatenate([np.arange(-20, 21) / 2, np.arange(12.0, 121.0, 4.0)])
FACTORS: Floats = 1 + 2.0**_EXPONENTS
WEIGHTS: Floats = 1 / (1 + np.abs(np.arange(FACTORS.size) - 20.0)) ** 2
WEIGHTS /= WEIGHTS.sum()
SHORTFALLS: Floats = 1 - 2.0 ** (-np.arange(0, 41) / 2)
SHORTFALL_WEIGHTS: Floats = 1 / (1 + np.arange(SHORTFALLS.size)) ** 2
SHORTFALL_WEIGHTS /= SHORTFALL_WEIGHTS.sum()


def log_evidence(failures: int, trials: int, bound: float) -> float:
    """log E_n(b): how strongly the counts speak against "every trial fails with probability at most b"."""
    failures, trials, bound = whole("failures", failures), whole("trials", trials), check_bound(bound)
    if is_vacuous(bound):
        raise ValueError(f"bound must be below 1 to be tested; got {bound}.")
    if bound == 0:
        return math.inf if failures else 0.0
    # Where a factor is cut, a success is impossible: exactly, for a rounding error would be taken to a large power.
    excess = bound * (FACTORS - 1) / (1 - bound)
    lost = np.where(bound * FACTORS < 1, np.minimum(excess, 1.0), 1.0)
    logs = failures * np.minimum(np.log(FACTORS), -math.log(bound)) + special.xlog1py(trials - failures, -lost)
    return _log_mean(logs, WEIGHTS)


def log_evidence_below(failures: int, trials: int, rate: float) -> float:
    """log of the mirror image: how strongly the counts speak against "every trial fails with at least this rate"."""
    gained = rate * (1 - SHORTFALLS) / (1 - rate)
    logs = special.xlogy(failures, SHORTFALLS) + (trials - failures) * np.log1p(gained)
    return _log_mean(logs, SHORTFALL_WEIGHTS)


def anytime_limits(failures: int, trials: int, alarm: float) -> tuple[float, float]:
    """Limits of the rate that hold at all looks together, each wrong with probability at most ``alarm``."""
    failures, trials = check_counts(failures, trials)
    alarm, _ = check_options(alarm, 2.0)
    rate, threshold = failures / trials, -math.log(alarm)
    lower = _crossing(lambda p: log_evidence(failures, trials, p) - threshold, _SMALLEST, rate)
    upper = _crossing(lambda p: log_evidence_below(failures, trials, p) - threshold, _LARGEST, rate)
    return (0.0 if lower is None else min(lower, rate)), (1.0 if upper is None else max(upper, rate))


def critical_sequential(trials: int, bound: float, alarm: float) -> int:
    """Smallest count that refutes at a look after so many trials; ``trials + 1`` if none does.

    The evidence grows with the count: a failure in place of a success multiplies each term by s (1 - b)/(1 - bs) > 1.
    """
    threshold = -math.log(alarm)
    low, high = 0, whole("trials", trials) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if log_evidence(middle, trials, bound) >= threshold:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class EProcess:
    """The evidence against one bound, as it comes in.

    Attributes
    ----------
    bound, alarm : float
        What is tested, and the allowed probability of ever refuting it falsely.
    failures, trials : int
        Counts so far.
    log_peak : float
        Largest log of the e-process at any look so far; the bound is refuted for good once it reached -log(alarm).

    Examples
    --------
    >>> process = EProcess(bound=0.01)
    >>> for failures in (4, 5, 70):
    ...     process = process.add(failures, 500)
    ...     print(process.verdict().outcome)
    undecided
    undecided
    refuted
    """

    bound: float
    alarm: float = 1e-6
    failures: int = 0
    trials: int = 0
    log_peak: float = 0.0

    def __post_init__(self) -> None:
        # Plain numbers from here on: batches are added up, and narrow integers would wrap around.
        object.__setattr__(self, "bound", check_bound(self.bound))
        object.__setattr__(self, "alarm", check_options(self.alarm, 2.0)[0])
        object.__setattr__(self, "failures", whole("failures", self.failures))
        object.__setattr__(self, "trials", whole("trials", self.trials))
        if not 0 <= self.failures <= self.trials:
            raise ValueError(f"failures must lie in 0..{self.trials}; got {self.failures}.")
        if is_vacuous(self.bound):
            raise ValueError(f"bound must be below 1 to be tested; got {self.bound}.")

    def add(self, failures: int, trials: int) -> EProcess:
        """The process after another batch, which is also a look."""
        failures, trials = check_counts(failures, trials)
        k, n = self.failures + failures, self.trials + trials
        peak = max(self.log_peak, log_evidence(k, n, self.bound))
        return replace(self, failures=k, trials=n, log_peak=peak)

    @property
    def refuted(self) -> bool:
        """Whether any look so far refuted the bound."""
        return self.log_peak >= -math.log(self.alarm)

    def verdict(self, factor: float = 2.0) -> Verdict:
        """The verdict of the looks so far.

        As for `judge`, the bound is consistent once a violation by ``factor`` would have been refuted with
        probability 95 % or more; the present look alone is counted for that, which earlier looks can only improve.
        """
        _, factor = check_options(self.alarm, factor)
        if self.trials == 0:
            raise ValueError("a verdict needs at least one batch of trials; got none.")
        critical = critical_sequential(self.trials, self.bound, self.alarm)
        rate = detectable_rate(critical, self.trials)
        detectable = rate / self.bound if self.bound > 0 else math.inf
        outcome: Outcome = "consistent" if detectable <= factor else "undecided"
        if self.refuted:
            outcome = "refuted"
        lower, upper = anytime_limits(self.failures, self.trials, self.alarm)
        told = sentence_of(outcome, self.failures, self.trials, self.bound, upper, self.alarm, detectable, factor)
        if outcome == "refuted":
            told = (
                f"{show_counts(self.failures, self.trials)}, or an earlier look at them, "
                f"{verb('refute', self.failures)} the bound {show_rate(self.bound)}: "
                f"a rate that small is ever refuted with probability at most {self.alarm:.0e}."
            )
        return Verdict(
            outcome,
            told,
            (("log_e_value", self.log_peak),),
            failures=self.failures,
            trials=self.trials,
            bound=self.bound,
            rate=self.failures / self.trials,
            lower=lower,
            upper=upper,
            alarm=self.alarm,
            false_alarm=self.alarm,
            detectable_factor=detectable,
        )


def judge_sequential(
    batches: Iterable[tuple[int, int]], bound: float, *, alarm: float = 1e-6, factor: float = 2.0
) -> Verdict:
    """Hold batches of (failures, trials) against a bound, and read no more of them than it takes to decide.

    Parameters
    ----------
    batches : iterable of (failures, trials)
        Read lazily: a generator runs no trial after the verdict.  The bound is looked at after every batch.
    bound, alarm, factor
        As for `judge`; ``alarm`` holds for all looks together.

    Returns
    -------
    Verdict
        The first decided one, or that of all batches.
    """
    alarm, factor = check_options(alarm, factor)
    bound = check_bound(bound)
    if is_vacuous(bound):
        return vacuous(f"No trial can contradict the bound {bound:.3g}, which excludes nothing.", bound=bound)
    process = EProcess(bound, alarm)
    verdict: Verdict | None = None
    for failures, trials in batches:
        process = process.add(failures, trials)
        verdict = process.verdict(factor)
        if verdict.decided:
            break
    if verdict is None:
        raise ValueError("batches must hold at least one pair (failures, trials); got none.")
    return verdict


def _log_mean(logs: Floats, weights: Floats) -> float:
    """log of a weighted mean of exponentials; -inf if all of them are 0."""
    top = float(logs.max())
    if top == -math.inf:
        return top
    return top + math.log(float(weights @ np.exp(logs - top)))


def _crossing(excess: Callable[[float], float], far: float, rate: float) -> float | None:
    """Where a monotone excess changes sign between the observed rate, at which it is negative, and a far end.

    Bisection reads signs only, for the excess is -inf where the evidence is 0.  It runs over log-odds, so that limits
    near 0 and near 1 are found to the same relative precision, and ends on the excluded side.
    """
    near = min(max(rate, _SMALLEST), _LARGEST)
    if near == far or excess(far) < 0:
        return None
    outside, inside = float(special.logit(far)), float(special.logit(near))
    for _ in range(_HALVINGS):
        middle = 0.5 * (outside + inside)
        if excess(_rate_of(middle)) < 0:
            inside = middle
        else:
            outside = middle
    return _rate_of(outside)


def _rate_of(log_odds: float) -> float:
    return min(max(float(special.expit(log_odds)), _SMALLEST), _LARGEST)
