"""The answer in money: the distribution of the curve, the expected net benefit against simulation, and the commands."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._acquisition import Tariff
from exml_sim.classifier.budget_plan import LearningCurve, _Worth, plan_budget
from exml_sim.classifier.subset_selection import plan_first_round
from exml_sim.cli import main as command_line
from tests.classifier.tasks import synthetic

CURVE = LearningCurve(60, 0.8, 0.2, 0.05, 4.0, 2.0)


def main(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        command_line([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def fitted():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 90])
    return ExMLClassifier(budget=100, explore="always", model="forest").fit(rows.X, rows.y, oracle), oracle


def test_the_curve():
    middle, lower, upper = CURVE.predict(60)
    assert middle == pytest.approx(0.8)
    assert lower < 0.8 < upper
    # By the definition: base + gain at the limit, halved at h rows.
    assert CURVE.learned(4) == pytest.approx(0.5 / (60 / 64))
    assert 0.8 < CURVE.predict(600)[0] < 0.6 + 0.2 * 64 / 60 + 0.01
    widths = [np.diff(CURVE.predict(n)[1:])[0] for n in (60, 20, 4)]
    assert widths == sorted(widths)
    assert CURVE.predict(60, 20)[1] < lower


@pytest.mark.parametrize(("value", "cost"), [(1000.0, 150.0), (1000.0, 250.0), (100.0, 0.0)])
def test_net_benefit_agrees_with_simulation(value, cost):
    """Draw the true gain, a later estimate of it, and the decision that follows from both."""
    worth, rows, money = _Worth(CURVE, value, cost, True), 180, 37.0
    rng = np.random.default_rng(0)
    n = 400_000
    scale = CURVE.learned(rows)
    truth = CURVE.gain + CURVE.gain_deviation * rng.standard_normal(n)
    later = truth + CURVE.gain_deviation * math.sqrt(60 / rows) * rng.standard_normal(n)
    posterior = (CURVE.gain * 60 + later * rows) / (60 + rows)
    chosen = value * posterior * scale - cost > 0.0
    profit = np.where(chosen, value * truth * scale - cost, 0.0) - money
    error = profit.std() / math.sqrt(n)
    # Seven standard errors: a false alarm in fewer than 1e-11 of all seeds.
    assert abs(profit.mean() - worth.net_benefit(rows, money)) < 7.0 * error


def test_rows_of_a_group_count_as_fewer_in_the_interval(fitted):
    model, oracle = fitted
    curve, figure = LearningCurve.of(model), model.evaluation_.metrics[1]
    assert curve.rows_per_row == figure.rows_per_row == 2.0
    wide = replace(curve, rows_per_row=8.0).predict(60)
    assert wide[1] < curve.predict(60)[1] < curve.predict(60)[2] < wide[2]
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 90])
    copies = np.repeat(np.arange(0, len(rows.y), 4), 4)
    copied = ExMLClassifier(budget=100, explore="always", model="forest")
    copied.fit(rows.X[copies], rows.y[copies], oracle.take_rows(copies))
    assert LearningCurve.of(copied).rows_per_row > 3.0


def test_nothing_is_worth_its_money_without_value(fitted):
    model, oracle = fitted
    poor = plan_budget(model, oracle.costs, 180, value_per_correct=0.01, rows_to_predict=10)
    assert poor.best is None
    assert poor.advice.startswith("Buy nothing more: predictions would cost ")
    rich = plan_budget(model, oracle.costs, 180, is_pilot=True, value_per_correct=1000, rows_to_predict=10_000)
    assert rich.best is not None
    assert rich.best.net_benefit == max(point.net_benefit for point in rich.points)
    assert rich.break_even == max(p.budget for p in rich.points if p.net_benefit >= 0)
    assert [point.budget for point in rich.points] == sorted(point.budget for point in rich.points)
    assert all(point.rows <= 180 for point in rich.points)
    cheap = plan_budget(model, oracle.costs, 180, value_per_correct=30, rows_to_predict=1)
    assert "further rows cost more" in cheap.advice or "purchase costs more" in cheap.advice
    plain = plan_budget(model, oracle.costs, 180)
    assert plain.points[0].budget == model.ledger_.spent
    assert plain.points[-1].rows == 180
    assert plain.advice == ""


@pytest.mark.parametrize("costs", [(50, 1), (1, 50)])
def test_budgets_that_leave_out_a_candidate(fitted, costs):
    """Too little money compares cheap candidates only: then another set than the planned one would be bought."""
    model, oracle = fitted
    assert model.selected_ == ("90°",)
    plan = plan_budget(
        model, [Fraction(c) for c in costs], 180, is_pilot=True, value_per_correct=9, rows_to_predict=900
    )
    tariff = Tariff(oracle.names, [Fraction(c) for c in costs])
    strategy = model.resolve().strategy
    for point in plan.points:
        compared, first = plan_first_round(tariff, [180, 180], point.budget, 2, strategy)
        spent = sum(costs[arm] * first for arm in compared)
        assert 1 in compared
        assert point.rows == min(180, first + int((point.budget - spent) // costs[1])) > 0
    assert plan.points


def test_a_single_candidate_needs_no_comparison(fitted):
    rows, oracle, *_ = synthetic(per_class=60, angles=[90])
    model = ExMLClassifier(budget=100, explore="always", model="forest").fit(rows.X, rows.y, oracle)
    plan = plan_budget(model, [Fraction(2)], 180, is_pilot=True)
    assert [point.rows for point in plan.points] == [int(point.budget // 2) for point in plan.points]


@pytest.mark.parametrize(
    ("worth", "message"),
    [
        ({"value_per_correct": 1.0}, "go together"),
        ({"value_per_correct": -1.0, "rows_to_predict": 5}, "finite number above 0, got -1.0"),
        ({"value_per_correct": math.nan, "rows_to_predict": 5}, "finite number above 0"),
        ({"value_per_correct": 1.0, "rows_to_predict": 0}, "at least 1, got 0"),
    ],
)
def test_bad_values(fitted, worth, message):
    with pytest.raises(ValueError, match=message):
        plan_budget(fitted[0], fitted[1].costs, 180, **worth)


def test_a_model_without_candidates_cannot_be_planned(fitted):
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 90])
    model = ExMLClassifier(budget=100, explore="never", model="forest").fit(rows.X, rows.y, oracle)
    with pytest.raises(ValueError, match="explore first"):
        plan_budget(model, oracle.costs, 180)


def test_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main("data", "--out", "t.csv") == 0
    roles = ["--label", "y", "--observed", "x1,x2", "--candidate", "low=a10:1", "--candidate", "high=a90:1.2"]
    worth = ["--value-per-correct", 30, "--rows-to-predict", 500]
    assert main("explore", "t.csv", *roles, "--budget", 100, "--model", "forest", "--out", "o", *worth) == 0
    said = capsys.readouterr().out
    assert "Expected accuracy: " in said
    assert "Buy nothing more: " in said or "Spend " in said
    assert "## " not in said
    assert main("plan", "t.csv", "--pilot", 60, *roles, *worth) == 0
    text = capsys.readouterr().out
    assert text.startswith(("Spend ", "Buy nothing: "))
    assert main("plan", "t.csv", "--pilot", 60, *roles, *worth, "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["spent"] == "0"
    assert text.startswith(plan["advice"])
    for arguments, message in (
        (["--pilot", 5, *roles], "a pilot needs 20 to 300 complete rows of the table, got 5"),
        (["--pilot", 60, "--label", "y"], "needs --label, --observed and --candidate"),
        (["--pilot", 60, *roles, "--delta", "0.1"], "--delta does not go with a plan from a table"),
        (["--pilot", 60, *roles, "--value-per-correct", 3], "go together"),
    ):
        assert main("plan", "t.csv", *arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
