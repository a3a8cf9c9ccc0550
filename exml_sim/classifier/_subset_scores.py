"""Score sets of candidates by out-of-fold losses against observed labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import Pair, is_worth_betting, later_losses
from exml_sim.classifier._acquisition import AcquisitionManager
from exml_sim.classifier._probability_models import Fitter, brier, keep_together, normalise, one_hot
from exml_sim.classifier.constants import MEMBER_WEIGHTS

if TYPE_CHECKING:
    from exml_sim.classifier._acquisition import LayerInput

#: Positions of the candidates of a set.
Arms = tuple[int, ...]

#: Sets with the rows on which they are needed.
Jobs = Sequence[tuple[Arms, IntArray]]

_Cache = dict[tuple[Arms, bytes], FloatArray]


def out_of_fold_losses(fit: Fitter, points: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the squared error of out-of-fold probabilities, row by row."""
    return brier(normalise(fit(points, one_hot(y, n_classes))[1]), y)


def later_row_losses(fit: Fitter, points: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the squared error on later rows of models that were fitted to earlier ones alone."""

    def loss(known: IntArray, new: IntArray) -> FloatArray:
        model = fit(np.ascontiguousarray(points[known]), one_hot(y[known], n_classes))[0]
        return brier(normalise(model.predict(points[new])), y[new])

    return later_losses(len(y), loss)


def pair_of(
    name: str,
    losses: tuple[FloatArray, FloatArray],
    later: tuple[Callable[[], FloatArray], Callable[[], FloatArray]],
) -> Pair:
    """Pair the chosen and another candidate on common rows, in the order of the purchase.

    Parameters
    ----------
    losses, later
        Out-of-fold losses of the chosen one, then of the other one; and those of later rows, which cost fits and are
        computed only where a bet is worth them.
    """
    if not is_worth_betting(*losses):
        return Pair(name, *losses, None)
    chosen, other = (compute() for compute in later)
    return Pair(name, *losses, other - chosen)


class SubsetScorer:
    """Out-of-fold scores of sets on bought rows.

    Parameters
    ----------
    acquisition, data
        Bought values; known features and labels.
    fit
        Model of the scores.
    prior
        Out-of-fold probabilities of observed labels by the model of the observed columns, shape (m, C), or None.
    workers
        Threads that fit models of several sets; nothing but the time depends on them.
    """

    def __init__(
        self,
        acquisition: AcquisitionManager,
        data: LayerInput,
        fit: Fitter,
        prior: FloatArray | None = None,
        workers: int = 1,
    ) -> None:
        self._acquisition, self._data, self._fit, self._prior = acquisition, data, fit, prior
        self._workers = workers
        self._probabilities: _Cache = {}
        self._later: _Cache = {}

    def points(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Return known features and bought values of the rows."""
        return np.hstack([self._data.X[rows], *(self._acquisition.values(arm, rows) for arm in arms)])

    def losses(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Return out-of-fold squared errors by observed labels, row by row."""
        return brier(self._predict(arms, rows), self._data.y[rows])

    def later(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Return `later_row_losses` of a set."""
        key = arms, rows.tobytes()
        if key not in self._later:
            self._later[key] = self._fit_later(arms, rows)
        return self._later[key]

    def prepare(self, jobs: Jobs) -> None:
        """Fit models that will be needed next, several sets at a time."""
        self._fit_together(jobs, self._probabilities, self._fit_probabilities)

    def prepare_later(self, jobs: Jobs) -> None:
        """Fit models that `later` will need."""
        self._fit_together(jobs, self._later, self._fit_later)

    def _fit_together(self, jobs: Jobs, known: _Cache, fit: Callable[[Arms, IntArray], FloatArray]) -> None:
        new = {(arms, rows.tobytes()): (arms, rows) for arms, rows in jobs}
        new = {key: job for key, job in new.items() if key not in known}
        if self._workers == 1 or len(new) < 2:
            return
        with ThreadPoolExecutor(self._workers) as threads:
            known.update(zip(new, threads.map(lambda job: fit(*job), new.values()), strict=True))

    def baseline_losses(self, rows: IntArray) -> FloatArray:
        """Return the losses without any candidate: by the observed columns, or by the class frequencies."""
        y = self._data.y[rows]
        frequencies = one_hot(y, self._data.n_classes).mean(axis=0)
        plain = [brier(np.tile(frequencies, (len(rows), 1)), y)]
        if self._prior is not None:
            plain.append(brier(self._prior[rows], y))
        return min(plain, key=lambda losses: float(losses.mean()))

    def explained_deviations(self, arms: Arms, rows: IntArray) -> float:
        """Return by how many standard errors a set predicts labels better than the observed columns."""
        gain = self.baseline_losses(rows) - self.losses(arms, rows)
        return float(gain.mean() / max(gain.std(ddof=1) / np.sqrt(len(rows)), 1e-12))

    def _predict(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Return out-of-fold probabilities of the observed labels of the rows."""
        key = arms, rows.tobytes()
        if key not in self._probabilities:
            self._probabilities[key] = self._fit_probabilities(arms, rows)
        return self._probabilities[key]

    def _fit_probabilities(self, arms: Arms, rows: IntArray) -> FloatArray:
        y = self._data.y[rows]
        groups = None if self._data.groups is None else self._data.groups[rows]
        fit = keep_together(self._fit, groups)
        own = normalise(fit(self.points(arms, rows), one_hot(y, self._data.n_classes))[1])
        if self._prior is None:
            return own
        mixed = [w * own + (1.0 - w) * self._prior[rows] for w in MEMBER_WEIGHTS]
        return min(mixed, key=lambda p: float(brier(p, y).mean()))

    def _fit_later(self, arms: Arms, rows: IntArray) -> FloatArray:
        return later_row_losses(self._fit, self.points(arms, rows), self._data.y[rows], self._data.n_classes)
