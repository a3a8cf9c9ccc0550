"""Our theorems: the same questions answered with smaller numbers, each with a proof.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants, _terms
from theory._blocks import in_blocks
from theory._gap_free import (
    excess_risk_calibrated,
    excess_risk_uniform,
    exploratory_regret_uniform,
    selection_regret_median,
    selection_regret_uniform,
)
from theory._inputs import Bound, Flags, Floats, Ints
from theory._instance import CEILING_TOLERANCE, POPULATION_EXHAUSTED, loss_parameters
from theory._pulls import uniform_pulls
from theory._regularised import delta_fail_uniform_regularised, lemma_4_regularised
from theory._repairs import Rows, best_arms
from theory._tails import Design, Kernel, Landscape, Optimism, Pairing, Tails, landscape
from theory._variance import comparator_tail_variance, erm_tail_variance, lemma_4_variance, loss_variance
from theory.constants import halving_schedule
from theory.errors import Assumptions

__all__ = [
    "comparator_tail_variance",
    "delta_fail_median",
    "delta_fail_uniform",
    "delta_fail_uniform_regularised",
    "erm_tail_variance",
    "excess_risk_calibrated",
    "excess_risk_uniform",
    "exploratory_regret_uniform",
    "identification_condition",
    "impossible_rows",
    "launch_rows",
    "lemma_4",
    "lemma_4_regularised",
    "lemma_4_variance",
    "loss_variance",
    "selection_regret_median",
    "selection_regret_uniform",
]


def launch_rows(gap: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, *, optimism: Optimism = "dual") -> Bound:
    """Rows per arm above which Theorem 2 says something: (c_d r / Delta)^2, or (2 c* r / Delta)^2.

    Lemma 1 of the paper needs 16 c^2 r^2 / Delta^2, which is 20, 28, 48 and 34 times as much at theta = 0.1,
    0.2, 0.3 and 0.4.
    """
    gaps, theta_, r, check = _door(gap, None, None, theta, kappa_lambda, strict=True)
    constant = _loss_constants.dual(theta_) if optimism == "dual" else 2 * _loss_constants.tight_rademacher(theta_)
    return _inputs.result(check.mask(np.asarray((constant * r / gaps[..., 0]) ** 2)))


def impossible_rows(gap: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, m: ArrayLike) -> Bound:
    """Theorem 9: with fewer than r^2 / (Delta + r / sqrt m)^2 rows per arm, some population surely fails.

    The population has m rows; needs Delta + r / sqrt m <= min(r, 1 - 2 theta). As m grows the number
    tends to (r / Delta)^2, for theta <= 0.2929 the launch budget of Theorem 2: nothing can start earlier
    (for gaps below min(r, 1 - 2 theta); nothing is shown for larger ones).
    """
    population = _inputs.whole(m, "m", least=1)
    gaps, theta_, r, check = _door(gap, None, None, theta, kappa_lambda, strict=True)
    level = gaps[..., 0] + r / np.sqrt(population)
    check.require("gap + r / sqrt m <= min(r, 1 - 2 theta)", np.minimum(r, 1 - 2 * theta_) - level, strictly=False)
    return _inputs.result(np.asarray((r / level) ** 2))


def identification_condition(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strategy: str = "uniform",
    optimism: Optimism = "dual",
) -> bool | Flags:
    """n > launch_rows, with n_1 = floor(B / (K ceil(log2 K))) for ``strategy="median"``."""
    if strategy not in ("uniform", "median"):
        raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
    n = uniform_pulls(B, K) if strategy == "uniform" else halving_schedule(B, K).pulls[0]
    holds = n > np.asarray(launch_rows(gap, theta, kappa_lambda, optimism=optimism))
    return bool(holds) if np.ndim(holds) == 0 else holds


def lemma_4(
    n: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    pairing: Pairing = "same",
    population: ArrayLike | None = None,
    kernel: Kernel = "any",
    optimism: Optimism = "dual",
    mean_kappa_lambda: ArrayLike | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 2: P[V_i <= V_1] <= exp(-n w (Delta_i - c_d r / sqrt n)^2 / (2 D^2)) for pairing "same".

    Twice the exponent for "independent" rows; a sum of two terms for "arbitrary" pairing. D is the
    range under replacement of a row (M for any kernel) and w the gain without replacement.
    """
    rows = _inputs.whole(n, "n", least=0)
    design = _design(pairing, population, kernel, optimism, mean_kappa_lambda)
    gaps, theta_, r, check = _door(gap, None, None, theta, kappa_lambda, strict=strict, n=rows)
    law = _launched(rows, gaps, landscape(theta_, r, design), check)
    margins = law.margins(gaps)
    total = np.minimum(law.log_beaten_by_any(margins), law.log_crowd(margins, 0.0, gaps[..., 0]))
    return _inputs.from_log(check.mask(np.asarray(total)), log=log)


@in_blocks
def delta_fail_uniform(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike | None,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    gaps: ArrayLike | None = None,
    best_count: ArrayLike = 1,
    pairing: Pairing = "same",
    population: ArrayLike | None = None,
    kernel: Kernel = "any",
    optimism: Optimism = "dual",
    mean_kappa_lambda: ArrayLike | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 3: P[i_s not in S*] for uniform allocation, n = floor(B / K), at most the smaller of

    sum_i P_i                                     with P_i from Theorem 2, and
    exp(-2 nu a^2) + sum_i exp(-2 nu (x_i - a)^2)  with x_i = Delta_i - c_d r / sqrt n, nu = n w / D^2,

    over arms with positive gaps; the second costs about 2 sqrt(K - 1) where the first costs K - 1.
    """
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    design = _design(pairing, population, kernel, optimism, mean_kappa_lambda)
    values, theta_, r, check = _door(gap, gaps, arms, theta, kappa_lambda, strict=strict, n=n)
    law = _launched(n, values, landscape(theta_, r, design), check, per_arm=gaps is not None)
    margins = law.margins(values)
    largest = np.max(values, axis=-1)
    log_count: Floats | float = 0.0
    if gaps is None:
        log_count = np.log(np.asarray(arms - best_arms(arms, best_count), dtype=np.float64))
    beaten = log_count + law.log_beaten_by_any(margins)
    crowd = law.log_crowd(margins, log_count, largest)
    return _inputs.from_log(check.mask(np.asarray(np.minimum(beaten, crowd))), log=log)


@in_blocks
def delta_fail_median(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike | None,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    gaps: ArrayLike | None = None,
    best_count: ArrayLike = 1,
    rows: Rows = "accumulated",
    pairing: Pairing = "same",
    population: ArrayLike | None = None,
    kernel: Kernel = "any",
    optimism: Optimism = "dual",
    mean_kappa_lambda: ArrayLike | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 4: P[i_s not in S*] for median elimination, for every K >= 2: a finite sum over rounds.

    Round t contributes at most the smallest, over 0 <= j < k_t, of
    (1 / (k_t - j)) sum_{rho = j+1}^{A_t} P(Delta_(rho)), where Delta_(1) <= Delta_(2) <= ... and
    A_t = a_t - 1 rivals for fresh rows, K - 1 for accumulated rows; or of the split form of Theorem 3.
    """
    if rows not in ("accumulated", "fresh"):
        raise ValueError(f'rows must be "accumulated" or "fresh", got {rows!r}')
    arms = _inputs.whole(K, "K", least=2)
    schedule = halving_schedule(B, arms)
    design = _design(pairing, population, kernel, optimism, mean_kappa_lambda)
    per_arm = gaps is not None
    values, theta_, r, check = _door(gap, gaps, arms, theta, kappa_lambda, strict=strict, n=schedule.pulls[0])
    ground = landscape(theta_, r, design)
    _launched(schedule.pulls[0], values, ground, check, per_arm=per_arm)
    best = np.asarray(1 + np.sum(values == 0, axis=-1)) if per_arm else best_arms(arms, best_count)
    pool = _Pool(values, arms, best, per_arm=per_arm, fresh=rows == "fresh")
    held = schedule.pulls if rows == "fresh" else schedule.accumulated
    _require_population(held.max(axis=0), design, check)
    rounds = [
        pool.log_round(ground.tails(n), active, kept)
        for n, active, kept in zip(held, schedule.active, schedule.kept, strict=True)
    ]
    return _inputs.from_log(check.mask(_terms.log_sum(rounds)), log=log)


@dataclass(frozen=True, slots=True)
class _Pool:
    """The arms of a pool as median elimination meets them, round by round."""

    gaps: Floats
    arms: Ints
    best: Ints
    per_arm: bool
    fresh: bool

    def log_round(self, law: Tails, active: Ints, kept: Ints) -> Floats:
        """log of the bound on the probability that the last best arm leaves in this round."""
        log_value = self._per_arm(law, active, kept) if self.per_arm else self._one_gap(law, active, kept)
        return np.asarray(np.where(active > 1, np.minimum(log_value, 0.0), -np.inf))

    def _one_gap(self, law: Tails, active: Ints, kept: Ints) -> Floats:
        rivals = self.arms - self.best
        if self.fresh:
            rivals = np.minimum(rivals, active - 1)
        leaders = 1 if self.fresh else self.best
        log_weight = np.asarray(np.log(np.maximum(rivals, 1) / kept))
        margins = law.margins(self.gaps)
        markov = np.log(leaders) + log_weight + law.log_beaten_by_any(margins)
        crowd = law.log_crowd(margins, log_weight, self.gaps[..., 0], leaders)
        # With fewer than k_t arms outside S*, one of S* is always kept.
        return np.asarray(np.where(rivals >= kept, np.minimum(markov, crowd), -np.inf))

    def _per_arm(self, law: Tails, active: Ints, kept: Ints) -> Floats:
        # K is one number here: the gaps of one pool are given.
        size, keep = int(np.max(active)), int(np.max(kept))
        ordered = np.sort(np.where(self.gaps > 0, self.gaps, np.inf), axis=-1)
        margins = law.margins(ordered)[..., : (size - 1 if self.fresh else None)]
        largest = np.max(self.gaps, axis=-1)
        leaders = np.ones_like(self.best) if self.fresh else self.best
        if margins.shape[-1] < keep:
            return np.asarray(np.full_like(largest, -np.inf))
        options = []
        for dropped in range(keep):
            rest, log_weight = margins[..., dropped:], -float(np.log(keep - dropped))
            options.append(np.log(leaders) + log_weight + law.log_beaten_by_any(rest))
            options.append(law.log_crowd(rest, log_weight, largest, leaders))
        return np.asarray(np.min(np.stack(np.broadcast_arrays(*options)), axis=0))


def _design(
    pairing: Pairing,
    population: ArrayLike | None,
    kernel: Kernel,
    optimism: Optimism,
    mean_kappa_lambda: ArrayLike | None,
) -> Design:
    return Design(
        pairing=pairing,
        population=None if population is None else _inputs.whole(population, "population", least=1),
        kernel=kernel,
        optimism=optimism,
        mean_radius=None if mean_kappa_lambda is None else _inputs.positive(mean_kappa_lambda, "mean_kappa_lambda"),
    )


def _door(
    gap: ArrayLike | None,
    gaps: ArrayLike | None,
    arms: Ints | None,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool,
    **point: Ints,
) -> tuple[Floats, Floats, Floats, Assumptions]:
    """Gaps with rival arms on a last axis (of length 1 for one common gap), theta, r, assumptions."""
    if gap is not None and gaps is None:
        values = _inputs.real(gap, "gap")[..., None]
        least = values[..., 0]
    elif gaps is not None and gap is None:
        values = _inputs.positive(gaps, "gaps")
        if values.ndim == 0 or arms is None or np.any(arms != values.shape[-1] + 1):
            raise ValueError(f"gaps must hold K - 1 numbers, got shape {values.shape} for K = {arms}")
        # An arm with gap 0 ties with the best; if all do, there is no gap at all.
        least = np.min(np.where(values > 0, values, np.inf), axis=-1)
        least = np.where(np.isinf(least), 0.0, least)
    else:
        raise ValueError("give either gap (one number for all other arms) or gaps (one per other arm)")
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, gap=least, **point)
    check.require("gap > 0", least)
    ceiling = _loss_constants.fall(theta_, r, r) * (1 + CEILING_TOLERANCE)
    check.require(
        "gap <= Delta_max = 1 - inf loss (no population has a larger gap)",
        ceiling - np.max(values, axis=-1),
        strictly=False,
    )
    return values, theta_, r, check


def _launched(n: Ints, gaps: Floats, ground: Landscape, check: Assumptions, *, per_arm: bool = False) -> Tails:
    """The tails on n rows, after checking n >= 1, n <= m and (for one gap) the launch condition."""
    check.require("at least one row per arm", np.asarray(n))
    _require_population(n, ground.design, check)
    law = ground.tails(n)
    if not per_arm:
        # With per-arm gaps an arm below its launch budget just counts as a certain winner.
        check.require("launch condition gap > optimism of the rival arm", gaps[..., 0] - law.optimism)
    return law


def _require_population(n: Ints, design: Design, check: Assumptions) -> None:
    if design.population is not None:
        check.require(POPULATION_EXHAUSTED, design.population - n, strictly=False)
