"""Forms beyond the affine regime: a fixed model f of the best arm, and a fixed dual point l of a rival.

On the samples of the two arms, for all a, c > 0,

    V_1 - V_i <= mean_1 loss_1(f, .) + mean_i r + (Lambda/2)(X/a + a + Y/c + c),   r = -l_1 - theta l_2,

where X = |mean l_1 y Phi_i / 2|^2 and Y = |mean (l_1/2 - b l_2) Phi_i|^2 (Theorem 13 of docs/theorems.md). For a
penalised score the last part is X/(4 C_h) + Y/(4 C_g) + C_h |h|^2 + C_g |g|^2 (Theorem 17). Both are quadratic forms.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from theory.population.draws import Draws
from theory.population.duality import DualPoint, best_dual, best_model, surrogate
from theory.population.graphs import Floats
from theory.population.law import UNIT
from theory.population.majorant import psd_majorant
from theory.population.model import PopulationModel
from theory.population.windows import Law, approximate_tail, quadratic_law

__all__ = ["DualEvents", "DualForms"]

#: Multiples of the typical norms that are offered as a and c.
_MULTIPLES = (0.9, 1.0, 1.1, 1.2, 1.35, 1.5)
_MAJORANT_ROWS = 1000


class _Fixed(NamedTuple):
    """The best arm's losses under its fixed model, what must be added for rounding and ties, and |h|^2, |g|^2."""

    loss: Floats
    slack: float
    squares: tuple[float, float]


class DualForms:
    """Forms of one pool and one best arm in any regime; certificates are made once per size of n."""

    def __init__(self, pool: PopulationModel, best: int) -> None:
        self.pool = pool
        self.best = best
        self._b = pool.theta / (1.0 - 2.0 * pool.theta)
        self._models: dict[int, _Fixed] = {}
        self._points: dict[tuple[int, int], DualPoint] = {}

    def parts(self, rival: int, n: int, k: int, order: int, *, shared: bool = True) -> tuple[Floats, Floats]:
        """S and T with V_i <= V_1 only if s' S s + t' T t >= 0, s the law of the rival's n rows, t of the best arm's k.

        ``shared`` says whether the shorter sample is part of the longer; it only matters for the choice of a and c.
        """
        pool, point, fixed = self.pool, self._point(rival, n), self._fixed(k)
        v, w = 0.5 * point.one * pool.labels, 0.5 * point.one - self._b * point.two
        K = pool.gram(rival)
        X, Y = K * np.multiply.outer(v, v), K * np.multiply.outer(w, w)
        r = -point.one - pool.theta * point.two
        linear, losses = ((f[:, None] + f[None, :]) / 2.0 for f in (r, fixed.loss))
        if pool.ball is None:
            on_h, on_g = pool.penalties(n)
            on_x, on_y = 0.25 / on_h, 0.25 / on_g
            constant = float(np.dot(pool.penalties(k), fixed.squares)) * (1.0 + 1e-14)
        else:
            law = quadratic_law((linear, X, Y, np.ones_like(K), losses), pool.p)
            on_x, on_y, constant = _tuned(law, n, k, pool.ball / 2.0, order, shared)
        size = 2.0 + on_x * float(np.abs(X).max()) + on_y * float(np.abs(Y).max()) + constant
        size += float(np.abs(fixed.loss).max())
        S = linear + on_x * X + on_y * Y + (constant + fixed.slack + 64.0 * UNIT * size)
        return np.asarray(S), np.asarray(losses)

    def _fixed(self, k: int) -> _Fixed:
        """The best arm's model; one for all numbers of rows unless the penalty depends on them."""
        size = 0 if self.pool.ball is not None or self.pool.loss == "mean" else _size(k)
        if size not in self._models:
            model = best_model(self.pool, self.best, 2.0 ** (size / 4.0) if size else np.inf)
            loss = surrogate(self.pool.labels * model.h, model.g, self.pool.theta)
            # The loss is Lipschitz in (h, g); scores within the resolution may count as equal.
            slack = model.error * max(1.0, self._b) + self.pool.resolution
            self._models[size] = _Fixed(loss, slack, model.squares)
        return self._models[size]

    def _point(self, rival: int, n: int) -> DualPoint:
        """The dual point for about n rows; any is valid, so one serves a range of n."""
        key = (rival, _size(n))
        if key not in self._points:
            self._points[key] = best_dual(self.pool, rival, 2.0 ** (key[1] / 4.0))
        return self._points[key]


def _size(n: int) -> int:
    return round(4.0 * float(np.log2(n)))


def _tuned(law: Law, n: int, k: int, half: float, order: int, shared: bool) -> tuple[float, float, float]:
    """Coefficients of X and Y and the constant for the a and c that a normal approximation prefers."""
    mean = (1.0 - 1.0 / n) * law[0] + law[1] / n
    a, c = (np.sqrt(np.maximum(mean[i], 1e-12)) for i in (1, 2))
    offers = np.array([(s * a, t * c) for s in _MULTIPLES for t in _MULTIPLES])
    ones = np.ones(len(offers))
    forms = np.stack([ones, half / offers[:, 0], half / offers[:, 1], half * offers.sum(axis=1), ones], axis=1)
    two = two_sample_law(law, np.array([True, True, True, True, False]), n, k, shared)
    _, on_x, on_y, constant, _ = forms[int(np.argmin(approximate_tail(forms, two, k, order)))]
    return float(on_x), float(on_y), float(constant)


def two_sample_law(law: Law, rival: np.ndarray, n: int, k: int, shared: bool) -> Law:
    """The law of the forms as if all were on k rows, when those of the rival are on n rows.

    The rival's part is rescaled; parts of different samples have the covariance of the rows that they share, if any.
    """
    h, d, z1, z2 = law
    apart = rival[:, None] != rival[None, :]
    both = rival[:, None] & rival[None, :]
    share, common = k / n, k / max(n, k) if shared else 0.0
    return (
        h,
        np.where(rival, k * ((1.0 / k - 1.0 / n) * h + d / n), d),
        z1 * np.where(apart, common, np.where(both, share, 1.0)),
        z2 * np.where(apart, (min(n, k) / n) ** 2 if shared else 0.0, np.where(both, share**2, 1.0)),
    )


class DualEvents:
    """P[one of some rivals beats the best arm on n rows] in any regime, same rows for all arms."""

    def __init__(self, pool: PopulationModel, best: int, draws: Draws) -> None:
        self.pool = pool
        self._draws = draws
        self._forms = DualForms(pool, best)

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Upper bound on P[V_i <= V_best for some i of the rivals] on n rows; the better of one form and a sum."""
        if not rivals:
            return 0.0
        single = [self._draws(self.form(i, n, order), n, 2) for i in rivals]
        total = min(1.0, float(np.sum(single)) * (1.0 + 1e-12))
        joint = 1.0
        if len(rivals) > 1 and self.pool.n_rows <= _MAJORANT_ROWS:
            M, slack = psd_majorant([partial(self.form, i, n, order) for i in rivals], self.pool.p)
            joint = self._draws(M + slack, n, order)
        if order == 4 and total < 4.0 * joint:
            sharp = [self._draws(self.form(i, n, order), n, 4) for i in rivals]
            total = min(total, float(np.sum(np.minimum(single, sharp))) * (1.0 + 1e-12))
        return min(joint, total)

    def form(self, rival: int, n: int, order: int) -> Floats:
        """S with {V_rival <= V_best} contained in {p^' S p^ >= 0}."""
        S, T = self._forms.parts(rival, n, n, order)
        return np.asarray(S + T)
