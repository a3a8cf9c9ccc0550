r"""Exact binomial tests of a bound and of a family of bounds, and evidence that is valid whenever counting stops.

The evidence is a bet that a probability is below a bound. For a rate q below the bound, a trial multiplies the evidence
by q / bound after a failure and by (1 - q) / (1 - bound) after a success. If every trial fails with conditional
probability p >= bound, the mean factor is at most

.. math:: p \frac{q}{\text{bound}} + (1 - p) \frac{1 - q}{1 - \text{bound}} \le 1,

because the left side falls with p and is 1 at p = bound. So the product, and every mixture over q < bound, is a
nonnegative supermartingale that starts at 1. By Ville's inequality it ever reaches 1 / alpha with probability at most
alpha (Theorem C6 of docs/theorems.md).
"""

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


#: More than the rounding of a logarithm of the evidence; what is certified must exceed its threshold by this much.
ROUNDING = 1e-6


def log_evidence_below(failures: int, trials: int, bound: float) -> float:
    """Return the log of the evidence that the failure probability is below a bound.

    The mixture over q is Jeffreys' distribution Beta(1/2, 1/2), restricted to q < bound.

    Parameters
    ----------
    failures, trials : int
        Trials so far, and how many of them failed.
    bound : float
        The bound, in (0, 1).
    """
    failures, trials = check_counts(failures, trials)
    bound = _check_rate(bound)
    successes = trials - failures
    share = special.betainc(failures + 0.5, successes + 0.5, bound)
    if share <= 0.0:
        return -math.inf
    mixed = special.betaln(failures + 0.5, successes + 0.5) + math.log(share)
    start = special.betaln(0.5, 0.5) + math.log(special.betainc(0.5, 0.5, bound))
    return float(mixed - start - failures * math.log(bound) - successes * math.log1p(-bound))


def upper_limit(failures: int, trials: int, alpha: float) -> float:
    """Return a limit that a failure probability exceeds with probability at most alpha, at every stop.

    From (failures + 1) / trials on, the evidence rises with the bound: its slope there is at least
    1 / (bound (1 - bound)) - 1 / (2 bound sqrt(1 - bound)) >= 0. So all bounds above the limit have enough of it.

    Parameters
    ----------
    failures, trials : int
        Trials so far, and how many of them failed.
    alpha : float
        Probability of error, in (0, 1).
    """
    failures, trials = check_counts(failures, trials)
    needed = -math.log(_check_rate(alpha)) + ROUNDING
    low, high = min((failures + 1) / trials, 1.0), 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        enough = middle < 1.0 and log_evidence_below(failures, trials, middle) >= needed
        low, high = (low, middle) if enough else (middle, high)
    return high


def _check_rate(bound: float) -> float:
    bound = real("bound", bound)
    if not 0.0 < bound < 1.0:
        raise ValueError(f"bound must lie in (0, 1); got {bound}.")
    return float(bound)
