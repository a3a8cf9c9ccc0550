"""Grow the cascade: assess the model so far, explore with a part of the money, add a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.validation import counted
from exml_sim.bandit.selection_report import SelectionReport, report_selection
from exml_sim.bandit.trial_batch import Strategy, smallest_budget
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput, balanced_order
from exml_sim.classifier._cascade import Layer
from exml_sim.classifier._layers import FittedLayer, make_layer_fitter, make_scoring_fitter
from exml_sim.classifier._preflight import Parameters
from exml_sim.classifier._rejection_model import ThetaChoice, ThetaResult
from exml_sim.classifier.constants import CONFIDENCE_LEVEL
from exml_sim.classifier.evaluation import Diagnostic
from exml_sim.classifier.subset_selection import SelectionResult, SubsetSelection
from exml_sim.money import Prices, show

if TYPE_CHECKING:
    from exml_sim.bandit.trial import Exploration


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a model needs exploration, and why."""

    needed: bool
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """How the candidates of a layer were selected, as plain values.

    Attributes
    ----------
    exploration
        Rounds of a bandit strategy with scores, and its part of the ledger; None if sets of candidates were compared.
        Pulls of values that an earlier layer had bought were free.
    subsets
        The comparison of sets; None for a bandit strategy.
    report
        Confidence of the selection; None if nothing was compared.
    intervals
        Approximate intervals of the scores of the exploration's arms.
    validation_rows
        Rows bought to choose theta.
    """

    exploration: Exploration | None
    subsets: SelectionResult | None
    report: SelectionReport | None
    intervals: tuple[tuple[float, float], ...]
    validation_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class LayerRecord:
    """How one layer of the cascade came about.

    Attributes
    ----------
    number
        From 1.
    candidates
        Candidates that the layer added.
    rows
        Rows it was trained on.
    fitted
        The fitted layer.
    rejected
        Rows that no layer so far accepts, out of fold, shape (m,); None if theta was given.
    points
        Features of these rows, shape (n, d).
    selection
        How its candidates were selected; None for the initial layer.
    """

    number: int
    candidates: tuple[str, ...]
    rows: IntArray
    fitted: FittedLayer
    rejected: BoolArray | None
    points: FloatArray
    selection: Selection | None = None

    @property
    def theta(self) -> float:
        """Its rejection cost."""
        return self.fitted.theta

    @property
    def choice(self) -> ThetaChoice | None:
        """How theta was chosen; None if it was given."""
        return self.fitted.choice


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """The layers of one run, their records, and notes for the reader."""

    layers: tuple[Layer, ...]
    records: tuple[LayerRecord, ...]
    notes: tuple[Diagnostic, ...] = ()


def fit_initial_record(
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    parameters: Parameters,
    rng: np.random.Generator,
    groups: IntArray | None = None,
) -> LayerRecord:
    """Fit the layer of the observed columns."""
    fitted = make_layer_fitter(parameters, n_classes, rng, groups).fit_initial(X, y)
    rejected = None if fitted.decided is None else ~fitted.decided.accepted
    return LayerRecord(1, (), np.arange(len(y)), fitted, rejected, X)


def assess(choice: ThetaChoice | None, parameters: Parameters) -> Assessment:
    """Call a model good if it is accurate on accepted rows and accepts nearly all rows (Section 3.2)."""
    if choice is None:
        return Assessment(True, "theta was given, so the model was not cross-validated")
    result: ThetaResult = choice.chosen
    accuracy = f"{result.accuracy:.1%}" if result.accepted else "unknown, as none is accepted"
    numbers = (
        f"cross-validated accuracy on accepted rows {accuracy} (target {parameters.target:.0%}), "
        f"rejected {result.rejection_rate:.1%} (tolerated {parameters.tolerated_rejection:.0%})"
    )
    good = result.accuracy >= parameters.target and result.rejection_rate <= parameters.tolerated_rejection
    return Assessment(not good, numbers)


def check_affordable(acquisition: AcquisitionManager, parameters: Parameters) -> None:
    """Raise an error for a budget below the cost of the first round, and name the smallest budget."""
    strategy, budget = strategy_for(parameters, len(acquisition.names)), acquisition.ledger.budget
    explorations = parameters.max_stages - 1
    for fee in acquisition.tariff.fees:
        if fee.amount > budget:
            text = f"the fee of {fee.name}, {show(fee.amount)}, exceeds the budget of {show(budget)}"
            raise ValueError(f"{text}: leave these candidates out, or give more money")
    if acquisition.tariff.fees and not parameters.selects_subsets:
        raise ValueError("set-up fees and bundles need the default strategy: leave strategy= out, or the fees")
    need = smallest_budget(strategy, Prices.of(acquisition.costs)) * explorations / (1 - parameters.validation_fraction)
    if budget < need:
        cents = Fraction(-((-need * 100) // 1), 100)
        raise ValueError(
            f"a budget of {show(budget)} does not pay for one value of each of "
            f"{len(acquisition.names)} candidates in the first round; the smallest budget that works is {show(cents)}"
        )


def strategy_for(parameters: Parameters, n_arms: int) -> Strategy:
    """Return the strategy; a single candidate gets all the money."""
    strategy: Strategy = parameters.strategy
    if n_arms > 1:
        return strategy
    from exml_sim.strategies import UniformAllocation

    return UniformAllocation(alignment=strategy.alignment, objective=strategy.objective)


class Grower:
    """Explores for every further layer until the cascade is complete, good enough, or out of money."""

    def __init__(
        self,
        y: IntArray,
        n_classes: int,
        first: LayerRecord,
        acquisition: AcquisitionManager,
        parameters: Parameters,
        rng: np.random.Generator,
        groups: IntArray | None = None,
    ) -> None:
        self._y, self._n_classes, self._first = y, n_classes, first
        self._acquisition, self._parameters, self._rng, self._groups = acquisition, parameters, rng, groups
        self._fitter = make_layer_fitter(parameters, n_classes, rng, groups)
        self._layers, self._records, self._notes = [Layer(first.fitted.model)], [first], list[Diagnostic]()

    def run(self, X: FloatArray) -> Growth:
        """Add layers one by one."""
        parameters, ledger = self._parameters, self._acquisition.ledger
        arms, taken = list(range(len(self._acquisition.names))), tuple[str, ...]()
        data = LayerInput(X, self._y, self._n_classes, self._order_rows(), 2, self._groups)
        for number in range(2, parameters.max_stages + 1):
            arms = self._drop_unavailable(arms, data)
            part = ledger.left / (parameters.max_stages + 1 - number)
            reason = self._find_reason_to_stop(arms, data, part)
            if reason is not None:
                self._note_left_out(number, reason)
                break
            selected, rows, selection = self._explore(arms, data, part)
            names = tuple(self._acquisition.names[arm] for arm in selected)
            if len(rows) < 2:
                have = "1 row has" if len(rows) == 1 else f"{len(rows)} rows have"
                self._note_left_out(number, f"{have} {' and '.join(names)}")
                break
            self._notes += () if selection.subsets is None else selection.subsets.notes
            data = self._augment(data, selected, rows)
            arms, taken = [arm for arm in arms if arm not in selected], taken + names
            self._add_layer(data, names, taken, rows, selection)
        layers = self._layers if parameters.cascade else self._layers[-1:]
        return Growth(tuple(layers), tuple(self._records), tuple(self._notes))

    def _add_layer(
        self,
        data: LayerInput,
        names: tuple[str, ...],
        taken: tuple[str, ...],
        rows: IntArray,
        selection: Selection,
    ) -> None:
        y, number, cascade = self._y, data.layer - 1, self._parameters.cascade
        reaching = self._records[-1].rejected if cascade else None
        among = None if reaching is None else reaching[rows]
        fitted = self._fitter.fit_augmented(data.X[rows], y[rows], rows, among, self._first.fitted)
        if cascade and number == 2:
            self._place_first(self._fitter.place_first(self._first.fitted, fitted, y, rows))
        rejected = None
        if fitted.decided is not None:
            rejected = np.ones(len(y), dtype=np.bool_) if reaching is None else reaching.copy()
            rejected[rows] &= ~fitted.decided.accepted
        self._layers.append(Layer(fitted.model, taken))
        self._records.append(LayerRecord(number, names, rows, fitted, rejected, data.X[rows], selection))

    def _place_first(self, fitted: FittedLayer | None) -> None:
        """Replace the first layer by what it is before the second one."""
        first = self._first
        if fitted is None:
            text = "the initial layer decides no row: the next layer is more accurate on the bought ones"
            self._notes.append(Diagnostic("initial_layer_left_out", text))
            self._layers, rejected = [], np.ones(len(first.rows), dtype=np.bool_)
            self._records = [replace(first, rejected=rejected)]
        elif fitted.decided is not None:
            self._layers = [Layer(fitted.model)]
            self._records = [replace(first, fitted=fitted, rejected=~fitted.decided.accepted)]

    def _note_left_out(self, number: int, reason: str) -> None:
        text = f"layer {number} was left out: {reason}"
        self._notes.append(Diagnostic("layer_left_out", text, subject=str(number)))

    def _order_rows(self) -> IntArray:
        """Return the order in which rows are bought: balanced for subset selection, else at random.

        Bandit strategies need rows at random. Where values are not available, cycles would have holes.
        """
        y, latent, acquisition = self._y, self._first.fitted.latent, self._acquisition
        complete = all(bool(acquisition.available(arm).all()) for arm in range(len(acquisition.names)))
        if latent is None or not self._parameters.selects_subsets or not complete:
            return np.asarray(self._rng.permutation(len(y)), dtype=np.int64)
        return balanced_order(y, latent.label_probabilities[np.arange(len(y)), y], self._rng)

    def _drop_unavailable(self, arms: list[int], data: LayerInput) -> list[int]:
        """Return candidates of which a row can be bought or is known, and note the others."""
        usable = [arm for arm in arms if len(self._acquisition.usable_rows(arm, data.rows))]
        for arm in arms:
            if arm not in usable:
                name = self._acquisition.names[arm]
                text = f"candidate {name} was left out of layer {data.layer}: no row of it can be bought"
                self._notes.append(Diagnostic("candidate_unavailable", text, subject=name))
        return usable

    def _find_reason_to_stop(self, arms: list[int], data: LayerInput, part: Fraction) -> str | None:
        """Return why a third or later layer is not worth it; for the second layer raise an error instead."""
        parameters, acquisition, last = self._parameters, self._acquisition, self._records[-1]
        if data.layer == 2:
            if not arms:
                raise ValueError("no candidate can be bought for any row: there is nothing to explore")
            if problem := self._find_lack_of_rows(arms, data, part):
                raise ValueError(problem)
            return None
        if len(arms) < (parameters.max_candidates or 1):
            left = "1 candidate is" if len(arms) == 1 else f"{len(arms)} candidates are"
            return f"{left} left to choose from"
        if not assess(last.choice, parameters).needed:
            return f"layer {last.number} is good enough"
        prices = Prices.of([acquisition.costs[arm] for arm in arms])
        if part * (1 - parameters.validation_fraction) < smallest_budget(strategy_for(parameters, len(arms)), prices):
            return f"the {show(acquisition.ledger.left)} that are left do not pay for another exploration"
        return self._find_lack_of_rows(arms, data, part)

    def _find_lack_of_rows(self, arms: list[int], data: LayerInput, part: Fraction) -> str | None:
        """Return why a strategy with fresh rows would run out of them."""
        if self._parameters.selects_subsets:
            return None
        from exml_sim.strategies import MedianElimination

        acquisition, strategy = self._acquisition, strategy_for(self._parameters, len(arms))
        if not isinstance(strategy, MedianElimination) or strategy.accumulate:
            return None
        prices = Prices.of([acquisition.costs[arm] for arm in arms])
        reach = strategy.reach(part * (1 - self._parameters.validation_fraction), prices)
        for arm in arms:
            rows = len(acquisition.usable_rows(arm, data.rows))
            if rows <= reach:
                return (
                    f"candidate {acquisition.names[arm]!r} has {counted(rows, 'row')}, and median elimination with "
                    f"fresh rows reads up to {reach} before its last round: leave it out, accumulate rows, or give "
                    "less money"
                )
        return None

    def _explore(self, arms: list[int], data: LayerInput, part: Fraction) -> tuple[list[int], IntArray, Selection]:
        """Select and buy; return selected candidates, rows that have all of them, and the record."""
        explore = self._select_subset if self._parameters.selects_subsets else self._run_strategy
        selected, selection = explore(arms, data, part)
        if (report := selection.report) is not None:
            compared = max((comparison.rows for comparison in report.comparisons), default=0)
            selection = replace(selection, report=replace(report, rows_left=max(len(data.rows) - compared, 0)))
        return selected, data.rows[self._acquisition.bought[selected][:, data.rows].all(axis=0)], selection

    def _select_subset(self, arms: list[int], data: LayerInput, part: Fraction) -> tuple[list[int], Selection]:
        parameters, latent = self._parameters, self._first.fitted.latent
        fitter = make_scoring_fitter(parameters, self._rng, len(arms))
        prior = None if latent is None else latent.label_probabilities
        how = parameters.strategy, parameters.max_candidates, prior, parameters.workers
        result = SubsetSelection(self._acquisition, arms, data, part, fitter, *how).run()
        report = report_subsets(result, self._acquisition.names, CONFIDENCE_LEVEL)
        return list(result.selected), Selection(None, result, report, (), 0)

    def _run_strategy(self, arms: list[int], data: LayerInput, part: Fraction) -> tuple[list[int], Selection]:
        from exml_sim.classifier._bought_arms import OraclePool

        parameters, acquisition = self._parameters, self._acquisition
        start, extra = acquisition.ledger.spent, 0
        given = acquisition, arms, data, parameters.exploration_theta, parameters.options
        if parameters.candidate_score == "held_out":
            pool = OraclePool(*given, fit=make_scoring_fitter(parameters, self._rng, len(arms)))
        else:
            pool = OraclePool(*given, parameters.candidate_score)
        exploration = pool.explore(strategy_for(parameters, len(arms)), part * (1 - parameters.validation_fraction))
        selected = [arms[i] for i in exploration.accepted]
        if parameters.theta is None or not parameters.uses_rejection:
            extra = buy_more(selected, data, part - (acquisition.ledger.spent - start), acquisition)
        report, intervals = report_exploration(exploration, CONFIDENCE_LEVEL)
        # What the report was made from holds the oracle; a record holds plain values.
        return selected, Selection(replace(exploration, comparison_data=None), None, report, intervals, extra)

    def _augment(self, data: LayerInput, selected: list[int], rows: IntArray) -> LayerInput:
        """Add bought values of the selected candidates to the known features; NaN where they were not bought."""
        tables = [data.X]
        for arm in selected:
            values = self._acquisition.values(arm, rows)
            table = np.full((data.X.shape[0], values.shape[1]), np.nan)
            table[rows] = values
            tables.append(table)
        return replace(data, X=np.hstack(tables), rows=rows, layer=data.layer + 1)


def report_subsets(result: SelectionResult, names: Sequence[str], level: float) -> SelectionReport | None:
    """Report the confidence of a subset selection; None if nothing was compared on enough rows."""
    if not result.pairs:
        return None
    chosen = result.rounds[-1].chosen
    name, noun = " + ".join(names[arm] for arm in chosen), "candidates" if len(chosen) == 1 else "choices"
    if added := [names[arm] for arm in result.selected if arm not in chosen]:
        name += f" (before {' and '.join(added)} {'was' if len(added) == 1 else 'were'} added)"
    return report_selection(name, result.pairs, level, analyses=len(result.rounds), noun=noun)


def report_exploration(
    exploration: Exploration, level: float
) -> tuple[SelectionReport | None, tuple[tuple[float, float], ...]]:
    """Report the confidence of a bandit selection, and intervals of the scores."""
    if exploration.comparison_data is None or len(exploration.names) < 2:
        return None, ()
    try:
        intervals = tuple(exploration.comparison_data.intervals(CONFIDENCE_LEVEL))
        return exploration.report(level) if len(exploration.accepted) == 1 else None, intervals
    except ValueError:
        return None, ()


def buy_more(selected: list[int], data: LayerInput, money: Fraction, acquisition: AcquisitionManager) -> int:
    """Buy the next rows of the selected candidates while the money lasts; return how many rows."""
    available = np.array([acquisition.available(arm) for arm in selected]).all(axis=0)
    lacking = ~acquisition.bought[selected] & available
    return acquisition.buy_affordable(selected, lacking, data, money, purpose="validation")
