"""Tasks that the explorer's tests share."""

import numpy as np

from exml_sim.datasets import load_mfeat, make_synthetic
from exml_sim.datasets.mfeat import VIEWS
from exml_sim.oracle import ArrayOracle


def synthetic(seed=0, per_class=100, test_per_class=300, **options):
    """Training rows with an oracle, and test rows with the truth (hidden is 3), of Section 5.1."""
    train, test = (
        make_synthetic(per_class, rng=seed, **options),
        make_synthetic(test_per_class, rng=1000 + seed, **options),
    )
    truth = np.where(test.classes == 1, -1, np.where(test.classes == 2, 1, 3))
    costs = dict(zip(train.names, train.costs, strict=True))
    oracle = ArrayOracle({c.name: c.values for c in train.candidates}, costs)
    return train, oracle, test, truth, {c.name: c.values for c in test.candidates}


def clean(seed=0, rows=200):
    """Two classes that the observed features tell apart, and two candidates nobody needs."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], rows // 2)
    X = rng.normal(size=(rows, 2)) + 8.0 * y[:, None]
    return X, y, ArrayOracle({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})


def mfeat(view, known, seed=0, train=400):
    """Digits: `known` classes of two digits each, two more digits hidden and mislabelled by a fair die."""
    data = load_mfeat()
    rng = np.random.default_rng(seed)
    digits = rng.permutation(10)[: 2 * known + 2]
    classes = np.full(len(data.y), -1)
    for k in range(known + 1):
        classes[np.isin(data.y, digits[2 * k : 2 * k + 2])] = k
    rows = rng.permutation(np.flatnonzero(classes >= 0))
    learn, check = rows[:train], rows[train:]
    y = np.where(classes == known, rng.integers(0, known, len(classes)), classes)
    others = [name for name in VIEWS if name != view]
    oracle = ArrayOracle({name: data.views[name][learn] for name in others})
    values = {name: data.views[name][check] for name in others}
    return (data.views[view][learn], y[learn], oracle), (data.views[view][check], classes[check], values)


class Recording:
    """An oracle that remembers every value it was asked for."""

    def __init__(self, oracle):
        self._oracle = oracle
        self.names, self.costs = oracle.names, oracle.costs
        self.asked = []

    def query(self, candidate, rows):
        self.asked += [(candidate, int(row)) for row in rows]
        return self._oracle.query(candidate, rows)


def catch_error(model, rows, oracle):
    """Fit a model; return the message of the error, or nothing."""
    try:
        model.fit(rows.X, rows.y, oracle)
    except ValueError as error:
        return str(error)
    return ""


def soft_rows(n=40, seed=0):
    """Rows of three classes, and their targets."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + y[:, None], np.eye(3)[y]
