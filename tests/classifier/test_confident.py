"""Statements about a purchase, and purchases that stop when they are confident."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit.selection_report import FEWEST_ROWS
from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput
from exml_sim.classifier._bought_arms import OraclePool
from exml_sim.classifier._probability_models import brier, normalise, one_hot
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.classifier.report import layers_to_dict
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import by_name
from tests.classifier.tasks import Recording, synthetic


def signal_task(seed=0, rows=240):
    """One candidate that knows the label, two that know nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    values = {"noise": rng.normal(size=rows), "signal": 4.0 * y + rng.normal(size=rows), "more": rng.normal(size=rows)}
    return rng.normal(size=(rows, 2)), y, ArrayOracle(values)


def test_the_default_purchase_reports_its_confidence():
    X, y, oracle = signal_task()
    model = ExMLClassifier(budget_ratio=0.4, model="kernel").fit(X, y, oracle)
    report = model.records_[1].selection.report
    assert model.selected_ == ("signal",)
    assert report.selected == "signal"
    assert {comparison.name for comparison in report.comparisons} == {"noise", "more"}
    # The subset selection was clear after so few rows that there is no limit yet, and the report warns.
    assert max(comparison.rows for comparison in report.comparisons) < FEWEST_ROWS
    assert sorted(report.cannot_be_excluded) == ["more", "noise", "signal"]
    assert "2 of the 2 other candidates cannot be excluded" in report.sentence()
    assert sum(line.endswith("| cannot be excluded |") for line in model.report().splitlines()) == 2
    assert report.rows_left == 240 - max(comparison.rows for comparison in report.comparisons)
    assert report.sentence() in model.report()
    assert (
        "| against signal | difference | at least, with 95 % (approximate) | proven at least | rows | |"
        in model.report()
    )
    plain = json.loads(json.dumps(layers_to_dict(model.records_, model.ledger_.names)))[1]
    assert plain["statement"]["sentence"] == report.sentence()
    low, high = plain["looks"][0][0]["interval"]
    assert low < plain["looks"][0][0]["loss"] < high
    pickle.loads(pickle.dumps(model))


def test_the_pairs_are_held_out_losses_on_common_rows():
    """Slow path: the losses of the statement, computed again from the table."""
    X, y, oracle = signal_task()
    model = ExMLClassifier(budget_ratio=0.4, model="kernel").fit(X, y, oracle)
    subsets = model.records_[1].selection.subsets
    names = model.ledger_.names
    rows = list(model.purchases_[0].rows)
    for pair in subsets.pairs:
        assert pair.rows == subsets.rounds[0].subsets[0].rows == len(rows)
    # Without a first layer's probabilities the losses are those of the kernel alone.
    base = LayerInput(X, y, 2, np.array(rows), 2)
    buyer = AcquisitionManager(oracle, len(y), 1000)
    pool = OraclePool(buyer, [0, 1], base, 0.2, ModelOptions(), fit=KernelFitter())
    report = pool.explore("uniform_allocation", 2 * len(rows)).report()
    losses = {}
    for name in names[:2]:
        points = np.hstack([X[rows], oracle.query(name, rows)])
        losses[name] = brier(normalise(KernelFitter()(points, one_hot(y[rows], 2))[1]), y[rows])
    assert report.selected == "signal"
    assert report.comparisons[0].difference == pytest.approx(float((losses["noise"] - losses["signal"]).mean()))


def test_enough_rows_are_bet_on():
    X, y, oracle = signal_task(rows=120)
    model = ExMLClassifier(budget_ratio=1, model="kernel").fit(X, y, oracle)
    report = model.records_[1].selection.report
    assert report.proven_worse
    assert "models fitted to earlier rows predict" in report.proof
    limits = [comparison for comparison in report.comparisons if comparison.proven_at_least is not None]
    assert all(0.0 < comparison.proven_at_least < comparison.difference for comparison in limits)


def test_a_strategy_stops_when_it_is_confident_and_the_rest_buys_rows_of_the_winner():
    X, y, oracle = signal_task()
    record = Recording(oracle)
    chosen = by_name("successive_elimination", first_pulls=20, growth=0.25)
    model = ExMLClassifier(budget_ratio=1, strategy=chosen, model="kernel").fit(X, y, record)
    selection = model.records_[1].selection
    assert model.selected_ == ("signal",)
    assert selection.exploration.confident
    assert selection.exploration.comparison_data is None
    assert selection.exploration.ledger.spent < Fraction(720, 2)
    assert selection.validation_rows > 0
    assert model.ledger_.spent == len(record.asked)
    assert selection.report.cannot_be_excluded == ("signal",)


def test_training_losses_have_intervals_and_a_statement_too():
    rows, oracle, *_ = synthetic(per_class=40, test_per_class=1, angles=[10, 90])
    model = ExMLClassifier.paper(budget=100).fit(rows.X, rows.y, oracle)
    record = model.records_[1]
    assert len(record.selection.intervals) == 2
    assert all(low < high for low, high in record.selection.intervals)
    assert "groups of" in record.selection.report.method
    assert f"{record.selection.intervals[0][0]:.3f} to {record.selection.intervals[0][1]:.3f}" in model.report()


def test_training_losses_have_no_evidence():
    rng = np.random.default_rng(0)
    buyer = AcquisitionManager(ArrayOracle({"a": rng.normal(size=40), "b": rng.normal(size=40)}), 40, 80)
    base = LayerInput(rng.normal(size=(40, 2)), rng.integers(0, 2, 40), 2, rng.permutation(40), 2)
    with pytest.raises(ValueError, match="candidate_score must be 'held_out'"):
        OraclePool(buyer, [0, 1], base, 0.2, ModelOptions()).explore("successive_elimination", 80)
    assert buyer.ledger.spent == 0
