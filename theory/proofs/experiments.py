"""The paper's experiments: in none is the printed failure probability below 1, whatever kappa Lambda and the gap.

With balanced labels every risk is at least the mean 1 - (|h| + |g|)/2 of its first pieces, and |h| + |g| is at most
sqrt 2 times the radius r; no risk is negative. So a gap is at most min(1, r / sqrt 2). The bound falls with the gap, so
this is its best case. For r >= sqrt n / (4 c) no gap (at most 1) meets the identification condition, and the printed
bound says nothing. What is left is a finite interval of r: branch and bound.
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

__all__ = ["PROOFS", "exponent"]

F = Fraction


def exponent(m: Any, n: int, gap: Any, theta: Any, r: Any) -> Any:
    """(2/9) n (Delta/2 - 2 c r / sqrt n)_+^2."""
    return m.q(2, 9) * n * m.max(gap / 2 - 2 * c(theta) * r / m.sqrt(m.q(n)), m.q(0)) ** 2


def _part(strategy: str, K: int, theta: Fraction, n: int) -> Part:
    end = F(int((ball(n).sqrt() / (4 * c(ball(theta))) * 1000).ceil().unique_fmpz()), 1000)
    cell = Cell((("r", F(0), end),), f"r <= sqrt n / (4 c), n = {n}")

    def left(m: Any, r: Any) -> Any:
        return exponent(m, n, m.min(m.q(1), r / m.sqrt(m.q(2))), m.q(theta.numerator, theta.denominator), r)

    def right(m: Any, r: Any) -> Any:
        return m.log(m.q(4 * (K - 1) if strategy == "uniform" else 9))

    level = f"log {4 * (K - 1)}" if strategy == "uniform" else "log 9"
    return Part(f"{strategy}, K = {K}, theta = {theta}: the exponent is at most {level}", cell, left, "<=", right)


def _parts() -> Iterator[Part]:
    for case in EXPERIMENTS:
        strategy, B, K = str(case["strategy"]), int(str(case["B"])), int(str(case["K"]))
        theta = F(str(case["theta"]))
        n = int((uniform_pulls if strategy == "uniform" else first_round_pulls)(B, K))
        yield _part(strategy, K, theta, n)


_CEILING = Part(
    "2 (h^2 + g^2) - (h + g)^2 = (h - g)^2, so |h| + |g| <= sqrt 2 r on the ball of radius r",
    Orthant(("h", "g"), lambda m, **p: p, "h, g >= 0", frozenset("hg")),
    lambda m, h, g: 2 * (h**2 + g**2) - (h + g) ** 2,
    "==",
    lambda m, h, g: (h - g) ** 2,
)
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
        "For each of the 40 experiments, all kappa Lambda > 0 and all gaps up to min(1, kappa Lambda / sqrt 2): a "
        "bound of at least 1.",
        (_CEILING, _SMALLER_GAP, _NO_LAUNCH, *_parts()),
        says="vacuous",
    ),
)
