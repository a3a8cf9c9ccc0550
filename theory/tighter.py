"""Our theorems: the same quantities with smaller bounds, each with a proof.

The theorems, in the numbering of ``docs/theorems.md`` (proofs there, in full):

1. optimism by duality: R_i - E V_i <= c_d r / sqrt n, without symmetrisation, contraction or factor 2;
2. pairwise: P[V_i <= V_1] <= exp(-n (Delta_i - c_d r / sqrt n)^2 / (2 M^2));
3. uniform allocation with per-arm gaps, by the sum of 2 or by splitting off the best arm's deviation;
4. median elimination for every K, fresh or accumulated rows, per-arm gaps;
5. without replacement;
6. oracle inequalities that need no gap, no launch budget and no assumption on the arms;
7. variance-dependent forms;
8. the regularised score of Eq. 3;
9. the launch budget of 2 cannot be improved (theta <= 0.2929, gap < min(r, 1 - 2 theta)).

Options that many functions share:

* ``gaps=[...]``: the K - 1 gaps of the other arms (0 for a tie with the best) in place of ``gap``;
* ``pairing``: ``"same"`` rows for all arms (Algorithm 1), ``"independent"`` rows, or ``"arbitrary"``;
* ``rows``: ``"accumulated"`` over rounds (Algorithm 1) or ``"fresh"`` in each (the proof in A.5);
* ``population=m``: rows are drawn without replacement from m; None means with replacement;
* ``kernel="nonnegative"``: K(x, x') >= 0, as for a Gaussian kernel;
* ``optimism="rademacher"``: 2 c* r / sqrt n in place of Theorem 1, for comparison;
* ``mean_kappa_lambda``: Lambda sqrt(mean K(x, x)), which may replace kappa Lambda in the optimism.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory import _inputs, formulas
from theory._bound import CEILING_TOLERANCE, BoundArguments, at_least_one, bound, require_population
from theory._inputs import Floats, Ints
from theory._tails import Tails, tails_on

__all__ = [
    "comparator_tail_variance",
    "delta_fail_median",
    "delta_fail_uniform",
    "delta_fail_uniform_regularised",
    "erm_tail_variance",
    "excess_risk_calibrated",
    "excess_risk_median",
    "excess_risk_uniform",
    "exploratory_regret_uniform",
    "impossible_rows",
    "launch_rows",
    "lemma_4",
    "lemma_4_regularised",
    "lemma_4_variance",
    "loss_variance",
    "selection_regret_median",
    "selection_regret_uniform",
]

_POINT = "B, K, gap, theta, kappa_lambda, *, gaps, best_count"
_DESIGN = "pairing, population, kernel, optimism, mean_kappa_lambda, strict, log"
_GAP_FREE = "B, K, theta, kappa_lambda, delta, *, kernel, strict"
_GAP_FREE_RISK = "B, K, theta, kappa_lambda, delta, *, approximation_error, kernel, strict"

_SPLITS = np.linspace(1 / 64, 63 / 64, 63)
"""Shares of the gap given to the best arm's deviation; every one gives a valid bound."""


@bound("Theorem 2", "gap, theta, kappa_lambda, *, optimism", example="6.25")
def launch_rows(p: BoundArguments) -> Any:
    """Return the rows per arm above which Theorem 2 is informative: (c_d r / Delta)^2, or (2 c* r / Delta)^2.

    Lemma 1 of the paper needs 16 c^2 r^2 / Delta^2, which is 20, 28, 48 and 34 times as much at theta = 0.1,
    0.2, 0.3 and 0.4.
    """
    return (formulas.optimism_constant(p.theta, p.optimism) * p.r / p.gap) ** 2


@bound("Theorem 9", "gap, theta, kappa_lambda, m", example="4.77")
def impossible_rows(p: BoundArguments) -> Any:
    """Return r^2 / (Delta + r / sqrt m)^2: with fewer rows per arm some population surely fails.

    The population has m rows; needs Delta + r / sqrt m <= min(r, 1 - 2 theta). As m grows the number
    tends to (r / Delta)^2, for theta <= 0.2929 the launch budget of Theorem 2: no bound can start earlier
    (for gaps below min(r, 1 - 2 theta); nothing is shown for larger ones).
    """
    level = p.gap + p.r / np.sqrt(p.m)
    slack = np.minimum(p.r, 1 - 2 * p.theta) - level
    p.check.require("gap + r / sqrt m <= min(r, 1 - 2 theta)", slack, strictly=False)
    return (p.r / level) ** 2


@bound("Theorem 2", f"n, gap, theta, kappa_lambda, *, {_DESIGN}", example="3.28e-16")
def lemma_4(p: BoundArguments) -> Any:
    """Bound P[V_i <= V_1] by exp(-n w (Delta_i - c_d r / sqrt n)^2 / (2 D^2)) for pairing "same".

    Twice the exponent for "independent" rows; a sum of two terms for "arbitrary" pairing. D is the
    range under replacement of a row (M for any kernel) and w the gain without replacement.
    """
    tails = _launched(p)
    margins = tails.margins(p.gaps)
    return np.minimum(tails.log_beaten_by_any(margins), tails.log_crowd(margins, 0.0, p.gap))


@bound("Theorem 3", f"{_POINT}, {_DESIGN}", pulls="uniform", example="8.71e-16")
def delta_fail_uniform(p: BoundArguments) -> Any:
    """Bound P[i_s not in S*] for uniform allocation, n = floor(B / K), by the smaller of

    sum_i P_i                                     with P_i from Theorem 2, and
    exp(-2 nu a^2) + sum_i exp(-2 nu (x_i - a)^2)  with x_i = Delta_i - c_d r / sqrt n, nu = n w / D^2,

    over arms with positive gaps; the second costs about 2 sqrt(K - 1) where the first costs K - 1.
    """
    tails = _launched(p)
    margins = tails.margins(p.gaps)
    log_count: Any = 0.0 if p.per_arm else np.log(np.asarray(p.rivals, dtype=np.float64))
    beaten = log_count + tails.log_beaten_by_any(margins)
    return np.minimum(beaten, tails.log_crowd(margins, log_count, np.max(p.gaps, axis=-1)))


@bound("Theorem 4", f"{_POINT}, rows, {_DESIGN}", pulls="schedule", example="3.13e-05")
def delta_fail_median(p: BoundArguments) -> Any:
    """Bound P[i_s not in S*] for median elimination, for every K >= 2, by a finite sum over rounds.

    Round t contributes at most the smallest, over 0 <= j < k_t, of
    (1 / (k_t - j)) sum_{rho = j+1}^{A_t} P(Delta_(rho)), where Delta_(1) <= Delta_(2) <= ... and
    A_t = a_t - 1 rivals for fresh rows, K - 1 for accumulated rows; or of the split form of Theorem 3.
    """
    _launched(p)
    scored_rows = p.schedule.rows(p.rows)
    require_population(scored_rows.max(axis=0), p.population, p.check)
    log_round = _log_round_per_arm if p.per_arm else _log_round
    rounds = zip(scored_rows, p.schedule.active, p.schedule.kept, strict=True)
    logs = [(log_round(p, tails_on(p, n), active, kept), active) for n, active, kept in rounds]
    return _inputs.log_sum([np.where(active > 1, np.minimum(value, 0.0), -np.inf) for value, active in logs])


def _launched(p: BoundArguments) -> Tails:
    """Return the tails on n rows, after checking n >= 1, n <= m and (for one gap) the launch condition."""
    p.check.require("at least one row per arm", p.n)
    require_population(p.n, p.population, p.check)
    tails = tails_on(p, p.n)
    if not p.per_arm:
        # With per-arm gaps an arm below its launch budget just counts as a certain winner.
        p.check.require("launch condition gap > optimism of the rival arm", p.gap - tails.optimism)
    return tails


def _log_round(p: BoundArguments, tails: Tails, active: Ints, kept: Ints) -> Floats:
    """Bound the log probability that the last best arm leaves in a round, from one common gap."""
    fresh = p.rows == "fresh"
    rivals = np.minimum(p.rivals, active - 1) if fresh else p.rivals
    leaders = 1 if fresh else p.best
    log_weight = np.log(np.maximum(rivals, 1) / kept)
    margins = tails.margins(p.gaps)
    markov = np.log(leaders) + log_weight + tails.log_beaten_by_any(margins)
    crowd = tails.log_crowd(margins, log_weight, p.gap, leaders)
    # With fewer than k_t arms outside S*, one of S* is always kept.
    return np.asarray(np.where(rivals >= kept, np.minimum(markov, crowd), -np.inf))


def _log_round_per_arm(p: BoundArguments, tails: Tails, active: Ints, kept: Ints) -> Floats:
    """Bound the log probability that the last best arm leaves in a round, from the gaps of all arms."""
    fresh = p.rows == "fresh"
    # K is one number here: the gaps of one pool are given.
    size, keep = int(np.max(active)), int(np.max(kept))
    ordered = np.sort(np.where(p.gaps > 0, p.gaps, np.inf), axis=-1)
    margins = tails.margins(ordered)[..., : (size - 1 if fresh else None)]
    largest = np.max(p.gaps, axis=-1)
    leaders = np.ones_like(p.best) if fresh else p.best
    if margins.shape[-1] < keep:
        return np.asarray(np.full_like(largest, -np.inf))
    options = []
    for dropped in range(keep):
        rest, log_weight = margins[..., dropped:], -float(np.log(keep - dropped))
        options.append(np.log(leaders) + log_weight + tails.log_beaten_by_any(rest))
        options.append(tails.log_crowd(rest, log_weight, largest, leaders))
    return np.asarray(np.min(np.stack(np.broadcast_arrays(*options)), axis=0))


# Theorem 6: regret and risk without a gap, a launch budget or an assumption on the arms.


@bound("Theorem 6 (i)", _GAP_FREE, pulls="uniform", example="0.0795")
def exploratory_regret_uniform(p: BoundArguments) -> Any:
    """Bound the regret of uniform allocation, n = floor(B / K), with probability at least 1 - delta:

    R_tr,is(f_is) - R_1 <= d r / sqrt n + D (sqrt(ln(2K/delta)/2n) + sqrt(ln(2/delta)/2n)),

    d = 1 for r <= 1 - 2 theta and 2 c* beyond. There is no delta_fail and no identification condition.
    """
    return _regret_gap_free(p)


@bound("Theorem 6 (ii)", _GAP_FREE_RISK, pulls="uniform", example="0.0717")
def excess_risk_uniform(p: BoundArguments) -> Any:
    """Bound the excess 0/1 risk of uniform allocation for rows i.i.d. from the distribution.

    With probability at least 1 - delta it is at most R_ap plus the smaller of (i) and

    2 c* r / sqrt n + min(1 - inf l, D) sqrt(ln(2K/delta)/2n) + D sqrt(ln(2/delta)/2n).
    """
    surrogate, n = _regret_gap_free(p), p.rows_per_arm
    clipped = np.minimum(formulas.loss_fall(p.theta, p.r, p.r), p.moved)
    by_clipping = (
        formulas.complexity(n, formulas.tight_rademacher_constant(p.theta), p.r, 2)
        + clipped * formulas.hoeffding_deviation(n, 2 * p.K / p.delta)
        + p.moved * formulas.hoeffding_deviation(n, 2 / p.delta)
    )
    return np.minimum(by_clipping, surrogate) + p.approximation_error


@bound("Theorem 6 (iii)", _GAP_FREE_RISK, pulls="uniform", example="0.0884")
def excess_risk_calibrated(p: BoundArguments) -> Any:
    """Bound the excess 0/1 risk by (A_1 + the bound of (i)) / (1 - theta), with probability at least 1 - delta.

    The rows must be i.i.d. from the distribution, as for (ii).
    ``approximation_error`` is A_1 = inf over the ball of R_1^surr minus (3 - 2 theta) R_1^*, which tends
    to 0 for universal kernels and growing Lambda, whereas the paper's R_ap stays above (2 - 2 theta) R_1^*.
    """
    surplus = _inputs.positive(p.approximation_error, "approximation_error")
    return (surplus + _regret_gap_free(p)) / (1 - p.theta)


@bound("Theorem 6 (iv)", _GAP_FREE, pulls="uniform", example="0.0815")
def selection_regret_uniform(p: BoundArguments) -> Any:
    """Bound R_is - R_1 by c_d r / sqrt n + D sqrt(2 ln((K - 1)/delta) / n), with probability at least 1 - delta.

    R_i is arm i's minimised risk on all rows: how much worse the selected arm can be. The pairs of rows
    must be independent across draws, as in Theorem 2.
    """
    p.check.require("at least one row per arm", p.n)
    return formulas.selection_regret(p.rows_per_arm, p.theta, p.r, (p.K - 1) / p.delta, p.moved)


@bound("Theorem 6 (v)", _GAP_FREE, pulls="schedule", example="0.299")
def selection_regret_median(p: BoundArguments) -> Any:
    """Bound the regret of median elimination with fresh rows, with probability at least 1 - delta:

    R_is - R_1 <= sum_t c_d r / sqrt n_t + D sqrt(2 ln(T (a_t - 1) / (k_t delta)) / n_t).

    The pairs of rows must be independent across draws, and the rounds of each other.
    """
    schedule = p.schedule
    p.check.require("at least one row per arm in the first round", p.n)
    rounds = np.sum(schedule.active > 1, axis=0)
    total = np.asarray(0.0)
    for n, active, kept in zip(schedule.pulls, schedule.active, schedule.kept, strict=True):
        # (a - 1) / k is at least 1 for a >= 2, so the logarithm is positive.
        argument = np.maximum(active - 1, 1) / kept * rounds / p.delta
        step = formulas.selection_regret(at_least_one(n), p.theta, p.r, argument, p.moved)
        total = total + np.where(active > 1, step, 0.0)
    return total


@bound("Theorem 6 (vi)", _GAP_FREE_RISK, pulls="schedule", example="0.319")
def excess_risk_median(p: BoundArguments) -> Any:
    """Bound the excess 0/1 risk of median elimination on accumulated rows, with probability at least 1 - delta:

    R_ap + sum_t d r / sqrt N_t + 2 D sqrt(ln(2 K T / delta) / 2 N_t),

    N_t the rows of an active arm after round t, d as in (i). The rows must be i.i.d. from the distribution. With
    ``approximation_error=0`` it bounds the exploratory regret R_tr,is(f_is) - R_1 on the training set.
    """
    schedule = p.schedule
    p.check.require("at least one row per arm in the first round", p.n)
    rounds = np.sum(schedule.active > 1, axis=0)
    total = np.asarray(0.0)
    for n, active in zip(schedule.accumulated, schedule.active, strict=True):
        rows = at_least_one(n)
        deviation = formulas.hoeffding_deviation(rows, 2 * p.K * np.maximum(rounds, 1) / p.delta)
        step = formulas.complexity(rows, formulas.deviation_constant(p.theta, p.r), p.r, 1) + 2 * p.moved * deviation
        total = total + np.where(active > 1, step, 0.0)
    return total + p.approximation_error


def _regret_gap_free(p: BoundArguments) -> Any:
    p.check.require("at least one row per arm", p.n)
    n = p.rows_per_arm
    deviations = formulas.hoeffding_deviation(n, 2 * p.K / p.delta) + formulas.hoeffding_deviation(n, 2 / p.delta)
    return formulas.complexity(n, formulas.deviation_constant(p.theta, p.r), p.r, 1) + p.moved * deviations


# Theorem 7: tails that use variances (Bernstein, Bousquet).


@bound("Theorem 7", "theta, top_h, top_g, radius", example="0.05")
def loss_variance(p: BoundArguments) -> Any:
    """Bound the variance of the loss over the ball by Lambda^2 (sqrt(top_h) / 2 + max(1/2, b) sqrt(top_g))^2.

    ``top_h`` and ``top_g`` are the largest eigenvalues of the centred covariances of y Phi and Phi
    (of the centred (y y^T * K) / m and K / m), ``radius`` is Lambda.
    """
    steep = np.maximum(0.5, formulas.rejection_slope(p.theta))
    return (p.r * (np.sqrt(p.top_h) / 2 + steep * np.sqrt(p.top_g))) ** 2


@bound("Theorem 7", "n, shift, theta, kappa_lambda, *, variance, strict, log", least=1, example="7.67e-53")
def comparator_tail_variance(p: BoundArguments) -> Any:
    """Bound P[V_1 >= R_1 + shift] by exp(-n shift^2 / (2 (variance + M shift / 3))), Bernstein.

    ``variance`` bounds the variance of the loss of the best arm's full-data minimiser.
    """
    return formulas.log_tail_bernstein(p.rows_per_arm, p.shift, formulas.loss_range(p.theta, p.r), p.variance)


@bound("Theorem 7", "n, shift, theta, kappa_lambda, *, variance, strict, log", least=1, example="4.57e-35")
def erm_tail_variance(p: BoundArguments) -> Any:
    """Bound P[V_i <= R_i - shift] by exp(-x), where x solves Bousquet's inequality

    shift = beta + sqrt(2 x (variance + 2 M beta) / n) + M x / (3 n),

    beta = r / sqrt n in the affine regime r <= 1 - 2 theta and 2 c* r / sqrt n beyond; ``variance``
    bounds the variance of the loss over the whole ball (see :func:`loss_variance`).
    """
    return formulas.log_tail_bousquet(p.rows_per_arm, p.shift, p.theta, p.r, p.variance)


@bound(
    "Theorem 7",
    "n, gap, theta, kappa_lambda, *, variance_rival, variance_best, strict, log",
    least=1,
    example="4.72e-24",
)
def lemma_4_variance(p: BoundArguments) -> Any:
    """Bound P[V_i <= V_1] by Bernstein for the best arm and Bousquet for the rival, with the best split.

    Without ``variance_best`` the variance is bounded by (sup l - R)(R - inf l) for the worst
    R <= 1 - gap. Holds for any dependence between the two arms' rows.
    """
    best = formulas.worst_variance(p.gap, p.theta, p.r) if p.variance_best is None else p.variance_best
    n, width = p.rows_per_arm, formulas.loss_range(p.theta, p.r)
    total = np.asarray(0.0)
    for share in _SPLITS:
        high = formulas.log_tail_bernstein(n, share * p.gap, width, best)
        low = formulas.log_tail_bousquet(n, (1 - share) * p.gap, p.theta, p.r, p.variance_rival)
        total = np.minimum(total, np.logaddexp(high, low))
    return total


# Theorem 8: the score that Eq. 3 really minimises.


@bound("Theorem 8", "n, gap, theta, kappa, *, C_h, C_g, strict, log", ceiling=False, example="0.0368")
def lemma_4_regularised(p: BoundArguments) -> Any:
    """Bound P[S_i <= S_1] by exp(-n (Delta_i - beta)^2 / (2 D^2)) for the score of Eq. 3,

    S_i = min_f {mean loss + C_h |h|^2 + C_g |g|^2} and gaps of the same objective on all rows, with

    beta = (kappa^2 / n) max{1 / (16 C_h) + 1 / (16 C_g), b^2 / (4 C_g)}

    and D the range of the loss over |h| <= kappa^2 / (4 C_h), |g| <= kappa^2 max(1/2, b) / (2 C_g).
    The pairs of rows are independent across draws, as for ``pairing="same"``.
    """
    return _log_tail_regularised(p)


@bound(
    "Theorem 8", "B, K, gap, theta, kappa, *, C_h, C_g, strict, log", pulls="uniform", ceiling=False, example="0.258"
)
def delta_fail_uniform_regularised(p: BoundArguments) -> Any:
    """Sum Theorem 8 over the K - 1 other arms: uniform allocation with the score of Eq. 3."""
    return np.log(p.K - 1.0) + _log_tail_regularised(p)


def _log_tail_regularised(p: BoundArguments) -> Any:
    largest, optimism = formulas.penalised_optimism(p.theta, p.r, p.C_h, p.C_g)
    ceiling = np.minimum(1.0, largest) * (1 + CEILING_TOLERANCE)
    p.check.require("gap <= min(1, kappa^2 (1/C_h + 1/C_g) / 16)", ceiling - p.gap, strictly=False)
    p.check.require("at least one row per arm", p.n)
    margin = p.gap - optimism / p.rows_per_arm
    p.check.require("launch condition gap > optimism of the rival arm", margin)
    moved = np.maximum(formulas.penalised_range(p.theta, p.r, p.C_h, p.C_g), np.finfo(float).tiny)
    return -p.rows_per_arm * (np.maximum(margin, 0.0) / moved) ** 2 / 2
