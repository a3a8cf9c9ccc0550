"""Upper bounds on P[p^' S p^ >= 0] for a quadratic form S, by how the rows are drawn.

`event_probability` for independent rows, `two_samples` for two independent samples, `nested_samples` for the first n
and the first k rows of one order, `distinct_rows` for rows without replacement.

If q(u) >= q(x) > 0 for all u >= x then P[U >= x; L = l] <= E[q(U)^2; L = l] / q(x)^2 whatever q is. The coefficients
of q are chosen from the computed moments; the expectation is linear in the moments, so their rounding errors enter
with the absolute values of its coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from theory.errors import AssumptionError
from theory.population._moments import (
    LEVELS,
    UNIT,
    ConditionalMoments,
    Floats,
    Levels,
    SumDistribution,
    conditional_moments,
    falling,
    graph_polynomials,
    graph_sums,
    place,
    projection,
    rounding,
    sum_distributions,
    with_errors,
)
from theory.population.model import PopulationModel

#: Covers the roundings of the last steps, all of which are sums and products of a few numbers.
_ROUNDING = 1.0 + 1e-12


def event_probability(S: Floats, p: Floats, n: int, *, order: int = 2, levels: int = LEVELS) -> float:
    """Bound P[p^' S p^ >= 0] from above, p^ the empirical distribution of n independent rows from p; order 2 or 4."""
    if n == 1:
        # One row: the statistic is the diagonal.
        return min(1.0, float(p[np.diagonal(S) >= 0.0].sum()) * _ROUNDING)
    if float(p @ S @ p) * (1.0 - 1.0 / n) + float(p @ np.diagonal(S)) / n >= 0.0:
        return 1.0
    return tail_sum(conditional_moments(S, p, n, order=order, levels=levels))


def tail_sum(given: ConditionalMoments) -> float:
    """Bound P[L + U >= 0] from above."""
    x = (-given.value - given.slack) / given.unit
    bound = given.mass.copy()
    first, second = given.moments[0], given.moments[1]
    with np.errstate(all="ignore"):
        mean = first / given.mass
        variance = np.maximum(second / given.mass - mean**2, 0.0)
        distance = x - mean
        # Cantelli: q(u) = u - mean + variance / distance.
        bound = _better(bound, given, x, np.zeros_like(x), np.ones_like(x), variance / distance - mean, distance > 0)
        if len(given.moments) == 4:
            bound = _fourth(bound, given, x, mean, variance)
    return min(1.0, float(bound.sum()) * _ROUNDING + given.missing)


def _fourth(bound: Floats, given: ConditionalMoments, x: Floats, mean: Floats, variance: Floats) -> Floats:
    """Use the bound of Chebyshev, Markov and Stieltjes, in standardised variables.

    q(u) = 1 + z u + (z^2 - s z - 1)(u^2 - s u - 1)/(k - 1 - s^2).
    """
    raw = given.moments / given.mass
    deviation = np.sqrt(variance)
    skew = (raw[2] - 3 * mean * raw[1] + 2 * mean**3) / deviation**3
    kurtosis = (raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4) / deviation**4
    z = (x - mean) / deviation
    weight = (z**2 - skew * z - 1.0) / np.maximum(kurtosis - 1.0 - skew**2, 1e-9)
    # q in the standardised variable, then in U / unit.
    square, linear, constant = weight, z - weight * skew, 1.0 - weight
    a = square / deviation**2
    b = linear / deviation - 2.0 * square * mean / deviation**2
    c = constant - linear * mean / deviation + square * mean**2 / deviation**2
    fits = (z > 0) & (weight > 0) & (deviation > 0)
    return _better(bound, given, x, a, b, c, fits)


def _better(
    bound: Floats, given: ConditionalMoments, x: Floats, a: Floats, b: Floats, c: Floats, fits: object
) -> Floats:
    """Return the smaller of the bound and E[q^2]/q(x)^2 where q = a u^2 + b u + c is positive and grows from x on."""
    at = (a * x + b) * x + c
    # Cancellation in q(x) is covered by taking it smaller.
    safe = at - 1e-13 * (np.abs(a) * x**2 + np.abs(b * x) + np.abs(c))
    slope = 2.0 * a * x + b
    grows = slope - 1e-13 * (np.abs(2.0 * a * x) + np.abs(b)) >= 0.0
    coefficients = [2.0 * b * c, b * b + 2.0 * a * c, 2.0 * a * b, a * a][: len(given.moments)]
    total = c * c * given.mass
    size = total.copy()
    for weight, moment, error in zip(coefficients, given.moments, given.errors, strict=True):
        total = total + weight * moment + np.abs(weight) * error
        size = size + np.abs(weight * moment)
    # Rounding of the coefficients and of this sum.
    value = (total + 1e-14 * size) / safe**2
    good = np.asarray(fits, dtype=bool) & (a >= 0.0) & grows & (safe > 0.0) & np.isfinite(value) & (value >= 0.0)
    # A value below 0 can only be rounding; the error terms make it impossible up to then.
    return np.where(good, np.minimum(bound, value), bound)


def two_samples(S: Floats, n: int, T: Floats, k: int, p: Floats, *, order: int = 2, levels: int = LEVELS) -> float:
    """Bound P[s' S s + t' T t >= 0] for the empirical distributions s of n and t of k independent rows from p.

    Given the sum of two linear parts on one lattice, moments of the sum of the rests are binomial sums of convolutions.
    """
    if min(n, k) < 2:
        return 1.0
    mean = sum(float(p @ M @ p) * (1.0 - 1.0 / size) + float(p @ np.diagonal(M)) / size for M, size in ((S, n), (T, k)))
    if mean >= 0.0:
        return 1.0
    widths = [float(np.ptp(projection(M, p, size))) / size for M, size in ((S, n), (T, k))]
    step = max(*widths, 1e-12 * float(np.abs(S).max() + np.abs(T).max()) / min(n, k)) / levels
    first = conditional_moments(S, p, n, order=order, step=step)
    second = conditional_moments(T, p, k, order=order, step=step)
    return tail_sum(add_independent(first, second, step))


def add_independent(first: ConditionalMoments, second: ConditionalMoments, step: float) -> ConditionalMoments:
    """Return the moments of the sum of two independent statistics on lattices with the same step."""
    unit = float(np.hypot(first.unit, second.unit))
    mass = np.convolve(first.mass, second.mass)
    left, right = (_from_order_zero(part, unit) for part in (first, second))
    short = min(first.mass.size, second.mass.size)
    rounding = (short + 16) * UNIT * 1.01
    moments, errors = [], []
    for r in range(1, len(first.moments) + 1):
        exact, size, most = np.zeros_like(mass), np.zeros_like(mass), np.zeros_like(mass)
        for j in range(r + 1):
            (a, e), (b, f) = left[j], right[r - j]
            exact += comb(r, j) * np.convolve(a, b)
            size += comb(r, j) * np.convolve(np.abs(a), np.abs(b))
            most += comb(r, j) * np.convolve(np.abs(a) + e, np.abs(b) + f)
        moments.append(exact)
        # The errors of the factors, the rounding of the sums, and the cancellation in most - size.
        errors.append(most - size + 4.0 * rounding * most)
    value = first.value[0] + second.value[0] + step * np.arange(mass.size)
    scale = float(np.abs(value).max())
    slack = first.slack + second.slack + 16.0 * UNIT * scale
    missing = first.missing + second.missing
    return ConditionalMoments(value, mass * (1.0 + rounding), np.array(moments), np.array(errors), unit, slack, missing)


def _from_order_zero(part: ConditionalMoments, unit: float) -> list[tuple[Floats, Floats]]:
    """Return moments from order 0 on, with their errors, in a common unit; masses stay upper bounds."""
    ratio = part.unit / unit
    scaled = [(part.moments[r] * ratio ** (r + 1), part.errors[r] * ratio ** (r + 1)) for r in range(len(part.moments))]
    # A mass is too large by its own error at most, which is of the size of the last digits.
    return [(part.mass, part.mass * part.mass_error + 2.0 * part.missing), *scaled]


def nested_samples(S: Floats, n: int, T: Floats, k: int, p: Floats, *, order: int = 2, levels: int = LEVELS) -> float:
    """Bound P[s' S s + t' T t >= 0], s the distribution of the first n and t of the first k of independent rows.

    The rows up to the shorter sample's end enter two forms, the others one. A population of 2m rows, every row once of
    each kind, with a level that also says which it is, turns the graphs of `theory.population._moments` into those of
    two kinds of rows: the coefficient of z^(W v' + l), W above every sum of levels, belongs to graphs with v' vertices
    among the rows that both samples have.
    """
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
) -> ConditionalMoments:
    """Compute the moments of s' short s + t' long t, s the distribution of the first ``few`` rows, t of all ``many``.

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
    mean = float(counts @ (rounded @ p)) - _nested_mean(inner, outer, few, rest, p)
    t = np.stack([np.diagonal(inner), np.diagonal(outer)]) - rounded
    pair = 1.0 / (2.0 * (many - 1))
    blocks = [
        [M + (t[i][:, None] + t[j][None, :]) * pair + mean / (many * (many - 1)) for j, M in enumerate(row)]
        for i, row in enumerate(((inner, outer), (outer, outer)))
    ]
    top = int(level.max())
    far = 2 * order * top + 1
    rows = Levels.of(np.concatenate([level[0] + far, level[1]]), np.concatenate([p, p]))
    G = np.block(blocks)[np.ix_(rows.order, rows.order)]
    spread = sum(
        float(c * d * (p @ (blocks[i][j] ** 2) @ p)) for i, c in enumerate(counts) for j, d in enumerate(counts)
    )
    unit = max(float(np.sqrt(2.0 * spread)), 1e-9 * scale, 1e-300)
    steps = [Levels.of(level[i], p).distribution() for i in range(2)]
    value, parts = _collected(G / unit, rows, steps, (few, rest), top, far, order)
    base = float(counts @ low) - mean
    # Every entry of G and every value of L comes from fewer than 32 roundings; the sums over draws are below 4 * scale.
    size = max(4.0 * scale, float(counts @ np.abs(rounded).max(axis=1)), abs(mean))
    mass, moments, errors, missing, excess = parts
    return ConditionalMoments(base + width * value, mass, moments, errors, unit, 128.0 * UNIT * size, missing, excess)


def _nested_mean(inner: Floats, outer: Floats, few: int, rest: int, p: Floats) -> float:
    """Return E Z."""
    inside, outside = float(p @ inner @ p), float(p @ outer @ p)
    diagonal = few * float(p @ np.diagonal(inner)) + rest * float(p @ np.diagonal(outer))
    return few * (few - 1) * inside + (rest * (rest - 1) + 2 * few * rest) * outside + diagonal


def _collected(
    G: Floats, rows: Levels, steps: list[Floats], counts: tuple[int, int], top: int, far: int, order: int
) -> tuple[Floats, tuple[Floats, Floats, Floats, float, float]]:
    sums = [sum_distributions(step, c, max(c - 2 * order, 0)) for step, c in zip(steps, counts, strict=True)]
    joint: dict[tuple[int, int], SumDistribution] = {}

    def others(first: int, second: int) -> SumDistribution:
        key = (first, second)
        if key not in joint:
            joint[key] = sums[0][counts[0] - first].plus(sums[1][counts[1] - second])
        return joint[key]

    whole = others(0, 0)

    def moments(kernel: Floats) -> Floats:
        out = np.zeros((order, whole.mass.size))
        for r, by_size in enumerate(graph_sums(graph_polynomials(kernel, rows, order), order)):
            for v, poly in by_size.items():
                for first in range(v + 1):
                    count = falling(counts[0], first) * falling(counts[1], v - first)
                    if count > 0.0:
                        part = poly[first * far : first * far + v * top + 1]
                        out[r] += place(others(first, v - first), count * part, whole)
        return out

    n = sum(counts)
    missing = sum(max(entry.missing for entry in table.values()) for table in sums) + 3e-30
    error = sum(max(entry.error for entry in table.values()) for table in sums) + 4.0 * (top * n + 2) * UNIT
    relative = rounding(len(G), rows.top, order) + 2.0 * error
    mass, values, errors = with_errors(G, moments, whole, missing, relative, n, order)
    value = (whole.first + np.arange(mass.size)).astype(np.float64)
    return value, (mass, values, errors, missing, 4.0 * whole.error)


Complex = NDArray[np.complex128]

#: Frequencies whose part of a moment is below this are left out; what they could add is counted as an error.
_DROPPED = 1e-22
#: Smallest |1 - q + q w z^k| at a frequency that is kept; the probabilities v stay below 1/_NEAR.
_NEAR = 0.05
#: Number of steps of the projection without replacement; the time grows with its fourth power.
DISTINCT_LEVELS = 10
#: Frequencies that are handled at once.
_BLOCK = 20_000


def distinct_rows(S: Floats, n: int, *, levels: int = DISTINCT_LEVELS) -> float:
    """Bound P[p^' S p^ >= 0] for n distinct rows of a population with equal weights, every choice equally likely.

    Let every row be drawn or not, independently, with probability q; given that n are drawn they are a sample without
    replacement. The joint distribution of the number of drawn rows and of the sum of their levels has the generating
    function Phi(w, z) = prod_j (1 - q + q w z^k(j)), and E[w^N z^K U^r] = Phi times the moment of U for independent
    draws with the complex probabilities v_j = q w z^k(j) / (1 - q + q w z^k(j)) (Theorem 18 of docs/theorems.md).
    A Fourier transform gives the moments at N = n. Its errors are absolute, and are added to the moments.
    """
    m = len(S)
    if not 1 <= n <= m:
        raise ValueError(f"without replacement there are 1 to {m} rows, got {n}")
    if n == 1:
        return float(np.mean(np.diagonal(S) >= 0.0)) * (1.0 + 1e-12)
    if n == m:
        # The whole population: nothing is random. S carries slack for its own rounding; the mean adds m^2 roundings.
        return 1.0 if float(S.mean()) >= -4.0 * m * UNIT * float(np.abs(S).max()) else 0.0
    if _mean(S, n) >= 0.0:
        return 1.0
    given = distinct_moments(S, n, levels=levels)
    return 1.0 if given is None else tail_sum(given)


def _mean(S: Floats, n: int) -> float:
    """Return E Z: pairs of different rows with probability n(n-1)/(m(m-1)), rows with n/m."""
    m, trace = len(S), float(np.trace(S))
    return (1.0 - 1.0 / n) * (float(S.sum()) - trace) / (m * (m - 1)) + trace / (m * n)


class _Sums(NamedTuple):
    """Sums of G, of G^2 and of products of level sums over the rows of levels; sizes of the levels."""

    k: Floats
    members: Floats
    pairs: Floats
    squares: Floats
    paths: Floats


def _sums(G: Floats, k: NDArray[np.int64]) -> _Sums:
    values, place = np.unique(k, return_inverse=True)
    member = (place[:, None] == np.arange(len(values))).astype(np.float64)
    by_level = G @ member
    paths = np.einsum("jc,ja,jb->cab", member, by_level, by_level, optimize=True)
    return _Sums(values.astype(np.float64), member.sum(axis=0), member.T @ by_level, member.T @ (G * G) @ member, paths)


def distinct_moments(S: Floats, n: int, *, levels: int = DISTINCT_LEVELS) -> ConditionalMoments | None:
    """Return mass and first two moments for n of the m rows, 1 < n < m; None where the transform is unreliable."""
    m = len(S)
    g = np.diagonal(S) / n + 2.0 * (1.0 - 1.0 / n) * S.mean(axis=1)
    low = float(g.min())
    scale = float(np.abs(S).max())
    width = max((float(g.max()) - low) / levels, 1e-12 * max(scale, 1e-300))
    k = np.rint((g - low) / width).astype(np.int64)
    rounded = low + width * k
    centre = float(rounded.mean()) - _mean(S, n)
    t = np.diagonal(S) / n - rounded
    G = S / n**2 + (t[:, None] + t[None, :]) / (2.0 * n * (n - 1)) + centre / (n * (n - 1))
    np.fill_diagonal(G, 0.0)
    unit = max(float(np.sqrt(2.0 * (n / m) ** 2 * float((G * G).sum()))), 1e-9 * scale, 1e-300)
    transformed = _transformed(_sums(G / unit, k), _sums(np.abs(G) / unit, k), n, m)
    if transformed is None:
        return None
    mass, moments, errors = transformed
    value = low + width * np.arange(mass.size) / n - centre
    size = max(scale, float(np.abs(rounded).max()), abs(centre))
    return ConditionalMoments(value, mass, moments, errors, unit, 64.0 * UNIT * size, 0.0)


def _transformed(sums: _Sums, sizes: _Sums, n: int, m: int) -> tuple[Floats, Floats, Floats] | None:
    q = _tilt(n, m)
    top = int(sums.k.max())
    across = 1 << int(n * top + 1).bit_length()
    w = 2.0 * np.pi * np.arange(m + 1) / (m + 1)
    z = 2.0 * np.pi * np.arange(across // 2 + 1) / across
    # The sums themselves come from 2m roundings, powers of the factors of Phi from 8m, the forms from L^3.
    levels = len(sums.k)
    # An angle w + z k is off by 20 (top + 2) roundings at most, and so is a factor of Phi, absolutely.
    angle = 20.0 * (top + 2) * UNIT
    relative = (12 * m + 4 * levels**3 + 8 * across.bit_length() + 400) * UNIT
    reach = float(sizes.pairs.sum()) * (1.0 + 1e-9) + 1.0
    spectra: Complex = np.zeros((3, z.size), dtype=np.complex128)
    totals = np.zeros(3)
    dropped = np.zeros(3)
    step = max(1, _BLOCK // (m + 1))
    for start in range(0, z.size, step):
        part = slice(start, min(start + step, z.size))
        turn = (w[None, :, None] + z[part, None, None] * sums.k).reshape(-1, levels)
        factor = 1.0 - q + q * np.exp(1j * turn)
        bound = np.exp(np.log(np.abs(factor) + 1e-300) @ np.maximum(sums.members - 4.0, 0.0))
        keep = bound * reach**2 > _DROPPED
        dropped += np.array([1.0, reach, reach**2]) * float(bound[~keep].sum())
        if not keep.any():
            continue
        kept = factor[keep]
        if float(np.abs(kept).min()) < _NEAR:
            return None
        values, most = _at(kept, turn[keep], sums, sizes, q, relative, angle)
        whole = np.zeros((3, bound.size), dtype=np.complex128)
        whole[:, keep] = values
        back = np.exp(-1j * n * w)
        spectra[:, part] = (whole.reshape(3, -1, w.size) * back).sum(axis=2)
        totals += most
    # The mirrored frequencies are not computed, so everything counts twice.
    share = 1.0 / ((m + 1) * across * _hit(n, m, q))
    moments = np.fft.irfft(np.conj(spectra), across, axis=1)[:, : n * top + 1] / ((m + 1) * _hit(n, m, q))
    errors = 2.0 * share * (4.0 * totals + dropped)[:, None] + 8.0 * relative * np.abs(moments)
    mass = np.maximum(moments[0], 0.0) + errors[0].max()
    return mass, moments[1:], errors[1:]


def _at(
    factor: Complex, turn: Floats, sums: _Sums, sizes: _Sums, q: float, relative: float, angle: float
) -> tuple[Complex, Floats]:
    """Return Phi, Phi E U and Phi E U^2 at some frequencies, and the sums of their rounding errors.

    ``angle`` over the size of a factor is the relative error of that factor: m of them are in Phi, eight in a product
    of four probabilities.
    """
    phi = np.exp(np.log(factor) @ sums.members)
    v = q * np.exp(1j * turn) / factor
    s = v * ((1.0 - q) / factor)
    values = _forms(v, s, sums)
    most = _forms(np.abs(v), np.abs(s), sizes)
    steep = 1.0 / np.abs(factor)
    size = np.abs(phi) * (relative + angle * (steep @ sums.members + 8.0 * steep.max(axis=1)))
    return phi * np.stack([np.ones_like(phi), *values]), np.array([float((size * x).sum()) for x in (1.0, *most)])


def _forms(v: NDArray[Any], s: NDArray[Any], sums: _Sums) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return E U and E U^2 for independent draws: U = sum over pairs of e_j e_k G_jk, P[e_j = 1] = v_j, s = v(1 - v).

    E U = v'Gv and Var U = 4 sum_j s_j (Gv)_j^2 + 2 sum_jk s_j s_k G_jk^2.
    """
    mean = ((v @ sums.pairs) * v).sum(axis=1)
    size = len(sums.k)
    squared = (v[:, :, None] * v[:, None, :]).reshape(-1, size * size) @ sums.paths.reshape(size, -1).T
    variance = 4.0 * (s * squared).sum(axis=1) + 2.0 * ((s @ sums.squares) * s).sum(axis=1)
    return mean, mean * mean + variance


def _tilt(n: int, m: int) -> float:
    """Choose q, any is valid: n/m makes n likely, and a q away from 1/2 keeps the factors of Phi away from 0."""
    q = n / m
    return 0.35 if abs(q - 0.5) < 0.15 and m <= 60 else q


def _hit(n: int, m: int, q: float) -> float:
    """Return P[N = n], made smaller by more than its rounding."""
    log = gammaln(m + 1) - gammaln(n + 1) - gammaln(m - n + 1) + n * np.log(q) + (m - n) * np.log1p(-q)
    return float(np.exp(log)) * (1.0 - 1e-11)


#: From the form, the number of rows and the order of the moments to an upper bound on P[p^' S p^ >= 0].
TailBound = Callable[[Floats, int, int], float]


def tail_bound_of(pool: PopulationModel, *, replacement: bool) -> TailBound:
    """Return the bound for independent draws by the weights, or for distinct rows (moments of order 2 only)."""
    if replacement:
        return lambda S, n, order: event_probability(S, pool.p, n, order=order)
    if pool.weights is not None and float(pool.p.max() - pool.p.min()) > 1e-12:
        spread = float(pool.p.max() - pool.p.min())
        raise AssumptionError("draws without replacement: equal weights of the rows", spread, "weights differ")
    return lambda S, n, order: distinct_rows(S, n)
