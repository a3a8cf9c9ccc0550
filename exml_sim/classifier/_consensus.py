r"""Score sets of candidates by out-of-fold losses against observed labels and a consensus of all sets.

With y the label of a row, :math:`p_S` the out-of-fold probabilities of the model of set S, :math:`L_S` its mean squared
error on n rows, and

.. math:: \bar p = \frac{\sum_S e^{-2 n L_S} p_S}{\sum_S e^{-2 n L_S}}, \qquad t = \lambda y + (1-\lambda) \bar p,

single candidates are scored by :math:`|p_S - t|^2`. The target t = 0.25 x observed label + 0.75 x the exponentially
weighted mean of all models' out-of-fold probabilities has the same mean as y where the sets are right together, and
less noise. Larger sets agree with :math:`\bar p` by construction. So a set of several candidates is scored by labels
alone, relative to the best single one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import Pair, is_worth_betting, later_losses
from exml_sim.classifier._acquisition import AcquisitionManager
from exml_sim.classifier._probability_models import Fitter, brier, keep_together, normalise, one_hot
from exml_sim.classifier.constants import LABEL_WEIGHT, MEMBER_WEIGHTS, MIN_SCORED_ROWS, TEMPERATURE

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


class ConsensusScorer:
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

    Attributes
    ----------
    leader
        The best single candidate, which sets are compared with; None to score sets like single candidates.
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
        self._consensus: FloatArray | None = None
        self.leader: int | None = None

    def clear_consensus(self) -> None:
        """Score by labels alone."""
        self._consensus, self.leader = None, None

    def fit_consensus(self, members: Sequence[Arms], rows: IntArray) -> None:
        """Fit the consensus of the members on rows that all of them have; with too few rows labels decide."""
        if len(rows) < MIN_SCORED_ROWS:
            return
        self.prepare([(arms, rows) for arms in members])
        predictions = np.array([self._predict(arms, rows) for arms in members])
        losses = np.array([brier(p, self._data.y[rows]).mean() for p in predictions])
        weights = np.exp(-TEMPERATURE * len(rows) * (losses - losses.min()))
        self._consensus = np.full((len(self._data.y), self._data.n_classes), np.nan)
        self._consensus[rows] = np.tensordot(weights / weights.sum(), predictions, axes=1)

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

    def target_losses(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Return the losses that are compared, row by row (see the module)."""
        if len(arms) == 1 or self.leader is None:
            return _row_losses(self._predict(arms, rows), self._targets(rows))
        leader = (self.leader,)
        difference = self.losses(arms, rows) - self.losses(leader, rows)
        return np.asarray(self.target_losses(leader, rows) + difference, dtype=np.float64)

    def baseline_loss(self, rows: IntArray) -> float:
        """Return the loss without any candidate: by the observed columns, or by the class frequencies."""
        targets = self._targets(rows)
        plain = float(_row_losses(targets.mean(axis=0)[None, :], targets).mean())
        return plain if self._prior is None else min(plain, float(_row_losses(self._prior[rows], targets).mean()))

    def explained_deviations(self, arms: Arms, rows: IntArray) -> float:
        """Return by how many standard errors a set predicts labels better than the observed columns."""
        y = self._data.y[rows]
        frequencies = np.tile(one_hot(y, self._data.n_classes).mean(axis=0), (len(rows), 1))
        plain = [brier(p, y) for p in (frequencies, *(() if self._prior is None else (self._prior[rows],)))]
        gain = min(plain, key=lambda losses: float(losses.mean())) - self.losses(arms, rows)
        return float(gain.mean() / max(gain.std(ddof=1) / np.sqrt(len(rows)), 1e-12))

    def difference(self, arms: Arms, others: Arms, rows: IntArray) -> float:
        """Return the root mean square difference of the predictions of two sets."""
        return float(np.sqrt(_row_losses(self._predict(arms, rows), self._predict(others, rows)).mean()))

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

    def _targets(self, rows: IntArray) -> FloatArray:
        """Return t of the module; labels where there is no consensus."""
        y = one_hot(self._data.y[rows], self._data.n_classes)
        if self._consensus is None:
            return y
        consensus = np.where(np.isfinite(self._consensus[rows]), self._consensus[rows], y)
        return np.asarray(LABEL_WEIGHT * y + (1.0 - LABEL_WEIGHT) * consensus, dtype=np.float64)


def _row_losses(p: FloatArray, targets: FloatArray) -> FloatArray:
    return np.asarray(((p - targets) ** 2).sum(axis=1), dtype=np.float64)
