"""The results of a study: tidy rows, one summary per cell, paired comparisons, and files for other tools."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from exml_sim.engine.intervals import Paired, clopper_pearson, confidence_sequence, mean_interval, paired
from exml_sim.engine.store import Store
from exml_sim.engine.study import Study
from exml_sim.engine.trials import find, replay
from exml_sim.exploration import Exploration
from exml_sim.money import exact, show

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CellSummary:
    """What the trials of one cell say.

    Attributes
    ----------
    cell, pool, score, strategy, budget
        The cell; the budget as exact text.
    trials, failures
        Trials that were run, and how many of them did not select a best arm; 0 and 0 for exact laws. With tilted
        sampling `failures` counts trials of the tilted distribution.
    failure_rate, lower, upper
        The failure probability and its interval at `level`.
    interval
        "clopper-pearson"; "confidence sequence" (cells that may stop early); "student" (tilted sampling: of the mean of
        weighted failures, valid for many trials only); "exact" (enumeration, no width).
    mean_regret, regret_lower, regret_upper
        Mean regret of the selected arm, with Student's interval.
    mean_spend
        Money spent per trial.
    allocation
        Mean pulls per arm; with tilted sampling, of the tilted trials.
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

    def row(self) -> dict[str, Any]:
        """A flat line: one column per arm's mean pulls."""
        line = asdict(self)
        del line["allocation"]
        return line | {f"pulls {name}": pulls for name, pulls in self.allocation.items()}


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums over the trials of a cell."""

    trials: int
    failures: int
    rate: float
    rate_deviation: float
    regret: float
    regret_deviation: float


class StudyResult:
    """Results of a study, read from its store when asked for; memory does not grow with the number of trials.

    Parameters
    ----------
    store
        An open store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read the results of a store."""
        return cls(Store.read(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        return self.store.study

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The cells as stored: labels, exact budget, stream, unit of money, names of the arms."""
        names = ("cell", "pool", "score", "strategy", "budget", "stream", "unit", "arms")
        lines = self.store.rows("SELECT * FROM cells ORDER BY cell")
        return [dict(zip(names, line, strict=True)) | {"arms": json.loads(line[-1])} for line in lines]

    @property
    def complete(self) -> bool:
        """Whether every cell has all its trials (a cell that stopped early has not)."""
        if self.study.mode == "exact":
            return all(self.store.has_law(cell["cell"]) for cell in self.cells)
        return all(self.store.counts(cell["cell"])[0] == self.study.trials for cell in self.cells)

    def summary(self, level: float = 0.95) -> list[CellSummary]:
        """One summary per cell that has results, in the order of the cells."""
        read = self._law if self.study.mode == "exact" else self._sampled
        found = (read(cell, level) for cell in self.cells)
        return [one for one in found if one is not None]

    def _sampled(self, cell: Mapping[str, Any], level: float) -> CellSummary | None:
        moments = self._moments(cell["cell"])
        if moments is None:
            return None
        n = moments.trials
        if self.study.mode == "rare":
            kind = "student"
            low, high = mean_interval(moments.rate, moments.rate_deviation, n, level)
            low, high = max(low, 0.0), min(high, 1.0)
        elif self.study.stop is not None:
            kind = "confidence sequence"
            low, high = confidence_sequence(moments.failures, n, 1.0 - level)
        else:
            kind = "clopper-pearson"
            low, high = clopper_pearson(moments.failures, n, level)
        regret = mean_interval(moments.regret, moments.regret_deviation, n, level)
        spent = self.store.rows("SELECT sum(spent) FROM trials WHERE cell = ?", (cell["cell"],)).fetchone()[0]
        pulls = self.store.pulls(cell["cell"])
        return CellSummary(
            cell["cell"],
            cell["pool"],
            cell["score"],
            cell["strategy"],
            cell["budget"],
            n,
            moments.failures,
            moments.rate,
            low,
            high,
            level,
            kind,
            moments.regret,
            *regret,
            float(spent * Fraction(cell["unit"]) / n),
            {name: total / n for name, total in zip(cell["arms"], pulls, strict=True)},
        )

    def _moments(self, cell: int) -> _Moments | None:
        """Sums that are exact whatever the order: equal outcomes are counted, then added without rounding."""
        query = "SELECT success, regret, weight, count(*) FROM trials WHERE cell = ? GROUP BY success, regret, weight"
        weighted = self.store.rows(query, (cell,)).fetchall() if self.study.mode != "rare" else None
        lines = weighted if weighted is not None else list(self._weighted(cell))
        n = sum(line[3] for line in lines)
        if n == 0:
            return None
        failures = sum(line[3] for line in lines if not line[0])
        rate, spread = _mean([(0.0 if success else weight, number) for success, _, weight, number in lines], n)
        regret, regret_spread = _mean([(regret * weight, number) for _, regret, weight, number in lines], n)
        return _Moments(n, failures, failures / n if weighted is not None else rate, spread, regret, regret_spread)

    def _weighted(self, cell: int) -> Iterator[tuple[int, float, float, int]]:
        """Failures one by one and all successes together, which weigh nothing in failure and regret."""
        wins = self.store.rows("SELECT count(*) FROM trials WHERE cell = ? AND success", (cell,)).fetchone()[0]
        if wins:
            yield 1, 0.0, 1.0, wins
        query = "SELECT success, regret, weight, 1 FROM trials WHERE cell = ? AND NOT success ORDER BY trial"
        yield from self.store.rows(query, (cell,))

    def _law(self, cell: Mapping[str, Any], level: float) -> CellSummary | None:
        lines = self.store.rows(
            "SELECT probability, success, regret, pulls FROM laws WHERE cell = ? ORDER BY arm", (cell["cell"],)
        ).fetchall()
        if not lines:
            return None
        # Failures are added up themselves: 1 - success would round small probabilities away.
        failure = math.fsum(probability - success for probability, success, _, _ in lines)
        regret = math.fsum(line[2] for line in lines)
        costs = self.study.pool(find(self.study, cell["cell"])).prices.exact_costs
        return CellSummary(
            cell["cell"],
            cell["pool"],
            cell["score"],
            cell["strategy"],
            cell["budget"],
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
            math.fsum(line[3] * float(cost) for line, cost in zip(lines, costs, strict=True)),
            {name: line[3] for name, line in zip(cell["arms"], lines, strict=True)},
        )

    def excess(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Mean excess risk and mean of each of its five terms (Eq. 8) with Student's interval, one line per cell."""
        if self.study.mode != "excess":
            raise ValueError(f"excess risk is measured in mode 'excess', and this study has mode {self.study.mode!r}")
        found = []
        for cell in self.cells:
            line = {name: cell[name] for name in ("cell", "pool", "score", "strategy", "budget")}
            for term in ("excess", "a", "b", "c", "d", "e"):
                query = f"SELECT {term} FROM terms WHERE cell = ? ORDER BY trial"
                values = [(value, 1) for (value,) in self.store.rows(query, (cell["cell"],))]
                if not values:
                    break
                mean, deviation = _mean(values, len(values))
                low, high = mean_interval(mean, deviation, len(values), level)
                line |= {"trials": len(values), term: mean, f"{term}_lower": low, f"{term}_upper": high}
            else:
                found.append(line)
        return found

    def compare(self, first: int, second: int, level: float = 0.95) -> Paired:
        """Compare two cells that differ in their strategy (or score) on the trials they share.

        Raises
        ------
        ValueError
            If the cells do not share random numbers, or trials are weighted or stopped early.
        """
        if self.study.mode not in ("count", "excess") or self.study.stop is not None:
            raise ValueError("a paired comparison needs counted trials without early stopping")
        where = [find(self.study, cell) for cell in (first, second)]
        if where[0].stream != where[1].stream:
            raise ValueError(
                f"cells {first} and {second} do not share random numbers: they differ in pool or budget "
                f"({where[0]}; {where[1]})"
            )
        query = """
            SELECT count(*), coalesce(sum(a.success < b.success), 0), coalesce(sum(a.success > b.success), 0)
            FROM trials a JOIN trials b ON a.trial = b.trial WHERE a.cell = ? AND b.cell = ?
        """
        trials, only_first, only_second = self.store.rows(query, (first, second)).fetchone()
        if trials == 0:
            raise ValueError(f"cells {first} and {second} have no trial in common yet")
        return paired(trials, only_first, only_second, level)

    def replay(self, cell: int, trial: int) -> Exploration:
        """Run one trial again, with its rounds and its ledger."""
        return replay(self.study, cell, trial)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy line per trial."""
        for cell in self.cells:
            unit = Fraction(cell["unit"])
            fixed = {name: cell[name] for name in ("cell", "pool", "score", "strategy", "budget")}
            query = "SELECT trial, selected, success, regret, spent, weight FROM trials WHERE cell = ? ORDER BY trial"
            for trial, selected, success, regret, spent, weight in self.store.rows(query, (cell["cell"],)):
                yield fixed | {
                    "trial": trial,
                    "selected": cell["arms"][selected],
                    "success": bool(success),
                    "regret": regret,
                    "spent": show(spent * unit),
                    "weight": weight,
                }

    def _lines(self, trials: bool) -> Iterator[dict[str, Any]]:
        return self.rows() if trials else (one.row() for one in self.summary())

    def to_csv(self, path: str | Path, *, trials: bool = False) -> None:
        """Write one line per cell, or with `trials` one line per trial."""
        if not trials:
            # Pools may have different arms: the columns are all that occur.
            lines = list(self._lines(False))
            columns = list(dict.fromkeys(name for line in lines for name in line))
        else:
            columns = ["cell", "pool", "score", "strategy", "budget"]
            columns += ["trial", "selected", "success", "regret", "spent", "weight"]
        with Path(path).open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, columns, restval="")
            writer.writeheader()
            writer.writerows(self._lines(True) if trials else lines)

    def to_pandas(self, *, trials: bool = False) -> pd.DataFrame:
        """A data frame with one line per cell, or per trial."""
        try:
            import pandas as pd
        except ImportError:
            raise ValueError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        frame = pd.DataFrame(list(self._lines(trials)))
        if "budget" in frame:
            frame["budget"] = [float(exact(value)) for value in frame["budget"]]
        if "spent" in frame:
            frame["spent"] = [float(exact(value)) for value in frame["spent"]]
        return frame

    def to_parquet(self, path: str | Path, *, trials: bool = False) -> None:
        """Write a Parquet file with one line per cell, or per trial; needs pyarrow."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ValueError("to_parquet needs pyarrow, which is not installed: pip install pyarrow") from None
        self.to_pandas(trials=trials).to_parquet(path, engine="pyarrow")


def _mean(values: list[tuple[float, int]], n: int) -> tuple[float, float]:
    """Mean and standard deviation of values with multiplicities."""
    mean = math.fsum(value * number for value, number in values) / n
    squares = math.fsum((value - mean) ** 2 * number for value, number in values)
    return mean, math.sqrt(squares / max(n - 1, 1))
