"""The purchase plan says what the first round of a run will do."""

import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier.budget_plan import plan_purchase
from tests.classifier.tasks import synthetic


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "uniform_allocation"},
        {"strategy": "median_elimination", "model": "rejection", "alignment": "budget"},
        {"strategy": "successive_elimination"},
        {"max_stages": 3},
    ],
    ids=str,
)
def test_the_planned_first_round_is_what_happens(options):
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 30, 50, 70, 90], costs=[1, 1, 2, "0.5", 3])
    model = ExMLClassifier(**{"budget": 300, "explore": "always", "model": "kernel", **options})
    plan = plan_purchase(model, oracle, [180] * 5, 2)
    model.fit(rows.X, rows.y, oracle)
    pulls = dict(zip(oracle.names, model.ledger_.round_pulls(1)[0].tolist(), strict=True))
    assert plan.first == pulls
    assert plan.first_cost == sum(pulls[name] * cost for name, cost, _ in plan.candidates)
    assert plan.first_cost <= plan.cost <= plan.budget == 300


def test_a_plan_without_the_expensive_candidate_says_so():
    """A price of 20 would leave too few rows of all four: the plan has the rows of the others."""
    rows, oracle, *_ = synthetic(per_class=100, angles=[10, 20, 80, 90], costs=[1, 1, "1.5", 20])
    model = ExMLClassifier(budget=100, explore="always", model="kernel")
    plan = plan_purchase(model, oracle, [300] * 4, 2)
    assert plan.left_out == ["90°"]
    assert plan.first_cost == plan.first_rows * 3.5 <= 50
    assert "(the cost of 90° exceeds the exploration budget)" in plan.text()
    assert model.fit(rows.X, rows.y, oracle).ledger_.pulls[0][3] == 0
    assert ("unaffordable", "90°") in [(note.code, note.subject) for note in model.notes_]
