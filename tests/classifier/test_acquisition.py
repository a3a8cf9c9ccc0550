"""Purchases: an oracle that fails leaves no money without a value, fees are paid once, and a run can be topped up."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput, Tariff
from exml_sim.classifier._ask_tell import AskTell
from exml_sim.classifier._bought_arms import OraclePool
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.money import CandidateCost
from exml_sim.oracle import ArrayOracle
from tests.classifier.tasks import catch_error, synthetic


class Breaking:
    """Gives the values of a, and fails at the n-th request for those of b."""

    names, costs = ("a", "b"), (1, 2)

    def __init__(self, fails: int = 1):
        self._left = fails

    def query(self, candidate, rows):
        if candidate == "b":
            self._left -= 1
            if self._left == 0:
                raise OSError("the instrument is off")
        return np.asarray(rows, dtype=np.float64)[:, None]


def test_money_of_what_was_not_delivered_is_taken_back():
    buyer = AcquisitionManager(Breaking(), 10, 30)
    with pytest.raises(OSError, match="instrument"):
        buyer.buy({0: np.arange(4), 1: np.arange(4)}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 4
    assert buyer.ledger.pulls[0].tolist() == [4, 0]
    assert np.array_equal(buyer.ledger.pulls[0], buyer.bought.sum(axis=1))
    with pytest.raises(ValueError, match="0 are paid for"):
        buyer.receive({1: np.arange(4)}, layer=2, purpose="exploration")
    buyer.buy({1: np.arange(3)}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 10


def test_an_exploration_that_breaks_off_leaves_an_exact_ledger():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    buyer = AcquisitionManager(Breaking(2), 40, 200)
    base = LayerInput(rng.normal(size=(40, 2)), y, 2, rng.permutation(40), 2)
    pool = OraclePool(buyer, [0, 1], base, 0.2, ModelOptions(), fit=KernelFitter())
    with pytest.raises(OSError, match="instrument"):
        pool.explore("successive_elimination", 100)
    assert np.array_equal(buyer.ledger.pulls[0], buyer.bought.sum(axis=1))
    assert buyer.ledger.spent == sum(
        Fraction(len(purchase.rows)) * (1 if purchase.candidate == "a" else 2) for purchase in buyer.purchases
    )


def recount(purchases, names, costs):
    """Count the money of purchases row by row: a slow path with sets instead of the tariff."""
    money, started, visits = Fraction(0), set(), set()
    for purchase in purchases:
        cost = costs[names.index(purchase.candidate)]
        for row in purchase.rows:
            money += cost
            if isinstance(cost, CandidateCost):
                money += cost.setup * (purchase.candidate not in started)
                money += cost.bundle_fee * ((cost.bundle, int(row)) not in visits)
                visits |= {(cost.bundle, int(row))}
            started |= {purchase.candidate}
    return money


@settings(max_examples=25)
@given(
    budget=st.integers(10, 400),
    setups=st.lists(st.sampled_from([0, 5, 40]), min_size=3, max_size=3),
    fee=st.sampled_from([0, "0.5", 3]),
    seed=st.integers(0, 3),
)
def test_fees_are_paid_once_and_the_budget_holds(budget, setups, fee, seed):
    rows, oracle, *_ = synthetic(per_class=15, test_per_class=1, angles=[10, 50, 90])
    bundle = {"bundle": "visit", "bundle_fee": fee} if fee else {}
    costs = [
        CandidateCost("1.5", setups[0], **bundle),
        CandidateCost(1, setups[1], **bundle),
        CandidateCost(2, setups[2]),
    ]
    priced = ArrayOracle(
        {name: oracle.query(name, np.arange(45)) for name in oracle.names}, dict(zip(oracle.names, costs, strict=True))
    )
    model = ExMLClassifier(budget=budget, explore="always", model="kernel", random_state=seed)
    if refusal := catch_error(model, rows, priced):
        assert "smallest budget that works" in refusal or "exceeds the budget" in refusal
        return
    assert recount(model.purchases_, oracle.names, costs) == model.ledger_.spent <= budget
    # Planted: without the fees that were paid the count is less.
    plain = recount(model.purchases_, oracle.names, [Fraction(cost) for cost in costs])
    assert (plain < model.ledger_.spent) == bool(model.ledger_.pulls[0][3:].any())


def test_an_expensive_set_up_is_paid_only_where_it_is_worth_it():
    """The best candidate costs nothing to set up, or far more than the budget leaves."""
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 90])
    values = {name: oracle.query(name, np.arange(180)) for name in oracle.names}
    bought = {}
    for setup in (0, 140):
        priced = ArrayOracle(values, {"90°": CandidateCost(1, setup=setup)})
        model = ExMLClassifier(budget=150, explore="always", model="kernel").fit(rows.X, rows.y, priced)
        bought[setup] = set(model.selected_), int(model.ledger_.pulls[0][1])
    assert bought[0][0] == {"90°"}
    assert bought[140] == ({"10°"}, 0)


def test_wrong_fees_are_one_line():
    rows, oracle, *_ = synthetic(per_class=20, angles=[10, 90])
    values = {name: oracle.query(name, np.arange(60)) for name in oracle.names}
    wrong = ArrayOracle(values, {"10°": CandidateCost(1, setup=500)})
    with pytest.raises(ValueError, match="the fee of set-up of 10°, 500, exceeds the budget of 100: leave"):
        ExMLClassifier(budget=100, explore="always").fit(rows.X, rows.y, wrong)
    fair = ArrayOracle(values, {"10°": CandidateCost(1, setup=5)})
    with pytest.raises(ValueError, match="need the default strategy"):
        ExMLClassifier.paper(budget=100, explore="always").fit(rows.X, rows.y, fair)
    for fees, message in [
        ({"setup": -1}, "fees must not be negative, got -1 and 0"),
        ({"bundle": "visit"}, "a bundle has a name and a fee above 0, got 'visit' and 0"),
        ({"bundle_fee": 3}, "a bundle has a name and a fee above 0, got '' and 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            CandidateCost(1, **fees)
    two = [CandidateCost(1, bundle="visit", bundle_fee=fee) for fee in (2, 3)]
    with pytest.raises(ValueError, match="bundle 'visit' must have one fee, got 2 and 3"):
        Tariff(("a", "b"), two)


def explore_in_laboratory(budget, names, journal, laboratory, rows, **options):
    """Run to the end in a laboratory; return the run and the values that were asked for."""
    model = ExMLClassifier(budget=budget, explore="always", model="kernel")
    run, asked = AskTell(model, rows.X, rows.y, dict.fromkeys(names, 1), journal=journal, **options), []
    while request := run.ask():
        asked += [(name, int(row)) for name, places in request.rows.items() for row in places]
        run.tell({name: laboratory[name][places] for name, places in request.rows.items()})
    return run, asked


def test_a_finished_purchase_is_topped_up_and_a_candidate_added(tmp_path):
    """All values are kept, nothing is asked for twice, and the budget counts what was spent before."""
    rows, oracle, *_ = synthetic(per_class=50, angles=[10, 30, 90])
    laboratory = {name: oracle.query(name, np.arange(150)) for name in oracle.names}
    low, mid, high = oracle.names
    path = tmp_path / "j"
    first, asked = explore_in_laboratory(60, (low, mid), path, laboratory, rows)
    before = dict(first.journal.values)
    more, further = explore_in_laboratory(110, (low, mid), path, laboratory, rows, top_up=True)
    assert len(asked) == first.model.ledger_.spent == 60
    assert not set(asked) & set(further)
    assert len(further) == 50
    assert more.model.ledger_.spent == 110
    # The same again buys nothing, and a run that was killed in the middle goes on.
    assert explore_in_laboratory(110, (low, mid), path, laboratory, rows, top_up=True)[1] == []
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-20]))
    again, rest = explore_in_laboratory(110, (low, mid), path, laboratory, rows, top_up=True)
    assert len(rest) == 20
    assert again.model.ledger_.to_csv() == more.model.ledger_.to_csv()
    added, new = explore_in_laboratory(220, (low, mid, high), path, laboratory, rows, top_up=True)
    assert added.model.selected_ == (high,)
    assert added.model.ledger_.spent == 220 == 110 + len(new)
    assert before.items() <= added.journal.values.items()
    for budget, names, message in [
        (230, (low, high), f"candidate '{mid}' of .* must be kept"),
        (200, (low, mid, high), "values for 220 are bought already: a budget to continue must be larger, got 200"),
    ]:
        with pytest.raises(ValueError, match=message):
            explore_in_laboratory(budget, names, path, laboratory, rows, top_up=True)
    # Old purchases are not priced anew; a candidate that was never bought may become cheaper.
    path.write_bytes(b"".join(lines))

    def continue_at(**costs):
        prices = {low: 1, mid: "1.0", **{oracle.names[int(at[1])]: cost for at, cost in costs.items()}}
        model = ExMLClassifier(budget=300, explore="always", model="kernel")
        return AskTell(model, rows.X, rows.y, prices, journal=path, top_up=True)

    for cost, described in [
        ("0.5", "cost 0.5"),
        (CandidateCost(1, setup=3), "cost 1 with set-up fee 3"),
        (CandidateCost(1, 3, "visit", 2), "cost 1 with set-up fee 3 and bundle 'visit' for 2"),
    ]:
        with pytest.raises(ValueError, match=f"{mid!r} of .* was bought at cost 1, got {described}: keep the cost"):
            continue_at(c1=cost)
    assert continue_at(c2=CandidateCost(2, setup=1)).ask()
    rows = SimpleNamespace(X=rows.X + 1.0, y=rows.y)
    with pytest.raises(ValueError, match="a run with another table"):
        explore_in_laboratory(500, (low, mid, high), path, laboratory, rows, top_up=True)
