"""Intervals and tests for counts: Clopper-Pearson, confidence sequences, paired comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import betaln
from scipy.stats import beta, binomtest, t

Interval = tuple[float, float]


def clopper_pearson(failures: int, trials: int, level: float = 0.95) -> Interval:
    """The exact two-sided interval of a rate: it covers with probability at least `level`, whatever the rate is."""
    _check(failures, trials, level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if failures == 0 else float(beta.ppf(tail, failures, trials - failures + 1))
    high = 1.0 if failures == trials else float(beta.isf(tail, failures + 1, trials - failures))
    return low, high


def confidence_sequence(failures: int, trials: int, alarm: float = 0.05) -> Interval:
    r"""An interval that may be looked at after every trial and still covers at all looks together.

    The uniform mixture over rates q of the likelihood ratio of q against p,

    .. math:: e_n(p) = \frac{\int_0^1 q^k (1-q)^{n-k} dq}{p^k (1-p)^{n-k}} = \frac{B(k+1, n-k+1)}{p^k (1-p)^{n-k}},

    is a martingale with mean 1 when p is the rate, so by Ville's inequality it ever exceeds 1/alarm with probability at
    most `alarm`. The interval is the set of rates with e_n(p) < 1/alarm; since log e_n is convex in p with its minimum
    at k/n, its ends are two roots.
    """
    _check(failures, trials, 1.0 - alarm)
    mixed = float(betaln(failures + 1, trials - failures + 1))
    limit = -math.log(alarm)

    def excess(p: float) -> float:
        likelihood = failures * math.log(p) if failures else 0.0
        likelihood += (trials - failures) * math.log1p(-p) if failures < trials else 0.0
        return mixed - likelihood - limit

    rate = failures / trials
    tiny = 1e-300
    low = 0.0 if failures == 0 else float(brentq(excess, tiny, rate)) if excess(rate) < 0 < excess(tiny) else 0.0
    edge = 1.0 - 1e-16
    high = 1.0 if failures == trials else float(brentq(excess, max(rate, tiny), edge)) if excess(edge) > 0 else 1.0
    return low, high


def mean_interval(mean: float, deviation: float, number: int, level: float = 0.95) -> Interval:
    """Student's interval of a mean, from the standard deviation of `number` independent values."""
    if number < 2:
        return -math.inf, math.inf
    reach = float(t.isf((1.0 - level) / 2.0, number - 1)) * deviation / math.sqrt(number)
    return mean - reach, mean + reach


@dataclass(frozen=True, slots=True)
class Paired:
    """Two strategies on the same trials.

    Attributes
    ----------
    trials
        Trials that both ran.
    only_first, only_second
        Discordant trials: those that only one of the two failed.
    p_value
        Exact two-sided McNemar test of "both fail equally often".
    difference
        Failure rate of the first less that of the second.
    lower, upper
        Interval of the difference that covers with probability at least `level`: each rate of discordant trials gets a
        Clopper-Pearson interval at half the error, so that no approximation is involved.
    """

    trials: int
    only_first: int
    only_second: int
    p_value: float
    difference: float
    lower: float
    upper: float
    level: float


def paired(trials: int, only_first: int, only_second: int, level: float = 0.95) -> Paired:
    """Compare two strategies by their discordant trials."""
    discordant = only_first + only_second
    p_value = float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0
    half = 1.0 - (1.0 - level) / 2.0
    first = clopper_pearson(only_first, trials, half)
    second = clopper_pearson(only_second, trials, half)
    return Paired(
        trials,
        only_first,
        only_second,
        p_value,
        (only_first - only_second) / trials,
        first[0] - second[1],
        first[1] - second[0],
        level,
    )


def _check(failures: int, trials: int, level: float) -> None:
    if trials < 1 or not 0 <= failures <= trials or not 0.0 < level < 1.0:
        raise ValueError(
            f"an interval needs 0 <= failures <= trials, at least one trial and a level in (0, 1), "
            f"got {failures} of {trials} at {level}"
        )
