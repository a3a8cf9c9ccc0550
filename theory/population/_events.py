"""Failure beyond the affine regime, for penalised scores, and for arms with different rows.

A fixed model f of the best arm and a fixed dual point l of a rival: on the samples of the two arms, for all a, c > 0,

    V_1 - V_i <= mean_1 loss_1(f, .) + mean_i r + (Lambda/2)(X/a + a + Y/c + c),   r = -l_1 - theta l_2,

where X = |mean l_1 y Phi_i / 2|^2 and Y = |mean (l_1/2 - b l_2) Phi_i|^2 (Theorem 13 of docs/theorems.md). For a
penalised score the last part is X/(4 C_h) + Y/(4 C_g) + C_h |h|^2 + C_g |g|^2 (Theorem 17). Both are quadratic forms.

If C_h and C_g are large enough, S_i = 1 - |mean y Phi_i|^2/(16 C_h) - |mean Phi_i|^2/(16 C_g) on every sample, so a
comparison of two arms is the sign of one quadratic form and nothing is lost (Theorem 17).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from theory.formulas import rejection_slope, surrogate_loss
from theory.population._affine import BestForms, FormMoments, approximate_tail, choose_windows, form_moments
from theory.population._certificates import DualPoint, best_dual, best_model, psd_majorant
from theory.population._moments import UNIT, Floats
from theory.population._probability import TailBound, event_probability, nested_samples, two_samples
from theory.population.model import PopulationModel

#: Multiples of the typical norms that are offered as a and c.
_MULTIPLES = (0.9, 1.0, 1.1, 1.2, 1.35, 1.5)
_MAJORANT_ROWS = 1000


class _Fixed(NamedTuple):
    """The best arm's losses under its fixed model, the slack for rounding and ties, and |h|^2, |g|^2."""

    loss: Floats
    slack: float
    squares: tuple[float, float]


class DualForms:
    """Forms of one pool and one best arm in any regime; certificates are made once per size of n."""

    def __init__(self, pool: PopulationModel, best: int) -> None:
        self.pool = pool
        self.best = best
        self._b = rejection_slope(pool.theta)
        self._models: dict[int, _Fixed] = {}
        self._points: dict[tuple[int, int], DualPoint] = {}

    def parts(self, rival: int, n: int, k: int, order: int, *, shared: bool = True) -> tuple[Floats, Floats]:
        """Return S, T: V_i <= V_1 only if s' S s + t' T t >= 0, s from the rival's n rows, t from the best arm's k.

        ``shared`` says whether the shorter sample is part of the longer; it only matters for the choice of a and c.
        """
        pool, point, fixed = self.pool, self._point(rival, n), self._fixed(k)
        v, w = 0.5 * point.first * pool.labels, 0.5 * point.first - self._b * point.second
        K = pool.gram(rival)
        X, Y = K * np.multiply.outer(v, v), K * np.multiply.outer(w, w)
        r = -point.first - pool.theta * point.second
        linear, losses = ((f[:, None] + f[None, :]) / 2.0 for f in (r, fixed.loss))
        if pool.ball is None:
            on_h, on_g = pool.penalties(n)
            on_x, on_y = 0.25 / on_h, 0.25 / on_g
            constant = float(np.dot(pool.penalties(k), fixed.squares)) * (1.0 + 1e-14)
        else:
            moments = form_moments((linear, X, Y, np.ones_like(K), losses), pool.p)
            on_x, on_y, constant = _tune(moments, n, k, pool.ball / 2.0, order, shared)
        size = 2.0 + on_x * float(np.abs(X).max()) + on_y * float(np.abs(Y).max()) + constant
        size += float(np.abs(fixed.loss).max())
        S = linear + on_x * X + on_y * Y + (constant + fixed.slack + 64.0 * UNIT * size)
        return np.asarray(S), np.asarray(losses)

    def _fixed(self, k: int) -> _Fixed:
        """Return the best arm's model; one for all numbers of rows unless the penalty depends on them."""
        size = 0 if self.pool.ball is not None or self.pool.loss == "mean" else _size(k)
        if size not in self._models:
            model = best_model(self.pool, self.best, 2.0 ** (size / 4.0) if size else np.inf)
            loss = surrogate_loss(self.pool.labels * model.h, model.g, self.pool.theta)
            # The loss is Lipschitz in (h, g); scores within the resolution may count as equal.
            slack = model.error * max(1.0, self._b) + self.pool.resolution
            self._models[size] = _Fixed(loss, slack, model.squares)
        return self._models[size]

    def _point(self, rival: int, n: int) -> DualPoint:
        """Return the dual point for about n rows; any is valid, so one serves a range of n."""
        key = (rival, _size(n))
        if key not in self._points:
            self._points[key] = best_dual(self.pool, rival, 2.0 ** (key[1] / 4.0))
        return self._points[key]


def _size(n: int) -> int:
    return round(4.0 * float(np.log2(n)))


def _tune(moments: FormMoments, n: int, k: int, half: float, order: int, shared: bool) -> tuple[float, float, float]:
    """Return coefficients of X and Y and the constant for the a and c that a normal approximation prefers."""
    mean = (1.0 - 1.0 / n) * moments[0] + moments[1] / n
    a, c = (np.sqrt(np.maximum(mean[i], 1e-12)) for i in (1, 2))
    offers = np.array([(s * a, t * c) for s in _MULTIPLES for t in _MULTIPLES])
    ones = np.ones(len(offers))
    forms = np.stack([ones, half / offers[:, 0], half / offers[:, 1], half * offers.sum(axis=1), ones], axis=1)
    two = two_sample_moments(moments, np.array([True, True, True, True, False]), n, k, shared)
    _, on_x, on_y, constant, _ = forms[int(np.argmin(approximate_tail(forms, two, k, order)))]
    return float(on_x), float(on_y), float(constant)


def two_sample_moments(moments: FormMoments, rival: np.ndarray, n: int, k: int, shared: bool) -> FormMoments:
    """Return the moments of the forms as if all were on k rows, when those of the rival are on n rows.

    The rival's part is rescaled; parts of different samples have the covariance of the rows that they share, if any.
    """
    h, d, z1, z2 = moments
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
    """P[one of some rivals beats the best arm on n rows] by certificates in any regime, same rows for all arms."""

    def __init__(self, pool: PopulationModel, best: int, tail_bound: TailBound) -> None:
        self.pool = pool
        self._tail_bound = tail_bound
        self._forms = DualForms(pool, best)

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Bound P[V_i <= V_best for some i of the rivals] on n rows by the better of one form and a sum."""
        if not rivals:
            return 0.0
        single = [self._tail_bound(self.form(i, n, order), n, 2) for i in rivals]
        total = min(1.0, float(np.sum(single)) * (1.0 + 1e-12))
        joint = 1.0
        if len(rivals) > 1 and self.pool.n_rows <= _MAJORANT_ROWS:
            M, slack = psd_majorant([partial(self.form, i, n, order) for i in rivals], self.pool.p)
            joint = self._tail_bound(M + slack, n, order)
        if order == 4 and total < 4.0 * joint:
            sharp = [self._tail_bound(self.form(i, n, order), n, 4) for i in rivals]
            total = min(total, float(np.sum(np.minimum(single, sharp))) * (1.0 + 1e-12))
        return min(joint, total)

    def form(self, rival: int, n: int, order: int) -> Floats:
        """Return S with {V_rival <= V_best} contained in {p^' S p^ >= 0}."""
        S, T = self._forms.parts(rival, n, n, order)
        return np.asarray(S + T)


def gain(pool: PopulationModel, arm: int, n: int) -> Floats:
    """Return K_i o (yy'/(16 C_h) + 1/(16 C_g)): its form is 1 - S_i on n rows, where the score is quadratic."""
    on_h, on_g = pool.penalties(n)
    signs = np.outer(pool.labels, pool.labels)
    return np.asarray(pool.gram(arm) * (signs / (16.0 * on_h) + 1.0 / (16.0 * on_g)))


class PenalisedEvents(DualEvents):
    """The same for a penalised score, without certificates where it is quadratic."""

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Bound P[S_i <= S_best for some i of the rivals] on n rows by the smaller of one form and a sum."""
        if not rivals or not self.pool.quadratic(n):
            return super().beaten(rivals, n, order)
        own = gain(self.pool, self._forms.best, n)
        single = [self._tail_bound(self._form(gain(self.pool, i, n), own), n, order) for i in rivals]
        total = min(1.0, float(np.sum(single)) * (1.0 + 1e-12))
        if len(rivals) == 1 or self.pool.n_rows > _MAJORANT_ROWS:
            return total
        M, slack = psd_majorant([partial(gain, self.pool, i, n) for i in rivals], self.pool.p)
        return min(total, self._tail_bound(self._form(M, own) + slack, n, order))

    def _form(self, M: Floats, own: Floats) -> Floats:
        size = float(np.abs(M).max()) + float(np.abs(own).max())
        return np.asarray(M - own + (self.pool.resolution + 32.0 * UNIT * size))


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
        self._moments: dict[int, tuple[FormMoments, tuple[float, float]]] = {}

    def beaten(self, rivals: tuple[int, ...], rows: int | tuple[int, ...], order: int) -> float:
        """Bound P[V_i <= V_best for some rival]; rows is one number, or one per arm of the pool."""
        counts = (rows,) * self.pool.n_arms if isinstance(rows, int) else rows
        total = sum(self._pair(i, counts[i], counts[self.best], order) for i in rivals)
        return min(1.0, total * (1.0 + 1e-12))

    def _pair(self, rival: int, n: int, k: int, order: int) -> float:
        if min(n, k) < 2 or max(n, k) > _ROWS:
            return 1.0
        total = 0.0
        for S, T in self.forms(rival, n, k, order):
            total += self._probability(S, n, T, k, order)
            if total >= 1.0:
                return 1.0
        return total

    def _probability(self, S: Floats, n: int, T: Floats, k: int, order: int) -> float:
        if not self.shared:
            return two_samples(S, n, T, k, self.pool.p, order=order)
        if n == k:
            return event_probability(S + T, self.pool.p, n, order=order)
        return nested_samples(S, n, T, k, self.pool.p, order=order)

    def forms(self, rival: int, n: int, k: int, order: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield forms S of the rival's and T of the best arm's sample, one pair per event; the events cover failure."""
        if self._affine is not None:
            yield from self._windows(self._affine, rival, n, k, order)
        elif self.pool.ball is None and self.pool.quadratic(max(n, k)):
            S, T = gain(self.pool, rival, n), -gain(self.pool, self.best, k)
            size = float(np.abs(S).max()) + float(np.abs(T).max())
            yield S + (self.pool.resolution + 32.0 * UNIT * size), T
        else:
            yield self._dual.parts(rival, n, k, order, shared=self.shared)

    def _windows(self, forms: BestForms, rival: int, n: int, k: int, order: int) -> Iterator[tuple[Floats, Floats]]:
        moments, nodes = self._form_moments(forms, rival)
        mixed = two_sample_moments(moments, np.array([True, True, False, False]), n, k, self.shared)
        for window in choose_windows(mixed, nodes, k, forms.top, order):
            t = sum(weight * node for weight, node in zip(window.on_forms, nodes, strict=True))
            S = forms.rival(rival, t)
            yield S + forms.slack(S, window.on_a, window.on_b), forms.own(window.on_a, window.on_b)

    def _form_moments(self, forms: BestForms, rival: int) -> tuple[FormMoments, tuple[float, float]]:
        if rival not in self._moments:
            ratio = forms.ratio((rival,))
            nodes = (_RATIOS[0] * ratio, _RATIOS[1] * ratio)
            rivals = [forms.rival(rival, t) for t in nodes]
            self._moments[rival] = form_moments((*rivals, forms.signed, forms.plain), self.pool.p), nodes
        return self._moments[rival]
