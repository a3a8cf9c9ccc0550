"""Targets about the score of Eq. 3, mean loss plus C_h |h|^2 + C_g |g|^2, where it has a closed form.

With C_h = C_g = C large enough the minimiser stays where the surrogate is affine, and with one feature per arm

    S_i = 1 - ((mean y Phi_i)^2 + (mean Phi_i)^2) / (16 C),

so that the arms are ordered by whole numbers: with P and N the sums of the feature over the positive and the negative
rows of a sample, the bracket is ((P - N)^2 + (P + N)^2) / n^2 = 2 (P^2 + N^2) / n^2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from simulations.falsify.judging import exact_log, judge_measured
from simulations.falsify.laws import log_sum, sample_law, sums
from simulations.falsify.pools import PoolInstance
from simulations.falsify.target import Measured, Target, unmet
from simulations.falsify.targets.selection import UNIFORM, in_fractions
from theory import tighter
from theory.exact import compositions
from theory.verdicts import Verdict

F = Fraction


def penalty(one: PoolInstance) -> Fraction:
    """C such that |h| / 2 + (b + 1/2) |g| = fill (1 - theta) at most, with |h|, |g| <= kappa^2 / (4 C): affine."""
    slope = one.theta / (1 - 2 * one.theta)
    return one.kappa**2 * (F(1, 8) + (slope + F(1, 2)) / 4) / (one.fill * (1 - one.theta))


def gaps(one: PoolInstance) -> tuple[Fraction, ...]:
    """How much larger the objective of every arm is than the smallest, on all rows."""
    total = sum(one.weights)
    strength = [F(value, total**2) for value in _strengths(one, one.weights)]
    return tuple((max(strength) - value) / (16 * penalty(one)) for value in strength)


def log_bound(one: PoolInstance) -> float:
    """Theorem 8 summed over the arms that are not best, with the smallest gap."""
    rivals = [gap for gap in gaps(one) if gap > 0]
    C, kappa, theta = float(penalty(one)), float(one.kappa), float(one.theta)
    bound = partial(tighter.delta_fail_uniform_regularised, C_h=C, C_g=C, strict=False, log=True)
    # The bound counts K - 1 rivals: best arms that tie are none.
    arms = len(rivals) + 1
    return float(bound(one.rows * arms, arms, float(min(rivals)), theta, kappa))


def log_failure(one: PoolInstance) -> float:
    """log P(some other arm scores at least as well as every best one), by floats."""
    counts, logs = sample_law(one, one.rows)
    strength = np.square(sums(one, counts)).sum(axis=2)
    best = np.array([gap == 0 for gap in gaps(one)])
    return log_sum(logs[strength[:, ~best].max(axis=1) >= strength[:, best].max(axis=1)])


def slow_log_failure(one: PoolInstance) -> float:
    """The same in fractions, one sample after the other."""
    best = {arm for arm, gap in enumerate(gaps(one)) if gap == 0}
    total, found = sum(one.weights), F(0)
    for counts in compositions(one.rows, len(one.weights)).tolist():
        strength = _strengths(one, counts)
        top = max(strength[arm] for arm in best)
        if any(strength[arm] >= top for arm in range(one.arms) if arm not in best):
            ways = math.factorial(one.rows)
            for count in counts:
                ways //= math.factorial(count)
            found += ways * math.prod(weight**count for weight, count in zip(one.weights, counts, strict=True))
    return exact_log(found / F(total) ** one.rows)


def _strengths(one: PoolInstance, counts: tuple[int, ...] | list[int]) -> list[int]:
    """(sum y Phi)^2 + (sum Phi)^2 of every arm."""
    rows = list(zip(counts, one.labels, strict=True))
    found = []
    for arm in one.features:
        signed = sum(count * label * value for (count, label), value in zip(rows, arm, strict=True))
        plain = sum(count * value for (count, _), value in zip(rows, arm, strict=True))
        found.append(signed**2 + plain**2)
    return found


def _measured(one: PoolInstance, *, slow: bool) -> Measured:
    if not any(gaps(one)):
        return unmet(1e3)
    bound = log_bound(one)
    if math.isnan(bound):
        return unmet(math.log1p(1 / max(one.rows, 1)))
    return Measured(slow_log_failure(one) if slow else log_failure(one), bound)


def _confirm(one: PoolInstance, seed: int) -> Verdict:
    slow = in_fractions(one)
    return judge_measured(_measured(one, slow=slow), how="in fractions" if slow else "in floats")


def targets() -> list[Target]:
    """All targets about the penalised score."""
    return [
        Target(
            "tighter.delta_fail_uniform_regularised",
            "P(uniform allocation by the score of Eq. 3 selects no best arm, ties lost) <= the bound",
            UNIFORM,
            lambda one, seed: _measured(one, slow=False),
            _confirm,
            holds=True,
        )
    ]
