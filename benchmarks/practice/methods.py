"""Methods of the benchmark: this package, and what a practitioner would build from other packages.

A method gets a situation and a seed, and predicts the test rows: a class number, the number of known classes for the
hidden class. The rivals buy complete rows of all candidates, or of the one that a pilot of 20 % of the budget prefers.
A reject option calls a row hidden if its largest probability is below a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.practice.situations import Situation
from benchmarks.practice.tables import FloatArray, IntArray
from exml_sim import ExMLClassifier
from exml_sim.classifier._acquisition import Tariff
from exml_sim.classifier.subset_selection import plan_first_round
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import ValueOfInformationCommit


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Predictions of test rows, and the best known label of each, if the method has one."""

    labels: IntArray
    known: IntArray | None = None
    fitted: Any = None


Method = Callable[[Situation, int], Prediction]

#: Name of this package's defaults, and of those of its first version.
DEFAULTS, PREVIOUS = "defaults", "previous defaults"

#: Prefixes of methods that spend all money on one candidate, and what a comparison of all leaves.
SINGLE, COMPARED = "only ", "after a comparison, only "

#: Part of the budget that a pilot spends, trees of a forest, thresholds, rounds of self-training.
PILOT, TREES, THRESHOLDS, SELF_TRAINING_ROUNDS = Fraction(1, 5), 100, np.linspace(0.4, 0.95, 12), 3


def buy_rows(
    task: Situation, names: Sequence[str], seed: int, budget: Fraction | None = None
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Buy random rows with all of the candidates; return them, their labels and the test rows."""
    cost = sum(task.costs[name] for name in names)
    count = min(len(task.y), int((task.budget if budget is None else budget) / cost))
    rows = np.random.default_rng([seed, 1]).permutation(len(task.y))[:count]
    train = np.hstack([task.X, *(task.candidates[name] for name in names)])[rows]
    return train, task.y[rows], np.hstack([task.X_test, *(task.test[name] for name in names)])


def make_forest(seed: int) -> Any:
    """Return a random forest with out-of-bag predictions."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(TREES, random_state=seed, oob_score=True)


def predict_plain(model: Any, train: FloatArray, y: IntArray, test: FloatArray, floor: float, known: int) -> Prediction:
    """Fit a classifier, and call rows hidden whose largest probability is below a threshold."""
    if len(np.unique(y)) == 1:
        labels = np.full(len(test), y[0])
        return Prediction(labels, labels)
    codes, y = np.unique(y, return_inverse=True)
    probabilities = model.fit(train, y).predict_proba(test)
    best = codes[probabilities.argmax(axis=1)]
    return Prediction(np.where(probabilities.max(axis=1) >= floor, best, known), best)


def compute_threshold(known: int) -> float:
    """Return the threshold between a sure known row and a hidden row with uniform label noise."""
    return (1.0 + 1.0 / known) / 2.0


def tune_threshold(out_of_bag: FloatArray, y: IntArray, known: int) -> float:
    """Choose the threshold with the fewest true errors, estimated from observed labels as in the paper."""
    right, top, factor = out_of_bag.argmax(axis=1) == y, out_of_bag.max(axis=1), known / (known - 1)
    errors = [
        factor * (~right & (top >= t)).sum() + (top < t).sum() - factor * (~right & (top < t)).sum() for t in THRESHOLDS
    ]
    return float(THRESHOLDS[int(np.argmin(errors))])


def finish_tuned(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Fit a forest with a reject option tuned on out-of-bag predictions."""
    import warnings

    if len(np.unique(y)) < known:
        return predict_plain(make_forest(seed), train, y, test, 0.0, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = make_forest(seed).fit(train, y)
    floor = tune_threshold(np.nan_to_num(forest.oob_decision_function_), y, known)
    probabilities = forest.predict_proba(test)
    best = probabilities.argmax(axis=1)
    return Prediction(np.where(probabilities.max(axis=1) >= floor, best, known), best)


def finish_self_training(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Make the rows that the tuned reject option rejects a class of their own, and fit again, several rounds."""
    import warnings

    targets, floor = y.copy(), None
    for _ in range(SELF_TRAINING_ROUNDS):
        codes, current = np.unique(targets, return_inverse=True)
        if len(codes) < min(known, 2):
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forest = make_forest(seed).fit(train, current)
        out_of_bag = np.zeros((len(y), known + 1))
        out_of_bag[:, codes] = np.nan_to_num(forest.oob_decision_function_)
        if floor is None:
            floor = tune_threshold(out_of_bag[:, :known], y, known)
            rejected = out_of_bag.max(axis=1) < floor
        else:
            rejected = out_of_bag.argmax(axis=1) == known
        targets = np.where(rejected, known, y)
    return predict_plain(make_forest(seed), train, targets, test, 0.0, known)


def finish_cleanlab(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Make rows with label issues, found by cleanlab, a class of their own, and fit a forest."""
    from cleanlab.filter import find_label_issues
    from sklearn.model_selection import cross_val_predict

    if np.bincount(y, minlength=known).min() < 3:
        return predict_plain(make_forest(seed), train, y, test, 0.0, known)
    probabilities = cross_val_predict(make_forest(seed), train, y, cv=3, method="predict_proba")
    issues = find_label_issues(y, probabilities, n_jobs=1)
    return predict_plain(make_forest(seed), train, np.where(issues, known, y), test, 0.0, known)


def on_all(finish: Callable[..., Prediction]) -> Method:
    """Return a method that buys all candidates for as many rows as the money allows."""
    return lambda task, seed: finish(*buy_rows(task, tuple(task.candidates), seed), task.known, seed)


def finish_forest(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Fit a forest without a reject option."""
    return predict_plain(make_forest(seed), train, y, test, 0.0, known)


def finish_lightgbm(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Fit LightGBM with the usual threshold."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=100, min_child_samples=5, random_state=seed, n_jobs=1, verbose=-1)
    return predict_plain(model, train, y, test, compute_threshold(known), known)


def finish_xgboost(train: FloatArray, y: IntArray, test: FloatArray, known: int, seed: int) -> Prediction:
    """Fit XGBoost with the usual threshold."""
    from xgboost import XGBClassifier

    return predict_plain(
        XGBClassifier(n_estimators=100, random_state=seed, n_jobs=1), train, y, test, compute_threshold(known), known
    )


def choose_by_pilot(task: Situation, seed: int) -> tuple[str, Fraction]:
    """Choose the candidate with the best out-of-bag accuracy in a pilot; return it and the money left."""
    import warnings

    names, best, chosen = list(task.candidates), -1.0, ""
    for name in names:
        train, y, _ = buy_rows(task, [name], seed, PILOT * task.budget * task.costs[name] / sum(task.costs.values()))
        accuracy = 0.0
        if len(np.unique(y)) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                accuracy = make_forest(seed).fit(train, y).oob_score_
        if accuracy > best:
            best, chosen = accuracy, name
    # The pilot's rows of the chosen candidate are bought already.
    return chosen, task.budget * (1 - PILOT) + PILOT * task.budget * task.costs[chosen] / sum(task.costs.values())


def pilot(finish: Callable[..., Prediction]) -> Method:
    """Return a method that commits to the candidate that a pilot prefers."""

    def run(task: Situation, seed: int) -> Prediction:
        name, money = choose_by_pilot(task, seed)
        return finish(*buy_rows(task, [name], seed, money), task.known, seed)

    return run


def explore(task: Situation, seed: int, names: Sequence[str] = (), **options: Any) -> Prediction:
    """Fit ExMLClassifier to some candidates, all by default."""
    chosen = tuple(names) or tuple(task.candidates)
    oracle = ArrayOracle({n: task.candidates[n] for n in chosen}, {n: task.costs[n] for n in chosen})
    options = {"budget": task.budget, **options}
    return _predict(ExMLClassifier(hidden_label=task.known, random_state=seed, **options), task, oracle, task.test)


def own_model_on_all(task: Situation, seed: int, **options: Any) -> Prediction:
    """Fit our model to all candidates, bought together as one."""
    oracle = ArrayOracle({"all": np.hstack(list(task.candidates.values()))}, {"all": sum(task.costs.values())})
    model = ExMLClassifier(budget=task.budget, hidden_label=task.known, random_state=seed, **options)
    return _predict(model, task, oracle, {"all": np.hstack(list(task.test.values()))})


def _predict(model: Any, task: Situation, oracle: ArrayOracle, test: dict[str, FloatArray]) -> Prediction:
    model.fit(task.X, task.y, oracle)
    decisions = model.decide(task.X_test, test)
    labels = np.where(decisions.hidden, task.known, decisions.winner)
    return Prediction(labels, np.asarray(decisions.winner), model)


def pilot_with_own_model(task: Situation, seed: int) -> Prediction:
    """Choose by a pilot, and fit our model to the chosen candidate."""
    name, money = choose_by_pilot(task, seed)
    return explore(task, seed, [name], budget=money)


def explore_with_known_share(task: Situation, seed: int) -> Prediction:
    """Fit ExMLClassifier to all candidates with the share of a hidden class as large as a known one."""
    return explore(task, seed, hidden_share=1.0 / (task.known + 1))


def explore_as_before(task: Situation, seed: int) -> Prediction:
    """Fit ExMLClassifier by the rules of its first version."""
    from benchmarks.practice.previous import previous_rules

    with previous_rules():
        return explore(task, seed)


def money_after_comparison(task: Situation, name: str) -> Fraction:
    """Return the money that is left for a candidate if the first round compares all of them."""
    tariff, rows = Tariff(tuple(task.candidates), task.oracle.costs), [len(task.y)] * len(task.candidates)
    places, first = plan_first_round(tariff, rows, task.budget, task.known, ValueOfInformationCommit())
    others = [place for place in places if tariff.names[place] != name]
    return max(task.budget - first * tariff.price(others), Fraction(task.costs[name]))


#: Methods by name; those of single candidates are added by situation.
METHODS: dict[str, Method] = {
    DEFAULTS: explore,
    PREVIOUS: explore_as_before,
    "defaults, never a hidden class": lambda task, seed: explore(task, seed, hidden="never"),
    "defaults, always a full one": explore_with_known_share,
    "own model, all candidates": own_model_on_all,
    "pilot, own model": pilot_with_own_model,
    "forest, all candidates": on_all(finish_forest),
    "forest, tuned reject option": on_all(finish_tuned),
    "self-training": on_all(finish_self_training),
    "cleanlab": on_all(finish_cleanlab),
    "LightGBM": on_all(finish_lightgbm),
    "XGBoost": on_all(finish_xgboost),
    "pilot, self-training": pilot(finish_self_training),
}


def methods_for(task: Situation) -> dict[str, Method]:
    """Return all methods of a situation, with two per candidate."""
    singles = {SINGLE + name: lambda t, s, n=name: explore(t, s, [n]) for name in task.candidates}
    compared = {
        COMPARED + name: lambda t, s, n=name: explore(t, s, [n], budget=money_after_comparison(t, n))
        for name in task.candidates
    }
    return {**METHODS, **singles, **compared}
