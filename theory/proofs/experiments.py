"""The paper's experiments: in none is the printed failure probability below 1, whatever kappa Lambda and the gap.

A gap is at most the ceiling for balanced labels, which is at most r / sqrt 2, and beyond r = sqrt 2 (1 - 2 theta) at
most the value where the circle of radius r meets the line on which the two pieces of the loss agree (Lemma C). The
bound falls with the gap, so the ceiling is its best case. For r >= sqrt n / (4 c) no gap (at most 1) meets the
identification condition, and the printed bound says nothing. What is left is a finite interval of r: branch and bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from theory.claims.median import EXPERIMENTS
from theory.paper import first_round_pulls, uniform_pulls
from theory.proofs.balls import ball
from theory.proofs.formulas import c, launch, log_q, theta_of
from theory.proofs.statement import Cell, Orthant, Part, Proof

__all__ = ["PROOFS", "crossing", "exponent"]

F = Fraction


def crossing(m: Any, theta: Any, r: Any) -> Any:
    """The ceiling of gaps for balanced labels and r >= sqrt 2 (1 - 2 theta): min(1, 1 - theta (3 - 2 theta - t))."""
    w, shift = 1 - 2 * theta, 2 * (1 - theta)
    a, half = 1 + w**2, w**2 * shift
    t = (half + m.sqrt(half**2 - a * ((w * shift) ** 2 - r**2))) / a
    return m.min(m.q(1), 1 - theta * (3 - 2 * theta - m.min(t, r)))


def exponent(m: Any, n: int, gap: Any, theta: Any, r: Any) -> Any:
    """(2/9) n (Delta/2 - 2 c r / sqrt n)_+^2."""
    return m.q(2, 9) * n * m.max(gap / 2 - 2 * c(theta) * r / m.sqrt(m.q(n)), m.q(0)) ** 2


def _cells(theta: Fraction, n: int) -> Iterator[tuple[Cell, Any]]:
    """Up to sqrt 2 (1 - 2 theta) with the ceiling r / sqrt 2, and from there on with the crossing."""
    w = 1 - 2 * theta
    end = F(int((ball(n).sqrt() / (4 * c(ball(theta))) * 1000).ceil().unique_fmpz()), 1000)
    # Rational ends on either side of sqrt 2: 577/408 is above, 1393/985 below.
    below, above = F(1393, 985) * w, F(577, 408) * w
    yield Cell((("r", F(0), min(above, end)),), f"r <= sqrt 2 (1 - 2 theta), n = {n}"), "line"
    if below < end:
        yield Cell((("r", below, end),), f"sqrt 2 (1 - 2 theta) <= r <= sqrt n / (4 c), n = {n}"), "crossing"


def _part(strategy: str, K: int, theta: Fraction, n: int, cell: Cell, ceiling: str) -> Part:
    def gap(m: Any, r: Any) -> Any:
        return r / m.sqrt(m.q(2)) if ceiling == "line" else crossing(m, m.q(theta.numerator, theta.denominator), r)

    def left(m: Any, r: Any) -> Any:
        return exponent(m, n, gap(m, r), m.q(theta.numerator, theta.denominator), r)

    def right(m: Any, r: Any) -> Any:
        return m.log(m.q(4 * (K - 1) if strategy == "uniform" else 9))

    level = f"log {4 * (K - 1)}" if strategy == "uniform" else "log 9"
    return Part(f"{strategy}, K = {K}, theta = {theta}: the exponent is at most {level}", cell, left, "<=", right)


def _parts() -> Iterator[Part]:
    for case in EXPERIMENTS:
        strategy, B, K = str(case["strategy"]), int(str(case["B"])), int(str(case["K"]))
        theta = F(str(case["theta"]))
        n = int((uniform_pulls if strategy == "uniform" else first_round_pulls)(B, K))
        for cell, ceiling in _cells(theta, n):
            yield _part(strategy, K, theta, n, cell, ceiling)


_SMALLER_GAP = Part(
    "a smaller gap makes the exponent smaller",
    Orthant(
        ("b", "r", "gap", "e", "d"),
        lambda m, d, **others: {**launch(4).point(m, **others), "larger": others["gap"] + d},
        "under the identification condition",
        frozenset("d"),
    ),
    lambda m, n, gap, theta, r, **_: -log_q(m, n, gap, theta, r),
    "<=",
    lambda m, n, larger, theta, r, **_: -log_q(m, n, larger, theta, r),
)
_NO_LAUNCH = Part(
    "r >= sqrt n / (4 c) and Delta <= 1 break the identification condition",
    Orthant(
        ("b", "s", "d", "x", "y"),
        lambda m, b, s, d, x, y: {"theta": theta_of(b), "root": s, "r": s / (4 * (1 + b)) + d, "gap": x / (x + y)},
        "r >= sqrt n / (4 c), 0 < Delta <= 1",
        frozenset("dy"),
    ),
    lambda m, root, **_: root,
    "<=",
    lambda m, theta, r, gap, **_: 4 * c(theta) * r / gap,
)

PROOFS: tuple[Proof, ...] = (
    Proof(
        "remark-7-low-order",
        "For each of the 40 experiments, all kappa Lambda > 0 and all gaps up to the ceiling: a bound of at least 1.",
        (_SMALLER_GAP, _NO_LAUNCH, *_parts()),
        says="vacuous",
    ),
)
