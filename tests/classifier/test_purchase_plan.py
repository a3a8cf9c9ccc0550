"""The purchase plan says what a run will do."""

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier.purchase_plan import plans, race_plan
from exml_sim.strategies import MedianElimination, UniformAllocation, ValueOfInformationCommit
from tests.classifier.tasks import synthetic


def test_equal_prices_the_plan_is_what_happens():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 30, 50, 70, 90])
    model = ExMLClassifier.paper(budget=300).fit(rows.X, rows.y, oracle)
    (plan,) = plans(oracle.names, oracle.costs, [180] * 5, MedianElimination(), Fraction(300), Fraction(1, 10))
    real = model.records_[1].selection.exploration.ledger
    assert plan.ledger.rounds == real.rounds
    for number in range(1, real.rounds + 1):
        assert sorted(plan.ledger.round_pulls(number)[0]) == sorted(real.round_pulls(number)[0])
    assert plan.cost == 300
    assert plan.validation == 300 - real.spent


@pytest.mark.parametrize("objective", ["risk", "risk_per_cost"])
def test_unequal_prices_show_both_ends(objective):
    cheap, dear = plans(
        ["a", "b", "c"],
        [Fraction(5), Fraction(1), Fraction(2)],
        [100] * 3,
        MedianElimination(objective=objective),
        Fraction(80),
        Fraction(0),
    )
    assert np.flatnonzero(cheap.ledger.round_pulls(2)[0]).tolist() == [1, 2]
    assert np.flatnonzero(dear.ledger.round_pulls(2)[0]).tolist() == [0, 2]
    assert cheap.cost <= 80
    assert "round 1: 5 rows of a, 5 rows of b, 5 rows of c, for 40" in cheap.table()
    assert cheap.validation == 0


def test_rows_run_out():
    plan = plans(["a", "b"], [Fraction(1)] * 2, [3, 50], UniformAllocation(), Fraction(40), Fraction(0))[0]
    assert plan.ledger.pulls[0].tolist() == [3, 20]
    assert plan.ledger.spent == 23


def test_a_race_without_the_dear_candidate_is_planned_as_it_is_run():
    """A price of 20 would leave too few rows of all four: the plan says so, and has the rows of the others."""
    plan = race_plan(
        ("a", "b", "c", "d"),
        [*map(Fraction, (1, 1, "1.5", 20))],
        [300] * 4,
        Fraction(100),
        2,
        ValueOfInformationCommit(),
    )
    assert plan.too_dear == ("d",)
    assert plan.opening == plan.rows * Fraction("3.5") <= 50
    assert f"opening: {plan.rows} rows of every candidate but d, too dear, for" in plan.table()
    assert (
        race_plan(("a", "b"), [Fraction(1)] * 2, [300] * 2, Fraction(2), 2, ValueOfInformationCommit()).too_dear == ()
    )
