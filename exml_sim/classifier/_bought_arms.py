r"""The arms of a strategy when rows are bought from an oracle, round by round, and the order of the rows.

Strategies, allocation, ledgers and rankings are those of the simulations (`exml_sim.bandit`, `exml_sim.strategies`). A
pull buys the arm's next row in one random order that all arms share. No value is bought twice. An arm is scored on the
rows that were bought for it, which also give scale and bandwidth of its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.scoring import RESOLUTION, Certified, Scoring
from exml_sim.bandit.selection_report import (
    ComparisonData,
    Pair,
    RowComparisonData,
    SelectionReport,
    evidence_of,
    interval_of,
    report_selection,
)
from exml_sim.bandit.trial_batch import ArmState, Payment
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput
from exml_sim.classifier._consensus import later_row_losses, out_of_fold_losses, pair_of
from exml_sim.classifier._probability_models import Fitter
from exml_sim.classifier._rejection_model import Frame, ModelOptions, binary_labels
from exml_sim.seeds import Seeds

#: Losses of rows by a fitter, from points, class numbers and the number of classes.
Measure = Callable[[Fitter, FloatArray, IntArray, int], FloatArray]


class OraclePool(Pool):
    """Candidates of an oracle as arms.

    Parameters
    ----------
    acquisition, data
        What pays and queries; known features, labels and rows.
    arms
        Candidates that take part, as positions in the oracle.
    theta, options, score
        Rejection cost, kernel and penalties of the score: "risk" (Eq. 5) or "objective".
    fit
        Scores arms by out-of-fold predictions of this model instead.
    """

    def __init__(
        self,
        acquisition: AcquisitionManager,
        arms: Sequence[int],
        data: LayerInput,
        theta: float,
        options: ModelOptions,
        score: str = "risk",
        fit: Fitter | None = None,
    ) -> None:
        self._acquisition, self._arms, self._data = acquisition, tuple(arms), data
        self._scoring, self._options, self._fit = options.scoring(theta, score), options, fit

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return tuple(self._acquisition.names[arm] for arm in self._arms)

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Their exact costs."""
        return tuple(self._acquisition.costs[arm] for arm in self._arms)

    def new_ledger(self, budget: Fraction, trials: int) -> Ledger:
        """A window of the acquisition's ledger: the trial pays from the money that the run has."""
        return self._acquisition.ledger.window(budget, self._arms)

    def open(self, seeds: Seeds) -> OracleArms:
        """Start the one trial that real money allows."""
        if len(seeds) != 1:
            raise ValueError(f"values are bought once: one trial, got {len(seeds)}")
        parts = self._acquisition, self._arms, self._data, self._scoring, self._options
        return OracleArms(*parts) if self._fit is None else OutOfFoldArms(*parts, self._fit)


class OracleArms(ArmState):
    """The arms of one trial on an oracle (the protocol is `exml_sim.bandit.trial_batch.ArmState`)."""

    has_exact_scores = False

    def __init__(
        self,
        acquisition: AcquisitionManager,
        arms: tuple[int, ...],
        data: LayerInput,
        scoring: Scoring,
        options: ModelOptions,
    ) -> None:
        self._acquisition, self._arms, self._data = acquisition, arms, data
        self._scoring, self._options = scoring, options
        self._orders = [acquisition.usable_rows(arm, data.rows) for arm in self._arms]
        self._known = [np.zeros(0, dtype=np.int64) for _ in self._arms]
        self._fresh = list(self._known)
        self._next = np.zeros(len(self._arms), dtype=np.int64)
        self._counts = np.zeros((1, len(self._arms), acquisition.n_rows), dtype=np.int32)
        # Refinement scores the same rows again: one matrix per arm is kept.
        self._grams: dict[int, tuple[IntArray, FloatArray]] = {}
        self._lines: dict[tuple[int, bytes], FloatArray] = {}
        self.levels = len(scoring.tolerances)

    def _start(self, fresh: bool) -> IntArray:
        """A fresh round begins for all arms behind the furthest row that any arm has read, as in simulations."""
        start = np.full(self._next.shape, self._next.max()) if fresh else self._next
        return np.asarray(start, dtype=np.int64)

    def pulls_left(self) -> IntArray:
        """Return rows of every arm that were not read yet, shape (1, K)."""
        return self._left(fresh=False)

    def _left(self, fresh: bool) -> IntArray:
        left = np.array([len(order) for order in self._orders]) - self._start(fresh)
        return np.asarray(np.maximum(left, 0)[None], dtype=np.int64)

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Receive the next rows of every arm; values that an earlier layer bought are free."""
        pulled = np.asarray(np.minimum(pulls, self._left(fresh)), dtype=np.int64)
        start, bought = self._start(fresh), self._acquisition.bought
        new = [order[s : s + n] for order, s, n in zip(self._orders, start, pulled[0], strict=True)]
        already_bought = [[bought[arm, rows].sum() for arm, rows in zip(self._arms, new, strict=True)]]
        pay(pulled, pulled - np.array(already_bought))
        lacking = {arm: rows[~bought[arm, rows]] for arm, rows in zip(self._arms, new, strict=True)}
        self._acquisition.receive(lacking, layer=self._data.layer, purpose="exploration")
        for i, rows in enumerate(new):
            self._counts[0, i, rows] += 1
            self._known[i] = np.concatenate([self._known[i], rows])
        if fresh:
            self._fresh = new
        self._next = np.where(pulled[0] > 0, start + pulled[0], self._next)
        return pulled

    def counts(self) -> CountArray:
        """Rows pulled in this exploration, shape (1, K, m)."""
        return self._counts

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Refused: a training loss falls with every further column, so its differences have no sound error."""
        raise ValueError(
            "a rule with a confidence needs scores of rows that no model has seen: candidate_score must be 'held_out'"
        )

    def comparison_data(self, trial: int, rounds: int, anytime: bool) -> ComparisonData | None:
        """Training losses of all arms on common rows, and without groups of them."""
        return RowComparisonData(self._counts[0].copy(), None, self._on_lines, None, False, anytime, False)

    def _on_lines(self, i: int, lines: CountArray) -> FloatArray:
        """Scores of an arm for lines of counts, on the rows of the first line."""
        rows = np.asarray(self._data.rows[lines[0, self._data.rows] > 0], dtype=np.int64)
        key = i, lines.tobytes()
        if key not in self._lines:
            gram, bought = self._gram(i, rows), np.ascontiguousarray(lines[:, rows])
            problems = binary_labels(self._data.y[rows], self._data.n_classes)
            scores = [self._scoring.of(gram, labels, bought, 0)[0] for labels in problems]
            self._lines[key] = np.asarray(np.mean(scores, axis=0), dtype=np.float64)
        return self._lines[key]

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Score the wanted arms on their own rows."""
        value, lower, upper = (np.full(wanted.shape, np.inf) for _ in range(3))
        for i in np.flatnonzero(wanted[0]):
            rows = self._fresh[i] if fresh else self._known[i]
            if len(rows) == 0:
                raise ValueError(
                    f"no row of candidate {self._acquisition.names[self._arms[i]]!r} could be bought to score it"
                )
            value[0, i], lower[0, i], upper[0, i] = self._of(int(i), rows, level)
        return Scores(value, lower, upper, RESOLUTION)

    def _of(self, i: int, rows: IntArray, level: int) -> tuple[float, float, float]:
        gram = self._gram(i, rows)
        ones = np.ones((1, len(rows)), dtype=np.int32)
        problems = binary_labels(self._data.y[rows], self._data.n_classes)
        return mean_certificate([self._scoring.of(gram, labels, ones, level) for labels in problems])

    def _gram(self, i: int, rows: IntArray) -> FloatArray:
        if i not in self._grams or not np.array_equal(self._grams[i][0], rows):
            points = self._points(i, rows)
            frame = Frame.of(points, self._options)
            self._grams[i] = rows, frame.cross(frame.points(points))
        return self._grams[i][1]

    def _points(self, i: int, rows: IntArray) -> FloatArray:
        return np.hstack([self._data.X[rows], self._acquisition.values(self._arms[i], rows)])


def mean_certificate(parts: Sequence[Certified]) -> tuple[float, float, float]:
    """Mean score of several binary problems with the mean of their intervals, which contains the mean of the minima."""
    value, lower, upper = (float(np.mean([part[k][0] for part in parts])) for k in range(3))
    return value, lower, upper


class OutOfFoldArms(OracleArms):
    """Arms with the out-of-fold squared error of probabilities as their score."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts[:-1])
        self._fit: Fitter = parts[-1]
        self._measured: dict[tuple[Measure, int, bytes], FloatArray] = {}
        self.levels = 1

    def _of(self, i: int, rows: IntArray, level: int) -> tuple[float, float, float]:
        value = float(self._losses(i, rows).mean())
        return value, value, value

    def _losses(self, i: int, rows: IntArray, measure: Measure = out_of_fold_losses) -> FloatArray:
        key = measure, i, rows.tobytes()
        if key not in self._measured:
            y, classes = self._data.y[rows], self._data.n_classes
            self._measured[key] = measure(self._fit, self._points(i, rows), y, classes)
        return self._measured[key]

    def _pair(self, leader: int, i: int, bets: bool) -> Pair:
        """Two arms on the rows that both have."""
        both = np.intersect1d(self._known[leader], self._known[i])
        rows = np.asarray(self._data.rows[np.isin(self._data.rows, both)], dtype=np.int64)
        losses = self._losses(leader, rows), self._losses(i, rows)
        name = self._acquisition.names[self._arms[i]]
        if not bets:
            return Pair(name, *losses)
        later = [partial(self._losses, arm, rows, later_row_losses) for arm in (leader, i)]
        return pair_of(name, losses, (later[0], later[1]))

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """The asymptotic confidence sequence of paired out-of-fold losses."""
        if not asked.any():
            return Evidence(np.zeros((1, len(self._arms))), np.zeros((1, len(self._arms))))
        ahead = int(leader[0])
        pairs = [None if i == ahead else self._pair(ahead, i, False) for i in range(len(self._arms))]
        return evidence_of(pairs, threshold, epsilon)

    def comparison_data(self, trial: int, rounds: int, anytime: bool) -> ComparisonData | None:
        """These arms: they can still compare out-of-fold losses."""
        self._analyses, self._anytime = 1 if anytime else rounds, anytime
        return self

    def intervals(self, level: float) -> list[tuple[float, float]]:
        """Student's interval of every arm's out-of-fold loss."""
        return [interval_of(self._losses(i, rows), level) for i, rows in enumerate(self._known)]

    def report(self, names: Sequence[str], selected: int, level: float) -> SelectionReport:
        """The statement about the selected arm."""
        pairs = [self._pair(selected, i, True) for i in range(len(names)) if i != selected]
        return report_selection(names[selected], pairs, level, analyses=self._analyses, anytime=self._anytime)
