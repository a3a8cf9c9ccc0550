"""The statements of Section 4 and Appendix A exactly as printed.

Nothing is repaired here: range constants, sample counts and typing errors are the paper's (the
repairs are in :mod:`theory.corrected`). What is added is the door: theta must be below 1/2 and a
gap must not exceed its ceiling, because otherwise the formulas speak about nothing.

Conventions. ``B`` budget in pulls, ``K`` arms, ``gap`` the optimality gap Delta of Eq. 7, ``theta``
the rejection threshold, ``kappa_lambda`` the product kappa*Lambda; all of them broadcast. Failure
probabilities are computed as natural logarithms; ``log=True`` returns that logarithm. Outside the
assumptions a function raises :class:`~theory.errors.AssumptionError`, or gives nan with
``strict=False``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants, _terms
from theory._inputs import Bound, Flags, Floats, Ints
from theory._instance import Instance, instance, launch_rows, loss_parameters, require_launch
from theory._pulls import first_round_pulls, total_pulls_median, uniform_pulls
from theory._terms import ExcessRisk

__all__ = [
    "ExcessRisk",
    "Strategy",
    "delta_fail_median",
    "delta_fail_median_simplified",
    "delta_fail_uniform",
    "delta_fail_uniform_appendix",
    "delta_fail_uniform_simplified",
    "excess_risk_median",
    "excess_risk_median_terms",
    "excess_risk_supervised",
    "excess_risk_uniform",
    "excess_risk_uniform_terms",
    "exploratory_regret_median",
    "exploratory_regret_uniform",
    "first_round_pulls",
    "identification_condition",
    "lemma_3",
    "lemma_4",
    "term_a",
    "term_d",
    "total_pulls_median",
    "uniform_pulls",
]

Strategy = Literal["uniform", "median"]


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
    """n > factor ((1 - theta) r)^2 / ((1 - 2 theta) Delta)^2, factor 16 in the lemmas, 64 in the theorems.

    n is floor(B / K) for ``strategy="uniform"`` and floor(B / (K log2 K)) for ``"median"``.
    """
    if factor not in (16, 64):
        raise ValueError(f"factor must be 16 (lemmas) or 64 (theorems), got {factor}")
    n = _pulls(B, K, strategy)
    point = instance(gap, theta, kappa_lambda, strict=True)
    holds = n > launch_rows(point, factor)
    return bool(holds) if np.ndim(holds) == 0 else holds


def _pulls(B: ArrayLike, K: ArrayLike, strategy: Strategy) -> Ints:
    if strategy == "uniform":
        return uniform_pulls(B, K)
    if strategy == "median":
        return first_round_pulls(B, K)
    raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')


def lemma_4(
    n: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    min_gap: ArrayLike | None = None,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 4 (A.1): P[V_i < V_1] <= 4 exp(-(2/9) n (Delta_i/2 - 2 c r / sqrt n)^2).

    ``gap`` is Delta_i. The printed identification condition uses the smallest gap Delta of the pool;
    give it as ``min_gap`` when it differs.
    """
    rows = _inputs.whole(n, "n", least=0)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=rows)
    smallest = point.gap if min_gap is None else _inputs.positive(min_gap, "min_gap")
    point.check.require("min_gap <= gap", point.gap - smallest, strictly=False)
    require_launch(Instance(smallest, point.theta, point.r, point.check), rows, 16)
    return _inputs.from_log(point.check.mask(np.log(4) + _log_q(rows, point)), log=log)


def delta_fail_uniform(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 1 (i), Eq. 9: 4 (K - 1) exp(-(2/9) n (Delta/2 - 2 c r / sqrt n)^2), n = floor(B / K)."""
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    return _inputs.from_log(point.check.mask(np.log(4.0 * (arms - 1)) + _log_q(n, point)), log=log)


def delta_fail_median(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Lemma 2 (i), Eq. 11: 8 q / (1 - q) with n = floor(B / (K log2 K)) rows in the first round and

    q = exp(-(2/9) n (Delta/2 - 2 c r / sqrt n)^2).
    """
    n = first_round_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    return _inputs.from_log(point.check.mask(_log_geometric(_log_q(n, point))), log=log)


def delta_fail_uniform_appendix(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """The display at the end of A.2, which prints (4 - 4 theta) where Eq. 9 has (2 - 2 theta)."""
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 64)
    log_q = _log_q(n, point, radius_factor=4.0)
    return _inputs.from_log(point.check.mask(np.log(4.0 * (arms - 1)) + log_q), log=log)


def delta_fail_uniform_simplified(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Last line of A.2 before the O(): 4 (K - 1) exp(-Delta^2 floor(B / K) / 72), under the factor 64."""
    arms = _inputs.whole(K, "K", least=2)
    n = uniform_pulls(B, arms)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 64)
    return _inputs.from_log(point.check.mask(np.log(4.0 * (arms - 1)) - point.gap**2 * n / 72), log=log)


def delta_fail_median_simplified(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """A.3: 8 exp(-Delta^2 n_1 / 72) / (1 - exp(-Delta^2 C / 72)) with C = 64 c^2 r^2 / Delta^2."""
    n = first_round_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 64)
    with np.errstate(divide="ignore", under="ignore"):
        denominator = np.log(-np.expm1(-(point.gap**2) * launch_rows(point, 64) / 72))
    return _inputs.from_log(point.check.mask(np.log(8) - point.gap**2 * n / 72 - denominator), log=log)


def _log_q(n: Ints, point: Instance, radius_factor: float = 2.0) -> Floats:
    """-(2/9) n (Delta/2 - radius_factor c r / sqrt n)^2."""
    rows = np.maximum(n, 1).astype(np.float64)
    margin = point.gap / 2 - radius_factor * _loss_constants.rademacher(point.theta) * point.r / np.sqrt(rows)
    return np.asarray(-(2 / 9) * rows * margin**2)


def _log_geometric(log_q: Floats) -> Floats:
    """log(8 q / (1 - q)) without cancellation for q near 1 or underflow for q near 0."""
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(8) + log_q - np.log(-np.expm1(log_q)))


def exploratory_regret_uniform(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    strict: bool = True,
) -> Bound:
    """Lemma 1 (ii): 4 c r / sqrt n + 2 sqrt(log(2/delta) / (2 n)) with n = floor(B / K) rows.

    It is claimed with probability at least 1 - delta - delta_fail.
    """
    n = uniform_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    return _regret(n, point, delta, 2)


def exploratory_regret_median(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    strict: bool = True,
) -> Bound:
    """Lemma 2 (ii): the same with floor(B / log2 K) rows, under the condition on floor(B / (K log2 K))."""
    n = first_round_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 16)
    return _regret(total_pulls_median(B, K), point, delta, 2)


def _regret(rows: Ints, point: Instance, delta: ArrayLike, share: int) -> Bound:
    complexity = 4 * _loss_constants.rademacher(point.theta) * point.r / _terms.root(rows)
    deviation = 2 * _terms.hoeffding(rows, share / _inputs.fraction(delta, "delta"))
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
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> ExcessRisk:
    """Theorem 1 with its O() opened as in A.2, term by term, n = floor(B / K)."""
    n = uniform_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 64)
    return _excess(n, point, m, delta, approximation_error)


@_terms.total_of(excess_risk_uniform_terms)
def excess_risk_uniform() -> None:
    """Theorem 1, Eq. 10 opened (A.2): with probability at least 1 - delta - delta_fail,

    R(f) - R* <= 4cr/sqrt m + 4cr/sqrt n + 2 sqrt(log(3/delta)/2m) + 2 sqrt(log(6/delta)/2n) + R_ap.
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
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> ExcessRisk:
    """Theorem 2 with its O() opened as in A.2 and A.3, term by term, with floor(B / log2 K) rows."""
    n = first_round_pulls(B, K)
    point = instance(gap, theta, kappa_lambda, strict=strict, n=n)
    require_launch(point, n, 64)
    return _excess(total_pulls_median(B, K), point, m, delta, approximation_error)


@_terms.total_of(excess_risk_median_terms)
def excess_risk_median() -> None:
    """Theorem 2, Eq. 12 opened: Theorem 1 with floor(B / log2 K) in place of floor(B / K)."""


def _excess(rows: Ints, point: Instance, m: ArrayLike, delta: ArrayLike, approximation_error: ArrayLike) -> ExcessRisk:
    population = _inputs.whole(m, "m", least=1)
    delta_ = _inputs.fraction(delta, "delta")
    radius = 4 * _loss_constants.rademacher(point.theta) * point.r

    def term(values: Floats) -> Bound:
        return _inputs.result(point.check.mask(np.asarray(values)))

    return ExcessRisk(
        complexity_rows=term(radius / _terms.root(population)),
        complexity_pulls=term(radius / _terms.root(rows)),
        deviation_rows=term(2 * _terms.hoeffding(population, 3 / delta_)),
        deviation_pulls=term(2 * _terms.hoeffding(rows, 6 / delta_)),
        approximation=_inputs.result(_inputs.real(approximation_error, "approximation_error")),
    )


def excess_risk_supervised(
    B: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    delta: ArrayLike,
    *,
    approximation_error: ArrayLike = 0.0,
    strict: bool = True,
) -> Bound:
    """Eq. 6, the baseline that knows the best feature, with B rows.

    The paper gives O(r / sqrt B + sqrt(log(1/delta) / 2B)) + R_ap only; its constants are opened here
    by the paper's own steps (terms a and d of A.2 with delta/2 each):
    4 c r / sqrt B + 2 sqrt(log(2/delta) / 2B) + R_ap.
    """
    rows = _inputs.whole(B, "B", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, B=rows)
    deviation = 2 * _terms.hoeffding(rows, 2 / _inputs.fraction(delta, "delta"))
    total = 4 * _loss_constants.rademacher(theta_) * r / _terms.root(rows) + deviation
    return _inputs.result(check.mask(total + _inputs.real(approximation_error, "approximation_error")))


def lemma_3(m: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool = True) -> Bound:
    """Lemma 3 (A.1): R(f) - R_hat_surr(f) <= 2 c r / sqrt m + sqrt(log(1/delta) / 2m) for all f."""
    rows = _inputs.whole(m, "m", least=1)
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, m=rows)
    deviation = _terms.hoeffding(rows, 1 / _inputs.fraction(delta, "delta"))
    return _inputs.result(check.mask(2 * _loss_constants.rademacher(theta_) * r / _terms.root(rows) + deviation))


def term_a(m: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool = True) -> Bound:
    """Term (a) of A.2, Lemma 3 at the selected model: 2 c r / sqrt m + sqrt(log(1/delta_1) / 2m)."""
    return lemma_3(m, theta, kappa_lambda, delta, strict=strict)


def term_d(m: ArrayLike, theta: ArrayLike, kappa_lambda: ArrayLike, delta: ArrayLike, *, strict: bool = True) -> Bound:
    """Term (d) of A.2, printed with the same right-hand side: 2 c r / sqrt m + sqrt(log(1/delta_2) / 2m)."""
    return lemma_3(m, theta, kappa_lambda, delta, strict=strict)
