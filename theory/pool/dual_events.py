"""P[one of some rivals beats the best arm on n rows] beyond the affine regime, same rows for all arms.

For a fixed model f of the best arm in the ball and a fixed dual point l of rival i, on the sample,

    V_1 - V_i <= mean r + (Lambda/2)(X/a + a + Y/c + c),   r = loss_1(f, .) - l_1 - theta l_2,

for all a, c > 0, where X = |mean l_1 y Phi_i / 2|^2 and Y = |mean (l_1/2 - b l_2) Phi_i|^2 (Theorem 13 of
docs/theorems.md). The right side is a quadratic form of the empirical law.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from theory.pool.duality import DualPoint, best_dual, best_model, surrogate
from theory.pool.graphs import Floats
from theory.pool.known import KnownPool
from theory.pool.law import UNIT
from theory.pool.majorant import psd_majorant
from theory.pool.tails import event_probability
from theory.pool.windows import approximate_tail, quadratic_law

__all__ = ["DualEvents"]

#: Multiples of the typical norms that are offered as a and c.
_MULTIPLES = (0.9, 1.0, 1.1, 1.2, 1.35, 1.5)
_MAJORANT_ROWS = 1000


class DualEvents:
    """Events of one pool and one best arm in any regime; certificates are made once per size of n."""

    def __init__(self, pool: KnownPool, best: int) -> None:
        self.pool = pool
        self.best = best
        model = best_model(pool, best)
        self._loss = surrogate(pool.labels * model.h, model.g, pool.theta)
        b = pool.theta / (1.0 - 2.0 * pool.theta)
        # The loss is Lipschitz in (h, g); scores within the resolution may count as equal.
        self._slack = model.error * max(1.0, b) + pool.resolution
        self._points: dict[tuple[int, int], DualPoint] = {}

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Upper bound on P[V_i <= V_best for some i of the rivals] on n rows; the better of one form and a sum."""
        if not rivals:
            return 0.0
        single = [event_probability(self.form(i, n, order), self.pool.p, n, order=2) for i in rivals]
        total = min(1.0, float(np.sum(single)) * (1.0 + 1e-12))
        joint = 1.0
        if len(rivals) > 1 and self.pool.n_rows <= _MAJORANT_ROWS:
            M, slack = psd_majorant([partial(self.form, i, n, order) for i in rivals], self.pool.p)
            joint = event_probability(M + slack, self.pool.p, n, order=order)
        if order == 4 and total < 4.0 * joint:
            sharp = [event_probability(self.form(i, n, order), self.pool.p, n, order=4) for i in rivals]
            total = min(total, float(np.sum(np.minimum(single, sharp))) * (1.0 + 1e-12))
        return min(joint, total)

    def form(self, rival: int, n: int, order: int) -> Floats:
        """S with {V_rival <= V_best} contained in {p^' S p^ >= 0}."""
        pool, point = self.pool, self._point(rival, n)
        b, half = pool.theta / (1.0 - 2.0 * pool.theta), pool.ball / 2.0
        v, w = 0.5 * point.one * pool.labels, 0.5 * point.one - b * point.two
        K = pool.gram(rival)
        X, Y = K * np.multiply.outer(v, v), K * np.multiply.outer(w, w)
        r = self._loss - point.one - pool.theta * point.two
        linear = (r[:, None] + r[None, :]) / 2.0
        law = quadratic_law((linear, X, Y, np.ones_like(K)), pool.p)
        mean = (1.0 - 1.0 / n) * law[0] + law[1] / n
        a, c = (np.sqrt(np.maximum(mean[k], 1e-12)) for k in (1, 2))
        offers = np.array([(s * a, t * c) for s in _MULTIPLES for t in _MULTIPLES])
        ones = np.ones(len(offers))
        forms = np.stack([ones, half / offers[:, 0], half / offers[:, 1], half * offers.sum(axis=1)], axis=1)
        _, on_x, on_y, constant = forms[int(np.argmin(approximate_tail(forms, law, n, order)))]
        size = float(np.abs(r).max()) + on_x * float(np.abs(X).max()) + on_y * float(np.abs(Y).max()) + constant
        return np.asarray(linear + on_x * X + on_y * Y + (constant + self._slack + 32.0 * UNIT * size))

    def _point(self, rival: int, n: int) -> DualPoint:
        """The dual point for about n rows; any is valid, so one serves a range of n."""
        size = round(4.0 * np.log2(n))
        key = (rival, size)
        if key not in self._points:
            self._points[key] = best_dual(self.pool, rival, 2.0 ** (size / 4.0))
        return self._points[key]
