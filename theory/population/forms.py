"""What all events against one best arm share in the affine regime: its forms, its rivals' forms, their slack."""

from __future__ import annotations

import numpy as np

from theory.population.graphs import Floats
from theory.population.law import UNIT
from theory.population.model import PopulationModel

__all__ = ["BestForms"]


class BestForms:
    """The forms A and B of the best arm, and K_i o (yy' + t) of its rivals.

    Parameters
    ----------
    pool
        In the affine regime.
    best
        The arm that the rivals must beat.

    Attributes
    ----------
    plain, signed
        K_1 and K_1 o yy', whose forms are B and A.
    top
        Upper end of sqrt(A/B): 1 where no kernel is negative, else infinity.
    tie
        What scores that count as equal add: (a_i + b_i)^2 >= (a_1 + b_1)^2 - 4 kappa (2 resolution / Lambda).
    """

    def __init__(self, pool: PopulationModel, best: int) -> None:
        pool.require_affine("the events of the affine regime")
        self.pool = pool
        self.best = best
        self._signs = np.outer(pool.labels, pool.labels)
        self.plain = pool.gram(best)
        self.signed = self.plain * self._signs
        self.top = 1.0 if pool.nonnegative else np.inf
        self.tie = 8.0 * pool.kappa * pool.resolution / pool.radius
        self._size = float(np.abs(self.plain).max())

    def rival(self, arm: int, t: float) -> Floats:
        """K_i o (yy' + t)."""
        return np.asarray(self.pool.gram(arm) * (self._signs + t))

    def own(self, on_a: float, on_b: float) -> Floats:
        """The form of on_a A + on_b B."""
        return np.asarray(on_a * self.signed + on_b * self.plain)

    def slack(self, M: Floats, on_a: float, on_b: float) -> float:
        """Ties, and the rounding of the sum of a rival's form M and the best arm's."""
        return self.tie + 32.0 * UNIT * (float(np.abs(M).max()) + (abs(on_a) + abs(on_b)) * self._size)

    def ratio(self, group: tuple[int, ...]) -> float:
        """(a_1 + a_i)/(b_1 + b_i) on the population, for the rival with the smallest gap."""
        a, b = self.pool.norms
        near = max(group, key=lambda i: float(a[i] + b[i]))
        return max(float(a[self.best] + a[near]), 1e-3) / max(float(b[self.best] + b[near]), 1e-3)
