r"""Lower bounds on the failure probability of every strategy that treats arms alike, for arms with known divergences.

A strategy treats arms alike if exchanging the distributions of two arms exchanges their probabilities of being
selected: uniform allocation, median elimination and successive rejects with random ties do. Let arm 1 be the only best
one. Exchange it with arm i. By the inequality of Bretagnolle and Huber, as used by Kaufmann, Cappe and Garivier (2016),

.. math:: P[\text{failure}] \ge \tfrac14 \exp(-E N_1\, \mathrm{KL}(\nu_1, \nu_i) - E N_i\, \mathrm{KL}(\nu_i, \nu_1))

with the pulls N of the two arms (Theorem 21 of docs/theorems.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["lower_bound"]


def lower_bound(budget: float, forward: Sequence[float], backward: Sequence[float], *, uniform: bool = False) -> float:
    """Return a lower bound on the failure probability after a number of pulls.

    Parameters
    ----------
    budget : float
        Largest number of pulls of all arms together.
    forward : sequence of float
        KL(best arm, arm i) of all K - 1 other arms.
    backward : sequence of float
        KL(arm i, best arm) of all K - 1 other arms.
    uniform : bool
        Whether every arm is pulled budget / K times at most; otherwise any allocation is possible.

    Returns
    -------
    float
        The bound, at most 1/4; no strategy that treats arms alike fails less often.

    Examples
    --------
    >>> print(f"{lower_bound(40, [0.125], [0.125]):.3g}")
    0.00168
    """
    if not len(forward) == len(backward) >= 1:
        raise ValueError(f"every other arm needs two divergences, got {len(forward)} and {len(backward)}")
    if not budget >= 0 or not all(0 <= value <= math.inf for value in (*forward, *backward)):
        raise ValueError("the budget and all divergences must be nonnegative numbers")
    pulls = budget / (len(forward) + 1)
    pairs = zip(forward, backward, strict=True)
    exponent = min(pulls * (there + back) if uniform else budget * max(there, back) for there, back in pairs)
    return 0.25 * math.exp(-exponent)
