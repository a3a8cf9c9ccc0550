"""From norms to quadratic forms: failure in the affine regime is contained in a few events {p^' S p^ >= 0}.

On the sample write A = |mean y Phi_1|^2, B = |mean Phi_1|^2, R = p^' M p^ with M >= K_i o (yy' + t) for all rivals i.
If V_i <= V_1 for one of them and the ratio sqrt(A/B) lies in the window [low, high], then

    R - k (1 + 2/(low + high)) A - k (1 + 2 low high/(low + high)) B + c (A - low^2 B) + d (high^2 B - A) >= 0

for k = t/(1 + t) and all c, d >= 0 (Theorem 11 of docs/theorems.md). The windows are chosen with a normal
approximation; whatever is chosen, the events cover the failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.population.graphs import Floats

__all__ = ["Window", "choose_windows", "quadratic_law"]

#: Means, means of the diagonals, covariances of the linear and of the degenerate parts of some forms.
Law = tuple[Floats, Floats, Floats, Floats]

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


def quadratic_law(forms: Sequence[Floats], p: Floats) -> Law:
    """Means h, means of the diagonals d, covariances of the linear parts z1 and of the degenerate parts z2.

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


def choose_windows(law: Law, nodes: Sequence[float], n: int, top: float, order: int) -> tuple[Window, ...]:
    """Windows that cover [0, top] with the smallest sum of approximate probabilities (a shortest path).

    Parameters
    ----------
    law
        `quadratic_law` of the forms M at every node, then of A and B.
    nodes
        The t of the forms, ascending. Between two nodes the mean of their forms is above all rivals as well.
    n
        Number of rows.
    top
        Upper end of the ratio: 1 where no kernel is negative, else infinity.
    order
        Of the moments that will be used.
    """
    cuts = _cuts(law, n, top)
    lows, highs = np.triu_indices(len(cuts), 1)
    cost = np.full((len(cuts), len(cuts)), np.inf)
    best = np.empty((len(cuts), len(cuts), len(nodes) + 2))
    # Which conditions a window has, and with them how many forms are offered, depends on its ends.
    kinds = 2 * (cuts[lows] > 0.0) + np.isfinite(cuts[highs])
    for kind in np.unique(kinds):
        i, j = lows[kinds == kind], highs[kinds == kind]
        forms = _offers(*_between(nodes), cuts[i], cuts[j])
        chances = approximate_tail(forms.reshape(-1, forms.shape[2]), law, n, order).reshape(forms.shape[:2])
        at = np.argmin(chances, axis=1)
        cost[i, j] = np.take_along_axis(chances, at[:, None], axis=1)[:, 0]
        best[i, j] = np.take_along_axis(forms, at[:, None, None], axis=1)[:, 0]
    return tuple(_window(cuts, step, best, cost) for step in _shortest(cost))


def _window(cuts: Floats, step: tuple[int, int], best: Floats, cost: Floats) -> Window:
    """The window between two cuts with the best of the forms that are offered for it."""
    *mix, on_a, on_b = (float(x) for x in best[step])
    return Window(float(cuts[step[0]]), float(cuts[step[1]]), tuple(mix), on_a, on_b, float(cost[step]))


def _cuts(law: Law, n: int, top: float) -> Floats:
    """0, top, and cuts between them where the ratio of the best arm is likely to be (delta method)."""
    h, d, z1, z2 = law
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
    """Values of t from the first to the last node, and the weights of the nodes for each."""
    if len(nodes) == 1:
        return np.array(nodes), np.ones((1, 1))
    ts = np.geomspace(nodes[0], nodes[-1], _STEPS)
    return ts, np.stack([np.interp(ts, nodes, row) for row in np.eye(len(nodes))], axis=1)


def _offers(ts: Floats, weights: Floats, low: Floats, high: Floats) -> Floats:
    """Coefficients of the M, of A and of B for some windows: every t with every multiple of a condition.

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


def approximate_tail(forms: Floats, law: Law, n: int, order: int) -> Floats:
    """What the moment bound would be if the linear part were normal; forms has one combination per line."""
    h, d, z1, z2 = law
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
    chance = np.divide(1.0, z, out=z) @ (_WEIGHTS / _WEIGHTS.sum())
    return np.where(mean < 0.0, chance, 1.0)
