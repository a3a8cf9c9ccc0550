"""Optimism and tails of the minimised risk V, as used by :mod:`theory.tighter`.

Everything is in natural logarithms and without checks. Proofs: ``docs/theorems.md``, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory import formulas
from theory._bound import BoundArguments, Pairing, at_least_one
from theory._inputs import Floats, Ints, log_sum

_TOGETHER = 1 << 15
"""Numbers, of points times rivals times splits, that are computed side by side."""


@dataclass(frozen=True, slots=True)
class Tails:
    """Tail bounds for V on n rows.

    Attributes
    ----------
    optimism : array
        beta, an upper bound on R_i - E V_i.
    stiffness : array
        nu = n w / D^2, where D is the range under replacement of a row and w >= 1 the gain of drawing
        without replacement: P[V_i <= R_i - beta - x] <= exp(-2 nu x^2), P[V_1 >= R_1 + x] likewise.
    rows, spread, fall : array
        n, the full range M and 1 - inf l, for the relative-entropy form of the best arm's tail.
    pairing : {"same", "independent", "arbitrary"}
        Whether two arms are scored on the same rows (Algorithm 1; any dependence inside a pair of
        rows is allowed as long as the pairs are independent), on independent rows, or unknown.
    """

    optimism: Floats
    stiffness: Floats
    rows: Floats
    spread: Floats
    fall: Floats
    pairing: Pairing

    def margins(self, gaps: Floats) -> Floats:
        """Return x = (gap - beta)_+ per rival (last axis), the gap less the optimism.

        An arm that ties with the best is no rival and gets +inf.
        """
        rival = np.maximum(gaps - np.asarray(self.optimism)[..., None], 0.0)
        return np.asarray(np.where(gaps > 0, rival, np.inf))

    def log_beaten(self, margins: Floats) -> Floats:
        """Bound log P[V_i <= V_1] per rival (last axis) by one McDiarmid step."""
        rate = {"same": 0.5, "independent": 1.0, "arbitrary": 0.5}[self.pairing]
        prefactor = np.log(2) if self.pairing == "arbitrary" else 0.0
        exponent = rate * _scaled(np.asarray(self.stiffness)[..., None], margins)
        return np.asarray(np.minimum(prefactor - exponent, 0.0))

    def log_beaten_by_any(self, margins: Floats) -> Floats:
        """Return the log of the sum over the rivals of :meth:`log_beaten`."""
        return _log_sum_last(self.log_beaten(margins))

    def log_best_high(self, shift: Floats, largest_gap: Floats) -> Floats:
        """Bound log P[V_1 >= R_1 + shift], given that R_1 <= 1 - largest_gap."""
        epsilon = np.clip(shift / self.spread, 0.0, 1.0)
        ceiling = (self.fall - largest_gap) / self.spread
        entropy = _least_entropy(epsilon, np.clip(ceiling, 0.0, 1.0))
        return np.asarray(-np.maximum(2 * _scaled(self.stiffness, shift), self.rows * entropy))

    def log_crowd(
        self, margins: Floats, log_weight: Floats | float, largest_gap: Floats, best_count: Ints | int = 1
    ) -> Floats:
        """Bound log P[V_1 is high or the rivals are low] by the smallest over a family of splits.

        The rivals are on the last axis of ``margins`` (+inf for an arm that is no rival); their
        probabilities add up and are multiplied by a weight (1 for a union, 1/k for Markov).
        ``best_count`` best arms must all stay low enough.

        The splits are a = x/2 - log_count / (4 nu x) with x the smallest margin and one log_count for
        every number of rivals that may matter. As no log_count depends on n, or is negative, every
        member of the family falls with n (theorems.md, Theorem 3), and so does the smallest.
        """
        smallest = np.min(margins, axis=-1)
        exist = np.isfinite(smallest)
        smallest = np.where(exist, smallest, 0.0)
        log_best = np.log(best_count)
        # One split per entry of a new first axis; a few at a time where the grid of points is large.
        dimensions = np.broadcast(smallest, log_weight, log_best, self.stiffness).ndim
        step = max(1, _TOGETHER // max(margins.size, 1))
        options = []
        for first in range(1, margins.shape[-1] + 1, step):
            rivals = np.arange(first, min(first + step, margins.shape[-1] + 1), dtype=np.float64)
            log_rivals = np.log(rivals).reshape(-1, *[1] * dimensions)
            shift = self._shift(smallest, np.maximum(log_weight + log_rivals - log_best, 0.0))
            left = np.maximum(margins - shift[..., None], 0.0)
            low = log_weight + _log_sum_last(-2 * _scaled(np.asarray(self.stiffness)[..., None], left))
            high = log_best + self.log_best_high(shift, largest_gap)
            options.append(np.min(log_sum([np.asarray(high), low]), axis=0))
        return np.asarray(np.where(exist, np.min(np.stack(options), axis=0), -np.inf))

    def _shift(self, smallest: Floats, log_count: Floats) -> Floats:
        """Return a = x/2 - log_count / (4 nu x), between 0 and x/2."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shift = smallest / 2 - log_count / (4 * self.stiffness * smallest)
        return np.asarray(np.where(smallest > 0, np.clip(shift, 0.0, smallest), 0.0))


def tails_on(p: BoundArguments, n: Ints) -> Tails:
    """Return the tail bounds of V on ``n`` rows at a point."""
    mean = p.r if p.mean_kappa_lambda is None else p.mean_kappa_lambda
    if np.any(mean > p.r * (1 + 1e-12)):
        raise ValueError(
            f"mean_kappa_lambda must not exceed kappa_lambda (a mean of K(x, x) is at most its largest value), "
            f"got {np.max(mean):g}"
        )
    rows = at_least_one(n)
    # A zero range (r = 0) only occurs at points that the caller masks.
    stiffness = rows / np.maximum(p.moved, np.finfo(float).tiny) ** 2
    variance: Floats = 1 / rows
    if p.population is not None:
        m = np.maximum(p.population.astype(np.float64), rows)
        with np.errstate(divide="ignore"):
            stiffness = stiffness * formulas.permutation_gain(rows, m)
        if p.optimism == "dual":
            variance = variance * (m - rows) / np.maximum(m - 1, 1.0)
    return Tails(
        optimism=np.asarray(formulas.optimism_constant(p.theta, p.optimism) * mean * np.sqrt(variance)),
        stiffness=np.asarray(stiffness),
        rows=rows,
        spread=p.width,
        fall=formulas.loss_fall(p.theta, p.r, p.r),
        pairing=p.pairing,
    )


def _scaled(stiffness: Floats, shift: Floats) -> Floats:
    """Return stiffness * shift^2, with 0 for a zero shift even when the stiffness is infinite."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(shift > 0, stiffness * np.square(shift), 0.0))


def _least_entropy(epsilon: Floats, ceiling: Floats) -> Floats:
    """Return min over p in [0, ceiling] of kl(p + epsilon || p), or 0 when ceiling > (1 - epsilon) / 2.

    kl(p + e || p) is convex in p with a negative slope at (1 - e) / 2, so it falls until there. Beyond,
    which no split at most twice the largest gap reaches, Hoeffding's other form has to do.
    """
    falls = ceiling <= (1 - epsilon) / 2
    p = np.where(falls, ceiling, 0.5 * (1 - epsilon))
    q = p + epsilon
    with np.errstate(divide="ignore", invalid="ignore"):
        up = q * np.log1p(epsilon / p)
        down = (1 - q) * np.log1p(-epsilon / (1 - p))
        # The two parts nearly cancel for small epsilon; their rounding is taken off, never added.
        entropy = up + down - 4 * np.finfo(float).eps * (up - down)
    # p = 0 means that the loss is constant; q = 1 only occurs there, with epsilon = 1.
    entropy = np.where(p > 0, entropy, np.inf)
    return np.asarray(np.where(falls & (epsilon > 0), np.maximum(entropy, 0.0), 0.0))


def _log_sum_last(logs: Floats) -> Floats:
    """Return log-sum-exp over the last axis, where every entry is at most 0."""
    if logs.shape[-1] == 1:
        return np.asarray(logs[..., 0])
    top = np.max(logs, axis=-1, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(under="ignore", divide="ignore"):
        return np.asarray(np.log(np.sum(np.exp(logs - safe), axis=-1)) + safe[..., 0])
