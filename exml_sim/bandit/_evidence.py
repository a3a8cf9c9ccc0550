"""Compute evidence that one arm is better than another: e-values, valid at every sample size.

Parametric arms with values in [0, 1] get Krichevsky and Trofimov's mixture of Bernoulli likelihoods, all others a
normal mixture. An arm's e-value against the mean mu is a supermartingale if mu is its mean; for two arms the product of
both at the least favourable means is below one (docs/theorems.md, section on confidence).

Bought rows get bets on pairs of rows, for scores over a ball in the affine regime. Null: arm v is at least as good as
arm u, up to a shift. With rho = |A_u| / |B_u| in [0, 1] (A = mean y Phi, B = mean Phi, kernel values in [0, 1]) it
implies for a random pair of rows, s = y y', d = K_u - K_v,

    E[d (s + rho)] <= 2 shift |A_u| <= 2 shift,   and   E[K_u (r^2 - s)] <= 0 for every r <= rho.

A bet is 1 + k (alpha (d (s + rho) - 2 shift) + gamma K_u (r^2 - s)) >= 0; its product over disjoint pairs is a
supermartingale. The unknown rho is in one of the segments; on a segment the product is log-concave in rho, so the
smaller of the products at its ends is below the one at rho. docs/theorems.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel

if TYPE_CHECKING:
    from exml_sim.bandit._arms import BaseArm


#: Pulls at which the normal mixture is sharpest.
SHARPEST = 32.0
#: Ends of the segments of rho.
SEGMENTS: Sequence[tuple[float, float]] = ((0.0, 0.6), (0.6, 0.8), (0.8, 1.0))
#: Fractions of the largest bet, with their weights in the mixture.
STAKES: Sequence[tuple[float, float]] = ((0.995, 0.5), (0.4, 0.25), (0.15, 0.25))
#: Bets on rho itself, as fractions of the largest one that cannot lose everything.
LEANS: Sequence[float] = (0.0, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Evidence about every arm, shape (trials, K); lines that were not asked for mean nothing.

    Attributes
    ----------
    against
        Log of the e-value against "this arm is better than the leader by more than epsilon"; +inf for the leader.
    lower
        Lower limit of every arm's risk at the asked level, up to a shift that all arms of a trial share. It says which
        arm to pull, never when to stop.
    """

    against: FloatArray
    lower: FloatArray


class ParametricEvidence:
    """Evidence of N trials of K parametric arms, updated as pulls come in.

    Parameters
    ----------
    low, high
        Range of all values; infinite if some arm has none.
    deviations
        Standard deviation (or sub-Gaussian scale) of every arm, used where the range is infinite.
    """

    def __init__(self, low: float, high: float, deviations: FloatArray, trials: int) -> None:
        self._low, self._high = low, high
        self._deviations = deviations
        shape = (trials, deviations.size)
        self._seen = np.zeros(shape, dtype=np.int64)
        self._log_mixture = np.zeros(shape)
        self._lower = np.full(shape, -np.inf)

    @classmethod
    def of(cls, arms: Sequence[BaseArm], trials: int, sign: int = 1) -> ParametricEvidence:
        """Choose the mixture: by the arms' common range, or by their scales if some arm has no range.

        Parameters
        ----------
        sign
            -1 if higher means are better: sums are then given with the opposite sign.
        """
        low, high = min(arm.support[0] for arm in arms), max(arm.support[1] for arm in arms)
        if math.isfinite(high - low):
            ends = (low, high) if sign > 0 else (-high, -low)
            return cls(*ends, np.zeros(len(arms)), trials)
        for arm in arms:
            if arm.scale is None:
                raise ValueError(
                    f"a fixed-confidence strategy needs bounded or Gaussian arms, got {arm!r}: "
                    "choose a fixed-budget strategy"
                )
        return cls(-math.inf, math.inf, np.array([arm.scale for arm in arms], dtype=np.float64), trials)

    def update(
        self,
        sums: FloatArray,
        pulls: IntArray,
        leader: IntArray,
        asked: BoolArray,
        threshold: float,
        epsilon: float,
        limits: bool,
    ) -> Evidence:
        """Compute the evidence of sums and pulls, shape (trials, K)."""
        against = np.full(sums.shape, np.inf)
        if math.isinf(self._high - self._low):
            _normal(sums, pulls, self._deviations, leader, asked, threshold, epsilon, against, self._lower)
            return Evidence(against, self._lower)
        width = (self._high - self._low) or 1.0
        scaled = (sums - pulls * self._low) / width
        cache = (self._seen, self._log_mixture, self._lower)
        _bernoulli(scaled, pulls, leader, asked, threshold, epsilon / width, limits, *cache, against)
        return Evidence(against, self._lower)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Disjoint pairs of rows: K_u, K_v and y y', each of shape (…, pairs)."""

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
    """Compute the log e-value against "v is at least as good as u, up to the shift", along the last axis.

    Parameters
    ----------
    shift
        2 l / Lambda for the null R_v - R_u <= l; at least 0.
    running
        After every pair, not only after the last one.
    """
    shape = pairs.s.shape
    k_u, k_v, s = (np.ascontiguousarray(part.reshape(-1, shape[-1])) for part in (pairs.k_u, pairs.k_v, pairs.s))
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
    """Compute the log of the mean e-value over pairings of a fixed number of rows, an e-value as well.

    Parameters
    ----------
    pairings
        Orders of the rows, shape (pairings, n), chosen independently of the values.
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
    """Compute the log of the product of bets at one end of a segment."""
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


@kernel
def _xlogy(x: float, y: float) -> float:
    return 0.0 if x <= 0.0 else x * math.log(y) if y > 0.0 else -np.inf


@kernel
def _log_likelihood(total: float, pulls: float, mean: float) -> float:
    return _xlogy(total, mean) + _xlogy(pulls - total, 1.0 - mean)


@kernel
def _log_kt(total: float, pulls: float) -> float:
    """Log of the mixture of Bernoulli likelihoods over Beta(1/2, 1/2): B(S + 1/2, n - S + 1/2) / pi."""
    return math.lgamma(total + 0.5) + math.lgamma(pulls - total + 0.5) - math.lgamma(pulls + 1.0) - math.log(math.pi)


@kernel
def _lower_limit(total: float, pulls: float, level: float) -> float:
    """Find where the log-likelihood falls to `level` below the mean of the pulls.

    The log-likelihood is concave, so Newton's steps come from below once they are below; three are enough for a limit
    that only says which arm to pull.
    """
    mean = total / pulls
    drop = _log_likelihood(total, pulls, mean) - level
    x = mean - math.sqrt(drop * max(2.0 * mean * (1.0 - mean), 1.0 / pulls) / pulls)
    for _ in range(3):
        x = max(x, 1e-12)
        slope = total / x - (pulls - total) / (1.0 - x)
        if slope <= 0.0:
            break
        x += (level - _log_likelihood(total, pulls, x)) / slope
    return max(x, 0.0)


@kernel
def _least_favourable(first: float, n_first: float, second: float, n_second: float, gap: float) -> float:
    """Maximise the log-likelihood of two arms whose means are x + gap and x, the first being seen to be lower.

    The slope in x falls, so its zero is found by bisection; with gap 0 it is the pooled mean.
    """
    if gap == 0.0:
        total, pulls = first + second, n_first + n_second
        return _log_likelihood(total, pulls, total / pulls)
    low, high = 0.0, 1.0 - gap
    for _ in range(50):
        x = 0.5 * (low + high)
        slope = first / (x + gap) - (n_first - first) / max(1.0 - x - gap, 1e-300)
        slope += second / max(x, 1e-300) - (n_second - second) / (1.0 - x)
        if slope > 0.0:
            low = x
        else:
            high = x
    # Concave and smooth: at the middle of the last bracket only rounding is left, and that goes to the safe side.
    x = 0.5 * (low + high)
    return _log_likelihood(first, n_first, x + gap) + _log_likelihood(second, n_second, x) + 1e-9


@kernel
def _bernoulli(
    sums: FloatArray,
    pulls: IntArray,
    leader: IntArray,
    asked: BoolArray,
    threshold: float,
    epsilon: float,
    limits: bool,
    seen: IntArray,
    mixture: FloatArray,
    lower: FloatArray,
    against: FloatArray,
) -> None:
    for t in range(sums.shape[0]):
        if not asked[t]:
            continue
        for k in range(sums.shape[1]):
            if seen[t, k] != pulls[t, k]:
                total, n = sums[t, k], float(pulls[t, k])
                mixture[t, k] = _log_kt(total, n)
                if limits:
                    lower[t, k] = _lower_limit(total, n, mixture[t, k] - threshold)
                seen[t, k] = pulls[t, k]
        u = leader[t]
        for v in range(sums.shape[1]):
            if v == u or epsilon >= 1.0:
                continue
            likelihood = _least_favourable(sums[t, u], float(pulls[t, u]), sums[t, v], float(pulls[t, v]), epsilon)
            against[t, v] = mixture[t, u] + mixture[t, v] - likelihood


@kernel
def _precision(pulls: float, deviation: float) -> float:
    """A in log M(mu) = A (mean - mu)^2 - log(1 + n r) / 2, the mixture of exp(n (d x - d^2 / 2)) over d ~ N(0, r)."""
    r = 1.0 / SHARPEST
    return pulls * pulls * r / (2.0 * deviation * deviation * (1.0 + pulls * r))


@kernel
def _normal(
    sums: FloatArray,
    pulls: IntArray,
    deviations: FloatArray,
    leader: IntArray,
    asked: BoolArray,
    threshold: float,
    epsilon: float,
    against: FloatArray,
    lower: FloatArray,
) -> None:
    for t in range(sums.shape[0]):
        if not asked[t]:
            continue
        u = leader[t]
        n_u = float(pulls[t, u])
        for v in range(sums.shape[1]):
            n = float(pulls[t, v])
            mean = sums[t, v] / n
            cost = 0.5 * math.log1p(n / SHARPEST)
            a = _precision(n, deviations[v]) if deviations[v] > 0.0 else np.inf
            lower[t, v] = mean - math.sqrt((threshold + cost) / a)
            if v == u:
                continue
            gap = mean - sums[t, u] / n_u + epsilon
            b = _precision(n_u, deviations[u]) if deviations[u] > 0.0 else np.inf
            joint = a if b == np.inf else b if a == np.inf else a * b / (a + b)
            gain = 0.0 if gap <= 0.0 else np.inf if joint == np.inf else joint * gap * gap
            against[t, v] = gain - cost - 0.5 * math.log1p(n_u / SHARPEST)
