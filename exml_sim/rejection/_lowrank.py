"""Solve the penalised problem on a low-rank factor K = L L', in O(m r^2).

The solver is that of :mod:`exml_sim.rejection._dual`: the same triangles, sweeps, then proximal steps solved by
Newton's method, here with matrix products for the parts that grow with m. A Newton system has the size of twice the
rank, or of the number of free directions if that is smaller. What the result says about the full kernel is the matter
of :mod:`exml_sim.rejection._large`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.rejection._factor import chunks
from exml_sim.rejection._loops import bout_factor
from exml_sim.rejection._newton import directions, line_search
from exml_sim.rejection._proximal import (
    INNER_ACCURACY,
    INNER_LIMIT,
    SIGMA_CAP,
    exhausted,
    first_residual,
    inner_residual,
    measure,
    pace,
    settle,
)
from exml_sim.rejection._triangle import B2, CORNER_B, INSIDE

SWEEPS = 16  # row-by-row sweeps in a bout, the last over all rows
WINDOW = 3  # bouts over which their pace is taken: the gap falls on the whole, not every time
MOST_BOUTS = 60  # that sweeps may seem to need at their present pace: beyond, Newton steps are quicker
FIRST_SIGMA = 20.0  # first proximal parameter, in units of mean weight / C
_Move = tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]  # u, v, L'd and, where it is known already, L L'd
GROUPS = 6  # faces off the corners, those that depend on the label counted twice


@dataclass(slots=True)
class DualIterate:
    """A dual point with its derived quantities: z = (u, v), its images L'z, the products K z at the rows, the faces."""

    u: FloatArray
    v: FloatArray
    image: FloatArray
    ku: FloatArray
    kv: FloatArray
    face: IntArray

    def copy(self) -> DualIterate:
        """Independent copy."""
        return DualIterate(*(np.copy(getattr(self, name)) for name in self.__slots__))


class Maximiser:
    """The dual on L L' for given labels, weights and geometry."""

    def __init__(
        self, factor: FloatArray, y: FloatArray, p: FloatArray, geo: FloatArray, rest: FloatArray | None = None
    ) -> None:
        self.factor, self.y, self.p, self.geo = factor, y, p, geo
        self.rest = rest
        self.zero = np.zeros(len(y))
        self.steps = 0
        self._grams: FloatArray | None = None
        self._seen = np.full(len(y), -1, np.int64)

    def run(self, scale: float, tol: float, limit: int) -> DualIterate:
        """Find z = (u, v) with a relative gap of `tol`, if rounding and the limit on steps permit."""
        start = self._place(np.zeros_like(self.zero), np.zeros_like(self.zero))
        return self._proximal(self._swept(start, tol), FIRST_SIGMA * scale, tol, limit)

    def gap(self, point: DualIterate) -> tuple[float, float]:
        """Duality gap and dual value on L L'."""
        gap, value = measure(self.y, self.p, self.geo, point.u, point.v, point.ku, point.kv, self.zero, self.zero)
        return float(gap), float(value)

    def rank_cost(self, point: DualIterate) -> float:
        """What the rest of the kernel takes from the dual value, z'Rz/2, guessed from the diagonal `rest` of R alone.

        A guess, not a bound: it tells the solver which accuracy is of no use, and is no part of a certificate.
        """
        return 0.0 if self.rest is None else float(0.5 * self.rest @ (point.u**2 + point.v**2))

    def _goal(self, value: float, tol: float, point: DualIterate) -> float:
        """Compute the gap that is small enough."""
        return max(tol * max(1.0, abs(value)), self.rank_cost(point))

    def _swept(self, point: DualIterate, tol: float) -> DualIterate:
        """The point after bouts of sweeps: up to the goal, or until as many more seem to be needed as do not pay."""
        gap, value = self.gap(point)
        if gap <= self._goal(value + gap, tol, point):
            return point
        bouts = _Bouts(self.factor, self.y, self.p, self.geo)
        gaps = [np.inf] * WINDOW
        while True:
            gap, moved = bouts.run(point)
            goal = self._goal(value + gap, tol, point)
            if gap <= goal:
                # So it seems in single precision, and from rows visited one after the other.
                point = self._place(point.u, point.v, point.face)
                gap, value = self.gap(point)
                goal = self._goal(value + gap, tol, point)
                if gap <= goal:
                    return point
            gaps.append(gap)
            pace = np.log(min(gaps[:-WINDOW]) / min(gaps)) / WINDOW
            if moved == 0 or np.log(gap / goal) > MOST_BOUTS * pace:
                return self._place(point.u, point.v, point.face)

    def _place(self, u: FloatArray, v: FloatArray, face: IntArray | None = None) -> DualIterate:
        image = self._image(u, v)
        values = self.factor @ image if np.any(image) else np.zeros((len(u), 2))
        ku, kv = np.ascontiguousarray(values[:, 0]), np.ascontiguousarray(values[:, 1])
        faces = np.zeros(len(u), np.int64) if face is None else face
        return DualIterate(u, v, np.ascontiguousarray(image), ku, kv, faces)

    def _proximal(self, point: DualIterate, sigma: float, tol: float, limit: int) -> DualIterate:
        best_point, here = point.copy(), point.copy()
        best, value = self.gap(point)
        last, cap, stalled = value, SIGMA_CAP, 0
        while best > self._goal(value + best, tol, best_point) and self.steps < limit:
            trial, inner = self._step(here, sigma, limit)
            if trial is None:
                sigma, stalled = 0.1 * sigma, stalled + 1
                cap = sigma
                if stalled > 12:
                    break
                continue
            gap, now = self.gap(trial)
            back, stalled, sigma, cap = pace(gap, now, best, last, inner, stalled, sigma, cap)
            if gap < best:
                best, value, best_point = gap, now, trial.copy()
            if not back:
                here, last = trial, now
            if exhausted(stalled, best, value):
                break
        return best_point

    def _step(self, z: DualIterate, sigma: float, limit: int) -> tuple[DualIterate | None, int]:
        """One proximal step, solved by Newton's method; None where the first system has no factor."""
        y, p, geo = self.y, self.p, self.geo
        m = len(y)
        ru, rv, face = np.empty(m), np.empty(m), z.face.copy()
        first_residual(y, geo, face, z.ku, z.kv, sigma, ru, rv)
        move = self._direction(face, ru, rv, sigma)
        if move is None:
            return None, 0
        x = DualIterate(z.u + move.u, z.v + move.v, z.image + move.image, z.ku + move.ku, z.kv + move.kv, face)
        inner, t = 1, 1.0
        while True:
            changed, residual, length = inner_residual(y, p, geo, z.u, z.v, x.u, x.v, x.ku, x.kv, sigma, face, ru, rv)
            if (changed == 0 and t == 1.0) or residual <= INNER_ACCURACY * length:
                break
            if inner >= INNER_LIMIT or self.steps >= limit:
                break
            move = self._direction(face, ru, rv, sigma)
            inner += 1
            if move is None:
                break
            t = line_search(y, p, geo, z.u, z.v, x.u, x.v, x.ku, x.kv, move.u, move.v, move.ku, move.kv, sigma, ru, rv)
            if t == 0.0:
                break
            for name in ("u", "v", "image", "ku", "kv"):
                getattr(x, name)[...] += t * getattr(move, name)
        u, v = np.empty(m), np.empty(m)
        settle(y, p, geo, face, x.u, x.v, u, v, ru, rv)
        return self._place(u, v, face), inner

    def _direction(self, face: IntArray, ru: FloatArray, rv: FloatArray, sigma: float) -> DualIterate | None:
        """Newton direction d with (I + sigma P K) d = r, L'd and K d, through the smaller of two systems."""
        self.steps += 1
        free = int(np.sum(face > CORNER_B) + np.sum(face == INSIDE))
        solve = self._by_rows if free <= 2 * self.factor.shape[1] else self._by_columns
        move = solve(face, ru, rv, sigma)
        if move is None:
            return None
        u, v, image, values = move
        if values is None:
            values = self.factor @ image
        return DualIterate(u, v, image, np.ascontiguousarray(values[:, 0]), np.ascontiguousarray(values[:, 1]), face)

    def _by_rows(self, face: IntArray, ru: FloatArray, rv: FloatArray, sigma: float) -> _Move | None:
        """Over the free directions E: (I/sigma + E'KE) x = E'(r/sigma - K d0), d = d0 + E x, d0 = (I - P) r."""
        at, e1, e2 = directions(face, self.y, self.geo)
        along = e1 * ru[at] + e2 * rv[at]
        du, dv = ru.copy(), rv.copy()
        np.subtract.at(du, at, along * e1)
        np.subtract.at(dv, at, along * e2)
        inside = face == INSIDE
        du[inside] = dv[inside] = 0.0
        image = self._image(du, dv)
        if len(at) == 0:
            return du, dv, image, None
        rows = self.factor[at]
        base = rows @ image
        right = along / sigma - e1 * base[:, 0] - e2 * base[:, 1]
        system = (rows @ rows.T) * (np.outer(e1, e1) + np.outer(e2, e2))
        system[np.diag_indices_from(system)] += 1.0 / sigma
        x = _solve_positive(system, right)
        if x is None:
            return None
        np.add.at(du, at, x * e1)
        np.add.at(dv, at, x * e2)
        return du, dv, image + rows.T @ np.column_stack([x * e1, x * e2]), None

    def _by_columns(self, face: IntArray, ru: FloatArray, rv: FloatArray, sigma: float) -> _Move | None:
        """Over the columns of L: (I + sigma L'PL) e = L'r, d = r - sigma P L e, L'd = e."""
        r = self.factor.shape[1]
        weights = self._weights()
        grams = self._group_grams(face)
        curved = np.tensordot(weights, grams, axes=(0, 0))
        system = np.empty((2 * r, 2 * r))
        system[:r, :r], system[r:, r:] = sigma * curved[0], sigma * curved[2]
        system[r:, :r] = system[:r, r:] = sigma * curved[1]
        system[np.diag_indices_from(system)] += 1.0
        e = _solve_positive(system, self._image(ru, rv).T.ravel())
        if e is None:
            return None
        image = np.ascontiguousarray(e.reshape(2, r).T)
        values = self.factor @ image
        w11, w12, w22 = np.vstack([np.zeros((1, 3)), weights])[self._groups(face) + 1].T
        du = ru - sigma * (w11 * values[:, 0] + w12 * values[:, 1])
        dv = rv - sigma * (w12 * values[:, 0] + w22 * values[:, 1])
        return du, dv, image, values

    def _image(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """L'(u, v), from the rows that are not zero if these are few."""
        rows = np.flatnonzero((u != 0.0) | (v != 0.0))
        pair = np.column_stack([u[rows], v[rows]])
        if 4 * len(rows) > len(u):
            full = np.zeros((len(u), 2))
            full[rows] = pair
            product: FloatArray = self.factor.T @ full
            return product
        few: FloatArray = self.factor[rows].T @ pair
        return few

    def _groups(self, face: IntArray) -> IntArray:
        """Group of every row: -1 at a corner, else one of six that share the derivative of the projection."""
        kind = face - (CORNER_B + 1)  # OA, OB, AB, inside
        table = np.array([[0, 2, 3, 5], [1, 2, 4, 5]])
        return np.where(kind < 0, -1, table[(self.y < 0).astype(int), np.maximum(kind, 0)])

    def _weights(self) -> FloatArray:
        """Entries (1,1), (1,2), (2,2) of the derivative in the six groups."""
        faces = np.array([3, 3, 4, 5, 5, 6])
        signs = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
        at, e1, e2 = directions(faces, signs, self.geo)
        table = np.zeros((GROUPS, 3))
        for k, a, b in zip(at, e1, e2, strict=True):
            table[k] += (a * a, a * b, b * b)
        return table

    def _group_grams(self, face: IntArray) -> FloatArray:
        """Sums of L_i' L_i over the rows of each group; only rows that changed theirs are added and taken away."""
        groups = self._groups(face)
        r = self.factor.shape[1]
        changed = groups != self._seen
        if self._grams is None or 2 * np.sum(changed) > np.sum(groups >= 0):
            self._grams = np.zeros((GROUPS, r, r))
            self._seen = np.full(len(face), -1, np.int64)
            changed = groups >= 0
        for k in range(GROUPS):
            self._add(k, np.flatnonzero(changed & (groups == k)), 1.0)
            self._add(k, np.flatnonzero(changed & (self._seen == k)), -1.0)
        self._seen = groups
        return self._grams

    def _add(self, group: int, rows: NDArray[np.intp], sign: float) -> None:
        assert self._grams is not None
        for part in chunks(len(rows)):
            block = self.factor[rows[part]]
            self._grams[group] += sign * (block.T @ block)


class _Bouts:
    """What sweeps over a factor need, computed once: L in single precision, step lengths, an order of the rows."""

    def __init__(self, factor: FloatArray, y: FloatArray, p: FloatArray, geo: FloatArray) -> None:
        squares = np.einsum("ij,ij->i", factor, factor)
        self.square = float(np.max(squares)) or 1.0
        self.size = float(np.max(p) * np.max(np.abs(geo[: B2 + 1])))
        self.factor = np.divide(factor, np.sqrt(self.square), dtype=np.float32, casting="same_kind")
        self.steps = 1.0 / np.maximum(squares, 1e-12 * self.square)
        self.order, self.active = np.arange(len(y)), len(y)
        self.problem = y, p, geo
        self.state = np.array([88172645463325252], np.uint64)

    def run(self, point: DualIterate, sweeps: int = SWEEPS) -> tuple[float, int]:
        """A bout from the point, whose z, image and faces it changes; a guess of the gap, and the rows that moved."""
        image = (point.image / (np.sqrt(self.square) * self.size)).astype(np.float32)
        iu, iv = np.ascontiguousarray(image[:, 0]), np.ascontiguousarray(image[:, 1])
        shared = (self.factor, self.square, self.size, self.steps, self.order, self.active, *self.problem)
        gap, moved, self.active = bout_factor(*shared, point.u, point.v, iu, iv, point.face, sweeps, self.state)
        point.image = np.column_stack([iu, iv]) * (np.sqrt(self.square) * self.size)
        return float(gap), int(moved)


def _solve_positive(system: FloatArray, right: FloatArray) -> FloatArray | None:
    """Solution of a symmetric positive definite system, which is overwritten; its transpose saves LAPACK a copy."""
    try:
        solved: FloatArray = cho_solve(
            cho_factor(system.T, overwrite_a=True, check_finite=False), right, check_finite=False
        )
    except LinAlgError:
        return None
    return solved if bool(np.all(np.isfinite(solved))) else None
