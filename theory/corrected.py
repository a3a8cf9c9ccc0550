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
rows of different arms; ``rows="fresh"`` needs rounds that are drawn independently of each other.
Signatures and conventions are those of :mod:`theory.paper`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants, _repairs, _terms
from theory._blocks import in_blocks
from theory._corrected_risk import (
    excess_risk_median,
    excess_risk_median_terms,
    excess_risk_supervised,
    excess_risk_uniform,
    excess_risk_uniform_terms,
    exploratory_regret_median,
    exploratory_regret_uniform,
    term_a,
    term_d,
)
from theory._inputs import Bound, Flags, Floats, Ints
from theory._instance import Instance, instance, launch_rows, require_launch
from theory._pulls import uniform_pulls
from theory._repairs import Rows
from theory.constants import halving_schedule
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


def kappa_of(largest_kernel_value: ArrayLike) -> Bound:
    """kappa = sqrt(sup K(x, x)); repairs the definition in Lemma 4, which omits the root."""
    return _inputs.result(np.sqrt(_inputs.positive(largest_kernel_value, "largest_kernel_value")))


def selected_rows(B: ArrayLike, K: ArrayLike, *, rows: Rows = "accumulated") -> Ints:
    """Rows behind the model that median elimination returns: n_1 + ... + n_T, or n_T for fresh rows.

    Repairs A.5, which has (2^{T+1} - 1) n_1 where (K - 1) n_1 is true for K = 2^c and K log2 K a divisor of B.
    """
    schedule = halving_schedule(B, K)
    return np.asarray(np.max(_repairs.rows_of(schedule, rows), axis=0))


def identification_condition(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    factor: Literal[16, 64] = 16,
    strategy: Strategy = "uniform",
) -> bool | Flags:
    """n > factor c^2 r^2 / Delta^2, with n_1 = floor(B / (K ceil(log2 K))) for median elimination."""
    if factor not in (16, 64):
        raise ValueError(f"factor must be 16 (lemmas) or 64 (theorems), got {factor}")
    if strategy not in ("uniform", "median"):
        raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
    n = uniform_pulls(B, K) if strategy == "uniform" else halving_schedule(B, K).pulls[0]
    point = instance(gap, theta, kappa_lambda, strict=True)
    holds = n > launch_rows(point, factor)
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
    require_launch(point, rows, 16)
    return _inputs.from_log(point.check.mask(np.log(2) + _log_tail(rows, point)), log=log)


@in_blocks
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
    others = _repairs.other_arms(arms, best_count)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
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
    require_launch(point, n, 64)
    exponent = point.gap**2 * n / (8 * _repairs.spread(point) ** 2)
    return _inputs.from_log(point.check.mask(np.log(2.0 * _repairs.other_arms(arms, best_count)) - exponent), log=log)


@in_blocks
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
    others = _repairs.other_arms(arms, best)
    schedule = halving_schedule(B, arms)
    n = _repairs.rows_of(schedule, rows)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    require_launch(point, schedule.pulls[0], 16)
    rivals = np.minimum(schedule.active - 1, others) if rows == "fresh" else others
    weight = 2.0 * rivals * (1 if rows == "fresh" else best) / schedule.kept
    can_fail = (schedule.active > 1) & (rivals >= schedule.kept)
    with np.errstate(divide="ignore"):
        log_weight = np.log(np.where(can_fail, weight, 0.0))
    # The rounds are the first axis; the parameters of the instance broadcast against the rest.
    total = _terms.log_sum([w + _log_tail(m, point) for w, m in zip(log_weight, n, strict=True)])
    return _inputs.from_log(point.check.mask(total), log=log)


def _log_tail(n: Ints, point: Instance) -> Floats:
    """log q(n) = -2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2, and 0 below the launch budget."""
    rows = np.maximum(n, 1).astype(np.float64)
    margin = point.gap / 2 - 2 * _loss_constants.rademacher(point.theta) * point.r / np.sqrt(rows)
    return np.asarray(-2 * rows * (np.maximum(margin, 0.0) / _repairs.spread(point)) ** 2)
