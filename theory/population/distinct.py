"""Rows drawn without replacement: P[p^' S p^ >= 0] for n distinct rows of a population with equal weights.

Let every row be drawn or not, independently, with probability q; given that n are drawn they are a sample without
replacement. The joint law of the number of drawn rows and of the sum of their levels has the generating function
Phi(w, z) = prod_j (1 - q + q w z^k(j)), and E[w^N z^K U^r] = Phi times the moment of U for independent draws with the
complex probabilities v_j = q w z^k(j) / (1 - q + q w z^k(j)) (Theorem 18 of docs/theorems.md). A Fourier transform
gives the moments at N = n. Its errors are absolute, and are added to the moments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from theory.population.graphs import Floats
from theory.population.law import UNIT
from theory.population.moments import Conditional
from theory.population.tails import tail_sum

__all__ = ["distinct_moments", "distinct_rows"]

Complex = NDArray[np.complex128]

#: Frequencies whose part of a moment is below this are left out; what they could add is counted as an error.
_DROPPED = 1e-22
#: Smallest |1 - q + q w z^k| at a frequency that is kept; the probabilities v stay below 1/_NEAR.
_NEAR = 0.05
#: Number of steps between the least and the largest value of the projection; the time grows with its fourth power.
LEVELS = 10
#: Frequencies that are handled at once.
_BLOCK = 20_000


def distinct_rows(S: Floats, n: int, *, levels: int = LEVELS) -> float:
    """Upper bound on P[p^' S p^ >= 0], p^ the law of n distinct rows out of all, every choice equally likely."""
    m = len(S)
    if not 1 <= n <= m:
        raise ValueError(f"without replacement there are 1 to {m} rows, got {n}")
    if n == 1:
        return float(np.mean(np.diagonal(S) >= 0.0)) * (1.0 + 1e-12)
    if n == m:
        # The whole population: no chance is left. S carries slack for its own rounding; the mean adds m^2 roundings.
        return 1.0 if float(S.mean()) >= -4.0 * m * UNIT * float(np.abs(S).max()) else 0.0
    if _mean(S, n) >= 0.0:
        return 1.0
    law = distinct_moments(S, n, levels=levels)
    return 1.0 if law is None else tail_sum(law)


def _mean(S: Floats, n: int) -> float:
    """E Z: pairs of different rows with probability n(n-1)/(m(m-1)), rows with n/m."""
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
    lines = G @ member
    paths = np.einsum("jc,ja,jb->cab", member, lines, lines, optimize=True)
    return _Sums(values.astype(np.float64), member.sum(axis=0), member.T @ lines, member.T @ (G * G) @ member, paths)


def distinct_moments(S: Floats, n: int, *, levels: int = LEVELS) -> Conditional | None:
    """Mass and first two moments for n of the m rows, 1 < n < m; None where the transform is not to be trusted."""
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
    found = _transformed(_sums(G / unit, k), _sums(np.abs(G) / unit, k), n, m)
    if found is None:
        return None
    mass, moments, errors = found
    value = low + width * np.arange(mass.size) / n - centre
    size = max(scale, float(np.abs(rounded).max()), abs(centre))
    return Conditional(value, mass, moments, errors, unit, 64.0 * UNIT * size, 0.0)


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
    lines = max(1, _BLOCK // (m + 1))
    for start in range(0, z.size, lines):
        part = slice(start, min(start + lines, z.size))
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
    found = np.fft.irfft(np.conj(spectra), across, axis=1)[:, : n * top + 1] / ((m + 1) * _hit(n, m, q))
    errors = 2.0 * share * (4.0 * totals + dropped)[:, None] + 8.0 * relative * np.abs(found)
    mass = np.maximum(found[0], 0.0) + errors[0].max()
    return mass, found[1:], errors[1:]


def _at(
    factor: Complex, turn: Floats, sums: _Sums, sizes: _Sums, q: float, relative: float, angle: float
) -> tuple[Complex, Floats]:
    """Phi, Phi E U and Phi E U^2 at some frequencies, and the sums of their rounding errors.

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
    """E U and E U^2 for independent draws: U = sum over pairs of e_j e_k G_jk, P[e_j = 1] = v_j, s = v(1 - v).

    E U = v'Gv and Var U = 4 sum_j s_j (Gv)_j^2 + 2 sum_jk s_j s_k G_jk^2.
    """
    mean = ((v @ sums.pairs) * v).sum(axis=1)
    size = len(sums.k)
    squared = (v[:, :, None] * v[:, None, :]).reshape(-1, size * size) @ sums.paths.reshape(size, -1).T
    variance = 4.0 * (s * squared).sum(axis=1) + 2.0 * ((s @ sums.squares) * s).sum(axis=1)
    return mean, mean * mean + variance


def _tilt(n: int, m: int) -> float:
    """Any q will do; n/m makes n likely, and a q away from 1/2 keeps the factors of Phi away from 0."""
    q = n / m
    return 0.35 if abs(q - 0.5) < 0.15 and m <= 60 else q


def _hit(n: int, m: int, q: float) -> float:
    """P[N = n], made smaller by more than its rounding."""
    log = gammaln(m + 1) - gammaln(n + 1) - gammaln(m - n + 1) + n * np.log(q) + (m - n) * np.log1p(-q)
    return float(np.exp(log)) * (1.0 - 1e-11)
