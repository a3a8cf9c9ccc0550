"""Every formula of the paper, of its correction and of our theorems, written once for every backend.

Symbols: ``theta`` rejection cost in (0, 1/2), ``r`` = kappa * Lambda, ``gap`` = Delta, ``n`` rows per arm, ``K`` arms,
``b`` = theta / (1 - 2 theta). The surrogate loss of Eq. 2 is a function of t = y h(x) and s = g(x).

Nothing is checked here: :mod:`theory.paper`, :mod:`theory.corrected` and :mod:`theory.tighter` check their arguments
and evaluate these formulas. A formula that needs more than arithmetic takes a backend ``xp`` with ``q`` (a quotient of
integers), ``sqrt``, ``log``, ``exp``, ``max`` and ``min``: `FLOATS` for floats and numpy arrays, or an object for ball
arithmetic with the same methods.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs
from theory._inputs import Ints

LAUNCH_LEMMAS = 16
"""Factor of the identification condition in Lemmas 1, 2 and 4."""

LAUNCH_THEOREMS = 64
"""Factor of the identification condition in Theorems 1 and 2."""

PAPER_RATE = (2, 9)
"""Rate of the printed exponent, Eq. 9: 2/9 = 2/M^2 at M = 3."""

PAPER_PREFACTOR = 4
"""Factor before (K - 1) in Eq. 9, and of Lemma 4."""

PAPER_GEOMETRIC = 8
"""Factor before q / (1 - q) in Eq. 11."""

PAPER_SIMPLIFIED = 72
"""Divisor of Delta^2 n in the simplified exponents of A.2 and A.3."""

CORRECTED_PREFACTOR = 2
"""Factor before (K - |S*|) in the corrected Lemma 1 (i), and of the corrected Lemma 4."""

CORRECTED_SIMPLIFIED = 8
"""Divisor of Delta^2 n / M^2 in the corrected simplified exponent."""


class Floats:
    """Floats and numpy arrays, element by element."""

    def q(self, numerator: int, denominator: int = 1) -> float:
        """Return the nearest float."""
        return numerator / denominator

    sqrt = staticmethod(np.sqrt)
    log = staticmethod(np.log)
    exp = staticmethod(np.exp)

    def max(self, *values: Any) -> Any:
        """Return the elementwise maximum."""
        return functools.reduce(np.maximum, values)

    def min(self, *values: Any) -> Any:
        """Return the elementwise minimum."""
        return functools.reduce(np.minimum, values)


Backend: TypeAlias = Any
"""`FLOATS`, or an object with its methods."""

FLOATS: Backend = Floats()


# The surrogate loss and its constants.


def rejection_slope(theta: Any) -> Any:
    """Return b = theta / (1 - 2 theta), the slope of the second piece of Eq. 2."""
    return theta / (1 - 2 * theta)


def rademacher_constant(theta: Any) -> Any:
    """Return c = (1 - theta) / (1 - 2 theta), the paper's constant (A.2)."""
    return (1 - theta) / (1 - 2 * theta)


def tight_rademacher_constant(theta: Any, xp: Backend = FLOATS) -> Any:
    """Return c* = 1/2 + max(1/2, b) (Lemma E)."""
    return xp.q(1, 2) + xp.max(xp.q(1, 2), rejection_slope(theta))


def dual_constant(theta: Any, xp: Backend = FLOATS) -> Any:
    """Return c_d = max over q in [0, 1] of sqrt(q) / 2 + sqrt(q / 4 + (1 - q) b^2) in closed form (Theorem 1)."""
    steep = xp.max(rejection_slope(theta) ** 2, xp.q(1, 2))
    return 2 * steep / xp.sqrt(4 * steep - 1)


def deviation_constant(theta: Any, r: Any) -> Any:
    """Return d with E sup_f (R(f) - R_n(f)) <= d r / sqrt n, for floats: 1 in the affine regime, 2 c* beyond."""
    # r <= 1 - 2 theta makes the loss affine on the ball, and the supremum a sum of two norms.
    return np.where(r <= 1 - 2 * theta, 1.0, 2 * tight_rademacher_constant(theta))


def surrogate_pieces(t: Any, s: Any, theta: Any) -> tuple[Any, Any, int]:
    """Return the three pieces of Eq. 2 at t = y h(x), s = g(x): 1 + (s - t) / 2, theta - b s and 0."""
    return 1 + (s - t) / 2, theta - rejection_slope(theta) * s, 0


def surrogate_loss(t: Any, s: Any, theta: Any, xp: Backend = FLOATS) -> Any:
    """Return the surrogate loss of Eq. 2, the largest of its pieces."""
    return xp.max(*surrogate_pieces(t, s, theta))


def loss_rise(theta: Any, r_h: Any, r_g: Any, xp: Backend = FLOATS) -> Any:
    """Return sup l - 1 over |h| <= r_h, |g| <= r_g, without cancellation for small radii."""
    # A convex function is largest at a corner of the box: (t, s) = (-r_h, r_g) or s = -r_g.
    return xp.max((r_h + r_g) / 2, theta - 1 + rejection_slope(theta) * r_g)


def loss_fall(theta: Any, r_h: Any, r_g: Any, xp: Backend = FLOATS) -> Any:
    """Return 1 - inf l over |h| <= r_h, |g| <= r_g, without cancellation: the ceiling of gaps."""
    # t = r_h is best. In s the first piece rises and the second falls, so the minimum of their
    # maximum is at the crossing s = (1 - 2 theta)(r_h - 2 (1 - theta)) or at the nearer end.
    s = xp.min(xp.max((1 - 2 * theta) * (r_h - 2 * (1 - theta)), -r_g), r_g)
    return xp.min((r_h - s) / 2, 1 - theta + rejection_slope(theta) * s, 1)


def loss_range(theta: Any, r_h: Any, r_g: Any = None, xp: Backend = FLOATS) -> Any:
    """Return M = sup l - inf l over |h| <= r_h, |g| <= r_g (r_h if not given): the paper's proofs take 1."""
    r_g = r_h if r_g is None else r_g
    return loss_rise(theta, r_h, r_g, xp) + loss_fall(theta, r_h, r_g, xp)


def replacement_range(theta: Any, r: Any, kernel: str = "any", xp: Backend = FLOATS) -> Any:
    """Return D, the largest change of the loss of one f between two rows; smaller for a nonnegative kernel."""
    full = loss_range(theta, r, xp=xp)
    if kernel == "any":
        return full
    return xp.min(full, xp.sqrt(2) * xp.max(1, rejection_slope(theta)) * r)


def gap_ceiling(theta: Any, r: Any, positive_fraction: Any = None) -> Any:
    """Return Delta_max = 1 - inf l, the largest possible gap of Eq. 7, for floats.

    f = 0 has loss 1 everywhere, so every minimised risk lies in [inf l, 1]. When the fraction pi of positive labels is
    known, Jensen's inequality confines (E yh, E g) to the disc of radius r sqrt(2 (pi^2 + (1 - pi)^2)).
    """
    if positive_fraction is None:
        return loss_fall(theta, r, r)
    return loss_fall_on_disc(theta, r, r * np.sqrt(2 * (positive_fraction**2 + (1 - positive_fraction) ** 2)))


def loss_fall_on_disc(theta: Any, r: Any, radius: Any) -> Any:
    """Return 1 - inf l over the disc t^2 + s^2 <= radius^2 within the box |t|, |s| <= r, for floats."""
    # On the line where the two pieces agree, s = w (t - 2 (1 - theta)) with w = 1 - 2 theta and the
    # common value is theta (3 - 2 theta - t); follow it to the circle or to the side t = r of the box.
    w, shift = 1 - 2 * theta, 2 * (1 - theta)
    a, half_b = 1 + w**2, w**2 * shift
    discriminant = np.maximum(half_b**2 - a * ((w * shift) ** 2 - radius**2), 0.0)
    t = np.minimum((half_b + np.sqrt(discriminant)) / a, r)
    crossing = np.minimum(1 - theta * (3 - 2 * theta - t), 1.0)
    return np.where(radius / np.sqrt(2) <= w, radius / np.sqrt(2), crossing)


# Failure probabilities as natural logarithms.


def launch_rows(factor: int, gap: Any, theta: Any, r: Any) -> Any:
    """Return factor ((1 - theta) r)^2 / ((1 - 2 theta) Delta)^2, the threshold of the identification condition."""
    return factor * (rademacher_constant(theta) * r / gap) ** 2


def optimism_constant(theta: Any, optimism: str = "dual", xp: Backend = FLOATS) -> Any:
    """Return the constant of R_i - E V_i <= constant r / sqrt n: c_d (Theorem 1) or 2 c* (symmetrisation)."""
    return dual_constant(theta, xp) if optimism == "dual" else 2 * tight_rademacher_constant(theta, xp)


def identification_margin(n: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Backend = FLOATS) -> Any:
    """Return Delta/2 - factor c r / sqrt n; the factor is 2, and 4 in one display of A.2."""
    return gap / 2 - factor * rademacher_constant(theta) * r / xp.sqrt(n)


def log_tail_paper(n: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Backend = FLOATS) -> Any:
    """Return log q = -(2/9) n (Delta/2 - 2 c r / sqrt n)^2, the printed exponent."""
    numerator, denominator = PAPER_RATE
    return xp.q(-numerator, denominator) * n * identification_margin(n, gap, theta, r, factor, xp) ** 2


def log_tail_corrected(n: Any, gap: Any, theta: Any, r: Any, width: Any, xp: Backend = FLOATS) -> Any:
    """Return -2 n (Delta/2 - 2 c r / sqrt n)_+^2 / M^2 with M = ``width``."""
    return -2 * n * (xp.max(identification_margin(n, gap, theta, r, xp=xp), 0) / width) ** 2


def log_tail_simplified(n: Any, gap: Any, divisor: Any = PAPER_SIMPLIFIED) -> Any:
    """Return -Delta^2 n / divisor, the printed exponent where n is above the threshold with the factor 64."""
    return -(gap**2) * n / divisor


def log_failure_pair(n: Any, gap: Any, theta: Any, r: Any, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of Lemma 4 (A.1): 4 q."""
    return xp.log(xp.q(PAPER_PREFACTOR)) + log_tail_paper(n, gap, theta, r, xp=xp)


def log_failure_uniform(n: Any, K: Any, gap: Any, theta: Any, r: Any, factor: Any = 2, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of Eq. 9 (Lemma 1 (i)): 4 (K - 1) q."""
    return xp.log(PAPER_PREFACTOR * (K - 1)) + log_tail_paper(n, gap, theta, r, factor, xp)


def log_failure_median(n: Any, gap: Any, theta: Any, r: Any, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of Eq. 11 (Lemma 2 (i)): 8 q / (1 - q)."""
    log_q = log_tail_paper(n, gap, theta, r, xp=xp)
    return xp.log(xp.q(PAPER_GEOMETRIC)) + log_q - log_one_minus_exp(log_q, xp)


def log_failure_uniform_simplified(n: Any, K: Any, gap: Any, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of the last line of A.2 before the O(): 4 (K - 1) exp(-Delta^2 n / 72)."""
    return xp.log(PAPER_PREFACTOR * (K - 1)) + log_tail_simplified(n, gap)


def log_failure_median_simplified(n: Any, gap: Any, theta: Any, r: Any, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of A.3: 8 exp(-Delta^2 n / 72) / (1 - exp(-Delta^2 C / 72)), C = 64 c^2 r^2 / Delta^2."""
    denominator = log_one_minus_exp(log_tail_simplified(launch_rows(LAUNCH_THEOREMS, gap, theta, r), gap), xp)
    return xp.log(xp.q(PAPER_GEOMETRIC)) + log_tail_simplified(n, gap) - denominator


def log_failure_uniform_corrected(
    n: Any, rivals: Any, gap: Any, theta: Any, r: Any, width: Any, xp: Backend = FLOATS
) -> Any:
    """Return the logarithm of Lemma 1 (i) corrected, with ``rivals`` = K - |S*|."""
    return xp.log(CORRECTED_PREFACTOR * rivals) + log_tail_corrected(n, gap, theta, r, width, xp)


def log_failure_uniform_corrected_simplified(n: Any, rivals: Any, gap: Any, width: Any, xp: Backend = FLOATS) -> Any:
    """Return the logarithm of 2 (K - |S*|) exp(-Delta^2 n / (8 M^2))."""
    return xp.log(CORRECTED_PREFACTOR * rivals) + log_tail_simplified(n, gap, CORRECTED_SIMPLIFIED * width**2)


def log_one_minus_exp(x: Any, xp: Backend = FLOATS) -> Any:
    """Return log(1 - exp(x)) for x < 0, for floats without cancellation near 0 or underflow."""
    return np.log(-np.expm1(x)) if xp is FLOATS else xp.log(1 - xp.exp(x))


# Regrets and excess risks.


def complexity(n: Any, constant: Any, r: Any, factor: Any, xp: Backend = FLOATS) -> Any:
    """Return factor * constant * r / sqrt n, a Rademacher term."""
    return factor * constant * r / xp.sqrt(n)


def hoeffding_deviation(n: Any, argument: Any, xp: Backend = FLOATS) -> Any:
    """Return sqrt(log(argument) / (2 n)), the deviation of a mean of n losses with range 1."""
    return xp.sqrt(xp.log(argument) / 2) / xp.sqrt(n)


def order_of_risk(n: Any, r: Any, argument: Any, constant: Any, xp: Backend = FLOATS) -> Any:
    """Return constant (r / sqrt n + sqrt(log(argument) / 2n)), the O() of Eq. 6 and of Theorems 1 and 2 opened."""
    return constant * (complexity(n, 1, r, 1, xp) + hoeffding_deviation(n, argument, xp))


def uniform_risk_deviation(n: Any, theta: Any, r: Any, delta: Any, xp: Backend = FLOATS) -> Any:
    """Return Lemma 3 (A.1): 2 c r / sqrt n + sqrt(log(1/delta) / 2n)."""
    return complexity(n, rademacher_constant(theta), r, 2, xp) + hoeffding_deviation(n, 1 / delta, xp)


def regret_paper(n: Any, theta: Any, r: Any, delta: Any, xp: Backend = FLOATS) -> Any:
    """Return Lemmas 1 (ii) and 2 (ii): 4 c r / sqrt n + 2 sqrt(log(2/delta) / 2n)."""
    return complexity(n, rademacher_constant(theta), r, 4, xp) + 2 * hoeffding_deviation(n, 2 / delta, xp)


def excess_risk_terms_paper(
    m: Any, n: Any, theta: Any, r: Any, delta: Any, xp: Backend = FLOATS
) -> tuple[Any, Any, Any, Any]:
    """Return the terms of Theorems 1 and 2: complexities on m rows and n pulls, then deviations on both."""
    c = rademacher_constant(theta)
    return (
        complexity(m, c, r, 4, xp),
        complexity(n, c, r, 4, xp),
        2 * hoeffding_deviation(m, 3 / delta, xp),
        2 * hoeffding_deviation(n, 6 / delta, xp),
    )


def regret_terms_corrected(
    n: Any, theta: Any, r: Any, delta: Any, models: Any, comparators: Any, width: Any, xp: Backend = FLOATS
) -> tuple[Any, Any]:
    """Return complexity and deviation of the corrected regret.

    2 c r / sqrt n, and M times the sum of sqrt(log(2 models / delta) / 2n) and sqrt(log(2 comparators / delta) / 2n).
    """
    model = hoeffding_deviation(n, 2 * models / delta, xp)
    comparator = hoeffding_deviation(n, 2 * comparators / delta, xp)
    return complexity(n, rademacher_constant(theta), r, 2, xp), width * (model + comparator)


# The tighter theorems.


def selection_regret(n: Any, theta: Any, r: Any, argument: Any, moved: Any, xp: Backend = FLOATS) -> Any:
    """Return Theorem 6 (iv): c_d r / sqrt n + D sqrt(2 ln(argument) / n), D = ``moved``."""
    return complexity(n, dual_constant(theta, xp), r, 1, xp) + 2 * moved * hoeffding_deviation(n, argument, xp)


def permutation_gain(n: Any, m: Any, xp: Backend = FLOATS) -> Any:
    """Return w = (m - 1/2) / (m - n) * (1 - 1 / (2 max(n, m - n))), at least 1 (Theorem 5)."""
    rest = m - n
    return xp.max((m - xp.q(1, 2)) / rest * (1 - 1 / (2 * xp.max(n, rest))), 1)


def log_tail_bernstein(n: Any, shift: Any, width: Any, variance: Any) -> Any:
    """Return -n shift^2 / (2 (variance + M shift / 3)), Bernstein (Theorem 7)."""
    return np.where(shift > 0, -n * shift**2 / (2 * (variance + width * shift / 3)), 0.0)


def log_tail_bousquet(n: Any, shift: Any, theta: Any, r: Any, variance: Any) -> Any:
    """Return -x with shift = beta + sqrt(2 x (variance + 2 M beta) / n) + M x / (3 n), Bousquet (Theorem 7)."""
    width = loss_range(theta, r)
    beta = complexity(n, deviation_constant(theta, r), r, 1)
    excess = np.maximum(shift - beta, 0.0)
    drift = 2 * (variance + 2 * width * beta) / n
    # The positive root of (M / 3n) x + sqrt(drift x) = excess, in the form without cancellation.
    root = 2 * excess / (np.sqrt(drift) + np.sqrt(drift + 4 * width * excess / (3 * n)))
    return np.where(excess > 0, -np.square(root), 0.0)


def worst_variance(gap: Any, theta: Any, r: Any) -> Any:
    """Return the largest (sup l - R)(R - inf l) over R <= 1 - gap (Theorem 7)."""
    # With R = 1 - v, v >= gap: (sup l - R)(R - inf l) = (rise + v)(fall - v), largest at the middle.
    rise, fall = loss_rise(theta, r, r), loss_fall(theta, r, r)
    v = np.minimum(np.maximum(gap, (fall - rise) / 2), fall)
    return (rise + v) * (fall - v)


def penalised_optimism(theta: Any, kappa: Any, C_h: Any, C_g: Any, xp: Backend = FLOATS) -> tuple[Any, Any]:
    """Return the largest gap of the penalised score, and n times its optimism beta (Theorem 8).

    kappa^2 / 16 (1 / C_h + 1 / C_g), and the larger of this and b^2 kappa^2 / (4 C_g).
    """
    square = kappa**2
    affine = square / 16 * (1 / C_h + 1 / C_g)
    return affine, xp.max(affine, rejection_slope(theta) ** 2 * square / (4 * C_g))


def penalised_range(theta: Any, kappa: Any, C_h: Any, C_g: Any, xp: Backend = FLOATS) -> Any:
    """Return the range of the loss over |h| <= kappa^2 / (4 C_h), |g| <= kappa^2 max(1/2, b) / (2 C_g) (Theorem 8)."""
    square, steep = kappa**2, xp.max(xp.q(1, 2), rejection_slope(theta))
    return loss_range(theta, square / (4 * C_h), square * steep / (2 * C_g), xp)


# Rows per arm.


def uniform_pulls(B: ArrayLike, K: ArrayLike) -> Ints:
    """Return floor(B / K), the rows per arm of uniform allocation (Section 3, Lemma 1)."""
    return np.asarray(_inputs.whole(B, "B", least=0) // _inputs.whole(K, "K", least=2))


def first_round_pulls(B: ArrayLike, K: ArrayLike) -> Ints:
    """Return floor(B / (K log2 K)) as in Lemma 2, with the real logarithm also where K is no power of two."""
    arms = _inputs.whole(K, "K", least=2)
    return _floor_over_log(_inputs.whole(B, "B", least=0), arms, arms)


def total_pulls_median(B: ArrayLike, K: ArrayLike) -> Ints:
    """Return floor(B / log2 K), the rows that Lemma 2 (ii) and Theorem 2 give to the selected arm."""
    arms = _inputs.whole(K, "K", least=2)
    return _floor_over_log(_inputs.whole(B, "B", least=0), arms, np.ones_like(arms))


Count = TypeVar("Count", int, Ints)


def ceil_log2(K: Count) -> Count:
    """Return T = ceil(log2 K), the number of rounds, exactly: an int for an int, else an array (K below 2^53)."""
    if isinstance(K, int):
        return (K - 1).bit_length()
    # frexp(K - 1) = (mantissa in [1/2, 1), e) with 2^(e-1) <= K - 1 < 2^e, hence e = ceil(log2 K).
    return np.frexp((K - 1).astype(np.float64))[1].astype(np.int64)


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

    def rows(self, rows: str) -> Ints:
        """Return the rows behind the scores of each round, "accumulated" or "fresh"."""
        return self.accumulated if rows == "accumulated" else self.pulls


def halving_schedule(B: ArrayLike, K: ArrayLike) -> HalvingSchedule:
    """Return the rounds of median elimination (Algorithm 1) for budget B and K arms, keeping ceil(half).

    The paper halves K = 2^c arms. For other K, rounding down would end with no arm at all, so this
    keeps ceil(a_t / 2), which leaves exactly one arm after T = ceil(log2 K) rounds for every K.
    """
    budget, arms = np.broadcast_arrays(_inputs.whole(B, "B", least=0), _inputs.whole(K, "K", least=2))
    rounds = ceil_log2(arms)
    actives = [arms]
    for _ in range(int(rounds.max(initial=1)) - 1):
        actives.append((actives[-1] + 1) // 2)
    active = np.stack(actives)
    pulls = np.where(active > 1, budget // (rounds * active), 0)
    return HalvingSchedule(active, (active + 1) // 2, pulls, np.cumsum(pulls, axis=0))


def _floor_over_log(budget: Ints, arms: Ints, multiple: Ints) -> Ints:
    """Return floor(budget / (multiple log2 arms)), exact also where floats cannot tell a quotient from an integer."""
    quotient = np.asarray(budget / (multiple * np.log2(arms)))
    floors: Ints = np.array(np.floor(quotient), dtype=np.int64)
    near = np.asarray(np.abs(quotient - np.round(quotient)) <= 16 * np.finfo(float).eps * (1 + quotient))
    if np.any(near):
        numbers = (array[near] for array in np.broadcast_arrays(budget, arms, multiple))
        floors[near] = np.vectorize(_exact_floor, otypes=[np.int64])(*numbers)
    return floors


def _exact_floor(budget: int, arms: int, multiple: int) -> int:
    # Numbers below 2^63 have 19 digits, so 60 leave a relative error of 1e-40 for the distance to an integer.
    with localcontext(prec=60):
        whole = int(arms).bit_length() - 1
        log2 = Decimal(int(arms)).ln() / Decimal(2).ln() if arms & (arms - 1) else Decimal(whole)
        return int(Decimal(int(budget)) / (int(multiple) * log2))
