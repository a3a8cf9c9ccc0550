r"""Evidence by betting that a probability is below a bound, valid whenever the counting stops.

For a rate q below the bound, a trial multiplies the evidence by q / bound after a failure and by (1 - q) / (1 - bound)
after a success. If every trial fails with conditional probability p >= bound, the mean factor is at most

.. math:: p \frac{q}{\text{bound}} + (1 - p) \frac{1 - q}{1 - \text{bound}} \le 1,

because the left side falls with p and is 1 at p = bound. So the product, and every mixture over q < bound, is a
nonnegative supermartingale that starts at 1. By Ville's inequality it ever reaches 1 / alpha with probability at most
alpha (Theorem C6 of docs/theorems.md).
"""

from __future__ import annotations

import math

from scipy import special

from theory.verdicts.verdict import check_counts, real

__all__ = ["ROUNDING", "log_evidence_below", "upper_limit"]

#: More than the rounding of a logarithm of the evidence; what is certified must exceed its threshold by this much.
ROUNDING = 1e-6


def log_evidence_below(failures: int, trials: int, bound: float) -> float:
    """Return the log of the evidence that the failure probability is below a bound.

    The mixture over q is Jeffreys' distribution Beta(1/2, 1/2), restricted to q < bound.

    Parameters
    ----------
    failures, trials : int
        Trials so far, and how many of them failed.
    bound : float
        The bound, in (0, 1).
    """
    failures, trials = check_counts(failures, trials)
    bound = _check_rate(bound)
    successes = trials - failures
    share = special.betainc(failures + 0.5, successes + 0.5, bound)
    if share <= 0.0:
        return -math.inf
    mixed = special.betaln(failures + 0.5, successes + 0.5) + math.log(share)
    start = special.betaln(0.5, 0.5) + math.log(special.betainc(0.5, 0.5, bound))
    return float(mixed - start - failures * math.log(bound) - successes * math.log1p(-bound))


def upper_limit(failures: int, trials: int, alpha: float) -> float:
    """Return a limit that a failure probability exceeds with probability at most alpha, at every stop.

    From (failures + 1) / trials on, the evidence rises with the bound: its slope there is at least
    1 / (bound (1 - bound)) - 1 / (2 bound sqrt(1 - bound)) >= 0. So all bounds above the limit have enough of it.

    Parameters
    ----------
    failures, trials : int
        Trials so far, and how many of them failed.
    alpha : float
        Probability of error, in (0, 1).
    """
    failures, trials = check_counts(failures, trials)
    needed = -math.log(_check_rate(alpha)) + ROUNDING
    low, high = min((failures + 1) / trials, 1.0), 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        enough = middle < 1.0 and log_evidence_below(failures, trials, middle) >= needed
        low, high = (low, middle) if enough else (middle, high)
    return high


def _check_rate(bound: float) -> float:
    bound = real("bound", bound)
    if not 0.0 < bound < 1.0:
        raise ValueError(f"bound must lie in (0, 1); got {bound}.")
    return float(bound)
