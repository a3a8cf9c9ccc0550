"""Successive rejects and sequential halving: what two papers claim, with checks and spaces of counterexamples."""

from fractions import Fraction
from math import ceil, log

from simulations.papers import BoundClaim, axis, box
from simulations.testing import Assumes
from theory.claims import Assumption, Check
from theory.claims.claim import grid

from .bounds import compute_logbar, halving, rejects


def count_pulls(K, n, logbar):
    """Return the pulls of successive rejects: phase k pulls K + 1 - k arms, the last two arms to the end."""
    ends = [ceil((n - K) / (logbar * (K + 1 - k))) for k in range(1, K)]
    return sum(ends) + ends[-1]


def sum_gaps(gaps):
    """Return H_1, the sum of 1 / gap^2 over all arms; the best arm counts with the smallest gap."""
    return sum(1 / gap**2 for gap in (min(gaps), *gaps))


def find_worst_gap(gaps):
    """Return H_2, the maximum of i / gap_(i)^2."""
    return max(i / gap**2 for i, gap in enumerate(sorted(gaps), 2))


CHECKS = {
    "rejects-budget": Check(
        cases=tuple({"K": K, "n": n} for K in range(2, 12) for n in range(K, 60)),
        printed=(lambda K, n: count_pulls(K, n, compute_logbar(K)), lambda K, n: n),
        # Planted: the term 1/2 of logbar is forgotten.
        mutant=(lambda K, n: count_pulls(K, n, compute_logbar(K) - Fraction(1, 2)), lambda K, n: n),
        assumptions=(Assumption("n >= K", lambda K, n: n >= K),),
    ),
    "h1-h2": Check(
        cases=grid(a=(1, 2, 5), b=(1, 3, 8), c=(2, 10)),
        printed=(lambda a, b, c: float(sum_gaps([a, b, c])), lambda a, b, c: log(8) * find_worst_gap([a, b, c])),
        # Planted: the factor log(2 K) is forgotten.
        mutant=lambda a, b, c: find_worst_gap([a, b, c]),
    ),
}

#: Planted: twice the exponent, and sixteen times the budget.
BOUNDS = {
    "rejects-theorem-2": BoundClaim(
        rejects,
        Assumes("successive_rejects", distribution="bernoulli"),
        mutant=lambda budget, context: rejects(2 * budget - context.K, context),
    ),
    "halving-theorem-4-1": BoundClaim(
        halving,
        Assumes("median_elimination", {"accumulate": False}, distribution="bernoulli"),
        mutant=lambda budget, context: halving(16 * budget, context),
    ),
}

SPACES = {
    "rejects-budget": box(K=axis(2, 64), n=axis(2, 1000)),
    "h1-h2": box(a=axis(1, 100), b=axis(1, 100), c=axis(1, 100)),
}
