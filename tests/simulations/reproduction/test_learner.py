"""The fast path on distance matrices against `ExMLClassifier`, run by run, and the task's matrices against kernels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim import ExMLClassifier, kernels
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import MedianElimination, UniformAllocation
from simulations.reproduction._learner import Learner, Predicted
from simulations.reproduction._sources import HIDDEN, Task

GROUPS = ("seen", "good", "noise", "fair")
COSTS = {"good": Fraction(5), "noise": Fraction("0.9"), "fair": Fraction("1.2")}


def rows(n: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three classes: `seen` hides the third between the others, `good` shows it, `fair` half shows it."""
    classes = rng.integers(0, 3, size=n)
    side = np.array([-1.0, 1.0, 0.0])[classes]
    values = {
        "seen": np.column_stack([0.6 * side, rng.standard_normal(n)]) + 0.5 * rng.standard_normal((n, 2)),
        "good": (2.0 * side + 0.4 * rng.standard_normal(n))[:, None],
        "noise": rng.standard_normal((n, 3)),
        "fair": (1.5 * side + rng.standard_normal(n))[:, None],
    }
    return values, classes


@pytest.fixture(scope="module")
def data() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    train, classes = rows(150, rng)
    test, truth = rows(120, rng)
    y = np.where(classes == HIDDEN, rng.integers(0, 2, size=len(classes)), classes)
    return train, test, y, truth


@pytest.fixture(scope="module")
def task(data) -> Task:
    train, test, y, truth = data
    return Task.of(train, test, y, truth, {"seen": Fraction(1), **COSTS})


def learner(task: Task, test_labels: bool, C: float = 0.3) -> Learner:
    options = ModelOptions(C_h=C, C_g=C, scaling="none")
    return Learner(task, "seen", GROUPS[1:], options, test_labels, np.random.default_rng(7))


def classifier(strategy: object, theta: object, C: float = 0.3) -> ExMLClassifier:
    return ExMLClassifier.paper(
        budget_ratio="0.25",
        strategy=strategy,
        theta=theta,
        C_h=C,
        C_g=C,
        scaling="none",
        explore="always",
        hidden_label=HIDDEN,
        random_state=7,
    )


STRATEGIES = [
    MedianElimination(),
    MedianElimination(alignment="budget"),
    UniformAllocation(),
    UniformAllocation(alignment="budget"),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_automatic_run_is_that_of_the_classifier(data, task, strategy):
    train, test, y, _ = data
    fast = learner(task, test_labels=False)
    (result,) = fast.explore(strategy, Fraction(1, 4))
    oracle = ArrayOracle({name: train[name] for name in GROUPS[1:]}, COSTS)
    slow = classifier(strategy, "auto").fit(train["seen"], y, oracle)
    values = {name: test[name] for name in GROUPS[1:]}
    assert fast.initial_theta == slow.records_[0].theta
    assert (result.selected,) == slow.selected_
    assert result.cascade_theta == slow.records_[1].theta
    assert result.spent == slow.ledger_.spent
    assert list(result.pulls.values()) == slow.bought_.sum(axis=1).tolist()
    assert np.array_equal(fast.initial.then(result.behind).labels(), slow.predict(test["seen"], values))
    slow.set_params(cascade=False).fit(train["seen"], y, oracle)
    assert result.theta == slow.records_[1].theta
    assert np.array_equal(result.predicted.labels(), slow.predict(test["seen"], values))


def test_runs_with_test_labels_are_those_of_the_classifier(data, task):
    train, test, y, truth = data
    fast = learner(task, test_labels=True)
    result = fast.explore(MedianElimination(), Fraction(1, 4))
    oracle = ArrayOracle({name: train[name] for name in GROUPS[1:]}, COSTS)
    values = {name: test[name] for name in GROUPS[1:]}
    for run in result:
        slow = classifier(MedianElimination(), run.theta).fit(train["seen"], y, oracle)
        assert fast.initial.then(run.behind).accuracy(task) == slow.score(test["seen"], truth, values)


def test_supervised_learning_is_the_initial_layer_with_another_theta(task):
    tried = dict(learner(task, test_labels=True).supervised())
    assert sorted(tried) == [0.1, 0.2, 0.3, 0.4]
    # A more expensive rejection accepts more.
    shares = [tried[theta].accepted.mean() for theta in sorted(tried)]
    assert shares == sorted(shares)


def test_distances_of_groups_add_up(data, task):
    train, test, _, _ = data
    result = np.array([3, 1, 40, 77, 149, 12])
    joined = np.hstack([train["seen"], train["good"]])[result]
    gram, gamma = task.gram(("seen", "good"), result)
    assert gamma == pytest.approx(kernels.median_gamma(joined))
    assert gram == pytest.approx(kernels.gram(joined))
    points = np.hstack([test["seen"], test["good"]])
    expected = kernels.gaussian(points, joined, gamma=gamma)
    assert task.cross(("seen", "good"), result, gamma) == pytest.approx(expected)


def test_the_bandwidth_of_equal_rows_is_one():
    same = {"a": np.ones((4, 2))}
    task = Task.of(same, same, np.array([0, 1, 0, 1]), np.array([0, 1, 2, 2]))
    assert task.gram(("a",), np.arange(4))[1] == task.gram(("a",), np.array([2]))[1] == 1.0


def test_the_cascade_gains_what_it_rescues_and_loses_what_it_takes_for_known(task):
    result = learner(task, test_labels=True)
    for entry in result.explore(UniformAllocation(), Fraction(1, 4)):
        run = entry.record(result.initial, task)
        gain = (run["rescued"] - run["lost"]) / len(task.truth)
        assert run["cascaded"] - result.initial.accuracy(task) == pytest.approx(gain)


def test_a_cascade_asks_the_second_layer_only_where_the_first_gives_up():
    first = Predicted(np.array([0, 0, 1]), np.array([True, False, False]))
    second = Predicted(np.array([1, 1, 0]), np.array([True, True, False]))
    assert first.then(second).labels().tolist() == [0, 1, HIDDEN]


def test_values_must_be_paid_for(task):
    """The session reads rows through the buyer, which refuses what was not bought."""
    from exml_sim.bandit.ledger import Ledger
    from exml_sim.classifier._acquisition import LayerInput
    from simulations.reproduction import _learner as room

    result = learner(task, test_labels=True)
    buyer = room._buyer(task, result.candidates, Fraction(1, 4))
    assert isinstance(buyer.ledger, Ledger)
    base = LayerInput(np.zeros((len(task.y), 1)), task.y, 2, np.arange(len(task.y)), 2)
    pool = room._DistancePool(result._pair_gram, buyer, base, result._options, 0.2)
    from exml_sim.seeds import as_seeds

    session = pool.open(as_seeds(0))
    with pytest.raises(ValueError, match="has not been bought"):
        session._gram(0, np.array([0, 1, 2]))
