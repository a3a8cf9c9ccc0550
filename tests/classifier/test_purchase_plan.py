"""The purchase plan says what a run will do."""

from fractions import Fraction

import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._purchase_plan import plan_rounds, plan_subset_selection
from exml_sim.strategies import MedianElimination, UniformAllocation, ValueOfInformationCommit
from tests.classifier.tasks import synthetic


def test_equal_prices_the_plan_is_what_happens():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 30, 50, 70, 90])
    model = ExMLClassifier.paper(budget=300).fit(rows.X, rows.y, oracle)
    (plan,) = plan_rounds(oracle.names, oracle.costs, [180] * 5, MedianElimination(), Fraction(300), Fraction(1, 10))
    real = model.records_[1].selection.exploration.ledger
    assert len(plan.details["rounds"]) == real.rounds
    for number, planned in enumerate(plan.details["rounds"], 1):
        assert sorted(n for _, n in planned["rows"]) == sorted(n for n in real.round_pulls(number)[0] if n)
    assert plan.cost == 300
    assert plan.details["validation"] == 300 - real.spent


@pytest.mark.parametrize("objective", ["risk", "risk_per_cost"])
def test_unequal_prices_show_both_ends(objective):
    cheap, expensive = plan_rounds(
        ["a", "b", "c"],
        [Fraction(5), Fraction(1), Fraction(2)],
        [100] * 3,
        MedianElimination(objective=objective),
        Fraction(80),
        Fraction(0),
    )
    assert [name for name, _ in cheap.details["rounds"][1]["rows"]] == ["b", "c"]
    assert [name for name, _ in expensive.details["rounds"][1]["rows"]] == ["a", "c"]
    assert cheap.cost <= 80
    assert "round 1: 5 rows of a, 5 rows of b, 5 rows of c, for 40" in cheap.text()
    assert cheap.details["validation"] == 0


def test_rows_run_out():
    plan = plan_rounds(["a", "b"], [Fraction(1)] * 2, [3, 50], UniformAllocation(), Fraction(40), Fraction(0))[0]
    assert plan.details["rounds"][0]["rows"] == [("a", 3), ("b", 20)]
    assert plan.cost == 23


def test_a_race_without_the_dear_candidate_is_planned_as_it_is_run():
    """A price of 20 would leave too few rows of all four: the plan says so, and has the rows of the others."""
    plan = plan_subset_selection(
        ("a", "b", "c", "d"),
        [*map(Fraction, (1, 1, "1.5", 20))],
        [300] * 4,
        Fraction(100),
        2,
        ValueOfInformationCommit(),
    )
    assert plan.details["unaffordable"] == ["d"]
    assert plan.first_cost == plan.first_rows * Fraction("3.5") <= 50
    assert f"{plan.first_rows} rows of every candidate but d" in plan.text()
    poor = plan_subset_selection(("a", "b"), [Fraction(1)] * 2, [300] * 2, Fraction(2), 2, ValueOfInformationCommit())
    assert poor.details["unaffordable"] == []
