"""No unpaid value is ever read: what was not bought may be anything, and the result is the same to the last bit."""

import numpy as np
import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier import _bought_arms as bought_arms
from exml_sim.money import exact
from exml_sim.oracle import ArrayOracle, CallableOracle
from tests.classifier.tasks import Recording, synthetic

RUNS = [
    {"strategy": "median_elimination"},
    {"strategy": "uniform_allocation", "alignment": "budget"},
    {"strategy": "successive_accepts_rejects", "max_candidates": 2},
    {"strategy": "top_two", "theta": 0.3},
    {"max_stages": 3, "tolerated_rejection": 0.0},
]


def fitted(oracle, rows, **options):
    return ExMLClassifier.paper(budget=200, random_state=1, **options).fit(rows.X, rows.y, oracle)


def poisoned(oracle, bought, poison):
    """The same oracle, except that every value that was not bought is replaced."""
    return ArrayOracle(
        {
            name: np.where(paid[:, None], oracle.query(name, np.arange(len(paid))), poison(len(paid)))
            for name, paid in zip(oracle.names, bought, strict=True)
        },
        dict(zip(oracle.names, oracle.costs, strict=True)),
    )


def assert_same(first, second):
    assert first.selected_ == second.selected_
    assert first.ledger_.to_csv() == second.ledger_.to_csv()
    assert len(first.cascade_.layers) == len(second.cascade_.layers)
    for entry, other in zip(first.cascade_.layers, second.cascade_.layers, strict=True):
        np.testing.assert_array_equal(entry.model.anchors, other.model.anchors)
        np.testing.assert_array_equal(entry.model.u, other.model.u)
        np.testing.assert_array_equal(entry.model.w, other.model.w)
        assert entry.model.theta == other.model.theta


@pytest.mark.parametrize("options", RUNS, ids=lambda o: ", ".join(map(str, o.values())))
def test_unpaid_values_do_not_matter(options):
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90], costs=["1", "0.95", "1.2", "2"])
    record = Recording(oracle)
    first = fitted(record, rows, **options)
    # Every question is in the ledger, no question was asked twice, and all were paid for.
    assert len(record.asked) == len(set(record.asked)) == first.ledger_.pulls.sum()
    prices = dict(zip(oracle.names, oracle.costs, strict=True))
    assert sum(prices[name] for name, _ in record.asked) == first.ledger_.spent <= exact(200)
    assert {(p.candidate, int(row)) for p in first.purchases_ for row in p.rows} == set(record.asked)
    assert 0 < len(record.asked) < 4 * 180
    rng = np.random.default_rng(0)
    for poison in (lambda n: np.full((n, 1), 1e6), lambda n: rng.normal(size=(n, 1))):
        assert_same(first, fitted(CallableOracle_of(poisoned(oracle, first.bought_, poison)), rows, **options))


def CallableOracle_of(oracle):
    """Without `available`, which a NaN pattern could otherwise change."""
    functions = {name: (lambda rows, name=name: oracle.query(name, rows)) for name in oracle.names}
    return CallableOracle(functions, dict(zip(oracle.names, oracle.costs, strict=True)))


def test_a_peeking_learner_is_caught(monkeypatch):
    """Planted error: scale and bandwidth from the whole column instead of the bought rows."""
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90])

    def peek(self, i, bought):
        values = self._acquisition._oracle.query(
            self._acquisition.names[self._arms[i]], np.arange(self._acquisition.n_rows)
        )
        frame = bought_arms.Frame.of(np.hstack([self._data.X, values]), self._options)
        points = frame.points(np.hstack([self._data.X[bought], values[bought]]))
        return frame.cross(points)

    monkeypatch.setattr(bought_arms.OracleArms, "_gram", peek)
    record = Recording(oracle)
    first = fitted(record, rows)
    assert len(record.asked) > first.ledger_.pulls.sum()
    bad = poisoned(oracle, first.bought_, lambda n: np.full((n, 1), 1e6))
    second = fitted(bad, rows)
    scores = [[r.scores.tolist() for r in model.records_[1].selection.exploration.rounds] for model in (first, second)]
    assert scores[0] != scores[1]


class Remembering(Recording):
    """Answers from memory what it was asked before, and breaks down once after some questions."""

    def __init__(self, oracle, breaks_after):
        super().__init__(oracle)
        self.left = breaks_after
        self.memory = {}

    def query(self, candidate, rows):
        if self.left == 0:
            self.left = None
            raise ConnectionError
        self.left = None if self.left is None else self.left - 1
        new = [row for row in rows if (candidate, row) not in self.memory]
        if new:
            answers = super().query(candidate, np.array(new))
            self.memory |= {(candidate, row): answer for row, answer in zip(new, answers, strict=True)}
        return np.array([self.memory[candidate, row] for row in rows])


def test_an_interrupted_run_resumes_with_an_oracle_that_remembers():
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90])
    weak = Remembering(oracle, breaks_after=5)
    with pytest.raises(ConnectionError):
        fitted(weak, rows)
    asked_before = len(weak.asked)
    second = fitted(weak, rows)
    assert 0 < asked_before < len(weak.asked) == second.ledger_.pulls.sum()
    assert_same(second, fitted(oracle, rows))
