"""Run the method on a task's distance matrices: the steps of `exml_sim.ExMLClassifier` without repeating work.

The initial model is fitted once per task and observed group, and every strategy, budget and theta starts from it and
from the same random order of rows (paired comparisons). Purchases, strategies, ledgers, thresholds and the solver are
those of `exml_sim`; only Gram matrices come from precomputed distances. `tests/simulations/reproduction` compares the
outcome with `ExMLClassifier` run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput
from exml_sim.classifier._bought_arms import OracleArms, OraclePool
from exml_sim.classifier._growth import buy_more
from exml_sim.classifier._rejection_model import (
    CrossValidatedVotes,
    ModelOptions,
    apply_rejector,
    choose_augmented,
    choose_fewest_errors,
    choose_initial,
    fit_coefficients,
)
from exml_sim.classifier.constants import INITIAL_THETAS
from exml_sim.oracle import CallableOracle
from exml_sim.seeds import Seeds
from exml_sim.strategies import Strategy
from simulations.reproduction._sources import HIDDEN, Task

N_CLASSES = 2
# The accuracy of `exml_sim.classifier._rejection_model.fit_rejection_model`.
TOL = 1e-7


#: The thetas that are tried.
THETAS = (0.1, 0.2, 0.3, 0.4)
#: Of an automatic run: rejection cost of the scores, and part of the budget that is kept for validation rows.
EXPLORATION_THETA, VALIDATION_SHARE = 0.2, Fraction(1, 10)
#: Accuracy on accepted rows that the initial model's theta must reach under cross-validation, and folds.
TARGET, FOLDS = 0.95, 5


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """Predictions of a layer for the testing rows: the winning class, and whether it is accepted."""

    winner: IntArray
    accepted: BoolArray

    def labels(self) -> IntArray:
        """Return classes; rejected rows get the hidden one."""
        return np.where(self.accepted, self.winner, HIDDEN)

    def then(self, other: Predicted) -> Predicted:
        """Return the cascade: rows that this layer rejects go to the other one."""
        return Predicted(np.where(self.accepted, self.winner, other.winner), self.accepted | other.accepted)

    def accuracy(self, task: Task) -> float:
        """Return the share of testing rows whose true class, known or hidden, is predicted."""
        return float(np.mean(self.labels() == task.truth))


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """One run of exploration and the augmented layer it led to.

    Attributes
    ----------
    theta, predicted
        The augmented layer alone.
    cascade_theta, behind
        The augmented layer behind the initial one; the same with test labels, where every theta is tried for both.
    """

    theta: float
    cascade_theta: float
    selected: str
    pulls: dict[str, int]
    spent: Fraction
    rows: int
    predicted: Predicted
    behind: Predicted

    def record(self, initial: Predicted, task: Task) -> dict[str, Any]:
        """Count what an exploration did for the testing rows.

        `rescued` and `lost` are testing rows that the initial layer rejects and the augmented one accepts: known ones
        with the right class, and hidden ones. The accuracy of the cascade less that of the initial layer is
        (rescued - lost) / testing rows.
        """
        passed = ~initial.accepted & self.behind.accepted
        is_hidden, is_right = task.truth == HIDDEN, self.behind.winner == task.truth
        return {
            "theta": self.theta,
            "cascade_theta": self.cascade_theta,
            "selected": self.selected,
            "rows": self.rows,
            "pulls": self.pulls,
            "augmented": self.predicted.accuracy(task),
            "cascaded": initial.then(self.behind).accuracy(task),
            "rescued": int((passed & is_right).sum()),
            "lost": int((passed & is_hidden).sum()),
        }


class Learner:
    """All runs of one task with one observed group of features.

    Parameters
    ----------
    task
        Distances, labels, truth.
    observed
        Group that is known from the start.
    candidates
        Groups that can be bought.
    options
        Penalties and loss. Kernel and scaling are the task's: Gaussian with median bandwidth, normalised before.
    test_labels
        True: every theta of `THETAS` is tried with the whole budget and the test accuracy of each is kept, from which
        the best is taken afterwards (the paper). False: theta is chosen by cross-validation on bought rows, among them
        rows bought with `VALIDATION_SHARE` of the budget (the paper's remark on automatic tuning).
    rng
        Folds and the order of purchases.
    """

    def __init__(
        self,
        task: Task,
        observed: str,
        candidates: Sequence[str],
        options: ModelOptions,
        test_labels: bool,
        rng: np.random.Generator,
    ) -> None:
        self.task, self.observed, self.candidates = task, observed, tuple(candidates)
        self._options, self._test_labels = options, test_labels
        self._all = np.arange(len(task.y))
        self._gram, gamma = task.gram((observed,), self._all)
        self._cross = task.cross((observed,), self._all, gamma)
        self._folds = CrossValidatedVotes(self._gram, task.y, N_CLASSES, options, folds=FOLDS, rng=rng)
        choice = choose_initial(self._folds.count_down_to(INITIAL_THETAS, TARGET), TARGET)
        self.initial_theta = choice.theta
        self._is_rejected = ~self._folds.accepted(choice.theta)
        self._rng, self._state = rng, rng.bit_generator.state
        self.initial = self._fitted(choice.theta)

    def _layer(self, gram: FloatArray, cross: FloatArray, y: IntArray, theta: float) -> Predicted:
        """Fit a layer to training rows, and apply it to the testing rows."""
        u, w = fit_coefficients(gram, y, N_CLASSES, theta, self._options, TOL)
        return Predicted(*apply_rejector(cross @ u, cross @ w))

    def _fitted(self, theta: float) -> Predicted:
        return self._layer(self._gram, self._cross, self.task.y, theta)

    def supervised(self) -> list[tuple[float, Predicted]]:
        """SL: the rejection model on the observed features, for every theta that is tried."""
        thetas: tuple[float, ...] = THETAS
        if not self._test_labels:
            tried = [self._folds.count(theta) for theta in thetas]
            thetas = (choose_fewest_errors(tried, N_CLASSES, "training rows").theta,)
        return [(theta, self._fitted(theta)) for theta in thetas]

    def attainable(self, candidate: str) -> list[tuple[float, Predicted]]:
        """The augmented model when a candidate is known for all training rows, for every theta of the pool."""
        groups = (self.observed, candidate)
        gram, gamma = self.task.gram(groups, self._all)
        cross = self.task.cross(groups, self._all, gamma)
        return [(theta, self._layer(gram, cross, self.task.y, theta)) for theta in THETAS]

    def explore(self, strategy: Strategy, ratio: Fraction) -> list[Explored]:
        """Explore with the budget ratio * m * (sum of costs): one run per theta, or one automatic run."""
        return [self._run(strategy, ratio, theta) for theta in (THETAS if self._test_labels else (None,))]

    def _run(self, strategy: Strategy, ratio: Fraction, theta: float | None) -> Explored:
        self._rng.bit_generator.state = self._state
        task, rows = self.task, len(self.task.y)
        buyer = _buyer(task, self.candidates, ratio)
        # Features are in the distances; the base needs rows and labels only.
        base = LayerInput(np.zeros((rows, 1)), task.y, N_CLASSES, self._rng.permutation(rows), 2)
        scored_at = EXPLORATION_THETA if theta is None else theta
        pool = _DistancePool(self._pair_gram, buyer, base, self._options, scored_at)
        share = VALIDATION_SHARE if theta is None else Fraction(0)
        arm = pool.explore(strategy, buyer.ledger.budget * (1 - share)).selected
        if theta is None:
            buy_more([arm], base, buyer.ledger.budget - buyer.ledger.spent, buyer)
        bought = base.rows[buyer.bought[arm, base.rows]]
        groups = (self.observed, self.candidates[arm])
        gram, gamma = task.gram(groups, bought)
        alone, behind = (theta, theta) if theta is not None else self._automatic(gram, bought)
        cross = task.cross(groups, bought, gamma)
        layers = {cost: self._layer(gram, cross, task.y[bought], cost) for cost in {alone, behind}}
        pulls = {name: int(count) for name, count in zip(self.candidates, buyer.bought.sum(axis=1), strict=True)}
        name, spent = self.candidates[arm], buyer.ledger.spent
        return Explored(alone, behind, name, pulls, spent, len(bought), layers[alone], layers[behind])

    def _pair_gram(self, candidate: int, rows: IntArray) -> FloatArray:
        """Gram matrix of the observed features with a candidate."""
        return self.task.gram((self.observed, self.candidates[candidate]), rows)[0]

    def _automatic(self, gram: FloatArray, bought: IntArray) -> tuple[float, float]:
        """Thetas of the augmented layer alone and behind the initial one."""
        y = self.task.y[bought]
        if len(y) < 2:
            return THETAS[0], THETAS[0]
        folds = min(FOLDS, len(y))
        judge = CrossValidatedVotes(gram, y, N_CLASSES, self._options, folds=folds, rng=self._rng)
        alone, behind = (choose_augmented(judge, THETAS, N_CLASSES, mask) for mask in (None, self._is_rejected[bought]))
        return alone.theta, behind.theta


def _buyer(task: Task, candidates: tuple[str, ...], ratio: Fraction) -> AcquisitionManager:
    """Make a buyer whose values are row numbers, by which distances are found."""
    costs = {name: task.costs[name] for name in candidates}
    budget = ratio * len(task.y) * sum(costs.values(), Fraction(0))
    oracle = CallableOracle(dict.fromkeys(candidates, partial(np.asarray, dtype=np.float64)), costs)
    return AcquisitionManager(oracle, len(task.y), budget)


#: (candidate, rows) -> Gram matrix.
GramOf = Callable[[int, IntArray], FloatArray]


class _DistancePool(OraclePool):
    """Candidates as arms whose Gram matrices come from distances."""

    def __init__(
        self, gram_of: GramOf, buyer: AcquisitionManager, base: LayerInput, options: ModelOptions, theta: float
    ) -> None:
        candidates = range(len(buyer.names))
        super().__init__(buyer, candidates, base, theta, options)
        self._session = partial(
            _DistanceSession, gram_of, buyer, candidates, base, options.scoring(theta, "risk"), options
        )

    def open(self, seeds: Seeds) -> OracleArms:
        """Start the one trial."""
        if len(seeds) != 1:
            raise ValueError(f"values are bought once: one trial, got {len(seeds)}")
        return self._session()


class _DistanceSession(OracleArms):
    """Scores on bought rows, with Gram matrices from distances."""

    def __init__(self, gram_of: GramOf, buyer: AcquisitionManager, *rest: Any) -> None:
        super().__init__(buyer, *rest)
        # Refinement scores the same rows of an arm again: the last matrix of each is kept.
        self._grams: dict[int, tuple[IntArray, FloatArray]] = {}
        self._values, self._gram_of = buyer.values, gram_of

    def _gram(self, i: int, rows: IntArray) -> FloatArray:
        if i not in self._grams or not np.array_equal(self._grams[i][0], rows):
            # The buyer refuses rows that were not paid for; its values are row numbers.
            paid = self._values(i, rows)[:, 0].astype(np.int64)
            self._grams[i] = rows, self._gram_of(i, paid)
        return self._grams[i][1]
