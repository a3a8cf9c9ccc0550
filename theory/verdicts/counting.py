"""A fixed number of trials: exact binomial tests of a bound, and of a probability."""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from theory.verdicts.verdict import (
    Outcome,
    Verdict,
    check_counts,
    is_vacuous,
    real,
    show_counts,
    show_rate,
    verb,
    whole,
)

POWER = 0.95


def judge(failures: int, trials: int, bound: float, *, alarm: float = 1e-6, factor: float = 2.0) -> Verdict:
    """Hold an observed failure count against a bound on the failure probability.

    The bound is refuted when a true rate equal to the bound would produce at least ``failures``
    failures with probability at most ``alarm``; by monotonicity the same holds for every smaller rate.

    Parameters
    ----------
    failures, trials : int
        Independent trials and how many of them failed.
    bound : float
        Claimed upper bound of the failure probability.  At least 1, or ``nan`` (assumptions unmet),
        is vacuous.
    alarm : float
        Largest allowed probability of a false refutation.
    factor : float
        The violation factor the test must be able to see (power 95 %) to be called consistent; a test
        that could not have seen it is undecided.

    Returns
    -------
    Verdict
        With exact Clopper-Pearson limits, the attained false-alarm rate and the smallest detectable
        violation factor.  Zero failures are reported as an upper limit, never as a rate of zero.
    """
    failures, trials = check_counts(failures, trials)
    alarm, factor = check_options(alarm, factor)
    bound = check_bound(bound)
    lower, upper = clopper_pearson(failures, trials, alarm)
    critical = critical_count(trials, bound, alarm) if not is_vacuous(bound) else None
    outcome, false_alarm, detectable = _decide(failures, trials, bound, critical, factor)
    return Verdict(
        outcome,
        sentence_of(outcome, failures, trials, bound, upper, alarm, detectable, factor),
        failures=failures,
        trials=trials,
        bound=bound,
        rate=failures / trials,
        lower=lower,
        upper=upper,
        alarm=alarm,
        false_alarm=false_alarm,
        detectable_factor=detectable,
    )


def judge_agreement(
    failures: int, trials: int, probability: float, *, alarm: float = 1e-6, factor: float = 2.0
) -> Verdict:
    """Hold an observed failure count against a failure probability that is claimed to be exact.

    Refuted when a rate equal to ``probability`` would produce as many failures, or as few, with probability
    at most ``alarm / 2`` each.  Consistent when a rate that differs by ``factor``, upwards or downwards, would
    have been refuted with probability 95 %; undecided otherwise.  The factor is that of failures or successes,
    whichever are the rarer, and ``detectable_factor`` is the smallest one in both directions.

    Parameters
    ----------
    failures, trials, alarm, factor
        See `judge`.
    probability : float
        The claimed probability, in [0, 1].
    """
    failures, trials = check_counts(failures, trials)
    alarm, factor = check_options(alarm, factor)
    probability = real("probability", probability)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1]; got {probability}.")
    rarer = min(probability, 1 - probability)
    count = failures if probability <= 0.5 else trials - failures
    many = critical_count(trials, rarer, alarm / 2)
    # Few of the rarer are many of the others.
    few = critical_count(trials, 1 - rarer, alarm / 2)
    false_alarm = tail(many, trials, rarer) + tail(few, trials, 1 - rarer)
    above = detectable_rate(many, trials) / rarer if rarer > 0 else math.inf
    below = 1 - detectable_rate(few, trials)
    detectable = max(above, rarer / below if below > 0 else math.inf)
    seen, claimed = show_counts(failures, trials), f"the probability {show_rate(probability)}"
    if count >= many or trials - count >= few:
        outcome: Outcome = "refuted"
        sentence = f"{seen} {verb('refute', failures)} {claimed}, under which such counts are rarer than {alarm:.0e}."
    elif detectable <= factor:
        outcome = "consistent"
        sentence = f"{seen} {verb('agree', failures)} with {claimed}, up to a factor of {detectable:.3g}."
    else:
        outcome = "undecided"
        sentence = f"{seen} {verb('do', failures)} not decide {claimed}: a factor of {factor:.3g} can be overlooked."
    lower, upper = clopper_pearson(failures, trials, alarm / 2)
    return Verdict(
        outcome,
        sentence,
        failures=failures,
        trials=trials,
        bound=probability,
        rate=failures / trials,
        lower=lower,
        upper=upper,
        alarm=alarm,
        false_alarm=false_alarm,
        detectable_factor=detectable,
    )


def clopper_pearson(failures: int, trials: int, alarm: float) -> tuple[float, float]:
    """Exact one-sided limits of a binomial rate, each wrong with probability at most ``alarm``."""
    failures, trials = check_counts(failures, trials)
    alarm, _ = check_options(alarm, 2.0)
    lower = 0.0 if failures == 0 else float(special.betaincinv(failures, trials - failures + 1, alarm))
    if failures == trials:
        return lower, 1.0
    return lower, float(special.betainccinv(failures + 1, trials - failures, alarm))


def tail(count: int, trials: int, rate: float) -> float:
    """P(Bin(trials, rate) >= count), by the regularised incomplete beta function."""
    count, trials = whole("count", count), whole("trials", trials)
    if count <= 0:
        return 1.0
    if count > trials:
        return 0.0
    return float(special.betainc(count, trials - count + 1, rate))


def critical_count(trials: int, bound: float, alarm: float) -> int:
    """Smallest count that refutes: the least k with P(Bin(trials, bound) >= k) <= alarm.

    ``trials + 1`` means that no outcome refutes.
    """
    low, high = 0, whole("trials", trials) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if tail(middle, trials, bound) <= alarm:
            high = middle
        else:
            low = middle
    return high


def detectable_rate(critical: int, trials: int, power: float = POWER) -> float:
    """Smallest true rate at which at least ``critical`` failures appear with probability ``power``."""
    critical, trials = whole("critical", critical), whole("trials", trials)
    if critical > trials:
        return math.inf
    return float(special.betaincinv(critical, trials - critical + 1, power))


def check_options(alarm: Any, factor: Any) -> tuple[float, float]:
    """The error rate and the factor as floats; refuses those that no test has."""
    alarm, factor = real("alarm", alarm), real("factor", factor)
    if not 0 < alarm < 1:
        raise ValueError(f"alarm must lie in (0, 1); got {alarm}.")
    if not factor > 1:
        raise ValueError(f"factor must be above 1; got {factor}.")
    return alarm, factor


def check_bound(bound: Any) -> float:
    """The bound as a float; refuses a negative one.  ``nan`` and numbers above 1 are vacuous, not wrong."""
    bound = real("bound", bound)
    if bound < 0:
        raise ValueError(f"bound must not be negative; got {bound}.")
    return float(bound)


def _decide(
    failures: int, trials: int, bound: float, critical: int | None, factor: float
) -> tuple[Outcome, float, float | None]:
    if critical is None:
        return "vacuous", 0.0, None
    false_alarm = tail(critical, trials, bound)
    detectable = detectable_rate(critical, trials) / bound if bound > 0 else math.inf
    if failures >= critical:
        return "refuted", false_alarm, detectable
    return ("consistent" if detectable <= factor else "undecided"), false_alarm, detectable


def sentence_of(
    outcome: Outcome,
    failures: int,
    trials: int,
    bound: float,
    upper: float,
    alarm: float,
    detectable: float | None,
    factor: float,
) -> str:
    """One sentence for a verdict on a bound."""
    seen, claimed = show_counts(failures, trials), f"the bound {show_rate(bound)}"
    limit = f"(rate at most {show_rate(upper)} at level {alarm:.0e})"
    if outcome == "vacuous":
        return f"{seen} {limit} cannot contradict {claimed}, which excludes nothing."
    if outcome == "refuted":
        return (
            f"{seen} {verb('refute', failures)} {claimed}: a rate that small produces as many "
            f"with probability at most {alarm:.0e}."
        )
    if outcome == "consistent":
        return (
            f"{seen} {limit} {verb('agree', failures)} with {claimed}; a violation by the factor "
            f"{detectable:.3g} would have been seen with probability 95 %."
        )
    return (
        f"{seen} {limit} {verb('do', failures)} not decide {claimed}: {_overlooked(trials, bound, detectable, factor)}."
    )


def _overlooked(trials: int, bound: float, detectable: float | None, factor: float) -> str:
    """What an undecided test could not have seen."""
    if bound == 0:
        # No rate is a multiple of 0, and a single failure refutes it.
        return f"only a rate of {detectable_rate(1, trials):.3g} or more would have been seen with probability 95 %"
    if detectable == math.inf:
        return "so few trials cannot refute it, whatever they show"
    return (
        f"only a violation by the factor {detectable:.3g} or more, not {factor:.3g}, "
        f"would have been seen with probability 95 %"
    )
