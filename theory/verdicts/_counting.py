"""Exact binomial tests of a bound, of a probability, and of a family of bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
"""Probability with which a detectable violation is refuted."""

Cell = tuple[int, int, float]
"""(failures, trials, bound) of a cell."""


def judge(failures: int, trials: int, bound: float, *, alpha: float = 1e-6, factor: float = 2.0) -> Verdict:
    """Test a bound on the failure probability against an observed count.

    The bound is refuted when a true rate equal to the bound would produce at least ``failures``
    failures with probability at most ``alpha``; by monotonicity the same holds for every smaller rate.

    Parameters
    ----------
    failures, trials : int
        Independent trials and how many of them failed.
    bound : float
        Claimed upper bound of the failure probability.  At least 1, or ``nan`` (assumptions unmet),
        is vacuous.
    alpha : float
        False-alarm rate: the largest allowed probability of a false refutation.
    factor : float
        The violation factor that the test must detect (power 95 %) to be called consistent; a test
        that could not have detected it is undecided.

    Returns
    -------
    Verdict
        With exact Clopper-Pearson limits, the attained false-alarm rate and the smallest detectable
        violation factor.  Zero failures are reported as an upper limit, never as a rate of zero.

    Examples
    --------
    >>> judge(failures=30, trials=1000, bound=0.1).outcome
    'consistent'
    >>> judge(failures=200, trials=1000, bound=0.1).outcome
    'refuted'
    """
    failures, trials = check_counts(failures, trials)
    alpha, factor = check_options(alpha, factor)
    bound = check_bound(bound)
    limits = clopper_pearson(failures, trials, alpha)
    critical = critical_count(trials, bound, alpha) if not is_vacuous(bound) else None
    outcome, false_alarm, detectable = _decide(failures, trials, bound, critical, factor)
    sentence = sentence_of(outcome, failures, trials, bound, limits[1], alpha, detectable, factor)
    rate = failures / trials
    return Verdict(outcome, sentence, (), failures, trials, bound, rate, *limits, alpha, false_alarm, detectable)


def judge_agreement(
    failures: int, trials: int, probability: float, *, alpha: float = 1e-6, factor: float = 2.0
) -> Verdict:
    """Test a claimed exact failure probability against an observed count.

    Refuted when a rate equal to ``probability`` would produce as many failures, or as few, with probability
    at most ``alpha / 2`` each.  Consistent when a rate that differs by ``factor``, upwards or downwards, would
    have been refuted with probability 95 %; undecided otherwise.  The factor is that of failures or successes,
    whichever are the rarer, and ``detectable_factor`` is the smallest one in both directions.

    Parameters
    ----------
    failures, trials, alpha, factor
        See `judge`.
    probability : float
        The claimed probability, in [0, 1].
    """
    failures, trials = check_counts(failures, trials)
    alpha, factor = check_options(alpha, factor)
    probability = real("probability", probability)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1]; got {probability}.")
    rarer = min(probability, 1 - probability)
    count = failures if probability <= 0.5 else trials - failures
    many = critical_count(trials, rarer, alpha / 2)
    # Few of the rarer are many of the others.
    few = critical_count(trials, 1 - rarer, alpha / 2)
    false_alarm = tail(many, trials, rarer) + tail(few, trials, 1 - rarer)
    above = detectable_rate(many, trials) / rarer if rarer > 0 else math.inf
    below = 1 - detectable_rate(few, trials)
    detectable = max(above, rarer / below if below > 0 else math.inf)
    counts, claimed = show_counts(failures, trials), f"the probability {show_rate(probability)}"
    if count >= many or trials - count >= few:
        outcome: Outcome = "refuted"
        sentence = f"{counts} {verb('refute', failures)} {claimed}, under which such counts are rarer than {alpha:.0e}."
    elif detectable <= factor:
        outcome = "consistent"
        sentence = f"{counts} {verb('agree', failures)} with {claimed}, up to a factor of {detectable:.3g}."
    else:
        outcome = "undecided"
        sentence = f"{counts} {verb('do', failures)} not decide {claimed}: a factor of {factor:.3g} can be overlooked."
    limits, rate = clopper_pearson(failures, trials, alpha / 2), failures / trials
    return Verdict(outcome, sentence, (), failures, trials, probability, rate, *limits, alpha, false_alarm, detectable)


def judge_family(cells: Iterable[Cell], *, alpha: float = 1e-6, factor: float = 2.0) -> list[Verdict]:
    r"""Judge (failures, trials, bound) of every cell, so that ``alpha`` holds for all of them together.

    This is Holm's step-down test.  Let m be the number of cells whose bound is not vacuous, and
    p_i = P(Bin(trials_i, bound_i) >= failures_i).  The cell with the smallest p is refuted if p <= alpha / m,
    the next one if p <= alpha / (m - 1), and so on until one is not.

    *At most* ``alpha``, *whatever the cells have to do with each other.*  Let H be the h >= 1 cells whose bounds
    hold, and suppose one of them is refuted.  Take the first one in the order of refutations.  Before it only
    cells outside H were refuted, at most m - h of them, so its p is at most alpha / (m - (m - h)) = alpha / h.
    For a bound that holds P(p_i <= x) <= x, so by the union bound over H this happens with probability at most
    h * alpha / h.  No independence is used: cells may share random numbers, as the strategies of a study do.

    *Never weaker than Bonferroni*, which compares every p with alpha / m: Holm's levels are at least that.

    A vacuous bound is left out of m; which bounds are vacuous does not depend on the counts.

    Parameters
    ----------
    cells : iterable of (failures, trials, bound)
    alpha : float
        Largest allowed probability that any bound that holds is refuted.
    factor : float
        See `judge`.

    Returns
    -------
    list of Verdict
        In the order of the cells.  ``Verdict.alpha`` is the level at which the cell was judged: alpha / m, or
        Holm's level where only that refuted the cell.  Limits and the detectable factor belong to that level; the
        power at alpha / m does not depend on the other cells.

    Examples
    --------
    >>> [verdict.outcome for verdict in judge_family([(30, 1000, 0.1), (200, 1000, 0.1), (30, 1000, 1.0)])]
    ['consistent', 'refuted', 'vacuous']
    """
    alpha, factor = check_options(alpha, factor)
    family: list[Cell] = [(*check_counts(failures, trials), check_bound(bound)) for failures, trials, bound in cells]
    informative = [i for i, (_, _, bound) in enumerate(family) if not is_vacuous(bound)]
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
    failures, trials = check_counts(failures, trials)
    alpha, _ = check_options(alpha, 2.0)
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
    low, high = 0, whole("trials", trials) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if tail(middle, trials, bound) <= alpha:
            high = middle
        else:
            low = middle
    return high


def detectable_rate(critical: int, trials: int, power: float = POWER) -> float:
    """Return the smallest true rate at which at least ``critical`` failures appear with probability ``power``."""
    critical, trials = whole("critical", critical), whole("trials", trials)
    if critical > trials:
        return math.inf
    return float(special.betaincinv(critical, trials - critical + 1, power))


def check_options(alpha: Any, factor: Any) -> tuple[float, float]:
    """Return the error rate and the factor as floats; raise ValueError outside their ranges."""
    alpha, factor = real("alpha", alpha), real("factor", factor)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1); got {alpha}.")
    if not factor > 1:
        raise ValueError(f"factor must be above 1; got {factor}.")
    return alpha, factor


def check_bound(bound: Any) -> float:
    """Return the bound as a float; raise ValueError if negative.  ``nan`` and numbers above 1 are vacuous."""
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
    alpha: float,
    detectable: float | None,
    factor: float,
) -> str:
    """Write one sentence for a verdict on a bound."""
    seen, claimed = show_counts(failures, trials), f"the bound {show_rate(bound)}"
    limit = f"(rate at most {show_rate(upper)} at level {alpha:.0e})"
    if outcome == "vacuous":
        return f"{seen} {limit} cannot contradict {claimed}, which excludes nothing."
    if outcome == "refuted":
        return (
            f"{seen} {verb('refute', failures)} {claimed}: a rate that small produces as many "
            f"with probability at most {alpha:.0e}."
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
