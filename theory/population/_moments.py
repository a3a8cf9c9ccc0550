"""Exact conditional moments of a quadratic statistic, with bounds on their rounding.

Z = sum_{j,k} S(x_j, x_k) / n^2 over n independent rows. Its projection g(x) = S(x, x)/n + 2(1 - 1/n) (Sp)(x) is rounded
to a lattice, L is the mean of the rounded projection, and U = Z - L is the rest, rounding included. E[U^r; L = l]
is a sum of convolutions; nothing is approximated except by floating point.

For U = sum over j != k of G(x_j, x_k) the power U^r is a sum over sequences of r ordered pairs. Sequences whose pairs
form the same multigraph with v vertices have the same expectation, so

    E[z^(k(x_1) + ... + k(x_n)) U^r] = sum over graphs of count * n(n-1)...(n-v+1) * phi(z)^(n-v) * t(z),

where phi(z) = sum p_x z^k(x) and t is the sum over all maps of the vertices to rows of the product of weights
p_x z^k(x) and of G over the edges: a polynomial in z with real coefficients. ``count`` is 2^r r! divided by the
factorials of the multiplicities and by the number of automorphisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Polynomials = dict[str, Floats]

#: Number of vertices of every connected graph.
VERTICES: dict[str, int] = {
    name: count
    for count, names in {
        2: ("edge", "double", "triple", "quadruple"),
        3: ("path3", "double-edge", "triangle", "triple-edge", "double-double", "thick triangle"),
        4: ("path4", "star3", "double-edge-edge", "edge-double-edge", "thick star", "square", "paw"),
        5: ("path5", "star4", "fork"),
    }.items()
    for name in names
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

    def distribution(self) -> Floats:
        """Return P[k(x) = 0], ..., P[k(x) = top]; correctly rounded sums."""
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
        """Return the polynomial sum_x p_x z^k(x) rows_x(z), rows given by coefficients, shape (m, degree + 1)."""
        sums = np.add.reduceat(rows * self.p[:, None], self.starts, axis=0)
        out = np.zeros(self.top + rows.shape[1])
        for value, level in zip(self.values, sums, strict=True):
            out[value : value + level.size] += level
        return out

    def pairs(self, matrix: Floats) -> Floats:
        """Return the polynomial sum_{x,y} p_x p_y z^(k(x) + k(y)) matrix(x, y)."""
        return self.total(self.columns(matrix))

    def push(self, matrix: Floats, rows: Floats) -> Floats:
        """Return the row polynomials sum_y matrix(x, y) p_y z^k(y) rows_y(z), shape (m, top + degree + 1)."""
        out = np.zeros((len(matrix), self.top + rows.shape[1]))
        ends = np.append(self.starts[1:], len(self.k))
        for value, start, end in zip(self.values, self.starts, ends, strict=True):
            part = matrix[:, start:end] @ (self.p[start:end, None] * rows[start:end])
            out[:, value : value + rows.shape[1]] += part
        return out


def multiply(left: Floats, right: Floats) -> Floats:
    """Multiply row polynomials, row by row."""
    if left.shape[1] < right.shape[1]:
        left, right = right, left
    # Degrees are few and rows are many: with the rows side by side the loops inside numpy are long ones.
    long, short = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
    out, part = np.zeros((len(long) + len(short) - 1, len(left))), np.empty_like(long)
    for degree, factor in enumerate(short):
        out[degree : degree + len(long)] += np.multiply(long, factor, out=part)
    return np.ascontiguousarray(out.T)


def graph_polynomials(G: Floats, levels: Levels, order: int) -> Polynomials:
    """Return t(z) of every connected graph with at most ``order`` edges (2 or 4); G in the order of the levels."""
    square = G * G
    a = levels.columns(G)
    aa = multiply(a, a)
    polynomials = {"edge": levels.total(a), "double": levels.pairs(square), "path3": levels.total(aa)}
    if order == 2:
        return polynomials
    b, c = levels.columns(square), levels.columns(square * G)
    n = levels.push(G, a)
    polynomials |= {
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
    return polynomials | _cycles(G, square, a, levels)


#: Numbers held at once by the loop over blocks of rows.
_BLOCK = 4_000_000


def _cycles(G: Floats, square: Floats, a: Floats, levels: Levels) -> Polynomials:
    """Sum graphs with a cycle of length 3 or 4: M_c(x, y) = sum over rows z of level c of G(x, z) p_z G(z, y)."""
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


def moment_polynomials(polynomials: Polynomials, n: int, order: int) -> list[dict[int, Floats]]:
    """Return for r = 1, ..., order: number of vertices v -> sum over graphs of count * n(n-1)...(n-v+1) * t(z)."""
    sums = graph_sums(polynomials, order)
    return [{v: falling(n, v) * poly for v, poly in by_size.items() if v <= n} for by_size in sums]


def graph_sums(
    polynomials: Polynomials, order: int, graphs: Mapping[int, Mapping[tuple[str, ...], int]] = GRAPHS
) -> list[dict[int, Floats]]:
    """Return for r = 1, ..., order: number of vertices v -> sum over graphs of count * t(z)."""
    out = []
    for r in range(1, order + 1):
        by_size: dict[int, Floats] = {}
        for parts, count in graphs[r].items():
            v = sum(VERTICES[name] for name in parts)
            poly = np.array([float(count)])
            for name in parts:
                poly = np.convolve(poly, polynomials[name])
            by_size[v] = _add(by_size.get(v), poly)
        out.append(by_size)
    return out


def falling(n: int, v: int) -> float:
    """Return n (n - 1) ... (n - v + 1)."""
    return float(math.perm(n, v))


def _add(left: Floats | None, right: Floats) -> Floats:
    return right if left is None else left + right


#: Unit roundoff of double precision.
UNIT = 2.0**-53
#: Mass that is cut off at each end of a distribution.
CUT = 1e-30
#: Entries at an end in which the place of the cut is sought first.
_NEAR = 64
#: Up to this many rows a distribution is built row by row, whose rounding is smallest; up to the second number in
#: blocks of `BLOCK` rows, which is half as exact and takes a tenth of the sums; beyond from two halves.
BLOCK, BLOCKWISE = 24, 400


@dataclass(frozen=True, slots=True)
class SumDistribution:
    """P[sum of k = first + i] is mass[i] up to error * mass[i] and what is missing; all else is missing as well.

    Attributes
    ----------
    first
        The sum that belongs to ``mass[0]``.
    mass
        Probabilities.
    missing
        Bound on the whole mass that was cut off, here or from the distributions that were added.
    error
        Bound on the relative rounding error of every entry.
    """

    first: int
    mass: Floats
    missing: float
    error: float

    def plus(self, other: SumDistribution) -> SumDistribution:
        """Return the distribution of the sum of two independent sums."""
        short = min(self.mass.size, other.mass.size)
        mass = np.convolve(self.mass, other.mass)
        error = self.error + other.error + (short + 2) * UNIT * 1.01
        return SumDistribution(self.first + other.first, mass, self.missing + other.missing, error)._cut()

    def _cut(self) -> SumDistribution:
        below, above = _light(self.mass), _light(self.mass[::-1])
        if below + above == 0 or below + above >= self.mass.size:
            return self
        kept = self.mass[below : self.mass.size - above]
        return SumDistribution(self.first + below, kept, self.missing + 3 * CUT, self.error)

    def on(self, first: int, size: int) -> Floats:
        """Return the masses of the sums first, ..., first + size - 1."""
        out = np.zeros(size)
        low, high = max(first, self.first), min(first + size, self.first + self.mass.size)
        if low < high:
            out[low - first : high - first] = self.mass[low - self.first : high - self.first]
        return out


def _light(mass: Floats) -> int:
    """Count the first entries that together weigh no more than what is cut off."""
    # Methods, not functions of numpy: this runs hundreds of times per distribution. A sum has few more entries to cut
    # than its parts, so that the first ones mostly suffice.
    sums = mass[:_NEAR].cumsum()
    if sums[-1] <= CUT:
        sums = mass.cumsum()
    return int(sums.searchsorted(CUT, side="right"))


def sum_distributions(step: Floats, n: int, least: int) -> dict[int, SumDistribution]:
    """Return the distributions of the sums over least, ..., n rows; a row has level k with probability ``step[k]``."""
    # The weights are off by two roundings, their sums over a level by one more.
    single = SumDistribution(0, step, 0.0, 4.0 * UNIT)
    total = _power(single, least)
    sums = {least: total}
    for count in range(least + 1, n + 1):
        total = total.plus(single)
        sums[count] = total
    return sums


def _power(single: SumDistribution, count: int) -> SumDistribution:
    if count > BLOCKWISE:
        half = _power(single, count // 2)
        total = half.plus(half)
        return total.plus(single) if count % 2 else total
    blocks, rest = divmod(count, BLOCK)
    total = _repeated(single, rest)
    block = _repeated(single, BLOCK) if blocks else total
    for _ in range(blocks):
        total = total.plus(block)
    return total


def _repeated(single: SumDistribution, count: int) -> SumDistribution:
    total = SumDistribution(0, np.ones(1), 0.0, 0.0)
    for _ in range(count):
        total = total.plus(single)
    return total


#: Number of steps between the least and the largest value of the projection.
LEVELS = 16
#: Most values of the lattice.
_LARGEST = 1_600_000
#: Rounding error of the fourth moment, in units of the standard deviation, above which it is bounded more finely.
_COARSE = 1e-3


@dataclass(frozen=True, slots=True)
class ConditionalMoments:
    """The distribution of L and the moments of U on {L = l}, for every l of the lattice.

    Attributes
    ----------
    value
        The values l.
    mass
        Upper bounds on P[L = l].
    moments
        E[(U / unit)^r; L = l] for r = 1, ..., order, shape (order, values).
    errors
        Bounds on the rounding errors of the moments, same shape.
    unit
        The standard deviation of U, about.
    slack
        Bound on |Z - L - U|, which is rounding only.
    missing
        Bound on the probability of all other l.
    mass_error
        Bound on the relative excess of the masses, ``2 * missing`` aside.
    """

    value: Floats
    mass: Floats
    moments: Floats
    errors: Floats
    unit: float
    slack: float
    missing: float
    mass_error: float = 0.0


def projection(S: Floats, p: Floats, n: int) -> Floats:
    """Return g(x) = S(x, x)/n + 2(1 - 1/n) (Sp)(x)."""
    return np.asarray(np.diagonal(S) / n + 2.0 * (1.0 - 1.0 / n) * (S @ p), dtype=np.float64)


def conditional_moments(
    S: Floats, p: Floats, n: int, *, order: int = 2, levels: int = LEVELS, step: float | None = None
) -> ConditionalMoments:
    """Compute the moments of the statistic with kernel S over n rows drawn independently from p.

    Parameters
    ----------
    S
        Symmetric kernel, shape (m, m).
    p
        Weights of the rows, positive, with sum 1.
    n
        Number of rows, at least 2.
    order
        2 or 4.
    levels
        Number of steps of the lattice, fewer for very many rows.
    step
        Distance of two values of L, instead of a number of steps.
    """
    g = projection(S, p, n)
    low = float(g.min())
    steps = min(levels, _LARGEST // n)
    width = (float(g.max()) - low) / max(steps, 1) if step is None else step * n
    # A projection that is constant up to rounding has one level.
    flat = step is None and (steps == 0 or width <= 1e-12 * max(1e-300, float(np.abs(S).max())))
    width = width if not flat else 1.0
    k = np.zeros(len(g), dtype=np.int64) if flat else np.rint((g - low) / width).astype(np.int64)
    rounded = low + width * k
    mean = float(p @ S @ p) * (1.0 - 1.0 / n) + float(p @ np.diagonal(S)) / n
    centre = float(p @ rounded) - mean
    t = np.diagonal(S) / n - rounded
    G = S / n**2 + (t[:, None] + t[None, :]) / (2.0 * n * (n - 1)) + centre / (n * (n - 1))
    rows = Levels.of(k, p)
    G = G[np.ix_(rows.order, rows.order)]
    scale = max(float(np.abs(S).max()), float(np.abs(rounded).max()), abs(centre))
    spread = 2.0 * n * (n - 1) * float(rows.p @ (G * G) @ rows.p)
    unit = max(float(np.sqrt(spread)), 1e-9 * scale, 1e-300)
    value, mass, moments, errors, missing, excess = _convolved(G / unit, rows, n, order)
    # Each entry of G, and each value of L, comes from fewer than 16 roundings of numbers below 4 * scale.
    slack = 64.0 * UNIT * scale
    return ConditionalMoments(low + width * value / n - centre, mass, moments, errors, unit, slack, missing, excess)


def _convolved(G: Floats, rows: Levels, n: int, order: int) -> tuple[Floats, Floats, Floats, Floats, float, float]:
    sums = sum_distributions(rows.distribution(), n, max(n - 2 * order, 0))

    def moments(kernel: Floats) -> Floats:
        return _moments(kernel, rows, n, order, sums)

    missing = max(entry.missing for entry in sums.values())
    relative = rounding(len(G), rows.top, order) + 2.0 * max(entry.error for entry in sums.values())
    mass, values, errors = with_errors(G, moments, sums[n], missing, relative, n, order)
    value = (sums[n].first + np.arange(mass.size)).astype(np.float64)
    return value, mass, values, errors, missing, 4.0 * sums[n].error


def with_errors(
    G: Floats,
    moments: Callable[[Floats], Floats],
    total: SumDistribution,
    missing: float,
    relative: float,
    n: int,
    order: int,
) -> tuple[Floats, Floats, Floats]:
    """Return masses that are upper bounds, moments of the kernel G on n rows, and bounds on their rounding errors.

    ``moments`` maps a kernel to its moments by sums of products, ``relative`` bounds the rounding of one product.
    """
    mass = total.mass * (1.0 + 2.0 * total.error) + missing
    # All terms in absolute value add up to at most (n(n-1) max|G|)^r P[L = l], because those of every graph do.
    reach = n * (n - 1) * float(np.abs(G).max()) * (1.0 + 1e-12)
    powers = (reach ** np.arange(1, order + 1))[:, None]
    sizes = powers * mass
    if relative * float(powers[-1, 0]) > _COARSE:
        # For many rows that is too coarse, and the terms in absolute value are added up themselves.
        sizes = np.minimum(sizes, moments(np.abs(G)) * (1.0 + 4.0 * relative))
    return mass, moments(G), relative * sizes + missing * powers


def _moments(G: Floats, rows: Levels, n: int, order: int, sums: dict[int, SumDistribution]) -> Floats:
    """Sum over graphs the graph's polynomial times the distribution of the other rows, shape (order, values)."""
    total = sums[n]
    moments = np.zeros((order, total.mass.size))
    for r, by_size in enumerate(moment_polynomials(graph_polynomials(G, rows, order), n, order)):
        for v, poly in by_size.items():
            moments[r] += place(sums[n - v], poly, total)
    return moments


def place(others: SumDistribution, poly: Floats, whole: SumDistribution) -> Floats:
    """Multiply a polynomial and the distribution of the other rows, at the values of that of all rows."""
    before = others.on(whole.first - poly.size + 1, whole.mass.size + poly.size - 1)
    return np.convolve(before, poly, mode="valid")


def rounding(m: int, top: int, order: int) -> float:
    """Bound the relative rounding of a coefficient by the operations between an entry of G and it."""
    operations = 8 * m + 64 * (top + 1) + 8 * order * top + 200
    return operations * UNIT * 1.01
