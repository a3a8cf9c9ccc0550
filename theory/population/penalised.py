"""Forms of a penalised score where it is a quadratic function of the sample (Theorem 17 of docs/theorems.md).

If C_h and C_g are large enough, S_i = 1 - |mean y Phi_i|^2/(16 C_h) - |mean Phi_i|^2/(16 C_g) on every sample, so a
comparison of two arms is the sign of one quadratic form and nothing is lost.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from theory.population.draws import Draws
from theory.population.dual_events import DualEvents
from theory.population.graphs import Floats
from theory.population.law import UNIT
from theory.population.majorant import psd_majorant
from theory.population.model import PopulationModel

__all__ = ["PenalisedEvents", "gain"]

_MAJORANT_ROWS = 1000


def gain(pool: PopulationModel, arm: int, n: int) -> Floats:
    """K_i o (yy'/(16 C_h) + 1/(16 C_g)): its form is 1 - S_i on n rows, where the score is quadratic."""
    on_h, on_g = pool.penalties(n)
    signs = np.outer(pool.labels, pool.labels)
    return np.asarray(pool.gram(arm) * (signs / (16.0 * on_h) + 1.0 / (16.0 * on_g)))


class PenalisedEvents:
    """P[one of some rivals beats the best arm on n rows]; by certificates where the score is not quadratic."""

    def __init__(self, pool: PopulationModel, best: int, draws: Draws) -> None:
        self.pool = pool
        self._draws = draws
        self.best = best
        self._beyond: DualEvents | None = None

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Upper bound on P[S_i <= S_best for some i of the rivals] on n rows; the smaller of one form and a sum."""
        if not rivals:
            return 0.0
        if not self.pool.quadratic(n):
            self._beyond = self._beyond or DualEvents(self.pool, self.best, self._draws)
            return self._beyond.beaten(rivals, n, order)
        own = gain(self.pool, self.best, n)
        single = [self._draws(self._form(gain(self.pool, i, n), own), n, order) for i in rivals]
        total = min(1.0, float(np.sum(single)) * (1.0 + 1e-12))
        if len(rivals) == 1 or self.pool.n_rows > _MAJORANT_ROWS:
            return total
        M, slack = psd_majorant([partial(gain, self.pool, i, n) for i in rivals], self.pool.p)
        return min(total, self._draws(self._form(M, own) + slack, n, order))

    def _form(self, M: Floats, own: Floats) -> Floats:
        size = float(np.abs(M).max()) + float(np.abs(own).max())
        return np.asarray(M - own + (self.pool.resolution + 32.0 * UNIT * size))
