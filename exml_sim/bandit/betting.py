"""Rigorous evidence from bought rows: bets on pairs of rows, for scores over a ball in the affine regime.

Null: arm v is at least as good as arm u, up to a shift. With rho = |A_u| / |B_u| in [0, 1] (A = mean y Phi, B = mean
Phi, kernel values in [0, 1]) it implies for a random pair of rows, s = y y', d = K_u - K_v,

    E[d (s + rho)] <= 2 shift |A_u| <= 2 shift,   and   E[K_u (r^2 - s)] <= 0 for every r <= rho.

A bet is 1 + k (alpha (d (s + rho) - 2 shift) + gamma K_u (r^2 - s)) >= 0; its product over disjoint pairs is a
supermartingale. The unknown rho is in one of the segments; on a segment the product is log-concave in rho, so the
smaller of the products at its ends is below the one at rho. docs/theorems.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.compiled import kernel

#: Ends of the segments of rho.
SEGMENTS: Sequence[tuple[float, float]] = ((0.0, 0.6), (0.6, 0.8), (0.8, 1.0))
#: Parts of the largest bet, with their weights in the mixture.
STAKES: Sequence[tuple[float, float]] = ((0.995, 0.5), (0.4, 0.25), (0.15, 0.25))
#: Bets on rho itself, as parts of the largest one that cannot lose everything.
LEANS: Sequence[float] = (0.0, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """What a comparison sees of disjoint pairs of rows: K_u, K_v and y y', each of shape (…, pairs)."""

    k_u: FloatArray
    k_v: FloatArray
    s: FloatArray

    @classmethod
    def of(cls, gram_u: FloatArray, gram_v: FloatArray, y: FloatArray, rows: IntArray) -> Pairs:
        """Pair the first with the second row, the third with the fourth, and so on, along the last axis."""
        even = rows.shape[-1] // 2 * 2
        first, second = rows[..., 0:even:2], rows[..., 1:even:2]
        return cls(gram_u[first, second], gram_v[first, second], y[first] * y[second])


def log_wealth(pairs: Pairs, shift: float = 0.0, *, running: bool = False) -> FloatArray:
    """Log of the e-value against "v is at least as good as u, up to the shift", by the last axis.

    Parameters
    ----------
    shift
        2 l / Lambda for the null R_v - R_u <= l; at least 0.
    running
        After every pair, not only after the last one.
    """
    shape = pairs.s.shape
    k_u, k_v, s = (np.ascontiguousarray(one.reshape(-1, shape[-1])) for one in (pairs.k_u, pairs.k_v, pairs.s))
    out = np.full((s.shape[0], shape[-1] if running else 1), np.inf)
    for low, high in SEGMENTS:
        leans = LEANS if low > 0.0 else LEANS[:1]
        mixed = np.full(out.shape, -np.inf)
        for stake, weight in STAKES:
            for lean in leans:
                ends = [_bets(k_u, k_v, s, end, low, stake, lean, shift, running) for end in (low, high)]
                np.logaddexp(mixed, np.minimum(*ends) + math.log(weight / len(leans)), out=mixed)
        np.minimum(out, mixed, out=out)
    return out.reshape(*shape[:-1], out.shape[1]) if running else out.reshape(shape[:-1])


def paired_log_wealth(
    gram_u: FloatArray, gram_v: FloatArray, y: FloatArray, rows: IntArray, pairings: IntArray, shift: float = 0.0
) -> float:
    """Log of the mean e-value over pairings of a fixed number of rows, an e-value as well.

    Parameters
    ----------
    pairings
        Orders of the rows, shape (pairings, n), chosen without looking at the values.
    """
    wealth = log_wealth(Pairs.of(gram_u, gram_v, y, rows[pairings]), shift)
    return float(np.logaddexp.reduce(wealth) - math.log(wealth.size))


@kernel
def _bets(
    k_u: FloatArray,
    k_v: FloatArray,
    s: FloatArray,
    rho: float,
    r: float,
    stake: float,
    lean: float,
    shift: float,
    running: bool,
) -> FloatArray:
    """Log of the product of bets at one end of a segment."""
    lines, size = s.shape
    out = np.zeros((lines, size if running else 1))
    alpha = 1.0 / (1.0 + rho + 2.0 * shift)
    # Linear in (K_u, K_v), so the worst case is a corner: both terms may lose everything, but never together.
    gamma = lean * (1.0 + rho) * alpha / (1.0 - r * r)
    for line in range(lines):
        total = 0.0
        for i in range(size):
            gain = alpha * ((k_u[line, i] - k_v[line, i]) * (s[line, i] + rho) - 2.0 * shift)
            gain += gamma * k_u[line, i] * (r * r - s[line, i])
            total += math.log1p(stake * gain)
            if running:
                out[line, i] = total
        if not running:
            out[line, 0] = total
    return out
