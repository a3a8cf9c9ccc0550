"""Compute evidence that one arm is better than another: e-values, valid at every sample size, and jackknifed errors.

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

Standard errors of differences of risks come from a jackknife of bought rows, and are approximate. In the affine regime
the risk of an arm is 1 - (Lambda / 2) (a + b) with a = |mean y Phi|, b = |mean Phi|. Squares of such norms have
unbiased estimates, the U-statistics over pairs of different draws: a score's optimism is gone. With r = (a_u + a_v) /
(b_u + b_v)

    R_v - R_u = (Lambda / 2) (a_u^2 - a_v^2 + r (b_u^2 - b_v^2)) / (a_u + a_v),

and the jackknife (leave out one draw, of every arm that has it) gives the standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, stdtrit

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
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


#: Variance per row of the drifts over which the asymptotic confidence sequence is mixed (sharpest at some 24 rows), and
#: the fewest rows it is asked for.
DRIFT = 0.5
FEWEST_ROWS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """R_v - R_leader for every arm v, shape (trials, K); 0 with error 0 at the leader.

    Attributes
    ----------
    value, error
        The estimate and its standard error.
    rows
        Rows that the comparison is made on: of arms that share an order those that both have.
    """

    value: FloatArray
    error: FloatArray
    rows: IntArray


class AffineJackknife:
    """Compare feature arms in the affine regime on the rows that they were bought on.

    Parameters
    ----------
    grams, y
        Gram matrix of every arm, and the labels.
    radius
        Lambda.
    shared
        Whether arms read the same order of rows, so that they are compared on the rows that both have: what all arms
        see in a row then cancels.
    """

    def __init__(self, grams: Sequence[FloatArray], y: NDArray[np.int64], radius: float, shared: bool) -> None:
        self.grams, self.y = tuple(grams), y.astype(np.float64)
        self.radius, self.shared = radius, shared

    def differences(self, counts: CountArray, leader: IntArray, known: Differences | None = None) -> Differences:
        """Compare every arm with the leader of its trial, given counts of shape (trials, K, m).

        Parameters
        ----------
        known
            What is known of the same leaders on shared orders; pairs whose rows are the same are not compared again.
        """
        total = counts.sum(axis=2, dtype=np.int64)
        rows = np.minimum(total, total[np.arange(leader.size), leader][:, None])
        value, error = (known.value, known.error) if known else (np.zeros(rows.shape), np.zeros(rows.shape))
        new = known.rows != rows if known else np.ones(rows.shape, dtype=np.bool_)
        for u in np.unique(leader):
            for v in range(rows.shape[1]):
                lines = np.flatnonzero((leader == u) & new[:, v])
                if v != u and lines.size:
                    estimates = np.empty((lines.size, 2))
                    pair = self.grams[u], self.grams[v]
                    _compare(*pair, self.y, counts, lines, u, v, self.radius / 2.0, self.shared, estimates)
                    value[lines, v], error[lines, v] = estimates.T
        return Differences(value, error, rows)


class InterimAnalyses:
    """Evidence of N trials of feature arms, kept between interim analyses: an asymptotic confidence sequence."""

    def __init__(self, judge: AffineJackknife, trials: int) -> None:
        self._judge = judge
        shape = (trials, len(judge.grams))
        self._leader = np.full(trials, -1, dtype=np.int64)
        self._value, self._error = np.zeros(shape), np.zeros(shape)
        self._rows = np.zeros(shape, dtype=np.int64)

    def update(
        self, counts: CountArray, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float
    ) -> Evidence:
        """Compute the evidence of the asked trials."""
        self._rows[self._leader != leader] = -1
        lines = np.flatnonzero(asked)
        known = Differences(self._value[lines], self._error[lines], self._rows[lines])
        new = self._judge.differences(counts[lines], leader[lines], known if self._judge.shared else None)
        self._value[lines], self._error[lines], self._rows[lines] = new.value, new.error, new.rows
        self._leader[lines] = leader[lines]
        z = (self._value + epsilon) / np.maximum(self._error, 1e-150)
        against = np.where(self._rows >= FEWEST_ROWS, log_mixture(z, self._rows), -np.inf)
        against[np.arange(leader.size), leader] = np.inf
        return Evidence(against, self._value - self._error * np.sqrt(2.0 * threshold + 2.0))


def log_mixture(z: FloatArray, n: FloatArray | IntArray) -> FloatArray:
    """Compute the log of the one-sided normal mixture for a mean z standard errors above its null after n rows.

    Mixed over half-normal drifts with variance r per row, s = n r / (1 + n r): 2 Phi(z sqrt s) (1 + n r)^{-1/2} exp(s
    z^2 / 2). With known variance of normal rows it is a martingale under the null: an asymptotic confidence sequence.
    """
    spread = np.maximum(np.asarray(n, dtype=np.float64), 0.0) * DRIFT
    share = spread / (1.0 + spread)
    return np.asarray(
        np.log(2.0) + log_ndtr(z * np.sqrt(share)) - 0.5 * np.log1p(spread) + 0.5 * share * z**2, dtype=np.float64
    )


def half_widths(
    differences: Differences, level: float, freedom: int | None = None, anytime: bool = False
) -> FloatArray:
    """Compute half widths of the approximate limits, shape (trials, K).

    Student's quantile at 1 - delta / K, or the quantile of the asymptotic confidence sequence. K, not K - 1, because
    the rows have also decided which arm is compared with the others.
    """
    alpha = (1.0 - level) / differences.rows.shape[1]
    sizes, place = np.unique(differences.rows, return_inverse=True)
    if anytime:
        quantiles = np.array([_crossing(int(n), -math.log(alpha)) for n in sizes])
    else:
        degrees = np.maximum(sizes - 1, 1) if freedom is None else np.full(sizes.shape, freedom)
        quantiles = stdtrit(degrees.astype(np.float64), 1.0 - alpha)
    return np.asarray(quantiles[place].reshape(differences.rows.shape) * differences.error, dtype=np.float64)


def _crossing(rows: int, bar: float) -> float:
    """Find the z at which the mixture reaches the bar."""
    low, high = 0.0, 100.0
    for _ in range(60):
        z = 0.5 * (low + high)
        low, high = (z, high) if float(log_mixture(np.array(z), np.array(rows))) < bar else (low, z)
    return high


def jackknife_groups(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Jackknife statistics over groups of rows: estimates without optimism, and standard errors.

    With T a statistic on all rows (first line of `values`) and T_j without group j of g (the other lines), the estimate
    is g T - (g - 1) mean T_j, which takes the optimism of order 1 / n away, and its variance
    (g - 1) / g sum (T_j - mean T_j)^2.
    """
    full, left_out = values[0], values[1:]
    groups = len(left_out)
    mean = left_out.mean(axis=0)
    error = np.sqrt((groups - 1) / groups * ((left_out - mean) ** 2).sum(axis=0))
    return groups * full - (groups - 1) * mean, error


@kernel
def _gather(gram: FloatArray, y: FloatArray, rows: IntArray, copies: FloatArray, out: FloatArray) -> None:
    """Sum c_j y_i y_j K_ij and c_j K_ij over the bought rows j for every row i; and copy K_ii."""
    for i in range(rows.size):
        a = b = 0.0
        for j in range(rows.size):
            value = copies[j] * gram[rows[i], rows[j]]
            a += y[rows[j]] * value
            b += value
        out[i, 0], out[i, 1], out[i, 2] = y[rows[i]] * a, b, gram[rows[i], rows[i]]


@kernel
def _totals(copies: FloatArray, reach: FloatArray) -> tuple[float, float, float]:
    a = b = d = 0.0
    for i in range(copies.size):
        a += copies[i] * reach[i, 0]
        b += copies[i] * reach[i, 1]
        d += copies[i] * reach[i, 2]
    return a, b, d


@kernel
def _statistics(a: float, b: float, d: float, n: float) -> tuple[float, float, float, float]:
    """Compute U-statistics of both squared norms, and the norms themselves, from sums over n draws."""
    pairs = max(n * (n - 1.0), 1.0)
    return (a - d) / pairs, (b - d) / pairs, math.sqrt(max(a, 0.0)) / n, math.sqrt(max(b, 0.0)) / n


@kernel
def _without(
    sums: tuple[float, float, float], reach: FloatArray, i: int, n: float
) -> tuple[float, float, float, float]:
    """Compute the statistics without one copy of row i."""
    d = reach[i, 2]
    return _statistics(sums[0] - 2.0 * reach[i, 0] + d, sums[1] - 2.0 * reach[i, 1] + d, sums[2] - d, max(n - 1.0, 1.0))


@kernel
def _difference(
    u: tuple[float, float, float, float], v: tuple[float, float, float, float], half_radius: float
) -> float:
    """Compute R_v - R_u."""
    a, b = max(u[2] + v[2], 1e-12), max(u[3] + v[3], 1e-12)
    return half_radius * ((u[0] - v[0]) / a + (u[1] - v[1]) / b)


@kernel
def _variance(copies: FloatArray, values: FloatArray) -> float:
    """Compute the jackknife variance: (n - 1) / n times the sum of squares around the mean."""
    n = total = squares = 0.0
    for i in range(copies.size):
        n += copies[i]
        total += copies[i] * values[i]
    for i in range(copies.size):
        squares += copies[i] * (values[i] - total / n) ** 2
    return squares * (n - 1.0) / n


@kernel
def _compare(
    gram_u: FloatArray,
    gram_v: FloatArray,
    y: FloatArray,
    counts: CountArray,
    lines: IntArray,
    u: int,
    v: int,
    half_radius: float,
    shared: bool,
    out: FloatArray,
) -> None:
    """Estimate R_v - R_u and its standard error in the listed trials."""
    for number in range(lines.size):
        c_u, c_v = counts[lines[number], u], counts[lines[number], v]
        if shared:
            c_u = c_v = np.minimum(c_u, c_v)
        rows_u, rows_v = np.flatnonzero(c_u), np.flatnonzero(c_v)
        copies_u, copies_v = c_u[rows_u].astype(np.float64), c_v[rows_v].astype(np.float64)
        n_u, n_v = copies_u.sum(), copies_v.sum()
        reach_u, reach_v = np.empty((rows_u.size, 3)), np.empty((rows_v.size, 3))
        _gather(gram_u, y, rows_u, copies_u, reach_u)
        _gather(gram_v, y, rows_v, copies_v, reach_v)
        sums_u, sums_v = _totals(copies_u, reach_u), _totals(copies_v, reach_v)
        full_u = _statistics(sums_u[0], sums_u[1], sums_u[2], n_u)
        full_v = _statistics(sums_v[0], sums_v[1], sums_v[2], n_v)
        values = np.empty(rows_u.size)
        for i in range(rows_u.size):
            other = _without(sums_v, reach_v, i, n_v) if shared else full_v
            values[i] = _difference(_without(sums_u, reach_u, i, n_u), other, half_radius)
        variance = _variance(copies_u, values)
        if not shared:
            values = np.empty(rows_v.size)
            for i in range(rows_v.size):
                values[i] = _difference(full_u, _without(sums_v, reach_v, i, n_v), half_radius)
            variance += _variance(copies_v, values)
        out[number, 0] = _difference(full_u, full_v, half_radius)
        out[number, 1] = math.sqrt(variance)
