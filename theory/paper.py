"""The statements of Section 4 and Appendix A exactly as printed.

Nothing is repaired here: range constants, sample counts and typing errors are the paper's (the
repairs are in :mod:`theory.corrected`). Added are only checks: theta must be below 1/2 and a
gap must not exceed its ceiling, because otherwise no population fits the formulas.

Conventions. ``B`` budget in pulls, ``K`` arms, ``gap`` the optimality gap Delta of Eq. 7, ``theta``
the rejection cost, ``kappa_lambda`` the product r = kappa * Lambda; all of them broadcast. Failure
probabilities are computed as natural logarithms; ``log=True`` returns that logarithm. Outside the
assumptions a function raises :class:`~theory.errors.AssumptionError`, or gives nan with
``strict=False``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from theory import formulas
from theory._bound import BoundArguments, Strategy, at_least_one, bound
from theory.formulas import LAUNCH_LEMMAS, LAUNCH_THEOREMS, first_round_pulls, total_pulls_median, uniform_pulls

__all__ = [
    "Strategy",
    "delta_fail_median",
    "delta_fail_median_simplified",
    "delta_fail_uniform",
    "delta_fail_uniform_appendix",
    "delta_fail_uniform_simplified",
    "excess_risk_median",
    "excess_risk_supervised",
    "excess_risk_uniform",
    "exploratory_regret_median",
    "exploratory_regret_uniform",
    "first_round_pulls",
    "lemma_3",
    "lemma_4",
    "total_pulls_median",
    "uniform_pulls",
]

_FAILURE = "B, K, gap, theta, kappa_lambda, *, strict, log"
_REGRET = "B, K, gap, theta, kappa_lambda, delta, *, strict"
_RISK = "B, K, gap, theta, kappa_lambda, m, delta, *, approximation_error, strict"
_lemma, _theorem = (partial(bound, launch_factor=factor) for factor in (LAUNCH_LEMMAS, LAUNCH_THEOREMS))
"""Decorators of bounds under the identification condition of the lemmas, and under that of the theorems."""


@_lemma("Lemma 4 (A.1)", "n, gap, theta, kappa_lambda, *, min_gap, strict, log", example="0.332")
def lemma_4(p: BoundArguments) -> Any:
    """Bound P[V_i < V_1] by 4 exp(-(2/9) n (Delta_i/2 - 2 c r / sqrt n)^2).

    ``gap`` is Delta_i. The printed identification condition uses the smallest gap Delta of the pool;
    give it as ``min_gap`` when it differs.
    """
    return formulas.log_failure_pair(p.rows_per_arm, p.gap, p.theta, p.r)


@_lemma("Lemma 1 (i), Eq. 9", _FAILURE, pulls="uniform", example="2.32")
def delta_fail_uniform(p: BoundArguments) -> Any:
    """Bound the failure of uniform allocation by 4 (K - 1) exp(-(2/9) n (Delta/2 - 2 c r / sqrt n)^2).

    n = floor(B / K).
    """
    return formulas.log_failure_uniform(p.rows_per_arm, p.K, p.gap, p.theta, p.r)


@_lemma("Lemma 2 (i), Eq. 11", _FAILURE, pulls="first_round", example="13.3")
def delta_fail_median(p: BoundArguments) -> Any:
    """Bound the failure of median elimination by 8 q / (1 - q), n = floor(B / (K log2 K)).

    q = exp(-(2/9) n (Delta/2 - 2 c r / sqrt n)^2).
    """
    return formulas.log_failure_median(p.rows_per_arm, p.gap, p.theta, p.r)


@_theorem("last display of A.2", _FAILURE, pulls="uniform", example="9.35")
def delta_fail_uniform_appendix(p: BoundArguments) -> Any:
    """Evaluate the display at the end of A.2, which prints (4 - 4 theta) where Eq. 9 has (2 - 2 theta)."""
    return formulas.log_failure_uniform(p.rows_per_arm, p.K, p.gap, p.theta, p.r, factor=4)


@_theorem("last line of A.2", _FAILURE, pulls="uniform", example="9.22")
def delta_fail_uniform_simplified(p: BoundArguments) -> Any:
    """Bound the failure of uniform allocation by 4 (K - 1) exp(-Delta^2 floor(B / K) / 72), under the factor 64."""
    return formulas.log_failure_uniform_simplified(p.n, p.K, p.gap)


@_theorem("A.3", _FAILURE, pulls="first_round", example="22.5")
def delta_fail_median_simplified(p: BoundArguments) -> Any:
    """Bound the failure of median elimination by 8 exp(-Delta^2 n_1 / 72) / (1 - exp(-Delta^2 C / 72)).

    C = 64 c^2 r^2 / Delta^2.
    """
    return formulas.log_failure_median_simplified(p.n, p.gap, p.theta, p.r)


@_lemma("Lemma 1 (ii)", _REGRET, pulls="uniform", example="0.111")
def exploratory_regret_uniform(p: BoundArguments) -> Any:
    """Bound the regret by 4 c r / sqrt n + 2 sqrt(log(2/delta) / (2 n)) with n = floor(B / K) rows.

    It is claimed with probability at least 1 - delta - delta_fail.
    """
    return formulas.regret_paper(p.rows_per_arm, p.theta, p.r, p.delta)


@_lemma("Lemma 2 (ii)", _REGRET, pulls="first_round", example="0.068")
def exploratory_regret_median(p: BoundArguments) -> Any:
    """Bound the regret as Lemma 1 (ii) with floor(B / log2 K) rows, under the condition on floor(B / (K log2 K))."""
    return formulas.regret_paper(at_least_one(total_pulls_median(p.B, p.K)), p.theta, p.r, p.delta)


@_theorem("Theorem 1, Eq. 10 with its O() opened as in A.2", _RISK, pulls="uniform", example="0.415")
def excess_risk_uniform(p: BoundArguments) -> Any:
    """Bound the excess risk of uniform allocation with probability at least 1 - delta - delta_fail:

    R(f) - R* <= 4cr/sqrt m + 4cr/sqrt n + 2 sqrt(log(3/delta)/2m) + 2 sqrt(log(6/delta)/2n) + R_ap.
    """
    return _excess_risk(p, p.rows_per_arm)


@_theorem("Theorem 2, Eq. 12 with its O() opened as in A.2 and A.3", _RISK, pulls="first_round", example="0.368")
def excess_risk_median(p: BoundArguments) -> Any:
    """Bound the excess risk of median elimination: Theorem 1 with floor(B / log2 K) in place of floor(B / K)."""
    return _excess_risk(p, at_least_one(total_pulls_median(p.B, p.K)))


def _excess_risk(p: BoundArguments, n: Any) -> Any:
    return sum(formulas.excess_risk_terms_paper(p.m, n, p.theta, p.r, p.delta)) + p.approximation_error


@bound("Eq. 6", "B, theta, kappa_lambda, delta, *, approximation_error, strict", least=1, example="0.0393")
def excess_risk_supervised(p: BoundArguments) -> Any:
    """Bound the excess risk of the baseline that knows the best feature, with B rows.

    The paper gives O(r / sqrt B + sqrt(log(1/delta) / 2B)) + R_ap only; its constants are opened here
    by the paper's own steps (terms a and d of A.2 with delta/2 each):
    4 c r / sqrt B + 2 sqrt(log(2/delta) / 2B) + R_ap.
    """
    return formulas.regret_paper(p.B, p.theta, p.r, p.delta) + p.approximation_error


@bound("Lemma 3 (A.1)", "m, theta, kappa_lambda, delta, *, strict", example="0.136")
def lemma_3(p: BoundArguments) -> Any:
    """Bound R(f) - R_hat_surr(f) for all f by 2 c r / sqrt m + sqrt(log(1/delta) / 2m).

    Terms (a) and (d) of A.2 are printed with the same right-hand side.
    """
    return formulas.uniform_risk_deviation(p.m, p.theta, p.r, p.delta)
