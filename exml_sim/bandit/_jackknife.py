"""Compare arms on bought rows: differences of risks with jackknifed standard errors, all of it approximate.

In the affine regime the risk of an arm is 1 - (Lambda / 2) (a + b) with a = |mean y Phi|, b = |mean Phi|. Squares of
such norms have unbiased estimates, the U-statistics over pairs of different draws: a score's optimism is gone. With
r = (a_u + a_v) / (b_u + b_v)

    R_v - R_u = (Lambda / 2) (a_u^2 - a_v^2 + r (b_u^2 - b_v^2)) / (a_u + a_v),

and the jackknife (leave out one draw, of every arm that has it) gives the standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, stdtrit

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit._evidence import Evidence

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
        is_enough = self._rows >= FEWEST_ROWS
        # Differences of fewer rows can be so large that their squares overflow.
        z = np.where(is_enough, self._value + epsilon, 0.0) / np.maximum(self._error, 1e-150)
        against = np.where(is_enough, log_mixture(z, self._rows), -np.inf)
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
