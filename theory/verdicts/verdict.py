"""The verdict of a test, and the verdicts of deterministic checks (identities, inequalities, exact probabilities)."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, get_args

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


def consistent(sentence: str, **evidence: Number | str) -> Verdict:
    """Return the verdict of a deterministic check without a violation."""
    return Verdict("consistent", sentence, tuple(evidence.items()))


def refuted(sentence: str, **evidence: Number | str) -> Verdict:
    """Return the verdict of a deterministic check with a violation; the evidence replays it."""
    return Verdict("refuted", sentence, tuple(evidence.items()))


def vacuous(sentence: str, **evidence: Number | str) -> Verdict:
    """Return the verdict that the statement is vacuous here (a bound of at least 1, or an empty premise)."""
    return Verdict("vacuous", sentence, tuple(evidence.items()))


def undecided(sentence: str, **evidence: Number | str) -> Verdict:
    """Return the verdict of a check that cannot decide."""
    return Verdict("undecided", sentence, tuple(evidence.items()))


def judge_exact(probability: Number, bound: Number, *, where: str = "") -> Verdict:
    """Test a bound against an exactly known probability.

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
    if is_vacuous(float(bound)):
        return Verdict("vacuous", f"The bound {float(bound):.6g}{place} excludes nothing.", numbers)
    left, right = _tell_apart(float(probability), float(bound))
    if probability <= bound:
        sentence = f"The exact probability {left}{place} is at most the bound {right}."
        return Verdict("consistent", sentence, numbers, bound=float(bound), rate=float(probability))
    sentence = f"The exact probability {left}{place} exceeds the bound {right}."
    return Verdict("refuted", sentence, numbers, bound=float(bound), rate=float(probability))


def is_vacuous(bound: float) -> bool:
    """Tell whether a bound excludes nothing: at least 1, or ``nan`` because its assumptions are unmet."""
    return math.isnan(bound) or bound >= 1


def show_rate(value: float, digits: int = 3) -> str:
    """Format a rate: three digits, and as many more as it takes that a rate below 1 does not read 1."""
    while value < 1 <= float(f"{value:.{digits}g}"):
        digits += 1
    return f"{value:.{digits}g}"


def show_counts(failures: int, trials: int) -> str:
    """Format the counts; see `verb` for the word that follows them."""
    count = "No failure" if failures == 0 else "1 failure" if failures == 1 else f"{failures} failures"
    return f"{count} in {trials} {'trial' if trials == 1 else 'trials'}"


def verb(stem: str, failures: int) -> str:
    """Return the verb that goes with `show_counts`: one failure agrees, two agree."""
    if failures > 1:
        return stem
    return "does" if stem == "do" else f"{stem}s"


def _tell_apart(first: float, second: float) -> tuple[str, str]:
    """Format two numbers to six digits, or to as many as it takes that different ones look different."""
    digits = 6
    while first != second and f"{first:.{digits}g}" == f"{second:.{digits}g}":
        digits += 1
    return f"{first:.{digits}g}", f"{second:.{digits}g}"


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1]; got {value}.")


def check_counts(failures: Any, trials: Any) -> tuple[int, int]:
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
