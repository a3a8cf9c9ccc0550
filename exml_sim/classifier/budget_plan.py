r"""Plan a purchase, and its budget: expected accuracy versus money, and what it is worth.

The first round of a purchase is known in advance, the rest follows the scores. No oracle is asked.

A budget is planned from an exploration or a pilot. The figures are those of a fitted classifier: n rows have the
selected set, of which G are right only with it and L only without it. With N rows of the set the gain is assumed to be

.. math:: g(N) = \frac{G - L}{n}\,\frac{r(N)}{r(n)}, \qquad r(N) = \frac{N}{N + h},

the curve that the subset selection uses for squared errors, with an earlier half point: accuracies saturate sooner. The
half point h is uncertain by a factor `HALF_FACTOR`. The value of a purchase is the expected net benefit of sampling
(Raiffa and Schlaifer, 1961): a buyer may still predict without the candidates, and so avoid a loss by their prediction
cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from exml_sim.classifier._acquisition import AcquisitionManager, Tariff
from exml_sim.classifier._growth import check_affordable, strategy_for
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.classifier.report import prediction_costs, render
from exml_sim.classifier.subset_selection import plan_first_round
from exml_sim.money import Prices, allot, show
from exml_sim.oracle import ArrayOracle

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import BaseExMLClassifier


@dataclass(frozen=True, slots=True, eq=False)
class PurchasePlan:
    """The first round, and what may be spent.

    Attributes
    ----------
    rows, budget, cost
        Rows of the table, the money, and the most that the exploration may spend.
    candidates
        Names, costs and numbers of rows that can be bought.
    first
        Rows of the first round by candidate; those that it leaves out are missing.
    first_cost
        Money of the first round.
    selects_subsets
        Whether sets of candidates are compared; otherwise a strategy decides.
    further_layers
        Number of layers after the first exploration.
    fees
        Names of fees, their amounts, and whether they are paid per row.
    asks_hidden
        Whether the user may still say if a class can be hidden.
    """

    rows: int
    budget: Fraction
    cost: Fraction
    candidates: tuple[tuple[str, Fraction, int], ...]
    first: dict[str, int]
    first_cost: Fraction
    selects_subsets: bool
    further_layers: int
    fees: tuple[tuple[str, Fraction, bool], ...] = ()
    asks_hidden: bool = True

    @property
    def first_rows(self) -> int:
        """Rows of the candidate that gets fewest in the first round."""
        return min(self.first.values(), default=0)

    @property
    def left_out(self) -> list[str]:
        """Candidates whose cost exceeds the exploration budget."""
        return [name for name, _, _ in self.candidates if self.first and name not in self.first]

    def text(self) -> str:
        """Render the plan."""
        return render("plan.txt.j2", plan=self).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; money is text, because it is exact."""
        return {
            "rows": self.rows,
            "budget": show(self.budget),
            "candidates": [{"name": n, "cost": show(c), "available": count} for n, c, count in self.candidates],
            "first_round": self.first,
            "first_cost": show(self.first_cost),
            "cost": show(self.cost),
        }


def plan_purchase(
    model: BaseExMLClassifier, oracle: ArrayOracle, available: Sequence[int], n_classes: int
) -> PurchasePlan:
    """Plan the first exploration of a classifier.

    Parameters
    ----------
    available
        Number of rows that can be bought of each candidate.
    n_classes
        Number of known classes.
    """
    rows, names, tariff = len(oracle.available(oracle.names[0])), oracle.names, Tariff(oracle.names, oracle.costs)
    parameters, budget = model.resolve(n_classes), model.budget_for(oracle, rows)
    check_affordable(AcquisitionManager(oracle, rows, budget), parameters)
    part = budget / max(1, parameters.max_stages - 1)
    strategy: Any = strategy_for(parameters, len(names))
    if parameters.selects_subsets and len(names) > 1:
        places, count = plan_first_round(tariff, available, part, n_classes, strategy)
        wanted = {place: count for place in places if count}
    else:
        prices, money = Prices.of(oracle.costs), part * (1 - parameters.validation_fraction)
        units = prices.units(strategy.first_round_cost(money, prices))
        active = (prices.costs > 0)[None]
        wanted = dict(enumerate(allot(units, prices.costs, active, strategy.alignment)[0].tolist()))
    first = [min(wanted.get(place, 0), available[place]) for place in range(len(names))]
    return PurchasePlan(
        rows,
        budget,
        min(part, tariff.total(available)),
        tuple(zip(names, oracle.costs, available, strict=True)),
        {name: first[place] for place, name in enumerate(names) if place in wanted},
        tariff.total(first),
        parameters.selects_subsets,
        max(0, parameters.max_stages - 2),
        tuple((fee.name, fee.amount, fee.is_per_row) for fee in tariff.fees),
        not parameters.uses_rejection and parameters.hidden_share is None,
    )


#: Level of the interval of the accuracy.
LEVEL = 0.95
#: Rows per known class with which half of the gain is learned, and how many times smaller or larger h may be. The
#: first is chosen on the choosing half of the tables of `benchmarks.budget_plans` (2, 5, 10 and 20 were tried, 2 has
#: the smallest mean squared error of planned accuracies), the second by reasoning.
HALF_ROWS_PER_CLASS, HALF_FACTOR = 2.0, 3.0
#: Standard deviation of what the curve leaves out: another set may be selected, and sets differ in how fast they are
#: learned. Chosen on the same tables (0, 0.02, 0.03 and 0.05 were tried).
MODEL_DEVIATION = 0.03
#: Budgets as parts of the cost of everything that is left to buy.
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class BudgetPoint:
    """One budget: rows of the selected set, expected accuracy with its interval, and expected net benefit."""

    budget: Fraction
    rows: int
    accuracy: float
    lower: float
    upper: float
    net_benefit: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What accuracy is to be expected for how much money, and whether it is worth it.

    Attributes
    ----------
    selected
        Candidates of the selected set.
    spent
        Money that is spent already; 0 if the figures come from a pilot.
    baseline
        Accuracy without candidates.
    points
        Budgets in ascending order.
    prediction_cost
        Cost of the candidates per predicted row.
    advice
        The headline.
    best, break_even
        Budget with the largest expected net benefit, and the largest of the listed ones without a loss; None to buy
        nothing, or without a value per correct prediction.
    """

    selected: tuple[str, ...]
    spent: Fraction
    baseline: float
    points: tuple[BudgetPoint, ...]
    prediction_cost: float
    advice: str
    best: BudgetPoint | None = None
    break_even: Fraction | None = None

    @property
    def next_budget(self) -> Fraction | None:
        """The listed budget after the break-even one, which loses money; None if that is the last."""
        if self.break_even is None:
            return None
        return min((point.budget for point in self.points if point.budget > self.break_even), default=None)

    def text(self) -> str:
        """Render the plan, the advice first."""
        return render("budget.txt.j2", plan=self).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; money is text, because it is exact."""
        values = asdict(self) | {"spent": show(self.spent), "points": [_point_to_dict(p) for p in self.points]}
        best, even = self.best, self.break_even
        return values | {
            "best": None if best is None else _point_to_dict(best),
            "break_even": None if even is None else show(even),
        }


def _point_to_dict(point: BudgetPoint) -> dict[str, Any]:
    return asdict(point) | {"budget": show(point.budget)}


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Accuracy of the selected set versus its number of rows.

    Attributes
    ----------
    rows
        Rows n of the figures.
    accuracy
        Out-of-fold accuracy with the set.
    gain, gain_deviation
        Gain (G - L)/n over the model without candidates, and its standard deviation.
    half
        Rows h with which half of the gain is learned.
    rows_per_row
        Rows that count as one in the error of the figures: folds share models, rows of a group are right together.
    """

    rows: int
    accuracy: float
    gain: float
    gain_deviation: float
    half: float
    rows_per_row: float

    @classmethod
    def of(cls, model: BaseExMLClassifier) -> LearningCurve:
        """Read the figures of a fitted classifier.

        Raises
        ------
        ValueError
            If nothing was bought, or theta was given, so that there are no out-of-fold figures.
        """
        evaluation = model.evaluation_
        if evaluation is None or evaluation.gained is None or evaluation.lost is None:
            raise ValueError(
                "a plan needs out-of-fold figures of a model with candidates: explore first, without theta"
            )
        n, gained, lost, figure = evaluation.rows, evaluation.gained, evaluation.lost, evaluation.metrics[1]
        gain = (gained - lost) / n
        # Half a row each, so that a few rows without any difference are not certain.
        variance = (gained + lost + 1.0) / n - gain**2
        deviation = math.sqrt(max(variance, 0.0) * figure.rows_per_row / n)
        half = HALF_ROWS_PER_CLASS * len(model.classes_)
        return cls(n, figure.accuracy, gain, deviation, half, figure.rows_per_row)

    def learned(self, rows: int, half: float | None = None) -> float:
        """Return r(N)/r(n): the gain with `rows` rows as a multiple of the gain of the figures."""
        h = self.half if half is None else half
        return (rows / (rows + h)) / (self.rows / (self.rows + h))

    def predict(self, rows: int, new_rows: int | None = None) -> tuple[float, float, float]:
        """Return the expected accuracy with `rows` rows, and the ends of its interval.

        Parameters
        ----------
        rows : int
            Rows N of the selected set.
        new_rows : int, optional
            Number of rows that will be predicted, whose accuracy varies by chance, too.
        """
        halves = (self.half / HALF_FACTOR, self.half, self.half * HALF_FACTOR)
        weights = (0.25, 0.5, 0.25)
        shifts = [self.gain * (self.learned(rows, half) - 1.0) for half in halves]
        shift = sum(weight * value for weight, value in zip(weights, shifts, strict=True))
        spread = sum(weight * (value - shift) ** 2 for weight, value in zip(weights, shifts, strict=True))
        middle = min(max(self.accuracy + shift, 0.0), 1.0)
        chance = self.accuracy * (1.0 - self.accuracy) + 0.5 / self.rows
        own = math.sqrt(chance * self.rows_per_row / self.rows)
        extrapolated = abs(self.learned(rows) - 1.0) * self.gain_deviation
        later = middle * (1.0 - middle) / new_rows if new_rows else 0.0
        deviation = math.sqrt((own + extrapolated) ** 2 + spread + later + MODEL_DEVIATION**2)
        reach = NormalDist().inv_cdf(0.5 + LEVEL / 2.0) * deviation
        return middle, max(middle - reach, 0.0), min(middle + reach, 1.0)


def plan_budget(
    model: BaseExMLClassifier,
    costs: Sequence[Fraction],
    rows: int,
    *,
    is_pilot: bool = False,
    value_per_correct: float | None = None,
    rows_to_predict: int | None = None,
) -> BudgetPlan:
    """Plan the budget of a table from a fitted classifier.

    Parameters
    ----------
    model : BaseExMLClassifier
        Fitted on the table, or on a pilot of it.
    costs : sequence of Fraction
        Cost of one value of each candidate.
    rows : int
        Rows of the table that can be bought.
    is_pilot : bool
        Whether the model was fitted on a pilot, so that the exploration of the table starts from nothing.
    value_per_correct : float, optional
        Money that one more correct prediction is worth.
    rows_to_predict : int, optional
        Number of rows that will be predicted.
    """
    check_value(value_per_correct, rows_to_predict)
    curve = LearningCurve.of(model)
    tariff = Tariff(model.tariff_.names, costs)
    price = tariff.price(tariff.names.index(name) for name in model.selected_)
    spent = Fraction(0) if is_pilot else model.ledger_.spent
    per_row = float(sum((layer["fraction"] * float(layer["cost"]) for layer in prediction_costs(model)), 0.0))
    worth = None
    if value_per_correct is not None and rows_to_predict is not None:
        worth = _Worth(curve, value_per_correct * rows_to_predict, per_row * rows_to_predict, is_pilot)
    points = []
    for budget, bought in _list_budgets(model, tariff, price, rows, curve.rows, spent, is_pilot):
        benefit = None if worth is None else worth.net_benefit(bought, float(budget - spent))
        points.append(BudgetPoint(budget, bought, *curve.predict(bought, rows_to_predict), benefit))
    plan = BudgetPlan(model.selected_, spent, curve.accuracy - curve.gain, tuple(points), per_row, "")
    return plan if worth is None else _advise(plan, worth)


def check_value(value_per_correct: float | None, rows_to_predict: int | None) -> None:
    """Check that both are given or neither, and that both are above 0."""
    if (value_per_correct is None) != (rows_to_predict is None):
        raise ValueError("value_per_correct and rows_to_predict go together: give both or neither")
    if value_per_correct is not None and not (0.0 < value_per_correct < math.inf):
        raise ValueError(f"value_per_correct must be a finite number above 0, got {value_per_correct}")
    if rows_to_predict is not None and rows_to_predict < 1:
        raise ValueError(f"rows_to_predict must be at least 1, got {rows_to_predict}")


def _list_budgets(
    model: BaseExMLClassifier,
    tariff: Tariff,
    price: Fraction,
    rows: int,
    have: int,
    spent: Fraction,
    is_pilot: bool,
) -> list[tuple[Fraction, int]]:
    """Return budgets with the rows of the selected set that they buy."""
    if not is_pilot:
        left = (rows - have) * price
        parts = dict.fromkeys([Fraction(0), *(Fraction(int(left * Fraction(f))) for f in FRACTIONS), left])
        return [(spent + part, have + int(part / price)) for part in sorted(parts) if part <= left]
    strategy, everyone = model.resolve().strategy, range(len(tariff.costs))
    counts, budgets = [rows] * len(tariff.costs), []
    everything, selected = tariff.total(counts), {tariff.names.index(name) for name in model.selected_}
    for fraction in FRACTIONS:
        budget = Fraction(int(everything * Fraction(fraction)))
        compared, first = plan_first_round(tariff, counts, budget, len(model.classes_), strategy)
        # A single candidate is not compared. Where too little money leaves out a selected one, another set is bought.
        if len(everyone) > 1 and not (first and selected <= set(compared)):
            continue
        paid = compared if first else ()
        spent_first = tariff.total([first if arm in paid else 0 for arm in everyone])
        bought = first + int((budget - spent_first - tariff.setup(selected, paid)) / price)
        if bought > 0:
            budgets.append((budget, min(rows, bought)))
    return budgets


@dataclass(frozen=True, slots=True)
class _Worth:
    """Money that predictions are worth: of all being right, and the cost of the candidates for all."""

    curve: LearningCurve
    value: float
    prediction_cost: float
    is_pilot: bool

    def mean(self, rows: int) -> float:
        """Return the expected worth of the candidates with `rows` rows, without the purchase."""
        return self.value * self.curve.gain * self.curve.learned(rows) - self.prediction_cost

    def net_benefit(self, rows: int, money: float) -> float:
        """Return the expected net benefit of sampling for further money."""
        old, learned = self.curve.rows, self.curve.learned(rows)
        new = rows if self.is_pilot else rows - old
        # What is known after the purchase varies from now on by a part of the present uncertainty.
        deviation = self.value * self.curve.gain_deviation * learned * math.sqrt(new / (new + old))
        mean, normal = self.mean(rows), NormalDist()
        option = max(mean, 0.0)
        if deviation > 0.0:
            option = mean * normal.cdf(mean / deviation) + deviation * normal.pdf(mean / deviation)
        now = 0.0 if self.is_pilot else max(self.mean(old), 0.0)
        return option - money - now


def _advise(plan: BudgetPlan, worth: _Worth) -> BudgetPlan:
    """Add the best budget, the break-even budget and the headline."""
    points = [point for point in plan.points if point.net_benefit is not None]
    best = max(points, key=lambda point: point.net_benefit or 0.0, default=None)
    gains = [point.budget for point in points if (point.net_benefit or 0.0) >= 0.0 and point.budget > plan.spent]
    break_even = max(gains, default=None)
    if best is None or (best.net_benefit or 0.0) <= 0.0 or best.budget <= plan.spent:
        advice = f"Buy nothing{' more' if plan.spent else ''}: {_find_reason(plan, worth)}. "
        return replace(plan, advice=advice + "Only observed labels count: recognising a hidden class is valued at 0.")
    what = f"{show(best.budget - plan.spent)} more" if plan.spent else show(best.budget)
    advice = (
        f"Spend {what} on {' + '.join(plan.selected)}: expected accuracy {best.accuracy:.1%} ({best.lower:.1%} to "
        f"{best.upper:.1%}), expected net benefit {best.net_benefit:,.0f}."
    )
    if best.accuracy <= plan.baseline:
        advice += (
            " That is no more than without candidates: the benefit is the chance that they are better than they look."
        )
    return replace(plan, advice=advice, best=best, break_even=break_even)


def _find_reason(plan: BudgetPlan, worth: _Worth) -> str:
    """Return why no purchase is worth its money."""
    curve, last = worth.curve, plan.points[-1].rows if plan.points else worth.curve.rows
    gain = curve.gain * curve.learned(last)
    if not plan.points:
        return "no budget pays for a comparison of the candidates"
    if curve.gain <= 0.0:
        return "the candidates have not improved the predictions: predict without them"
    if worth.prediction_cost >= worth.value * gain:
        each = f"{plan.prediction_cost:.3g} per predicted row"
        return f"predictions would cost {each}, more than the gain of {gain:.1%} is worth: predict without candidates"
    if plan.spent and worth.mean(curve.rows) > 0.0:
        return "further rows cost more than they would improve the predictions; use the model as it is"
    limit = curve.gain - NormalDist().inv_cdf(0.5 + LEVEL / 2.0) * curve.gain_deviation
    doubt = "; it is not significant either" if limit <= 0.0 else ""
    return f"the purchase costs more than the gain of about {gain:.1%} is worth{doubt}"
