"""How often the approximate limits of held-out losses hold on tables: real ones, and one made to mislead.

The truth is the mean difference of the losses of models of as many rows on rows that they have not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import Pair, report_selection
from exml_sim.classifier._probability_models import brier, normalise, one_hot
from exml_sim.classifier._regression import KernelFitter

#: Observed columns, classes from 0, and the columns of every candidate.
Source = tuple[FloatArray, IntArray, list[FloatArray]]

#: Rows that a model's risk is measured on, at most.
NEW_ROWS = 300


def swapped() -> Source:
    """A sharp sensor that says the opposite in 10 % of the rows, against a modest panel."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, 6000)
    sign, bad = 2.0 * y - 1.0, rng.random(len(y)) < 0.1
    sharp = (sign * np.where(bad, -3.0, 3.0) + 0.3 * rng.normal(size=len(y)))[:, None]
    panel = np.column_stack([1.2 * sign + 0.35 * rng.normal(size=len(y)), rng.normal(size=(len(y), 2))])
    return rng.normal(size=(len(y), 1)), y, [panel, sharp]


def digits() -> Source:
    """Three, five or eight, by one of three lines of the picture."""
    data = load_digits()
    result = np.isin(data.target, [3, 5, 8])
    Z, y = data.data[result], np.searchsorted([3, 5, 8], data.target[result])
    return Z[:, :8], y, [Z[:, 16:24], Z[:, 24:32], Z[:, 32:40]]


def cancer() -> Source:
    """Four columns of nearly the same worth."""
    data = load_breast_cancer()
    return data.data[:, [4]], data.target, [data.data[:, [at]] for at in (0, 2, 3, 20)]


def wine() -> Source:
    """Three classes; four candidates of one or two columns."""
    Z, y = load_wine(return_X_y=True)
    return Z[:, [2]], y, [Z[:, [0]], Z[:, [9]], Z[:, [10, 11]], Z[:, [3]]]


def exclusive() -> Source:
    """The class is whether two signs agree, with 10 % wrong labels; candidates know the second sign more or less."""
    rng = np.random.default_rng(77)
    a, b = rng.normal(size=(2, 5000))
    y = ((a > 0) == (b > 0)).astype(np.int64)
    y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    return a[:, None], y, [(b + noise * rng.standard_t(3, size=len(b)))[:, None] for noise in (0.1, 0.5, 1.0)]


#: The first three were known when the error was chosen, the others not.
SOURCES: dict[str, Callable[[], Source]] = {
    "digits": digits,
    "cancer": cancer,
    "swapped": swapped,
    "wine": wine,
    "exclusive": exclusive,
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of trials: all limits hold; all others are excluded; that, and the chosen one is not the best."""

    covered: float
    confident: float
    wrong: float


def measure_coverage(name: str, rows: int, trials: int, level: float = 0.95) -> Coverage:
    """Draw rows, choose the candidate with the least held-out loss, and hold its limits against the truth."""
    X, y, candidates = SOURCES[name]()
    points = [np.ascontiguousarray(np.hstack([X, candidate]), dtype=np.float64) for candidate in candidates]
    rng = np.random.default_rng(rows)
    result = [_trial(points, y, rows, rng) for _ in range(trials)]
    truth = np.mean([risks for _, risks in result], axis=0)
    answer = np.array([_test_limits(losses, truth, level) for losses, _ in result])
    return Coverage(*(float(share) for share in answer.mean(axis=0)))


def _trial(
    points: list[FloatArray], y: IntArray, rows: int, rng: np.random.Generator
) -> tuple[list[FloatArray], FloatArray]:
    """Held-out losses of every candidate, and its risk."""
    order = rng.permutation(len(y))
    drawn, new = order[:rows], order[rows : rows + NEW_ROWS]
    fit, n_classes = KernelFitter(), int(y.max()) + 1
    losses, risks = [], []
    for point in points:
        model, out_of_fold = fit(np.ascontiguousarray(point[drawn]), one_hot(y[drawn], n_classes))
        losses.append(brier(normalise(out_of_fold), y[drawn]))
        risks.append(float(brier(normalise(model.predict(point[new])), y[new]).mean()))
    return losses, np.array(risks)


def _test_limits(losses: list[FloatArray], truth: FloatArray, level: float) -> tuple[bool, bool, bool]:
    chosen = int(np.argmin([entry.mean() for entry in losses]))
    pairs = [Pair(str(k), losses[chosen], entry) for k, entry in enumerate(losses) if k != chosen]
    comparisons = report_selection(str(chosen), pairs, level).comparisons
    covered = all(entry.at_least <= truth[int(entry.name)] - truth[chosen] for entry in comparisons)
    is_confident = all(entry.excluded for entry in comparisons)
    return covered, is_confident, is_confident and chosen != int(truth.argmin())
