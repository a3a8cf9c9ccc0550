"""From configurations to cells of a table: which theta counts, means, and the paired t-test behind bold print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exml_sim.arrays import FloatArray
from simulations.reproduction.results import Case, Configuration, Run

#: How hindsight picks theta: the best one of every configuration, or the one with the best mean for a whole cell.
THETAS_BY = ("each", "one")
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Method:
    """A column of a table.

    Attributes
    ----------
    name
        As printed.
    strategy, alignment
        Of the runs; "" for SL, which has none.
    layer
        "supervised", "augmented" or "cascaded".
    """

    name: str
    strategy: str
    alignment: str
    layer: str


SL = Method("SL", "", "", "supervised")
AUG_ME = Method("aug/ME", "ME", "sample", "augmented")
CSD_UA = Method("csd/UA", "UA", "sample", "cascaded")
CSD_ME = Method("csd/ME", "ME", "sample", "cascaded")
TABLE_1 = (SL, AUG_ME, CSD_UA, CSD_ME)
TABLE_2 = (
    Method("SA/UA", "UA", "sample", "cascaded"),
    Method("BA/UA", "UA", "budget", "cascaded"),
    Method("SA/ME", "ME", "sample", "cascaded"),
    Method("BA/ME", "ME", "budget", "cascaded"),
)


@dataclass(frozen=True, slots=True, eq=False)
class TableCell:
    """One method on one observed group with one budget.

    Attributes
    ----------
    accuracy
        Per configuration, in per cent.
    runs
        The runs that count, one per configuration; empty for SL.
    thetas
        Their thetas.
    """

    accuracy: FloatArray
    runs: tuple[Run, ...]
    thetas: FloatArray

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(self.accuracy.mean())

    @property
    def std(self) -> float:
        """Standard deviation over configurations (0 for one)."""
        return float(self.accuracy.std(ddof=1)) if len(self.accuracy) > 1 else 0.0


def case_of(configuration: Configuration, observed: str) -> Case:
    """The runs with one group observed."""
    return next(case for case in configuration.cases if case.observed == observed)


def cell(
    configurations: Sequence[Configuration], observed: str, method: Method, budget: int, thetas_by: str
) -> TableCell:
    """Collect a cell; with several thetas per configuration, `thetas_by` says which one counts."""
    if thetas_by not in THETAS_BY:
        raise ValueError(f"thetas_by must be one of {', '.join(THETAS_BY)}; got {thetas_by!r}")
    cases = [case_of(one, observed) for one in configurations]
    if method.layer == "supervised":
        tried = np.array([[one.accuracy for one in case.supervised] for case in cases])
        thetas = np.array([[one.theta for one in case.supervised] for case in cases])
        picked = _picked(tried, thetas_by)
        lines = np.arange(len(cases))
        return TableCell(100.0 * tried[lines, picked], (), thetas[lines, picked])
    runs = [_runs(case, method, budget) for case in cases]
    tried = np.array([[_of_layer(run, method.layer) for run in line] for line in runs])
    kept = tuple(line[k] for line, k in zip(runs, _picked(tried, thetas_by), strict=True))
    accuracy = 100.0 * np.array([_of_layer(run, method.layer) for run in kept])
    alone = method.layer == "augmented"
    return TableCell(accuracy, kept, np.array([run.theta if alone else run.cascade_theta for run in kept]))


def _runs(case: Case, method: Method, budget: int) -> list[Run]:
    wanted = (method.strategy, method.alignment, budget)
    return [run for run in case.runs if (run.strategy, run.alignment, run.budget) == wanted]


def _of_layer(run: Run, layer: str) -> float:
    return run.augmented if layer == "augmented" else run.cascaded


def _picked(tried: FloatArray, thetas_by: str) -> NDArray[np.intp]:
    if thetas_by == "each":
        return np.asarray(tried.argmax(axis=1))
    return np.full(len(tried), int(tried.mean(axis=0).argmax()))


def better(first: FloatArray, second: FloatArray, margin: float = 0.0) -> float:
    """p-value of the one-sided paired t-test that `first` exceeds `second` + `margin` in the mean."""
    difference = np.asarray(first) - np.asarray(second) - margin
    if len(difference) < 2:
        return 1.0
    if np.ptp(difference) <= 1e-12:
        # Nothing varies: the test statistic is infinite, or 0/0 where there is no difference at all.
        return 0.0 if difference[0] > 1e-12 else 1.0
    return float(stats.ttest_1samp(difference, 0.0, alternative="greater").pvalue)


def bold(cells: Sequence[TableCell]) -> list[bool]:
    """The paper's bold print: the best mean and all that a paired t-test at 95 % does not tell from it.

    If that is every method, none is bold, as in the rows of Table 2 where all are alike.
    """
    top = max(cells, key=lambda one: one.mean)
    marked = [one is top or not _differs(top.accuracy, one.accuracy) for one in cells]
    return [False] * len(cells) if all(marked) else marked


def _differs(first: FloatArray, second: FloatArray) -> bool:
    return 2.0 * min(better(first, second), better(second, first)) < SIGNIFICANCE


def attainable(configurations: Sequence[Configuration], observed: str) -> dict[str, float]:
    """Mean attainable accuracy of every candidate, in per cent."""
    tables = [case_of(one, observed).attainable for one in configurations]
    return {name: 100.0 * float(np.mean([table[name] for table in tables])) for name in tables[0]}


def in_top_two(case: Case, selected: str) -> bool:
    """Whether fewer than two candidates have a higher attainable accuracy than the selected one."""
    return sum(value > case.attainable[selected] for value in case.attainable.values()) < 2


def recall(configurations: Sequence[Configuration], observed: str, runs: Sequence[Run]) -> int:
    """Number of configurations whose selected candidate is one of the best two."""
    return sum(in_top_two(case_of(one, observed), run.selected) for one, run in zip(configurations, runs, strict=True))
