"""Evidence that one arm is better than another, valid at every time at once: e-values of known arms.

Arms with values in [0, 1] get Krichevsky and Trofimov's mixture of Bernoulli likelihoods, all others a normal mixture.
An arm's e-value against the mean mu is a supermartingale if mu is its mean; for two arms the product of both at the
least favourable means is below one (docs/theorems.md, section on confidence).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.compiled import kernel

#: Pulls at which the normal mixture is sharpest.
SHARPEST = 32.0


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the pulls say about every arm, shape (trials, K); lines that were not asked for mean nothing.

    Attributes
    ----------
    against
        Log of the e-value against "this arm is better than the leader by more than the epsilon"; +inf for the
        leader.
    lower
        Lower limit of every arm's risk at the asked level, up to a shift that all arms of a trial share. It says whom
        to pull, never when to stop.
    """

    against: FloatArray
    lower: FloatArray


def known_evidence(arms: Sequence[object], trials: int) -> KnownEvidence:
    """Evidence for known arms: by their common range, or by their scales if some arm has no range."""
    ranges = [np.array(getattr(arm, "values", (0.0, 1.0)), dtype=np.float64) for arm in arms]
    low, high = min(float(one.min()) for one in ranges), max(float(one.max()) for one in ranges)
    normal = [float(getattr(arm, "sd", math.nan)) for arm in arms]
    if all(math.isnan(sd) for sd in normal):
        return KnownEvidence(low, high, np.zeros(len(arms)), trials)
    # Values in a range are sub-Gaussian with half its width (Hoeffding).
    halves = [float(one.max() - one.min()) / 2.0 for one in ranges]
    scales = [half if math.isnan(sd) else sd for sd, half in zip(normal, halves, strict=True)]
    return KnownEvidence(-math.inf, math.inf, np.array(scales), trials)


class KnownEvidence:
    """Evidence of N trials of K known arms, kept up to date as pulls come in.

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

    def of(
        self,
        sums: FloatArray,
        pulls: IntArray,
        leader: IntArray,
        asked: BoolArray,
        threshold: float,
        epsilon: float,
        limits: bool,
    ) -> Evidence:
        """The evidence of sums and pulls, shape (trials, K)."""
        against = np.full(sums.shape, np.inf)
        if math.isinf(self._high - self._low):
            scales = self._deviations
            _normal(sums, pulls, scales, leader, asked, threshold, epsilon, against, self._lower)
            return Evidence(against, self._lower)
        width = (self._high - self._low) or 1.0
        scaled = (sums - pulls * self._low) / width
        _bernoulli(
            scaled,
            pulls,
            leader,
            asked,
            threshold,
            epsilon / width,
            limits,
            self._seen,
            self._log_mixture,
            self._lower,
            against,
        )
        return Evidence(against, self._lower)


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
    """Where the log-likelihood falls to `level` below the mean of the pulls.

    The log-likelihood is concave, so Newton's steps come from below once they are below; three are enough for a limit
    that only says whom to pull.
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
    """Largest log-likelihood of two arms whose means are x + gap and x, the first being seen to be lower.

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
    found = _log_likelihood(first, n_first, x + gap) + _log_likelihood(second, n_second, x)
    return found + 1e-9


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
