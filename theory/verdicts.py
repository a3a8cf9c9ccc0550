"""Verdicts: what evidence says about a bound, with both error rates stated.

A bound on a failure probability is held against ``failures`` out of ``trials``.  The test is the exact
one-sided binomial test of "the true rate is at most the bound": it raises a false alarm with probability
at most ``alarm`` whatever the truth under the bound is, and it says how large a violation it would have
seen with 95 % probability.  A test that would have seen nothing is called undecided, not a success.

Deterministic checks (identities, inequalities, exact probabilities) use the same `Verdict` with
`consistent`, `refuted`, `vacuous`, `undecided` and `judge_exact`; they have no false-alarm rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from scipy import special

Outcome = Literal["consistent", "refuted", "vacuous", "undecided"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Number = int | float | Fraction
Evidence = tuple[tuple[str, Number | str], ...]

POWER = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of holding a claim against evidence.

    Attributes
    ----------
    outcome : {"consistent", "refuted", "vacuous", "undecided"}
    sentence : str
        One English sentence that a reader can quote.
    evidence : tuple of (name, value)
        The numbers behind the sentence, for replay.
    failures, trials, bound, rate : optional
        What was counted and what it was held against; ``None`` for deterministic checks.
    lower, upper : float, optional
        Clopper-Pearson limits of the rate, each one-sided at level ``alarm``.
    alarm : float
        The allowed probability of a false refutation; 0 for deterministic checks.
    false_alarm : float
        The attained one: the probability of a refutation when the truth sits exactly at the bound.
    detectable_factor : float, optional
        The smallest violation factor (true rate / bound) that is refuted with probability 95 %.
    """

    outcome: Outcome
    sentence: str
    evidence: Evidence = ()
    failures: int | None = None
    trials: int | None = None
    bound: float | None = None
    rate: float | None = None
    lower: float | None = None
    upper: float | None = None
    alarm: float = 0.0
    false_alarm: float = 0.0
    detectable_factor: float | None = None

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"outcome must be one of {', '.join(OUTCOMES)}; got {self.outcome!r}.")
        if not self.sentence.endswith("."):
            raise ValueError("sentence must be a full sentence that ends with a full stop.")

    @property
    def decided(self) -> bool:
        """Whether the evidence speaks for or against the bound."""
        return self.outcome in ("consistent", "refuted")


def consistent(sentence: str, **evidence: Number | str) -> Verdict:
    """A deterministic check that found no violation."""
    return Verdict("consistent", sentence, tuple(evidence.items()))


def refuted(sentence: str, **evidence: Number | str) -> Verdict:
    """A deterministic check that found a violation; the evidence replays it."""
    return Verdict("refuted", sentence, tuple(evidence.items()))


def vacuous(sentence: str, **evidence: Number | str) -> Verdict:
    """The statement says nothing on the instance (a bound of at least 1, or an empty premise)."""
    return Verdict("vacuous", sentence, tuple(evidence.items()))


def undecided(sentence: str, **evidence: Number | str) -> Verdict:
    """The check cannot tell."""
    return Verdict("undecided", sentence, tuple(evidence.items()))


def judge_exact(probability: Number, bound: Number, *, where: str = "") -> Verdict:
    """Hold an exactly known probability against a bound.

    Parameters
    ----------
    probability : int, float or Fraction
        The exact probability of failure, in [0, 1].
    bound : int, float or Fraction
        The claimed upper bound; ``nan`` means that its assumptions are unmet.
    where : str
        Words that name the instance, for the sentence.
    """
    _check_probability("probability", float(probability))
    place = f" {where}" if where else ""
    numbers: Evidence = (("probability", probability), ("bound", bound))
    if _is_vacuous(float(bound)):
        return Verdict("vacuous", f"The bound {_show(bound)}{place} excludes nothing.", numbers)
    if probability <= bound:
        sentence = f"The exact probability {_show(probability)}{place} is at most the bound {_show(bound)}."
        return Verdict("consistent", sentence, numbers, bound=float(bound), rate=float(probability))
    sentence = f"The exact probability {_show(probability)}{place} exceeds the bound {_show(bound)}."
    return Verdict("refuted", sentence, numbers, bound=float(bound), rate=float(probability))


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
    _check_counts(failures, trials)
    if not 0 < alarm < 1:
        raise ValueError(f"alarm must lie in (0, 1); got {alarm}.")
    if not factor > 1:
        raise ValueError(f"factor must be above 1; got {factor}.")
    if bound < 0:
        raise ValueError(f"bound must not be negative; got {bound}.")
    lower, upper = clopper_pearson(failures, trials, alarm)
    critical = critical_count(trials, bound, alarm) if not _is_vacuous(bound) else None
    outcome, false_alarm, detectable = _decide(failures, trials, bound, critical, factor)
    return Verdict(
        outcome,
        _sentence(outcome, failures, trials, bound, upper, alarm, detectable, factor),
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


def clopper_pearson(failures: int, trials: int, alarm: float) -> tuple[float, float]:
    """Exact one-sided limits of a binomial rate, each wrong with probability at most ``alarm``."""
    _check_counts(failures, trials)
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


def _sentence(
    outcome: Outcome,
    failures: int,
    trials: int,
    bound: float,
    upper: float,
    alarm: float,
    detectable: float | None,
    factor: float,
) -> str:
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


def _is_vacuous(bound: float) -> bool:
    return math.isnan(bound) or bound >= 1


def _show(value: Number) -> str:
    return f"{float(value):.6g}"


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1]; got {value}.")


def _check_counts(failures: int, trials: int) -> None:
    if trials < 1:
        raise ValueError(f"trials must be at least 1; got {trials}.")
    if not 0 <= failures <= trials:
        raise ValueError(f"failures must lie in 0..{trials}; got {failures}.")
