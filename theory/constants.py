"""Checked constants of the analysis: Rademacher constants, the range of the loss, the ceiling of gaps, schedules.

Notation: ``r = kappa * Lambda``, ``b = theta / (1 - 2 theta)``, and the surrogate loss of Eq. 2 as a
function of ``t = y h(x)`` and ``s = g(x)``,

    l(t, s) = max{1 + (s - t) / 2, theta - b s, 0},    |t| <= r, |s| <= r.

All of it needs ``theta < 1/2`` (Eq. 2 is no upper bound of Eq. 1 otherwise): theta outside (0, 1/2) raises
:class:`~theory.errors.AssumptionError`. The formulas themselves are in :mod:`theory.formulas`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory import formulas
from theory._bound import BoundArguments, bound
from theory.formulas import HalvingSchedule, halving_schedule

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


@bound("Eq. 2", "theta")
def rejection_slope(p: BoundArguments) -> Any:
    """Return b = theta / (1 - 2 theta), the slope of the second piece of Eq. 2 in g."""
    return formulas.rejection_slope(p.theta)


@bound("A.2", "theta")
def rademacher_constant(p: BoundArguments) -> Any:
    """Return c = (1 - theta) / (1 - 2 theta): the paper's R_n(l o F) <= c r / sqrt(n)."""
    return formulas.rademacher_constant(p.theta)


@bound("Lemma E of docs/theorems.md", "theta")
def tight_rademacher_constant(p: BoundArguments) -> Any:
    """Return c* = 1/2 + max(1/2, b) = max(1, 1 / (2 (1 - 2 theta))): R_n(l o F) <= c* r / sqrt(n).

    Never above the paper's c.
    """
    return formulas.tight_rademacher_constant(p.theta)


@bound("Theorem 1 of docs/theorems.md", "theta")
def dual_constant(p: BoundArguments) -> Any:
    """Return c_d, the optimism of the minimised risk: R_i - E V_i <= c_d r / sqrt(n), with no factor 2.

    c_d = 1 for b^2 <= 1/2 (theta <= 0.2929) and 2 b^2 / sqrt(4 b^2 - 1) above; c_d <= c* <= c.
    """
    return formulas.dual_constant(p.theta)


@bound("Eq. 2", "theta, kappa_lambda")
def loss_sup(p: BoundArguments) -> Any:
    """Return sup l = max{1 + r, theta + b r} over |t|, |s| <= r."""
    return 1 + formulas.loss_rise(p.theta, p.r, p.r)


@bound("Eq. 2", "theta, kappa_lambda")
def loss_inf(p: BoundArguments) -> Any:
    """Return inf l = 1 - r for r <= 1 - 2 theta, and theta (3 - 2 theta - r)_+ beyond."""
    return 1 - formulas.loss_fall(p.theta, p.r, p.r)


@bound("Eq. 2", "theta, kappa_lambda, r_g")
def loss_range(p: BoundArguments) -> Any:
    """Return M = sup l - inf l over |h| <= r, |g| <= r (or |g| <= r_g when given): the paper's proofs take 1.

    It is the constant that Hoeffding's and McDiarmid's inequalities need in A.2, A.4 and A.6.
    """
    return formulas.loss_range(p.theta, p.r, p.r if p.r_g is None else p.r_g)


@bound("Theorem 2 of docs/theorems.md", "theta, kappa_lambda, *, kernel")
def replacement_range(p: BoundArguments) -> Any:
    """Return sup over f, z, z' of l(f, z) - l(f, z'): how far n V can move when one row is replaced.

    For ``kernel="any"`` this is M. For ``kernel="nonnegative"`` (Gaussian, say), two feature vectors
    are at most sqrt(2) kappa apart, and the range is also at most sqrt(2) max(1, b) r.
    """
    return p.moved


@bound("Eq. 7", "theta, kappa_lambda, positive_fraction")
def gap_ceiling(p: BoundArguments) -> Any:
    """Return Delta_max, the largest possible gap of Eq. 7.

    f = 0 has loss 1 everywhere, so every minimised risk lies in [inf l, 1] and Delta_max = 1 - inf l.
    When the fraction pi of positive labels is known, Jensen's inequality confines (E yh, E g) to the
    disc of radius r sqrt(2 (pi^2 + (1 - pi)^2)), and the minimum of l over that disc replaces inf l;
    for balanced labels and r <= 1 - 2 theta this gives r / sqrt(2).
    """
    pi = p.positive_fraction
    if pi is None:
        return formulas.loss_fall(p.theta, p.r, p.r)
    return formulas.loss_fall_on_disc(p.theta, p.r, p.r * np.sqrt(2 * (pi**2 + (1 - pi) ** 2)))
