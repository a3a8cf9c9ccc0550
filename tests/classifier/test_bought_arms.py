"""Buying in rounds from an oracle: rows, fresh rounds, and scores against independent paths."""

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput
from exml_sim.classifier._bought_arms import OraclePool, mean_certificate
from exml_sim.classifier._rejection_model import Frame, ModelOptions
from exml_sim.money import Prices
from exml_sim.rejection import solve
from exml_sim.seeds import Seeds
from exml_sim.strategies import MedianElimination
from tests.classifier.tasks import synthetic


def pool_on(rows, oracle, budget=300, options=None, score="risk", n_classes=2, y=None, theta=0.3):
    buyer = AcquisitionManager(oracle, rows.n_rows, budget)
    order = np.random.default_rng(0).permutation(rows.n_rows)
    codes = (rows.y > 0).astype(int) if y is None else y
    options = options or ModelOptions(C_h=0.1, C_g=0.1)
    base = LayerInput(rows.X, codes, n_classes, order, 2)
    return buyer, order, OraclePool(buyer, range(len(oracle.names)), base, theta, options, score)


def test_arms_buy_prefixes_of_one_order():
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 90], costs=["1", "2", "0.5"])
    buyer, order, pool = pool_on(rows, oracle)
    result = pool.explore(MedianElimination(alignment="budget"), 100)
    for arm in range(3):
        n = int(buyer.ledger.pulls[0, arm])
        assert set(order[:n]) == set(np.flatnonzero(buyer.bought[arm]))
    assert result.ledger.pulls.tolist() == buyer.ledger.pulls.tolist()
    np.testing.assert_array_equal(result.counts, buyer.bought)


class Laboratory:
    """Counts what is asked for; of the first candidate few rows can be had."""

    def __init__(self, rows, few):
        self.names, self.costs = tuple(candidate.name for candidate in rows.candidates), (1,) * len(rows.candidates)
        self._values = {candidate.name: candidate.values for candidate in rows.candidates}
        self._few, self._rows, self.asked = few, rows, 0

    def available(self, name):
        return np.arange(self._rows.n_rows) < (self._few if name == self.names[0] else self._rows.n_rows)

    def query(self, name, rows):
        self.asked += len(rows)
        return self._values[name][rows]


def test_fresh_rounds_that_would_run_out_of_rows_are_refused_before_anything_is_bought():
    rows, *_ = synthetic(per_class=40, angles=[20, 50, 70, 90])
    rule = MedianElimination(accumulate=False)
    reach = rule.reach(Fraction(160) * Fraction(9, 10), Prices.of([1] * 4))
    assert reach == 18
    for few in (1, reach):
        laboratory = Laboratory(rows, few)
        model = ExMLClassifier(budget=160, strategy=rule, random_state=0)
        with pytest.raises(
            ValueError, match=f"has {few} rows?, and median elimination with fresh rows reads up to 18 "
        ):
            model.fit(rows.X, rows.y, laboratory)
        assert laboratory.asked == 0
    _, _, pool = pool_on(rows, Laboratory(rows, reach + 1))
    assert pool.explore(rule, Fraction(160) * Fraction(9, 10)).ledger.spent > 0


def test_fresh_rounds_share_no_row():
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 70, 90])
    buyer, _, pool = pool_on(rows, oracle)
    result = pool.explore(MedianElimination(accumulate=False), 160)
    first, second = ({int(r) for p in buyer.purchases if p.number == k for r in p.rows} for k in (1, 2))
    assert len(first) == 20
    assert not first & second
    # The second round is scored on its own rows alone.
    arm = result.selected
    second_rows = np.array(sorted(second))
    frame = Frame.of(np.hstack([rows.X, buyer._values[arm]])[second_rows], ModelOptions())
    points = frame.points(np.hstack([rows.X, buyer._values[arm]])[second_rows])
    slow = solve(frame.cross(points), rows.y[second_rows], 0.3, penalty=(0.1, 0.1))
    assert result.rounds[1].lower[arm] - 1e-9 <= slow.risk <= result.rounds[1].upper[arm] + 1e-9


@pytest.mark.parametrize("score", ["risk", "objective"])
def test_scores_are_those_of_the_simulations(score):
    """With a fixed bandwidth a purchase is a vector of counts: the simulations' own arm gives the same score."""
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 70, 90])
    options = ModelOptions(gamma=5.0, scaling="none", C_h=0.1, C_g=0.1)
    buyer, _, pool = pool_on(rows, oracle, options=options, score=score)
    session = pool.open(Seeds.of(0))
    pulls = np.array([[10, 20, 30, 40]])
    session.pull(pulls, False, lambda pulled, due: buyer.ledger.buy(due))
    everyone = np.ones((1, 4), dtype=bool)
    result = session.score(everyone, False, session.levels - 1)
    peer = FeaturePool(rows, theta=0.3, score=score, penalty=(0.1, 0.1), gamma=5.0)
    for arm in range(4):
        value = peer.arms[arm].score(buyer.bought[arm][None].astype(np.int32))[0]
        assert result.value[0, arm] == pytest.approx(value[0], abs=1e-8)
    assert buyer.ledger.spent == 100


def test_many_classes_score_by_the_mean_of_one_against_the_rest():
    rows, oracle, *_ = synthetic(per_class=20, angles=[10, 90])
    y = rows.classes - 1
    buyer, _, pool = pool_on(rows, oracle, score="objective", n_classes=3, y=y)
    session = pool.open(Seeds.of(0))
    session.pull(np.array([[30, 30]]), False, lambda pulled, due: buyer.ledger.buy(due))
    result = session.score(np.ones((1, 2), dtype=bool), False, session.levels - 1)
    bought = np.flatnonzero(buyer.bought[1])
    points = np.hstack([rows.X[bought], buyer.values(1, bought)])
    frame = Frame.of(points, ModelOptions())
    gram = frame.cross(frame.points(points))
    slow = [solve(gram, np.where(y[bought] == c, 1, -1), 0.3, penalty=(0.1, 0.1)).objective / 30 for c in range(3)]
    assert result.value[0, 1] == pytest.approx(np.mean(slow), abs=1e-8)
    parts = [(np.array([1.0]), np.array([0.5]), np.array([2.0])), (np.array([3.0]), np.array([2.5]), np.array([3.0]))]
    assert mean_certificate(parts) == (2.0, 1.5, 2.5)


def test_bad_use_of_a_trial_is_refused():
    rows, oracle, *_ = synthetic(per_class=20, angles=[10, 90])
    buyer, _, pool = pool_on(rows, oracle)
    with pytest.raises(ValueError, match="bought once"):
        pool.open(Seeds.of(0, range(2)))
    session = pool.open(Seeds.of(0))
    with pytest.raises(ValueError, match="4 values of candidate '10°' were asked for, 3 are paid for"):
        session.pull(np.array([[4, 5]]), False, lambda pulled, due: buyer.ledger.buy([[3, 5]]))
    assert not buyer.bought.any()
    buyer, _, pool = pool_on(rows, oracle)
    session = pool.open(Seeds.of(0))
    session.pull(np.array([[5, 0]]), False, lambda pulled, due: buyer.ledger.buy(due))
    with pytest.raises(ValueError, match="no row of candidate '90°' could be bought"):
        session.score(np.ones((1, 2), dtype=bool), False, 0)


def test_a_trial_pays_from_the_ledger_of_its_run():
    """One ledger: rounds, shares and left-overs of the trial are lines of the run's ledger."""
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 50, 90], costs=["1", "2", "0.5"])
    buyer, _, pool = pool_on(rows, oracle, budget=100)
    result = pool.explore(MedianElimination(), 60)
    assert [e for e in buyer.ledger.entries() if e.pulls or e.left_over] == result.ledger.entries()
    assert buyer.ledger.spent == result.ledger.spent <= 60
    with pytest.raises(ValueError, match="that are left"):
        buyer.ledger.window(90, [0]).buy([90])
    assert buyer.ledger.spent == result.ledger.spent


@pytest.mark.parametrize("wanted", [{-2: [0, 1]}, {0: [-1, 5]}, {0: [60]}, {2: [0]}])
def test_no_candidate_and_no_row_has_two_names(wanted):
    rows, oracle, *_ = synthetic(per_class=20, angles=[10, 90])
    buyer, _, _ = pool_on(rows, oracle)
    with pytest.raises(ValueError, match="there is no candidate"):
        buyer.buy({arm: np.array(which) for arm, which in wanted.items()}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 0
