"""Subset selection: noise loses, all is spent, price decides between equals, rows are shared, only paid values read."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exml_sim import ExMLClassifier
from exml_sim.bandit.selection_report import Pair
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput, Tariff
from exml_sim.classifier._consensus import ConsensusScorer
from exml_sim.classifier._growth import report_subsets
from exml_sim.classifier._probability_models import normalise
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier.subset_selection import SelectionResult, SelectionRound, SubsetSelection, plan_first_round
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import ValueOfInformationCommit
from tests.classifier.tasks import Recording, catch_error


def task(seed, rows=240):
    """Two overlapping known classes and a hidden one that a signal of one column tells apart."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    y = np.where(truth == 2, rng.integers(0, 2, rows), truth)
    X = rng.normal(size=(rows, 2)) + 0.5 * truth[:, None]
    signal = np.array([-3.0, 3.0, 0.0])[truth][:, None] + 0.6 * rng.normal(size=(rows, 1))
    return X, y, signal, rng


@pytest.mark.parametrize("width", [5, 20, 100])
def test_wide_noise_loses_to_an_informative_group(width):
    """With a budget of 30 % the signal is bought in nine of ten runs at least, mostly alone, and tells new rows apart.

    The subset selection begins with sixteen rows, so noise wins sometimes.
    """
    bought, alone, right = 0, 0, []
    for seed in range(10):
        X, y, signal, rng = task(seed, 180)
        values = {"noise": rng.normal(size=(len(y), width)), "signal": signal, "more": rng.normal(size=(len(y), width))}
        model = ExMLClassifier(budget_ratio=0.3, random_state=seed, model="kernel", hidden_label=2)
        model.fit(X, y, ArrayOracle(values))
        bought += "signal" in model.selected_
        alone += model.selected_ == ("signal",)
        right.append(_right(model, width, seed))
    assert bought >= 9
    assert alone >= 7
    assert np.median(right) > 0.95


def _right(model, width, seed):
    """Part of new rows of a task that a model is right about."""
    rng = np.random.default_rng([seed, 1])
    truth = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 2)) + 0.5 * truth[:, None]
    signal = np.array([-3.0, 3.0, 0.0])[truth][:, None] + 0.6 * rng.normal(size=(400, 1))
    values = {"noise": rng.normal(size=(400, width)), "signal": signal, "more": rng.normal(size=(400, width))}
    return model.score(X, truth, values)


def test_between_equals_the_cheaper_wins():
    """A panel at 5 units is as good as one at 1 unit: the cheap one is bought in at least nine of ten runs."""
    chosen = []
    for seed in range(10):
        X, y, signal, rng = task(seed, 150)
        expensive, cheap = (signal + 0.15 * rng.normal(size=signal.shape) for _ in range(2))
        oracle = ArrayOracle({"expensive": expensive, "cheap": cheap}, {"expensive": 5, "cheap": 1})
        chosen.append(ExMLClassifier(budget_ratio=0.2, random_state=seed, model="kernel").fit(X, y, oracle).selected_)
    assert chosen.count(("cheap",)) >= 9


def test_quality_per_cost_changes_the_winner():
    """A weaker candidate at a tenth of the price: by risk the better one wins, per cost the cheap one."""
    X, y, signal, rng = task(0)
    weak = signal + 1.5 * rng.normal(size=signal.shape)
    oracle = ArrayOracle({"good": signal, "weak": weak}, {"good": 2, "weak": "0.2"})
    chosen = {
        objective: ExMLClassifier(budget=330, objective=objective, model="kernel").fit(X, y, oracle).selected_[0]
        for objective in ("risk", "risk_per_cost")
    }
    assert chosen == {"risk": "good", "risk_per_cost": "weak"}


class Listing(SubsetSelection):
    """A selection that lists the candidates tried as an extension."""

    tried = ()

    def _gains_beside(self, selected, others):
        self.tried = (*self.tried, tuple(others))
        return super()._gains_beside(selected, others)


def test_of_many_candidates_only_the_best_alone_are_tried_as_extensions():
    """All rows of the signal are bought, and money is left: the second best is among the few that are tried."""
    X, y, signal, rng = task(1)
    helper = signal + 2.0 * rng.normal(size=signal.shape)
    values = {f"c{i}": rng.normal(size=(len(y), 1)) for i in range(6)} | {"helper": helper, "signal": signal}
    acquisition = AcquisitionManager(ArrayOracle(values), len(y), 2000)
    order = rng.permutation(len(y))
    acquisition.buy(dict.fromkeys(range(7), order[:60]) | {7: order}, layer=2, purpose="exploration")
    data = LayerInput(X, y, 2, order, 2)
    selection = Listing(acquisition, range(8), data, Fraction(400), KernelFitter(), max_extensions=3)
    selected, _ = selection._extend((7,))
    assert selected[0] == 7
    assert 6 in selection.tried[0]
    assert all(len(others) <= 3 for others in selection.tried)
    assert all(acquisition.bought[arm].all() for arm in selected)


def test_candidates_that_explain_nothing_do_not_take_all_money():
    """Labels by chance: at most half of the money is spent in most runs, and the report says why."""
    stopped = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 1)), rng.integers(0, 2, 200)
        oracle = ArrayOracle({name: rng.normal(size=(200, 1)) for name in "abc"})
        model = ExMLClassifier(budget_ratio=0.3, model="kernel", explore="always", random_state=seed).fit(X, y, oracle)
        codes = [note.code for note in model.notes_]
        assert ("candidates_explain_nothing" in codes) == (model.ledger_.spent <= model.budget_ / 2)
        stopped += "candidates_explain_nothing" in codes
    assert stopped >= 3


@pytest.mark.parametrize("seed", range(3))
def test_five_rows_are_compared_rather_than_none(seed):
    """Fifty rows, seven candidates and a fifth of the cost of everything: the signal is selected by comparison."""
    X, y, signal, rng = task(seed, 50)
    values = {f"c{k}": rng.normal(size=(50, 1)) for k in range(6)} | {"signal": 3.0 * signal}
    model = ExMLClassifier(budget_ratio=0.2, model="kernel", explore="always", random_state=seed)
    model.fit(X, y, ArrayOracle(values))
    assert model.records_[1].selection.subsets.rounds
    assert model.ledger_.left < 7 or any(
        note.code in ("money_left", "candidates_explain_nothing") for note in model.notes_
    )


def test_threads_change_nothing():
    """More candidates than threads, rows enough for forests and for bets."""
    X, y, signal, rng = task(3, rows=300)
    values = {"signal": signal} | {f"noise {k}": rng.normal(size=(300, 2)) for k in range(5)}
    single, many = (
        ExMLClassifier(budget_ratio="0.5", explore="always", n_jobs=n).fit(X, y, ArrayOracle(values)) for n in (1, 3)
    )
    assert single.report() == many.report()
    np.testing.assert_array_equal(single.bought_, many.bought_)
    assert len(single.records_[-1].selection.subsets.pairs) >= 4
    with pytest.raises(ValueError, match="n_jobs must be a positive whole number or -1"):
        ExMLClassifier(budget=10, n_jobs=0).fit(X, y, ArrayOracle(values))


def test_all_money_is_spent_or_the_reason_is_given():
    X, y, signal, rng = task(0)
    values = {f"c{i}": rng.normal(size=(len(y), 1)) for i in range(30)} | {"signal": signal}
    model = ExMLClassifier(budget_ratio=0.1).fit(X, y, ArrayOracle(values))
    left = model.ledger_.left
    assert left < 1 or any(note.code == "money_left" for note in model.notes_)
    assert not model.bought_[:, ~model.bought_.any(axis=0)].any()


def test_rows_are_shared_and_the_leader_has_most():
    X, y, signal, rng = task(1)
    record = Recording(ArrayOracle({"a": rng.normal(size=len(y)), "signal": signal, "b": rng.normal(size=len(y))}))
    model = ExMLClassifier(budget_ratio=0.2, max_candidates=1).fit(X, y, record)
    assert len(record.asked) == len(set(record.asked)) == model.ledger_.spent
    a, s, b = (set(np.flatnonzero(line)) for line in model.bought_)
    assert a <= s
    assert b <= s
    assert len(s) > 2 * max(len(a), len(b))
    assert set(model.records_[1].rows) == s


def test_complementary_candidates_are_bought_together():
    """Each of two columns says little alone, their difference is the class."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    first = 4.0 * rng.normal(size=300)
    second = first + np.where(y == 1, 1.0, -1.0) + 0.2 * rng.normal(size=300)
    oracle = ArrayOracle({"first": first, "second": second, "third": rng.normal(size=300)})
    X = rng.normal(size=(300, 1))
    model = ExMLClassifier(budget_ratio=0.6, model="kernel").fit(X, y, oracle)
    assert {"first", "second"} <= set(model.selected_)
    alone = ExMLClassifier(budget_ratio=0.6, model="kernel", max_candidates=1).fit(X, y, oracle)
    assert len(alone.selected_) == 1


def test_too_little_money_to_compare_is_said():
    X, y, signal, rng = task(2)
    oracle = ArrayOracle({"a": rng.normal(size=len(y)), "signal": signal}, {"a": 2, "signal": 1})
    model = ExMLClassifier(budget=12).fit(X, y, oracle)
    assert model.selected_ == ("signal",)
    assert "budget_too_small" in [note.code for note in model.notes_]


def test_values_that_are_all_equal_are_not_chosen():
    X, y, signal, _ = task(2)
    for seed in range(4):
        oracle = ArrayOracle({"same": np.ones(len(y)), "signal": signal})
        model = ExMLClassifier(budget_ratio=0.2, random_state=seed).fit(X, y, oracle)
        assert model.selected_ == ("signal",)


class GivenGains(SubsetSelection):
    """A selection with given gains of candidates beside the selected set: the earlier in the list, the more."""

    def _gains_beside(self, selected, others):
        return [(2.0 - 0.5 * arm, arm) for arm in others]


def test_what_is_bought_completely_can_join_for_nothing():
    """The best partner of the winner has all its rows: it joins, and the money goes on to the next one."""
    buyer = AcquisitionManager(ArrayOracle({name: np.arange(6.0) for name in "abc"}), 6, 22)
    buyer.buy({0: np.arange(6), 1: np.arange(6)}, layer=2, purpose="exploration")
    base = LayerInput(np.zeros((6, 1)), np.arange(6) % 2, 2, np.arange(6), 2)
    selection = GivenGains(buyer, (0, 1, 2), base, Fraction(10), KernelFitter())
    selected, notes = selection._extend((0,))
    assert selected == (0, 1, 2)
    assert buyer.bought.all()
    assert buyer.ledger.spent == 18
    assert notes == []


@given(
    costs=st.lists(st.sampled_from([1, 2, 5, Fraction(1, 3)]), min_size=2, max_size=6),
    money=st.integers(1, 2000),
    rows=st.integers(5, 400),
)
def test_the_opening_is_affordable_and_leaves_rows_of_the_leader(costs, money, rows):
    exact = [Fraction(cost) for cost in costs]
    tariff = Tariff([str(arm) for arm in range(len(exact))], exact)
    places, opened = plan_first_round(tariff, [rows] * len(costs), Fraction(money), 2, ValueOfInformationCommit())
    compared = [exact[place] for place in places]
    assert opened * sum(compared) <= money
    spare = money - max(compared) * rows
    assert opened * sum(compared) <= money / 2 or opened * (sum(compared) - max(compared)) <= spare


def sweep_small_tables(runs):
    """Explore small tables of signals, noise and constant columns; return how often the model lost rows."""
    lost = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(20, 80))
        y = rng.integers(0, 2, rows)
        signals = y[:, None] * rng.choice([0.0, 1.0, 3.0], 3) + rng.normal(size=(rows, 3))
        values = {"a": signals[:, 0], "b": signals[:, 1], "c": signals[:, 2], "same": np.ones(rows)}
        costs = dict(zip(values, rng.choice([1, 2, 5], 4).tolist(), strict=True))
        budget = int(rng.integers(10, 3 * rows))
        model = ExMLClassifier(budget=budget, explore="always", model="kernel", hidden="never", random_state=seed)
        table = SimpleNamespace(X=rng.normal(size=(rows, 1)), y=y)
        if refusal := catch_error(model, table, ArrayOracle(values, costs)):
            assert "smallest budget" in refusal
            continue
        record = model.records_[-1]
        if record.selection and record.selection.subsets and record.selection.subsets.rounds:
            winner = list(record.selection.subsets.rounds[-1].chosen)
            lost += len(record.rows) < model.bought_[winner].all(axis=0).sum()
    return lost


def test_left_over_money_never_takes_rows_from_the_model(monkeypatch):
    """A further candidate is bought for all rows of the winner or not at all."""
    assert sweep_small_tables(40) == 0

    def extend(self, selected):
        """Planted error: buy a row of another candidate and add it."""
        others = [arm for arm in self._arms if arm not in selected and self._left >= self._price((arm,))]
        if others:
            self._buy(others[:1], self._rows_of(others[:1]) + 1)
        return (*selected, *others[:1]), []

    monkeypatch.setattr(SubsetSelection, "_extend", extend)
    assert sweep_small_tables(40) > 0


@pytest.mark.long
def test_left_over_money_never_takes_rows_in_a_thousand_runs():
    assert sweep_small_tables(1000) == 0


def make_scorer(seed, rows=40):
    """Bought rows of a signal, two weak ones and noise, scorer by a kernel model."""
    X, y, signal, rng = task(seed, rows)
    values = [signal, signal + 2.0 * rng.normal(size=signal.shape), rng.normal(size=(rows, 3))]
    oracle = ArrayOracle({"signal": values[0], "weak": values[1], "noise": values[2]})
    buyer = AcquisitionManager(oracle, rows, Fraction(3 * rows))
    buyer.buy({arm: np.arange(rows) for arm in range(3)}, layer=2, purpose="exploration")
    base = LayerInput(X, y, 2, np.arange(rows), 2)
    return ConsensusScorer(buyer, base, KernelFitter()), np.arange(rows), y


def test_what_is_judged_is_the_formula():
    """A slow path: targets row by row from the models' own held-out predictions."""
    scorer, rows, y = make_scorer(1)
    sets = [(0,), (1,), (2,), (0, 1), (0, 1, 2)]
    out_of_fold = {}
    for arms in sets:
        out_of_fold[arms] = normalise(KernelFitter()(scorer.points(arms, rows), np.eye(2)[y])[1])
    weights = {arms: np.exp(-2.0 * ((p - np.eye(2)[y]) ** 2).sum(axis=1).sum()) for arms, p in out_of_fold.items()}
    scorer.fit_consensus(sets, rows)
    for arms in [(0,), (1,), (2,)]:
        slow = []
        for row in rows:
            said = sum(weights[s] * out_of_fold[s][row] for s in sets) / sum(weights.values())
            target = 0.25 * np.eye(2)[y[row]] + 0.75 * said
            slow.append(float(((out_of_fold[arms][row] - target) ** 2).sum()))
        np.testing.assert_allclose(scorer.target_losses(arms, rows), slow, rtol=1e-9)


def test_sets_are_judged_by_labels_against_the_leader():
    scorer, rows, _ = make_scorer(2)
    scorer.fit_consensus([(0,), (1,), (2,), (0, 1, 2)], rows)
    scorer.leader = 0
    apart = scorer.target_losses((0, 2), rows) - scorer.target_losses((0,), rows)
    np.testing.assert_allclose(apart, scorer.losses((0, 2), rows) - scorer.losses((0,), rows), atol=1e-12)


def test_listening_lowers_the_noise_of_differences():
    """In every one of ten tasks the difference of signal and noise is known at least as exactly, mostly far better."""
    shrunk = []
    for seed in range(10):
        scorer, rows, _ = make_scorer(seed)
        before = (scorer.losses((2,), rows) - scorer.losses((0,), rows)).std()
        scorer.fit_consensus([(0,), (1,), (2,), (0, 1, 2)], rows)
        shrunk.append((scorer.target_losses((2,), rows) - scorer.target_losses((0,), rows)).std() / before)
    assert max(shrunk) <= 1.0
    assert np.median(shrunk) < 0.8


def test_a_set_that_grew_after_the_comparison_is_named():
    """The comparison is about the set before the last candidates were added."""
    losses = np.linspace(0.4, 0.6, 50)
    rounds = (SelectionRound((), (1,), (1,)),)
    pairs = (Pair("ct", losses, losses[::-1] + 0.1),)
    names = ("ct", "mri", "junk", "blood")
    for selected, name in [
        ((1,), "mri"),
        ((1, 2), "mri (before junk was added)"),
        ((1, 2, 3), "mri (before junk and blood were added)"),
    ]:
        report = report_subsets(SelectionResult(selected, rounds, (), pairs), names, 0.95)
        assert report.selected == name
        assert f"{name} " in report.sentence()
