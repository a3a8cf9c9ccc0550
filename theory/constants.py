"""Constants of the analysis: Rademacher constants, the range of the loss, the ceiling of gaps, schedules.

Notation: ``r = kappa * Lambda``, ``b = theta / (1 - 2 theta)``, and the surrogate loss of Eq. 2 as a
function of ``t = y h(x)`` and ``s = g(x)``,

    l(t, s) = max{1 + (s - t) / 2, theta - b s, 0},    |t| <= r, |s| <= r.

All of it needs ``theta < 1/2`` (Eq. 2 is no upper bound of Eq. 1 otherwise), which is why theta
outside (0, 1/2) is refused with an :class:`~theory.errors.AssumptionError`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants
from theory._inputs import Bound, Floats, Ints
from theory.errors import Assumptions

__all__ = [
    "HalvingSchedule",
    "dual_constant",
    "gap_ceiling",
    "halving_schedule",
    "loss_inf",
    "loss_range",
    "loss_sup",
    "rademacher_constant",
    "rejection_slope",
    "replacement_range",
    "tight_rademacher_constant",
]


def rejection_slope(theta: ArrayLike) -> Bound:
    """b = theta / (1 - 2 theta), the slope of the second piece of Eq. 2 in g."""
    return _inputs.result(_loss_constants.slope(_theta(theta)))


def rademacher_constant(theta: ArrayLike) -> Bound:
    """c = (1 - theta) / (1 - 2 theta): the paper's R_n(l o F) <= c r / sqrt(n), displayed in A.2."""
    theta_ = _theta(theta)
    return _inputs.result(_loss_constants.rademacher(theta_))


def tight_rademacher_constant(theta: ArrayLike) -> Bound:
    """c* = 1/2 + max(1/2, b) = max(1, 1 / (2 (1 - 2 theta))): R_n(l o F) <= c* r / sqrt(n).

    Never above the paper's c. Derivation in ``docs/theorems.md``, Lemma E.
    """
    return _inputs.result(_loss_constants.tight_rademacher(_theta(theta)))


def dual_constant(theta: ArrayLike) -> Bound:
    """c_d: the optimism of the minimised risk, R_i - E V_i <= c_d r / sqrt(n), with no factor 2.

    c_d = 1 for b^2 <= 1/2 (theta <= 0.2929) and 2 b^2 / sqrt(4 b^2 - 1) above; c_d <= c* <= c.
    Derivation in ``docs/theorems.md``, Theorem 1.
    """
    return _inputs.result(_loss_constants.dual(_theta(theta)))


def loss_sup(theta: ArrayLike, r: ArrayLike) -> Bound:
    """sup l = max{1 + r, theta + b r} over |t|, |s| <= r."""
    theta_, r_ = _theta(theta), _inputs.positive(r, "kappa_lambda")
    return _inputs.result(1 + _loss_constants.rise(theta_, r_, r_))


def loss_inf(theta: ArrayLike, r: ArrayLike) -> Bound:
    """inf l = 1 - r for r <= 1 - 2 theta, and theta (3 - 2 theta - r)_+ beyond."""
    theta_, r_ = _theta(theta), _inputs.positive(r, "kappa_lambda")
    return _inputs.result(1 - _loss_constants.fall(theta_, r_, r_))


def loss_range(theta: ArrayLike, r: ArrayLike, r_g: ArrayLike | None = None) -> Bound:
    """M = sup l - inf l over |h| <= r, |g| <= r (or |g| <= r_g when given): the paper's proofs take 1.

    It is the constant that Hoeffding's and McDiarmid's inequalities need in A.2, A.4 and A.6.
    """
    theta_, r_ = _theta(theta), _inputs.positive(r, "kappa_lambda")
    gate = r_ if r_g is None else _inputs.positive(r_g, "r_g")
    return _inputs.result(_loss_constants.spread(theta_, r_, gate))


def replacement_range(theta: ArrayLike, r: ArrayLike, *, kernel: str = "any") -> Bound:
    """sup over f, z, z' of l(f, z) - l(f, z'): how far n V can move when one row is replaced.

    For ``kernel="any"`` this is M. For ``kernel="nonnegative"`` (Gaussian, say), two feature vectors
    are at most sqrt(2) kappa apart, and the range is also at most sqrt(2) max(1, b) r.
    """
    if kernel not in ("any", "nonnegative"):
        raise ValueError(f'kernel must be "any" or "nonnegative", got {kernel!r}')
    theta_, r_ = _theta(theta), _inputs.positive(r, "kappa_lambda")
    return _inputs.result(_loss_constants.replacement(theta_, r_, nonnegative=kernel == "nonnegative"))


def gap_ceiling(theta: ArrayLike, r: ArrayLike, positive_fraction: ArrayLike | None = None) -> Bound:
    """Delta_max: no gap of Eq. 7 can be larger than this.

    f = 0 has loss 1 everywhere, so every minimised risk lies in [inf l, 1] and Delta_max = 1 - inf l.
    When the fraction pi of positive labels is known, Jensen's inequality confines (E yh, E g) to the
    disc of radius r sqrt(2 (pi^2 + (1 - pi)^2)), and the minimum of l over that disc replaces inf l;
    for balanced labels and r <= 1 - 2 theta this gives r / sqrt(2).
    """
    theta_, r_ = _theta(theta), _inputs.positive(r, "kappa_lambda")
    if positive_fraction is None:
        return _inputs.result(_loss_constants.fall(theta_, r_, r_))
    pi = _inputs.real(positive_fraction, "positive_fraction")
    if np.any((pi < 0) | (pi > 1)):
        raise ValueError(f"positive_fraction must lie in [0, 1], got {positive_fraction}")
    return _inputs.result(_loss_constants.fall_on_disc(theta_, r_, r_ * np.sqrt(2 * (pi**2 + (1 - pi) ** 2))))


@dataclass(frozen=True, slots=True)
class HalvingSchedule:
    """Rounds of Algorithm 1, first axis = round t = 1..T.

    Attributes
    ----------
    active : array of int
        a_t, arms at the start of the round; a_1 = K, a_{t+1} = ceil(a_t / 2).
    kept : array of int
        k_t = ceil(a_t / 2), arms that survive it.
    pulls : array of int
        n_t = floor(B / (T a_t)), new rows per active arm.
    accumulated : array of int
        N_t = n_1 + ... + n_t, rows held by an arm that is still active.

    When K is an array, elements with fewer rounds than the longest have ``active == 1`` and
    ``pulls == 0`` in the rounds that they do not play.
    """

    active: Ints
    kept: Ints
    pulls: Ints
    accumulated: Ints

    @property
    def spent(self) -> Ints:
        """Total number of pulls, never more than B."""
        total: Ints = np.sum(self.active * self.pulls, axis=0)
        return total


def halving_schedule(B: ArrayLike, K: ArrayLike) -> HalvingSchedule:
    """Rounds of median elimination (Algorithm 1) for budget B and K arms, keeping ceil(half).

    The paper halves K = 2^c arms; for other K, rounding down would end with no arm at all, so this
    keeps ceil(a_t / 2), which leaves exactly one arm after T = ceil(log2 K) rounds for every K.
    """
    budget = _inputs.whole(B, "B", least=0)
    arms = _inputs.whole(K, "K", least=2)
    budget, arms = np.broadcast_arrays(budget, arms)
    rounds = ceil_log2(arms)
    actives = [arms]
    for _ in range(int(rounds.max(initial=1)) - 1):
        actives.append((actives[-1] + 1) // 2)
    active = np.stack(actives)
    plays = active > 1
    pulls = np.where(plays, budget // (rounds * active), 0)
    return HalvingSchedule(active, (active + 1) // 2, pulls, np.cumsum(pulls, axis=0))


def ceil_log2(K: Ints) -> Ints:
    """ceil(log2 K) in exact integer arithmetic (K below 2^53)."""
    # frexp(K - 1) = (mantissa in [1/2, 1), e) with 2^(e-1) <= K - 1 < 2^e, hence e = ceil(log2 K).
    exponent: Ints = np.frexp((K - 1).astype(np.float64))[1].astype(np.int64)
    return exponent


def _theta(theta: ArrayLike) -> Floats:
    theta_ = _inputs.real(theta, "theta")
    check = Assumptions(strict=True, point={"theta": theta_})
    check.require("theta > 0", theta_)
    check.require("theta < 1/2", 0.5 - theta_)
    return theta_
