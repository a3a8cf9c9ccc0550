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

from theory.pool.graphs import Floats

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
    ts, weights = _between(nodes)
    cuts = _cuts(law, n, top)
    steps = [(i, j) for i in range(len(cuts)) for j in range(i + 1, len(cuts))]
    offers = [_offers(ts, weights, float(cuts[i]), float(cuts[j])) for i, j in steps]
    chances = approximate_tail(np.concatenate(offers), law, n, order)
    cost = np.full((len(cuts), len(cuts)), np.inf)
    found: dict[tuple[int, int], Window] = {}
    start = 0
    for (i, j), forms in zip(steps, offers, strict=True):
        at = int(np.argmin(chances[start : start + len(forms)]))
        cost[i, j] = chances[start + at]
        *mix, on_a, on_b = (float(x) for x in forms[at])
        found[i, j] = Window(float(cuts[i]), float(cuts[j]), tuple(mix), on_a, on_b, float(cost[i, j]))
        start += len(forms)
    return tuple(found[step] for step in _shortest(cost))


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


def _offers(ts: Floats, weights: Floats, low: float, high: float) -> Floats:
    """Coefficients of the M, of A and of B for one window: every t with every multiple of a condition."""
    more = [np.zeros((1, 2))]
    if low > 0:
        more.append(_MULTIPLES[:, None] * np.array([1.0, -(low**2)]))
    if np.isfinite(high):
        base = np.array([1.0 + 2.0 / (low + high), 1.0 + 2.0 * low * high / (low + high)])
        more.append(_MULTIPLES[:, None] * np.array([-1.0, high**2]))
    else:
        base = np.array([1.0, 1.0 + 2.0 * low])
    extra = np.concatenate(more)
    on_ab = extra[None, :, :] - (ts / (1.0 + ts))[:, None, None] * base
    on_forms = np.broadcast_to(weights[:, None, :], (len(ts), len(extra), weights.shape[1]))
    return np.concatenate([on_forms, on_ab], axis=2).reshape(-1, weights.shape[1] + 2)


def approximate_tail(forms: Floats, law: Law, n: int, order: int) -> Floats:
    """What the moment bound would be if the linear part were normal; forms has one combination per line."""
    h, d, z1, z2 = law
    mean = forms @ ((1.0 - 1.0 / n) * h + d / n)
    linear = np.sqrt(np.maximum(4.0 / n * ((forms @ z1) * forms).sum(axis=1), 0.0))
    rest = np.sqrt(np.maximum(2.0 / n**2 * ((forms @ z2) * forms).sum(axis=1), 1e-300))
    z = np.clip(-(mean[:, None] + linear[:, None] * _NODES) / rest[:, None], 0.0, 1e30)
    tail = 1.0 / (1.0 + z**2)
    if order == 4:
        # Skewness 0 and kurtosis 4 stand for the degenerate part.
        tail = 1.0 / (1.0 + z**2 + np.maximum(z**2 - 1.0, 0.0) ** 2 / 3.0)
    chance = tail @ (_WEIGHTS / _WEIGHTS.sum())
    return np.where(mean < 0.0, chance, 1.0)
