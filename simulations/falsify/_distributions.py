"""Log-probabilities of small pools in the affine regime, fast: the measures of the search.

`theory.exact` gives the same probabilities as floats or fractions; the search needs logarithms, because e^-2000 is as
good a value as 0.1. Tests compare the two, and violations are confirmed by `theory.exact` in fractions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from exml_sim._internal.arrays import FloatArray, IntArray
from simulations.falsify._spaces import PoolInstance
from simulations.falsify._target import LOG_ZERO
from theory.exact import compositions
from theory.formulas import halving_schedule


@lru_cache(maxsize=24)
def _samples(n: int, atoms: int) -> tuple[IntArray, FloatArray]:
    """Return all counts of n rows over the atoms, and the logarithms of their multinomial coefficients."""
    counts = compositions(n, atoms)
    return counts, np.asarray(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1))


def sample_distribution(instance: PoolInstance, n: int) -> tuple[IntArray, FloatArray]:
    """Return all counts of n rows and their log-probabilities, drawn with replacement."""
    counts, ways = _samples(n, len(instance.weights))
    shares = np.log(np.array(instance.weights) / sum(instance.weights))
    return counts, ways + counts @ shares


def compute_sums(instance: PoolInstance, counts: IntArray) -> IntArray:
    """Return P and N of every arm, the sums of its feature over the positive and over the negative rows: (S, K, 2)."""
    features, labels = np.array(instance.features), np.array(instance.labels)
    positive = counts @ (features * (labels > 0)).T
    negative = counts @ (features * (labels < 0)).T
    return np.stack([positive, negative], axis=2)


def compute_strengths(instance: PoolInstance, counts: IntArray) -> IntArray:
    """Return max(|P|, |N|) of every arm; the score is 1 - Lambda strength / n, so the largest is the best."""
    return np.asarray(np.abs(compute_sums(instance, counts)).max(axis=2))


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of a sum of probabilities, LOG_ZERO for none."""
    return float(min(logsumexp(logs), 0.0)) if logs.size else LOG_ZERO


def log_uniform_failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
    """Return log P(uniform allocation selects none of the good arms); ties go to the lowest index."""
    counts, logs = sample_distribution(instance, instance.rows)
    selected = compute_strengths(instance, counts).argmax(axis=1)
    return log_sum(logs[~np.isin(selected, good)])


def log_beaten(instance: PoolInstance, n: int, *, ties: bool) -> float:
    """Return log P(the second arm scores better than the first on n shared rows), or as well, with ties."""
    counts, logs = sample_distribution(instance, n)
    strength = compute_strengths(instance, counts)
    lead = strength[:, 1] - strength[:, 0]
    return log_sum(logs[lead >= 0 if ties else lead > 0])


def log_median_failure(instance: PoolInstance, good: tuple[int, ...]) -> float:
    """Return log P(median elimination with fresh rows in every round leaves none of the good arms)."""
    schedule = halving_schedule(instance.budget, instance.arms)
    masses: dict[tuple[int, ...], float] = {tuple(range(instance.arms)): 0.0}
    for n, kept in zip(schedule.pulls.tolist(), schedule.kept.tolist(), strict=True):
        counts, logs = sample_distribution(instance, n)
        strength = compute_strengths(instance, counts)
        following: dict[tuple[int, ...], list[float]] = {}
        for active, mass in masses.items():
            order = np.argsort(-strength[:, active], axis=1, kind="stable")[:, :kept]
            codes = (1 << order).sum(axis=1)
            for code in np.unique(codes).tolist():
                survivors = tuple(arm for place, arm in enumerate(active) if code >> place & 1)
                following.setdefault(survivors, []).append(mass + log_sum(logs[codes == code]))
        masses = {arms: log_sum(np.array(parts)) for arms, parts in following.items()}
    failed = [mass for (arm,), mass in masses.items() if arm not in good]
    return log_sum(np.array(failed))


def log_regret_tail(instance: PoolInstance, n: int) -> list[tuple[float, float]]:
    """Return (regret v, log P(exploratory regret >= v)) for every value v > 0, all arms scored on n shared rows.

    The regret is R_tr,is(f_is) - R_1. With w_h = ±Lambda and w_g = ±Lambda the learned model fits the positive rows if
    |P| > |N| and the negative ones if |N| > |P|, with the sign of that sum; if |P| = |N|, minimisers are many, and the
    one with the smallest risk is taken, in favour of the bound.
    """
    counts, logs = sample_distribution(instance, n)
    sample = compute_sums(instance, counts)
    selected = np.abs(sample).max(axis=2).argmax(axis=1)
    chosen = sample[np.arange(len(selected)), selected]
    whole = compute_sums(instance, np.array([instance.weights]))[0] / sum(instance.weights)
    gains = np.sign(chosen) * whole[selected]
    size = np.abs(chosen)
    gain = np.where(size[:, 0] > size[:, 1], gains[:, 0], gains[:, 1])
    gain = np.where(size[:, 0] == size[:, 1], gains.max(axis=1), gain)
    blank = (size == 0).all(axis=1)
    gain = np.where(blank, np.abs(whole[selected]).max(axis=1), gain)
    best = float(np.abs(whole).max())
    regret = np.round(float(instance.radius) * (best - gain), 12)
    levels = np.unique(regret[regret > 1e-9])
    return [(float(level), log_sum(logs[regret >= level])) for level in levels]
