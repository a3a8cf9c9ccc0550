r"""What sets of candidates are compared with in a race: perceived labels, and what all sets say together.

A label is one throw of a die whose law the sets know in part. With y the label of a row, :math:`p_S` what the model of
set S that has not seen the row says about it, :math:`L_S` its mean squared error on n rows, and

.. math:: \bar p = \frac{\sum_S e^{-2 n L_S} p_S}{\sum_S e^{-2 n L_S}}, \qquad t = \lambda y + (1-\lambda) \bar p,

single candidates are judged by :math:`|p_S - t|^2`: t has the same mean as y where the sets are right together, and
less noise. Sets agree with themselves in :math:`\bar p`, the larger ones most; so a set of several candidates is judged
by labels alone, against the best single one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.classifier.bought_arms import Base
from exml_sim.classifier.buyer import Buyer
from exml_sim.classifier.latent import brier, one_hot
from exml_sim.classifier.pairs import later_row_losses
from exml_sim.classifier.soft import Fitter, normalised

#: Positions of the candidates of a set.
Arms = tuple[int, ...]

#: Weights of a set's model next to the model of the observed columns.
WEIGHTS = (1.0, 0.5)

#: Weight of the perceived labels, lambda of the module.
LABELS = 0.25

#: How much a set's say falls with its loss: by the factor exp(-SAY) per row and unit of loss.
SAY = 2.0


class Hearing:
    """Held-out scores of sets on bought rows.

    Parameters
    ----------
    buyer, base
        Bought values; known features and labels.
    fit
        Model of the scores.
    ahead
        Held-out probabilities of perceived labels by the model of the observed columns, shape (m, C), or None.
    workers
        Threads that fit models of sets that are wanted together; nothing but the time depends on them.

    Attributes
    ----------
    leader
        The best single candidate, which sets are compared with; None to judge sets as if they were single.
    """

    def __init__(
        self, buyer: Buyer, base: Base, fit: Fitter, ahead: FloatArray | None = None, workers: int = 1
    ) -> None:
        self._buyer, self._base, self._fit, self._ahead = buyer, base, fit, ahead
        self._workers = workers
        self._known: dict[tuple[Arms, bytes], FloatArray] = {}
        self._later: dict[tuple[Arms, bytes], FloatArray] = {}
        self._said: FloatArray | None = None
        self.leader: int | None = None

    def forget(self) -> None:
        """Judge by labels alone."""
        self._said, self.leader = None, None

    def listen(self, sets: Sequence[Arms], rows: IntArray) -> None:
        """Hear what the sets say together on rows that all of them have; with fewer than 4 rows labels decide."""
        if len(rows) < 4:
            return
        self.prepare([(arms, rows) for arms in sets])
        held = np.array([self._held(arms, rows) for arms in sets])
        losses = np.array([brier(one, self._base.y[rows]).mean() for one in held])
        say = np.exp(-SAY * len(rows) * (losses - losses.min()))
        self._said = np.full((len(self._base.y), self._base.n_classes), np.nan)
        self._said[rows] = np.tensordot(say / say.sum(), held, axes=1)

    def points(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Known features and bought values of the rows."""
        return np.hstack([self._base.X[rows], *(self._buyer.values(arm, rows) for arm in arms)])

    def losses(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Held-out squared error by perceived labels, row by row."""
        return brier(self._held(arms, rows), self._base.y[rows])

    def later(self, arms: Arms, rows: IntArray) -> FloatArray:
        """The same of later rows by models of earlier ones (`exml_sim.classifier.pairs`)."""
        key = arms, rows.tobytes()
        if key not in self._later:
            self._later[key] = self._find_later(arms, rows)
        return self._later[key]

    def prepare(self, wanted: Sequence[tuple[Arms, IntArray]]) -> None:
        """Fit what will be asked for next, several sets at a time."""
        self._together(wanted, self._known, self._find_held)

    def prepare_later(self, wanted: Sequence[tuple[Arms, IntArray]]) -> None:
        """The same for `later`."""
        self._together(wanted, self._later, self._find_later)

    def _together(
        self,
        wanted: Sequence[tuple[Arms, IntArray]],
        known: dict[tuple[Arms, bytes], FloatArray],
        find: Callable[[Arms, IntArray], FloatArray],
    ) -> None:
        new = {(arms, rows.tobytes()): (arms, rows) for arms, rows in wanted}
        new = {key: one for key, one in new.items() if key not in known}
        if self._workers == 1 or len(new) < 2:
            return
        with ThreadPoolExecutor(self._workers) as threads:
            known.update(zip(new, threads.map(lambda one: find(*one), new.values()), strict=True))

    def judged(self, arms: Arms, rows: IntArray) -> FloatArray:
        """What the race compares, row by row (see the module)."""
        if len(arms) == 1 or self.leader is None:
            return _row_losses(self._held(arms, rows), self._targets(rows))
        one = (self.leader,)
        apart = self.losses(arms, rows) - self.losses(one, rows)
        return np.asarray(self.judged(one, rows) + apart, dtype=np.float64)

    def useless(self, rows: IntArray) -> float:
        """The same without any candidate: by the observed columns, or by the shares of the classes."""
        targets = self._targets(rows)
        plain = float(_row_losses(targets.mean(axis=0)[None, :], targets).mean())
        return plain if self._ahead is None else min(plain, float(_row_losses(self._ahead[rows], targets).mean()))

    def _held(self, arms: Arms, rows: IntArray) -> FloatArray:
        """Held-out probabilities of the perceived labels of the rows."""
        key = arms, rows.tobytes()
        if key not in self._known:
            self._known[key] = self._find_held(arms, rows)
        return self._known[key]

    def _find_held(self, arms: Arms, rows: IntArray) -> FloatArray:
        y = self._base.y[rows]
        held = normalised(self._fit(self.points(arms, rows), one_hot(y, self._base.n_classes))[1])
        mixed = [held] if self._ahead is None else [w * held + (1.0 - w) * self._ahead[rows] for w in WEIGHTS]
        return min(mixed, key=lambda one: float(brier(one, y).mean()))

    def _find_later(self, arms: Arms, rows: IntArray) -> FloatArray:
        return later_row_losses(self._fit, self.points(arms, rows), self._base.y[rows], self._base.n_classes)

    def _targets(self, rows: IntArray) -> FloatArray:
        """t of the module; labels where nothing was said."""
        y = one_hot(self._base.y[rows], self._base.n_classes)
        if self._said is None:
            return y
        said = np.where(np.isfinite(self._said[rows]), self._said[rows], y)
        return np.asarray(LABELS * y + (1.0 - LABELS) * said, dtype=np.float64)


def _row_losses(p: FloatArray, targets: FloatArray) -> FloatArray:
    """Squared error of probabilities, row by row."""
    return np.asarray(((p - targets) ** 2).sum(axis=1), dtype=np.float64)
