"""The paper's statements with the smallest repairs that make them true.

Repairs, with the place that needs each (proofs in ``docs/theorems.md``, section 2):

* range: Hoeffding and McDiarmid need the length M of the losses' interval, not 1 (A.2 term d, A.4 a and c,
  A.6); M is :func:`theory.formulas.loss_range`.
* comparator: the best arm's full-data minimiser is a fixed function, so terms A.4 (c), A.2 (d) and
  A.6 (b) need Hoeffding's inequality and no Rademacher term.
* ties: "identifies feature 1" becomes "selects one of the best arms S*"; ``best_count = |S*|``
  (Lemma 1 (i), Lemma 2 (i), A.4, A.5).
* any K: T = ceil(log2 K) rounds, ceil(a_t / 2) arms kept, a finite sum over rounds in place of the
  geometric series (A.5); the sum of the n_t is counted exactly (A.5, Lemma 2 (ii), Theorem 2).
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

from functools import partial
from typing import Any

import numpy as np

from theory import _inputs, formulas
from theory._bound import BoundArguments, Rows, at_least_one, bound
from theory._inputs import Floats, Ints
from theory.formulas import LAUNCH_LEMMAS, LAUNCH_THEOREMS
from theory.paper import lemma_3

__all__ = [
    "Rows",
    "delta_fail_median",
    "delta_fail_uniform",
    "delta_fail_uniform_simplified",
    "excess_risk_median",
    "excess_risk_supervised",
    "excess_risk_uniform",
    "exploratory_regret_median",
    "exploratory_regret_uniform",
    "lemma_3",
    "lemma_4",
    "term_a",
    "term_d",
]

_POINT = "B, K, gap, theta, kappa_lambda"
_RISK = f"{_POINT}, m, delta, *, best_count"
_lemma = partial(bound, launch_factor=LAUNCH_LEMMAS)
"""The decorator of bounds under the identification condition of the lemmas."""


@_lemma("Lemma 4, corrected", "n, gap, theta, kappa_lambda, *, strict, log", example="3.71e-10")
def lemma_4(p: BoundArguments) -> Any:
    """Bound P[V_i <= V_1] by 2 exp(-2 n (Delta_i/2 - 2 c r / sqrt n)^2 / M^2).

    Repairs the range in A.6; the condition needs this arm's gap only. Never above the printed
    4 exp(-(2/9) n ...) as long as M <= 3.
    """
    return formulas.log_failure_uniform_corrected(p.rows_per_arm, 1, p.gap, p.theta, p.r, p.width)


@_lemma("Lemma 1 (i), corrected", f"{_POINT}, *, best_count, strict, log", pulls="uniform", example="2.6e-09")
def delta_fail_uniform(p: BoundArguments) -> Any:
    """Bound P[i_s not in S*] by 2 (K - |S*|) exp(-2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2)."""
    return formulas.log_failure_uniform_corrected(p.rows_per_arm, p.rivals, p.gap, p.theta, p.r, p.width)


@bound(
    "order claim of Theorem 1, corrected",
    f"{_POINT}, *, best_count, strict, log",
    pulls="uniform",
    launch_factor=LAUNCH_THEOREMS,
    example="0.000636",
)
def delta_fail_uniform_simplified(p: BoundArguments) -> Any:
    """Bound P[i_s not in S*] by 2 (K - |S*|) exp(-Delta^2 n / (8 M^2)) under the factor 64.

    The exponent is Delta^2 n / (8 M^2), not n: the printed O(exp(-floor(B / K))) is false.
    """
    return formulas.log_failure_uniform_corrected_simplified(p.n, p.rivals, p.gap, p.width)


@_lemma("Lemma 2 (i), corrected", f"{_POINT}, *, best_count, rows, strict, log", pulls="schedule", example="0.0505")
def delta_fail_median(p: BoundArguments) -> Any:
    """Bound P[i_s not in S*] for every K >= 2, with q(n) = exp(-2 n (Delta/2 - 2 c r / sqrt n)^2 / M^2):

    fresh rows:        sum_t 2 min(a_t - 1, K - |S*|) / k_t  q(n_t),
    accumulated rows:  sum_t 2 |S*| (K - |S*|) / k_t  q(N_t).

    A round in which fewer than k_t arms are outside S* cannot fail and contributes nothing.
    """
    fresh, schedule = p.rows == "fresh", p.schedule
    rivals = np.minimum(schedule.active - 1, p.rivals) if fresh else p.rivals
    weight = float(formulas.CORRECTED_PREFACTOR) * rivals * (1 if fresh else p.best) / schedule.kept
    can_fail = (schedule.active > 1) & (rivals >= schedule.kept)
    log_weight = np.log(np.where(can_fail, weight, 0.0))
    # The rounds are the first axis; the parameters of the point broadcast against the rest.
    rounds = zip(log_weight, schedule.rows(p.rows), strict=True)
    tails = [w + formulas.log_tail_corrected(at_least_one(n), p.gap, p.theta, p.r, p.width) for w, n in rounds]
    return _inputs.log_sum(tails)


@_lemma("Lemma 1 (ii), corrected", f"{_POINT}, delta, *, best_count, strict", pulls="uniform", example="0.0859")
def exploratory_regret_uniform(p: BoundArguments) -> Any:
    """Bound the regret by 2 c r / sqrt n + M sqrt(log(2|S*|/delta)/2n) + M sqrt(log(2/delta)/2n).

    With probability at least 1 - delta - delta_fail of this module.
    """
    return sum(_regret(p, p.rows_per_arm, p.delta, 1))


@_lemma("Lemma 2 (ii), corrected", f"{_POINT}, delta, *, best_count, rows, strict", pulls="schedule", example="0.0562")
def exploratory_regret_median(p: BoundArguments) -> Any:
    """Bound the regret by 2 c r / sqrt n + 2 M sqrt(log(2|S*|/delta)/2n), n the selected arm's true rows.

    With probability at least 1 - delta - delta_fail of this module.
    """
    # A tied arm may have dropped out earlier, so that the survivor is compared with itself.
    return sum(_regret(p, _selected(p), p.delta, p.best))


@_lemma("Theorem 1, corrected", f"{_RISK}, approximation_error, strict", pulls="uniform", example="0.325")
def excess_risk_uniform(p: BoundArguments) -> Any:
    """Bound the excess risk on the event that the paper's Assumption and the condition hold.

    It exceeds the following with probability at most delta + E[delta_fail], s = |S*|:

    2cr/sqrt m + sqrt(log(3k/delta)/2m) + M sqrt(log(3/delta)/2m)
    + 2cr/sqrt n + M sqrt(log(6s/delta)/2n) + M sqrt(log(6/delta)/2n) + R_ap,

    where k = 1 for s = 1 and k = K with ties: which arms tie is decided by the training set itself.
    """
    return _excess_risk(p, p.rows_per_arm, 1)


@_lemma("Theorem 2, corrected", f"{_RISK}, rows, approximation_error, strict", pulls="schedule", example="0.292")
def excess_risk_median(p: BoundArguments) -> Any:
    """Bound the excess risk as Theorem 1 corrected, with the selected arm's true number of rows.

    For ties log(6s/delta) stands in both terms on the bought rows.
    """
    return _excess_risk(p, _selected(p), p.best)


@bound("Eq. 6, corrected", "B, theta, kappa_lambda, delta, *, approximation_error, strict", least=1, example="0.0304")
def excess_risk_supervised(p: BoundArguments) -> Any:
    """Bound the excess risk of the ball minimiser by 2cr/sqrt B + (1 + M) sqrt(log(2/delta)/2B) + R_ap."""
    deviation = formulas.hoeffding_deviation(p.B, 2 / p.delta)
    complexity = formulas.complexity(p.B, formulas.rademacher_constant(p.theta), p.r, 2)
    return complexity + (1 + formulas.loss_range(p.theta, p.r)) * deviation + p.approximation_error


@bound("term (a) of A.2, corrected", "m, theta, kappa_lambda, delta, *, arms, strict", example="0.136")
def term_a(p: BoundArguments) -> Any:
    """Evaluate Lemma 3 for ``arms`` arms at once, delta / arms each: term (a) corrected for ties.

    1 arm when S* = {1}, which the Assumption fixes; all K arms with ties, because S* is then a function
    of the training set that Lemma 3 is about, and a union over a random set of arms needs all of them.
    """
    return formulas.uniform_risk_deviation(p.m, p.theta, p.r, p.delta / p.arms)


@bound("term (d) of A.2, corrected", "m, theta, kappa_lambda, delta, *, strict", example="0.0707")
def term_d(p: BoundArguments) -> Any:
    """Evaluate M sqrt(log(1/delta) / 2m); the comparator is fixed."""
    return formulas.loss_range(p.theta, p.r) * formulas.hoeffding_deviation(p.m, 1 / p.delta)


def _selected(p: BoundArguments) -> Floats:
    """Return the rows of the selected arm, at least 1."""
    return at_least_one(np.max(p.schedule.rows(p.rows), axis=0))


def _regret(p: BoundArguments, n: Floats, delta: Floats, comparators: Ints | int) -> tuple[Any, Any]:
    """Return complexity and deviation; ``comparators`` arms of S* may be the one compared with."""
    return formulas.regret_terms_corrected(n, p.theta, p.r, delta, p.best, comparators, p.width)


def _excess_risk(p: BoundArguments, n: Floats, comparators: Ints | int) -> Any:
    share, m = p.delta / 3, p.m
    # Lemma 3 must hold for arm 1 alone without ties, for all K arms with ties.
    candidates = np.where(p.best > 1, p.K, 1)
    over_rows = formulas.uniform_risk_deviation(m, p.theta, p.r, share / candidates)
    over_rows = over_rows + p.width * formulas.hoeffding_deviation(m, 1 / share)
    return over_rows + sum(_regret(p, n, share, comparators)) + p.approximation_error
