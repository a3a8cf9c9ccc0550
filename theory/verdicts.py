"""Tests of bounds against evidence, with both error rates stated.

`judge` tests a bound on a failure probability by a count, `judge_family` many bounds at once, and `judge_exact` by an
exact probability. `log_evidence_below` is valid at every stop. Deterministic checks use the same `Verdict` and have no
false-alarm rate.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import Any, Literal, get_args

from scipy import special

Outcome = Literal["consistent", "refuted", "vacuous", "undecided"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Number = int | float | Fraction
Evidence = tuple[tuple[str, Number | str], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of testing a claim against evidence.

    Attributes
    ----------
    outcome : {"consistent", "refuted", "vacuous", "undecided"}
    sentence : str
        One English sentence that a reader can quote.
    evidence : tuple of (name, value)
        The numbers behind the sentence, for replay.
    failures, trials, bound, rate : optional
        What was counted and what it was tested against; ``None`` for deterministic checks.
    lower, upper : float, optional
        Limits of the rate, each one-sided at level ``alpha`` (Clopper-Pearson).
    alpha : float
        The false-alarm rate: the allowed probability of a false refutation; 0 for deterministic checks.
    false_alarm : float
        The attained one: the probability of a refutation when the truth sits exactly at the bound.
    detectable_factor : float, optional
        The smallest violation factor (true rate / bound) that is refuted with probability 95 %.

    Examples
    --------
    >>> from theory.verdicts import judge
    >>> verdict = judge(failures=0, trials=1000, bound=0.1)
    >>> verdict.outcome, round(verdict.upper, 4)
    ('consistent', 0.0137)
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
    alpha: float = 0.0
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


def _decide_exactly(outcome: Outcome, sentence: str, **evidence: Number | str) -> Verdict:
    """Return the verdict of a deterministic check; the evidence replays it."""
    return Verdict(outcome, sentence, tuple(evidence.items()))


#: No violation; a violation; a bound of at least 1 or an empty premise; a check that cannot decide.
consistent, refuted, vacuous, undecided = (partial(_decide_exactly, outcome) for outcome in OUTCOMES)


def judge_exact(probability: Number, bound: Number, *, where: str = "") -> Verdict:
    """Test a bound against an exact probability; ``where`` names the instance in the sentence."""
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1]; got {probability}.")
    place = f" {where}" if where else ""
    numbers: Evidence = (("probability", probability), ("bound", bound))
    if _is_vacuous(float(bound)):
        return Verdict("vacuous", f"The bound {float(bound):.6g}{place} excludes nothing.", numbers)
    outcome: Outcome = "consistent" if probability <= bound else "refuted"
    left, right = _tell_apart(float(probability), float(bound))
    sentence = (
        f"The exact probability {left}{place} {'is at most' if probability <= bound else 'exceeds'} the bound {right}."
    )
    return Verdict(outcome, sentence, numbers, bound=float(bound), rate=float(probability))


def _is_vacuous(bound: float) -> bool:
    """Tell whether a bound excludes nothing: at least 1, or ``nan`` because its assumptions are unmet."""
    return math.isnan(bound) or bound >= 1


def _show_rate(value: float) -> str:
    """Format a rate: three digits, and as many more as it takes that another number than 1 does not read 1."""
    return _tell_apart(value, 1.0, 3)[0]


def _show_counts(failures: int, trials: int) -> str:
    """Format the counts."""
    count = "No failure" if failures == 0 else "1 failure" if failures == 1 else f"{failures} failures"
    return f"{count} in {trials} {'trial' if trials == 1 else 'trials'}"


def _tell_apart(first: float, second: float, digits: int = 6) -> tuple[str, str]:
    """Format two numbers to some digits, or to as many as it takes that different ones look different."""
    while first != second and f"{first:.{digits}g}" == f"{second:.{digits}g}":
        digits += 1
    return f"{first:.{digits}g}", f"{second:.{digits}g}"


def _check_counts(failures: Any, trials: Any) -> tuple[int, int]:
    """Return the counts as Python integers, which do not overflow; raise ValueError for impossible ones."""
    failures, trials = whole("failures", failures), whole("trials", trials)
    if trials < 1:
        raise ValueError(f"trials must be at least 1; got {trials}.")
    if not 0 <= failures <= trials:
        raise ValueError(f"failures must lie in 0..{trials}; got {failures}.")
    return failures, trials


def whole(name: str, value: Any) -> int:
    """Return an integer of any kind as a Python integer; raise ValueError for fractions and truth values."""
    try:
        # A truth value is an index to Python, but nobody counts in them on purpose.
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ValueError(f"{name} must be a whole number; got {value!r}.")


def real(name: str, value: Any) -> float:
    """Return a real number of any kind, a fraction for instance, as a float."""
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a real number; got {value!r}.")
    return float(value)


POWER = 0.95
"""Probability with which a detectable violation is refuted."""


def judge(failures: int, trials: int, bound: float, *, alpha: float = 1e-6, factor: float = 2.0) -> Verdict:
    """Test a bound on the failure probability against an observed count, by the exact one-sided binomial test.

    The bound is refuted when a true rate equal to the bound would produce at least ``failures`` failures with
    probability at most ``alpha``; by monotonicity the same holds for every smaller rate.

    Parameters
    ----------
    failures, trials : int
        Independent trials and how many of them failed.
    bound : float
        Claimed upper bound; vacuous if it is at least 1, or ``nan`` because its assumptions are unmet.
    alpha : float
        Largest allowed probability of a false refutation.
    factor : float
        The violation factor that a consistent test detects with probability 95 %; a weaker test is undecided.

    Examples
    --------
    >>> judge(failures=30, trials=1000, bound=0.1).outcome
    'consistent'
    >>> judge(failures=200, trials=1000, bound=0.1).outcome
    'refuted'
    """
    failures, trials = _check_counts(failures, trials)
    alpha, factor = _check_options(alpha, factor)
    bound = _check_bound(bound)
    lower, upper = clopper_pearson(failures, trials, alpha)
    counted = (failures, trials, bound, failures / trials, lower, upper, alpha)
    seen, claimed = _show_counts(failures, trials), f"the bound {_show_rate(bound)}"
    limit = f"(rate at most {_show_rate(upper)} at level {alpha:.0e})"
    if _is_vacuous(bound):
        sentence = f"{seen} {limit} cannot contradict {claimed}, which excludes nothing."
        return Verdict("vacuous", sentence, (), *counted)
    critical = critical_count(trials, bound, alpha)
    detectable = detectable_rate(critical, trials) / bound if bound > 0 else math.inf
    outcome: Outcome
    if failures >= critical:
        outcome = "refuted"
        sentence = f"{seen} refuted {claimed}: a rate that small produces as many with probability at most {alpha:.0e}."
    elif detectable <= factor:
        outcome = "consistent"
        sentence = (
            f"{seen} {limit} agreed with {claimed}; a violation by the factor "
            f"{detectable:.3g} would have been seen with probability 95 %."
        )
    else:
        outcome = "undecided"
        sentence = f"{seen} {limit} did not decide {claimed}: {_overlooked(trials, bound, detectable, factor)}."
    return Verdict(outcome, sentence, (), *counted, tail(critical, trials, bound), detectable)


def judge_family(cells: Iterable[tuple[int, int, float]], *, alpha: float = 1e-6, factor: float = 2.0) -> list[Verdict]:
    """Judge (failures, trials, bound) of every cell, so that ``alpha`` holds for all of them together.

    This is Holm's step-down test (Scandinavian Journal of Statistics, 1979) over the m cells whose bound is not
    vacuous, which does not depend on the counts. The cells may depend on each other in any way, as strategies do that
    share random numbers.

    ``Verdict.alpha`` is the level at which a cell was judged: alpha / m, or Holm's level where only that refuted it.
    Limits and the detectable factor belong to that level.

    Examples
    --------
    >>> [verdict.outcome for verdict in judge_family([(30, 1000, 0.1), (200, 1000, 0.1), (30, 1000, 1.0)])]
    ['consistent', 'refuted', 'vacuous']
    """
    alpha, factor = _check_options(alpha, factor)
    family: list[tuple[int, int, float]] = [
        (*_check_counts(failures, trials), _check_bound(bound)) for failures, trials, bound in cells
    ]
    informative = [i for i, (_, _, bound) in enumerate(family) if not _is_vacuous(bound)]
    levels = [alpha / max(1, len(informative))] * len(family)
    p_values = {i: tail(family[i][0], family[i][1], family[i][2]) for i in informative}
    for rank, i in enumerate(sorted(informative, key=p_values.__getitem__)):
        level = alpha / (len(informative) - rank)
        if p_values[i] > level:
            break
        if p_values[i] > levels[i]:
            levels[i] = level
    return [judge(*cell, alpha=level, factor=factor) for cell, level in zip(family, levels, strict=True)]


def clopper_pearson(failures: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return exact one-sided limits of a binomial rate, each wrong with probability at most ``alpha``."""
    failures, trials = _check_counts(failures, trials)
    alpha, _ = _check_options(alpha, 2.0)
    lower = 0.0 if failures == 0 else float(special.betaincinv(failures, trials - failures + 1, alpha))
    if failures == trials:
        return lower, 1.0
    return lower, float(special.betainccinv(failures + 1, trials - failures, alpha))


def tail(count: int, trials: int, rate: float) -> float:
    """Return P(Bin(trials, rate) >= count), by the regularised incomplete beta function."""
    count, trials = whole("count", count), whole("trials", trials)
    if count <= 0:
        return 1.0
    if count > trials:
        return 0.0
    return float(special.betainc(count, trials - count + 1, rate))


def critical_count(trials: int, bound: float, alpha: float) -> int:
    """Return the smallest count that refutes: the least k with P(Bin(trials, bound) >= k) <= alpha.

    ``trials + 1`` means that no outcome refutes.
    """
    counts = range(1, whole("trials", trials) + 1)
    return counts.start + bisect_left(counts, True, key=lambda count: tail(count, trials, bound) <= alpha)


def detectable_rate(critical: int, trials: int, power: float = POWER) -> float:
    """Return the smallest true rate at which at least ``critical`` failures appear with probability ``power``."""
    critical, trials = whole("critical", critical), whole("trials", trials)
    if critical > trials:
        return math.inf
    return float(special.betaincinv(critical, trials - critical + 1, power))


def _check_options(alpha: Any, factor: Any) -> tuple[float, float]:
    """Return the error rate and the factor as floats; raise ValueError outside their ranges."""
    alpha, factor = real("alpha", alpha), real("factor", factor)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1); got {alpha}.")
    if not factor > 1:
        raise ValueError(f"factor must be above 1; got {factor}.")
    return alpha, factor


def _check_bound(bound: Any) -> float:
    """Return the bound as a float; raise ValueError if negative.  ``nan`` and numbers above 1 are vacuous."""
    bound = real("bound", bound)
    if bound < 0:
        raise ValueError(f"bound must not be negative; got {bound}.")
    return float(bound)


def _overlooked(trials: int, bound: float, detectable: float, factor: float) -> str:
    """Describe what an undecided test could not have detected."""
    if bound == 0:
        # No rate is a multiple of 0, and a single failure refutes it.
        return f"only a rate of {detectable_rate(1, trials):.3g} or more would have been seen with probability 95 %"
    if detectable == math.inf:
        return "so few trials cannot refute it, whatever they show"
    return (
        f"only a violation by the factor {detectable:.3g} or more, not {factor:.3g}, "
        f"would have been seen with probability 95 %"
    )


#: More than the rounding of a logarithm of the evidence; what is certified must exceed its threshold by this much.
ROUNDING = 1e-6


def log_evidence_below(failures: int, trials: int, bound: float) -> float:
    """Return the log of the evidence that the failure probability is below a bound in (0, 1), valid at every stop.

    It is a nonnegative supermartingale that starts at 1 if the probability is not below the bound (Theorem C6 of
    docs/theorems.md). The mixture over q is Jeffreys' distribution Beta(1/2, 1/2), restricted to q < bound.
    """
    failures, trials = _check_counts(failures, trials)
    bound = real("bound", bound)
    if not 0.0 < bound < 1.0:
        raise ValueError(f"bound must lie in (0, 1); got {bound}.")
    successes = trials - failures
    share = special.betainc(failures + 0.5, successes + 0.5, bound)
    if share <= 0.0:
        return -math.inf
    mixed = special.betaln(failures + 0.5, successes + 0.5) + math.log(share)
    start = special.betaln(0.5, 0.5) + math.log(special.betainc(0.5, 0.5, bound))
    return float(mixed - start - failures * math.log(bound) - successes * math.log1p(-bound))
