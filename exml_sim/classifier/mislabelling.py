r"""How the hidden class was mislabelled: which known labels its rows carry, and how sure that is.

The rows whose labels are mixed most are useless for this: a row with as many labels of one kind as of the other around
it is mixed because it is even, whatever the law. What tells is where the probabilities of perceived labels gather. In
the regions of the known class c they lie near the corner e_c, in the region of the hidden class near q, its law of
mislabelling; where classes overlap they lie anywhere. So the held-out probabilities p_i are taken as draws from

.. math:: \sum_c w_c\,\mathrm{Dir}(k m_c) + w_H\,\mathrm{Dir}(k q) + w_0\,\mathrm{Dir}(1),
          \qquad m_c = (1 - e)\,e_c + \tfrac{e}{C - 1} (1 - e_c),

k the number of neighbours that p_i is worth, e the noise left near a corner; and the label y_i of the row itself, which
had no part in p_i, counts as one more neighbour (a factor m_{c,y}, q_y, or p_{i,y}). The weights have a prior of known
classes of equal size, because a hidden class makes the label that it carries more frequent.
For every q of a grid (laws that lean on one class, more or less) the weights are found by expectation and maximisation,
k and e are summed over, and the law is the mean of q under the likelihood, flattened because neighbours share labels.

Few rows leave it near the fair die, which is the safe choice. The likelihood is a working one: what it excludes is
judged by how far the true law fell behind on real tables (`python -m benchmarks.mislabelling`), not by its own tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from exml_sim.arrays import FloatArray, IntArray

#: How far a law of the grid leans on one class: q = (1 - s)/C + s e_c.
LEANS = (0.2, 0.4, 0.6, 0.8)

#: Neighbours that a probability is worth, and shares of other labels near a corner; all pairs are summed over.
NEIGHBOURS, NOISES = (4.0, 16.0), (0.04, 0.12)

#: Rows that the prior lays to every known class, to the hidden one, and to overlap. There may be no hidden class: with
#: as many rows for it as for a known one the largest known class is taken for it in part.
CLASS_ROWS, HIDDEN_ROWS, OVERLAP_ROWS = 10.0, 3.0, 2.0

#: Rounds for the weights, and the number of rows that count as one, because they share their neighbours.
ROUNDS, ROWS_AS_ONE = 12, 4.0

#: A law is left open if its log-likelihood is at most so far behind the best: a number, and so much for every row,
#: because the mixture is never quite right and its errors add up.
LEFT_OPEN, LEFT_OPEN_PER_ROW = 10.0, 0.1

#: Probabilities nearer to the border than this are moved there: no density is infinite.
BORDER = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Mislabelling:
    """What the labels say about the law of mislabelling.

    Attributes
    ----------
    laws
        The grid, shape (g, C).
    fits
        Log-likelihood of every law.
    rows
        Number of rows.
    """

    laws: FloatArray
    fits: FloatArray
    rows: int

    @property
    def law(self) -> FloatArray:
        """Mean under the flattened likelihood and the prior prod_c C q_c, which is largest for the fair die."""
        n_classes = self.laws.shape[1]
        weights = self.fits / ROWS_AS_ONE + np.log(self.laws * n_classes).sum(axis=1)
        weights = np.exp(weights - weights.max())
        return np.asarray(weights @ self.laws / weights.sum(), dtype=np.float64)

    @property
    def range(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest share of every label among the laws that are left open, and the estimate.

        Where a law that leans furthest is left open, so is its corner: nothing on the grid lies between.
        """
        left_open = self.fits >= self.fits.max() - LEFT_OPEN - LEFT_OPEN_PER_ROW * self.rows
        furthest = left_open & (self.laws.max(axis=1) == self.laws.max())
        corners = np.eye(self.laws.shape[1])[self.laws[furthest].argmax(axis=1)]
        kept = np.vstack([self.laws[left_open], corners, self.law[None, :]])
        return np.asarray(kept.min(axis=0)), np.asarray(kept.max(axis=0))


def leaning_laws(n_classes: int) -> FloatArray:
    """The fair die, and laws that lean on one class, shape (1 + C s, C)."""
    fair = np.full(n_classes, 1.0 / n_classes)
    corners = np.eye(n_classes)
    return np.asarray([fair, *((1.0 - s) * fair + s * corner for corner in corners for s in LEANS)])


def mislabelling(p: FloatArray, y: IntArray) -> Mislabelling:
    """Estimate the law of mislabelling.

    Parameters
    ----------
    p
        Held-out probabilities of perceived labels, shape (n, C).
    y
        Perceived labels 0 … C-1.
    """
    laws = leaning_laws(p.shape[1])
    inside = np.clip(p, BORDER, 1.0 - BORDER)
    fits = [_fits(inside, y, laws, k, e) for k in NEIGHBOURS for e in NOISES]
    return Mislabelling(laws, np.asarray(logsumexp(fits, axis=0), dtype=np.float64), len(y))


def _fits(p: FloatArray, y: IntArray, laws: FloatArray, k: float, e: float) -> FloatArray:
    """Log-likelihood and prior of every law at its best weights."""
    n_classes = p.shape[1]
    corners = np.full((n_classes, n_classes), e / (n_classes - 1))
    np.fill_diagonal(corners, 1.0 - e)
    overlap = gammaln(n_classes) + np.log(p[np.arange(len(y)), y])
    known = np.vstack([_densities(p, y, corners, k), overlap])
    hidden = _densities(p, y, laws, k)
    top = np.maximum(known.max(axis=0), hidden.max(axis=0))
    known, hidden = np.exp(known - top), np.exp(hidden - top)
    prior = np.array([CLASS_ROWS] * n_classes + [OVERLAP_ROWS, HIDDEN_ROWS])
    weights = np.full((len(laws), n_classes + 2), 1.0 / (n_classes + 2))
    for _ in range(ROUNDS):
        together = weights[:, :-1] @ known + weights[:, -1:] * hidden
        weights[:, :-1] *= (1.0 / together) @ known.T
        weights[:, -1] *= (hidden / together).sum(axis=1)
        weights += prior
        weights /= weights.sum(axis=1, keepdims=True)
    together = weights[:, :-1] @ known + weights[:, -1:] * hidden
    return np.asarray((np.log(together) + top).sum(axis=1) + np.log(weights) @ prior, dtype=np.float64)


def _densities(p: FloatArray, y: IntArray, means: FloatArray, k: float) -> FloatArray:
    """Logarithm of Dir(p_i; k m) m_y for every mean m and row i, shape (means, n)."""
    constants = gammaln(k) - gammaln(k * means).sum(axis=1)
    return np.asarray(constants[:, None] + (k * means - 1.0) @ np.log(p).T + np.log(means[:, y]), dtype=np.float64)
