"""A fixed number of trials: exact binomial tests of a bound, and of a probability."""

from __future__ import annotations

import math

from scipy import special

from theory.verdicts.verdict import Outcome, Verdict, check_counts, is_vacuous

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
    check_counts(failures, trials)
    check_options(alarm, factor)
    check_bound(bound)
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
    check_counts(failures, trials)
    check_options(alarm, factor)
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
    seen = f"{failures} failures in {trials} trials"
    if count >= many or trials - count >= few:
        outcome: Outcome = "refuted"
        sentence = f"{seen} refute the probability {probability:.3g}, under which they are rarer than {alarm:.0e}."
    elif detectable <= factor:
        outcome = "consistent"
        sentence = f"{seen} agree with the probability {probability:.3g}, up to a factor of {detectable:.3g}."
    else:
        outcome = "undecided"
        sentence = (
            f"{seen} do not decide the probability {probability:.3g}: a factor of {factor:.3g} can be overlooked."
        )
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
    check_counts(failures, trials)
    lower = 0.0 if failures == 0 else float(special.betaincinv(failures, trials - failures + 1, alarm))
    if failures == trials:
        return lower, 1.0
    return lower, float(special.betainccinv(failures + 1, trials - failures, alarm))


def tail(count: int, trials: int, rate: float) -> float:
    """P(Bin(trials, rate) >= count), by the regularised incomplete beta function."""
    if count <= 0:
        return 1.0
    if count > trials:
        return 0.0
    return float(special.betainc(count, trials - count + 1, rate))


def critical_count(trials: int, bound: float, alarm: float) -> int:
    """Smallest count that refutes: the least k with P(Bin(trials, bound) >= k) <= alarm.

    ``trials + 1`` means that no outcome refutes.
    """
    low, high = 0, trials + 1
    while high - low > 1:
        middle = (low + high) // 2
        if tail(middle, trials, bound) <= alarm:
            high = middle
        else:
            low = middle
    return high


def detectable_rate(critical: int, trials: int, power: float = POWER) -> float:
    """Smallest true rate at which at least ``critical`` failures appear with probability ``power``."""
    if critical > trials:
        return math.inf
    return float(special.betaincinv(critical, trials - critical + 1, power))


def check_options(alarm: float, factor: float) -> None:
    """Refuse error rates and factors that no test has."""
    if not 0 < alarm < 1:
        raise ValueError(f"alarm must lie in (0, 1); got {alarm}.")
    if not factor > 1:
        raise ValueError(f"factor must be above 1; got {factor}.")


def check_bound(bound: float) -> None:
    """Refuse a negative bound; ``nan`` and numbers above 1 are vacuous, not wrong."""
    if bound < 0:
        raise ValueError(f"bound must not be negative; got {bound}.")


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
    seen = f"{failures} failures in {trials} trials" if failures else f"No failure in {trials} trials"
    limit = f"(rate at most {upper:.3g} at level {alarm:.0e})"
    if outcome == "vacuous":
        return f"{seen} {limit} cannot contradict the bound {bound:.3g}, which excludes nothing."
    if outcome == "refuted":
        return (
            f"{seen} refute the bound {bound:.3g}: a rate that small produces as many "
            f"with probability at most {alarm:.0e}."
        )
    if outcome == "consistent":
        return (
            f"{seen} {limit} agree with the bound {bound:.3g}; a violation by the factor "
            f"{detectable:.3g} would have been seen with probability 95 %."
        )
    return (
        f"{seen} {limit} do not decide the bound {bound:.3g}: only a violation by the factor "
        f"{detectable:.3g} or more, not {factor:.3g}, would have been seen with probability 95 %."
    )
