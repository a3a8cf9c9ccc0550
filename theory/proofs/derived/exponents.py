"""The exponent of the failure probabilities, joined by the kernel: 1 - q, the order of delta_fail."""

from __future__ import annotations

from theory.proofs.derivation import Derivation
from theory.proofs.derived.tools import (
    F,
    constant_c,
    discharge,
    positive,
    root_positive,
    square_grows,
    theta_facts,
    zero,
)
from theory.proofs.kernel.axioms import increasing
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Formula, Term, const, exp, sqrt, variables
from theory.proofs.kernel.theorem import Theorem, assume, instance

__all__ = ["DERIVATIONS", "launched", "log_q_term"]

N, GAP, THETA, R, C = variables("n gap theta r c")
_SIGNS = (N, GAP, R, C)
LAUNCH_64 = "identification condition with the factor 64"


def margin_term(n: Term, gap: Term, c: Term, r: Term) -> Term:
    """Delta/2 - 2 c r / sqrt n."""
    return gap / 2 - 2 * c * r / sqrt(n)


def log_q_term(n: Term, gap: Term, c: Term, r: Term) -> Term:
    """-(2/9) n (Delta/2 - 2 c r / sqrt n)^2."""
    return const(F(-2, 9)) * n * margin_term(n, gap, c, r) * margin_term(n, gap, c, r)


def launched(factor: int, n: Term = N, gap: Term = GAP, c: Term = C, r: Term = R) -> Formula:
    """The identification condition n > factor c^2 r^2 / Delta^2."""
    return factor * ((c * r / gap) * (c * r / gap)) < n


def root_launch(root: int) -> Theorem:
    """root c r / Delta < sqrt n, from the condition with the factor root^2."""
    signs = positive(*_SIGNS)
    condition = assume(launched(root**2))
    inside = combine(zero <= condition.conclusion.left, signs=signs)
    roots = increasing("sqrt", condition, inside)
    return combine(root * C * R / GAP < sqrt(N), roots, signs=signs)


def small_q() -> Theorem:
    """log q <= -Delta^2 n/72 under the condition with the factor 64."""
    signs = positive(*_SIGNS)
    quarter = combine(margin_term(N, GAP, C, R) >= GAP / 4, (root_launch(8), GAP / (4 * sqrt(N))), signs=signs)
    squares = square_grows(quarter, combine(zero <= GAP / 4, signs=signs))
    return combine(log_q_term(N, GAP, C, R) <= -(GAP * GAP) * N / 72, (squares, const(F(2, 9)) * N), signs=signs)


def large_exponent() -> Theorem:
    """(8/9) c^2 r^2 <= Delta^2 n/72 under the condition with the factor 64."""
    signs = positive(*_SIGNS)
    condition = assume(launched(64))
    return combine(const(F(8, 9)) * C * R * C * R <= GAP * GAP * N / 72, (condition, GAP * GAP / 72), signs=signs)


def at_theta(theorem: Theorem) -> Theorem:
    """The theorem at c = (1 - theta)/(1 - 2 theta)."""
    return discharge(instance(theorem, c=constant_c(THETA)), theta_facts(THETA)[2])


def defined_facts() -> tuple[Theorem, ...]:
    """Why the formulas of this file are defined."""
    width, upper, c, _ = theta_facts(THETA)
    root = root_positive(N, assume(zero < N))
    return width, upper, c, root


_LEDGER_64 = ((launched(64, c=constant_c(THETA)), LAUNCH_64),)


def _denominator_1() -> tuple[Theorem, tuple[Theorem, ...]]:
    rises = increasing("exp", small_q())
    low, high = rises.conclusion.args
    return at_theta(combine(1 - high <= 1 - low, rises)), defined_facts()


def _denominator_2() -> tuple[Theorem, tuple[Theorem, ...]]:
    fact = large_exponent()
    big, small = fact.conclusion.right, fact.conclusion.left
    negated = combine(-big <= -small, fact, signs=positive(*_SIGNS))
    rises = increasing("exp", negated)
    return at_theta(combine(1 - exp(-small) <= 1 - exp(-big), rises)), defined_facts()


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "a3-denominator-1",
        "sqrt n > 8 c r/Delta, so the margin is at least Delta/4 and log q <= -Delta^2 n/72; exp is increasing.",
        _denominator_1,
        premises=_LEDGER_64,
    ),
    Derivation(
        "a3-denominator-2",
        "n > 64 c^2 r^2/Delta^2 times Delta^2/72; exp is increasing.",
        _denominator_2,
        premises=_LEDGER_64,
    ),
)
