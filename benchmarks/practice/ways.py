"""Ways to spend the money: the defaults, the paper's preset, and what a person would do without this package.

A way gets a situation and a seed and returns the accuracy on test rows, of which the hidden class is one. All naive
ways get the gate that suits the fair die, which is the best that a person could guess: a row is called hidden if the
largest probability is below (1 + 1/C)/2, three quarters for two known classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.practice.situations import Situation
from benchmarks.practice.tables import FloatArray, IntArray
from exml_sim import ExMLClassifier
from exml_sim.oracle import ArrayOracle

Way = Callable[[Situation, int], float]

#: Prefix of the ways that put all money on one candidate.
ONE = "only "


def _bought(task: Situation, names: Sequence[str], seed: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """As many random rows with these candidates as the money buys, their labels, and the test rows."""
    price = sum(task.costs[name] for name in names)
    count = min(len(task.y), int(task.budget / price)) if names else len(task.y)
    rows = np.random.default_rng([seed, 1]).permutation(len(task.y))[:count]
    train = np.hstack([task.X, *(task.candidates[name] for name in names)])[rows]
    return train, task.y[rows], np.hstack([task.X_test, *(task.test[name] for name in names)])


def gated(model: Any, task: Situation, names: Sequence[str], seed: int, gate: bool = True) -> float:
    """A scikit-learn classifier behind a fixed confidence threshold."""
    train, y, test = _bought(task, names, seed)
    if len(np.unique(y)) == 1:
        # So few rows that all carry one label: what else could be said?
        return float(np.mean(task.truth == y[0]))
    found = model.fit(train, y)
    likely = found.predict_proba(test)
    called = found.classes_[likely.argmax(axis=1)]
    floor = (1.0 + 1.0 / task.known) / 2.0 if gate else 0.0
    return float(np.mean(np.where(likely.max(axis=1) >= floor, called, task.known) == task.truth))


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(200, random_state=seed)


def forest_all(task: Situation, seed: int) -> float:
    """All candidates for fewer rows: random forest."""
    return gated(_forest(seed), task, tuple(task.candidates), seed)


def forest_ungated(task: Situation, seed: int) -> float:
    """All candidates for fewer rows: a random forest that knows of no hidden class."""
    return gated(_forest(seed), task, tuple(task.candidates), seed, False)


def boosting_all(task: Situation, seed: int) -> float:
    """All candidates for fewer rows: gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return gated(
        HistGradientBoostingClassifier(min_samples_leaf=5, random_state=seed), task, tuple(task.candidates), seed
    )


def forest_observed(task: Situation, seed: int) -> float:
    """Buy nothing: random forest on the observed columns of all rows."""
    return gated(_forest(seed), task, (), seed)


def logistic_all(task: Situation, seed: int) -> float:
    """All candidates for fewer rows: logistic regression that knows of no hidden class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return gated(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)), task, tuple(task.candidates), seed, False
    )


def explored(task: Situation, seed: int, names: Sequence[str] = (), **options: Any) -> float:
    """ExMLClassifier on some candidates (all by default)."""
    chosen = tuple(names) or tuple(task.candidates)
    oracle = ArrayOracle({n: task.candidates[n] for n in chosen}, {n: task.costs[n] for n in chosen})
    model = ExMLClassifier(budget=task.budget, hidden_label=task.known, random_state=seed, **options)
    model.fit(task.X, task.y, oracle)
    return float(model.score(task.X_test, task.truth, {n: task.test[n] for n in chosen}))


def paper(task: Situation, seed: int) -> float:
    """The paper's method as it is."""
    model = ExMLClassifier.paper(budget=task.budget, hidden_label=task.known, random_state=seed)
    model.fit(task.X, task.y, task.oracle)
    return float(model.score(task.X_test, task.truth, task.test))


#: What a person would do without this package, the random candidate aside.
NAIVE: dict[str, Way] = {
    "forest, all candidates": forest_all,
    "boosting, all candidates": boosting_all,
    "forest, observed only": forest_observed,
    "logistic, all candidates": logistic_all,
}

#: The defaults with one part taken away or replaced.
ABLATIONS: dict[str, dict[str, Any]] = {
    "median elimination": {"strategy": "median_elimination"},
    "one candidate": {"top": 1},
    "rejection model": {"model": "rejection"},
    "forest model": {"model": "forest"},
    "kernel model": {"model": "kernel"},
    "fair die": {"label_noise": "uniform"},
}


def ways(task: Situation, ablate: bool = False) -> dict[str, Way]:
    """All ways by name."""
    found: dict[str, Way] = {"defaults": lambda t, s: explored(t, s), "paper": paper, **NAIVE}
    for name in task.candidates:
        found[ONE + name] = lambda t, s, n=name: explored(t, s, (n,))  # type: ignore[misc]
    if ablate:
        for label, options in ABLATIONS.items():
            found[f"without: {label}"] = lambda t, s, o=options: explored(t, s, **o)  # type: ignore[misc]
    return found
