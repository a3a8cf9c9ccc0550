"""The results of a study: tidy rows, one summary per cell, paired comparisons, and files for other tools."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exml_sim._internal.files import replace_file
from exml_sim._internal.spreadsheets import write_lines
from exml_sim.bandit.trial import Exploration
from exml_sim.engine._statistics import CellSummary, Moments, Paired, check_level, mean_interval, paired, summarise
from exml_sim.engine._trials import NOISY, TERMS
from exml_sim.engine.modes import mode_of, replay
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact, show
from exml_sim.plugins import Plugins, files_beside

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CellSummary", "StudyResult", "excess_lines"]

_CELL = ("cell", "pool", "score", "strategy", "budget")
_TRIAL = ("trial", "selected", "success", "regret", "spent", "weight")
#: What may happen in a trial: how `trials` tells, and the column of `distributions` with its probability.
_EVENTS = {
    "missed": ("NOT success", "failure"),
    "found": ("success", "success"),
    "not first": ("selected != 0", "probability * (arm != 0)"),
}


#: Of the money until a rule stopped.
QUANTILES = (0.1, 0.5, 0.9, 0.99)


class StudyResult:
    """Results of a study, read from its store when asked for; memory does not grow with the number of trials.

    Parameters
    ----------
    store
        An open store.

    Examples
    --------
    >>> from exml_sim import Study, run
    >>> study = Study.from_table({
    ...     "pools": [{"kind": "parametric", "means": [0.9, 0.1]}],
    ...     "strategies": ["uniform_allocation"], "budgets": {"per_arm": [10]}, "trials": 100,
    ... })
    >>> with run(study, progress=False, n_jobs=1) as result:
    ...     print(result.summary()[0].trials)
    100
    """

    def __init__(self, store: Store, study: Study | None = None) -> None:
        self.store = store
        self._study = study

    @classmethod
    def open(cls, path: str | Path, *, plugins: Sequence[Path] = (), trust: bool = False) -> Self:
        """Read the results of a store; nothing of a plug-in is imported unless it is asked for.

        Parameters
        ----------
        path
            The store.
        plugins
            Files of plug-ins to execute, to draw their bounds or to replay their trials.
        trust
            Execute also files beside the store that its study names, and import the installed packages it names.
        """
        store = Store.read(path)
        try:
            names = [plugin["name"] for plugin in store.plugins] if trust else []
            offer = Plugins.of((*plugins, *files_beside(Path(path).resolve().parent, names)))
            return cls(store, store.read_study(replace(offer, installed=trust)) if plugins or trust else None)
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def __repr__(self) -> str:
        done = self.store.rows("SELECT count(*), coalesce(sum(1 - success), 0) FROM trials").fetchone()
        number = len(self.cells)
        return f"<StudyResult {self.study.name!r}: {number} cells, {done[0]:,} trials, {done[1]:,} failures>"

    @cached_property
    def study(self) -> Study:
        """The study."""
        return self._study or self.store.study

    @cached_property
    def study_cells(self) -> tuple[Cell, ...]:
        """The cells of the study, as stored."""
        return self.store.study_cells(self.study)

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The cells as stored: labels, exact budget, stream, unit of money, names of the arms."""
        names = ("cell", "pool", "score", "strategy", "budget", "stream", "unit", "arms")
        lines = self.store.rows("SELECT * FROM cells ORDER BY cell")
        try:
            return [dict(zip(names, line, strict=True)) | {"arms": json.loads(line[-1])} for line in lines]
        except ValueError as error:
            raise StoreError(f"{self.store.path} has a cell that cannot be read: {error}") from None

    @property
    def complete(self) -> bool:
        """Whether every cell has all its trials (a cell that stopped early has not)."""
        if mode_of(self.study).distribution is not None:
            return all(self.store.has_distribution(cell["cell"]) for cell in self.cells)
        return all(self.store.counts(cell["cell"])[0] == self.study.trials for cell in self.cells)

    @property
    def failures(self) -> dict[int, str]:
        """Reasons of the cells that failed in the last run, by number."""
        return self.store.failures()

    @property
    def skipped(self) -> list[str]:
        """Cells that were not run, because their budget does not pay for the first round of their strategy."""
        strategies = self.study.strategies
        stored = {cell.index for cell in self.study_cells}
        # Strategies are the last axis of the grid, and in every row some cell was run.
        rows = {cell.index // len(strategies): cell for cell in self.study_cells}
        return [
            str(replace(cell, labels=(*cell.labels[:2], strategy.label)))
            for row, cell in rows.items()
            for place, strategy in enumerate(strategies)
            if row * len(strategies) + place not in stored
        ]

    def summary(self, level: float | None = None) -> list[CellSummary]:
        """Return one summary per cell that has results, in the order of the cells.

        Parameters
        ----------
        level
            Of the intervals; 0.95 by default, and 1 - `stop.alpha` in a study whose cells may stop early, so that what
            is reported is what was decided by.
        """
        level = self._level(level)
        lines = zip(self.cells, self.store.metadata, strict=False)
        summaries = (summarise(self.store, self.study, cell, metadata, level) for cell, metadata in lines)
        return [summary for summary in summaries if summary is not None]

    def _level(self, level: float | None) -> float:
        if level is None:
            return 0.95 if self.study.stop is None else 1.0 - self.study.stop.alpha
        check_level(level)
        return level

    def excess(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return the mean excess risk and mean of each of its five terms (Eq. 8), one line per cell.

        The intervals are Student's for the variance over trials plus the variance of the fresh sample that all trials
        share (see `exml_sim.engine.modes._excess_risk`). Terms (c), (d), (e) concern the model that stands in for f_1*,
        whatever its distance to f_1*; that distance is no part of the intervals.
        """
        if not self._measured:
            raise ValueError(
                f"excess risk is measured in mode 'excess_risk', and this study has mode {self.study.mode!r}"
            )
        check_level(level)
        return [self._terms(cell, level) for cell in self.cells if self.store.counts(cell["cell"])[0]]

    def costs(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Money until a rule stopped, one line per cell of a study in mode "fixed_confidence".

        `confident` is the part of trials that stopped with confidence, `mean` the mean money with Student's interval;
        quantiles follow.
        """
        if self.study.mode != "fixed_confidence":
            raise ValueError(
                "costs until a rule stops are counted in mode 'fixed_confidence', "
                f"and this study has mode {self.study.mode!r}"
            )
        check_level(level)
        return [self._cost(cell, level) for cell in self.cells if self.store.counts(cell["cell"])[0]]

    def _cost(self, cell: dict[str, Any], level: float) -> dict[str, Any]:
        number = self.store.counts(cell["cell"])[0]
        unit = float(Fraction(cell["unit"]))
        query = "SELECT spent, count(*), sum(weight) FROM trials WHERE cell = ? GROUP BY spent ORDER BY spent"
        lines = list(self.store.rows(query, (cell["cell"],)))
        moments = Moments.of(lambda: ((spent * unit, often) for spent, often, _ in lines), number)
        low, high = mean_interval(moments.mean, moments.deviation, number, level)
        confident = sum(weight for _, _, weight in lines) / number
        line = {name: cell[name] for name in _CELL} | {"trials": number, "confident": confident}
        line |= {"mean": moments.mean, "mean_lower": low, "mean_upper": high}
        reached = np.cumsum([often for _, often, _ in lines])
        places = np.searchsorted(reached, np.array(QUANTILES) * number)
        return line | {f"quantile {q}": lines[place][0] * unit for q, place in zip(QUANTILES, places, strict=True)}

    def _terms(self, cell: dict[str, Any], level: float) -> dict[str, Any]:
        number = self.store.counts(cell["cell"])[0]
        line = {name: cell[name] for name in _CELL} | {"trials": number}
        for term in TERMS:

            def values(column: str = term) -> Iterator[tuple[float, int]]:
                return ((value, 1) for (value,) in self._column(column, cell["cell"]))

            moments = Moments.of(values, number)
            shared = Moments.of(lambda: values(f"{term}_noise"), number).mean if term in NOISY else 0.0  # noqa: B023
            # `mean_interval` divides by the number of trials, which the shared part does not shrink with.
            total = (moments.deviation**2 + number * shared) ** 0.5
            low, high = mean_interval(moments.mean, total, number, level)
            line |= {term: moments.mean, f"{term}_lower": low, f"{term}_upper": high}
        return line

    def _column(self, column: str, cell: int) -> Iterator[tuple[float]]:
        yield from self.store.rows(f"SELECT {column} FROM terms WHERE cell = ?", (cell,))

    def compare(self, first: int, second: int, level: float = 0.95) -> Paired:
        """Compare two cells that differ in their strategy (or score) on the trials they share.

        Raises
        ------
        ValueError
            If the cells do not share random numbers, or trials are weighted or stopped early.
        """
        if not mode_of(self.study).paired or self.study.stop is not None:
            raise ValueError("a paired comparison needs counted trials without early stopping")
        pair = [self._cell(number) for number in (first, second)]
        if pair[0]["stream"] != pair[1]["stream"]:
            names = (f"{cell['strategy']} on {cell['pool']} with budget {cell['budget']}" for cell in pair)
            raise ValueError(
                f"cells {first} and {second} do not share random numbers: they differ in pool or budget "
                f"({'; '.join(names)})"
            )
        query = """
            SELECT count(*), coalesce(sum(a.success < b.success), 0), coalesce(sum(a.success > b.success), 0)
            FROM trials a JOIN trials b ON a.trial = b.trial WHERE a.cell = ? AND b.cell = ?
        """
        trials, only_first, only_second = self.store.rows(query, (first, second)).fetchone()
        if trials == 0:
            raise ValueError(f"cells {first} and {second} have no trial in common yet")
        return paired(trials, only_first, only_second, level)

    def _cell(self, number: int) -> dict[str, Any]:
        if number not in self._cells_by_number:
            last = self.cells[-1]["cell"]
            raise ValueError(f"cell {number} does not exist or was skipped: cells are counted from 0 to {last}")
        return self._cells_by_number[number]

    @cached_property
    def _cells_by_number(self) -> dict[int, dict[str, Any]]:
        return {cell["cell"]: cell for cell in self.cells}

    @property
    def _measured(self) -> tuple[str, ...]:
        """What every trial has beside failure and regret."""
        return mode_of(self.study).terms

    def count(self, cell: int, event: str) -> tuple[int, int]:
        """Trials of a cell in which a best arm is "missed", "found", or the selected arm is "not first"; all trials."""
        query = f"SELECT coalesce(sum({_EVENTS[event][0]}), 0), count(*) FROM trials WHERE cell = ?"
        happened, trials = self.store.rows(query, (cell,)).fetchone()
        return happened, trials

    def probability(self, cell: int, event: str) -> float:
        """Exact probability of such an event, in mode "exact"."""
        lines = self.store.rows(f"SELECT {_EVENTS[event][1]} FROM distributions WHERE cell = ?", (cell,))
        return max(0.0, math.fsum(value for (value,) in lines))

    def replay(self, cell: int, trial: int) -> Exploration:
        """Run one trial again, with its rounds and its ledger."""
        return replay(self.study, cell, trial)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one tidy line per trial."""
        for cell in self.cells:
            unit = Fraction(cell["unit"])
            fixed = {name: cell[name] for name in _CELL}
            query = f"SELECT {', '.join(TERMS)} FROM terms WHERE cell = ? ORDER BY trial"
            terms = iter(self.store.rows(query, (cell["cell"],)))
            query = f"SELECT {', '.join(_TRIAL)} FROM trials WHERE cell = ? ORDER BY trial"
            for trial, selected, success, regret, spent, weight in self.store.rows(query, (cell["cell"],)):
                line = fixed | {
                    "trial": trial,
                    "selected": cell["arms"][selected],
                    "success": bool(success),
                    "regret": regret,
                    "spent": show(spent * unit),
                    "weight": weight,
                }
                if self._measured:
                    line |= dict(zip(TERMS, next(terms), strict=True))
                yield line

    def _lines(self, trials: bool) -> Iterator[dict[str, Any]]:
        if trials:
            yield from self.rows()
            return
        terms = {line["cell"]: line for line in self.excess()} if self._measured else {}
        for summary in self.summary():
            yield summary.row() | {key: value for key, value in terms.get(summary.cell, {}).items() if key not in _CELL}

    def to_csv(self, path: str | Path, *, trials: bool = False) -> None:
        """Write one line per cell, or with `trials` one line per trial."""
        if trials:
            lines: Any = self._lines(True)
            columns = [*_CELL, *_TRIAL, *self._measured]
        else:
            # Pools may have different arms: the columns are all that occur.
            lines = list(self._lines(False))
            columns = list(dict.fromkeys(name for line in lines for name in line))
        try:
            with replace_file(Path(path)) as out:
                rows = ([line.get(name) for name in columns] for line in lines)
                out.writelines(text.encode("utf-8") for text in write_lines(columns, rows))
        except OSError as error:
            raise ValueError(f"cannot write {path}: {error.strerror}") from None

    def to_pandas(self, *, trials: bool = False) -> pd.DataFrame:
        """Return a data frame with one line per cell, or per trial."""
        import pandas as pd

        frame = pd.DataFrame(list(self._lines(trials)))
        if "budget" in frame:
            frame["budget"] = [float(exact(value)) for value in frame["budget"]]
        if "spent" in frame:
            frame["spent"] = [float(exact(value)) for value in frame["spent"]]
        return frame


def excess_lines(result: StudyResult, level: float = 0.95) -> list[str]:
    """Describe the excess risk and its five terms (Eq. 8), one line per cell, in mode "excess_risk"."""
    lines = []
    for row in result.excess(level):
        score = f" ({row['score']})" if row["score"] else ""
        terms = [f"({term}) {row[term]:.4g}" for term in TERMS[1:]]
        lines.append(
            f"{row['strategy']} on {row['pool']}{score} with budget {row['budget']}: "
            f"excess risk {row['excess']:.4g} in "
            f"[{row['excess_lower']:.4g}, {row['excess_upper']:.4g}] ({level:.0%}) = {' + '.join(terms)}"
        )
    return lines
