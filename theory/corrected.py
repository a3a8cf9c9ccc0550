"""The paper's statements with the smallest repairs that make them true.

Repairs, with the place that needs each (proofs in ``docs/theorems.md``, section 2):

* range: Hoeffding and McDiarmid see losses in an interval of length M, not 1 (A.2 term d, A.4 a and c,
  A.6); M is :func:`theory.constants.loss_range`.
* comparator: the best arm's full-data minimiser is a fixed function, so terms A.4 (c), A.2 (d) and
  A.6 (b) need Hoeffding's inequality and no Rademacher term.
* ties: "identifies feature 1" becomes "selects an arm of the best set S*"; ``best_count = |S*|``
  (Lemma 1 (i), Lemma 2 (i), A.4, A.5).
* any K: T = ceil(log2 K) rounds, ceil(a_t / 2) arms kept, a finite sum over rounds in place of the
  geometric series (A.5); the sum of the n_t is counted, not guessed (A.5, Lemma 2 (ii), Theorem 2).
* reuse of rows: Algorithm 1 scores on accumulated rows (``rows="accumulated"``), A.5 on fresh ones
  (``rows="fresh"``); both are covered, by different sums.
* kappa is the square root of sup K(x, x) (Lemma 4 prints it without the root).
* conditioning: the regret and risk bounds hold on an event of probability 1 - delta - delta_fail,
  not conditionally on the selection; and delta_fail is a function of the random training set, so in
  Theorems 1 and 2 its expectation is what counts.

Every statement holds for rows drawn with or without replacement and for any dependence between the
rows of different arms. Signatures and conventions are those of :mod:`theory.paper`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss, _terms
from theory._inputs import Bound, Floats, Ints
from theory._instance import Instance, instance, loss_parameters
from theory._pulls import uniform_pulls
from theory._terms import ExcessRisk
from theory.constants import HalvingSchedule, halving_schedule
from theory.paper import Strategy, lemma_3

__all__ = [
    "Rows",
    "delta_fail_median",
    "delta_fail_uniform",
    "delta_fail_uniform_simplified",
    "excess_risk_median",
    "excess_risk_median_terms",
    "excess_risk_supervised",
    "excess_risk_uniform",
    "excess_risk_uniform_terms",
    "exploratory_regret_median",
    "exploratory_regret_uniform",
    "identification_condition",
    "kappa_of",
    "lemma_3",
    "lemma_4",
    "selected_rows",
    "term_a",
    "term_d",
]

Rows = Literal["accumulated", "fresh"]


def kappa_of(largest_kernel_value: ArrayLike) -> Bound:
    """kappa = sqrt(sup K(x, x)); repairs the definition in Lemma 4, which omits the root."""
    return _inputs.result(np.sqrt(_inputs.positive(largest_kernel_value, "largest_kernel_value")))


def selected_rows(B: ArrayLike, K: ArrayLike, *, rows: Rows = "accumulated") -> Ints:
    """Rows behind the model that median elimination returns: n_1 + ... + n_T, or n_T for fresh rows.

    Repairs A.5, which has (2^{T+1} - 1) n_1 where (K - 1) n_1 is true for K = 2^c.
    """
    schedule = halving_schedule(B, K)
    return np.asarray(np.max(_rows_of(schedule, rows), axis=0))


def identification_condition(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    factor: Literal[16, 64] = 16,
    strategy: Strategy = "uniform",
) -> bool | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """n > factor c^2 r^2 / Delta^2, with n_1 = floor(B / (K ceil(log2 K))) for median elimination."""
    if factor not in (16, 64):
        raise ValueError(f"factor must be 16 (lemmas) or 64 (theorems), got {factor}")
    if strategy not in ("uniform", "median"):
        raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
    n = uniform_pulls(B, K) if strategy == "uniform" else halving_schedule(B, K).pulls[0]
    point = instance(gap, theta, kappa_lambda, strict=True)
    holds = n > factor * (_loss.rademacher(point.theta) * point.r / point.gap) ** 2
    return bool(holds) if np.ndim(holds) == 0 else holds


def lemma_4(
    n: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 4 repaired: P[V_i <= V_1] <= 2 exp(-2 n (Delta_i/2 - 2 c r / sqrt n)^2 / M^2).

    Repairs the range in A.6; the condition needs this arm's gap only. Never above the printed
    4 exp(-(2/9) n ...) as long as M <= 3.
    """
    rows = _inputs.whole(n, "n", least=0)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=rows)
    _require_launch(point, rows, 16)
    return _inputs.from_log(point.check.mask(np.log(2) + _log_tail(rows, point)), log=log)


def delta_fail_uniform(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 1 (i) repaired: P[i_s not in S*] <= 2 (K - |S*|) exp(-2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2)."""
    arms = _inputs.whole(K, "K", least=2)
    others = _other_arms(arms, best_count)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    _require_launch(point, n, 16)
    return _inputs.from_log(point.check.mask(np.log(2.0 * others) + _log_tail(n, point)), log=log)


def delta_fail_uniform_simplified(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """The order claim of Theorem 1 repaired: 2 (K - |S*|) exp(-Delta^2 n / (8 M^2)) under the factor 64.

    The exponent is Delta^2 n / (8 M^2), not n: the printed O(exp(-floor(B / K))) is false.
    """
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    _require_launch(point, n, 64)
    exponent = point.gap**2 * n / (8 * _spread(point) ** 2)
    return _inputs.from_log(point.check.mask(np.log(2.0 * _other_arms(arms, best_count)) - exponent), log=log)


def delta_fail_median(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    rows: Rows = "accumulated",
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 2 (i) repaired, for every K >= 2, with q(n) = exp(-2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2):

    fresh rows:        sum_t 2 min(a_t - 1, K - |S*|) / k_t  q(n_t),
    accumulated rows:  sum_t 2 |S*| (K - |S*|) / k_t  q(N_t).

    A round in which fewer than k_t arms are outside S* cannot fail and contributes nothing.
    """
    arms = _inputs.whole(K, "K", least=2)
    best = _inputs.whole(best_count, "best_count", least=1)
    others = _other_arms(arms, best)
    schedule = halving_schedule(B, arms)
    n = _rows_of(schedule, rows)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    _require_launch(point, schedule.pulls[0], 16)
    rivals = np.minimum(schedule.active - 1, others) if rows == "fresh" else others
    weight = 2.0 * rivals * (1 if rows == "fresh" else best) / schedule.kept
    can_fail = (schedule.active > 1) & (rivals >= schedule.kept)
    with np.errstate(divide="ignore"):
        log_weight = np.log(np.where(can_fail, weight, 0.0))
    # The rounds are the first axis; the parameters of the instance broadcast against the rest.
    total = _terms.log_sum([w + _log_tail(m, point) for w, m in zip(log_weight, n, strict=True)])
    return _inputs.from_log(point.check.mask(total), log=log)


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
    _require_launch(point, n, 16)
    best = _best(arms, best_count)
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
    _require_launch(point, schedule.pulls[0], 16)
    n = np.max(_rows_of(schedule, rows), axis=0)
    best = _best(arms, best_count)
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
    _require_launch(point, n, 16)
    return _excess(n, point, m, delta, _best(arms, best_count), 1, approximation_error)


def excess_risk_uniform(
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
) -> Bound:
    """Theorem 1 repaired: on the event that the paper's Assumption and the condition hold, the excess
    risk exceeds the following with probability at most delta + E[delta_fail], s = |S*|:

    2cr/sqrt m + sqrt(log(3s/delta)/2m) + M sqrt(log(3/delta)/2m)
    + 2cr/sqrt n + M sqrt(log(6s/delta)/2n) + M sqrt(log(6/delta)/2n) + R_ap.
    """
    return excess_risk_uniform_terms(
        B, K, gap, theta, kappa_lambda, m, delta,
        best_count=best_count, approximation_error=approximation_error, strict=strict,
    ).total  # fmt: skip


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
    _require_launch(point, schedule.pulls[0], 16)
    n = np.max(_rows_of(schedule, rows), axis=0)
    best = _best(arms, best_count)
    return _excess(n, point, m, delta, best, best, approximation_error)


def excess_risk_median(
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
) -> Bound:
    """Theorem 2 repaired: Theorem 1 repaired with the selected arm's true number of rows and, for ties,
    log(6s/delta) in both terms on the bought rows.
    """
    return excess_risk_median_terms(
        B, K, gap, theta, kappa_lambda, m, delta,
        best_count=best_count, rows=rows, approximation_error=approximation_error, strict=strict,
    ).total  # fmt: skip


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
    total = 2 * _loss.rademacher(theta_) * r / _terms.root(n) + (1 + _loss.spread(theta_, r, r)) * deviation
    return _inputs.result(check.mask(total + _inputs.real(approximation_error, "approximation_error")))


def term_a(
    m: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    best_count: ArrayLike = 1,
    strict: bool = True,
) -> Bound:
    """Term (a) of A.2 repaired for ties: Lemma 3 for every arm of S* at once, delta / |S*| each."""
    best = _inputs.whole(best_count, "best_count", least=1)
    return lemma_3(m, theta, kappa_lambda, _inputs.fraction(delta, "delta") / best, strict=strict)


def term_d(
    m: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool = True
) -> Bound:
    """Term (d) of A.2 repaired: M sqrt(log(1/delta) / 2m); the comparator is fixed."""
    n = _inputs.whole(m, "m", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, m=n)
    deviation = _terms.hoeffding(n, 1 / _inputs.fraction(delta, "delta"))
    return _inputs.result(check.mask(_loss.spread(theta_, r, r) * deviation))


def _spread(point: Instance) -> Floats:
    # A zero range (kappa_lambda = 0) only occurs at points that are masked.
    return np.asarray(np.maximum(_loss.spread(point.theta, point.r, point.r), np.finfo(float).tiny))


def _log_tail(n: Ints, point: Instance) -> Floats:
    """log q(n) = -2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2, and 0 below the launch budget."""
    rows = np.maximum(n, 1).astype(np.float64)
    margin = point.gap / 2 - 2 * _loss.rademacher(point.theta) * point.r / np.sqrt(rows)
    return np.asarray(-2 * rows * (np.maximum(margin, 0.0) / _spread(point)) ** 2)


def _require_launch(point: Instance, n: Ints, factor: float) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = factor * (_loss.rademacher(point.theta) * point.r / point.gap) ** 2
    text = f"identification condition n > {factor:g} ((1 - theta) r)^2 / ((1 - 2 theta) gap)^2"
    point.check.require(text, n - np.asarray(threshold))


def _best(arms: Ints, best_count: ArrayLike) -> Ints:
    best = _inputs.whole(best_count, "best_count", least=1)
    if np.any(best >= arms):
        raise ValueError(f"best_count must be below K (no gap exists otherwise), got {best_count!r}")
    return best


def _other_arms(arms: Ints, best_count: ArrayLike) -> Ints:
    return np.asarray(arms - _best(arms, best_count))


def _rows_of(schedule: HalvingSchedule, rows: Rows) -> Ints:
    if rows == "accumulated":
        return schedule.accumulated
    if rows == "fresh":
        return schedule.pulls
    raise ValueError(f'rows must be "accumulated" or "fresh", got {rows!r}')


def _regret(
    n: Ints, point: Instance, delta: Floats, best: Ints, comparators: Ints | int
) -> tuple[Floats, Floats]:
    """Complexity and deviation of the regret; ``comparators`` arms of S* may be the one compared with."""
    complexity = 2 * _loss.rademacher(point.theta) * point.r / _terms.root(n)
    model = _terms.hoeffding(n, 2 * best / delta)
    comparator = _terms.hoeffding(n, np.asarray(2 * comparators / delta))
    return np.asarray(complexity), np.asarray(_spread(point) * (model + comparator))


def _excess(
    n: Ints,
    point: Instance,
    m: ArrayLike,
    delta: ArrayLike,
    best: Ints,
    comparators: Ints | int,
    approximation_error: ArrayLike,
) -> ExcessRisk:
    population = _inputs.whole(m, "m", least=1)
    share = _inputs.fraction(delta, "delta") / 3
    complexity, deviation = _regret(n, point, share, best, comparators)
    over_rows = _terms.hoeffding(population, best / share) + _spread(point) * _terms.hoeffding(
        population, 1 / share
    )

    def term(values: Floats) -> Bound:
        return _inputs.result(point.check.mask(np.asarray(values)))

    return ExcessRisk(
        complexity_rows=term(2 * _loss.rademacher(point.theta) * point.r / _terms.root(population)),
        complexity_pulls=term(complexity),
        deviation_rows=term(over_rows),
        deviation_pulls=term(deviation),
        approximation=_inputs.result(_inputs.real(approximation_error, "approximation_error")),
    )
