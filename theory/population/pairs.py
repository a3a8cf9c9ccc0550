"""P[one of some rivals beats the best arm] when arms have different numbers of rows, or rows of their own.

With ``pairing`` "independent" every arm has a sample of its own; with "same" all samples are the beginnings of one
order. The forms are those of the affine regime, of the penalised score, or certificates; the rival's part and the best
arm's part are statistics of two samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from theory.population.dual_events import DualForms, two_sample_law
from theory.population.forms import BestForms
from theory.population.graphs import Floats
from theory.population.independent import two_samples
from theory.population.law import UNIT
from theory.population.model import PopulationModel
from theory.population.overlap import nested_samples
from theory.population.penalised import gain
from theory.population.tails import event_probability
from theory.population.windows import Law, choose_windows, quadratic_law

__all__ = ["PairEvents"]

#: Multiples of the population's ratio between which t is chosen.
_RATIOS = (0.6, 1.8)
#: Largest number of rows of one arm.
_ROWS = 20_000


class PairEvents:
    """Events of one pool and one best arm, each arm with its own number of rows.

    Parameters
    ----------
    pool
        The population.
    best
        The arm that the rivals must beat.
    shared
        Whether all samples are beginnings of one order of rows; otherwise they are independent.
    """

    def __init__(self, pool: PopulationModel, best: int, *, shared: bool) -> None:
        self.pool = pool
        self.best = best
        self.shared = shared
        self._affine = BestForms(pool, best) if pool.affine else None
        self._dual = DualForms(pool, best)
        self._laws: dict[int, tuple[Law, tuple[float, float]]] = {}

    def beaten(self, rivals: tuple[int, ...], rows: int | tuple[int, ...], order: int) -> float:
        """Upper bound on P[V_i <= V_best for some rival]; rows is one number, or one per arm of the pool."""
        counts = (rows,) * self.pool.n_arms if isinstance(rows, int) else rows
        total = sum(self._pair(i, counts[i], counts[self.best], order) for i in rivals)
        return min(1.0, total * (1.0 + 1e-12))

    def _pair(self, rival: int, n: int, k: int, order: int) -> float:
        if min(n, k) < 2 or max(n, k) > _ROWS:
            return 1.0
        total = 0.0
        for S, T in self.forms(rival, n, k, order):
            total += self._chance(S, n, T, k, order)
            if total >= 1.0:
                return 1.0
        return total

    def _chance(self, S: Floats, n: int, T: Floats, k: int, order: int) -> float:
        if not self.shared:
            return two_samples(S, n, T, k, self.pool.p, order=order)
        if n == k:
            return event_probability(S + T, self.pool.p, n, order=order)
        return nested_samples(S, n, T, k, self.pool.p, order=order)

    def forms(self, rival: int, n: int, k: int, order: int) -> Iterator[tuple[Floats, Floats]]:
        """Forms S of the rival's and T of the best arm's sample, one pair per event; the events cover failure."""
        if self._affine is not None:
            yield from self._windows(self._affine, rival, n, k, order)
        elif self.pool.ball is None and self.pool.quadratic(max(n, k)):
            S, T = gain(self.pool, rival, n), -gain(self.pool, self.best, k)
            size = float(np.abs(S).max()) + float(np.abs(T).max())
            yield S + (self.pool.resolution + 32.0 * UNIT * size), T
        else:
            yield self._dual.parts(rival, n, k, order, shared=self.shared)

    def _windows(self, forms: BestForms, rival: int, n: int, k: int, order: int) -> Iterator[tuple[Floats, Floats]]:
        law, nodes = self._law(forms, rival)
        mixed = two_sample_law(law, np.array([True, True, False, False]), n, k, self.shared)
        for window in choose_windows(mixed, nodes, k, forms.top, order):
            t = sum(weight * node for weight, node in zip(window.on_forms, nodes, strict=True))
            S = forms.rival(rival, t)
            yield S + forms.slack(S, window.on_a, window.on_b), forms.own(window.on_a, window.on_b)

    def _law(self, forms: BestForms, rival: int) -> tuple[Law, tuple[float, float]]:
        if rival not in self._laws:
            ratio = forms.ratio((rival,))
            nodes = (_RATIOS[0] * ratio, _RATIOS[1] * ratio)
            made = [forms.rival(rival, t) for t in nodes]
            self._laws[rival] = quadratic_law((*made, forms.signed, forms.plain), self.pool.p), nodes
        return self._laws[rival]
