"""Statistics of trials: intervals and tests, and one summary per cell with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, stdtrit, xlog1py, xlogy

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.selection_report import sign_test

if TYPE_CHECKING:
    from exml_sim.engine._trials import CellMetadata
    from exml_sim.engine.store import Store
    from exml_sim.engine.study import Study

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


#: Weighted failures support Student's interval if they count like this many equal ones, and none is this much of the
#: sum.
EFFECTIVE = 50.0
LARGEST = 0.1

#: (failed, regret, weight, how often)
Line = tuple[int, float, float, int]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """What the trials of one cell say.

    Attributes
    ----------
    cell, pool, score, strategy, budget
        The cell; the budget as exact text.
    trials, failures
        Trials that were run, and how many of them did not select a best arm; 0 and 0 for exact distributions. With
        tilted sampling `failures` counts trials of the tilted distribution.
    failure_rate, lower, upper
        The failure probability and its interval at `level`.
    interval
        "clopper-pearson"; "confidence sequence" (cells that may stop early); "student" (tilted sampling: of the mean of
        weighted failures, valid for many of them only); "bounded weights" (tilted sampling that Student's interval does
        not suit: proven, from the largest weight there can be, and often wide); "exact" (enumeration, no width).
    mean_regret, regret_lower, regret_upper
        Mean regret of the selected arm with an interval at `level`.
    mean_spend
        Money spent per trial.
    allocation
        Mean pulls per arm; with tilted sampling, of the tilted trials.
    regret_interval
        "bounded" (proven, from the largest regret there can be); "bounded sequence" (the same, and valid
        where cells may stop early); "student" and "bounded weights" as above; "exact".
    effective_failures
        With tilted sampling (sum of weights)^2 / (sum of their squares) over the failures: how many equally weighted
        ones they are worth. nan otherwise.
    largest_share
        With tilted sampling, the part of the largest weight in the sum over the failures. nan otherwise.
    """

    cell: int
    pool: str
    score: str
    strategy: str
    budget: str
    trials: int
    failures: int
    failure_rate: float
    lower: float
    upper: float
    level: float
    interval: str
    mean_regret: float
    regret_lower: float
    regret_upper: float
    mean_spend: float
    allocation: Mapping[str, float]
    regret_interval: str = ""
    effective_failures: float = math.nan
    largest_share: float = math.nan

    def row(self) -> dict[str, Any]:
        """Return a flat line: one column per arm's mean pulls; what a mode does not have is left out."""
        line = asdict(self)
        del line["allocation"]
        for name in ("effective_failures", "largest_share"):
            if math.isnan(line[name]):
                del line[name]
        return line | {f"pulls {name}": pulls for name, pulls in self.allocation.items()}


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and standard deviation of values with multiplicities."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Callable[[], Iterable[tuple[float, int]]], number: int) -> Moments:
        """Read the values twice: sums without rounding, so their order does not matter, and nothing is kept."""
        mean = math.fsum(value * often for value, often in values()) / number
        squares = math.fsum((value - mean) ** 2 * often for value, often in values())
        return cls(mean, math.sqrt(squares / max(number - 1, 1)))


class Trials:
    """The stored trials of one cell, read line by line as often as asked for.

    Parameters
    ----------
    few
        Whether outcomes repeat, so that they are worth counting: as many lines as different outcomes then.
    """

    def __init__(self, store: Store, cell: int, few: bool) -> None:
        self._store = store
        self._cell = cell
        self.number, self.failures = store.counts(cell)
        self._counted = self._count() if few else None

    def _count(self) -> list[Line]:
        query = """
            SELECT NOT success, regret, weight, count(*) FROM trials WHERE cell = ? GROUP BY success, regret, weight
        """
        return list(self._store.rows(query, (self._cell,)))

    def lines(self) -> Iterable[Line]:
        """Failures, and all successes together: they have no regret and weigh nothing."""
        if self._counted is not None:
            yield from self._counted
            return
        if self.number > self.failures:
            yield 0, 0.0, 1.0, self.number - self.failures
        query = "SELECT 1, regret, weight, 1 FROM trials WHERE cell = ? AND NOT success"
        yield from self._store.rows(query, (self._cell,))

    def weights(self, top: float = math.inf) -> Iterable[tuple[float, int]]:
        """Return the weight of every failure, 0 for a success and for weights above `top`."""
        return ((weight if failed and weight <= top else 0.0, often) for failed, _, weight, often in self.lines())

    def regrets(self, top: float = math.inf) -> Iterable[tuple[float, int]]:
        """Weighted regrets, 0 for weights above `top`."""
        return ((regret * weight if weight <= top else 0.0, often) for _, regret, weight, often in self.lines())

    def spread(self) -> tuple[float, float]:
        """Effective number of failures, and share of the largest weight."""
        if not self.failures:
            return 0.0, math.nan
        total = math.fsum(weight * often for weight, often in self.weights())
        squares = math.fsum(weight**2 * often for weight, often in self.weights())
        return total**2 / squares, max(weight for weight, _ in self.weights()) / total


def summarise(
    store: Store, study: Study, cell: Mapping[str, Any], metadata: CellMetadata, level: float
) -> CellSummary | None:
    """Summary of a cell as it is stored, in the study's mode; None if there is nothing of it yet."""
    return _READERS.get(study.mode, sampled)(store, study, cell, metadata, level)


def sampled(
    store: Store, study: Study, cell: Mapping[str, Any], metadata: CellMetadata, level: float
) -> CellSummary | None:
    """Summary of a cell's trials; None if it has none yet."""
    number = cell["cell"]
    trials = Trials(store, number, few=study.mode in ("monte_carlo", "fixed_confidence"))
    if trials.number == 0:
        return None
    regret = Moments.of(trials.regrets, trials.number)
    spread = (math.nan, math.nan)
    if study.mode == "importance_sampling":
        rate = Moments.of(trials.weights, trials.number)
        spread = trials.spread()
        kind, ends, regret_ends = _weighted(metadata, trials, rate, regret, spread, level)
        mean, regret_kind = rate.mean, kind
    else:
        mean = trials.failures / trials.number
        kind, ends = _counted(study, trials, level)
        regret_kind, regret_ends = _regret(study, metadata.largest_regret, trials, regret, level)
    spent = store.rows("SELECT sum(spent) FROM trials WHERE cell = ?", (number,)).fetchone()[0]
    pulls = zip(cell["arms"], store.pulls(number), strict=True)
    return CellSummary(
        *_labels(cell),
        trials.number,
        trials.failures,
        mean,
        *ends,
        level,
        kind,
        regret.mean,
        *regret_ends,
        float(spent * Fraction(cell["unit"]) / trials.number),
        {name: total / trials.number for name, total in pulls},
        regret_kind,
        *spread,
    )


def _labels(cell: Mapping[str, Any]) -> tuple[int, str, str, str, str]:
    return cell["cell"], cell["pool"], cell["score"], cell["strategy"], cell["budget"]


def _counted(study: Study, trials: Trials, level: float) -> tuple[str, Interval]:
    if study.stop is not None:
        return "confidence sequence", confidence_sequence(trials.failures, trials.number, 1.0 - level)
    return "clopper-pearson", clopper_pearson(trials.failures, trials.number, level)


def _regret(study: Study, top: float, trials: Trials, regret: Moments, level: float) -> tuple[str, Interval]:
    if study.stop is not None:
        return "bounded sequence", bounded_sequence(list(trials.regrets()), top, 1.0 - level)
    return "bounded", bounded_interval(regret.mean, regret.deviation, trials.number, top, level)


def _weighted(
    metadata: CellMetadata,
    trials: Trials,
    rate: Moments,
    regret: Moments,
    spread: tuple[float, float],
    level: float,
) -> tuple[str, Interval, Interval]:
    """Student's intervals where enough failures of every kind were seen, else what the bound on the weights proves."""
    n = trials.number
    if metadata.weights_complete and spread[0] >= EFFECTIVE and spread[1] <= LARGEST:
        ends = mean_interval(rate.mean, rate.deviation, n, level)
        regret_ends = mean_interval(regret.mean, regret.deviation, n, level)
        return "student", (max(ends[0], 0.0), min(ends[1], 1.0)), (max(regret_ends[0], 0.0), regret_ends[1])
    # Heavier failures belong to failure paths that were left out, and these are bounded by themselves.
    top = metadata.weight_bound * (1.0 + 1e-9)
    largest = metadata.largest_regret
    rate = Moments.of(lambda: trials.weights(top), n)
    regret = Moments.of(lambda: trials.regrets(top), n)
    low, high = bounded_interval(rate.mean, rate.deviation, n, top, level)
    regret_low, regret_high = bounded_interval(regret.mean, regret.deviation, n, top * largest, level)
    ends = low, min(high + metadata.left_out, 1.0)
    return "bounded weights", ends, (regret_low, min(regret_high + metadata.left_out * largest, largest))


def enumerated(
    store: Store, study: Study, cell: Mapping[str, Any], metadata: CellMetadata, level: float
) -> CellSummary | None:
    """Summarise a cell's exact distribution; None if it is not known yet."""
    query = "SELECT failure, regret, pulls FROM distributions WHERE cell = ? ORDER BY arm"
    lines: Sequence[tuple[float, float, float]] = list(store.rows(query, (cell["cell"],)))
    if not lines:
        return None
    failure = math.fsum(line[0] for line in lines)
    regret = math.fsum(line[1] for line in lines)
    return CellSummary(
        *_labels(cell),
        0,
        0,
        failure,
        failure,
        failure,
        level,
        "exact",
        regret,
        regret,
        regret,
        math.fsum(line[2] * cost for line, cost in zip(lines, metadata.costs, strict=True)),
        {name: line[2] for name, line in zip(cell["arms"], lines, strict=True)},
        "exact",
    )


#: Modes whose results are not trials.
_READERS = {"exact": enumerated}
