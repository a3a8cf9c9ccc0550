"""Failure in the affine regime: a few events {p^' S p^ >= 0} that cover it.

On the sample write A = |mean y Phi_1|^2, B = |mean Phi_1|^2, R = p^' M p^ with M >= K_i o (yy' + t) for all rivals i.
If V_i <= V_1 for one of them and the ratio sqrt(A/B) lies in the window [low, high], then

    R - k (1 + 2/(low + high)) A - k (1 + 2 low high/(low + high)) B + c (A - low^2 B) + d (high^2 B - A) >= 0

for k = t/(1 + t) and all c, d >= 0 (Theorem 11 of docs/theorems.md). The windows are chosen with a normal
approximation; whatever is chosen, the events cover the failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from theory.population._certificates import psd_majorant
from theory.population._moments import UNIT, Floats
from theory.population._probability import TailBound
from theory.population.model import PopulationModel

#: Means, means of the diagonals, covariances of the linear and of the degenerate parts of some forms.
FormMoments = tuple[Floats, Floats, Floats, Floats]

#: Values of t between the first and the last node.
_STEPS = 13
#: Multiples of the two conditions on the window that are tried.
_MULTIPLES = np.array([0.15, 0.35, 0.7, 1.4])
#: Cuts of the ratio that are tried, in standard deviations from its typical value.
_CUTS = np.array([-4.0, -3.0, -2.2, -1.6, -1.1, -0.6, 0.0, 0.6, 1.1, 1.6, 2.2, 3.0, 4.0])
#: Nodes and weights for an average over the linear part.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(13)


@dataclass(frozen=True, slots=True)
class Window:
    """One window of the ratio, and the form that is not negative in it: a combination of the M, of A and of B.

    Attributes
    ----------
    low, high
        The window.
    on_forms
        Weights of the offered M, not negative, with sum 1.
    on_a, on_b
        Coefficients of A and B.
    estimate
        Approximate probability of the event.
    """

    low: float
    high: float
    on_forms: tuple[float, ...]
    on_a: float
    on_b: float
    estimate: float


def form_moments(forms: Sequence[Floats], p: Floats) -> FormMoments:
    """Return means h, means of the diagonals d, covariances of the linear parts z1 and of the degenerate parts z2.

    The mean of p^' S p^ is (1 - 1/n) h + d/n and its variance 4 z1/n + 2 z2/n^2 up to terms of relative order 1/n.
    """
    rows = [S @ p for S in forms]
    h = np.array([float(p @ row) for row in rows])
    d = np.array([float(p @ np.diagonal(S)) for S in forms])
    centred = np.array(rows) - h[:, None]
    z1 = (centred * p) @ centred.T
    size = len(forms)
    z2 = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            product = float(p @ (forms[i] * forms[j]) @ p)
            z2[i, j] = z2[j, i] = product - h[i] * h[j] - 2.0 * z1[i, j]
    return h, d, z1, z2


def choose_windows(moments: FormMoments, nodes: Sequence[float], n: int, top: float, order: int) -> tuple[Window, ...]:
    """Choose windows that cover [0, top] with the smallest sum of approximate probabilities (a shortest path).

    Parameters
    ----------
    moments
        `form_moments` of the forms M at every node, then of A and B.
    nodes
        The t of the forms, ascending. Between two nodes the mean of their forms is above all rivals as well.
    n
        Number of rows.
    top
        Upper end of the ratio: 1 where no kernel is negative, else infinity.
    order
        Of the moments that will be used.
    """
    cuts = _cuts(moments, n, top)
    lows, highs = np.triu_indices(len(cuts), 1)
    cost = np.full((len(cuts), len(cuts)), np.inf)
    best = np.empty((len(cuts), len(cuts), len(nodes) + 2))
    # Which conditions a window has, and with them how many forms are offered, depends on its ends.
    kinds = 2 * (cuts[lows] > 0.0) + np.isfinite(cuts[highs])
    for kind in np.unique(kinds):
        i, j = lows[kinds == kind], highs[kinds == kind]
        forms = _offers(*_between(nodes), cuts[i], cuts[j])
        tails = approximate_tail(forms.reshape(-1, forms.shape[2]), moments, n, order).reshape(forms.shape[:2])
        at = np.argmin(tails, axis=1)
        cost[i, j] = np.take_along_axis(tails, at[:, None], axis=1)[:, 0]
        best[i, j] = np.take_along_axis(forms, at[:, None, None], axis=1)[:, 0]
    return tuple(_window(cuts, step, best, cost) for step in _shortest(cost))


def _window(cuts: Floats, step: tuple[int, int], best: Floats, cost: Floats) -> Window:
    """Return the window between two cuts with the best of the forms that are offered for it."""
    *mix, on_a, on_b = (float(x) for x in best[step])
    return Window(float(cuts[step[0]]), float(cuts[step[1]]), tuple(mix), on_a, on_b, float(cost[step]))


def _cuts(moments: FormMoments, n: int, top: float) -> Floats:
    """Return 0, top, and cuts between them where the ratio of the best arm is likely to be (delta method)."""
    h, d, z1, z2 = moments
    mean = np.maximum((1.0 - 1.0 / n) * h + d / n, 1e-12)
    variance = 4.0 / n * z1 + 2.0 / n**2 * z2
    centre = float(np.sqrt(mean[-2] / mean[-1]))
    slope = np.array([1.0 / mean[-2], -1.0 / mean[-1]]) / 2.0
    width = centre * float(np.sqrt(max(float(slope @ variance[-2:, -2:] @ slope), 1e-12)))
    cuts = centre + width * _CUTS
    return np.concatenate([[0.0], cuts[(cuts > 0.02) & (cuts < 0.98 * top)], [top]])


def _shortest(cost: Floats) -> list[tuple[int, int]]:
    size = len(cost)
    total, back = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
    total[0] = 0.0
    for j in range(1, size):
        options = total[:j] + cost[:j, j]
        back[j] = int(np.argmin(options))
        total[j] = options[back[j]]
    steps, j = [], size - 1
    while j > 0:
        steps.append((int(back[j]), j))
        j = int(back[j])
    return steps[::-1]


def _between(nodes: Sequence[float]) -> tuple[Floats, Floats]:
    """Return values of t from the first to the last node, and the weights of the nodes for each."""
    if len(nodes) == 1:
        return np.array(nodes), np.ones((1, 1))
    ts = np.geomspace(nodes[0], nodes[-1], _STEPS)
    return ts, np.stack([np.interp(ts, nodes, row) for row in np.eye(len(nodes))], axis=1)


def _offers(ts: Floats, weights: Floats, low: Floats, high: Floats) -> Floats:
    """Return coefficients of the M, of A and of B for some windows: every t with every multiple of a condition.

    All lower ends are 0 or none is, all upper ends are infinite or none is; shape (windows, offers, coefficients).
    """
    count = len(low)
    more = [np.zeros((count, 1, 2))]
    if low[0] > 0:
        more.append(_MULTIPLES[:, None] * np.stack([np.ones(count), -(low**2)], axis=1)[:, None, :])
    if np.isfinite(high[0]):
        base = np.stack([1.0 + 2.0 / (low + high), 1.0 + 2.0 * low * high / (low + high)], axis=1)
        more.append(_MULTIPLES[:, None] * np.stack([-np.ones(count), high**2], axis=1)[:, None, :])
    else:
        base = np.stack([np.ones(count), 1.0 + 2.0 * low], axis=1)
    extra = np.concatenate(more, axis=1)
    offers = np.empty((count, len(ts), extra.shape[1], weights.shape[1] + 2))
    offers[..., :-2] = weights[:, None, :]
    offers[..., -2:] = extra[:, None] - (ts / (1.0 + ts))[:, None, None] * base[:, None, None, :]
    return offers.reshape(count, -1, offers.shape[3])


def approximate_tail(forms: Floats, moments: FormMoments, n: int, order: int) -> Floats:
    """Approximate the moment bound as if the linear part were normal; forms has one combination per row."""
    h, d, z1, z2 = moments
    mean = forms @ ((1.0 - 1.0 / n) * h + d / n)
    linear = np.sqrt(np.maximum(4.0 / n * ((forms @ z1) * forms).sum(axis=1), 0.0))
    rest = np.sqrt(np.maximum(2.0 / n**2 * ((forms @ z2) * forms).sum(axis=1), 1e-300))
    # In place: this array is large, and most of the time went into making others like it.
    z = linear[:, None] * _NODES
    z += mean[:, None]
    z /= -rest[:, None]
    np.clip(z, 0.0, 1e30, out=z)
    z *= z
    # Skewness 0 and kurtosis 4 stand for the degenerate part.
    fourth = np.maximum(z - 1.0, 0.0) ** 2 / 3.0 if order == 4 else 0.0
    z += 1.0
    z += fourth
    probability = np.divide(1.0, z, out=z) @ (_WEIGHTS / _WEIGHTS.sum())
    return np.where(mean < 0.0, probability, 1.0)


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
        """Return K_i o (yy' + t)."""
        return np.asarray(self.pool.gram(arm) * (self._signs + t))

    def own(self, on_a: float, on_b: float) -> Floats:
        """Return the form of on_a A + on_b B."""
        return np.asarray(on_a * self.signed + on_b * self.plain)

    def slack(self, M: Floats, on_a: float, on_b: float) -> float:
        """Bound ties and the rounding of the sum of a rival's form M and the best arm's."""
        return self.tie + 32.0 * UNIT * (float(np.abs(M).max()) + (abs(on_a) + abs(on_b)) * self._size)

    def ratio(self, group: tuple[int, ...]) -> float:
        """Return (a_1 + a_i)/(b_1 + b_i) on the population, for the rival with the smallest gap."""
        a, b = self.pool.norms
        near = max(group, key=lambda i: float(a[i] + b[i]))
        return max(float(a[self.best] + a[near]), 1e-3) / max(float(b[self.best] + b[near]), 1e-3)


#: Multiples of the population's ratio at which forms are made.
_RATIOS = (0.6, 1.0, 1.8)
#: Above this many rows eigenvalues take too long, and rivals are summed.
_MAJORANT_ROWS = 1000


class _Plan(NamedTuple):
    """Forms of one set of rivals: t, M and its certified slack at some nodes, and the moments of the M, A and B.

    The forms of a single rival are not stored.
    """

    nodes: tuple[float, ...]
    forms: tuple[Floats, ...]
    slack: float
    moments: FormMoments


class AffineEvents:
    """Events of one pool and one best arm; what does not depend on n is computed once.

    Parameters
    ----------
    pool
        In the affine regime.
    best
        The arm that the rivals must beat.
    tail_bound
        From a form to a bound, by how the rows are drawn.
    """

    def __init__(self, pool: PopulationModel, best: int, tail_bound: TailBound) -> None:
        self.pool = pool
        self._tail_bound = tail_bound
        self._forms = BestForms(pool, best)
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._windows: dict[tuple[tuple[int, ...], int, int], tuple[Window, ...]] = {}
        self._groupings: dict[tuple[tuple[int, ...], int, int], tuple[tuple[int, ...], ...]] = {}

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Bound P[V_i <= V_best for some i of the rivals] on n rows, by one form for all or a sum."""
        return self._bound(self._grouping(rivals, n, order), n, order) if rivals else 0.0

    def _grouping(self, rivals: tuple[int, ...], n: int, order: int) -> tuple[tuple[int, ...], ...]:
        """Return one group of all rivals, or one of each, whichever is better by the approximation at about this n.

        From 8 on it is made for the middle of the octave, so that it does not depend on which n was asked first.
        """
        each: tuple[tuple[int, ...], ...] = tuple((i,) for i in rivals)
        if len(rivals) == 1 or self.pool.n_rows > _MAJORANT_ROWS:
            return each
        typical = n if n < 8 else 3 * 2 ** n.bit_length() // 4
        key = (rivals, order, typical)
        if key not in self._groupings:
            options = ((rivals,), each)
            self._groupings[key] = min(
                options, key=lambda groups: sum(self._estimate(g, typical, order) for g in groups)
            )
        return self._groupings[key]

    def _estimate(self, group: tuple[int, ...], n: int, order: int) -> float:
        return sum(window.estimate for window in self.windows(group, n, order))

    def windows(self, group: tuple[int, ...], n: int, order: int) -> tuple[Window, ...]:
        """Return the windows of one group of rivals that share a form."""
        key = (group, n, order)
        if key not in self._windows:
            plan = self._plan(group)
            self._windows[key] = choose_windows(plan.moments, plan.nodes, n, self._forms.top, order)
        return self._windows[key]

    def _bound(self, groups: tuple[tuple[int, ...], ...], n: int, order: int) -> float:
        total = 0.0
        for group in groups:
            for window in self.windows(group, n, order):
                total += self._tail_bound(self.form(group, window), n, order)
                if total >= 1.0:
                    return 1.0
        return min(1.0, total * (1.0 + 1e-12))

    def form(self, group: tuple[int, ...], window: Window) -> Floats:
        """Return S such that failure of the group inside the window implies p^' S p^ >= 0."""
        plan = self._plan(group)
        M = self._mixed(plan, group, window.on_forms)
        slack = plan.slack + self._forms.slack(M, window.on_a, window.on_b)
        return np.asarray(M + self._forms.own(window.on_a, window.on_b) + slack)

    def _mixed(self, plan: _Plan, group: tuple[int, ...], weights: tuple[float, ...]) -> Floats:
        if len(group) == 1:
            return self._forms.rival(group[0], sum(weight * t for weight, t in zip(weights, plan.nodes, strict=True)))
        return np.asarray(sum(weight * form for weight, form in zip(weights, plan.forms, strict=True)))

    def _plan(self, group: tuple[int, ...]) -> _Plan:
        if group not in self._plans:
            ratios = _RATIOS if len(group) > 1 else (_RATIOS[0], _RATIOS[-1])
            nodes = tuple(ratio * self._forms.ratio(group) for ratio in ratios)
            pairs = [psd_majorant([partial(self._forms.rival, i, t) for i in group], self.pool.p) for t in nodes]
            forms = tuple(M for M, _ in pairs)
            moments = form_moments((*forms, self._forms.signed, self._forms.plain), self.pool.p)
            # The form of one rival is linear in t and computed again when needed: many rivals would fill the memory.
            kept = forms if len(group) > 1 else ()
            self._plans[group] = _Plan(nodes, kept, max(e for _, e in pairs), moments)
        return self._plans[group]
