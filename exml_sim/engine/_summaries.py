"""One summary per cell: rates and means of its trials, and which interval is theirs to have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.engine._intervals import (
    Interval,
    bounded_interval,
    bounded_sequence,
    confidence_sequence,
    mean_interval,
)

if TYPE_CHECKING:
    from exml_sim.engine._trials import CellMetadata
    from exml_sim.engine.store import Store
    from exml_sim.engine.study import Study

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
