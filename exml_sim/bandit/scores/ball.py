"""Score "ball": the least mean surrogate loss over |h|, |g| <= Lambda, the empirical risk minimiser of the theory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray
from exml_sim.bandit.scores import Certified, Terms

PENALISED = False
TOLERANCES = (1e-2, 1e-4, 1e-7, 1e-9)


def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
    """The minimum, with the dual value below it."""
    from exml_sim.rejection import solve_batch

    found = solve_batch(gram, y, terms.theta, counts, ball=terms.ball, tol=tol)
    return found.risk, found.lower_bound, found.objective
