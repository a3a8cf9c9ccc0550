"""Ask and tell: the same run as with all values known, however often and however strangely it is interrupted."""

import numpy as np
import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._ask_tell import AskTell, MissingMeasurements, RecordedOracle
from exml_sim.classifier._journal import Journal
from exml_sim.money import exact
from exml_sim.oracle import ArrayOracle, CallableOracle
from tests.classifier.tasks import Recording, synthetic

RUNS = [
    {},
    {"max_stages": 3, "tolerated_rejection": 0.0},
    {"strategy": "successive_accepts_rejects", "max_candidates": 2},
]


def task():
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 90], costs=["1", "0.95", "2"])
    return rows, oracle, dict(zip(oracle.names, oracle.costs, strict=True))


def model(**options):
    return ExMLClassifier(**{"budget": 120, "random_state": 1, "explore": "always", "model": "kernel", **options})


def answer(run, oracle):
    """Tell a run all that it asks for."""
    while wanted := run.ask():
        run.tell({name: oracle.query(name, places) for name, places in wanted.rows.items()})


@pytest.mark.parametrize("options", RUNS, ids=str)
def test_the_same_run_as_with_values_at_hand(options):
    rows, oracle, costs = task()
    run = AskTell(model(**options), rows.X, rows.y, costs)
    asked, rounds = [], 0
    while wanted := run.ask():
        rounds += 1
        asked += [(name, int(row)) for name, places in wanted.rows.items() for row in places]
        assert wanted.cost == sum(costs[name] * len(places) for name, places in wanted.rows.items())
        run.tell({name: oracle.query(name, places) for name, places in wanted.rows.items()})
    plain = model(**options).fit(rows.X, rows.y, oracle)
    assert rounds > 1
    assert run.model.selected_ == plain.selected_
    assert run.model.ledger_.to_csv() == plain.ledger_.to_csv()
    assert len(asked) == len(set(asked))
    assert {(p.candidate, int(row)) for p in plain.purchases_ for row in p.rows} == set(asked)
    assert sum(costs[name] for name, _ in asked) == plain.ledger_.spent <= exact(120)


def test_a_run_that_is_killed_after_every_answer_goes_on(tmp_path):
    """Every step is a new object that knows the file only, and tells half of what it is asked for."""
    rows, oracle, costs = task()
    plain = model().fit(rows.X, rows.y, oracle)
    seen = []
    for _ in range(40):
        run = AskTell(model(), rows.X, rows.y, costs, journal=tmp_path / "j")
        if (wanted := run.ask()) is None:
            break
        name, places = next(iter(wanted.rows.items()))
        values = np.array(oracle.query(name, places))
        values[(len(values) + 1) // 2 :] = np.nan
        seen += [(name, int(row)) for row in places[: (len(values) + 1) // 2]]
        run.tell({name: values})
    assert run.model.ledger_.to_csv() == plain.ledger_.to_csv()
    assert len(seen) == len(set(seen)) == plain.ledger_.pulls.sum()


def test_rows_that_are_lost_are_replaced_by_the_next():
    rows, oracle, costs = task()
    run = AskTell(model(strategy="uniform_allocation"), rows.X, rows.y, costs)
    first = run.ask()
    name, places = next(iter(first.rows.items()))
    answers = {other: oracle.query(other, sample) for other, sample in first.rows.items()}
    run.tell(answers, lost={name: places[:2]})
    second = run.ask()
    assert {other: len(sample) for other, sample in second.rows.items()} == {name: 2}
    assert not set(second.rows[name].tolist()) & set(places.tolist())
    answer(run, oracle)
    assert not {(name, int(row)) for row in places[:2]} & set(run.journal.values)
    assert run.model.ledger_.spent == sum(costs[other] for other, _ in run.journal.values)


def test_values_that_are_there_are_taken_when_their_turn_comes():
    rows, oracle, costs = task()
    known = {
        name: np.where(np.arange(120) % 2 == 0, oracle.query(name, np.arange(120))[:, 0], np.nan) for name in costs
    }
    record = Recording(ArrayOracle(known))
    record.available = ArrayOracle(known).available
    seen = []
    run = AskTell(model(), rows.X, rows.y, costs, source=record, watch=seen.append)
    while wanted := run.ask():
        assert all((places % 2 == 1).all() for places in wanted.rows.values())
        run.tell({name: oracle.query(name, places) for name, places in wanted.rows.items()})
    plain = model().fit(rows.X, rows.y, oracle)
    assert run.model.ledger_.to_csv() == plain.ledger_.to_csv()
    bought = {(p.candidate, int(row)) for p in plain.purchases_ for row in p.rows}
    assert set(record.asked) <= bought
    assert max(seen) == len(bought)
    assert len(record.asked) == len(set(record.asked))


def test_a_laboratory_that_breaks_down_is_not_asked_twice(tmp_path):
    rows, oracle, costs = task()
    asked, left = [], [3]

    def measure(name):
        def ask(places):
            if left[0] == 0:
                left[0] = -1
                raise ConnectionError
            left[0] -= 1
            asked.extend((name, int(row)) for row in places)
            return oracle.query(name, places)

        return ask

    laboratory = CallableOracle({name: measure(name) for name in costs}, costs)

    def attempt():
        return AskTell(model(), rows.X, rows.y, costs, journal=tmp_path / "j", source=laboratory, measurable=False)

    with pytest.raises(ConnectionError):
        attempt().ask()
    before = len(asked)
    run = attempt()
    assert run.ask() is None
    assert 0 < before < len(asked) == len(set(asked)) == run.model.ledger_.pulls.sum()


def test_bad_use_is_one_line(tmp_path):
    rows, oracle, costs = task()
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        AskTell(ExMLClassifier(budget=9, random_state=None), rows.X, rows.y, costs)
    with pytest.raises(ValueError, match=r"random_state must be a whole number of at least 0, .* got -1"):
        AskTell(ExMLClassifier(budget=9, random_state=-1), rows.X, rows.y, costs)
    for bad, message in [
        ({"a": "-5"}, "cost of candidate 'a' must be greater than 0, got '-5'"),
        ({"a": "expensive"}, "cost of candidate 'a' must be a finite number"),
        ({}, "costs must name at least one candidate"),
        ([1, 2], r"costs must name at least one candidate, .* got \[1, 2\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            AskTell(model(), rows.X, rows.y, bad)
    run = AskTell(model(), rows.X, rows.y, costs, journal=tmp_path / "j")
    with pytest.raises(ValueError, match="call ask first"):
        run.tell({})
    wanted = run.ask()
    name, places = next(iter(wanted.rows.items()))
    for values, lost, message in [
        ({"x": [1]}, {}, "no value of 'x' was asked for"),
        ({name: [1.0]}, {}, f"{len(places)} values of candidate '{name}' were asked for, got 1"),
        (
            {name: [np.inf] * len(places)},
            {},
            r"row 0: column '10°' must be a number of at most 1e\+38 in size, got inf",
        ),
        ({name: [None, np.inf] + [1.0] * (len(places) - 2)}, {}, "is not finite"),
        ({name: [None] + ["high"] * (len(places) - 1)}, {}, f"are not all numbers: tell all {len(places)} together"),
        ({name: 1.0}, {}, f"values of candidate '{name}' must be a matrix with at least one row"),
        ({name: [[1.0], [2.0, 3.0]]}, {}, r"must be real numbers, texts or dates, got \[1.0\]"),
        ({}, {name: ["first"]}, "must be row numbers, got"),
        ({}, {name: [9999]}, "row 9999 of '10°' was not asked for"),
    ]:
        with pytest.raises(ValueError, match=message):
            run.tell(values, lost)
    assert not run.journal.values
    run.tell({name: oracle.query(name, places)})
    with pytest.raises(ValueError, match="belongs to a run with budget 120, not 130"):
        AskTell(model(budget=130), rows.X, rows.y, costs, journal=tmp_path / "j")
    with pytest.raises(ValueError, match="belongs to a run with table"):
        AskTell(model(), rows.X + 1, rows.y, costs, journal=tmp_path / "j")


def test_the_oracle_asks_for_a_whole_purchase_at_once():
    journal = Journal({})
    journal.record("a", [(0, (1.0,))])
    oracle = RecordedOracle({"a": 1, "b": 2}, 4, journal)
    wanted = {"a": np.array([0, 2]), "b": np.array([0, 1])}
    with pytest.raises(MissingMeasurements, match="1 of a, 2 of b") as stop:
        oracle.prepare(wanted)
    assert {name: rows.tolist() for name, rows in stop.value.rows.items()} == {"a": [2], "b": [0, 1]}
    assert oracle.query("a", [0]).tolist() == [[1.0]]
    journal.give_up("b", [3])
    assert oracle.available("b").tolist() == [True, True, True, False]
