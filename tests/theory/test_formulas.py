"""Formulas agree between floats and balls."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from theory import formulas
from theory.evidence._balls import Balls, ball

THETA, R, GAP = Fraction(1, 8), Fraction(3, 4), Fraction(2, 5)

FORMULAS = {
    "slope": lambda theta, r, gap, xp: formulas.rejection_slope(theta),
    "c": lambda theta, r, gap, xp: formulas.rademacher_constant(theta),
    "c*": lambda theta, r, gap, xp: formulas.tight_rademacher_constant(theta, xp),
    "loss": lambda theta, r, gap, xp: formulas.surrogate_loss(-r, gap, theta, xp),
    "rise": lambda theta, r, gap, xp: formulas.loss_rise(theta, r, gap, xp),
    "fall": lambda theta, r, gap, xp: formulas.loss_fall(theta, r, gap, xp),
    "range": lambda theta, r, gap, xp: formulas.loss_range(theta, r, r, xp),
    "launch": lambda theta, r, gap, xp: formulas.launch_rows(16, gap, theta, r),
    "margin": lambda theta, r, gap, xp: formulas.identification_margin(100, gap, theta, r, xp=xp),
    "exponent": lambda theta, r, gap, xp: formulas.log_tail_paper(2500, gap, theta, r, xp=xp),
    "corrected": lambda theta, r, gap, xp: formulas.log_tail_corrected(2500, gap, theta, r, 2 * r, xp),
    "gain": lambda theta, r, gap, xp: formulas.permutation_gain(xp.q(5), xp.q(20), xp),
    "c_d": lambda theta, r, gap, xp: formulas.dual_constant(theta + xp.q(1, 4), xp),
    "replacement": lambda theta, r, gap, xp: formulas.replacement_range(theta, r, "nonnegative", xp),
    "Eq. 9": lambda theta, r, gap, xp: formulas.log_failure_uniform(999, 8, gap, theta, r, xp=xp),
    "Eq. 11": lambda theta, r, gap, xp: formulas.log_failure_median(999, gap, theta, r, xp=xp),
    "A.3": lambda theta, r, gap, xp: formulas.log_failure_median_simplified(999, gap, theta, r, xp),
    "Lemma 1 (ii)": lambda theta, r, gap, xp: formulas.regret_paper(999, theta, r, gap, xp),
    "Lemma 3": lambda theta, r, gap, xp: formulas.uniform_risk_deviation(999, theta, r, gap, xp),
    "Theorem 6 (iv)": lambda theta, r, gap, xp: formulas.selection_regret(999, theta, r, 8 / gap, r, xp),
    "Theorem 8": lambda theta, r, gap, xp: formulas.penalised_range(theta, r, gap, gap, xp),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_floats_lie_next_to_the_balls(name: str) -> None:
    formula = FORMULAS[name]
    enclosure = formula(ball(THETA), ball(R), ball(GAP), Balls())
    in_floats = formula(np.array([float(THETA)]), np.array([float(R)]), np.array([float(GAP)]), formulas.FLOATS)
    assert float(np.ravel(in_floats)[0]) == pytest.approx(float(ball(enclosure).mid()), rel=1e-13)
