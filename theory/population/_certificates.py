"""Certificates: dual points for rivals, a model for the best arm, and psd majorants of several forms.

A certificate need not be optimal to be valid, so a smooth optimiser is enough; its quality decides only how small the
bounds are. Dual points are functions of the rows with values in the triangle {l1, l2 >= 0, l1 + l2 <= 1}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from theory.formulas import rejection_slope, surrogate_loss, surrogate_pieces
from theory.population._moments import UNIT, Floats
from theory.population.model import PopulationModel


class DualPoint(NamedTuple):
    """The weights of the two pieces of the loss on every row."""

    first: Floats
    second: Floats


def best_dual(pool: PopulationModel, arm: int, n: float = np.inf) -> DualPoint:
    """Return a dual point that nearly maximises the dual value for the kernel (1 - 1/n) K + diag(K)/(n p).

    With that kernel the dual value is a lower bound on E V on n rows, so this is the point to use for n rows.
    """
    K = pool.gram(arm)
    return _solved(pool, (1.0 - 1.0 / n) * K + np.diag(np.diagonal(K) / (n * pool.p)), min(n, pool.n_rows))[2]


def dual_value(pool: PopulationModel, arm: int, point: DualPoint) -> float:
    """Return D(l) = E[l1 + theta l2] - Lambda |E l1 y Phi / 2| - Lambda |E (l1/2 - b l2) Phi| <= risk.

    For a penalised score the norms are squared and divided by 4 C_h and 4 C_g.
    """
    K, p = pool.gram(arm), pool.p
    b = rejection_slope(pool.theta)
    v, w = p * 0.5 * point.first * pool.labels, p * (0.5 * point.first - b * point.second)
    squares = max(float(v @ K @ v), 0.0), max(float(w @ K @ w), 0.0)
    if pool.ball is None:
        cost = sum(square / (4.0 * C) for square, C in zip(squares, pool.penalties(pool.n_rows), strict=True))
    else:
        cost = pool.ball * sum(np.sqrt(square) for square in squares)
    return float(p @ (point.first + pool.theta * point.second) - cost)


class Model(NamedTuple):
    """Values of h and g on the rows, bounds on their rounding errors and on |h|^2 and |g|^2."""

    h: Floats
    g: Floats
    error: float
    squares: tuple[float, float]


def best_model(pool: PopulationModel, arm: int, n: float = np.inf) -> Model:
    """Return a model (in both balls, if there are) that nearly minimises the population's risk, penalised as on n rows.

    The optimiser's values are projected on expansions h = K c, whose norm is checked, so that the model is in the ball.
    """
    K = pool.gram(arm)
    h, g, _ = _solved(pool, K, min(n, pool.n_rows))
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    keep = values > 1e-8 * values[-1]
    parts, squares, error = [], [], 0.0
    for wanted in (h, g):
        c = vectors[:, keep] @ ((vectors[:, keep].T @ wanted) / values[keep])
        reach = np.abs(K) @ np.abs(c)
        # Inner products of m numbers: at most 4 m roundings of terms that add up to the sums of absolute values.
        rounding = 4.0 * len(c) * UNIT
        square = float(c @ K @ c) + rounding * float(np.abs(c) @ reach)
        if pool.ball is not None:
            c = c * min(1.0, pool.ball / np.sqrt(max(square, 1e-300)) * (1.0 - 1e-14))
        squares.append(square)
        parts.append(K @ c)
        error += rounding * float(reach.max())
    return Model(parts[0], parts[1], error, (squares[0], squares[1]))


def _solved(pool: PopulationModel, K: Floats, n: float) -> tuple[Floats, Floats, DualPoint]:
    """Return a model that nearly minimises the risk, and the weights of the pieces there, nearly the dual point.

    The maximum of the pieces is replaced by a smooth one that is sharpened in steps, the ball by v / sqrt(1 + |v|^2).
    """
    y, p, theta = pool.labels, pool.p, pool.theta
    b = rejection_slope(theta)
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    keep = values > 1e-10 * values[-1]
    features = vectors[:, keep] * np.sqrt(values[keep])
    width = features.shape[1]
    space = _Penalised(pool.penalties(n)) if pool.ball is None else _Ball(pool.ball)

    def pieces(x: Floats, sharp: float) -> tuple[Floats, Floats, Floats]:
        t, s = y * (features @ space.model(x[:width])), features @ space.model(x[width:])
        scaled = np.stack(np.broadcast_arrays(*surrogate_pieces(t, s, theta))) * sharp
        top = scaled.max(axis=0)
        weights = np.exp(scaled - top)
        total = weights.sum(axis=0)
        return weights[0] / total, weights[1] / total, (top + np.log(total)) / sharp

    def loss(x: Floats, sharp: float) -> tuple[float, Floats]:
        first, second, value = pieces(x, sharp)
        slopes = features.T @ (-0.5 * y * p * first), features.T @ (p * (0.5 * first - b * second))
        parts = [space.back(part, slope, i) for i, (part, slope) in enumerate(zip(np.split(x, 2), slopes, strict=True))]
        return float(p @ value) + sum(cost for cost, _ in parts), np.concatenate([slope for _, slope in parts])

    # scipy.optimize takes a quarter of a second to import: every process would wait for it.
    from scipy.optimize import minimize

    start = features.T @ (p * y), -(features.T @ p)
    x = np.concatenate([3.0 * part / max(float(np.linalg.norm(part)), 1e-9) for part in start])
    options = {"maxiter": 150, "ftol": 1e-10, "gtol": 1e-7}
    for sharp in _SHARPNESS:
        x = minimize(loss, x, args=(sharp,), jac=True, method="L-BFGS-B", options=options).x
    first, second, _ = pieces(x, _SHARPNESS[-1])
    point = DualPoint(first * (1.0 - 1e-15), second * (1.0 - 1e-15))
    return features @ space.model(x[:width]), features @ space.model(x[width:]), point


class _Ball(NamedTuple):
    """Vectors v stand for the points Lambda v / sqrt(1 + |v|^2) of the open ball."""

    radius: float

    def model(self, v: Floats) -> Floats:
        return np.asarray(self.radius * v / np.sqrt(v @ v + 1.0))

    def back(self, v: Floats, slope: Floats, part: int) -> tuple[float, Floats]:
        """Return no cost, and the gradient in v from that in the ball."""
        size = float(np.sqrt(v @ v + 1.0))
        return 0.0, np.asarray(self.radius * (slope - v * float(v @ slope) / size**2) / size)


class _Penalised(NamedTuple):
    """Vectors stand for themselves, and cost C |v|^2."""

    penalties: tuple[float, float]

    def model(self, v: Floats) -> Floats:
        return v

    def back(self, v: Floats, slope: Floats, part: int) -> tuple[float, Floats]:
        """Return the cost of a part of the model, and the gradient with it."""
        C = self.penalties[part]
        return C * float(v @ v), np.asarray(slope + 2.0 * C * v)


_MARGIN = 1e-9
#: How sharp the smooth maximum is, step by step.
_SHARPNESS = (30.0, 200.0, 1500.0)


def risk_intervals(pool: PopulationModel) -> tuple[Floats, Floats]:
    """Return lower and upper bounds on the risk of every arm, in any regime, with a margin for rounding."""
    low, high = np.empty(pool.n_arms), np.empty(pool.n_arms)
    for i in range(pool.n_arms):
        model = best_model(pool, i)
        low[i] = dual_value(pool, i, best_dual(pool, i)) - _MARGIN
        high[i] = float(pool.p @ surrogate_loss(pool.labels * model.h, model.g, pool.theta)) + _MARGIN
        if pool.ball is None:
            high[i] += float(np.dot(pool.penalties(pool.n_rows), model.squares))
    return low, high


#: Rows for which the metric is made; the majorant depends on it little.
_ROWS = 40


def psd_majorant(makers: Sequence[Callable[[], Floats]], p: Floats) -> tuple[Floats, float]:
    """Return a matrix M and a number e with v'Mv + e >= v'Cv for every C that is made and every probability vector v.

    M grows greedily: M <- M + O^(-1/2) (O^(1/2) (C - M) O^(1/2))_+ O^(-1/2) with O = pp' + diag(p)/n, which adds
    the least to E p^' M p^. A Cholesky factorisation certifies every C afterwards.
    """
    M = makers[0]().copy()
    if len(makers) == 1:
        return M, 0.0
    weights, vectors = np.linalg.eigh(np.outer(p, p) + np.diag(p) / _ROWS)
    roots = np.sqrt(weights)
    root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
    for make in makers[1:]:
        values, axes = np.linalg.eigh(root @ (make() - M) @ root)
        keep = values > 0.0
        part = inverse @ axes[:, keep]
        M += (part * values[keep]) @ part.T
    M = (M + M.T) / 2.0
    return M, max(certified_slack(M - make()) for make in makers)


def certified_slack(R: Floats) -> float:
    """Return a number e with v'Rv >= -e for all probability vectors v, by a Cholesky factorisation of R + e I.

    If the factorisation runs to its end, R + e I is psd up to 2 (m + 2) u times its trace (Higham 2002, Theorem 10.3).
    """
    m = len(R)
    size = float(np.abs(R).max())
    if size == 0.0:
        return 0.0
    shift = 1e-13 * m * size
    while True:
        try:
            np.linalg.cholesky(R + shift * np.eye(m))
        except np.linalg.LinAlgError:
            shift *= 10.0
            continue
        # |v|^2 <= 1 for a probability vector; the entries of R themselves carry three roundings.
        return shift + 2.0 * (m + 2) * UNIT * (float(np.trace(R)) + m * shift) + 8.0 * UNIT * size
