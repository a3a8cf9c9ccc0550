"""Two samples from one order: the first n and the first k rows of it, n and k different.

The rows up to the shorter sample's end ("both") enter two forms, the others one. A population of 2m rows, every row
once as "both" and once as "one", with a level that also says which it is, turns the graphs of `theory.population.graphs` into
those of two kinds of rows: the coefficient of z^(W v' + l), W above every sum of levels, belongs to graphs with v'
vertices among the rows that both samples have.
"""

from __future__ import annotations

import numpy as np

from theory.population.graphs import Floats, Levels, falling, graph_polynomials, graph_sums
from theory.population.law import UNIT, SumLaw, sum_laws
from theory.population.moments import LEVELS, Conditional, placed, rounding, with_errors
from theory.population.tails import tail_sum

__all__ = ["nested_moments", "nested_samples"]


def nested_samples(S: Floats, n: int, T: Floats, k: int, p: Floats, *, order: int = 2, levels: int = LEVELS) -> float:
    """Upper bound on P[s' S s + t' T t >= 0] for the laws s of the first n and t of the first k of independent rows."""
    if n == k:
        raise ValueError(f"the samples must differ in size, got {n} rows each")
    short, few, long, many = (S, n, T, k) if n < k else (T, k, S, n)
    if few < 1 or many < 2:
        return 1.0
    mean = sum(float(p @ M @ p) * (1.0 - 1.0 / c) + float(p @ np.diagonal(M)) / c for M, c in ((S, n), (T, k)))
    if mean >= 0.0:
        return 1.0
    return tail_sum(nested_moments(short, few, long, many, p, order=order, levels=levels))


def nested_moments(
    short: Floats, few: int, long: Floats, many: int, p: Floats, *, order: int = 2, levels: int = LEVELS
) -> Conditional:
    """Moments of s' short s + t' long t, s the law of the first ``few`` and t that of all ``many`` rows.

    Z = sum over pairs of draws of M, where M = long / many^2, and short / few^2 is added if both draws are among the
    first. L is the sum of the rounded projections of the draws, U = Z - L the rest.
    """
    rest = many - few
    outer = long / many**2
    inner = outer + short / few**2
    alone = outer @ p
    g = np.stack(
        [
            np.diagonal(inner) + 2.0 * ((few - 1) * (inner @ p) + rest * alone),
            np.diagonal(outer) + 2.0 * ((rest - 1) * alone + few * alone),
        ]
    )
    low = g.min(axis=1)
    scale = max(float(np.abs(short).max()), float(np.abs(long).max()))
    width = max(float(np.ptp(g, axis=1).max()) / levels, 1e-12 * scale / many)
    level = np.rint((g - low[:, None]) / width).astype(np.int64)
    rounded = low[:, None] + width * level
    counts = np.array([few, rest], dtype=np.float64)
    mean = float(counts @ (rounded @ p)) - _mean(inner, outer, few, rest, p)
    t = np.stack([np.diagonal(inner), np.diagonal(outer)]) - rounded
    pair = 1.0 / (2.0 * (many - 1))
    blocks = [
        [M + (t[i][:, None] + t[j][None, :]) * pair + mean / (many * (many - 1)) for j, M in enumerate(line)]
        for i, line in enumerate(((inner, outer), (outer, outer)))
    ]
    top = int(level.max())
    far = 2 * order * top + 1
    rows = Levels.of(np.concatenate([level[0] + far, level[1]]), np.concatenate([p, p]))
    G = np.block(blocks)[np.ix_(rows.order, rows.order)]
    spread = sum(
        float(c * d * (p @ (blocks[i][j] ** 2) @ p)) for i, c in enumerate(counts) for j, d in enumerate(counts)
    )
    unit = max(float(np.sqrt(2.0 * spread)), 1e-9 * scale, 1e-300)
    steps = [_level_law(level[i], p) for i in range(2)]
    value, found = _collected(G / unit, rows, steps, (few, rest), top, far, order)
    base = float(counts @ low) - mean
    # Every entry of G and every value of L comes from fewer than 32 roundings; the sums over draws are below 4 * scale.
    size = max(4.0 * scale, float(counts @ np.abs(rounded).max(axis=1)), abs(mean))
    mass, moments, errors, missing, excess = found
    return Conditional(base + width * value, mass, moments, errors, unit, 128.0 * UNIT * size, missing, excess)


def _mean(inner: Floats, outer: Floats, few: int, rest: int, p: Floats) -> float:
    """E Z."""
    one, two = float(p @ inner @ p), float(p @ outer @ p)
    diagonal = few * float(p @ np.diagonal(inner)) + rest * float(p @ np.diagonal(outer))
    return few * (few - 1) * one + (rest * (rest - 1) + 2 * few * rest) * two + diagonal


def _level_law(level: np.ndarray, p: Floats) -> Floats:
    """The law of one draw's level."""
    return Levels.of(level, p).law()


def _collected(
    G: Floats, rows: Levels, steps: list[Floats], counts: tuple[int, int], top: int, far: int, order: int
) -> tuple[Floats, tuple[Floats, Floats, Floats, float, float]]:
    laws = [sum_laws(step, c, max(c - 2 * order, 0)) for step, c in zip(steps, counts, strict=True)]
    joint: dict[tuple[int, int], SumLaw] = {}

    def others(first: int, second: int) -> SumLaw:
        key = (first, second)
        if key not in joint:
            joint[key] = laws[0][counts[0] - first].plus(laws[1][counts[1] - second])
        return joint[key]

    whole = others(0, 0)

    def moments(kernel: Floats) -> Floats:
        out = np.zeros((order, whole.mass.size))
        for r, by_size in enumerate(graph_sums(graph_polynomials(kernel, rows, order), order)):
            for v, poly in by_size.items():
                for first in range(v + 1):
                    ways = falling(counts[0], first) * falling(counts[1], v - first)
                    if ways > 0.0:
                        part = poly[first * far : first * far + v * top + 1]
                        out[r] += placed(others(first, v - first), ways * part, whole)
        return out

    n = sum(counts)
    missing = sum(max(entry.missing for entry in one.values()) for one in laws) + 3e-30
    error = sum(max(entry.error for entry in one.values()) for one in laws) + 4.0 * (top * n + 2) * UNIT
    relative = rounding(len(G), rows.top, order) + 2.0 * error
    mass, found, errors = with_errors(G, moments, whole, missing, relative, n, order)
    value = (whole.first + np.arange(mass.size)).astype(np.float64)
    return value, (mass, found, errors, missing, 4.0 * whole.error)
