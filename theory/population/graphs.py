"""Multigraphs behind the moments of a quadratic statistic, and their sums over a population in levels.

For U = sum over j != k of G(x_j, x_k) the power U^r is a sum over sequences of r ordered pairs. Sequences whose pairs
form the same multigraph with v vertices have the same expectation, so

    E[z^(k(x_1) + ... + k(x_n)) U^r] = sum over graphs of count * n(n-1)...(n-v+1) * phi(z)^(n-v) * t(z),

where phi(z) = sum p_x z^k(x) and t is the sum over all maps of the vertices to rows of the product of weights
p_x z^k(x) and of G over the edges: a polynomial in z with real coefficients. ``count`` is 2^r r! divided by the
factorials of the multiplicities and by the number of automorphisms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Levels", "Polynomials", "falling", "graph_polynomials", "graph_sums", "moment_polynomials"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Polynomials = dict[str, Floats]

#: Connected graphs: number of edges and of vertices.
CONNECTED: dict[str, tuple[int, int]] = {
    "edge": (1, 2),
    "double": (2, 2),
    "path3": (2, 3),
    "triple": (3, 2),
    "double-edge": (3, 3),
    "triangle": (3, 3),
    "path4": (3, 4),
    "star3": (3, 4),
    "quadruple": (4, 2),
    "triple-edge": (4, 3),
    "double-double": (4, 3),
    "thick triangle": (4, 3),
    "double-edge-edge": (4, 4),
    "edge-double-edge": (4, 4),
    "thick star": (4, 4),
    "square": (4, 4),
    "paw": (4, 4),
    "path5": (4, 5),
    "star4": (4, 5),
    "fork": (4, 5),
}

#: For every order the graphs, as products of connected ones, with their counts.
GRAPHS: dict[int, dict[tuple[str, ...], int]] = {
    1: {("edge",): 1},
    2: {("double",): 2, ("path3",): 4, ("edge", "edge"): 1},
    3: {
        ("triple",): 4,
        ("double-edge",): 24,
        ("triangle",): 8,
        ("path4",): 24,
        ("star3",): 8,
        ("double", "edge"): 6,
        ("path3", "edge"): 12,
        ("edge", "edge", "edge"): 1,
    },
    4: {
        ("quadruple",): 8,
        ("triple-edge",): 64,
        ("double-double",): 48,
        ("thick triangle",): 96,
        ("double-edge-edge",): 192,
        ("edge-double-edge",): 96,
        ("thick star",): 96,
        ("square",): 48,
        ("paw",): 192,
        ("path5",): 192,
        ("star4",): 16,
        ("fork",): 192,
        ("triple", "edge"): 16,
        ("double-edge", "edge"): 96,
        ("triangle", "edge"): 32,
        ("path4", "edge"): 96,
        ("star3", "edge"): 32,
        ("double", "double"): 12,
        ("double", "path3"): 48,
        ("path3", "path3"): 48,
        ("double", "edge", "edge"): 12,
        ("path3", "edge", "edge"): 24,
        ("edge", "edge", "edge", "edge"): 1,
    },
}


@dataclass(frozen=True, slots=True)
class Levels:
    """Rows grouped by a whole number k(x), sorted, so that sums over a level are sums over a slice.

    Attributes
    ----------
    order
        Permutation that sorts the rows by level.
    k
        The levels in that order.
    p
        The weights in that order.
    values, starts
        The distinct levels and where each begins.
    """

    order: Ints
    k: Ints
    p: Floats
    values: Ints
    starts: Ints

    @classmethod
    def of(cls, k: Ints, p: Floats) -> Levels:
        """Sort the rows by level."""
        order = np.argsort(k, kind="stable").astype(np.int64)
        values, starts = np.unique(k[order], return_index=True)
        return cls(order, k[order], p[order], values, starts.astype(np.int64))

    @property
    def top(self) -> int:
        """The largest level."""
        return int(self.values[-1])

    def law(self) -> Floats:
        """P[k(x) = 0], ..., P[k(x) = top]; correctly rounded sums."""
        ends = np.append(self.starts[1:], len(self.k))
        return self.spread(np.array([math.fsum(self.p[a:b].tolist()) for a, b in zip(self.starts, ends, strict=True)]))

    def columns(self, matrix: Floats) -> Floats:
        """Sum p_y matrix(., y) over the rows y of each level: coefficients of z^0, ..., z^top, shape (m, top + 1)."""
        return self.spread(np.add.reduceat(matrix * self.p, self.starts, axis=1))

    def spread(self, parts: Floats) -> Floats:
        """Put the columns of the levels that occur into those of all levels 0, ..., top."""
        full = np.zeros((*parts.shape[:-1], self.top + 1))
        full[..., self.values] = parts
        return full

    def total(self, rows: Floats) -> Floats:
        """The polynomial sum_x p_x z^k(x) rows_x(z), rows given by coefficients, shape (m, degree + 1)."""
        sums = np.add.reduceat(rows * self.p[:, None], self.starts, axis=0)
        out = np.zeros(self.top + rows.shape[1])
        for value, line in zip(self.values, sums, strict=True):
            out[value : value + line.size] += line
        return out

    def pairs(self, matrix: Floats) -> Floats:
        """The polynomial sum_{x,y} p_x p_y z^(k(x) + k(y)) matrix(x, y)."""
        return self.total(self.columns(matrix))

    def push(self, matrix: Floats, rows: Floats) -> Floats:
        """Row polynomials sum_y matrix(x, y) p_y z^k(y) rows_y(z), shape (m, top + degree + 1)."""
        out = np.zeros((len(matrix), self.top + rows.shape[1]))
        ends = np.append(self.starts[1:], len(self.k))
        for value, start, end in zip(self.values, self.starts, ends, strict=True):
            part = matrix[:, start:end] @ (self.p[start:end, None] * rows[start:end])
            out[:, value : value + rows.shape[1]] += part
        return out


def multiply(left: Floats, right: Floats) -> Floats:
    """Products of row polynomials, row by row."""
    if left.shape[1] < right.shape[1]:
        left, right = right, left
    # Degrees are few and rows are many: with the rows side by side the loops inside numpy are long ones.
    long, short = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
    out, part = np.zeros((len(long) + len(short) - 1, len(left))), np.empty_like(long)
    for degree, factor in enumerate(short):
        out[degree : degree + len(long)] += np.multiply(long, factor, out=part)
    return np.ascontiguousarray(out.T)


def graph_polynomials(G: Floats, levels: Levels, order: int) -> Polynomials:
    """t(z) of every connected graph with at most ``order`` edges (2 or 4); G in the order of the levels."""
    square = G * G
    a = levels.columns(G)
    aa = multiply(a, a)
    found = {"edge": levels.total(a), "double": levels.pairs(square), "path3": levels.total(aa)}
    if order == 2:
        return found
    b, c = levels.columns(square), levels.columns(square * G)
    n = levels.push(G, a)
    found |= {
        "triple": levels.total(c),
        "double-edge": levels.total(multiply(a, b)),
        "path4": levels.total(multiply(a, n)),
        "star3": levels.total(multiply(aa, a)),
        "quadruple": levels.pairs(square * square),
        "triple-edge": levels.total(multiply(a, c)),
        "double-double": levels.total(multiply(b, b)),
        "double-edge-edge": levels.total(multiply(b, n)),
        "edge-double-edge": levels.total(multiply(a, levels.push(square, a))),
        "thick star": levels.total(multiply(aa, b)),
        "path5": levels.total(multiply(n, n)),
        "star4": levels.total(multiply(aa, aa)),
        "fork": levels.total(multiply(aa, n)),
    }
    return found | _cycles(G, square, a, levels)


#: Numbers held at once by the loop over blocks of rows.
_BLOCK = 4_000_000


def _cycles(G: Floats, square: Floats, a: Floats, levels: Levels) -> Polynomials:
    """Graphs with a cycle of length 3 or 4: M_c(x, y) = sum over rows z of level c of G(x, z) p_z G(z, y)."""
    m, count, top = len(G), len(levels.values), levels.top
    ends = np.append(levels.starts[1:], m)
    slices = [slice(s, e) for s, e in zip(levels.starts, ends, strict=True)]
    size = max(1, _BLOCK // (m * count))
    triangle = np.zeros((m, 2 * top + 1))
    thick = np.zeros((m, 2 * top + 1))
    square4 = np.zeros((m, 3 * top + 1))
    for low in range(0, m, size):
        rows = slice(low, min(low + size, m))
        through = np.stack([(G[rows, z] * levels.p[z]) @ G[z] for z in slices])
        for i, c in enumerate(levels.values):
            triangle[rows, c : c + top + 1] += levels.columns(G[rows] * through[i])
            thick[rows, c : c + top + 1] += levels.columns(square[rows] * through[i])
            for j in range(i, count):
                d = c + levels.values[j]
                part = levels.columns(through[i] * through[j])
                square4[rows, d : d + top + 1] += part if i == j else 2.0 * part
    return {
        "triangle": levels.total(triangle),
        "thick triangle": levels.total(thick),
        "paw": levels.total(multiply(triangle, a)),
        "square": levels.total(square4),
    }


def moment_polynomials(found: Polynomials, n: int, order: int) -> list[dict[int, Floats]]:
    """For r = 1, ..., order: number of vertices v -> sum over graphs of count * n(n-1)...(n-v+1) * t(z)."""
    sums = graph_sums(found, order)
    return [{v: falling(n, v) * poly for v, poly in by_size.items() if v <= n} for by_size in sums]


def graph_sums(found: Polynomials, order: int) -> list[dict[int, Floats]]:
    """For r = 1, ..., order: number of vertices v -> sum over graphs of count * t(z)."""
    out = []
    for r in range(1, order + 1):
        by_size: dict[int, Floats] = {}
        for parts, count in GRAPHS[r].items():
            v = sum(CONNECTED[name][1] for name in parts)
            poly = np.array([float(count)])
            for name in parts:
                poly = np.convolve(poly, found[name])
            by_size[v] = _add(by_size.get(v), poly)
        out.append(by_size)
    return out


def falling(n: int, v: int) -> float:
    """n (n - 1) ... (n - v + 1)."""
    product = 1.0
    for i in range(v):
        product *= n - i
    return product


def _add(left: Floats | None, right: Floats) -> Floats:
    return right if left is None else left + right
