"""Regrets and excess risks, repaired. Re-exported by :mod:`theory.corrected`, which lists the repairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants, _repairs, _terms
from theory._inputs import Bound, Floats, Ints
from theory._instance import Instance, instance, loss_parameters, require_launch
from theory._pulls import uniform_pulls
from theory._repairs import Rows
from theory._terms import ExcessRisk
from theory.constants import halving_schedule
from theory.paper import lemma_3

__all__ = [
    "excess_risk_median",
    "excess_risk_median_terms",
    "excess_risk_supervised",
    "excess_risk_uniform",
    "excess_risk_uniform_terms",
    "exploratory_regret_median",
    "exploratory_regret_uniform",
    "term_a",
    "term_d",
]


def exploratory_regret_uniform(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    strict: bool = True,
) -> Bound:
    """Lemma 1 (ii) repaired: 2 c r / sqrt n + M sqrt(log(2|S*|/delta)/2n) + M sqrt(log(2/delta)/2n).

    With probability at least 1 - delta - delta_fail of this module.
    """
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    best = _repairs.best_arms(arms, best_count)
    complexity, deviation = _regret(n, point, _inputs.fraction(delta, "delta"), best, 1)
    return _inputs.result(point.check.mask(complexity + deviation))


def exploratory_regret_median(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    rows: Rows = "accumulated",
    strict: bool = True,
) -> Bound:
    """Lemma 2 (ii) repaired: 2 c r / sqrt n + 2 M sqrt(log(2|S*|/delta)/2n), n the selected arm's true rows.

    With probability at least 1 - delta - delta_fail of this module.
    """
    arms = _inputs.whole(K, "K", least=2)
    schedule = halving_schedule(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    require_launch(point, schedule.pulls[0], 16)
    n = np.max(_repairs.rows_of(schedule, rows), axis=0)
    best = _repairs.best_arms(arms, best_count)
    # A tied arm may have dropped out earlier, so that the survivor is compared with itself.
    complexity, deviation = _regret(n, point, _inputs.fraction(delta, "delta"), best, best)
    return _inputs.result(point.check.mask(complexity + deviation))


def excess_risk_uniform_terms(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    m: ArrayLike,
    delta: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> ExcessRisk:
    """The terms of :func:`excess_risk_uniform`."""
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    best = _repairs.best_arms(arms, best_count)
    return _excess(n, point, m, delta, _candidates(arms, best), best, 1, approximation_error)


@_terms.total_of(excess_risk_uniform_terms)
def excess_risk_uniform() -> None:
    """Theorem 1 repaired: on the event that the paper's Assumption and the condition hold, the excess
    risk exceeds the following with probability at most delta + E[delta_fail], s = |S*|:

    2cr/sqrt m + sqrt(log(3k/delta)/2m) + M sqrt(log(3/delta)/2m)
    + 2cr/sqrt n + M sqrt(log(6s/delta)/2n) + M sqrt(log(6/delta)/2n) + R_ap,

    where k = 1 for s = 1 and k = K with ties: which arms tie is decided by the training set itself.
    """


def excess_risk_median_terms(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    m: ArrayLike,
    delta: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    rows: Rows = "accumulated",
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> ExcessRisk:
    """The terms of :func:`excess_risk_median`."""
    arms = _inputs.whole(K, "K", least=2)
    schedule = halving_schedule(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    require_launch(point, schedule.pulls[0], 16)
    n = np.max(_repairs.rows_of(schedule, rows), axis=0)
    best = _repairs.best_arms(arms, best_count)
    return _excess(n, point, m, delta, _candidates(arms, best), best, best, approximation_error)


@_terms.total_of(excess_risk_median_terms)
def excess_risk_median() -> None:
    """Theorem 2 repaired: Theorem 1 repaired with the selected arm's true number of rows and, for ties,
    log(6s/delta) in both terms on the bought rows.
    """


def excess_risk_supervised(
    B: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> Bound:
    """Eq. 6 repaired, for the ball minimiser: 2cr/sqrt B + (1 + M) sqrt(log(2/delta)/2B) + R_ap."""
    n = _inputs.whole(B, "B", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, B=n)
    deviation = _terms.hoeffding(n, 2 / _inputs.fraction(delta, "delta"))
    total = (
        2 * _loss_constants.rademacher(theta_) * r / _terms.root(n)
        + (1 + _loss_constants.spread(theta_, r, r)) * deviation
    )
    return _inputs.result(check.mask(total + _inputs.real(approximation_error, "approximation_error")))


def term_a(
    m: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    arms: ArrayLike = 1,
    strict: bool = True,
) -> Bound:
    """Term (a) of A.2 repaired for ties: Lemma 3 for ``arms`` arms at once, delta / arms each.

    1 arm when S* = {1}, which the Assumption fixes; all K arms with ties, because S* is then a function
    of the training set that Lemma 3 is about, and a union over a random set of arms needs all of them.
    """
    count = _inputs.whole(arms, "arms", least=1)
    return lemma_3(m, theta, kappa_lambda, _inputs.fraction(delta, "delta") / count, strict=strict)


def term_d(m: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool = True) -> Bound:
    """Term (d) of A.2 repaired: M sqrt(log(1/delta) / 2m); the comparator is fixed."""
    n = _inputs.whole(m, "m", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, m=n)
    deviation = _terms.hoeffding(n, 1 / _inputs.fraction(delta, "delta"))
    return _inputs.result(check.mask(_loss_constants.spread(theta_, r, r) * deviation))


def _regret(n: Ints, point: Instance, delta: Floats, best: Ints, comparators: Ints | int) -> tuple[Floats, Floats]:
    """Complexity and deviation of the regret; ``comparators`` arms of S* may be the one compared with."""
    complexity = 2 * _loss_constants.rademacher(point.theta) * point.r / _terms.root(n)
    model = _terms.hoeffding(n, 2 * best / delta)
    comparator = _terms.hoeffding(n, np.asarray(2 * comparators / delta))
    return np.asarray(complexity), np.asarray(_repairs.spread(point) * (model + comparator))


def _candidates(arms: Ints, best: Ints) -> Ints:
    """Arms for which Lemma 3 must hold: arm 1 alone without ties, all K with ties."""
    return np.asarray(np.where(best > 1, arms, 1))


def _excess(
    n: Ints,
    point: Instance,
    m: ArrayLike,
    delta: ArrayLike,
    candidates: Ints,
    best: Ints,
    comparators: Ints | int,
    approximation_error: ArrayLike,
) -> ExcessRisk:
    population = _inputs.whole(m, "m", least=1)
    share = _inputs.fraction(delta, "delta") / 3
    complexity, deviation = _regret(n, point, share, best, comparators)
    over_rows = _terms.hoeffding(population, candidates / share) + _repairs.spread(point) * _terms.hoeffding(
        population, 1 / share
    )

    def term(values: Floats) -> Bound:
        return _inputs.result(point.check.mask(np.asarray(values)))

    return ExcessRisk(
        complexity_rows=term(2 * _loss_constants.rademacher(point.theta) * point.r / _terms.root(population)),
        complexity_pulls=term(complexity),
        deviation_rows=term(over_rows),
        deviation_pulls=term(deviation),
        approximation=_inputs.result(_inputs.real(approximation_error, "approximation_error")),
    )
