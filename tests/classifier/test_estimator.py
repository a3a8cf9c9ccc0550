"""ExMLClassifier end to end: the bars of Section 5.1, every option, and bad input."""

from dataclasses import MISSING, fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._rejection_model import ModelOptions, fit_rejection_model
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import STRATEGIES, MedianElimination
from exml_sim.strategies.base import PullByPull
from tests.classifier.tasks import Recording, catch_error, clean, mfeat, synthetic


def test_section_5_1():
    """b = 20 %: SL below 60 % even with theta chosen on test labels, ExML above 85 % with theta chosen honestly.

    Means over ten fixed seeds. Single runs vary by 3 and 2.5 points (one standard deviation) around 50.5 and 89.2, so
    the means are 10 and 5 standard errors away from their bars.
    """
    sl, exml, best_three = [], [], []
    for seed in range(10):
        rows, oracle, test, truth, values = synthetic(seed)
        codes = (rows.y > 0).astype(int)
        accuracies = []
        for theta in (0.1, 0.2, 0.3, 0.4):
            winner, accepted, _ = fit_rejection_model(rows.X, codes, 2, theta, ModelOptions(C_h=0.1, C_g=0.1)).evaluate(
                test.X
            )
            accuracies.append(np.mean(np.where(accepted, 2 * winner - 1, 3) == truth))
        sl.append(max(accuracies))
        model = ExMLClassifier.paper(budget_ratio=0.2, hidden_label=3, random_state=seed).fit(rows.X, rows.y, oracle)
        exml.append(model.score(test.X, truth, values))
        best_three.append(model.ledger_.pulls[0, -3:].sum() / model.ledger_.pulls.sum())
        assert model.budget_ == 540
        assert model.ledger_.spent <= 540
    assert np.mean(sl) < 0.60
    assert np.mean(exml) > 0.85
    assert np.mean(best_three) > 0.5


def test_nothing_is_spent_on_a_model_that_is_good_already():
    X, y, oracle = clean()
    record = Recording(oracle)
    model = ExMLClassifier.paper(budget=100).fit(X, y, record)
    assert not model.assessment_.needed
    assert not model.explored_
    assert record.asked == []
    assert model.ledger_.spent == 0
    assert "No exploration is needed" in model.report()
    assert "Nothing was spent" in model.report()
    assert np.mean(model.predict(X) == y.astype(object)) > 0.9
    # The planted opposite: the same data is explored when told to.
    forced = ExMLClassifier.paper(budget=100, explore="always").fit(X, y, record)
    assert forced.explored_
    assert forced.ledger_.spent > 0


def test_a_table_of_copies_is_not_called_good_without_a_word():
    """Labels that nobody can predict look predictable if every row has a copy that was learned from."""
    rng = np.random.default_rng(0)
    X, y = np.tile(rng.normal(size=(40, 2)), (4, 1)), np.tile(rng.integers(0, 2, 40), 4)
    model = ExMLClassifier(budget=20).fit(X, y, ArrayOracle({"a": rng.normal(size=160)}))
    (note,) = model.notes_[:1]
    assert note.code == "duplicated_rows"
    assert f"Note: {note.message}." in model.report()


def test_exploration_can_be_forbidden():
    rows, oracle, *_ = synthetic(per_class=40)
    model = ExMLClassifier.paper(budget=100, explore="never").fit(rows.X, rows.y, oracle)
    assert model.assessment_.needed
    assert model.ledger_.spent == 0
    assert "No exploration was wanted" in model.report()
    assert ExMLClassifier.paper(budget=100, max_stages=1).fit(rows.X, rows.y, oracle).selected_ == ()


def test_validation_money_is_kept_and_spent_on_the_selected_candidate():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90])
    model = ExMLClassifier.paper(budget=200, validation_fraction="0.25").fit(rows.X, rows.y, oracle)
    bought = [p for p in model.purchases_ if p.purpose == "validation"]
    assert {p.candidate for p in bought} == set(model.selected_)
    spent = sum(len(p.rows) for p in bought)
    assert 50 <= spent == model.records_[1].selection.validation_rows
    assert model.ledger_.spent == 200
    fixed = ExMLClassifier.paper(budget=200, theta=0.3).fit(rows.X, rows.y, oracle)
    assert all(p.purpose == "exploration" for p in fixed.purchases_)
    assert fixed.records_[1].theta == 0.3


def test_cascade_off_needs_the_candidate_for_every_point():
    (X, y, oracle), (Xt, truth, values) = mfeat("fou", 2)
    on = ExMLClassifier.paper(budget_ratio=0.2, hidden_label=2, explore="always").fit(X, y, oracle)
    off = clone(on).set_params(cascade=False).fit(X, y, oracle)
    assert len(on.cascade_.layers) == 2
    assert len(off.cascade_.layers) == 1
    (name,) = on.selected_
    asked = on.decide(Xt, values).asked[name]
    assert 0 < len(asked) < len(Xt)
    assert len(off.decide(Xt, values).asked[name]) == len(Xt)
    assert on.score(Xt, truth, values) > 0.6


@pytest.mark.parametrize(("view", "known", "bar"), [("mor", 3, 0.75), ("fou", 4, 0.80)])
def test_more_than_two_known_classes_on_digits(view, known, bar):
    """Real data: the cascade beats its first layer by ten points, and finds most of the hidden digits."""
    (X, y, oracle), (Xt, truth, values) = mfeat(view, known)
    model = ExMLClassifier.paper(budget_ratio=0.25, hidden_label=known).fit(X, y, oracle)
    assert len(model.classes_) == known
    predicted = model.predict(Xt, values)
    accuracy = np.mean(predicted == truth)
    first = model.decide(Xt, values)
    alone = np.where(first.layer == 1, first.winner, known)
    assert accuracy > bar
    assert accuracy > np.mean(alone == truth) + 0.1
    assert np.mean(predicted[truth == known] == known) > 0.6
    assert model.ledger_.spent <= model.budget_


def test_three_layers_use_more_candidates_and_reuse_what_was_bought():
    rows, oracle, test, truth, values = synthetic(per_class=80, angles=[10, 50, 70, 90])
    record = Recording(oracle)
    model = ExMLClassifier.paper(budget=400, max_stages=3, tolerated_rejection=0.0, hidden_label=3).fit(
        rows.X, rows.y, record
    )
    assert len(model.cascade_.layers) == 3
    assert len(set(model.selected_)) == 2
    assert model.cascade_.layers[2].candidates == model.selected_
    assert len(record.asked) == len(set(record.asked)) == model.ledger_.spent <= 400
    # The third layer is trained only where both candidates were paid for.
    names = list(oracle.names)
    both = model.bought_[[names.index(name) for name in model.selected_]].all(axis=0)
    assert set(model.records_[2].rows) == set(np.flatnonzero(both))
    assert model.score(test.X, truth, values) > 0.7
    layer = model.decide(test.X, values).layer
    assert set(layer) <= {0, 1, 2, 3}


def test_a_layer_that_is_not_worth_it_is_left_out_and_said_so():
    rows, oracle, *_ = synthetic(per_class=40, angles=[90])
    model = ExMLClassifier.paper(budget=60, max_stages=3).fit(rows.X, rows.y, oracle)
    (note,) = model.notes_
    assert (note.code, note.subject) == ("layer_left_out", "3")
    assert "0 candidates are left" in note.message
    assert note.message in model.report()
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 90])
    easy = ExMLClassifier.paper(budget=60, max_stages=3, target=0.0, tolerated_rejection=0.99, explore="always")
    assert "layer 2 is good enough" in easy.fit(rows.X, rows.y, oracle).notes_[0].message


@pytest.mark.parametrize("strategy", ["uniform_allocation", "successive_accepts_rejects"])
def test_top_two_candidates_in_one_layer(strategy):
    rows, oracle, test, truth, values = synthetic(per_class=60, angles=[10, 20, 80, 90])
    model = ExMLClassifier.paper(budget=240, strategy=strategy, max_candidates=2, hidden_label=3).fit(
        rows.X, rows.y, oracle
    )
    assert set(model.selected_) == {"80°", "90°"}
    assert model.cascade_.layers[1].model.anchors.shape[1] == 4
    assert model.score(test.X, truth, values) > 0.8


def test_test_time_cost_changes_the_winner():
    """60° is not as good as 90° but ten times cheaper: per cost it wins, by risk alone it does not."""
    rows, oracle, *_ = synthetic(per_class=100, angles=[60, 90], costs=["0.2", "2"])
    common = {"budget": 330, "strategy": "uniform_allocation"}
    by_risk = ExMLClassifier.paper(**common, objective="risk").fit(rows.X, rows.y, oracle)
    per_cost = ExMLClassifier.paper(**common, objective="risk_per_cost").fit(rows.X, rows.y, oracle)
    assert by_risk.selected_ == ("90°",)
    assert per_cost.selected_ == ("60°",)


def test_rows_that_cannot_be_measured_are_not_bought():
    rows, oracle, *_ = synthetic(per_class=60, angles=[50, 90])
    values = {name: oracle.query(name, np.arange(180)) for name in oracle.names}
    values["90°"][::3] = np.nan
    model = ExMLClassifier.paper(budget=150).fit(rows.X, rows.y, ArrayOracle(values))
    assert not model.bought_[1, ::3].any()
    assert model.selected_ == ("90°",)
    generous = ExMLClassifier.paper(budget=1000).fit(rows.X, rows.y, ArrayOracle(values))
    assert generous.bought_[1].sum() == 120
    assert generous.ledger_.spent <= 300


def test_explanations_and_missing_values():
    rows, oracle, test, _, values = synthetic(per_class=60, angles=[20, 90])
    model = ExMLClassifier.paper(budget=120, hidden_label=3).fit(rows.X, rows.y, oracle)
    decisions, lines = model.decide(test.X, values), model.explain(test.X, values)
    assert len(lines) == len(test.X)
    for line, layer, hidden in zip(lines, decisions.layer, decisions.hidden, strict=True):
        assert (
            (f"accepted by {model.cascade_.layer_names[layer - 1]}" in line)
            if layer
            else line.startswith("3: rejected by the model of the observed columns and the model with")
        )
        assert hidden == (layer == 0)
    row = int(np.flatnonzero(decisions.seen == 2)[0])
    values["90°"] = np.where(np.arange(len(test.X))[:, None] == row, np.nan, values["90°"])
    assert "the next model needs 90°" in model.explain(test.X, values)[row]
    with pytest.raises(ValueError, match=rf"1 row needs a value of candidate '90°' \(1\), the first is row {row}"):
        model.predict(test.X, values)
    with pytest.raises(ValueError, match=r"rows need a value of candidate '90°' \(\d+\), the first is row"):
        model.predict(test.X)
    # Without any values explain says which rows need one, and the others are as before.
    alone, all_there = model.explain(test.X), model.explain(test.X, {**values, "90°": np.nan_to_num(values["90°"])})
    for entry, other, seen in zip(alone, all_there, decisions.seen, strict=True):
        assert entry == other if seen == 1 else entry.endswith("the next model needs 90°")


def test_scores_in_the_report_are_those_of_the_rounds():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90])
    model = ExMLClassifier.paper(budget=200).fit(rows.X, rows.y, oracle)
    text, rounds = model.report(), model.records_[1].selection.exploration.rounds
    assert len(rounds) == 2
    for entry in rounds:
        for arm in entry.active:
            assert entry.lower[arm] <= entry.scores[arm] <= entry.upper[arm]
            assert f"| {entry.scores[arm]:.6f} | " in text
            assert f" | [{entry.lower[arm]:.6f}, {entry.upper[arm]:.6f}] |" in text
    assert "Spent 200 of the budget of 200" in text
    assert model.ledger_.table() in text


#: Rules that select one candidate and need no evidence, no further knowledge and no equal costs.
FIXED_BUDGET = sorted(
    name
    for name, rule in STRATEGIES.items()
    if not hasattr(rule, "confidence")
    and name not in ("oracle_allocation", "fc2fb", "shadavar", "random_subset")
    # They start again with new rows, which a finite table may not have.
    and not name.startswith("doubling_")
    # One purchase per pull takes minutes of fits; tests of strategies cover these rules.
    and not (issubclass(rule, PullByPull) and name not in ("ocba", "top_two", "ugap_eb"))
    and all(option.default is not MISSING for option in fields(rule))
)


@pytest.mark.parametrize("strategy", sorted(name for name, rule in STRATEGIES.items() if hasattr(rule, "confidence")))
def test_a_rule_with_a_confidence_is_refused_before_anything_is_bought(strategy):
    rows, oracle, *_ = synthetic(per_class=15, test_per_class=1, angles=[10, 50, 90])
    record = Recording(oracle)
    said = catch_error(ExMLClassifier.paper(budget=90, strategy=strategy), rows, record)
    assert "needs scores of rows that no model has seen: candidate_score must be 'held_out'" in said
    assert record.asked == []


def test_a_strategy_that_leaves_candidates_out_is_an_error():
    rows, oracle, *_ = synthetic(per_class=15, test_per_class=1, angles=[10, 50, 90])
    record = Recording(oracle)
    message = catch_error(ExMLClassifier(budget=90, strategy="random_subset", candidate_score="risk"), rows, record)
    assert "RandomSubset leaves some out: choose another strategy" in message
    assert record.asked == []


@settings(max_examples=40)
@given(
    budget=st.fractions(min_value=3, max_value=400, max_denominator=7),
    costs=st.lists(st.sampled_from(["0.3", "0.95", "1", "1.2", "5"]), min_size=3, max_size=3),
    strategy=st.sampled_from(["value_of_information_commit", *FIXED_BUDGET]),
    alignment=st.sampled_from(["sample", "budget"]),
    share=st.sampled_from(["0", "0.1", "0.5"]),
    layers=st.integers(2, 4),
    model=st.sampled_from(["kernel", "rejection"]),
    blanks=st.booleans(),
)
def test_no_run_spends_more_than_the_budget(budget, costs, strategy, alignment, share, layers, model, blanks):
    rows, oracle, *_ = synthetic(per_class=15, test_per_class=1, angles=[10, 50, 90], costs=costs)
    prices = dict(zip(oracle.names, oracle.costs, strict=True))
    if blanks:
        values = {name: oracle.query(name, np.arange(45)) for name in oracle.names}
        values["50°"][::2] = np.nan
        oracle = ArrayOracle(values, prices)
    record = Recording(oracle)
    record.available = oracle.available
    fitted = ExMLClassifier(
        budget=budget,
        strategy=strategy,
        candidate_score="held_out" if strategy == "value_of_information_commit" else "risk",
        alignment=alignment,
        validation_fraction=share,
        max_stages=layers,
        model=model,
        explore="always",
        folds=2,
    )
    if refusal := catch_error(fitted, rows, record):
        assert "smallest budget that works" in refusal
        assert record.asked == []
        return
    assert sum((prices[name] for name, _ in record.asked), Fraction(0)) == fitted.ledger_.spent <= budget


def test_the_smallest_budget_that_the_message_names_works():
    rows, oracle, *_ = synthetic(per_class=30, angles=[10, 50, 90], costs=["1", "0.95", "5"])
    with pytest.raises(ValueError, match=r"the smallest budget that works is 15\.45"):
        ExMLClassifier.paper(budget=10, explore="always").fit(rows.X, rows.y, oracle)
    with pytest.raises(ValueError, match="does not pay"):
        ExMLClassifier.paper(budget="15.43", explore="always").fit(rows.X, rows.y, oracle)
    model = ExMLClassifier.paper(budget="15.45", explore="always", folds=2)
    assert model.fit(rows.X, rows.y, oracle).ledger_.spent <= Fraction("15.45")


def test_same_seed_same_result_and_strategy_objects():
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 90])
    first = ExMLClassifier.paper(budget=100, alignment="budget", random_state=3).fit(rows.X, rows.y, oracle)
    second = ExMLClassifier.paper(budget=100, strategy=MedianElimination(alignment="budget"), random_state=3)
    second.fit(rows.X, rows.y, oracle)
    assert first.ledger_.to_csv() == second.ledger_.to_csv()
    np.testing.assert_array_equal(first.bought_, second.bought_)
    other = ExMLClassifier.paper(budget=100, random_state=4).fit(rows.X, rows.y, oracle)
    assert not np.array_equal(first.bought_, other.bought_)
    text = ExMLClassifier.paper(budget=100).fit(rows.X, np.where(rows.y > 0, "benign", "no"), oracle)
    assert set(text.predict(rows.X, oracle)) <= {"benign", "no", "hidden"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": None}, "exactly one of budget and budget_ratio"),
        ({"budget_ratio": 0.2}, "exactly one of budget and budget_ratio"),
        ({"budget": -1}, "budget must be greater than 0"),
        ({"budget": "much"}, "budget must be a finite number"),
        ({"budget": None, "budget_ratio": 1.2}, r"budget_ratio must be in \(0, 1\]"),
        ({"strategy": "guess"}, "unknown strategy 'guess'"),
        ({"strategy": 7}, "a strategy is a name"),
        ({"strategy": MedianElimination(), "alignment": "budget"}, "has its own alignment"),
        ({"strategy": MedianElimination(), "max_candidates": 2}, "selects 1 candidate, but max_candidates=2"),
        ({"max_candidates": 2}, "selects one candidate, not 2"),
        ({"max_candidates": 0}, "max_candidates must be a whole number"),
        ({"max_stages": 0}, "max_stages must be a whole number"),
        ({"alignment": "row"}, "unknown alignment 'row'"),
        ({"objective": "fame"}, "unknown objective 'fame'"),
        ({"theta": 0.5}, "theta must lie"),
        ({"theta": "best"}, "theta must be"),
        ({"target": 95}, r"target must be in \[0, 1\]"),
        ({"validation_fraction": 1}, "validation_fraction must be"),
        ({"explore": "maybe"}, "unknown explore option"),
        ({"candidate_score": "ball"}, "unknown candidate_score"),
        ({"hidden_label": 1}, "is one of the known classes"),
        ({"folds": 1}, "folds must be a whole number of at least 2; got 1"),
        ({"folds": 1, "model": "auto"}, "folds must be a whole number of at least 2; got 1"),
        (
            {"random_state": "a"},
            "random_state must be a whole number of at least 0, a numpy Generator or None; got 'a'",
        ),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, .* got -1"),
    ],
)
def test_bad_parameters(change, message):
    X, y, oracle = clean(rows=20)
    with pytest.raises(ValueError, match=message):
        ExMLClassifier.paper(**{"budget": 20, **change}).fit(X, y, oracle)


def test_bad_data():
    X, y, oracle = clean(rows=20)
    model = ExMLClassifier.paper(budget=20)
    with pytest.raises(ValueError, match=r"at least 2 classes, got only 'a'$"):
        model.fit(X, ["a"] * 20, oracle)
    with pytest.raises(ValueError, match=r"y must have shape \(20,\)"):
        model.fit(X, y[:-1], oracle)
    with pytest.raises(ValueError, match=r"must be a number of at most 1e\+38 in size, got 1e\+60"):
        model.fit(np.where(X > 9, 1e60, X), y, oracle)
    mixed = np.array(["no", 1], dtype=object)[y]
    for labels in (mixed, mixed.tolist()):
        with pytest.raises(ValueError, match="labels must be all texts or all numbers, got both: 'no' and 1"):
            model.fit(X, labels, oracle)
    with pytest.raises(ValueError, match=r"labels must be numbers or texts, one per row, got \(1, 2\)"):
        model.fit(X, np.array([*[(1, 2)] * 10, *[3] * 10, None], dtype=object)[:20], oracle)
    with pytest.raises(ValueError, match="must have 20 rows like X"):
        model.set_params(explore="always").fit(X, y, ArrayOracle({"a": np.zeros(3), "b": np.zeros(3)}))
    model.fit(X, y, oracle)
    with pytest.raises(ValueError, match="X must have 2 columns"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="an oracle or a mapping"):
        model.predict(X, 5)


def test_a_candidate_that_was_never_measured_is_left_out():
    rows, oracle, *_ = synthetic(per_class=40, angles=[50, 70, 90])
    values = {name: oracle.query(name, np.arange(120)) for name in oracle.names}
    values["70°"][:] = np.nan
    model = ExMLClassifier.paper(budget=100).fit(rows.X, rows.y, ArrayOracle(values))
    assert [(note.code, note.subject) for note in model.notes_] == [("candidate_unavailable", "70°")]
    assert model.ledger_.pulls[0, 1] == 0
    with pytest.raises(ValueError, match="no candidate can be bought"):
        ExMLClassifier.paper(budget=100).fit(rows.X, rows.y, ArrayOracle({"70°": values["70°"]}))


def test_test_time_cost_in_the_report():
    (X, y, oracle), (Xt, _, values) = mfeat("fou", 2)
    model = ExMLClassifier.paper(budget_ratio=0.2, hidden_label=2, explore="always").fit(X, y, oracle)
    line = next(line for line in model.report().splitlines() if line.startswith("Prediction cost"))
    predicted = float(line.split(": ")[1].split("%")[0]) / 100
    (name,) = model.selected_
    # 400 and 800 rows: both shares are within 0.05 of the truth with two standard errors each.
    assert abs(predicted - len(model.decide(Xt, values).asked[name]) / len(Xt)) < 0.1
    assert f"need `{name}` (1 each)" in line


def test_too_few_rows_for_a_layer_are_a_note_not_a_crash():
    rows, oracle, *_ = synthetic(per_class=20, angles=[50, 90])
    model = ExMLClassifier.paper(budget="2.3", explore="always").fit(rows.X, rows.y, oracle)
    assert "layer 2 was left out: 1 row has" in model.notes_[0].message
    assert model.selected_ == ()
    assert model.ledger_.spent == 2
    assert len(model.cascade_.layers) == 1
