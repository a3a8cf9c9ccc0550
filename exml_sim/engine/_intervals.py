"""Intervals and tests: confidence sequences, means of bounded values, paired comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, stdtrit, xlog1py, xlogy

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.selection_report import sign_test

Interval = tuple[float, float]


def confidence_sequence(failures: int, trials: int, alpha: float = 0.05) -> Interval:
    r"""Return an interval that covers at all interim analyses together, even after every trial.

    The uniform mixture over rates q of the likelihood ratio of q against p,

    .. math:: e_n(p) = \frac{\int_0^1 q^k (1-q)^{n-k} dq}{p^k (1-p)^{n-k}} = \frac{B(k+1, n-k+1)}{p^k (1-p)^{n-k}},

    is a martingale with mean 1 when p is the rate, so by Ville's inequality it ever exceeds 1/alpha with probability at
    most `alpha`. The interval is the set of rates with e_n(p) < 1/alpha; since log e_n is convex in p with its minimum
    at k/n, its ends are two roots.
    """
    if trials < 1 or not 0 <= failures <= trials or not 0.0 < alpha < 1.0:
        raise ValueError(
            f"a confidence sequence needs 0 <= failures <= trials, at least one trial and alpha in (0, 1), "
            f"got {failures} of {trials} at {alpha}"
        )
    mixed = float(betaln(failures + 1, trials - failures + 1))
    limit = -math.log(alpha)

    def excess(p: float) -> float:
        likelihood = failures * math.log(p) if failures else 0.0
        likelihood += (trials - failures) * math.log1p(-p) if failures < trials else 0.0
        return mixed - likelihood - limit

    rate = failures / trials
    tiny = 1e-300
    low = 0.0 if failures == 0 else _root(excess, tiny, rate) if excess(rate) < 0 < excess(tiny) else 0.0
    edge = 1.0 - 1e-16
    high = 1.0 if failures == trials else _root(excess, max(rate, tiny), edge) if excess(edge) > 0 else 1.0
    return low, high


def mean_interval(mean: float, deviation: float, number: int, level: float = 0.95) -> Interval:
    """Student's interval of a mean, from the standard deviation of `number` independent values."""
    check_level(level)
    if number < 2:
        return -math.inf, math.inf
    reach = float(-stdtrit(number - 1, (1.0 - level) / 2.0)) * deviation / math.sqrt(number)
    return mean - reach, mean + reach


def bounded_interval(mean: float, deviation: float, number: int, top: float, level: float = 0.95) -> Interval:
    r"""Return an interval for the mean of independent values in [0, top] that covers with at least `level`.

    Each end is the better of two proven ones, each at half of the end's error: Hoeffding's bound in its
    relative-entropy form, n KL(mean / top, mu / top) <= log(1 / error) (Hoeffding 1963, Theorem 1), which is nearly
    Clopper-Pearson's where few values are above 0; and the empirical Bernstein bound of Maurer and Pontil (2009,
    Theorem 4), sqrt(2 s^2 log(2 / error) / n) + 7 top log(2 / error) / (3 (n - 1)), which uses the spread s of many
    values.
    """
    _check_bounded(mean, number, top, level)
    if top == 0.0:
        return 0.0, 0.0
    error = (1.0 - level) / 4.0
    low, high = (top * end for end in _entropy_ends(min(mean / top, 1.0), -math.log(error) / number))
    if number > 1:
        logs = math.log(2.0 / error)
        reach = deviation * math.sqrt(2.0 * logs / number) + 7.0 * top * logs / (3.0 * (number - 1))
        low, high = max(low, mean - reach), min(high, mean + reach)
    return min(low, mean), max(high, mean)


def _entropy_ends(mean: float, reach: float) -> Interval:
    """Return the rates mu below and above a mean in [0, 1] with KL(mean, mu) = reach."""

    def excess(mu: float) -> float:
        entropy = xlogy(mean, mean) + xlog1py(1.0 - mean, -mean) if 0.0 < mean < 1.0 else 0.0
        return float(entropy - xlogy(mean, mu) - xlog1py(1.0 - mean, -mu)) - reach

    return _sides(excess, mean)


def bounded_sequence(values: Sequence[tuple[float, int]], top: float, alpha: float = 0.05) -> Interval:
    r"""Return a confidence sequence for the mean of values in [0, top], given as (value, how often).

    For x = value / top and a true mean p of x, :math:`x q / p + (1 - x)(1 - q) / (1 - p)` has mean 1 for every q. So a
    mixture over q of its products over the trials,

    .. math:: e_n(p) = \sum_q w_q \prod_i \Big( x_i \frac{q}{p} + (1 - x_i) \frac{1 - q}{1 - p} \Big), \qquad \sum_q w_q
    = 1,

    is a martingale that starts at 1, and Ville's inequality applies: it ever exceeds 1/alpha with probability at most
    `alpha`, whenever one stops. The q are equally spaced in arcsin(sqrt q), fine enough for 100,000 trials; a coarser
    grid would cost width, never coverage. Each factor is log-convex in p, so sums and products of them are, and the set
    of p with e_n(p) < 1/alpha is an interval.
    """
    number = sum(often for _, often in values)
    mean = math.fsum(value * often for value, often in values) / max(number, 1)
    _check_bounded(mean, number, top, 1.0 - alpha)
    if top == 0.0:
        return 0.0, 0.0
    x = np.array([min(value / top, 1.0) for value, often in values if often])
    times = np.array([often for _, often in values if often], dtype=np.float64)

    def excess(p: float) -> float:
        logs = np.log(x / p * _GRID + (1.0 - x) / (1.0 - p) * (1.0 - _GRID)) @ times
        peak = float(logs.max())
        return peak + math.log(float(np.exp(logs - peak).mean())) + math.log(alpha)

    low, high = _sides(excess, min(mean / top, 1.0))
    return top * low, top * high


_GRID = np.sin(np.pi / 2.0 * (np.arange(1000) + 0.5) / 1000)[:, None] ** 2


def _root(excess: Callable[[float], float], low: float, high: float, **precision: float) -> float:
    # scipy.optimize takes a quarter of a second to import: every process would wait for it.
    from scipy.optimize import brentq

    return float(brentq(excess, low, high, **precision))


def _sides(excess: Callable[[float], float], middle: float) -> Interval:
    """Find the roots of a convex function on both sides of `middle`; 0 or 1 without a root."""
    tiny, edge = 1e-300, 1.0 - 1e-16
    inner = min(max(middle, tiny), edge)
    low = high = middle
    if middle <= tiny or excess(tiny) <= 0.0:
        low = 0.0
    elif excess(inner) < 0.0:
        outer, step = inner, 0.1
        while excess(outer) < 0.0:
            inner, outer, step = outer, max(outer * (1.0 - step), tiny), min(2.0 * step, 0.999)
        low = _root(excess, outer, inner, xtol=1e-300, rtol=1e-8)
    if middle >= edge or excess(edge) <= 0.0:
        high = 1.0
    elif excess(min(max(middle, tiny), edge)) < 0.0:
        inner = min(max(middle, tiny), edge)
        reach = max(0.1 * inner, 1e-12)
        while excess(outer := min(inner + reach, edge)) < 0.0:
            inner, reach = outer, 2.0 * reach
        high = _root(excess, inner, outer, xtol=1e-300, rtol=1e-8)
    return low, high


def _check_bounded(mean: float, number: int, top: float, level: float) -> None:
    if number < 1 or not 0.0 <= mean <= top * (1.0 + 1e-9) or not 0.0 < level < 1.0:
        raise ValueError(
            f"an interval needs values in [0, top], at least one of them and a level in (0, 1), "
            f"got mean {mean} of {number} with top {top} at {level}"
        )


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
    check_level(level)
    p_value = sign_test(only_first, only_second)
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


def check_level(level: float) -> None:
    """Refuse a level outside of (0, 1)."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise ValueError(f"a level must be a number in (0, 1), got {level!r}")
