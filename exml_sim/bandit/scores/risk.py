"""Score "risk": the mean surrogate loss (Eq. 5) at the minimiser of the penalised problem (Eq. 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray
from exml_sim.bandit.scores import Certified, Terms, penalised

PENALISED = True
# The certificate shrinks with the root of the gap only, so it starts tighter than the others.
TOLERANCES = (1e-7, 1e-9)


def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
    """The loss of the model that was found, with an interval for that of the exact minimiser."""
    found, total = penalised(terms, gram, y, counts, tol)
    lower, upper = risk_interval(found.risk, found.objective, found.lower_bound, total)
    return found.risk, lower, upper


def risk_interval(
    risk: FloatArray, objective: FloatArray, lower_bound: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Interval for the mean loss at the exact minimiser, from an approximate one.

    Let P = C_h |h|^2 + C_g |g|^2. The objective grows at least as P(f - f*) away from the minimiser f*, so
    the duality gap d bounds |sqrt P(f) - sqrt P(f*)| by sqrt d. The loss at f* is the optimum less P(f*),
    with the optimum between `lower_bound` and `objective`.
    """
    root = np.sqrt(np.maximum(objective - total * risk, 0.0))
    reach = np.sqrt(np.maximum(objective - lower_bound, 0.0))
    lower = (lower_bound - (root + reach) ** 2) / total
    upper = (objective - np.maximum(root - reach, 0.0) ** 2) / total
    return lower, upper
